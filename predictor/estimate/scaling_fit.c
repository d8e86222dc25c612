/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fits a scaling model to past runs: see scaling_model.h. Shapes grow term by term: every term of a pool extends the best few
 * shapes of each size (forward selection with a beam).
 */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "predictor/estimate/regression.h"
#include "predictor/estimate/scaling_memo.h"
#include "predictor/estimate/scaling_model.h"

#define SAME_REL   1e-8
#define TIE_REL	   1e-6
#define RUNS_EACH  8	/* of the same inputs, the latest */
#define TRY_MAX	   5	/* inputs that get terms: the best single predictors */
#define POOL_MAX   288
#define BEAM	   16
#define COEFS_MAX  SCALING_TERMS_MAX
#define NOISE	   0.02	 /* smaller errors do not tell shapes apart */
#define EVIDENCE   12.0	 /* more runs than this do not count: no shape is the truth */
#define COEF_PRICE 0.5	 /* weight of a shape relative to one with a coefficient less */
#define KEEP	   0.01	 /* of the best weight */
#define OUTLIER	   6.0	 /* robust deviations; at most one input in OUTLIER_OF is left out */
#define OUTLIER_OF 6
#define SUSPECTS   3
#define POWER_MAX  6.0
/* Half of an interval of a model, which nine of ten runs keep, in standard deviations. */
#define CLAIM_SIGMAS 1.645

_Static_assert(COEFS_MAX <= REGRESSION_COLS_MAX && SCALING_POINTS_MAX <= REGRESSION_ROWS_MAX, "a fit is one regression");

struct point {
	double x[SCALING_VARS_MAX], y;
	const char *vars;
	uint64_t hash; /* of vars */
	double times[RUNS_EACH];
	unsigned n;
	bool out;
	double weight; /* root of it: 1 of a run */
};

struct fit {
	unsigned n_vars, n, n_ran; /* n: points; computed ones behind */
	unsigned n_try, try[TRY_MAX];
	unsigned n_pool;
	/* What follows is not zeroed. */
	struct point p[SCALING_POINTS_MAX];
	struct scaling_term pool[POOL_MAX];
	double col[POOL_MAX][SCALING_POINTS_MAX]; /* by pool term and point: value / y */
	/* Of the points that are not left out as outliers: made by columns_make. */
	struct regression_target ones;
	struct regression_column unit[POOL_MAX]; /* by pool term */
};

struct evidence {
	const struct param_family_run *runs;
	size_t n;
	const struct scaling_point *points;
	size_t n_points;
};

/* A shape under way. */
struct trial {
	unsigned n, term[COEFS_MAX];
	unsigned sum; /* of the terms: equal sets have equal sums */
	double coef[COEFS_MAX], error, missed; /* as of a shape */
};

/* ---- runs ---- */

static double median(double *v, unsigned n)
{
	gsl_sort(v, 1, n);
	return gsl_stats_median_from_sorted_data(v, 1, n);
}

static int points_gather(const struct param_family_run *runs, size_t n, struct fit *f, unsigned *used, struct errbuf *why)
{
	for (size_t i = 0; i < n && i < SCALING_RUNS_MAX; i++) {
		unsigned at = 0, n_vars;
		uint64_t hash;

		if (!isfinite(runs[i].actual_s) || runs[i].actual_s <= 0)
			return err_set(why, "a past run took %g s", runs[i].actual_s);
		if (runs[i].at_least)
			continue;
		hash = XXH3_64bits(runs[i].vars, strlen(runs[i].vars));
		while (at < f->n && (f->p[at].hash != hash || strcmp(f->p[at].vars, runs[i].vars)))
			at++;
		if (at == SCALING_POINTS_MAX || (at < f->n && f->p[at].n == RUNS_EACH))
			continue;
		if (at == f->n) {
			n_vars = scaling_vars_parse(runs[i].vars, f->p[at].x);
			if (!n_vars || (f->n_vars && n_vars != f->n_vars))
				continue;
			f->n_vars = n_vars;
			f->p[at].hash = hash;
			f->p[at].n = f->p[at].out = 0;
			f->p[f->n++].vars = runs[i].vars;
		}
		f->p[at].times[f->p[at].n++] = runs[i].actual_s;
		(*used)++;
	}
	for (unsigned i = 0; i < f->n; i++) {
		f->p[i].y = median(f->p[i].times, f->p[i].n);
		f->p[i].weight = 1;
	}
	f->n_ran = f->n;
	return 0;
}

