/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Simulates all ranks of a planned skeleton without MPI and proves that the skeleton can run. Every message finds a
 * receive and fits. Collectives come in the same order on all members. No rank waits for ever.
 *
 * A standard send completes at once, because the traced program ran with the same sizes and the same library. A
 * synchronous send completes when it is matched.
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
	uint64_t left;                         /* requests that are under way in the end */
	uint64_t oddities;                     /* request slots and objects reused or unknown; 0 when anything is cut */
	uint32_t left_node;                    /* that started the first of them, or UINT32_MAX */
	uint32_t node;                         /* where it failed, or UINT32_MAX */
	bool no_memory;
};

/* Simulate the plan and fill in plan->meets. Returns 0, or -1 with the first contradiction in err: rank, call, call site
 * and cause. */
int skel_match(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_match_report *report,
	       struct errbuf *err);

#define SKEL_BUFFERED_MAX 16

/* Sends that complete only because the MPI library buffers the message before the receive. */
struct skel_buffered {
	uint32_t n;                       /* leaves */
	uint32_t leaf[SKEL_BUFFERED_MAX]; /* by leaf_id */
	bool more;                        /* there may be others */
};

/* Simulate with every standard send synchronous. If all ranks would wait for ever, one send is completed and listed in
 * *out. The plan must match (skel_match). Returns 0, also if sends are listed; -1 without memory. */
int skel_match_buffered(const struct skel_tree *tree, const struct skel_plan *plan, struct skel_buffered *out,
			struct errbuf *err);

/* "MPI_Send at heat+0x1234" */
void skel_call_describe(const struct trace_defs *d, uint32_t sym, char *text, size_t size);

#endif
