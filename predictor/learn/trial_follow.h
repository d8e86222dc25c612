/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: does it count for or against the tracer? The rules are in estimate/trial.h. */
#ifndef PRECEDENT_PREDICTOR_LEARN_TRIAL_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_TRIAL_FOLLOW_H

#include "predictor/learn/ended_run.h"

/* If the tracer may have ended a traced run, its program is guarded until an untraced run decides. */
int trial_follow(const struct ended_run *r, struct errbuf *errp);
/* Judges all pairs: tracing becomes suspected, no longer suspected, or stopped. A change is logged once and stored. */
int trial_judge_tracing(const struct daemon_env *env, int64_t now, struct errbuf *errp);
/* May the next run of this run's key be traced? Returns 1, 0 or -1. */
int trial_may_trace(const struct daemon_env *env, const struct store_run *run, struct errbuf *errp);

#endif
