/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Has a program ceased to run as predicted? It has if two of the last three runs on a candidate lie outside their intervals on
 * the same side. Then the probes are made again, since the machine may have changed. If later runs still leave their intervals,
 * the program is traced again, since the program may have changed. Runs before the change count no more. At most one action
 * within DRIFT_REST_S. Pure.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_DRIFT_H
#define PRECEDENT_PREDICTOR_ESTIMATE_DRIFT_H

#include <stddef.h>
#include <stdint.h>

#define DRIFT_REST_S 21600 /* after one deed before the next, for a program on a candidate */
#define DRIFT_LOOK   3	   /* the latest runs that are looked at ... */
#define DRIFT_OUT    2	   /* ... of which so many outside on the same side are a drift */

enum drift_stage {
	DRIFT_NONE,
	DRIFT_REPROBED, /* the probes were made again */
	DRIFT_RETRACED, /* the program is traced again */
};

struct drift {
	enum drift_stage stage;
	int64_t since; /* submission of the first run after the change: earlier runs do not count; 0: all count */
	int64_t acted; /* when the last deed was; runs submitted before do not speak of it */
};

/* A run that ended, with the interval that was told for it; the latest first. */
struct drift_run {
	int64_t submit_time;
	double actual_s, lo_s, hi_s;
	int at_least; /* ended before its end: it can only be too long */
};

enum drift_deed {
	DRIFT_REST,    /* nothing to be done */
	DRIFT_REPROBE,
	DRIFT_RETRACE,
};

/* What is to be done at `now`; *d is what is known afterwards. */
enum drift_deed drift_judge(struct drift *d, const struct drift_run *runs, size_t n, int64_t now);

const char *drift_stage_name(enum drift_stage stage); /* none, reprobed, retraced */

#endif
