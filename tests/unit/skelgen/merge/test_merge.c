/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merged trees of simulated programs: every rank's expansion is the sequence that was generated, parameters are what
 * the calls were given, and the length of regular programs does not depend on the number of ranks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/tree/tree.h"
#include "skelgen/pipeline.h"
#include "skelgen/merge/verify.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

/* ---- the oracle: what syn_call was given ---- */

static void check_params(const struct skel_tree *t, const struct skel_node *leaf, uint32_t rank, uint32_t index,
			 uint32_t sym)
{
	struct sig_walk w;
	uint32_t i = 0;

	sig_walk_begin(&w, &trace_get_rank(t->trace, rank)->defs, sym);
	for (; sig_walk_next(&w); i++)
		for (uint32_t k = 0; leaf->param[i].fitted && leaf->param[i].fn && k < w.n; k++)
			assert_int_equal(skel_param_value(t, leaf, i, k, rank, index), w.val[k]);
}

static void check_expansion(const struct skel_tree *t, const struct syn *s)
{
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		const struct skel_node *leaf;
		struct skel_iter it;
		uint32_t index;
		uint64_t occ;

		assert_int_equal(skel_iter_begin(&it, t, r), 0);
		for (uint64_t i = 0; i < s->rank[r].n; i++) {
			assert_int_equal(skel_iter_next(&it, &leaf, &occ, &index), 1);
			assert_true(rank_set_has(&leaf->ranks, r));
			assert_int_equal(skel_leaf_symbol(&leaf->by_rank[index], occ), s->rank[r].sym[i]);
			if (occ == 0)
				check_params(t, leaf, r, index, s->rank[r].sym[i]);
		}
		assert_int_equal(skel_iter_next(&it, &leaf, &occ, &index), 0);
		skel_iter_end(&it);
	}
}

struct outcome {
	uint64_t length;
	uint32_t nodes;
	uint8_t alphabet;
	bool optional;
};

/* Build, compare with the oracle, verify both ways. */
static struct outcome check_tree(const struct syn *s, const struct trace *t, bool with_optional)
{
	struct errbuf err = {""};
	struct skel_verify_report rep;
	struct skel_tree tree;
	struct outcome o;
	uint64_t events = 0;

	if (skel_tree_build_with(t, with_optional, &tree, &err) < 0)
		fail_msg("%s", err.text);
	assert_true(with_optional || !tree.optional);
	check_expansion(&tree, s);
	for (uint32_t r = 0; r < s->n_ranks; r++)
		events += s->rank[r].n;
	assert_int_equal(skel_verify(&tree, &rep, &err), 0);
	assert_int_equal(rep.events, events);
	assert_int_equal(rep.ranks, s->n_ranks);
	assert_int_equal(skel_verify_by_hash(&tree, &rep, &err), 0);
	assert_int_equal(rep.events, events);
	o = (struct outcome){skel_tree_length(&tree), tree.n_node, tree.alphabet, tree.optional};
	skel_tree_free(&tree);
	return o;
}

/* With and without calls that are left out in some iterations; the outcome with. Frees s. */
static struct outcome check_program(struct syn *s)
{
	struct trace *t = syn_open(s);
	struct outcome without = check_tree(s, t, false), with = check_tree(s, t, true);

	assert_true(with.optional || (with.length == without.length && with.nodes == without.nodes));
	trace_close(t);
	syn_destroy(s);
	return with;
}

/* ---- regular programs ---- */

static void test_stencil(void **arg)
{
	(void)arg;
	for (int border = SYN_SKIP; border <= SYN_PERIODIC; border++)
		for (uint32_t side = 2; side <= 16; side *= 2) {
			struct outcome o = check_program(syn_stencil(side, side, 40, (enum syn_border)border));

			assert_int_equal(o.length, 13);
			assert_int_equal(o.nodes, 16);
		}
	assert_int_equal(check_program(syn_stencil(5, 3, 40, SYN_SKIP)).length, 13);
}

static void test_wavefront(void **arg)
{
	(void)arg;
	for (uint32_t side = 2; side <= 16; side *= 2)
		assert_int_equal(check_program(syn_wavefront(side, side, 6, 15)).length, 11);
	assert_int_equal(check_program(syn_wavefront(7, 3, 6, 15)).length, 11);
}

static void test_ring_and_pipeline(void **arg)
{
	(void)arg;
	for (uint32_t n = 4; n <= 256; n *= 4) {
		struct outcome o = check_program(syn_ring(n, 50));

		assert_int_equal(o.length, 5);
		o = check_program(syn_pipeline(n, 50));
		/* one loop for all: first, middle and last ranks, whose bodies differ */
		assert_int_equal(o.length, 4);
		assert_int_equal(o.nodes, 6);
	}
}

