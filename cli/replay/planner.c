/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See planner.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "cli/replay/planner.h"
#include "common/array.h"
#include "common/duration.h"
#include "common/hash_table.h"
#include "plugin/decide.h"
#include "predictor/cluster/cluster.h"
#include "predictor/cluster/daemon_env.h"
#include "predictor/learn/drift_family.h"
#include "predictor/learn/drift_follow.h"
#include "predictor/learn/family_follow.h"
#include "predictor/learn/param_family_renew.h"
#include "predictor/learn/program_renew.h"
#include "predictor/learn/scaling_follow.h"
#include "predictor/learn/similar_follow.h"
#include "predictor/replay/array_decisions.h"
#include "predictor/replay/array_indexes.h"
#include "predictor/store/present.h"
#include "predictor/store/runs.h"

#define NO_TRACE "the accounting has no trace of it" /* why a program has no probes here */

struct last_two {
	uint32_t uid;
	int64_t run_s[2]; /* the latest first; 0: none */
};

/* Runs that have ended and were not learned from: of a kin, or of a program without numbers. */
struct untaught {
	char id[IDENTITY_KEY_LEN + 1];
	uint32_t *job; /* owned; in the order of their ends */
	uint32_t n, room;
	int64_t looked; /* when waiting tasks were planned anew */
	size_t waits;	/* then the first that waited; tasks start in this order */
};

/* A row that was written or read lately: most runs are learned from soon after their end. */
#define ROWS_KEPT 1024 /* a megabyte */
struct row_kept {
	size_t job_and_1; /* 0: none */
	struct store_run row;
};

struct planner {
	struct planner_conf conf;
	const struct sim_outcome *outcomes;
	struct store *store; /* NULL: the plan needs none */
	struct decide_room *room;
	struct decide_reads reads;
	struct places places; /* the stream's partitions */
	struct daemon_env env;
	struct job_comment **comment; /* of each job from its submission to its end */
	struct plan_estimate *estimate;
	struct last_two *last; /* a row for each user */
	uint32_t n_last, last_room;
	struct hash_table users;
	struct untaught *untaught;
	uint32_t n_untaught, untaught_room;
	struct hash_table untaught_of; /* by id */
	struct row_kept kept[ROWS_KEPT]; /* by job */
	struct decision decided; /* of the last submission */
	struct array_decisions of_arrays;
	struct array_indexes indexes;
	char *script; /* room for a program as a script */
	size_t script_room;
	bool failed;
	struct errbuf why;
};

static bool is_ours(enum plan_by by)
{
	return by == PLAN_SIMILAR || by == PLAN_PRECEDENT;
}

/* ---- life ---- */

/* Partitions are open, and have the OverTimeLimit that was given. Their DefaultTime is the request of jobs without one. */
static int places_make(struct planner *p, struct errbuf *err)
{
	const struct stream *s = p->conf.stream;
	const char *before = NULL;
	size_t room = 0;

	for (size_t i = 0; i < s->n; i++) {
		const char *name = s->about[i].partition;
		char cut[sizeof(((struct place_partition *)0)->name)];
		struct place_partition *part;

		if (name == before || !*name)
			continue;
		before = name; /* equal texts are one pointer */
		snprintf(cut, sizeof(cut), "%s", name);
		if (places_partition(&p->places, cut))
			continue;
		if (ARRAY_ROOM_ZEROED(p->places.partitions, room, p->places.n_partitions + 1) < 0)
			return err_set(err, "no memory for partitions");
		part = &p->places.partitions[p->places.n_partitions++];
		memcpy(part->name, cut, sizeof(cut));
		part->open = true;
		part->default_min = s->default_min;
		part->max_min = DURATION_UNLIMITED;
		part->overtime_min = p->conf.overtime_min;
	}
	return 0;
}

static int planner_fill(struct planner *p, struct errbuf *err)
{
	size_t n = p->conf.stream->n;

	if (!is_ours(p->conf.by))
		return 0;
	p->comment = calloc(n, sizeof(struct job_comment *));
	p->estimate = calloc(n, sizeof(*p->estimate));
	p->room = decide_room_create();
	if (!p->comment || !p->estimate || !p->room)
		return err_set(err, "no memory for %zu jobs", n);
	p->reads = decide_reads_store;
	p->reads.trial = NULL; /* nothing is traced, so no trace can harm */
	if (places_make(p, err) < 0 || store_open("(replay)", STORE_WRITE | STORE_MEMORY, &p->store, err) < 0)
		return -1;
	p->env = (struct daemon_env){.conf = p->conf.conf, .store = p->store};
	return 0;
}

