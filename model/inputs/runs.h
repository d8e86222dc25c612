/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Several traced runs of one program as one structure. Every rank of every run is contracted to loops over its control
 * points; equal ranks are contracted once. Then the trees are merged like the trees of one run's ranks (merge.h). Four
 * things are kept by rank and run: loop counts, passed nodes, values of calls, and times. They are the aligned journals
 * for learning rules, without one row for every event. The merged tree is proved to expand to every rank's events.
 * Source: Pekunov (cited in model/induce/model.h), journals; Zhang, Zhang, Zhang 2010 (cited in skelgen/merge/merge.h),
 * section 2.2, merging.
 */
#ifndef PRECEDENT_MODEL_INPUTS_RUNS_H
#define PRECEDENT_MODEL_INPUTS_RUNS_H

#include "model/inputs/call.h"
#include "model/inputs/counted.h"
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

/* A variable that the user gives: one value for each trace, or a number of the command line under another name. */
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
	uint32_t same; /* the first run with the same variables and number of ranks: itself, or an earlier run that it repeats */
};
struct runs_point {
	uint32_t run, rank, group;
};

#define RUNS_CYCLE 8 /* values that come again and again: two rounds of them have to be seen */
#define RUNS_DEPTH 8 /* greatest number of loops around a call whose counters are followed */

/* How a value may step with the counter of a loop. */
enum runs_step_kind {
	STEP_EVEN, /* the same is added in each iteration */
	STEP_UP,   /* times a whole number */
	STEP_DOWN, /* divided by one, without a remainder */
	STEP_LAST, /* one value in the last iteration, another in all others */
	STEP_KINDS,
	STEP_CYCLE = STEP_KINDS, /* the same values again and again, up to RUNS_CYCLE of them */
	/* Not a value of a call, but the distance of the counter to the iteration in which a call is made: */
	STEP_ROUND, /* in every so many iterations */
	STEP_ONCE   /* in one iteration */
};
/* One value of a call at a point, by the counter of one loop. */
struct runs_step {
	uint8_t dead;		/* bits of kinds that do not hold */
	uint64_t most;		/* greatest counter */
	int64_t first, second;	/* value where the counter is 0 and 1 */
	int64_t others, last;	/* value before the last iteration, and in the last one; CALL_MISSING */
	uint16_t no_cycle;	/* bits of numbers of values that do not come again */
	int64_t cycle[RUNS_CYCLE]; /* values of the first iterations; CALL_MISSING */
};
/* Iterations of the loop around a node in which a point passes it: first, first + period, ... */
struct runs_due {
	uint64_t count, first, period, last; /* count: of iterations; period 0: never passed twice */
	uint64_t entry;			     /* of the loop, in which `last` was */
	bool some, partial, none, dead;	     /* passed; not always; not in some entry; no such numbers */
};

/* A call of the merged tree at a point. */
struct runs_seen {
	uint64_t n, timed;
	double dur_ns;	       /* sum of the timed ones, with a processor */
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

/* A way: from a call to the next one. The computation between two calls depends on both. Example: at the border of a
 * grid, a rank reaches the same call from other calls. */
struct runs_way {
	uint32_t from, to;	   /* leaves */
	struct runs_between *seen; /* by point */
	uint32_t next;		   /* way from the same call; RUNS_NO_WAY */
};
struct runs_between {
	uint64_t n, timed;
	double ns; /* sum of the timed ones, with a processor */
};
#define RUNS_NO_WAY UINT32_MAX

/* Of a loop whose trip count differs from entry to entry, at a point. */
struct runs_trips {
	uint64_t entries, iterations; /* of all entries */
};

/* How the calls of a rank become a structure. by_tag: calls are distinguished by tags. counted: counted.h, with calls on
 * that side; COUNTED_NOT: not. uneven: uneven.h. */
struct runs_shape {
	bool by_tag;
	enum counted_way counted;
	bool uneven;
};

struct runs {
	uint32_t n_runs, n_vars, n_points, n_leaf, n_loop;
	uint32_t n_different; /* runs that repeat no other */
	struct runs_run *run;
	char var_name[FEATURE_VARS_MAX][RUNS_VAR_NAME + 1];
	struct runs_point *point;
	struct merge merge;	   /* leaves and loops are numbered in preorder by origin */
	struct rank_groups groups; /* n_group only */
	struct map keys;	   /* control points */
	struct map tagged;	   /* control points whose calls are distinguished by their tags */
	struct runs_shape shape;
	bool chosen;		   /* learn_runs has chosen the shape */
	bool folded;		   /* some loop is counted */
	bool uneven;		   /* the trip count of some loop differs from entry to entry */
	uint64_t *place;	   /* by control point: where it is in the program */
	uint32_t place_cap;
	struct runs_due **leaf_due, **loop_due; /* by node, by point; NULL where nothing is folded */
	struct runs_trips **trips; /* if uneven: by loop, by point; NULL for a loop with an exact trip count */
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
/* The same from open traces. The traces are closed with the runs, or on failure. name: their names in messages. */
int runs_take(struct runs *r, struct trace *const *trace, const char *const *name, uint32_t n, const struct runs_var *var,
	      uint32_t n_var, struct errbuf *err);
void runs_close(struct runs *r);
/* Contracts, merges and checks again, in another shape. Example of tags: a helper that is called for each dimension of a
 * grid becomes several places. Returns 1, 0 if the runs do not have that shape (another has to be made then), -1 with the
 * reason. */
int runs_reshape(struct runs *r, struct runs_shape shape, struct errbuf *err);

/* Is the run left out together with `without` (UINT32_MAX: none)? Repetitions of a run are left out with it, because
 * they would reveal it. If all runs repeat each other, only `without` itself is left out. */
static inline bool runs_left_out(const struct runs *r, uint32_t run, uint32_t without)
{
	return run == without || (without != UINT32_MAX && r->n_different > 1 && r->run[run].same == r->run[without].same);
}

/* For loops whose trip count differs from entry to entry: the mean, rounded. */
static inline uint64_t runs_count(const struct merge_node *loop, uint32_t group)
{
	return loop->counts ? loop->counts[group] : loop->count;
}

/* NULL for a loop with an exact trip count. */
static inline const struct runs_trips *runs_trips(const struct runs *r, const struct merge_node *loop)
{
	return r->uneven ? r->trips[loop->origin] : NULL;
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

/* Finds the places whose tags distinguish their calls: a few tags, several of them on one rank, and no tag is a rank. */
int runs_find_tags(struct runs *r, struct errbuf *err);

/* A symbol of a rank as a control point. */
struct runs_symbol {
	uint64_t key;
	bool tagged, waits; /* told apart by its tag; MPI_Wait */
};
/* Of the view of a symbol. */
struct runs_symbol runs_symbol(const struct runs *r, const struct call_view *c);
/* Key of an event that follows `before` (NULL: the first event). An MPI_Wait right behind a distinguished call is
 * distinguished too. */
uint64_t runs_event_key(const struct runs_symbol *s, const struct runs_symbol *before);
/* Whether a rank's events are looked at one by one when it is contracted. */
bool runs_expands(const struct trace_rank *rank);
/* ---- runs_seen.c ---- */

/* The value at this counter of a loop of so many iterations. */
void runs_step_note(struct runs_step *s, uint64_t counter, uint64_t count, int64_t value);

/* Numbers the nodes, walks through every rank's events along the tree, and records the values of each call. */
int runs_see(struct runs *r, struct errbuf *err);

#endif
