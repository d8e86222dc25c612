/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OverTimeLimit and reservations of the partitions, as slurmctld tells them. Each message is kept until slurmctld has another one.
 * Only the main thread comes here.
 */
#include <errno.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/log.h"
#include "common/slurm_compat.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/precedentd/slurm_clock.h"

static bool again;	     /* ask for all anew */
static bool minutes_limited; /* by accounting: no limit is shortened */
static partition_info_msg_t *partitions;
static reserve_info_msg_t *reservations;
static struct overtime_partition *list;

static uint32_t overtime_minutes(uint16_t v)
{
	return v == INFINITE16 ? OVERTIME_UNLIMITED : v == NO_VAL16 ? 0 : v;
}

static uint32_t partition_overtime(const struct partition_info *p)
{
	return p->over_time_limit == NO_VAL16 ? overtime_minutes(slurm_side_conf()->over_time_limit)
					      : overtime_minutes(p->over_time_limit);
}

bool slurm_side_graces(const struct partition_info *p)
{
	const char *preempt_type = slurm_side_conf()->preempt_type;

	return p->grace_time && preempt_type && strcmp(preempt_type, "preempt/none") != 0;
}

uint32_t slurm_side_overtime(const struct partition_info *p)
{
	return minutes_limited || slurm_side_graces(p) ? 0 : partition_overtime(p);
}

bool slurm_side_soft_works(void)
{
	return soft_limit_works(SLURM_VERSION_MAJOR(SLURM_VERSION_NUMBER), SLURM_VERSION_MINOR(SLURM_VERSION_NUMBER),
				slurm_side_conf()->schedtype, slurm_side_conf()->sched_params);
}

/* slurmctld puts the time of its answer there. */
int64_t slurm_side_time(void *arg)
{
	slurm_conf_t *now = NULL;
	int64_t t;

	(void)arg;
	if (slurm_load_ctl_conf(0, &now) != SLURM_SUCCESS)
		return 0;
	t = now->last_update;
	compat_free_conf(now);
	return t;
}

int64_t slurm_side_boot(void *arg)
{
	(void)arg;
	return slurm_side_conf() ? slurm_side_conf()->boot_time : 0;
}

int slurm_side_overtime_conf(struct errbuf *errp)
{
	bool before = minutes_limited;

	if (slurm_side_run_minutes(slurm_side_conf()->accounting_storage_type, slurm_side_conf()->accounting_storage_enforce, &minutes_limited, errp) < 0)
		return -1;
	if (minutes_limited && !before)
		log_msg(LOG_LEVEL_INFO, "%s", slurm_side_rules());
	return 0;
}

void slurm_side_overtime_again(void)
{
	again = true;
}

const char *slurm_side_accounting(void)
{
	const slurm_conf_t *c = slurm_side_conf();

	return c && c->accounting_storage_type && strstr(c->accounting_storage_type, "slurmdbd") ? c->cluster_name : NULL;
}

bool slurm_side_minutes_limited(void)
{
	return minutes_limited;
}

static int partitions_renew(struct errbuf *errp)
{
	partition_info_msg_t *fresh = NULL;

	if (slurm_load_partitions(partitions && !again ? partitions->last_update : 0, &fresh, SHOW_ALL) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : err_set(errp, "slurmctld gives no partitions: %s", slurm_strerror(errno));
	if (partitions)
		slurm_free_partition_info_msg(partitions);
	partitions = fresh;
	return 0;
}

static int reservations_renew(struct errbuf *errp)
{
	reserve_info_msg_t *fresh = NULL;

	if (slurm_load_reservations(reservations && !again ? reservations->last_update : 0, &fresh) != SLURM_SUCCESS)
		return errno == SLURM_NO_CHANGE_IN_DATA ? 0 : err_set(errp, "slurmctld gives no reservations: %s", slurm_strerror(errno));
	if (reservations)
		slurm_free_reservation_info_msg(reservations);
	reservations = fresh;
	return 0;
}

/* Pairs of first and last index of nodes, ended by -1. */
static bool nodes_meet(const int32_t *a, const int32_t *b)
{
	for (; a && a[0] >= 0; a += 2)
		for (const int32_t *c = b; c && c[0] >= 0; c += 2)
			if (a[0] <= c[1] && c[0] <= a[1])
				return true;
	return false;
}

#define RECURS (RESERVE_FLAG_DAILY | RESERVE_FLAG_WEEKLY | RESERVE_FLAG_WEEKDAY | RESERVE_FLAG_WEEKEND | RESERVE_FLAG_HOURLY)

/* When the next reservation of these nodes begins; 0: none. One that recurs and has begun may begin again soon. */
static int64_t reserved_at(const partition_info_t *p, int64_t now)
{
	int64_t first = 0;

	for (uint32_t i = 0; i < reservations->record_count; i++) {
		const reserve_info_t *r = &reservations->reservation_array[i];
		int64_t at = r->start_time > now ? r->start_time : now;

		if ((r->start_time <= now && !(r->flags & RECURS)) || !nodes_meet(p->node_inx, r->node_inx))
			continue;
		if (!first || at < first)
			first = at;
	}
	return first;
}

int slurm_side_overtime_table(void *arg, struct overtime_table *table, struct errbuf *errp)
{
	struct overtime_partition *more;
	int64_t now = slurm_side_now();
	uint32_t n;

	(void)arg;
	if (slurm_side_overtime_conf(errp) < 0 || partitions_renew(errp) < 0 || reservations_renew(errp) < 0)
		return -1;
	again = false;
	n = partitions->record_count;
	more = realloc(list, (n ? n : 1) * sizeof(*list));
	if (!more)
		return err_set(errp, "no memory for %u partitions", n);
	list = more;
	for (uint32_t i = 0; i < n; i++) {
		const partition_info_t *p = &partitions->partition_array[i];

		snprintf(list[i].name, sizeof(list[i].name), "%s", p->name ? p->name : "");
		list[i].o = (struct overtime){.overtime_min = slurm_side_overtime(p), .reserved_at = reserved_at(p, now),
					       .longest_min = slurm_side_longest_min(NULL, p->qos_char), .run_on = partition_overtime(p) > 0};
	}
	*table = (struct overtime_table){list, n, slurm_side_soft_works(), slurm_side_longest_min};
	return 0;
}
