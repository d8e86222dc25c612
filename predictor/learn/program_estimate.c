/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathers the evidence of one program and has it combined: see program_estimate.h. The arithmetic is in estimate/.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/estimate/array.h"
#include "predictor/estimate/combine.h"
#include "predictor/learn/scaling_runs.h"
#include "predictor/learn/past_errors.h"
#include "predictor/store/records.h"
#include "predictor/learn/past_accuracy.h"
#include "predictor/learn/program_estimate.h"
#include "predictor/store/evidence.h"
#include "predictor/store/probes.h"

#define PAST_MAX (2 * ESTIMATE_HISTORY_MAX) /* whole runs, and as many lower bounds */

struct evidence {
	unsigned n;
	char candidate[STORE_ESTIMATES_MAX][CONF_CANDIDATE_MAX];
	struct result *record[STORE_ESTIMATES_MAX]; /* NULL: history only */
	const struct result *source;
	struct result *base; /* the source as it was when the job was traced, where it was probed again since; else NULL */
	struct past_runs *runs; /* own_runs, or the caller's */
	struct past_runs own_runs;
	const struct program_ended *ended; /* NULL: none */
};

static void evidence_free(struct evidence *e)
{
	for (unsigned i = 0; i < e->n; i++)
		free(e->record[i]);
	free(e->base);
	past_runs_key_set(e->runs, NULL);
	past_runs_free(&e->own_runs);
}

static int candidate_add(const struct store_probe *row, void *arg)
{
	struct evidence *e = arg;

	if (row->kept && e->n < STORE_ESTIMATES_MAX)
		snprintf(e->candidate[e->n++], sizeof(e->candidate[0]), "%s", row->candidate);
	return 0;
}

/* Also the records of probes that are being made again: until then they hold. Candidates without a good record are dropped. */
static int records_read(struct store *s, const char *key, struct evidence *e, struct errbuf *errp)
{
	unsigned kept = 0;
	int rc = store_probes_each(s, key, 0, candidate_add, e, errp) < 0 ? -1 : 0;

	for (unsigned i = 0; i < e->n && rc >= 0; i++) {
		struct result *r = malloc(sizeof(*r));

		rc = r ? store_record_get(s, key, e->candidate[i], r, errp) : err_set(errp, "no memory for a record");
		if (rc != 1 || !r->ok) {
			free(r);
			continue;
		}
		memmove(e->candidate[kept], e->candidate[i], sizeof(e->candidate[0]));
		e->record[kept++] = r;
	}
	e->n = kept;
	return rc < 0 ? -1 : 0;
}

/* Ratios refer to the nodes that the job was traced on. */
static int base_read(struct store *s, const char *key, struct evidence *e, struct errbuf *errp)
{
	struct result *base = malloc(sizeof(*base));
	int rc = base ? store_base_get(s, key, base, errp) : err_set(errp, "no memory for a record");

	if (rc != 1 || !base->ok) {
		free(base);
		return rc < 0 ? -1 : 0;
	}
	/* the candidate of that name may have other nodes now */
	snprintf(base->candidate, sizeof(base->candidate), "(traced)");
	e->source = e->base = base;
	return 0;
}

/* The runs that the caller has read, if they are of the program's user and family. */
static void runs_choose(const struct daemon_env *env, const struct store_program *p, struct evidence *e)
{
	struct past_runs *read = e->ended ? e->ended->runs : NULL;

	e->own_runs = (struct past_runs){.store = env->store, .uid = p->uid, .family = p->family};
	e->runs = read && read->uid == p->uid && !strcmp(read->family, p->family) ? read : &e->own_runs;
	past_runs_key_set(e->runs, p->key);
}

static int evidence_gather(const struct daemon_env *env, const struct store_program *p, const struct program_ended *ended,
			   struct evidence *e, struct errbuf *errp)
{
	const char *also = ended ? ended->candidate : NULL;
	bool known = !also || !*also;

	*e = (struct evidence){.ended = ended};
	runs_choose(env, p, e);
	if (records_read(env->store, p->key, e, errp) < 0)
		return -1;
	for (unsigned i = 0; i < e->n; i++) {
		if (!strcmp(e->candidate[i], p->source_candidate))
			e->source = e->record[i];
		known = known || !strcmp(e->candidate[i], also);
	}
	if (base_read(env->store, p->key, e, errp) < 0)
		return -1;
	if (!known && e->n < STORE_ESTIMATES_MAX)
		snprintf(e->candidate[e->n++], sizeof(e->candidate[0]), "%s", also);
	return 0;
}

/* The probes' word on one candidate; -1 with the reason when they have none. */
static int estimate_base(struct store *s, const struct store_program *p, const struct evidence *e, unsigned i,
			 struct estimate *base, struct errbuf *why)
{
	const struct result *target = e->record[i];
	struct estimate_errors errors = {0};
	struct errbuf ignored;