static void test_rows_and_columns(void **arg)
{
	(void)arg;
	/* three calls for each stage of the exchange in the row: log2 of the columns, whatever the rows */
	for (uint32_t rows = 2; rows <= 32; rows *= 4)
		assert_int_equal(check_program(syn_cg(8, rows, 20)).length, rows == 8 ? 14 : 13);
	assert_int_equal(check_program(syn_cg(16, 16, 20)).length, 17);
}

static void test_checkpoint_splits_the_loop_of_the_others(void **arg)
{
	struct outcome o = check_program(syn_checkpoint(16, 200));

	(void)arg;
	assert_int_equal(o.length, 4);
	assert_int_equal(o.nodes, 7);
}

/* ---- calls that vary ---- */

static void test_changing_message_sizes(void **arg)
{
	struct outcome o = check_program(syn_reneighbour(8, 1000, 50));

	(void)arg;
	assert_int_equal(o.alphabet, SKEL_SIZES);
	assert_true(o.length <= 12);
}

/* A few workers have calls of the master for each of them. Of many workers one call says it, with values. */
static void test_master_and_workers(void **arg)
{
	struct outcome o = check_program(syn_master_worker(9, 400, 5));

	(void)arg;
	assert_int_equal(o.alphabet, SKEL_SIZES);
	assert_int_equal(o.length, 13);
	o = check_program(syn_master_worker(65, 1600, 5));
	assert_int_equal(o.alphabet, SKEL_SHAPE);
	assert_int_equal(o.length, 6);
}

/* To walk the executions that the master leaves out takes longer for more tasks, and so for each rank. */
static void test_many_tasks(void **arg)
{
	struct outcome o = check_program(syn_master_worker(33, 1600, 5));

	(void)arg;
	assert_int_equal(o.alphabet, SKEL_SIZES);
	o = check_program(syn_master_worker(33, 16000, 5));
	assert_int_equal(o.alphabet, SKEL_SHAPE);
	assert_int_equal(o.length, 6);
}

/* Tags alternate and counts wander: the alternation is unrolled, the counts become runs. */
static void test_alternation_with_changing_sizes(void **arg)
{
	struct syn *s = syn_create(4);
	struct outcome o;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 4; r++) {
		uint64_t state = 5 + r;
		int64_t count = 0;

		for (uint32_t i = 0; i < 600; i++) {
			if (i % 40 == 0)
				count = 100 + (int64_t)(syn_random(&state) % 50);
			syn_call(s, r, "MPI_Send", 20, SYN(.dst = (r + 1) % 4, .tag = i % 2, .count = 10));
			syn_call(s, r, "MPI_Recv", 21, SYN(.src = (r + 3) % 4, .tag = i % 2, .count = 10));
			syn_call(s, r, "MPI_Send", 22, SYN(.dst = (r + 3) % 4, .tag = 9, .count = count));
			syn_call(s, r, "MPI_Recv", 23, SYN(.src = (r + 1) % 4, .tag = 9, .count = 200));
		}
	}
	syn_end(s);
	o = check_program(s);
	assert_int_equal(o.alphabet, SKEL_SIZES);
	assert_true(o.length <= 12);
}

/* ---- iterations that differ ---- */

/* A time step that now and then does more, at no fixed distance: molecular dynamics. */
static struct syn *steps(uint32_t n_ranks, uint32_t n, uint32_t seed)
{
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		uint64_t state = seed;
		int64_t count = 500;

		for (uint32_t i = 0; i < n; i++) {
			bool check = syn_random(&state) % 5 == 0, move = check && syn_random(&state) % 2;

			syn_call(s, r, "MPI_Sendrecv", 20, SYN(.dst = (r + 1) % n_ranks, .src = (r + n_ranks - 1) % n_ranks,
							       .count = count));
			if (check)
				syn_call(s, r, "MPI_Allreduce", 21, SYN(.count = 1));
			for (int k = 0; move && k < 3; k++)
				syn_call(s, r, "MPI_Sendrecv", 22, SYN(.dst = r ^ 1, .src = r ^ 1, .count = k));
			if (move)
				count = 500 + (int64_t)(syn_random(&state) % 9);
			syn_call(s, r, "MPI_Sendrecv", 23, SYN(.dst = (r + n_ranks - 1) % n_ranks, .src = (r + 1) % n_ranks,
							       .count = count));
			if (i % 100 == 0)
				syn_call(s, r, "MPI_Reduce", 24, SYN(.count = 6));
		}
	}
	syn_end(s);
	return s;
}

