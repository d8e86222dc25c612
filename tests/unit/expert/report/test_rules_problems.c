/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Problems beyond waits for messages and collectives: each with a trace of which the answer was worked out by hand, and
 * one that is like it but sound. Times are in microseconds.
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

static void test_fence(void **state)
{
	static const uint64_t enter[] = {100, 300};
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t w = syn_win(s, r, 0, 64);

		call(s, r, "MPI_Win_create", 10, 20, SYN(.win = w));
		call(s, r, "MPI_Win_fence", enter[r], 310, SYN(.win = w));
		call(s, r, "MPI_Win_fence", 400, 401, SYN(.win = w)); /* together */
	}
	expect_all(s, "delay-before-fence 200 1\n");
}

/* A lock of all parts waits where one part is locked by another rank; what was asked for is got in a flush. */
static void test_lock_all_flush(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++)
		call(s, r, "MPI_Win_create", 10, 20, SYN(.win = syn_win(s, r, 0, 64)));
	call(s, 0, "MPI_Win_lock", 100, 101, SYN(.dst = 1, .integer = TLOCK_EXCLUSIVE));
	call(s, 0, "MPI_Win_unlock", 500, 505, SYN(.dst = 1));
	call(s, 1, "MPI_Win_lock_all", 200, 201, SYN(.dst = 0));
	call(s, 1, "MPI_Win_flush", 300, 510, SYN(.dst = 1));
	call(s, 1, "MPI_Win_unlock_all", 600, 601, SYN(.dst = 0));
	expect_all(s, "window-lock-contention 206 1\n"); /* 1 in lock_all, 205 in flush */
}

static void test_neighbours(void **state)
{
	static const int64_t dims[] = {3}; /* a grid of one dimension with borders; periods are the same list: not 0 */
	static const uint32_t all[] = {0, 1, 2};
	static const uint64_t enter[] = {100, 200, 400};
	struct syn *s = begin(3);

	(void)state;
	for (uint32_t r = 0; r < 3; r++) {
		uint32_t c = syn_comm(s, r, all, 3);

		call(s, r, "MPI_Cart_create", 1, 2, SYN(.newcomm = c, .ints = dims, .n_ints = 1));
		call(s, r, "MPI_Neighbor_allgather", enter[r], 405 + r, SYN(.comm = c, .count = 1));
	}
	expect_all(s, "delay-before-neighbours 500 2\n"); /* a ring: everybody waits for rank 2 */
}

static void test_neighbours_graph(void **state)
{
	static const int64_t list[][1] = {{1}, {0}, {2}}, one[] = {0};
	static const uint32_t all[] = {0, 1, 2};
	static const uint64_t enter[] = {100, 200, 400};
	struct syn *s = begin(3);

	(void)state;
	for (uint32_t r = 0; r < 3; r++) {
		uint32_t c = syn_comm(s, r, all, 3);

		call(s, r, "MPI_Dist_graph_create_adjacent", 1, 2, SYN(.newcomm = c, .ints = list[r], .n_ints = 1));
		call(s, r, "MPI_Ineighbor_alltoall", enter[r], enter[r] + 1, SYN(.comm = c, .count = 1, .req = 0));
		call(s, r, "MPI_Wait", enter[r] + 10, r == 0 ? 205 : enter[r] + 11, SYN(.reqs = one, .n_reqs = 1));
	}
	expect_all(s, "delay-before-neighbours 90 1\n"); /* 0 waits for 1 from 110 to 200; 2 is alone */
}

static void test_scan(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Scan", 300, 301, SYN(.count = 1));
	call(s, 1, "MPI_Scan", 100, 305, SYN(.count = 1));
	expect_all(s, "delay-before-scan 200 1\n");
}

static void test_probe(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 1, "MPI_Probe", 100, 505, SYN(.src = 0, .tag = 3));
	call(s, 1, "MPI_Recv", 506, 507, SYN(.src = 0, .tag = 3));
	call(s, 0, "MPI_Send", 500, 501, SYN(.dst = 1, .tag = 3));
	expect_all(s, "late-send 400 1\n");
}

