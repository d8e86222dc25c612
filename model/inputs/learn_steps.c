/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values that go with the counter of a loop: see learn_runs.h. */
#include "model/inputs/learn_runs_impl.h"

/* What was noted of a value at a point; NULL where the call was never made, which says nothing. */
static const struct runs_step *step_at(const struct learning *g, const struct runs_leaf *leaf, uint32_t i, uint32_t v, uint32_t d)
{
	const struct runs_seen *seen = &leaf->seen[g->point[i]];

	return seen->step ? &seen->step[v][d] : NULL;
}

/* Does this kind hold with this loop's counter at all points, and did some point have iterations enough to tell? */
static bool steps_hold(const struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint8_t kind, uint32_t d,
		       uint32_t n_points, struct learnt_value *out)
{
	bool told = false;

	out->ratio = 0;
	for (uint32_t i = 0; i < n_points; i++) {
		const struct runs_step *s = step_at(g, leaf, i, v, d);
		int64_t ratio;

		if (!s)
			continue;
		if (s->dead >> kind & 1)
			return false;
		told |= s->most >= 2 && (kind == STEP_LAST ? s->last != s->others : s->first != s->second);
		if (s->most == 0 || (kind != STEP_UP && kind != STEP_DOWN))
			continue;
		ratio = kind == STEP_UP ? s->second / s->first : s->first / s->second;
		if (out->ratio && out->ratio != ratio)
			return false;
		out->ratio = ratio;
	}
	return told;
}

/* Fits a rule to a number of the points. The other rules that fit become doubts. */
static int steps_rule(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t n_points, struct rule *out)
{
	struct rule others[RULE_OTHERS];
	uint32_t n_others;
	int found = rule_fit(&g->table, g->point, n_points, g->y, out, others, &n_others);

	return found == 1 && learnt_doubt_rules(g, leaf->name, leaf->value_name[v], out, others, n_others) < 0 ? 0 : found;
}

static int learn_both(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t d, uint32_t n_points,
		      struct learnt_value *out)
{
	int found;

	for (uint32_t i = 0; i < n_points; i++) {
		const struct runs_step *s = step_at(g, leaf, i, v, d);

		g->y[i] = !s ? CALL_MISSING : out->step == STEP_LAST ? s->others : s->first;
	}
	found = steps_rule(g, leaf, v, n_points, &out->rule);
	if (found != 1 || out->step == STEP_UP || out->step == STEP_DOWN)
		return found;
	for (uint32_t i = 0; i < n_points; i++) {
		const struct runs_step *s = step_at(g, leaf, i, v, d);

		g->y[i] = !s ? CALL_MISSING : out->step == STEP_LAST ? s->last : s->most ? s->second - s->first : CALL_MISSING;
	}
	return steps_rule(g, leaf, v, n_points, &out->second);
}

/* The feature that is the number of iterations, or RULE_NONE: how else would it be known which is the last? */
static uint32_t count_feature(const struct learning *g, const struct merge_node *loop)
{
	const struct learnt_node *k = &g->l->loop[loop->origin];
	const struct rule *r = &k->count;
	bool same = k->count_known && r->n == 1 && r->den == 1 && !r->num[0] && r->num[1] == 1 && r->g[0] == RULE_NONE;

	return same ? r->f[0] : RULE_NONE;
}

/* The least number of values that come again and again at all points, of which one went through them twice; or 0. */
static uint32_t cycle_of(const struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t d, uint32_t n_points)
{
	uint32_t dead = 0;
	uint64_t most = 0;

	for (uint32_t i = 0; i < n_points; i++) {
		const struct runs_step *s = step_at(g, leaf, i, v, d);

		dead |= s ? s->no_cycle : 0;
		most = s && s->most > most ? s->most : most;
	}
	for (uint32_t n = 2; n <= RUNS_CYCLE; n++)
		if (!(dead >> (n - 1) & 1))
			return most + 1 >= 2 * n ? n : 0;
	return 0;
}

/* Values that come again and again with the counter of one loop: a rule for each of them. */
static int learn_cycle(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t n_points, struct learnt_value *out)
{
	struct learnt_value found = {.kind = VALUE_STEPS, .step = STEP_CYCLE, .count = RULE_NONE};
	uint32_t at = 0, loops = 0;
	int rc = 1;

	for (uint32_t d = 0; d < leaf->depth && d < g->depth; d++) {
		uint32_t n = cycle_of(g, leaf, v, d, n_points);

		if (!n)
			continue;
		found.ratio = n;
		found.loop = g->path[d];
		at = d;
		loops++;
	}
	if (loops != 1)
		return 0;
	found.cycle = arena_alloc(g->l->arena, (size_t)found.ratio, sizeof(*found.cycle));
	if (!found.cycle)
		return -1;
	for (int64_t k = 0; rc == 1 && k < found.ratio; k++) {
		for (uint32_t i = 0; i < n_points; i++) {
			const struct runs_step *s = step_at(g, leaf, i, v, at);

			g->y[i] = s ? s->cycle[k] : CALL_MISSING;
		}
		rc = steps_rule(g, leaf, v, n_points, &found.cycle[k]);
	}
	if (rc == 1)
		*out = found;
	return rc < 0 ? -1 : 0;
}

/* A value that goes with the counter of one loop, in one way: of two that hold, neither is known to be it. */
int learn_steps(struct learning *g, const struct runs_leaf *leaf, uint32_t v, uint32_t n_points, struct learnt_value *out)
{
	struct learnt_value found = {.kind = VALUE_STEPS};
	uint32_t n = 0, at = 0;
	int rc;

	for (uint32_t d = 0; d < leaf->depth && d < g->depth; d++)
		for (uint8_t kind = STEP_EVEN; kind < STEP_KINDS; kind++) {
			struct learnt_value k = {.kind = VALUE_STEPS, .step = kind, .loop = g->path[d], .count = RULE_NONE};

			if (!steps_hold(g, leaf, v, kind, d, n_points, &k))
				continue;
			found = k;
			at = d;
			n++;
		}
	if (!n)
		return learn_cycle(g, leaf, v, n_points, out);
	if (n != 1)
		return 0;
	if (found.step == STEP_LAST && (found.count = count_feature(g, found.loop)) == RULE_NONE)
		return 0;
	rc = learn_both(g, leaf, v, at, n_points, &found);
	if (rc == 1)
		*out = found;
	return rc < 0 ? -1 : 0;
}

