/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One rank of a simulated run: its place in the program, its request slots, and the requests for which it waits. */
#ifndef PRECEDENT_SKELGEN_SIMULATE_RANK_H
#define PRECEDENT_SKELGEN_SIMULATE_RANK_H

#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/simulate/network.h"
#include "skelgen/simulate/objects.h"
#include "skelgen/plan/plan_walk.h"

struct sim_slot {
	uint32_t request;  /* under way, or NET_NONE */
	uint32_t node;     /* leaf that started it */
	uint32_t second;   /* the receiving half of a combined call, or NET_NONE */
	bool persistent;
	struct net_message m; /* of a persistent request */
	bool is_send;
	uint32_t collective; /* symbol of a persistent collective, or SKEL_NOTHING */
	bool incomplete;     /* a generalized request that the program has not yet completed */
	bool no_proc;        /* a matched probe of MPI_PROC_NULL */
};

struct sim_rank {
	uint32_t rank;
	struct scaled_iter it;
	/* the present call */
	bool in_call, finished;
	const struct skel_node *leaf;
	uint64_t occ;
	uint32_t index, sym;
	uint32_t *pending;     /* requests that the call waits for */
	uint32_t n_pending, cap_pending;
	bool probing;
	struct net_message probe;
	uint32_t matching;     /* the matched probe waits until this receive has its message; NET_NONE: none does */
	struct sim_slot *slot;
	uint32_t n_slot;
	/* by local communicator: collectives made, and own place + 1 (0: not yet looked up) */
	uint64_t *sequence;
	uint32_t *place;
	struct sim_objects objects;
	struct sim_win *win;      /* by global number */
	uint64_t *file_sequence;  /* by global number */
};

struct sim {
	const struct skel_tree *tree;
	const struct skel_plan *plan;
	struct net *net;
	struct sim_rank *rank;
	struct skel_match_report *report;
	struct errbuf *err;
	bool no_memory;
	struct skel_buffered *buffered; /* not NULL: standard sends are synchronous; sends that had to be buffered */
};

int sim_rank_open(struct sim *s, uint32_t rank);
void sim_rank_close(struct sim_rank *r);
/* Run until the rank waits, ends, or has made `quantum` calls. Returns the number of calls made, or -1 with a
 * contradiction in s->err. */
int64_t sim_rank_run(struct sim *s, struct sim_rank *r, uint32_t quantum);

/* Internal to simulate/. */
/* The call waits for this request. NET_NONE: the request failed. */
int sim_pend(struct sim *s, struct sim_rank *r, uint32_t request);
/* Name the call that failed. */
int sim_fail_here(struct sim *s, const struct sim_rank *r);
/* An oddity refuses a cut. In the whole program it is only counted. */
int sim_odd(struct sim *s, const struct sim_rank *r, const char *what);

#endif