static void test_files(void **state)
{
	static const uint64_t enter[] = {100, 300};
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t f = syn_file(s, r, 0, "x");

		call(s, r, "MPI_File_open", 10, 20, SYN(.file = f));
		call(s, r, "MPI_File_write_all", enter[r], 310, SYN(.file = f, .count = 10));
		call(s, r, "MPI_File_write_at", 400, r ? 600 : 410, SYN(.file = f, .count = r ? 1000 : 1));
	}
	/* In files: 10 + 210 + 10, and 10 + 10 + 200. */
	expect_all(s, "delay-before-file-access 200 1\nio-imbalance 10 1\n");
}

static void test_wrong_order(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	call(s, 1, "MPI_Send", 500, 501, SYN(.dst = 0, .tag = 1));
	call(s, 2, "MPI_Send", 200, 201, SYN(.dst = 0, .tag = 1));
	call(s, 0, "MPI_Recv", 100, 505, SYN(.src = 1, .tag = 1));
	call(s, 0, "MPI_Recv", 655, 656, SYN(.src = 2, .tag = 1)); /* 150 of work on the first; the second was there for 300 */
	call(s, 1, "MPI_Send", 900, 901, SYN(.dst = 0, .tag = 1)); /* in the order in which they come */
	call(s, 2, "MPI_Send", 800, 801, SYN(.dst = 0, .tag = 1));
	call(s, 0, "MPI_Recv", 750, 805, SYN(.src = 2, .tag = 1));
	call(s, 0, "MPI_Recv", 920, 921, SYN(.src = 1, .tag = 1));
	expect_all(s, "late-send 450 2\nwrong-order 150 1\n");
}

static void test_small_messages(void **state)
{
	struct syn *s = begin(2);
	uint64_t t = 100;

	(void)state;
	for (int i = 0; i < 10; i++, t += 20) { /* 10 of 5 us */
		call_at(s, 0, "MPI_Send", 1, t, t + 5, SYN(.dst = 1, .tag = i, .count = 4));
		call_at(s, 1, "MPI_Recv", 2, t + 10, t + 11, SYN(.src = 0, .tag = i, .count = 4));
	}
	for (int i = 0; i < 10; i++, t += 20) { /* large ones */
		call_at(s, 1, "MPI_Send", 3, t, t + 5, SYN(.dst = 0, .tag = i, .count = 4096));
		call_at(s, 0, "MPI_Recv", 4, t + 10, t + 11, SYN(.src = 1, .tag = i, .count = 4096));
	}
	for (int i = 0; i < 10; i++, t += 40) { /* one after the other, each an answer */
		call_at(s, 0, "MPI_Send", 5, t, t + 5, SYN(.dst = 1, .tag = i, .count = 4));
		call_at(s, 1, "MPI_Recv", 6, t + 10, t + 11, SYN(.src = 0, .tag = i, .count = 4));
		call_at(s, 1, "MPI_Send", 7, t + 12, t + 15, SYN(.dst = 0, .tag = i, .count = 4));
		call_at(s, 0, "MPI_Recv", 8, t + 20, t + 21, SYN(.src = 1, .tag = i, .count = 4));
	}
	expect_all(s, "small-messages 45 1\n");
}

/* A rank that loses its processor in a send does not make messages dearer; among the first ones, and after them. */
static void test_small_messages_held_up(void **state)
{
	struct syn *s = begin(2);
	uint64_t t = 100;

	(void)state;
	for (int i = 0; i < 50; i++) {
		uint64_t took = i == 3 || i == 40 ? 4000 : i == 45 ? 50 : 5; /* 50: ten times the median is not yet odd */

		call_at(s, 0, "MPI_Send", 1, t, t + took, SYN(.dst = 1, .tag = i, .count = 4));
		call_at(s, 1, "MPI_Recv", 2, t, t + took, SYN(.src = 0, .tag = i, .count = 4));
		t += took + 10;
	}
	expect_all(s, "small-messages 289 1\n"); /* 49 of 50 parts of 49 * 5 + 50, which is 289.1 */
}

