/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * LimitGuard = overtime. The oracle of the first tests is slurmctld's own rule: a job ends when end_time <= now - OverTimeLimit,
 * looked at every 30 s. Further tests look at each reason to leave a limit alone, on a cluster made of structs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "common/duration.h"
#include "predictor/limits/overtime.h"
#include "predictor/store/busy.h"
#include "tests/unit/follow_world.h"

#define PERIOD_S 10
#define TICK_S	 30 /* of slurmctld */

/* ---- slurmctld's rule ---- */

struct sim {
	struct store_limit row;
	struct cluster_job job;
	struct job_comment comment;
	struct overtime o;
	unsigned refused; /* what slurmctld refuses, in percent */
};

static void sim_begin(struct sim *s, uint32_t asked_min, uint32_t wish_min, uint32_t overtime_min)
{
	memset(s, 0, sizeof(*s));
	comment_init(&s->comment);
	s->comment.act = ACT_PREDICT;
	s->comment.user_limit_min = asked_min;
	s->comment.wish_min = wish_min;
	s->row = (struct store_limit){.jobid = 1, .asked_min = asked_min, .wish_min = wish_min, .set_min = DURATION_UNSET};
	s->job = (struct cluster_job){.job_id = 1, .phase = CLUSTER_PENDING, .limit_min = asked_min, .ours = &s->comment};
	s->o.overtime_min = overtime_min;
}

/* slurmctld's update of a limit: the end of a running job moves along, but never into the past. */
static void sim_limit(struct sim *s, uint32_t limit_min, int64_t now)
{
	s->job.end_time += 60 * ((int64_t)limit_min - s->job.limit_min);
	if (s->job.phase == CLUSTER_RUNNING && s->job.end_time < now)
		s->job.end_time = now;
	s->job.limit_min = limit_min;
}

/* As limit_overtime_poll does. Returns false if the row is dropped. */
static bool sim_look(struct sim *s, int64_t now)
{
	uint32_t limit;
	enum limit_overtime_act act = limit_overtime_judge(&s->row, &s->job, &s->o, true, PERIOD_S, now, &limit);
	bool obeyed = (unsigned)(lrand48() % 100) >= s->refused;

	if (act == LIMIT_OVERTIME_FORGET)
		return false;
	if ((act == LIMIT_OVERTIME_SHORTEN || act == LIMIT_OVERTIME_RESTORE) && obeyed)
		sim_limit(s, limit, now);
	if (act == LIMIT_OVERTIME_SHORTEN && obeyed) {
		s->row.set_min = limit;
		s->row.seen = false;
	} else if ((act == LIMIT_OVERTIME_RESTORE && obeyed) || (act == LIMIT_OVERTIME_LEAVE && s->job.limit_min == s->row.set_min)) {
		s->row.seen = true;
	}
	return true;
}

/* Seconds that the job ran. The daemon looks until `dies` (seconds after the start). */
static int64_t sim_run(struct sim *s, int64_t dies)
{
	int64_t start = 1000000;
	bool kept = true;

	for (int64_t now = start - 60; kept && now < start && now < start + dies; now += PERIOD_S)
		kept = sim_look(s, now);
	s->job.phase = CLUSTER_RUNNING;
	s->job.start_time = start;
	s->job.end_time = start + 60 * (int64_t)s->job.limit_min;
	for (int64_t now = start;; now++) {
		if (kept && now < start + dies && (now - start) % PERIOD_S == 0)
			kept = sim_look(s, now);
		if ((now - start) % TICK_S == 7 && s->job.end_time <= now - 60 * (int64_t)s->o.overtime_min)
			return now - start;
	}
}

static void test_never_before(void **state)
{
	struct sim s;
	unsigned shortened = 0, runs = 0;

	(void)state;
	srand48(11);
	for (uint32_t overtime = 0; overtime <= 90; overtime++) {
		for (uint32_t asked = 1; asked <= 120; asked += asked < 6 ? 1 : 19) {
			uint32_t wish = 1 + (uint32_t)(lrand48() % asked);
			int64_t ran;

			sim_begin(&s, asked, wish, overtime);
			s.refused = overtime % 3 ? 0 : 50;
			ran = sim_run(&s, lrand48() % (60 * asked + 120) - 60);
			if (ran < 60 * asked)
				fail_msg("O %u U %u wish %u: ended after %ld s", overtime, asked, wish, (long)ran);
			if (!overtime)
				assert_int_equal(s.row.set_min, DURATION_UNSET);
			shortened += s.row.set_min != DURATION_UNSET;
			runs++;
		}
	}
	assert_in_range(shortened, runs / 4, runs);
}

