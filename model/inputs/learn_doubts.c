/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What runs leave open: see learn_runs.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/learn_runs_impl.h"

#define SAMPLE_RANKS 36 /* that rules are compared on */

static bool same_doubt(const struct learnt_doubt *a, const struct learnt_doubt *b)
{
	for (int k = 0; k < 2; k++) {
		const struct rule *x = &a->rule[k], *y = &b->rule[k];

		if (!rule_guard_same(&a->guard[k], &b->guard[k]) || x->n != y->n || x->den != y->den || memcmp(x->num, y->num, sizeof(x->num)) ||
		    memcmp(x->f, y->f, sizeof(x->f)) || memcmp(x->g, y->g, sizeof(x->g)) ||
		    memcmp(x->h, y->h, sizeof(x->h)))
			return false;
	}
	return a->kind == b->kind && rule_guard_same(&a->where, &b->where) && a->counted[0] == b->counted[0] && a->counted[1] == b->counted[1];
}

bool learnt_doubt_simpler(const struct learnt_doubt *d, const struct feature *f)
{
	if (d->kind == DOUBT_RULES)
		return rule_cost(&d->rule[0], f) < rule_cost(&d->rule[1], f);
	return d->kind == DOUBT_GUARDS && rule_guard_cost(&d->guard[0], f) < rule_guard_cost(&d->guard[1], f);
}

bool learnt_doubt_differs(const struct learnt_doubt *d, const struct feature *f, uint32_t n_features, int64_t *value,
			  const double *var, uint32_t ranks)
{
	for (uint32_t rank = 0; rank < ranks; rank++) {
		for (int k = 0; k < 2; k++) {
			const struct rule *r = &d->rule[k];
			uint32_t used[12] = {r->f[0], r->f[1], r->g[0], r->g[1], r->h[0], r->h[1], d->guard[k].f,
					     d->guard[k].g, d->guard[k].f2, d->where.f, d->where.g, d->where.f2};

			for (int i = 0; i < 12; i++)
				if (used[i] < n_features)
					value[used[i]] = feature_value(&f[used[i]], &(struct feature_place){var, rank, ranks, 0});
		}
		if (!learnt_doubt_agrees(d, value))
			return true;
	}
	return false;
}

/* Do both sides say the same wherever they are asked? On up to SAMPLE_RANKS ranks, with variables moved a little. */
static bool never_differs(const struct learnt *l, const struct learnt_doubt *d)
{
	int64_t *value = malloc((l->n_features + 1u) * sizeof(*value));
	bool same = value != NULL &&
		    (d->kind != DOUBT_GUARDS || !rule_guard_thresholds(&d->guard[0], &d->guard[1], l->feature));

	for (uint32_t ranks = 1; same && ranks <= SAMPLE_RANKS; ranks++) {
		double var[FEATURE_VARS_MAX];

		for (uint32_t v = 0; v < l->runs->n_vars; v++)
			var[v] = l->runs->run[0].var[v] + (double)(ranks * (v + 7) % 31);
		same = !learnt_doubt_differs(d, l->feature, l->n_features, value, var, ranks);
	}
	free(value);
	return same;
}

int learnt_doubt_add(struct learnt *l, const struct learnt_doubt *d)
{
	if (d->kind != DOUBT_ABOUT && never_differs(l, d))
		return 0;
	for (uint32_t i = 0; i < l->n_doubts && d->kind != DOUBT_ABOUT; i++)
		if (same_doubt(&l->doubt[i], d))
			return 0;
	if (l->n_doubts == LEARNT_DOUBTS_MAX)
		return -1;
	l->doubt[l->n_doubts++] = *d;
	return 0;
}

int learnt_doubt_rules(struct learning *g, const char *what, const char *part, const struct rule *rule, const struct rule *other,
		       uint32_t n)
{
	bool said = false; /* one of the rules that are not as simple */

	/* what is divided without a rest in all runs may not be elsewhere: then the rule is in doubt by itself */
	for (uint32_t i = rule->den != 1 ? 0 : 1; i < n + 1; i++) {
		struct learnt_doubt d = {.where = g->where, .rule = {*rule, i ? other[i - 1] : *rule}};
		bool simpler = learnt_doubt_simpler(&d, g->l->feature);

		if (simpler && said)
			continue;
		said |= simpler;
		snprintf(d.what, sizeof(d.what), "%.120s: %.28s", what, part);
		if (learnt_doubt_add(g->l, &d) < 0 && !simpler)
			return -1;
	}
	return 0;
}

int learnt_doubt_guards(struct learning *g, const char *what, const struct rule_guard *guard, const struct rule_guard *other,
			uint32_t n)
{
	bool said = false;

	for (uint32_t i = 0; i < n; i++) {
		struct learnt_doubt d = {.kind = DOUBT_GUARDS, .where = g->where, .guard = {*guard, other[i]}};
		bool simpler = learnt_doubt_simpler(&d, g->l->feature);

		if (simpler && said)
			continue;
		said |= simpler;
		snprintf(d.what, sizeof(d.what), "%.120s: whether", what);
		if (learnt_doubt_add(g->l, &d) < 0 && !simpler)
			return -1;
	}
	return 0;
}

static bool passes(const struct learnt_doubt *d, int k, const int64_t *value)
{
	return d->counted[k] ? rule_value(&d->rule[k], value) > 0 : rule_guard_holds(&d->guard[k], value);
}

bool learnt_doubt_agrees(const struct learnt_doubt *d, const int64_t *value)
{
	int64_t x;

	if (!rule_guard_holds(&d->where, value))
		return true;
	if (d->kind == DOUBT_ORDER)
		return !passes(d, 0, value) || !passes(d, 1, value);
	if (d->kind == DOUBT_ABOUT)
		return false;
	if (d->kind == DOUBT_GUARDS)
		return rule_guard_holds(&d->guard[0], value) == rule_guard_holds(&d->guard[1], value);
	x = rule_value(&d->rule[0], value);
	return x == rule_value(&d->rule[1], value) && (x != RULE_NO_VALUE || d->rule[0].den == 1);
}

const char *learnt_side_format(const struct learnt_doubt *d, int side, const struct feature *f, char *buf, size_t size)
{
	const struct rule *r = &d->rule[0];

	if (d->kind == DOUBT_ABOUT && side)
		snprintf(buf, size, "others within %.2g %% of it", 100 * learnt_missed(d));
	else if (d->kind == DOUBT_ABOUT)
		snprintf(buf, size, "%.4g*%s %c %.4g", (double)r->num[1] / (double)r->den, f[r->f[0]].name,
			 r->num[0] < 0 ? '-' : '+', fabs((double)r->num[0] / (double)r->den));
	if (d->kind == DOUBT_ABOUT)
		return buf;
	if (d->kind == DOUBT_RULES || d->counted[side])
		return rule_format(&d->rule[side], f, buf, size);
	return rule_guard_format(&d->guard[side], f, buf, size);
}

