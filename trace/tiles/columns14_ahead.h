/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that parses a 14-column file ahead of whoever uses its records: a few batches, no more. */
#ifndef PRECEDENT_TRACE_COLUMNS14_AHEAD_H
#define PRECEDENT_TRACE_COLUMNS14_AHEAD_H

#include "trace/tiles/columns14.h"

/* A batch, and what had been read when it was full. */
struct columns14_slot {
	struct columns14_batch batch;
	struct columns14_tally tally;
	uint64_t done; /* bytes */
	int more;      /* what columns14_next returned */
	struct errbuf err;
};

struct columns14_ahead;

/* From where c stands to its end; c belongs to the thread until columns14_ahead_stop. NULL: no memory. */
struct columns14_ahead *columns14_ahead_start(struct columns14 *c);
/* The next batch, valid until the next call. NULL at the end; then more < 0 in *last tells of an error. */
const struct columns14_slot *columns14_ahead_next(struct columns14_ahead *a, const struct columns14_slot **last);
/* At any time; a == NULL is legal. */
void columns14_ahead_stop(struct columns14_ahead *a);

#endif