/* ---- computed points ---- */

struct computed {
	unsigned n, n_same;
	double ratio[SCALING_POINTS_MAX]; /* of the run to the point, where there are both: logarithms */
	double claim;			  /* sum of squares */
};

static bool same_inputs(const double *a, const double *b, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!(fabs(a[i] - b[i]) <= SAME_REL * fmax(fabs(a[i]), fabs(b[i]))))
			return false;
	return true;
}

/* Does an input, or a proportion of two, differ though it was the same in all runs? Its effect would count for other
 * inputs. */
static bool is_unlike_runs(const struct scaling_model *l, const double *x)
{
	for (unsigned j = 0; j < l->n_vars; j++)
		if (same_inputs(&l->lo[j], &l->hi[j], 1) && !same_inputs(&l->lo[j], &x[j], 1))
			return true;
	for (unsigned i = 0; i < l->n_ties; i++) {
		const struct scaling_tie *t = &l->ties[i];

		if (!(fabs(x[t->var] - t->ratio * x[t->with]) <= TIE_REL * fabs(x[t->var])))
			return true;
	}
	return false;
}

static void computed_take(struct fit *f, const struct scaling_model *l, const struct scaling_point *from,
			  struct computed *c)
{
	struct point *p = &f->p[f->n];
	unsigned at = 0;

	if (f->n == SCALING_POINTS_MAX || c->n == SCALING_COMPUTED_MAX ||
	    scaling_vars_parse(from->vars, p->x) != f->n_vars || !isfinite(from->seconds) || !(from->seconds > 0) || !(from->claim >= 0))
		return;
	while (at < f->n && !same_inputs(f->p[at].x, p->x, f->n_vars))
		at++;
	if (at < f->n_ran && c->n_same < SCALING_POINTS_MAX) {
		c->ratio[c->n_same++] = log(f->p[at].y / from->seconds);
		c->claim += pow(log1p(from->claim) / CLAIM_SIGMAS, 2);
	}
	if (at < f->n || is_unlike_runs(l, p->x))
		return;
	p->vars = from->vars;
	p->y = from->seconds;
	p->out = false;
	p->n = 1;
	c->n++;
	f->n++;
}

/*
 * Takes computed points behind the runs, at the level of the runs. Returns their relative error. The spread of their
 * ratios to runs is too small, because the model has learnt from these runs. The error that the model claims is too
 * large: of three runs, each is left out once, and two remain. So the geometric mean counts, but at least the spread
 * (doc/evaluation/models.md, inputs that never ran). Takes no point, and returns 0, if fewer than SCALING_POINTS_MIN
 * runs have a point or if the error is above SCALING_ERROR_MAX.
 */
static double computed_gather(const struct scaling_point *points, size_t n, const struct scaling_model *l,
			      struct fit *f)
{
	struct computed c = {0};
	double level, error = 0;

	for (size_t i = 0; i < n; i++)
		computed_take(f, l, &points[i], &c);
	if (c.n_same >= SCALING_POINTS_MIN && c.n) {
		level = median(c.ratio, c.n_same);
		for (unsigned i = 0; i < c.n_same; i++)
			error += pow(c.ratio[i] - level, 2);
		error = fmax(sqrt(error / (c.n_same - 1)), NOISE);
		error = fmax(error, sqrt(error * sqrt(c.claim / c.n_same)));
		for (unsigned i = f->n_ran; i < f->n; i++) {
			f->p[i].y *= exp(level);
			f->p[i].weight = sqrt(fmin(1, (double)f->n_ran / c.n));
		}
		if (error <= SCALING_ERROR_MAX)
			return error;
	}
	f->n = f->n_ran;
	return 0;
}

