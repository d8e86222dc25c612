/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Group method of data handling. Units are quadratic polynomials of two operands. A unit is fitted by least squares on
 * one part of the rows, and kept if its error on another part is small. The next layer takes the kept units as
 * operands. The returned error is of a third part, which no choice has used. See fit.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/fit.h"

#define OPERANDS  6 /* that a layer works on, and leaves */
#define LAYERS	  3
#define UNITS_MAX (OPERANDS * LAYERS)
#define COEFS	  6
#define UNIT	  0x100u /* an operand that is a unit, not a column */
#define GAIN	  0.98
#define ROWS_MIN  12
#define TESTS	  3

struct unit {
	uint32_t a, b;
	double coef[COEFS], error;
	double *value; /* by row */
};

struct net {
	struct unit unit[UNITS_MAX];
	uint32_t n_units, best; /* best: UINT32_MAX when no unit beats the others */
	double *block;
};

static const double *operand(const struct fit_sample *s, const struct net *net, uint32_t x)
{
	return x & UNIT ? net->unit[x & ~UNIT].value : s->col[x];
}

static double quadratic(const double *c, double a, double b)
{
	return c[0] + c[1] * a + c[2] * b + c[3] * a * b + c[4] * a * a + c[5] * b * b;
}

static int unit_fit(const struct fit_sample *s, const struct net *net, struct unit *u, double *scratch)
{
	const double *a = operand(s, net, u->a), *b = operand(s, net, u->b);
	double *term[COEFS];

	for (uint32_t k = 0; k < COEFS; k++)
		term[k] = scratch + (size_t)k * s->n;
	for (uint32_t i = 0; i < s->n; i++) {
		term[0][i] = 1;
		term[1][i] = a[i];
		term[2][i] = b[i];
		term[3][i] = a[i] * b[i];
		term[4][i] = a[i] * a[i];
		term[5][i] = b[i] * b[i];
	}
	if (fit_least_squares(s, term, COEFS, 1, u->coef) < 0)
		return -1;
	for (uint32_t i = 0; i < s->n; i++)
		u->value[i] = quadratic(u->coef, a[i], b[i]);
	return 0;
}

static double error_on(const struct fit_sample *s, const double *value, const uint8_t *part, uint8_t which)
{
	double sum = 0, n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		if (part[i] == which) {
			double e = s->weight[i] * (value[i] - s->y[i]);

			sum += e * e;
			n++;
		}
	return n > 0 ? sqrt(sum / n) : INFINITY;
}

static double correlation(const struct fit_sample *s, const double *x)
{
	double mx = 0, my = 0, sxx = 0, syy = 0, sxy = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		mx += x[i] / s->n;
		my += s->y[i] / s->n;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		sxx += (x[i] - mx) * (x[i] - mx);
		syy += (s->y[i] - my) * (s->y[i] - my);
		sxy += (x[i] - mx) * (s->y[i] - my);
	}
	return sxx > 0 && syy > 0 ? fabs(sxy) / sqrt(sxx * syy) : 0;
}

static uint32_t columns_best(const struct fit_sample *s, uint32_t *pool)
{
	double r[OPERANDS];
	uint32_t n = 0;

	for (uint32_t c = 0; c < s->n_cols; c++) {
		double v = correlation(s, s->col[c]);
		uint32_t k = n < OPERANDS ? n++ : OPERANDS - 1;

		if (k == OPERANDS - 1 && c >= OPERANDS && v <= r[k])
			continue;
		for (; k && r[k - 1] < v; k--) {
			r[k] = r[k - 1];
			pool[k] = pool[k - 1];
		}
		r[k] = v;
		pool[k] = c;
	}
	return n;
}

/* The unit among the layer's best, if it is. */
static void keep_best_unit(struct net *net, uint32_t first, const struct unit *u, uint32_t rows)
{
	uint32_t worst = first;

	if (net->n_units - first < OPERANDS && net->n_units < UNITS_MAX) {
		worst = net->n_units++;
	} else {
		for (uint32_t i = first; i < net->n_units; i++)
			if (net->unit[i].error > net->unit[worst].error)
				worst = i;
		if (net->unit[worst].error <= u->error)
			return;
	}
	net->unit[worst].a = u->a;
	net->unit[worst].b = u->b;
	net->unit[worst].error = u->error;
	memcpy(net->unit[worst].coef, u->coef, sizeof(u->coef));
	memcpy(net->unit[worst].value, u->value, rows * sizeof(*u->value));
}

