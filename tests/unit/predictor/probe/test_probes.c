/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What probes may cost, when they are not needed any more, and when they are made again, on a cluster made of structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/follow_world.h"
#include "predictor/probe/probes.h"
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"
#include "predictor/store/layout.h"
#include "predictor/store/spool_use.h"

#define OTHER_CLASS "fedcba9876543210"

static struct store_cost cost[8];
static unsigned n_cost;

static int see_cost(const struct store_cost *c, void *arg)
{
	(void)arg;
	assert_true(n_cost < 8);
	cost[n_cost++] = *c;
	return 0;
}

static double cost_of(const char *partition)
{
	struct errbuf e;

	n_cost = 0;
	assert_true(store_costs_each(w->store, STORE_ALL_USERS, 0, see_cost, NULL, &e) >= 0);
	for (unsigned i = 0; i < n_cost; i++)
		if (!strcmp(cost[i].partition, partition))
			return cost[i].probe_node_s;
	return 0;
}

static struct store_estimate estimate_on(const char *candidate)
{
	struct store_lookup l;
	struct errbuf e;

	assert_int_equal(store_lookup(w->store, KEY, &l, &e), 1);
	for (unsigned i = 0; i < l.n_estimates; i++)
		if (!strcmp(l.estimates[i].candidate, candidate))
			return l.estimates[i];
	fail_msg("no estimate on %s", candidate);
	return l.estimates[0];
}

static bool near(double a, double b)
{
	return a > b * 0.99 && a < b * 1.01;
}

/* ---- budget ---- */

static void test_allowance(void **state)
{
	struct store_program p = {.nodes = 2, .source_elapsed_s = 100, .source_candidate = "fast"};

	(void)state;
	/* a short job: a minute and ProbeSeconds of two nodes on each of two candidates */
	assert_true(near(probes_allowance(&w->env, &p), 2 * 2 * 65));
	strcpy(p.source_candidate, "elsewhere");
	assert_true(near(probes_allowance(&w->env, &p), 3 * 2 * 65));
	p.source_elapsed_s = 100000; /* 1 % of the job's node seconds */
	assert_true(near(probes_allowance(&w->env, &p), 2000));
}

static void test_budget_spent(void **state)
{
	(void)state;
	traced_job();
	job_end(job_find(500), "TIMEOUT", 128); /* 256 node seconds of 260: no room for another 10 */
	look();
	assert_int_equal(probe("fast").state, PROBE_WAITING);
	w->now += PROBES_BACKOFF_S;
	look();
	assert_int_equal(w->n_submitted, 1);
	assert_int_equal(probe("fast").state, PROBE_FAILED);
	assert_state(PROGRAM_FAILED, "ProbeBudget is spent: 256 of 260 node seconds");
	assert_true(cost_of("fast") == 256);
}

/* What the source probe has spent counts for the others. */
static void test_budget_of_all(void **state)
{
	(void)state;
	traced_job();
	probe_end(500, "fast", 90, 130);
	assert_int_equal(w->n_submitted, 1);
	assert_state(PROGRAM_READY, "nothing for slow:big: the job's ProbeBudget is spent");
}

static void test_cost_of_what_nobody_saw(void **state)
{
	(void)state;
	traced_job();
	w->n = 1; /* slurmctld has forgotten the probe */
	w->now += 60;
	look();
	assert_int_equal(probe("fast").state, PROBE_WAITING);
	assert_true(probe("fast").cost_node_s == 2 * 5);
	assert_true(cost_of("fast") == 2 * 5);
}

static void test_costs_outlive_programs(void **state)
{
	struct errbuf e;

	(void)state;
	program_ready();
	assert_true(cost_of("fast") == 40 && cost_of("slow") == 60);
	assert_int_equal(store_program_forget(w->store, KEY, &e), 1);
	assert_true(cost_of("fast") == 40 && cost_of("slow") == 60);
}

/* ---- making room ---- */