/* Ranges of the inputs, and which always were in proportion. Returns how many vary, each in its own way. */
static unsigned inputs_look(const struct fit *f, struct scaling_model *l, bool *varies)
{
	unsigned n = 0;

	for (unsigned j = 0; j < f->n_vars; j++) {
		l->lo[j] = INFINITY;
		l->hi[j] = -INFINITY;
		for (unsigned i = 0; i < f->n_ran; i++) {
			l->lo[j] = fmin(l->lo[j], f->p[i].x[j]);
			l->hi[j] = fmax(l->hi[j], f->p[i].x[j]);
		}
		varies[j] = l->hi[j] - l->lo[j] > SAME_REL * fmax(fabs(l->lo[j]), fabs(l->hi[j]));
		for (unsigned k = 0; k < j && varies[j] && l->n_ties < SCALING_TIES_MAX; k++) {
			double ratio = varies[k] && f->p[0].x[k] != 0 ? f->p[0].x[j] / f->p[0].x[k] : NAN;
			bool tied = isfinite(ratio);

			for (unsigned i = 0; i < f->n_ran && tied; i++)
				tied = fabs(f->p[i].x[j] - ratio * f->p[i].x[k]) <= TIE_REL * fabs(f->p[i].x[j]);
			if (tied) {
				l->ties[l->n_ties++] = (struct scaling_tie){j, k, ratio};
				varies[j] = false;
			}
		}
		n += varies[j];
	}
	return n;
}

/* ---- least squares ---- */

/* target NULL: all ones. The points that are not left out as outliers. */
static void target_make(const struct fit *f, const double *target, struct regression_target *t)
{
	t->rows = t->first = 0;
	t->weight = 0;
	for (unsigned i = 0; i < f->n; i++) {
		double w = f->p[i].weight;

		if (f->p[i].out)
			continue;
		t->y[t->rows++] = w * (target ? target[i] : 1);
		t->weight += w * w;
		t->first += i < f->n_ran;
	}
}

/* col: by point. */
static void column_make(const struct fit *f, const double *col, const struct regression_target *t, struct regression_column *out)
{
	double x[SCALING_POINTS_MAX];
	unsigned rows = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (!f->p[i].out)
			x[rows++] = f->p[i].weight * col[i];
	regression_column_make(t, x, out);
}

/* Of the whole pool. */
static void columns_make(struct fit *f)
{
	target_make(f, NULL, &f->ones);
	for (unsigned k = 0; k < f->n_pool; k++)
		column_make(f, f->col[k], &f->ones, &f->unit[k]);
}

/*
 * Fits the trial and sets its errors.
 *
 * r: has a column for each term of the trial but the last one, also on return.
 *
 * most: the caller discards trials with a larger error. Such a trial may get the error INFINITY without being solved.
 */
static void trial_end(const struct fit *f, struct regression *r, double most, struct trial *t)
{
	unsigned before = r->cols;

	t->error = t->missed = INFINITY;
	if (regression_take(r, &f->unit[t->term[t->n - 1]], most) != 0)
		return;
	t->error = regression_solve(r, t->coef);
	if (isfinite(t->error))
		t->missed = r->first_error;
	r->cols = before;
	for (unsigned k = 0; k < t->n; k++)
		if (!(t->coef[k] > 0))
			t->error = INFINITY; /* parts of a run take time */
}

/* Returns -1 if the terms do not go together. */
static int trial_begin(const struct fit *f, const struct trial *t, struct regression *r)
{
	r->target = &f->ones;
	r->cols = 0;
	for (unsigned k = 0; k < t->n; k++)
		if (regression_take(r, &f->unit[t->term[k]], INFINITY) < 0)
			return -1;
	return 0;
}

