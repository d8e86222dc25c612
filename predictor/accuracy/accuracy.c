/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What is said of a set of predicted runs, see accuracy.h. Arithmetic only; runs are read in accuracy_read.c. */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/accuracy/accuracy.h"

const char *accuracy_predictor_name(enum accuracy_predictor p)
{
	static const char *const names[ACCURACY_PREDICTORS] = {"precedent", "request", "last_two_user", "last_two_job",
							       "perfect"};

	return (unsigned)p < ACCURACY_PREDICTORS ? names[p] : "precedent";
}

double accuracy_quantile(const double *sorted, size_t n, double q)
{
	return gsl_stats_quantile_from_sorted_data(sorted, 1, n, q);
}

static bool says(const struct accuracy_sample *s, enum accuracy_predictor p)
{
	return s->completed && s->said_s[p] > 0;
}

static double error_of(const struct accuracy_sample *s, enum accuracy_predictor p)
{
	return (s->said_s[p] - s->elapsed_s) / s->elapsed_s;
}

int64_t accuracy_errors_sorted(const struct accuracy_sample *const *samples, size_t n, enum accuracy_predictor p, double **out,
			       struct errbuf *errp)
{
	double *e = malloc((n ? n : 1) * sizeof(*e));
	size_t k = 0;

	*out = e;
	if (!e)
		return err_set(errp, "no memory for %zu runs", n);
	for (size_t i = 0; i < n; i++)
		if (says(samples[i], p))
			e[k++] = fabs(error_of(samples[i], p));
	gsl_sort(e, 1, k);
	return (int64_t)k;
}

/* Quantiles into out; work has room for n. */
static void errors_fill(const struct accuracy_sample *const *samples, size_t n, enum accuracy_predictor p, double *work,
			struct accuracy_errors *out)
{
	double said = 0, used = 0;
	size_t k = 0;

	memset(out, 0, sizeof(*out));
	for (size_t i = 0; i < n; i++) {
		double e;

		if (!says(samples[i], p))
			continue;
		e = error_of(samples[i], p);
		if (!k || fabs(e) > out->worst) {
			out->worst = fabs(e);
			out->worst_job = samples[i]->jobid;
		}
		out->too_short += e < 0;
		said += samples[i]->said_s[p];
		used += samples[i]->elapsed_s;
		work[k++] = e;
	}
	out->n = k;
	out->said_of_used = used > 0 ? said / used : 0;
	gsl_sort(work, 1, k);
	out->bias = accuracy_quantile(work, k, 0.5);
	for (size_t i = 0; i < k; i++)
		work[i] = fabs(work[i]);
	gsl_sort(work, 1, k);
	out->median = accuracy_quantile(work, k, 0.5);
	out->p90 = accuracy_quantile(work, k, 0.9);
}

/* Precedent's median error over the runs of which p said something. */
static double precedent_median(const struct accuracy_sample *const *samples, size_t n, enum accuracy_predictor p, double *work)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if (says(samples[i], p))
			work[k++] = fabs(error_of(samples[i], ACCURACY_PRECEDENT));
	gsl_sort(work, 1, k);
	return accuracy_quantile(work, k, 0.5);
}

static void tally(const struct accuracy_sample *s, struct accuracy_row *row)
{
	double asked = s->said_s[ACCURACY_REQUEST], set = s->limit_s > 0 ? s->limit_s : s->plan_s > 0 ? s->plan_s : asked, nodes = s->nodes ? s->nodes : 1;

	row->under += s->elapsed_s > s->hi_s;
	if (s->completed) {
		row->below += s->elapsed_s < s->lo_s;
		row->inside += s->elapsed_s >= s->lo_s && s->elapsed_s <= s->hi_s;
	}
	row->limits += s->limit_s > 0 || s->plan_s > 0;
	row->extended += s->extensions > 0;
	row->extensions += s->extensions;
	row->timed_out += !s->completed;
	row->cut_short += !s->completed && s->limit_s > 0 && (asked <= 0 || (s->limit_s < asked && s->elapsed_s < asked));
	if (asked > 0) { /* before and after are compared over the same runs */
		row->used_s += s->elapsed_s;
		row->requested_s += asked;
		row->set_s += set;
		row->used_node_h += nodes * s->elapsed_s / 3600;
		row->requested_node_h += nodes * asked / 3600;
		row->set_node_h += nodes * set / 3600;
	}
}

int accuracy_row_make(const struct accuracy_sample *const *samples, size_t n, struct accuracy_row *row, struct errbuf *errp)
{
	double *work = malloc((n ? n : 1) * sizeof(*work));

	memset(row, 0, sizeof(*row));
	if (!work)
		return err_set(errp, "no memory for %zu runs", n);
	row->n = n;
	for (size_t i = 0; i < n; i++)
		tally(samples[i], row);
	for (int p = 0; p < ACCURACY_PREDICTORS; p++) {
		errors_fill(samples, n, (enum accuracy_predictor)p, work, &row->of[p]);
		row->of[p].precedent_median = row->of[p].n == row->of[0].n
						      ? row->of[0].median
						      : precedent_median(samples, n, (enum accuracy_predictor)p, work);
	}
	free(work);
	return 0;
}