int planner_create(const struct planner_conf *conf, const struct sim_outcome *outcomes, struct planner **out, struct errbuf *err)
{
	struct planner *p = calloc(1, sizeof(*p));

	*out = NULL;
	if (!p)
		return err_set(err, "no memory for a plan");
	p->conf = *conf;
	p->outcomes = outcomes;
	if (planner_fill(p, err) < 0) {
		planner_destroy(p);
		return -1;
	}
	*out = p;
	return 0;
}

void planner_destroy(struct planner *p)
{
	if (!p)
		return;
	for (size_t i = 0; p->comment && i < p->conf.stream->n; i++)
		free(p->comment[i]);
	free(p->comment);
	free(p->estimate);
	for (uint32_t i = 0; i < p->n_untaught; i++)
		free(p->untaught[i].job);
	free(p->untaught);
	hash_table_free(&p->untaught_of);
	array_indexes_free(&p->indexes);
	array_decisions_free(&p->of_arrays);
	free(p->last);
	free(p->script);
	hash_table_free(&p->users);
	places_free(&p->places);
	decide_room_destroy(p->room);
	store_close(p->store);
	free(p);
}

static void fail(struct planner *p, const struct errbuf *why)
{
	if (!p->failed)
		p->why = *why;
	p->failed = true;
}

int planner_fault(const struct planner *p, struct errbuf *err)
{
	if (!p->failed)
		return 0;
	*err = p->why;
	return -1;
}

const struct plan_estimate *planner_estimates(const struct planner *p)
{
	return p->estimate;
}

/* ---- users ---- */

static struct last_two *last_two_of(struct planner *p, uint32_t uid)
{
	uint64_t hash = uid * UINT64_C(0x9e3779b97f4a7c15); /* Fibonacci hashing (Knuth, TAOCP 3, 6.4) */
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&p->users, hash, at, i)
		if (p->last[i].uid == uid)
			return &p->last[i];
	if (ARRAY_ROOM(p->last, p->last_room, p->n_last + 1) < 0 || hash_table_add(&p->users, hash, p->n_last) < 0)
		return NULL;
	p->last[p->n_last] = (struct last_two){.uid = uid};
	return &p->last[p->n_last++];
}

static const struct sim_job *sim_job_of(const struct planner *p, size_t job)
{
	return &p->conf.stream->jobs[job];
}

/* Time on the clock of the store, which is above 0. */
static int64_t store_time(const struct planner *p, int64_t sim_s)
{
	return p->conf.stream->first_s + 1 + sim_s;
}

/* ---- learning ---- */

#define LATER_LOOK 256 /* as in predictor/follow/follow.c */

/* What the store learns of a run is asked for by jobs of its kin alone. */
static const char *kin_of(const struct job_comment *c)
{
	return c->kin[0] ? c->kin : c->key;
}

static struct untaught *untaught_find(struct planner *p, const char *id)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&p->untaught_of, XXH3_64bits(id, strlen(id)), at, i)
		if (!strcmp(p->untaught[i].id, id))
			return &p->untaught[i];
	return NULL;
}

static int untaught_add(struct planner *p, const char *id, size_t job, struct errbuf *err)
{
	struct untaught *u = untaught_find(p, id);

	if (!u) {
		if (ARRAY_ROOM_ZEROED(p->untaught, p->untaught_room, p->n_untaught + 1) < 0 ||
		    hash_table_add(&p->untaught_of, XXH3_64bits(id, strlen(id)), p->n_untaught) < 0)
			return err_set(err, "no memory for ended runs");
		u = &p->untaught[p->n_untaught++];
		snprintf(u->id, sizeof(u->id), "%s", id);
	}
	if (ARRAY_ROOM(u->job, u->room, u->n + 1) < 0)
		return err_set(err, "no memory for ended runs");
	u->job[u->n++] = (uint32_t)job;
	return 0;
}

/* The store never changes a run. */
static int row_read(struct planner *p, size_t job, struct store_run *row, struct errbuf *err)
{
	const struct store_run_id id = {p->conf.stream->about[job].jobid, store_time(p, sim_job_of(p, job)->submit_s)};
	struct row_kept *kept = &p->kept[job % ROWS_KEPT];
	int rc = 1;

	if (kept->job_and_1 != job + 1) {
		rc = store_run_of(p->store, &id, &kept->row, err);
		kept->job_and_1 = rc > 0 ? job + 1 : 0;
	}
	*row = kept->row;
	return rc;
}

