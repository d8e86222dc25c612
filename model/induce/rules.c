/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The condition that says most, by discriminativity and length of description: see rules.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/induce/rules.h"

#define AGAIN_BITS   2.0
#define DISTINCT_MAX 4096
#define MOD_MOST     16
#define REAL_BITS    12.0
#define MIXED	     UINT32_MAX
#define PAIR_SAMPLE  2048
#define SMALL	     4096 /* whole numbers below it need no map */

uint32_t rules_feature(struct rules_features *f, uint8_t op, uint32_t a, uint32_t b)
{
	uint32_t at = map_put(&f->map, (uint64_t)op << 56 ^ (uint64_t)a << 28 ^ b);

	if (at == MAP_NONE)
		return MODEL_NONE;
	if (ARRAY_ROOM(f->feature, f->cap, at + 1) != 0)
		return MODEL_NONE;
	f->feature[at] = (struct model_feature){op, a, b};
	return at;
}

void rules_features_free(struct rules_features *f)
{
	map_free(&f->map);
	free(f->feature);
	*f = (struct rules_features){0};
}

double rules_choose_bits(double n, double k)
{
	return (lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)) / M_LN2;
}

double rules_number_bits(double x)
{
	if (isinf(x))
		return 0;
	return x == floor(x) && fabs(x) < 0x1p40 ? log2(1 + fabs(x)) : REAL_BITS;
}

/* What is decided by k rows of a label that has k_all of n rows. */
static double decided_bits(double k, double k_all, double n)
{
	return k == k_all ? rules_choose_bits(n, k) : k * log2(n / k_all);
}

double rules_gain(const struct rules_search *s, uint32_t label, size_t covered, uint32_t runs)
{
	double all = (double)s->count[label], bits = decided_bits((double)covered, all, (double)s->n);

	/* What an input tells is seen once in a run, however many rows that has. */
	if (runs)
		bits = fmin(bits, covered == s->count[label] ? rules_choose_bits(s->n_runs, runs) : runs * log2((double)s->n / all));
	return bits;
}

void rules_consider(struct rules_search *s, struct rules_atom *a, uint32_t runs_covered, double gain_bits)
{
	bool complete = a->covered == s->count[a->label];

	if ((s->only != MODEL_NONE && a->label != s->only) || (s->whole && !complete))
		return;
	if (gain_bits < 0)
		gain_bits = rules_gain(s, a->label, a->covered, runs_covered);
	a->gain = gain_bits - a->bits;
	if (a->gain < RULES_MARGIN_BITS && !(s->repeat && complete))
		return;
	/* Where nothing else can be asked, the shortest that tells all apart. */
	if (s->repeat && complete)
		a->gain = 1e6 - a->bits;
	if (s->found && (a->gain < s->best.gain - 0.5 || (a->gain < s->best.gain + 0.5 && a->d <= s->best.d)))
		return;
	s->best = *a;
	s->found = true;
}

/* ---- values of one column ---- */

struct value {
	double x;
	uint32_t label; /* or MIXED */
	size_t rows;
	uint32_t runs, last_run;
};

static int value_cmp(const void *a, const void *b)
{
	double x = ((const struct value *)a)->x, y = ((const struct value *)b)->x;

	return x < y ? -1 : x > y;
}

/* The column whose values are looked at: a column of the table, or its remainder. */
struct view {
	uint32_t col, mod, by; /* by: a column, MODEL_NONE without */
	double bits;
	bool input;
	double *value; /* by place among the remaining rows */
};

static struct rules_atom atom_of(const struct view *v, const struct value *val, uint32_t n, uint32_t label)
{
	struct rules_atom a = {.col = v->col, .mod = v->mod, .by = v->by, .label = label, .bits = v->bits};
	size_t rows = 0, distinct = 0;

	for (uint32_t i = 0; i < n; i++)
		if (val[i].label == label) {
			rows += val[i].rows;
			distinct++;
		}
	a.d = RULES_ALPHA * (double)rows + RULES_BETA * (double)distinct;
	return a;
}

static void consider(struct rules_search *s, const struct view *v, struct rules_atom *a, const struct value *val, uint32_t n)
{
	uint32_t runs = 0;

	a->covered = 0;
	for (uint32_t i = 0; i < n; i++) {
		bool in = a->atom.kind == MODEL_ATOM_RANGE ? val[i].x >= a->atom.a && val[i].x <= a->atom.b
							   : val[i].label == a->label && val[i].runs & 0x80000000u;

		if (in) {
			a->covered += val[i].rows;
			runs += val[i].runs & 0x7fffffffu;
		}
	}
	rules_consider(s, a, v->input ? runs : 0, -1);
}

