/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the runs determine: for every node of the merged tree when it is passed, for loops how often, for calls their
 * values, all as exact rules of the features of a rank. What they leave open is kept as doubts: pairs of rules that hold on
 * all runs and may differ elsewhere.
 */
#ifndef PRECEDENT_PREDICTOR_INPUTS_LEARN_RUNS_H
#define PRECEDENT_PREDICTOR_INPUTS_LEARN_RUNS_H

#include "predictor/inputs/rule.h"
#include "predictor/inputs/runs.h"

enum learnt_when { WHEN_ALWAYS, WHEN_GUARD, WHEN_COUNTED /* the loop's count is not 0 */, WHEN_UNKNOWN };
struct learnt_node {
	uint8_t when;
	struct rule_guard guard;
	bool count_known; /* loops */
	struct rule count;
};
enum learnt_value_kind { VALUE_RULE, VALUE_VARIES, VALUE_UNKNOWN };
struct learnt_value {
	uint8_t kind;
	struct rule rule;
};

/* Two rules, or two guards, of which the first is used. */
struct learnt_doubt {
	char what[160];
	bool is_guard;
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

/* Rules that hold on every run but `without` (UINT32_MAX: all). `dims`: 0, or how many dimensions the program's grid of
 * ranks has. -1 without memory. */
int learn_runs(struct runs *r, uint32_t without, uint32_t dims, struct learnt *out, struct errbuf *err);
void learnt_free(struct learnt *l);
/* Do all structural rules hold on the run, without one that is not known or in doubt there? 1, 0, or -1: refused. */
int learnt_check_run(const struct learnt *l, uint32_t run);
/* Do both sides of the doubt say the same where the features have value[]? */
bool learnt_doubt_agrees(const struct learnt_doubt *d, const int64_t *value);

#endif
