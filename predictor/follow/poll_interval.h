/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long precedentd waits between two looks at the queue: PollInterval, and longer where taking in the queue costs so much
 * processor time that it would be more than POLL_INTERVAL_SHARE of a core. What a change costs (a run that ends, a limit that is set) is
 * not counted: it has to be done once, however often the queue is looked at. Pure.
 *
 * Limits are raised in time all the same: whatever reckons with the next look (raise.h, lower.h) goes by the period that
 * poll_interval_next gave, and that grows by POLL_INTERVAL_GROW at most, which the two periods of limit_raise_threshold_s hold.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H
#define PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H

#include <stdint.h>

#define POLL_INTERVAL_SHARE 0.008 /* of a core; what changes is within the rest of one per cent */
#define POLL_INTERVAL_GROW  1.5
#define POLL_INTERVAL_MAX_S 100 /* answers about waits (places.h) are used for three times as long */

struct poll_interval {
	uint32_t period_s; /* seconds from one look to the next; 0: there was none */
	double cost_s;	   /* processor time of taking in the queue, of late */
};

/* The longest period with which the heartbeat stays fresh and every job's end is seen, POLL_INTERVAL_MAX_S, but at least poll_s. min_job_age_s: slurmctld
 * forgets ended jobs after this; 0: not known, and the period is not to be stretched. */
uint32_t poll_interval_most(uint32_t poll_s, uint32_t heartbeat_timeout_s, uint32_t min_job_age_s);
/* The queue was taken in at the cost of cpu_s. Returns the new period, within poll_s and most_s. */
uint32_t poll_interval_next(struct poll_interval *p, double cpu_s, uint32_t poll_s, uint32_t most_s);

#endif