static void test_preempted(void **state)
{
	int64_t last = 0, gap;

	(void)state;
	traced_job();
	for (unsigned i = 0; i < PROBES_PREEMPTED_MAX - 1; i++) {
		job_end(job_find(500 + i), "PREEMPTED", 1);
		look();
		assert_int_equal(probe("fast").state, PROBE_WAITING);
		gap = probe("fast").not_before - w->now;
		assert_true(gap >= last && gap <= PROBES_BACKOFF_MAX_S);
		last = gap;
		w->now += gap;
		look();
		assert_int_equal(w->n_submitted, i + 2);
	}
	job_end(job_find(500 + PROBES_PREEMPTED_MAX - 1), "PREEMPTED", 1);
	look();
	assert_state(PROGRAM_FAILED, "PREEMPTED");
}

/* ---- moot ---- */

static void test_forgotten(void **state)
{
	struct store_probe p;
	struct errbuf e;

	(void)state;
	traced_job();
	job_run(job_find(500));
	job_find(500)->elapsed_s = 7;
	assert_true(store_key_forget(w->store, KEY, getuid(), w->now, &e) > 0);
	w->refuse_cancel = true;
	look();
	assert_int_equal(w->n_cancelled, 0);
	w->refuse_cancel = false;
	look(); /* again, until it is gone */
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(w->last_cancelled, 500);
	assert_true(cost_of("fast") == 14);
	job_end(job_find(500), "CANCELLED", 7);
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(store_probe_get(w->store, KEY, "fast", &p, &e), 0);
}

static void test_candidate_removed(void **state)
{
	struct store_probe p;
	struct errbuf e;

	(void)state;
	traced_job();
	probe_end(500, "fast", 90, 20);
	assert_int_equal(w->n_submitted, 2);
	conf_make("Candidates=fast");
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(w->last_cancelled, 501);
	assert_state(PROGRAM_READY, ""); /* without it */
	assert_int_equal(store_probe_get(w->store, KEY, "slow:big", &p, &e), 0);
}

/* The source of all ratios is probed also where it is no candidate (any more). */
static void test_source_removed(void **state)
{
	(void)state;
	traced_job();
	conf_make("Candidates=slow:big");
	look();
	assert_int_equal(w->n_cancelled, 0);
	assert_int_equal(probe("fast").state, PROBE_SUBMITTED);
}

/* Without candidates a program is probed where it was traced, and there again. */
static void test_no_candidates(void **state)
{
	struct errbuf e;

	(void)state;
	conf_make("Mode=observe");
	traced_job();
	assert_int_equal(w->n_submitted, 1);
	assert_string_equal(w->submitted[0].partition, "fast");
	probe_end(500, "fast", 90, 20);
	assert_state(PROGRAM_READY, "");
	assert_true(near(estimate_on("fast").e.mean_s, 100));
	assert_int_equal(probes_again(&w->env, KEY, "fast", "a test", w->now, &e), PROBE_AGAIN_PLANNED);
	look();
	assert_int_equal(w->n_submitted, 2);
}

static void test_retraced_meanwhile(void **state)
{
	struct store_program p;
	struct errbuf e;

	(void)state;
	program_ready();
	assert_int_equal(probes_again(&w->env, KEY, "slow:big", "a test", w->now, &e), PROBE_AGAIN_PLANNED);
	look();
	assert_int_equal(w->n_submitted, 3);
	p = program();
	p.state = PROGRAM_NEW; /* as precedent retrace does it */
	assert_int_equal(store_program_forget(w->store, KEY, &e), 1);
	assert_int_equal(store_program_put(w->store, &p, &e), 0);
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(w->last_cancelled, 502);
}

/* ---- not twice ---- */

static void key_number(unsigned i, char key[IDENTITY_KEY_LEN + 1])
{
	snprintf(key, IDENTITY_KEY_LEN + 1, "%032x", i + 1);
}

