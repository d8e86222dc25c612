/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rules: see rule.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/inputs/rule.h"
#include "predictor/model/rational.h"

#define PLANE_SPARE 5 /* points more than terms that a function of two features needs */

struct fit {
	const struct rule_table *t;
	uint32_t n;
	const uint32_t *point; /* those with a value */
	int64_t *y, *x[2];     /* y, and columns by those points */
	struct rule *others;
	uint32_t *n_others;
	bool found;
	struct rule *out;
};

static bool is_plain(const struct fit *f, const struct rule *r)
{
	bool plain = true;

	for (uint32_t k = 0; k < r->n; k++)
		plain &= feature_is_plain(&f->t->feature[r->f[k]]) &&
			 (r->g[k] == RULE_NONE || feature_is_plain(&f->t->feature[r->g[k]]));
	return plain;
}

/*
 * The first is the rule, the next ones are others, unless it is simpler than they are: of nothing but variables. Most
 * numbers of ranks that are tried are powers of two, so that rounds of a tree are for what nothing else explains. */
static void take(struct fit *f, const struct rule *r)
{
	if (f->found && ((is_plain(f, f->out) && !is_plain(f, r)) || f->t->feature[r->f[0]].op == FEATURE_LOG2))
		return;
	if (!f->found)
		*f->out = *r;
	else if (*f->n_others < RULE_OTHERS)
		f->others[(*f->n_others)++] = *r;
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

static bool fit_constant(struct fit *f)
{
	if (n_distinct(f->y, f->n, 2) > 1)
		return false;
	take(f, &(struct rule){.num = {f->y[0]}, .den = 1});
	return true;
}

/* y is the feature, or the product. */
static void fit_same(struct fit *f, uint32_t a, uint32_t b)
{
	if (column(f, a, b, f->x[0]) && !memcmp(f->x[0], f->y, f->n * sizeof(*f->y)))
		take(f, &(struct rule){.n = 1, .num = {0, 1}, .den = 1, .f = {a}, .g = {b}});
}

static void fit_line(struct fit *f, uint32_t a, uint32_t b)
{
	const int64_t *x[1] = {f->x[0]};
	struct rational_fn fn;
	uint32_t places;

	if (!column(f, a, b, f->x[0]))
		return;
	places = n_distinct(f->x[0], f->n, 3);
	if (b != RULE_NONE && n_distinct(f->y, f->n, 3) < 3)
		return;
	if (places < 2 || rational_solve(x, 1, f->y, f->n, &fn) != 1)
		return;
	/* two places make a line of whatever: only a shift by little can be no chance */
	if (places < 3 && (b != RULE_NONE || fn.den != 1 || fn.num[1] != 1 || llabs(fn.num[0]) > 2))
		return;
	take(f, &(struct rule){.n = 1, .num = {fn.num[0], fn.num[1]}, .den = fn.den, .f = {a}, .g = {b}});
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
	take(f, &(struct rule){.n = 2, .num = {fn.num[0], fn.num[1], fn.num[2]}, .den = fn.den, .f = {a, b},
			       .g = {RULE_NONE, RULE_NONE}});
}

/* From the simplest kind on, all of one kind. */
static void fit_kinds(struct fit *f)
{
	uint32_t n = f->t->n_features;

	if (fit_constant(f))
		return;
	for (uint32_t a = 0; a < n; a++)
		fit_same(f, a, RULE_NONE);
	for (uint32_t a = 0; !f->found && a < n; a++)
		fit_line(f, a, RULE_NONE);
	for (uint32_t a = 0; !f->found && a < n; a++)
		for (uint32_t b = a; b < n; b++)
			fit_same(f, a, b);
	for (uint32_t a = 0; !f->found && a < n; a++)
		for (uint32_t b = a + 1; b < n; b++)
			fit_plane(f, a, b);
	for (uint32_t a = 0; !f->found && a < n; a++)
		for (uint32_t b = a; b < n; b++)
			fit_line(f, a, b);
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
	if (f.n)
		fit_kinds(&f);
	rc = f.found;
out:
	free(block);
	free(with);
	return rc;
}

/* ---- yes or no ---- */

int rule_fit_guard(const struct rule_table *t, const uint32_t *point, uint32_t n, const bool *y, struct rule_guard *out,
		   struct rule_guard others[RULE_OTHERS], uint32_t *n_others)
{
	static const int64_t range[][2] = {{0, INT64_MAX}, {INT64_MIN + 1, -1}, {1, INT64_MAX}, {0, 0}, {2, INT64_MAX}, {1, 1}};
	bool all = true, found = false;

	*n_others = 0;
	for (uint32_t i = 0; i < n; i++)
		all &= y[i];
	*out = (struct rule_guard){.f = RULE_NONE};
	if (all)
		return 1;
	for (uint32_t a = 0; a < t->n_features; a++) {
		for (size_t k = 0; k < sizeof(range) / sizeof(*range); k++) {
			struct rule_guard g = {a, range[k][0], range[k][1]};
			uint32_t i = 0;

			while (i < n && t->col[a][point[i]] != FEATURE_NONE &&
			       (t->col[a][point[i]] >= g.lo && t->col[a][point[i]] <= g.hi) == y[i])
				i++;
			if (i < n)
				continue;
			if (!found)
				*out = g;
			else if (*n_others < RULE_OTHERS &&
				 (!feature_is_plain(&t->feature[out->f]) || feature_is_plain(&t->feature[a])))
				others[(*n_others)++] = g;
			found = true;
		}
	}
	return found;
}

/* ---- values ---- */

int64_t rule_value(const struct rule *r, const int64_t *value)
{
	int64_t sum = r->num[0];

	for (uint32_t k = 0; k < r->n; k++) {
		int64_t v = value[r->f[k]], w = r->g[k] == RULE_NONE ? 1 : value[r->g[k]];

		if (v == FEATURE_NONE || w == FEATURE_NONE || __builtin_mul_overflow(v, w, &v) ||
		    __builtin_mul_overflow(v, r->num[k + 1], &v) || __builtin_add_overflow(sum, v, &sum))
			return RULE_NO_VALUE;
	}
	return r->den && sum % r->den == 0 ? sum / r->den : RULE_NO_VALUE;
}

bool rule_guard_holds(const struct rule_guard *g, const int64_t *value)
{
	return g->f == RULE_NONE ||
	       (value[g->f] != FEATURE_NONE && value[g->f] >= g->lo && value[g->f] <= g->hi);
}