static void test_rendezvous(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	call(s, 0, "MPI_Send", 100, 410, SYN(.dst = 1, .tag = 3, .count = 100000));
	call(s, 1, "MPI_Recv", 400, 412, SYN(.src = 0, .tag = 3, .count = 100000));
	call(s, 0, "MPI_Ssend", 500, 710, SYN(.dst = 1, .tag = 3, .count = 100000)); /* waits whatever its size */
	call(s, 1, "MPI_Recv", 700, 712, SYN(.src = 0, .tag = 3, .count = 100000));
	expect_all(s, "late-receive 500 2\nrendezvous-stall 300 1\n");
}

/* A send that was held up, of no more bytes than one that was buffered, waited for no handshake. */
static void test_eager(void **state)
{
	struct syn *s = begin(2);
	struct run u;

	(void)state;
	call(s, 0, "MPI_Send", 10, 12, SYN(.dst = 1, .tag = 3, .count = 5000));
	call(s, 1, "MPI_Recv", 20, 22, SYN(.src = 0, .tag = 3, .count = 5000));
	call(s, 0, "MPI_Send", 100, 410, SYN(.dst = 1, .tag = 3, .count = 5000));
	call(s, 1, "MPI_Recv", 400, 412, SYN(.src = 0, .tag = 3, .count = 5000));
	call(s, 0, "MPI_Send", 500, 710, SYN(.dst = 1, .tag = 3, .count = 5001));
	call(s, 1, "MPI_Recv", 700, 712, SYN(.src = 0, .tag = 3, .count = 5001));
	run(&u, s);
	assert_int_equal(problem(&u, "rendezvous-stall")->duration_ns / 1000, 200);
	assert_int_equal(problem(&u, "late-receive")->duration_ns / 1000, 500);
	assert_string_equal(problem(&u, "rendezvous-stall")->description,
			    "A standard send of 40008 bytes waits for its receive. A message of 40000 bytes of its rank did not wait.");
	end(&u, s);
}

