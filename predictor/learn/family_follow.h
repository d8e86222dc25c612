/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: how long members of its parameter family take that have not run yet, if their numbers do not matter. */
#ifndef PRECEDENT_PREDICTOR_LEARN_FAMILY_FOLLOW_H
#define PRECEDENT_PREDICTOR_LEARN_FAMILY_FOLLOW_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/store.h"

int family_follow(const struct daemon_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);

#endif