double rules_between(double a, double b, bool above)
{
	return a == floor(a) && b == floor(b) ? (above ? b : a) : (a + b) / 2;
}

double rules_range_bits(double lo, double hi)
{
	if (lo == hi)
		return rules_number_bits(lo);
	return rules_number_bits(lo) + rules_number_bits(hi) + (isinf(lo) || isinf(hi) ? 0 : 1);
}

/* Neighbouring values of one label; those at either end are open. */
static void ranges(struct rules_search *s, const struct view *v, const struct value *val, uint32_t n)
{
	for (uint32_t i = 0, end; i < n; i = end) {
		struct rules_atom a;
		double lo = -INFINITY, hi = INFINITY;

		for (end = i + 1; end < n && val[end].label == val[i].label; end++)
			;
		if (val[i].label == MIXED || (!i && end == n))
			continue;
		a = atom_of(v, val, n, val[i].label);
		if (i)
			lo = rules_between(val[i - 1].x, val[i].x, true);
		if (end < n)
			hi = rules_between(val[end - 1].x, val[end].x, false);
		a.atom = (struct model_atom){.kind = MODEL_ATOM_RANGE, .a = lo, .b = hi};
		a.bits += rules_range_bits(lo, hi);
		consider(s, v, &a, val, n);
	}
}

static bool next_in(double *x, const struct model_atom *a)
{
	*x = a->kind == MODEL_ATOM_ARITH ? *x + a->b : *x * a->b;
	return isfinite(*x);
}

/* How far the values of the label follow the progression, and whether any other value is in it. */
static void progression(struct rules_search *s, const struct view *v, struct value *val, uint32_t n, struct rules_atom *a)
{
	double x = a->atom.a;
	uint32_t members = 0, at = 0;
	size_t rows = 0;
	bool refuted = false;

	for (uint32_t i = 0; i < n; i++)
		val[i].runs &= 0x7fffffffu;
	while (at < n && !refuted) {
		if (val[at].x < x) {
			at++;
		} else if (val[at].x > x) {
			/* A member that was not seen at all. */
			if (!next_in(&x, &a->atom) || members > DISTINCT_MAX)
				return;
			if (a->atom.kind == MODEL_ATOM_ARITH && (val[at].x - x) / a->atom.b > DISTINCT_MAX)
				return;
		} else {
			refuted = val[at].label != a->label;
			if (refuted)
				break;
			val[at].runs |= 0x80000000u;
			rows += val[at].rows;
			members++;
			at++;
			if (!next_in(&x, &a->atom))
				break;
		}
	}
	/* Two of them only say which progression it is; one more is little, unless there are no others. */
	if (members < 3 || (members == 3 && rows < s->count[a->label]))
		return;
	if (refuted)
		a->atom.n = (uint64_t)(a->atom.kind == MODEL_ATOM_ARITH
					   ? llround((x - a->atom.a) / a->atom.b)
					   : llround(log(x / a->atom.a) / log(a->atom.b)));
	a->bits += rules_number_bits(a->atom.a) + rules_number_bits(a->atom.b) + (refuted ? rules_number_bits((double)a->atom.n) : 0) +
		   (a->atom.kind == MODEL_ATOM_GEOM ? 2 : 1);
	consider(s, v, a, val, n);
	for (uint32_t i = 0; i < n; i++)
		val[i].runs &= 0x7fffffffu;
}

static void progressions(struct rules_search *s, const struct view *v, struct value *val, uint32_t n)
{
	for (uint32_t label = 0; label < s->t->n_arcs; label++) {
		double first[2] = {0};
		uint32_t seen = 0;
		struct rules_atom a;

		for (uint32_t i = 0; i < n && seen < 2; i++)
			if (val[i].label == label)
				first[seen++] = val[i].x;
		if (seen < 2)
			continue;
		a = atom_of(v, val, n, label);
		a.atom = (struct model_atom){.kind = MODEL_ATOM_ARITH, .a = first[0], .b = first[1] - first[0]};
		progression(s, v, val, n, &a);
		if (!(first[0] > 0) || !(first[1] / first[0] >= 1.5))
			continue;
		a = atom_of(v, val, n, label);
		a.atom = (struct model_atom){.kind = MODEL_ATOM_GEOM, .a = first[0], .b = first[1] / first[0]};
		progression(s, v, val, n, &a);
	}
}

