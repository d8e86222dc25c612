/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stages together: totals of the run are the same, whether a skeleton is made of the whole run or of pieces. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pipeline.h"
#include "skelgen/plan/gap_sampling.h"
#include "tests/unit/synthetic.h"
#include "trace/cpu_time/run_own.h"
#include "trace/functions.h"

enum { RANKS = 4, TASKS = 2000, MULTIPLE = 3 /* MPI_THREAD_MULTIPLE */ };

/* A task farm. The calls and gaps of a rank last `threads` times as long as its run. */
static struct trace *farm(uint8_t thread_level, double threads)
{
	struct syn *s = syn_master_worker(RANKS, TASKS, 3);
	struct trace *t;

	for (uint32_t r = 0; r < RANKS; r++) {
		s->rank[r].defs.proc.thread_level = thread_level;
		s->rank[r].ticks = (uint64_t)((double)s->rank[r].ticks / threads);
	}
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

/* Both skeletons' overlap; fails if they differ. */
static double overlap(struct trace *t)
{
	const struct skel_budget all = {.seconds = 1000}, few = {.seconds = 0.1 * trace_get_rank(t, 0)->wall_ns * 1e-9};
	struct skel_stages whole = {.excerpt = NULL}, pieces = {.excerpt = NULL};
	struct errbuf err = {{0}};
	double found;

	if (skel_understand(t, &all, &whole, &err) != 0 || skel_understand_pieces(t, &few, &pieces, &err) != 0)
		fail_msg("%s", err.text);
	assert_null(whole.excerpt);
	assert_non_null(pieces.excerpt);
	found = whole.run.overlap;
	if (fabs(pieces.run.overlap - found) > 1e-9)
		fail_msg("of pieces %g, of the whole run %g", pieces.run.overlap, found);
	assert_true(pieces.run.wall_ns == whole.run.wall_ns && pieces.run.events == whole.run.events);
	skel_stages_free(&whole);
	skel_stages_free(&pieces);
	trace_close(t);
	return found;
}

static void test_threads_at_once(void **arg)
{
	(void)arg;
	assert_true(fabs(overlap(farm(MULTIPLE, 3)) - 2) < 0.1);
	assert_true(overlap(farm(MULTIPLE, 1.002)) == 0);
	assert_true(overlap(farm(0, 3)) == 0); /* one thread's clock is wrong */
}

/* Ends the run. Frees it. */
static bool repeats(struct syn *s)
{
	struct trace *t;
	bool rv;

	syn_end(s);
	t = syn_open(s);
	rv = skel_repeats(t);
	trace_close(t);
	syn_destroy(s);
	return rv;
}

static bool random_repeats(uint32_t n_ranks, uint32_t calls)
{
	struct syn *s = syn_create(n_ranks);
	uint64_t seed = 9;

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++)
		for (uint32_t i = 0; i < calls; i++)
			syn_call(s, r, "MPI_Send", syn_random(&seed) % 200, SYN(.dst = TRACE_PROC_NULL));
	return repeats(s);
}

/* Limits of a tree of the whole run: for one rank, and for all ranks together. */
static void test_size_of_trees(void **arg)
{
	(void)arg;
	assert_true(random_repeats(2, 7000));
	assert_false(random_repeats(2, 9000));
	assert_true(random_repeats(64, 3000));
	assert_false(random_repeats(64, 4500)); /* 288,000 */
	assert_true(random_repeats(200, 1500)); /* 300,000: many ranks, which may be alike */
}

static bool ring_repeats(bool alike)
{
	enum { RANKS = 4096, CALLS = 140 }; /* 573,000 */
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t i = 0; i < CALLS; i++)
			syn_call(s, r, "MPI_Send", 7, SYN(.dst = (r + 1) % RANKS, .count = i + (alike ? 0 : r)));
	return repeats(s);
}

/* A tree of many ranks is small if the ranks differ in their partners alone. */
static void test_alike_ranks_repeat(void **arg)
{
	(void)arg;
	assert_true(ring_repeats(true));
	assert_false(ring_repeats(false));
}

/* Calls do not repeat, and a collective is under way all the time. No tree is tried that would take minutes. */
static void test_no_tree_and_no_pieces(void **arg)
{
	struct syn *s = syn_create(2);
	struct trace *t;
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};
	uint64_t seed = 5;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Ibarrier", 11, SYN(.req = 0));
		for (uint32_t i = 0; i < 140000; i++)
			syn_call(s, r, "MPI_Send", 20 + syn_random(&seed) % 200,
				 SYN(.dst = TRACE_PROC_NULL, .gap_ns = 1000));
		syn_call(s, r, "MPI_Wait", 12, SYN(.req = 0, .reqs = (int64_t[]){0}, .n_reqs = 1));
	}
	syn_end(s);
	t = syn_open(s);
	assert_false(skel_tree_fits(t));
	assert_int_equal(skel_understand(t, &(struct skel_budget){.seconds = 0.05}, &stages, &err), -1);
	assert_non_null(strstr(err.text, "when loops are folded"));
	assert_non_null(strstr(err.text, "pieces of the run"));
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* Ranks compute in every other sixteenth of the run a fifth longer, or not. */
static struct syn *uneven(uint32_t steps, bool even)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t k = 0; k < steps; k++) {
			uint64_t gap_ns = !even && 16 * k / steps % 2 ? 120000 : 100000;

			syn_call(s, r, "MPI_Barrier", 11, SYN(.comm = 0, .dur_ns = 2000, .gap_ns = gap_ns));
		}
	syn_end(s);
	syn_delayed(s, 1, 1000000); /* some of it in calls */
	return s;
}

