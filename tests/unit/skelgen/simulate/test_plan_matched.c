/* SPDX-License-Identifier: GPL-2.0-or-later */
/* If a cut leaves sends that are never completed, the loop that starts them is to blame, and no other one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "skelgen/pipeline.h"
#include "skelgen/simulate/plan_matched.h"
#include "skelgen/timing/times.h"
#include "tests/unit/synthetic.h"

enum { RANKS = 4, STEPS = 400, REGULAR = 3000 };

/* A send is completed one step later. Steps differ from each other. */
static void two_buffers(struct syn *s, uint64_t seed)
{
	for (uint32_t t = 0; t <= STEPS; t++) {
		uint32_t shift = 1 + (uint32_t)(syn_random(&seed) % (RANKS - 1));

		for (uint64_t k = syn_random(&seed) % 5; k > 0; k--)
			for (uint32_t r = 0; r < RANKS; r++)
				syn_call(s, r, "MPI_Barrier", 10, SYN(.gap_ns = 5000));
		for (uint32_t r = 0; r < RANKS; r++) {
			const int64_t before = (t + 1) % 2;

			if (t < STEPS) {
				syn_call(s, r, "MPI_Isend", 11, SYN(.dst = (r + shift) % RANKS, .count = 5, .req = t % 2));
				syn_call(s, r, "MPI_Recv", 12, SYN(.src = (r + RANKS - shift) % RANKS, .count = 5));
			}
			if (t > 0)
				syn_call(s, r, "MPI_Wait", 13, SYN(.reqs = &before, .n_reqs = 1));
		}
	}
}

/* Most of the run is a loop without requests. That loop is cut, also if the other loop is not. */
static void test_other_loop_is_cut(void **arg)
{
	struct syn *s = syn_create(RANKS);
	struct skel_match_report report;
	struct skel_budget budget;
	struct skel_times times;
	struct skel_plan plan;
	struct skel_tree tree;
	struct errbuf err;
	struct trace *t;

	(void)arg;
	syn_begin(s);
	for (int i = 0; i < REGULAR; i++)
		for (uint32_t r = 0; r < RANKS; r++)
			syn_call(s, r, "MPI_Allreduce", 20, SYN(.count = 1, .gap_ns = 50000));
	two_buffers(s, 1);
	syn_end(s);
	t = syn_open(s);
	budget = (struct skel_budget){.seconds = 0.03e-9 * trace_get_rank(t, 0)->wall_ns};
	if (skel_tree_build(t, &tree, &err) != 0 || skel_times_collect(&tree, &times, &err) != 0 ||
	    skel_plan_matched(&tree, &times, &budget, &plan, &report, &err) != 0)
		fail_msg("%s", err.text);
	assert_int_equal(report.left, 0);
	assert_true(plan.predicted_s < 0.1e-9 * trace_get_rank(t, 0)->wall_ns);
	skel_plan_free(&plan);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_other_loop_is_cut)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
