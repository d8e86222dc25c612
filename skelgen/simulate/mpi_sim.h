/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs a planned skeleton without MPI, all ranks of it, and proves that it can run: every message finds its receive
 * and fits, collectives come in the same order on all members, no rank waits for ever.
 * Standard sends complete at once (the original sequence of calls ran with the same sizes and the same library);
 * synchronous ones when they are matched.
 */
#ifndef PRECEDENT_SKELGEN_SIMULATE_MPI_SIM_H
#define PRECEDENT_SKELGEN_SIMULATE_MPI_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/plan/plan.h"
#include "skelgen/tree/tree.h"
#include "skelgen/tree/wildcard.h"

struct skel_match_report {
	uint64_t calls, messages, collectives; /* simulated */
	uint64_t unreceived;                   /* messages that nobody received; 0 when anything is cut */
	uint64_t oddities;                     /* request slots reused or unknown; 0 when anything is cut */
	uint32_t node;                         /* where it failed, or UINT32_MAX */
	bool no_memory;
};

/* 0, or -1 with the first contradiction: rank, call, call site, what is wrong. Fills in plan->meets. */
int skel_match(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_match_report *report,
	       struct errbuf *err);

#define SKEL_BUFFERED_MAX 16

/* Sends that go on only because the MPI library takes their messages before anybody receives them. */
struct skel_buffered {
	uint32_t n;                       /* leaves */
	uint32_t leaf[SKEL_BUFFERED_MAX]; /* by leaf_id */
	bool more;                        /* there may be others */
};

/* Run with every standard send synchronous: where all ranks would wait for ever, one send is let go and noted. 0 also
 * when there are such; -1 without memory. The plan must match (skel_match). */
int skel_match_buffered(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_buffered *out,
			struct errbuf *err);

/* "MPI_Send at heat+0x1234" */
void skel_call_describe(const struct trace_defs *d, uint32_t sym, char *text, size_t size);

#endif