	if (!target)
		return err_set(why, "%s was not probed", e->candidate[i]);
	if (!e->source)
		return err_set(why, "no probe on %s, where job %u was traced", p->source_candidate, p->source_job);
	if (strcmp(e->source->hash_hex, target->hash_hex))
		return err_set(why, "the probes on %s and %s ran different skeletons", p->source_candidate,
			       e->candidate[i]);
	/* without them the probes' own intervals decide */
	if (target != e->source && target->traces_n && target->traces[0].partial.present &&
	    past_errors_gather(s, p, e->candidate[i], &errors, &ignored) < 0)
		errors.n = 0;
	return estimate_from_probes_after(e->source, target, p->source_elapsed_s, &errors, base, why);
}

/* The latest runs, of an array more: *out is to be freed. Returns how many. */
static int runs_read(struct past_runs *runs, const char *candidate, struct store_past **out, struct errbuf *errp)
{
	struct drift drift;
	bool array = false;
	int n;

	*out = malloc(ARRAY_LOOK * sizeof(**out));
	if (!*out)
		return err_set(errp, "no memory for past runs");
	if (store_drift_get(runs->store, runs->key, candidate, &drift, errp) < 0)
		return -1;
	/* what ran before a change counts no more */
	n = past_runs_get(runs, PAST_OF_PROGRAM, candidate, drift.since, *out, PAST_MAX, errp);
	for (int i = 0; i < n; i++)
		array |= (*out)[i].array_job != 0;
	return array ? past_runs_get(runs, PAST_OF_PROGRAM, candidate, drift.since, *out, ARRAY_LOOK, errp) : n;
}

static uint32_t index_of(const struct store_past *run)
{
	return run->array_job ? run->array_task : ARRAY_NO_INDEX;
}

static void array_view_of(const struct store_past *runs, int n, struct array_view *v)
{
	struct array_run list[ARRAY_LOOK];

	for (int i = 0; i < n; i++)
		list[i] = (struct array_run){index_of(&runs[i]), runs[i].actual_s, runs[i].evidence == RUN_LOWER_BOUND};
	array_judge(list, n > 0 ? (size_t)n : 0, v);
}

/* What the index does on a candidate where too few tasks have run it does where the array was traced. */
static int array_look(struct past_runs *all, const struct store_program *p, const char *candidate, const struct store_past *runs, int n,
		      struct array_view *v, struct errbuf *errp)
{
	struct store_past *there = NULL;
	struct array_view source;
	int m;

	array_view_of(runs, n, v);
	if (v->word == ARRAY_ALIKE || v->word == ARRAY_LONGEST || !strcmp(candidate, p->source_candidate))
		return 0;
	m = runs_read(all, p->source_candidate, &there, errp);
	if (m >= 0)
		array_view_of(there, m, &source);
	free(there);
	if (m < 0)
		return -1;
	if (source.word == ARRAY_LONGEST) {
		v->word = ARRAY_UNKNOWN;
		err_set(&v->why, "the array's index matters on %s: %.0f to %.0f s", p->source_candidate, source.least_s, source.most_s);
	} else if (source.word == ARRAY_UNKNOWN || (source.word == ARRAY_ALIKE && v->most_s <= ARRAY_SPREAD_MAX * v->least_s)) {
		v->word = source.word;
		v->why = source.why;
	}
	return 0;
}

/* What has run so far. The traced run is not among it where it is the base itself. */
static int past_of(const struct store_program *p, const char *candidate, const struct store_past *runs, int n, bool based,
		   const struct array_view *v, struct estimate_past past[PAST_MAX])
{
	bool source = based && !strcmp(candidate, p->source_candidate);
	int kept = 0;

	for (int i = 0; i < n && kept < PAST_MAX; i++) {
		if (source && runs[i].jobid == p->source_job && runs[i].evidence == RUN_WHOLE)
			continue;
		if (v->word == ARRAY_LONGEST && index_of(&runs[i]) != v->longest)
			continue;
		past[kept++] = (struct estimate_past){runs[i].actual_s, runs[i].pred_s, runs[i].evidence == RUN_LOWER_BOUND};
	}
	return kept;
}

/* Every index that has run is to end within it. */
static int array_cover(const struct array_view *v, struct estimate *e, struct errbuf *why)
{
	if (v->word == ARRAY_NONE || !(v->most_s > 0))
		return 0;
	if (v->word == ARRAY_ALIKE && v->least_s < e->lo_s)
		e->lo_s = v->least_s;
	if (v->most_s > e->hi_s)
		e->hi_s = v->most_s;
	return estimate_check(e, why);
}

static int whole_count(const struct estimate_past *past, int n)
{
	int whole = 0;

	for (int i = 0; i < n; i++)
		whole += !past[i].at_least;
	return whole;
}

static double longest_bound(const struct estimate_past *past, int n)
{
	double longest = 0;

	for (int i = 0; i < n; i++)
		if (past[i].at_least && past[i].actual_s > longest)
			longest = past[i].actual_s;
	return longest;
}

