/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pairs of conditions, for arcs that no single condition can tell from the others. The first condition picks rows: a
 * column, or its remainder, on one side of a value or equal to a value. The second condition is the best one on those
 * rows by discriminativity, as for all rows. A pair must save more bits than it costs. The margin pays for the number
 * of pairs that are tried. Pekunov (cited in model.h) induces transition rules by trying one condition at a time. A
 * list of such conditions (rules.h) can express a conjunction if each part excludes rows by itself. It cannot if only
 * both parts together exclude rows. See rules.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/rules.h"

#define MARGIN_BITS  10.0
#define ROWS_MOST    1024 /* rows that are searched; a pair found is checked on all rows */
#define VALUES_MOST  16	  /* of a column whose sides are looked at */
#define MOD_FIRST    3
#define MOD_SECOND   4

struct pairing {
	struct rules_search *s, sub;
	double *value, gain, least_bits; /* that a second condition takes */
	struct rules_atom *best; /* of two */
	uint32_t *sample;	 /* of the search's rows */
	size_t n_sample;
	bool found;
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* Bits saved by different pairs of the two columns' values, among all rows that are left. Values that repeat in another
 * run are no second proof. NAN without memory. */
static double pairs_gain(struct pairing *p, const struct rules_atom *first, const struct rules_atom *second, bool complete)
{
	struct rules_search *s = p->s;
	const struct rules_table *t = s->t;
	size_t all = 0, covered = 0;

	map_reset(&p->sub.values);
	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = s->row[i], known = p->sub.values.n;
		uint64_t x = map_bits(t->col[first->col][row]), y = map_bits(t->col[second->col][row]);
		uint32_t at = map_put(&p->sub.values, (x * 0x9e3779b97f4a7c15u) ^ (y << 32 | y >> 32));

		if (at == MAP_NONE)
			return NAN;
		all += at == known;
		covered += at == known && rules_covers(t, first, row) && rules_covers(t, second, row);
	}
	return complete ? rules_choose_bits((double)all, (double)covered)
			: (double)covered * log2((double)s->n / (double)s->count[second->label]);
}

/* On all rows that are not covered yet: one arc, and enough of rows, runs and pairs of values. 1, 0, -1 without memory. */
static int judge_pair(struct pairing *p, const struct rules_atom *first, struct rules_atom *second)
{
	struct rules_search *s = p->s;
	const struct rules_table *t = s->t;
	uint32_t runs = 0, last = MODEL_NONE;
	size_t covered = 0;
	double gain, by_pairs;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = s->row[i];

		if (!rules_covers(t, first, row) || !rules_covers(t, second, row))
			continue;
		if (t->label[row] != second->label)
			return 0;
		covered++;
		runs += t->run[row] != last;
		last = t->run[row];
	}
	if (!(t->kind[first->col] & t->kind[second->col] & RULES_INPUT))
		runs = 0;
	gain = rules_gain(s, second->label, covered, runs) - first->bits - second->bits - 1;
	if (gain < MARGIN_BITS || (p->found && gain <= p->gain))
		return 0;
	by_pairs = pairs_gain(p, first, second, covered == s->count[second->label]);
	if (isnan(by_pairs))
		return -1;
	gain = fmin(gain, by_pairs - first->bits - second->bits - 1);
	if (gain < MARGIN_BITS || (p->found && gain <= p->gain))
		return 0;
	second->covered = covered;
	second->gain = gain;
	p->gain = gain;
	p->found = true;
	return 1;
}

/* What a second condition can say at most of the rows that the first one picked. */
static double most_gain(const struct pairing *p)
{
	const struct rules_search *s = p->s;
	double most = 0, scale = (double)s->n / (double)p->n_sample;

	for (uint32_t k = 0; k < s->t->n_arcs; k++) {
		double rows = fmin(ceil((double)p->sub.count[k] * scale), (double)s->count[k]);

		if (rows > 0 && (s->only == MODEL_NONE || s->only == k))
			most = fmax(most, rules_gain(s, k, (size_t)rows, 0));
	}
	return most;
}

