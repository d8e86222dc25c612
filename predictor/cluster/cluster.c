/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Snapshots of jobs: see cluster.h. */
#include <stdio.h>
#include <stdlib.h>

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

void cluster_candidate_name(const struct precedent_conf *conf, const char *partition, const char *features, char *out,
			    size_t size)
{
	const struct conf_candidate *c = conf_candidate_match(conf, partition, features);

	snprintf(out, size, "%s", c ? c->name : partition);
}