/* The site's limits stay limits: with the daemon alive a shortened job ends at U, within one tick of slurmctld. */
static void test_at_the_limit(void **state)
{
	struct sim s;

	(void)state;
	srand48(12);
	for (uint32_t overtime = 1; overtime <= 90; overtime++) {
		for (uint32_t asked = 3; asked <= 120; asked += 13) {
			int64_t ran;

			sim_begin(&s, asked, 1 + (uint32_t)(lrand48() % (asked - 1)), overtime);
			ran = sim_run(&s, INT32_MAX);
			assert_in_range(ran, 60 * asked, 60 * (asked > overtime ? asked : asked + overtime) + TICK_S);
		}
	}
}

/* OverTimeLimit is made smaller while the job waits or runs, before its shortened limit. */
static void test_reduced(void **state)
{
	struct sim s;
	int64_t now = 1000000;

	(void)state;
	for (uint32_t overtime = 0; overtime < 30; overtime++) {
		sim_begin(&s, 60, 10, 30);
		assert_true(sim_look(&s, now));
		assert_int_equal(s.job.limit_min, 30);
		assert_true(sim_look(&s, now));
		s.o.overtime_min = overtime;
		assert_true(sim_look(&s, now));
		assert_int_equal(s.job.limit_min, 60);
		s.job.limit_min = 30; /* slurmctld was killed before it had saved that */
		assert_true(sim_look(&s, now));
		assert_int_equal(s.job.limit_min, 60);
	}
	sim_begin(&s, 60, 10, 30);
	assert_true(sim_look(&s, now));
	s.o.overtime_min = 40; /* larger: nothing needs to change */
	assert_true(sim_look(&s, now));
	assert_int_equal(s.job.limit_min, 30);
}

static void test_tables(void **state)
{
	const struct overtime_partition list[] = {
		{"fast", {.overtime_min = 30, .reserved_at = 500, .longest_min = 90, .run_on = true}}, {"slow", {.overtime_min = OVERTIME_UNLIMITED, .run_on = true}},
		{"new", {.overtime_min = 10, .reserved_at = 200, .longest_min = 60, .run_on = true}}, {"strict", {.run_on = false}}};
	const struct overtime_table t = {.list = list, .n = 4};

	(void)state;
	assert_int_equal(overtime_of(&t, "fast").overtime_min, 30);
	assert_int_equal(overtime_of(&t, "slow").overtime_min, OVERTIME_UNLIMITED);
	assert_int_equal(overtime_of(&t, "slow,fast").overtime_min, 30);
	assert_int_equal(overtime_of(&t, "slow,fast").reserved_at, 500);
	assert_int_equal(overtime_of(&t, "fast,new,slow").reserved_at, 200);
	assert_int_equal(overtime_of(&t, "slow").longest_min, 0);
	assert_int_equal(overtime_of(&t, "slow,fast").longest_min, 90);
	assert_int_equal(overtime_of(&t, "new,slow,fast").longest_min, 60);
	assert_int_equal(overtime_of(&t, "fast,gone").overtime_min, 0);
	assert_int_equal(overtime_of(&t, "fas").overtime_min, 0);
	assert_int_equal(overtime_of(&t, "").overtime_min, 0);
	assert_true(overtime_of(&t, "slow").run_on);
	assert_false(overtime_of(&t, "strict").run_on);
	assert_int_equal(overtime_least_min(60, 0), 60);
	assert_int_equal(overtime_least_min(60, 20), 40);
	assert_int_equal(overtime_least_min(60, OVERTIME_UNLIMITED), 1);
	assert_int_equal(overtime_least_min(DURATION_UNLIMITED, 20), DURATION_UNLIMITED);
}

/* ---- the daemon ---- */

/* Submitted with an hour, of which ten minutes are wished for; OverTimeLimit is 40 minutes. */
static struct cluster_job *wish_job(uint32_t id)
{
	struct cluster_job *j = job_add(id, ACT_PREDICT);
	struct job_comment c;

