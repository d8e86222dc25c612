/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rules: see rule.h. */
#include <stdlib.h>
#include <string.h>

#include "model/inputs/rule.h"
#include "model/induce/rational.h"

#define PLANE_SPARE 5 /* points more than terms that a function of two features needs */
#define SCALE_MOST  (INT64_C(1) << 24)
#define GUARD_TWO   10 /* more than any single condition */
#define SHIFT_MOST  2 /* two places make a line of whatever: a greater shift may be chance */

struct fit {
	const struct rule_table *t;
	uint32_t n, n_basic;   /* points with a value; features that are of no portions */
	const uint32_t *point; /* those with a value */
	int64_t *y, *x[2];     /* y, and columns by those points */
	struct rule *others;
	uint32_t *n_others;
	bool found, many; /* more others than there is room for */
	struct rule *out;
};

/* Variables, rank and ranks are simpler than features made of variables and ranks. A row of ranks is simpler than a grid, and both than
 * portions of a rank's part. Grids of two and of three dimensions are equally simple. */
static uint32_t feature_cost(const struct feature *f)
{
	if (feature_is_plain(f))
		return 1;
	return feature_is_portion(f) && f->d ? 4 : f->d == 1 ? 2 : 3;
}

uint32_t rule_cost(const struct rule *r, const struct feature *f)
{
	uint32_t cost = (r->num[0] != 0) + (r->den != 1);

	for (uint32_t k = 0; k < r->n; k++)
		cost += feature_cost(&f[r->f[k]]) + (r->num[k + 1] != r->den) + (r->g[k] == RULE_NONE ? 0 : feature_cost(&f[r->g[k]])) +
			(r->h[k] == RULE_NONE ? 0 : feature_cost(&f[r->h[k]]));
	return cost;
}

uint32_t rule_guard_cost(const struct rule_guard *g, const struct feature *f)
{
	/* of two conditions together, nothing tells which are simpler: a few ranks may stand for a row of a grid */
	return g->both ? GUARD_TWO : feature_cost(&f[g->f]) + (g->than ? feature_cost(&f[g->g]) : 0);
}

static uint32_t cost(const struct fit *f, const struct rule *r)
{
	return rule_cost(r, f->t->feature);
}

static bool same_at_probes(const struct rule_table *t, const struct rule *a, const struct rule *b)
{
	for (uint32_t i = 0; i < t->n_probes; i++)
		if (rule_value(a, t->probe[i]) != rule_value(b, t->probe[i]))
			return false;
	return t->n_probes > 0;
}

static void take_other(struct fit *f, const struct rule *r)
{
	if (same_at_probes(f->t, f->out, r))
		return;
	for (uint32_t i = 0; i < *f->n_others; i++)
		if (same_at_probes(f->t, &f->others[i], r))
			return;
	if (*f->n_others < RULE_OTHERS)
		f->others[(*f->n_others)++] = *r;
	else if (cost(f, r) == cost(f, f->out))
		f->many = f->t->n_probes > 0;
}

static bool is_last_resort(const struct feature *f)
{
	return f->op == FEATURE_LOG2 || feature_is_partner(f);
}

/*
 * The simplest rule found is the rule, the first one of several, and all others are others. Most training runs have a
 * power of two as number of ranks, so log2(ranks) and a flipped bit of the rank are used only if no other feature fits.
 */
static void take_rule(struct fit *f, const struct rule *r)
{
	struct rule before = *f->out;

	if (f->found && is_last_resort(&f->t->feature[r->f[0]]))
		return;
	if (f->found && cost(f, r) >= cost(f, &before)) {
		take_other(f, r);
		return;
	}
	*f->out = *r;
	if (f->found) {
		f->many = false;
		take_other(f, &before);
	}
	f->found = true;
}

/* The column of a feature, or of a product; false when it has no value somewhere. */
static bool column(const struct fit *f, uint32_t a, uint32_t b, int64_t *x)
{
	for (uint32_t i = 0; i < f->n; i++) {
		int64_t v = f->t->col[a][f->point[i]], w = b == RULE_NONE ? 1 : f->t->col[b][f->point[i]];

		if (v == FEATURE_NONE || w == FEATURE_NONE || __builtin_mul_overflow(v, w, &x[i]))
			return false;
	}
	return true;
}

static uint32_t n_distinct(const int64_t *x, uint32_t n, uint32_t most)
{
	int64_t seen[8];
	uint32_t k = 0;

	for (uint32_t i = 0; i < n && k < most; i++) {
		uint32_t j = 0;

		while (j < k && seen[j] != x[i])
			j++;
		if (j == k)
			seen[k++] = x[i];
	}
	return k;
}

/* Of one product. */
static void take_product(struct fit *f, int64_t shift, int64_t scale, int64_t den, uint32_t a, uint32_t b, uint32_t c)
{
	take_rule(f, &(struct rule){.n = 1, .num = {shift, scale}, .den = den, .f = {a, RULE_NONE}, .g = {b, RULE_NONE},
			       .h = {c, RULE_NONE}});
}

