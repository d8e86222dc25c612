/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Cost of recording a call. It is known here, since the clock shows the time that the test spends. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "spank/tracer/cost.h"
#include "tests/unit/own_clock.h"
#include "tests/unit/play.h"
#include "trace/functions.h"

static uint64_t before, after, calls; /* ticks that the recorder spends around a call; calls so far */
static uint64_t interrupted;	      /* after this many calls, an interruption of 1 ms */
static bool disturbed;		      /* during the comparison of calls */

static void work(void)
{
	spend(100);
	if (interrupted && ++calls % interrupted == 0)
		spend(1000 * US);
}

static void on_event(uint32_t symbol, uint64_t gap, uint64_t tick)
{
	(void)symbol, (void)gap, (void)tick;
	spend(after);
	if (disturbed && rec.n_events % 64 == 1)
		spend(100 * US);
}

static void call(void)
{
	struct rec_call c;

	assert_true(rec_enter(&c, (uintptr_t)call, 0));
	spend(before);
	rec_start(&c, (struct rec_inside){0});
	work();
	assert_true(rec_leave(&c, true));
	rec_event(&c, FN_MPI_Barrier, 0);
}

/* The cost of a call, in a program of n calls. */
static double cost(uint32_t n, bool disturb)
{
	struct errbuf err;
	struct play p;
	double ticks;

	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	rec_watch(on_event);
	calls = 0;
	for (uint32_t i = 0; i < n; i++) {
		call();
		spend(5 * US);
	}
	disturbed = disturb;
	ticks = cost_of_call(work, call);
	disturbed = false;
	rec_close();
	return ticks;
}

static void test_whole(void **state)
{
	(void)state;
	before = 30, after = 50;
	assert_true(fabs(cost(1000, false) - (double)(before + 2 * LOOK + after)) < 1);
	before = 0, after = 500;
	assert_true(fabs(cost(1000, false) - (double)(before + 2 * LOOK + after)) < 1);
	interrupted = 3000; /* some rounds are interrupted, most are not */
	assert_true(fabs(cost(1000, false) - (double)(before + 2 * LOOK + after)) < 1);
	interrupted = 0;
}

/* The program's caches differ from the caches of the compared calls. The full cost is longer by the same factor. */
static void test_where_the_program_is(void **state)
{
	struct errbuf err;
	struct play p;

	(void)state;
	before = 30, after = 50;
	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	rec_watch(on_event);
	after = 2 * (50 + LOOK) - LOOK;
	for (int i = 0; i < 10000; i++)
		call();
	after = 50;
	assert_true(fabs(cost_of_call(work, call) - 2.0 * (30 + 2 * LOOK + 50)) < 2);
	rec_close();
}

/* An impossible factor is not used: the recorder's own measurement counts. */
static void test_disturbed(void **state)
{
	(void)state;
	before = 30, after = 50;
	assert_true(fabs(cost(1000, true) - (double)(LOOK + after)) < 1);
}

static void test_nothing_known(void **state)
{
	(void)state;
	before = 30, after = 50;
	assert_true(cost(5, false) == 0); /* no measurement yet */
}

/* Watched events are not kept. */
static void test_nothing_kept(void **state)
{
	struct errbuf err;
	struct play p;
	uint32_t n = 0;

	(void)state;
	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_CHAOS, NULL, NULL, 0, 1, 0, 0, &err), 0);
	rec_watch(on_event);
	while (n < 300000 && play_one(&p))
		n++;
	assert_int_equal(n, 300000);
	assert_int_equal(rec.n_events, n);
	assert_true(rec.live->stream_first > n / 2); /* many events were dropped */
	assert_int_equal(rec.pages.n_kept, 0);
	assert_int_equal(fold_length(rec.fold), 0);
	rec_close();
}

static uint64_t head, seen_gap, taken;

static void on_gap(uint32_t symbol, uint64_t gap, uint64_t tick)
{
	(void)symbol, (void)tick;
	seen_gap = gap;
}

static void take(uint64_t t0, uint64_t t1)
{
	(void)t0, (void)t1;
	rec.sample_seen = head;
	taken++;
}

/* The gap that is recorded if the program computes for `gap` ticks, in which there are so many samples of 160 bytes. */
static uint64_t gap_with(uint64_t gap, uint32_t samples)
{
	spend(gap);
	head += 160 * samples;
	call();
	return seen_gap;
}

/* The kernel's time for samples is not the program's. */
static void test_samples(void **state)
{
	struct errbuf err;
	struct play p;

	(void)state;
	before = after = taken = 0;
	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	rec_watch(on_gap);
	rec.sample_head = &head;
	rec.sample_seen = head;
	rec.sample_take = take;
	rec.sample_cost = 30.0 * US / 160;
	assert_in_range(gap_with(4000 * US, 0), 4000 * US, 4000 * US + 4 * LOOK);
	assert_int_equal(taken, 0);
	/* 100 ticks of the call are in proportion to the gap. */
	assert_in_range(gap_with(4000 * US, 1), 3970 * US, 3970 * US + 4 * LOOK);
	assert_in_range(gap_with(8000 * US, 2), 7940 * US, 7940 * US + 4 * LOOK);
	assert_int_equal(taken, 2);
	assert_in_range(gap_with(10 * US, 1), 0, 4 * LOOK);
	assert_in_range(gap_with(4000 * US, 0), 4000 * US, 4000 * US + 4 * LOOK);
	rec_close();
}

/* At the end of a run only the factor changes. */
static void test_measured_at_the_end(void **state)
{
	struct errbuf err;
	struct play p;
	struct recorder was;
	double looks;

	(void)state;
	before = 0, after = 0;
	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	for (int i = 0; i < 5000; i++)
		assert_true(play_one(&p));
	rec_end();
	looks = rec_overhead();
	assert_true(fabs(looks - LOOK) < 1);
	was = rec;
	cost_measure((uintptr_t)call, 0);
	/* two clock readings per event, one of which the recorder measures */
	assert_true(fabs(rec.cost_factor - 2) < 0.05);
	assert_true(fabs(rec_overhead() - 2 * LOOK) < 2);
	assert_true(rec.n_events == was.n_events && rec.last_end == was.last_end && rec.live == was.live && rec.stream == was.stream);
	assert_true(rec.sigs.n == was.sigs.n && rec.sigs.n_pool == was.sigs.n_pool && rec.n_journaled == was.n_journaled);
	assert_true(!rec.on && !rec.ended && !rec.watch && rec.structure_max == was.structure_max);
	rec_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_where_the_program_is),
		cmocka_unit_test(test_disturbed),
		cmocka_unit_test(test_nothing_known),
		cmocka_unit_test(test_nothing_kept), cmocka_unit_test(test_samples),
		cmocka_unit_test(test_measured_at_the_end),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
