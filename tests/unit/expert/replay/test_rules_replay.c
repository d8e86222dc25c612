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

/* The same with a call that does not block: all ranks compute 200 more before they wait. That stays when the work is balanced. */
static void test_level_nonblocking(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(4);
	uint64_t now[4] = {0};
	struct run u;

	(void)state;
	for (uint64_t p = 0; p < 8; p++) {
		uint64_t last = now[0] + 1500;

		for (uint32_t r = 0; r < 4; r++) {
			uint64_t come = now[r] + (r ? 1000 : 1500);

			now[r] = (come + 200 > last ? come + 200 : last) + 100;
			call_at(s, r, "MPI_Iallreduce", 7, come, come, SYN(.count = 1, .req = 0));
			call_at(s, r, "MPI_Wait", 8, come + 200, now[r], SYN(.reqs = one, .n_reqs = 1));
		}
	}
	run(&u, s);
	expect_gain(&u, "delay-before-many-to-many", 8 * 375);
	end(&u, s);
}

/* One pass. A rank leaves when all lower ranks have come: the library passes the sums on from rank to rank. */
static void scan_pass(struct syn *s, const char *fn, const uint64_t *work, uint64_t *now)
{
	static const int64_t one[] = {0};
	uint64_t last = 0;

	for (uint32_t r = 0; r < 4; r++) {
		uint64_t come = now[r] + work[r];

		last = come > last ? come : last;
		now[r] = last;
		if (!strcmp(fn, "MPI_Iscan") || !strcmp(fn, "MPI_Iexscan")) {
			call_at(s, r, fn, 7, come, come, SYN(.count = 1, .req = 0));
			call_at(s, r, "MPI_Wait", 8, come, last, SYN(.reqs = one, .n_reqs = 1));
		} else {
			call_at(s, r, fn, 7, come, last, SYN(.count = 1));
		}
	}
}

/* Ranks are late in turn and run ahead of each other. Work: 300 for one rank, 100 for the others, in eight passes.
 * The ranks end at 1200, 1400, 1600 and 1800. With 150 for each rank and pass, all would end at 8 * 150. */
static void test_scan_in_turn(void **state)
{
	static const char *const fn[] = {"MPI_Scan", "MPI_Exscan", "MPI_Iscan", "MPI_Iexscan"};

	(void)state;
	for (size_t f = 0; f < sizeof(fn) / sizeof(*fn); f++) {
		struct syn *s = begin(4);
		uint64_t now[4] = {0};
		struct run u;

		for (uint32_t pass = 0; pass < 8; pass++)
			scan_pass(s, fn[f], (uint64_t[]){pass % 4 == 0 ? 300 : 100, pass % 4 == 1 ? 300 : 100,
							 pass % 4 == 2 ? 300 : 100, pass % 4 == 3 ? 300 : 100}, now);
		assert_int_equal(now[3], 1800);
		run(&u, s);
		assert_in_range(problem(&u, "delay-before-scan")->gain_ns, 599900, 600100);
		end(&u, s);
	}
}

/* Always the same rank is late, by 400: for each rank 100 more is as much work. */
static void test_scan_first(void **state)
{
	struct syn *s = begin(4);
	uint64_t now[4] = {0};
	struct run u;

	(void)state;
	for (uint32_t pass = 0; pass < 8; pass++)
		scan_pass(s, "MPI_Scan", (uint64_t[]){500, 100, 100, 100}, now);
	run(&u, s);
	assert_in_range(problem(&u, "delay-before-scan")->gain_ns, 8 * 300000 - 100, 8 * 300000 + 100);
	end(&u, s);
}

