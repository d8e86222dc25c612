/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The simulated run: programs that work are accepted, each contradiction is refused with its place and reason. */
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
#include "skelgen/timing/times.h"
#include "tests/unit/synthetic.h"

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
	refuse(s, "wait for ever: rank 0 in MPI_Ssend", "(execution 0), and 1 other rank");
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

/* A communicator that the program made unseen cannot be made again. */
static struct syn *on_own_communicator(bool seen)
{
	static const uint32_t both[] = {0, 1};
	struct syn *s = pair();

	for (uint32_t r = 0; r < 2; r++) {
		uint32_t made = syn_comm(s, r, both, 2);

		if (seen)
			syn_call(s, r, "MPI_Comm_create_from_group", 1, SYN(.newcomm = made));
		syn_call(s, r, "MPI_Allreduce", 2, SYN(.comm = made, .count = 1));
		syn_call(s, r, r == 0 ? "MPI_Send" : "MPI_Recv", 3, SYN(.comm = made, .dst = 1, .src = 0, .count = 1));
	}
	syn_end(s);
	return s;
}

static void test_communicator_made_unseen(void **arg)
{
	(void)arg;
	accept(on_own_communicator(true), 1);
	refuse(on_own_communicator(false), "MPI_Allreduce", "no call of the trace makes its communicator");
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

/* What is found of the reductions, the sites of each rank's being given in order. */
static void meets_are(const uint64_t (*site)[2], int n_here, int n_apart)
{
	struct skel_budget none = {.seconds = 0};
	struct syn *s = syn_create(2);
	struct skel_buffered buffered;
	struct skel_plan plan;
	struct fixture f;
	int here = 0, apart = 0;

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < 2; i++)
			syn_call(s, r, "MPI_Allreduce", site[r][i], SYN(.count = 1));
	syn_end(s);
	set_up(&f, s);
	assert_int_equal(skel_plan(&f.tree, &f.times, &none, &plan, &f.err), 0);
	assert_int_equal(skel_match(&f.tree, &plan, &f.report, &f.err), 0);
	assert_int_equal(skel_match_buffered(&f.tree, &plan, &buffered, &f.err), 0); /* changes nothing of it */
	for (uint32_t i = 0; i < f.tree.n_leaf; i++) {
		if (strcmp(trace_fn[f.tree.leaf[i]->fn].name, "MPI_Allreduce") != 0)
			continue;
		here += plan.meets[f.tree.leaf[i]->id] == SKEL_MEETS_HERE;
		apart += plan.meets[f.tree.leaf[i]->id] == SKEL_MEETS_APART;
	}
	assert_int_equal(here, n_here);
	assert_int_equal(apart, n_apart);
	skel_plan_free(&plan);
	tear_down(&f);
}