/* A large message stands still while one of its ranks computes, between what began it there and what completes it. */
static void test_missing_progress(void **state)
{
	static const int64_t one[] = {0}, two[] = {0, 1};
	struct syn *s = begin(3);

	(void)state;
	/* The receiver computes; 50 of it before the send. */
	call(s, 1, "MPI_Irecv", 100, 101, SYN(.src = 0, .tag = 1, .count = 100000, .req = 0));
	call(s, 0, "MPI_Send", 150, 410, SYN(.dst = 1, .tag = 1, .count = 100000));
	call(s, 1, "MPI_Wait", 400, 412, SYN(.reqs = one, .n_reqs = 1));
	/* The sender does, after a call between. */
	call(s, 0, "MPI_Isend", 500, 501, SYN(.dst = 1, .tag = 2, .count = 100000, .req = 0));
	call(s, 1, "MPI_Recv", 510, 712, SYN(.src = 0, .tag = 2, .count = 100000));
	call(s, 0, "MPI_Send", 600, 602, SYN(.dst = 2, .tag = 9, .count = 1));
	call(s, 0, "MPI_Wait", 700, 710, SYN(.reqs = one, .n_reqs = 1));
	call(s, 2, "MPI_Recv", 610, 611, SYN(.src = 0, .tag = 9, .count = 1));
	/* It was not waited for: it had come; it is small; the wait is over before the other one is back. */
	call(s, 0, "MPI_Isend", 1000, 1001, SYN(.dst = 1, .tag = 3, .count = 100000, .req = 0));
	call(s, 1, "MPI_Recv", 1010, 1050, SYN(.src = 0, .tag = 3, .count = 100000));
	call(s, 0, "MPI_Wait", 1100, 1101, SYN(.reqs = one, .n_reqs = 1));
	call(s, 0, "MPI_Isend", 1200, 1201, SYN(.dst = 1, .tag = 4, .count = 500, .req = 0));
	call(s, 1, "MPI_Recv", 1210, 1302, SYN(.src = 0, .tag = 4, .count = 500));
	call(s, 0, "MPI_Wait", 1300, 1301, SYN(.reqs = one, .n_reqs = 1));
	/* Of two senders the last one counts: 1 is late until 1500, 2 computes until 1600. */
	call(s, 0, "MPI_Irecv", 1400, 1401, SYN(.src = 1, .tag = 5, .count = 100000, .req = 0));
	call(s, 0, "MPI_Irecv", 1402, 1403, SYN(.src = 2, .tag = 5, .count = 100000, .req = 1));
	call(s, 0, "MPI_Waitall", 1410, 1620, SYN(.reqs = two, .n_reqs = 2));
	call(s, 1, "MPI_Send", 1500, 1510, SYN(.dst = 0, .tag = 5, .count = 100000));
	call(s, 2, "MPI_Isend", 1405, 1406, SYN(.dst = 0, .tag = 5, .count = 100000, .req = 0));
	call(s, 2, "MPI_Wait", 1600, 1615, SYN(.reqs = one, .n_reqs = 1));
	/* A late receive first, and then it computes. */
	call(s, 0, "MPI_Ssend", 2000, 2310, SYN(.dst = 1, .tag = 6, .count = 4));
	call(s, 1, "MPI_Irecv", 2100, 2101, SYN(.src = 0, .tag = 6, .count = 4, .req = 0));
	call(s, 1, "MPI_Wait", 2300, 2311, SYN(.reqs = one, .n_reqs = 1));
	/* 250 + 98 + 100 + 199; late 90 and 100. */
	expect(s, "missing progress 647 4\nlate receive 100 1\nlate send 90 1\n");
}

/* A call that completes several sends waits for the last of their receives, not for each. */
static void test_several_sends(void **state)
{
	static const int64_t one[] = {0}, two[] = {0, 1};
	struct syn *s = begin(3);

	(void)state;
	/* Both receivers compute, until 400 and 500. */
	call(s, 1, "MPI_Irecv", 100, 101, SYN(.src = 0, .tag = 1, .count = 100000, .req = 0));
	call(s, 2, "MPI_Irecv", 100, 101, SYN(.src = 0, .tag = 1, .count = 100000, .req = 0));
	call(s, 0, "MPI_Isend", 150, 151, SYN(.dst = 1, .tag = 1, .count = 100000, .req = 0));
	call(s, 0, "MPI_Isend", 152, 153, SYN(.dst = 2, .tag = 1, .count = 100000, .req = 1));
	call(s, 0, "MPI_Waitall", 160, 510, SYN(.reqs = two, .n_reqs = 2));
	call(s, 1, "MPI_Wait", 400, 410, SYN(.reqs = one, .n_reqs = 1));
	call(s, 2, "MPI_Wait", 500, 512, SYN(.reqs = one, .n_reqs = 1));
	/* Both are late, until 900 and 1000. */
	call(s, 0, "MPI_Isend", 700, 701, SYN(.dst = 1, .tag = 2, .count = 100000, .req = 0));
	call(s, 0, "MPI_Isend", 702, 703, SYN(.dst = 2, .tag = 2, .count = 100000, .req = 1));
	call(s, 0, "MPI_Waitall", 710, 1010, SYN(.reqs = two, .n_reqs = 2));
	call(s, 1, "MPI_Recv", 900, 910, SYN(.src = 0, .tag = 2, .count = 100000));
	call(s, 2, "MPI_Recv", 1000, 1012, SYN(.src = 0, .tag = 2, .count = 100000));
	/* One is late until 1300, the other one computes until 1400. */
	call(s, 2, "MPI_Irecv", 1100, 1101, SYN(.src = 0, .tag = 3, .count = 100000, .req = 0));
	call(s, 0, "MPI_Isend", 1110, 1111, SYN(.dst = 1, .tag = 3, .count = 100000, .req = 0));
	call(s, 0, "MPI_Isend", 1112, 1113, SYN(.dst = 2, .tag = 3, .count = 100000, .req = 1));
	call(s, 0, "MPI_Waitall", 1120, 1410, SYN(.reqs = two, .n_reqs = 2));
	call(s, 1, "MPI_Recv", 1300, 1310, SYN(.src = 0, .tag = 3, .count = 100000));
	call(s, 2, "MPI_Wait", 1400, 1412, SYN(.reqs = one, .n_reqs = 1));
	/* Small ones are on their way, whenever they are received; and both receives were there. */
	call(s, 0, "MPI_Isend", 1500, 1501, SYN(.dst = 1, .tag = 4, .count = 10, .req = 0));
	call(s, 0, "MPI_Isend", 1502, 1503, SYN(.dst = 2, .tag = 4, .count = 10, .req = 1));
	call(s, 0, "MPI_Waitall", 1510, 1610, SYN(.reqs = two, .n_reqs = 2));
	call(s, 1, "MPI_Recv", 1600, 1601, SYN(.src = 0, .tag = 4, .count = 10));
	call(s, 2, "MPI_Recv", 1800, 1801, SYN(.src = 0, .tag = 4, .count = 10));
	/* 340 and 100; 290 and 180. */
	expect(s, "late receive 470 2\nmissing progress 440 2\n");
}

