/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulated run: programs that work are accepted, each contradiction is refused with its place and reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/match.h"
#include "skelgen/plan.h"
#include "skelgen/times.h"
#include "synthetic.h"

struct fixture {
	struct syn *s;
	struct trace *t;
	struct skel_tree tree;
	struct skel_times times;
	struct skel_match_report report;
	struct errbuf err;
};

static void set_up(struct fixture *f, struct syn *s)
{
	memset(f, 0, sizeof *f);
	f->s = s;
	f->t = syn_open(s);
	if (skel_tree_build(f->t, &f->tree, &f->err) != 0 || skel_times_collect(&f->tree, &f->times, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void tear_down(struct fixture *f)
{
	skel_times_free(&f->times);
	skel_tree_free(&f->tree);
	trace_close(f->t);
	syn_destroy(f->s);
}

/* The whole program, uncut. */
static int match_whole(struct fixture *f)
{
	struct skel_plan plan;
	struct skel_budget none = {.seconds = 0};
	int rv;

	assert_int_equal(skel_plan(&f->tree, &f->times, &none, &plan, &f->err), 0);
	assert_int_equal(plan.n_cut, 0);
	rv = skel_match(&f->tree, &plan, &f->report, &f->err);
	skel_plan_free(&plan);
	return rv;
}

static void accept(struct syn *s, uint64_t messages)
{
	struct fixture f;

	set_up(&f, s);
	if (match_whole(&f) != 0)
		fail_msg("%s", f.err.text);
	assert_int_equal(f.report.calls, f.times.events);
	if (f.report.unreceived != 0)
		fail_msg("%u ranks: %llu messages are not received", f.tree.n_ranks,
			 (unsigned long long)f.report.unreceived);
	if (messages > 0)
		assert_int_equal(f.report.messages, messages);
	tear_down(&f);
}

static void test_working_programs(void **arg)
{
	(void)arg;
	accept(syn_ring(5, 30), 150);
	accept(syn_pipeline(6, 40), 200);
	accept(syn_stencil(3, 3, 25, SYN_SKIP), 0);
	accept(syn_stencil(4, 2, 25, SYN_PROC_NULL), 0);
	accept(syn_stencil(3, 2, 25, SYN_PERIODIC), 0);
	accept(syn_wavefront(3, 3, 6, 20), 0);
	accept(syn_cg(4, 2, 20), 0);
	accept(syn_master_worker(4, 50, 99), 100);
	accept(syn_reneighbour(4, 120, 20), 0);
}

static void refuse(struct syn *s, const char *why, const char *also)
{
	struct fixture f;

	set_up(&f, s);
	assert_int_equal(match_whole(&f), -1);
	if (strstr(f.err.text, why) == NULL || strstr(f.err.text, also) == NULL)
		fail_msg("\"%s\" does not say \"%s\" and \"%s\"", f.err.text, why, also);
	assert_false(f.report.no_memory);
	tear_down(&f);
}

static struct syn *pair(void)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	return s;
}

static void test_message_too_long(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = 100, .tag = 5));
	syn_call(s, 1, "MPI_Recv", 2, SYN(.src = 0, .count = 99, .tag = 5));
	syn_end(s);
	refuse(s, "800 bytes", "too long");
}

static void test_tags_differ(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = 1, .tag = 5));
	syn_call(s, 1, "MPI_Recv", 2, SYN(.src = 0, .count = 1, .tag = 6));
	syn_end(s);
	refuse(s, "wait for ever", "MPI_Recv");
}

static void test_synchronous_sends_meet(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Ssend", 1, SYN(.dst = 1 - r, .count = 1));
		syn_call(s, r, "MPI_Recv", 2, SYN(.src = 1 - r, .count = 1));
	}
	syn_end(s);
	refuse(s, "wait for ever", "MPI_Ssend");
}

static void test_collectives_differ(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	syn_call(s, 0, "MPI_Bcast", 1, SYN(.count = 1));
	syn_call(s, 1, "MPI_Allreduce", 2, SYN(.count = 1));
	syn_end(s);
	refuse(s, "MPI_Bcast", "MPI_Allreduce");
}

