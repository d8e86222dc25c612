/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_model as a program uses it: what it predicts at inputs never seen against what the program would do, and
 * everything that can go wrong around it: no session, full rings, values that are no numbers, many threads, fork, exit and
 * closing while a model is fitted, no memory, files that cannot be trusted.
 */
#include <dirent.h>
#include <math.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "predictor/model/api/place.h"
#include "predictor/model/api/session.h"

#define N(a)	(sizeof(a) / sizeof((a)[0]))
#define PATIENT 120.0

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* ---- a program: n sweeps, a check after every fourth, a variable that is halved ---- */

struct subject {
	precedent_model *m;
	int32_t sweep, check;
};

static struct subject subject_open(struct precedent_model_options o)
{
	static const char *const inputs[] = {"n"}, *const vars[] = {"residue"};
	struct subject s;
	char why[PRECEDENT_MODEL_LINE];

	o.inputs = inputs;
	o.n_inputs = 1;
	o.normal_priority = 1; /* whatever else the machine has to do */
	s.m = precedent_model_open(&o, why, sizeof(why));
	if (!s.m)
		fail_msg("%s", why);
	s.sweep = precedent_model_point(s.m, "sweep", vars, 1);
	s.check = precedent_model_point(s.m, "check", NULL, 0);
	assert_int_equal(s.sweep, 1);
	assert_int_equal(s.check, 2);
	return s;
}

static struct subject subject_default(void)
{
	return subject_open((struct precedent_model_options)PRECEDENT_MODEL_OPTIONS);
}

static void subject_begin(const struct subject *s, double n)
{
	precedent_model_begin(s->m, &n, 1);
}

static void subject_run(const struct subject *s, int n)
{
	double residue = 1;

	subject_begin(s, n);
	for (int i = 1; i <= n; i++) {
		residue *= 0.5;
		PRECEDENT_MARK(s->m, s->sweep, residue);
		if (i % 4 == 0)
			precedent_model_mark(s->m, s->check, NULL, 0);
	}
	precedent_model_end(s->m);
}

/* The oracle: points of a run of n sweeps. */
static int32_t subject_row(const struct subject *s, int n, int row)
{
	int at = 0;

	for (int i = 1; i <= n; i++) {
		if (at++ == row)
			return s->sweep;
		if (i % 4 == 0 && at++ == row)
			return s->check;
	}
	return at == row ? PRECEDENT_MODEL_END : -1;
}

static struct precedent_model_status status_of(precedent_model *m)
{
	struct precedent_model_status s = PRECEDENT_MODEL_STATUS;

	precedent_model_status(m, &s);
	return s;
}

static void subject_learn(const struct subject *s)
{
	static const int n[] = {5, 9, 14, 22, 31};

	for (size_t i = 0; i < N(n); i++)
		subject_run(s, n[i]);
	if (!precedent_model_wait(s->m, PATIENT))
		fail_msg("%s", status_of(s->m).text);
}

/* ---- what is predicted ---- */

static void predicts(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	double n = 50;

	(void)state;
	subject_learn(&s);
	for (int row = 0; subject_row(&s, 50, row) >= 0; row++) {
		assert_int_equal(precedent_model_state(s.m, &n, 1, (uint64_t)row, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 50, row));
		assert_true(a.value >= 0 && a.outside);
	}
	assert_int_equal(precedent_model_state(s.m, &n, 1, 50 + 12 + 1, &a), 0);
	assert_non_null(strstr(a.reason, "ends after 63"));
	for (int i = 1; i <= 50; i++) {
		assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", s.sweep, (uint64_t)i, &a), 1);
		assert_float_equal(a.value, ldexp(1, -i), ldexp(1, -i) * 1e-9);
	}
	/* A variable keeps its value where it is not carried. */
	assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", s.check, 2, &a), 1);
	assert_float_equal(a.value, ldexp(1, -8), 1e-12);
	assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", PRECEDENT_MODEL_END, 0, &a), 1);
	assert_float_equal(a.value, ldexp(1, -50), 1e-18);
	assert_int_equal(a.runs, 5);
	assert_true(a.confidence > 0 && a.confidence <= 1);
	precedent_model_close(s.m);
}

