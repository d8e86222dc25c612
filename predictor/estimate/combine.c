/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Several kinds of evidence as one estimate: see combine.h. */
#include <math.h>

#include "predictor/estimate/combine.h"

#define MIN_SIGMA 0.01

/* Half an interval is two sigma; seconds. */
static double sigma_of(const struct estimate *e)
{
	return fmax(fmax(e->hi_s - e->mean_s, e->mean_s - e->lo_s) / 2, MIN_SIGMA * e->mean_s);
}

void combine_join(const struct estimate *own, const struct estimate *model, struct estimate *out, double *weight)
{
	double d = model->mean_s - own->mean_s, so = sigma_of(own), sm = sigma_of(model), mean, half;

	sm = sqrt(fmax(sm * sm, d * d - so * so));
	*weight = so * so / (so * so + sm * sm);
	mean = own->mean_s + *weight * d;
	half = fmax(2 * so, ESTIMATE_MIN_REL * mean);
	*out = (struct estimate){.mean_s = mean, .lo_s = fmax(0, mean - half), .hi_s = mean + half, .kind = ESTIMATE_JOINT};
}

/* Past errors widen what the model claims and never narrow it: they are of inputs that may have been easier. */
static struct estimate model_learnt(const struct estimate *model, const struct interval_calibration_errors *errors)
{
	struct estimate e = *model;

	estimate_learn(&e, errors->sq[ESTIMATE_MODEL], errors->n[ESTIMATE_MODEL]);
	return e.hi_s - e.lo_s > model->hi_s - model->lo_s ? e : *model;
}

static void part_add(struct combined *c, const struct estimate *e, double weight, const struct interval_calibration_errors *errors)
{
	unsigned n = errors->n[e->kind];

	c->part[c->n++] = (struct combine_part){*e, weight, n ? sqrt(errors->sq[e->kind] / n) : 0, n};
}

int combine(const struct estimate *probes, const struct estimate *model, const struct estimate_past *past, size_t n,
	    const struct interval_calibration_errors *errors, struct combined *out, struct errbuf *why)
{
	unsigned seen = errors->n[ESTIMATE_HISTORY];
	double spread = seen ? estimate_spread(errors->sq[ESTIMATE_HISTORY], seen) : 0, by_model = 0;
	struct estimate p, m, base, history = {0};
	double of_history = 0;

	if (probes) {
		p = *probes;
		estimate_learn(&p, errors->sq[p.kind], errors->n[p.kind]);
		base = p;
	}
	if (model) {
		m = model_learnt(model, errors);
		by_model = 1;
		base = m;
	}
	if (probes && model)
		combine_join(&p, &m, &base, &by_model);
	if (estimate_blend_weighed(probes || model ? &base : NULL, past, n, spread, &out->e, &history, &of_history, why) < 0)
		return -1;
	if (model && (probes || of_history > 0))
		out->e.kind = ESTIMATE_JOINT;
	out->n = 0;
	if (probes)
		part_add(out, &p, (1 - of_history) * (1 - by_model), errors);
	if (model)
		part_add(out, &m, (1 - of_history) * by_model, errors);
	if (of_history > 0)
		part_add(out, &history, of_history, errors);
	return 0;
}
