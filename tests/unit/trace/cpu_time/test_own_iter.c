/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A run whose rank lost its processor from time to time, against the same run with the processor all the time. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/timing/times.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"
#include "trace/cpu_time/own_iter.h"

#define STEPS  4000
#define STRIDE 25 /* steps between two samples */
#define LONG   60000 /* events of a window, more than are read ahead */

struct run {
	struct trace *t;
	uint64_t lost_ns;
};

static struct trace *opened(struct syn *s)
{
	struct trace *t = syn_open(s);

	syn_destroy(s);
	return t;
}

/* Two computations per step, of about 100 and 300 us. About every third step loses one to six slices of 4 ms, in
 * either computation. */
static struct run run_make(int busy, int samples)
{
	struct syn *s = syn_create(1);
	uint64_t random = 11, other = 5, window = 0;
	struct run r = {0};

	syn_begin(s);
	for (int i = 0; i < STEPS; i++) {
		for (int k = 0; k < 2; k++) {
			uint64_t ns = (k ? 300000 : 100000) + syn_random(&random) % 5000, lost = 0;

			if (busy && syn_random(&other) % 6 == 0)
				lost = 4000000 * (1 + syn_random(&other) % 6);
			syn_call(s, 0, k ? "MPI_Allreduce" : "MPI_Barrier", (uint64_t)k + 1, SYN(.count = 1, .gap_ns = ns + lost, .dur_ns = 2000));
			window += lost;
			r.lost_ns += lost;
		}
		if (samples && i % STRIDE == STRIDE - 1) {
			syn_window(s, 0, window);
			window = 0;
		}
	}
	syn_end(s);
	syn_delayed(s, 0, samples ? window : 0);
	r.t = opened(s);
	return r;
}

static void times_make(struct trace *t, struct skel_tree *tree, struct skel_times *times)
{
	struct errbuf err;

	if (skel_tree_build(t, tree, &err) != 0 || skel_times_collect(tree, times, &err) != 0)
		fail_msg("%s", err.text);
}

/* A skeleton's computation before each call is that of the undisturbed run, stratum by stratum. */
static void test_as_if_alone(void **state)
{
	struct run alone = run_make(0, 1), busy = run_make(1, 1);
	struct skel_tree ta, tb;
	struct skel_times a, b;
	uint32_t compared = 0;

	(void)state;
	times_make(alone.t, &ta, &a);
	times_make(busy.t, &tb, &b);
	assert_int_equal(a.n_leaf, b.n_leaf);
	assert_true(busy.lost_ns > 2 * a.gap_ns);
	assert_true(a.delayed_ns == 0 && a.delayed_most_ns == 0);
	assert_true(fabs(b.delayed_ns / (double)busy.lost_ns - 1) < 0.001);
	assert_true(fabs(b.gap_ns / a.gap_ns - 1) < 0.01);
	for (uint32_t i = 0; i < a.n_leaf; i++) {
		const struct skel_leaf_time *x = a.leaf[i], *y = b.leaf[i];

		if (x->n < STEPS)
			continue;
		compared++;
		assert_true(fabs(y->gap_ns / x->gap_ns - 1) < 0.05);
		for (uint32_t s = 0; s < y->n_stratum; s++)
			assert_true(fabs(y->stratum_ns[s] / x->stratum_ns[x->n_stratum > 1 ? s : 0] - 1) < 0.1);
	}
	assert_int_equal(compared, 2);
	skel_times_free(&a);
	skel_times_free(&b);
	skel_tree_free(&ta);
	skel_tree_free(&tb);
	trace_close(alone.t);
	trace_close(busy.t);
}

/* Without samples the delay is not known, and no time is taken out. */
static void test_without_samples(void **state)
{
	struct run busy = run_make(1, 0);
	struct skel_tree tree;
	struct skel_times times;

	(void)state;
	times_make(busy.t, &tree, &times);
	assert_true(times.delayed_ns == 0 && times.gap_ns > (double)busy.lost_ns);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(busy.t);
}

/* A rank that waits by unsuccessful tests lacks its processor in them: 3 ms of each wait of 4 ms. Its computation does not. */
static void test_in_unsuccessful_tests(void **state)
{
	struct syn *s = syn_create(1);
	struct trace_event ev;
	double gaps_ns = 0;
	struct own_iter *it;
	struct errbuf err;
	struct trace *t;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 100; i++) {
		syn_call(s, 0, "MPI_Barrier", 1, SYN(.gap_ns = 1000000, .dur_ns = 2000, .poll_ns = 4000000));
		syn_window(s, 0, 3000000);
	}
	syn_end(s);
	t = opened(s);
	it = own_iter_create(t, 0, &err);
	assert_non_null(it);
	while (own_iter_next(it, &ev, NULL))
		gaps_ns += (double)ev.gap_ns;
	assert_in_range((uint64_t)gaps_ns, 98000000, 101000000);
	own_iter_destroy(it);
	trace_close(t);
}

