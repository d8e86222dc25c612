/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: estimates of its program again. A program without a trace has estimates from its past runs alone. */
#ifndef PRECEDENT_PREDICTOR_LEARN_PROGRAM_RENEW_H
#define PRECEDENT_PREDICTOR_LEARN_PROGRAM_RENEW_H

#include "predictor/learn/ended_run.h"

/* Returns 0, -1 on error. */
int program_renew(struct ended_run *r, struct errbuf *errp);

#endif