/* Only what lies above or below all others, where there are too many values to look at each. */
static void extremes(struct rules_search *s, const struct view *v)
{
	uint32_t n = s->t->n_arcs;

	for (uint32_t label = 0; label < n; label++) {
		double lo = INFINITY, hi = -INFINITY, other_lo = INFINITY, other_hi = -INFINITY;
		struct rules_atom a = {.col = v->col, .mod = v->mod, .by = v->by, .label = label, .bits = v->bits};

		if (!s->count[label])
			continue;
		for (size_t i = 0; i < s->n; i++) {
			double x = v->value[i];

			if (s->t->label[s->row[i]] == label) {
				lo = fmin(lo, x);
				hi = fmax(hi, x);
			} else {
				other_lo = fmin(other_lo, x);
				other_hi = fmax(other_hi, x);
			}
		}
		if (lo > other_hi)
			a.atom = (struct model_atom){.a = lo == floor(lo) ? lo : (lo + other_hi) / 2, .b = INFINITY};
		else if (hi < other_lo)
			a.atom = (struct model_atom){.a = -INFINITY, .b = hi == floor(hi) ? hi : (hi + other_lo) / 2};
		else
			continue;
		a.bits += rules_number_bits(a.atom.a) + rules_number_bits(a.atom.b);
		a.covered = s->count[label];
		a.d = RULES_ALPHA * (double)a.covered;
		rules_consider(s, &a, v->input ? s->n_runs / 2 + 1 : 0, -1);
	}
}

/* Different values as they come: small whole numbers, which most are, by their own place, others by the map. */
struct distinct {
	struct value val[DISTINCT_MAX + 1];
	uint32_t n, n_other, round;
	uint32_t of[DISTINCT_MAX + 1]; /* by place in the map */
	struct {
		uint32_t round, at;
	} small[SMALL];
};

static void distinct_begin(struct distinct *d)
{
	if (!++d->round) {
		memset(d->small, 0, sizeof(d->small));
		d->round = 1;
	}
	d->n = d->n_other = 0;
}

/* Place of the value, d->n before it where it is new. MAP_NONE without memory. */
static uint32_t distinct_put(struct distinct *d, struct map *others, double x)
{
	uint32_t at, k;

	if (x >= 0 && x < SMALL && x == (uint32_t)x) {
		k = (uint32_t)x;
		if (d->small[k].round != d->round) {
			d->small[k].round = d->round;
			d->small[k].at = d->n++;
		}
		return d->small[k].at;
	}
	if (!d->n_other)
		map_reset(others);
	at = map_put(others, map_bits(x));
	if (at == MAP_NONE)
		return at;
	if (at == d->n_other) {
		d->n_other++;
		d->of[at] = d->n++;
	}
	return d->of[at];
}

static int values_search(struct rules_search *s, const struct view *v)
{
	struct distinct *d = s->scratch;
	struct value *val = d->val;

	distinct_begin(d);
	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = s->row[i], label = s->t->label[row], known = d->n;
		uint32_t at = distinct_put(d, &s->values, v->value[i]);

		if (at == MAP_NONE)
			return -1;
		if (at == DISTINCT_MAX) {
			extremes(s, v);
			return 0;
		}
		if (at == known)
			val[at] = (struct value){v->value[i], label, 0, 0, MODEL_NONE};
		if (val[at].label != label)
			val[at].label = MIXED;
		val[at].rows++;
		if (val[at].last_run != s->t->run[row]) {
			val[at].last_run = s->t->run[row];
			val[at].runs++;
		}
	}
	if (d->n < 2)
		return 0;
	qsort(val, d->n, sizeof(*val), value_cmp);
	ranges(s, v, val, d->n);
	if (!s->no_steps && !(s->t->kind[v->col] & RULES_LABEL) && !v->mod && v->by == MODEL_NONE)
		progressions(s, v, val, d->n);
	return 0;
}

/* ---- columns, remainders and pairs ---- */

