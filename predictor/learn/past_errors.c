/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Past error of each kind of probe: see past_errors.h. */
#include <stdlib.h>
#include <string.h>

#include "predictor/learn/past_errors.h"
#include "predictor/store/probes.h"
#include "predictor/store/runs.h"
#include "predictor/store/records.h"

struct members {
	struct store_program list[PAST_ERRORS_PROGRAMS];
	size_t n;
};

static int member_add(const struct store_program *p, void *arg)
{
	struct members *m = arg;

	m->list[m->n++] = *p;
	return m->n == PAST_ERRORS_PROGRAMS;
}

/* 1 with the record of a good probe, 0 without one. */
static int good_record_get(struct store *s, const char *key, const char *candidate, struct result *out, struct errbuf *err)
{
	struct store_probe row;
	int rc = store_probe_get(s, key, candidate, &row, err);

	if (rc <= 0 || row.state != PROBE_DONE)
		return rc < 0 ? -1 : 0;
	rc = store_record_get(s, key, candidate, out, err);
	return rc == 1 ? out->ok : rc;
}

/* Runs of one program compared with either probe alone. */
static int member_compare(struct store *s, const struct store_program *p, const char *candidate, struct result *source,
			  struct result *target, struct estimate_errors *out, struct errbuf *err)
{
	struct estimate_past past[ESTIMATE_HISTORY_MAX];
	struct estimate skeleton, partial;
	int n, rc;

	n = store_runs_past(s, p->key, candidate, past, ESTIMATE_HISTORY_MAX, err);
	if (n <= 0)
		return n;
	rc = good_record_get(s, p->key, p->source_candidate, source, err);
	if (rc > 0)
		rc = good_record_get(s, p->key, candidate, target, err);
	if (rc <= 0)
		return rc;
	if (estimate_by_kind(source, target, p->source_elapsed_s, &skeleton, &partial) == 0)
		estimate_errors_add(out, skeleton.mean_s, partial.mean_s, past, (size_t)n);
	return 0;
}

int past_errors_gather(struct store *s, const struct store_program *p, const char *candidate, struct estimate_errors *out,
		       struct errbuf *err)
{
	struct store_program_filter f = {.uid = p->uid, .family = p->family, .max = PAST_ERRORS_PROGRAMS};
	struct members *m = calloc(1, sizeof(*m));
	struct result *pair = calloc(2, sizeof(*pair));
	int rv = -1;

	memset(out, 0, sizeof(*out));
	if (!m || !pair) {
		err_set(err, "no memory for the past errors of a family");
		goto out;
	}
	if (store_programs_each(s, &f, member_add, m, err) < 0)
		goto out;
	for (size_t i = 0; i < m->n; i++)
		if (strcmp(m->list[i].source_candidate, candidate) &&
		    member_compare(s, &m->list[i], candidate, &pair[0], &pair[1], out, err) < 0)
			goto out;
	rv = 0;
out:
	free(m);
	free(pair);
	return rv;
}