static void test_polling(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		call(s, r, "MPI_Barrier", 1000, 1001, SYN(0));
		s->rank[r].defs.proc.polls = 500;
		s->rank[r].defs.proc.poll_ticks = r ? 300000 : 5000; /* ns here; the lesser is half a percent */
	}
	expect_all(s, "polling 300 1\n");
}

/* With sleeps between them, 60 us each: waits, and no processor time. */
static void test_polling_asleep(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++)
		call(s, r, "MPI_Barrier", 1000, 1001, SYN(0));
	s->rank[0].defs.proc.polls = 5;
	s->rank[0].defs.proc.poll_ticks = 300000;
	expect_all(s, "");
}

/* Each rank works, and sends on what it got: 100 us a rank. One of them lacks its processor meanwhile (ranks: none). */
static void wave_short_of(struct syn *s, uint64_t t, uint32_t ranks, uint32_t lacking)
{
	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t got = t + 100 * r;

		if (r)
			call(s, r, "MPI_Recv", t, got + 1, SYN(.src = r - 1, .tag = 1));
		syn_window(s, r, r == lacking ? 50000 : 0);
		if (r + 1 < ranks)
			call(s, r, "MPI_Send", got + 100, got + 101, SYN(.dst = r + 1, .tag = 1));
		syn_window(s, r, 0);
		call(s, r, "MPI_Type_commit", got + 200, got + 200, SYN(0));
		syn_window(s, r, 0);
	}
}

static void wave(struct syn *s, uint64_t t, uint32_t ranks)
{
	wave_short_of(s, t, ranks, ranks);
}

static void test_wavefront(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	wave(s, 1000, 4);
	expect_all(s, "late-send 600 3\nwavefront 600 1\n"); /* 100 + 200 + 300 */
	s = begin(4);
	wave(s, 1000, 2); /* one waits for another: that is no line */
	expect_all(s, "late-send 100 1\n");
	s = begin(5); /* whoever waits for one without a processor is in no line: of 0 to 4 those after it */
	wave_short_of(s, 1000, 5, 1);
	expect_all(s, "late-send 1000 4\nshared-processors 50 1\n");
	s = begin(5);
	wave_short_of(s, 1000, 5, 4); /* nobody waits for it */
	expect_all(s, "late-send 1000 4\nwavefront 1000 2\nshared-processors 50 1\n");
	s = begin(5);
	wave_short_of(s, 1000, 5, 1); /* and later it has it again */
	wave(s, 3000, 5);
	expect_all(s, "late-send 2000 8\nwavefront 1000 2\nshared-processors 50 1\n");
}

