/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A run that has ended, with the rows of the store that several learners need. Each part is read once, when the first learner
 * asks.
 */
#ifndef PRECEDENT_PREDICTOR_LEARN_ENDED_RUN_H
#define PRECEDENT_PREDICTOR_LEARN_ENDED_RUN_H

#include "predictor/cluster/daemon_env.h"
#include "predictor/learn/past_accuracy.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/store/runs.h"

struct ended_run {
	const struct daemon_env *env;
	const struct store_run *row; /* in the store already */
	uint64_t memory;	     /* as in struct cluster_job; 0: the end was not seen */
	int64_t now;
	/* NULL: not read as yet */
	struct drift *family_drift;
	struct scaling_runs *members;
	struct past_accuracy *accuracy;
	struct past_runs runs; /* of the family, and of the user's others */
};

/* Forgets what was read: at the end, and after a learner has stored a drift, which changes what past runs say. */
void ended_run_forget(struct ended_run *r);

/* Does its end say anything of how long a whole run takes? */
bool ended_run_is_evidence(const struct ended_run *r);

/* Of the parameter family on the run's candidate. All return NULL on error, and lend what they return until ended_run_forget. */
const struct drift *ended_run_family_drift(struct ended_run *r, struct errbuf *errp);
/* Its runs since the last drift; of a task of an array, all tasks of arrays. */
const struct scaling_runs *ended_run_members(struct ended_run *r, struct errbuf *errp);
/* Runs of the family, and runs of the user's other programs. Estimates of all programs of the family may use them. Never NULL. */
struct past_runs *ended_run_past(struct ended_run *r);
/* How earlier predictions of the run's family came off on the candidate. */
const struct past_accuracy *ended_run_accuracy(struct ended_run *r, struct errbuf *errp);

#endif