static void predicts_time(void **state)
{
	struct precedent_model_answer whole = PRECEDENT_MODEL_ANSWER, a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	double n = 20;

	(void)state;
	subject_learn(&s);
	assert_int_equal(precedent_model_time(s.m, &n, 1, &whole), 1);
	assert_true(whole.value > 0 && whole.value < 10 && !whole.outside && whole.fit >= 1);
	assert_int_equal(precedent_model_time_at(s.m, &n, 1, PRECEDENT_MODEL_END, 0, &a), 1);
	assert_float_equal(a.value, whole.value, 0);
	assert_int_equal(precedent_model_time_at(s.m, &n, 1, s.check, 5, &a), 1);
	assert_true(a.value <= whole.value);
	assert_int_equal(precedent_model_time_at(s.m, &n, 1, s.check, 6, &a), 0);
	assert_non_null(strstr(a.reason, "passes check 5 times"));
	assert_int_equal(a.known, 0);
	assert_true(a.value == 0);

	assert_int_equal(precedent_model_advise(s.m, &n, 1, 4, whole.value / 2, &a), 1);
	assert_int_equal(a.parallel, 1);
	assert_float_equal(a.value, whole.value * 0.75 - whole.value / 2, whole.value * 1e-12);
	assert_int_equal(precedent_model_advise(s.m, &n, 1, 4, whole.value * 0.76, &a), 1);
	assert_int_equal(a.parallel, 0);
	assert_int_equal(precedent_model_advise(s.m, &n, 1, 1, 0, &a), 1);
	assert_int_equal(a.parallel, 0);
	assert_int_equal(precedent_model_advise(s.m, &n, 1, 0, 0, &a), 0);
	assert_int_equal(precedent_model_advise(s.m, &n, 1, 2, NAN, &a), 0);
	assert_int_equal(precedent_model_advise(s.m, &n, 1, 2, -1, &a), 0);
	precedent_model_close(s.m);
}

static void predicts_what_comes_next(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	char name[PRECEDENT_MODEL_LINE];
	int row = 0;

	(void)state;
	assert_int_equal(precedent_model_next(s.m, &a), 0);
	subject_learn(&s);
	assert_int_equal(precedent_model_next(s.m, &a), 0);
	assert_string_equal(a.reason, "this thread is in no run");
	subject_begin(&s, 17);
	for (int i = 1; i <= 17; i++) {
		assert_int_equal(precedent_model_next(s.m, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 17, row++));
		PRECEDENT_MARK(s.m, s.sweep, ldexp(1, -i));
		if (i % 4)
			continue;
		assert_int_equal(precedent_model_next(s.m, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 17, row++));
		assert_int_equal(precedent_model_point_name(s.m, a.point, name, sizeof(name)), 0);
		assert_string_equal(name, "check");
		precedent_model_mark(s.m, s.check, NULL, 0);
	}
	assert_int_equal(precedent_model_next(s.m, &a), 1);
	assert_int_equal(a.point, PRECEDENT_MODEL_END);
	precedent_model_mark(s.m, s.check, NULL, 0);
	assert_int_equal(precedent_model_next(s.m, &a), 0);
	precedent_model_end(s.m);
	subject_begin(&s, 17);
	precedent_model_mark(s.m, s.check, NULL, 0);
	assert_int_equal(precedent_model_next(s.m, &a), 0);
	assert_string_equal(a.reason, "the run is not where the model says it would be");
	precedent_model_end(s.m);
	precedent_model_close(s.m);
}

static void says_what_it_does_not_know(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;
	double n = 20, nan = NAN, big = 1e6;

	(void)state;
	o.steps_max = 1000;
	s = subject_open(o);
	assert_int_equal(precedent_model_time(s.m, &n, 1, &a), 0);
	assert_string_equal(a.reason, "no model was fitted yet");
	subject_learn(&s);
	assert_int_equal(precedent_model_time(s.m, &n, 0, &a), 0);
	assert_int_equal(precedent_model_time(s.m, NULL, 1, &a), 0);
	assert_int_equal(precedent_model_time(s.m, &nan, 1, &a), 0);
	assert_non_null(strstr(a.reason, "input n is not a number"));
	assert_int_equal(precedent_model_time(s.m, &big, 1, &a), 0);
	assert_non_null(strstr(a.reason, "1000 steps"));
	assert_int_equal(precedent_model_data(s.m, &n, 1, "nothing", s.sweep, 1, &a), 0);
	assert_int_equal(precedent_model_data(s.m, &n, 1, NULL, s.sweep, 1, &a), 0);
	assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", 77, 1, &a), 0);
	assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", -1, 1, &a), 0);
	assert_int_equal(precedent_model_time(s.m, &n, 1, NULL), 1);
	precedent_model_close(s.m);
}

/* ---- no session ---- */

