/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The daemon's state machines on a cluster made of structs, with a real store and a real spool in a private directory. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/extend.h"
#include "predictor/probes.h"
#include "predictor/spool.h"

#define KEY    "0123456789abcdef0123456789abcdef"
#define FAMILY "fedcba9876543210fedcba9876543210"
#define JOBS   16
#define START  1000000

struct world {
	char dir[64], spool[128], store_file[128];
	struct precedent_conf conf;
	struct store *store;
	struct follow_env env;
	struct cluster_ops ops;
	struct cluster_job jobs[JOBS];
	char comments[JOBS][COMMENT_TEXT_MAX];
	size_t n;
	int64_t now;
	/* what was asked of the cluster */
	struct {
		char script[1024], partition[64], features[64], comment[COMMENT_TEXT_MAX], out[256], account[64];
		uint32_t job_id, uid, nodes, tasks, limit_min;
	} submitted[8];
	unsigned n_submitted, n_cancelled, n_armed, n_limits;
	uint32_t last_limit_job, last_limit_min;
	bool refuse_submit, refuse_limit;
	char log[8192];
};

static struct world *w;

/* ---- the fake cluster ---- */

static int fake_submit(void *arg, const struct cluster_submission *s, uint32_t *job_id, struct errbuf *errp)
{
	struct cluster_job *j;

	(void)arg;
	if (w->refuse_submit)
		return err_set(errp, "invalid account");
	assert_true(w->n_submitted < 8 && w->n < JOBS);
	*job_id = 500 + w->n_submitted;
	snprintf(w->submitted[w->n_submitted].script, 1024, "%s", s->script);
	snprintf(w->submitted[w->n_submitted].partition, 64, "%s", s->partition);
	snprintf(w->submitted[w->n_submitted].features, 64, "%s", s->features);
	snprintf(w->submitted[w->n_submitted].out, 256, "%s", s->std_out);
	snprintf(w->submitted[w->n_submitted].account, 64, "%s", s->account);
	w->submitted[w->n_submitted].job_id = *job_id;
	w->submitted[w->n_submitted].uid = s->uid;
	w->submitted[w->n_submitted].nodes = s->nodes;
	w->submitted[w->n_submitted].tasks = s->tasks;
	w->submitted[w->n_submitted].limit_min = s->limit_min;
	j = &w->jobs[w->n];
	*j = (struct cluster_job){.job_id = *job_id, .uid = s->uid, .phase = CLUSTER_PENDING, .end_state = "",
				  .submit_time = w->now, .limit_min = s->limit_min, .nodes = s->nodes, .name = "probe",
				  .partition = w->submitted[w->n_submitted].partition, .features = "", .account = "",
				  .qos = ""};
	snprintf(w->comments[w->n], COMMENT_TEXT_MAX, "%s", s->admin_comment);
	j->admin_comment = w->comments[w->n++];
	w->n_submitted++;
	return 0;
}

static int fake_limit(void *arg, uint32_t job_id, uint32_t limit_min, struct errbuf *errp)
{
	(void)arg;
	w->n_limits++;
	w->last_limit_job = job_id;
	w->last_limit_min = limit_min;
	return w->refuse_limit ? err_set(errp, "no") : 0;
}

static int fake_cancel(void *arg, uint32_t job_id, struct errbuf *errp)
{
	(void)arg;
	(void)job_id;
	(void)errp;
	w->n_cancelled++;
	return 0;
}

static int fake_arm(void *arg, uint32_t job_id, uint32_t before_s, struct errbuf *errp)
{
	(void)arg;
	(void)job_id;
	(void)errp;
	assert_int_equal(before_s, EXTEND_ARM_S);
	w->n_armed++;
	return 0;
}

static void fake_say(enum log_level level, const char *line)
{
	size_t n = strlen(w->log);

	(void)level;
	snprintf(w->log + n, sizeof(w->log) - n, "%s\n", line);
}

/* ---- building and looking ---- */

