/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers to the commands, see answer.h.
 *   jobs      {"max": n, "all": bool}                 {"jobs": [run...]}
 *   show      {"job": id}, or {"array_job": id, "array_task": index} of a task; also retrace and forget
 *                                                     {"job": run, "program": ..., "estimates": [...], "probes": [...],
 *                                                      "traces": [...], "history": [run...], "rules": {...},
 *                                                      "past_errors": {...}, "baselines": {...}, "now": time}
 *   accuracy  {"days": n, "mine": bool, "points": n}  {"all": row, "candidates": [row...], "families": [...], "users": [...]}
 *   cost      {"days": n, "mine": bool}               {"total": row, "rows": [row...]}
 *   ping      {}                                      {"heartbeat": time of the last look, 0: none, "now": time}
 *   retrace   {"job": id}, forget {"job": id}         {"job": id, "key": ..., "name": ..., "dropped": bool}
 *   forget    {"uid": uid}                            {"uid": uid, "rows": n}
 *   retrace   {"all": true}                           {"programs": n}
 */
#include <jansson.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clean_json.h"
#include "common/duration.h"
#include "predictor/query/answer.h"
#include "predictor/query/answer_accuracy.h"
#include "predictor/query/answer_family.h"
#include "predictor/query/answer_cost.h"
#include "predictor/query/answer_evidence.h"
#include "predictor/query/answer_present.h"
#include "predictor/query/answer_similar.h"
#include "predictor/query/answer_tracing.h"
#include "predictor/query/answer_weighed.h"
#include "predictor/cluster/cluster.h"
#include "predictor/estimate/combine.h"
#include "predictor/query/query.h"
#include "predictor/spool/in_time.h"
#include "predictor/spool/spool.h"
#include "predictor/store/busy.h"
#include "predictor/store/forget.h"
#include "predictor/store/launches.h"
#include "predictor/store/limits.h"
#include "predictor/store/evidence.h"
#include "predictor/store/probes.h"
#include "predictor/store/records.h"
#include "predictor/store/spool_use.h"
#include "predictor/store/trials.h"

#define JOBS_MAX    500
#define HISTORY_MAX 20
#define TRACES_MAX  64

static json_t *fault(const char *text)
{
	return json_pack("{s:s}", "error", text);
}

static json_t *minutes_json(uint32_t minutes)
{
	if (minutes == DURATION_UNSET)
		return json_null();
	return minutes == DURATION_UNLIMITED ? json_string("UNLIMITED") : json_integer(minutes);
}

static json_t *prediction_json(const struct store_run *r)
{
	json_t *o = json_pack("{s:o, s:f, s:f, s:f}", "candidate", clean_json(r->pred_candidate), "seconds", r->pred_s, "lo_s",
			      r->lo_s, "hi_s", r->hi_s);

	if (o && r->pred_kind >= 0 && r->pred_kind < ESTIMATE_KINDS)
		json_object_set_new(o, "kind", json_string(estimate_kind_name((enum estimate_kind)r->pred_kind)));
	if (o && r->pred_scale > 0)
		json_object_set_new(o, "scale", json_real(r->pred_scale));
	return o;
}

static json_t *run_json(const struct store_run *r)
{
	json_t *o = json_object();

	json_object_set_new(o, "job", json_integer(r->jobid));
	json_object_set_new(o, "name", clean_json(r->name));
	json_object_set_new(o, "uid", json_integer(r->uid));
	json_object_set_new(o, "key", json_string(r->key));
	json_object_set_new(o, "family", json_string(r->family));
	json_object_set_new(o, "act", json_string(act_name(r->act)));
	json_object_set_new(o, "mode", json_string(mode_name(r->mode)));
	json_object_set_new(o, "partition", clean_json(r->partition));
	json_object_set_new(o, "candidate", clean_json(r->candidate));
	json_object_set_new(o, "nodes", json_integer(r->nodes));
	json_object_set_new(o, "tasks", json_integer(r->tasks));
	json_object_set_new(o, "user_limit_min", minutes_json(r->user_limit_min));
	json_object_set_new(o, "limit_min", minutes_json(r->limit_min));
	json_object_set_new(o, "plan_min", r->plan_min ? json_integer(r->plan_min) : json_null());
	json_object_set_new(o, "submit", json_integer(r->submit_time));
	json_object_set_new(o, "start", json_integer(r->start_time));
	json_object_set_new(o, "end", json_integer(r->end_time));
	json_object_set_new(o, "elapsed_s", json_real(r->elapsed_s));
	json_object_set_new(o, "state", json_string(r->end_state));
	json_object_set_new(o, "extensions", json_integer(r->extensions));
	json_object_set_new(o, "suspended_s", json_real(r->suspended_s));
	json_object_set_new(o, "restarts", json_integer(r->restarts));
	if (r->array_job)
		json_object_update_new(o, json_pack("{s:I, s:I}", "array_job", (json_int_t)r->array_job, "array_task",
						    (json_int_t)r->array_task));
	if (r->pred_s > 0)
		json_object_set_new(o, "predicted", prediction_json(r));
	if (r->weighed[0])
		json_object_set_new(o, "weighed", answer_weighed(r->weighed));
	json_object_set_new(o, "similar", answer_similar(r->similar)); /* NULL is not set */
	answer_similar_parts(o, r->similar);
	return o;
}

