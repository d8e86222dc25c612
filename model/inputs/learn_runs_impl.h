/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between the files that learn from runs: learn_runs.c (nodes and values), learn_steps.c (values that go with a counter),
 * learn_order.c (the order of calls), learn_doubts.c (what the runs leave open). */
#ifndef PRECEDENT_MODEL_INPUTS_LEARN_RUNS_IMPL_H
#define PRECEDENT_MODEL_INPUTS_LEARN_RUNS_IMPL_H

#include "model/inputs/learn_runs.h"

struct learning {
	struct learnt *l;
	struct runs *r;
	uint32_t without;
	struct rule_table table;
	const struct merge_node *path[RUNS_DEPTH]; /* loops around the node */
	uint32_t depth;
	struct rule_guard where; /* that the node is passed at all, by the innermost guard around it */
	struct rule others[RULE_OTHERS]; /* that a loop's count may be as well */
	uint32_t n_others;
	uint32_t *point; /* scratch */
	int64_t *y;
	bool *yes;
	struct errbuf *err;
};

/* Points of the runs that are learnt from which pass the node, in g->point: how many. */
uint32_t learning_points(struct learning *g, const struct merge_node *n);
/* Name of the first call of the node. */
const char *learning_name(const struct learning *g, const struct merge_node *n);

/* A doubt that matters somewhere; -1: there are too many. */
int learnt_doubt_add(struct learnt *l, const struct learnt_doubt *d);
/* The rule, or guard, against each of the others, where g->where holds. */
int learnt_doubt_rules(struct learning *g, const char *what, const char *part, const struct rule *rule, const struct rule *other,
		       uint32_t n);
int learnt_doubt_guards(struct learning *g, const char *what, const struct rule_guard *guard, const struct rule_guard *other,
			uint32_t n);
/* A value that goes with the counter of one loop around the call, in one way: of two that hold, neither is known to be it.
 * Leaves `out` alone where there is none. */
int learn_steps(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t n_points, struct learnt_value *out);
/* Doubts about the order of what is in the node. */
int learn_order(struct learning *g, const struct merge_node *parent);

#endif