/* ---- terms ---- */

static void pool_add(struct fit *f, const struct scaling_term *t)
{
	double *col = f->col[f->n_pool];

	if (f->n_pool == POOL_MAX)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		double v = 1;

		for (unsigned k = 0; k < t->n; k++) {
			double x = f->p[i].x[t->f[k].var], p = t->f[k].power;

			if ((p != floor(p) && x < 0) || (p < 0 && x == 0) || (t->f[k].log && x < 1))
				return;
			v *= pow(x, p) * (t->f[k].log ? log2(x) : 1);
		}
		col[i] = v / f->p[i].y;
		if (!isfinite(col[i]) || v < 0)
			return;
	}
	f->pool[f->n_pool++] = *t;
}

static void pool_single(struct fit *f, unsigned var)
{
	static const struct {
		double power;
		unsigned log;
	} forms[] = {{1, 0}, {2, 0}, {3, 0}, {0.5, 0}, {1.5, 0}, {-1, 0}, {-0.5, 0}, {0, 1}, {1, 1}, {2, 1}, {-1, 1}};

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++)
		pool_add(f, &(struct scaling_term){1, 1, {{var, forms[i].power, forms[i].log}}});
}

static void pool_pair(struct fit *f, unsigned a, unsigned b)
{
	static const double powers[][2] = {{1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1}, {1, 3}, {1, -1}, {-1, 1}, {2, -1}, {-1, 2},
					   {3, -1}, {-1, 3}, {1, 0.5}, {0.5, 1}};

	for (size_t i = 0; i < sizeof(powers) / sizeof(powers[0]); i++)
		pool_add(f, &(struct scaling_term){1, 2, {{a, powers[i][0], 0}, {b, powers[i][1], 0}}});
}

static void pool_triple(struct fit *f, unsigned a, unsigned b, unsigned c)
{
	/* Steps of a grid of three dimensions are for computed points alone: a few runs have noise enough to seem like any term. */
	static const double powers[][3] = {{1, 1, 1}, {-1, 1, 1}, {1, -1, 1}, {1, 1, -1}, {-1, 2, 1}, {-1, 1, 2},
					   {2, -1, 1}, {1, -1, 2}, {2, 1, -1}, {1, 2, -1},
					   {-1, 3, 1}, {-1, 1, 3}, {3, -1, 1}, {1, -1, 3}, {3, 1, -1}, {1, 3, -1}};
	size_t n = f->n > f->n_ran ? sizeof(powers) / sizeof(powers[0]) : 10;

	for (size_t i = 0; i < n; i++)
		pool_add(f, &(struct scaling_term){1, 3, {{a, powers[i][0], 0}, {b, powers[i][1], 0}, {c, powers[i][2], 0}}});
}

/* Leave-one-out error of the best model of this input alone. */
static double error_alone(struct fit *f, unsigned var)
{
	double best = INFINITY;

	f->n_pool = 0;
	pool_add(f, &(struct scaling_term){.c = 1});
	pool_single(f, var);
	columns_make(f);
	for (unsigned i = 1; i < f->n_pool; i++) {
		struct trial with = {.n = 2, .term = {0, i}}, without = {.n = 1, .term = {i}};
		struct regression r = {.target = &f->ones};

		trial_end(f, &r, INFINITY, &without);
		best = fmin(best, without.error);
		if (trial_begin(f, &(struct trial){.n = 1, .term = {0}}, &r) == 0) {
			trial_end(f, &r, INFINITY, &with);
			best = fmin(best, with.error);
		}
	}
	return best;
}

