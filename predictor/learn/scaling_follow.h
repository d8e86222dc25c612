/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended, or a program's probes have: the model over inputs of its parameter family (estimate/scaling_model.h) is fitted again. */
#ifndef PRECEDENT_PREDICTOR_LEARN_SCALING_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_SCALING_FOLLOW_H

#include "predictor/learn/ended_run.h"
#include "predictor/store/programs.h"

/* On the candidate where the run ended. */
int scaling_follow(struct ended_run *r, struct errbuf *errp);
/* On every candidate, after the last probe of the program. */
int scaling_follow_probed(const struct daemon_env *env, const struct store_program *p, int64_t now, struct errbuf *errp);

#endif