/* Does a later run lead to the same estimates? Bit 0: of the program; bit 1: of its kin. */
static int later_find(struct planner *p, const struct untaught *u, uint32_t i, const struct store_run *run, unsigned *later,
		      struct errbuf *err)
{
	struct store_run next;

	*later = 0;
	for (uint32_t k = i + 1; k < u->n && k <= i + LATER_LOOK && !(*later & 1); k++) {
		int rc = row_read(p, u->job[k], &next, err);

		if (rc < 0)
			return -1;
		if (!rc || strcmp(next.candidate, run->candidate) || !next.array_job != !run->array_job ||
		    run_evidence_of(next.end_state, 0) == RUN_NO_EVIDENCE)
			continue;
		*later |= !strcmp(next.key, run->key) ? 3 : !strcmp(next.family, run->family) ? 2 : 0;
	}
	return 0;
}

/* The learners of run_learn in predictor/follow/follow.c. Without probes a drift has none to renew. */
static int run_learn(struct ended_run *r, unsigned later, struct errbuf *err)
{
	struct drift_found found;
	int rc = later & 1 ? 0 : drift_follow(r, &found, err);

	if (rc > 0)
		rc = drift_act(r, &found, false, err);
	if (rc < 0 || (!(later & 1) && (drift_family_follow(r, err) < 0 || program_renew(r, err) < 0)))
		return -1;
	if (later & 2 || !ended_run_is_evidence(r))
		return 0;
	return family_follow(r, err) < 0 || scaling_follow(r, err) < 0 || param_family_renew(r, err) < 0 ? -1 : 0;
}

/* precedentd learns when a run has ended. Here it is learned when a job of the kin is submitted: most programs never run again. */
static int kin_learn(struct planner *p, struct untaught *u, struct errbuf *err)
{
	struct store_run row;
	unsigned later = 0;
	int rc = u->n ? store_begin(p->store, err) : 0;

	if (rc < 0 || !u->n)
		return rc;
	for (uint32_t i = 0; i < u->n && rc >= 0; i++) {
		struct ended_run r = {.env = &p->env, .row = &row, .now = store_time(p, p->outcomes[u->job[i]].end_s)};

		rc = row_read(p, u->job[i], &row, err);
		if (rc > 0 && (rc = later_find(p, u, i, &row, &later, err)) == 0)
			rc = run_learn(&r, later, err);
		ended_run_forget(&r);
	}
	u->n = 0;
	if (rc >= 0)
		return store_commit(p->store, err);
	store_rollback(p->store);
	return -1;
}

/* ---- submission ---- */

/* The limit that a job of this expected time gets by the rule of precedentd. */
static void plan_limit(const struct planner *p, size_t job, double seconds, struct sim_plan *plan)
{
	uint32_t asked = sim_job_of(p, job)->request_min, limit = places_limit_min(p->conf.conf, seconds);

	plan->limit_s = (int64_t)(limit < asked ? limit : asked) * 60;
}

static void plan_last_two(struct planner *p, size_t job, struct sim_plan *plan)
{
	const struct last_two *l = last_two_of(p, p->conf.stream->about[job].uid);

	if (l && l->run_s[1])
		plan_limit(p, job, (double)(l->run_s[0] + l->run_s[1]) / 2, plan);
}

static void plan_perfect(const struct planner *p, size_t job, struct sim_plan *plan)
{
	const struct sim_job *j = sim_job_of(p, job);
	int64_t most = (int64_t)j->request_min * 60;

	plan->limit_s = j->run_s < most ? j->run_s : most;
	plan->fixed = true;
}

/* A script that stands for the program: equal programs have equal scripts. */
static const char *script_of(struct planner *p, const char *program)
{
	static const char head[] = "#!/bin/sh\n";
	size_t len = strlen(program);

	if (!*program || ARRAY_ROOM(p->script, p->script_room, sizeof(head) + len + 1) < 0)
		return NULL;
	memcpy(p->script, head, sizeof(head) - 1);
	for (size_t i = 0; i < len; i++)
		p->script[sizeof(head) - 1 + i] = program[i] == '\n' ? ' ' : program[i];
	memcpy(p->script + sizeof(head) - 1 + len, "\n", 2);
	return p->script;
}