static void conf_make(const char *candidates)
{
	char file[128];
	struct errbuf e;
	FILE *f;

	snprintf(file, sizeof(file), "%s/precedent.conf", w->dir);
	f = fopen(file, "w");
	fprintf(f, "%s\nSpoolDir=%s\nStateDir=%s\nPollInterval=10\nProbeAccount=probes\nInstallDir=/opt/pre cedent\n",
		candidates, w->spool, w->dir);
	fclose(f);
	conf_free(&w->conf);
	if (conf_load(file, &w->conf, &e) < 0)
		fail_msg("%s", e.text);
}

static int setup(void **state)
{
	struct errbuf e = {""};

	(void)state;
	w = calloc(1, sizeof(*w));
	strcpy(w->dir, "/tmp/precedent-follow-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->spool, sizeof(w->spool), "%s/spool", w->dir);
	snprintf(w->store_file, sizeof(w->store_file), "%s/precedent.db", w->dir);
	mkdir(w->spool, 0755);
	conf_make("Candidates=fast,slow:big");
	if (store_open(w->store_file, STORE_WRITE | STORE_WAIT, &w->store, &e) < 0)
		fail_msg("%s", e.text);
	w->ops = (struct cluster_ops){NULL, fake_submit, fake_limit, fake_cancel, fake_arm};
	w->env = (struct follow_env){&w->conf, w->store, &w->ops, fake_say};
	w->now = START;
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	store_close(w->store);
	conf_free(&w->conf);
	assert_int_equal(nftw(w->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
	free(w);
	return 0;
}

static struct cluster_job *job_add(uint32_t id, enum job_act act)
{
	struct cluster_job *j = &w->jobs[w->n];
	struct job_comment c;

	*j = (struct cluster_job){.job_id = id, .uid = getuid(), .gid = getgid(), .phase = CLUSTER_PENDING, .end_state = "",
				  .submit_time = w->now, .limit_min = 60, .nodes = 2, .tasks = 4, .tasks_per_node = 2,
				  .name = "app", .partition = "fast", .features = "", .account = "acct", .qos = ""};
	comment_init(&c);
	c.act = act;
	strcpy(c.key, KEY);
	strcpy(c.family, FAMILY);
	c.user_limit_min = 60;
	assert_true(comment_format(&c, w->comments[w->n], COMMENT_TEXT_MAX) > 0);
	j->admin_comment = w->comments[w->n++];
	return j;
}

static void job_run(struct cluster_job *j)
{
	j->phase = CLUSTER_RUNNING;
	j->start_time = w->now;
	j->end_time = w->now + j->limit_min * 60;
}

static void job_end(struct cluster_job *j, const char *state, double elapsed_s)
{
	j->phase = CLUSTER_ENDED;
	if (!j->start_time)
		j->start_time = w->now;
	j->elapsed_s = elapsed_s;
	j->end_time = w->now;
	j->end_state = state;
}

static struct cluster_job *job_find(uint32_t id)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->jobs[i].job_id == id)
			return &w->jobs[i];
	fail_msg("no job %u", id);
	return NULL;
}

static int by_id(const void *a, const void *b)
{
	uint32_t x = ((const struct cluster_job *)a)->job_id, y = ((const struct cluster_job *)b)->job_id;

	return (x > y) - (x < y);
}

static void look(void)
{
	static struct cluster_job copy[JOBS];
	struct cluster_snapshot snap = {copy, w->n, w->now};
	struct errbuf e = {""};

	memcpy(copy, w->jobs, sizeof(copy));
	qsort(copy, w->n, sizeof(*copy), by_id);
	w->log[0] = '\0';
	if (follow_poll(&w->env, &snap, w->now, &e) < 0)
		fail_msg("%s", e.text);
	w->now += 10;
}

static void job_dir(uint32_t job, char *path, size_t size)
{
	char user[192];

	snprintf(user, sizeof(user), "%s/%u", w->spool, getuid());
	mkdir(user, 0750);
	snprintf(path, size, "%s/%u", user, job);
	mkdir(path, 0750);
}

static void trace_leave(uint32_t job)
{
	char dir[256], path[300];
	FILE *f;

	job_dir(job, dir, sizeof(dir));
	snprintf(path, sizeof(path), "%s/0.ptrace", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fclose(f);
}

/* A probe's record: its skeleton stands for the whole run and takes skel_s of it here. */
static void result_leave(uint32_t job, uint32_t probe_job, const char *candidate, double skel_s, const char *reason)
{
	static struct result r;
	char dir[256], name[128];
	struct errbuf e = {""};
	int dfd;

	memset(&r, 0, sizeof(r));
	r.job_id = probe_job;
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	r.ok = !reason;
	snprintf(r.reason, sizeof(r.reason), "%s", reason ? reason : "");
	r.has_class = r.has_startup = r.has_hash = true;
	strcpy(r.class_hex, "0123456789abcdef");
	strcpy(r.class_text, "test node");
	strcpy(r.hash_hex, "0123456789abcdef");
	r.traces_n = 1;
	r.traces[0] = (struct result_trace){90, skel_s, skel_s * 0.99, skel_s * 1.01, 2, 1000, 1};
	job_dir(job, dir, sizeof(dir));
	dfd = open(dir, O_RDONLY | O_DIRECTORY);
	snprintf(name, sizeof(name), "probe.%s.result", candidate);
	if (result_write(dfd, name, &r, &e) < 0)
		fail_msg("%s", e.text);
	close(dfd);
}

static struct store_program program(void)
{
	struct store_program p;
	struct errbuf e;

	assert_int_equal(store_program_get(w->store, KEY, &p, &e), 1);
	return p;
}

static struct store_probe probe(const char *candidate)
{
	struct store_probe p;
	struct errbuf e;

	assert_int_equal(store_probe_get(w->store, KEY, candidate, &p, &e), 1);
	free((void *)(uintptr_t)p.result);
	p.result = NULL;
	return p;
}

static void assert_state(enum program_state state, const char *reason)
{
	struct store_program p = program();

	if (p.state != state || !strstr(p.reason, reason))
		fail_msg("program is %s (%s), not %s (%s)", program_state_name(p.state), p.reason,
			 program_state_name(state), reason);
}

/* Up to the point where the source probe has been submitted as job 500. */
static void traced_job(void)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	look();
	assert_state(PROGRAM_NEW, "");
	job_run(j);
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_int_equal(w->n_submitted, 1);
}

/* ---- traced jobs ---- */

static void test_whole_way(void **state)
{
	struct store_lookup l;
	struct errbuf e;

	(void)state;
	traced_job();
	assert_string_equal(w->submitted[0].partition, "fast");
	assert_int_equal(w->submitted[0].uid, getuid());
	assert_int_equal(w->submitted[0].nodes, 2);
	assert_int_equal(w->submitted[0].tasks, 4);
	assert_string_equal(w->submitted[0].account, "probes");
	assert_non_null(strstr(w->submitted[0].script, "#!/bin/sh\nexec '/opt/pre cedent/bin/precedent' probe --dir '"));
	assert_non_null(strstr(w->submitted[0].script, "' --candidate fast --source --seconds 5.00\n"));
	assert_non_null(strstr(w->submitted[0].out, "/1/probe.fast.log"));
	look();
	assert_int_equal(w->n_submitted, 1); /* nothing twice */

	result_leave(1, 500, "fast", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	assert_int_equal(w->n_submitted, 2);
	assert_string_equal(w->submitted[1].partition, "slow");
	assert_string_equal(w->submitted[1].features, "big");
	assert_non_null(strstr(w->submitted[1].script, " --candidate slow_big --seconds"));
	assert_true(probe("fast").cost_node_s == 40);
	assert_state(PROGRAM_BUILDING, "");

	result_leave(1, 501, "slow_big", 180, NULL);
	job_end(job_find(501), "COMPLETED", 30);
	look();
	assert_state(PROGRAM_READY, "");
	assert_true(program().mpi_s == 90);
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	assert_int_equal(l.n_estimates, 2);
	for (unsigned i = 0; i < 2; i++) {
		double want = strcmp(l.estimates[i].candidate, "fast") ? 190 : 100;

		assert_true(l.estimates[i].e.mean_s > want - 0.5 && l.estimates[i].e.mean_s < want + 0.5);
		assert_true(l.estimates[i].e.lo_s < want && l.estimates[i].e.hi_s > want);
	}
	look();
	assert_int_equal(w->n_submitted, 2);
}

static void test_history_corrects(void **state)
{
	struct cluster_job *j;
	struct store_lookup l;
	struct errbuf e;
	double before = 0, after = 0;

	(void)state;
	test_whole_way(state);
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, "fast"))
			before = l.estimates[i].e.mean_s;
	for (uint32_t id = 20; id < 23; id++) {
		j = job_add(id, ACT_PREDICT);
		look();
		job_run(j);
		look();
		job_end(j, "COMPLETED", 110);
		look();
		assert_non_null(strstr(w->log, "COMPLETED on fast after 110 s"));
	}
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, "fast"))
			after = l.estimates[i].e.mean_s;
	assert_true(after > before && after <= 110.01);
}

