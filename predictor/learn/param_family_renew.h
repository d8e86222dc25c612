/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run has ended: the oldest few estimates of other members of its parameter family that the model over inputs is part of are renewed. */
#ifndef PRECEDENT_PREDICTOR_LEARN_PARAM_FAMILY_RENEW_H
#define PRECEDENT_PREDICTOR_LEARN_PARAM_FAMILY_RENEW_H

#include "predictor/learn/ended_run.h"

int param_family_renew(struct ended_run *r, struct errbuf *errp);

#endif