/* A program that is met for the first time. precedentd would have it traced; here its own runs have to do. */
static int program_meet(struct planner *p, const struct stream_job *j, const struct decision *d, int64_t now, struct errbuf *err)
{
	struct store_program program = {.uid = j->uid, .state = PROGRAM_FAILED, .source_job = j->jobid, .created = now, .updated = now};

	if (d->act != ACT_TRACE)
		return 0;
	memcpy(program.key, d->id.key, sizeof(program.key));
	memcpy(program.family, d->id.family, sizeof(program.family));
	snprintf(program.name, sizeof(program.name), "%s", j->name);
	strcpy(program.reason, NO_TRACE);
	return store_program_put(p->store, &program, err);
}

/* Of an estimate by the program's own runs or by others'. */
static int source_of(struct planner *p, const struct job_comment *c, enum plan_source *source, struct errbuf *err)
{
	static struct store_lookup known;
	int rc = store_lookup(p->store, c->key, &known, err);

	*source = SOURCE_MODEL;
	for (unsigned i = 0; rc > 0 && i < known.n_estimates; i++)
		if (!strcmp(known.estimates[i].candidate, c->candidate) && known.estimates[i].e.kind == ESTIMATE_HISTORY)
			*source = SOURCE_RUNS;
	return rc < 0 ? -1 : 0;
}

static int estimate_note(struct planner *p, size_t job, const struct job_comment *c, struct errbuf *err)
{
	struct plan_estimate *e = &p->estimate[job];
	char rung[16];

	e->source = SOURCE_NONE;
	if (c->act == ACT_PREDICT && c->pred_s > 0) {
		*e = (struct plan_estimate){(float)c->pred_s, (float)c->lo_s, (float)c->hi_s, SOURCE_NONE};
		return source_of(p, c, &e->source, err);
	}
	if (sscanf(c->similar, "%15[a-z]/%f/%f/%f", rung, &e->mean_s, &e->lo_s, &e->hi_s) != 4)
		return 0;
	for (unsigned r = 0; r < LADDER_RUNGS; r++)
		if (!strcmp(rung, ladder_rung_name((enum ladder_rung)r)))
			e->source = (enum plan_source)(SOURCE_SIMILAR + r);
	return 0;
}

static struct decide_input input_of(struct planner *p, size_t job, int64_t now)
{
	const struct stream_job *j = &p->conf.stream->about[job];

	return (struct decide_input){
		.uid = j->uid,
		.script = p->conf.by == PLAN_SIMILAR ? NULL : script_of(p, j->program),
		.invented = true,
		.work_dir = j->work_dir,
		.name = j->name,
		.command = j->command,
		.partition = j->partition,
		.account = j->account,
		.layout = {.nodes_min = j->nodes, .nodes_max = j->nodes},
		.time_limit_min = j->requested ? sim_job_of(p, job)->request_min : DURATION_UNSET,
		.time_min_min = DURATION_UNSET,
		.array = j->array_job != 0,
		.array_inx = j->array_job ? p->indexes.text : NULL,
		.now = now,
	};
}

/* If runs of the job's kin were not learned from, they are first. */
static int job_decide(struct planner *p, size_t job, int64_t now, struct decision *out, struct errbuf *err)
{
	const struct decide_input in = input_of(p, job, now);
	const struct decide_source src = {
		.reads = &p->reads,
		.store = p->store,
		.room = p->room,
		.heartbeat = now,
		.places = &p->places,
		.soft_works = true,
	};
	struct untaught *u;

	decide_identify(p->room, &in, out);
	u = untaught_find(p, kin_of(&out->comment));
	if (u && kin_learn(p, u, err) < 0)
		return -1;
	return decide(&in, p->conf.conf, &src, out, err);
}

/* The tasks of an array are one submission: the plugin decides once, for all indexes. */
static int submission_decide(struct planner *p, size_t job, int64_t now, struct errbuf *err)
{
	const struct stream_job *j = &p->conf.stream->about[job];
	const struct array_decision *of = j->array_job ? array_decisions_find(&p->of_arrays, p->conf.stream, job) : NULL;
	struct array_decision made;

	if (of) {
		p->estimate[job] = p->estimate[of->job];
		p->decided.comment = of->comment;
		p->decided.wish.limit_min = of->wish_min;
		return 0;
	}
	if (j->array_job && array_indexes_of(&p->indexes, p->conf.stream, job) < 0)
		return err_set(err, "no memory for the indexes of an array");
	if (job_decide(p, job, now, &p->decided, err) < 0 || program_meet(p, j, &p->decided, now, err) < 0 ||
	    estimate_note(p, job, &p->decided.comment, err) < 0)
		return -1;
	made = (struct array_decision){job, p->decided.wish.limit_min, p->decided.comment};
	if (j->array_job && array_decisions_add(&p->of_arrays, p->conf.stream, &made) < 0)
		return err_set(err, "no memory for a decision");
	return 0;
}

