/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How runs ended: traces made by hand, with the planted reason as the oracle. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/ending/ending.h"
#include "trace/functions.h"

static struct syn *begin(uint32_t n)
{
	struct syn *s = syn_create(n);

	syn_begin(s);
	for (uint32_t r = 0; r < n; r++)
		s->rank[r].defs.proc.finalized = 0;
	return s;
}

/* The rank ends in this call. dst, src, tag: TRACE_IN_CALL_NONE if the call has none. */
static void ends_in(struct syn *s, uint32_t r, uint32_t fn, int64_t dst, int64_t src, int64_t tag)
{
	s->rank[r].defs.proc.in_call = (struct trace_in_call){.inside = true, .fn = fn, .site = UINT32_MAX, .win = TRACE_NULL, .file = TRACE_NULL,
							      .dst = dst, .src = src, .tag = tag, .ticks = 1000};
}

#define NONE TRACE_IN_CALL_NONE

static void waits_for(struct syn *s, uint32_t r, uint32_t fn, uint64_t requests)
{
	ends_in(s, r, fn, NONE, NONE, NONE);
	s->rank[r].defs.proc.in_call.comm = TRACE_NULL;
	s->rank[r].defs.proc.in_call.requests = requests;
}

static void finishes(struct syn *s, uint32_t r)
{
	syn_call(s, r, "MPI_Finalize", 99, SYN());
}

/* Expect exactly these findings: "deadlock 0 1; no-message 2". */
static void expect(struct syn *s, const char *want)
{
	struct errbuf err = {""};
	struct trace *t = syn_open_partial(s);
	struct ending *e = ending_create(t, &err);
	char got[1024] = "";

	if (!e)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < e->n_finding; i++) {
		snprintf(got + strlen(got), sizeof(got) - strlen(got), "%s%s", i ? "; " : "", ending_kind_name(e->finding[i].kind));
		for (uint32_t k = 0; k < e->finding[i].n_rank; k++)
			snprintf(got + strlen(got), sizeof(got) - strlen(got), " %u", e->finding[i].rank[k]);
	}
	assert_string_equal(got, want);
	ending_destroy(e);
	trace_close(t);
	syn_destroy(s);
}

static void send(struct syn *s, uint32_t from, uint32_t to, int64_t tag)
{
	syn_call(s, from, "MPI_Send", 1, SYN(.dst = to, .tag = tag, .count = 1));
}

static void receive(struct syn *s, uint32_t at, uint32_t from, int64_t tag)
{
	syn_call(s, at, "MPI_Recv", 2, SYN(.src = from, .tag = tag, .count = 1, .asrc = TRACE_NULL, .atag = TRACE_NULL));
}

/* ---- messages ---- */

static void test_both_send(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	send(s, 0, 1, 5); /* an earlier pair that worked */
	receive(s, 1, 0, 5);
	ends_in(s, 0, FN_MPI_Send, 1, NONE, 5);
	ends_in(s, 1, FN_MPI_Send, 0, NONE, 5);
	finishes(s, 2);
	expect(s, "deadlock 0 1");
}

static void test_ring_of_receives(void **state)
{
	struct syn *s = begin(5);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		ends_in(s, r, FN_MPI_Recv, NONE, (r + 1) % 4, 6);
	ends_in(s, 4, FN_MPI_Recv, NONE, 0, 6); /* waits for the cycle, and is none of it */
	expect(s, "deadlock 0 1 2 3");
}

static void test_two_cycles(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		ends_in(s, r, FN_MPI_Recv, NONE, r ^ 1, 6);
	expect(s, "deadlock 0 1; deadlock 2 3");
}

static void test_no_message(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	send(s, 0, 1, 7);
	finishes(s, 0);
	ends_in(s, 1, FN_MPI_Recv, NONE, 0, 77);
	expect(s, "no-message 1");
}

/* The message is there: the rank was killed as it received it. */
static void test_message_under_way(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	send(s, 0, 1, 77);
	finishes(s, 0);
	ends_in(s, 1, FN_MPI_Recv, NONE, 0, TRACE_ANY_TAG);
	expect(s, "in-call 1");
}

