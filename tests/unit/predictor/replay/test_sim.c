/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simulation of backfill beside one that is as plain as can be: it goes second by second, and keeps what is planned as
 * a number of nodes for every second.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/limits/raise.h"
#include "predictor/replay/measure.h"
#include "tests/bench/backfill/predict.h"
#include "tests/bench/backfill/random.h"

#define SECONDS 20000
#define JOBS	14
#define NEVER	INT64_MAX

/* ---- second by second ---- */

struct plain_job {
	bool waiting, running;
	int64_t limit_s, start, end, reserved;
	int extensions;
};

/* When a job has ended, another one is planned with this limit if it waits. 0: none is. */
struct anew {
	size_t job;
	int64_t limit_s;
};

struct plain {
	const struct sim_conf *conf;
	const struct sim_job *jobs;
	const struct sim_plan *plans;
	const struct anew *anew; /* by job that ends */
	size_t n;
	struct plain_job j[JOBS];
	int64_t now;
	int planned[SECONDS]; /* nodes in use, each second */
};

static void use(struct plain *p, int64_t from, int64_t length, int nodes)
{
	for (int64_t t = from; t < from + length; t++) {
		assert_true(t < SECONDS);
		p->planned[t] += nodes;
	}
}

static void use_running(struct plain *p)
{
	memset(p->planned, 0, sizeof(p->planned));
	for (size_t i = 0; i < p->n; i++)
		if (p->j[i].running)
			use(p, p->j[i].start, p->j[i].limit_s, (int)p->jobs[i].nodes);
}

/* The first second from which a job finds its nodes for all of its limit. */
static int64_t room_from(const struct plain *p, size_t job)
{
	int64_t t = p->now, k;

	for (;;) {
		for (k = 0; k < p->j[job].limit_s; k++) {
			assert_true(t + k < SECONDS);
			if (p->planned[t + k] + (int)p->jobs[job].nodes > (int)p->conf->nodes)
				break;
		}
		if (k == p->j[job].limit_s)
			return t;
		t += k + 1;
	}
}

static void start(struct plain *p, size_t job)
{
	p->j[job].waiting = false;
	p->j[job].running = true;
	p->j[job].start = p->now;
}

/* Anybody may start whom the first one that cannot does not notice. */
static void pass_easy(struct plain *p)
{
	size_t head = SIZE_MAX;
	int64_t promised = 0;

	use_running(p);
	for (size_t i = 0; i < p->n; i++) {
		int nodes = (int)p->jobs[i].nodes;

		if (!p->j[i].waiting)
			continue;
		if (p->planned[p->now] + nodes > (int)p->conf->nodes) {
			if (head == SIZE_MAX) {
				head = i;
				promised = room_from(p, i);
			}
			continue;
		}
		use(p, p->now, p->j[i].limit_s, nodes);
		if (head != SIZE_MAX && room_from(p, head) != promised)
			use(p, p->now, p->j[i].limit_s, -nodes);
		else
			start(p, i);
	}
}

static void reserve(struct plain *p, size_t job)
{
	p->j[job].reserved = room_from(p, job);
	use(p, p->j[job].reserved, p->j[job].limit_s, (int)p->jobs[job].nodes);
}

static bool pass_conservative(struct plain *p, bool early, bool raised)
{
	bool started = false;
	size_t seen = 0;

	if (raised)
		use_running(p);
	for (size_t i = 0; i < p->n; i++) {
		struct plain_job *j = &p->j[i];
		bool had = j->reserved != NEVER;

		if (!j->waiting)
			continue;
		if (raised)
			j->reserved = NEVER;
		if (p->conf->depth && seen++ >= p->conf->depth)
			continue;
		if (had && !raised && early) {
			use(p, j->reserved, j->limit_s, -(int)p->jobs[i].nodes);
			reserve(p, i);
		} else if (!had || raised) {
			reserve(p, i);
		}
	}
	for (size_t i = 0; i < p->n; i++)
		if (p->j[i].waiting && p->j[i].reserved == p->now) {
			start(p, i);
			started = true;
		}
	return started;
}

/* Returns true if a job that waits has another limit now. */
static bool plan_anew(struct plain *p, size_t ended)
{
	struct plain_job *j = &p->j[p->anew[ended].job];

	if (!p->anew[ended].limit_s || !j->waiting)
		return false;
	j->limit_s = p->anew[ended].limit_s;
	return true;
}

