/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Who causes waits, and what a run gains without them: by traces small enough for both to be worked out by hand. That a
 * replay without a change is the run itself is looked at for every trace here, in test_rules_input and in
 * test_rules_problems. Times are in microseconds.
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
#include "trace/functions.h"

/* Exactly these causes: "RANK computes|calls FUNCTION MICROSECONDS" in a line each, the longest first. */
static void expect_causes(const struct run *u, const char *id, const char *want)
{
	const struct report_problem *p = problem(u, id);
	char got[1024] = "";
	size_t n = 0;

	for (uint32_t i = 0; i < p->n_cause; i++) {
		const struct report_cause *c = &p->cause[i];
		const struct trace_sig *g = &trace_get_rank(u->t, c->rank)->defs.sigs.sig[c->sym];

		n += (size_t)snprintf(got + n, sizeof(got) - n, "%u %s %s %" PRIu64 "\n", c->rank,
				      c->doing == RD_COMPUTING ? "computes" : "calls", trace_fn[g->fn].name, c->ns / 1000);
	}
	assert_string_equal(got, want);
}

static void expect_gain(const struct run *u, const char *id, double us)
{
	const struct report_problem *p = problem(u, id);

	assert_true(p->has_gain);
	if ((double)p->gain_ns < us * 1e3 - 10 || (double)p->gain_ns > us * 1e3 + 10)
		fail_msg("%s: %" PRIu64 " ns gained, %.1f us expected", id, p->gain_ns, us);
}

/* Rank 1 waits for a message, rank 0 for rank 1 in a barrier. */
static void test_two(void **state)
{
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Send", 500, 501, SYN(.dst = 1, .tag = 3));
	call(s, 1, "MPI_Recv", 100, 505, SYN(.src = 0, .tag = 3));
	call(s, 0, "MPI_Barrier", 600, 810, SYN(0));
	call(s, 1, "MPI_Barrier", 805, 810, SYN(0));
	run(&u, s);
	expect_causes(&u, "late-send", "0 computes MPI_Send 400\n");
	expect_causes(&u, "delay-before-barrier", "1 computes MPI_Barrier 205\n");
	/* Sent at 0, received at 105, rank 1 comes to the barrier at 405; rank 0 still at 600: the end is at 605. */
	expect_gain(&u, "late-send", 205);
	/* Both come at 702.5. */
	expect_gain(&u, "delay-before-barrier", 102.5);
	end(&u, s);
}

/* A rank that looks for its message waits in MPI_Probe, for the same reason and with the same gain as in MPI_Recv. */
static void test_probe(void **state)
{
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	for (uint64_t t = 0; t < 3000; t += 1000) {
		call_at(s, 0, "MPI_Send", 1, t + 500, t + 501, SYN(.dst = 1, .tag = 3));
		call_at(s, 1, "MPI_Probe", 2, t + 100, t + 502, SYN(.src = TRACE_ANY_SOURCE, .asrc = 0, .tag = 3));
		call_at(s, 1, "MPI_Recv", 3, t + 503, t + 505, SYN(.src = 0, .tag = 3));
		call_at(s, 0, "MPI_Barrier", 4, t + 600, t + 810, SYN(0));
		call_at(s, 1, "MPI_Barrier", 5, t + 805, t + 810, SYN(0));
	}
	run(&u, s);
	assert_int_equal(problem(&u, "late-send")->duration_ns / 1000, 3 * 400);
	expect_causes(&u, "late-send", "0 computes MPI_Send 1200\n");
	/* Sent when the last barrier ends, at 0; rank 1 comes to the barrier 398 earlier then, rank 0 is there at 600: each
	 * pass is shorter by 205. */
	expect_gain(&u, "late-send", 3 * 205);
	end(&u, s);
}

