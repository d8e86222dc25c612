/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The store keeps groups of similar runs (predictor/estimate/ladder.h). The name of a group is the hash of what its jobs have
 * in common. Conventions as in store.h.
 */
#ifndef PRECEDENT_PREDICTOR_STORE_GROUPS_H
#define PRECEDENT_PREDICTOR_STORE_GROUPS_H

#include "common/comment.h"
#include "predictor/estimate/ladder.h"
#include "predictor/store/store.h"

/* What is known of a job when it is submitted, and from the accounting afterwards. NULL or "": not known. */
struct group_job {
	uint32_t uid, nodes;
	uint32_t limit_min; /* the user's request; DURATION_UNSET */
	const char *partition, *command, *name, *work_dir, *account;
	uint64_t text, pattern; /* of the identity (common/identity.h); 0: the script is not known */
};
/* By rung; 0: the job has no group there. 48 bits each, since they are written into each job's comment. */
struct group_ids {
	uint64_t id[LADDER_RUNGS];
};
void group_ids_of(const struct group_job *job, struct group_ids *ids);
/* 12 hex digits for each rung, in struct job_comment's `groups`. */
void group_ids_format(const struct group_ids *ids, char out[COMMENT_GROUPS_MAX]);
/* Returns 0, or -1 with ids of no group. */
int group_ids_parse(const char *text, struct group_ids *ids);

/* Groups that the store has; others are zeroed. Returns how many it has. For the plugin: at most LADDER_RUNGS
 * look-ups by row id. */
int store_groups_get(struct store *s, const struct group_ids *ids, struct ladder_group out[LADDER_RUNGS],
		     struct errbuf *err);
struct group_run {
	uint32_t uid;
	const char *end_state;
	double elapsed_s;
	int64_t end_time;
};
/* A run has ended. */
int store_groups_add(struct store *s, const struct group_ids *ids, const struct group_run *run, struct errbuf *err);

#endif
