/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * If a cut leaves sends that are never completed, the loop that starts them is to blame, and no other one. A cut program uses
 * and frees only communicators, windows and files that exist.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pipeline.h"
#include "skelgen/plan/plan_walk.h"
#include "skelgen/simulate/objects.h"
#include "skelgen/simulate/plan_matched.h"
#include "skelgen/timing/times.h"
#include "skelgen/tree/callinfo.h"
#include "tests/unit/synthetic.h"

enum { RANKS = 4, STEPS = 400, REGULAR = 3000, OBJECTS = 3 };

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

/* Kinds of objects, with the calls that make one, use it and free it. */
struct kind {
	const char *make, *use, *frees;
	uint8_t made, used; /* kinds of parameters */
	uint32_t first;     /* object */
};

static void call_on(struct syn *s, uint32_t r, const struct kind *k, const char *fn, uint64_t site, uint32_t object)
{
	int64_t at = k->first + object;

	syn_call(s, r, fn, site, SYN(.newcomm = at, .comm = k->made == TK_NEWCOMM && fn != k->make ? at : 0, .win = at,
				     .file = at, .count = 1, .gap_ns = 20000));
}

/* Some steps make an object before they free an older one. So the objects that exist have other numbers then. */
static struct syn *objects_in_turn(const struct kind *k, uint64_t run)
{
	static const uint32_t all[RANKS] = {0, 1, 2, 3};
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++) {
		uint64_t seed = run;
		uint32_t oldest = 0;

		for (uint32_t i = 0; i < OBJECTS; i++) {
			if (k->made == TK_NEWCOMM)
				syn_comm(s, r, all, RANKS);
			else if (k->made == TK_NEWWIN)
				syn_win(s, r, 0, 4096);
			else
				syn_file(s, r, 0, "/file");
		}
		for (uint32_t i = 0; i < OBJECTS - 1; i++)
			call_on(s, r, k, k->make, 30 + i, i);
		for (uint32_t t = 0; t < STEPS; t++) {
			for (uint64_t n = 1 + syn_random(&seed) % 4; n > 0; n--)
				syn_call(s, r, "MPI_Barrier", 40, SYN(.gap_ns = 20000));
			call_on(s, r, k, k->use, 41, oldest);
			if (syn_random(&seed) % 32 != 0)
				continue;
			call_on(s, r, k, k->make, 42, (oldest + OBJECTS - 1) % OBJECTS);
			call_on(s, r, k, k->frees, 43, oldest);
			oldest = (oldest + 1) % OBJECTS;
		}
		for (uint32_t i = 0; i < OBJECTS - 1; i++)
			call_on(s, r, k, k->frees, 50 + i, (oldest + i) % OBJECTS);
	}
	syn_end(s);
	return s;
}

/* Follows the calls of the cut program on a rank. Returns how many find an object freed, or one in a new one's place. */
static uint32_t wrong_calls(const struct skel_tree *tree, const struct skel_plan *plan, const struct kind *k,
			    uint32_t rank)
{
	const struct trace_defs *d = skel_defs(tree, rank);
	bool exists[2 + OBJECTS] = {false};
	const struct skel_node *leaf;
	struct scaled_iter it;
	uint32_t index, wrong = 0;
	uint64_t occ;

	scaled_begin(&it, tree, plan, rank);
	while (scaled_next(&it, &leaf, &occ, &index)) {
		uint32_t sym = skel_leaf_symbol(&leaf->by_rank[index], occ);
		const char *fn = trace_fn[leaf->fn].name;
		bool makes = strcmp(fn, k->make) == 0, frees = strcmp(fn, k->frees) == 0;
		int64_t object = call_scalar(d, sym, makes ? k->made : k->used, 0, -1);

		if (!makes && !frees && strcmp(fn, k->use) != 0)
			continue;
		wrong += exists[object] == makes;
		exists[object] = !frees;
	}
	return wrong;
}

/* Returns the calls that are wrong in the cut program. */
static uint32_t wrong_in_cut(const struct kind *k, uint64_t run)
{
	struct syn *s = objects_in_turn(k, run);
	struct trace *t = syn_open(s);
	struct skel_budget budget = {.scale = 4};
	struct skel_match_report report;
	struct skel_times times;
	struct skel_plan plan;
	struct skel_tree tree;
	struct errbuf err;
	uint32_t wrong = 0;

	if (skel_tree_build(t, &tree, &err) != 0 || skel_times_collect(&tree, &times, &err) != 0 ||
	    skel_plan_matched(&tree, &times, &budget, &plan, &report, &err) != 0)
		fail_msg("%s: %s", k->make, err.text);
	for (uint32_t r = 0; r < RANKS; r++)
		wrong += wrong_calls(&tree, &plan, k, r);
	skel_plan_free(&plan);
	skel_times_free(&times);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
	return wrong;
}

static void test_objects_in_turn(void **arg)
{
	static const struct kind kinds[] = {
		{"MPI_Comm_dup", "MPI_Allreduce", "MPI_Comm_free", TK_NEWCOMM, TK_COMM, 2},
		{"MPI_Win_create", "MPI_Win_fence", "MPI_Win_free", TK_NEWWIN, TK_WIN, 0},
		{"MPI_File_open", "MPI_File_write_all", "MPI_File_close", TK_NEWFILE, TK_FILE, 0},
	};

	(void)arg;
	for (uint32_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		for (uint64_t run = 1; run <= 6; run++)
			if (wrong_in_cut(&kinds[i], run) != 0)
				fail_msg("%s, run %u", kinds[i].make, (unsigned)run);
}

/* Both communicators that MPI_Intercomm_create joins must exist. */
static void test_both_communicators_exist(void **arg)
{
	struct trace_defs d = {.n_comm = 4};
	const int64_t made = 2, local_made[] = {2, 0, 0, 1, 7, 3}, peer_made[] = {0, 0, 2, 1, 7, 3};
	uint32_t frees = sigtable_intern(&d.sigs, FN_MPI_Comm_free, 0, &made, 1);

	(void)arg;
	for (int peer = 0; peer < 2; peer++) {
		uint32_t joins = sigtable_intern(&d.sigs, FN_MPI_Intercomm_create, 0, peer ? peer_made : local_made, 6);
		struct sim_objects o;

		assert_int_equal(sim_objects_open(&o, &d), 0);
		o.state[0][made] = SIM_EXISTS;
		assert_null(sim_objects_call(&o, &d, joins));
		o.state[0][3] = SIM_FREED;
		assert_null(sim_objects_call(&o, &d, frees));
		assert_non_null(sim_objects_call(&o, &d, joins));
		sim_objects_close(&o);
	}
	sigtable_free(&d.sigs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_other_loop_is_cut),
		cmocka_unit_test(test_objects_in_turn),
		cmocka_unit_test(test_both_communicators_exist),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
