/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The rules that are installed, on whole traces with delays of known size: one for each problem, in each way in which
 * calls can make it, and what is no problem. Times are in microseconds here.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/rules_trace.h"

static void test_late_send(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 1, "MPI_Recv", 100, 510, SYN(.src = 0, .tag = 3));
	call(s, 0, "MPI_Send", 500, 505, SYN(.dst = 1, .tag = 3));
	call(s, 0, "MPI_Send", 600, 605, SYN(.dst = 1, .tag = 3)); /* before its receive */
	call(s, 1, "MPI_Recv", 700, 701, SYN(.src = 0, .tag = 3));
	call(s, 1, "MPI_Recv", 800, 1020, SYN(.src = TRACE_ANY_SOURCE, .asrc = 0, .tag = TRACE_ANY_TAG, .atag = 4));
	call(s, 0, "MPI_Send", 1000, 1005, SYN(.dst = 1, .tag = 4));
	expect(s, "late send 600 2\n");
}

static void test_late_send_nonblocking(void **state)
{
	static const int64_t two[] = {0, 1};
	struct syn *s = begin(3);

	(void)state;
	/* Posted early, waited for late: only the wait counts. */
	call(s, 1, "MPI_Irecv", 10, 11, SYN(.src = 0, .tag = 3, .req = 0));
	call(s, 1, "MPI_Wait", 400, 510, SYN(.reqs = two, .n_reqs = 1));
	call(s, 0, "MPI_Send", 500, 505, SYN(.dst = 1, .tag = 3));
	/* One call waits for two messages, as long as for the later one. */
	call(s, 1, "MPI_Irecv", 600, 601, SYN(.src = 0, .tag = 3, .req = 0));
	call(s, 1, "MPI_Irecv", 602, 603, SYN(.src = 2, .tag = 3, .req = 1));
	call(s, 1, "MPI_Waitall", 700, 1010, SYN(.reqs = two, .n_reqs = 2));
	call(s, 0, "MPI_Send", 800, 805, SYN(.dst = 1, .tag = 3));
	call(s, 2, "MPI_Isend", 1000, 1001, SYN(.dst = 1, .tag = 3, .req = 0));
	call(s, 2, "MPI_Wait", 1020, 1021, SYN(.reqs = two, .n_reqs = 1));
	expect(s, "late send 400 2\n");
}

static void test_persistent(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(2);

	(void)state;
	call(s, 1, "MPI_Recv_init", 1, 2, SYN(.src = 0, .tag = 3, .req = 0));
	call(s, 0, "MPI_Send_init", 1, 2, SYN(.dst = 1, .tag = 3, .req = 0));
	for (uint64_t t = 100; t < 1000; t += 300) {
		call(s, 1, "MPI_Start", t, t + 1, SYN(.message = 1));
		call(s, 1, "MPI_Wait", t + 10, t + 120, SYN(.reqs = one, .n_reqs = 1));
		call(s, 0, "MPI_Start", t + 100, t + 101, SYN(.message = 1));
		call(s, 0, "MPI_Wait", t + 102, t + 103, SYN(.reqs = one, .n_reqs = 1));
	}
	expect(s, "late send 270 3\n");
}

static void test_late_receive(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Ssend", 100, 410, SYN(.dst = 1, .tag = 3));
	call(s, 1, "MPI_Recv", 400, 412, SYN(.src = 0, .tag = 3));
	call(s, 0, "MPI_Send", 500, 505, SYN(.dst = 1, .tag = 3)); /* buffered */
	call(s, 1, "MPI_Recv", 700, 701, SYN(.src = 0, .tag = 3));
	expect(s, "late receive 300 1\n");
}

static void test_sendrecv(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Sendrecv", 100, 520, SYN(.dst = 1, .src = 1, .tag = 3));
	call(s, 1, "MPI_Sendrecv", 500, 530, SYN(.dst = 0, .src = 0, .tag = 3));
	expect(s, "late send 400 1\n");
}

/* A call that waits for an MPI_Isendrecv waits for its message. Either half may be of MPI_PROC_NULL. */
static void test_isendrecv(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Isendrecv", 10, 11, SYN(.dst = 1, .src = 1, .tag = 3, .count = 1, .req = 0));
	call(s, 0, "MPI_Wait", 100, 520, SYN(.reqs = one, .n_reqs = 1));
	call(s, 1, "MPI_Isendrecv_replace", 500, 501, SYN(.dst = 0, .src = 0, .tag = 3, .count = 1, .req = 0));
	call(s, 1, "MPI_Wait", 510, 512, SYN(.reqs = one, .n_reqs = 1));
	call(s, 0, "MPI_Isendrecv", 600, 601, SYN(.dst = TRACE_PROC_NULL, .src = 1, .tag = 3, .count = 1, .req = 0));
	call(s, 0, "MPI_Wait", 610, 720, SYN(.reqs = one, .n_reqs = 1));
	call(s, 1, "MPI_Isendrecv", 700, 701, SYN(.dst = 0, .src = TRACE_PROC_NULL, .tag = 3, .count = 1, .req = 0));
	call(s, 1, "MPI_Wait", 710, 712, SYN(.reqs = one, .n_reqs = 1));
	expect(s, "late send 490 2\n");
}