static void test_history_that_contradicts(void **state)
{
	static const double took[] = {400, 100, 30};
	struct cluster_job *j;

	(void)state;
	test_whole_way(state);
	for (uint32_t i = 0; i < 3; i++) {
		j = job_add(20 + i, ACT_PREDICT);
		look();
		job_end(j, "COMPLETED", took[i]);
		look();
	}
	assert_state(PROGRAM_READY, "nothing for fast"); /* it does not know any more, and says why */
}

static void test_no_trace(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	char dir[256];
	struct store_run r;
	struct errbuf e;

	(void)state;
	job_dir(1, dir, sizeof(dir));
	look();
	job_end(j, "COMPLETED", 5);
	look();
	assert_state(PROGRAM_NEW, ""); /* it may still show up */
	w->now += FOLLOW_TRACE_GRACE_S;
	look();
	assert_state(PROGRAM_FAILED, "never called MPI_Init");
	assert_true(program().retrace_at == 0);
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 1);
	assert_string_equal(r.end_state, "COMPLETED");
	assert_int_equal(w->n_submitted, 0);
}

/* Names of files tell a program that was cut short from one that is none. */
static void test_signs_of_an_attempt(void **state)
{
	static const struct {
		const char *file, *reason;
	} cases[] = {
		{".present.1.slurm.pmix.1.0.root", "called MPI_Init but never MPI_Finalize"},
		{"tracer.err", "could not be written: "},
		{"untraced.txt", "could not be traced: "},
	};

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		struct cluster_job *j = job_add(i + 1, ACT_TRACE);
		char dir[256], path[320];
		FILE *f;

		job_dir(i + 1, dir, sizeof(dir));
		snprintf(path, sizeof(path), "%s/%s", dir, cases[i].file);
		f = fopen(path, "w");
		assert_non_null(f);
		fclose(f);
		look();
		job_end(j, "COMPLETED", 5);
		w->now += FOLLOW_TRACE_GRACE_S + 1;
		look();
		assert_state(PROGRAM_FAILED, cases[i].reason);
		assert_true(program().retrace_at > w->now);
	}
}

