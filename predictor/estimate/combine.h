/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Combines all evidence of a program's run time on a candidate: its probes, the model over inputs fitted to other programs, and
 * its own past runs. Each counts by the inverse square of its half width, which includes earlier errors of its kind. Probes and
 * model are joined first, then past runs blend in (estimate.h). Pure.
 *
 * The model is fitted to runs of other programs; that they tell anything about this program is an assumption. So the difference
 * between probes and model is charged to the model as an extra variance (method of moments, DerSimonian and Laird,
 * "Meta-analysis in clinical trials", 1986). The joined interval is never narrower than that of the probes; good past
 * predictions narrow the interval later (interval_calibration.h). A wrong model moves the estimate by at most a quarter of the
 * interval.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_COMBINE_H
#define PRECEDENT_PREDICTOR_ESTIMATE_COMBINE_H

#include "predictor/estimate/interval_calibration.h"
#include "predictor/estimate/estimate.h"

#define COMBINE_PARTS 3

/* One kind of evidence and its weight. */
struct combine_part {
	struct estimate e;   /* alone, with the half width by which it was weighed */
	double weight;	     /* all add up to 1 */
	double error;	     /* how far this kind was off in the family, relative, root mean square ... */
	unsigned programs;   /* ... over so many programs; 0: not known */
};

struct combined {
	struct estimate e;
	unsigned n;
	struct combine_part part[COMBINE_PARTS];
};

/* *weight: of the model, 0 to 1. kind of out: ESTIMATE_JOINT. */
void combine_join(const struct estimate *own, const struct estimate *model, struct estimate *out, double *weight);
/* past: the latest first. errors: of the family, by kind. Refuses as estimate_blend does. */
int combine(const struct estimate *probes, const struct estimate *model, const struct estimate_past *past, size_t n,
	    const struct interval_calibration_errors *errors, struct combined *out, struct errbuf *why);

#endif