	w->partitions[0].o.overtime_min = w->partitions[1].o.overtime_min = 40;
	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.wish_min = 10;
	c.pred_s = 400;
	c.lo_s = 390;
	c.hi_s = 410;
	strcpy(c.candidate, "fast");
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
	return j;
}

static struct cluster_job *short_job(uint32_t id)
{
	struct cluster_job *j = wish_job(id);

	look();
	look();
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(w->last_limit_min, 20); /* 60 - 40, which is above the wish */
	j->limit_min = 20;
	look();
	look();
	assert_int_equal(w->n_limits, 1);
	return j;
}

static size_t rows(void)
{
	struct store_limit *list;
	struct errbuf e;
	size_t n;

	assert_int_equal(store_limits_load(w->store, &list, &n, &e), 0);
	free(list);
	return n;
}

static struct store_run run_of(uint32_t id)
{
	struct store_run r;
	struct errbuf e;

	assert_int_equal(store_run_get(w->store, id, &r, &e), 1);
	return r;
}

static void assert_restored(struct cluster_job *j, unsigned limits)
{
	look();
	assert_int_equal(w->n_limits, limits);
	assert_int_equal(w->last_limit_job, j->job_id);
	assert_int_equal(w->last_limit_min, 60);
	j->limit_min = 60;
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, limits);
	assert_int_equal(rows(), 1);
	j->limit_min = 20; /* slurmctld was killed before it had saved that */
	look();
	assert_int_equal(w->n_limits, limits + 1);
	assert_int_equal(w->last_limit_min, 60);
	j->limit_min = 60;
	look();
}

static void assert_untouched(void)
{
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 0);
}

static void test_shortened(void **state)
{
	struct cluster_job *j = short_job(30);

	(void)state;
	assert_int_equal(w->n_armed, 0); /* no trigger */
	assert_int_equal(run_of(30).limit_min, 20);
	assert_int_equal(w->counts.limited, 1);
	job_run(j);
	for (int i = 0; i < 200; i++)
		look();
	assert_int_equal(w->n_limits, 1); /* and no raise: 20 minutes are over */
	job_end(j, "TIMEOUT", 3601);
	look();
	assert_int_equal(rows(), 0);
	assert_int_equal(w->counts.cut_short, 0); /* it reached its user's limit */
}

/* Shortly before U - O is over the limit becomes U - O, so that the job ends at U. People are still shown the limit that was planned with. */
static void test_lowered_at_the_end(void **state)
{
	struct cluster_job *j = wish_job(30);
	int64_t end;

	(void)state;
	w->partitions[0].o.overtime_min = 55;
	look();
	look();
	assert_int_equal(w->last_limit_min, 10);
	assert_int_equal(run_of(30).limit_min, 10); /* at once */
	j->limit_min = 10;
	job_run(j);
	end = w->now + 300;
	while (w->n_limits == 1 && w->now < end)
		look();
	assert_int_equal(w->last_limit_min, 5);
	assert_in_range(w->now, end - 60, end - 1);
	j->limit_min = 5;
	look();
	look();
	assert_int_equal(w->n_limits, 2);
	assert_int_equal(run_of(30).limit_min, 10);
}

/* A limit that ends a job before U, however that came about. */
static void test_cut_short(void **state)
{
	struct cluster_job *j = short_job(30);

	(void)state;
	job_run(j);
	look();
	job_end(j, "TIMEOUT", 1500);
	look();
	assert_int_equal(w->counts.cut_short, 1);
	assert_non_null(strstr(w->log, "job 30: ended by its limit after 1500 s, before the limit that its user asked for"));
}

static void job_forgotten(struct cluster_job *j)
{
	w->n = (size_t)(j - w->jobs);
}

static struct store_limits_missed missed(void)
{
	struct store_limits_missed m;
	struct errbuf e;

	assert_int_equal(store_limits_missed(w->store, 0, &m, &e), 0);
	return m;
}