static bool end_jobs(struct plain *p, bool *changed, bool *anew)
{
	bool early = false;

	for (size_t i = 0; i < p->n; i++) {
		struct plain_job *j = &p->j[i];
		int64_t run = p->plans[i].run_s ? p->plans[i].run_s : p->jobs[i].run_s, over = j->start + j->limit_s;

		if (!j->running || (p->now < j->start + run && p->now < over))
			continue;
		j->running = false;
		j->end = p->now;
		*changed = true;
		if (p->now < over) {
			early = true;
			use(p, p->now, over - p->now, -(int)p->jobs[i].nodes);
		}
		*anew |= plan_anew(p, i);
	}
	return early;
}

static bool raise_limits(struct plain *p)
{
	uint32_t poll_s = p->conf->poll_interval_s;
	bool raised = false;

	for (size_t i = 0; i < p->n && p->now % poll_s == 0; i++) {
		struct plain_job *j = &p->j[i];
		uint32_t limit = (uint32_t)(j->limit_s / 60);

		if (!j->running || p->plans[i].fixed || limit >= p->jobs[i].request_min ||
		    (double)(j->start + j->limit_s - p->now) >= limit_raise_threshold_s(poll_s, limit))
			continue;
		j->limit_s = 60 * (int64_t)limit_raise_next_min(poll_s, limit, p->jobs[i].request_min);
		j->extensions++;
		raised = true;
	}
	return raised;
}

static void plain_run(struct plain *p)
{
	size_t left = p->n;

	memset(p->planned, 0, sizeof(p->planned));
	for (size_t i = 0; i < p->n; i++)
		p->j[i] = (struct plain_job){.end = -1, .reserved = NEVER, .limit_s = p->plans[i].limit_s};
	for (p->now = 0; left; p->now++) {
		bool changed = false, anew = false, early = end_jobs(p, &changed, &anew), raised = raise_limits(p) || anew;

		for (size_t i = 0; i < p->n; i++)
			if (p->jobs[i].submit_s == p->now)
				p->j[i].waiting = changed = true;
		if (p->conf->policy == SIM_SLURM)
			while (pass_conservative(p, false, true))
				;
		else if (p->conf->policy == SIM_CONSERVATIVE)
			while (pass_conservative(p, early, raised))
				early = raised = false;
		else if (changed || raised)
			pass_easy(p);
		left = 0;
		for (size_t i = 0; i < p->n; i++)
			left += p->j[i].end < 0;
	}
}

/* ---- both, on workloads by chance ---- */

static void planned(void *arg, size_t job, int64_t now, struct sim_plan *plan)
{
	(void)now;
	*plan = ((const struct sim_plan *)arg)[job];
}

struct changing {
	const struct sim_plan *plans;
	struct anew anew[JOBS];
	unsigned changed;
};

static void planned_first(void *arg, size_t job, int64_t now, struct sim_plan *plan)
{
	(void)now;
	*plan = ((const struct changing *)arg)->plans[job];
}

static void changes(void *arg, size_t job, int64_t now, struct sim *s)
{
	struct changing *c = arg;
	const struct anew *a = &c->anew[job];

	(void)now;
	if (a->limit_s) {
		c->changed += sim_waits(s, a->job);
		sim_plan_anew(s, a->job, a->limit_s);
	}
}

/* Whoever ends, a job gets the same new limit. */
static void random_changes(struct rng *r, const struct sim_conf *conf, const struct sim_job *jobs, size_t n,
			   struct changing *c)
{
	int64_t limit_s[JOBS];

	for (size_t i = 0; i < n; i++)
		limit_s[i] = 60 * (1 + (int64_t)rng_below(r, jobs[i].request_min));
	for (size_t i = 0; i < n; i++) {
		size_t job = rng_below(r, n);

		c->anew[i] = (struct anew){job, conf->never_late ? 0 : limit_s[job]};
	}
}

