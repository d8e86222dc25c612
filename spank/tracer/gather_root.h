/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathering of pages by rank 0. Pages arrive rank by rank in messages of whole pages, and are written at once: one
 * message is in memory at a time. Some ranks are asked ahead, so that their first message is ready. The transport
 * of messages is abstract (struct gather_link), so that tests can simulate it.
 */
#ifndef PRECEDENT_SPANK_TRACER_GATHER_ROOT_H
#define PRECEDENT_SPANK_TRACER_GATHER_ROOT_H

#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/writer.h"

#define GATHER_MESSAGE (1u << 20)  /* bytes; a longer page is a message of its own */
#define GATHER_AHEAD   16          /* ranks that are asked ahead of their turn */
#define GATHER_BROKEN  UINT64_MAX  /* as a length: the rank has no (more) data */

/* Functions return 0, or -1 if the rank cannot be reached. */
struct gather_link {
	int (*turn)(void *arg, uint32_t rank);                    /* let the rank send */
	/* length of its next message; 0: no more messages */
	int (*length)(void *arg, uint32_t rank, uint64_t *len);
	int (*pages)(void *arg, uint32_t rank, void *data, uint32_t len);
	void *arg;
};

struct gather_report {
	uint32_t n_missing, missing; /* ranks without all their pages; the first of them */
};

/* Write the pages of ranks 1 to n_ranks - 1 to *w. After a failed write *w is freed and NULL (err says why), and
 * the other pages are received without being written. Returns 0, or -1 if a rank cannot be reached. */
int gather_root(const struct gather_link *l, uint32_t n_ranks, struct trace_writer **w, struct gather_report *report,
		struct errbuf *err);

#endif