/* A message is taken by the receive that was posted first, so the other one waits in vain. */
static void test_first_posted_takes(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	send(s, 0, 1, 3);
	finishes(s, 0);
	syn_call(s, 1, "MPI_Irecv", 4, SYN(.src = TRACE_ANY_SOURCE, .tag = TRACE_ANY_TAG, .count = 1, .req = 0));
	ends_in(s, 1, FN_MPI_Recv, NONE, 0, 3);
	expect(s, "no-message 1");
}

static void test_nobody_receives(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	finishes(s, 1);
	ends_in(s, 0, FN_MPI_Ssend, 1, NONE, 3);
	expect(s, "no-receive 0");
}

/* ---- any source, requests ---- */

static void test_any_source(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	for (uint32_t r = 0; r < 3; r++)
		ends_in(s, r, FN_MPI_Recv, NONE, TRACE_ANY_SOURCE, 9);
	expect(s, "knot 0 1 2");
}

/* One rank outside of MPI may still send to the first, which sends to the second. */
static void test_any_source_with_a_way_out(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	ends_in(s, 0, FN_MPI_Recv, NONE, TRACE_ANY_SOURCE, 9);
	ends_in(s, 1, FN_MPI_Recv, NONE, 0, 9);
	expect(s, "computes 2");
}

static void test_waitall_and_waitany(void **state)
{
	const uint32_t wait[] = {FN_MPI_Waitall, FN_MPI_Waitany};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct syn *s = begin(3);

		/* rank 0 waits for a finished rank and for a rank that computes */
		syn_call(s, 0, "MPI_Irecv", 4, SYN(.src = 1, .tag = 3, .count = 1, .req = 0));
		syn_call(s, 0, "MPI_Irecv", 5, SYN(.src = 2, .tag = 3, .count = 1, .req = 1));
		waits_for(s, 0, wait[i], 2);
		finishes(s, 1);
		expect(s, i ? "computes 2" : "no-message 0");
	}
}

/* A request of MPI_Isendrecv is complete when both messages have passed. Rank 1 sends alone, or receives alone. */
static void isendrecv(bool sends, uint32_t wait, const char *want)
{
	struct syn *s = begin(3);

	syn_call(s, 0, "MPI_Isendrecv", 4, SYN(.dst = 1, .src = 1, .tag = 3, .count = 1, .req = 0));
	syn_call(s, 0, "MPI_Irecv", 5, SYN(.src = 2, .tag = 3, .count = 1, .req = 1));
	waits_for(s, 0, wait, 2);
	if (sends)
		send(s, 1, 0, 3);
	else
		receive(s, 1, 0, 3);
	finishes(s, 1);
	send(s, 2, 0, 3);
	finishes(s, 2);
	expect(s, want);
}

static void test_isendrecv(void **state)
{
	(void)state;
	isendrecv(true, FN_MPI_Waitall, "no-receive 0");
	isendrecv(false, FN_MPI_Waitall, "no-message 0");
	isendrecv(false, FN_MPI_Waitany, "in-call 0"); /* the other request is complete */
}

/* The message of an MPI_Isendrecv that is complete is there no more. */
static void test_isendrecv_complete(void **state)
{
	struct syn *s = begin(2);
	const int64_t slot = 0, from = 0, tag = 3;

	(void)state;
	send(s, 0, 1, 3);
	receive(s, 0, 1, 3);
	finishes(s, 0);
	syn_call(s, 1, "MPI_Isendrecv", 4, SYN(.dst = 0, .src = TRACE_ANY_SOURCE, .tag = 3, .count = 1, .req = 0));
	syn_call(s, 1, "MPI_Wait", 5, SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &from, .atags = &tag));
	ends_in(s, 1, FN_MPI_Recv, NONE, 0, 3);
	expect(s, "no-message 1");
}

/* ---- collectives ---- */

static void test_not_entered(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		syn_call(s, r, "MPI_Barrier", 3, SYN());
	for (uint32_t r = 1; r < 4; r++)
		ends_in(s, r, FN_MPI_Barrier, NONE, NONE, NONE);
	finishes(s, 0);
	expect(s, "no-entry 1 2 3");
}