int rules_column(struct rules_search *s, double *value, uint32_t c, uint32_t mod_most)
{
	const struct rules_table *t = s->t;
	struct view v = {c, 0, MODEL_NONE, t->bits[c], t->kind[c] & RULES_INPUT, value};

	for (size_t i = 0; i < s->n; i++)
		value[i] = t->col[c][s->row[i]];
	if (values_search(s, &v) < 0)
		return -1;
	if (!(t->kind[c] & RULES_WHOLE) || t->kind[c] & RULES_LABEL)
		return 0;
	for (uint32_t k = 2; k <= mod_most; k++) {
		v.mod = k;
		v.bits = t->bits[c] + 1 + log2(k);
		for (size_t i = 0; i < s->n; i++) {
			double x = t->col[c][s->row[i]], r = x - floor(x / k) * k;

			value[i] = r;
		}
		if (values_search(s, &v) < 0)
			return -1;
	}
	v.mod = 0;
	for (uint32_t b = 0; mod_most == MOD_MOST && t->kind[c] & RULES_COUNTER && b < t->n_cols; b++) {
		bool fine = !(t->kind[b] & (RULES_COUNTER | RULES_LABEL)) && t->kind[b] & RULES_WHOLE;

		v.by = b;
		v.bits = t->bits[c] + t->bits[b] + 2;
		for (size_t i = 0; fine && i < s->n; i++) {
			double x = t->col[c][s->row[i]], k = t->col[b][s->row[i]];

			fine = k >= 1;
			value[i] = x - floor(x / k) * k;
		}
		if (fine && values_search(s, &v) < 0)
			return -1;
	}
	return 0;
}

/* x >= z + shift: which label it holds for, and how many rows; false when for several, or none. */
static bool pair_holds(const struct rules_search *s, const double *x, const double *z, double shift, size_t stride,
		       uint32_t *label, size_t *covered)
{
	*label = MIXED;
	*covered = 0;
	for (size_t i = 0; i < s->n; i += stride) {
		uint32_t row = s->row[i], l = s->t->label[row];

		if (!(x[row] >= z[row] + shift))
			continue;
		if (*label != l && *label != MIXED)
			return false;
		*label = l;
		++*covered;
	}
	return true;
}

static int pair_take(struct rules_search *s, uint32_t x, uint32_t z, int shift, uint32_t label, size_t covered)
{
	const struct rules_table *t = s->t;
	struct rules_atom a = {.col = x, .by = MODEL_NONE, .label = label, .covered = covered};
	struct model_stage *st;
	bool input = t->kind[x] & t->kind[z] & RULES_INPUT;
	uint32_t runs = 0;

	a.bits = t->bits[x] + t->bits[z] + 1 + 2 * abs(shift);
	a.d = RULES_ALPHA * (double)covered;
	if (decided_bits((double)covered, (double)s->count[label], (double)s->n) - a.bits < RULES_MARGIN_BITS && !s->repeat)
		return 0;
	for (size_t i = 0, last = SIZE_MAX; input && i < s->n; i++) {
		uint32_t row = s->row[i];

		if (t->col[x][row] >= t->col[z][row] + shift && t->run[row] != last) {
			runs++;
			last = t->run[row];
		}
	}
	st = model_alloc(s->m, 1, sizeof(*st));
	if (!st)
		return -1;
	st->term = model_alloc(s->m, 2, sizeof(*st->term));
	if (!st->term)
		return -1;
	if (shift)
		st->term[st->n_terms++] = (struct model_term){.coef = shift};
	st->term[st->n_terms++] = (struct model_term){1, 1, {t->feature[z]}};
	a.atom = (struct model_atom){.kind = MODEL_ATOM_ABOVE, .fn = {1, st}};
	rules_consider(s, &a, runs, -1);
	return 0;
}

static int pairs_search(struct rules_search *s)
{
	const struct rules_table *t = s->t;
	size_t stride = s->n > PAIR_SAMPLE ? s->n / PAIR_SAMPLE : 1;

	for (uint32_t x = 0; x < t->n_cols; x++) {
		for (uint32_t z = 0; z < t->n_cols; z++) {
			if (x == z || (t->kind[x] | t->kind[z]) & RULES_LABEL)
				continue;
			for (int shift = -1; shift <= 1; shift++) {
				uint32_t label;
				size_t covered;

				if (shift && !(t->kind[x] & t->kind[z] & RULES_WHOLE))
					continue;
				if ((stride > 1 && !pair_holds(s, t->col[x], t->col[z], shift, stride, &label, &covered)) ||
				    !pair_holds(s, t->col[x], t->col[z], shift, 1, &label, &covered) || !covered)
					continue;
				if (pair_take(s, x, z, shift, label, covered) < 0)
					return -1;
			}
		}
	}
	return 0;
}

