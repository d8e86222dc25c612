/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run has ended: has its program ceased to run as predicted? The rules are in estimate/drift.h. If so, runs before the change
 * count no more. A program with probes is probed again on that candidate, or traced again.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_DRIFT_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_DRIFT_FOLLOW_H

#include "predictor/estimate/drift.h"
#include "predictor/learn/ended_run.h"
#include "predictor/store/programs.h"

/* A drift that was found, and not acted on as yet. */
struct drift_found {
	struct store_program program;
	struct drift drift;
	bool traced; /* the program has probes, so that it can be probed or traced again */
	bool probe;  /* wished: make the probe on the run's candidate again, before drift_act */
};

/* Returns 1 if the program has drifted (*found says how), 0 if not, -1 on error. */
int drift_follow(const struct ended_run *r, struct drift_found *found, struct errbuf *errp);
/* Stores the drift and estimates the program again. probed: the probe is made again; else a program with probes is traced again. */
int drift_act(struct ended_run *r, struct drift_found *found, bool probed, struct errbuf *errp);

#endif