/* A sweep over a parameter: five keys of one family. */
static void test_family(void **state)
{
	unsigned building = 0, waiting = 0;
	struct store_program p;
	struct errbuf e;
	char key[IDENTITY_KEY_LEN + 1];

	(void)state;
	for (unsigned i = 0; i < 5; i++) {
		struct cluster_job *j = job_add(10 + i, ACT_TRACE);
		struct job_comment c;

		comment_init(&c);
		c.act = ACT_TRACE;
		key_number(i, key);
		strcpy(c.key, key);
		strcpy(c.family, FAMILY);
		assert_true(comment_format(&c, w->comments[w->n - 1], COMMENT_TEXT_MAX) > 0);
		trace_leave(10 + i);
		(void)j;
	}
	look();
	for (unsigned i = 0; i < 5; i++)
		job_end(job_find(10 + i), "COMPLETED", 100);
	look();
	assert_int_equal(w->n_submitted, PROBES_FAMILY_MAX);
	for (unsigned i = 0; i < 5; i++) {
		key_number(i, key);
		assert_int_equal(store_program_get(w->store, key, &p, &e), 1);
		building += p.state == PROGRAM_BUILDING;
		waiting += p.state == PROGRAM_TRACED && strstr(p.reason, "others of its family");
	}
	assert_int_equal(building, PROBES_FAMILY_MAX);
	assert_int_equal(waiting, 5 - PROBES_FAMILY_MAX);
	/* one is given up: the next takes its place */
	job_end(job_find(500), "CANCELLED", 0);
	look();
	assert_int_equal(w->n_submitted, PROBES_FAMILY_MAX + 1);
}

/* ---- again ---- */

/* A probe of another program of this user names the class. */
static void class_told(const char *candidate, const char *class_hex)
{
	const struct store_class_record r = {getuid(), candidate, class_hex, "new node"};
	struct errbuf e;

	assert_int_equal(store_class_seen(w->store, &r, w->now, &e), 0);
}

/* The nodes of slow:big are of another class, as the probe of another program has found: they are half as fast. */
static void slow_changes(void)
{
	class_told("slow:big", OTHER_CLASS);
}

/* A run of the key, for programs that nobody runs are left alone. */
static void run_once(uint32_t id)
{
	job_add(id, ACT_PREDICT);
	look();
}

static void test_class_changes(void **state)
{
	(void)state;
	program_ready();
	run_once(20);
	assert_true(near(estimate_on("slow:big").e.mean_s, 190));
	assert_int_equal(w->n_submitted, 2);
	slow_changes();
	assert_true(estimate_on("slow:big").stale && estimate_on("slow:big").e.hi_s > 230);
	assert_false(estimate_on("fast").stale);
	look();
	assert_int_equal(w->n_submitted, 3);
	assert_string_equal(w->submitted[2].partition, "slow");
	assert_null(strstr(w->submitted[2].script, "--source"));
	assert_state(PROGRAM_READY, "");
	assert_true(near(estimate_on("slow:big").e.mean_s, 190)); /* until then */
	strcpy(w->node_class, OTHER_CLASS);
	probe_end(502, "slow_big", 360, 30);
	assert_true(near(estimate_on("slow:big").e.mean_s, 370));
	assert_string_equal(estimate_on("slow:big").node_class, OTHER_CLASS);
	assert_false(estimate_on("slow:big").stale);
	assert_true(near(estimate_on("fast").e.mean_s, 100));
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_submitted, 3);
}

/* The record of the first probe is still there when the second leaves none. */
static void test_again_in_vain(void **state)
{
	(void)state;
	program_ready();
	run_once(20);
	slow_changes();
	look();
	for (unsigned i = 0; i < PROBES_TRIES_MAX; i++) {
		assert_int_equal(w->n_submitted, 3 + i);
		job_end(job_find(502 + i), "NODE_FAIL", 3);
		look();
		w->now += PROBES_BACKOFF_MAX_S;
		look();
	}
	assert_int_equal(probe("slow:big").state, PROBE_DONE);
	assert_true(probe("slow:big").not_before > w->now);
	assert_state(PROGRAM_READY, "");
	assert_true(estimate_on("slow:big").stale && near(estimate_on("slow:big").e.mean_s, 190));
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_submitted, 2 + PROBES_TRIES_MAX);
	w->now += PROBES_AGAIN_S;
	look();
	assert_int_equal(probe("slow:big").state, PROBE_SUBMITTED);
}

/* The nodes that were traced are others now, twice as slow: ratios still refer to those of then. */
static void test_source_class_changes(void **state)
{
	(void)state;
	program_ready();
	run_once(20);
	class_told("fast", OTHER_CLASS);
	look();
	assert_int_equal(w->n_submitted, 3);
	assert_null(strstr(w->submitted[2].script, "--source"));
	strcpy(w->node_class, OTHER_CLASS);
	probe_end(502, "fast", 180, 30);
	assert_true(near(estimate_on("fast").e.mean_s, 190));
	assert_true(near(estimate_on("slow:big").e.mean_s, 190)); /* as before: 180 against 90 of then */
	assert_int_equal(estimate_on("fast").e.kind, ESTIMATE_SKELETON);
}