static void test_other_collective(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	ends_in(s, 0, FN_MPI_Barrier, NONE, NONE, NONE);
	ends_in(s, 1, FN_MPI_Barrier, NONE, NONE, NONE);
	ends_in(s, 2, FN_MPI_Allreduce, NONE, NONE, NONE);
	expect(s, "other-collective 0 2");
}

static void test_other_root_long_ago(void **state)
{
	struct syn *s = begin(3);

	(void)state;
	for (uint32_t r = 0; r < 3; r++) {
		syn_call(s, r, "MPI_Bcast", 3, SYN(.root = r == 1 ? 1 : 0, .count = 1));
		syn_call(s, r, "MPI_Barrier", 3, SYN());
		ends_in(s, r, FN_MPI_Barrier, NONE, NONE, NONE);
	}
	expect(s, "other-collective 0 1");
}

static void test_barriers_in_another_order(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t comm = syn_comm(s, r, (const uint32_t[]){0, 1}, 2);

		s->rank[r].defs.comm[comm].ordinal = 1;
		ends_in(s, r, FN_MPI_Barrier, NONE, NONE, NONE);
		s->rank[r].defs.proc.in_call.comm = r ? comm : 0;
	}
	expect(s, "deadlock 0 1");
}

/* Leaves of a broadcast may wait for a rank between them and the root; that the root is missing is certain. */
static void test_root_is_missing(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	ends_in(s, 1, FN_MPI_Bcast, 0, NONE, NONE);
	ends_in(s, 2, FN_MPI_Bcast, 0, NONE, NONE);
	ends_in(s, 0, FN_MPI_Recv, NONE, 1, 2);
	expect(s, "deadlock 0 1");
}

/* ---- windows and files ---- */

static void in_window(struct syn *s, uint32_t r, uint32_t fn, uint32_t win)
{
	ends_in(s, r, fn, NONE, NONE, NONE);
	s->rank[r].defs.proc.in_call.comm = TRACE_NULL;
	s->rank[r].defs.proc.in_call.win = win;
}

/* Rank 0's windows have another size each time, and a definition each; the other ranks use one definition twice. */
static void test_fence_not_entered(void **state)
{
	struct syn *s = begin(3);
	uint32_t win = 0;

	(void)state;
	for (uint32_t r = 0; r < 3; r++) {
		win = syn_win(s, r, 0, 8);
		syn_call(s, r, "MPI_Win_fence", 3, SYN(.win = win));
		syn_call(s, r, "MPI_Win_free", 4, SYN(.win = win));
		if (r == 0) {
			win = syn_win(s, r, 0, 16);
			s->rank[r].defs.win[win].ordinal = 0;
		}
		syn_call(s, r, "MPI_Win_fence", 3, SYN(.win = win));
		if (r == 2)
			finishes(s, r);
		else
			in_window(s, r, FN_MPI_Win_fence, win);
	}
	expect(s, "no-entry 0 1");
}

/* Fences of one window say nothing of another window. */
static void test_fences_in_another_order(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		uint32_t a = syn_win(s, r, 0, 8), b = syn_win(s, r, 0, 8);

		s->rank[r].defs.win[b].ordinal = 1;
		in_window(s, r, FN_MPI_Win_fence, r ? b : a);
	}
	expect(s, "deadlock 0 1");
}

static void epoch(struct syn *s, uint32_t r, const char *fn, uint32_t win, int64_t other)
{
	syn_call(s, r, fn, 5, SYN(.win = win, .ints = &other, .n_ints = 1));
}

/* The first epoch is complete; n: MPI_Win_post of rank 1 for rank 0 in all. */
static struct syn *two_epochs(uint32_t n)
{
	struct syn *s = begin(3);

	for (uint32_t r = 0; r < 3; r++)
		syn_win(s, r, 0, 8);
	epoch(s, 0, "MPI_Win_start", 0, 1);
	epoch(s, 0, "MPI_Win_complete", 0, 1);
	for (uint32_t i = 0; i < n; i++) {
		epoch(s, 1, "MPI_Win_post", 0, 0);
		if (!i)
			epoch(s, 1, "MPI_Win_wait", 0, 0);
	}
	finishes(s, 2);
	return s;
}

