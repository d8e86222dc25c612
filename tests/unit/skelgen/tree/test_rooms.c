/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Receives that are too short for their message: skel_rooms_find finds them, and skeletons have the room that they need. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/pipeline.h"
#include "skelgen/plan/plan.h"
#include "skelgen/simulate/plan_matched.h"
#include "skelgen/tree/rooms.h"
#include "skelgen/timing/times.h"
#include "tests/unit/synthetic.h"

enum { MULTIPLE = 3 };

static struct syn *pair(uint8_t thread_level)
{
	struct syn *s = syn_create(2);

	for (uint32_t r = 0; r < 2; r++)
		s->rank[r].defs.proc.thread_level = thread_level;
	syn_begin(s);
	return s;
}

static void send(struct syn *s, int64_t tag, int64_t count)
{
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .tag = tag, .count = count));
}

/* Two threads have matched messages of 10 and 20 elements; the second one returned first. */
static void take_two(struct syn *s, int64_t tag, int64_t first, int64_t second)
{
	syn_call(s, 1, "MPI_Mprobe", 2, SYN(.src = 0, .tag = tag, .req = 0));
	syn_call(s, 1, "MPI_Mprobe", 2, SYN(.src = 0, .tag = tag, .req = 1));
	syn_call(s, 1, "MPI_Mrecv", 3, SYN(.message = 1, .count = first));
	syn_call(s, 1, "MPI_Mrecv", 4, SYN(.message = 2, .count = second));
}

static struct skel_rooms find(struct trace *t)
{
	struct skel_rooms rooms;
	struct errbuf err;

	if (skel_rooms_find(t, &rooms, &err) != 0)
		fail_msg("%s", err.text);
	return rooms;
}

/* The whole skeleton, as it is planned. Returns what skel_plan_matched does. */
static int plan(struct trace *t, struct errbuf *err)
{
	const struct skel_budget whole = {0};
	struct skel_match_report report;
	struct skel_times times;
	struct skel_tree tree;
	struct skel_plan p;
	int rv;

	assert_int_equal(skel_tree_build(t, &tree, err), 0);
	assert_int_equal(skel_times_collect(&tree, &times, err), 0);
	rv = skel_plan_matched(&tree, &times, &whole, &p, &report, err);
	if (rv == 0)
		skel_plan_free(&p);
	skel_times_free(&times);
	skel_tree_free(&tree);
	return rv;
}

static void test_right_order(void **state)
{
	struct syn *s = pair(MULTIPLE);
	struct trace *t;
	struct skel_rooms rooms;
	struct errbuf err;

	(void)state;
	send(s, 5, 10);
	send(s, 5, 20);
	take_two(s, 5, 10, 20);
	send(s, 6, 0);
	syn_call(s, 1, "MPI_Recv", 5, SYN(.src = 0, .tag = 6, .count = 0));
	syn_end(s);
	t = syn_open(s);
	rooms = find(t);
	assert_int_equal(rooms.n_short, 0);
	assert_null(rooms.bytes);
	assert_int_equal(skel_room(&rooms, 1, 3), 0);
	assert_int_equal(plan(t, &err), 0);
	skel_rooms_free(&rooms);
	trace_close(t);
	syn_destroy(s);
}

static void test_other_order(void **state)
{
	struct syn *s = pair(MULTIPLE);
	struct trace *t;
	struct skel_rooms rooms;
	struct errbuf err;

	(void)state;
	send(s, 5, 10);
	send(s, 5, 20);
	take_two(s, 5, 20, 10);
	send(s, 6, 30); /* another channel: its receive is as it was */
	syn_call(s, 1, "MPI_Recv", 5, SYN(.src = 0, .tag = 6, .count = 35));
	syn_end(s);
	t = syn_open(s);
	rooms = find(t);
	assert_int_equal(rooms.n_short, 1);
	assert_int_equal(rooms.first.src, 0);
	assert_int_equal(rooms.first.dst, 1);
	assert_int_equal(rooms.first.tag, 5);
	assert_int_equal(rooms.first.bytes, 160);
	assert_int_equal(rooms.first.room, 80);
	assert_int_equal(rooms.first.send_event, 2); /* after MPI_Init */
	assert_int_equal(rooms.first.post_event, 4);
	/* Both receives of the channel, whichever was meant. */
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[3]), 160);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[4]), 160);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[5]), 0);
	assert_int_equal(skel_room(&rooms, 0, s->rank[0].sym[1]), 0);
	if (plan(t, &err) != 0)
		fail_msg("%s", err.text);
	skel_rooms_free(&rooms);
	trace_close(t);
	syn_destroy(s);
}