static void nothing_without_a_session(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	char why[PRECEDENT_MODEL_LINE], name[4];
	double x = 1;
	int64_t i = 1;

	(void)state;
	setenv("PRECEDENT_MODEL", "off", 1);
	assert_null(precedent_model_open(NULL, why, sizeof(why)));
	assert_non_null(strstr(why, "PRECEDENT_MODEL=off"));
	assert_null(precedent_model_open(NULL, why, 4));
	assert_string_equal(why, "off");
	assert_null(precedent_model_open(NULL, NULL, 0));
	unsetenv("PRECEDENT_MODEL");
	assert_int_equal(precedent_model_point(NULL, "a", NULL, 0), -1);
	assert_int_equal(precedent_model_point_name(NULL, 0, name, sizeof(name)), -1);
	precedent_model_begin(NULL, &x, 1);
	precedent_model_mark(NULL, 1, &x, 1);
	precedent_model_mark_ints(NULL, 1, &i, 1);
	precedent_model_end(NULL);
	assert_int_equal(precedent_model_time(NULL, &x, 1, &a), 0);
	assert_string_equal(a.reason, "there is no session");
	assert_int_equal(precedent_model_next(NULL, &a), 0);
	assert_int_equal(precedent_model_wait(NULL, 1), 0);
	assert_int_equal(precedent_model_save(NULL, "x", why, sizeof(why)), -1);
	assert_int_equal(status_of(NULL).state, PRECEDENT_MODEL_STATE_OFF);
	precedent_model_close(NULL);
}

static void names_are_checked(void **state)
{
	static const char *const same[] = {"a", "a"}, *const bad[] = {"a\n"}, *const two[] = {"x", "y"}, *const hole[] = {NULL};
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	char why[PRECEDENT_MODEL_LINE], name[300];
	struct subject s;

	(void)state;
	o.inputs = same;
	o.n_inputs = 2;
	assert_null(precedent_model_open(&o, why, sizeof(why)));
	assert_string_equal(why, "two inputs are called a");
	o.inputs = bad;
	o.n_inputs = 1;
	assert_null(precedent_model_open(&o, why, sizeof(why)));
	o.inputs = NULL;
	assert_null(precedent_model_open(&o, why, sizeof(why)));
	o.n_inputs = 1000000;
	assert_null(precedent_model_open(&o, why, sizeof(why)));

	s = subject_default();
	assert_int_equal(precedent_model_point(s.m, "", NULL, 0), -1);
	assert_int_equal(precedent_model_point(s.m, NULL, NULL, 0), -1);
	assert_int_equal(precedent_model_point(s.m, "a\tb", NULL, 0), -1);
	memset(name, 'x', sizeof(name));
	name[299] = 0;
	assert_int_equal(precedent_model_point(s.m, name, NULL, 0), -1);
	assert_int_equal(precedent_model_point(s.m, "p", hole, 1), -1);
	assert_int_equal(precedent_model_point(s.m, "p", NULL, 1), -1);
	assert_int_equal(precedent_model_point(s.m, "p", two, UINT32_MAX), -1);
	assert_int_equal(precedent_model_point(s.m, "p", two, 2), 3);
	assert_int_equal(precedent_model_point(s.m, "p", two, 2), 3);
	assert_int_equal(precedent_model_point(s.m, "p", two, 1), -1);
	assert_non_null(strstr(status_of(s.m).text, "point p was there with other variables"));
	assert_int_equal(precedent_model_point_name(s.m, 3, name, 2), 0);
	assert_string_equal(name, "p");
	assert_int_equal(precedent_model_point_name(s.m, 4, name, 2), -1);
	precedent_model_close(s.m);
}

/* Programs that were compiled with an older header. */
static void sizes_are_kept(void **state)
{
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct {
		struct precedent_model_answer a;
		char after[8];
	} x;
	struct subject s;
	double n = 9;

	(void)state;
	o.size = offsetof(struct precedent_model_options, ring_bytes);
	o.ring_bytes = 1;
	o.runs_min = 99;
	setenv("PRECEDENT_MODEL_PRIORITY", "normal", 1);
	s = subject_open(o);
	unsetenv("PRECEDENT_MODEL_PRIORITY");
	assert_int_equal(s.m->ring_words, (1u << 20) / 8);
	assert_int_equal(s.m->runs_min, 3);
	memset(&x, 'x', sizeof(x));
	x.a.size = offsetof(struct precedent_model_answer, reason) + 10;
	assert_int_equal(precedent_model_time(s.m, &n, 1, &x.a), 0);
	assert_string_equal(x.a.reason, "no model ");
	assert_int_equal(x.a.reason[10], 'x');
	x.a.size = 4;
	x.a.known = 77;
	assert_int_equal(precedent_model_time(s.m, &n, 1, &x.a), 0);
	assert_int_equal(x.a.known, 77);
	x.a.size = sizeof(x) * 2;
	assert_int_equal(precedent_model_time(s.m, &n, 1, &x.a), 0);
	assert_memory_equal(x.after, "xxxxxxxx", 8);
	precedent_model_close(s.m);
}

/* ---- runs that cannot be used ---- */

