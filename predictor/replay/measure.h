/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Figures of one simulated run. */
#ifndef PRECEDENT_PREDICTOR_REPLAY_MEASURE_H
#define PRECEDENT_PREDICTOR_REPLAY_MEASURE_H

#include "predictor/replay/sim.h"

#define MEASURE_BOUND_S 10 /* bounded slowdown: (wait + run) / max(run, this), 1 at least */
#define MEASURE_WARM_UP 0.1 /* share of the jobs, the first ones, that are simulated and not counted */

struct measured {
	size_t jobs;
	double wait_s, wait_median_s, wait_max_s;
	double slowdown, slowdown_median; /* bounded */
	double utilisation;		  /* from the first counted submission to the last */
	double planned;			  /* limit at first / run time, median */
	double short_share;		  /* of the counted: ran longer than its limit at first */
};

/* What was simulated. */
struct measure_of {
	const struct sim_job *jobs;
	size_t n;
	uint32_t nodes;
};
int measure_run(const struct measure_of *w, const struct sim_outcome *outcomes, struct measured *out, struct errbuf *err);

#endif
