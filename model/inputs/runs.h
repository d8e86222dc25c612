/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several traced runs of one program as one structure: every rank of every run is contracted to loops over its control
 * points, ranks that do the same once, and the trees are merged as those of one run's ranks are (merge.h). What is left
 * apart are the counts of loops, the ranks and runs that pass a node, the values of calls, and times: the aligned journals
 * that rules are learnt from, without one row for every event. The merged tree is proved to expand to every rank's events.
 * Source: paper 000 (journals), paper 004, section 2.2 (merging).
 */
#ifndef PRECEDENT_MODEL_INPUTS_RUNS_H
#define PRECEDENT_MODEL_INPUTS_RUNS_H

#include "model/inputs/call.h"
#include "model/inputs/feature.h"
#include "trace/cpu_time/run_own.h"
#include "model/induce/map.h"
#include "common/arena.h"
#include "skelgen/merge/merge.h"
#include "trace/read/reader.h"

#define RUNS_MIN	3
#define RUNS_MAX	256
#define RUNS_POINTS_MAX 65536 /* ranks of all runs */
#define RUNS_EVENTS_MAX 4000000000ull /* of all ranks of all runs: each is walked through */
#define RUNS_VAR_NAME	31

/* A variable that the user gives, with one value for each trace, or a number of the command line under another name. */
struct runs_var {
	char name[RUNS_VAR_NAME + 1];
	uint32_t argument; /* 1...: of the command line; 0: value[] */
	uint32_t n_value;
	double *value;
};

struct runs_run {
	const char *path; /* of the caller */
	struct trace *trace;
	uint32_t n_ranks, first_point;
	double var[FEATURE_VARS_MAX];
	double wall_ns; /* of the longest rank */
	double lost_ns; /* of all ranks: ready, while others had their processors (run_own.h) */
	struct run_place place;
	uint32_t same; /* the first run of the same variables and number of ranks: itself, or one before it that it repeats */
};
struct runs_point {
	uint32_t run, rank, group;
};

#define RUNS_DEPTH 8 /* loops around a call whose counters are looked at */

/* How a value may go with the counter of a loop. */
enum runs_step_kind {
	STEP_EVEN, /* the same is added in each iteration */
	STEP_UP,   /* times a whole number */
	STEP_DOWN, /* divided by one, without a remainder */
	STEP_LAST, /* one value in the last iteration, another in all others */
	STEP_KINDS
};
/* One value of a call at a point, by the counter of one loop. */
struct runs_step {
	uint8_t dead;		/* bits of kinds that do not hold */
	uint64_t most;		/* greatest counter */
	int64_t first, second;	/* where the counter is 0 and 1 */
	int64_t others, last;	/* where it is not the last, and the last; CALL_MISSING */
};

/* A call of the merged tree at a point. */
struct runs_seen {
	uint64_t n, timed;
	double dur_ns;	       /* sum of those that are timed, with a processor */
	double usual_ns;       /* gap, as it was last known (run_own_usual) */
	int64_t *value;	       /* of the first one; NULL: it is not there */
	uint32_t varies;       /* bits of the values that were not always the same */
	struct runs_step (*step)[RUNS_DEPTH]; /* by value, outermost loop first; NULL where none varies */
};
struct runs_leaf {
	const char *name;
	uint32_t n_value, varies; /* bits of the values that vary at any point */
	uint32_t depth;		  /* loops around it, at most RUNS_DEPTH */
	char (*value_name)[28];
	struct runs_seen *seen; /* by point */
};

/* From a call to the next one. What a rank computes between depends on both: on ranks at the border of a grid the same call comes
 * behind others. */
struct runs_way {
	uint32_t from, to;	   /* leaves */
	struct runs_between *seen; /* by point */
	uint32_t next;		   /* way from the same call; RUNS_NO_WAY */
};
struct runs_between {
	uint64_t n, timed;
	double ns; /* sum of those that are timed, with a processor */
};
#define RUNS_NO_WAY UINT32_MAX