/* All ranks in a collective; rank r enters at enter[r], and returns at leave. */
static void collective(struct syn *s, const char *fn, const uint64_t *enter, uint64_t leave, int64_t root)
{
	for (uint32_t r = 0; r < s->n_ranks; r++)
		call(s, r, fn, enter[r], leave + r, SYN(.root = root, .count = 1));
}

static void test_all_to_all(void **state)
{
	static const uint64_t first[] = {100, 300, 200, 400}, second[] = {700, 600, 610, 620};
	static const char *const fns[][2] = {{"MPI_Barrier", "delay before barrier"},
					     {"MPI_Allreduce", "delay before many-to-many"},
					     {"MPI_Allgather", "delay before many-to-many"},
					     {"MPI_Alltoall", "delay before many-to-many"}};
	char want[128];

	(void)state;
	for (size_t i = 0; i < sizeof(fns) / sizeof(*fns); i++) {
		struct syn *s = begin(4);

		collective(s, fns[i][0], first, 410, 0);
		collective(s, fns[i][0], second, 710, 0);
		/* 300 + 100 + 200, 100 + 90 + 80 */
		snprintf(want, sizeof(want), "%s 870 2\n", fns[i][1]);
		expect(s, want);
	}
}

static void test_to_one(void **state)
{
	static const uint64_t first[] = {100, 300, 200, 400}, second[] = {700, 600, 610, 620};
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		call(s, r, "MPI_Reduce", first[r], r == 0 ? 410 : first[r] + 5, SYN(.root = 0, .count = 1));
	for (uint32_t r = 0; r < 4; r++) /* the root comes last: nobody waits */
		call(s, r, "MPI_Reduce", second[r], second[r] + 5, SYN(.root = 0, .count = 1));
	expect(s, "early receive in many-to-one 300 1\n");
}

static void test_from_one(void **state)
{
	static const uint64_t first[] = {100, 400, 200, 300}, second[] = {700, 600, 610, 620};
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		call(s, r, "MPI_Bcast", first[r], 410, SYN(.root = 1, .count = 1));
	for (uint32_t r = 0; r < 4; r++) /* the root comes first */
		call(s, r, "MPI_Bcast", second[r], second[r] + 10, SYN(.root = 1, .count = 1));
	expect(s, "late send in one-to-many 600 1\n");
}

static void test_nonblocking_collective(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Ibarrier", 100, 101, SYN(.req = 0));
	call(s, 0, "MPI_Wait", 300, 410, SYN(.reqs = one, .n_reqs = 1));
	call(s, 1, "MPI_Ibarrier", 400, 401, SYN(.req = 0));
	call(s, 1, "MPI_Wait", 402, 411, SYN(.reqs = one, .n_reqs = 1));
	expect(s, "delay before barrier 100 1\n");
}

/* Two communicators, and a collective on each at the same time. */
static void test_communicators(void **state)
{
	static const uint32_t low[] = {0, 1}, high[] = {2, 3};
	static const uint64_t enter[] = {100, 150, 130, 200};
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		call(s, r, "MPI_Barrier", enter[r], 210, SYN(.comm = syn_comm(s, r, r < 2 ? low : high, 2)));
	expect(s, "delay before barrier 120 2\n");
}

static void test_window_creation(void **state)
{
	static const uint64_t enter[] = {100, 300};
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++)
		call(s, r, "MPI_Win_create", enter[r], 310, SYN(.win = syn_win(s, r, 0, 64)));
	expect(s, "delay at window creation 200 1\n");
}

static struct syn *with_window(uint32_t ranks)
{
	struct syn *s = begin(ranks);

	for (uint32_t r = 0; r < ranks; r++)
		call(s, r, "MPI_Win_create", 10, 20, SYN(.win = syn_win(s, r, 0, 64)));
	return s;
}

