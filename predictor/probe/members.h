/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The traced runs of a program's parameter family, for its source probe: the probe computes points from their traces. */
#ifndef PRECEDENT_PREDICTOR_PROBE_MEMBERS_H
#define PRECEDENT_PREDICTOR_PROBE_MEMBERS_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/store/programs.h"

#define PROBE_MEMBERS_MAX 16 /* as many traces as a model of the calls takes (model/inputs/points.h) */

/*
 * Writes options of the probe: " --member JOB=NUMBERS" for each member, the program's own run first. Members have different numbers
 * and left one trace each on its source candidate, since the last drift of the kin there. Writes "" if there are fewer than
 * SCALING_POINTS_MIN, or if the options do not fit.
 * Writes "" too if the source probe of one of these members took too long to compute points: it would take as long again.
 * Options hold digits and ".,e+-" alone, so they need no quotes in a shell.
 */
int probe_members(const struct daemon_env *env, const struct store_program *p, char *out, size_t size, struct errbuf *errp);

#endif
