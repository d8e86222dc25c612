/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accuracy of earlier predictions on a candidate, of a family and of its user's other programs. No user's predictions depend on
 * another user. The arithmetic is in interval_calibration.h.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PAST_ACCURACY_H
#define PRECEDENT_PREDICTOR_LEARN_PAST_ACCURACY_H

#include "predictor/estimate/interval_calibration.h"
#include "predictor/learn/past_runs.h"

struct past_accuracy {
	struct store_past *past; /* of the family, then of the others; the latest first */
	struct interval_calibration_run runs[2 * INTERVAL_CALIBRATION_RUNS]; /* the same */
	size_t n_family, n_others;
	struct interval_calibration_errors errors; /* of the family, by kind */
};

/* Returns NULL on error. own: the program that is asked for (NULL: none). */
struct past_accuracy *past_accuracy_gather(struct past_runs *runs, const char *own, const char *candidate, struct errbuf *errp);
void past_accuracy_free(struct past_accuracy *w); /* NULL is legal */
/* Factor by which half widths of this kind of evidence are multiplied. */
double past_accuracy_scale(const struct past_accuracy *w, enum estimate_kind kind);
/* Scales the interval; *scale: the factor. */
void past_accuracy_apply(const struct past_accuracy *w, struct estimate *e, double *scale);

#endif
