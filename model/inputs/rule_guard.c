/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether something happens, as a condition of the features of a place: see rule.h. A condition that holds at every
 * point where the thing happens is a candidate. If a candidate holds at no other point, it is the rule. Otherwise two
 * candidates that together exclude all other points are the rule. Pekunov (cited in model/induce/model.h) covers
 * disjuncts one by one. Here every pair is tried, because the best single candidate need not be part of the right
 * pair.
 */
#include <stdlib.h>
#include <string.h>

#include "model/inputs/rule.h"

#define ATOMS_MOST 512 /* conditions that differ, of which pairs are tried */
#define ALONE	   2   /* points that each of two conditions has to exclude by itself */
#define SIDES	   2   /* values on each side of a threshold */

struct atom {
	struct rule_guard g;
	uint64_t *out; /* bits of the points where it does not happen and the condition does not hold */
};
struct search {
	const struct rule_table *t;
	const uint32_t *point;
	uint32_t n, n_basic, n_yes;
	const bool *y;
	struct rule_guard *out, *others;
	uint32_t *n_others;
	bool found, many;
	struct atom *atom;
	uint32_t n_atoms;
};

static const int64_t range[][2] = {{0, INT64_MAX}, {-INT64_MAX, -1}, {1, INT64_MAX}, {0, 0}, {2, INT64_MAX}, {1, 1}};
#define RANGES (sizeof(range) / sizeof(*range))

static bool within(int64_t v, int64_t lo, int64_t hi)
{
	return v != FEATURE_NONE && v >= lo && v <= hi;
}

bool rule_guard_holds(const struct rule_guard *g, const int64_t *value)
{
	if (g->f == RULE_NONE)
		return true;
	if (g->than)
		return value[g->f] != FEATURE_NONE && value[g->g] != FEATURE_NONE &&
		       within(value[g->f] - value[g->g], g->lo, g->hi);
	return within(value[g->f], g->lo, g->hi) && (!g->both || within(value[g->f2], g->lo2, g->hi2));
}

bool rule_guard_same(const struct rule_guard *a, const struct rule_guard *b)
{
	return a->f == b->f && a->lo == b->lo && a->hi == b->hi && a->than == b->than && a->both == b->both &&
	       (!a->than || a->g == b->g) && (!a->both || (a->f2 == b->f2 && a->lo2 == b->lo2 && a->hi2 == b->hi2));
}

bool rule_guard_thresholds(const struct rule_guard *a, const struct rule_guard *b, const struct feature *f)
{
	return a->f == b->f && a->f != RULE_NONE && !a->than && !a->both && !b->than && !b->both &&
	       (f[a->f].op == FEATURE_VAR || f[a->f].op == FEATURE_RANKS) && (a->lo != b->lo || a->hi != b->hi);
}

static bool same_at_probes(const struct rule_table *t, const struct rule_guard *a, const struct rule_guard *b)
{
	if (rule_guard_thresholds(a, b, t->feature))
		return false;
	for (uint32_t i = 0; i < t->n_probes; i++)
		if (rule_guard_holds(a, t->probe[i]) != rule_guard_holds(b, t->probe[i]))
			return false;
	return t->n_probes > 0;
}

/* At point i of the search. */
static bool holds_at(const struct search *s, const struct rule_guard *g, uint32_t i)
{
	uint32_t p = s->point[i];
	int64_t v = s->t->col[g->f][p];

	if (g->than)
		return v != FEATURE_NONE && s->t->col[g->g][p] != FEATURE_NONE && within(v - s->t->col[g->g][p], g->lo, g->hi);
	return within(v, g->lo, g->hi);
}

/* Of nothing but variables, rank and ranks, and whether they are 0. */
static bool is_simple(const struct search *s, const struct rule_guard *g)
{
	const struct feature *f = s->t->feature;

	return feature_is_plain(&f[g->f]) && !g->both && (!g->than || feature_is_plain(&f[g->g])) && g->lo <= 1 &&
	       !(g->lo == 1 && g->hi == 1);
}

