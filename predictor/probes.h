/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Build-and-probe jobs: first the source probe where the traced job ran, then, once that is good, one for each other
 * candidate. Their state is in the store, so a restarted daemon goes on where it was and nothing is submitted twice.
 */
#ifndef PRECEDENT_PREDICTOR_PROBES_H
#define PRECEDENT_PREDICTOR_PROBES_H

#include "predictor/follow.h"

#define PROBES_TRIES_MAX     3
#define PROBES_BACKOFF_S     60		 /* before the second try; doubled before the third */
#define PROBES_PENDING_MAX_S (3 * 86400) /* a probe that waits longer is cancelled and given up */
#define PROBES_SECONDS_MAX   60.0
#define PROBES_RETRACE_S     86400 /* after a source probe was given up, the key may be traced again */

/* The program (state PROGRAM_TRACED, in the store) gets its source probe and becomes PROGRAM_BUILDING. */
int probes_begin(const struct follow_env *env, struct store_program *p, int64_t now, struct errbuf *errp);

/* Collect what has ended, submit what is due, conclude programs whose probes are all done. */
int probes_poll(const struct follow_env *env, const struct cluster_snapshot *snap, int64_t now, struct errbuf *errp);

/* Target run time of a skeleton: the program's share of ProbeBudget (of its node seconds, spread over n candidates), at
 * least ProbeSeconds, at most PROBES_SECONDS_MAX. */
double probes_seconds(const struct precedent_conf *conf, double elapsed_s, unsigned n_candidates);

#endif
