/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How traced jobs and their probes are followed, on a cluster made of structs. */
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
#include "predictor/limits/raise.h"
#include "predictor/probe/probes.h"
#include "predictor/spool/in_time.h"
#include "predictor/spool/spool.h"
#include "predictor/store/busy.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/skip.h"

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

	probe_end(500, "fast", 90, 20);
	assert_int_equal(w->n_submitted, 2);
	assert_string_equal(w->submitted[1].partition, "slow");
	assert_string_equal(w->submitted[1].features, "big");
	assert_non_null(strstr(w->submitted[1].script, " --candidate slow_big --seconds"));
	assert_true(probe("fast").cost_node_s == 40);
	assert_state(PROGRAM_BUILDING, "");

	probe_end(501, "slow_big", 180, 30);
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

/* slurmctld counts whole seconds: a job that starts and ends in one took up to a second, and is predicted. */
static void test_shorter_than_a_second(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	look();
	job_run(j);
	look();
	trace_leave(1);
	job_end(j, "COMPLETED", 0);
	j->end_time = j->start_time;
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_true(program().source_elapsed_s == 1);
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
		job_play(j, "COMPLETED", 110);
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
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
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
		{"tracer.err", "the tracer gave up: "},
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
		SKIP("only root may make links for others");
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

/* The next submission is due for tracing: its second is not that of the first one, which is marked. */
static void test_job_failed_at_once(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	job_end(j, "FAILED", 0);
	j->submit_time = j->start_time = j->end_time = w->now;
	look();
	assert_state(PROGRAM_FAILED, "FAILED");
	assert_true(program().retrace_at == j->submit_time + 1);
}

static void test_retried_trace(void **state)
{
	(void)state;
	test_job_failed(state);
	w->n = 0;
	traced_job(); /* ids start again, with another submit time */
}

/* The record of the tasks that wait comes first, then each task has one of its own. */
static struct cluster_job *task_add(uint32_t id, uint32_t index)
{
	struct cluster_job *j = job_add(id, ACT_TRACE);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.task = 1;
	assert_true(comment_format(&c, w->comments[w->n - 1], COMMENT_TEXT_MAX) > 0);
	j->array_job = 1;
	j->array_task = index;
	return j;
}

/* Of an array the first task alone is traced. The others neither fail the program nor count as traced runs. */
static void test_array_is_traced_once(void **state)
{
	struct store_run run;
	struct errbuf e;
	unsigned lines = 0;

	(void)state;
	task_add(1, 0);
	look();
	for (uint32_t i = 1; i <= 40; i++)
		job_run(task_add(1 + i, i));
	look();
	assert_int_equal(program().source_job, 2);
	for (const char *at = w->log; (at = strstr(at, "is to be traced")); at++)
		lines++;
	assert_in_range(lines, 1, 2);
	assert_int_equal(store_run_get(w->store, 30, &run, &e), 1);
	assert_int_equal(run.act, ACT_OBSERVE);
	job_end(job_find(30), "FAILED", 10);
	job_end(job_find(31), "COMPLETED", 10);
	w->now += FOLLOW_TRACE_GRACE_S;
	look();
	assert_state(PROGRAM_NEW, "");
	trace_leave(2);
	job_end(job_find(2), "COMPLETED", 100);
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_int_equal(program().source_job, 2);
}

static unsigned said(const char *what)
{
	unsigned n = 0;

	for (const char *at = w->log; (at = strstr(at, what)); at++)
		n++;
	return n;
}

/* Tasks of an array that end between two looks are learned from at once: one estimate, of all of them. */
static void test_burst_is_learned_once(void **state)
{
	struct store_lookup l;
	struct errbuf e;

	(void)state;
	job_play(job_add(1, ACT_TRACE), "COMPLETED", 100); /* not an MPI program */
	w->now += FOLLOW_TRACE_GRACE_S;
	look();
	assert_int_equal(program().state, PROGRAM_FAILED);
	for (uint32_t i = 1; i <= 30; i++) {
		struct cluster_job *j = job_add(1 + i, ACT_OBSERVE);

		j->array_job = 2;
		j->array_task = i;
		job_run(j);
	}
	look();
	w->now += 100;
	for (uint32_t i = 1; i <= 30; i++)
		job_end(job_find(1 + i), i == 30 ? "FAILED" : "COMPLETED", i == 1 ? 50 : 10);
	w->log[0] = '\0';
	look();
	assert_int_equal(said("the array's index matters"), 1);
	assert_int_equal(said("COMPLETED on fast"), 29);
	w->log[0] = '\0';
	for (uint32_t i = 40; i < 60; i++)
		job_add(i, ACT_OBSERVE)->array_job = 40;
	look();
	for (uint32_t i = 40; i < 60; i++)
		job_end(job_find(i), "CANCELLED", 0); /* none of them ran */
	look();
	assert_int_equal(said("CANCELLED on fast"), 20);
	assert_int_equal(said("the array's index matters"), 0);
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
}

/* A run that waits for its trace is learned from last, although its job comes first. */
static void test_traced_is_learned_last(void **state)
{
	struct store_lookup l;
	struct errbuf e;

	(void)state;
	job_run(job_add(1, ACT_TRACE));
	job_run(job_add(2, ACT_OBSERVE));
	look();
	w->now += 100;
	job_end(job_find(1), "COMPLETED", 110);
	job_end(job_find(2), "COMPLETED", 110);
	look();
	w->now += FOLLOW_TRACE_GRACE_S;
	look();
	assert_int_equal(program().state, PROGRAM_FAILED);
	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	assert_int_equal(l.n_estimates, 1);
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
	probe_end(500, "other", 90, 20);
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
	assert_state(PROGRAM_BUILDING, "");
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
	probe_end(500, "fast", 90, 20);
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

/* A shell must read the names in a probe's script as they are. */
static void test_probe_script_is_quoted(void **state)
{
	static char prefix[] = "/opt/o'brien $(touch x) `touch x` \"; touch x #\\";
	char *conf_prefix = w->conf.install_dir, line[1024] = "", path[256], want[512];
	FILE *f;

	(void)state;
	w->conf.install_dir = prefix;
	traced_job();
	w->conf.install_dir = conf_prefix;
	snprintf(path, sizeof(path), "%s/script", w->dir);
	f = fopen(path, "w");
	assert_non_null(f);
	/* instead of exec: print the words */
	assert_int_equal(strncmp(w->submitted[0].script, "#!/bin/sh\nexec ", 15), 0);
	fprintf(f, "printf '%%s|' %s", w->submitted[0].script + 15);
	fclose(f);
	snprintf(line, sizeof(line), "cd %s && sh script", w->dir);
	f = popen(line, "r");
	assert_non_null(f);
	line[fread(line, 1, sizeof(line) - 1, f)] = '\0';
	assert_int_equal(pclose(f), 0);
	snprintf(want, sizeof(want), "%s/bin/precedent|probe|--dir|", prefix);
	assert_int_equal(strncmp(line, want, strlen(want)), 0);
	assert_non_null(strstr(line, "/1|--candidate|fast|--source|--seconds|5.00|"));
	snprintf(path, sizeof(path), "%s/x", w->dir);
	assert_int_equal(access(path, F_OK), -1);
}

/* ---- a spool that does not answer ---- */

static int hang[2], hang_end[2];

/* A look into the spool that ends when the test says so. */
static void look_that_hangs(void *arg)
{
	char byte;

	(void)arg;
	(void)!read(hang[0], &byte, 1);
	(void)!write(hang_end[1], "", 1);
}

static void spool_hangs(void)
{
	struct errbuf e;
	char unused = 0;

	assert_int_equal(pipe(hang), 0);
	assert_int_equal(pipe(hang_end), 0);
	assert_int_equal(spool_in_time(look_that_hangs, &unused, 1, w->spool, &e), -1);
	assert_non_null(strstr(e.text, "does not answer"));
	assert_true(spool_is_silent());
}

static void spool_answers(void)
{
	char byte;

	assert_int_equal(write(hang[1], "", 1), 1);
	assert_int_equal(read(hang_end[0], &byte, 1), 1);
	for (int i = 0; i < 1000 && spool_is_silent(); i++)
		usleep(10000);
	assert_false(spool_is_silent());
	for (int i = 0; i < 2; i++) {
		close(hang[i]);
		close(hang_end[i]);
	}
}

/* The trace of an ended job and the record of a probe are found later. Nothing is given up meanwhile. */
static void test_spool_does_not_answer(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);

	(void)state;
	look();
	job_run(j);
	look();
	trace_leave(1);
	spool_hangs();
	job_end(j, "COMPLETED", 100);
	look();
	w->now += 10 * FOLLOW_TRACE_GRACE_S;
	look();
	assert_state(PROGRAM_NEW, "");
	spool_answers();
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_int_equal(w->n_submitted, 1);

	spool_hangs();
	probe_end(500, "fast", 90, 20);
	look();
	assert_int_equal(w->n_submitted, 1);
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
	assert_true(probe("fast").cost_node_s == 0);
	spool_answers();
	look();
	assert_int_equal(probe("fast").state, PROBE_DONE);
	assert_true(probe("fast").cost_node_s == 40);
	assert_int_equal(w->n_submitted, 2);
}

static void test_probe_budget(void **state)
{
	(void)state;
	assert_true(probes_seconds(&w->conf, 100, 2) == 5);
	assert_true(probes_seconds(&w->conf, 3600, 2) == 18);
	assert_true(probes_seconds(&w->conf, 86400, 2) == PROBES_SECONDS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_whole_way),
		T(test_shorter_than_a_second),
		T(test_history_corrects),
		T(test_history_that_contradicts),
		T(test_no_trace),
		T(test_signs_of_an_attempt),
		T(test_no_job_directory),
		T(test_no_spool),
		T(test_spool_of_somebody_else),
		T(test_job_failed),
		T(test_job_failed_at_once),
		T(test_retried_trace),
		T(test_array_is_traced_once), T(test_burst_is_learned_once), T(test_traced_is_learned_last),
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
		T(test_probe_script_is_quoted),
		T(test_spool_does_not_answer),
		T(test_probe_budget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
