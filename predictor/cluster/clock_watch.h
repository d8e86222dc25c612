/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Notices that a clock was set. The clock is compared with a steady one, which nobody sets (CLOCK_MONOTONIC). Pure.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_CLOCK_WATCH_H
#define PRECEDENT_PREDICTOR_CLUSTER_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_WATCH_SLACK_S 1.0 /* clocks that NTP steers differ by less between two readings */

/* Zeroed: not read yet. The clock is ahead of the steady one by at least `least` and at most `most` seconds. */
struct clock_watch {
	bool known;
	double least, most;
};

/*
 * The clock was read as `wall`, in whole seconds. By the steady clock it was read between `before` and `after`, in seconds: the
 * answer may have taken a while. Returns by how many seconds it was set since the last reading; 0: it was not set.
 */
int64_t clock_watch_read(struct clock_watch *w, int64_t wall, double before, double after);

#endif