/* A loop of passes of 2000 us, after each of which the rank is sampled: it was ready for so long and had no processor, and slept. */
static struct syn *short_of(struct syn *s, uint32_t rank, uint64_t ns, uint64_t asleep_ns)
{
	struct syn_rank *r = &s->rank[rank];
	uint64_t ticks = r->ticks, n = r->n;

	for (uint32_t p = 0; p < 12; p++) {
		r->n = 1 + 2 * (p + 1); /* MPI_Init, and two calls in each pass */
		r->ticks = ticks / 12 * p;
		syn_window(s, rank, ns);
		r->sample[r->n_sample - 1].cpu_ns = 2000000 - ns - asleep_ns;
		r->sample[r->n_sample - 1].asleep_ns = asleep_ns;
	}
	r->n = n;
	r->ticks = ticks;
	return s;
}

/* Passes of 1000 us of work; rank r works `extra` longer in those that slow() says. */
static struct syn *loop(uint32_t ranks, uint32_t passes, uint64_t extra, bool (*slow)(uint32_t rank, uint32_t pass))
{
	struct syn *s = begin(ranks);
	uint64_t t = 0;

	for (uint32_t p = 0; p < passes; p++, t += 2000)
		for (uint32_t r = 0; r < ranks; r++) {
			uint64_t work = 1000 + (slow(r, p) ? extra : 0);

			call_at(s, r, "MPI_Allreduce", 7, t + work, t + 1900, SYN(.count = 1));
			call_at(s, r, "MPI_Comm_dup", 8, t + 2000, t + 2000, SYN(.newcomm = 0));
		}
	return s;
}

static bool first_rank(uint32_t rank, uint32_t pass)
{
	(void)pass;
	return rank == 0;
}

static bool in_turn(uint32_t rank, uint32_t pass)
{
	return pass % 4 == rank;
}

static bool nobody(uint32_t rank, uint32_t pass)
{
	(void)rank, (void)pass;
	return false;
}

/* All repeat 1000 us of work, every odd rank after the call of the loop that the even ones have it before. */
static struct syn *shifted(uint32_t ranks, uint32_t passes, uint64_t before_us)
{
	struct syn *s = begin(ranks);

	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t p = 0; p < passes; p++) {
			uint64_t t = before_us + 1000 * p;

			call_at(s, r, "MPI_Type_commit", 7, t, t, SYN(0));
			call_at(s, r, "MPI_Type_free", 8, t + (r % 2 ? 0 : 700), t + (r % 2 ? 0 : 700), SYN(0));
		}
	return s;
}

static void test_imbalance(void **state)
{
	(void)state;
	expect_all(shifted(4, 12, 1000), "");
	expect_all(shifted(4, 4, 1), "");
	expect_all(loop(4, 12, 500, first_rank), "delay-before-many-to-many 18000 12\nimbalance-of-ranks 18000 1\n");
	expect_all(loop(4, 12, 500, in_turn), "delay-before-many-to-many 18000 12\nimbalance-of-iterations 18000 1\n");
	expect_all(loop(4, 12, 500, nobody), "");
	/* The same, but the first rank works no longer than the others: it lacks its processor for a third of its time. */
	expect_all(short_of(loop(4, 12, 500, first_rank), 0, 0, 0), "delay-before-many-to-many 18000 12\nimbalance-of-ranks 18000 1\n");
	expect_all(short_of(loop(4, 12, 500, first_rank), 0, 700000, 0), "delay-before-many-to-many 18000 12\nshared-processors 8400 1\n");
	/* Asleep in its work, it lacks its processor where it waits for the others, and they wait for none. */
	expect_all(short_of(loop(4, 12, 500, nobody), 0, 700000, 1000000), "shared-processors 8400 1\n");
}

/* A task farm: rank 1 computes 20 ms for each answer, rank 2 as many as given, and the master nothing. */
static struct syn *farm(bool any_source, uint32_t computed_ms)
{
	struct syn *s = begin(3);