static void misuse_is_counted(void **state)
{
	struct subject s = subject_default();
	double x[2] = {1, 2};
	struct precedent_model_status st;

	(void)state;
	precedent_model_mark(s.m, s.check, NULL, 0);
	precedent_model_end(s.m);
	subject_run(&s, 5);
	precedent_model_mark(s.m, s.check, NULL, 0);
	precedent_model_end(s.m);
	subject_begin(&s, 6);
	precedent_model_mark(s.m, -1, NULL, 0);
	precedent_model_mark(s.m, 0, NULL, 0);
	precedent_model_mark(s.m, INT32_MAX, NULL, 0);
	precedent_model_mark(s.m, s.sweep, NULL, 1);
	precedent_model_end(s.m);
	precedent_model_wait(s.m, PATIENT);
	st = status_of(s.m);
	assert_int_equal(st.runs, 2);
	assert_int_equal(st.outside, 8);
	assert_int_equal(st.unusable, 0);

	subject_begin(&s, 7); /* not ended */
	subject_begin(&s, 7);
	precedent_model_mark(s.m, 50, NULL, 0); /* has no name */
	precedent_model_end(s.m);
	subject_begin(&s, 7);
	precedent_model_mark(s.m, s.sweep, x, 2); /* carries one */
	precedent_model_end(s.m);
	precedent_model_begin(s.m, x, 2); /* one input */
	precedent_model_mark(s.m, s.sweep, x, 1);
	precedent_model_end(s.m);
	subject_begin(&s, 7);
	precedent_model_mark(s.m, s.sweep, x, 100000);
	precedent_model_end(s.m);
	subject_run(&s, 7);
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	st = status_of(s.m);
	assert_int_equal(st.runs, 3);
	assert_int_equal(st.unusable, 4);
	assert_int_equal(st.dropped, 3);
	precedent_model_close(s.m);
}

static void values_that_are_no_numbers(void **state)
{
	const double bad[] = {NAN, INFINITY, -INFINITY};
	const int64_t whole[] = {INT64_MAX, INT64_MIN, (INT64_C(1) << 53) + 1};
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	struct precedent_model_status st;
	const int64_t exact = INT64_C(1) << 53;
	double n = 40;

	(void)state;
	for (size_t i = 0; i < N(bad); i++) {
		subject_begin(&s, 8);
		PRECEDENT_MARK(s.m, s.sweep, bad[i]);
		precedent_model_end(s.m);
		subject_run(&s, 8);
		subject_begin(&s, bad[i]);
		precedent_model_end(s.m);
		subject_begin(&s, 8);
		precedent_model_mark_ints(s.m, s.sweep, &whole[i], 1);
		precedent_model_end(s.m);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	st = status_of(s.m);
	assert_int_equal(st.runs, 3);
	assert_int_equal(st.unusable, 9);
	assert_non_null(strstr(st.text, "not a number"));
	subject_learn(&s);
	assert_int_equal(precedent_model_data(s.m, &n, 1, "residue", s.sweep, 2, &a), 1);
	subject_begin(&s, 8);
	precedent_model_mark_ints(s.m, s.sweep, &exact, 1);
	precedent_model_end(s.m);
	precedent_model_wait(s.m, PATIENT);
	assert_int_equal(status_of(s.m).unusable, 9);
	precedent_model_close(s.m);
}

static void a_full_ring_drops_and_counts(void **state)
{
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_status st;
	struct subject s;

	(void)state;
	o.ring_bytes = 1;
	s = subject_open(o);
	for (int k = 0; k < 3; k++) {
		subject_begin(&s, 1000);
		for (int i = 0; i < 300000; i++)
			PRECEDENT_MARK(s.m, s.sweep, i);
		assert_int_equal(precedent_model_next(s.m, &a), 0);
		assert_string_equal(a.reason, "control points of this run were dropped");
		precedent_model_end(s.m);
	}
	precedent_model_wait(s.m, PATIENT);
	st = status_of(s.m);
	assert_true(st.dropped > 0 && st.dropped <= 900003);
	assert_int_equal(st.runs, 0);
	assert_true(st.unusable >= 1 && st.unusable <= 3);
	subject_learn(&s);
	assert_int_equal(status_of(s.m).runs, 5);
	precedent_model_close(s.m);
}

static void memory_is_bounded(void **state)
{
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;

	(void)state;
	o.rows_max = 200;
	s = subject_open(o);
	for (int k = 0; k < 60; k++) {
		subject_run(&s, 10 + k % 30);
		precedent_model_wait(s.m, PATIENT);
		assert_true(s.m->n_rows <= 200);
	}
	assert_int_equal(status_of(s.m).runs, 60);
	subject_run(&s, 150);
	precedent_model_wait(s.m, PATIENT);
	assert_int_equal(status_of(s.m).unusable, 1);
	assert_non_null(strstr(status_of(s.m).text, "too long"));
	precedent_model_close(s.m);
}

/* ---- points ---- */

static void thousands_of_points(void **state)
{
	enum { POINTS = PRECEDENT_MODEL_POINTS_MAX - 1 };
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	precedent_model *m = (o.normal_priority = 1, precedent_model_open(&o, NULL, 0));
	char name[32];

	(void)state;
	assert_non_null(m);
	for (int i = 1; i <= POINTS; i++) {
		snprintf(name, sizeof(name), "point %d", i);
		assert_int_equal(precedent_model_point(m, name, NULL, 0), i);
	}
	assert_int_equal(precedent_model_point(m, "one more", NULL, 0), -1);
	assert_int_equal(precedent_model_point(m, "point 4000", NULL, 0), 4000);
	assert_int_equal(status_of(m).points, POINTS);
	for (int k = 0; k < 3; k++) {
		precedent_model_begin(m, NULL, 0);
		for (int i = 1; i <= POINTS; i++)
			precedent_model_mark(m, i, NULL, 0);
		precedent_model_end(m);
	}
	if (!precedent_model_wait(m, PATIENT))
		fail_msg("%s", status_of(m).text);
	assert_int_equal(precedent_model_state(m, NULL, 0, 3210, &a), 1);
	assert_int_equal(a.point, 3211);
	precedent_model_close(m);
}

static void points_may_be_named_within_a_run(void **state)
{
	static const char *const vars[] = {"later"};
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	precedent_model *m = (o.normal_priority = 1, precedent_model_open(&o, NULL, 0));

	(void)state;
	assert_non_null(m);
	for (int k = 0; k < 3; k++) {
		precedent_model_begin(m, NULL, 0);
		precedent_model_mark(m, precedent_model_point(m, "first", NULL, 0), NULL, 0);
		PRECEDENT_MARK(m, precedent_model_point(m, "second", vars, 1), 7);
		precedent_model_end(m);
	}
	assert_int_equal(precedent_model_wait(m, PATIENT), 1);
	assert_int_equal(precedent_model_data(m, NULL, 0, "later", 1, 1, &a), 1);
	assert_true(a.value == 0);
	assert_int_equal(precedent_model_data(m, NULL, 0, "later", 2, 1, &a), 1);
	assert_true(a.value == 7);
	precedent_model_close(m);
}

/* ---- threads ---- */

#define THREADS 8
#define RUNS	40

static void *thread_runs(void *arg)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	const struct subject *s = arg;
	double n = 12;

	for (int i = 0; i < RUNS; i++) {
		subject_run(s, 3 + i % 10);
		precedent_model_time(s->m, &n, 1, &a);
		precedent_model_next(s->m, &a);
	}
	return NULL;
}

