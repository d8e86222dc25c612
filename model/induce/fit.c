/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of time and data from rows: see fit.h. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/fit.h"
#include "model/induce/rational.h"

#define TERMS_MAX      224 /* candidates */
#define PICK_MAX       6   /* terms of an approximate function, beside the constant */
#define PRODUCTS_OF    10  /* columns whose products are tried */
#define CUBES_OF       6
#define FOLDS_MAX      6
#define EXACT_REL      1e-12
#define LINE_SLACK     1e-9 /* a line needs at least a correlation of 1 less this */
#define SINGULAR_REL   1e-11
#define GAIN	       0.9 /* a further term has to bring the error below this share of the error before */
#define GMDH_GAIN      0.8
#define CLEARLY	       0.5  /* few runs determine no significance: half of the error counts as well */
#define ALL_MOST       40
#define ROWS_PER_TERM  6
#define FRACTION_MOST  1000
#define THREE_KEPT     8
#define THREE_LEFT     1e-9  /* of a term beside two others, squared */
#define THREE_MORE     3     /* rows beyond those that determine it: there are many threes to choose from */
#define THREE_REST     1e-12 /* of the values' square, which rounding may leave */

struct term {
	uint32_t n, x[3]; /* columns of the sample */
	double *value;	  /* by row of the sample */
};

struct work {
	struct fit_sample s;
	struct term term[TERMS_MAX];
	uint32_t n_terms;
	double *values; /* of all terms, then a residual */
	double scale;	/* of y */
	const uint32_t *own; /* of the table */
};

/* ---- the sample ---- */

static uint32_t groups_count(const struct fit_table *t)
{
	uint32_t n = 0;

	for (size_t i = 0; i < t->n_rows; i++)
		n += !i || t->group[i] != t->group[i - 1];
	return n;
}

/* Rows spread evenly over each group, so that short runs are seen as well as long ones. */
static uint32_t rows_choose(const struct fit_table *t, size_t *row, uint32_t n_groups)
{
	uint32_t quota = n_groups < FIT_ROWS_MAX ? FIT_ROWS_MAX / n_groups : 1, n = 0, seen = 0;

	for (size_t begin = 0, end; begin < t->n_rows; begin = end, seen++) {
		size_t len;

		for (end = begin; end < t->n_rows && t->group[end] == t->group[begin]; end++)
			;
		if (n_groups > FIT_ROWS_MAX && (uint64_t)seen * FIT_ROWS_MAX / n_groups < n)
			continue;
		len = end - begin;
		for (size_t k = 0; k < quota && k < len && n < FIT_ROWS_MAX; k++)
			row[n++] = begin + (len <= quota ? k : k * (len - 1) / (quota > 1 ? quota - 1 : 1));
	}
	return n;
}

static bool column_new(const struct fit_sample *s, const double *col)
{
	double lo = col[0], hi = col[0];

	for (uint32_t i = 1; i < s->n; i++) {
		lo = fmin(lo, col[i]);
		hi = fmax(hi, col[i]);
	}
	if (hi - lo <= EXACT_REL * fmax(fabs(lo), fabs(hi)))
		return false;
	/* One that is a line of an earlier one says nothing more. */
	for (uint32_t c = 0; c < s->n_cols; c++) {
		const double *x = s->col[c];
		uint32_t a = 0, b = 0;
		double slope;
		bool same = true;

		for (uint32_t i = 1; i < s->n; i++) {
			a = x[i] < x[a] ? i : a;
			b = x[i] > x[b] ? i : b;
		}
		slope = (col[b] - col[a]) / (x[b] - x[a]);
		for (uint32_t i = 0; same && i < s->n; i++)
			same = fabs(col[a] + slope * (x[i] - x[a]) - col[i]) <= 1e-11 * fmax(fabs(lo), fabs(hi));
		if (same)
			return false;
	}
	return true;
}

