/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Waits and slowdowns: see measure.h. */
#include <math.h>
#include <stdlib.h>

#include "predictor/replay/measure.h"

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double *v, size_t n)
{
	qsort(v, n, sizeof(*v), ascending);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

/* Node seconds of all jobs within [from, to), by what there were. */
static double utilisation(const struct measure_of *w, const struct sim_outcome *o, int64_t from, int64_t to)
{
	double used = 0;

	for (size_t i = 0; i < w->n; i++) {
		int64_t start = o[i].start_s > from ? o[i].start_s : from, end = o[i].end_s < to ? o[i].end_s : to;

		if (end > start)
			used += (double)(end - start) * w->jobs[i].nodes;
	}
	return to > from ? used / ((double)(to - from) * w->nodes) : 0;
}

int measure_run(const struct measure_of *w, const struct sim_outcome *o, struct measured *out, struct errbuf *err)
{
	size_t first = (size_t)(MEASURE_WARM_UP * (double)w->n), n = w->n - first;
	double *wait = calloc(3 * n + 1, sizeof(*wait)), *slow = wait + n, *planned = wait + 2 * n;

	*out = (struct measured){.jobs = n};
	if (!wait || !n)
		return free(wait), err_set(err, "out of memory for %zu jobs", n);
	for (size_t i = 0; i < n; i++) {
		const struct sim_outcome *j = &o[first + i];
		double run = (double)(j->end_s - j->start_s);

		wait[i] = (double)(j->start_s - w->jobs[first + i].submit_s);
		slow[i] = fmax(1, (wait[i] + run) / fmax(run, MEASURE_BOUND_S));
		planned[i] = (double)j->limit_s / run;
		out->wait_s += wait[i] / (double)n;
		out->slowdown += slow[i] / (double)n;
		out->short_share += (run > (double)j->limit_s) / (double)n;
		out->wait_max_s = fmax(out->wait_max_s, wait[i]);
	}
	out->wait_median_s = median(wait, n);
	out->slowdown_median = median(slow, n);
	out->planned = median(planned, n);
	out->utilisation = utilisation(w, o, w->jobs[first].submit_s, w->jobs[w->n - 1].submit_s);
	free(wait);
	return 0;
}
