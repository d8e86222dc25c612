/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs that cease to run as predicted: when that is said, what is done about it, and how often at most. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/duration.h"
#include "plugin/decide.h"
#include "predictor/estimate/drift.h"
#include "predictor/learn/drift_follow.h"
#include "predictor/probe/probes.h"
#include "predictor/store/keep.h"
#include "predictor/store/trials.h"
#include "tests/unit/follow_world.h"
#include "tests/unit/normal.h"

/* ---- the rules ---- */

/* The latest first, each told 90 to 110; one hour apart. */
static size_t runs_of(const double *actual, size_t n, int64_t last, struct drift_run *out)
{
	for (size_t i = 0; i < n; i++)
		out[i] = (struct drift_run){last - (int64_t)i * 3600, fabs(actual[i]), 90, 110, actual[i] < 0};
	return n;
}

static enum drift_deed judged(struct drift *d, int64_t now, size_t n, const double *actual)
{
	struct drift_run runs[8];

	return drift_judge(d, runs, runs_of(actual, n, now - 60, runs), now);
}

#define JUDGED(d, now, ...) judged(d, now, sizeof((double[]){__VA_ARGS__}) / sizeof(double), (double[]){__VA_ARGS__})

static void test_two_of_three(void **state)
{
	struct drift d = {DRIFT_NONE, 0, 0};
	int64_t now = START;

	(void)state;
	assert_int_equal(JUDGED(&d, now, 130), DRIFT_REST);
	assert_int_equal(JUDGED(&d, now, 130, 100, 100), DRIFT_REST);
	assert_int_equal(JUDGED(&d, now, 130, 70, 100), DRIFT_REST); /* not on the same side */
	assert_int_equal(JUDGED(&d, now, 100, 100, 130, 130), DRIFT_REST); /* the last three are looked at */
	assert_int_equal(JUDGED(&d, now, 70, -70, -70), DRIFT_REST); /* cut short: not too short */
	assert_true(!d.since && !d.acted && d.stage == DRIFT_NONE);
	assert_int_equal(JUDGED(&d, now, 130, 100, 130, 100), DRIFT_REPROBE);
	assert_true(d.since == now - 60 - 2 * 3600 && d.acted == now && d.stage == DRIFT_REPROBED);
	d = (struct drift){DRIFT_NONE, 0, 0};
	assert_int_equal(JUDGED(&d, now, 70, 70), DRIFT_REPROBE);
	d = (struct drift){DRIFT_NONE, 0, 0};
	assert_int_equal(JUDGED(&d, now, -130, -70, -70, -130), DRIFT_REPROBE); /* those between say nothing */
}

static void test_first_probes_then_trace(void **state)
{
	struct drift d = {DRIFT_NONE, 0, 0};
	int64_t now = START;

	(void)state;
	assert_int_equal(JUDGED(&d, now, 130, 130), DRIFT_REPROBE);
	assert_int_equal(JUDGED(&d, now + 60, 130, 130, 130), DRIFT_REST); /* submitted before the deed, or too soon after it */
	assert_int_equal(JUDGED(&d, now + DRIFT_REST_S - 1, 130, 130, 130), DRIFT_REST);
	now += DRIFT_REST_S + 7200;
	assert_int_equal(JUDGED(&d, now, 100, 100, 100), DRIFT_REST);
	assert_int_equal(JUDGED(&d, now, 130, 130, 130), DRIFT_RETRACE);
	assert_int_equal(d.stage, DRIFT_RETRACED);
	now += DRIFT_REST_S + 7200;
	assert_int_equal(JUDGED(&d, now, 130, 130, 130), DRIFT_REPROBE); /* and from the beginning */
	d.acted = now + 1000000; /* a clock that was set back does not silence it: but nothing was submitted after it */
	assert_int_equal(JUDGED(&d, now, 130, 130, 130), DRIFT_REST);
}

