/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Unsuccessful tests of programs that wait in them, and of programs that test between pieces of work. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/plan/gap_sampling.h"
#include "skelgen/pipeline.h"
#include "skelgen/plan/plan.h"
#include "skelgen/timing/times.h"
#include "tests/unit/synthetic.h"
#include "trace/cpu_time/poll_work.h"

#define ROUNDS	 1000
#define POLLS_NS 4000000
#define RECEIVE	 0 /* request slots */
#define SEND	 1

static const int64_t receive_slot[] = {RECEIVE}, send_slot[] = {SEND};

/* A round: a message arrives after before_receive in tests, and a message is sent after before_send, tested by
 * MPI_Test of the one before. */
static void rounds(struct syn *s, uint32_t rank, uint64_t site, uint64_t before_receive, uint64_t before_send, int64_t count)
{
	for (int i = 0; i < ROUNDS; i++) {
		syn_call(s, rank, "MPI_Irecv", site, SYN(.src = 1 - rank, .tag = 2, .count = count, .req = RECEIVE));
		syn_call(s, rank, "MPI_Isend", site + 1, SYN(.dst = 1 - rank, .tag = 2, .count = count, .req = SEND));
		syn_call(s, rank, "MPI_Testany", site + 2, SYN(.reqs = receive_slot, .n_reqs = 1, .poll_ns = before_receive));
		syn_call(s, rank, "MPI_Test", site + 3, SYN(.reqs = send_slot, .n_reqs = 1, .poll_ns = before_send));
	}
	syn_call(s, rank, "MPI_Barrier", site + 4, SYN(.comm = 0));
}

static struct trace *opened(struct syn *s)
{
	struct trace *t;

	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

struct made {
	struct trace *t;
	struct skel_tree tree;
	struct skel_times times;
};

static struct made make(struct syn *s)
{
	struct made m = {.t = opened(s)};
	struct errbuf err;

	if (skel_tree_build(m.t, &m.tree, &err) != 0 || skel_times_collect(&m.tree, &m.times, &err) != 0)
		fail_msg("%s", err.text);
	return m;
}

static void unmake(struct made *m)
{
	skel_times_free(&m->times);
	skel_tree_free(&m->tree);
	trace_close(m->t);
}

/* Time beyond the gaps' 1000 ns per call. */
static double polled(const struct made *m)
{
	/* without the first and the last call */
	double calls = (double)(m->times.events - 2 * m->times.n_ranks) / m->times.n_ranks;

	assert_true(fabs(m->times.gap_ns - m->times.polled_ns - 1000 * calls) < 2000);
	return m->times.polled_ns;
}

/* Phases of both kinds in one run, between barriers: all tests of the second phase are computation, and no others. */
static void test_both_kinds(void **state)
{
	struct syn *s = syn_create(2);
	struct made m;

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		rounds(s, r, 10, POLLS_NS, 0, 1000);
		rounds(s, r, 20, POLLS_NS, POLLS_NS / 2, 1000);
		rounds(s, r, 30, POLLS_NS, 0, 1000);
	}
	m = make(s);
	assert_true(fabs(polled(&m) - 1.5 * ROUNDS * POLLS_NS) < 1);
	for (uint32_t r = 0; r < 2; r++) {
		struct poll_work w;
		struct errbuf err;
		uint64_t n = trace_get_rank(m.t, r)->events.length, of_one = 4 * ROUNDS + 1, work = 0, first = 0;

		assert_int_equal(poll_work_find(m.t, r, &w, &err), 0);
		for (uint64_t e = 0; e < n; e++)
			if (poll_work_is(&w, e) && !work++)
				first = e;
		assert_int_equal(first, 1 + of_one);
		assert_int_equal(work, of_one);
		poll_work_free(&w);
	}
	unmake(&m);
}

/* A send that is handed over only when its receiver comes is waited for. */
static void test_sends_that_wait(void **state)
{
	struct syn *s = syn_create(2);
	struct made m;

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		rounds(s, r, 10, POLLS_NS, POLLS_NS, 100000);
	m = make(s);
	assert_true(polled(&m) == 0);
	unmake(&m);
}

/* MPI_Isendrecv is complete when its message has come. any: from any source */
static void isendrecv(bool any)
{
	struct syn *s = syn_create(2);
	struct made m;

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < ROUNDS; i++) {
			const int64_t from = 1 - r, tag = 2;

			syn_call(s, r, "MPI_Isendrecv", 10,
				 SYN(.dst = 1 - r, .src = any ? TRACE_ANY_SOURCE : from, .tag = tag, .count = 10, .req = SEND));
			syn_call(s, r, "MPI_Test", 11,
				 SYN(.reqs = send_slot, .n_reqs = 1, .asrcs = any ? &from : NULL, .atags = any ? &tag : NULL, .poll_ns = POLLS_NS));
		}
	m = make(s);
	assert_true(polled(&m) == 0);
	unmake(&m);
}

static void test_isendrecv(void **state)
{
	(void)state;
	isendrecv(false);
	isendrecv(true);
}

/* A program that rarely has an unsuccessful test before its work, and a program that has none, have no such time. */
static void test_hardly_any(void **state)
{
	(void)state;
	for (uint64_t ns = 0; ns < 20; ns += 10) {
		struct syn *s = syn_create(2);
		struct made m;

		syn_begin(s);
		for (uint32_t r = 0; r < 2; r++)
			rounds(s, r, 10, ns, ns, 1000);
		m = make(s);
		assert_true(polled(&m) == 0);
		unmake(&m);
	}
}

/* The skeleton of such a program is shorter, by a share of each gap. */
static void test_share(void **state)
{
	struct syn *s = syn_create(2);
	struct skel_plan plan = {0};
	struct errbuf err;
	struct made m;

	(void)state;
	/* Ranks repeat it differently often, so that no loop can be shortened. */
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < ROUNDS + 100 * (int)r; i++) {
			syn_call(s, r, "MPI_Isend", 11, SYN(.comm = 1, .dst = 0, .tag = 2, .count = 10, .req = SEND));
			syn_call(s, r, "MPI_Recv", 12, SYN(.comm = 1, .src = 0, .tag = 2, .count = 10));
			syn_call(s, r, "MPI_Test", 13, SYN(.reqs = send_slot, .n_reqs = 1, .poll_ns = POLLS_NS));
		}
	m = make(s);
	assert_int_equal(skel_plan(&m.tree, &m.times, &(struct skel_budget){.seconds = 2}, &plan, &err), 0);
	assert_int_equal(plan.n_cut, 0);
	assert_true(skel_plan_shares_gaps(&plan) && plan.gap_least_ns == GAP_POLLED_NS);
	assert_true(fabs(plan.predicted_s - 2) < 0.1);
	skel_plan_free(&plan);
	unmake(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_kinds),
		cmocka_unit_test(test_sends_that_wait),
		cmocka_unit_test(test_isendrecv),
		cmocka_unit_test(test_hardly_any),
		cmocka_unit_test(test_share),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
