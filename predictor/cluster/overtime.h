/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What slurm.conf(5) says that keeps a job from ending before its user's limit. Pure.
 *
 * SchedulerParameters=time_min_as_soft_limit, from Slurm 23.11 on: backfill plans with time_min, the limit stays.
 *
 * OverTimeLimit: slurmctld ends a job when end_time <= now - OverTimeLimit (slurm.conf(5)). A job that asked for U minutes therefore
 * runs for U minutes at least, if its limit is U - OverTimeLimit or more.
 */
#ifndef PRECEDENT_PREDICTOR_CLUSTER_OVERTIME_H
#define PRECEDENT_PREDICTOR_CLUSTER_OVERTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"

#define OVERTIME_UNLIMITED (365u * 24 * 60) /* minutes: slurmctld takes UNLIMITED for a year */

/* What counts for limits on a partition, or on all partitions that a job may use. */
struct overtime {
	uint32_t overtime_min; /* the smallest OverTimeLimit; 0: none, not known, or not to be used for shorter limits */
	int64_t reserved_at;   /* when the next reservation of a node begins; 0: none */
	uint32_t longest_min;  /* the longest limit of a job that the partition's QOS allows; 0: any */
	bool run_on;	       /* jobs run on by OverTimeLimit, in one of the partitions at least */
};

struct overtime_partition {
	char name[CONF_NAME_MAX];
	struct overtime o;
};
struct overtime_table {
	const struct overtime_partition *list;
	size_t n;
	bool soft_works; /* time_min is a soft limit */
	uint32_t (*longest_min)(const char *account, const char *qos); /* the longest limit that these allow; 0: any. NULL: any */
};

/* Does slurmctld take time_min as a soft limit? major, minor: its version, as 23 and 11. Texts may be NULL. */
bool soft_limit_works(unsigned major, unsigned minor, const char *scheduler_type, const char *scheduler_parameters);

/* The least limit with which the job still gets asked_min minutes; asked_min itself if nothing may be shortened. */
uint32_t overtime_least_min(uint32_t asked_min, uint32_t overtime_min);
/* partitions: comma separated, as in the job. A partition that is not in the table has no OverTimeLimit. */
struct overtime overtime_of(const struct overtime_table *t, const char *partitions);

#endif