static void test_roots_differ(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	syn_call(s, 0, "MPI_Bcast", 1, SYN(.count = 1, .root = 0));
	syn_call(s, 1, "MPI_Bcast", 1, SYN(.count = 1, .root = 1));
	syn_end(s);
	refuse(s, "root 1 on rank 1", "root 0 on rank 0");
}

static void test_root_does_not_wait(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	syn_call(s, 0, "MPI_Bcast", 1, SYN(.count = 1));
	syn_call(s, 0, "MPI_Send", 2, SYN(.dst = 1, .count = 1));
	syn_call(s, 1, "MPI_Recv", 3, SYN(.src = 0, .count = 1));
	syn_call(s, 1, "MPI_Bcast", 1, SYN(.count = 1));
	syn_end(s);
	accept(s, 1);
}

/* Messages under way at the end are tolerated in the whole program only. */
static void test_unreceived(void **arg)
{
	struct syn *s = pair();
	struct fixture f;

	(void)arg;
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = 1));
	syn_end(s);
	set_up(&f, s);
	assert_int_equal(match_whole(&f), 0);
	assert_int_equal(f.report.unreceived, 1);
	tear_down(&f);
	set_up(&f, syn_checkpoint(3, 60)); /* writes to itself and never reads */
	assert_int_equal(match_whole(&f), 0);
	assert_int_equal(f.report.unreceived, 6);
	tear_down(&f);
}

/* One loop sends, a later one receives: cutting only the first leaves receives without a message. */
static struct syn *send_then_receive(uint64_t send_gap, uint64_t receive_gap)
{
	struct syn *s = pair();

	for (uint32_t r = 0; r < 2; r++) {
		for (int i = 0; i < 200; i++)
			syn_call(s, r, "MPI_Send", 1, SYN(.dst = 1 - r, .count = 1, .gap_ns = send_gap));
		syn_call(s, r, "MPI_Barrier", 2, SYN(.comm = 0));
		for (int i = 0; i < 200; i++)
			syn_call(s, r, "MPI_Recv", 3, SYN(.src = 1 - r, .count = 1, .gap_ns = receive_gap));
	}
	syn_end(s);
	return s;
}

static void test_cut_that_does_not_match(void **arg)
{
	struct skel_budget budget = {.scale = 4};
	struct skel_plan plan;
	struct fixture f;

	(void)arg;
	set_up(&f, send_then_receive(1000000, 1));
	assert_int_equal(skel_plan(&f.tree, &f.times, &budget, &plan, &f.err), 0);
	assert_int_equal(plan.n_cut, 1);
	assert_int_equal(skel_match(&f.tree, &plan, &f.report, &f.err), -1);
	assert_non_null(strstr(f.err.text, "MPI_Recv"));
	skel_plan_free(&plan);

	assert_int_equal(skel_plan_matched(&f.tree, &f.times, &budget, &plan, &f.report, &f.err), 0);
	assert_int_equal(plan.n_cut, 0);
	skel_plan_free(&plan);
	tear_down(&f);
}

static void test_cuts_that_match(void **arg)
{
	struct skel_budget budget = {.scale = 4};
	struct skel_plan plan;
	struct fixture f;
	struct syn *const programs[] = {send_then_receive(100000, 100000), syn_ring(5, 300), syn_pipeline(4, 300),
					syn_stencil(3, 2, 300, SYN_SKIP), syn_wavefront(3, 3, 8, 200), syn_cg(4, 2, 200),
					syn_reneighbour(4, 5000, 20)};

	(void)arg;
	for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
		set_up(&f, programs[i]);
		if (skel_plan_matched(&f.tree, &f.times, &budget, &plan, &f.report, &f.err) != 0)
			fail_msg("%s", f.err.text);
		assert_true(plan.n_cut > 0);
		assert_true(f.report.calls < f.times.events);
		assert_int_equal(f.report.unreceived, 0);
		skel_plan_free(&plan);
		tear_down(&f);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_working_programs),       cmocka_unit_test(test_message_too_long),
		cmocka_unit_test(test_tags_differ),	       cmocka_unit_test(test_synchronous_sends_meet),
		cmocka_unit_test(test_collectives_differ),     cmocka_unit_test(test_roots_differ),
		cmocka_unit_test(test_root_does_not_wait),     cmocka_unit_test(test_unreceived),
		cmocka_unit_test(test_cut_that_does_not_match), cmocka_unit_test(test_cuts_that_match),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