static json_t *program_json(const struct store_program *p)
{
	return json_pack("{s:s, s:s, s:o, s:o, s:I, s:o, s:f, s:I, s:f, s:I, s:I, s:I, s:I, s:I}", "key", p->key, "state",
			 program_state_name(p->state), "reason", clean_json(p->reason), "name", clean_json(p->name), "source_job",
			 (json_int_t)p->source_job, "source_candidate", clean_json(p->source_candidate),
			 "source_elapsed_s", p->source_elapsed_s, "traces", (json_int_t)p->n_traces, "mpi_s", p->mpi_s,
			 "nodes", (json_int_t)p->nodes, "tasks", (json_int_t)p->tasks, "created",
			 (json_int_t)p->created, "updated", (json_int_t)p->updated, "retrace_at",
			 (json_int_t)p->retrace_at);
}

/* What the estimate was made of. */
static json_t *evidence_json(struct store *s, const char *key, const char *candidate)
{
	struct combine_part part[COMBINE_PARTS];
	int n = store_evidence_get(s, key, candidate, part, COMBINE_PARTS, NULL);
	json_t *list = json_array();

	for (int i = 0; i < n; i++) {
		const struct estimate *e = &part[i].e;
		json_t *o = json_pack("{s:s, s:f, s:f, s:f, s:I, s:f}", "kind", estimate_kind_name(e->kind), "seconds", e->mean_s, "lo_s",
				      e->lo_s, "hi_s", e->hi_s, "runs", (json_int_t)e->n, "weight", part[i].weight);

		if (o && part[i].programs)
			json_object_update_new(o, json_pack("{s:f, s:I}", "past_error", part[i].error, "programs",
							    (json_int_t)part[i].programs));
		json_array_append_new(list, o);
	}
	return list;
}

static json_t *estimate_json(struct store *s, const char *key, const struct store_estimate *e)
{
	return json_pack("{s:o, s:f, s:f, s:f, s:s, s:I, s:s, s:I, s:b, s:f, s:o}", "candidate", clean_json(e->candidate), "seconds",
			 e->e.mean_s, "lo_s", e->e.lo_s, "hi_s", e->e.hi_s, "kind", estimate_kind_name(e->e.kind), "runs",
			 (json_int_t)e->e.n, "node_class", e->node_class, "updated", (json_int_t)e->updated, "stale",
			 e->stale, "scale", e->scale > 0 ? e->scale : 1.0, "evidence", evidence_json(s, key, e->candidate));
}

/* ---- jobs ---- */

struct run_list {
	const struct answer_env *env;
	json_t *array;
};

static int run_add(const struct store_run *r, void *arg)
{
	struct run_list *l = arg;
	struct store_program p;
	json_t *o = run_json(r);

	answer_present(l->env, o, r);
	if (r->key[0] && (!r->end_state[0] || r->pred_s <= 0))
		if (store_program_get(l->env->store, r->key, &p, NULL) == 1)
			json_object_set_new(o, "program",
					    json_pack("{s:s, s:o, s:I, s:I}", "state", program_state_name(p.state), "reason",
						      clean_json(p.reason), "source_job", (json_int_t)p.source_job, "traces",
						      (json_int_t)p.n_traces));
	json_array_append_new(l->array, o);
	return 0;
}

