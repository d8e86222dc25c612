/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unsuccessful polls: all are counted though few are timed, and the time around them is neither lost nor doubled. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>
#include <sys/resource.h>

#include "tests/unit/own_clock.h"
#include "tests/unit/play.h"
#include "trace/functions.h"

static void poll_for(uint64_t ticks)
{
	struct rec_call c;

	assert_true(rec_enter(&c, (uintptr_t)poll_for, 0));
	rec_start_poll(&c, (struct rec_inside){0});
	spend(ticks);
	assert_true(rec_leave_poll(&c, true, false));
}

/* A test that finds something: an event without parameters. */
static void found(void)
{
	struct rec_call c;

	assert_true(rec_enter(&c, (uintptr_t)found, 0));
	rec_start_poll(&c, (struct rec_inside){0});
	assert_false(rec_leave_poll(&c, true, true));
	assert_true(rec_leave(&c, true));
	rec_event(&c, FN_MPI_Barrier, 0);
}

/* Time asleep is no processor time. */
static __thread uint64_t napped;
static __thread long sleeps;

int getrusage(__rusage_who_t who, struct rusage *u)
{
	uint64_t cpu = own_clock - napped;

	(void)who;
	*u = (struct rusage){.ru_nvcsw = sleeps};
	u->ru_utime = (struct timeval){(time_t)(cpu / 1000000000), (suseconds_t)(cpu / 1000 % 1000000)};
	return 0;
}

static void nap_for(uint64_t ticks)
{
	spend(ticks);
	napped += ticks;
	sleeps++;
}

static struct play p;
static uint64_t begun;

static void begin(void)
{
	struct errbuf err;

	own_clock_begin();
	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	assert_int_equal(rec.tiny_gap, 2 * US);
	found();
	begun = rec.last_end;
}

struct account {
	uint64_t polls, all; /* ticks: of polls, and all between the two events */
};

static struct account end(uint64_t n_polls)
{
	struct account a = {.polls = rec.live->poll_ticks, .all = rec.last_end - begun};

	assert_int_equal(rec.live->polls, n_polls);
	assert_int_equal(rec.n_events, 2);
	assert_int_equal(rec.held_gap, 0);
	assert_int_equal(rec_polls.n, 0);
	return a;
}

static uint64_t last_gap; /* of the event */

static void event_with_gap(void)
{
	uint64_t at = rec.live->stream_len, gap = 0;
	const uint8_t *s;
	int shift = 0;

	found();
	s = rec.stream + at;
	if (*s == 0) { /* time that is in no gap and no call: skip two numbers */
		s++;
		for (int i = 0; i < 2; i++)
			while (*s++ & 0x80)
				;
	}
	while (*s++ & 0x80) /* the symbol */
		;
	do
		gap |= (uint64_t)(*s & 0x7f) << shift, shift += 7;
	while (*s++ & 0x80);
	last_gap = gap;
}

static void test_tight(void **state)
{
	struct account a;

	(void)state;
	begin();
	for (int i = 0; i < 20000; i++)
		poll_for(US / 5);
	assert_true(rec.poll_streak > 0);
	event_with_gap();
	a = end(20000);
	assert_true(last_gap + a.polls <= a.all);
	assert_true(last_gap + a.polls > a.all * 99 / 100);
	assert_true(a.polls >= 20000ull * (US / 5) && last_gap <= 20 * US);
	assert_in_range(rec.poll_mean, US / 5, US / 5 + 2 * LOOK);
	rec_close();
}

static void test_work_between(void **state)
{
	struct account a;

	(void)state;
	/* ten times: many polls in close succession, then work */
	begin();
	for (int i = 0; i < 10; i++) {
		for (int k = 0; k < 500; k++)
			poll_for(US / 5);
		spend(2000 * US);
	}
	event_with_gap();
	a = end(5000);
	assert_true(last_gap + a.polls <= a.all);
	assert_true(last_gap >= 20000 * US * 99 / 100 && last_gap <= 20000 * US * 101 / 100);
	rec_close();
}

static void test_long_polls(void **state)
{
	struct account a;

	(void)state;
	/* one poll in 50 does what the library has to do; those that are timed tell that it is no computation */
	begin();
	for (int i = 0; i < 20000; i++)
		poll_for(i % 50 ? US / 5 : 100 * US);
	event_with_gap();
	a = end(20000);
	assert_true(rec.long_poll > 10 * rec.long_gap);
	assert_true(a.polls > 400 * 100 * US * 9 / 10 && last_gap + a.polls <= a.all);
	rec_close();
}

