/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See confidence.h. */
#include <gsl/gsl_cdf.h>
#include <math.h>

#include "model/api/confidence.h"

#define FAR	       10  /* times outside of the runs: nothing about caches and algorithms there is known */
#define NINE_IN_TEN    0.9 /* of the answers are right within their error */
#define MEAN_OF_NORMAL 0.7979 /* mean absolute value of normal errors of variance 1: sqrt(2 / pi) */

double confidence_distance(const struct model *m, const double *input, uint32_t *far)
{
	double most = 0;

	*far = m->n_inputs;
	for (uint32_t i = 0; i < m->n_inputs; i++) {
		double lo = m->input[i].lo, hi = m->input[i].hi, x = input[i], span, out;

		if (x >= lo && x <= hi)
			continue;
		if (lo > 0 && x > 0) {
			span = fmax(log(hi / lo), M_LN2);
			out = x > hi ? log(x / hi) : log(lo / x);
			if (out > log(FAR))
				*far = i;
		} else {
			span = fmax(hi - lo, fmax(fabs(hi), fabs(lo)));
			out = x > hi ? x - hi : lo - x;
			if (out > FAR * span)
				*far = i;
		}
		most = fmax(most, out / span);
	}
	return most;
}

/*
 * The error is one that nine in ten runs do not exceed, and the confidence says so: less where runs were refused, and outside
 * of the runs. A mean absolute error becomes that bound by Student's t, as for normal errors of so many runs.
 */
int confidence_of_time(const struct model *m, const double *input, double *error, double *confidence, struct errbuf *err)
{
	const struct model_confidence *c = &m->confidence;
	uint32_t n = c->n_runs - c->n_refused, far;
	double away = confidence_distance(m, input, &far);

	if (far < m->n_inputs)
		return err_set(err, "%.80s = %g is more than %d times outside of the runs (%g to %g): the time there is not known",
			       m->input[far].name, input[far], FAR, m->input[far].lo, m->input[far].hi);
	*error = n ? c->time_error * gsl_cdf_tdist_Pinv((1 + NINE_IN_TEN) / 2, n) / MEAN_OF_NORMAL * (1 + away) : 0;
	*confidence = n ? NINE_IN_TEN * n / c->n_runs / (1 + away) : 0;
	return 0;
}