	for (uint64_t t = 20000; t <= 240000; t += 20000) {
		int64_t any = TRACE_ANY_SOURCE;

		call(s, 1, "MPI_Send", t + 10, t + 11, SYN(.dst = 0, .tag = 1));
		call(s, 2, "MPI_Send", t - 20000 + 1000 * computed_ms + 20, t + 21, SYN(.dst = 0, .tag = 1));
		call(s, 0, "MPI_Recv", t - 19970, t + 12, SYN(.src = any_source ? any : 1, .asrc = 1, .tag = 1));
		call(s, 0, "MPI_Recv", t + 13, t + 22, SYN(.src = any_source ? any : 2, .asrc = 2, .tag = 1));
	}
	return s;
}

static bool finds_imbalance(struct syn *s)
{
	struct run u;
	bool found = false;

	run(&u, s);
	for (uint32_t i = 0; i < u.report.n_problem; i++)
		found |= !strncmp(engine_text(u.engine, u.report.problem[i].id), "imbalance-of-", 13);
	end(&u, s);
	return found;
}

/* A master computes less than its workers because it is one; workers that differ from each other are told. */
static void test_farm(void **state)
{
	(void)state;
	assert_true(finds_imbalance(farm(false, 20)));
	assert_false(finds_imbalance(farm(true, 20)));
	assert_true(finds_imbalance(farm(true, 1)));
}

static void test_begin(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++)
		call(s, r, "MPI_Barrier", 10000000, 10000001, SYN(0));
	s->rank[0].defs.proc.before_ns = 3000000000;
	s->rank[1].defs.proc.before_ns = 90000000; /* starting a process takes that */
	s->rank[1].defs.proc.init_ns = 2000000000;
	s->rank[1].defs.proc.after_ns = 1500000000;
	s->rank[0].defs.proc.after_ns = 1000000000; /* not longer than a second */
	expect_all(s, "time-before-init 3000000 1\ntime-in-init 2000000 1\ntime-after-finalize 1500000 1\n");
}

static void set_host(struct syn *s, uint32_t rank, const char *host)
{
	free(s->rank[rank].defs.proc.host);
	s->rank[rank].defs.proc.host = strdup(host);
}

static bool second_host(uint32_t rank, uint32_t pass)
{
	(void)pass;
	return rank >= 2;
}

static void test_slower_nodes(void **state)
{
	struct syn *s = loop(4, 10, 300, second_host);
	struct run u;

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		set_host(s, r, r < 2 ? "fast7" : "slow3");
	run(&u, s);
	for (uint32_t i = 0; i < u.report.n_problem; i++)
		if (!strcmp(engine_text(u.engine, u.report.problem[i].id), "slower-nodes")) {
			assert_non_null(strstr(u.report.problem[i].description, "All ranks of slow3 compute longer than all of fast7"));
			assert_int_equal(u.report.problem[i].duration_ns / 1000, 6000); /* two ranks, ten times 300 */
			end(&u, s);
			s = loop(4, 10, 300, in_turn); /* one of each host */
			set_host(s, 1, "other");
			set_host(s, 3, "other");
			expect_all(s, "delay-before-many-to-many 9000 10\nimbalance-of-iterations 8400 1\n"); /* 600 of the ranks: below 2 % */
			return;
		}
	fail_msg("slower nodes were not found");
}

static void test_binding(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++) { /* 0 and 1 share one processor, the others have two each */
		call(s, r, "MPI_Barrier", 1000, 1001, SYN(0));
		s->rank[r].defs.proc.processors = r < 2 ? 1 : 2;
		s->rank[r].defs.proc.processor_set = r < 2 ? 77 : r;
		s->rank[r].defs.proc.throttled_ns = r == 3 ? 400000 : 0;
		syn_delayed(s, r, r < 2 ? 300000 : r == 3 ? 450000 : 1000);
	}
	/* Ranks 0 and 1 wait for their processor, and this is why; rank 3 mostly for its group, else for others. */
	expect_all(s, "poor-binding 600 1\nthrottled 400 1\nshared-processors 50 1\n");
}