static void test_no_job_directory(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	char user[192];

	(void)state;
	snprintf(user, sizeof(user), "%s/%u", w->spool, getuid());
	mkdir(user, 0750);
	look();
	job_end(j, "COMPLETED", 5);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
	assert_state(PROGRAM_FAILED, "was not made");
	assert_true(program().retrace_at > w->now);
}

static void test_no_spool(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	look();
	job_end(j, "COMPLETED", 5);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
	assert_state(PROGRAM_FAILED, "plugstack.conf");
	assert_true(program().retrace_at > w->now);
}

static void test_spool_of_somebody_else(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	char link[256], target[256];

	(void)state;
	if (getuid() != 0)
		skip();
	snprintf(target, sizeof(target), "%s/elsewhere", w->dir);
	mkdir(target, 0755);
	snprintf(link, sizeof(link), "%s/%u", w->spool, getuid());
	assert_int_equal(symlink(target, link), 0);
	look();
	job_end(j, "COMPLETED", 5);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
	assert_state(PROGRAM_FAILED, "no trace:");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(mkdir(link, 0755), 0);
	assert_int_equal(chown(link, 12345, 12345), 0);
	assert_int_equal(spool_job_open(w->spool, getuid(), 1, NULL, NULL), -1);
}

static void test_job_failed(void **state)
{
	static const char *const states[] = {"FAILED", "CANCELLED", "TIMEOUT", "NODE_FAIL"};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		struct cluster_job *j = job_add(1 + i, ACT_TRACE);

		look();
		trace_leave(1 + i);
		job_run(j);
		job_end(j, states[i], 5);
		look();
		assert_state(PROGRAM_FAILED, states[i]);
		assert_true(program().retrace_at > 0 && program().retrace_at <= w->now);
	}
	assert_int_equal(w->n_submitted, 0);
}

