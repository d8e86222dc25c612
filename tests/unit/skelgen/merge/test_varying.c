/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Merged trees of programs whose loops vary: inner loops that iterate more or less often, calls in some time steps
 * only. They come out as loops, every rank's expansion is what was generated, and the cut program leaves nothing out
 * that is not left out by its plan.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/plan/plan_walk.h"
#include "skelgen/pipeline.h"
#include "skelgen/merge/verify.h"
#include "skelgen/tree/tree.h"
#include "tests/unit/synthetic.h"

#define RANKS 4

static void shift(struct syn *s, uint32_t r, uint64_t site, int64_t count)
{
	syn_call(s, r, "MPI_Send", site, SYN(.dst = (r + 1) % RANKS, .count = count));
	syn_call(s, r, "MPI_Recv", site + 1, SYN(.src = (r + RANKS - 1) % RANKS, .count = count));
}

/* Inner iterations of step i. */
typedef uint32_t (*inner_fn)(uint32_t rank, uint32_t step);

static uint32_t inner_growing(uint32_t rank, uint32_t step)
{
	(void)rank;
	return step + 1;
}

static uint32_t inner_random(uint32_t rank, uint32_t step)
{
	uint64_t state = step * UINT64_C(0x9e3779b97f4a7c15) + 1;

	(void)rank;
	syn_random(&state);
	return (uint32_t)(syn_random(&state) % 40);
}

static uint32_t inner_by_rank(uint32_t rank, uint32_t step)
{
	return 1 + inner_random(rank, step) + rank;
}

static struct syn *program(uint32_t steps, inner_fn inner)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t i = 0; i < steps; i++) {
			for (uint32_t k = 0; k < inner(r, i); k++)
				syn_call(s, r, "MPI_Sendrecv", 20, SYN(.dst = r, .src = r, .count = 5));
			syn_call(s, r, "MPI_Allreduce", 30, SYN(.count = 1));
		}
	syn_end(s);
	return s;
}

/* In step i of `steps` something more happens: two calls when `extra` says so, and a loop around them. */
static struct syn *optional_program(uint32_t steps, inner_fn extra)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t i = 0; i < steps; i++) {
			for (uint32_t k = 0; k < 16; k++)
				shift(s, r, 100 + 2 * k, 10 + k);
			if (extra(r, i))
				shift(s, r, 40, 7);
			syn_call(s, r, "MPI_Allreduce", 50, SYN(.count = 1));
		}
	syn_end(s);
	return s;
}

static uint32_t extra_every_ten(uint32_t rank, uint32_t step)
{
	(void)rank;
	return step % 10 == 9;
}

static uint32_t extra_random(uint32_t rank, uint32_t step)
{
	return inner_random(rank, step) < 6;
}

static void check_walk(const struct skel_tree *t, const struct syn *s)
{
	struct skel_plan whole = {.n_node = t->n_node, .cut = calloc(t->n_node + 1u, sizeof(struct skel_cut))};

	assert_non_null(whole.cut);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		const struct skel_node *leaf, *other;
		struct skel_iter it;
		struct scaled_iter scaled;
		uint32_t index;
		uint64_t occ, position;

		scaled_begin(&scaled, t, &whole, r);
		assert_int_equal(skel_iter_begin(&it, t, r), 0);
		for (uint64_t i = 0; i < s->rank[r].n; i++) {
			assert_int_equal(skel_iter_next(&it, &leaf, &occ, &index), 1);
			assert_int_equal(skel_leaf_symbol(&leaf->by_rank[index], occ), s->rank[r].sym[i]);
			assert_int_equal(scaled_next(&scaled, &other, &position, &index), 1);
			assert_ptr_equal(other, leaf);
			assert_int_equal(position, occ);
		}
		assert_int_equal(skel_iter_next(&it, &leaf, &occ, &index), 0);
		assert_int_equal(scaled_next(&scaled, &other, &position, &index), 0);
		skel_iter_end(&it);
	}
	free(whole.cut);
}

static uint64_t count_varying(const struct skel_node *n)
{
	uint64_t sum = n->turns != NULL;

	for (uint32_t i = 0; i < n->n_child; i++)
		sum += count_varying(n->child[i]);
	return sum;
}

struct outcome {
	uint64_t length, varying;
	uint32_t nodes;
};

static struct outcome check(struct syn *s)
{
	struct trace *t = syn_open(s);
	struct errbuf err = {""};
	struct skel_tree tree;
	struct outcome o;

	if (skel_tree_build_with(t, true, &tree, &err) < 0)
		fail_msg("%s", err.text);
	check_walk(&tree, s);
	assert_int_equal(skel_verify(&tree, NULL, &err), 0);
	assert_int_equal(skel_verify_by_hash(&tree, NULL, &err), 0);
	if (getenv("SHOW")) skel_tree_print(&tree, stdout);
	o = (struct outcome){skel_tree_length(&tree), count_varying(tree.root), tree.n_node};
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
	return o;
}

/* MPI_Init, A, (B (A)^i)^n, B, MPI_Finalize: six calls whatever n. */
static void test_growing(void **arg)
{
	(void)arg;
	for (uint32_t steps = 100; steps <= 700; steps += 300) {
		struct outcome o = check(program(steps, inner_growing));

		assert_int_equal(o.length, 6);
		assert_int_equal(o.nodes, 9);
		assert_int_equal(o.varying, 1);
	}
}