/* slurmctld has forgotten the job. slurmdbd knows its end, after a while. */
static void test_end_not_seen(void **state)
{
	struct cluster_job *j = short_job(30);

	(void)state;
	job_forgotten(j);
	w->end_known = 0;
	for (int i = 0; i < 5; i++)
		look();
	assert_int_equal(w->last_asked, 30);
	assert_string_equal(run_of(30).end_state, "");
	w->end = (struct cluster_end){"TIMEOUT", "fast", "", START + 100, START + 1600, 1500};
	w->end_known = 1;
	look();
	assert_non_null(strstr(w->log, "job 30: ended by its limit after 1500 s, before the limit that its user asked for"));
	assert_string_equal(run_of(30).end_state, "TIMEOUT");
	assert_string_equal(run_of(30).candidate, "fast");
	assert_int_equal(w->counts.cut_short, 1);
	assert_int_equal(w->counts.unseen, 0);
	assert_true(missed().cut_short == 1 && missed().last_job == 30 && missed().unseen == 0);
	j = wish_job(31); /* never shortened: nobody is asked */
	w->refuse_limit = true;
	look();
	job_forgotten(j);
	look();
	assert_string_equal(run_of(31).end_state, "UNKNOWN");
	assert_int_equal(w->last_asked, 30);
}

static void test_end_nobody_saw(void **state)
{
	struct cluster_job *j = short_job(30);

	(void)state;
	job_forgotten(j);
	look();
	assert_string_equal(run_of(30).end_state, "UNKNOWN");
	assert_int_equal(w->counts.unseen, 1);
	assert_int_equal(w->counts.cut_short, 0);
	assert_true(missed().cut_short == 0 && missed().unseen == 1);
	j = wish_job(31);
	w->n_limits = 0;
	look();
	look();
	assert_int_equal(w->n_limits, 1);
	job_forgotten(j); /* slurmctld had the limit, and precedentd died before it saw that */
	look();
	assert_int_equal(w->counts.unseen, 2);
}

static void test_comment(void **state)
{
	static const char *const texts[] = {"ops: looked at", "", "precedent:1 act=predict mode=limit key=nokey"};
	char more[COMMENT_TEXT_MAX];
	struct cluster_job *j;

	(void)state;
	for (unsigned i = 0; i < 3; i++) {
		w->n_limits = 0;
		j = short_job(30 + i);
		if (i == 1)
			job_run(j);
		snprintf(more, sizeof(more), "%s | ops: looked at", j->admin_comment);
		j->admin_comment = more; /* appended: it can still be read */
		look();
		assert_int_equal(w->n_limits, 1);
		j->admin_comment = texts[i];
		assert_restored(j, 2);
		if (j->phase == CLUSTER_PENDING)
			job_run(j);
		job_end(j, "COMPLETED", 100);
		look();
		assert_string_equal(run_of(30 + i).end_state, "COMPLETED"); /* its end is seen all the same */
	}
}

static void test_changed_by_others(void **state)
{
	struct cluster_job *j = short_job(30);

	(void)state;
	j->limit_min = 15;
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	assert_int_equal(rows(), 0);
	assert_int_equal(run_of(30).limit_min, DURATION_UNSET);
	w->n_limits = 0;
	j = short_job(31);
	j->limit_min = 60; /* raised again by an operator */
	for (int i = 0; i < 20; i++)
		look();
	assert_int_equal(w->n_limits, 1);
	w->n_limits = 0;
	j = wish_job(32);
	look();
	j->limit_min = 50; /* before we came to it */
	assert_untouched();
}

static void test_reservations(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->partitions[0].o.reserved_at = w->now + 3000; /* within the hour that it asked for */
	assert_untouched();
	w->partitions[0].o.reserved_at = w->now + 9000;
	look();
	assert_int_equal(w->n_limits, 1);
	j->limit_min = 20;
	look();
	w->partitions[0].o.reserved_at = w->now + 3000; /* made later */
	assert_restored(j, 2);
	w->n_limits = 0;
	w->partitions[0].o.reserved_at = 0;
	j = short_job(31);
	job_run(j);
	w->partitions[0].o.reserved_at = w->now + 3000; /* a running job has been weighed by slurmctld */
	look();
	assert_int_equal(w->n_limits, 1);
}

static void act_is(const struct cluster_job *j, enum job_act act)
{
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	c.act = act;
	assert_true(comment_format(&c, (char *)(uintptr_t)j->admin_comment, COMMENT_TEXT_MAX) > 0);
}