static void pool_make(struct fit *f, const bool *varies)
{
	double error[SCALING_VARS_MAX];
	unsigned n;

	for (unsigned j = 0; j < f->n_vars; j++) {
		if (!varies[j])
			continue;
		error[j] = error_alone(f, j);
		n = f->n_try < TRY_MAX ? f->n_try++ : TRY_MAX;
		for (; n && error[f->try[n - 1]] > error[j]; n--)
			if (n < TRY_MAX)
				f->try[n] = f->try[n - 1];
		if (n < TRY_MAX)
			f->try[n] = j;
	}
	n = f->n_try;
	f->n_pool = 0;
	pool_add(f, &(struct scaling_term){.c = 1});
	for (unsigned a = 0; a < n; a++)
		pool_single(f, f->try[a]);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a + 1; b < n; b++)
			pool_pair(f, f->try[a], f->try[b]);
	for (unsigned a = 0; a < n; a++)
		for (unsigned b = a + 1; b < n; b++)
			for (unsigned c = b + 1; c < n; c++)
				pool_triple(f, f->try[a], f->try[b], f->try[c]);
}

/* ---- shapes ---- */

static double weight_of(double error, unsigned coefs, unsigned points)
{
	return -fmin(points, EVIDENCE) / 2 * log(error * error + NOISE * NOISE) + coefs * log(COEF_PRICE);
}

static void found_trial(struct scaling_found *out, const struct fit *f, const struct trial *t)
{
	struct scaling_shape s = {.weight = weight_of(t->error, t->n, out->points), .error = t->error, .missed = t->missed, .n = t->n};

	for (unsigned k = 0; k < t->n; k++) {
		s.t[k] = f->pool[t->term[k]];
		s.t[k].c = t->coef[k];
	}
	scaling_found_add(out, &s);
}

/* Of as many terms. */
static bool trial_same(const struct trial *a, const struct trial *b)
{
	unsigned hit = 0;

	for (unsigned i = 0; i < a->n; i++)
		for (unsigned j = 0; j < b->n; j++)
			hit += a->term[i] == b->term[j];
	return hit == a->n;
}

/* A term twice is singular; the same terms in another order are the same shape. */
static bool is_worth_trying(const struct trial *beam, unsigned n, const struct trial *t)
{
	for (unsigned k = 0; k + 1 < t->n; k++)
		if (t->term[k] == t->term[t->n - 1])
			return false;
	for (unsigned i = 0; i < n; i++)
		if (beam[i].sum == t->sum && trial_same(&beam[i], t))
			return false;
	return true;
}

static unsigned beam_add(struct trial *beam, unsigned n, const struct trial *t)
{
	unsigned at = n < BEAM ? n++ : BEAM;

	for (; at && beam[at - 1].error > t->error; at--)
		if (at < BEAM)
			beam[at] = beam[at - 1];
	if (at < BEAM)
		beam[at] = *t;
	return n;
}

static void sums_try(const struct fit *f, struct scaling_found *out)
{
	unsigned most = out->points <= 4 ? 2 : out->points < 8 ? 3 : COEFS_MAX, n_from = 1, n_to;
	struct trial from[BEAM] = {{0}}, to[BEAM];

	for (unsigned size = 1; size <= most && n_from; size++) {
		n_to = 0;
		for (unsigned b = 0; b < n_from; b++) {
			struct regression r;

			if (trial_begin(f, &from[b], &r) < 0)
				continue;
			for (unsigned k = 0; k < f->n_pool; k++) {
				struct trial t = from[b];

				t.term[t.n++] = k;
				t.sum += k;
				if (!is_worth_trying(to, n_to, &t))
					continue;
				trial_end(f, &r, n_to == BEAM ? to[BEAM - 1].error : INFINITY, &t);
				if (isfinite(t.error))
					n_to = beam_add(to, n_to, &t);
			}
		}
		for (unsigned b = 0; b < n_to; b++)
			found_trial(out, f, &to[b]);
		/* what the first term leaves over may have the wrong sign alone: single terms always go on */
		memcpy(from, to, n_to * sizeof(*to));
		n_from = n_to;
	}
}

/* Sets the shape's errors. Returns -1 if there is no fit. */
static int powers_fit(const struct fit *f, double cols[][SCALING_POINTS_MAX], unsigned n, const double *target,
		      struct scaling_shape *s, double *coef)
{
	struct regression_column col[COEFS_MAX];
	struct regression_target t;
	struct regression r = {.target = &t};