/* However wild the runs: never more than one deed within its rest. */
static void test_rate(void **state)
{
	struct drift d = {DRIFT_NONE, 0, 0};
	struct drift_run runs[DRIFT_LOOK + 2] = {{0}};
	int64_t now = START, last = 0;
	unsigned deeds = 0;

	(void)state;
	srand48(11);
	for (unsigned i = 0; i < 20000; i++) {
		now += 1 + (int64_t)(drand48() * 1200);
		memmove(runs + 1, runs, sizeof(runs) - sizeof(*runs));
		runs[0] = (struct drift_run){now - 1, 100 * exp(normal()), 90, 110, 0};
		if (drift_judge(&d, runs, DRIFT_LOOK + 2, now) == DRIFT_REST)
			continue;
		assert_true(!last || now - last >= DRIFT_REST_S);
		last = now;
		deeds++;
	}
	assert_true(deeds > 100);
}

/* Runs as they should be, nine of ten within, are hardly ever taken for a drift; a change by a half is seen at once. */
static void test_power(void **state)
{
	unsigned alarms = 0, seen = 0;

	(void)state;
	srand48(12);
	for (unsigned trial = 0; trial < 2000; trial++) {
		struct drift d = {DRIFT_NONE, 0, 0};
		struct drift_run runs[3];

		for (int i = 0; i < 3; i++)
			runs[i] = (struct drift_run){START - i, 100 + 5 * normal(), 100 - 5 * 1.645, 100 + 5 * 1.645, 0};
		alarms += drift_judge(&d, runs, 3, START) != DRIFT_REST;
		d = (struct drift){DRIFT_NONE, 0, 0};
		for (int i = 0; i < 2; i++)
			runs[i].actual_s *= 1.5;
		seen += drift_judge(&d, runs, 3, START) == DRIFT_REPROBE;
	}
	assert_true(alarms < 2000 * 0.03);
	assert_true(seen == 2000);
}

/* ---- on a cluster ---- */

static bool estimate_of(const char *candidate, struct estimate *out)
{
	struct store_lookup l;
	struct errbuf e;

	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, candidate)) {
			*out = l.estimates[i].e;
			return true;
		}
	return false;
}

/* A run on the fast partition as the plugin would have submitted it: with the estimate of now, if there is one. */
static uint32_t predicted_run(double elapsed_s)
{
	static uint32_t id = 1000;
	struct cluster_job *j;
	struct job_comment c;
	struct estimate e;
	size_t at = w->n;

	for (size_t i = 0; i < w->n; i++) /* slurmctld forgets */
		if (w->jobs[i].phase == CLUSTER_ENDED)
			at = i;
	w->now += 60;
	if (at < w->n) {
		size_t n = w->n;

		w->n = at;
		j = job_add(++id, ACT_PREDICT);
		w->n = n;
	} else {
		j = job_add(++id, ACT_PREDICT);
	}
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	if (estimate_of("fast", &e)) {
		strcpy(c.candidate, "fast");
		c.pred_s = e.mean_s;
		c.lo_s = e.lo_s;
		c.hi_s = e.hi_s;
	}
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	look();
	job_run(j);
	look();
	w->now += (int64_t)elapsed_s;
	job_end(j, "COMPLETED", elapsed_s);
	look();
	return id;
}

static struct drift drift_of(const char *candidate)
{
	struct drift d;
	struct errbuf e;

	assert_true(store_drift_get(w->store, KEY, candidate, &d, &e) >= 0);
	return d;
}

static void test_as_ever(void **state)
{
	(void)state;
	program_ready();
	for (unsigned i = 0; i < 12; i++)
		predicted_run(100 + i % 3);
	assert_state(PROGRAM_READY, "");
	assert_int_equal(w->n_submitted, 2);
	assert_int_equal(drift_of("fast").stage, DRIFT_NONE);
}

static void probed_again(void)
{
	assert_state(PROGRAM_READY, "");
	look();
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
	assert_int_equal(w->n_submitted, 3);
	assert_string_equal(w->submitted[2].partition, "fast");
	probe_end(502, "fast", 90, 20);
	assert_int_equal(probe("fast").state, PROBE_DONE);
	assert_state(PROGRAM_READY, "");
}