/* The order is that of the communicator: rank 1 waits for rank 2, which is before it, and not for rank 0. */
static void test_scan_order(void **state)
{
	static const uint32_t order[] = {2, 1, 0};
	struct syn *s = begin(3);
	int64_t comm = 0;
	struct run u;

	(void)state;
	for (uint32_t r = 0; r < 3; r++)
		comm = syn_comm(s, r, order, 3);
	call(s, 2, "MPI_Scan", 500, 501, SYN(.comm = comm, .count = 1));
	call(s, 1, "MPI_Scan", 100, 502, SYN(.comm = comm, .count = 1));
	call(s, 0, "MPI_Scan", 900, 901, SYN(.comm = comm, .count = 1));
	run(&u, s);
	expect_causes(&u, "delay-before-scan", "2 computes MPI_Scan 400\n");
	/* All come at 500. Rank 1 takes 2 more. */
	expect_gain(&u, "delay-before-scan", 399);
	end(&u, s);
}

/* A library in which all ranks of a scan wait for all others. */
static void test_scan_of_all(void **state)
{
	struct syn *s = begin(3);
	struct run u;

	(void)state;
	for (uint32_t r = 0; r < 3; r++)
		call(s, r, "MPI_Scan", r == 2 ? 901 : 100, 902, SYN(.count = 1));
	run(&u, s);
	expect_causes(&u, "delay-before-scan", "2 computes MPI_Scan 1602\n");
	expect_gain(&u, "delay-before-scan", 534); /* all come at 367 */
	end(&u, s);
}

/* What ranks compute between a scan and its wait moves with the scan: both begin it at 300 and wait from 400 on. */
static void test_scan_overlap(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Iscan", 500, 500, SYN(.count = 1, .req = 0));
	call(s, 0, "MPI_Wait", 600, 601, SYN(.reqs = one, .n_reqs = 1));
	call(s, 1, "MPI_Iscan", 100, 100, SYN(.count = 1, .req = 0));
	call(s, 1, "MPI_Wait", 200, 501, SYN(.reqs = one, .n_reqs = 1));
	run(&u, s);
	expect_gain(&u, "delay-before-scan", 200);
	end(&u, s);
}

/* The order is 3, 0, 1, 2. Ranks come at 450 in the mean, rank 0 at 600. Rank 0 has waited for a message before rank 2
 * comes. A rank 0 that comes at 450 waits for this message as well, and is at the barrier at 1000 as before. */
static void test_scan_then_wait(void **state)
{
	static const uint32_t order[] = {3, 0, 1, 2};
	struct syn *s = begin(4);
	int64_t comm = 0;
	struct run u;

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		comm = syn_comm(s, r, order, 4);
	call(s, 3, "MPI_Scan", 450, 451, SYN(.comm = comm, .count = 1));
	call(s, 0, "MPI_Scan", 600, 601, SYN(.comm = comm, .count = 1));
	call(s, 1, "MPI_Scan", 90, 602, SYN(.comm = comm, .count = 1));
	call(s, 2, "MPI_Scan", 660, 661, SYN(.comm = comm, .count = 1));
	call(s, 3, "MPI_Send", 650, 651, SYN(.dst = 0, .tag = 3));
	call(s, 0, "MPI_Recv", 610, 652, SYN(.src = 3, .tag = 3));
	call(s, 0, "MPI_Send", 655, 656, SYN(.dst = 2, .tag = 4));
	for (uint32_t r = 0; r < 4; r++)
		call(s, r, "MPI_Barrier", r ? 800 : 1000, 1001, SYN(0));
	run(&u, s);
	expect_causes(&u, "delay-before-scan", "0 computes MPI_Scan 510\n");
	expect_gain(&u, "delay-before-scan", 0);
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
	    cmocka_unit_test(test_late_receive), cmocka_unit_test(test_level),
		cmocka_unit_test(test_level_nonblocking), cmocka_unit_test(test_progress), cmocka_unit_test(test_lock),
	    cmocka_unit_test(test_lock_queue),	    cmocka_unit_test(test_lock_late), cmocka_unit_test(test_epochs),
	    cmocka_unit_test(test_scan_in_turn), cmocka_unit_test(test_scan_first), cmocka_unit_test(test_scan_order),
	    cmocka_unit_test(test_scan_of_all), cmocka_unit_test(test_scan_overlap), cmocka_unit_test(test_scan_then_wait),
	    cmocka_unit_test(test_random),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