	target_make(f, target, &t);
	for (unsigned k = 0; k < n; k++) {
		column_make(f, cols[k], &t, &col[k]);
		if (regression_take(&r, &col[k], INFINITY) < 0)
			return -1;
	}
	s->error = regression_solve(&r, coef);
	s->missed = r.first_error;
	return isfinite(s->error) ? 0 : -1;
}

/* c * prod x_i^a_i over the first m inputs that are tried: linear in logarithms. */
static void powers_try(const struct fit *f, unsigned m, unsigned first, struct scaling_found *out)
{
	double cols[COEFS_MAX][SCALING_POINTS_MAX], target[SCALING_POINTS_MAX], coef[COEFS_MAX];
	struct scaling_shape s = {.n = 1};

	if (out->points < m + 2 || m + 1 > COEFS_MAX)
		return;
	for (unsigned i = 0; i < f->n; i++) {
		cols[0][i] = 1;
		target[i] = log(f->p[i].y);
		for (unsigned k = 0; k < m; k++) {
			if (!(f->p[i].x[f->try[first + k]] > 0))
				return;
			cols[k + 1][i] = log(f->p[i].x[f->try[first + k]]);
		}
	}
	if (powers_fit(f, cols, m + 1, target, &s, coef) < 0)
		return;
	s.t[0] = (struct scaling_term){.c = exp(coef[0]), .n = m};
	for (unsigned k = 0; k < m; k++) {
		s.t[0].f[k] = (struct scaling_factor){f->try[first + k], coef[k + 1], 0};
		if (!(fabs(coef[k + 1]) <= POWER_MAX))
			return;
	}
	if (!isfinite(s.t[0].c) || !(s.t[0].c > 0))
		return;
	s.weight = weight_of(s.error, m + 1, out->points);
	scaling_found_add(out, &s);
}

static void shapes_find(struct fit *f, struct scaling_found *out)
{
	double points = 0;

	for (unsigned i = 0; i < f->n; i++)
		points += f->p[i].out ? 0 : f->p[i].weight * f->p[i].weight;
	out->n = 0;
	out->points = (unsigned)lround(points);
	columns_make(f);
	sums_try(f, out);
	for (unsigned k = 0; k < f->n_try; k++)
		powers_try(f, 1, k, out);
	for (unsigned m = 2; m <= f->n_try && m <= SCALING_FACTORS_MAX; m++)
		powers_try(f, m, 0, out);
}

/* ---- outliers ---- */

/* The points with the largest errors. */
static unsigned suspects(const struct fit *f, const struct scaling_shape *s, unsigned list[SUSPECTS])
{
	double off[SUSPECTS], o;
	unsigned n = 0, at;

	for (unsigned i = 0; i < f->n_ran; i++) {
		if (f->p[i].out)
			continue;
		o = fabs(log(fmax(scaling_shape_at(s, f->p[i].x), 1e-300) / f->p[i].y));
		at = n < SUSPECTS ? n++ : SUSPECTS;
		for (; at && off[at - 1] < o; at--)
			if (at < SUSPECTS) {
				off[at] = off[at - 1];
				list[at] = list[at - 1];
			}
		if (at < SUSPECTS) {
			off[at] = o;
			list[at] = i;
		}
	}
	return n;
}

/* Is the point an outlier of the fit to the others, by OUTLIER robust deviations? */
static bool stands_apart(const struct fit *f, const struct scaling_found *others, unsigned point)
{
	double off[SCALING_POINTS_MAX], spread;
	unsigned n = 0;

	for (unsigned i = 0; i < f->n; i++)
		if (!f->p[i].out)
			off[n++] = fabs(scaling_shape_at(&others->s[0], f->p[i].x) / f->p[i].y - 1);
	spread = fmax(fmax(1.4826 * median(off, n), others->s[0].error), NOISE);
	return fabs(scaling_shape_at(&others->s[0], f->p[point].x) / f->p[point].y - 1) > OUTLIER * spread;
}

