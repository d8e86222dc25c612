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
	s->rank[r].defs.proc.in_call = (struct trace_in_call){.inside = true, .fn = fn, .site = UINT32_MAX, .win = TRACE_NULL,
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
		cmocka_unit_test(test_not_entered),
		cmocka_unit_test(test_other_collective),
		cmocka_unit_test(test_other_root_long_ago),
		cmocka_unit_test(test_barriers_in_another_order),
		cmocka_unit_test(test_root_is_missing),
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
