/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unsuccessful polls: all are counted though few are timed, and the time around them is neither lost nor doubled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "tests/unit/play.h"
#include "trace/functions.h"

static uint64_t us; /* in ticks */

static void spend(uint64_t ticks)
{
	uint64_t end = clock_ticks() + ticks;

	while (clock_ticks() < end)
		;
}

static void poll_for(uint64_t ticks)
{
	struct rec_call c;

	assert_true(rec_enter(&c, (uintptr_t)poll_for, 0));
	rec_start_poll(&c);
	spend(ticks);
	assert_true(rec_leave_poll(&c, true, false));
}

/* A test that finds something: an event without parameters. */
static void found(void)
{
	struct rec_call c;

	assert_true(rec_enter(&c, (uintptr_t)found, 0));
	rec_start_poll(&c);
	assert_false(rec_leave_poll(&c, true, true));
	assert_true(rec_leave(&c, true));
	rec_event(&c, FN_MPI_Barrier, 0);
}

static struct play p;
static uint64_t begun;

static void begin(void)
{
	struct errbuf err;
	uint64_t t, ns;

	assert_int_equal(play_begin(&p, PLAY_LOOP, NULL, NULL, 0, 1, 0, 0, &err), 0);
	t = clock_ticks();
	ns = clock_ns(CLOCK_MONOTONIC);
	while (clock_ns(CLOCK_MONOTONIC) - ns < 2000000)
		;
	us = (clock_ticks() - t) / 2000;
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

static bool tight_as_spent(void)
{
	struct account a;
	bool accounted, mean;

	begin();
	for (int i = 0; i < 20000; i++)
		poll_for(us / 5);
	assert_true(rec.poll_streak > 0);
	event_with_gap();
	a = end(20000);
	assert_true(last_gap + a.polls <= a.all);
	accounted = last_gap + a.polls > a.all * 9 / 10 && a.polls >= 20000 * (us / 5) * 9 / 10;
	mean = rec.poll_mean >= us / 5 && rec.poll_mean <= 2 * us;
	rec_close();
	return accounted && mean;
}

static void test_tight(void **state)
{
	bool as_spent = false;

	(void)state;
	/* a busy machine interrupts: then there is no telling what was interrupted, and it is done once more */
	for (int tries = 0; !as_spent && tries < 20; tries++)
		as_spent = tight_as_spent();
	assert_true(as_spent);
}

static void test_work_between(void **state)
{
	struct account a;

	(void)state;
	/* ten times: many polls in close succession, then work. Where a timed poll is interrupted, it is taken for those
	 * that are not timed: then once more. */
	for (int tries = 0; tries == 0 || (last_gap < 20000 * us * 9 / 10 && tries < 20); tries++) {
		begin();
		for (int i = 0; i < 10; i++) {
			for (int k = 0; k < 500; k++)
				poll_for(us / 5);
			spend(2000 * us);
		}
		event_with_gap();
		a = end(5000);
		assert_true(last_gap + a.polls <= a.all);
		rec_close();
	}
	assert_true(last_gap >= 20000 * us * 9 / 10);
}

static void test_long_polls(void **state)
{
	struct account a;

	(void)state;
	/* one poll in 50 does what the library has to do; those that are timed tell that it is no computation */
	begin();
	for (int i = 0; i < 20000; i++)
		poll_for(i % 50 ? us / 5 : 100 * us);
	event_with_gap();
	a = end(20000);
	assert_true(rec.long_poll > 10 * rec.long_gap || rec.long_gap > 1000 * us);
	assert_true(a.polls > 400 * 100 * us / 2 && last_gap + a.polls <= a.all);
	rec_close();
}

/* Each takes longer than what else is taken for an interruption: where MPI gives the processor to others meanwhile. */
static bool slow_as_spent(void)
{
	struct account a;

	begin();
	spend(20000 * us); /* says nothing of what lies between polls */
	for (int i = 0; i < 5000; i++)
		poll_for(4 * us);
	event_with_gap();
	a = end(5000);
	rec_close();
	return last_gap >= 20000 * us * 9 / 10 && last_gap < 24000 * us && a.polls >= 5000 * 4 * us * 9 / 10;
}

static void test_slow(void **state)
{
	bool as_spent = false;

	(void)state;
	for (int tries = 0; !as_spent && tries < 20; tries++)
		as_spent = slow_as_spent();
	assert_true(as_spent);
}

static void test_few(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 7; i++)
		poll_for(us);
	assert_int_equal(rec_polls.max, 0);
	event_with_gap();
	assert_true(end(7).polls >= 7 * us);
	rec_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tight),
		cmocka_unit_test(test_work_between),
		cmocka_unit_test(test_long_polls),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_few),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