static void test_random_counts(void **arg)
{
	struct outcome o = check(program(3000, inner_random));

	(void)arg;
	assert_true(o.length <= 10);
	o = check(program(800, inner_by_rank));
	assert_true(o.length <= 10);
}

static void test_optional(void **arg)
{
	struct outcome o = check(optional_program(1000, extra_every_ten));

	(void)arg;
	assert_true(o.length <= 2 + 35);
	o = check(optional_program(1000, extra_random));
	assert_true(o.length <= 2 + 35);
}

/* A growing loop, then steps of which some do more, in one program: both are found. */
static void test_both(void **arg)
{
	struct syn *s = syn_create(RANKS);
	struct outcome o;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++) {
		for (uint32_t i = 0; i < 200; i++) {
			for (uint32_t k = 0; k <= i; k++)
				syn_call(s, r, "MPI_Sendrecv", 20, SYN(.dst = r, .src = r, .count = 5));
			syn_call(s, r, "MPI_Allreduce", 30, SYN(.count = 1));
		}
		for (uint32_t i = 0; i < 1000; i++) {
			for (uint32_t k = 0; k < 16; k++)
				shift(s, r, 100 + 2 * k, 10 + k);
			if (extra_random(r, i))
				shift(s, r, 40, 7);
			syn_call(s, r, "MPI_Allreduce", 50, SYN(.count = 1));
		}
	}
	syn_end(s);
	o = check(s);
	assert_in_range(o.length, 6 + 35, 6 + 35 + 4);
	assert_true(o.varying >= 1);
}

/* ---- any program ---- */

#define EVENTS_MAX 4000

struct random_program {
	struct syn *s;
	uint64_t shape, fate, left; /* states: of the text, of its execution; events to go */
	uint32_t rank;
};

static void run_random(struct random_program *p, uint64_t shape, int depth, uint64_t site);

/* One statement: a call, or a loop whose iterations are fixed, vary, grow, or leave out what is in it. */
static void run_statement(struct random_program *p, uint64_t *shape, int depth, uint64_t site)
{
	uint32_t kind = (uint32_t)(syn_random(shape) % (depth < 3 ? 8 : 4)), count = 1 + (uint32_t)(syn_random(shape) % 7);
	uint64_t inner = syn_random(shape) | 1;

	if (kind == 3 && syn_random(&p->fate) % 4 == 0)
		return;
	if (kind < 4) {
		if (p->left && p->left--)
			syn_call(p->s, p->rank, "MPI_Allreduce", site, SYN(.count = 1 + kind));
		return;
	}
	if (kind == 5)
		count = (uint32_t)(syn_random(&p->fate) % (count + 1));
	if (kind == 6)
		count += (p->rank * count) % 3;
	for (uint32_t i = 0; i < count; i++) {
		if (kind != 7 || syn_random(&p->fate) % 5)
			run_random(p, inner, depth + 1, site * 8);
	}
}

static void run_random(struct random_program *p, uint64_t shape, int depth, uint64_t site)
{
	uint64_t n = 1 + syn_random(&shape) % 4;

	for (uint64_t i = 0; i < n; i++)
		run_statement(p, &shape, depth, site + i + 1);
}

static void test_any(void **arg)
{
	uint64_t varying = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 30; seed++) {
		struct random_program p = {.s = syn_create(RANKS), .shape = seed * UINT64_C(0x9e3779b97f4a7c15)};
		struct outcome o;

		syn_begin(p.s);
		for (p.rank = 0; p.rank < RANKS; p.rank++) {
			p.left = EVENTS_MAX;
			/* in every third program each rank has its own fate */
			p.fate = p.shape ^ (seed % 3 ? 5 : 77 + p.rank);
			for (int step = 0; step < 40; step++)
				run_random(&p, p.shape, 0, 100);
		}
		syn_end(p.s);
		o = check(p.s);
		varying += o.varying;
	}
	assert_true(varying > 0);
}

/* Turns are proved as all else. */
static void test_damaged_turns(void **arg)
{
	struct syn *s = program(200, inner_growing);
	struct trace *t = syn_open(s);
	struct errbuf err = {""};
	struct skel_tree tree;
	struct skel_turns *turns = NULL;
	uint64_t saved;

	(void)arg;
	assert_int_equal(skel_tree_build_with(t, true, &tree, &err), 0);
	for (struct skel_node *n = tree.leaf[3]; n && !turns; n = n->parent)
		turns = n->turns;
	assert_non_null(turns);
	assert_int_equal(turns->n_run, 199);
	saved = turns->run_turns[7];
	assert_int_equal(saved, 9);
	for (uint64_t wrong = 8; wrong <= 202; wrong += 97) {
		turns->run_turns[7] = wrong;
		assert_int_equal(skel_verify(&tree, NULL, &err), wrong == 8 || wrong == 202 ? -1 : 0);
		assert_int_equal(skel_verify_by_hash(&tree, NULL, &err), wrong == 8 || wrong == 202 ? -1 : 0);
	}
	turns->run_turns[7] = saved;
	turns->run_end[198]++;
	assert_int_equal(skel_verify(&tree, NULL, &err), -1);
	turns->run_end[198]--;
	assert_int_equal(skel_verify(&tree, NULL, &err), 0);
	skel_tree_free(&tree);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_random_counts),
		cmocka_unit_test(test_optional),
		cmocka_unit_test(test_both),
		cmocka_unit_test(test_any),
		cmocka_unit_test(test_damaged_turns),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
