/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Terms of the normal form are picked one after the other, and each again given the others: see normal_form.h. */
#include <gsl/gsl_errno.h>
#include <gsl/gsl_multifit.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/model/normal_form.h"

#define GAIN	  0.9 /* a further term has to bring the error of rows left out below this much of what it was */
#define ALIKE	  1e-10 /* what a candidate has left beside the terms that are there, relative, to count as another one */
#define PAIRS_OF  64 /* candidates of which all pairs are tried */
#define ROUNDS	  8
#define BASIS_MAX (NORMAL_FORM_TERMS + 1)

static const double powers_one[] = {0, 1. / 4, 1. / 3, 1. / 2, 2. / 3, 3. / 4, 1, 5. / 4, 4. / 3, 3. / 2, 5. / 3, 7. / 4, 2, 9. / 4,
				    7. / 3, 5. / 2, 8. / 3, 11. / 4, 3};
static const double powers_many[] = {0, 1. / 2, 1, 3. / 2, 2, 3};

struct search {
	const double *x, *y;
	uint32_t n, n_params;
	const double *power;
	uint32_t n_powers, n_logs, n_options, n_candidates;
	double *factor;	   /* [(param * n_options + option) * n + row] */
	double *basis[BASIS_MAX]; /* orthonormal, of weighted columns; the constant first */
	uint32_t n_basis;
	double *rest;	   /* weighted y without its share in the basis */
	double *column;
	uint32_t picked[NORMAL_FORM_TERMS], n_picked;
};

static uint32_t option_of(const struct search *s, uint32_t candidate, uint32_t param)
{
	while (param--)
		candidate /= s->n_options;
	return candidate % s->n_options;
}

static int factors_make(struct search *s)
{
	s->factor = malloc((size_t)s->n_params * s->n_options * s->n * sizeof(double));
	if (!s->factor)
		return -1;
	for (uint32_t p = 0; p < s->n_params; p++)
		for (uint32_t o = 0; o < s->n_options; o++)
			for (uint32_t i = 0; i < s->n; i++) {
				double x = s->x[(size_t)i * s->n_params + p];

				s->factor[((size_t)p * s->n_options + o) * s->n + i] =
				    pow(x, s->power[o / s->n_logs]) * pow(log2(x), o % s->n_logs);
			}
	return 0;
}

/* The weighted column of a candidate, as far as the basis does not have it, of length 1; false when nothing is left. */
static bool column_new(const struct search *s, uint32_t candidate, double *out)
{
	const double *f[NORMAL_FORM_PARAMS];
	double before = 0, after = 0;

	for (uint32_t p = 0; p < s->n_params; p++)
		f[p] = s->factor + ((size_t)p * s->n_options + option_of(s, candidate, p)) * s->n;
	for (uint32_t i = 0; i < s->n; i++) {
		double v = 1 / s->y[i];

		for (uint32_t p = 0; p < s->n_params; p++)
			v *= f[p][i];
		out[i] = v;
		before += v * v;
	}
	for (uint32_t b = 0; b < s->n_basis; b++) {
		double dot = 0;

		for (uint32_t i = 0; i < s->n; i++)
			dot += out[i] * s->basis[b][i];
		for (uint32_t i = 0; i < s->n; i++)
			out[i] -= dot * s->basis[b][i];
	}
	for (uint32_t i = 0; i < s->n; i++)
		after += out[i] * out[i];
	if (!(after > ALIKE * before) || !isfinite(after))
		return false;
	for (uint32_t i = 0; i < s->n; i++)
		out[i] /= sqrt(after);
	return true;
}

static double dot(const double *a, const double *b, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += a[i] * b[i];
	return sum;
}

/* The basis of the constant and of what is picked, but for one of them (UINT32_MAX: all). */
static void basis_make(struct search *s, uint32_t without)
{
	s->n_basis = 0;
	for (uint32_t i = 0; i < s->n; i++)
		s->rest[i] = 1; /* y, weighed by 1 / y */
	for (uint32_t k = 0; k <= s->n_picked; k++) {
		double d;

		if (k && k - 1 == without)
			continue;
		if (!column_new(s, k ? s->picked[k - 1] : 0, s->basis[s->n_basis]))
			continue;
		d = dot(s->basis[s->n_basis], s->rest, s->n);
		for (uint32_t i = 0; i < s->n; i++)
			s->rest[i] -= d * s->basis[s->n_basis][i];
		s->n_basis++;
	}
}