/* What rank 1 keeps rank 2 waiting with is mostly its own wait for rank 0. */
static void test_chain(void **state)
{
	struct syn *s = begin(3);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Send", 500, 501, SYN(.dst = 1, .tag = 3));
	call(s, 1, "MPI_Recv", 100, 502, SYN(.src = 0, .tag = 3));
	call(s, 1, "MPI_Send", 510, 511, SYN(.dst = 2, .tag = 3));
	call(s, 2, "MPI_Recv", 100, 512, SYN(.src = 1, .tag = 3));
	run(&u, s);
	assert_int_equal(problem(&u, "late-send")->duration_ns / 1000, 810);
	expect_causes(&u, "late-send", "0 computes MPI_Send 800\n1 computes MPI_Send 8\n1 calls MPI_Recv 2\n");
	/* Rank 0 is not done sooner: it computes until 500, and its send takes 1. Rank 1 gets it at 102 and needs 9 more. */
	expect_gain(&u, "late-send", 11);
	end(&u, s);
}

/* A message that was completed by a wait for all of several; its sender begins none before it has computed. */
static void test_waitall(void **state)
{
	static const int64_t two[] = {0, 1};
	struct syn *s = begin(3);
	struct run u;

	(void)state;
	call(s, 2, "MPI_Irecv", 10, 11, SYN(.src = 0, .tag = 3, .req = 0));
	call(s, 2, "MPI_Irecv", 12, 13, SYN(.src = 1, .tag = 3, .req = 1));
	call(s, 2, "MPI_Waitall", 100, 610, SYN(.reqs = two, .n_reqs = 2));
	call(s, 0, "MPI_Send", 300, 305, SYN(.dst = 2, .tag = 3));
	call(s, 1, "MPI_Send", 600, 605, SYN(.dst = 2, .tag = 3));
	run(&u, s);
	expect_causes(&u, "late-send", "1 computes MPI_Send 500\n");
	expect_gain(&u, "late-send", 5); /* rank 1 has as much to do as before, until 605 */
	end(&u, s);
}

static void test_late_receive(void **state)
{
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Ssend", 100, 510, SYN(.dst = 1, .tag = 3));
	call(s, 0, "MPI_Barrier", 900, 910, SYN(0));
	call(s, 1, "MPI_Recv", 500, 512, SYN(.src = 0, .tag = 3));
	call(s, 1, "MPI_Barrier", 550, 910, SYN(0));
	run(&u, s);
	expect_causes(&u, "late-receive", "1 computes MPI_Recv 400\n");
	/* The send is over at 110, rank 0 comes to the barrier at 500, rank 1 as before at 550. */
	expect_gain(&u, "late-receive", 350);
	end(&u, s);
}

/* Twelve passes, in which rank 0 works 500 longer than the others: 125 longer for all is as much work. */
static void test_level(void **state)
{
	struct syn *s = begin(4);
	struct run u;

	(void)state;
	for (uint64_t p = 0, t = 0; p < 12; p++, t += 2000)
		for (uint32_t r = 0; r < 4; r++)
			call_at(s, r, "MPI_Allreduce", 7, t + (r ? 1000 : 1500), t + 2000, SYN(.count = 1));
	run(&u, s);
	expect_gain(&u, "imbalance-of-ranks", 12 * 375);
	expect_gain(&u, "delay-before-many-to-many", 12 * 375);
	end(&u, s);
}

/* A receiver that computes while a large message is under way: the sender is held up first by the receive that comes late, then
 * by that. Were the message to go on, the sender would be 300 earlier at the barrier, where it then waits for the other one. */
static void test_progress(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Send", 50, 410, SYN(.dst = 1, .tag = 1, .count = 100000));
	call(s, 1, "MPI_Irecv", 100, 101, SYN(.src = 0, .tag = 1, .count = 100000, .req = 0));
	call(s, 1, "MPI_Wait", 400, 412, SYN(.reqs = one, .n_reqs = 1));
	call(s, 0, "MPI_Barrier", 1000, 1002, SYN(0));
	call(s, 1, "MPI_Barrier", 602, 1002, SYN(0));
	run(&u, s);
	expect_causes(&u, "missing-progress", "1 computes MPI_Wait 299\n1 calls MPI_Irecv 1\n");
	expect_causes(&u, "late-receive", "1 computes MPI_Irecv 50\n");
	expect_gain(&u, "missing-progress", 300); /* 0 is at the barrier at 700, later than 1 at 602 */
	end(&u, s);
}