static void test_steps_that_differ(void **arg)
{
	(void)arg;
	for (uint32_t seed = 1; seed <= 4; seed++) {
		struct outcome o = check_program(steps(8, 1000, seed * 77));

		assert_true(o.optional);
		/* Two calls of one step may stand before the loop and two behind it. */
		assert_in_range(o.length, 7, 24);
	}
}

/* A solver whose inner iterations change from step to step. */
static void test_inner_iterations_that_differ(void **arg)
{
	struct syn *s = syn_create(4);
	struct outcome o;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 4; r++) {
		uint64_t state = 31;

		for (uint32_t i = 0; i < 200; i++) {
			syn_call(s, r, "MPI_Bcast", 20, SYN(.count = 3));
			for (uint64_t k = 5 + syn_random(&state) % 9; k; k--) {
				syn_call(s, r, "MPI_Sendrecv", 21, SYN(.dst = r ^ 1, .src = r ^ 1, .count = 40));
				syn_call(s, r, "MPI_Allreduce", 22, SYN(.count = 1));
			}
			syn_call(s, r, "MPI_Barrier", 23, SYN(.tag = 0));
		}
	}
	syn_end(s);
	o = check_program(s);
	assert_true(o.optional);
	assert_in_range(o.length, 6, 12);
}

/* ---- irregular programs ---- */

static void test_irregular(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= 120; seed++)
		check_program(syn_irregular(2 + seed % 9, seed));
	check_program(syn_irregular(40, 7));
}

/* Every rank's log is a random sequence of a few calls: nothing folds well, nothing matches well. */
static void test_noise(void **arg)
{
	uint64_t state = 99;

	(void)arg;
	for (int k = 0; k < 30; k++) {
		uint32_t n = 1 + (uint32_t)(syn_random(&state) % 6), letters = 1 + (uint32_t)(syn_random(&state) % 5);
		struct syn *s = syn_create(n);

		syn_begin(s);
		for (uint32_t r = 0; r < n; r++)
			for (uint32_t i = syn_random(&state) % 150; i; i--) {
				uint32_t c = (uint32_t)(syn_random(&state) % letters);

				syn_call(s, r, c % 2 ? "MPI_Send" : "MPI_Recv", 20 + c / 2,
					 SYN(.dst = c, .src = c, .count = (int64_t)(syn_random(&state) % 2)));
			}
		syn_end(s);
		check_program(s);
	}
}

/* Two programs in one world. */
static void test_two_programs(void **arg)
{
	struct syn *s = syn_create(8);
	struct outcome o;

	(void)arg;
	for (uint32_t r = 0; r < 8; r++) {
		uint64_t site = r < 4 ? 100 : 200;

		syn_call(s, r, "MPI_Init", site, SYN(.tag = 0));
		for (uint32_t i = 0; i < (r < 4 ? 30 : 70); i++) {
			syn_call(s, r, "MPI_Barrier", site + 1, SYN(.comm = 1));
			syn_call(s, r, "MPI_Allreduce", site + 2, SYN(.comm = 1));
		}
		syn_call(s, r, "MPI_Finalize", site + 3, SYN(.tag = 0));
	}
	o = check_program(s);
	assert_int_equal(o.length, 8);
	assert_int_equal(o.nodes, 11);
}

/* ---- loops and guards ---- */

static void test_counts_by_rank(void **arg)
{
	struct syn *s = syn_create(16);
	struct errbuf err;
	struct skel_tree tree;
	struct trace *t;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 16; r++)
		for (uint32_t i = 0; i < r; i++)
			syn_call(s, r, "MPI_Send", 20, SYN(.dst = 0));
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(skel_tree_build(t, &tree, &err), 0);
	/* rank 0 sends nothing, rank 1 once without a loop of its own, the others r times */
	assert_int_equal(tree.n_leaf, 3);
	assert_int_equal(tree.root->n_child, 3);
	assert_int_equal(tree.root->child[1]->kind, SKEL_LOOP);
	assert_int_equal(tree.root->child[1]->count.form, RF_OFFSET);
	assert_int_equal(rank_set_count(&tree.root->child[1]->ranks), 15);
	skel_tree_free(&tree);
	trace_close(t);
	check_program(s);
}

/* Even ranks send first, odd ranks receive first: the order is kept, and two nodes for either call are enough. */
static void test_order_is_kept(void **arg)
{
	struct syn *s = syn_create(32);

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 32; r++)
		for (uint32_t i = 0; i < 20; i++) {
			if (r % 2 == 0)
				syn_call(s, r, "MPI_Send", 20, SYN(.dst = r ^ 1));
			syn_call(s, r, "MPI_Recv", 21, SYN(.src = r ^ 1));
			if (r % 2)
				syn_call(s, r, "MPI_Send", 20, SYN(.dst = r ^ 1));
		}
	syn_end(s);
	assert_int_equal(check_program(s).length, 5);
}