/*
 * Is the job planned by similar runs? The decision does that for jobs with a script. Of some jobs the accounting tells no program, so
 * that they have no script here; on the cluster they would have one.
 */
static bool by_similar(const struct planner *p, size_t job)
{
	return p->conf.by == PLAN_SIMILAR || (!*p->conf.stream->about[job].program && conf_guard(p->conf.conf, true) == GUARD_SOFT);
}

static void plan_precedent(struct planner *p, size_t job, int64_t now, struct sim_plan *plan)
{
	uint32_t asked = sim_job_of(p, job)->request_min, wish;
	struct job_comment *c = malloc(sizeof(*c));
	struct errbuf err;

	if (!c) {
		err_set(&err, "no memory for job %zu", job);
		fail(p, &err);
		return;
	}
	p->comment[job] = c;
	comment_init(c);
	if (submission_decide(p, job, now, &err) < 0) {
		fail(p, &err);
		return;
	}
	*c = p->decided.comment;
	wish = p->decided.wish.limit_min;
	if (by_similar(p, job) && p->estimate[job].source != SOURCE_NONE)
		plan_limit(p, job, p->estimate[job].mean_s, plan);
	else if (!by_similar(p, job) && wish < asked)
		plan->limit_s = (int64_t)wish * 60;
	if (plan->limit_s < (int64_t)asked * 60)
		c->limit_min = (uint32_t)(plan->limit_s / 60);
}

static void submitted(void *arg, size_t job, int64_t now, struct sim_plan *plan)
{
	struct planner *p = arg;

	if (p->failed)
		return;
	if (p->conf.by == PLAN_PERFECT)
		plan_perfect(p, job, plan);
	else if (p->conf.by == PLAN_LAST_TWO)
		plan_last_two(p, job, plan);
	else if (is_ours(p->conf.by))
		plan_precedent(p, job, store_time(p, now), plan);
}

/* ---- end ---- */

/* As precedentd's row of the run. */
static void run_fill(const struct planner *p, size_t job, const struct job_comment *c, struct store_run *r)
{
	const struct stream_job *j = &p->conf.stream->about[job];
	const struct sim_outcome *o = &p->outcomes[job];

	*r = (struct store_run){
		.jobid = j->jobid,
		.submit_time = store_time(p, sim_job_of(p, job)->submit_s),
		.uid = j->uid,
		.act = c->act == ACT_TRACE ? ACT_OBSERVE : c->act,
		.mode = c->mode,
		.pred_s = c->pred_s,
		.lo_s = c->lo_s,
		.hi_s = c->hi_s,
		.user_limit_min = sim_job_of(p, job)->request_min,
		.limit_min = c->limit_min,
		.nodes = j->nodes,
		.start_time = store_time(p, o->start_s),
		.end_time = store_time(p, o->end_s),
		.elapsed_s = (double)(o->end_s - o->start_s),
		.array_job = j->array_job,
		.array_task = j->array_task,
		.pred_kind = -1,
		.pred_scale = 1,
	};
	memcpy(r->key, c->key, sizeof(r->key));
	memcpy(r->family, c->family, sizeof(r->family));
	memcpy(r->kin, c->kin, sizeof(r->kin));
	memcpy(r->vars, c->vars, sizeof(r->vars));
	memcpy(r->pred_candidate, c->candidate, sizeof(r->pred_candidate));
	memcpy(r->similar, c->similar, sizeof(r->similar));
	snprintf(r->name, sizeof(r->name), "%s", j->name);
	snprintf(r->partition, sizeof(r->partition), "%s", j->partition);
	snprintf(r->end_state, sizeof(r->end_state), "%s", o->killed_by_us || o->killed_by_user ? "TIMEOUT" : j->state);
	cluster_candidate_name(p->conf.conf, r->partition, "", r->candidate, sizeof(r->candidate));
}

