/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A tree with any one thing changed is refused, with the place named. */
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

struct fixture {
	struct syn *s;
	struct trace *t;
	struct skel_tree tree;
};

static void set_up(struct fixture *f, struct syn *s)
{
	struct errbuf err;

	f->s = s;
	f->t = syn_open(s);
	assert_int_equal(skel_tree_build(f->t, &f->tree, &err), 0);
}

static void tear_down(struct fixture *f)
{
	skel_tree_free(&f->tree);
	trace_close(f->t);
	syn_destroy(f->s);
}

static void check_refused(struct fixture *f, const char *why)
{
	struct errbuf err = {""};

	assert_int_equal(skel_verify(&f->tree, NULL, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
	assert_int_equal(skel_verify_by_hash(&f->tree, NULL, &err), -1);
}

static void check_accepted(struct fixture *f)
{
	struct errbuf err = {""};

	if (skel_verify(&f->tree, NULL, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(skel_verify_by_hash(&f->tree, NULL, &err), 0);
}

static struct skel_node *find(struct skel_node *n, uint8_t kind, const char *fn)
{
	if (n->kind == kind && (kind != SKEL_LEAF || !strcmp(trace_fn[n->fn].name, fn)))
		return n;
	for (uint32_t i = 0; i < n->n_child; i++) {
		struct skel_node *found = find(n->child[i], kind, fn);

		if (found)
			return found;
	}
	return NULL;
}

static void test_count(void **arg)
{
	struct fixture f;
	struct skel_node *loop;

	(void)arg;
	set_up(&f, syn_stencil(4, 4, 40, SYN_SKIP));
	check_accepted(&f);
	loop = find(f.tree.root, SKEL_LOOP, NULL);
	assert_non_null(loop);
	for (int d = -1; d <= 1; d += 2) {
		loop->count.a += d;
		check_refused(&f, "rank 0");
		loop->count.a -= d;
	}
	loop->count.a = 0;
	check_refused(&f, "no iterations");
	loop->count.a = 4;
	check_accepted(&f);
	tear_down(&f);
}

static void test_symbol(void **arg)
{
	struct fixture f;
	struct skel_node *a, *b;
	uint32_t saved;

	(void)arg;
	set_up(&f, syn_wavefront(4, 4, 5, 5));
	a = find(f.tree.root, SKEL_LEAF, "MPI_Recv");
	saved = a->by_rank[0].variant[0];
	a->by_rank[0].variant[0] = 0; /* MPI_Init */
	check_refused(&f, "is not a call of MPI_Recv");
	a->by_rank[0].variant[0] = 1u << 30;
	check_refused(&f, "is not a call of MPI_Recv");
	a->by_rank[0].variant[0] = saved;
	check_accepted(&f);
	/* another call of the same function */
	for (uint32_t i = a->leaf_id + 1; i < f.tree.n_leaf; i++) {
		uint32_t index;

		b = f.tree.leaf[i];
		index = rank_set_index(&b->ranks, rank_set_first(&a->ranks));
		if (b->fn == a->fn && index != UINT32_MAX)
			a->by_rank[0].variant[0] = b->by_rank[index].variant[0];
	}
	assert_int_not_equal(a->by_rank[0].variant[0], saved);
	check_refused(&f, "rank");
	tear_down(&f);
}

static void test_order(void **arg)
{
	struct fixture f;
	struct skel_node *loop, *n;

	(void)arg;
	set_up(&f, syn_ring(4, 30));
	loop = find(f.tree.root, SKEL_LOOP, NULL);
	n = loop->child[1];
	loop->child[1] = loop->child[2];
	loop->child[2] = n;
	check_refused(&f, "out of order");
	/* renumbered, so that only the expansion can tell */
	for (uint32_t i = 1; i <= 2; i++) {
		loop->child[i]->id = loop->id + 1 + i;
		loop->child[i]->leaf_id = loop->child[0]->leaf_id + i;
		f.tree.leaf[loop->child[i]->leaf_id] = loop->child[i];
	}
	check_refused(&f, "rank 1");
	tear_down(&f);
}

static void test_rank_set(void **arg)
{
	struct fixture f;
	struct rank_interval wrong[2] = {{0, 3, 1}, {0, 0, 0}};
	struct rank_set saved;
	struct skel_node *n;

	(void)arg;
	set_up(&f, syn_pipeline(4, 30));
	n = find(f.tree.root, SKEL_LEAF, "MPI_Send");
	saved = n->ranks;
	assert_int_equal(rank_set_count(&saved), 3);
	n->ranks.iv = wrong;
	wrong[0] = (struct rank_interval){1, 3, 1}; /* as many ranks, but others */
	check_refused(&f, "rank");
	wrong[0] = (struct rank_interval){0, 1, 1}; /* one less */
	check_refused(&f, "rank 2");
	wrong[0] = (struct rank_interval){0, 2, 0};
	check_refused(&f, "malformed set");
	wrong[0] = (struct rank_interval){2, 4, 1};
	check_refused(&f, "malformed set");
	n->ranks.n = 0;
	check_refused(&f, "no rank executes");
	n->ranks = saved;
	check_accepted(&f);
	saved = f.tree.root->ranks;
	f.tree.root->ranks.iv = wrong;
	wrong[0] = (struct rank_interval){0, 2, 1};
	check_refused(&f, "does not stand for all ranks");
	f.tree.root->ranks = saved;
	tear_down(&f);
}

static void test_parameter(void **arg)
{
	struct fixture f;
	struct skel_node *n;
	uint32_t refused = 0;

	(void)arg;
	set_up(&f, syn_stencil(4, 4, 20, SYN_PERIODIC));
	n = find(f.tree.root, SKEL_LEAF, "MPI_Isend");
	for (uint32_t i = 0; i < n->n_param; i++) {
		struct rank_fn *fn = n->param[i].fn;

		assert_non_null(fn);
		if (fn->form == RF_TABLE)
			continue;
		if (fn->form == RF_TORUS)
			fn->c++;
		else
			fn->a++;
		check_refused(&f, "MPI_Isend");
		refused++;
		if (fn->form == RF_TORUS)
			fn->c--;
		else
			fn->a--;
	}
	assert_true(refused >= 3);
	check_accepted(&f);
	tear_down(&f);
}

static struct skel_node *find_varying(struct skel_tree *t)
{
	for (uint32_t i = 0; i < t->n_leaf; i++)
		if (t->leaf[i]->varies && t->leaf[i]->by_rank[0].n_run > 3)
			return t->leaf[i];
	return NULL;
}

static void test_runs(void **arg)
{
	struct fixture f;
	struct skel_leaf_rank *lr;
	struct skel_node *n;
	uint32_t v;

	(void)arg;
	set_up(&f, syn_reneighbour(4, 1000, 50));
	check_accepted(&f);
	n = find_varying(&f.tree);
	assert_non_null(n);
	lr = &n->by_rank[0];
	lr->run_end[1]++;
	check_refused(&f, "rank 0");
	lr->run_end[1]--;
	v = lr->run_variant[1];
	lr->run_variant[1] = lr->run_variant[2];
	check_refused(&f, "rank 0");
	lr->run_variant[1] = lr->n_variant;
	check_refused(&f, "malformed run");
	lr->run_variant[1] = v;
	lr->n_occ++;
	check_refused(&f, "executions");
	lr->n_occ--;
	lr->run_end[lr->n_run - 1]++;
	lr->n_occ++;
	check_refused(&f, "executed");
	tear_down(&f);
}

static void test_missing_and_surplus_calls(void **arg)
{
	struct fixture f;

	(void)arg;
	set_up(&f, syn_ring(4, 30));
	f.tree.root->n_child--;
	f.tree.n_node--;
	f.tree.n_leaf--;
	check_refused(&f, "rank 0");
	tear_down(&f);
}

static void test_empty_loop_ends(void **arg)
{
	struct fixture f;
	struct skel_node *loop;
	const struct skel_node *leaf;
	struct skel_iter it;
	uint64_t occ, n = 0;
	uint32_t index;

	(void)arg;
	set_up(&f, syn_ring(4, 30));
	loop = find(f.tree.root, SKEL_LOOP, NULL);
	loop->count.a = INT64_MAX;
	loop->n_child = 0;
	check_refused(&f, "does nothing");
	assert_int_equal(skel_iter_begin(&it, &f.tree, 0), 0);
	while (skel_iter_next(&it, &leaf, &occ, &index) == 1)
		n++;
	assert_int_equal(n, 2); /* MPI_Init and MPI_Finalize */
	skel_iter_end(&it);
	tear_down(&f);
}

/* The trace itself against the hash of the calls as they were recorded. */
static void test_folded(void **arg)
{
	struct syn *s = syn_irregular(3, 11);
	struct trace *t = syn_open(s);
	struct folded *f = (struct folded *)&trace_get_rank(t, 1)->events;
	struct skel_verify_report rep;
	struct errbuf err = {""};
	struct folded_items top = folded_items(f, f->n_body);
	struct fold_item item = {0}, before = {0};
	uint8_t *code, kept;

	(void)arg;
	assert_int_equal(skel_verify_folded(t, &rep, &err), 0);
	assert_int_equal(rep.ranks, 3);
	assert_int_equal(rep.events, s->rank[0].n + s->rank[1].n + s->rank[2].n);
	/* Two calls, each of one byte. */
	do {
		before = item;
		code = (uint8_t *)top.at - 1;
		assert_true(folded_items_next(&top, &item));
	} while (before.count != 1 || item.count != 1 || item.key == before.key || ((item.key | before.key) & FOLD_BODY) ||
		 item.key >= 32 || before.key >= 32);
	kept = code[1];
	code[1] = (uint8_t)((kept >> 2 == 0) << 2); /* another call */
	assert_int_equal(skel_verify_folded(t, &rep, &err), -1);
	assert_non_null(strstr(err.text, "rank 1: the trace has "));
	code[1] = code[0]; /* another order */
	code[0] = kept;
	assert_int_equal(skel_verify_folded(t, &rep, &err), -1);
	code[0] = code[1];
	code[1] = kept;
	assert_int_equal(skel_verify_folded(t, &rep, &err), 0);
	do /* one more iteration */
		assert_true(folded_items_next(&top, &item));
	while (item.count == 1 || item.count >= 127);
	code = (uint8_t *)top.at - 1;
	++*code;
	assert_int_equal(skel_verify_folded(t, &rep, &err), -1);
	--*code;
	assert_int_equal(skel_verify_folded(t, &rep, &err), 0);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_symbol),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_rank_set),
		cmocka_unit_test(test_parameter),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_missing_and_surplus_calls),
		cmocka_unit_test(test_empty_loop_ends),
		cmocka_unit_test(test_folded),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
