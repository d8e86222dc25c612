/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * slurmctld's clock was set while jobs ran. slurmctld takes the difference of two readings for the time that such a job ran. So
 * nothing is learned from the run time of these jobs. The store keeps the last time that the clock was set.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_CLOCK_SET_H
#define PRECEDENT_PREDICTOR_FOLLOW_CLOCK_SET_H

#include "predictor/store/store.h"

/* The clock was set by so many seconds, and shows `now`. Returns 0 or -1. */
int clock_set_note(struct store *s, int64_t now, int64_t set_by, struct errbuf *errp);
/* Was the clock set between these two times? 1, 0, or -1. If the clock was set back, runs close to that time count too. */
int clock_set_within(struct store *s, int64_t start, int64_t end, struct errbuf *errp);

#endif
