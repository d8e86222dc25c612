/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Follows jobs from one poll of the queue to the next. A traced job that ends becomes a program with probes. A predicted job
 * that ends is compared with its prediction. A job near a limit that Precedent has lowered gets more time. No Slurm and no
 * clock: jobs come as a snapshot, actions go through cluster_ops, `now` is an argument.
 */
#ifndef PRECEDENT_PREDICTOR_FOLLOW_FOLLOW_H
#define PRECEDENT_PREDICTOR_FOLLOW_FOLLOW_H

#include "predictor/cluster/cluster.h"
#include "predictor/cluster/daemon_env.h"

struct poll_cache;	/* predictor/follow/poll_cache.h */
struct limit_lower; /* predictor/limits/lower.h */
struct limit_proof; /* predictor/limits/proof.h */
struct probes_turn; /* predictor/probe/probes.h */

/* Seconds after the end of a traced job in which its trace may still appear on a network file system. */
#define FOLLOW_TRACE_GRACE_S 15

/* What one poll leaves for the next. */
struct follow_memory {
	struct poll_cache *cache;	 /* NULL: every poll asks the store about every job */
	struct limit_lower *lower; /* NULL: limits are raised, and none is lowered */
	struct limit_proof *proof; /* NULL: the same */
	struct probes_turn *probes; /* NULL: each poll begins with the oldest probes */
};

/*
 * Takes in a snapshot. Limits are raised and lowered first, and without the store. env->store NULL: nothing else is done.
 * Returns 0, or -1 if the store failed; all earlier changes of this poll stay.
 */
int follow_poll(const struct daemon_env *env, const struct follow_memory *memory, const struct cluster_snapshot *snap, int64_t now,
		struct errbuf *errp);

#endif