static void many_threads(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	pthread_t thread[THREADS];
	double n = 25;

	(void)state;
	for (int round = 0; round < 2; round++) {
		for (int i = 0; i < THREADS; i++)
			assert_int_equal(pthread_create(&thread[i], NULL, thread_runs, &s), 0);
		for (int i = 0; i < THREADS; i++)
			pthread_join(thread[i], NULL);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(status_of(s.m).runs, 2 * THREADS * RUNS);
	assert_int_equal(status_of(s.m).unusable, 0);
	assert_int_equal(status_of(s.m).dropped, 0);
	/* The rings of threads that have ended are gone at the next look. */
	precedent_model_wait(s.m, PATIENT);
	assert_int_equal(status_of(s.m).threads, 0);
	for (int row = 0; subject_row(&s, 25, row) >= 0; row++) {
		assert_int_equal(precedent_model_state(s.m, &n, 1, (uint64_t)row, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 25, row));
	}
	precedent_model_close(s.m);
}

/* More sessions than a thread keeps rings of; each gets its own runs all the same. */
static void many_sessions(void **state)
{
	struct subject s[12];

	(void)state;
	for (size_t i = 0; i < N(s); i++)
		s[i] = subject_default();
	for (int k = 0; k < 3; k++)
		for (size_t i = 0; i < N(s); i++)
			subject_run(&s[i], 4 + (int)i);
	for (size_t i = 0; i < N(s); i++) {
		precedent_model_wait(s[i].m, PATIENT);
		assert_int_equal(status_of(s[i].m).runs, 3);
		precedent_model_close(s[i].m);
	}
}

/* ---- ends ---- */

static void closing_while_fitting(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		struct subject s = subject_default();

		for (int k = 0; k < 6; k++)
			subject_run(&s, 50 + 13 * k);
		if (i % 3)
			precedent_model_wait(s.m, 1e-4 * i);
		precedent_model_close(s.m);
	}
}