static void test_not_touched(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->partitions[0].o.overtime_min = 0;
	assert_untouched();
	w->partitions[0].o.overtime_min = 40;
	act_is(j, ACT_TRACE); /* planned by similar runs */
	assert_untouched();
	act_is(j, ACT_PREDICT);
	j->partition = "fast,third"; /* not known */
	assert_untouched();
	j->partition = "fast";
	j->het = true;
	assert_untouched();
	j->het = false;
	j->barred = true;
	assert_untouched();
	j->barred = false;
	j->time_min_min = 5;
	assert_untouched();
	j->time_min_min = 0;
	j->deadline = true;
	assert_untouched();
	j->deadline = false;
	j->array_job = 30; /* its waiting tasks share one record */
	assert_untouched();
	j->array_job = 0;
	w->refuse_overtime = true;
	assert_untouched();
	assert_non_null(strstr(w->log, "limits stay as they are: no partitions"));
	w->refuse_overtime = false;
	w->conf.mode = MODE_OBSERVE; /* of the site; this job has --predict=limit */
	look();
	assert_int_equal(w->n_limits, 1);
}

static uint32_t brief_59(const char *account, const char *qos)
{
	(void)account;
	return strcmp(qos, "brief") ? 0 : 59;
}

/* Its QOS allows 59 minutes, and it asked for an hour: slurmctld may not see less. */
static void test_longer_than_allowed(void **state)
{
	struct cluster_job *j = wish_job(30);

	(void)state;
	w->longest_min = brief_59;
	j->qos = "brief";
	assert_untouched();
	j->qos = "normal";
	w->partitions[0].o.longest_min = 59;
	assert_untouched();
	w->partitions[0].o.longest_min = 60;
	look();
	assert_int_equal(w->n_limits, 1);
	j->limit_min = 20;
	look();
	j->qos = "brief"; /* its user changes that */
	assert_restored(j, 2);
}

static void test_another_guard(void **state)
{
	(void)state;
	short_job(30);
	w->conf.limit_guard = GUARD_RAISE;
	look();
	assert_int_equal(w->last_limit_min, 60);
}

static void test_refused(void **state)
{
	struct cluster_job *j = wish_job(30);
	struct errbuf err;
	char why[64];

	(void)state;
	w->refuse_limit = true;
	for (int i = 0; i < 5; i++)
		look();
	assert_int_equal(w->n_limits, 4);
	assert_non_null(strstr(w->log, "job 30: limit cannot be set from 01:00:00 to 00:20:00: no"));
	assert_int_equal(run_of(30).limit_min, DURATION_UNSET);
	assert_int_equal(store_limits_note_get(w->store, STORE_LIMITS_REFUSED, why, sizeof(why), &err), 1);
	assert_string_equal(why, "no");
	w->refuse_limit = false;
	look();
	assert_int_equal(store_limits_note_get(w->store, STORE_LIMITS_REFUSED, why, sizeof(why), &err), 0);
	j->limit_min = 20;
	look();
	w->refuse_limit = true;
	j->admin_comment = "";
	look();
	look();
	assert_int_equal(w->n_limits, 7);
	assert_int_equal(rows(), 1); /* it is tried again */
	w->refuse_limit = false;
	assert_restored(j, 8);
}

/* slurmctld and the log are spared where all is refused. All jobs have their turn. */
static void test_all_refused(void **state)
{
	bool tried[20] = {false};
	unsigned n = 0;

	(void)state;
	for (uint32_t id = 30; id < 50; id++)
		wish_job(id);
	w->refuse_limit = true;
	look();
	for (unsigned i = 0; i < 60; i++) {
		unsigned before = w->n_limits;

		w->last_limit_job = 0;
		look();
		assert_in_range(w->n_limits - before, 1, LIMIT_OVERTIME_REFUSALS);
		n += !tried[w->last_limit_job - 30];
		tried[w->last_limit_job - 30] = true;
	}
	assert_int_equal(n, 20);
	w->refuse_limit = false;
	w->n_limits = 0;
	look();
	assert_int_equal(w->n_limits, 20);
}

/* ---- EndAtAsked ---- */

/* A job of an hour that Precedent has nothing to do with. */
static struct cluster_job *other_job(uint32_t id)
{
	struct cluster_job *j = job_add(id, ACT_OBSERVE);

	w->conf.end_at_asked = true;
	w->partitions[0].o.run_on = true;
	j->admin_comment = "";
	job_run(j);
	return j;
}

static void look_at(int64_t now)
{
	w->now = now;
	look();
}

