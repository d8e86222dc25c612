/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stores the launches and the kind (store/launches.h) of a job that is seen for the first time. */
#ifndef PRECEDENT_PREDICTOR_LEARN_LAUNCH_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_LAUNCH_FOLLOW_H

#include "common/comment.h"
#include "predictor/cluster/daemon_env.h"
#include "predictor/store/runs.h"

/* run: not in the store yet. c: the plugin's comment. Returns 0, -1 on error. */
int launch_follow(const struct daemon_env *env, const struct store_run *run, const struct job_comment *c, int64_t now,
		  struct errbuf *errp);

#endif