static json_t *answer_jobs(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	json_int_t max = json_integer_value(json_object_get(request, "max"));
	struct store_run_filter f = {.uid = env->uid, .max = max > 0 && max < JOBS_MAX ? (unsigned)max : JOBS_MAX};
	struct run_list l = {env, json_array()};

	if (env->admin && json_is_true(json_object_get(request, "all")))
		f.uid = STORE_ALL_USERS;
	if (store_runs_each(env->store, &f, run_add, &l, errp) < 0) {
		json_decref(l.array);
		return NULL;
	}
	return json_pack("{s:i, s:o}", "precedent", 1, "jobs", l.array);
}

/* ---- one job ---- */

/* The run that the request names, if the asking user may see it. 0, or -1 with the reason. */
static int run_of_request(const struct answer_env *env, json_t *request, struct store_run *r, struct errbuf *errp)
{
	const json_t *index = json_object_get(request, "array_task");
	json_int_t job = json_integer_value(json_object_get(request, index ? "array_job" : "job")), task = json_integer_value(index);
	char only[256], waits[64] = "";
	int rc;

	if (job <= 0 || job > UINT32_MAX || task < 0 || task > UINT32_MAX || (index && !json_is_integer(index)))
		return err_set(errp, "no job was named");
	rc = index ? store_run_get_task(env->store, (uint32_t)job, (uint32_t)task, r, errp)
		   : store_run_get(env->store, (uint32_t)job, r, errp);
	if (rc < 0)
		return -1;
	if (rc && (env->admin || r->uid == env->uid))
		return 0;
	only_text(env->conf, only, sizeof(only));
	if (index)
		snprintf(waits, sizeof(waits), ": index %u has not started, or the job", (unsigned)task);
	return err_set(errp, "job %u%s is not known to Precedent%s%s%s", (unsigned)job, waits, env->admin ? "" : ", or not yours",
		       *only ? "; it looks at jobs of these only: " : "", only);
}

static json_t *record_json(struct store *s, const struct store_probe *p)
{
	struct result *r = malloc(sizeof(*r));
	json_t *o = NULL, *traces, *kernels;

	if (!r || !p->kept || store_record_get(s, p->key, p->candidate, r, NULL) != 1)
		goto out;
	traces = json_array();
	kernels = json_object();
	for (unsigned i = 0; i < r->traces_n; i++) {
		const struct result_trace *t = &r->traces[i];

		json_array_append_new(traces, json_pack("{s:f, s:f, s:f, s:f, s:f, s:I, s:f}", "mpi_s", t->mpi_s, "skel_s",
							t->skel_s, "lo_s", t->lo_s, "hi_s", t->hi_s, "ran_s", t->ran_s,
							"events", (json_int_t)t->events, "confidence", t->confidence));
		if (t->compute.present)
			json_object_set_new(json_array_get(traces, i), "compute",
					    json_pack("{s:f, s:f}", "traced_s", t->compute.traced_s, "skel_s", t->compute.skel_s));
		if (t->partial.present)
			json_object_set_new(json_array_get(traces, i), "partial",
					    json_pack("{s:f, s:f, s:f, s:f}", "whole_s", t->partial.whole_s, "lo_s", t->partial.lo_s,
						      "hi_s", t->partial.hi_s, "ran_s", t->partial.ran_s));
	}
	for (unsigned i = 0; i < r->kernels_n; i++)
		json_object_set_new(kernels, r->kernels[i].name, json_real(r->kernels[i].ns_per_unit));
	o = json_pack("{s:b, s:s, s:s, s:s, s:f, s:s, s:s, s:o, s:o}", "ok", r->ok, "reason", r->reason, "node_class",
		      r->class_hex, "node", r->class_text, "startup_s", r->startup_s, "hash", r->hash_hex,
		      "interpreted", r->interpreted, "traces", traces, "kernels", kernels);
	if (o && r->unpartial[0])
		json_object_set_new(o, "unpartial", json_string(r->unpartial));
	if (o && r->unskeleton[0])
		json_object_set_new(o, "unskeleton", json_string(r->unskeleton));
out:
	free(r);
	return o ? o : json_null();
}

struct probe_list {
	struct store *store;
	json_t *list;
};