static void test_ends_at_asked(void **state)
{
	struct cluster_job *j = other_job(30);
	int64_t end = j->end_time;

	(void)state;
	look_at(end + 50);
	assert_int_equal(w->n_cancelled, 0);
	w->refuse_cancel = true;
	look_at(end + 60);
	assert_non_null(strstr(w->log, "job 30: cannot be ended at its limit of 01:00:00: no"));
	w->refuse_cancel = false;
	look_at(end + 70);
	assert_int_equal(w->n_cancelled, 1);
	assert_int_equal(w->last_cancelled, 30);
	assert_int_equal(w->n_limits, 0); /* its limit was never touched */
	assert_int_equal(rows(), 0);
}

/* Each of these runs on; OverTimeLimit ends it. */
static void test_runs_on(void **state)
{
	struct cluster_job *j = other_job(30);
	int64_t late = j->end_time + 600;

	(void)state;
	w->conf.end_at_asked = false;
	look_at(late);
	w->conf.end_at_asked = true;
	w->conf.limit_guard = GUARD_RAISE;
	look_at(late);
	w->conf.limit_guard = GUARD_OVERTIME;
	w->partitions[0].o.run_on = false; /* slurmctld ends it itself */
	look_at(late);
	w->partitions[0].o.run_on = true;
	w->refuse_overtime = true;
	look_at(late);
	assert_non_null(strstr(w->log, "jobs run on by OverTimeLimit: no partitions"));
	w->refuse_overtime = false;
	j->limit_min = DURATION_UNLIMITED;
	look_at(late);
	j->limit_min = 80; /* an operator gave it more */
	j->end_time += 1200;
	look_at(late);
	j->limit_min = 60;
	j->end_time -= 1200;
	j->phase = CLUSTER_SUSPENDED;
	look_at(late);
	j->phase = CLUSTER_RUNNING;
	j->suspended_s = 3600; /* it has not run for its hour */
	look_at(late);
	j->suspended_s = 0;
	w->clock_ahead_s = 601;
	look_at(late);
	assert_int_equal(w->n_cancelled, 0);
	w->clock_ahead_s = late;
	look_at(late);
	assert_non_null(strstr(w->log, "slurmctld does not tell its time"));
	w->clock_ahead_s = 0;
	assert_int_equal(w->n_cancelled, 0);
	look_at(late);
	assert_int_equal(w->n_cancelled, 1);
}

/* U counts, not the limit that Precedent set under this guard or, before, under another. */
static void test_shortened_ends_at_asked(void **state)
{
	struct cluster_job *j = short_job(30);
	int64_t start;

	(void)state;
	w->conf.end_at_asked = w->partitions[0].o.run_on = true;
	job_run(j);
	start = w->now;
	for (look(); w->now < start + 3600 + 50;)
		look();
	assert_int_equal(w->n_cancelled, 0);
	look();
	look();
	assert_int_equal(w->last_cancelled, 30);
	job_end(j, "CANCELLED", 3670);
	j = other_job(31);
	j->admin_comment = "precedent:1 act=predict mode=limit key=" KEY " user_limit=60 limit=10";
	j->limit_min = 10;
	w->n_cancelled = 0;
	job_run(j);
	j->end_time = w->now + 600;
	w->refuse_limit = true;
	look_at(j->start_time + 3650);
	assert_int_equal(w->n_cancelled, 0);
	look_at(j->start_time + 3670);
	assert_int_equal(w->last_cancelled, 31);
}

static int overtime_setup(void **state)
{
	int rv = world_setup(state);

	w->conf.limit_guard = GUARD_OVERTIME;
	w->conf.mode = MODE_LIMIT;
	return rv;
}

int main(void)
{
#undef T
#define T(name) cmocka_unit_test_setup_teardown(name, overtime_setup, world_teardown)
	const struct CMUnitTest tests[] = {
		T(test_never_before), T(test_at_the_limit), T(test_reduced), T(test_tables), T(test_shortened), T(test_lowered_at_the_end),
		T(test_cut_short), T(test_end_not_seen), T(test_end_nobody_saw),
		T(test_comment), T(test_changed_by_others), T(test_reservations), T(test_not_touched), T(test_longer_than_allowed), T(test_another_guard),
		T(test_refused), T(test_all_refused),
		T(test_ends_at_asked), T(test_runs_on), T(test_shortened_ends_at_asked),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