static void folds_make(struct fit_sample *s, const struct fit_table *t, const size_t *row, uint32_t n_groups)
{
	uint32_t g = 0;

	s->n_folds = n_groups >= 3 ? n_groups : 4;
	if (s->n_folds > FOLDS_MAX)
		s->n_folds = FOLDS_MAX;
	for (uint32_t i = 0; i < s->n; i++) {
		g += i && t->group[row[i]] != t->group[row[i - 1]];
		s->fold[i] = (n_groups >= 3 ? g : i) % s->n_folds;
	}
}

static void weights_make(struct fit_sample *s, const struct fit_table *t, const size_t *row, double scale)
{
	for (uint32_t i = 0, end; i < s->n; i = end) {
		double sum = 0;

		for (end = i; end < s->n && t->group[row[end]] == t->group[row[i]]; end++)
			sum += fabs(s->y[end]);
		sum /= end - i;
		for (uint32_t k = i; k < end; k++)
			s->weight[k] = scale / fmax(sum, 1e-3 * scale);
	}
}

static int sample_make(struct work *w, const struct fit_table *t, const double *y, bool weigh)
{
	struct fit_sample *s = &w->s;
	uint32_t n_groups = groups_count(t);
	size_t row[FIT_ROWS_MAX];
	double *next;

	s->n = rows_choose(t, row, n_groups);
	s->block = malloc((FIT_COLS_MAX + 3ull) * FIT_ROWS_MAX * sizeof(double));
	w->values = malloc((TERMS_MAX + 1ull) * FIT_ROWS_MAX * sizeof(double));
	s->fold = malloc(FIT_ROWS_MAX * sizeof(*s->fold));
	if (!s->block || !w->values || !s->fold)
		return -1;
	s->y = s->block;
	s->weight = s->block + FIT_ROWS_MAX;
	next = s->block + 2 * FIT_ROWS_MAX;
	for (uint32_t i = 0; i < s->n; i++)
		s->y[i] = y[row[i]];
	if (weigh)
		fit_strays_cut(s, t, row);
	for (uint32_t i = 0; i < s->n; i++) {
		s->weight[i] = 1;
		w->scale = fmax(w->scale, fabs(s->y[i]));
	}
	for (uint32_t c = 0; c < t->n_cols && s->n_cols < FIT_COLS_MAX; c++) {
		double scale = 0;

		for (uint32_t i = 0; i < s->n; i++) {
			next[i] = t->col[c][row[i]];
			scale = fmax(scale, fabs(next[i]));
		}
		if (!(scale > 0) || !isfinite(scale))
			continue;
		for (uint32_t i = 0; i < s->n; i++)
			next[i] /= scale;
		if (!column_new(s, next))
			continue;
		s->col[s->n_cols] = next;
		s->scale[s->n_cols] = scale;
		s->feature[s->n_cols++] = t->feature[c];
		next += FIT_ROWS_MAX;
	}
	folds_make(s, t, row, n_groups);
	if (weigh && w->scale > 0)
		weights_make(s, t, row, w->scale);
	return 0;
}

/* ---- least squares ---- */

int fit_least_squares(const struct fit_sample *s, double *const *term, uint32_t n_terms, uint32_t without, double *coef)
{
	gsl_matrix *x = NULL, *cov = NULL;
	gsl_vector *y = NULL, *c = NULL;
	gsl_multifit_linear_workspace *ws = NULL;
	uint32_t rows = 0, r = 0;
	double chi2;
	size_t rank;
	int rc = -1;

	for (uint32_t i = 0; i < s->n; i++)
		rows += s->fold[i] != without;
	if (rows < n_terms || !n_terms)
		return -1;
	gsl_set_error_handler_off();
	x = gsl_matrix_alloc(rows, n_terms);
	cov = gsl_matrix_alloc(n_terms, n_terms);
	y = gsl_vector_alloc(rows);
	c = gsl_vector_alloc(n_terms);
	ws = gsl_multifit_linear_alloc(rows, n_terms);
	if (!x || !cov || !y || !c || !ws)
		goto out;
	for (uint32_t i = 0; i < s->n; i++) {
		if (s->fold[i] == without)
			continue;
		for (uint32_t k = 0; k < n_terms; k++)
			gsl_matrix_set(x, r, k, s->weight[i] * term[k][i]);
		gsl_vector_set(y, r++, s->weight[i] * s->y[i]);
	}
	if (gsl_multifit_linear_tsvd(x, y, SINGULAR_REL, c, cov, &chi2, &rank, ws))
		goto out;
	for (uint32_t k = 0; k < n_terms; k++) {
		coef[k] = gsl_vector_get(c, k);
		if (!isfinite(coef[k]))
			goto out;
	}
	rc = 0;
out:
	gsl_multifit_linear_free(ws);
	gsl_matrix_free(x);
	gsl_matrix_free(cov);
	gsl_vector_free(y);
	gsl_vector_free(c);
	return rc;
}

