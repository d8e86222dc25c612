/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = raise shortens limits only where slurmctld lets the daemon raise them again. The proof: a held job of the daemon's
 * own is submitted, its limit is raised, and the job is cancelled. It is made anew for each start of slurmctld and of precedentd.
 * slurmctld may still refuse to raise another job's limit. The first raise that is refused ends all.
 */
#ifndef PRECEDENT_PREDICTOR_LIMITS_PROOF_H
#define PRECEDENT_PREDICTOR_LIMITS_PROOF_H

#include "predictor/cluster/daemon_env.h"

#define LIMIT_PROOF_JOB	    "precedent-limit"
#define LIMIT_PROOF_AGAIN_S 3600 /* after a proof that failed */

struct limit_proof;

struct limit_proof *limit_proof_create(void); /* NULL: no memory */
void limit_proof_destroy(struct limit_proof *p);
/* slurmctld refused to raise a job's limit: nothing is proved any more until precedentd is started again. */
void limit_proof_refuse(struct limit_proof *p, const struct daemon_env *env);
/* With each look. May limits be lowered? Also cancels such jobs of a precedentd that died. p NULL: no. */
bool limit_proof_poll(struct limit_proof *p, const struct daemon_env *env, const struct cluster_snapshot *snap, int64_t now);

#endif