/* The rank is in MPI_Win_start for n ranks from `first` on. */
static void in_start(struct syn *s, uint32_t r, uint32_t first, uint32_t n)
{
	struct trace_group *g = &s->rank[r].defs.proc.in_call.group;

	in_window(s, r, FN_MPI_Win_start, 0);
	g->rank = calloc(n, sizeof(*g->rank));
	assert_non_null(g->rank);
	while (g->n < n)
		g->rank[g->n++] = first++;
}

static void test_start_without_post(void **state)
{
	(void)state;
	for (uint32_t posts = 1; posts <= 2; posts++) {
		struct syn *s = two_epochs(posts);

		in_start(s, 0, 1, 1);
		finishes(s, 1);
		expect(s, posts == 1 ? "no-post 0" : "");
	}
}

/* Rank 0 starts an epoch with 299 ranks. All but ranks 7 and 290 post. */
static void test_start_of_a_large_group(void **state)
{
	struct errbuf err = {""};
	struct syn *s = begin(300);
	struct ending *e;
	struct trace *t;

	(void)state;
	for (uint32_t r = 0; r < 300; r++)
		syn_win(s, r, 0, 8);
	for (uint32_t r = 1; r < 300; r++) {
		if (r != 7 && r != 290)
			epoch(s, r, "MPI_Win_post", 0, 0);
		finishes(s, r);
	}
	in_start(s, 0, 1, 299);
	t = syn_open_partial(s);
	e = ending_create(t, &err);
	assert_non_null(e);
	assert_int_equal(e->rank[0].n_wait, 1);
	assert_int_equal(e->rank[0].wait[0].n_peer, 2);
	assert_int_equal(e->rank[0].wait[0].peer[0], 7);
	assert_int_equal(e->rank[0].wait[0].peer[1], 290);
	assert_int_equal(e->n_finding, 1);
	assert_int_equal(e->finding[0].kind, ENDING_NO_POST);
	ending_destroy(e);
	trace_close(t);
	syn_destroy(s);
}

/* A library that waits for the post when it first accesses the window, or when it completes. */
static void test_late_wait_for_post(void **state)
{
	const uint32_t fn[] = {FN_MPI_Put, FN_MPI_Win_complete};

	(void)state;
	for (uint32_t i = 0; i < 4; i++) {
		struct syn *s = two_epochs(1 + i / 2);

		epoch(s, 0, "MPI_Win_start", 0, 1);
		in_window(s, 0, fn[i % 2], 0);
		s->rank[0].defs.proc.in_call.dst = i % 2 ? NONE : 1;
		finishes(s, 1);
		expect(s, i < 2 ? "no-post 0" : "");
	}
}

static void test_wait_without_complete(void **state)
{
	(void)state;
	for (int completes = 0; completes < 2; completes++) {
		struct syn *s = two_epochs(2);

		epoch(s, 0, "MPI_Win_start", 0, 1);
		if (completes)
			epoch(s, 0, "MPI_Win_complete", 0, 1);
		finishes(s, 0);
		in_window(s, 1, FN_MPI_Win_wait, 0);
		expect(s, completes ? "" : "no-complete 1");
	}
}

/* The origin is in MPI_Win_complete: it will end the epoch. */
static void test_complete_under_way(void **state)
{
	struct syn *s = two_epochs(2);

	(void)state;
	epoch(s, 0, "MPI_Win_start", 0, 1);
	in_window(s, 0, FN_MPI_Win_complete, 0);
	in_window(s, 1, FN_MPI_Win_wait, 0);
	expect(s, "");
}

static void lock(struct syn *s, uint32_t r, int64_t type)
{
	syn_call(s, r, type ? "MPI_Win_lock" : "MPI_Win_lock_all", 6, SYN(.win = 0, .dst = 0, .integer = type));
}

