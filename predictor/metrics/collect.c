/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the metrics read of the store, see metrics.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/metrics/metrics.h"
#include "predictor/store/keep.h"
#include "predictor/store/limits.h"

static int probe_count(const struct store_probe *p, void *arg)
{
	struct metrics_stored *out = arg;

	if ((unsigned)p->state <= PROBE_FAILED)
		out->probes[p->state]++;
	return 0;
}

static int tracing_read(struct store *s, int64_t now, struct metrics_stored *out, struct errbuf *errp)
{
	struct store_trial_tally n;
	struct store_tracing t;
	char why[16];
	int stopped;

	if (store_tracing_get(s, &t, errp) < 0 || store_trial_count(s, now - TRIAL_WINDOW_S, &n, errp) < 0)
		return -1;
	stopped = store_limits_note_get(s, STORE_LIMITS_STOPPED, why, sizeof(why), errp);
	if (stopped < 0)
		return -1;
	out->limits_stopped = stopped;
	out->tracing = t.state;
	memcpy(out->pairs, n.pairs, sizeof(out->pairs));
	return 0;
}

/* The rows of all runs and of each candidate of the configuration, or, without candidates, of each place with runs. */
static int rows_fill(const struct accuracy_set *set, const struct precedent_conf *conf, struct metrics_stored *out,
		     struct errbuf *errp)
{
	const struct accuracy_sample **list = malloc((set->n ? set->n : 1) * sizeof(*list));
	size_t names;
	int rv = -1;

	if (!list)
		return err_set(errp, "no memory for %zu runs", set->n);
	for (size_t i = 0; i < set->n; i++)
		list[i] = &set->list[i];
	if (accuracy_row_make(list, set->n, &out->row, errp) < 0)
		goto out;
	names = conf->n_candidates ? conf->n_candidates : set->n_candidates;
	for (size_t c = 0; c < names && c < CONF_CANDIDATES_MAX; c++) {
		const char *name = conf->n_candidates ? conf->candidates[c].name : set->candidates[c];
		size_t n = 0;

		for (size_t i = 0; i < set->n; i++)
			if (!strcmp(set->candidates[set->list[i].candidate], name))
				list[n++] = &set->list[i];
		snprintf(out->candidates[c].name, sizeof(out->candidates[c].name), "%s", name);
		if (accuracy_row_make(list, n, &out->candidates[c].row, errp) < 0)
			goto out;
		out->n_candidates++;
	}
	rv = 0;
out:
	free(list);
	return rv;
}

int metrics_collect(struct store *s, const struct precedent_conf *conf, int64_t now, struct metrics_stored *out,
		    struct errbuf *errp)
{
	struct accuracy_set set = {0};
	int rv = -1;

	memset(out, 0, sizeof(*out));
	if (store_counts(s, &out->counts, errp) < 0 || store_heartbeat_get(s, &out->heartbeat, errp) < 0 ||
	    store_probes_each(s, NULL, 0, probe_count, out, errp) < 0 ||
	    store_cost_probes(s, &out->probe_node_s, errp) < 0 || tracing_read(s, now, out, errp) < 0 ||
	    accuracy_read(s, STORE_ALL_USERS, now - METRICS_DAYS * 86400, &set, errp) < 0)
		goto out;
	rv = rows_fill(&set, conf, out, errp);
out:
	accuracy_free(&set);
	return rv;
}
