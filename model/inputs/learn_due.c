/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which iterations of a loop make a call: see learn_runs.h and counted.h. */
#include "model/inputs/learn_runs_impl.h"

static const struct runs_due *due_at(const struct learning *g, const struct merge_node *n, uint32_t point)
{
	return &(n->kind == SKEL_LEAF ? g->r->leaf_due : g->r->loop_due)[n->origin][point];
}

static int due_rule(struct learning *g, const struct merge_node *n, const char *part, uint32_t k, struct rule *out)
{
	struct rule others[RULE_OTHERS];
	uint32_t n_others;
	int found = rule_fit(&g->table, g->point, k, g->y, out, others, &n_others);

	return found == 1 && learnt_doubt_rules(g, learning_name(g, n), part, out, others, n_others) < 0 ? 0 : found;
}

/* Periods that a model can count by: a number, or a feature. */
static bool is_period(const struct rule *r)
{
	if (!r->n)
		return r->num[0] > 0 && r->den == 1;
	return r->n == 1 && r->den == 1 && !r->num[0] && r->num[1] == 1 && r->g[0] == RULE_NONE;
}

/* Does a point that passed the node once leave the loop before the next time? */
static bool ends_before(struct learning *g, const struct merge_node *n, const struct rule *period, uint32_t k)
{
	int64_t *value = arena_alloc(g->l->arena, g->l->n_features, sizeof(*value));

	for (uint32_t i = 0; value && i < k; i++) {
		const struct runs_due *d = due_at(g, n, g->point[i]);

		for (uint32_t f = 0; f < g->l->n_features; f++)
			value[f] = g->l->col[f][g->point[i]];
		if (!d->period && rule_value(period, value) < (int64_t)(d->count - d->first))
			return false;
	}
	return value != NULL;
}

int learn_due(struct learning *g, const struct merge_node *n, const struct merge_node *parent, struct learnt_node *out)
{
	uint32_t k = learning_points(g, n);
	bool partial = false, known = false;
	int found;

	if (!g->r->folded || parent->kind != SKEL_LOOP)
		return 0;
	for (uint32_t i = 0; i < k; i++) {
		const struct runs_due *d = due_at(g, n, g->point[i]);

		partial |= d->partial;
		known |= d->period > 0;
		if (d->dead)
			out->when = WHEN_UNKNOWN;
		g->y[i] = (int64_t)d->first;
	}
	if (!partial || out->when == WHEN_UNKNOWN)
		return 0;
	found = due_rule(g, n, "first iteration", k, &out->due.rule);
	out->due.step = known ? STEP_ROUND : STEP_ONCE;
	for (uint32_t i = 0; i < k; i++) {
		const struct runs_due *d = due_at(g, n, g->point[i]);

		g->y[i] = d->period ? (int64_t)d->period : CALL_MISSING;
	}
	if (found == 1 && known)
		found = due_rule(g, n, "every so many iterations", k, &out->due.second);
	if (found == 1 && known && (!is_period(&out->due.second) || !ends_before(g, n, &out->due.second, k)))
		found = 0;
	if (found != 1) {
		out->due = (struct learnt_value){0};
		out->when = WHEN_UNKNOWN;
		return found;
	}
	out->due.kind = VALUE_STEPS;
	out->due.loop = parent;
	return 0;
}

uint32_t learning_telling(struct learning *g, const struct merge_node *parent, const struct learnt_node *out)
{
	uint32_t k = learning_points(g, parent), kept = 0;
	int64_t *value = out->due.loop ? arena_alloc(g->l->arena, g->l->n_features, sizeof(*value)) : NULL;

	for (uint32_t i = 0; i < k; i++) {
		for (uint32_t f = 0; value && f < g->l->n_features; f++)
			value[f] = g->l->col[f][g->point[i]];
		if (!value || rule_value(&out->due.rule, value) < (int64_t)runs_count(parent, g->r->point[g->point[i]].group))
			g->point[kept++] = g->point[i];
	}
	return kept;
}