/* Rank 0 holds a lock, and rank 1 is in a call. A rank waits only where one of two locks is exclusive. */
static void test_locks(void **state)
{
	static const struct {
		int64_t held; /* enum trace_lock, or 0: MPI_Win_lock_all */
		uint32_t fn;
		uint8_t asked;
		const char *want;
	} of[] = {
		{TLOCK_EXCLUSIVE, FN_MPI_Win_lock, TLOCK_SHARED, "no-unlock 1"}, {TLOCK_SHARED, FN_MPI_Win_lock, TLOCK_EXCLUSIVE, "no-unlock 1"},
		{TLOCK_EXCLUSIVE, FN_MPI_Win_lock_all, 0, "no-unlock 1"}, {0, FN_MPI_Win_lock, TLOCK_EXCLUSIVE, "no-unlock 1"},
		{0, FN_MPI_Win_lock_all, 0, ""}, {TLOCK_SHARED, FN_MPI_Win_lock, TLOCK_SHARED, ""}, {TLOCK_SHARED, FN_MPI_Win_lock_all, 0, ""},
		{TLOCK_EXCLUSIVE, FN_MPI_Win_sync, 0, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(of) / sizeof(*of); i++) {
		struct syn *s = begin(2);

		for (uint32_t r = 0; r < 2; r++)
			syn_win(s, r, 0, 8);
		lock(s, 0, of[i].held);
		finishes(s, 0);
		in_window(s, 1, of[i].fn, 0);
		s->rank[1].defs.proc.in_call.dst = of[i].fn == FN_MPI_Win_lock ? 0 : NONE;
		s->rank[1].defs.proc.in_call.lock = of[i].asked;
		expect(s, of[i].want);
	}
}

/* MPI_Win_lock returned on both ranks: the library takes one of the locks later. So both may be at work. */
static void test_locks_taken_late(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	for (uint32_t r = 0; r < 2; r++) {
		syn_win(s, r, 0, 8);
		lock(s, r, TLOCK_EXCLUSIVE);
		in_window(s, r, FN_MPI_Win_unlock, 0);
		s->rank[r].defs.proc.in_call.dst = 0;
	}
	expect(s, "");
}

static void test_file_not_entered(void **state)
{
	const uint32_t fn[] = {FN_MPI_File_close, FN_MPI_File_write_all, FN_MPI_File_write_at};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct syn *s = begin(3);

		for (uint32_t r = 0; r < 3; r++) {
			uint32_t file = syn_file(s, r, 0, "out");

			syn_call(s, r, "MPI_File_set_size", 7, SYN(.file = file));
			/* own calls are not counted */
			syn_call(s, r, "MPI_File_write_at", 8 + r, SYN(.file = file, .count = 1, .disp = r));
			if (r == 1) {
				finishes(s, r);
				continue;
			}
			ends_in(s, r, fn[i], NONE, NONE, NONE);
			s->rank[r].defs.proc.in_call.comm = TRACE_NULL;
			s->rank[r].defs.proc.in_call.file = file;
		}
		expect(s, i < 2 ? "no-entry 0 2" : "");
	}
}

/* ---- ranks outside of MPI, and ends of other kinds ---- */

static void test_chain(void **state)
{
	struct syn *s = begin(4);

	(void)state;
	for (uint32_t r = 0; r < 3; r++)
		ends_in(s, r, FN_MPI_Recv, NONE, r + 1, 11);
	expect(s, "computes 3");
}

static void test_abort(void **state)
{
	struct syn *s = begin(2);

	(void)state;
	syn_call(s, 1, "MPI_Abort", 8, SYN());
	ends_in(s, 0, FN_MPI_Recv, NONE, 1, 11);
	expect(s, "aborted 1");
}

static void test_well(void **state)
{
	struct syn *s = syn_create(2);

	(void)state;
	syn_begin(s);
	send(s, 0, 1, 1); /* a message that nobody receives is no hang */
	syn_end(s);
	expect(s, "");
}

/* The rank was at work, and the others waited for nobody. The facts of the job say how the ranks ended. */
static struct syn *ended(const char *how, const char *facts)
{
	struct syn *s = begin(3);

	for (uint32_t r = 0; r < 3; r++) {
		free(s->rank[r].defs.proc.ended);
		s->rank[r].defs.proc.ended = strdup(how);
	}
	s->job = facts;
	return s;
}