/* Four ranks without binding on a host of two processors: no binding helps. */
static void test_oversubscribed(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++) {
		call(s, r, "MPI_Barrier", 1000, 1001, SYN(0));
		s->rank[r].defs.proc.processors = s->rank[r].defs.proc.host_processors = 2;
		s->rank[r].defs.proc.processor_set = 5;
		syn_delayed(s, r, 500000);
	}
	expect_all(s, "oversubscribed 2000 1\n");
	s = begin(4); /* the same, of eight */
	for (uint32_t r = 0; r < 4; r++) {
		call(s, r, "MPI_Barrier", 1000, 1001, SYN(0));
		s->rank[r].defs.proc.processors = 2;
		s->rank[r].defs.proc.host_processors = 8;
		s->rank[r].defs.proc.processor_set = 5;
		syn_delayed(s, r, 500000);
	}
	expect_all(s, "poor-binding 2000 1\n");
}

static void set_network(struct syn *s, uint32_t rank, const char *name)
{
	free(s->rank[rank].defs.proc.network);
	s->rank[rank].defs.proc.network = strdup(name);
	assert_non_null(s->rank[rank].defs.proc.network);
}

/* 0 and 1 at one switch, 2 at another one, of 3 nothing is known; messages take 80. */
static void test_distant(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	set_network(s, 0, "top.left");
	set_network(s, 1, "top.left");
	set_network(s, 2, "top.right");
	call(s, 0, "MPI_Send", 100, 101, SYN(.dst = 1));
	call(s, 0, "MPI_Send", 200, 201, SYN(.dst = 2));
	call(s, 0, "MPI_Send", 300, 301, SYN(.dst = 3));
	call(s, 0, "MPI_Isend", 400, 401, SYN(.dst = 2, .tag = 1));
	call(s, 1, "MPI_Recv", 90, 180, SYN(.src = 0)); /* of the same switch: late by 10 */
	call(s, 1, "MPI_Isend", 450, 451, SYN(.dst = 2, .tag = 1));
	call(s, 2, "MPI_Recv", 150, 280, SYN(.src = 0)); /* late by 50, on its way for 80 */
	call(s, 2, "MPI_Irecv", 300, 301, SYN(.src = 0, .tag = 1, .req = 0));
	call(s, 2, "MPI_Irecv", 301, 302, SYN(.src = 1, .tag = 1, .req = 1));
	call(s, 2, "MPI_Waitall", 310, 530, SYN(.reqs = (int64_t[]){0, 1}, .n_reqs = 2)); /* late by 140, then 80 */
	call(s, 3, "MPI_Recv", 200, 380, SYN(.src = 0));
	expect_all(s, "late-send 300 4\ndistant-ranks 160 2\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_fence),	  cmocka_unit_test(test_lock_all_flush), cmocka_unit_test(test_neighbours),
	    cmocka_unit_test(test_neighbours_graph), cmocka_unit_test(test_scan),	 cmocka_unit_test(test_probe),
	    cmocka_unit_test(test_files),	  cmocka_unit_test(test_wrong_order), cmocka_unit_test(test_small_messages),
	    cmocka_unit_test(test_small_messages_held_up), cmocka_unit_test(test_several_sends),
	    cmocka_unit_test(test_rendezvous), cmocka_unit_test(test_eager),	  cmocka_unit_test(test_missing_progress), cmocka_unit_test(test_polling),
		cmocka_unit_test(test_polling_asleep),	 cmocka_unit_test(test_wavefront),
	    cmocka_unit_test(test_imbalance),	  cmocka_unit_test(test_farm),	  cmocka_unit_test(test_begin),		 cmocka_unit_test(test_slower_nodes),
	    cmocka_unit_test(test_binding),	  cmocka_unit_test(test_oversubscribed), cmocka_unit_test(test_distant),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
