/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Thresholds that are functions: an arc is taken as soon as a column x has reached f(inputs, counters, variables). The
 * rows of a node are split into stretches in which x does not fall. Each stretch that ends with the arc gives lo < f <=
 * hi: hi is x at the end, and lo is x just before. If lo = hi - 1, an exact f = hi is searched: a rational function of
 * one to three whole columns and products. The result is checked on every row. See rules.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/rational.h"
#include "model/induce/rules.h"

#define STRETCHES_MAX  256
#define PER_WALK_MIN   8
#define OPERANDS_MAX   14 /* columns */
#define TERMS_MAX      64
#define TERMS_OF_TWO   32
#define TERMS_OF_THREE 10
#define KEPT	       12 /* functions that are checked on every row, shortest first */
#define WHOLE_MOST     0x1p31
#define NEAR_R2	       0.9
#define NEAR_MEAN      0.1

struct stretch {
	uint32_t lo_row, hi_row; /* lo_row MODEL_NONE: the arc was taken at once */
	double lo, hi;
	uint32_t n; /* rows up to and with hi */
};

struct candidate {
	struct rational_fn fn;
	uint32_t term[RATIONAL_TERMS_MAX];
	double cost;
};

struct hunt {
	struct rules_search *s;
	uint32_t label, x; /* x: column */
	bool below;	   /* the label is what is taken until x reaches f */
	struct stretch *stretch;
	uint32_t n, n_equal; /* stretches; those with lo = hi - 1 are in front after sort */
	uint32_t operand[OPERANDS_MAX], n_operands;
	/* Terms over the equal stretches. */
	uint32_t n_terms;
	struct {
		uint32_t n, x[2]; /* columns */
		int64_t *value;
		double bits;
	} term[TERMS_MAX];
	int64_t *values, *y;
	struct candidate kept[KEPT];
	uint32_t n_kept;
};

static void hunt_free(struct hunt *h)
{
	free(h->stretch);
	free(h->values);
	free(h->y);
}

/* Whether the row is on the far side of the threshold. */
static bool leaves(const struct hunt *h, uint32_t row)
{
	return (h->s->t->label[row] == h->label) != h->below;
}

/* The stretches of the column; false when no threshold on it can tell the label from the others. */
static bool stretches(struct hunt *h)
{
	const struct rules_search *s = h->s;
	const struct rules_table *t = s->t;
	const double *x = t->col[h->x];
	struct stretch now = {MODEL_NONE, MODEL_NONE, -INFINITY, INFINITY, 0};
	uint32_t walk = MODEL_NONE, of_walk = 0, n_walks = 0, per_walk;
	double last = -INFINITY;
	bool own = t->kind[h->x] & RULES_OWN; /* rises with every row until it is initialised */

	for (size_t i = 0; i < s->n; i++)
		n_walks += !i || t->walk[s->row[i]] != t->walk[s->row[i - 1]];
	per_walk = STRETCHES_MAX / (n_walks ? n_walks : 1);
	if (per_walk < PER_WALK_MIN)
		per_walk = PER_WALK_MIN;
	for (size_t i = 0; i <= s->n; i++) {
		uint32_t row = i < s->n ? s->row[i] : MODEL_NONE;

		if (i == s->n || t->walk[row] != walk || x[row] < last || (own && x[row] == last)) {
			if (now.hi_row != MODEL_NONE && h->n < STRETCHES_MAX && of_walk < per_walk) {
				h->stretch[h->n++] = now;
				of_walk++;
			}
			if (i == s->n)
				break;
			if (t->walk[row] != walk)
				of_walk = 0;
			walk = t->walk[row];
			now = (struct stretch){MODEL_NONE, MODEL_NONE, -INFINITY, INFINITY, 0};
		}
		last = x[row];
		if (leaves(h, row)) {
			if (now.hi_row == MODEL_NONE) {
				now.hi_row = row;
				now.hi = x[row];
				now.n++;
				if (!(now.hi > now.lo))
					return false;
			}
		} else {
			if (now.hi_row != MODEL_NONE)
				return false; /* gone past, and not taken */
			now.lo_row = row;
			now.lo = x[row];
			now.n++;
		}
	}
	return h->n > 0;
}