/* Variation and waits for processors are those of the whole run, also where a skeleton is of pieces. */
static void test_runs_differ(void **arg)
{
	(void)arg;
	for (int even = 0; even < 2; even++) {
		struct syn *s = uneven(8000, even);
		struct trace *t = syn_open(s);
		const struct skel_budget budget = {.seconds = 0.1 * trace_get_rank(t, 0)->wall_ns * 1e-9}, all = {.seconds = 0};
		struct skel_stages whole = {.excerpt = NULL}, pieces = {.excerpt = NULL};
		struct errbuf err;

		if (skel_understand(t, &all, &whole, &err) != 0 || skel_understand_pieces(t, &budget, &pieces, &err) != 0)
			fail_msg("%s", err.text);
		assert_non_null(pieces.excerpt);
		assert_true(even ? whole.run.differs < 0.01 : whole.run.differs > 0.09);
		assert_true(fabs(pieces.run.differs - whole.run.differs) < 1e-9);
		assert_true(whole.run.waited_most_ns > 1000 && whole.run.waited_most_ns <= 1000000);
		assert_true(fabs(whole.run.waited_most_ns - 2 * whole.run.waited_ns) < 1);
		assert_true(fabs(pieces.run.waited_ns - whole.run.waited_ns) < 10);
		assert_true(fabs(pieces.run.waited_most_ns - whole.run.waited_most_ns) < 10);
		skel_stages_free(&whole);
		skel_stages_free(&pieces);
		trace_close(t);
		syn_destroy(s);
	}
}

/* Rank 0 hands out tasks of 80 ms and is idle meanwhile. Or each rank has as much to compute, and a collective call
 * follows. */
static struct syn *long_tasks(uint32_t tasks, bool farm)
{
	const uint64_t task_ns = 80000000, hand_ns = 5000000;
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t k = 0; k < tasks; k++) {
		if (farm) {
			syn_call(s, 0, "MPI_Send", 20, SYN(.dst = 1, .count = 1, .gap_ns = hand_ns));
			syn_call(s, 1, "MPI_Recv", 21, SYN(.src = 0, .count = 1, .dur_ns = hand_ns));
			syn_call(s, 1, "MPI_Send", 22, SYN(.dst = 0, .count = 1, .gap_ns = task_ns));
			syn_call(s, 0, "MPI_Recv", 23, SYN(.src = 1, .count = 1, .dur_ns = task_ns));
		}
		for (uint32_t r = 0; !farm && r < 2; r++)
			syn_call(s, r, "MPI_Barrier", 24, SYN(.comm = 0, .gap_ns = task_ns + hand_ns));
	}
	syn_end(s);
	return s;
}

/* Long computations are not shortened where the ranks that wait for their messages would lose that time: pieces run. */
static void test_waits_are_not_lost(void **arg)
{
	(void)arg;
	for (int farm = 0; farm < 2; farm++) {
		struct syn *s = long_tasks(36, farm);
		struct trace *t = syn_open(s);
		const struct skel_budget budget = {.seconds = 1, .min_iterations = 36};
		struct skel_stages stages = {.excerpt = NULL};
		struct errbuf err;

		if (skel_understand(t, &budget, &stages, &err) != 0)
			fail_msg("%s", err.text);
		assert_int_equal(stages.excerpt != NULL, farm);
		assert_int_equal(skel_plan_shares_gaps(&stages.plan), !farm);
		assert_true(stages.plan.predicted_s < 1.2);
		skel_stages_free(&stages);
		trace_close(t);
		syn_destroy(s);
	}
}

/* Many long computations, of which parts of 25 ms take longer than asked. No piece of the run is shorter than one of
 * them. */
static void test_many_long_computations(void **arg)
{
	enum { STEPS = 60 };
	struct syn *s = syn_create(2);
	const struct skel_budget budget = {.seconds = 1, .min_iterations = STEPS};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err;
	uint64_t seed = 3;
	struct trace *t;

	(void)arg;
	syn_begin(s);
	for (uint32_t k = 0; k < STEPS; k++) {
		uint64_t gap_ns = 100000000 + syn_random(&seed) % 300000000;

		for (uint32_t r = 0; r < 2; r++)
			syn_call(s, r, "MPI_Barrier", 24, SYN(.comm = 0, .gap_ns = gap_ns));
	}
	syn_end(s);
	t = syn_open(s);
	if (skel_understand(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_null(stages.excerpt);
	assert_true(skel_plan_shares_gaps(&stages.plan) && stages.plan.gap_least_ns < GAP_SHORT_NS);
	assert_true(stages.plan.predicted_s > 0.5 * budget.seconds);
	assert_true(stages.plan.predicted_s < SKEL_WITHIN * budget.seconds);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* A skeleton runs for as long as asked, also where a rank has no time of its own. */
static void test_tests_that_wait(void **arg)
{
	struct syn *s = syn_polled_tasks(20000);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 2};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err;
	double wall_s;

	(void)arg;
	if (skel_understand(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(stages.excerpt);
	assert_int_equal(run_own_wall(stages.excerpt, &wall_s, &err), 0);
	assert_true(wall_s > 0.5 * budget.seconds && wall_s < 1.2 * budget.seconds);
	assert_true(stages.plan.predicted_s < SKEL_WITHIN * budget.seconds);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads_at_once),
		cmocka_unit_test(test_size_of_trees),
		cmocka_unit_test(test_alike_ranks_repeat),
		cmocka_unit_test(test_no_tree_and_no_pieces),
		cmocka_unit_test(test_runs_differ),
		cmocka_unit_test(test_waits_are_not_lost),
		cmocka_unit_test(test_many_long_computations),
		cmocka_unit_test(test_tests_that_wait),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