static int probe_add(const struct store_probe *p, void *arg)
{
	struct probe_list *to = arg;
	json_t *o = json_pack("{s:o, s:I, s:s, s:I, s:o, s:I, s:f}", "candidate", clean_json(p->candidate), "job",
			      (json_int_t)p->jobid, "state", probe_state_name(p->state), "tries", (json_int_t)p->tries,
			      "reason", clean_json(p->reason), "not_before", (json_int_t)p->not_before, "cost_node_s",
			      p->cost_node_s);

	json_object_set_new(o, "record", record_json(to->store, p));
	json_array_append_new(to->list, o);
	return 0;
}

static int history_add(const struct store_run *r, void *arg)
{
	json_array_append_new(arg, run_json(r));
	return 0;
}

struct traces_look {
	char spool_dir[PATH_MAX];
	uint32_t uid, job;
	int n;
	char names[TRACES_MAX][SPOOL_NAME_SIZE];
};

static void traces_read(void *arg)
{
	struct traces_look *l = arg;
	int dirfd = spool_job_open(l->spool_dir, l->uid, l->job, NULL, NULL);

	if (dirfd < 0)
		return;
	l->n = spool_traces(dirfd, l->uid, l->names, TRACES_MAX, NULL);
	close(dirfd);
}

/* An empty list if the spool does not answer. */
static json_t *traces_json(const struct answer_env *env, uint32_t uid, uint32_t job)
{
	struct traces_look *l = calloc(1, sizeof(*l));
	json_t *list = json_array();

	if (!l)
		return list;
	*l = (struct traces_look){.uid = uid, .job = job};
	snprintf(l->spool_dir, sizeof(l->spool_dir), "%s", env->conf->spool_dir);
	spool_in_time(traces_read, l, sizeof(*l), env->conf->spool_dir, NULL);
	for (int i = 0; i < l->n && i < TRACES_MAX; i++)
		json_array_append_new(list, json_string(l->names[i]));
	free(l);
	return list;
}

static int show_program(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct store_run_filter f = {.uid = r->uid, .key = r->key, .finished = true, .max = HISTORY_MAX};
	json_t *estimates = json_array(), *probes = json_array(), *history = json_array();
	struct store_run source = {0};
	struct store_lookup found;
	int rc;

	json_object_set_new(reply, "estimates", estimates);
	json_object_set_new(reply, "probes", probes);
	json_object_set_new(reply, "history", history);
	if (!r->key[0])
		return 0;
	rc = store_lookup(env->store, r->key, &found, errp);
	if (rc < 0 || store_runs_each(env->store, &f, history_add, history, errp) < 0)
		return -1;
	if (!rc)
		return 0;
	json_object_set_new(reply, "program", program_json(&found.program));
	for (unsigned i = 0; i < found.n_estimates; i++)
		json_array_append_new(estimates, estimate_json(env->store, r->key, &found.estimates[i]));
	if (store_probes_each(env->store, r->key, 0, probe_add, &(struct probe_list){env->store, probes}, errp) < 0 ||
	    store_run_get(env->store, found.program.source_job, &source, errp) < 0)
		return -1;
	if (!strcmp(source.key, r->key) && source.uid == r->uid)
		json_object_update_new(json_object_get(reply, "program"),
				       json_pack("{s:I, s:I}", "source_submitted", (json_int_t)source.submit_time, "source_ended",
						 (json_int_t)source.end_time));
	json_object_set_new(reply, "spool",
			    json_sprintf("%s/%u/%u", env->conf->spool_dir, found.program.uid, found.program.source_job));
	json_object_set_new(reply, "traces", traces_json(env, found.program.uid, found.program.source_job));
	return 0;
}

/* What became of the quota of the job's user, as far as precedentd had to do with it. */
static int show_quota(const struct answer_env *env, const struct store_run *r, json_t *reply, struct errbuf *errp)
{
	struct spool_use use;
	int64_t when;
	int rc = store_spool_use_get(env->store, r->uid, &use, &when, errp);

	if (rc == 1)
		json_object_set_new(reply, "quota",
				    json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:b}", "quota", (json_int_t)env->conf->spool_quota, "when",
					      (json_int_t)when, "bytes", (json_int_t)use.bytes, "files", (json_int_t)use.files,
					      "removed_bytes", (json_int_t)use.removed_bytes, "removed_files",
					      (json_int_t)use.removed_files, "over",
					      use.over && env->now - when <= STORE_SPOOL_OVER_S));
	return rc < 0 ? -1 : 0;
}