/* What only groups of similar runs remember needs no row. */
static int run_end(struct planner *p, size_t job, int64_t now, struct errbuf *err)
{
	const struct job_comment *c = p->comment[job];
	struct row_kept *kept = &p->kept[job % ROWS_KEPT];
	const struct store_run *row = &kept->row;
	struct ended_run r = {.env = &p->env, .row = row, .now = now};
	int rc;

	kept->job_and_1 = job + 1;
	run_fill(p, job, c, &kept->row);
	if (store_begin(p->store, err) < 0)
		return -1;
	rc = similar_follow(&r, c, err);
	if (rc == 0 && row->key[0])
		rc = store_run_put(p->store, row, err) < 0 ? -1 : untaught_add(p, kin_of(c), job, err);
	if (rc < 0) {
		store_rollback(p->store);
		return -1;
	}
	return store_commit(p->store, err);
}

/* ---- arrays that wait ---- */

/* The next task of the array's submission that waits. SIZE_MAX: none. */
static size_t waiting_task(const struct planner *p, size_t ended, size_t from, const struct sim *s)
{
	const struct stream *of = p->conf.stream;

	for (size_t i = from; i < of->n && of->jobs[i].submit_s == of->jobs[ended].submit_s; i++)
		if (of->about[i].array_job == of->about[ended].array_job && p->comment[i] && sim_waits(s, i))
			return i;
	return SIZE_MAX;
}

static size_t first_waiting_task(const struct planner *p, size_t ended, const struct untaught *u, const struct sim *s)
{
	const struct stream *of = p->conf.stream;
	size_t from = u->waits;

	if (of->about[from].array_job != of->about[ended].array_job || of->jobs[from].submit_s != of->jobs[ended].submit_s)
		for (from = ended; from && of->jobs[from - 1].submit_s == of->jobs[ended].submit_s;)
			from--;
	return waiting_task(p, ended, from, s);
}

/* A task has ended and was learned from: waiting tasks are planned anew by the rule of predictor/limits/replan.h, once in a look. */
static int array_plan_anew(struct planner *p, size_t job, int64_t now, struct sim *s, struct errbuf *err)
{
	const struct store_waiting waits = {p->comment[job]->key, p->conf.stream->about[job].uid, p->conf.stream->about[job].partition, "", true};
	struct untaught *u = untaught_find(p, kin_of(p->comment[job]));
	struct store_estimate e;
	size_t task;
	int rc;

	if (!u || now - u->looked < p->conf.conf->poll_interval_s)
		return 0;
	u->looked = now;
	task = first_waiting_task(p, job, u, s);
	if (task == SIZE_MAX)
		return 0;
	u->waits = task;
	rc = kin_learn(p, u, err) < 0 ? -1 : store_present(p->store, p->conf.conf, &waits, now, &e, err);
	for (; rc > 0 && task != SIZE_MAX; task = waiting_task(p, job, task + 1, s)) {
		uint32_t asked = sim_job_of(p, task)->request_min, old = p->comment[task]->limit_min;
		uint32_t min = places_replan_min(p->conf.conf, e.e.hi_s, asked, old < asked ? old : asked);

		if (min == (old < asked ? old : asked))
			break; /* and so are the others of the record */
		sim_plan_anew(s, task, (int64_t)min * 60);
		p->comment[task]->limit_min = min < asked ? min : DURATION_UNSET;
	}
	return rc < 0 ? -1 : 0;
}

static void ended(void *arg, size_t job, int64_t now, struct sim *s)
{
	struct planner *p = arg;
	bool soft = conf_guard(p->conf.conf, true) == GUARD_SOFT;
	const struct sim_outcome *o = &p->outcomes[job];
	struct errbuf err;

	if (p->failed)
		return;
	if (p->conf.by == PLAN_LAST_TWO) {
		struct last_two *l = last_two_of(p, p->conf.stream->about[job].uid);

		if (l) {
			l->run_s[1] = l->run_s[0];
			l->run_s[0] = o->end_s - o->start_s;
		}
	} else if (is_ours(p->conf.by)) {
		if (run_end(p, job, store_time(p, now), &err) < 0 ||
		    (p->conf.by == PLAN_PRECEDENT && soft && p->conf.stream->about[job].array_job && p->comment[job]->key[0] &&
		     array_plan_anew(p, job, store_time(p, now), s, &err) < 0))
			fail(p, &err);
		free(p->comment[job]);
		p->comment[job] = NULL;
	}
}

struct sim_predictor planner_callbacks(struct planner *p)
{
	return (struct sim_predictor){p, submitted, ended};
}
