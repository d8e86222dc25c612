/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: how long members of its parameter family take that have not run yet, if their numbers do not matter. */
#ifndef PRECEDENT_PREDICTOR_LEARN_FAMILY_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_FAMILY_FOLLOW_H

#include "predictor/learn/ended_run.h"

int family_follow(struct ended_run *r, struct errbuf *errp);

#endif