static bool is_equal(const struct stretch *g)
{
	return g->lo == g->hi - 1 && g->hi == floor(g->hi) && fabs(g->hi) < WHOLE_MOST;
}

static void equal_first(struct hunt *h)
{
	for (uint32_t i = 0; i < h->n; i++)
		if (is_equal(&h->stretch[i])) {
			struct stretch g = h->stretch[i];

			h->stretch[i] = h->stretch[h->n_equal];
			h->stretch[h->n_equal++] = g;
		}
}

/* Columns that do not move with x, are whole, and differ between stretches. */
static void operands(struct hunt *h)
{
	const struct rules_table *t = h->s->t;

	for (uint32_t c = 0; c < t->n_cols && h->n_operands < OPERANDS_MAX; c++) {
		bool fine = c != h->x && t->kind[c] & RULES_WHOLE && !(t->kind[c] & RULES_LABEL), varies = false;

		for (uint32_t i = 0; fine && i < h->n; i++) {
			const struct stretch *g = &h->stretch[i];
			double v = t->col[c][g->hi_row];

			fine = fabs(v) < WHOLE_MOST && (g->lo_row == MODEL_NONE || t->col[c][g->lo_row] == v);
			varies |= v != t->col[c][h->stretch[0].hi_row];
		}
		if (fine && varies)
			h->operand[h->n_operands++] = c;
	}
}

static void term_add(struct hunt *h, uint32_t n, uint32_t a, uint32_t b)
{
	const struct rules_table *t = h->s->t;
	int64_t *value = h->values + (size_t)h->n_terms * STRETCHES_MAX;

	if (h->n_terms == TERMS_MAX)
		return;
	for (uint32_t i = 0; i < h->n_equal; i++) {
		uint32_t row = h->stretch[i].hi_row;

		value[i] = (int64_t)t->col[a][row];
		if (n > 1 && __builtin_mul_overflow(value[i], (int64_t)t->col[b][row], &value[i]))
			return;
		if (value[i] > RATIONAL_MOST || value[i] < -RATIONAL_MOST)
			return;
	}
	h->term[h->n_terms].n = n;
	h->term[h->n_terms].x[0] = a;
	h->term[h->n_terms].x[1] = b;
	h->term[h->n_terms].value = value;
	h->term[h->n_terms].bits = t->bits[a] + (n > 1 ? t->bits[b] + 1 : 0);
	h->n_terms++;
}

static void add_candidate(struct hunt *h, const struct rational_fn *fn, const uint32_t *term)
{
	struct candidate c = {.fn = *fn};
	uint32_t k;

	c.cost = h->s->t->bits[h->x] + 1 + rational_bits(fn);
	for (uint32_t i = 0; i < fn->n; i++) {
		if (!fn->num[i + 1])
			return; /* found with fewer terms as well */
		c.term[i] = term[i];
		c.cost += h->term[term[i]].bits;
	}
	if (h->n_kept == KEPT && h->kept[KEPT - 1].cost <= c.cost)
		return;
	k = h->n_kept < KEPT ? h->n_kept++ : KEPT - 1;
	for (; k && h->kept[k - 1].cost > c.cost; k--)
		h->kept[k] = h->kept[k - 1];
	h->kept[k] = c;
}

static void try_terms(struct hunt *h, uint32_t n, const uint32_t *term)
{
	const int64_t *x[RATIONAL_TERMS_MAX];
	struct rational_fn fn = {0};

	for (uint32_t i = 0; i < n; i++)
		x[i] = h->term[term[i]].value;
	if (rational_solve(x, n, h->y, h->n_equal, &fn) == 1)
		add_candidate(h, &fn, term);
}