/* The processor is taken away for 3 ms after poll k of 5000, or in it. */
static struct account interrupted(int k, bool inside)
{
	struct account a;

	begin();
	for (int i = 0; i < 5000; i++) {
		poll_for(inside && i == k ? 3000 * US : US / 5);
		if (!inside && i == k)
			spend(3000 * US);
	}
	event_with_gap();
	a = end(5000);
	assert_in_range(last_gap + a.polls, a.all * 99 / 100, a.all);
	assert_in_range(rec.poll_mean, US / 5, US / 5 + 2 * LOOK);
	rec_close();
	return a;
}

static void test_interrupted(void **state)
{
	struct account a;

	(void)state;
	/* which of the polls near these are timed is the recorder's to choose: some of them are */
	for (int k = 3000; k < 3120; k++) {
		a = interrupted(k, false);
		assert_true(last_gap > 2980 * US && last_gap < 3020 * US); /* as work between polls is */
		/* in one poll: a long poll where it was timed, the program's computation where not; never both */
		a = interrupted(k, true);
		assert_true((a.polls >= 4000 * US) != (last_gap > 2980 * US));
	}
}

/* Each takes longer than what else is taken for an interruption: where MPI gives the processor to others meanwhile. */
static void test_slow(void **state)
{
	struct account a;

	(void)state;
	begin();
	spend(20000 * US); /* says nothing of what lies between polls */
	for (int i = 0; i < 5000; i++)
		poll_for(4 * US);
	event_with_gap();
	a = end(5000);
	assert_true(last_gap >= 20000 * US && last_gap < 21000 * US);
	assert_true(a.polls >= 5000 * 4 * US * 97 / 100);
	rec_close();
}

/* Ten waits of 20 naps each, with work before each wait and an event behind it. Returns the gaps of the last eight. */
static uint64_t gaps_with_naps(uint64_t work, uint64_t nap, uint64_t work_between)
{
	uint64_t sum = 0;

	begin();
	for (int wait = 0; wait < 10; wait++) {
		spend(work);
		for (int i = 0; i < 20; i++) {
			poll_for(US / 5);
			nap_for(nap);
			spend(work_between);
		}
		event_with_gap();
		sum += wait >= 2 ? last_gap : 0;
	}
	rec_close();
	return sum;
}

/* Sleep between unsuccessful tests waits as they do. The event is no test: the last nap before it is its gap. */
static void test_naps(void **state)
{
	(void)state;
	assert_in_range(gaps_with_naps(1000 * US, 100 * US, 0), 8 * 1100 * US, 8 * 1110 * US);
	/* work between tests, also next to a nap, stays computation */
	assert_in_range(gaps_with_naps(1000 * US, 100 * US, 60 * US), 8 * (1000 + 100 + 20 * 60) * US, 8 * 2350 * US);
	assert_in_range(gaps_with_naps(1000 * US, 0, 100 * US), 8 * 2990 * US, 8 * 3010 * US);
	/* a sleep among hundreds of tests at once, most of which are only counted */
	begin();
	for (int wait = 0; wait < 10; wait++)
		for (int i = 0; i < 200; i++) {
			poll_for(US / 5);
			if (i % 50 == 49)
				nap_for(500 * US);
		}
	event_with_gap();
	assert_true(last_gap < 2000 * US);
	rec_close();
}

static void *poll_later(void *asleep)
{
	napped = *(const uint64_t *)asleep + 500 * US;
	sleeps = 1;
	spend(500 * US);
	poll_for(US / 5);
	return NULL;
}

/* Threads that poll in turn: the times and sleeps of one say nothing about another. */
static void test_naps_in_turn(void **state)
{
	pthread_t t;

	(void)state;
	begin();
	for (int i = 0; i < 3; i++) {
		poll_for(US / 5);
		nap_for(100 * US);
	}
	poll_for(US / 5);
	last_gap = 0;
	assert_int_equal(pthread_create(&t, NULL, poll_later, &napped) | pthread_join(t, NULL), 0);
	event_with_gap();
	assert_in_range(last_gap, 590 * US, 610 * US);
	rec_close();
}

static void test_few(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 7; i++)
		poll_for(US);
	assert_int_equal(rec_polls.max, 0);
	event_with_gap();
	assert_in_range(end(7).polls, 7 * (US + LOOK), 7 * (US + 2 * LOOK));
	rec_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tight),
		cmocka_unit_test(test_work_between),
		cmocka_unit_test(test_long_polls),
		cmocka_unit_test(test_interrupted),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_naps),
		cmocka_unit_test(test_naps_in_turn),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
