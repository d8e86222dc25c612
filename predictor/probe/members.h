/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traced runs of a program's parameter family, for its source probe: the probe computes points from their traces. */
#ifndef PRECEDENT_PREDICTOR_PROBE_MEMBERS_H
#define PRECEDENT_PREDICTOR_PROBE_MEMBERS_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/programs.h"

#define PROBE_MEMBERS_MAX 16 /* as many traces as a model of the calls takes (model/inputs/points.h) */

/*
 * Options of the probe, " --member JOB=NUMBERS" for each member, its own run first. "" if fewer than SCALING_POINTS_MIN members with
 * different numbers left one trace each on its source candidate, or if the options do not fit. Numbers and digits alone: fit for a shell.
 */
int probe_members(const struct daemon_env *env, const struct store_program *p, char *out, size_t size, struct errbuf *errp);

#endif