/* A run on a slow node or a cold file system must not bend the shape. The suspect without which the fit is best is left out if
 * it is an outlier. */
static bool outlier_drop(struct fit *f, struct scaling_found *found)
{
	unsigned list[SUSPECTS], n = suspects(f, &found->s[0], list), worst = 0;
	struct scaling_found without, best = {0};

	for (unsigned i = 0; i < n; i++) {
		f->p[list[i]].out = true;
		shapes_find(f, &without);
		f->p[list[i]].out = false;
		if (without.n && (!best.n || without.s[0].error < best.s[0].error)) {
			best = without;
			worst = list[i];
		}
	}
	if (!best.n || !(best.s[0].error < found->s[0].error / 2))
		return false;
	f->p[worst].out = true;
	if (stands_apart(f, &best, worst)) {
		*found = best;
		return true;
	}
	f->p[worst].out = false;
	return false;
}

/* ---- all together ---- */

static void weights_set(const struct scaling_found *found, struct scaling_model *l)
{
	double sum = 0;

	for (unsigned i = 0; i < found->n; i++) {
		double w = exp(found->s[i].weight - found->s[0].weight);

		if (w < KEEP)
			break;
		l->s[l->n_shapes] = found->s[i];
		l->s[l->n_shapes++].weight = w;
		sum += w;
	}
	for (unsigned i = 0; i < l->n_shapes; i++)
		l->s[i].weight /= sum;
}

/* Refuses if a run was ended beyond its interval, with fewer than ESTIMATE_OUTVOTED whole runs after it. */
static int bounds_check(const struct param_family_run *runs, size_t n, const struct scaling_model *l, struct errbuf *why)
{
	double vars[SCALING_VARS_MAX];
	unsigned newer = 0;
	struct estimate e;

	for (size_t i = 0; i < n && newer < ESTIMATE_OUTVOTED; i++) {
		if (!runs[i].at_least)
			newer++;
		else if (scaling_vars_parse(runs[i].vars, vars) == l->n_vars && scaling_predict(l, vars, l->n_vars, &e, NULL) == 0 &&
			 runs[i].actual_s > e.hi_s)
			return err_set(why, "a run was ended after %.0f s, beyond the %.0f s that the model gives it", runs[i].actual_s,
				       e.hi_s);
	}
	return 0;
}

/* Points of runs alone decide everything else of the search, also which inputs vary. Returns how many numbers they are. */
static size_t points_write(const struct fit *f, double input[SCALING_MEMO_INPUT])
{
	size_t n = 1;

	input[0] = f->n_vars;
	for (unsigned i = 0; i < f->n; i++, n += f->n_vars + 1) {
		input[n] = f->p[i].y;
		memcpy(&input[n + 1], f->p[i].x, f->n_vars * sizeof(*input));
	}
	return n;
}

static void shapes_search(struct fit *f, const bool *varies, struct scaling_found *found)
{
	double input[SCALING_MEMO_INPUT];
	size_t n = f->n == f->n_ran ? points_write(f, input) : 0;

	if (n && scaling_memo_get(input, n, found))
		return;
	pool_make(f, varies);
	shapes_find(f, found);
	for (unsigned left = f->n_ran / OUTLIER_OF; left && found->n && found->s[0].error > NOISE && outlier_drop(f, found);)
		left--;
	if (n)
		scaling_memo_put(input, n, found);
}

/* off: by how much computed points are off, relative; 0 without any. */
static int shapes_fit(struct fit *f, const bool *varies, double off, struct scaling_model *l, struct errbuf *why)
{
	struct scaling_found found = {0};

	shapes_search(f, varies, &found);
	if (!found.n || !(fmax(found.s[0].error, found.s[0].missed) <= SCALING_ERROR_MAX))
		return err_set(why, "how long it takes does not follow from its numbers: inputs that were left out were missed by %.0f %%",
			       found.n ? 100 * fmax(found.s[0].error, found.s[0].missed) : 100);
	weights_set(&found, l);
	for (unsigned i = 0; i < l->n_shapes; i++)
		l->s[i].error = hypot(l->s[i].error, off) / (off > 0 ? 1 + SCALING_FEW / l->points : 1);
	return 0;
}