/* In a rank of one thread nothing explains it. */
static void test_without_threads(void **state)
{
	struct syn *s = pair(0);
	struct trace *t;
	struct errbuf err;

	(void)state;
	send(s, 5, 10);
	send(s, 5, 20);
	take_two(s, 5, 20, 10);
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(plan(t, &err), -1);
	if (!strstr(err.text, "MPI_Mrecv") || !strstr(err.text, "160 bytes") || !strstr(err.text, "too long"))
		fail_msg("%s", err.text);
	trace_close(t);
	syn_destroy(s);
}

/* The other calls that receive: persistent, with wildcards, matched and nonblocking, combined with a send. */
static void test_kinds_of_receives(void **state)
{
	const int64_t req[] = {0}, from[] = {0}, tag[] = {7};
	struct syn *s = pair(MULTIPLE);
	struct trace *t;
	struct skel_rooms rooms;
	struct errbuf err;

	(void)state;
	send(s, 7, 9);
	send(s, 8, 8);
	send(s, 9, 7);
	send(s, 10, 6);
	syn_call(s, 1, "MPI_Irecv", 2, SYN(.src = TRACE_ANY_SOURCE, .tag = TRACE_ANY_TAG, .count = 1, .req = 0));
	syn_call(s, 1, "MPI_Wait", 3, SYN(.reqs = req, .n_reqs = 1, .asrcs = from, .atags = tag));
	syn_call(s, 1, "MPI_Recv_init", 4, SYN(.src = 0, .tag = 8, .count = 1, .req = 0));
	syn_call(s, 1, "MPI_Start", 5, SYN(.req = 0));
	syn_call(s, 1, "MPI_Wait", 6, SYN(.reqs = req, .n_reqs = 1));
	syn_call(s, 1, "MPI_Mprobe", 7, SYN(.src = 0, .tag = 9, .req = 1));
	syn_call(s, 1, "MPI_Imrecv", 8, SYN(.message = 2, .count = 1, .req = 2));
	syn_call(s, 1, "MPI_Wait", 9, SYN(.reqs = (const int64_t[]){2}, .n_reqs = 1));
	syn_call(s, 1, "MPI_Sendrecv", 10, SYN(.dst = TRACE_PROC_NULL, .src = 0, .tag = 10, .count = 1));
	syn_end(s);
	t = syn_open(s);
	rooms = find(t);
	assert_int_equal(rooms.n_short, 4);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[1]), 72);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[3]), 64);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[4]), 0); /* MPI_Start names no count */
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[7]), 56);
	assert_int_equal(skel_room(&rooms, 1, s->rank[1].sym[9]), 48);
	if (plan(t, &err) != 0)
		fail_msg("%s", err.text);
	skel_rooms_free(&rooms);
	trace_close(t);
	syn_destroy(s);
}

/* The count of this call is also that of the message sent, so that it must stay. */
static void test_replaced_buffer(void **state)
{
	struct syn *s = pair(MULTIPLE);
	struct trace *t;
	struct errbuf err;

	(void)state;
	send(s, 5, 20);
	syn_call(s, 1, "MPI_Sendrecv_replace", 2, SYN(.dst = TRACE_PROC_NULL, .src = 0, .tag = 5, .count = 10));
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(plan(t, &err), -1);
	assert_non_null(strstr(err.text, "too long"));
	trace_close(t);
	syn_destroy(s);
}

/* A matched probe waits for its message, as MPI_Mprobe does, but not for MPI_PROC_NULL. */
static void test_probe_waits(void **state)
{
	struct syn *s = pair(0);
	struct trace *t;
	struct errbuf err;

	(void)state;
	syn_call(s, 1, "MPI_Mprobe", 1, SYN(.src = TRACE_PROC_NULL, .tag = 5, .req = 0));
	syn_call(s, 1, "MPI_Mrecv", 2, SYN(.message = 1, .count = 1));
	syn_call(s, 1, "MPI_Mprobe", 3, SYN(.src = 0, .tag = 5, .req = 0));
	syn_call(s, 1, "MPI_Send", 4, SYN(.dst = 0, .tag = 6, .count = 1));
	syn_call(s, 1, "MPI_Mrecv", 5, SYN(.message = 1, .count = 1));
	syn_call(s, 0, "MPI_Recv", 6, SYN(.src = 1, .tag = 6, .count = 1));
	send(s, 5, 1);
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(plan(t, &err), -1);
	if (!strstr(err.text, "wait for ever"))
		fail_msg("%s", err.text);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right_order), cmocka_unit_test(test_other_order), cmocka_unit_test(test_without_threads),
		cmocka_unit_test(test_kinds_of_receives), cmocka_unit_test(test_replaced_buffer), cmocka_unit_test(test_probe_waits),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
