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

/* Values of a column, or of its remainder, as numbers: 0 is the least value. Sorting them once for all first conditions
 * makes the search of the second one quick. */
struct ranked {
	uint32_t col, mod, n; /* n: different values */
	double bits, *x;      /* x: by number */
	uint16_t *number;     /* by place in the sample */
};
/* What the rows of a value have: an arc, or MIXED. */
struct of_value {
	uint32_t label, rows, runs, last_run;
};
#define MIXED UINT32_MAX

struct pairing {
	struct rules_search *s, sub;
	struct ranked *ranked;
	uint32_t n_ranked;
	uint32_t *place; /* of the rows that the first condition picks, in the sample */
	struct of_value *of; /* by number */
	double *distinct; /* by arc: values that have it alone */
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

/* Values next to each other that have one arc are a condition; those at either end are open. */
static void try_ranges(struct pairing *p, const struct ranked *r, uint32_t n)
{
	const struct rules_table *t = p->s->t;
	bool input = t->kind[r->col] & RULES_INPUT;

	for (uint32_t i = 0, end; i < n; i = end) {
		struct rules_atom a = {.col = r->col, .mod = r->mod, .by = MODEL_NONE, .label = p->of[i].label, .bits = r->bits};
		double lo = -INFINITY, hi = INFINITY;
		uint32_t runs = 0;

		for (end = i; end < n && p->of[end].label == p->of[i].label; end++) {
			a.covered += p->of[end].rows;
			runs += p->of[end].runs;
		}
		if (a.label == MIXED || (!i && end == n))
			continue;
		if (i)
			lo = rules_between(r->x[p->of[i - 1].last_run], r->x[p->of[i].last_run], true);
		if (end < n)
			hi = rules_between(r->x[p->of[end - 1].last_run], r->x[p->of[end].last_run], false);
		a.atom = (struct model_atom){.kind = MODEL_ATOM_RANGE, .a = lo, .b = hi};
		a.bits += rules_range_bits(lo, hi);
		a.d = RULES_ALPHA * (double)p->sub.count[a.label] + RULES_BETA * p->distinct[a.label];
		rules_consider(&p->sub, &a, input ? runs : 0, -1);
	}
}

/* The picked rows by the numbers of their values; last_run becomes the number, and values without rows go. */
static void try_ranked(struct pairing *p, const struct ranked *r)
{
	const struct rules_table *t = p->s->t;
	uint32_t n = 0;

	for (uint32_t k = 0; k < r->n; k++)
		p->of[k] = (struct of_value){.last_run = MODEL_NONE};
	for (size_t i = 0; i < p->sub.n; i++) {
		struct of_value *v = &p->of[r->number[p->place[i]]];
		uint32_t row = p->sub.row[i], label = t->label[row];

		v->label = !v->rows || v->label == label ? label : MIXED;
		v->rows++;
		v->runs += v->last_run != t->run[row];
		v->last_run = t->run[row];
	}
	for (uint32_t k = 0; k < t->n_arcs; k++)
		p->distinct[k] = 0;
	for (uint32_t k = 0; k < r->n; k++) {
		if (!p->of[k].rows)
			continue;
		p->of[n] = p->of[k];
		p->of[n].last_run = k;
		if (p->of[n].label != MIXED)
			p->distinct[p->of[n].label]++;
		n++;
	}
	if (n > 1)
		try_ranges(p, r, n);
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
			p->place[sub->n] = (uint32_t)i;
			sub->row[sub->n++] = p->sample[i];
			labels += !sub->count[s->t->label[p->sample[i]]]++;
		}
	if (labels < 2 || sub->n == p->n_sample || most_gain(p) - first->bits - p->least_bits - 1 < fmax(MARGIN_BITS, p->found ? p->gain : 0))
		return 0;
	sub->found = false;
	sub->n_runs = s->n_runs;
	for (uint32_t k = 0; k < p->n_ranked; k++)
		if (p->ranked[k].col != first->col)
			try_ranked(p, &p->ranked[k]);
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

/* ---- numbers of values ---- */

static int rank_values(struct pairing *p, uint32_t c, uint32_t mod)
{
	const struct rules_table *t = p->s->t;
	struct ranked *r = &p->ranked[p->n_ranked++];
	double *x = p->value;

	*r = (struct ranked){.col = c, .mod = mod, .bits = t->bits[c] + (mod ? 1 + log2(mod) : 0)};
	r->x = malloc((p->n_sample + 1) * sizeof(*r->x));
	r->number = malloc((p->n_sample + 1) * sizeof(*r->number));
	if (!r->x || !r->number)
		return -1;
	for (size_t i = 0; i < p->n_sample; i++) {
		double v = t->col[c][p->sample[i]];

		x[i] = r->x[i] = mod ? v - floor(v / mod) * mod : v;
	}
	qsort(r->x, p->n_sample, sizeof(*r->x), by_value);
	for (size_t i = 0; i < p->n_sample; i++)
		if (!r->n || r->x[r->n - 1] != r->x[i])
			r->x[r->n++] = r->x[i];
	for (size_t i = 0; i < p->n_sample; i++) {
		uint32_t lo = 0, hi = r->n - 1;

		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;

			if (r->x[mid] < x[i])
				lo = mid + 1;
			else
				hi = mid;
		}
		r->number[i] = (uint16_t)lo;
	}
	return 0;
}

static int rank_columns(struct pairing *p)
{
	const struct rules_table *t = p->s->t;

	p->ranked = calloc((size_t)t->n_cols * MOD_SECOND + 1, sizeof(*p->ranked));
	p->place = malloc((p->n_sample + 1) * sizeof(*p->place));
	p->of = malloc((p->n_sample + 1) * sizeof(*p->of));
	p->distinct = malloc((t->n_arcs + 1u) * sizeof(*p->distinct));
	if (!p->ranked || !p->place || !p->of || !p->distinct)
		return -1;
	for (uint32_t c = 0; p->n_sample && c < t->n_cols; c++) {
		bool whole = t->kind[c] & RULES_WHOLE && !(t->kind[c] & RULES_LABEL);

		if (rank_values(p, c, 0) < 0)
			return -1;
		for (uint32_t mod = 2; whole && mod <= MOD_SECOND; mod++)
			if (rank_values(p, c, mod) < 0)
				return -1;
	}
	return 0;
}

static void ranked_free(struct pairing *p)
{
	for (uint32_t k = 0; k < p->n_ranked; k++) {
		free(p->ranked[k].x);
		free(p->ranked[k].number);
	}
	free(p->ranked);
	free(p->place);
	free(p->of);
	free(p->distinct);
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
	if (rank_columns(&p) < 0)
		goto out;
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
	ranked_free(&p);
	free(p.value);
	free(p.sample);
	free(p.sub.row);
	free(p.sub.count);
	return rc;
}
