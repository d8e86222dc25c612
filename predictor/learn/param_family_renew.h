/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: the oldest few estimates of other members of its parameter family that the model over inputs is part of are renewed. */
#ifndef PRECEDENT_PREDICTOR_LEARN_PARAM_FAMILY_RENEW_H
#define PRECEDENT_PREDICTOR_LEARN_PARAM_FAMILY_RENEW_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/store.h"

int param_family_renew(const struct daemon_env *env, const struct store_run *run, int64_t now, struct errbuf *errp);

#endif
