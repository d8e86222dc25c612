/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cluster as precedentd sees it: jobs as plain data, and its operations on jobs as function pointers. So the daemon's logic
 * is tested without Slurm. The real operations are in precedentd/slurm.c.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_CLUSTER_H
#define PRECEDENT_PREDICTOR_CLUSTER_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/comment.h"
#include "common/conf.h"
#include "common/errbuf.h"
#include "predictor/cluster/overtime.h"

enum cluster_phase {
	CLUSTER_PENDING,
	CLUSTER_RUNNING,
	CLUSTER_SUSPENDED,
	CLUSTER_ENDED,
};

#define CLUSTER_LOWEST_NICE 0x7ffffffd /* the most that sbatch --nice takes; probes have it */

/* What a job asks for beside nodes, tasks and memory, in Slurm's own words: generic resources (GRES), and licences. */
enum cluster_want {
	WANT_TRES_PER_JOB, WANT_TRES_PER_NODE, WANT_TRES_PER_SOCKET, WANT_TRES_PER_TASK, WANT_CPUS_PER_TRES, WANT_MEM_PER_TRES,
	WANT_LICENCES, CLUSTER_WANTS
};
#define CLUSTER_WANT_MAX 256 /* longer words are not repeated: such a job is not probed */

/* Strings are never NULL, and live as long as the snapshot; want: NULL counts as "". */
struct cluster_job {
	uint32_t job_id, uid, gid;
	bool het, batch, exclusive;
	bool deadline; /* asked for by its user */
	bool barred; /* of a pending job: its limit is more than its partition, QOS or account allows */
	bool queued; /* of a pending job: waits for nodes or its turn alone; start_time is then when it may start, 0: not known */
	bool held;    /* of a pending job: held, or put off until a time or the end of another job */
	bool requeue; /* may be queued again */
	bool preempted; /* in its grace time: slurmctld changes no limit of it */
	int32_t nice;
	enum cluster_phase phase;
	const char *end_state; /* COMPLETED, FAILED, TIMEOUT, ... once it has ended */
	int64_t submit_time, start_time, end_time; /* end_time of a running job: when its limit ends it */
	double elapsed_s;			   /* without the time it was suspended */
	double suspended_s;
	uint32_t restarts;  /* how often it was queued again */
	uint32_t array_job; /* the array's job id; 0: not of an array */
	uint32_t array_task; /* its index; 0 as long as it is not known */
	uint32_t limit_min, time_min_min;	   /* DURATION_UNSET, DURATION_UNLIMITED */
	uint32_t nodes, tasks;
	uint32_t tasks_per_node, cpus_per_task; /* 0: not asked for */
	uint64_t memory;			/* as Slurm codes it: per node, or per CPU with the top bit; 0: default */
	const char *name, *partition, *features, *admin_comment, *account, *qos;
	const char *want[CLUSTER_WANTS];
	const struct job_comment *ours; /* Precedent's part of admin_comment; NULL: none that is valid */
};

struct cluster_snapshot {
	const struct cluster_job *jobs; /* by job id */
	size_t n;
	int64_t taken; /* when it was true */
};

/* The parsed comments of one snapshot. Zeroed is empty. */
struct cluster_comments {
	struct job_comment *list;
	size_t room;
};
/* Parses each comment, and sets `ours` of each job. The jobs borrow from *c until the next call. Returns 0, or -1 if memory runs
 * out. */
int cluster_comments_parse(struct cluster_comments *c, struct cluster_job *jobs, size_t n, struct errbuf *errp);

const struct cluster_job *cluster_job_find(const struct cluster_snapshot *snap, uint32_t job_id);

/* A batch job to be submitted as uid. */
struct cluster_submission {
	uid_t uid;
	gid_t gid;
	const char *name, *script, *work_dir, *std_out, *admin_comment;
	const char *partition, *features, *account, *qos; /* "" = none */
	const char *want[CLUSTER_WANTS]; /* NULL or "" = none */
	uint32_t nodes, tasks, tasks_per_node, cpus_per_task;
	uint64_t memory;
	bool exclusive;
	uint32_t limit_min;
	bool held;
};

/* What must be known of a traced job to submit its probes, also after slurmctld has forgotten it. */
struct cluster_layout {
	uint32_t gid, tasks_per_node, cpus_per_task;
	uint64_t memory;
	bool exclusive;
	char account[CONF_NAME_MAX], qos[CONF_NAME_MAX];
	char want[CLUSTER_WANTS][CLUSTER_WANT_MAX];
};
/* Returns 0, or -1 if the job asks for something that the layout cannot hold. */
int cluster_layout_of(const struct cluster_job *job, struct cluster_layout *layout, struct errbuf *errp);

/* How a job ended, by the accounting. */
struct cluster_end {
	char state[24]; /* as cluster_job.end_state */
	char partition[CONF_NAME_MAX], features[CONF_CANDIDATE_MAX];
	int64_t start_time, end_time;
	double elapsed_s;
};

/* arg is the implementation's. All return 0 or -1 with the reason. */
struct cluster_ops {
	void *arg;
	/* *job_id: the new job's. */
	int (*submit)(void *arg, const struct cluster_submission *sub, uint32_t *job_id, struct errbuf *errp);
	/* comment: the job's admin_comment from then on, in the same step; NULL: it stays. */
	int (*set_limit)(void *arg, uint32_t job_id, uint32_t limit_min, const char *comment, struct errbuf *errp);
	/* time_min_min 0: none. comment as above. */
	int (*set_time_min)(void *arg, uint32_t job_id, uint32_t time_min_min, const char *comment, struct errbuf *errp);
	int (*cancel)(void *arg, uint32_t job_id, struct errbuf *errp);
	/* Have slurmctld itself raise the limit before_s seconds before the job's end, should the daemon be dead then. */
	int (*arm)(void *arg, uint32_t job_id, uint32_t before_s, struct errbuf *errp);
	/* The jobs of which slurmctld has that, ascending; *ids is the caller's to free. */
	int (*armed)(void *arg, uint32_t before_s, uint32_t **ids, size_t *n, struct errbuf *errp);
	/* OverTimeLimit and reservations of all partitions; lent until the next call. */
	int (*overtime)(void *arg, struct overtime_table *table, struct errbuf *errp);
	/* The end of a job that has left the queue. Never waits: 1: *end is known, 0: ask again with the next look, -1: nobody knows. */
	int (*ended)(void *arg, uint32_t job_id, int64_t submit_time, struct cluster_end *end);
	int64_t (*time_s)(void *arg); /* slurmctld's clock; 0: not known */
	int64_t (*boot)(void *arg); /* when slurmctld started; 0: not known */
	double (*clock_ms)(void *arg); /* grows steadily */
};

/* The candidate on which a job of this partition and constraint runs: a configured one, else the partition itself. */
const char *cluster_candidate(const struct precedent_conf *conf, const char *partition, const char *features);
void cluster_candidate_name(const struct precedent_conf *conf, const char *partition, const char *features, char *out,
			    size_t size);

#endif
