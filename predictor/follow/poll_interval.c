/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The time between two looks at the queue: see poll_interval.h. */
#include <math.h>

#include "predictor/follow/poll_interval.h"

#define OF_LATE	   0.25 /* weight of the newest poll in the mean cost */
#define BEATS	   3	/* looks within HeartbeatTimeout: one may fail, and one take long */
#define SEEN_MORE  60	/* seconds that an ended job must be there beyond three looks (precedent doctor) */
#define SEEN_LOOKS 3

static uint32_t clamp(double s, uint32_t least, uint32_t most)
{
	if (!(s > least)) /* nor where it is no number */
		return least;
	return s < most ? (uint32_t)ceil(s) : most;
}

uint32_t poll_interval_most(uint32_t poll_s, uint32_t heartbeat_timeout_s, uint32_t min_job_age_s)
{
	double beats = (double)heartbeat_timeout_s / BEATS, seen = ((double)min_job_age_s - SEEN_MORE) / SEEN_LOOKS;

	return clamp(floor(fmin(fmin(beats, seen), POLL_INTERVAL_MAX_S)), poll_s, UINT32_MAX);
}

uint32_t poll_interval_next(struct poll_interval *p, double cpu_s, uint32_t poll_s, uint32_t most_s)
{
	uint32_t before = p->period_s > poll_s ? p->period_s : poll_s, most = most_s > poll_s ? most_s : poll_s;

	if (cpu_s >= 0 && isfinite(cpu_s))
		p->cost_s = p->period_s ? p->cost_s + OF_LATE * (cpu_s - p->cost_s) : cpu_s;
	p->period_s = clamp(fmin(p->cost_s / POLL_INTERVAL_SHARE, ceil(POLL_INTERVAL_GROW * before)), poll_s, most);
	return p->period_s;
}
