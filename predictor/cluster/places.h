/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The data from which a job's partition is chosen: who may use each partition, the shapes of jobs, and the wait of a shape on a
 * candidate. Module follow/start_forecast.c collects them, store/places.c stores them. The job_submit plugin holds a few
 * hundred rows in memory.
 *
 * Doubt counts as a no: a list that is not understood, an account that the job does not name, an old answer.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_PLACES_H
#define PRECEDENT_PREDICTOR_CLUSTER_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/errbuf.h"

#define PLACES_FRESH_S	      300  /* a wait that was asked for longer ago is not known (any more) */
#define PLACES_WAITS_MAX      256  /* questions that are kept up to date */
#define PLACES_ACCESS_FRESH_S 7200 /* the same for whether a user is in the groups of a partition */
#define PLACES_REASON_MAX     160

/* A partition's door. Lists are comma separated, "" when there is none, and belong to this struct. */
struct place_partition {
	char name[CONF_NAME_MAX];
	bool open;	 /* up, and not hidden, for root only, for reservations or for certain login nodes only */
	bool restricted; /* AllowGroups: see place_access */
	uint32_t min_nodes, max_nodes; /* per job; max_nodes is never above what the partition has */
	uint32_t total_nodes;
	char *allow_groups, *allow_accounts, *deny_accounts, *allow_qos, *deny_qos;
	bool is_default;
	uint32_t default_min, max_min; /* as in struct store_partition */
	uint32_t overtime_min;	       /* OverTimeLimit (overtime.h); 0: none */
};

/* A user who is in a group that a restricted partition lets in. */
struct place_access {
	uint32_t uid;
	char partition[CONF_NAME_MAX];
	int64_t checked;
};

/* What jobs ask of a candidate, but for the time limit. */
struct place_shape {
	int64_t id; /* of all that follows but `used`; never 0 */
	uint32_t nodes, tasks, tasks_per_node, cpus_per_task; /* the last two 0: not asked for */
	uint64_t memory; /* as Slurm codes it: per node, or per CPU with the top bit; 0: default */
	bool exclusive;
	char account[CONF_NAME_MAX], qos[CONF_NAME_MAX]; /* "": none */
	int64_t used;					 /* last submission */
};

enum place_answer {
	PLACE_UNASKED,
	PLACE_KNOWN,	/* would start wait_s after `asked` */
	PLACE_AT_LEAST, /* not before that: jobs that come first have no start time yet */
	PLACE_REFUSED,	/* the scheduler says that it cannot run there: reason */
};

struct place_wait {
	int64_t shape;
	char candidate[CONF_CANDIDATE_MAX];
	uint32_t limit_min; /* from places_bucket */
	uint32_t uid;	    /* for whom the scheduler is asked: the last user of the shape who may go there */
	int64_t used, asked;
	enum place_answer answer;
	double wait_s;
	double cost_ms; /* what the last question took */
	char reason[PLACES_REASON_MAX];
};

/* Everything; the arrays belong to it. Zeroed is empty. Shapes by id, waits by shape, candidate and limit. */
struct places {
	size_t n_partitions, n_access, n_shapes, n_waits;
	struct place_partition *partitions;
	struct place_access *access;
	struct place_shape *shapes;
	struct place_wait *waits;
};

void places_free(struct places *p); /* of a zeroed or freed struct is legal; it is zeroed */
void place_partition_clear(struct place_partition *p);

/* name NULL: the default partition. Returns NULL if it is not known. */
const struct place_partition *places_partition(const struct places *p, const char *name);
const struct place_shape *places_shape(const struct places *p, int64_t id);
int64_t place_shape_id(const struct place_shape *shape);

/* Who asks, and how much. "" or NULL: not said. */
struct place_asker {
	uint32_t uid;
	const char *account, *qos;
	uint32_t nodes;
};
/* May this user's job of that size go to the partition? When not, *why (may be NULL) is a few words, static. */
bool places_may_use(const struct places *p, const char *partition, const struct place_asker *who, int64_t now,
		    const char **why);

/* The limit that a job of this predicted upper bound gets, before the user's own is looked at. */
uint32_t places_limit_min(const struct precedent_conf *conf, double hi_s);
/*
 * What a record is planned with by this upper bound: at most asked_min. Returns old_min, the plan so far, where the change is too
 * small to be worth a write.
 */
uint32_t places_replan_min(const struct precedent_conf *conf, double hi_s, uint32_t asked_min, uint32_t old_min);
/* Limits are asked for in steps: the next one up. DURATION_UNLIMITED stays what it is. */
uint32_t places_bucket(uint32_t limit_min);
/*
 * The wait of a job of that shape and limit on the candidate, from `now` on. Returns PLACE_UNASKED if there is no answer within
 * fresh_s. Otherwise fills *out, the row, and *wait_s, in seconds.
 */
enum place_answer places_wait(const struct places *p, int64_t shape, const char *candidate, uint32_t limit_min,
			      int64_t now, int64_t fresh_s, double *wait_s, const struct place_wait **out);

#endif
