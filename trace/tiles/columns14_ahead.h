/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that parses a 14-column file a few batches ahead of the consumer. */
#ifndef PRECEDENT_TRACE_COLUMNS14_AHEAD_H
#define PRECEDENT_TRACE_COLUMNS14_AHEAD_H

#include "trace/tiles/columns14.h"

/* A batch, and the parser's totals at its end. */
struct columns14_slot {
	struct columns14_batch batch;
	struct columns14_tally tally;
	uint64_t done; /* bytes read */
	int more;      /* result of columns14_next */
	struct errbuf err;
};

struct columns14_ahead;

/* Parse from the current position of c to the end. The thread owns c until columns14_ahead_stop. Returns NULL if
 * memory runs out. */
struct columns14_ahead *columns14_ahead_start(struct columns14 *c);
/* The next batch, valid until the next call. Returns NULL at the end; more < 0 in *last then reports an error. */
const struct columns14_slot *columns14_ahead_next(struct columns14_ahead *a, const struct columns14_slot **last);
/* Stop the thread at any time. a may be NULL. */
void columns14_ahead_stop(struct columns14_ahead *a);

#endif