static void functions_find(struct hunt *h)
{
	uint32_t n = h->n_terms;

	for (uint32_t a = 0; a < n; a++)
		try_terms(h, 1, (uint32_t[]){a});
	for (uint32_t a = 0; a < n && a < TERMS_OF_TWO; a++)
		for (uint32_t b = 0; b < a; b++)
			try_terms(h, 2, (uint32_t[]){b, a});
	for (uint32_t a = 0; a < h->n_operands && a < TERMS_OF_THREE; a++)
		for (uint32_t b = 0; b < a; b++)
			for (uint32_t c = 0; c < b; c++)
				try_terms(h, 3, (uint32_t[]){c, b, a});
}

/* ---- least squares, where x steps over the threshold: x >= N / 2 for odd N ---- */

static double fn_at(const struct hunt *h, const struct candidate *c, uint32_t row)
{
	const struct rules_table *t = h->s->t;
	double sum = (double)c->fn.num[0] / (double)c->fn.den;

	if (c->fn.den > 1)
		sum -= 0.5 / (double)c->fn.den;
	for (uint32_t i = 0; i < c->fn.n; i++) {
		const uint32_t *x = h->term[c->term[i]].x;
		double v = (double)c->fn.num[i + 1] / (double)c->fn.den * t->col[x[0]][row];

		sum = sum + (h->term[c->term[i]].n > 1 ? v * t->col[x[1]][row] : v);
	}
	return sum;
}

/* One term, slopes p/q of small q: every stretch bounds the constant from both sides. */
static void slopes_find(struct hunt *h)
{
	for (uint32_t a = 0; a < h->n_terms; a++) {
		double sx = 0, sy = 0, sxx = 0, sxy = 0, n = h->n_equal, slope;

		for (uint32_t i = 0; i < h->n_equal; i++) {
			double x = (double)h->term[a].value[i], y = (double)h->y[i] - 0.5;

			sx += x;
			sy += y;
			sxx += x * x;
			sxy += x * y;
		}
		if (!(n * sxx - sx * sx > 0))
			continue;
		slope = (n * sxy - sx * sy) / (n * sxx - sx * sx);
		for (int64_t q = 2; q <= 8; q++) {
			int64_t p = llround(slope * (double)q), lo = INT64_MIN, hi = INT64_MAX;
			struct rational_fn fn = {.n = 1, .num = {0, p}, .den = q};

			if (!p || fabs(slope - (double)p / (double)q) > 0.5 / (double)q || (p % q == 0))
				continue;
			/* y - 1 < (c + p x) / q <= y */
			for (uint32_t i = 0; i < h->n_equal && lo <= hi; i++) {
				int64_t px, top;

				if (__builtin_mul_overflow(p, h->term[a].value[i], &px) || llabs(px) > RATIONAL_MOST) {
					lo = 1;
					hi = 0;
					break;
				}
				top = q * h->y[i] - px;
				hi = top < hi ? top : hi;
				lo = top - q + 1 > lo ? top - q + 1 : lo;
			}
			if (lo > hi)
				continue;
			fn.num[0] = lo <= 0 && hi >= 0 ? 0 : llabs(lo) < llabs(hi) ? lo : hi;
			add_candidate(h, &fn, &a);
		}
	}
}

/* ---- judging ---- */

/* The rows of a stretch decide log2 of their number, and stretches of equal operands decide once. */
static double evidence(const struct hunt *h, const struct candidate *c)
{
	struct map seen = {0};
	double bits = 0;

	for (uint32_t i = 0; i < h->n_equal; i++) {
		uint64_t key = 0x9e3779b97f4a7c15u;
		uint32_t before = seen.n;

		for (uint32_t k = 0; k < c->fn.n; k++)
			key = (key ^ (uint64_t)h->term[c->term[k]].value[i]) * 0xd6e8feb86659fd93u + k;
		map_put(&seen, key);
		if (seen.n > before)
			bits += log2(1.0 + h->stretch[i].n);
	}
	map_free(&seen);
	return bits;
}

