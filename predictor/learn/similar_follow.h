/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: its groups of similar runs (predictor/estimate/ladder.h) learn how long it took. */
#ifndef PRECEDENT_PREDICTOR_LEARN_SIMILAR_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_SIMILAR_FOLLOW_H

#include "predictor/learn/ended_run.h"

/* c: the plugin's comment of the job, NULL: none. A run that began again from the queue teaches nothing: it may have gone on
 * where it was. Returns 0, -1 on error. */
int similar_follow(const struct ended_run *r, const struct job_comment *c, struct errbuf *errp);

#endif