/* The best second condition behind the first. */
static int try_first(struct pairing *p, struct rules_atom *first)
{
	struct rules_search *s = p->s, *sub = &p->sub;
	uint32_t labels = 0;
	int rc;

	memset(sub->count, 0, s->t->n_arcs * sizeof(*sub->count));
	sub->n = 0;
	for (size_t i = 0; i < p->n_sample; i++)
		if (rules_covers(s->t, first, p->sample[i])) {
			sub->row[sub->n++] = p->sample[i];
			labels += !sub->count[s->t->label[p->sample[i]]]++;
		}
	if (labels < 2 || sub->n == p->n_sample || most_gain(p) - first->bits - p->least_bits - 1 < fmax(MARGIN_BITS, p->found ? p->gain : 0))
		return 0;
	sub->found = false;
	sub->n_runs = s->n_runs;
	for (uint32_t c = 0; c < s->t->n_cols; c++)
		if (c != first->col && rules_column(sub, p->value, c, MOD_SECOND) < 0)
			return -1;
	rc = sub->found ? judge_pair(p, first, &sub->best) : 0;
	if (rc != 1)
		return rc;
	first->label = sub->best.label;
	p->best[0] = *first;
	p->best[1] = sub->best;
	return 0;
}

static int try_range(struct pairing *p, uint32_t col, uint32_t mod, double lo, double hi)
{
	struct rules_atom a = {.col = col, .mod = mod, .by = MODEL_NONE, .atom = {.kind = MODEL_ATOM_RANGE, .a = lo, .b = hi}};

	a.bits = p->s->t->bits[col] + 1 + (mod ? 1 + log2(mod) : 0) + rules_number_bits(isinf(lo) ? hi : lo);
	return try_first(p, &a);
}

/* Tries the column's values, and both sides of them. If there are too many values, tries a sample spread evenly. */
static int try_column(struct pairing *p, uint32_t c)
{
	const struct rules_table *t = p->s->t;
	bool whole = t->kind[c] & RULES_WHOLE, ordered = !(t->kind[c] & RULES_LABEL);
	double *v = p->value + p->s->t->n_rows;
	size_t n = 0;

	for (size_t i = 0; i < p->n_sample; i++)
		v[i] = t->col[c][p->sample[i]];
	qsort(v, p->n_sample, sizeof(*v), by_value);
	for (size_t i = 0; i < p->n_sample; i++)
		if (!n || v[n - 1] != v[i])
			v[n++] = v[i];
	for (size_t k = 0, many = n > VALUES_MOST ? VALUES_MOST : n; n > 1 && k < many; k++) {
		size_t i = k * n / many;
		double next = i + 1 < n ? v[i + 1] : NAN;

		if ((ordered && i + 1 < n &&
		     (try_range(p, c, 0, -INFINITY, whole ? v[i] : (v[i] + next) / 2) < 0 ||
		      try_range(p, c, 0, whole ? next : (v[i] + next) / 2, INFINITY) < 0)) ||
		    (n <= VALUES_MOST && whole && try_range(p, c, 0, v[i], v[i]) < 0))
			return -1;
	}
	for (uint32_t mod = 2; ordered && whole && n > mod && mod <= MOD_FIRST; mod++)
		for (uint32_t rest = 0; rest < mod; rest++)
			if (try_range(p, c, mod, rest, rest) < 0)
				return -1;
	return 0;
}

int conjunctions_search(struct rules_search *s, struct rules_atom pair[2], struct errbuf *err)
{
	struct pairing p = {.s = s, .sub = *s, .best = pair};
	size_t step = s->n / ROWS_MOST + 1;
	int rc = -1;

	p.value = malloc((2 * s->t->n_rows + 2) * sizeof(*p.value));
	p.sample = malloc((s->n + 1) * sizeof(*p.sample));
	p.sub.row = malloc((s->n + 1) * sizeof(*p.sub.row));
	p.sub.count = calloc(s->t->n_arcs, sizeof(*p.sub.count));
	p.sub.repeat = false;
	p.sub.no_steps = true;
	if (!p.value || !p.sample || !p.sub.row || !p.sub.count)
		goto out;
	for (size_t i = 0; i < s->n; i += step)
		p.sample[p.n_sample++] = s->row[i];
	p.least_bits = s->t->n_cols ? INFINITY : 0;
	for (uint32_t c = 0; c < s->t->n_cols; c++)
		p.least_bits = fmin(p.least_bits, s->t->bits[c]);
	for (uint32_t c = 0; c < s->t->n_cols; c++)
		if (try_column(&p, c) < 0)
			goto out;
	rc = p.found;
out:
	s->values = p.sub.values; /* its memory may have grown */
	if (rc < 0)
		err_set(err, "no memory for pairs of conditions");
	free(p.value);
	free(p.sample);
	free(p.sub.row);
	free(p.sub.count);
	return rc;
}