static double predicted(double *const *term, const double *coef, uint32_t n, uint32_t row)
{
	double sum = 0;

	for (uint32_t k = 0; k < n; k++)
		sum += coef[k] * term[k][row];
	return sum;
}

/* RMS error of cross-validation over the folds; INFINITY if a fold cannot be left out. */
static double held_out_error(const struct work *w, double *const *term, uint32_t n_terms)
{
	const struct fit_sample *s = &w->s;
	double coef[TERMS_MAX], sum = 0;

	for (uint32_t f = 0; f < s->n_folds; f++) {
		uint32_t rows = 0;

		for (uint32_t i = 0; i < s->n; i++)
			rows += s->fold[i] == f;
		if (!rows)
			continue;
		if (fit_least_squares(s, term, n_terms, f, coef) < 0)
			return INFINITY;
		for (uint32_t i = 0; i < s->n; i++)
			if (s->fold[i] == f) {
				double e = s->weight[i] * (predicted(term, coef, n_terms, i) - s->y[i]);

				sum += e * e;
			}
	}
	return sqrt(sum / s->n);
}

/* ---- terms ---- */

static void term_add(struct work *w, const struct term *t)
{
	struct term *out = &w->term[w->n_terms];

	if (w->n_terms == TERMS_MAX)
		return;
	*out = *t;
	out->value = w->values + (size_t)w->n_terms * FIT_ROWS_MAX;
	for (uint32_t i = 0; i < w->s.n; i++) {
		double v = 1;

		for (uint32_t k = 0; k < t->n; k++)
			v *= w->s.col[t->x[k]][i];
		out->value[i] = v;
	}
	w->n_terms++;
}

static double correlation(const struct fit_sample *s, const double *x, const double *y)
{
	double n = 0, mx = 0, my = 0, sxx = 0, syy = 0, sxy = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		double w = s->weight[i] * s->weight[i];

		n += w;
		mx += w * x[i];
		my += w * y[i];
	}
	mx /= n;
	my /= n;
	for (uint32_t i = 0; i < s->n; i++) {
		double w = s->weight[i] * s->weight[i];

		sxx += w * (x[i] - mx) * (x[i] - mx);
		syy += w * (y[i] - my) * (y[i] - my);
		sxy += w * (x[i] - mx) * (y[i] - my);
	}
	return sxx > 0 && syy > 0 ? fabs(sxy) / sqrt(sxx * syy) : 0;
}

/* Columns in the order of their correlation with the values. */
static void columns_rank(const struct work *w, uint32_t *order)
{
	double r[FIT_COLS_MAX];

	for (uint32_t c = 0; c < w->s.n_cols; c++) {
		uint32_t k = c;

		r[c] = correlation(&w->s, w->s.col[c], w->s.y);
		for (; k && r[order[k - 1]] < r[c]; k--)
			order[k] = order[k - 1];
		order[k] = c;
	}
}

static void terms_make(struct work *w)
{
	uint32_t order[FIT_COLS_MAX], n = w->s.n_cols;

	columns_rank(w, order);
	term_add(w, &(struct term){.n = 0});
	for (uint32_t c = 0; c < n; c++)
		term_add(w, &(struct term){.n = 1, .x = {c}});
	for (uint32_t a = 0; a < n && a < PRODUCTS_OF; a++)
		for (uint32_t b = 0; b <= a; b++)
			term_add(w, &(struct term){.n = 2, .x = {order[a], order[b]}});
	for (uint32_t a = 0; a < n && a < CUBES_OF; a++)
		for (uint32_t b = 0; b <= a; b++)
			for (uint32_t c = 0; c <= b; c++)
				term_add(w, &(struct term){.n = 3, .x = {order[a], order[b], order[c]}});
}

