/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See present.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/cluster/cluster.h"
#include "predictor/store/past.h"
#include "predictor/store/present.h"

static const struct store_estimate *estimate_at(const struct store_lookup *known, const char *candidate)
{
	for (unsigned i = 0; i < known->n_estimates; i++)
		if (!strcmp(known->estimates[i].candidate, candidate))
			return estimate_check(&known->estimates[i].e, NULL) == 0 ? &known->estimates[i] : NULL;
	return NULL;
}

/* As a limit of the job must hold in each of them, all need an estimate, and the greatest upper bound counts. */
static const struct store_estimate *slowest(const struct store_lookup *known, const struct precedent_conf *conf,
					    const struct store_waiting *job)
{
	const struct store_estimate *worst = NULL;
	char name[CONF_NAME_MAX];

	for (const char *p = job->partitions; *p;) {
		size_t n = strcspn(p, ",");
		const struct store_estimate *e;

		if (!n || n >= sizeof(name))
			return NULL;
		memcpy(name, p, n);
		name[n] = '\0';
		e = estimate_at(known, cluster_candidate(conf, name, job->features));
		if (!e)
			return NULL;
		if (!worst || e->e.hi_s > worst->e.hi_s)
			worst = e;
		p += n + (p[n] == ',');
	}
	return worst;
}

static int index_matters(struct store *s, const char *key, struct errbuf *err)
{
	struct store_array_run *runs = malloc(STORE_ARRAY_RUNS * sizeof(*runs));
	struct array_view view;
	const char *candidate;
	bool all;
	int n = runs ? store_array_runs(s, key, runs, STORE_ARRAY_RUNS, &all, err) : err_set(err, "no memory for an array's runs");
	int rv = n < 0 ? -1 : all && store_array_depends(runs, (size_t)n, &view, &candidate);

	free(runs);
	return rv;
}

int store_present(struct store *s, const struct precedent_conf *conf, const struct store_waiting *job, int64_t now,
		  struct store_estimate *out, struct errbuf *err)
{
	struct store_lookup *known = malloc(sizeof(*known));
	const struct store_estimate *e = NULL;
	int rc = known ? store_lookup(s, job->key, known, err) : err_set(err, "no memory for a program's estimates");

	if (rc > 0 && known->program.uid == job->uid && !(known->program.retrace_at && now >= known->program.retrace_at))
		e = slowest(known, conf, job);
	if (e)
		*out = *e;
	free(known);
	if (rc < 0 || !e)
		return rc < 0 ? -1 : 0;
	rc = job->array ? index_matters(s, job->key, err) : 0;
	return rc < 0 ? -1 : !rc;
}
