/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What precedentd asks of slurmctld about places: whom the partitions let in, and when a job would start. Groups are
 * resolved here, so that slurmctld never has to. Only the main thread comes here.
 */
#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/duration.h"
#include "common/slurm_compat.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/store/places.h"

/* libslurm has it, the public headers do not. */
extern void slurm_free_will_run_response_msg(will_run_response_msg_t *msg);

static time_t partitions_seen;
static bool minutes_limited; /* when the partitions were read */

static const char *text_or_empty(const char *s)
{
	return s ? s : "";
}

/* ---- partitions ---- */

static char *list_copy(const char *list)
{
	return strdup(!list || !strcasecmp(list, "ALL") ? "" : list);
}

static void limits_translate(const partition_info_t *p, struct store_partition *out)
{
	snprintf(out->name, sizeof(out->name), "%s", text_or_empty(p->name));
	out->is_default = p->flags & PART_FLAG_DEFAULT;
	out->default_min = p->default_time == NO_VAL	 ? DURATION_UNSET
			   : p->default_time == INFINITE ? DURATION_UNLIMITED
							 : p->default_time;
	out->max_min = p->max_time == INFINITE || p->max_time == NO_VAL ? DURATION_UNLIMITED : p->max_time;
}

static int door_translate(const partition_info_t *p, const struct store_partition *limits, struct place_partition *out)
{
	const uint16_t shut = PART_FLAG_HIDDEN | PART_FLAG_ROOT_ONLY | PART_FLAG_REQ_RESV;

	snprintf(out->name, sizeof(out->name), "%s", text_or_empty(p->name));
	out->is_default = limits->is_default;
	out->default_min = limits->default_min;
	out->max_min = limits->max_min;
	out->overtime_min = slurm_side_overtime(p);
	out->allow_groups = list_copy(p->allow_groups);
	out->allow_accounts = list_copy(p->allow_accounts);
	out->deny_accounts = list_copy(p->deny_accounts);
	out->allow_qos = list_copy(p->allow_qos);
	out->deny_qos = list_copy(p->deny_qos);
	if (!out->allow_groups || !out->allow_accounts || !out->deny_accounts || !out->allow_qos || !out->deny_qos)
		return -1;
	out->open = p->state_up == PARTITION_UP && !(p->flags & shut) &&
		    (!p->allow_alloc_nodes || !strcasecmp(p->allow_alloc_nodes, "ALL"));
	out->restricted = out->allow_groups[0] != '\0';
	out->min_nodes = p->min_nodes;
	out->total_nodes = p->total_nodes;
	out->max_nodes = p->max_nodes < p->total_nodes ? p->max_nodes : p->total_nodes;
	return 0;
}

static int partitions_keep(struct store *store, const partition_info_msg_t *msg, struct errbuf *errp)
{
	size_t n = msg->record_count, room = n ? n : 1;
	struct store_partition *limits = calloc(room, sizeof(*limits));
	struct place_partition *doors = calloc(room, sizeof(*doors));
	int rv = -1;

	if (!limits || !doors)
		goto no_memory;
	slurm_side_rules_clear(RULE_PARTITIONS);
	for (size_t i = 0; i < n; i++) {
		if (slurm_side_graces(&msg->partition_array[i]))
			slurm_side_rule(RULE_PARTITIONS, "partition %s (GraceTime)", text_or_empty(msg->partition_array[i].name));
		limits_translate(&msg->partition_array[i], &limits[i]);
		if (door_translate(&msg->partition_array[i], &limits[i], &doors[i]) < 0)
			goto no_memory;
	}
	/* Last what they are the state of: the plugin must never take older doors for these. */
	rv = store_partitions_put(store, limits, n, errp) < 0 || store_places_put(store, doors, n, errp) < 0 ||
		     store_doors_seen_set(store, msg->last_update, errp) < 0
		 ? -1
		 : 0;
	goto out;
no_memory:
	err_set(errp, "no memory for %zu partitions", n);
out:
	for (size_t i = 0; doors && i < n; i++)
		place_partition_clear(&doors[i]);
	free(doors);
	free(limits);
	return rv;
}

