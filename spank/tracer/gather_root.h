/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Rank 0's side of gathering: pages come from one rank after the other, in messages of whole pages, and go to the file as
 * they come: one message is held at a time. A few ranks are asked ahead, so that they have their first message ready.
 * Apart from how messages travel (struct gather_link), which tests simulate.
 */
#ifndef PRECEDENT_SPANK_TRACER_GATHER_ROOT_H
#define PRECEDENT_SPANK_TRACER_GATHER_ROOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/writer.h"

#define GATHER_MESSAGE (1u << 20)  /* bytes; a page that is longer is a message of its own */
#define GATHER_AHEAD   16          /* ranks that are asked before it is their turn */
#define GATHER_BROKEN  UINT64_MAX  /* a length: the rank has nothing (more) to give */

/* Each: 0, or -1 when the rank cannot be reached. */
struct gather_link {
	int (*turn)(void *arg, uint32_t rank);                    /* let it send */
	int (*length)(void *arg, uint32_t rank, uint64_t *len);   /* of its next message; 0: it was the last */
	int (*pages)(void *arg, uint32_t rank, void *data, uint32_t len);
	void *arg;
};

struct gather_report {
	uint32_t n_missing, missing; /* ranks without all their pages, the first of them */
};

/* Pages of ranks 1 to n_ranks - 1 into *w; after a failed write, whose reason is in err, *w is gone (NULL) and the rest is
 * received all the same. -1 when a rank cannot be reached. */
int gather_root(const struct gather_link *l, uint32_t n_ranks, struct trace_writer **w, struct gather_report *report,
		struct errbuf *err);

#endif