/* ---- the chosen terms as a function of the model ---- */

struct choice {
	uint32_t n, term[TERMS_MAX];
	double coef[TERMS_MAX]; /* of the scaled columns */
};

static void choice_values(const struct work *w, const struct choice *c, double **value)
{
	for (uint32_t k = 0; k < c->n; k++)
		value[k] = w->term[c->term[k]].value;
}

static double term_scale(const struct work *w, const struct term *t)
{
	double scale = 1;

	for (uint32_t k = 0; k < t->n; k++)
		scale *= w->s.scale[t->x[k]];
	return scale;
}

static int choice_to_fn(const struct work *w, const struct choice *c, struct model *m, struct model_fn *out)
{
	struct model_stage *stage = model_alloc(m, 1, sizeof(*stage));

	if (!stage)
		return -1;
	stage->term = model_alloc(m, c->n, sizeof(*stage->term));
	if (!stage->term)
		return -1;
	for (uint32_t k = 0; k < c->n; k++) {
		const struct term *t = &w->term[c->term[k]];
		struct model_term *o = &stage->term[stage->n_terms];

		o->coef = c->coef[k] / term_scale(w, t);
		o->n_x = t->n;
		for (uint32_t i = 0; i < t->n; i++)
			o->x[i] = w->s.feature[t->x[i]];
		if (o->coef != 0)
			stage->n_terms++;
	}
	out->stage = stage;
	out->n_stages = 1;
	return 0;
}

/* ---- exact functions ---- */

static double worst(const struct work *w, const struct choice *c)
{
	double *value[TERMS_MAX], most = 0;

	choice_values(w, c, value);
	for (uint32_t i = 0; i < w->s.n; i++)
		most = fmax(most, fabs(predicted(value, c->coef, c->n, i) - w->s.y[i]));
	return most;
}

static bool choice_fit(const struct work *w, struct choice *c, double tolerance)
{
	double *value[TERMS_MAX];

	choice_values(w, c, value);
	return fit_least_squares(&w->s, value, c->n, UINT32_MAX, c->coef) == 0 && worst(w, c) <= tolerance;
}

/* Are there more different rows, in the columns of the function, than coefficients plus `more`? With fewer rows any
 * function would fit. */
static bool determined(const struct work *w, const struct choice *c, uint32_t more)
{
	uint32_t distinct = 0, seen[TERMS_MAX + THREE_MORE + 1];

	for (uint32_t i = 0; i < w->s.n && distinct <= c->n + more; i++) {
		bool known = false;

		for (uint32_t d = 0; d < distinct && !known; d++) {
			known = true;
			for (uint32_t k = 0; known && k < c->n; k++)
				known = w->term[c->term[k]].value[i] == w->term[c->term[k]].value[seen[d]];
		}
		if (!known)
			seen[distinct++] = i;
	}
	return distinct > c->n + more;
}

static void drop_term(struct choice *c, uint32_t k)
{
	memmove(c->term + k, c->term + k + 1, (c->n - k - 1) * sizeof(*c->term));
	memmove(c->coef + k, c->coef + k + 1, (c->n - k - 1) * sizeof(*c->coef));
	c->n--;
}

/* Leave out what is not needed: first all that count for nothing, then one by one, last ones first. */
static void eliminate(const struct work *w, struct choice *c, double tolerance)
{
	struct choice less = *c;

	for (uint32_t k = less.n; k-- > 0 && less.n > 1;)
		if (fabs(less.coef[k]) < 1e-9 * w->scale)
			drop_term(&less, k);
	if (less.n < c->n && choice_fit(w, &less, tolerance))
		*c = less;
	if (c->n > 16)
		return;
	for (uint32_t k = c->n; k-- > 0 && c->n > 1;) {
		less = *c;
		drop_term(&less, k);
		if (choice_fit(w, &less, tolerance))
			*c = less;
	}
}