static void test_killed(void **state)
{
	static const char ompi[] = "mpi=Open MPI v4.1.4\nfirst_ended=1\n";
	static const struct {
		const char *how, *facts, *want;
	} v[] = {
	    /* The launcher was killed, and the ranks outlived it; or one had died long before. */
	    {"exit code 137 (Killed)", "first_ended=1\nends_within=1.5\nlauncher_signal=9\n", "killed 0 1 2"},
	    {"exit code 139 (Segmentation fault)", "first_ended=1\nends_within=0.001\nlauncher_signal=11\n", "killed 0 1 2"},
	    {"exit code 137 (Killed)", "first_ended=1\nends_within=600\nlauncher_signal=9\n", "died 1"},
	    /* Together, or one and a second later the others. */
	    {"exit code 137 (Killed)", "mpi=Open MPI v4.1.4\nfirst_ended=1\nends_within=0.012\n", "killed 0 1 2"},
	    {"exit code 143 (Terminated)", "mpi=Open MPI v4.1.4\nfirst_ended=1\nends_within=0.012\n", "killed 0 1 2"},
	    {"exit code 137 (Killed)", "mpi=Open MPI v4.1.4\nfirst_ended=1\nends_within=1.002\n", "died 1"},
	    /* MPICH's launcher ends the others at once. */
	    {"exit code 9 (Killed)", "mpi=MPICH 4.0.2\nfirst_ended=1\nends_within=0.012\n", "died 1"},
	    /* A fault of its own; no times. */
	    {"exit code 139 (Segmentation fault)", "mpi=Open MPI v4.1.4\nfirst_ended=1\nends_within=0.012\n", "died 1"},
	    {"exit code 137 (Killed)", ompi, "died 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++)
		expect(ended(v[i].how, v[i].facts), v[i].want);
}

/* A run in a deadlock is killed: the deadlock is told. */
static void test_killed_in_a_deadlock(void **state)
{
	struct syn *s = ended("exit code 137 (Killed)", "first_ended=2\nends_within=0.5\nlauncher_signal=9\n");

	(void)state;
	ends_in(s, 0, FN_MPI_Send, 1, NONE, 5);
	ends_in(s, 1, FN_MPI_Send, 0, NONE, 5);
	expect(s, "deadlock 0 1");
}

/* Every rank of a large run waits for all others, and one computes. */
static void test_large(void **state)
{
	struct syn *s = begin(2000);

	(void)state;
	for (uint32_t r = 1; r < 2000; r++)
		ends_in(s, r, FN_MPI_Allreduce, NONE, NONE, NONE);
	expect(s, "computes 0");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_send),
		cmocka_unit_test(test_ring_of_receives),
		cmocka_unit_test(test_two_cycles),
		cmocka_unit_test(test_no_message),
		cmocka_unit_test(test_message_under_way),
		cmocka_unit_test(test_first_posted_takes),
		cmocka_unit_test(test_nobody_receives),
		cmocka_unit_test(test_any_source),
		cmocka_unit_test(test_any_source_with_a_way_out),
		cmocka_unit_test(test_waitall_and_waitany),
		cmocka_unit_test(test_isendrecv),
		cmocka_unit_test(test_isendrecv_complete),
		cmocka_unit_test(test_not_entered),
		cmocka_unit_test(test_other_collective),
		cmocka_unit_test(test_other_root_long_ago),
		cmocka_unit_test(test_barriers_in_another_order),
		cmocka_unit_test(test_root_is_missing),
		cmocka_unit_test(test_fence_not_entered), cmocka_unit_test(test_fences_in_another_order),
		cmocka_unit_test(test_start_without_post), cmocka_unit_test(test_start_of_a_large_group),
		cmocka_unit_test(test_late_wait_for_post),
		cmocka_unit_test(test_wait_without_complete), cmocka_unit_test(test_complete_under_way),
		cmocka_unit_test(test_locks), cmocka_unit_test(test_locks_taken_late), cmocka_unit_test(test_file_not_entered),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_abort),
		cmocka_unit_test(test_well),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_killed_in_a_deadlock),
		cmocka_unit_test(test_large),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
