/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the runs determine: for every node of the merged tree when it is passed, for loops how often, for calls their
 * values, all as exact rules of the features of a rank. What they leave open is kept as doubts: pairs of rules that hold on
 * all runs and may differ elsewhere.
 */
#ifndef PRECEDENT_MODEL_INPUTS_LEARN_RUNS_H
#define PRECEDENT_MODEL_INPUTS_LEARN_RUNS_H

#include "model/inputs/rule.h"
#include "model/inputs/runs.h"

enum learnt_when { WHEN_ALWAYS, WHEN_GUARD, WHEN_COUNTED /* the loop's count is not 0 */, WHEN_UNKNOWN };
struct learnt_node {
	uint8_t when;
	struct rule_guard guard;
	bool count_known; /* loops */
	struct rule count;
};
/* VALUE_STEPS: it goes with the counter of a loop around the call, and begins anew where that is entered again. */
enum learnt_value_kind { VALUE_RULE, VALUE_VARIES, VALUE_UNKNOWN, VALUE_STEPS };
struct learnt_value {
	uint8_t kind, step;	       /* enum runs_step_kind */
	struct rule rule;	       /* steps: of the first iteration; STEP_LAST: of all but the last */
	struct rule second;	       /* STEP_EVEN: what an iteration adds; STEP_LAST: of the last one */
	int64_t ratio;		       /* STEP_UP: times so much; STEP_DOWN: divided by it */
	const struct merge_node *loop; /* whose counter it is */
	uint32_t count;		       /* STEP_LAST: the feature that is the number of iterations */
};
static inline bool learnt_value_known(const struct learnt_value *v)
{
	return v->kind == VALUE_RULE || v->kind == VALUE_STEPS;
}

/*
 * Two rules, or two guards, of which the first is used; or two nodes of one sequence that no rank of the runs passed both of,
 * so that it is not known which comes first, or whether they alternate: each is passed where its guard holds, or its rule
 * is above 0.
 */
enum learnt_doubt_kind { DOUBT_RULES, DOUBT_GUARDS, DOUBT_ORDER };
struct learnt_doubt {
	char what[160];
	uint8_t kind;
	bool counted[2]; /* DOUBT_ORDER: by its rule */
	struct rule_guard where; /* it matters where this holds: elsewhere the call is not made */
	struct rule rule[2];
	struct rule_guard guard[2];
};

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
	uint32_t n_unknown; /* nodes of which it is not known when, or how often, they are passed */
	struct arena *arena;
};

/* Rules that hold on every run but `without` and those that repeat it (runs_left_out; UINT32_MAX: all). `dims`: 0, or how many dimensions the program's grid of
 * ranks has. The first time of all runs, they get the shape (runs_reshape) that leaves less open. -1 without memory. */
int learn_runs(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err);
void learnt_free(struct learnt *l);
/* Do all structural rules hold on the run, without one that is not known or in doubt there? 1, 0, or -1: refused. */
int learnt_check_run(const struct learnt *l, uint32_t run);
/* Do both sides of the doubt say the same where the features have value[], or is only one of the two nodes passed? A rule
 * that divides and leaves a rest there agrees with none, itself included. */
bool learnt_doubt_agrees(const struct learnt_doubt *d, const int64_t *value);
/* One side of it as text. Returns buf. */
const char *learnt_side_format(const struct learnt_doubt *d, int side, const struct feature *f, char *buf, size_t size);

#endif
