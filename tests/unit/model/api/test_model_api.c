/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * libprecedent_model as a program uses it: what it predicts at inputs never seen against what the program would do, and
 * what programs may do wrong or in great numbers: no session, full rings, values that are no numbers, points, threads.
 */
#include "tests/unit/model_subject.h"

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
	double n = 21;

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
	double n = 21, at_check = 20, nan = NAN, big = 1e6;

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
	/* No run ended at a check. */
	assert_int_equal(precedent_model_time(s.m, &at_check, 1, &a), 0);
	assert_non_null(strstr(a.reason, "no run had both at once"));
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
/* Outside of the runs confidence falls, and far outside the time is not known. */
static void trusts_less_outside(void **state)
{
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	double in = 21, out = 90, far = 401, inside;

	(void)state;
	subject_learn(&s);
	assert_int_equal(precedent_model_data(s.m, &in, 1, "residue", s.sweep, 3, &a), 1);
	inside = a.confidence;
	assert_int_equal(precedent_model_data(s.m, &out, 1, "residue", s.sweep, 3, &a), 1);
	assert_true(inside > 0 && a.confidence < 0.8 * inside);
	assert_int_equal(precedent_model_time(s.m, &in, 1, &a), 1);
	inside = a.confidence;
	assert_true(inside <= 0.9);
	assert_int_equal(precedent_model_time(s.m, &out, 1, &a), 1);
	assert_true(a.confidence < 0.8 * inside);
	assert_int_equal(precedent_model_time(s.m, &far, 1, &a), 0);
	assert_non_null(strstr(a.reason, "more than 10 times outside of the runs (5 to 31)"));
	precedent_model_close(s.m);
}

/* Where the way goes by chance, no value at a passage is known: it may be another each time. */
static void says_nothing_of_chance(void **state)
{
	static const int n[] = {40, 60, 55, 70, 90, 33};
	struct precedent_model_answer a = PRECEDENT_MODEL_ANSWER;
	struct subject s = subject_default();
	uint64_t seed = 3;
	double at = 50;

	(void)state;
	for (size_t k = 0; k < N(n); k++) {
		double residue = 1;

		subject_begin(&s, n[k]);
		for (int i = 1; i <= n[k]; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			if (seed >> 60 < 5) {
				residue *= 0.5;
				precedent_model_mark(s.m, s.check, NULL, 0);
			}
			PRECEDENT_MARK(s.m, s.sweep, residue);
		}
		precedent_model_end(s.m);
	}
	assert_int_equal(precedent_model_wait(s.m, PATIENT), 1);
	assert_int_equal(precedent_model_state(s.m, &at, 1, 7, &a), 0);
	assert_non_null(strstr(a.reason, "by chance"));
	assert_int_equal(precedent_model_data(s.m, &at, 1, "residue", s.sweep, 40, &a), 0);
	assert_int_equal(precedent_model_time_at(s.m, &at, 1, s.sweep, 40, &a), 0);
	assert_non_null(strstr(a.reason, "by chance"));
	precedent_model_close(s.m);
}

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

int main(void)
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
	    cmocka_unit_test(trusts_less_outside),
	    cmocka_unit_test(says_nothing_of_chance),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	unsetenv("PRECEDENT_MODEL");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