static void test_drift(void **state)
{
	struct estimate e;

	(void)state;
	program_ready();
	for (unsigned i = 0; i < 3; i++)
		predicted_run(100);
	predicted_run(160);
	assert_int_equal(drift_of("fast").stage, DRIFT_NONE);
	for (unsigned i = 0; i < 2 && drift_of("fast").stage == DRIFT_NONE; i++)
		predicted_run(162);
	assert_int_equal(drift_of("fast").stage, DRIFT_REPROBED);
	assert_int_equal(drift_of("slow:big").stage, DRIFT_NONE);
	probed_again();
	/* what ran before counts no more */
	predicted_run(161);
	if (!estimate_of("fast", &e))
		fail_msg("%s %s", program().reason, w->log);
	assert_true(e.mean_s > 140);
	/* as they are now they are as predicted: nothing more is done */
	for (unsigned i = 0; i < 6; i++)
		predicted_run(161);
	assert_state(PROGRAM_READY, "");
	assert_true(estimate_of("fast", &e));
	assert_true(fabs(e.mean_s - 161) < 5);
	assert_int_equal(w->n_submitted, 3);
	/* otherwise again, after a while: then it is traced */
	w->now += DRIFT_REST_S;
	for (unsigned i = 0; i < 6 && program().state == PROGRAM_READY; i++)
		predicted_run(50);
	assert_state(PROGRAM_NEW, "the last runs on fast were not as predicted: the next run is traced again");
	assert_true(program().retrace_at > 0 && program().retrace_at <= w->now);
	assert_int_equal(drift_of("fast").stage, DRIFT_RETRACED);
}

/* The next run is traced, and replaces what was known. */
static void test_traced_again(void **state)
{
	struct cluster_job *j;

	test_drift(state);
	w->n = 0;
	j = job_add(3000, ACT_TRACE);
	look();
	assert_state(PROGRAM_NEW, "");
	assert_true(program().retrace_at == 0); /* and only that one */
	job_run(j);
	look();
	trace_leave(3000);
	w->now += 50;
	job_end(j, "COMPLETED", 50);
	look();
	assert_state(PROGRAM_BUILDING, "");
	assert_int_equal(program().source_job, 3000);
}

/* The probe was made again in vain lately: then the program is traced at once. */
static void test_probed_in_vain(void **state)
{
	struct store_probe p;
	struct errbuf e;

	(void)state;
	program_ready();
	p = probe("fast");
	p.not_before = w->now + 1000000;
	assert_int_equal(store_probe_put(w->store, &p, &e), 0);
	for (unsigned i = 0; i < 5 && program().state == PROGRAM_READY; i++)
		predicted_run(160);
	assert_state(PROGRAM_NEW, "the next run is traced again");
	assert_int_equal(drift_of("fast").stage, DRIFT_RETRACED);
	assert_int_equal(w->n_submitted, 2);
}

/* The same while the program may not be traced: it goes by its latest runs, and is traced once it may be. */
static void test_may_not_be_traced(void **state)
{
	struct store_tracing stopped = {TRACING_STOPPED, 1};
	struct store_trial t = {.name = KEY, .key = KEY, .uid = getuid(), .guard = TRIAL_SUSPECT, .end_state = "FAILED"};
	struct store_probe p;
	struct errbuf e;

	(void)state;
	program_ready();
	p = probe("fast");
	p.not_before = w->now + 100 * DRIFT_REST_S;
	assert_int_equal(store_probe_put(w->store, &p, &e), 0);
	for (unsigned round = 0; round < 2; round++) {
		if (round == 0)
			assert_int_equal(store_trial_put(w->store, &t, &e), 0);
		else
			assert_int_equal(store_tracing_set(w->store, &stopped, &e), 0);
		for (unsigned i = 0; i < 5; i++)
			predicted_run(round ? 400 : 160);
		assert_state(PROGRAM_READY, "");
		assert_int_equal(drift_of("fast").stage, DRIFT_REPROBED);
		assert_int_equal(store_trial_lift(w->store, KEY, w->now, &e), 0);
		w->now += DRIFT_REST_S;
	}
	assert_true(store_tracing_resume(w->store, w->now, &e) >= 0);
	for (unsigned i = 0; i < 5 && program().state == PROGRAM_READY; i++)
		predicted_run(1000);
	assert_state(PROGRAM_NEW, "the next run is traced again");
}