struct runs {
	uint32_t n_runs, n_vars, n_points, n_leaf, n_loop;
	uint32_t n_different; /* runs that repeat no other */
	struct runs_run *run;
	char var_name[FEATURE_VARS_MAX][RUNS_VAR_NAME + 1];
	struct runs_point *point;
	struct merge merge;	   /* leaves and loops are numbered in preorder by origin */
	struct rank_groups groups; /* n_group only */
	struct map keys;	   /* control points */
	struct map tagged;	   /* those whose calls are told apart by their tags */
	bool by_tag, chosen;	   /* whether they are; whether learn_runs has looked which way is better */
	struct runs_leaf *leaf;
	uint32_t n_ways, ways_cap;
	struct runs_way *way;
	uint32_t *way_behind; /* by leaf: the first one; RUNS_NO_WAY */
	uint64_t events;
	struct arena *arena;
};

/* -1 with the reason: too few, damaged or partial traces, other programs, runs that contradict each other. Free after 0
 * and after -1. */
int runs_open(struct runs *r, const char *const *path, uint32_t n, const struct runs_var *var, uint32_t n_var,
	      struct errbuf *err);
/* The same from traces that are open, and are closed with the runs, or by a failure. name: what messages call them. */
int runs_take(struct runs *r, struct trace *const *trace, const char *const *name, uint32_t n, const struct runs_var *var,
	      uint32_t n_var, struct errbuf *err);
void runs_close(struct runs *r);
/* Contract, merge and see again with the calls of a place told apart by their tags, or not: a helper that is called for one
 * dimension of a grid after the other is several places. 1, 0 when no place has tags that would be, -1. */
int runs_reshape(struct runs *r, bool by_tag, struct errbuf *err);

/* Is the run left out with that one (UINT32_MAX: none)? Runs that repeat it would tell what it did; alone where there are no others. */
static inline bool runs_left_out(const struct runs *r, uint32_t run, uint32_t without)
{
	return run == without || (without != UINT32_MAX && r->n_different > 1 && r->run[run].same == r->run[without].same);
}

static inline uint64_t runs_count(const struct merge_node *loop, uint32_t group)
{
	return loop->counts ? loop->counts[group] : loop->count;
}

/* RUNS_NO_WAY where no rank of the runs went there. */
static inline uint32_t runs_way_find(const struct runs *r, uint32_t from, uint32_t to)
{
	uint32_t w = r->way_behind[from];

	while (w != RUNS_NO_WAY && r->way[w].to != to)
		w = r->way[w].next;
	return w;
}

/* ---- shared: runs_vars.c ---- */

/* Name the variables of all runs and take their values. */
int runs_take_vars(struct runs *r, const struct runs_var *var, uint32_t n_var, struct errbuf *err);
/* ---- runs_tags.c ---- */

/* Which places have tags that tell their calls apart: a few numbers, of which one rank has several, and that are no ranks. */
int runs_find_tags(struct runs *r, struct errbuf *err);

/* A symbol of a rank as a control point. */
struct runs_symbol {
	uint64_t key;
	bool tagged, waits; /* told apart by its tag; MPI_Wait */
};
/* Of the view of a symbol. */
struct runs_symbol runs_symbol(const struct runs *r, const struct call_view *c);
/* Key of an event behind another (NULL: the first): what is waited for right behind a call that is told apart is too. */
uint64_t runs_event_key(const struct runs_symbol *s, const struct runs_symbol *before);
/* Whether a rank's events are looked at one by one when it is contracted. */
bool runs_expands(const struct trace_rank *rank);
/* ---- runs_seen.c ---- */

/* The value at this counter of a loop of so many iterations. */
void runs_step_note(struct runs_step *s, uint64_t counter, uint64_t count, int64_t value);

/* Number the nodes, walk through every rank's events beside the tree, and note what each call was. */
int runs_see(struct runs *r, struct errbuf *err);

#endif