/* part: 0 rows to fit, 1 rows to choose by, 2 neither. */
static int net_grow(struct fit_sample *s, const uint8_t *part, struct net *net)
{
	uint32_t pool[OPERANDS], n_pool = columns_best(s, pool), first = 0;
	struct unit u;
	double best = INFINITY;

	net->block = malloc((UNITS_MAX + 1ull + COEFS) * s->n * sizeof(double));
	if (!net->block)
		return -1;
	for (uint32_t i = 0; i < UNITS_MAX; i++)
		net->unit[i].value = net->block + (size_t)i * s->n;
	u.value = net->block + (size_t)UNITS_MAX * s->n;
	net->n_units = 0;
	net->best = UINT32_MAX;
	for (uint32_t i = 0; i < s->n; i++)
		s->fold[i] = part[i] != 0;
	for (int layer = 0; layer < LAYERS && n_pool >= 1; layer++, first = net->n_units) {
		double before = best;

		for (uint32_t i = 0; i < n_pool; i++)
			for (uint32_t k = n_pool > 1 ? i + 1 : i; k < n_pool; k++) {
				u.a = pool[i];
				u.b = pool[k];
				if (unit_fit(s, net, &u, u.value + s->n) == 0) {
					u.error = error_on(s, u.value, part, 1);
					keep_best_unit(net, first, &u, s->n);
				}
			}
		n_pool = 0;
		for (uint32_t i = first; i < net->n_units; i++) {
			pool[n_pool++] = UNIT | i;
			if (net->unit[i].error < best * (layer ? GAIN : 1)) {
				best = net->unit[i].error;
				net->best = i;
			}
		}
		if (!(best < before))
			break;
	}
	return 0;
}

/* ---- as a function of the model ---- */

static void mark_used(const struct net *net, uint32_t unit, bool *used)
{
	if (used[unit])
		return;
	used[unit] = true;
	if (net->unit[unit].a & UNIT)
		mark_used(net, net->unit[unit].a & ~UNIT, used);
	if (net->unit[unit].b & UNIT)
		mark_used(net, net->unit[unit].b & ~UNIT, used);
}

static void add_monomial(struct model_stage *st, const struct fit_sample *s, double coef, uint32_t n, uint32_t a, uint32_t b,
		const uint32_t *stage_of)
{
	struct model_term *t = &st->term[st->n_terms++];
	uint32_t x[2] = {a, b};

	t->coef = coef;
	t->n_x = n;
	for (uint32_t i = 0; i < n; i++) {
		if (x[i] & UNIT) {
			t->x[i] = MODEL_STAGE | stage_of[x[i] & ~UNIT];
		} else {
			t->x[i] = s->feature[x[i]];
			t->coef /= s->scale[x[i]];
		}
	}
}

static int net_to_fn(const struct fit_sample *s, const struct net *net, struct model *m, struct model_fn *out)
{
	bool used[UNITS_MAX] = {false};
	uint32_t stage_of[UNITS_MAX];

	mark_used(net, net->best, used);
	out->n_stages = 0;
	out->stage = model_alloc(m, UNITS_MAX, sizeof(*out->stage));
	for (uint32_t i = 0; out->stage && i < net->n_units; i++) {
		const struct unit *u = &net->unit[i];
		struct model_stage *st = &out->stage[out->n_stages];

		if (!used[i])
			continue;
		st->term = model_alloc(m, COEFS, sizeof(*st->term));
		if (!st->term)
			return -1;
		stage_of[i] = out->n_stages++;
		add_monomial(st, s, u->coef[0], 0, 0, 0, stage_of);
		add_monomial(st, s, u->coef[1], 1, u->a, 0, stage_of);
		add_monomial(st, s, u->coef[2], 1, u->b, 0, stage_of);
		add_monomial(st, s, u->coef[3], 2, u->a, u->b, stage_of);
		add_monomial(st, s, u->coef[4], 2, u->a, u->a, stage_of);
		add_monomial(st, s, u->coef[5], 2, u->b, u->b, stage_of);
	}
	return out->stage ? 0 : -1;
}

/* One net: of which fold nothing is seen (or UINT32_MAX). */
static int net_try(const struct fit_sample *s, uint32_t *fold, uint8_t *part, uint32_t unseen, struct net *net)
{
	struct fit_sample mine = *s;
	uint32_t choose_by = unseen == UINT32_MAX ? 0 : (unseen + 1) % s->n_folds;

	for (uint32_t i = 0; i < s->n; i++)
		part[i] = s->fold[i] == unseen ? 2 : s->fold[i] == choose_by;
	mine.fold = fold;
	return net_grow(&mine, part, net);
}

int gmdh_fit(const struct fit_sample *s, struct model *m, struct model_fn *out, double *error)
{
	struct net *net = calloc(1, sizeof(*net));
	uint32_t *fold = malloc((s->n + 1ull) * sizeof(*fold));
	uint8_t *part = malloc(s->n + 1ull);
	double sum = 0;
	int rc = -1;

	if (!net || !fold || !part)
		goto out;
	rc = 0;
	if (s->n < ROWS_MIN || !s->n_cols)
		goto out;
	for (uint32_t f = 0; f < TESTS && f < s->n_folds; f++) {
		double e;

		rc = net_try(s, fold, part, f, net);
		e = rc < 0 || net->best == UINT32_MAX ? INFINITY : error_on(s, net->unit[net->best].value, part, 2);
		free(net->block);
		net->block = NULL;
		if (rc < 0)
			goto out;
		sum += e * e / TESTS;
	}
	*error = sqrt(sum);
	if (!isfinite(*error))
		goto out;
	rc = net_try(s, fold, part, UINT32_MAX, net);
	if (rc == 0 && net->best != UINT32_MAX)
		rc = net_to_fn(s, net, m, out) < 0 ? -1 : 1;
out:
	if (net)
		free(net->block);
	free(net);
	free(fold);
	free(part);
	return rc;
}