/* Coefficients that are fractions up to rounding are these fractions. */
static void fractions(const struct work *w, struct choice *c)
{
	struct choice exact = *c;

	for (uint32_t k = 0; k < c->n; k++) {
		double scale = term_scale(w, &w->term[c->term[k]]), v = c->coef[k] / scale;
		int64_t p, q;

		rational_near(v, FRACTION_MOST, &p, &q);
		if (fabs((double)p / (double)q - v) <= 1e-11 * fmax(1e-3, fabs(v)))
			exact.coef[k] = (double)p / (double)q * scale;
	}
	if (worst(w, &exact) <= fmax(2 * worst(w, c), 4e-16 * w->scale))
		*c = exact;
}

static bool exact_try(const struct work *w, struct choice *c, uint32_t more)
{
	double tolerance = EXACT_REL * fmax(w->scale, 1e-300);

	if (!choice_fit(w, c, tolerance))
		return false;
	eliminate(w, c, tolerance);
	if (!determined(w, c, more))
		return false;
	fractions(w, c);
	return true;
}

/* ---- exact functions of three terms ---- */

struct three {
	uint32_t term[3];
	double rest; /* of the values' square, after projection */
};

/* Products of all terms and of the values, all of length 1, as cosines: (n + 1) x (n + 1), the values last; of a term that
 * is 0 everywhere nothing but zeros. */
static double *cosines(const struct work *w, uint32_t n)
{
	double *g = calloc((n + 1ull) * (n + 1), sizeof(*g)), length[TERMS_MAX + 1];

	for (uint32_t a = 0; g && a <= n; a++) {
		const double *x = a < n ? w->term[a].value : w->s.y;

		for (uint32_t b = 0; b <= a; b++) {
			const double *y = b < n ? w->term[b].value : w->s.y;
			double sum = 0;

			for (uint32_t i = 0; i < w->s.n; i++)
				sum += x[i] * y[i];
			if (b == a)
				length[a] = sqrt(sum);
			g[(size_t)a * (n + 1) + b] = sum;
		}
	}
	for (uint32_t a = 0; g && a <= n; a++)
		for (uint32_t b = 0; b <= a; b++) {
			double l = length[a] * length[b], v = l > 0 ? g[(size_t)a * (n + 1) + b] / l : 0;

			g[(size_t)a * (n + 1) + b] = g[(size_t)b * (n + 1) + a] = v;
		}
	return g;
}

static void three_keep(struct three *kept, const struct three *t)
{
	uint32_t k = THREE_KEPT - 1;

	if (!(t->rest < kept[k].rest))
		return;
	for (; k && t->rest < kept[k - 1].rest; k--)
		kept[k] = kept[k - 1];
	kept[k] = *t;
}

/* All that begin with a. */
static void threes(const double *g, uint32_t n, uint32_t a, struct three *kept)
{
	const double *ga = g + (size_t)a * (n + 1);

	for (uint32_t b = a + 1; b < n; b++) {
		const double *gb = g + (size_t)b * (n + 1);
		double left_b = 1 - ga[b] * ga[b], s = sqrt(left_b), y2, y12;

		if (!(left_b > THREE_LEFT))
			continue;
		y2 = (gb[n] - ga[b] * ga[n]) / s;
		y12 = 1 - ga[n] * ga[n] - y2 * y2;
		for (uint32_t c = b + 1; c < n; c++) {
			double c2 = (gb[c] - ga[b] * ga[c]) / s, left = 1 - ga[c] * ga[c] - c2 * c2, y3;

			if (!(left > THREE_LEFT))
				continue;
			y3 = (g[(size_t)c * (n + 1) + n] - ga[c] * ga[n] - c2 * y2);
			three_keep(kept, &(struct three){{a, b, c}, y12 - y3 * y3 / left});
		}
	}
}

/* Searches an exact function of three terms, for few runs with few inputs. Such rows do not determine the coefficients
 * of all terms together. All triples are tried on their cosines, and the best triples on the rows. */