static void test_where_all_ranks_meet(void **arg)
{
	(void)arg;
	meets_are((const uint64_t[2][2]){{1, 2}, {1, 2}}, 2, 0);
	/* One reduction, made at two places: a meeting before one of them only would wait for ever. */
	meets_are((const uint64_t[2][2]){{1, 2}, {2, 1}}, 0, 3);
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

/* ---- windows and files ---- */

enum rma { RMA_FENCE, RMA_GROUP, RMA_LOCK };

static void epoch(struct syn *s, uint32_t rank, enum rma how, uint64_t site, int64_t disp)
{
	const int64_t peer[1] = {1 - rank};
	const struct syn_args *put = SYN(.dst = 1 - rank, .count = 4, .disp = disp);

	switch (how) {
	case RMA_FENCE:
		syn_call(s, rank, "MPI_Win_fence", site, SYN(.win = 0));
		syn_call(s, rank, "MPI_Put", site + 1, put);
		syn_call(s, rank, "MPI_Win_fence", site + 2, SYN(.win = 0));
		break;
	case RMA_GROUP:
		syn_call(s, rank, "MPI_Win_post", site, SYN(.ints = peer, .n_ints = 1));
		syn_call(s, rank, "MPI_Win_start", site + 1, SYN(.ints = peer, .n_ints = 1));
		syn_call(s, rank, "MPI_Put", site + 2, put);
		syn_call(s, rank, "MPI_Win_complete", site + 3, SYN(.win = 0));
		syn_call(s, rank, "MPI_Win_wait", site + 4, SYN(.win = 0));
		break;
	case RMA_LOCK:
		syn_call(s, rank, "MPI_Win_lock", site, SYN(.dst = 1 - rank, .integer = TLOCK_SHARED));
		syn_call(s, rank, "MPI_Put", site + 1, put);
		syn_call(s, rank, "MPI_Win_unlock", site + 2, SYN(.dst = 1 - rank));
		break;
	}
}

/* Two ranks whose windows have other numbers here and there, each with as many epochs as it says. */
static struct syn *window_program(enum rma how, uint32_t n0, uint32_t n1)
{
	struct syn *s = pair();

	for (uint32_t r = 0; r < 2; r++) {
		syn_win(s, r, 0, 4096 + 8 * r);
		syn_call(s, r, "MPI_Win_create", 1, SYN(.win = 0));
		for (uint32_t i = 0; i < (r == 0 ? n0 : n1); i++)
			epoch(s, r, how, 2, i % 16);
		syn_call(s, r, "MPI_Win_free", 9, SYN(.win = 0));
	}
	syn_end(s);
	return s;
}

static void test_epochs(void **arg)
{
	(void)arg;
	accept(window_program(RMA_FENCE, 20, 20), 0);
	accept(window_program(RMA_GROUP, 20, 20), 0);
	accept(window_program(RMA_LOCK, 20, 7), 0);
	refuse(window_program(RMA_FENCE, 20, 19), "MPI_Win_free", "MPI_Win_fence");
	refuse(window_program(RMA_GROUP, 20, 19), "wait for ever", "MPI_Win_");
}

static void test_epochs_are_cut(void **arg)
{
	struct skel_budget budget = {.scale = 4};
	struct skel_plan plan;
	struct fixture f;

	(void)arg;
	for (enum rma how = RMA_FENCE; how <= RMA_LOCK; how++) {
		set_up(&f, window_program(how, 300, 300));
		if (skel_plan_matched(&f.tree, &f.times, &budget, &plan, &f.report, &f.err) != 0)
			fail_msg("%s", f.err.text);
		assert_int_equal(plan.n_cut, 1);
		assert_int_equal(f.report.oddities, 0);
		assert_true(f.report.calls < f.times.events);
		skel_plan_free(&plan);
		tear_down(&f);
	}
}

/* Passive epochs with a barrier inside: what is cut leaves them closed. */
static void test_passive_epochs(void **arg)
{
	struct skel_budget budget = {.scale = 4};
	struct syn *s = pair();
	struct skel_plan plan;
	struct fixture f;

	(void)arg;
	for (uint32_t r = 0; r < 2; r++) {
		syn_win(s, r, 0, 4096);
		syn_call(s, r, "MPI_Win_create", 1, SYN(.win = 0));
		for (int i = 0; i < 400; i++) {
			syn_call(s, r, "MPI_Win_lock_all", 2, SYN(.win = 0));
			syn_call(s, r, "MPI_Put", 3, SYN(.dst = 1 - r, .count = 1));
			syn_call(s, r, "MPI_Barrier", 4, SYN(.comm = 0));
			syn_call(s, r, "MPI_Win_unlock_all", 5, SYN(.win = 0));
		}
		syn_call(s, r, "MPI_Win_free", 6, SYN(.win = 0));
	}
	syn_end(s);
	set_up(&f, s);
	assert_int_equal(skel_plan_matched(&f.tree, &f.times, &budget, &plan, &f.report, &f.err), 0);
	assert_int_equal(f.report.oddities, 0);
	skel_plan_free(&plan);
	tear_down(&f);
}

static struct syn *file_program(uint32_t n0, uint32_t n1)
{
	struct syn *s = pair();

	for (uint32_t r = 0; r < 2; r++) {
		syn_file(s, r, 0, r == 0 ? "/here" : "/there");
		syn_call(s, r, "MPI_File_open", 1, SYN(.comm = 0));
		for (uint32_t i = 0; i < (r == 0 ? n0 : n1); i++) {
			syn_call(s, r, "MPI_File_write_at", 2, SYN(.count = 10, .disp = i));
			syn_call(s, r, "MPI_File_write_all", 3, SYN(.count = 10));
		}
		syn_call(s, r, "MPI_File_close", 4, SYN(.file = 0));
	}
	syn_end(s);
	return s;
}

static void test_files_meet(void **arg)
{
	(void)arg;
	accept(file_program(10, 10), 0);
	refuse(file_program(10, 11), "MPI_File_close", "MPI_File_write_all");
}

static void test_persistent_collectives(void **arg)
{
	const int64_t one[1] = {0};

	(void)arg;
	for (uint32_t extra = 0; extra < 2; extra++) {
		struct syn *s = pair();

		for (uint32_t r = 0; r < 2; r++) {
			syn_call(s, r, "MPI_Allreduce_init", 1, SYN(.count = 4));
			for (uint32_t i = 0; i < 10 + extra * r; i++) {
				syn_call(s, r, "MPI_Start", 2, SYN(.req = 0));
				syn_call(s, r, "MPI_Wait", 3, SYN(.reqs = one, .n_reqs = 1));
			}
		}
		syn_end(s);
		if (extra == 0)
			accept(s, 0);
		else
			refuse(s, "wait for ever", "MPI_Wait");
	}
}

static void test_general_requests(void **arg)
{
	const int64_t one[1] = {0};

	(void)arg;
	for (int complete = 0; complete < 2; complete++) {
		struct syn *s = syn_create(1);

		syn_begin(s);
		syn_call(s, 0, "MPI_Grequest_start", 1, SYN(.req = 0));
		if (complete)
			syn_call(s, 0, "MPI_Grequest_complete", 2, SYN(.req = 0));
		syn_call(s, 0, "MPI_Wait", 3, SYN(.reqs = one, .n_reqs = 1));
		syn_end(s);
		if (complete)
			accept(s, 0);
		else
			refuse(s, "generalized request", "MPI_Wait");
	}
}

static void test_new_processes(void **arg)
{
	struct syn *s = pair();

	(void)arg;
	for (uint32_t r = 0; r < 2; r++)
		syn_call(s, r, "MPI_Comm_spawn", 1, SYN(.comm = 0, .newcomm = TRACE_NULL));
	syn_end(s);
	refuse(s, "start processes while they run", "MPI_Comm_spawn");
}

/* Sends before receives: both directions of a pair, or one after the other. */
static struct syn *exchange(const char *send, bool in_turn)
{
	static const int64_t one[1] = {0};
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < 50; i++) {
			bool first = !in_turn || r == 0;

			for (int half = 0; half < 2; half++)
				if (first == (half == 0)) {
					syn_call(s, r, send, 1, SYN(.dst = 1 - r, .count = 4, .req = 0));
					if (strstr(send, "_I") != NULL)
						syn_call(s, r, "MPI_Wait", 2, SYN(.reqs = one, .n_reqs = 1));
				} else {
					syn_call(s, r, "MPI_Recv", 3, SYN(.src = 1 - r, .count = 4));
				}
		}
	syn_end(s);
	return s;
}

