/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a partial execution makes of the iterations behind its windows: a run is simulated as it was traced and as it goes
 * elsewhere, iteration by iteration; the sum of the latter is what should be told. Disturbances of the traced run are not to
 * be told anew; drifts, phases and rare long iterations that are the program's are.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

#include "skelgen/partial/impl.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"

#define N     400
#define START 10e6
#define END   1000.0
#define MS    1e6
#define EXECUTION 50 /* iterations, where the loop is executed several times */

/* ns of iteration k on a rank, in the trace or there. */
struct world {
	double (*work)(uint32_t rank, int k, bool there), (*calls)(uint32_t rank, int k, bool there);
	int64_t (*count)(int k); /* doubles in a message; NULL: always the same */
	bool (*made)(int k); /* NULL: all iterations are */
};

static double noise(uint32_t rank, int k, uint32_t salt)
{
	uint64_t x = ((uint64_t)salt << 40 | (uint64_t)rank << 32 | (uint64_t)k) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
	return (double)(x >> 11) / 9007199254740992.0 * 2 - 1;
}

static struct trace *traced(const struct world *w)
{
	struct syn *s = syn_create(2);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Barrier", 3, SYN(.gap_ns = (uint64_t)START));
		for (int k = 0; k < N; k++) {
			int64_t count = w->count ? w->count(k) : 8;
			uint64_t half = (uint64_t)(w->calls(r, k, false) / 2);

			if (w->made && k % EXECUTION == 0)
				syn_call(s, r, "MPI_Barrier", 6, SYN(.gap_ns = 1));
			if (w->made && !w->made(k))
				continue;
			syn_call(s, r, "MPI_Send", 1, SYN(.dst = 1 - r, .count = count, .tag = 5, .gap_ns = (uint64_t)w->work(r, k, false), .dur_ns = half));
			syn_call(s, r, "MPI_Recv", 2, SYN(.src = 1 - r, .asrc = 1 - r, .count = count, .tag = 5, .atag = 5, .gap_ns = 1, .dur_ns = half));
		}
		syn_call(s, r, "MPI_Barrier", 4, SYN(.gap_ns = (uint64_t)END));
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static struct marks_rank marks[2];

/* The marks of a run there, and what it takes as a whole. */
static double run_there(const struct world *w, const struct partial_plan *p, struct stop_marks *m)
{
	double whole = 0;

	*m = (struct stop_marks){2, PARTIAL_MARKS, marks};
	for (uint32_t r = 0; r < 2; r++) {
		double t = START, gap = START;
		uint32_t i = 0;

		for (int k = 0; k <= N; k++) {
			while (i < PARTIAL_MARKS && p->at[i] == (uint64_t)k) {
				marks[r].t_ns[i] = (uint64_t)t;
				marks[r].gap_ns[i++] = (uint64_t)gap;
			}
			if (k < N && (!w->made || w->made(k))) {
				t += w->work(r, k, true) + w->calls(r, k, true);
				gap += w->work(r, k, true);
			}
		}
		assert_int_equal(i, PARTIAL_MARKS);
		whole = fmax(whole, t + END);
	}
	return whole * 1e-9;
}

/* Told over true; *half: of the interval, relative. */
static double told(const char *what, const struct world *w, double seconds, double *half)
{
	struct trace *t = traced(w);
	struct partial_estimate e;
	struct skel_times times;
	struct partial_plan p;
	struct skel_tree tree;
	struct stop_marks m;
	struct errbuf err;
	double whole;

	assert_non_null(t);
	assert_int_equal(skel_tree_build(t, &tree, &err), 0);
	assert_int_equal(skel_times_collect(&tree, &times, &err), 0);
	assert_int_equal(partial_plan_make(&tree, &times, seconds, &p, &err), 0);
	assert_int_equal(p.iterations, N);
	assert_true(p.at[PARTIAL_MARKS - 1] < N * 3 / 4); /* there is something to tell */
	whole = run_there(w, &p, &m);
	assert_int_equal(partial_estimate_make(&p, &m, &e, &err), 0);
	print_message("# %s: %.4f s told, %.4f to %.4f, %.4f true; work %+.3f (chance %.3f), calls %+.3f (%.3f)\n", what, e.whole_s, e.lo_s,
		      e.hi_s, whole, p.work.log, p.work.chance, p.calls.log, p.calls.chance);
	assert_true(e.lo_s <= e.whole_s && e.whole_s <= e.hi_s);
	if (half)
		*half = (e.hi_s - e.lo_s) / 2 / e.whole_s;
	partial_plan_free(&p);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(t);
	return e.whole_s / whole;
}

static double near_ms(uint32_t r, int k, bool there) { return MS * (there ? 2 : 1) * (1 + 0.1 * noise(r, k, there)); }
static double link_ms(uint32_t r, int k, bool there) { return there ? 8 * MS : MS * (0.2 + 0.02 * noise(r, k, 7)); }

/* ---- what disturbed the traced run ---- */

static double calls_wait(uint32_t r, int k, bool there) { return there ? 8 * MS : MS * (k < 200 ? 3 : 0.2) * (1 + 0.1 * noise(r, k, 9)); }
static double work_burst(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (!there && k > 20 && k < 45 ? 1.6 : 1); }
static double work_states(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (!there && k / 37 % 3 == 1 ? 1.3 : 1); }
static double one_disturbed(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (!there && r && k > 300 && k < 340 ? 2 : 1); }

static void test_disturbed(void **state)
{
	static const struct {
		const char *name;
		struct world w;
		double within;
	} t[] = {{"even", {near_ms, link_ms, NULL, NULL}, 0.01},
		 {"ranks waited while the first half was traced", {near_ms, calls_wait, NULL, NULL}, 0.01},
		 {"the first windows were slow", {work_burst, link_ms, NULL, NULL}, 0.02},
		 {"a quick and a slow state", {work_states, link_ms, NULL, NULL}, 0.03},
		 {"one rank was slow behind the windows", {one_disturbed, link_ms, NULL, NULL}, 0.03}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		assert_true(fabs(told(t[i].name, &t[i].w, 0.1, NULL) - 1) < t[i].within);
}

/* ---- what is the program's ---- */

static double growing(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (1 + 2.0 * k / N); }
static double falling(uint32_t r, int k, bool there) { return near_ms(r, k, there) / (1 + 4.0 * k / N); }
static double phases(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (k < 160 ? 1 : 4); }
static double rare(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (k % 23 == 11 ? 30 : 1); }
static double one_grows(uint32_t r, int k, bool there) { return MS * (there ? 2 : 1) * (r ? 1 : 0.5 + 2.5 * k / N); }
static double no_calls(uint32_t r, int k, bool there)
{
	double most = fmax(one_grows(0, k, there), one_grows(1, k, there));

	return 0.05 * MS + most - one_grows(r, k, there); /* who has less waits for the other */
}

static void test_own(void **state)
{
	static const struct {
		const char *name;
		struct world w;
		double within;
	} t[] = {{"work grows", {growing, link_ms, NULL, NULL}, 0.02},	     {"work shrinks", {falling, link_ms, NULL, NULL}, 0.02},
		 {"a phase of more work", {phases, link_ms, NULL, NULL}, 0.06},    {"rare long iterations", {rare, link_ms, NULL, NULL}, 0.03},
		 {"one rank's work grows", {one_grows, no_calls, NULL, NULL}, 0.06}};

	(void)state;
	for (size_t i = 0; i < sizeof(t) / sizeof(*t); i++)
		assert_true(fabs(told(t[i].name, &t[i].w, 0.1, NULL) - 1) < t[i].within);
}

/* Longer messages take longer, here and there; the same messages do not, whatever the trace had to wait. */
static int64_t longer(int k) { return 8 + k / 40 * 800; }
static double by_length(uint32_t r, int k, bool there) { return (there ? 8 : 0.5) * MS * (1 + 0.5 * (k / 40)) * (1 + 0.02 * noise(r, k, 3 + there)); }
static double short_work(uint32_t r, int k, bool there) { return 0.3 * near_ms(r, k, there); }
static double waits(uint32_t r, int k, bool there) { return there ? 8 * MS : by_length(r, k, false); }

static void test_messages(void **state)
{
	struct world grow = {short_work, by_length, longer, NULL}, same = {short_work, waits, NULL, NULL};

	(void)state;
	assert_true(fabs(told("longer messages", &grow, 0.1, NULL) - 1) < 0.1);
	assert_true(fabs(told("the same messages, longer waiting", &same, 0.1, NULL) - 1) < 0.01);
}

/* Some executions of the loop leave iterations out: those are not told. */
static bool fewer(int k)
{
	int execution = k / EXECUTION;

	return (execution != 4 && execution != 5 && execution != 7) || k % EXECUTION < 10 + execution;
}

static void test_left_out(void **state)
{
	struct world w = {near_ms, link_ms, NULL, fewer};

	(void)state;
	assert_true(fabs(told("executions that end early", &w, 0.1, NULL) - 1) < 0.02);
}

/* A change that may be chance is doubted: the interval grows by it. */
static double half_believed(uint32_t r, int k, bool there) { return near_ms(r, k, there) * (k > 200 ? 1.3 : 1) * (1 + 0.25 * noise(0, k / 10, 5)); }

static void test_doubt(void **state)
{
	struct world even = {near_ms, link_ms, NULL, NULL}, unsure = {half_believed, link_ms, NULL, NULL};
	double without, with;

	(void)state;
	told("even", &even, 0.1, &without);
	told("perhaps a phase", &unsure, 0.1, &with);
	assert_true(with > without);
}

/* ---- changes ---- */

static void test_change(void **state)
{
	double v[64];
	uint64_t weight[64];
	struct partial_change c;
	uint32_t believed = 0;

	(void)state;
	for (uint32_t i = 0; i < 64; i++) {
		v[i] = i < PARTIAL_BATCHES ? 2 : 3;
		weight[i] = 10;
	}
	c = partial_change_of(v, weight, 64, 0.05);
	assert_true(fabs(c.log - log(1.5)) < 1e-12 && partial_change_beyond(&c) > 0.8 && partial_change_beyond(&c) < 1);
	/* the chance of a single step, by hand: one difference of 63 */
	assert_true(fabs(c.chance - hypot(0.05, 2 * sqrt(pow(log(1.5), 2) / 2 / 63))) < 1e-12);
	for (uint32_t i = PARTIAL_BATCHES; i < 64; i++)
		weight[i] = 0;
	c = partial_change_of(v, weight, 64, 0.05);
	assert_true(c.log == 0 && partial_change_beyond(&c) == 0); /* nothing is known behind the windows */
	for (uint32_t i = 0; i < 64; i++) {
		v[i] = 0;
		weight[i] = 1;
	}
	c = partial_change_of(v, weight, 64, 0.05);
	assert_true(c.log == 0);
	/* no work in the windows, some behind; and mere noise */
	v[60] = 1;
	c = partial_change_of(v, weight, 64, 0.05);
	assert_true(c.log == 0);
	for (int k = 0; k < 200; k++) {
		for (uint32_t i = 0; i < 64; i++)
			v[i] = 1 + 0.3 * noise(i, k, 1);
		c = partial_change_of(v, weight, 64, 0.05);
		believed += partial_change_beyond(&c) > 0;
	}
	assert_true(believed < 10);
}

/* ---- what windows say of chance ---- */

/* Of a change by e to the -1 in a trace whose blocks differ by `chance`: what is believed where windows took x there and y here, ns. */
static double trust_of(const double *x, const double *y, double chance)
{
	struct marks_rank one = {.t_ns = {0}};
	struct stop_marks m = {.n_ranks = 1, .n_mark = PARTIAL_MARKS, .rank = &one};
	struct partial_plan p = {.work = {-1, chance}};

	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
		p.window_work_ns[b] = x[b];
		p.made[b] = 1;
		one.gap_ns[b + 1] = one.gap_ns[b] + (uint64_t)y[b];
	}
	return partial_work_trust(&p, &m);
}

static void test_windows_trust(void **state)
{
	static const double own[PARTIAL_BATCHES] = {22e6, 30e6, 20e6, 31e6, 25e6}, even[PARTIAL_BATCHES] = {25e6, 25e6, 25e6, 25e6, 25e6};
	const struct partial_change half = {-1, 0.7}, great = {-1, 2};
	double y[PARTIAL_BATCHES], x[PARTIAL_BATCHES], chance, wrong = 0;

	(void)state;
	/* They follow: then nothing is chance, however much blocks differ. */
	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++)
		y[b] = 40 * own[b];
	assert_true(trust_of(own, y, 0.7) > 0.95 && trust_of(own, y, 5) > 0.95);
	/* They say nothing, or are long where they were short: what is beyond chance, as ever. */
	chance = partial_change_beyond(&half);
	assert_true(fabs(trust_of(even, own, 0.7) - chance) < 1e-9 && fabs(trust_of(own, even, 0.7) - chance) < 1e-9);
	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++)
		y[b] = 50e6 - own[b];
	assert_true(fabs(trust_of(own, y, 0.7) - chance) < 1e-9 && trust_of(own, y, 2) == partial_change_beyond(&great));
	/* Quantum ESPRESSO's, in its trace and a run; and of a window nothing is known. */
	assert_true(trust_of((double[]){22.5e6, 29.8e6, 19.8e6, 30.4e6, 25.0e6}, (double[]){21.2e6, 33.0e6, 25.4e6, 37.4e6, 28.0e6}, 0.8) > 0.75);
	assert_true(fabs(trust_of((double[]){22e6, 30e6, 0, 31e6, 25e6}, (double[]){22e6, 30e6, 1, 31e6, 25e6}, 0.7) - chance) < 1e-9);
	/* What hardly differs says little, even where it follows. */
	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
		x[b] = 25e6 + 0.01 * own[b];
		y[b] = 40 * x[b];
	}
	assert_true(trust_of(x, y, 0.7) < chance + 0.05);
	/* The less they follow, the less is believed, without a step, so that two runs that are nearly alike are told nearly the same. */
	for (int great_too = 0; great_too < 2; great_too++) {
		double least = great_too ? partial_change_beyond(&great) : chance, before = 1;

		for (int k = 0; k <= 2000; k++) {
			double now;

			for (uint32_t b = 0; b < PARTIAL_BATCHES; b++)
				y[b] = own[b] + k * 0.01e6 * noise(0, (int)b, 9);
			now = trust_of(own, y, great_too ? 2 : 0.7);
			assert_true(now >= least - 1e-9 && now <= 1 && (k == 0 || fabs(now - before) < 0.02));
			before = now;
		}
		assert_true(before < least + 0.05);
	}
	/* Mere noise on either side is seldom taken for the program's. */
	for (int k = 0; k < 1000; k++) {
		for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
			x[b] = 25e6 * (1 + 0.3 * noise(1, (int)b, (uint32_t)k + 10));
			y[b] = 25e6 * (1 + 0.3 * noise(2, (int)b, (uint32_t)k + 10));
		}
		wrong += trust_of(x, y, 1.5) > 0.3;
	}
	print_message("# of runs whose windows are noise %.1f %% are believed\n", wrong / 10);
	assert_true(wrong < 60);
}