static bool holds_everywhere(const struct hunt *h, const struct candidate *c)
{
	const struct rules_search *s = h->s;
	const double *x = s->t->col[h->x];

	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = s->row[i];

		if ((x[row] >= fn_at(h, c, row)) != leaves(h, row))
			return false;
	}
	return true;
}

static int fn_make(const struct hunt *h, const struct candidate *c, struct model_fn *out)
{
	struct model *m = h->s->m;
	struct model_stage *st = model_alloc(m, 1, sizeof(*st));
	double constant = (double)c->fn.num[0] / (double)c->fn.den;

	if (!st)
		return -1;
	st->term = model_alloc(m, c->fn.n + 1, sizeof(*st->term));
	if (!st->term)
		return -1;
	if (c->fn.den > 1)
		constant -= 0.5 / (double)c->fn.den;
	if (constant != 0)
		st->term[st->n_terms++] = (struct model_term){.coef = constant};
	for (uint32_t i = 0; i < c->fn.n; i++) {
		struct model_term *t = &st->term[st->n_terms++];

		t->coef = (double)c->fn.num[i + 1] / (double)c->fn.den;
		t->n_x = h->term[c->term[i]].n;
		for (uint32_t k = 0; k < t->n_x; k++)
			t->x[k] = h->s->t->feature[h->term[c->term[i]].x[k]];
	}
	*out = (struct model_fn){1, st};
	return 0;
}

static int judge_candidates(struct hunt *h)
{
	struct rules_search *s = h->s;

	for (uint32_t k = 0; k < h->n_kept; k++) {
		const struct candidate *c = &h->kept[k];
		struct rules_atom a = {.col = h->x, .by = MODEL_NONE, .label = h->label, .covered = s->count[h->label]};
		double bits = evidence(h, c);

		/* The bits that the stretches decide accept a threshold. Against other atoms, a threshold counts by its
		 * rows, like all atoms. */
		if ((bits <= c->cost && !s->repeat) || !holds_everywhere(h, c))
			continue;
		a.bits = c->cost;
		a.d = RULES_ALPHA * (double)a.covered;
		a.atom.kind = h->below ? MODEL_ATOM_BELOW : MODEL_ATOM_ABOVE;
		if (fn_make(h, c, &a.atom.fn) < 0)
			return -1;
		rules_consider(s, &a, 0, -1);
		return 0;
	}
	return 0;
}

static int hunt_begin(struct hunt *h, struct rules_search *s, uint32_t label, uint32_t x)
{
	*h = (struct hunt){.s = s, .label = label, .x = x};
	h->stretch = malloc(STRETCHES_MAX * sizeof(*h->stretch));
	h->values = malloc((size_t)TERMS_MAX * STRETCHES_MAX * sizeof(*h->values));
	h->y = malloc(STRETCHES_MAX * sizeof(*h->y));
	return h->stretch && h->values && h->y ? 0 : -1;
}

static int hunt_one(struct rules_search *s, uint32_t label, uint32_t x, bool below)
{
	struct hunt h;
	int rc = hunt_begin(&h, s, label, x);

	h.below = below;
	if (rc == 0 && stretches(&h)) {
		equal_first(&h);
		operands(&h);
		for (uint32_t i = 0; i < h.n_equal; i++)
			h.y[i] = (int64_t)h.stretch[i].hi;
		for (uint32_t i = 0; i < h.n_operands; i++)
			term_add(&h, 1, h.operand[i], 0);
		for (uint32_t i = 0; i < h.n_operands; i++)
			for (uint32_t k = 0; k <= i; k++)
				term_add(&h, 2, h.operand[k], h.operand[i]);
		if (h.n_equal >= 2) {
			functions_find(&h);
			slopes_find(&h);
		}
		rc = judge_candidates(&h);
	}
	hunt_free(&h);
	return rc;
}