static void test_deep_nesting(void **arg)
{
	struct syn *s = syn_create(2);

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t i = 1; i <= 1u << 15; i++)
			for (uint32_t k = 0, j = i; k < 15 && !(k && j & 1); k++, j = k == 1 ? j : j >> 1)
				syn_call(s, r, "MPI_Bcast", 20 + k, SYN(.root = 0));
	syn_end(s);
	check_program(s);
}

static void test_long_unfolding_sequences(void **arg)
{
	struct syn *s = syn_create(3);
	uint64_t state = 4711;

	(void)arg;
	syn_begin(s);
	for (uint32_t i = 0; i < 6000; i++) {
		uint64_t site = 100 + syn_random(&state) % 5000;

		for (uint32_t r = 0; r < 3; r++)
			if ((i + r) % 7)
				syn_call(s, r, "MPI_Bcast", site, SYN(.root = 0));
	}
	syn_end(s);
	assert_true(check_program(s).length < 6800);
}

static void test_one_rank(void **arg)
{
	struct syn *s = syn_create(1);

	(void)arg;
	syn_begin(s);
	syn_end(s);
	assert_int_equal(check_program(s).length, 2);
}

static void test_many_ranks(void **arg)
{
	(void)arg;
	assert_int_equal(check_program(syn_stencil(64, 64, 20, SYN_SKIP)).length, 13);
}

/* ---- communicators ---- */

static void test_roots_and_peers_of_rows(void **arg)
{
	struct syn *s = syn_cg(8, 4, 30);
	struct errbuf err;
	struct skel_tree tree;
	struct trace *t = syn_open(s);
	bool seen = false;

	(void)arg;
	assert_int_equal(skel_tree_build(t, &tree, &err), 0);
	for (uint32_t i = 0; i < tree.n_leaf; i++) {
		const struct skel_node *leaf = tree.leaf[i];

		if (leaf->fn != FN_MPI_Irecv)
			continue;
		for (uint32_t k = 0; k < leaf->n_param; k++)
			if (trace_fn[leaf->fn].param[k].kind == TK_SRC) {
				seen = true;
				assert_true(leaf->param[k].fitted);
				assert_int_equal(leaf->param[k].fn->basis, RB_COMM);
				assert_int_not_equal(leaf->param[k].fn->form, RF_TABLE);
			}
	}
	assert_true(seen);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
}

/* ---- refusals and text ---- */

static void test_partial_trace_is_refused(void **arg)
{
	struct syn *s = syn_ring(4, 10);
	struct errbuf err = {""};
	struct skel_tree tree;
	struct trace *t = syn_open_partial(s);

	(void)arg;
	assert_int_equal(skel_tree_build(t, &tree, &err), -1);
	assert_non_null(strstr(err.text, "partial"));
	assert_null(tree.root);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
}

static void test_print(void **arg)
{
	struct syn *s = syn_pipeline(4, 100);
	struct trace *t = syn_open(s);
	struct errbuf err;
	struct skel_tree tree;
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)arg;
	assert_non_null(f);
	assert_int_equal(skel_tree_build(t, &tree, &err), 0);
	assert_int_equal(skel_tree_print(&tree, f), 0);
	fclose(f);
	assert_non_null(strstr(text, "loop 100 {  [all]\n"));
	assert_non_null(strstr(text, "MPI_Send("));
	assert_non_null(strstr(text, "=r+1"));
	assert_non_null(strstr(text, "@ simulated+0x1150  [0..2]\n"));
	free(text);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stencil),
		cmocka_unit_test(test_wavefront),
		cmocka_unit_test(test_ring_and_pipeline),
		cmocka_unit_test(test_rows_and_columns),
		cmocka_unit_test(test_checkpoint_splits_the_loop_of_the_others),
		cmocka_unit_test(test_changing_message_sizes),
		cmocka_unit_test(test_master_and_workers), cmocka_unit_test(test_many_tasks),
		cmocka_unit_test(test_alternation_with_changing_sizes),
		cmocka_unit_test(test_steps_that_differ),
		cmocka_unit_test(test_inner_iterations_that_differ),
		cmocka_unit_test(test_irregular),
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_two_programs),
		cmocka_unit_test(test_counts_by_rank),
		cmocka_unit_test(test_order_is_kept),
		cmocka_unit_test(test_deep_nesting),
		cmocka_unit_test(test_long_unfolding_sequences),
		cmocka_unit_test(test_one_rank),
		cmocka_unit_test(test_many_ranks),
		cmocka_unit_test(test_roots_and_peers_of_rows),
		cmocka_unit_test(test_partial_trace_is_refused),
		cmocka_unit_test(test_print),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
