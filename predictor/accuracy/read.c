/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The predicted runs of the store with their baselines, see accuracy.h. Runs are read from the latest job id backwards.
 * Predicted runs since the requested time become samples. HISTORY_MAX older runs are read as well, because a baseline may need
 * any of them.
 */
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/duration.h"
#include "predictor/accuracy/accuracy.h"
#include "predictor/accuracy/baseline.h"

#define SAMPLES_MAX 100000
#define HISTORY_MAX 100000

struct reading {
	struct accuracy_set *set;
	int64_t since;
	struct baseline_run *runs;
	size_t *run_of; /* of each sample */
	size_t n, cap, run_of_cap;
	size_t older; /* runs that may be history only */
	bool failed;
};

static double limit_seconds(uint32_t minutes)
{
	return minutes == DURATION_UNSET || minutes == DURATION_UNLIMITED ? 0 : minutes * 60.0;
}

static unsigned candidate_index(struct accuracy_set *set, const char *name)
{
	unsigned i;

	for (i = 0; i < set->n_candidates; i++)
		if (!strcmp(set->candidates[i], name))
			return i;
	if (i == ACCURACY_CANDIDATES_MAX)
		return i - 1; /* partitions renamed hundreds of times: the last name stands for the rest */
	snprintf(set->candidates[i], CONF_CANDIDATE_MAX, "%s", name);
	return set->n_candidates++;
}

const char *accuracy_source_name(enum accuracy_source s)
{
	static const char *const names[ACCURACY_SOURCES] = {
		[ACCURACY_PROBE] = "probe", [ACCURACY_RUNS] = "runs", [ACCURACY_MODEL] = "model", [ACCURACY_SIMILAR] = "similar",
		[ACCURACY_NOTHING] = "nothing",
	};

	return names[s];
}

static enum accuracy_source source_of(const struct store_run *r)
{
	static const enum accuracy_source of[ESTIMATE_KINDS] = {
		[ESTIMATE_SOURCE] = ACCURACY_RUNS,    [ESTIMATE_SKELETON] = ACCURACY_PROBE, [ESTIMATE_HISTORY] = ACCURACY_RUNS,
		[ESTIMATE_BLEND] = ACCURACY_RUNS,     [ESTIMATE_PARTIAL] = ACCURACY_PROBE,  [ESTIMATE_FAMILY] = ACCURACY_MODEL,
		[ESTIMATE_MODEL] = ACCURACY_MODEL,    [ESTIMATE_JOINT] = ACCURACY_MODEL,
	};

	if (!(r->pred_s > 0))
		return !r->similar[0] || !strncmp(r->similar, "launch/", 7) || !strncmp(r->similar, "fresh/", 6)
			   ? ACCURACY_NOTHING : ACCURACY_SIMILAR;
	return r->pred_kind >= 0 && r->pred_kind < ESTIMATE_KINDS ? of[r->pred_kind] : ACCURACY_RUNS;
}

bool accuracy_run_counts(const struct store_run *r)
{
	return r->pred_s > 0 && r->elapsed_s > 0 && !strcmp(r->candidate, r->pred_candidate) &&
	       (!strcmp(r->end_state, "COMPLETED") || !strcmp(r->end_state, "TIMEOUT"));
}

/* No predictor says more than the request: the job would be ended there, up to a minute later. */
static double at_most(double said_s, double request_s)
{
	return request_s > 0 && said_s > request_s ? request_s : said_s;
}

void accuracy_sample_of(const struct store_run *r, struct accuracy_sample *s)
{
	memset(s, 0, sizeof(*s));
	s->source = source_of(r);
	s->jobid = r->jobid;
	s->uid = r->uid;
	s->nodes = r->nodes;
	s->extensions = r->extensions;
	memcpy(s->family, r->family, sizeof(s->family));
	snprintf(s->name, sizeof(s->name), "%.63s", r->name);
	s->submit_time = r->submit_time;
	s->end_time = r->end_time;
	s->elapsed_s = r->elapsed_s;
	s->lo_s = r->lo_s;
	s->hi_s = r->hi_s;
	s->said_s[ACCURACY_PRECEDENT] = r->pred_s;
	s->said_s[ACCURACY_REQUEST] = limit_seconds(r->user_limit_min);
	s->said_s[ACCURACY_PERFECT] = r->elapsed_s;
	s->limit_s = limit_seconds(r->limit_min);
	if (r->plan_min)
		s->plan_s = at_most(fmax(60.0 * r->plan_min, r->elapsed_s), s->said_s[ACCURACY_REQUEST]);
	s->completed = !strcmp(r->end_state, "COMPLETED");
}