/* All that is known together, with the interval that earlier ones needed. base, model: NULL where there is none. */
static int candidate_estimate(const struct estimate *base, const struct estimate *model, const struct estimate_past *past, int n,
			      const struct past_accuracy *accuracy, struct combined *all, struct store_estimate *row, struct errbuf *why)
{
	if (combine(base, model, past, (size_t)n, &accuracy->errors, all, why) < 0)
		return -1;
	row->e = all->e;
	past_accuracy_apply(accuracy, &row->e, &row->scale);
	if (estimate_check(&row->e, why) < 0)
		return row->scale > 1.05 ? err_prefix(why, "earlier predictions were off by %.1f times what they claimed",
						      row->scale) : -1;
	return 0;
}

static int estimate_keep(struct store *s, const char *key, const struct store_estimate *row, const struct combined *all,
			 struct errbuf *errp)
{
	return store_estimate_put(s, key, row, errp) < 0 ? -1
							 : store_evidence_put(s, key, row->candidate, all->part, all->n, errp);
}

static const struct scaling_runs *members_of(const struct evidence *e, unsigned i)
{
	return e->ended && !strcmp(e->ended->candidate, e->candidate[i]) ? e->ended->members : NULL;
}

static int candidate_calibrate(const struct daemon_env *env, const struct store_program *p, struct evidence *e,
			       unsigned i, int64_t now, struct program_estimates *out, struct errbuf *errp)
{
	struct estimate_past past[PAST_MAX];
	struct store_estimate row = {.updated = now};
	struct store_past *runs = NULL;
	struct past_accuracy *accuracy;
	struct errbuf why = {""}, unmodelled = {""};
	struct array_view v;
	struct estimate base, model;
	struct combined all;
	bool based = estimate_base(env->store, p, e, i, &base, &why) == 0, is_known = false;
	int n = runs_read(e->runs, e->candidate[i], &runs, errp), whole, modelled = 0;

	if (n < 0 || array_look(e->runs, p, e->candidate[i], runs, n, &v, errp) < 0) {
		free(runs);
		return -1;
	}
	based = based && (v.word == ARRAY_NONE || v.word == ARRAY_ALIKE); /* the skeleton is that of one index */
	n = past_of(p, e->candidate[i], runs, n, based, &v, past);
	free(runs);
	whole = whole_count(past, n);
	/* A program without runs or probes there gets no model now: the plugin asks the model at submission. A refused probe
	 * stays refused, as its reason tells the plugin to look no further. */
	if (v.word == ARRAY_NONE && (based || whole || e->record[i]))
		modelled = scaling_evidence(env->store, p, e->candidate[i], members_of(e, i), &model, &unmodelled);
	snprintf(row.candidate, sizeof(row.candidate), "%s", e->candidate[i]);
	if (e->record[i] && e->record[i]->has_class)
		memcpy(row.node_class, e->record[i]->class_hex, sizeof(row.node_class));
	if (v.word == ARRAY_UNKNOWN)
		why = v.why;
	else if (based || whole >= 2 || modelled > 0) {
		accuracy = past_accuracy_gather(e->runs, p->key, e->candidate[i], errp);
		if (!accuracy)
			return -1;
		is_known = candidate_estimate(based ? &base : NULL, modelled > 0 ? &model : NULL, past, n, accuracy, &all, &row, &why) == 0 &&
			   array_cover(&v, &row.e, &why) == 0;
		past_accuracy_free(accuracy);
	}
	if (is_known) {
		out->n++;
		return estimate_keep(env->store, p->key, &row, &all, errp);
	}
	if (v.word != ARRAY_UNKNOWN && !e->record[i] && whole < 2 && n > whole)
		err_set(&why, "%d run%s ended before the end, the longest after %.0f s: two that complete are needed", n - whole,
			n - whole == 1 ? " was" : "s were", longest_bound(past, n));
	err_prefix(&why, "nothing for %s", e->candidate[i]);
	/* That there is no history yet is no refusal. The traced candidate's refusal comes first: most jobs go there. */
	if ((e->record[i] || whole >= 2 || n > whole || v.word == ARRAY_UNKNOWN) &&
	    (!out->refused.text[0] || !strcmp(e->candidate[i], p->source_candidate)))
		out->refused = why;
	return store_estimate_drop(env->store, p->key, e->candidate[i], errp);
}

int program_estimate(const struct daemon_env *env, const struct store_program *p, const struct program_ended *also, int64_t now,
		     struct program_estimates *out, struct errbuf *errp)
{
	struct evidence e;
	int rv = -1;

	memset(out, 0, sizeof(*out));
	if (evidence_gather(env, p, also, &e, errp) < 0)
		goto out;
	for (unsigned t = 0; e.source && t < e.source->traces_n; t++)
		out->source_mpi_s += e.source->traces[t].mpi_s;
	for (unsigned i = 0; i < e.n; i++)
		if (candidate_calibrate(env, p, &e, i, now, out, errp) < 0)
			goto out;
	rv = 0;
out:
	evidence_free(&e);
	return rv;
}