static bool fit_constant(struct fit *f)
{
	if (n_distinct(f->y, f->n, 2) > 1)
		return false;
	take_rule(f, &(struct rule){.num = {f->y[0]}, .den = 1});
	return true;
}

/* y is the feature, or the product. */
static void fit_same(struct fit *f, uint32_t a, uint32_t b)
{
	if (column(f, a, b, f->x[0]) && !memcmp(f->x[0], f->y, f->n * sizeof(*f->y)))
		take_product(f, 0, 1, 1, a, b, RULE_NONE);
}

/* y is a variable, rank or ranks, and a little more or less. */
static void fit_shift(struct fit *f, uint32_t a)
{
	int64_t shift;

	if (!feature_is_plain(&f->t->feature[a]) || !column(f, a, RULE_NONE, f->x[0]) || n_distinct(f->x[0], f->n, 2) < 2)
		return;
	shift = f->y[0] - f->x[0][0];
	for (uint32_t i = 0; i < f->n; i++)
		if (f->y[i] - f->x[0][i] != shift)
			return;
	if (shift && llabs(shift) <= SHIFT_MOST)
		take_product(f, shift, 1, 1, a, RULE_NONE, RULE_NONE);
}

/* `whole`: without a denominator. */
static void fit_line(struct fit *f, uint32_t a, uint32_t b, bool whole)
{
	const int64_t *x[1] = {f->x[0]};
	struct rational_fn fn;
	uint32_t places;

	if (!column(f, a, b, f->x[0]))
		return;
	places = n_distinct(f->x[0], f->n, 3);
	if (b != RULE_NONE && n_distinct(f->y, f->n, 3) < 3)
		return;
	if (places < 2 || rational_solve(x, 1, f->y, f->n, &fn) != 1 || (whole && fn.den != 1))
		return;
	/* two places make a line of whatever: only a shift by little can be no chance */
	if (places < 3 && (b != RULE_NONE || fn.den != 1 || fn.num[1] != 1 || llabs(fn.num[0]) > SHIFT_MOST))
		return;
	take_product(f, fn.num[0], fn.num[1], fn.den, a, b, RULE_NONE);
}

static void fit_pair_line(struct fit *f, uint32_t a, uint32_t b)
{
	fit_line(f, a, b, false);
}

/* Of two features that are made of others, nearly any values are a sum: one has to be a variable, rank or ranks. */
static void fit_plane(struct fit *f, uint32_t a, uint32_t b)
{
	const int64_t *x[2] = {f->x[0], f->x[1]};
	struct rational_fn fn;

	if (!feature_is_plain(&f->t->feature[a]) && !feature_is_plain(&f->t->feature[b]))
		return;
	if (f->n < 3 + PLANE_SPARE || n_distinct(f->y, f->n, 3) < 3 || !column(f, a, RULE_NONE, f->x[0]) || !column(f, b, RULE_NONE, f->x[1]) ||
	    rational_solve(x, 2, f->y, f->n, &fn) != 1)
		return;
	take_rule(f, &(struct rule){.n = 2, .num = {fn.num[0], fn.num[1], fn.num[2]}, .den = fn.den, .f = {a, b},
			       .g = {RULE_NONE, RULE_NONE}, .h = {RULE_NONE, RULE_NONE}});
}

/* What sizes of three dimensions are made of. */
static bool is_factor(const struct feature *f)
{
	switch (f->op) {
	case FEATURE_VAR:
	case FEATURE_RANKS:
	case FEATURE_DIMS:
	case FEATURE_BLOCK:
	case FEATURE_SHARE:
	case FEATURE_PART:
	case FEATURE_COARSE:
		return true;
	}
	return false;
}

static int64_t gcd(int64_t a, int64_t b)
{
	while (b) {
		int64_t r = a % b;

		a = b;
		b = r;
	}
	return llabs(a);
}

/* Of one grid, where they are of grids. */
static bool one_grid(const struct feature *a, const struct feature *b, const struct feature *c)
{
	uint32_t d = a->d ? a->d : b->d ? b->d : c->d;

	return (!a->d || a->d == d) && (!b->d || b->d == d) && (!c->d || c->d == d);
}

enum scale { SCALE_ONE, SCALE_WHOLE, SCALE_ANY, SCALES };

/* y as the product of three features, or a multiple of it. */
static void fit_scaled(struct fit *f, uint32_t a, uint32_t b, uint32_t c, enum scale scale)
{
	int64_t num = 0, den = 0;

	for (uint32_t i = 0; i < f->n; i++) {
		int64_t x = f->t->col[a][f->point[i]], y = f->t->col[b][f->point[i]], z = f->t->col[c][f->point[i]], l, r;

		if (x == FEATURE_NONE || y == FEATURE_NONE || z == FEATURE_NONE || __builtin_mul_overflow(x, y, &x) ||
		    __builtin_mul_overflow(x, z, &x) || !x != !f->y[i])
			return;
		if (!den && x) {
			int64_t g = gcd(f->y[i], x);

			num = f->y[i] / g;
			den = x / g;
			if (den < 1 || den > SCALE_MOST || llabs(num) > SCALE_MOST || (scale == SCALE_ONE && num != den) ||
			    (scale == SCALE_WHOLE && den != 1))
				return;
		}
		if (x && (__builtin_mul_overflow(num, x, &l) || __builtin_mul_overflow(den, f->y[i], &r) || l != r))
			return;
	}
	if (den)
		take_product(f, 0, num, den, a, b, c);
}