/* What failed once and was made again may find an older record of its own file: it is not taken for the new one. */
static void test_old_record(void **state)
{
	struct errbuf e;

	(void)state;
	program_ready();
	assert_int_equal(probes_again(&w->env, KEY, "slow:big", "a test", w->now, &e), PROBE_AGAIN_PLANNED);
	look();
	job_end(job_find(502), "COMPLETED", 3); /* and the record of job 501 is still there */
	look();
	assert_int_equal(probe("slow:big").state, PROBE_WAITING);
	assert_non_null(strstr(probe("slow:big").reason, "no result"));
}

static void poll_alone(void)
{
	struct cluster_snapshot none = {NULL, 0, w->now};
	struct errbuf e;

	assert_int_equal(probes_poll(&w->env, NULL, &none, w->now, &e), 0);
}

static unsigned made_again(void)
{
	unsigned n = 0;

	for (const char *at = w->log; (at = strstr(at, "on slow:big to be made again")); at++)
		n++;
	return n;
}

static void test_again_is_bounded(void **state)
{
	struct store_probe row = {.candidate = "slow:big", .state = PROBE_DONE, .result = "x", .class_hex = "0123456789abcdef"};
	char key[IDENTITY_KEY_LEN + 1];
	struct errbuf e;

	(void)state;
	for (unsigned i = 0; i < PROBES_AGAIN_MAX + 3; i++) {
		struct store_run run = {.jobid = 100 + i, .submit_time = w->now, .end_time = w->now, .end_state = "COMPLETED"};
		struct store_program p = {.state = PROGRAM_READY, .uid = getuid(), .nodes = 2, .tasks = 4};

		key_number(i, key);
		strcpy(p.key, key);
		strcpy(row.key, key);
		strcpy(run.key, key);
		strcpy(p.source_candidate, "fast");
		assert_int_equal(store_program_put(w->store, &p, &e), 0);
		assert_int_equal(store_probe_put(w->store, &row, &e), 0);
		assert_int_equal(store_run_put(w->store, &run, &e), 0);
	}
	class_told("slow:big", "0123456789abcdef");
	look();
	assert_int_equal(store_busy_again(w->store, &e), 0);
	slow_changes();
	w->log[0] = '\0';
	for (int i = 0; i < 3; i++)
		poll_alone();
	assert_int_equal(made_again(), PROBES_AGAIN_MAX);
	w->now += PROBES_AGAIN_LOOK_S;
	poll_alone(); /* none of the first could be submitted */
	assert_int_equal(made_again(), PROBES_AGAIN_MAX + 3);
	/* unknown, or not ready */
	assert_int_equal(probes_again(&w->env, KEY, "fast", "a test", w->now, &e), PROBE_AGAIN_NONE);
}

/* Nothing new was probed for long: one probe is made again, to hear of the nodes. */
static void test_news(void **state)
{
	(void)state;
	program_ready();
	run_once(20);
	w->now += PROBES_NEWS_S - 200;
	look();
	assert_int_equal(w->n_submitted, 2);
	w->now += 400;
	look();
	assert_int_equal(w->n_submitted, 4); /* on each of the two candidates */
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_submitted, 4);
	result_leave(1, 502, "fast", 90, NULL);
	result_leave(1, 503, "slow_big", 180, NULL);
	job_end(job_find(502), "COMPLETED", 20);
	job_end(job_find(503), "COMPLETED", 20);
	look();
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_submitted, 4);
	assert_true(near(estimate_on("slow:big").e.mean_s, 190) && near(estimate_on("fast").e.mean_s, 100));
}

/* ---- what users do to their probes ---- */