static bool is_subject(const struct rules_table *t, uint32_t c)
{
	return t->kind[c] & RULES_WHOLE && !(t->kind[c] & (RULES_INPUT | RULES_LABEL));
}

int thresholds_search(struct rules_search *s, struct errbuf *err)
{
	uint32_t labels = 0;

	for (uint32_t l = 0; l < s->t->n_arcs; l++)
		labels += s->count[l] > 0;
	for (uint32_t l = 0; l < s->t->n_arcs; l++)
		for (uint32_t x = 0; s->count[l] && x < s->t->n_cols; x++)
			/* Of two, one is taken below where the other is taken above. */
			if (is_subject(s->t, x) &&
			    (hunt_one(s, l, x, false) < 0 || (labels > 2 && hunt_one(s, l, x, true) < 0)))
				return err_set(err, "no memory for thresholds");
	return 0;
}

/* ---- nearly right ---- */

/* f at the stretches by least squares or GMDH, with runs left out; the constant is one half lower, as x is whole. */
static int near_fit(struct hunt *h, struct rules_atom *out, struct errbuf *err)
{
	const struct rules_table *t = h->s->t;
	struct fit_table ft = {.n_rows = h->n_equal};
	struct fit_quality q;
	double *block, *col[OPERANDS_MAX], mean = 0;
	uint32_t feature[OPERANDS_MAX], *group;
	int rc = -1;

	block = malloc((OPERANDS_MAX + 1ull) * STRETCHES_MAX * sizeof(*block));
	group = malloc(STRETCHES_MAX * sizeof(*group));
	if (!block || !group)
		goto out;
	for (uint32_t i = 0; i < h->n_equal; i++) {
		block[i] = h->stretch[i].hi - 0.5;
		mean += h->stretch[i].hi / h->n_equal;
		group[i] = t->run[h->stretch[i].hi_row];
	}
	for (uint32_t c = 0; c < h->n_operands; c++) {
		col[c] = block + (c + 1ull) * STRETCHES_MAX;
		feature[c] = t->feature[h->operand[c]];
		for (uint32_t i = 0; i < h->n_equal; i++)
			col[c][i] = t->col[h->operand[c]][h->stretch[i].hi_row];
	}
	ft.n_cols = h->n_operands;
	ft.col = col;
	ft.feature = feature;
	ft.group = group;
	*out = (struct rules_atom){.col = h->x, .by = MODEL_NONE, .label = h->label};
	out->atom.kind = MODEL_ATOM_ABOVE;
	if (fit_function(&ft, block, false, h->s->m, &out->atom.fn, &q, err) < 0)
		goto out;
	rc = q.error <= NEAR_MEAN * mean && q.error * q.error <= (1 - NEAR_R2) * q.deviation * q.deviation;
out:
	free(block);
	free(group);
	return rc;
}

int thresholds_approximate(struct rules_search *s, struct rules_atom *out, struct errbuf *err)
{
	uint32_t labels = 0;

	for (uint32_t l = 0; l < s->t->n_arcs; l++)
		labels += s->count[l] > 0;
	for (uint32_t l = 0; labels == 2 && l < s->t->n_arcs; l++) {
		for (uint32_t x = 0; s->count[l] && x < s->t->n_cols; x++) {
			struct hunt h;
			int rc;

			if (!(s->t->kind[x] & RULES_OWN))
				continue;
			rc = hunt_begin(&h, s, l, x);
			if (rc == 0 && stretches(&h)) {
				equal_first(&h);
				operands(&h);
				if (h.n_equal >= 5 && h.n_operands)
					rc = near_fit(&h, out, err);
			}
			hunt_free(&h);
			if (rc)
				return rc < 0 ? err_set(err, "no memory for thresholds") : 1;
		}
	}
	return 0;
}