static int child_status(pid_t pid)
{
	int status = -1;

	return waitpid(pid, &status, 0) == pid ? status : -1;
}

/* A program of its own: ends without a close, as programs do. */
static int exit_main(int i)
{
	struct subject s = subject_default();

	for (int k = 0; k < 6; k++)
		subject_run(&s, 200 + 61 * k);
	precedent_model_wait(s.m, 5e-4 * i);
	return 0;
}

static void exit_while_fitting(void **state)
{
	(void)state;
	for (int i = 0; i < 10; i++) {
		char number[16];
		pid_t pid;

		snprintf(number, sizeof(number), "%d", i);
		pid = fork();
		if (pid == 0) {
			execl("/proc/self/exe", "test_model_api", number, NULL);
			_exit(1);
		}
		assert_true(pid > 0);
		assert_int_equal(child_status(pid), 0);
	}
}

/* 0 when all is as it should be; else the line. */
static int in_child(const struct subject *s)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject own;
	double n = 20;

	if (status_of(s->m).state != PRECEDENT_MODEL_STATE_FORKED)
		return __LINE__;
	if (!precedent_model_data(s->m, &n, 1, "residue", s->sweep, 2, &a) || fabs(a.value - 0.25) > 1e-9)
		return __LINE__;
	subject_run(s, 5);
	if (precedent_model_wait(s->m, PATIENT) || precedent_model_point(s->m, "new", NULL, 0) != -1)
		return __LINE__;
	if (precedent_model_point(s->m, "check", NULL, 0) != s->check)
		return __LINE__;
	own = subject_default();
	for (int i = 0; i < 5; i++)
		subject_run(&own, 5 + 3 * i);
	if (!precedent_model_wait(own.m, PATIENT) || status_of(own.m).runs != 5)
		return __LINE__;
	precedent_model_close(own.m);
	precedent_model_close(s->m);
	return 0;
}

static void fork_is_survived(void **state)
{
	struct subject s = subject_default();

	(void)state;
	subject_learn(&s);
	for (int i = 0; i < 5; i++) {
		pid_t pid;

		/* So that the child is made while a model is being fitted, now and then. */
		for (int k = 0; k < 4; k++)
			subject_run(&s, 100 + 17 * k + i);
		precedent_model_wait(s.m, 1e-3 * i);
		pid = fork();
		if (pid == 0) {
			int line = in_child(&s);

			if (line)
				fprintf(stderr, "# child: line %d\n", line);
			_exit(line != 0);
		}
		assert_true(pid > 0);
		assert_int_equal(child_status(pid), 0);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(status_of(s.m).runs, 25);
	precedent_model_close(s.m);
}

static int without_memory(void)
{
	struct rlimit all, none = {4096, 4096};
	struct subject s = subject_default();
	struct precedent_model_status st;
	char why[PRECEDENT_MODEL_LINE];
	precedent_model *other;
	double n = 3;

	if (getrlimit(RLIMIT_AS, &all) || (none.rlim_max = all.rlim_max, setrlimit(RLIMIT_AS, &none)))
		return __LINE__;
	subject_run(&s, 9);
	subject_run(&s, 9);
	/* What was freed before may do for a session. */
	other = precedent_model_open(NULL, why, sizeof(why));
	if (!other && !*why)
		return __LINE__;
	precedent_model_close(other);
	precedent_model_time(s.m, &n, 1, NULL);
	precedent_model_wait(s.m, PATIENT);
	st = status_of(s.m);
	if (st.dropped + st.outside < 2 * 9 || st.runs)
		return __LINE__;
	setrlimit(RLIMIT_AS, &all);
	precedent_model_close(s.m);
	return 0;
}

static void no_memory(void **state)
{
	pid_t pid;

	(void)state;
	if (SANITIZED)
		skip(); /* sanitizers take more address space than can be left */
	pid = fork();
	if (pid == 0) {
		int line = without_memory();

		if (line)
			fprintf(stderr, "# child: line %d\n", line);
		_exit(line != 0);
	}
	assert_int_equal(child_status(pid), 0);
}

/* ---- files ---- */

static void file_write(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

static size_t file_read(const char *path, char *text, size_t max)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(text, 1, max, f);
	fclose(f);
	return n;
}

static char dir[] = "/tmp/precedent-test-model-api-XXXXXX";
static char path[128];

static void a_saved_model_is_loaded(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;
	char why[PRECEDENT_MODEL_LINE];
	double n = 50;

	(void)state;
	unlink(path);
	o.path = path;
	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 0);
	assert_int_equal(precedent_model_save(s.m, NULL, why, sizeof(why)), -1);
	assert_string_equal(why, "no model was fitted yet");
	subject_learn(&s);
	assert_int_equal(precedent_model_save(s.m, "/nowhere/at/all", why, sizeof(why)), -1);
	assert_non_null(strstr(why, "/nowhere/at/all"));
	assert_int_equal(precedent_model_save(s.m, NULL, why, sizeof(why)), 0);
	precedent_model_close(s.m);

	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 1);
	for (int row = 0; subject_row(&s, 50, row) >= 0; row++) {
		assert_int_equal(precedent_model_state(s.m, &n, 1, (uint64_t)row, &a), 1);
		assert_int_equal(a.point, subject_row(&s, 50, row));
		assert_int_equal(a.fit, 0);
	}
	precedent_model_close(s.m);
}