static int show_limit_rules(const struct answer_env *env, json_t *reply, struct errbuf *errp)
{
	char text[1024];
	int rc = store_limits_note_get(env->store, STORE_LIMITS_RULES, text, sizeof(text), errp);

	if (rc == 1)
		json_object_set_new(reply, "limit_rules", clean_json(text));
	return rc < 0 ? -1 : 0;
}

static json_t *answer_show(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	struct store_run r;
	json_t *reply, *errors = NULL, *baselines = NULL;

	if (run_of_request(env, request, &r, errp) < 0)
		return NULL;
	errors = answer_past_errors(env, &r, errp);
	baselines = errors ? answer_baselines(env, &r, errp) : NULL;
	if (!baselines) {
		json_decref(errors);
		return NULL;
	}
	reply = json_pack("{s:i, s:o, s:{s:f, s:I, s:s, s:f, s:f}}", "precedent", 1, "job", run_json(&r), "rules", "margin",
			  env->conf->margin, "min_limit_min", (json_int_t)env->conf->min_limit_min, "limit_guard", limit_guard_name(env->conf->limit_guard), "probe_budget",
			  env->conf->probe_budget, "probe_seconds", env->conf->probe_seconds);
	json_object_set_new(reply, "now", json_integer(env->now));
	answer_present(env, json_object_get(reply, "job"), &r);
	json_object_set_new(reply, "past_errors", errors);
	json_object_set_new(reply, "baselines", baselines);
	if (show_program(env, &r, reply, errp) < 0 || answer_family(env, &r, reply, errp) < 0 ||
	    answer_tracing(env, &r, reply, errp) < 0 || show_quota(env, &r, reply, errp) < 0 ||
	    show_limit_rules(env, reply, errp) < 0) {
		json_decref(reply);
		return NULL;
	}
	return reply;
}

/* ---- retrace and forget ---- */

/* Estimates and probes go: the plugin predicts as long as there is an estimate. */
static int program_renew(const struct answer_env *env, struct store_program *p, struct errbuf *errp)
{
	p->state = PROGRAM_NEW;
	p->reason[0] = '\0';
	p->retrace_at = env->now;
	p->updated = env->now;
	return store_program_forget(env->store, p->key, errp) < 0 ? -1 : store_program_put(env->store, p, errp);
}

static int program_retrace(const struct answer_env *env, const struct store_run *r, struct errbuf *errp)
{
	struct store_tracing tracing;
	struct store_program p;
	int known = store_program_get(env->store, r->key, &p, errp);

	if (known < 0 || store_tracing_get(env->store, &tracing, errp) < 0)
		return -1;
	if (tracing.state == TRACING_STOPPED)
		return err_set(errp, "tracing is stopped on this cluster; nothing was changed (precedentd(8), TRACED JOBS THAT FAIL)");
	if (known && p.state == PROGRAM_BUILDING)
		return err_set(errp, "job %u is being probed just now; see precedent show %u", p.source_job, r->jobid);
	if (store_begin(env->store, errp) < 0)
		return -1;
	/* Unknown programs are traced anyway, unless a guard keeps them from it, or keys of their kind have not come again. */
	if (store_trial_lift(env->store, store_trial_name(r->kin, r->key), env->now, errp) < 0 ||
	    store_kind_add(env->store, store_kind_name(r->uid, r->name, r->family), true, r->uid, env->now, errp) < 0 ||
	    (known && program_renew(env, &p, errp) < 0) || store_commit(env->store, errp) < 0) {
		store_rollback(env->store);
		return -1;
	}
	return 0;
}

/* Each may make many rows of the store go and come, and a job be traced: so many in an hour are enough for a user's own hand. */
#define CHANGES_MAX 60
#define CHANGES_S   3600
#define META_ASKED  "asked." /* and the uid: when the hour began, and the requests since then */

static int change_count(const struct answer_env *env, struct errbuf *errp)
{
	char name[32], text[48];
	long long since = 0;
	unsigned n = 0;

	if (env->admin)
		return 0;
	snprintf(name, sizeof(name), META_ASKED "%u", env->uid);
	if (store_meta_get(env->store, name, text, sizeof(text), errp) < 0)
		return -1;
	if (sscanf(text, "%lld %u", &since, &n) != 2 || since > env->now || env->now - since >= CHANGES_S) {
		since = env->now;
		n = 0;
	}
	if (n >= CHANGES_MAX)
		return err_set(errp, "uid %u has sent %d requests to retrace or forget within an hour; nothing was changed: try again in"
				     " %lld minutes, or ask an administrator", env->uid, CHANGES_MAX,
			       (since + CHANGES_S - (long long)env->now + 59) / 60);
	snprintf(text, sizeof(text), "%lld %u", since, n + 1);
	return store_meta_set(env->store, name, text, errp);
}

