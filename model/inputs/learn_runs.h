/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exact rules from runs, as functions of the features of a rank. Every node of the merged tree has a rule for when it
 * is passed. Loops have a rule for the number of iterations, and calls have a rule for each value. Undetermined rules
 * are kept as doubts: pairs of rules that hold on all runs and may differ elsewhere.
 */
#ifndef PRECEDENT_MODEL_INPUTS_LEARN_RUNS_H
#define PRECEDENT_MODEL_INPUTS_LEARN_RUNS_H

#include "model/inputs/rule.h"
#include "model/inputs/runs.h"

/* VALUE_STEPS: the value steps with the counter of a loop around the call, and begins anew when the loop is entered
 * again. */
enum learnt_value_kind { VALUE_RULE, VALUE_VARIES, VALUE_UNKNOWN, VALUE_STEPS };
struct learnt_value {
	uint8_t kind, step;	       /* enum runs_step_kind */
	struct rule rule;	       /* of the first iteration if the value steps; STEP_LAST: of all but the last */
	struct rule second;	       /* STEP_EVEN: the number that an iteration adds; STEP_LAST: of the last one */
	int64_t ratio;		       /* STEP_UP: factor; STEP_DOWN: divisor */
	const struct merge_node *loop; /* whose counter it is */
	struct rule *cycle;	       /* STEP_CYCLE: `ratio` rules, one for each iteration in turn */
	uint32_t count;		       /* STEP_LAST: the feature that is the number of iterations */
};
static inline bool learnt_value_known(const struct learnt_value *v)
{
	return v->kind == VALUE_RULE || v->kind == VALUE_STEPS;
}

enum learnt_when { WHEN_ALWAYS, WHEN_GUARD, WHEN_COUNTED /* the loop's count is not 0 */, WHEN_UNKNOWN };
struct learnt_node {
	uint8_t when;
	struct rule_guard guard;
	bool count_known; /* loops */
	struct rule count;
	bool about; /* loops: the count is unknown, and `count` is a line near it (DOUBT_ABOUT) */
	/* The iterations of the loop around the node that pass it: STEP_ROUND: rule, rule + second, ...; STEP_ONCE: rule.
	 * loop NULL: all of them. */
	struct learnt_value due;
};

/*
 * A doubt. DOUBT_RULES, DOUBT_GUARDS: two rules or guards that hold on all runs; the first is used. DOUBT_ORDER: two
 * nodes of one sequence, and no rank of the runs passed both. So their order is unknown, and so is whether they
 * alternate. Each node is passed if its guard holds, or if its rule is above 0. DOUBT_ABOUT: no rule for a trip count
 * holds on all runs. The first rule is a line in one variable, and the second one is its largest relative miss.
 */
enum learnt_doubt_kind { DOUBT_RULES, DOUBT_GUARDS, DOUBT_ORDER, DOUBT_ABOUT };
struct learnt_doubt {
	char what[160];
	uint8_t kind;
	bool counted[2]; /* DOUBT_ORDER: by its rule; DOUBT_ABOUT: true */
	struct rule_guard where; /* it matters where this holds: elsewhere the call is not made */
	struct rule rule[2];
	struct rule_guard guard[2];
};

/* DOUBT_ABOUT: the line at x, and its largest miss, as a ratio less 1. */
static inline double learnt_about(const struct learnt_doubt *d, double x)
{
	return ((double)d->rule[0].num[0] + (double)d->rule[0].num[1] * x) / (double)d->rule[0].den;
}
static inline double learnt_missed(const struct learnt_doubt *d)
{
	return (double)d->rule[1].num[0] / (double)d->rule[1].den;
}

#define LEARNT_DOUBTS_MAX 128 /* distinct ones; more make a rule unknown */

struct learnt {
	struct runs *runs;
	uint32_t n_features;
	struct feature *feature;
	int64_t **col; /* [feature][point] */
	struct learnt_node *leaf, *loop;
	struct learnt_value **value; /* by leaf */
	struct learnt_doubt *doubt;
	uint32_t n_doubts;
	uint32_t n_unknown; /* nodes that have no known rule for when, or how often, they are passed */
	struct arena *arena;
};

/* Learns rules from all runs but `without` and its repetitions (runs_left_out; UINT32_MAX: from all runs). `dims`:
 * number of dimensions of the program's grid of ranks, or 0. The first call for all runs chooses the shape
 * (runs_reshape) that leaves fewer rules undetermined. Returns -1 without memory. */
int learn_runs(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err);
void learnt_free(struct learnt *l);
/* Do all structural rules hold on the run? A rule that is unknown or in doubt there does not hold. Returns 1, 0, or -1
 * if refused. */
int learnt_check_run(const struct learnt *l, uint32_t run);
/* Do both sides of the doubt give the same result where the features have value[]? For DOUBT_ORDER: is only one of the
 * two nodes passed? DOUBT_ABOUT: false. A rule that divides with a remainder there agrees with no rule, itself
 * included. */
bool learnt_doubt_agrees(const struct learnt_doubt *d, const int64_t *value);
/* Does the doubt matter for a rank of a run with these variables? value: scratch, by feature. */
bool learnt_doubt_differs(const struct learnt_doubt *d, const struct feature *f, uint32_t n_features, int64_t *value,
			  const double *var, uint32_t ranks);
/* Is the first rule simpler than the second one? Then it is taken, and not in doubt. */
bool learnt_doubt_simpler(const struct learnt_doubt *d, const struct feature *f);
/* One side of the doubt as text. Returns buf. */
const char *learnt_side_format(const struct learnt_doubt *d, int side, const struct feature *f, char *buf, size_t size);

#endif
