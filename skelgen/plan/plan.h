/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chooses the loops that a skeleton cuts, and their numbers of iterations, so that the skeleton runs within a time
 * budget. A loop is cut only if all ranks run it equally often at each of its executions. Message sizes are never
 * changed.
 *
 *	T = T_prologue + sum (N / n) T_window + T_epilogue
 *
 * Source: Zhang W., Zhang H., Zhang Y., "Parallel job performance prediction based on the case reconstruction",
 * Journal of Software 21(Suppl. 1), 2010, section 4.
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
#define SKEL_FEWEST_ITERATIONS 5 /* if 20 iterations are far above the budget */
#define SKEL_WITHIN            1.1 /* times the budget may be planned: runs differ, and may take 1.2 times the budget */

struct skel_budget {
	double seconds;          /* run time aimed at; 0: no bound by time */
	double scale;            /* aim at 1/scale of the traced time; 0 or 1: no bound by scale */
	uint32_t min_iterations; /* of a cut loop, after the warm-up; 0: SKEL_MIN_ITERATIONS,
				  * or fewer, down to SKEL_FEWEST_ITERATIONS, if need be */
	double precision;        /* of a cut loop's time; up to half of `seconds` stays unused if this precision is
				  * reached. 0: SKEL_PRECISION */
	bool short_parts;        /* parts of long computations may be as short as GAP_MANY_NS, if need be */
	bool longer;             /* receives may get longer messages than in the run, and have room for them */
};

/* By node id; of loops only. */
struct skel_cut {
	uint64_t total, run; /* iterations of the program and of the skeleton, warm-up included; equal: not cut */
	bool consecutive;    /* the first iterations run, not spread ones */
	bool refused;        /* must stay whole: cutting it did not match */
	bool whole;          /* stays whole: few iterations take most of the time */
	bool varies;         /* trip counts vary up to `total`; every execution runs the same share of its iterations */
	bool uneven;         /* the trip counts differ between ranks */
	const struct sampled_plan *windows; /* which iterations run; NULL: `run` of them, evenly spread */
};

struct skel_plan {
	uint32_t n_node, n_cut;
	struct skel_cut *cut;
	struct sampled_plan **windows; /* by node id, of loops that may be cut; else NULL */
	const struct skel_series *series; /* from the times that the plan was made with */
	double gap_share;           /* share of every gap longer than gap_least_ns that runs (gap_sampling.h); 1: all */
	double gap_least_ns;
	double crowd;               /* ranks per processor of the traced run, at least 1: they wait for each other; 0: not known */
	double longest;             /* own time of the longest rank over the mean: others may wait for it in tests */
	uint8_t *meets;             /* by node id: enum skel_meets, set by skel_match() */
	struct skel_rooms rooms;    /* buffer sizes of receives that are recorded too short (tree/rooms.h) */
	double full_s, predicted_s; /* run time of the program, and of the skeleton */
	double whole_s;             /* of these, calls and computation in no cut loop, or before the first call of one */
};

static inline bool skel_plan_shares_gaps(const struct skel_plan *p)
{
	return p->gap_share > 0 && p->gap_share < 1;
}

/* Collective calls of all ranks: whether all make them at the same place of the tree. */
enum skel_meets { SKEL_MEETS_UNKNOWN, SKEL_MEETS_HERE, SKEL_MEETS_APART };

/* Share of a loop's iterations that run with this cut. */
double skel_plan_kept(const struct skel_node *loop, const struct skel_cut *c);

/* Returns 0, also if nothing can be cut (n_cut is 0); -1 with the reason in err. */
int skel_plan(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
	      struct skel_plan *out, struct errbuf *err);
/* Plan again, with the given cut[].consecutive and cut[].refused. */
void skel_plan_again(const struct skel_tree *tree, const struct skel_times *times, const struct skel_budget *budget,
		     struct skel_plan *plan);
void skel_plan_free(struct skel_plan *p);

/* Expected relative half-width at 95 % of a cut loop's time, from the traced run. 0: not known. */
double skel_plan_expected(const struct skel_plan *plan, uint32_t node);

/* Iteration of the program that iteration j of `run` represents, as runtime/loop.c computes it. */
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

/* The cut of execution e of a loop on the rank at `index`, for the trip count of this execution. */
static inline struct skel_cut skel_cut_at(const struct skel_cut *c, const struct skel_node *loop, uint32_t index, uint64_t e)
{
	struct skel_cut at = *c;

	if (!c->varies || c->run == c->total)
		return at;
	at.total = skel_loop_turns(loop, index, c->total, e);
	at.run = sampled_turns(c->total, c->run, at.total);
	return at;
}

/* Number of iterations of the program that iteration j of `run` represents. 0 for a warm-up. */
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
