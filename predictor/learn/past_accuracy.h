/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How earlier predictions on a candidate came off: those of a family, and of its user's other programs. Never those of
 * another user: nobody's predictions depend on what somebody else did. The arithmetic is in coverage.h.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_PAST_ACCURACY_H
#define PRECEDENT_PREDICTOR_LEARN_PAST_ACCURACY_H

#include "predictor/estimate/interval_calibration.h"
#include "predictor/store/store.h"

struct worth {
	struct store_past *past; /* of the family, then of the others; the latest first */
	struct coverage_run runs[2 * COVERAGE_RUNS]; /* the same */
	size_t n_family, n_others;
	struct coverage_errors errors; /* of the family, by kind */
};

/* NULL with the reason. family "": none; own: the program that is asked for (NULL: none). */
struct worth *worth_gather(struct store *s, uint32_t uid, const char *family, const char *own, const char *candidate,
			   struct errbuf *errp);
void worth_free(struct worth *w); /* NULL is legal */
/* By what half widths of a kind of evidence are to be multiplied. */
double worth_scale(const struct worth *w, enum estimate_kind kind);
/* Scale the interval by what was seen; *scale: by how much. */
void worth_apply(const struct worth *w, struct estimate *e, double *scale);

#endif