/* Root mean square of what rows are missed by when each is left out: e / (1 - its leverage). */
static double left_out(const struct search *s)
{
	double sum = 0;

	if (s->n_basis >= s->n)
		return INFINITY;
	for (uint32_t i = 0; i < s->n; i++) {
		double h = 0, e;

		for (uint32_t b = 0; b < s->n_basis; b++)
			h += s->basis[b][i] * s->basis[b][i];
		e = s->rest[i] / fmax(1 - h, 1e-12);
		sum += e * e;
	}
	return sqrt(sum / s->n);
}

/* The candidate that takes most of the rest; 0, which is the constant, when none takes anything. */
static uint32_t candidate_best(struct search *s, double *gain)
{
	uint32_t best = 0;

	*gain = 0;
	for (uint32_t c = 1; c < s->n_candidates; c++) {
		double d;

		if (!column_new(s, c, s->column))
			continue;
		d = dot(s->column, s->rest, s->n);
		if (d * d > *gain * (1 + 1e-9)) {
			*gain = d * d;
			best = c;
		}
	}
	return best;
}

/* Each term again, given the others, until none changes. */
static void improve(struct search *s)
{
	bool changed = s->n_picked > 1;

	for (int round = 0; changed && round < ROUNDS; round++) {
		changed = false;
		for (uint32_t k = 0; k < s->n_picked; k++) {
			double gain;
			uint32_t c;

			basis_make(s, k);
			c = candidate_best(s, &gain);
			changed |= c && c != s->picked[k];
			s->picked[k] = c ? c : s->picked[k];
		}
	}
	basis_make(s, UINT32_MAX);
}

/* All pairs, where there are few. */
static void pairs(struct search *s)
{
	uint32_t best[2] = {s->picked[0], s->picked[1]};
	double least = dot(s->rest, s->rest, s->n);

	for (uint32_t a = 1; a < s->n_candidates; a++) {
		double gain, rest;
		uint32_t c;

		s->n_picked = 1;
		s->picked[0] = a;
		basis_make(s, UINT32_MAX);
		c = candidate_best(s, &gain);
		rest = dot(s->rest, s->rest, s->n) - gain;
		if (c && rest < least * (1 - 1e-9)) {
			least = rest;
			best[0] = a;
			best[1] = c;
		}
	}
	s->n_picked = 2;
	memcpy(s->picked, best, sizeof(best));
	basis_make(s, UINT32_MAX);
}

static double pick_terms(struct search *s)
{
	double error, most = s->n_params == 1 ? 2 : NORMAL_FORM_TERMS;

	basis_make(s, UINT32_MAX);
	error = left_out(s);
	while (s->n_picked < most && s->n > s->n_picked + 2) {
		uint32_t before[NORMAL_FORM_TERMS], n = s->n_picked;
		double gain, now;
		uint32_t c = candidate_best(s, &gain);

		memcpy(before, s->picked, sizeof(before));
		if (!c)
			break;
		s->picked[s->n_picked++] = c;
		improve(s);
		if (s->n_picked == 2 && s->n_candidates <= PAIRS_OF)
			pairs(s);
		now = left_out(s);
		if (!(now < GAIN * error)) {
			memcpy(s->picked, before, sizeof(before));
			s->n_picked = n;
			basis_make(s, UINT32_MAX);
			break;
		}
		error = now;
	}
	return error;
}

static int coefficients(const struct search *s, struct normal_form *out, struct errbuf *err)
{
	uint32_t n_terms = out->n_terms + 1;
	gsl_matrix *x = gsl_matrix_alloc(s->n, n_terms), *cov = gsl_matrix_alloc(n_terms, n_terms);
	gsl_vector *y = gsl_vector_alloc(s->n), *c = gsl_vector_alloc(n_terms);
	gsl_multifit_linear_workspace *ws = gsl_multifit_linear_alloc(s->n, n_terms);
	double chi2;
	int rc = -1;

	gsl_set_error_handler_off();
	if (!x || !cov || !y || !c || !ws) {
		err_set(err, "no memory for a normal form");
		goto out;
	}
	for (uint32_t i = 0; i < s->n; i++) {
		gsl_vector_set(y, i, 1);
		for (uint32_t k = 0; k < n_terms; k++) {
			struct normal_form one = {.n_params = s->n_params, .n_terms = k > 0, .constant = k == 0};

			if (k) {
				one.term[0] = out->term[k - 1];
				one.term[0].coef = 1;
			}
			gsl_matrix_set(x, i, k, normal_form_value(&one, s->x + (size_t)i * s->n_params) / s->y[i]);
		}
	}
	if (gsl_multifit_linear(x, y, c, cov, &chi2, ws)) {
		err_set(err, "the terms of the normal form do not determine its coefficients");
		goto out;
	}
	out->constant = gsl_vector_get(c, 0);
	for (uint32_t k = 1; k < n_terms; k++)
		out->term[k - 1].coef = gsl_vector_get(c, k);
	rc = 0;
out:
	gsl_multifit_linear_free(ws);
	gsl_matrix_free(x);
	gsl_matrix_free(cov);
	gsl_vector_free(y);
	gsl_vector_free(c);
	return rc;
}