/* Marks are written where the user's program runs. */
static void test_hostile_windows(void **state)
{
	static const double odd[] = {0, 1, 25e6, 1e18, 9e18, 1e-300, 1e300, NAN, INFINITY, -1};
	const struct partial_change half = {-1, 0.7};
	uint32_t x = 1;

	(void)state;
	for (int k = 0; k < 20000; k++) {
		struct marks_rank one = {.t_ns = {0}};
		struct stop_marks m = {.n_ranks = 1, .n_mark = PARTIAL_MARKS, .rank = &one};
		struct partial_plan p = {.work = half};
		double trust;

		for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
			x = x * 1664525u + 1013904223u;
			p.window_work_ns[b] = odd[(x >> 8) % 10];
			p.made[b] = (x >> 16) % 3;
			one.gap_ns[b + 1] = (uint64_t)odd[(x >> 24) % 5];
		}
		trust = partial_work_trust(&p, &m);
		assert_true(trust >= partial_change_beyond(&half) && trust <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_disturbed), cmocka_unit_test(test_own), cmocka_unit_test(test_messages), cmocka_unit_test(test_left_out),
					   cmocka_unit_test(test_doubt), cmocka_unit_test(test_change), cmocka_unit_test(test_windows_trust),
					   cmocka_unit_test(test_hostile_windows)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