static void random_case(struct rng *r, struct sim_conf *conf, struct sim_job *jobs, struct sim_plan *plans, size_t *n)
{
	static const uint32_t depths[] = {0, 0, 1, 3};

	*conf = (struct sim_conf){.policy = (enum sim_policy)rng_below(r, SIM_POLICIES),
				  .nodes = 1 + (uint32_t)rng_below(r, 8),
				  .poll_interval_s = 1 + (uint32_t)rng_below(r, 30),
				  .depth = depths[rng_below(r, 4)]};
	*n = 1 + rng_below(r, JOBS);
	conf->never_late = rng_below(r, 2);
	for (size_t i = 0; i < *n; i++) {
		struct sim_job *j = &jobs[i];

		j->submit_s = (i ? jobs[i - 1].submit_s : 0) + (int64_t)(rng_below(r, 3) ? rng_below(r, 120) : 0);
		j->nodes = 1 + (uint32_t)rng_below(r, conf->nodes);
		j->request_min = 1 + (uint32_t)rng_below(r, 12);
		j->run_s = 1 + (int64_t)rng_below(r, j->request_min * 66);
		plans[i] = (struct sim_plan){.limit_s = j->request_min * 60};
		if (conf->never_late && rng_below(r, 2))
			plans[i] = (struct sim_plan){.limit_s = j->run_s < j->request_min * 60 ? j->run_s : j->request_min * 60,
						     .fixed = true};
		else if (!conf->never_late)
			plans[i].limit_s = 60 * (1 + (int64_t)rng_below(r, j->request_min));
	}
}

static void test_plain(void **state)
{
	static struct plain p;
	struct rng r = rng_make(20260101, 1);
	uint64_t extensions = 0, moved = 0, by_user = 0, waited = 0, changed = 0;

	(void)state;
	for (int round = 0; round < 2000; round++) {
		struct sim_conf conf;
		struct sim_job jobs[JOBS];
		struct sim_plan plans[JOBS];
		struct sim_outcome out[JOBS];
		struct sim_totals totals;
		struct changing changing = {.plans = plans};
		struct sim_predictor predictor = {&changing, planned_first, changes};
		struct errbuf err = {""};
		size_t n;

		random_case(&r, &conf, jobs, plans, &n);
		random_changes(&r, &conf, jobs, n, &changing);
		if (sim_run(&conf, jobs, n, &predictor, out, &totals, &err) < 0)
			fail_msg("round %d: %s", round, err.text);
		p.conf = &conf;
		p.jobs = jobs;
		p.plans = plans;
		p.anew = changing.anew;
		p.n = n;
		plain_run(&p);
		changed += changing.changed;
		for (size_t i = 0; i < n; i++) {
			if (out[i].start_s != p.j[i].start || out[i].end_s != p.j[i].end ||
			    out[i].extensions != (uint32_t)p.j[i].extensions)
				fail_msg("round %d, job %zu of %zu, %s: %lld to %lld s, plainly %lld to %lld s", round, i, n,
					 sim_policy_name(conf.policy), (long long)out[i].start_s,
					 (long long)out[i].end_s, (long long)p.j[i].start, (long long)p.j[i].end);
			waited += out[i].start_s > jobs[i].submit_s;
		}
		assert_int_equal(totals.killed_by_us, 0);
		extensions += totals.extensions;
		moved += totals.moved;
		by_user += totals.killed_by_user;
	}
	/* What was to be tried has been tried. */
	assert_true(extensions > 100 && moved > 10 && by_user > 100 && waited > 1000 && changed > 1000);
}

/* ---- guards ---- */

/* The starts under `conf`, and that every job ended by itself or at its user's limit. */
static void starts_of(const struct sim_conf *conf, const struct sim_job *jobs, size_t n, struct sim_plan *plans, int64_t *starts)
{
	struct sim_predictor predictor = {plans, planned, NULL};
	struct sim_outcome out[JOBS];
	struct sim_totals totals;
	struct errbuf err = {""};

	if (sim_run(conf, jobs, n, &predictor, out, &totals, &err) < 0)
		fail_msg("%s: %s", sim_guard_name(conf->guard), err.text);
	assert_int_equal(totals.killed_by_us, 0);
	assert_true(conf->guard == SIM_RAISE || totals.extensions == 0);
	for (size_t i = 0; i < n; i++) {
		int64_t most = jobs[i].request_min * 60, run = jobs[i].run_s < most ? jobs[i].run_s : most;

		assert_int_equal(out[i].end_s - out[i].start_s, run);
		starts[i] = out[i].start_s;
	}
}

/*
 * Whatever is planned, a job ends by itself or at its user's limit. Three limits that must agree: without
 * OverTimeLimit every job is planned by request; where planned times are the truth, no guard acts.
 */