/* Ranks that have a window. */
static struct syn *begin_window(uint32_t ranks)
{
	struct syn *s = begin(ranks);

	for (uint32_t r = 0; r < ranks; r++)
		call(s, r, "MPI_Win_create", 10, 20, SYN(.win = syn_win(s, r, 0, 64)));
	return s;
}

/* One lock at a time: who has it gives it back as soon as it has it, and works then. */
static void test_lock(void **state)
{
	struct syn *s = begin_window(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Win_lock", 100, 101, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_unlock", 400, 405, SYN(.dst = 0));
	call(s, 1, "MPI_Win_lock", 150, 406, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 1, "MPI_Win_unlock", 600, 605, SYN(.dst = 0));
	run(&u, s);
	expect_causes(&u, "window-lock-contention", "0 computes MPI_Win_unlock 250\n");
	expect_gain(&u, "window-lock-contention", 200); /* rank 0 ends at 405 still, rank 1, which does not wait, at 355 */
	end(&u, s);
}

/* A queue: rank 2 waits for rank 1, which waited for rank 0 until 400. Who reads, and who reads with it, is not waited for. */
static void test_lock_queue(void **state)
{
	struct syn *s = begin_window(4);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Win_lock", 100, 101, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_unlock", 400, 401, SYN(.dst = 0));
	call(s, 1, "MPI_Win_lock", 150, 402, SYN(.dst = 0, .integer = TLOCK_SHARED));
	call(s, 1, "MPI_Win_unlock", 600, 601, SYN(.dst = 0));
	call(s, 3, "MPI_Win_lock", 160, 402, SYN(.dst = 0, .integer = TLOCK_SHARED));
	call(s, 3, "MPI_Win_unlock", 500, 501, SYN(.dst = 0));
	call(s, 2, "MPI_Win_lock", 200, 602, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 2, "MPI_Win_unlock", 700, 701, SYN(.dst = 0));
	run(&u, s);
	/* By rank 1, 2 and 3: 250, 200 and 240 for rank 0; 2 after that for how the lock went over, and 198 for rank 1. */
	expect_causes(&u, "window-lock-contention", "0 computes MPI_Win_unlock 690\n1 computes MPI_Win_unlock 198\n1 calls MPI_Win_lock 2\n");
	end(&u, s);
}

/* A library that asks for the lock when it is given back: rank 1 is granted it when rank 0 has done, rank 2 after it. */
static void test_lock_late(void **state)
{
	struct syn *s = begin_window(3);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Win_lock", 100, 101, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_flush", 110, 112, SYN(.dst = 0));
	call(s, 0, "MPI_Win_unlock", 400, 401, SYN(.dst = 0));
	call(s, 1, "MPI_Win_lock", 150, 151, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 1, "MPI_Win_flush_all", 200, 403, SYN(0));
	call(s, 1, "MPI_Win_unlock", 404, 405, SYN(.dst = 0));
	call(s, 2, "MPI_Win_lock", 180, 181, SYN(.dst = 0, .integer = TLOCK_EXCLUSIVE));
	call(s, 2, "MPI_Win_unlock", 190, 408, SYN(.dst = 0));
	run(&u, s);
	/* Rank 1 waits from 200 to 400. Rank 2 waits from 190 to 404 for rank 1: until 200 before its flush, 200 there for rank 0,
	 * and 4 until it gives the lock back. */
	expect_causes(&u, "window-lock-contention",
		      "0 computes MPI_Win_unlock 400\n1 computes MPI_Win_flush_all 10\n1 calls MPI_Win_flush_all 3\n"
		      "1 computes MPI_Win_unlock 1\n");
	end(&u, s);
}