/* Without a trace there is nothing to probe: the history begins anew. */
static void test_history_alone(void **state)
{
	struct cluster_job *j = job_add(1, ACT_TRACE);
	struct estimate e;
	char dir[256];

	(void)state;
	job_dir(1, dir, sizeof(dir));
	look();
	job_end(j, "COMPLETED", 100);
	w->now += FOLLOW_TRACE_GRACE_S + 1;
	look();
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
	for (unsigned i = 0; i < 4; i++)
		predicted_run(100);
	for (unsigned i = 0; i < 4; i++)
		predicted_run(125);
	assert_int_equal(drift_of("fast").stage, DRIFT_REPROBED);
	assert_state(PROGRAM_FAILED, "no process called MPI_Init");
	assert_int_equal(w->n_submitted, 0);
	assert_true(estimate_of("fast", &e));
	assert_true(fabs(e.mean_s - 125) < 1);
}

/* ---- arrays ---- */

/* As the poll loop does. */
static int drift_take(const struct store_run *r, struct errbuf *e)
{
	struct ended_run ended = {.env = &w->env, .row = r, .now = w->now};
	struct drift_found found;
	int rc = drift_follow(&ended, &found, e), again = PROBE_AGAIN_NONE;

	if (rc == 1 && found.probe)
		again = probes_again(&w->env, r->key, r->candidate, "a test", w->now, e);
	if (rc < 1 || again < 0 || again == PROBE_AGAIN_LATER)
		return rc < 0 || again < 0 ? -1 : 0;
	rc = drift_act(&ended, &found, again == PROBE_AGAIN_PLANNED, e);
	ended_run_forget(&ended);
	return rc;
}

/* An array that was told lo to hi (0: nothing), task first + i of seconds[i]; each task that ends is looked at. */
static int64_t array_run(uint32_t first, double lo, double hi, const double *seconds, size_t n)
{
	static uint32_t job = 5000;
	struct store_run r = {.act = ACT_PREDICT, .user_limit_min = 60, .limit_min = DURATION_UNSET, .pred_kind = -1, .lo_s = lo, .hi_s = hi,
			      .pred_s = (lo + hi) / 2, .candidate = "fast", .key = KEY, .family = FAMILY, .end_state = "COMPLETED"};
	struct errbuf e;

	w->now += 600;
	r.uid = program().uid;
	r.submit_time = r.start_time = w->now;
	r.array_job = ++job;
	if (hi > 0)
		strcpy(r.pred_candidate, "fast");
	for (size_t i = 0; i < n; i++) {
		r.jobid = job++;
		r.array_task = first + (uint32_t)i;
		r.elapsed_s = seconds[i];
		r.end_time = w->now + (int64_t)seconds[i];
		if (store_run_put(w->store, &r, &e) < 0 || drift_take(&r, &e) < 0)
			fail_msg("%s", e.text);
	}
	return r.submit_time;
}

#define ARRAY(first, lo, hi, ...)                                                                                                      \
	array_run(first, lo, hi, (const double[]){__VA_ARGS__}, sizeof((const double[]){__VA_ARGS__}) / sizeof(double))

static enum drift_stage stage(void)
{
	return drift_of("fast").stage;
}

static void test_array_alike(void **state)
{
	int64_t since;

	(void)state;
	program_ready();
	ARRAY(1, 0, 0, 100, 101, 102, 103);
	for (int i = 0; i < 4; i++)
		ARRAY(1, 95, 108, 103, 102, 101, 100);
	ARRAY(1, 95, 108, 160, 100, 100, 100);
	ARRAY(1, 95, 108, 103, 102, 101, 100);
	assert_int_equal(stage(), DRIFT_NONE);
	ARRAY(1, 95, 108, 103, 102, 101, 100);
	since = ARRAY(1, 95, 108, 160, 161, 162, 163);
	assert_int_equal(stage(), DRIFT_NONE); /* one submission, however many tasks */
	ARRAY(1, 0, 0, 160, 161, 162, 163);    /* the prediction was withheld by now */
	assert_int_equal(stage(), DRIFT_REPROBED);
	assert_true(drift_of("fast").since == since);
}