/* Against the trace: the same events in the same order. No event is longer, and all together are shorter by the
 * lost time, for any number of events between two samples. */
static void compare(struct trace *t, double lost_ns)
{
	struct errbuf err;
	struct own_iter *own = own_iter_create(t, 0, &err);
	struct trace_iter *all = trace_iter_create(t, 0, &err);
	struct trace_event a, b;
	double gaps = 0, calls = 0, delayed = 0;
	uint64_t enter[2], leave[2], gap;
	bool known, known_own;

	assert_true(own && all);
	while (trace_iter_next(all, &a, &known)) {
		assert_int_equal(own_iter_next(own, &b, &known_own), 1);
		trace_iter_when(all, &enter[0], &leave[0]);
		own_iter_when(own, &enter[1], &leave[1], &gap);
		assert_int_equal(known, known_own);
		assert_int_equal(a.sym, b.sym);
		assert_int_equal(gap, a.gap_ns);
		assert_true(enter[0] == enter[1] && leave[0] == leave[1]);
		assert_true(b.gap_ns <= a.gap_ns && b.dur_ns <= a.dur_ns);
		assert_true(fabs((double)(a.gap_ns - b.gap_ns) - own_iter_delayed(own)) <= 1);
		delayed += own_iter_delayed(own);
		gaps += (double)(a.gap_ns - b.gap_ns);
		calls += (double)(a.dur_ns - b.dur_ns);
	}
	assert_int_equal(own_iter_next(own, &b, NULL), 0);
	assert_int_equal(own_iter_next(own, &b, NULL), 0);
	assert_true(fabs(gaps + calls - lost_ns) < 1e-3 * lost_ns + 1);
	assert_true(fabs(delayed - gaps) < 1e-3 * lost_ns + 1);
	assert_true(fabs(own_iter_lost(own) - lost_ns) < 1e-3 * lost_ns + 1);
	own_iter_destroy(own);
	trace_iter_destroy(all);
	trace_close(t);
}

static void test_events(void **state)
{
	struct syn *s = syn_create(1);
	struct run busy = run_make(1, 1);

	(void)state;
	compare(busy.t, (double)busy.lost_ns);
	/* A window that is longer than the events read ahead, with damaged pages of times. */
	s->page_events = 500;
	syn_begin(s);
	for (int i = 0; i < LONG; i++)
		syn_call(s, 0, "MPI_Barrier", 1, SYN(.gap_ns = 20000, .dur_ns = 3000));
	syn_end(s);
	syn_delayed(s, 0, LONG * 10000ull);
	compare(opened(s), LONG * 10000.0);
	/* More delay than time: all the time is taken out, and no more. */
	s = syn_create(1);
	syn_begin(s);
	syn_end(s);
	syn_delayed(s, 0, 1000000);
	compare(opened(s), 3000);
	/* Damage: events without times lie between others. */
	s = syn_create(1);
	s->page_events = 300;
	s->drop_every = 3;
	syn_begin(s);
	for (int i = 0; i < LONG; i++)
		syn_call(s, 0, "MPI_Barrier", 1, SYN(.gap_ns = 20000, .dur_ns = 3000));
	syn_end(s);
	syn_delayed(s, 0, LONG * 1000ull);
	compare(opened(s), LONG * 1000.0);
}

/* Events behind those that are skipped have the times that they have when all are read. */
static void test_skip(void **state)
{
	struct errbuf err;

	(void)state;
	for (int samples = 0; samples < 2; samples++) {
		struct run r = run_make(1, samples);
		uint64_t n = trace_get_rank(r.t, 0)->events.length;

		for (uint64_t to = 1300; to < n; to += 1777) {
			struct own_iter *all = own_iter_create(r.t, 0, &err), *some = own_iter_create(r.t, 0, &err);
			struct trace_event a, b;
			uint64_t at[2][3], next;

			assert_int_equal(own_iter_next(some, &b, NULL), 1);
			next = own_iter_skip(some, to);
			assert_in_range(next, to - 512 - (samples ? 2 * STRIDE : 0), to);
			for (uint64_t e = 0; own_iter_next(all, &a, NULL); e++) {
				if (e < next)
					continue;
				assert_int_equal(own_iter_next(some, &b, NULL), 1);
				assert_int_equal(a.sym, b.sym);
				own_iter_when(all, &at[0][0], &at[0][1], &at[0][2]);
				own_iter_when(some, &at[1][0], &at[1][1], &at[1][2]);
				assert_memory_equal(at[0], at[1], sizeof at[0]);
				if (e < to)
					continue;
				assert_int_equal(a.dur_ns, b.dur_ns);
				assert_true(fabs((double)b.gap_ns / (double)a.gap_ns - 1) < 0.02);
			}
			assert_int_equal(own_iter_next(some, &b, NULL), 0);
			own_iter_destroy(all);
			own_iter_destroy(some);
		}
		trace_close(r.t);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_as_if_alone),
		cmocka_unit_test(test_without_samples),
		cmocka_unit_test(test_in_unsuccessful_tests),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_skip),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