int slurm_side_partitions(struct store *store, struct errbuf *errp)
{
	partition_info_msg_t *msg = NULL;
	int rv;

	if (slurm_side_overtime_conf(errp) < 0)
		return -1;
	if (slurm_side_minutes_limited() != minutes_limited) {
		minutes_limited = !minutes_limited;
		partitions_seen = 0;
	}
	if (slurm_load_partitions(partitions_seen, &msg, SHOW_ALL) != SLURM_SUCCESS) {
		if (errno == SLURM_NO_CHANGE_IN_DATA)
			return 0;
		return err_set(errp, "slurmctld gives no partitions: %s", slurm_strerror(errno));
	}
	rv = partitions_keep(store, msg, errp);
	if (!rv)
		partitions_seen = msg->last_update;
	slurm_free_partition_info_msg(msg);
	return rv;
}

void slurm_side_partitions_again(void)
{
	partitions_seen = 0;
}

/* ---- when a job would start ---- */

/* Nobody answers: all else is slurmctld's own word about this job. */
static bool is_silence(int code)
{
	return (code >= SLURM_UNEXPECTED_MSG_ERROR && code < ESLURM_INVALID_PARTITION_NAME) ||
	       code == SLURM_PROTOCOL_SOCKET_IMPL_TIMEOUT || code == ESLURM_IN_STANDBY_MODE || code == ECONNREFUSED ||
	       code == ETIMEDOUT;
}

static int ask_will_run(void *arg, const struct cluster_submission *sub, int64_t *start, struct errbuf *errp)
{
	will_run_response_msg_t *answer = NULL;
	struct passwd pw, *found = NULL;
	char names[4096], host[256] = "";
	job_desc_msg_t d;
	int code;

	(void)arg;
	if (getpwuid_r(sub->uid, &pw, names, sizeof(names), &found) != 0 || !found)
		return err_set(errp, "uid %u has no account on this host", (unsigned)sub->uid), 0;
	gethostname(host, sizeof(host) - 1);
	slurm_side_describe(&d, sub);
	d.group_id = pw.pw_gid;
	d.alloc_node = host;
	if (slurm_job_will_run2(&d, &answer) != SLURM_SUCCESS || !answer) {
		code = errno;
		err_set(errp, "%s", slurm_strerror(code));
		return is_silence(code) ? -1 : 0;
	}
	*start = answer->start_time;
	slurm_free_will_run_response_msg(answer);
	return 1;
}

/* ---- groups ---- */

static int group_id(const char *name, size_t len, gid_t *gid)
{
	char copy[256], *buf;
	struct group gr, *found = NULL;
	size_t size = 1 << 20; /* members are many */
	int rc;

	if (len >= sizeof(copy))
		return -1;
	memcpy(copy, name, len);
	copy[len] = '\0';
	buf = malloc(size);
	rc = buf ? getgrnam_r(copy, &gr, buf, size, &found) : ENOMEM;
	if (!rc && found)
		*gid = found->gr_gid;
	free(buf);
	return rc ? -1 : found != NULL;
}

static bool has_gid(const gid_t *gids, int n, gid_t gid)
{
	for (int i = 0; i < n; i++) {
		if (gids[i] == gid)
			return true;
	}
	return false;
}

static int ask_groups(void *arg, uint32_t uid, const char *groups)
{
	struct passwd pw, *found = NULL;
	gid_t gids[1024], gid = 0;
	char names[4096];
	int n = (int)(sizeof(gids) / sizeof(gids[0])), rv = 0;

	(void)arg;
	if (getpwuid_r(uid, &pw, names, sizeof(names), &found) != 0)
		return -1;
	if (!found)
		return 0;
	if (getgrouplist(pw.pw_name, pw.pw_gid, gids, &n) < 0)
		return -1;
	for (const char *p = groups; *p && rv <= 0; p += strcspn(p, ","), p += *p == ',') {
		int known = group_id(p, strcspn(p, ","), &gid);

		if (known < 0)
			rv = -1;
		else if (known && has_gid(gids, n, gid))
			rv = 1;
	}
	return rv;
}

static double ask_clock_ms(void *arg)
{
	struct timespec t;

	(void)arg;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

const struct start_forecast_ops *slurm_side_forecast(void)
{
	static const struct start_forecast_ops ops = {NULL, ask_will_run, ask_groups, ask_clock_ms};

	return &ops;
}