static void fit_triples(struct fit *f)
{
	const struct feature *k = f->t->feature;
	uint32_t n = f->t->n_features;

	if (n_distinct(f->y, f->n, 3) < 3)
		return;
	for (enum scale scale = SCALE_ONE; !f->found && scale < SCALES; scale++)
		for (uint32_t a = 0; a < f->n_basic; a++)
			for (uint32_t b = a; is_factor(&k[a]) && b < f->n_basic; b++)
				for (uint32_t c = b; is_factor(&k[b]) && c < f->n_basic; c++)
					if (is_factor(&k[c]) && one_grid(&k[a], &k[b], &k[c]))
						fit_scaled(f, a, b, c, scale);
	for (uint32_t c = f->n_basic; !f->found && c < n; c++)
		for (uint32_t a = 0; k[c].op == FEATURE_TAIL && a < f->n_basic; a++)
			if (k[a].op == FEATURE_VAR || k[a].op == FEATURE_BLOCK)
				fit_line(f, a, c, false);
}

/* How many portions, or a part of something that is always a whole number. */
static void fit_portions(struct fit *f)
{
	if (f->found)
		return;
	for (uint32_t a = f->n_basic; a < f->t->n_features; a++)
		fit_same(f, a, RULE_NONE);
	for (uint32_t a = 0; a < f->n_basic; a++)
		fit_line(f, a, RULE_NONE, false);
}

/* Every pair of features, by one kind of function. */
static void fit_pairs(struct fit *f, void (*fit)(struct fit *f, uint32_t a, uint32_t b), uint32_t first)
{
	if (f->found)
		return;
	for (uint32_t a = 0; a < f->n_basic; a++)
		for (uint32_t b = a + first; b < f->n_basic; b++)
			fit(f, a, b);
}

/* From the simplest kind on, all of one kind. */
static void fit_kinds(struct fit *f)
{
	uint32_t n = f->n_basic;

	if (fit_constant(f))
		return;
	for (uint32_t a = 0; a < n; a++)
		fit_same(f, a, RULE_NONE);
	for (uint32_t a = 0; a < n; a++)
		fit_shift(f, a);
	if (!f->found)
		for (uint32_t a = 0; a < n; a++)
			fit_line(f, a, RULE_NONE, true);
	fit_portions(f);
	fit_pairs(f, fit_same, 0);
	fit_pairs(f, fit_plane, 1);
	fit_pairs(f, fit_pair_line, 0);
	if (!f->found)
		fit_triples(f);
}

int rule_fit(const struct rule_table *t, const uint32_t *point, uint32_t n, const int64_t *y, struct rule *out,
	     struct rule others[RULE_OTHERS], uint32_t *n_others)
{
	int64_t *block = malloc(3 * (n + 1u) * sizeof(*block));
	uint32_t *with = malloc((n + 1u) * sizeof(*with));
	struct fit f = {.t = t, .point = with, .y = block, .others = others, .n_others = n_others, .out = out};
	int rc = -1;

	*n_others = 0;
	if (!block || !with)
		goto out;
	f.x[0] = block + n;
	f.x[1] = block + 2 * n;
	for (uint32_t i = 0; i < n; i++)
		if (y[i] != FEATURE_NONE) {
			f.y[f.n] = y[i];
			with[f.n++] = point[i];
		}
	while (f.n_basic < t->n_features && !feature_is_portion(&t->feature[f.n_basic]))
		f.n_basic++;
	if (f.n)
		fit_kinds(&f);
	rc = f.found && !f.many;
out:
	free(block);
	free(with);
	return rc;
}

/* ---- values ---- */

int64_t rule_value(const struct rule *r, const int64_t *value)
{
	int64_t sum = r->num[0];

	for (uint32_t k = 0; k < r->n; k++) {
		int64_t v = value[r->f[k]], w = r->g[k] == RULE_NONE ? 1 : value[r->g[k]];
		int64_t u = r->h[k] == RULE_NONE ? 1 : value[r->h[k]];

		if (v == FEATURE_NONE || w == FEATURE_NONE || u == FEATURE_NONE || __builtin_mul_overflow(v, w, &v) ||
		    __builtin_mul_overflow(v, u, &v) || __builtin_mul_overflow(v, r->num[k + 1], &v) ||
		    __builtin_add_overflow(sum, v, &sum))
			return RULE_NO_VALUE;
	}
	return r->den && sum % r->den == 0 ? sum / r->den : RULE_NO_VALUE;
}