static void test_guards(void **state)
{
	struct rng r = rng_make(20261128, 1);
	unsigned late = 0;

	(void)state;
	for (int round = 0; round < 500; round++) {
		struct sim_conf conf;
		struct sim_job jobs[JOBS];
		struct sim_plan plans[JOBS], request[JOBS] = {{0}}, truth[JOBS] = {{0}};
		int64_t at[JOBS], want[JOBS];
		size_t n;

		random_case(&r, &conf, jobs, plans, &n);
		conf.never_late = false;
		for (size_t i = 0; i < n; i++) {
			request[i].limit_s = jobs[i].request_min * 60;
			truth[i].limit_s = jobs[i].run_s < request[i].limit_s ? jobs[i].run_s : request[i].limit_s;
			truth[i].fixed = true;
			late += plans[i].limit_s < truth[i].limit_s;
		}
		starts_of(&conf, jobs, n, request, want);
		conf.guard = SIM_OVERTIME;
		starts_of(&conf, jobs, n, plans, at);
		assert_memory_equal(at, want, n * sizeof(*at));
		conf.overtime_s = 60 * (1 + (int64_t)rng_below(&r, 100));
		starts_of(&conf, jobs, n, plans, at);
		conf.overtime_s = SECONDS;
		starts_of(&conf, jobs, n, truth, at);
		conf.guard = SIM_SOFT;
		starts_of(&conf, jobs, n, truth, want);
		assert_memory_equal(at, want, n * sizeof(*at));
		conf.guard = SIM_RAISE;
		starts_of(&conf, jobs, n, truth, want);
		assert_memory_equal(at, want, n * sizeof(*at));
		conf.guard = SIM_SOFT;
		starts_of(&conf, jobs, n, plans, at);
	}
	assert_true(late > 500);
}

/* One job that runs past its planned end, and one that waits for its node: when is it expected to start? */
static void test_late_jobs(void **state)
{
	struct sim_conf conf = {.policy = SIM_SLURM, .nodes = 1, .poll_interval_s = 10, .guard = SIM_SOFT};
	struct sim_job jobs[2] = {{.run_s = 10000, .nodes = 1, .request_min = 10}, {.run_s = 60, .nodes = 1, .request_min = 10}};
	struct sim_plan plans[2] = {{.limit_s = 120}, {.limit_s = 120}};
	struct sim_predictor predictor = {plans, planned, NULL};
	struct sim_outcome out[2];
	struct sim_totals totals;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), 0);
	assert_int_equal(out[0].end_s, 600);
	assert_true(out[0].killed_by_user);
	assert_int_equal(out[1].start_s, 600);
	/* 120, 360, 480, 540, 570, 585, 592, 596, 598, 599: half of what is left, whole seconds. */
	assert_int_equal(totals.moved, 10);
	conf.guard = SIM_OVERTIME;
	conf.overtime_s = 480;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), 0);
	assert_int_equal(out[0].limit_s, 120);
	assert_int_equal(out[0].end_s, 600);
	assert_int_equal(out[1].start_s, 600);
	assert_int_equal(totals.moved, 1); /* to 120 + KillWait + OverTimeLimit */
}

/* ---- what the simulation must refuse or tell ---- */

/* A job that waits is planned anew: its outcome tells the plan with which it starts. */
static void test_plan_is_told(void **state)
{
	struct sim_conf conf = {.policy = SIM_EASY, .nodes = 1, .poll_interval_s = 10, .guard = SIM_SOFT};
	struct sim_job jobs[2] = {{.run_s = 90, .nodes = 1, .request_min = 10}, {.run_s = 100, .nodes = 1, .request_min = 10}};
	struct sim_plan plans[2] = {{.limit_s = 600}, {.limit_s = 600}};
	struct changing changing = {.plans = plans, .anew = {{1, 120}, {0, 60}}};
	struct sim_predictor predictor = {&changing, planned_first, changes};
	struct sim_outcome out[2];
	struct sim_totals totals;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), 0);
	assert_int_equal(changing.changed, 1);
	assert_int_equal(out[0].limit_s, 600);
	assert_int_equal(out[1].limit_s, 120);
}

