/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How earlier predictions came off, from the store: see worth.h. */
#include <stdlib.h>

#include "predictor/learn/past_accuracy.h"

static void worth_fill(struct worth *w, size_t at, int n)
{
	for (int i = 0; i < n; i++, at++) {
		const struct store_past *p = &w->past[at];

		w->runs[at] = (struct coverage_run){p->key, p->actual_s, p->worth == WORTH_BOUND, p->pred_kind,
						    p->drifted ? 0 : p->pred_s, p->lo_s, p->hi_s, p->pred_scale};
	}
}

static size_t told_count(const struct coverage_run *runs, size_t n)
{
	size_t told = 0;

	for (size_t i = 0; i < n; i++)
		told += runs[i].pred_s > 0;
	return told;
}

struct worth *worth_gather(struct store *s, uint32_t uid, const char *family, const char *own, const char *candidate,
			   struct errbuf *errp)
{
	struct store_past_filter theirs = {.candidate = candidate, .family = family};
	struct store_past_filter others = {.candidate = candidate, .uid = uid, .except = family};
	struct worth *w = calloc(1, sizeof(*w));
	int n;

	if (!w || !(w->past = calloc(2 * COVERAGE_RUNS, sizeof(*w->past)))) {
		err_set(errp, "no memory for past runs");
		goto fail;
	}
	n = family[0] ? store_past_read(s, &theirs, w->past, COVERAGE_RUNS, errp) : 0;
	if (n < 0)
		goto fail;
	w->n_family = (size_t)n;
	worth_fill(w, 0, n);
	coverage_errors_of(w->runs, w->n_family, own, &w->errors);
	if (told_count(w->runs, w->n_family) >= 2 * COVERAGE_ENOUGH)
		return w; /* the others would not be looked at */
	n = store_past_read(s, &others, w->past + w->n_family, COVERAGE_RUNS, errp);
	if (n < 0)
		goto fail;
	w->n_others = (size_t)n;
	worth_fill(w, w->n_family, n);
	return w;
fail:
	worth_free(w);
	return NULL;
}

void worth_free(struct worth *w)
{
	if (w)
		free(w->past);
	free(w);
}

double worth_scale(const struct worth *w, enum estimate_kind kind)
{
	const struct coverage_level levels[COVERAGE_LEVELS] = {
		{w->runs, w->n_family, (int)kind},
		{w->runs, w->n_family, -1},
		{w->runs + w->n_family, w->n_others, -1},
	};

	return coverage_scale(levels, COVERAGE_LEVELS);
}

void worth_apply(const struct worth *w, struct estimate *e, double *scale)
{
	*scale = coverage_apply(e, worth_scale(w, e->kind));
}