static void test_retried_trace(void **state)
{
	(void)state;
	test_job_failed(state);
	w->n = 0;
	traced_job(); /* ids start again, with another submit time */
}

static void test_job_gone(void **state)
{
	struct store_run r;
	struct errbuf e;

	(void)state;
	job_add(1, ACT_TRACE);
	look();
	w->n = 0;
	look();
	assert_state(PROGRAM_FAILED, "precedentd was not running");
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 1);
	assert_string_equal(r.end_state, "UNKNOWN");
}

static void test_forgotten_stays_forgotten(void **state)
{
	struct store_run r;
	struct errbuf e;

	(void)state;
	traced_job();
	assert_true(store_key_forget(w->store, KEY, getuid(), w->now, &e) > 0);
	look(); /* slurmctld still remembers the ended job */
	assert_int_equal(store_run_get(w->store, 1, &r, &e), 0);
	assert_int_equal(w->n_submitted, 1);
	job_add(2, ACT_TRACE); /* a new submission is another matter */
	look();
	assert_int_equal(store_run_get(w->store, 2, &r, &e), 1);
	assert_state(PROGRAM_NEW, "");
}

static void test_two_at_once(void **state)
{
	struct cluster_job *a = job_add(1, ACT_TRACE), *b = job_add(2, ACT_TRACE);

	(void)state;
	look();
	trace_leave(1);
	trace_leave(2);
	job_end(a, "COMPLETED", 100);
	job_end(b, "COMPLETED", 101);
	look();
	assert_int_equal(w->n_submitted, 1);
	assert_int_equal(program().source_job, 1);
}

static void test_implicit_candidate(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	j->partition = "other";
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
	assert_string_equal(program().source_candidate, "other");
	assert_string_equal(w->submitted[0].partition, "other");
	result_leave(1, 500, "other", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	assert_int_equal(w->n_submitted, 3); /* fast and slow:big */
}

static void test_no_candidates(void **state)
{
	struct cluster_job *j;

	(void)state;
	conf_make("");
	j = job_add(1, ACT_TRACE);
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
	assert_state(PROGRAM_TRACED, "");
	assert_int_equal(w->n_submitted, 0);
	conf_make("Candidates=fast");
	look();
	assert_int_equal(w->n_submitted, 1);
}

static void test_foreign_comments(void **state)
{
	static const char *const texts[] = {"", "hello", "precedent:1 act=trace", "precedent:1 act=trace key=zz",
					    "precedent:2 act=trace key=" KEY};
	struct errbuf e;
	struct store_run r;

	(void)state;
	for (unsigned i = 0; i < 5; i++)
		job_add(1 + i, ACT_TRACE)->admin_comment = texts[i];
	look();
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(store_run_get(w->store, 1 + i, &r, &e), 0);
}

/* ---- probes ---- */

static void test_probe_failed_for_good(void **state)
{
	(void)state;
	traced_job();
	result_leave(1, 500, "fast", 0, "no mpicc on node fast1");
	job_end(job_find(500), "FAILED", 3);
	look();
	assert_state(PROGRAM_FAILED, "probe on fast: no mpicc on node fast1");
	assert_true(program().retrace_at > w->now);
	assert_int_equal(w->n_submitted, 1);
}

static void test_probe_retries(void **state)
{
	(void)state;
	traced_job();
	for (unsigned i = 0; i < PROBES_TRIES_MAX; i++) {
		assert_int_equal(w->n_submitted, i + 1);
		job_end(job_find(500 + i), i ? "TIMEOUT" : "NODE_FAIL", 3);
		look();
		if (i + 1 < PROBES_TRIES_MAX) {
			assert_int_equal(probe("fast").state, PROBE_WAITING);
			look();
			assert_int_equal(w->n_submitted, i + 1); /* not at once */
			w->now += PROBES_BACKOFF_S << i;
			look();
		}
	}
	assert_int_equal(w->n_submitted, PROBES_TRIES_MAX);
	assert_state(PROGRAM_FAILED, "TIMEOUT");
}

static void test_probe_cancelled(void **state)
{
	(void)state;
	traced_job();
	job_end(job_find(500), "CANCELLED", 0);
	look();
	assert_int_equal(probe("fast").state, PROBE_FAILED);
	assert_state(PROGRAM_FAILED, "CANCELLED");
}

static void test_probe_refused_by_slurm(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	w->refuse_submit = true;
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 100);
	look();
	assert_int_equal(probe("fast").state, PROBE_WAITING);
	assert_non_null(strstr(probe("fast").reason, "invalid account"));
	w->refuse_submit = false;
	w->now += PROBES_BACKOFF_S;
	look();
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
	assert_int_equal(probe("fast").tries, 2);
}