static void test_kill_is_told(void **state)
{
	struct sim_conf conf = {.policy = SIM_EASY, .nodes = 4, .poll_interval_s = 10};
	struct sim_job job = {.run_s = 500, .nodes = 4, .request_min = 10};
	struct sim_plan plan = {.limit_s = 120, .fixed = true};
	struct sim_predictor predictor = {&plan, planned, NULL};
	struct sim_outcome out;
	struct sim_totals totals;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(sim_run(&conf, &job, 1, &predictor, &out, &totals, &err), 0);
	assert_int_equal(totals.killed_by_us, 1);
	assert_true(out.killed_by_us && out.end_s == 120);
	plan.fixed = false;
	assert_int_equal(sim_run(&conf, &job, 1, &predictor, &out, &totals, &err), 0);
	assert_true(!totals.killed_by_us && !totals.killed_by_user && out.end_s == 500 && out.extensions > 0);
	job.run_s = 10000;
	assert_int_equal(sim_run(&conf, &job, 1, &predictor, &out, &totals, &err), 0);
	assert_true(!totals.killed_by_us && out.killed_by_user && out.end_s == 600);
}

static void test_bad_input(void **state)
{
	struct sim_conf conf = {.policy = SIM_EASY, .nodes = 4, .poll_interval_s = 10};
	struct sim_job jobs[2] = {{.run_s = 5, .nodes = 1, .request_min = 1, .submit_s = 10},
				  {.run_s = 5, .nodes = 1, .request_min = 1, .submit_s = 20}};
	struct sim_plan plans[2] = {{.limit_s = 60}, {.limit_s = 60}};
	struct sim_predictor predictor = {plans, planned, NULL};
	struct sim_outcome out[2];
	struct sim_totals totals;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), 0);
	plans[1].limit_s = 61;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), -1);
	assert_non_null(strstr(err.text, "job 1 has a limit of 61 s"));
	plans[1].limit_s = 60;
	jobs[1].nodes = 5;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), -1);
	assert_non_null(strstr(err.text, "job 1 makes no sense"));
	jobs[1].nodes = 1;
	jobs[1].submit_s = 9;
	assert_int_equal(sim_run(&conf, jobs, 2, &predictor, out, &totals, &err), -1);
}

/*
 * Four jobs on four nodes under EASY, by hand. A (3 nodes, 100 s of 120 s) starts at 0. B wants all nodes: its reservation is at 120.
 * C (1 node, limit 180 s) would end behind 120 on a node that B needs: it waits. D (1 node, limit 60 s) ends in time: it starts at 3.
 * A ends at 100, so B starts then and ends at 150. Then C starts.
 */
static void test_easy_by_hand(void **state)
{
	struct sim_conf conf = {.policy = SIM_EASY, .nodes = 4, .poll_interval_s = 10, .never_late = true};
	const struct sim_job jobs[] = {
		{.submit_s = 0, .run_s = 100, .nodes = 3, .request_min = 2},
		{.submit_s = 1, .run_s = 50, .nodes = 4, .request_min = 1},
		{.submit_s = 2, .run_s = 20, .nodes = 1, .request_min = 3},
		{.submit_s = 3, .run_s = 30, .nodes = 1, .request_min = 1},
	};
	const struct sim_plan plans[] = {{.limit_s = 120}, {.limit_s = 60}, {.limit_s = 180}, {.limit_s = 60}};
	const int64_t starts[] = {0, 100, 150, 3}, ends[] = {100, 150, 170, 33};
	/* of B, C and D: 99, 148 and 0 s of waiting; slowdowns 149/50, 168/20 and 1 */
	const double wait_s = (0 + 99 + 148 + 0) / 4.0, slowdown = (1 + 2.98 + 8.4 + 1) / 4;
	struct sim_predictor predictor = {(void *)(uintptr_t)plans, planned, NULL};
	struct sim_outcome out[4];
	struct sim_totals totals;
	struct measured m;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(sim_run(&conf, jobs, 4, &predictor, out, &totals, &err), 0);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(out[i].start_s, starts[i]);
		assert_int_equal(out[i].end_s, ends[i]);
	}
	assert_int_equal(measure_run(&(struct measure_of){jobs, 4, 4}, out, &m, &err), 0);
	assert_true(fabs(m.wait_s - wait_s) < 1e-9);
	assert_true(fabs(m.slowdown - slowdown) < 1e-9);
	assert_true(m.wait_max_s == 148);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_guards),
		cmocka_unit_test(test_late_jobs),
		cmocka_unit_test(test_easy_by_hand),
		cmocka_unit_test(test_plan_is_told),
		cmocka_unit_test(test_kill_is_told),
		cmocka_unit_test(test_bad_input),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
