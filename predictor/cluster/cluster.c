/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of jobs: see cluster.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/clean.h"
#include "predictor/cluster/cluster.h"

static int job_compare(const void *key, const void *member)
{
	uint32_t id = *(const uint32_t *)key, other = ((const struct cluster_job *)member)->job_id;

	return (id > other) - (id < other);
}

int cluster_comments_parse(struct cluster_comments *c, struct cluster_job *jobs, size_t n, struct errbuf *errp)
{
	size_t used = 0;

	if (n > c->room) {
		struct job_comment *more = realloc(c->list, n * sizeof(*more));

		if (!more)
			return err_set(errp, "no memory for the comments of %zu jobs", n);
		c->list = more;
		c->room = n;
	}
	for (size_t i = 0; i < n; i++) {
		bool valid = jobs[i].admin_comment[0] && comment_parse(jobs[i].admin_comment, &c->list[used]) == 0;

		jobs[i].ours = valid ? &c->list[used++] : NULL;
	}
	return 0;
}

const struct cluster_job *cluster_job_find(const struct cluster_snapshot *snap, uint32_t job_id)
{
	if (!snap->n)
		return NULL;
	return bsearch(&job_id, snap->jobs, snap->n, sizeof(*snap->jobs), job_compare);
}

const char *cluster_candidate(const struct precedent_conf *conf, const char *partition, const char *features)
{
	const struct conf_candidate *c = conf_candidate_match(conf, partition, features);

	return c ? c->name : partition;
}

void cluster_candidate_name(const struct precedent_conf *conf, const char *partition, const char *features, char *out,
			    size_t size)
{
	snprintf(out, size, "%s", cluster_candidate(conf, partition, features));
}

int cluster_layout_of(const struct cluster_job *job, struct cluster_layout *l, struct errbuf *errp)
{
	*l = (struct cluster_layout){.gid = job->gid, .tasks_per_node = job->tasks_per_node, .cpus_per_task = job->cpus_per_task,
				     .memory = job->memory, .exclusive = job->exclusive};
	snprintf(l->account, sizeof(l->account), "%s", job->account);
	snprintf(l->qos, sizeof(l->qos), "%s", job->qos);
	for (int i = 0; i < CLUSTER_WANTS; i++) {
		const char *want = job->want[i] ? job->want[i] : "";

		if (strlen(want) >= CLUSTER_WANT_MAX || !clean_is_line(want))
			return err_set(errp, "its generic resources or licences are too long a text, or one with control characters, for a probe to repeat");
		memcpy(l->want[i], want, strlen(want) + 1);
	}
	return 0;
}
