/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Points that a probe computes from the traces of a parameter family: model/inputs/points.h. */
#ifndef PRECEDENT_CLI_PROBE_POINTS_H
#define PRECEDENT_CLI_PROBE_POINTS_H

#include "model/inputs/points.h"
#include "predictor/spool/result.h"

/* A traced job of the user and its numbers, as identity_vars_format writes them. */
struct probe_member {
	uint32_t job;
	char vars[sizeof(((struct result_point *)0)->vars)];
};

/* dir: the spool directory of one of the jobs; the others are beside it. Members that have not one trace are left out. Sets points of
 * *res, or why there are none. Computes in a child process, which may fail without harm to the record. It has so many
 * seconds; then the points count that are there. */
void probe_points(const char *dir, const struct probe_member *member, unsigned n, unsigned seconds, struct result *res);

#endif