/* How many call sites need buffers, and the site of the first. */
static void buffered_is(struct syn *s, uint32_t n, const char *function)
{
	struct skel_budget none = {.seconds = 0};
	struct skel_buffered b;
	struct skel_plan plan;
	struct fixture f;

	set_up(&f, s);
	assert_int_equal(skel_plan(&f.tree, &f.times, &none, &plan, &f.err), 0);
	assert_int_equal(skel_match_buffered(&f.tree, &plan, &b, &f.err), 0);
	assert_int_equal(b.n, n);
	assert_false(b.more);
	if (n > 0)
		assert_string_equal(trace_fn[f.tree.leaf[b.leaf[0]]->fn].name, function);
	skel_plan_free(&plan);
	tear_down(&f);
}

static void test_buffered_sends(void **arg)
{
	(void)arg;
	buffered_is(exchange("MPI_Send", false), 1, "MPI_Send");
	buffered_is(exchange("MPI_Isend", false), 1, "MPI_Isend");
	buffered_is(exchange("MPI_Send", true), 0, NULL);
	buffered_is(exchange("MPI_Isend", true), 0, NULL);
	buffered_is(exchange("MPI_Bsend", false), 0, NULL); /* the program gives the buffer */
	buffered_is(syn_ring(5, 100), 0, NULL);
	buffered_is(syn_stencil(4, 4, 20, SYN_PROC_NULL), 0, NULL);
	buffered_is(syn_wavefront(3, 3, 4, 10), 0, NULL);
	buffered_is(syn_pipeline(5, 50), 0, NULL);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_buffered_sends),	       cmocka_unit_test(test_communicator_made_unseen),
		cmocka_unit_test(test_working_programs),       cmocka_unit_test(test_message_too_long),
		cmocka_unit_test(test_tags_differ),	       cmocka_unit_test(test_synchronous_sends_meet),
		cmocka_unit_test(test_collectives_differ),     cmocka_unit_test(test_roots_differ),
		cmocka_unit_test(test_root_does_not_wait),     cmocka_unit_test(test_unreceived), cmocka_unit_test(test_where_all_ranks_meet),
		cmocka_unit_test(test_cut_that_does_not_match), cmocka_unit_test(test_cuts_that_match),
		cmocka_unit_test(test_epochs),		       cmocka_unit_test(test_epochs_are_cut),
		cmocka_unit_test(test_passive_epochs), cmocka_unit_test(test_files_meet),
		cmocka_unit_test(test_persistent_collectives), cmocka_unit_test(test_general_requests),
		cmocka_unit_test(test_new_processes),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