/* The job was changed: it is cancelled, its record is not believed, and its user gets no other probes. */
static void assert_misused(const char *why)
{
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(w->last_cancelled, 500);
	assert_state(PROGRAM_FAILED, why);
	result_leave(1, 500, "fast", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	assert_state(PROGRAM_FAILED, why);
	assert_int_equal(w->n_submitted, 1);
}

static void test_limit_raised(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->limit_min = 600;
	assert_misused("its time limit was raised above 5 minutes");
}

static void test_limit_lowered(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->limit_min = 1;
	look();
	assert_int_equal(w->n_cancelled, 0);
	assert_state(PROGRAM_BUILDING, "");
}

static void test_nice_lowered(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->nice = 0;
	assert_misused("its nice value was lowered to 0");
}

static void test_name_changed(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->name = "miner";
	assert_misused("its name was changed");
}

static void test_size_changed(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->nodes = 64;
	assert_misused("its size was changed: 64 nodes");
}

static void test_partition_changed(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->partition = "slow";
	assert_misused("its partition or its features were changed");
}

static void test_requeue_changed(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->requeue = true;
	assert_misused("queued again");
}

/* Changed and done between two looks. */
static void test_changed_and_ended(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->limit_min = 600;
	probe_end(500, "fast", 90, 2000);
	assert_state(PROGRAM_FAILED, "its time limit was raised");
	assert_int_equal(w->n_submitted, 1);
	assert_true(cost_of("fast") == 2 * 2000);
}

static void test_overrun(void **state)
{
	(void)state;
	traced_job();
	job_run(job_find(500));
	job_find(500)->elapsed_s = 5 * 60 + PROBES_OVERRUN_S;
	look();
	assert_int_equal(w->n_cancelled, 0);
	job_find(500)->elapsed_s = 5 * 60 + PROBES_OVERRUN_S + 10;
	assert_misused("it ran for 430 s");
}

/* Programs of the user's: of `n` keys, each of a family of its own, their source probes are due. */
static void programs_traced(uint32_t uid, unsigned first, unsigned n)
{
	struct cluster_layout layout = {.gid = 1};
	struct errbuf e;

	for (unsigned i = first; i < first + n; i++) {
		struct store_program p = {.state = PROGRAM_TRACED, .uid = uid, .nodes = 2, .tasks = 4, .source_elapsed_s = 100,
					  .source_job = 1000 + i, .source_candidate = "fast", .n_traces = 1};

		key_number(i, p.key);
		assert_int_equal(store_program_put(w->store, &p, &e), 0);
		assert_int_equal(store_layout_put(w->store, p.key, &layout, &e), 0);
	}
}

static unsigned submitted_by(uint32_t uid)
{
	unsigned n = 0;

	for (unsigned i = 0; i < w->n_submitted; i++)
		n += w->submitted[i].uid == uid;
	return n;
}

/* Whoever has changed a probe gets no other for a day; others do. */
static void test_user_barred(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->limit_min = 600;
	look();
	programs_traced(getuid(), 10, 1);
	programs_traced(getuid() + 1, 20, 1);
	look();
	assert_int_equal(submitted_by(getuid()), 1);
	assert_int_equal(submitted_by(getuid() + 1), 1);
	w->now += PROBES_BAR_S;
	look();
	assert_int_equal(submitted_by(getuid()), 2);
}

/* A barred user's probe that is to be made again is not kept waiting: few of these may be under way at once. */
static void test_barred_again(void **state)
{
	struct errbuf e;

	(void)state;
	program_ready();
	programs_traced(getuid(), 10, 1);
	look();
	job_find(502)->limit_min = 600;
	look();
	assert_int_equal(probes_again(&w->env, KEY, "slow:big", "a test", w->now, &e), PROBE_AGAIN_PLANNED);
	look();
	assert_int_equal(probe("slow:big").state, PROBE_DONE);
	assert_int_equal(store_busy_again(w->store, &e), 0);
	assert_int_equal(w->n_submitted, 3);
}

static void test_held(void **state)
{
	(void)state;
	traced_job();
	job_find(500)->held = true;
	look();
	assert_int_equal(w->n_cancelled, 1);
	assert_state(PROGRAM_FAILED, "was held");
	programs_traced(getuid(), 10, 1); /* no misuse: others are made */
	look();
	assert_int_equal(w->n_submitted, 2);
}

/* Probes of one user that wait leave room for the others. */
static void test_share_of_a_user(void **state)
{
	(void)state;
	programs_traced(1000, 1, 20);
	programs_traced(1001, 30, 2);
	look();
	look();
	assert_int_equal(submitted_by(1000), PROBES_USER_MAX);
	assert_int_equal(submitted_by(1001), 2);
	job_end(&w->jobs[0], "CANCELLED", 0);
	look();
	assert_int_equal(w->n_submitted, PROBES_USER_MAX + 3);
}

static int count_begun(const struct store_program *p, void *arg)
{
	*(unsigned *)arg += p->state == PROGRAM_BUILDING;
	return 0;
}

/* Thousands of programs wait: a look takes in some of them, and nobody is forgotten behind them. */
static void test_backlog(void **state)
{
	struct store_program_filter all = {.uid = STORE_ALL_USERS};
	unsigned begun = 0, looks = 0;
	struct errbuf e;

	(void)state;
	assert_int_equal(store_begin(w->store, &e), 0);
	programs_traced(1000, 1, 3000);
	programs_traced(1001, 5000, 1);
	look();
	assert_int_equal(store_programs_each(w->store, &all, count_begun, &begun, &e), 3001);
	assert_in_range(begun, PROBES_USER_MAX, 1024);
	while (!submitted_by(1001) && looks++ < 20)
		look();
	assert_int_equal(submitted_by(1001), 1);
	assert_int_equal(submitted_by(1000), PROBES_USER_MAX);
	assert_int_equal(store_commit(w->store, &e), 0);
}

/* A user above the quota of the spool gets no probes until the sweeps find room. */
static void test_above_quota(void **state)
{
	const struct spool_use use = {.uid = getuid(), .over = true};
	struct errbuf e;

	(void)state;
	assert_int_equal(store_spool_use_put(w->store, &use, w->now, &e), 0);
	programs_traced(getuid(), 1, 1);
	programs_traced(getuid() + 1, 2, 1);
	look();
	assert_int_equal(submitted_by(getuid()), 0);
	assert_int_equal(submitted_by(getuid() + 1), 1);
	w->now += STORE_SPOOL_OVER_S;
	look();
	assert_int_equal(submitted_by(getuid()), 1);
}

/* ---- forged records ---- */

/* The traced job leaves a record of its own: no probe wrote it. */
static void test_record_of_the_source_job(void **state)
{
	(void)state;
	traced_job();
	result_leave(1, 1, "fast", 90, NULL);
	job_end(job_find(500), "COMPLETED", 20);
	look();
	assert_int_equal(probe("fast").state, PROBE_WAITING);
	assert_non_null(strstr(probe("fast").reason, "no result"));
}

/* A failed record names a class: it counts for nobody. */
static void test_class_of_a_failed_record(void **state)
{
	struct errbuf e;
	int64_t when;

	(void)state;
	traced_job();
	strcpy(w->node_class, OTHER_CLASS);
	result_leave(1, 500, "fast", 90, "no such thing");
	job_end(job_find(500), "COMPLETED", 20);
	look();
	assert_state(PROGRAM_FAILED, "no such thing");
	assert_int_equal(store_class_told(w->store, "fast", &when, &e), 0);
	assert_int_equal(when, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_allowance),	 T(test_budget_spent),	    T(test_budget_of_all),
		T(test_cost_of_what_nobody_saw), T(test_costs_outlive_programs), T(test_preempted),
		T(test_forgotten),	 T(test_candidate_removed), T(test_source_removed), T(test_no_candidates),
		T(test_retraced_meanwhile), T(test_family),	    T(test_class_changes),
		T(test_again_in_vain),	 T(test_source_class_changes), T(test_old_record),
		T(test_again_is_bounded), T(test_news),
		T(test_limit_raised),	 T(test_limit_lowered),	    T(test_nice_lowered),
		T(test_name_changed),	 T(test_size_changed),	    T(test_partition_changed),
		T(test_requeue_changed), T(test_changed_and_ended), T(test_overrun),
		T(test_user_barred),	 T(test_barred_again),	    T(test_held),
		T(test_share_of_a_user), T(test_backlog), T(test_above_quota), T(test_record_of_the_source_job), T(test_class_of_a_failed_record),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("probes", tests, NULL, NULL);
}
