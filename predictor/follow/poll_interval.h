/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time between two polls of the queue. It is PollInterval, or longer if polls would take more than POLL_INTERVAL_SHARE of a
 * core. The cost of a change (a run that ends, a limit that is set) does not count, as it is the same at any interval. Pure.
 *
 * Limits are still raised in time: raise.h and lower.h use the period that poll_interval_next returned. The period grows by at
 * most POLL_INTERVAL_GROW, for which limit_raise_threshold_s leaves two periods.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H
#define PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H

#include <stdint.h>

#define POLL_INTERVAL_SHARE 0.008 /* of a core; with the cost of changes about one per cent */
#define POLL_INTERVAL_GROW  1.5
#define POLL_INTERVAL_MAX_S 100 /* answers about waits (places.h) are used for three times as long */

struct poll_interval {
	uint32_t period_s; /* seconds from one look to the next; 0: there was none */
	double cost_s;	   /* processor time of taking in the queue, of late */
};

/* The longest period, in seconds, that keeps the heartbeat fresh and misses no job's end: at most POLL_INTERVAL_MAX_S, at least
 * poll_s. min_job_age_s: slurmctld forgets ended jobs after this time; 0: not known, returns poll_s. */
uint32_t poll_interval_most(uint32_t poll_s, uint32_t heartbeat_timeout_s, uint32_t min_job_age_s);
/* The queue was taken in at the cost of cpu_s. Returns the new period, within poll_s and most_s. */
uint32_t poll_interval_next(struct poll_interval *p, double cpu_s, uint32_t poll_s, uint32_t most_s);

#endif
