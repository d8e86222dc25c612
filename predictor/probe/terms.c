/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A probe is a job of its user, who may change a pending job: limit, nice value, name, size, partition. Such a job could use
 * the account and the QOS of probes for anything. So each probe is compared with its submission. A user who changes a probe
 * gets no others for a while.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/duration.h"
#include "predictor/probe/job.h"

/* The limit of the submission, from the comment, which only operators can change; DURATION_UNSET: not known. */
static uint32_t limit_planned_min(const struct cluster_job *job)
{
	struct job_comment c;

	return comment_parse(job->admin_comment, &c) == 0 && c.act == ACT_PROBE ? c.user_limit_min : DURATION_UNSET;
}

static bool is_on(const char *candidate, const struct cluster_job *job)
{
	size_t n = strcspn(candidate, ":");

	return strlen(job->partition) == n && !strncmp(job->partition, candidate, n) &&
	       !strcmp(job->features, candidate[n] ? candidate + n + 1 : "");
}

/* A job that ends gives its nodes back one by one. */
static bool has_size(const struct store_program *p, const struct cluster_job *job)
{
	if (job->phase == CLUSTER_ENDED ? job->nodes > p->nodes : job->nodes != p->nodes)
		return false;
	return !p->tasks || job->tasks == p->tasks;
}

bool probe_changed(const struct store_program *p, const struct store_probe *row, const struct cluster_job *job,
		   struct errbuf *what)
{
	uint32_t planned_min = limit_planned_min(job);

	if (planned_min != DURATION_UNSET && job->limit_min > planned_min)
		err_set(what, "its time limit was raised above %u minutes", planned_min);
	else if (job->nice < CLUSTER_LOWEST_NICE)
		err_set(what, "its nice value was lowered to %d", job->nice);
	else if (strcmp(job->name, PROBE_JOB_NAME))
		err_set(what, "its name was changed");
	else if (!has_size(p, job))
		err_set(what, "its size was changed: %u nodes and %u tasks, not %u and %u", job->nodes, job->tasks, p->nodes, p->tasks);
	else if (!is_on(row->candidate, job))
		err_set(what, "its partition or its features were changed");
	else if (job->requeue || job->restarts)
		err_set(what, "it was made a job that may be queued again");
	else
		return false;
	return true;
}

/* Equal but for the marks between words, which versions of Slurm write differently: gres:gpu:1, gres/gpu:1, gres/gpu=1. */
static bool is_same_want(const char *a, const char *b)
{
	for (; *a && *b; a++, b++)
		if (*a != *b && !(strchr(":/=", *a) && strchr(":/=", *b)))
			return false;
	return *a == *b;
}

bool probe_wants_changed(const struct cluster_layout *layout, enum conf_partial partial, const struct cluster_job *job,
			 struct errbuf *what)
{
	for (enum cluster_want i = 0; i < CLUSTER_WANTS; i++)
		if (!is_same_want(job->want[i] ? job->want[i] : "", probe_want(layout, partial, i))) {
			err_set(what, "its %s were changed", i == WANT_LICENCES ? "licences" : "generic resources");
			return true;
		}
	return false;
}

bool probe_overran(const struct cluster_job *job)
{
	uint32_t planned_min = limit_planned_min(job);

	return planned_min != DURATION_UNSET && job->elapsed_s > 60.0 * planned_min + PROBES_OVERRUN_S;
}

/* ---- users who changed a probe ---- */

#define META_BARRED "probes.barred." /* and the uid: until when */

int probe_user_bar(const struct daemon_env *env, uint32_t uid, int64_t now, struct errbuf *errp)
{
	char name[40], until[24];

	snprintf(name, sizeof(name), META_BARRED "%u", uid);
	snprintf(until, sizeof(until), "%" PRId64, now + PROBES_BAR_S);
	daemon_say(env, LOG_LEVEL_WARN, "uid %u gets no probes for %d hours", uid, PROBES_BAR_S / 3600);
	return store_meta_set(env->store, name, until, errp);
}

int probe_user_barred(const struct daemon_env *env, uint32_t uid, int64_t now, int64_t *until, struct errbuf *errp)
{
	char name[40], text[24];
	int rc;

	snprintf(name, sizeof(name), META_BARRED "%u", uid);
	rc = store_meta_get(env->store, name, text, sizeof(text), errp);
	*until = rc == 1 ? strtoll(text, NULL, 10) : 0;
	/* A bar that is longer is of a clock that was wrong. */
	if ((*until > now && *until <= now + PROBES_BAR_S) || rc <= 0)
		return rc < 0 ? -1 : 0;
	*until = 0;
	return store_meta_drop(env->store, name, errp);
}