/* Mean half width of the intervals at computed points, relative; 1 where the model refuses. */
static double mean_width(const struct fit *f, const struct scaling_model *l)
{
	double sum = 0;
	struct estimate e;

	for (unsigned i = f->n_ran; i < f->n; i++)
		sum += scaling_predict(l, f->p[i].x, l->n_vars, &e, NULL) == 0 ? (e.hi_s - e.lo_s) / 2 / e.mean_s : 1;
	return sum / (f->n - f->n_ran);
}

/* A model of runs and computed points takes the place of *l, a model of the runs alone or none, if it knows more. */
static void computed_try(struct fit *f, const struct evidence *e, double off, const bool *varies,
			 struct scaling_model *l)
{
	struct scaling_model with = *l;

	if (!off)
		return;
	with.n_shapes = 0;
	for (unsigned i = 0; i < f->n_ran; i++)
		f->p[i].out = false;
	f->n_try = 0;
	with.computed = f->n - f->n_ran;
	if (shapes_fit(f, varies, off, &with, NULL) < 0 || bounds_check(e->runs, e->n, &with, NULL) < 0)
		return;
	if (!l->n_shapes || mean_width(f, &with) < mean_width(f, l))
		*l = with;
}

static int runs_fit(struct fit *f, const struct evidence *e, unsigned vary, const bool *varies, struct scaling_model *l,
		    struct errbuf *why)
{
	int rv = f->n < vary + 2 ? err_set(why, "%u inputs vary and %u combinations have run: %u are needed%s", vary,
					   f->n, vary + 2, e->points ? ", or three that were traced" : "")
				 : shapes_fit(f, varies, 0, l, why);

	if (!rv)
		rv = bounds_check(e->runs, e->n, l, why);
	if (rv < 0)
		l->n_shapes = 0;
	return rv;
}

static int fit_all(struct fit *f, const struct evidence *e, struct scaling_model *l, struct errbuf *why)
{
	bool varies[SCALING_VARS_MAX] = {false};
	unsigned vary;
	double off;
	int rv;

	if (points_gather(e->runs, e->n, f, &l->runs, why) < 0)
		return -1;
	l->points = f->n;
	l->n_vars = f->n_vars;
	vary = f->n ? inputs_look(f, l, varies) : 0;
	if (f->n < SCALING_POINTS_MIN)
		return err_set(why, "runs of %u different inputs: %d are needed", f->n, SCALING_POINTS_MIN);
	rv = runs_fit(f, e, vary, varies, l, why);
	off = computed_gather(e->points, e->n_points, l, f);
	if (off > 0)
		computed_try(f, e, off, varies, l);
	return l->n_shapes ? 0 : rv;
}

int scaling_fit_with(const struct param_family_run *runs, size_t n, const struct scaling_point *points, size_t n_points,
		     struct scaling_model *out, struct errbuf *why)
{
	struct evidence e = {runs, n < SCALING_RUNS_MAX ? n : SCALING_RUNS_MAX, points, n_points};
	struct fit *f = malloc(sizeof(*f));
	int rv;

	memset(out, 0, sizeof(*out));
	if (!f)
		return err_set(why, "no memory for a model over inputs");
	memset(f, 0, offsetof(struct fit, p));
	rv = fit_all(f, &e, out, why);
	free(f);
	if (rv < 0)
		*out = (struct scaling_model){.runs = out->runs, .points = out->points};
	return rv;
}

int scaling_fit(const struct param_family_run *runs, size_t n, struct scaling_model *out, struct errbuf *why)
{
	return scaling_fit_with(runs, n, NULL, 0, out, why);
}