static void test_lock(void **state)
{
	struct syn *s = with_window(3);

	(void)state;
	/* Rank 1 has the lock of rank 0's part; rank 2 waits for it in lock, then rank 1 for that in unlock. */
	call(s, 1, "MPI_Win_lock", 100, 101, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 1, "MPI_Win_unlock", 400, 405, SYN(.dst = 0));
	call(s, 2, "MPI_Win_lock", 150, 406, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 2, "MPI_Win_unlock", 600, 605, SYN(.dst = 0));
	call(s, 1, "MPI_Win_lock", 450, 451, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 1, "MPI_Win_unlock", 505, 610, SYN(.dst = 0));
	/* Another part, and later: nobody waits. */
	call(s, 0, "MPI_Win_lock", 100, 101, SYN(.dst = 1, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_unlock", 500, 501, SYN(.dst = 1));
	call(s, 0, "MPI_Win_lock", 700, 701, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_unlock", 800, 801, SYN(.dst = 0));
	expect(s, "contention for a window lock 356 2\n"); /* 255, 1 + 100 */
}

static void test_exposure(void **state)
{
	static const int64_t target[] = {0}, origins[] = {1, 2};
	struct syn *s = with_window(3);

	(void)state;
	call(s, 1, "MPI_Win_start", 100, 310, SYN(.ints = target, .n_ints = 1)); /* waits in start */
	call(s, 2, "MPI_Win_start", 200, 201, SYN(.ints = target, .n_ints = 1)); /* waits in complete */
	call(s, 0, "MPI_Win_post", 300, 301, SYN(.ints = origins, .n_ints = 2));
	call(s, 2, "MPI_Win_complete", 250, 311, SYN(0));
	call(s, 0, "MPI_Win_wait", 400, 710, SYN(0));
	call(s, 1, "MPI_Win_complete", 700, 705, SYN(0));
	expect(s, "early end of an exposure epoch 300 1\nlate start of an exposure epoch 251 2\n");
}

/* What works well is not complained of. */
static void test_clean(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint64_t t = 1000; t < 20000; t += 1000) {
		for (uint32_t r = 0; r < 4; r++)
			call(s, r, "MPI_Send", t, t + 1, SYN(.dst = (r + 1) % 4, .tag = 1));
		for (uint32_t r = 0; r < 4; r++)
			call(s, r, "MPI_Recv", t + 50, t + 51, SYN(.src = (r + 3) % 4, .tag = 1));
		for (uint32_t r = 0; r < 4; r++)
			call(s, r, "MPI_Barrier", t + 100, t + 110, SYN(0));
	}
	expect(s, "");
}

/* Times that were not kept: the messages still find each other, and nothing is claimed of them. */
static void test_untimed(void **state)
{
	struct syn *s = begin(2);
	uint64_t waiting, dropped;
	struct run u;

	(void)state;
	for (uint64_t t = 1000; t < 21000; t += 1000) {
		call(s, 1, "MPI_Recv", t, t + 510, SYN(.src = 0, .tag = 3));
		call(s, 0, "MPI_Send", t + 500, t + 505, SYN(.dst = 1, .tag = 3));
	}
	s->page_events = 4;
	s->drop_every = 2;
	run(&u, s);
	assert_true(u.input.untimed > 10 && u.input.untimed < 42);
	engine_left(u.engine, rules_find(u.rules, "function_call_send_operation")->id, &waiting, &dropped);
	assert_int_equal(waiting + dropped, 0);
	assert_int_equal(u.input.calls, 42);
	for (uint32_t i = 0; i < u.report.n_problem; i++)
		assert_true(u.report.problem[i].duration_ns <= (u.report.problem[i].n - u.report.problem[i].untimed) * 501000);
	end(&u, s);
}

/* One place of the problem, where that rank alone is. */
static void expect_place(const struct run *u, uint32_t problem, const char *function, const char *begun, uint32_t rank, uint64_t us,
			 bool waits)
{
	const struct report_problem *p = &u->report.problem[problem];

	for (uint32_t i = 0; i < p->n_place; i++) {
		const struct report_place *q = &p->place[i];

		if (strcmp(engine_text(u->engine, q->call.function), function))
			continue;
		assert_string_equal(q->begun.function ? engine_text(u->engine, q->begun.function) : "", begun);
		assert_int_equal(q->duration_ns / 1000, us);
		assert_int_equal(q->waits_ns / 1000, waits ? us : 0);
		assert_int_equal(q->ranks[0], 1 << rank);
		return;
	}
	fail_msg("no place with %s", function);
}

static void test_places(void **state)
{
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 1, "MPI_Recv", 100, 510, SYN(.src = 0, .tag = 3));
	call(s, 0, "MPI_Send", 500, 505, SYN(.dst = 1, .tag = 3));
	run(&u, s);
	assert_int_equal(u.report.n_problem, 1);
	assert_int_equal(u.report.problem[0].n_place, 2);
	for (uint32_t i = 0; i < 2; i++) {
		const struct report_place *p = &u.report.problem[0].place[i];

		assert_string_equal(engine_text(u.engine, p->call.function), p->rank ? "MPI_Recv" : "MPI_Send");
		assert_int_equal(p->duration_ns / 1000, 400);
	}
	assert_true(strlen(u.report.problem[0].advice) > 20);
	end(&u, s);
}

/* Where a wait is felt: in the call that completes what was begun elsewhere; who is waited for has begun it, and no more. */
static void test_places_completed(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(3);
	struct run u;

	(void)state;
	call_at(s, 1, "MPI_Irecv", 31, 100, 101, SYN(.src = 0, .tag = 3, .req = 0));
	call_at(s, 1, "MPI_Wait", 32, 200, 510, SYN(.reqs = one, .n_reqs = 1));
	call_at(s, 0, "MPI_Isend", 33, 500, 501, SYN(.dst = 1, .tag = 3, .req = 0));
	call_at(s, 0, "MPI_Wait", 34, 520, 521, SYN(.reqs = one, .n_reqs = 1));
	call_at(s, 2, "MPI_Irecv", 31, 600, 601, SYN(.src = 0, .tag = 3, .req = 0)); /* the same, completed elsewhere */
	call_at(s, 2, "MPI_Test", 35, 700, 760, SYN(.reqs = one, .n_reqs = 1));
	call_at(s, 0, "MPI_Send", 36, 750, 751, SYN(.dst = 2, .tag = 3));
	run(&u, s);
	assert_int_equal(u.report.n_problem, 1);
	expect_place(&u, 0, "MPI_Wait", "MPI_Irecv", 1, 300, true);
	expect_place(&u, 0, "MPI_Isend", "", 0, 300, false);
	expect_place(&u, 0, "MPI_Test", "MPI_Irecv", 2, 50, true);
	expect_place(&u, 0, "MPI_Send", "", 0, 50, false);
	assert_int_equal(u.report.problem[0].n_place, 4);
	end(&u, s);
}

/* The ranks that wait, and those waited for, as sets of bits, over all places of the only problem. */
static void expect_ranks(struct syn *s, const char *id, uint8_t waiting, uint8_t awaited)
{
	uint8_t is[2] = {0};
	struct run u;

	run(&u, s);
	for (uint32_t i = 0; i < problem(&u, id)->n_place; i++) {
		const struct report_place *q = &problem(&u, id)->place[i];

		assert_true(q->waits_ns == 0 || q->waits_ns == q->duration_ns);
		is[q->waits_ns == 0] |= q->ranks[0];
	}
	assert_int_equal(is[0], waiting);
	assert_int_equal(is[1], awaited);
	end(&u, s);
}

/* All ranks are at one call site. The waiting ranks and the awaited rank have places of their own. */
static void test_who_waits(void **state)
{
	static const uint64_t late_root[] = {500, 100, 200, 600}, last_is_2[] = {100, 200, 500, 300};
	struct syn *s = begin(4);

	(void)state;
	collective(s, "MPI_Bcast", late_root, 610, 0); /* rank 3 comes after the root */
	expect_ranks(s, "late-send-in-one-to-many", 1 << 1 | 1 << 2, 1 << 0);
	s = begin(4);
	for (uint32_t r = 0; r < 4; r++)
		call(s, r, "MPI_Gather", last_is_2[r], r ? last_is_2[r] + 5 : 510, SYN(.root = 0, .count = 1));
	expect_ranks(s, "early-receive-in-many-to-one", 1 << 0, 1 << 2);
	s = begin(4);
	collective(s, "MPI_Barrier", last_is_2, 510, 0);
	expect_ranks(s, "delay-before-barrier", 1 << 0 | 1 << 1 | 1 << 3, 1 << 2);
	s = with_window(3);
	call(s, 1, "MPI_Win_lock", 100, 101, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 1, "MPI_Win_unlock", 400, 405, SYN(.dst = 0));
	call(s, 2, "MPI_Win_lock", 150, 406, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 2, "MPI_Win_unlock", 600, 605, SYN(.dst = 0));
	expect_ranks(s, "window-lock-contention", 1 << 2, 1 << 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_late_send),	 cmocka_unit_test(test_late_send_nonblocking),
	    cmocka_unit_test(test_persistent),	 cmocka_unit_test(test_late_receive),
	    cmocka_unit_test(test_sendrecv), cmocka_unit_test(test_isendrecv),	 cmocka_unit_test(test_all_to_all),
	    cmocka_unit_test(test_to_one),	 cmocka_unit_test(test_from_one),
	    cmocka_unit_test(test_nonblocking_collective),
	    cmocka_unit_test(test_communicators), cmocka_unit_test(test_window_creation),
	    cmocka_unit_test(test_lock),	 cmocka_unit_test(test_exposure),
	    cmocka_unit_test(test_clean),	 cmocka_unit_test(test_untimed),
	    cmocka_unit_test(test_who_waits), cmocka_unit_test(test_places),	 cmocka_unit_test(test_places_completed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