/* ---- the best of them ---- */

static uint32_t runs_count(const struct rules_search *s)
{
	uint32_t n = 0, last = MODEL_NONE;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t run = s->t->run[s->row[i]];

		n += run != last;
		last = run;
	}
	return n;
}

static double column_value(const struct rules_table *t, uint32_t feature, uint32_t row)
{
	for (uint32_t c = 0; c < t->n_cols; c++)
		if (t->feature[c] == feature)
			return t->col[c][row];
	return NAN;
}

static double threshold_value(const struct rules_table *t, const struct model_fn *fn, uint32_t row)
{
	double sum = 0;

	for (uint32_t k = 0; k < fn->stage[0].n_terms; k++) {
		const struct model_term *term = &fn->stage[0].term[k];
		double product = term->coef;

		for (uint32_t i = 0; i < term->n_x; i++)
			product = product * column_value(t, term->x[i], row);
		sum = sum + product;
	}
	return sum;
}

bool rules_covers(const struct rules_table *t, const struct rules_atom *a, uint32_t row)
{
	double x = t->col[a->col][row], i;

	if (a->mod)
		x = x - floor(x / a->mod) * a->mod;
	else if (a->by != MODEL_NONE)
		x = x - floor(x / t->col[a->by][row]) * t->col[a->by][row];
	switch (a->atom.kind) {
	case MODEL_ATOM_RANGE:
		return x >= a->atom.a && x <= a->atom.b;
	case MODEL_ATOM_ARITH:
		i = (x - a->atom.a) / a->atom.b;
		return i >= 0 && i == floor(i) && (!a->atom.n || i < (double)a->atom.n);
	case MODEL_ATOM_GEOM:
		for (double v = a->atom.a; v <= x; v *= a->atom.b)
			if (v == x)
				return true;
		return false;
	}
	return (x >= threshold_value(t, &a->atom.fn, row)) == (a->atom.kind == MODEL_ATOM_ABOVE);
}

double rules_beyond(const struct rules_table *t, const struct rules_atom *a, uint32_t row)
{
	return t->col[a->col][row] - threshold_value(t, &a->atom.fn, row);
}

/* Column of a feature, or MODEL_NONE. */
static uint32_t column_of(const struct rules_table *t, uint32_t feature)
{
	for (uint32_t c = 0; c < t->n_cols; c++)
		if (t->feature[c] == feature)
			return c;
	return MODEL_NONE;
}

static bool fn_has_columns(const struct rules_table *t, const struct model_fn *fn)
{
	for (uint32_t k = 0; fn->n_stages && k < fn->stage[0].n_terms; k++)
		for (uint32_t i = 0; i < fn->stage[0].term[k].n_x; i++)
			if (column_of(t, fn->stage[0].term[k].x[i]) == MODEL_NONE)
				return false;
	return fn->n_stages <= 1;
}

static void library_search(struct rules_search *s)
{
	for (uint32_t k = 0; s->lib && k < s->lib->n; k++) {
		const struct model_atom *from = &s->lib->atom[k];
		struct rules_atom a = {.atom = *from, .col = column_of(s->t, from->x), .by = MODEL_NONE, .label = MIXED};
		bool pure = true;

		if (a.col == MODEL_NONE || !fn_has_columns(s->t, &from->fn))
			continue;
		for (size_t i = 0; pure && i < s->n; i++) {
			uint32_t row = s->row[i];

			if (!rules_covers(s->t, &a, row))
				continue;
			pure = a.label == MIXED || a.label == s->t->label[row];
			a.label = s->t->label[row];
			a.covered++;
		}
		a.bits = AGAIN_BITS;
		if (pure && a.covered && a.covered < s->n)
			rules_consider(s, &a, 0, -1);
	}
}

int rules_best(struct rules_search *s, double *value, struct errbuf *err)
{
	s->found = false;
	s->n_runs = runs_count(s);
	library_search(s);
	for (uint32_t c = 0; c < s->t->n_cols; c++)
		if (rules_column(s, value, c, MOD_MOST) < 0)
			return err_set(err, "no memory for the values of a column");
	if (pairs_search(s) < 0)
		return err_set(err, "no memory for comparisons");
	return thresholds_search(s, err);
}

void *rules_scratch(void)
{
	return calloc(1, sizeof(struct distinct));
}
