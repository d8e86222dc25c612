/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the files that learn from runs:
 *
 *   - learn_runs.c: nodes and values
 *   - learn_steps.c: values that step with a counter
 *   - learn_due.c: calls that some iterations leave out
 *   - learn_order.c: the order of calls
 *   - learn_about.c: trip counts near a line
 *   - learn_doubts.c: undetermined rules
 */
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
	struct rule_guard where; /* condition for passing the node: the innermost guard around it */
	struct rule others[RULE_OTHERS]; /* other rules that fit the loop's count */
	uint32_t n_others;
	uint32_t *point; /* scratch */
	int64_t *y;
	bool *yes;
	struct errbuf *err;
};

/* Finds the points that pass the node, in the runs to learn from. Writes them to g->point and returns how many. */
uint32_t learning_points(struct learning *g, const struct merge_node *n);
/* Finds which iterations of the loop `parent` pass the node: sets out->due, or out->when to WHEN_UNKNOWN. */
int learn_due(struct learning *g, const struct merge_node *n, const struct merge_node *parent, struct learnt_node *out);
/* Points that pass the parent, without those that leave the loop before the node is due. Such points do not tell whether
 * the node is passed. */
uint32_t learning_telling(struct learning *g, const struct merge_node *parent, const struct learnt_node *out);
/* Name of the first call of the node. */
const char *learning_name(const struct learning *g, const struct merge_node *n);

/* Adds a doubt that matters somewhere. Returns -1 if there are too many. */
int learnt_doubt_add(struct learnt *l, const struct learnt_doubt *d);
/* Adds doubts between the rule, or guard, and each of the others, where g->where holds. */
int learnt_doubt_rules(struct learning *g, const char *what, const char *part, const struct rule *rule, const struct rule *other,
		       uint32_t n);
int learnt_doubt_guards(struct learning *g, const char *what, const struct rule_guard *guard, const struct rule_guard *other,
			uint32_t n);
/* Finds a value that steps with the counter of one loop around the call. If two kinds of step fit, neither is known to
 * be right. Leaves `out` unchanged if none fits. */
int learn_steps(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t n_points, struct learnt_value *out);
/* For a loop without a rule for its trip count: adds a line that is near the trip counts, as a doubt. */
void learn_about(struct learning *g, const struct merge_node *n, struct learnt_node *out);
/* Adds doubts about the order of the node's children. */
int learn_order(struct learning *g, const struct merge_node *parent);

#endif