static void test_array_index_matters(void **state)
{
	(void)state;
	program_ready();
	ARRAY(1, 0, 0, 10, 20, 30, 40);
	ARRAY(1, 0, 0, 10, 20, 30, 40);
	for (int i = 0; i < 5; i++)
		ARRAY(1, 38, 42, 10, 20, 30, 40); /* all but the longest are shorter than what was told */
	for (int i = 0; i < 4; i++)
		ARRAY(1, 38, 42, 10, 20); /* a part of it */
	ARRAY(5, 38, 42, 50, 60, 70); /* indexes that have not run */
	ARRAY(8, 38, 42, 80, 90);
	ARRAY(5, 0, 0, 50, 60, 70, 80, 90);
	assert_int_equal(stage(), DRIFT_NONE);
	for (int i = 0; i < 3; i++)
		ARRAY(1, 85, 95, 10, 20, 30, 40, 50, 60, 70, 80, 90);
	assert_int_equal(stage(), DRIFT_NONE);
}

static void test_array_longer(void **state)
{
	test_array_index_matters(state);
	ARRAY(1, 85, 95, 15, 30, 45, 60, 75, 90, 105, 120, 135);
	assert_int_equal(stage(), DRIFT_NONE);
	ARRAY(1, 85, 95, 15, 30, 45, 60, 75, 90, 105); /* even without the longest: it was to be within */
	assert_int_equal(stage(), DRIFT_REPROBED);
}

static void test_array_shorter(void **state)
{
	(void)state;
	program_ready();
	for (int i = 0; i < 4; i++)
		ARRAY(1, 38, 42, 10, 20, 30, 40);
	ARRAY(1, 38, 42, 5, 10, 15, 20);
	assert_int_equal(stage(), DRIFT_NONE);
	ARRAY(1, 38, 42, 5, 10, 15, 20);
	assert_int_equal(stage(), DRIFT_REPROBED);
}

/* ---- the plugin ---- */

static struct store_program due;
static int64_t beat;

static int due_lookup(struct store *s, const char *key, struct store_lookup *out, struct errbuf *err)
{
	(void)s;
	(void)key;
	(void)err;
	memset(out, 0, sizeof(*out));
	out->program = due;
	out->n_estimates = 1;
	out->estimates[0] = (struct store_estimate){.candidate = "fast", .e = {100, 95, 105, ESTIMATE_BLEND, 4}};
	return 1;
}

static enum job_act submitted(struct decision *out)
{
	static struct precedent_conf conf;
	const struct decide_reads reads = {.lookup = due_lookup};
	struct decide_source src = {.reads = &reads, .heartbeat = beat};
	struct decide_input in = {.uid = 1000, .script = "#!/bin/sh\nsrun ./app\n", .work_dir = "/home/u", .partition = "fast",
				  .time_limit_min = 60, .time_min_min = DURATION_UNSET, .now = START};
	struct errbuf err = {""};

	conf.mode = MODE_OBSERVE;
	conf.heartbeat_timeout_s = 120;
	conf.n_candidates = 1;
	conf.candidates[0] = (struct conf_candidate){"fast", "fast", ""};
	assert_int_equal(decide(&in, &conf, &src, out, &err), 0);
	return out->act;
}

/* A program that is to be traced again is, though there are estimates; not while precedentd is dead. */
static void test_marked_again(void **state)
{
	struct decision out;

	(void)state;
	due = (struct store_program){.uid = 1000, .state = PROGRAM_NEW, .retrace_at = START};
	beat = START;
	assert_int_equal(submitted(&out), ACT_TRACE);
	assert_true(out.trace);
	assert_non_null(strstr(out.message, "this run is traced again, since the program does not run as it did"));
	due.retrace_at = START + 2;
	assert_int_equal(submitted(&out), ACT_PREDICT);
	due.retrace_at = 0;
	assert_int_equal(submitted(&out), ACT_PREDICT);
	due.retrace_at = START;
	beat = START - 1000;
	assert_int_equal(submitted(&out), ACT_PREDICT);
	assert_false(out.trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_of_three),
		cmocka_unit_test(test_first_probes_then_trace),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_power),
		T(test_as_ever),
		T(test_drift),
		T(test_traced_again),
		T(test_probed_in_vain),
		T(test_may_not_be_traced),
		T(test_history_alone), T(test_array_alike), T(test_array_index_matters), T(test_array_longer),
					   T(test_array_shorter),
		cmocka_unit_test(test_marked_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
