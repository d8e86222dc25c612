/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A thread that leaves its processor often is sampled less, once it has run for long enough to tell. Samples of other threads
 * are no reason. The cost of samples is measured before. */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "spank/tracer/sample.h"
#include "spank/tracer/sample_impl.h"
#include "tests/unit/play.h"
#include "tests/unit/skip.h"

#define OTHERS    4
#define SAMPLES   100             /* more than the 64 after which a thread is judged */
#define PERIOD_NS (1000000000 / 256)
#define LESS_NS   (1000000000 / 16)
#define WAIT_NS   30000000000u    /* at most, for a processor that is not crowded */

static struct play p;
static bool stop, has_ring;

static void *compute(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
	return arg;
}

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/*
 * The samples' period after a run in which this thread takes turns. It computes for work_ns between two turns, cpu_ns in
 * all. Without work the run ends when there are enough samples of other threads.
 */
static uint64_t period_after(uint64_t cpu_ns, uint64_t work_ns, const char *asked)
{
	const struct timespec nap = {.tv_nsec = work_ns ? 20000 : 1000000};
	uint64_t begun, period;
	struct errbuf err;

	if (asked)
		setenv("PRECEDENT_TRACE_SAMPLE", asked, 1);
	else
		unsetenv("PRECEDENT_TRACE_SAMPLE");
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	sample_begin(0, 1);
	has_ring = !strcmp(sample_source(), "ring");
	begun = own_cpu_ns();
	for (int i = 0; has_ring && i < 20000 && own_cpu_ns() < begun + cpu_ns && (work_ns || sampling.n < SAMPLES); i++) {
		for (uint64_t from = own_cpu_ns(); own_cpu_ns() < from + work_ns;)
			for (volatile int k = 0; k < 5000; k++) /* outside the kernel, where samples are taken */
				;
		play_one(&p);
		nanosleep(&nap, NULL);
	}
	period = sampling.period_ns;
	sample_end();
	sample_free();
	rec_close();
	return period;
}

static void test_alone(void **state)
{
	(void)state;
	period_after(0, 0, NULL);
	if (!has_ring)
		SKIP("the kernel takes no samples here");
	assert_int_equal(period_after(400000000, 300000, NULL), LESS_NS);
	assert_int_equal(period_after(400000000, 300000, "256"), PERIOD_NS);
	/* No number: the default rate, which may be lowered. */
	assert_int_equal(period_after(400000000, 300000, "often"), LESS_NS);
}

static void test_among_others(void **state)
{
	pthread_t other[OTHERS];
	uint64_t period;

	(void)state;
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_create(&other[i], NULL, compute, NULL), 0);
	period = period_after(200000000, 0, NULL);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	for (int i = 0; i < OTHERS; i++)
		assert_int_equal(pthread_join(other[i], NULL), 0);
	if (!has_ring)
		SKIP("the kernel takes no samples here");
	assert_int_equal(period, PERIOD_NS);
}

static uint64_t least_gap;

static void on_gap(uint32_t symbol, uint64_t gap, uint64_t tick)
{
	(void)symbol, (void)tick;
	least_gap = gap < least_gap ? gap : least_gap;
}

/* The cost of samples is measured for some ms. In these the program does not compute. */
static void test_begin_is_no_gap(void **state)
{
	struct errbuf err;

	(void)state;
	least_gap = UINT64_MAX;
	for (int i = 0; i < 5; i++) { /* this process may be interrupted */
		assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
		rec_watch(on_gap);
		sample_begin(0, 1);
		play_one(&p);
		sample_end();
		sample_free();
		rec_close();
	}
	assert_in_range(least_gap, 0, 50 * rec.tiny_gap); /* 100 us */
}

static uint64_t wall_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Returns in how many of 20 tries a cost is found. *share: processor time of this thread over the time by the clock. */
static int costs_known(double *share)
{
	uint64_t cpu = own_cpu_ns(), wall = wall_ns();
	int known = 0;

	for (int i = 0; i < 20; i++)
		known += sample_ring_cost() > 0;
	*share = (double)(own_cpu_ns() - cpu) / (double)(wall_ns() - wall);
	return known;
}

/* A thread that has half of its processor mostly finds the cost of samples, too. */
static void test_cost_on_shared_processor(void **state)
{
	cpu_set_t all, one;
	pthread_t other;
	uint64_t begun = wall_ns();
	double share;
	int known = 0;

	(void)state;
	if (!has_ring)
		SKIP("the kernel takes no samples here");
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	__atomic_store_n(&stop, false, __ATOMIC_RELAXED);
	assert_int_equal(pthread_create(&other, NULL, compute, NULL), 0);
	/* Other programs may have the processor for a while. A round counts if this thread had nearly half of it. */
	for (int i = 0; i < 3 && known <= 12 && wall_ns() < begun + WAIT_NS; i += share >= 0.4)
		known = costs_known(&share);
	__atomic_store_n(&stop, true, __ATOMIC_RELAXED);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
	assert_in_range(known, 13, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_alone),
		cmocka_unit_test(test_among_others),
		cmocka_unit_test(test_begin_is_no_gap),
		cmocka_unit_test(test_cost_on_shared_processor),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