static bool exact_three(const struct work *w, uint32_t n, struct choice *c)
{
	struct three kept[THREE_KEPT];
	double *g = n >= 3 ? cosines(w, n) : NULL;
	bool found = false;

	if (!g)
		return false;
	for (uint32_t k = 0; k < THREE_KEPT; k++)
		kept[k].rest = THREE_REST;
	for (uint32_t a = 0; a < n; a++)
		threes(g, n, a, kept);
	for (uint32_t k = 0; k < THREE_KEPT && kept[k].rest < THREE_REST && !found; k++) {
		*c = (struct choice){.n = 3, .term = {kept[k].term[0], kept[k].term[1], kept[k].term[2]}};
		found = exact_try(w, c, THREE_MORE);
	}
	free(g);
	return found;
}

/* simple: times are measured, nothing but lines is looked for. */
static bool exact_find(const struct work *w, bool simple, struct choice *c)
{
	uint32_t n_linear = 1 + w->s.n_cols, n_square = n_linear;

	*c = (struct choice){.n = 1, .coef = {w->s.y[0]}};
	if (worst(w, c) <= EXACT_REL * w->scale)
		return true;
	/* One term, then one term and a constant; terms with the lowest cost first. */
	for (uint32_t t = 1; t < w->n_terms; t++) {
		if (correlation(&w->s, w->term[t].value, w->s.y) < 1 - LINE_SLACK)
			continue;
		*c = (struct choice){.n = 1, .term = {t}};
		if (exact_try(w, c, 0))
			return true;
		*c = (struct choice){.n = 2, .term = {0, t}};
		if (exact_try(w, c, 0))
			return true;
	}
	while (n_square < w->n_terms && w->term[n_square].n == 2)
		n_square++;
	if (!simple && exact_three(w, n_square, c))
		return true;
	for (int all = 0; all < (simple ? 1 : 2); all++) {
		c->n = all ? n_square : n_linear;
		if (c->n > w->s.n / 2 || c->n > 64)
			continue;
		for (uint32_t k = 0; k < c->n; k++)
			c->term[k] = k;
		if (exact_try(w, c, 0))
			return true;
	}
	return false;
}

/* ---- approximate ones ---- */

static void residual_of(const struct work *w, double *const *value, const double *coef, uint32_t n, double *rest)
{
	for (uint32_t i = 0; i < w->s.n; i++)
		rest[i] = w->s.y[i] - predicted(value, coef, n, i);
}

static double approximate(const struct work *w, struct choice *c)
{
	double *value[PICK_MAX + 2], *rest = w->values + (size_t)TERMS_MAX * FIT_ROWS_MAX, left[FIT_ROWS_MAX], error;

	*c = (struct choice){.n = 1};
	choice_values(w, c, value);
	error = held_out_error(w, value, 1);
	fit_least_squares(&w->s, value, 1, UINT32_MAX, c->coef);
	while (c->n <= PICK_MAX) {
		uint32_t best = 0;
		double most = 0, better, coef[PICK_MAX + 2];

		residual_of(w, value, c->coef, c->n, rest);
		for (uint32_t t = 1; t < w->n_terms; t++) {
			double r = correlation(&w->s, w->term[t].value, rest);

			if (r > most * 1.0001) {
				most = r;
				best = t;
			}
		}
		if (!best || most < 0.1)
			break;
		value[c->n] = w->term[best].value;
		better = held_out_error(w, value, c->n + 1);
		if (!(better < GAIN * error) || fit_least_squares(&w->s, value, c->n + 1, UINT32_MAX, coef) < 0)
			break;
		residual_of(w, value, coef, c->n + 1, left);
		if (!(better < CLEARLY * error) && !fit_significant(&w->s, value[c->n], rest, left, c->n))
			break;
		c->term[c->n++] = best;
		memcpy(c->coef, coef, c->n * sizeof(*coef));
		error = better;
	}
	return error;
}

/* Tries all terms of a degree at once if there are enough rows: the residual of the chosen terms may be spread over
 * many terms. Not for times, because times are extrapolated far. */