static void take_other(struct search *s, const struct rule_guard *g)
{
	if (same_at_probes(s->t, s->out, g))
		return;
	for (uint32_t i = 0; i < *s->n_others; i++)
		if (same_at_probes(s->t, &s->others[i], g))
			return;
	if (*s->n_others < RULE_OTHERS)
		s->others[(*s->n_others)++] = *g;
	else if (rule_guard_cost(g, s->t->feature) == rule_guard_cost(s->out, s->t->feature))
		s->many = s->t->n_probes > 0;
}

/* What is simple needs no others that are not. */
static void take_guard(struct search *s, const struct rule_guard *g)
{
	if (s->found && is_simple(s, s->out) && !is_simple(s, g))
		return;
	if (!s->found) {
		*s->out = *g;
		s->found = true;
		return;
	}
	if (rule_guard_cost(g, s->t->feature) < rule_guard_cost(s->out, s->t->feature)) {
		const struct rule_guard before = *s->out;

		*s->out = *g;
		s->many = false;
		take_other(s, &before);
		return;
	}
	take_other(s, g);
}

/* Is it the rule? */
static void try_one(struct search *s, const struct rule_guard *g)
{
	uint32_t i = 0;

	while (i < s->n && s->t->col[g->f][s->point[i]] != FEATURE_NONE && holds_at(s, g, i) == s->y[i])
		i++;
	if (i == s->n)
		take_guard(s, g);
}

/* What is left over of a variable by portions: the last portion is a whole one, or it is not. */
static void try_left_over(struct search *s)
{
	for (uint32_t a = s->n_basic; a < s->t->n_features; a++) {
		const struct feature *f = &s->t->feature[a];

		if (f->op != FEATURE_TAIL || f->d)
			continue;
		try_one(s, &(struct rule_guard){.f = a, .lo = 1, .hi = (int64_t)f->w - 1});
		try_one(s, &(struct rule_guard){.f = a, .lo = f->w, .hi = f->w});
	}
}

static void try_ranges(struct search *s)
{
	for (uint32_t a = 0; a < s->n_basic; a++)
		for (size_t k = 0; k < RANGES; k++)
			try_one(s, &(struct rule_guard){.f = a, .lo = range[k][0], .hi = range[k][1]});
	try_left_over(s);
}

/* Features that may be compared with each other: plain features, places on a grid, divided sizes and remainders. */
static bool is_compared(const struct feature *f)
{
	return feature_is_plain(f) || f->op == FEATURE_COORD || f->op == FEATURE_DIMS || (f->op >= FEATURE_BLOCK && f->op <= FEATURE_DIV);
}

static void try_pairs(struct search *s)
{
	static const int64_t than[][2] = {{0, INT64_MAX}, {-INT64_MAX, -1}, {1, INT64_MAX}, {-INT64_MAX, 0}, {0, 0}};
	const struct feature *f = s->t->feature;

	for (uint32_t a = 0; a < s->n_basic; a++)
		for (uint32_t b = a + 1; is_compared(&f[a]) && b < s->n_basic; b++)
			for (size_t k = 0; is_compared(&f[b]) && k < sizeof(than) / sizeof(*than); k++)
				try_one(s, &(struct rule_guard){.f = a, .lo = than[k][0], .hi = than[k][1], .than = true, .g = b});
}

static int compare_numbers(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Different values of the feature where it happens, or not; sorted. */
static uint32_t side(const struct search *s, uint32_t f, bool yes, int64_t *v)
{
	uint32_t n = 0, k = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->y[i] == yes)
			v[n++] = s->t->col[f][s->point[i]];
	qsort(v, n, sizeof(*v), compare_numbers);
	for (uint32_t i = 0; i < n; i++)
		if (!k || v[k - 1] != v[i])
			v[k++] = v[i];
	return k;
}