static int rows_check(const double *x, const double *y, uint32_t n_rows, uint32_t n_params, struct errbuf *err)
{
	if (!n_params || n_params > NORMAL_FORM_PARAMS || n_rows < 3 || n_rows > NORMAL_FORM_ROWS)
		return err_set(err, "a normal form needs 1 to %d parameters and 3 to %d rows", NORMAL_FORM_PARAMS, NORMAL_FORM_ROWS);
	for (uint32_t i = 0; i < n_rows; i++) {
		if (!(y[i] > 0) || !isfinite(y[i]))
			return err_set(err, "row %u: a normal form is of values above 0, not %g", i, y[i]);
		for (uint32_t p = 0; p < n_params; p++)
			if (!(x[(size_t)i * n_params + p] >= 1) || !isfinite(x[(size_t)i * n_params + p]))
				return err_set(err, "row %u: parameter %u is %g, which is below 1", i, p, x[(size_t)i * n_params + p]);
	}
	return 0;
}

int normal_form_fit(const double *x, const double *y, uint32_t n_rows, uint32_t n_params, struct normal_form *out, struct errbuf *err)
{
	struct search s = {.x = x, .y = y, .n = n_rows, .n_params = n_params};
	double *block = NULL;
	int rc = -1;

	*out = (struct normal_form){.n_params = n_params};
	if (rows_check(x, y, n_rows, n_params, err) < 0)
		return -1;
	s.power = n_params == 1 ? powers_one : powers_many;
	s.n_powers = n_params == 1 ? sizeof(powers_one) / sizeof(*powers_one) : sizeof(powers_many) / sizeof(*powers_many);
	s.n_logs = n_params == 1 ? 3 : 2;
	s.n_options = s.n_powers * s.n_logs;
	s.n_candidates = 1;
	for (uint32_t p = 0; p < n_params; p++)
		s.n_candidates *= s.n_options;
	block = malloc((BASIS_MAX + 2ull) * n_rows * sizeof(double));
	if (!block || factors_make(&s) < 0) {
		err_set(err, "no memory for a normal form");
		goto out;
	}
	for (uint32_t b = 0; b < BASIS_MAX; b++)
		s.basis[b] = block + (size_t)b * n_rows;
	s.rest = block + (size_t)BASIS_MAX * n_rows;
	s.column = s.rest + n_rows;
	out->left_out = pick_terms(&s);
	out->n_terms = s.n_picked;
	for (uint32_t k = 0; k < s.n_picked; k++)
		for (uint32_t p = 0; p < n_params; p++) {
			uint32_t o = option_of(&s, s.picked[k], p);

			out->term[k].power[p] = s.power[o / s.n_logs];
			out->term[k].log[p] = (uint8_t)(o % s.n_logs);
		}
	rc = coefficients(&s, out, err);
out:
	free(s.factor);
	free(block);
	return rc;
}

double normal_form_value(const struct normal_form *f, const double *x)
{
	double sum = f->constant;

	for (uint32_t k = 0; k < f->n_terms; k++) {
		double v = f->term[k].coef;

		for (uint32_t p = 0; p < f->n_params; p++)
			v *= pow(x[p], f->term[k].power[p]) * pow(log2(x[p]), f->term[k].log[p]);
		sum += v;
	}
	return sum;
}

void normal_form_print(const struct normal_form *f, const char *const *param, char *out, size_t size)
{
	size_t n = 0;

	if (!size)
		return;
	n += (size_t)snprintf(out, size, "%.3g", f->constant);
	for (uint32_t k = 0; k < f->n_terms; k++) {
		const struct normal_form_term *t = &f->term[k];

		n += n < size ? (size_t)snprintf(out + n, size - n, " %c %.3g", t->coef < 0 ? '-' : '+', fabs(t->coef)) : 0;
		for (uint32_t p = 0; p < f->n_params && n < size; p++) {
			if (t->power[p] == 1)
				n += (size_t)snprintf(out + n, size - n, " %s", param[p]);
			else if (t->power[p] > 0)
				n += (size_t)snprintf(out + n, size - n, " %s^%.3g", param[p], t->power[p]);
			if (t->log[p] && n < size)
				n += (size_t)snprintf(out + n, size - n, " log2(%s)", param[p]);
			if (t->log[p] > 1 && n < size)
				n += (size_t)snprintf(out + n, size - n, "^%d", t->log[p]);
		}
	}
}