/* The owner is late with its exposure, and an access with its end. */
static void test_epochs(void **state)
{
	static const int64_t zero[] = {0}, others[] = {1, 2};
	struct syn *s = begin_window(3);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Win_post", 300, 301, SYN(.ints = others, .n_ints = 2));
	call(s, 0, "MPI_Win_wait", 400, 710, SYN(0));
	call(s, 1, "MPI_Win_start", 100, 310, SYN(.ints = zero, .n_ints = 1));
	call(s, 1, "MPI_Win_complete", 700, 705, SYN(0));
	call(s, 2, "MPI_Win_start", 200, 201, SYN(.ints = zero, .n_ints = 1));
	call(s, 2, "MPI_Win_complete", 250, 311, SYN(0));
	for (uint32_t r = 0; r < 3; r++)
		call(s, r, "MPI_Barrier", r ? 720 : 1000, 1001, SYN(0));
	run(&u, s);
	expect_causes(&u, "late-start-of-exposure", "0 computes MPI_Win_post 250\n"); /* 200 in start, 50 in complete */
	expect_causes(&u, "early-end-of-exposure", "1 computes MPI_Win_complete 300\n");
	/* Exposed from 20 on: rank 1 starts at 110 and completes at 500. Rank 0 waits for that, takes 10 more, and comes to the
	 * barrier at 800 instead of 1000. */
	expect_gain(&u, "late-start-of-exposure", 200);
	/* Completed at 310, as soon as it was exposed: rank 0 comes to the barrier at 700, the others still at 720. */
	expect_gain(&u, "early-end-of-exposure", 280);
	end(&u, s);
}

/* Any calls in any order, most of which no program could make: nothing breaks, and a replay is the run. */
static void random_calls(uint64_t seed, bool windows)
{
	static const char *const of_windows[] = {"MPI_Win_create", "MPI_Win_lock", "MPI_Win_lock", "MPI_Win_unlock", "MPI_Win_unlock", "MPI_Win_flush",
		"MPI_Win_flush_all", "MPI_Win_lock_all", "MPI_Win_unlock_all", "MPI_Win_post", "MPI_Win_start", "MPI_Win_complete", "MPI_Win_wait",
		"MPI_Win_fence", "MPI_Put"};
	static const int64_t small[] = {0, 1, 2, 1, 0};
	struct syn *s = begin(3);
	uint64_t x = seed * 7919 + 1, t[3] = {1, 1, 1};
	struct run u;

	for (uint32_t r = 0; r < 3; r++) {
		syn_win(s, r, 0, 64);
		syn_win(s, r, 1, 64);
		syn_file(s, r, 0, "x");
	}
	for (int i = 0; i < 400; i++) {
		uint32_t r = (uint32_t)(syn_random(&x) % 3);
		const struct trace_fn_info *fn = &trace_fn[syn_random(&x) % TRACE_FN_N];
		uint64_t begin = t[r] + syn_random(&x) % 50;
		struct syn_args a = {.comm = (int64_t)(syn_random(&x) % 2), .dst = (int64_t)(syn_random(&x) % 3),
				     .tag = (int64_t)(syn_random(&x) % 3) - 1, .count = (int64_t)(syn_random(&x) % 10000),
				     .req = (int64_t)(syn_random(&x) % 4), .reqs = small, .n_reqs = (uint32_t)(syn_random(&x) % 4),
				     .ints = small, .n_ints = (uint32_t)(syn_random(&x) % 5), .win = (int64_t)(syn_random(&x) % 2),
				     .counts = small, .n_counts = 3, .integer = (int64_t)(syn_random(&x) % 3)};

		if (a.comm == 1)
			a.dst = 0;
		a.src = (int64_t)(syn_random(&x) % 3) - 1 > 0 && !a.comm ? 1 : 0;
		t[r] = begin + syn_random(&x) % 30;
		call_at(s, r, windows ? of_windows[i < 6 ? 0 : syn_random(&x) % (sizeof(of_windows) / sizeof(*of_windows))] : fn->name,
			syn_random(&x) % 5, begin, t[r], &a);
	}
	run(&u, s);
	end(&u, s);
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 400; seed++)
		random_calls(seed, seed % 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_two), cmocka_unit_test(test_probe),		 cmocka_unit_test(test_chain), cmocka_unit_test(test_waitall),
	    cmocka_unit_test(test_late_receive), cmocka_unit_test(test_level), cmocka_unit_test(test_progress), cmocka_unit_test(test_lock),
	    cmocka_unit_test(test_lock_queue),	    cmocka_unit_test(test_lock_late), cmocka_unit_test(test_epochs),
	    cmocka_unit_test(test_random),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