static double approximate_all(const struct work *w, struct choice *c, double error)
{
	double *value[TERMS_MAX];
	struct choice all = {0};

	for (uint32_t degree = 1; degree <= 3; degree++) {
		double better;

		for (uint32_t t = all.n; t < w->n_terms && w->term[t].n <= degree; t++)
			all.term[all.n++] = t;
		if (all.n > ALL_MOST || all.n > w->s.n / ROWS_PER_TERM)
			break;
		choice_values(w, &all, value);
		better = held_out_error(w, value, all.n);
		if (better < GAIN * error && fit_variance_falls(error, better, w->s.n) &&
		    fit_least_squares(&w->s, value, all.n, UINT32_MAX, all.coef) == 0) {
			*c = all;
			error = better;
		}
	}
	return error;
}

/* Whether the column is the variable itself before, and each value that it gets is a value that it had. Then the rows are the
 * whole table of a state, and nothing is extrapolated. */
static bool is_state(const struct work *w, uint32_t col)
{
	const struct fit_sample *s = &w->s;

	if (!w->own || s->feature[col] != *w->own)
		return false;
	for (uint32_t i = 0; i < s->n; i++) {
		bool had = false;

		for (uint32_t k = 0; !had && k < s->n; k++)
			had = fabs(s->col[col][k] * s->scale[col] - s->y[i]) <= EXACT_REL * w->scale;
		if (!had)
			return false;
	}
	return true;
}

/* Searches a parabola over one column that goes through all values. Three values prove nothing: a parabola goes through any
 * three of them. */
static bool parabola_find(const struct work *w, struct choice *c)
{
	double tolerance = EXACT_REL * fmax(w->scale, 1e-300);

	for (uint32_t t = 1 + w->s.n_cols; t < w->n_terms && w->term[t].n == 2; t++) {
		uint32_t col = w->term[t].x[0];

		if (col != w->term[t].x[1])
			continue;
		*c = (struct choice){.n = 3, .term = {0, 1 + col, t}};
		if (!choice_fit(w, c, tolerance) || (!determined(w, c, 1) && !is_state(w, col)))
			continue;
		fractions(w, c);
		return true;
	}
	return false;
}

static void quality(const struct work *w, double error, bool exact, struct fit_quality *q)
{
	double mean = 0, var = 0;

	for (uint32_t i = 0; i < w->s.n; i++)
		mean += w->s.y[i];
	mean /= w->s.n;
	for (uint32_t i = 0; i < w->s.n; i++)
		var += (w->s.y[i] - mean) * (w->s.y[i] - mean);
	*q = (struct fit_quality){exact, isfinite(error) ? error : w->scale, sqrt(var / w->s.n), w->scale};
}

int fit_function(const struct fit_table *t, const double *y, bool weigh, struct model *m, struct model_fn *out,
		 struct fit_quality *q, struct errbuf *err)
{
	struct work *w = calloc(1, sizeof(*w));
	struct choice c;
	struct model_fn other;
	double error = 0, other_error;
	int rc = -1, found = 0;

	*out = (struct model_fn){0};
	if (!w || sample_make(w, t, y, weigh) < 0) {
		err_set(err, "no memory to fit a function");
		goto out;
	}
	w->own = t->own;
	terms_make(w);
	if (exact_find(w, weigh, &c)) {
		quality(w, worst(w, &c), true, q);
		rc = choice_to_fn(w, &c, m, out);
		goto out;
	}
	if (!weigh && parabola_find(w, &c)) {
		quality(w, worst(w, &c), false, q);
		rc = choice_to_fn(w, &c, m, out);
		goto out;
	}
	error = approximate(w, &c);
	if (!weigh)
		error = approximate_all(w, &c, error);
	quality(w, error, false, q);
	if (!weigh && q->deviation > 0 && error > 1e-6 * q->deviation)
		found = gmdh_fit(&w->s, m, &other, &other_error);
	if (found > 0 && other_error < GMDH_GAIN * error && fit_variance_falls(error, other_error, w->s.n / 3)) {
		*out = other;
		q->error = other_error;
		rc = 0;
	} else {
		rc = found < 0 ? -1 : choice_to_fn(w, &c, m, out);
	}
out:
	if (rc < 0)
		err_set(err, "no memory to fit a function");
	if (w) {
		free(w->s.block);
		free(w->s.fold);
		free(w->values);
	}
	free(w);
	return rc;
}