static int run_add(const struct store_run *r, void *arg)
{
	struct reading *x = arg;
	struct accuracy_set *set = x->set;
	bool seen = strcmp(r->end_state, "UNKNOWN") && strcmp(r->end_state, "REQUEUED"); /* else nobody knows how long it ran */
	struct baseline_run *b;

	if (ARRAY_ROOM(x->runs, x->cap, x->n + 1) < 0)
		goto memory;
	b = &x->runs[x->n];
	*b = (struct baseline_run){.jobid = r->jobid, .uid = r->uid, .submit_time = r->submit_time,
				   .end_time = seen ? r->end_time : 0, .elapsed_s = r->elapsed_s};
	baseline_key(r->key, b->key);
	set->unseen += r->submit_time >= x->since && !strcmp(r->end_state, "UNKNOWN") && r->limit_min < r->user_limit_min &&
		       r->limit_min != DURATION_UNSET && r->user_limit_min != DURATION_UNSET;
	if (seen && r->key[0] && r->submit_time >= x->since && set->n < SAMPLES_MAX) {
		if (ARRAY_ROOM(set->ended, set->ended_cap, set->n_ended + 1) < 0)
			goto memory;
		set->ended[set->n_ended++] = (struct accuracy_ended){r->end_time, source_of(r)};
	}
	if (set->n == SAMPLES_MAX || r->submit_time < x->since)
		x->older++;
	if (r->submit_time >= x->since && accuracy_run_counts(r)) {
		if (set->n == SAMPLES_MAX) {
			set->cut = true;
		} else {
			if (ARRAY_ROOM(set->list, set->cap, set->n + 1) < 0 || ARRAY_ROOM(x->run_of, x->run_of_cap, set->n + 1) < 0)
				goto memory;
			accuracy_sample_of(r, &set->list[set->n]);
			set->list[set->n].candidate = candidate_index(set, r->candidate);
			x->run_of[set->n++] = x->n;
		}
	}
	x->n++;
	return x->older > HISTORY_MAX;
memory:
	x->failed = true;
	return 1;
}

static int baselines_add(struct reading *x, struct errbuf *errp)
{
	struct baseline *said = x->set->n ? calloc(x->n, sizeof(*said)) : NULL;
	int rv = -1;

	if (!x->set->n)
		return 0;
	if (!said)
		return err_set(errp, "no memory for %zu runs", x->n);
	if (baseline_compute(x->runs, x->n, said, errp) < 0)
		goto out;
	for (size_t i = 0; i < x->set->n; i++) {
		struct accuracy_sample *s = &x->set->list[i];
		const struct baseline *b = &said[x->run_of[i]];

		s->said_s[ACCURACY_USER_TWO] = at_most(b->user_s, s->said_s[ACCURACY_REQUEST]);
		s->said_s[ACCURACY_KEY_TWO] = at_most(b->key_s, s->said_s[ACCURACY_REQUEST]);
	}
	rv = 0;
out:
	free(said);
	return rv;
}

static int later_first(const void *a, const void *b)
{
	const struct accuracy_sample *x = a, *y = b;

	if (x->submit_time != y->submit_time)
		return x->submit_time < y->submit_time ? 1 : -1;
	return (x->jobid < y->jobid) - (x->jobid > y->jobid);
}

static int earlier_end_first(const void *a, const void *b)
{
	const struct accuracy_ended *x = a, *y = b;

	return (x->end_time > y->end_time) - (x->end_time < y->end_time);
}

int accuracy_read(struct store *s, uint32_t uid, int64_t since, struct accuracy_set *set, struct errbuf *errp)
{
	struct store_run_filter f = {.uid = uid, .finished = true};
	struct reading x = {.set = set, .since = since};
	int rv = store_runs_scan(s, &f, run_add, &x, errp);

	if (rv >= 0 && x.failed)
		rv = err_set(errp, "no memory for %zu runs", x.n);
	if (rv >= 0)
		rv = baselines_add(&x, errp);
	if (rv >= 0 && set->n) /* job ids start again one day */
		qsort(set->list, set->n, sizeof(*set->list), later_first);
	if (rv >= 0 && set->n_ended)
		qsort(set->ended, set->n_ended, sizeof(*set->ended), earlier_end_first);
	free(x.runs);
	free(x.run_of);
	return rv < 0 ? -1 : 0;
}

void accuracy_free(struct accuracy_set *set)
{
	free(set->list);
	free(set->ended);
	memset(set, 0, sizeof(*set));
}
