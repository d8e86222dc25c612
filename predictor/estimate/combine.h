/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All evidence of how long a program takes on a candidate as one estimate: what its probes say, what the model over inputs says
 * from the runs of others, and its own past runs. Each counts by the inverse square of its half width, which holds how far its
 * kind was off before. The first two are joined, and past runs blend in (estimate.h). Pure.
 *
 * The model's runs are those of other programs, and that they speak of this one is an assumption. So by what probes and model
 * differ is charged to the model, as a deviation of its own that explains it (as the method of moments does in meta-analysis),
 * and the model moves the estimate without making the interval narrower than the probes': that both together are surer is for
 * past predictions to show (interval_calibration.h), which narrow it then. A model that is wrong bends it by at most half a half width.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_COMBINE_H
#define PRECEDENT_PREDICTOR_ESTIMATE_COMBINE_H

#include "predictor/estimate/interval_calibration.h"
#include "predictor/estimate/estimate.h"

#define COMBINE_PARTS 3

/* One kind of evidence, and what it counted for. */
struct combine_part {
	struct estimate e;   /* what it says alone, as wide as it was weighed */
	double weight;	     /* all add up to 1 */
	double error;	     /* how far this kind was off in the family, relative, root mean square ... */
	unsigned programs;   /* ... over so many programs; 0: not known */
};

struct combined {
	struct estimate e;
	unsigned n;
	struct combine_part part[COMBINE_PARTS];
};

/* *weight: what the model counts for, of 1. kind of out: ESTIMATE_JOINT. */
void combine_join(const struct estimate *own, const struct estimate *model, struct estimate *out, double *weight);
/* past: the latest first. errors: of the family, by kind. Refuses as estimate_blend does. */
int combine(const struct estimate *probes, const struct estimate *model, const struct estimate_past *past, size_t n,
	    const struct interval_calibration_errors *errors, struct combined *out, struct errbuf *why);

#endif