/* A model of another behaviour answers only until there is a better one. */
static void a_loaded_model_is_replaced(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	struct subject s;
	double n = 50;

	(void)state;
	s = subject_open(o);
	for (int k = 0; k < 5; k++) {
		subject_begin(&s, 5 + 4 * k);
		for (int i = 0; i < 3 * (5 + 4 * k); i++)
			precedent_model_mark(s.m, s.check, NULL, 0);
		precedent_model_end(s.m);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(precedent_model_save(s.m, path, NULL, 0), 0);
	precedent_model_close(s.m);
	o.path = path;
	s = subject_open(o);
	assert_int_equal(precedent_model_state(s.m, &n, 1, 0, &a), 1);
	assert_int_equal(a.point, s.check);
	subject_learn(&s);
	assert_int_equal(precedent_model_state(s.m, &n, 1, 0, &a), 1);
	assert_int_equal(a.point, s.sweep);
	assert_true(a.fit > 0);
	assert_int_equal(status_of(s.m).loaded, 0);
	precedent_model_close(s.m);
}

static void files_are_not_trusted(void **state)
{
	static const char *const inputs[] = {"m"};
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	static char text[1 << 16];
	struct subject s;
	size_t n;

	(void)state;
	a_saved_model_is_loaded(state);
	n = file_read(path, text, sizeof(text));
	o.path = path;
	for (size_t at = 0; at < n; at += 97) {
		text[at] ^= 1;
		file_write(path, text, n);
		text[at] ^= 1;
		s = subject_open(o);
		assert_int_equal(status_of(s.m).loaded, 0);
		assert_non_null(strstr(status_of(s.m).text, path));
		precedent_model_close(s.m);
	}
	file_write(path, text, n);
	o.inputs = inputs;
	o.n_inputs = 1;
	s.m = precedent_model_open(&o, NULL, 0);
	assert_non_null(s.m);
	assert_int_equal(status_of(s.m).loaded, 0);
	assert_non_null(strstr(status_of(s.m).text, "has input n where the program has m"));
	precedent_model_close(s.m);
	o.path = "/dev/zero";
	s = subject_open(o);
	assert_int_equal(status_of(s.m).loaded, 0);
	precedent_model_close(s.m);
}

/* ---- the spare core ---- */

static void set_of(hwloc_bitmap_t set, const char *list)
{
	assert_int_equal(hwloc_bitmap_list_sscanf(set, list), 0);
}

/* Two packages of two cores of two processors: 0-1, 2-3; 4-5, 6-7. */
static void the_spare_core(void **state)
{
	static const struct {
		const char *allowed, *own, *used;
		unsigned turn;
		const char *core; /* NULL: none */
	} row[] = {
	    {"0-7", "0-1", "0-1", 0, "2-3"},	  /* the same package first */
	    {"0-7", "4", "4", 0, "6-7"},
	    {"0-7", "0", "0", 0, "2-3"},	  /* not the other processor of the same core */
	    {"0-7", "0-1", "0-3", 0, "4-5"},	  /* another package where this one is full */
	    {"0-7", "0-1", "0-3", 1, "6-7"},	  /* ranks take turns */
	    {"0-7", "0-1", "0-3", 2, "4-5"},
	    {"0-7", "0-7", "0-7", 0, NULL},	  /* not bound: none is known to be spare */
	    {"0-1", "0-1", "0-1", 0, NULL},
	    {"0-2", "0-1", "0-1", 0, NULL},	  /* half a core is none */
	    {"0-7", "0-1", "0-1,2,4,6", 0, NULL}, /* somebody else is on each */
	    {"0-3,6-7", "0-1", "0-3", 5, "6-7"},
	};
	hwloc_bitmap_t allowed = hwloc_bitmap_alloc(), own = hwloc_bitmap_alloc(), used = hwloc_bitmap_alloc();
	hwloc_bitmap_t out = hwloc_bitmap_alloc(), wanted = hwloc_bitmap_alloc();
	hwloc_topology_t t;

	(void)state;
	assert_int_equal(hwloc_topology_init(&t), 0);
	assert_int_equal(hwloc_topology_set_synthetic(t, "package:2 core:2 pu:2"), 0);
	assert_int_equal(hwloc_topology_load(t), 0);
	for (size_t i = 0; i < N(row); i++) {
		int rc;

		set_of(allowed, row[i].allowed);
		set_of(own, row[i].own);
		set_of(used, row[i].used);
		rc = place_choose(t, allowed, own, used, row[i].turn, out);
		assert_int_equal(rc, row[i].core ? 0 : -1);
		if (!row[i].core)
			continue;
		set_of(wanted, row[i].core);
		assert_true(hwloc_bitmap_isequal(out, wanted));
	}
	hwloc_topology_destroy(t);
	hwloc_bitmap_free(allowed);
	hwloc_bitmap_free(own);
	hwloc_bitmap_free(used);
	hwloc_bitmap_free(out);
	hwloc_bitmap_free(wanted);
}

/* Of the threads of this process but this one: how many there are, and how many are where they should be. */
static void threads_look(int own, int core, int *n, int *right)
{
	const struct dirent *e;
	DIR *d = opendir("/proc/self/task");

	assert_non_null(d);
	*n = *right = 0;
	while ((e = readdir(d))) {
		pid_t tid = atoi(e->d_name);
		cpu_set_t mask;

		if (!tid || tid == getpid() || sched_getaffinity(tid, sizeof(mask), &mask))
			continue;
		(*n)++;
		*right += sched_getscheduler(tid) == SCHED_IDLE && CPU_COUNT(&mask) >= 1 &&
			  (core < 0 ? CPU_ISSET(own, &mask) && CPU_COUNT(&mask) == 1
				    : CPU_ISSET(core, &mask) && !CPU_ISSET(own, &mask));
	}
	closedir(d);
}

/* A program that is bound to one processor: the threads are on another core, or on its own at the lowest priority. */
static int place_main(void)
{
	precedent_model *m;
	int own = 0, n = 0, right = 0;
	cpu_set_t mask;

	assert_int_equal(sched_getaffinity(0, sizeof(mask), &mask), 0);
	while (!CPU_ISSET(own, &mask))
		own++;
	CPU_ZERO(&mask);
	CPU_SET(own, &mask);
	assert_int_equal(sched_setaffinity(0, sizeof(mask), &mask), 0);
	m = precedent_model_open(NULL, NULL, 0);
	for (int i = 0; m && i < 1200 && (n != 2 || right != 2); i++) {
		nanosleep(&(struct timespec){0, 100000000}, NULL);
		threads_look(own, status_of(m).core, &n, &right);
	}
	return right != 2;
}

static void a_bound_program(void **state)
{
	pid_t pid;

	(void)state;
	if (SANITIZED)
		skip(); /* sanitizers have threads of their own */
	pid = fork();
	if (pid == 0) {
		execl("/proc/self/exe", "test_model_api", "place", NULL);
		_exit(1);
	}
	assert_true(pid > 0);
	assert_int_equal(child_status(pid), 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(predicts),
	    cmocka_unit_test(predicts_time),
	    cmocka_unit_test(predicts_what_comes_next),
	    cmocka_unit_test(says_what_it_does_not_know),
	    cmocka_unit_test(nothing_without_a_session),
	    cmocka_unit_test(names_are_checked),
	    cmocka_unit_test(sizes_are_kept),
	    cmocka_unit_test(misuse_is_counted),
	    cmocka_unit_test(values_that_are_no_numbers),
	    cmocka_unit_test(a_full_ring_drops_and_counts),
	    cmocka_unit_test(memory_is_bounded),
	    cmocka_unit_test(thousands_of_points),
	    cmocka_unit_test(points_may_be_named_within_a_run),
	    cmocka_unit_test(many_threads),
	    cmocka_unit_test(many_sessions),
	    cmocka_unit_test(closing_while_fitting),
	    cmocka_unit_test(exit_while_fitting),
	    cmocka_unit_test(fork_is_survived),
	    cmocka_unit_test(no_memory),
	    cmocka_unit_test(a_saved_model_is_loaded),
	    cmocka_unit_test(a_loaded_model_is_replaced),
	    cmocka_unit_test(files_are_not_trusted),
	    cmocka_unit_test(the_spare_core),
	    cmocka_unit_test(a_bound_program),
	};
	int rc;

	cmocka_set_message_output(CM_OUTPUT_TAP);
	unsetenv("PRECEDENT_MODEL");
	if (argc > 1 && !strcmp(argv[1], "place"))
		return place_main();
	if (argc > 1)
		return exit_main(atoi(argv[1]));
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/model", dir);
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	unlink(path);
	rmdir(dir);
	return rc;
}