static void test_other_probe_fails(void **state)
{
	struct store_lookup l;
	struct errbuf e;

	(void)state;
	traced_job();
	result_leave(1, 500, "fast", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	result_leave(1, 501, "slow_big", 0, "does not compile");
	job_end(job_find(501), "FAILED", 20);
	look();
	assert_state(PROGRAM_READY, "nothing for slow:big: does not compile");
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	assert_int_equal(l.n_estimates, 1);
}

static void test_result_for_another(void **state)
{
	(void)state;
	traced_job();
	result_leave(1, 77, "fast", 90, NULL); /* left by an earlier try */
	job_end(job_find(500), "CANCELLED", 20);
	look();
	assert_int_equal(probe("fast").state, PROBE_FAILED);
}

static void test_probe_found_in_queue(void **state)
{
	struct store_probe p;
	struct errbuf e;

	(void)state;
	traced_job();
	p = probe("fast"); /* as if the daemon had died before it noted the submission */
	p.state = PROBE_WAITING;
	p.jobid = 0;
	p.tries = 0;
	assert_int_equal(store_probe_put(w->store, &p, &e), 0);
	look();
	assert_int_equal(w->n_submitted, 1);
	assert_int_equal(probe("fast").jobid, 500);
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
}

static void test_probe_waits_too_long(void **state)
{
	(void)state;
	traced_job();
	w->now += PROBES_PENDING_MAX_S + 20;
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_state(PROGRAM_FAILED, "in the queue");
}

static void test_probe_budget(void **state)
{
	(void)state;
	assert_true(probes_seconds(&w->conf, 100, 2) == 5);
	assert_true(probes_seconds(&w->conf, 3600, 2) == 18);
	assert_true(probes_seconds(&w->conf, 86400, 2) == PROBES_SECONDS_MAX);
}

/* ---- limits ---- */

static void test_extend_rules(void **state)
{
	struct cluster_job j = {.phase = CLUSTER_RUNNING, .limit_min = 10, .end_time = 600};
	uint32_t next;

	(void)state;
	assert_false(extend_is_due(&j, 10, 60, 10, 0, &next));
	assert_false(extend_is_due(&j, 10, 60, 10, 520, &next)); /* 80 s left: just enough */
	assert_true(extend_is_due(&j, 10, 60, 10, 521, &next));
	assert_true(next > 10 && next <= 60);
	assert_true(extend_threshold_s(10, 10) > EXTEND_ARM_S);
	assert_true(extend_threshold_s(300, 10) == 660);
	assert_true(extend_threshold_s(10, 1000) == 6000);
	j.limit_min = 60;
	assert_false(extend_is_due(&j, 10, 60, 10, 599, &next)); /* the user's own limit */
	j.limit_min = 8;
	assert_false(extend_is_due(&j, 10, 60, 10, 599, &next)); /* lowered by somebody else */
	j.time_min_min = 5;
	assert_true(extend_is_due(&j, 10, 60, 10, 599, &next)); /* lowered by the scheduler */
	j.phase = CLUSTER_SUSPENDED;
	assert_false(extend_is_due(&j, 10, 60, 10, 599, &next));
	assert_int_equal(extend_next_min(10, 55, 60), 60);
	assert_int_equal(extend_next_min(10, 100, DURATION_UNLIMITED), 126);
	assert_true(extend_next_min(10, UINT32_MAX - 10, DURATION_UNSET) == DURATION_UNLIMITED);
	assert_true(extend_next_min(600, 5, 1000) * 60 > 300 + extend_threshold_s(600, 5));
}

static struct cluster_job *shortened_job(void)
{
	struct cluster_job *j = job_add(30, ACT_PREDICT);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.limit_min = 10;
	c.pred_s = 400;
	c.lo_s = 390;
	c.hi_s = 410;
	strcpy(c.candidate, "fast");
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	j->limit_min = 10;
	return j;
}

static void test_extended_up_to_the_users_limit(void **state)
{
	struct cluster_job *j = shortened_job();
	int64_t end = w->now + 3600;
	struct store_run r;
	struct errbuf e;

	(void)state;
	look();
	assert_int_equal(w->n_armed, 1);
	job_run(j);
	while (w->now < end) {
		unsigned before = w->n_limits;

		look();
		assert_true(j->end_time > w->now || j->limit_min == 60);
		if (w->n_limits > before) {
			assert_int_equal(w->last_limit_job, 30);
			assert_true(w->last_limit_min > j->limit_min && w->last_limit_min <= 60);
			j->limit_min = w->last_limit_min;
			j->end_time = j->start_time + j->limit_min * 60;
		}
	}
	assert_int_equal(j->limit_min, 60);
	assert_int_equal(w->n_armed, 1);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_int_equal(r.extensions, w->n_limits);
	assert_true(r.extensions >= 2);
	assert_int_equal(r.limit_min, 60);
	job_end(j, "COMPLETED", 3590);
	look();
	assert_non_null(strstr(w->log, "predicted 400 s"));
}

static void test_extension_refused_is_tried_again(void **state)
{
	struct cluster_job *j = shortened_job();
	struct store_run r;
	struct errbuf e;

	(void)state;
	look();
	job_run(j);
	look();
	w->now = j->end_time - 60;
	w->refuse_limit = true;
	look();
	assert_non_null(strstr(w->log, "cannot be raised"));
	look();
	assert_int_equal(w->n_limits, 2);
	assert_int_equal(store_run_get(w->store, 30, &r, &e), 1);
	assert_int_equal(r.extensions, 0);
}

static void test_extension_without_store(void **state)
{
	struct cluster_job *j = shortened_job();

	(void)state;
	w->env.store = NULL;
	job_run(j);
	w->now = j->end_time - 60;
	look();
	assert_int_equal(w->n_limits, 1);
}

static void test_not_ours_is_not_extended(void **state)
{
	struct cluster_job *j = job_add(30, ACT_PREDICT); /* limit=- : observed only */

	(void)state;
	job_run(j);
	w->now = j->end_time - 30;
	look();
	assert_int_equal(w->n_limits, 0);
	assert_int_equal(w->n_armed, 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whole_way),
		T(test_history_corrects),
		T(test_history_that_contradicts),
		T(test_no_trace),
		T(test_signs_of_an_attempt),
		T(test_no_job_directory),
		T(test_no_spool),
		T(test_spool_of_somebody_else),
		T(test_job_failed),
		T(test_retried_trace),
		T(test_job_gone),
		T(test_forgotten_stays_forgotten),
		T(test_two_at_once),
		T(test_implicit_candidate),
		T(test_no_candidates),
		T(test_foreign_comments),
		T(test_probe_failed_for_good),
		T(test_probe_retries),
		T(test_probe_cancelled),
		T(test_probe_refused_by_slurm),
		T(test_other_probe_fails),
		T(test_result_for_another),
		T(test_probe_found_in_queue),
		T(test_probe_waits_too_long),
		T(test_probe_budget),
		T(test_extend_rules),
		T(test_extended_up_to_the_users_limit),
		T(test_extension_refused_is_tried_again),
		T(test_extension_without_store),
		T(test_not_ours_is_not_extended),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
