/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which loops a skeleton cuts, and to how many iterations, so that it runs within a time budget. Only loops that all
 * ranks run, equally often, at each of their executions, are cut; message sizes are never changed.
 * Source: paper 004, section 4, restated in the algorithms, C: T = T_prologue + sum (N / n) T_window + T_epilogue.
 */
#ifndef PRECEDENT_SKELGEN_PLAN_PLAN_H
#define PRECEDENT_SKELGEN_PLAN_PLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/tree/rooms.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/tree.h"

#define SKEL_PRECISION         0.005 /* half-width of the 95 % interval, relative */
#define SKEL_MIN_ITERATIONS    20
#define SKEL_FEWEST_ITERATIONS 5 /* where 20 are so many that the budget is far away */

struct skel_budget {
	double seconds;          /* run time aimed at; 0: no bound by time */
	double scale;            /* aim at 1/scale of the traced time; 0 or 1: no bound by scale */
	uint32_t min_iterations; /* of a cut loop, after the warm-up; 0: SKEL_MIN_ITERATIONS,
				  * or fewer, down to SKEL_FEWEST_ITERATIONS, if need be */
	double precision;        /* of a cut loop's time, for which up to half of `seconds` is left unused; 0:
				  * SKEL_PRECISION */
};

/* By node id; of loops only. */
struct skel_cut {
	uint64_t total, run; /* iterations of the program and of the skeleton, warm-up included; equal: not cut */
	bool consecutive;    /* the first ones, not spread ones */
	bool refused;        /* must stay whole: cutting it did not match */
	bool varies;         /* some executions make fewer than `total` iterations, and as large a share of them runs */
	bool uneven;         /* they do not on all ranks alike */
	const struct sampled_plan *windows; /* which iterations run; NULL: `run` of them, evenly spread */
};

struct skel_plan {
	uint32_t n_node, n_cut;
	struct skel_cut *cut;
	struct sampled_plan **windows; /* by node id, of loops that may be cut; else NULL */
	const struct skel_series *series; /* of the times that were planned with */
	double gap_share;           /* of every gap longer than gap_least_ns so much runs (gap_share.h); 1: all */
	double gap_least_ns;
	uint8_t *meets;             /* by node id, what skel_match found of calls: enum skel_meets */
	struct skel_rooms rooms;    /* of receives, where threads return in another order than messages match */
	double full_s, predicted_s; /* run time of the program, and of the skeleton */
};

static inline bool skel_plan_shares_gaps(const struct skel_plan *p)
{
	return p->gap_share > 0 && p->gap_share < 1;
}

/* Collective calls of all ranks: whether all make them at the same place of the tree. */
enum skel_meets { SKEL_MEETS_UNKNOWN, SKEL_MEETS_HERE, SKEL_MEETS_APART };

/* The share of its iterations that a loop's executions run with this cut. */
double skel_plan_kept(const struct skel_node *loop, const struct skel_cut *c);

/* 0; also when nothing can be cut (n_cut is 0). */
int skel_plan(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
	      struct skel_plan *out, struct errbuf *err);
/* The same again, honouring cut[].consecutive and cut[].refused. */
void skel_plan_again(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		     struct skel_plan *plan);
void skel_plan_free(struct skel_plan *p);

/* Relative half-width at 95 % that the traced run lets expect of a cut loop; 0: nothing is known. */
double skel_plan_expected(const struct skel_plan *plan, uint32_t node);

/* Iteration of the program that iteration j of `run` stands for, as the runtime's loop.c computes it. */
static inline uint64_t skel_sampled_iteration(const struct skel_cut *c, uint64_t j)
{
	unsigned __int128 left = c->total - 1, n = c->run - 1;
	double weight;

	if (j == 0 || c->run == c->total || c->consecutive)
		return j;
	if (c->windows != NULL)
		return sampled_iteration(c->windows, j, &weight);
	return 1 + (uint64_t)((2 * (unsigned __int128)(j - 1) + 1) * left / (2 * n));
}

/* The cut of execution number e of a loop on the rank at `index`: of the iterations that it makes. */
static inline struct skel_cut skel_cut_at(const struct skel_cut *c, const struct skel_node *loop, uint32_t index, uint64_t e)
{
	struct skel_cut at = *c;

	if (!c->varies || c->run == c->total)
		return at;
	at.total = skel_loop_turns(loop, index, c->total, e);
	at.run = sampled_turns(c->total, c->run, at.total);
	return at;
}

/* How many iterations it stands for: 0 of a warm-up. */
static inline double skel_sampled_weight(const struct skel_cut *c, uint64_t j)
{
	double weight;

	if (j == 0 || c->run == c->total)
		return 1;
	if (c->windows != NULL && !c->consecutive) {
		sampled_iteration(c->windows, j, &weight);
		return weight;
	}
	return (double)(c->total - 1) / (double)(c->run - 1);
}

#endif
