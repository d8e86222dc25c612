/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads past predictions from the store: see past_accuracy.h. */
#include <stdlib.h>

#include "predictor/learn/past_accuracy.h"

static void runs_fill(struct past_accuracy *w, size_t at, int n)
{
	for (int i = 0; i < n; i++, at++) {
		const struct store_past *p = &w->past[at];

		w->runs[at] = (struct interval_calibration_run){p->key, p->actual_s, p->evidence == RUN_LOWER_BOUND, p->pred_kind,
						    p->drifted ? 0 : p->pred_s, p->lo_s, p->hi_s, p->pred_scale};
	}
}

static size_t told_count(const struct interval_calibration_run *runs, size_t n)
{
	size_t told = 0;

	for (size_t i = 0; i < n; i++)
		told += runs[i].pred_s > 0;
	return told;
}

struct past_accuracy *past_accuracy_gather(struct past_runs *runs, const char *own, const char *candidate, struct errbuf *errp)
{
	struct past_accuracy *w = malloc(sizeof(*w)); /* only the lists' first entries are read */
	int n;

	if (w)
		w->n_family = w->n_others = 0;
	if (!w || !(w->past = malloc(2 * INTERVAL_CALIBRATION_RUNS * sizeof(*w->past)))) {
		err_set(errp, "no memory for past runs");
		goto fail;
	}
	n = past_runs_get(runs, PAST_OF_FAMILY, candidate, 0, w->past, INTERVAL_CALIBRATION_RUNS, errp);
	if (n < 0)
		goto fail;
	w->n_family = (size_t)n;
	runs_fill(w, 0, n);
	interval_calibration_errors_of(w->runs, w->n_family, own, &w->errors);
	if (told_count(w->runs, w->n_family) >= 2 * INTERVAL_CALIBRATION_ENOUGH)
		return w; /* the others would not be looked at */
	n = past_runs_get(runs, PAST_OF_OTHERS, candidate, 0, w->past + w->n_family, INTERVAL_CALIBRATION_RUNS, errp);
	if (n < 0)
		goto fail;
	w->n_others = (size_t)n;
	runs_fill(w, w->n_family, n);
	return w;
fail:
	past_accuracy_free(w);
	return NULL;
}

void past_accuracy_free(struct past_accuracy *w)
{
	if (w)
		free(w->past);
	free(w);
}

double past_accuracy_scale(const struct past_accuracy *w, enum estimate_kind kind)
{
	const struct interval_calibration_level levels[INTERVAL_CALIBRATION_LEVELS] = {
		{w->runs, w->n_family, (int)kind},
		{w->runs, w->n_family, -1},
		{w->runs + w->n_family, w->n_others, -1},
	};

	return interval_calibration_scale(levels, INTERVAL_CALIBRATION_LEVELS);
}

void past_accuracy_apply(const struct past_accuracy *w, struct estimate *e, double *scale)
{
	*scale = interval_calibration_apply(e, past_accuracy_scale(w, e->kind));
}
