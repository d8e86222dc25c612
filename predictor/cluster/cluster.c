/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of jobs, and the layout of traced jobs in the store: see cluster.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/cluster/cluster.h"

static int job_compare(const void *key, const void *member)
{
	uint32_t id = *(const uint32_t *)key, other = ((const struct cluster_job *)member)->job_id;

	return (id > other) - (id < other);
}

const struct cluster_job *cluster_job_find(const struct cluster_snapshot *snap, uint32_t job_id)
{
	if (!snap->n)
		return NULL;
	return bsearch(&job_id, snap->jobs, snap->n, sizeof(*snap->jobs), job_compare);
}

static void layout_name(const char *key, char *out, size_t size)
{
	snprintf(out, size, STORE_META_LAYOUT "%s", key);
}

int cluster_layout_put(struct store *s, const char *key, const struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[320];

	layout_name(key, name, sizeof(name));
	snprintf(value, sizeof(value), "%u %u %u %" PRIu64 " %d a=%s\tq=%s", l->gid, l->tasks_per_node,
		 l->cpus_per_task, l->memory, l->exclusive, l->account, l->qos);
	return store_meta_set(s, name, value, errp);
}

int cluster_layout_get(struct store *s, const char *key, struct cluster_layout *l, struct errbuf *errp)
{
	char name[64], value[320], *tab, *account;
	int rc, exclusive, at = 0;

	memset(l, 0, sizeof(*l));
	layout_name(key, name, sizeof(name));
	rc = store_meta_get(s, name, value, sizeof(value), errp);
	if (rc <= 0)
		return rc;
	if (sscanf(value, "%u %u %u %" SCNu64 " %d %n", &l->gid, &l->tasks_per_node, &l->cpus_per_task, &l->memory,
		   &exclusive, &at) != 5 || strncmp(value + at, "a=", 2))
		return 0;
	l->exclusive = exclusive;
	account = value + at + 2;
	tab = strchr(account, '\t');
	if (!tab || strncmp(tab + 1, "q=", 2))
		return 0;
	*tab = '\0';
	snprintf(l->account, sizeof(l->account), "%s", account);
	snprintf(l->qos, sizeof(l->qos), "%s", tab + 3);
	return 1;
}

int cluster_layout_drop(struct store *s, const char *key, struct errbuf *errp)
{
	char name[64];

	layout_name(key, name, sizeof(name));
	return store_meta_drop(s, name, errp);
}

void cluster_candidate_name(const struct precedent_conf *conf, const char *partition, const char *features, char *out,
			    size_t size)
{
	const struct conf_candidate *c = conf_candidate_match(conf, partition, features);

	snprintf(out, size, "%s", c ? c->name : partition);
}
