/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long precedentd waits between two looks at the queue: PollInterval, and longer where taking in the queue costs so much
 * processor time that it would be more than PACE_SHARE of a core. What a change costs (a run that ends, a limit that is set) is
 * not counted: it has to be done once, however often the queue is looked at. Pure.
 *
 * Limits are raised in time all the same: whatever reckons with the next look (extend.h, shorten.h) goes by the period that
 * pace_next gave, and that grows by PACE_GROW at most, which the two periods of extend_threshold_s hold.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H
#define PRECEDENT_PREDICTOR_FOLLOW_POLL_INTERVAL_H

#include <stdint.h>

#define PACE_SHARE 0.008 /* of a core; what changes is within the rest of one per cent */
#define PACE_GROW  1.5
#define PACE_MAX_S 100 /* answers about waits (places.h) are used for three times as long */

struct pace {
	uint32_t period_s; /* seconds from one look to the next; 0: there was none */
	double cost_s;	   /* processor time of taking in the queue, of late */
};

/* The longest period with which the heartbeat stays fresh and every job's end is seen, PACE_MAX_S, but at least poll_s. min_job_age_s: slurmctld
 * forgets ended jobs after this; 0: not known, and the period is not to be stretched. */
uint32_t pace_most(uint32_t poll_s, uint32_t heartbeat_timeout_s, uint32_t min_job_age_s);
/* The queue was taken in at the cost of cpu_s. Returns the new period, within poll_s and most_s. */
uint32_t pace_next(struct pace *p, double cpu_s, uint32_t poll_s, uint32_t most_s);

#endif