/* A variable is large enough, or small: the threshold is somewhere between, so that either end is a rule. */
static int try_thresholds(struct search *s)
{
	int64_t *yes = malloc(2 * (s->n + 1u) * sizeof(*yes)), *no = yes ? yes + s->n + 1 : NULL;

	if (!yes)
		return -1;
	for (uint32_t f = 0; f < s->n_basic; f++) {
		uint32_t a, b;

		if (s->t->feature[f].op != FEATURE_VAR && s->t->feature[f].op != FEATURE_RANKS)
			continue;
		a = side(s, f, true, yes);
		b = side(s, f, false, no);
		if (a < SIDES || b < SIDES || yes[0] == FEATURE_NONE || no[0] == FEATURE_NONE)
			continue;
		if (yes[0] > no[b - 1]) {
			take_guard(s, &(struct rule_guard){.f = f, .lo = yes[0], .hi = INT64_MAX});
			take_guard(s, &(struct rule_guard){.f = f, .lo = no[b - 1] + 1, .hi = INT64_MAX});
		} else if (yes[a - 1] < no[0]) {
			take_guard(s, &(struct rule_guard){.f = f, .lo = -INT64_MAX, .hi = yes[a - 1]});
			take_guard(s, &(struct rule_guard){.f = f, .lo = -INT64_MAX, .hi = no[0] - 1});
		}
	}
	free(yes);
	return 0;
}

/* ---- two conditions ---- */

/* One that holds wherever it happens, and not everywhere; another of the same places says nothing new. */
static int add_atom(struct search *s, const struct rule_guard *g)
{
	struct atom *a = &s->atom[s->n_atoms];
	bool any = false;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->y[i] && !holds_at(s, g, i))
			return 0;
	for (uint32_t i = 0; i < s->n_atoms; i++)
		if (same_at_probes(s->t, &s->atom[i].g, g))
			return 0;
	a->g = *g;
	a->out = calloc(s->n / 64 + 1, sizeof(*a->out));
	if (!a->out)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		if (!s->y[i] && !holds_at(s, g, i)) {
			a->out[i / 64] |= UINT64_C(1) << (i % 64);
			any = true;
		}
	if (any)
		s->n_atoms++;
	else
		free(a->out);
	return 0;
}

static void try_two(struct search *s, const struct atom *a, const struct atom *b)
{
	uint32_t only_a = 0, only_b = 0, all = 0;

	for (uint32_t w = 0; w <= s->n / 64; w++) {
		only_a += (uint32_t)__builtin_popcountll(a->out[w] & ~b->out[w]);
		only_b += (uint32_t)__builtin_popcountll(b->out[w] & ~a->out[w]);
		all += (uint32_t)__builtin_popcountll(a->out[w] | b->out[w]);
	}
	if (all == s->n - s->n_yes && only_a >= ALONE && only_b >= ALONE)
		take_guard(s, &(struct rule_guard){.f = a->g.f, .lo = a->g.lo, .hi = a->g.hi, .both = true, .f2 = b->g.f, .lo2 = b->g.lo,
					     .hi2 = b->g.hi});
}

static int try_both(struct search *s)
{
	int rc = 0;

	if (s->n_yes < ALONE)
		return 0;
	s->atom = calloc(ATOMS_MOST, sizeof(*s->atom));
	if (!s->atom)
		return -1;
	for (uint32_t f = 0; rc == 0 && f < s->n_basic; f++)
		for (size_t k = 0; rc == 0 && k < RANGES && s->n_atoms < ATOMS_MOST; k++)
			rc = add_atom(s, &(struct rule_guard){.f = f, .lo = range[k][0], .hi = range[k][1]});
	for (uint32_t a = 0; rc == 0 && a < s->n_atoms; a++)
		for (uint32_t b = a + 1; b < s->n_atoms; b++)
			try_two(s, &s->atom[a], &s->atom[b]);
	for (uint32_t a = 0; a < s->n_atoms; a++)
		free(s->atom[a].out);
	free(s->atom);
	return rc;
}

int rule_fit_guard(const struct rule_table *t, const uint32_t *point, uint32_t n, const bool *y, struct rule_guard *out,
		   struct rule_guard others[RULE_OTHERS], uint32_t *n_others)
{
	struct search s = {.t = t, .point = point, .n = n, .y = y, .out = out, .others = others, .n_others = n_others};

	*n_others = 0;
	*out = (struct rule_guard){.f = RULE_NONE};
	for (uint32_t i = 0; i < n; i++)
		s.n_yes += y[i];
	if (s.n_yes == n)
		return 1;
	while (s.n_basic < t->n_features && !feature_is_portion(&t->feature[s.n_basic]))
		s.n_basic++;
	try_ranges(&s);
	if (!s.found) {
		if (try_thresholds(&s) < 0)
			return -1;
		try_pairs(&s);
	}
	if (!s.found && try_both(&s) < 0)
		return -1;
	return s.found && !s.many;
}