static json_t *answer_change(const struct answer_env *env, json_t *request, bool forget, struct errbuf *errp)
{
	struct store_run r;
	int rc;

	if (run_of_request(env, request, &r, errp) < 0 || change_count(env, errp) < 0)
		return NULL;
	if (!r.key[0]) {
		err_set(errp, "job %u has no predictions: only batch scripts are traced, not srun, salloc or heterogeneous jobs", r.jobid);
		return NULL;
	}
	rc = forget ? store_key_forget(env->store, r.key, r.uid, env->now, errp) : program_retrace(env, &r, errp);
	if (rc < 0)
		return NULL;
	return json_pack("{s:i, s:I, s:s, s:o, s:I}", "precedent", 1, "job", (json_int_t)r.jobid, "key", r.key, "name",
			 clean_json(r.name), "dropped", (json_int_t)rc);
}

static json_t *answer_forget_user(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	const json_t *asked = json_object_get(request, "uid");
	json_int_t uid = json_integer_value(asked);
	int rows;

	if (!env->admin) {
		err_set(errp, "only root and SlurmUser may forget a user");
		return NULL;
	}
	if (!json_is_integer(asked) || uid < 0 || uid > UINT32_MAX) {
		err_set(errp, "no user was named");
		return NULL;
	}
	rows = store_user_forget(env->store, (uint32_t)uid, env->now, errp);
	return rows < 0 ? NULL : json_pack("{s:i, s:I, s:i}", "precedent", 1, "uid", uid, "rows", rows);
}

static json_t *answer_ping(const struct answer_env *env, struct errbuf *errp)
{
	int64_t heartbeat;

	if (store_heartbeat_get(env->store, &heartbeat, errp) < 0)
		return NULL;
	return json_pack("{s:i, s:I, s:I}", "precedent", 1, "heartbeat", (json_int_t)heartbeat, "now", (json_int_t)env->now);
}

/* ---- requests ---- */

static json_t *request_answer(const struct answer_env *env, json_t *request, struct errbuf *errp)
{
	const char *verb = json_string_value(json_object_get(request, "verb"));

	if (json_integer_value(json_object_get(request, "precedent")) != 1 || !verb) {
		err_set(errp, "not a request that this precedentd (version " PRECEDENT_VERSION ") understands");
		return NULL;
	}
	if (!strcmp(verb, "jobs"))
		return answer_jobs(env, request, errp);
	if (!strcmp(verb, "show"))
		return answer_show(env, request, errp);
	if (!strcmp(verb, "accuracy"))
		return answer_accuracy(env, request, errp);
	if (!strcmp(verb, "ping"))
		return answer_ping(env, errp);
	if (!strcmp(verb, "cost"))
		return answer_cost(env, request, errp);
	if (!strcmp(verb, "retrace") && json_is_true(json_object_get(request, "all")))
		return answer_resume(env, errp);
	if (!strcmp(verb, "forget") && json_object_get(request, "uid"))
		return answer_forget_user(env, request, errp);
	if (!strcmp(verb, "retrace") || !strcmp(verb, "forget"))
		return answer_change(env, request, verb[0] == 'f', errp);
	err_set(errp, "unknown request \"%.20s\": is precedentd (version " PRECEDENT_VERSION ") older than this command?",
		verb);
	return NULL;
}

char *answer_make(const struct answer_env *env, const char *request, size_t len)
{
	json_t *asked = json_loadb(request, len, JSON_REJECT_DUPLICATES, NULL), *reply;
	struct errbuf why = {""};
	char *text;

	reply = json_is_object(asked) ? request_answer(env, asked, &why) : NULL;
	if (!reply)
		reply = fault(json_is_object(asked) ? why.text : "the request is not a JSON object");
	text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(10));
	if (text && strlen(text) > QUERY_MAX_PAYLOAD) {
		free(text);
		json_decref(reply);
		reply = fault("the answer is too long; ask for less");
		text = json_dumps(reply, JSON_COMPACT | JSON_REAL_PRECISION(10));
	}
	json_decref(reply);
	json_decref(asked);
	return text;
}
