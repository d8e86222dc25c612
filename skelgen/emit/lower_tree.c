/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the tree and appends statements. Neighbours with the same rank set share one condition. */
#include "skelgen/emit/lower_tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/lower_call.h"
#include "skelgen/emit/lower_turns.h"
#include "skelgen/plan/gap_sampling.h"
#include "skelgen/runtime/piece_interval.h"
#include "skelgen/simulate/mpi_sim.h"

static void note_slots(struct leaf_ctx *c)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t q = call_scalar(c->rank[i].d, c->rank[i].kase[k].sym, TK_NEWREQ, 0, TRACE_NULL);

			c->e->max_slot = q > c->e->max_slot ? q : c->e->max_slot;
		}
}

/* What cannot be reproduced is a compute block as long as the call took. */
static void put_lost(struct leaf_ctx *c, const char *where, const char *why)
{
	struct emit *e = c->e;

	lower_gap(e, c->leaf, true);
	text_put(&e->notes, "  %s: %s; its time is computed away\n", where, why);
	code_comment(&e->body, "%s: not reproduced (%s)", where, why);
	e->lost_ns += e->times->node_ns[c->leaf->id];
}

/* A block in which the values of the leaf are known, if it has any. */
static bool values_begin(struct leaf_ctx *c)
{
	if (c->n_col > 0)
		code_op(&c->e->body, OPS_VALUES, leaf_ctx_store(c));
	return c->n_col > 0;
}

static void put_statement(struct leaf_ctx *c, const struct code *call, const char *where)
{
	struct code *body = &c->e->body;
	bool values;

	code_comment(body, "%s", where);
	values = values_begin(c);
	code_append(body, call);
	code_op(body, OPS_DO, 0);
	if (values)
		code_op(body, OPS_END, 0);
}

/* if (!CALL) { the delay } */
static void put_io_or_delay(struct leaf_ctx *c, const struct code *call, const char *where)
{
	struct code *body = &c->e->body;
	bool values;
	size_t before;

	code_comment(body, "%s", where);
	values = values_begin(c);
	code_append(body, call);
	code_op(body, OPS_NOT, 0);
	code_op(body, OPS_IF, 0);
	before = body->n;
	lower_delay(c->e, c->leaf, lower_io_meets(c->leaf));
	if (body->n == before) {
		code_int(body, 0);
		code_do(body, "skel_delay");
	}
	code_op(body, OPS_END, 0);
	if (values)
		code_op(body, OPS_END, 0);
}

static void put_io(struct leaf_ctx *c, const char *where)
{
	struct emit *e = c->e;
	struct code call = {.n = 0};
	enum io_call does = lower_io_call(c, &call);

	if (does == IO_MAKES) {
		put_io_or_delay(c, &call, where);
	} else {
		if (does == IO_MEETS)
			put_statement(c, &call, where);
		else
			code_comment(&e->body, "%s", where);
		lower_delay(e, c->leaf, lower_io_meets(c->leaf));
	}
	code_free(&call);
}

void emit_describe(const struct leaf_ctx *c, struct text *where, bool with_name)
{
	const struct trace_defs *d = c->rank[0].d;
	const struct trace_sig *sig = &d->sigs.sig[c->rank[0].kase[0].sym];
	const struct skel_emit_options *opt = c->e->opt;
	char text[256];
	const char *at;

	if (opt->site != NULL && sig->site < d->n_site) {
		if (with_name)
			text_put(where, "%s in ", trace_fn[sig->fn].name);
		text_put_clean(where, opt->site(opt->site_arg, d, &d->site[sig->site], text, sizeof text));
		return;
	}
	skel_call_describe(d, c->rank[0].kase[0].sym, text, sizeof text);
	at = strstr(text, " at ");
	text_put_clean(where, with_name || at == NULL ? text : at + 4);
}

/* Are there long gaps in n of which a share runs? */
static bool clocks_part(const struct emit *e, const struct skel_node *n)
{
	if (n->kind == SKEL_LEAF)
		return gap_share_matters(e->tree, e->times, e->plan, n);
	for (uint32_t i = 0; i < n->n_child; i++)
		if (clocks_part(e, n->child[i]))
			return true;
	return false;
}

/* The virtual clocks of the ranks meet at the first call that waits for all after gaps of which a share runs. */
static void put_meeting(struct emit *e, const struct skel_node *leaf)
{
	e->clocks_apart |= skel_plan_shares_gaps(e->plan) && clocks_part(e, leaf);
	if (!e->clocks_apart || e->plan->meets[leaf->id] != SKEL_MEETS_HERE)
		return;
	code_named(&e->body, "MPI_COMM_WORLD");
	code_do(&e->body, "skel_meet");
	e->clocks_apart = false;
}

static void lower_leaf(struct emit *e, const struct skel_node *leaf)
{
	struct text where = {.len = 0}, named = {.len = 0};
	struct code call = {.n = 0};
	struct leaf_ctx c;
	const char *why = NULL;
	int rv;

	if (leaf_ctx_open(&c, e, leaf) != 0) {
		e->no_memory = true;
		return;
	}
	if (c.n_case == 0)
		goto done;
	note_slots(&c);
	emit_describe(&c, &where, false);
	emit_describe(&c, &named, true);
	if (lower_is_io(e, leaf)) {
		lower_gap(e, leaf, false);
		put_io(&c, text_get(&named));
		goto done;
	}
	rv = lower_call(&c, &call, &why);
	if (rv < 0) {
		put_lost(&c, text_get(&named), why);
		goto done;
	}
	if (trace_fn[leaf->fn].cls != TC_INIT)
		lower_gap(e, leaf, false);
	put_meeting(e, leaf);
	if (rv > 0)
		put_statement(&c, &call, text_get(&where));
	else if (trace_fn[leaf->fn].cls != TC_INIT && trace_fn[leaf->fn].cls != TC_FINALIZE)
		code_comment(&e->body, "%s", text_get(&named));
done:
	e->no_memory |= where.failed || named.failed;
	code_free(&call);
	text_free(&where);
	text_free(&named);
	leaf_ctx_close(&c);
}

/* ---- loops ---- */

static bool needs_position(const struct emit *e, const struct skel_node *n)
{
	if (n->kind == SKEL_LEAF) {
		bool wild = e->tree->wildcards->leaf != NULL && e->tree->wildcards->leaf[n->leaf_id] != NULL;

		return n->varies || wild || gap_needs_position(e, n);
	}
	for (uint32_t i = 0; i < n->n_child; i++)
		if (needs_position(e, n->child[i]))
			return true;
	return false;
}

static bool contains_cut(const struct emit *e, const struct skel_node *n)
{
	if (n->kind == SKEL_LEAF)
		return false;
	if (e->plan->cut[n->id].run != e->plan->cut[n->id].total)
		return true;
	for (uint32_t i = 0; i < n->n_child; i++)
		if (contains_cut(e, n->child[i]))
			return true;
	return false;
}

static void put_count(struct emit *e, const struct skel_node *loop, struct code *out)
{
	uint32_t n = rank_set_count(&loop->ranks), i = 0;
	int64_t *count = calloc(n + 1u, sizeof *count);

	if (count == NULL) {
		e->no_memory = true;
		return;
	}
	for (uint32_t r = rank_set_first(&loop->ranks); r != UINT32_MAX; r = rank_set_next(&loop->ranks, r), i++)
		count[i] = (int64_t)skel_loop_count(e->tree, loop, r, i);
	lower_rank_value(e, &loop->ranks, count, out);
	free(count);
}

static void lower_children(struct emit *e, const struct skel_node *n);

/* Enter the loop, of which the plan runs a part. */
static void put_cut_loop(struct emit *e, const struct skel_node *loop)
{
	const struct skel_cut *cut = &e->plan->cut[loop->id];
	double all = e->times->node_ns[e->tree->root->id];
	bool vary = lower_turns_vary(e, loop);

	code_comment(&e->body, "%s%llu iterations, of which %llu run%s: %.3g %% of the time", cut->varies ? "up to " : "",
		     (unsigned long long)cut->total, (unsigned long long)cut->run, cut->windows != NULL ? " in windows" : "",
		     all > 0 ? 100 * e->times->node_ns[loop->id] / all : 0.0);
	code_int(&e->body, e->n_loop);
	code_int(&e->body, (int64_t)cut->total);
	if (vary)
		lower_turns_put(e, loop, &e->body);
	code_int(&e->body, (int64_t)cut->run);
	code_call(&e->body, vary ? "skel_loop_part" : cut->consecutive ? "skel_loop_first" : "skel_loop");
	if (cut->windows != NULL) {
		struct sampled_plan windows = *cut->windows;
		const struct skel_loop_series *l = skel_series_of(e->plan->series, loop->id);

		if (e->follows[loop->id]) {
			windows.spikes = l->spikes_in_calls;
			series_traced(l, &windows);
		}
		emit_data_windows(e->data, e->n_loop, &windows);
	}
}

/* Enter the loop, which runs whole and which the runtime follows. */
static void put_whole_loop(struct emit *e, const struct skel_node *loop)
{
	bool vary = lower_turns_vary(e, loop);

	code_int(&e->body, e->n_loop);
	put_count(e, loop, &e->body);
	if (vary)
		lower_turns_put(e, loop, &e->body);
	else
		code_named(&e->body, "SKEL_ALL");
	code_call(&e->body, vary ? "skel_loop_some" : "skel_loop");
}

static void lower_loop(struct emit *e, const struct skel_node *loop)
{
	bool cut = e->plan->cut[loop->id].run != e->plan->cut[loop->id].total;

	e->clocks_apart |= skel_plan_shares_gaps(e->plan) && clocks_part(e, loop); /* from the iteration before */
	if (!cut && !lower_turns_vary(e, loop) && !needs_position(e, loop) && !contains_cut(e, loop)) {
		put_count(e, loop, &e->body);
		code_op(&e->body, OPS_FOR, 0);
	} else {
		if (cut)
			put_cut_loop(e, loop);
		else
			put_whole_loop(e, loop);
		code_op(&e->body, OPS_LOOP, e->n_loop++);
	}
	lower_children(e, loop);
	code_op(&e->body, OPS_END, 0);
}

/* ---- conditions ---- */

static bool same_set(const struct rank_set *a, const struct rank_set *b)
{
	return a->n == b->n && memcmp(a->iv, b->iv, a->n * sizeof *a->iv) == 0;
}

/* Do a and b share out `all` between them? */
static bool complementary(const struct rank_set *a, const struct rank_set *b, const struct rank_set *all)
{
	if (rank_set_count(a) + rank_set_count(b) != rank_set_count(all))
		return false;
	for (uint32_t r = rank_set_first(b); r != UINT32_MAX; r = rank_set_next(b, r))
		if (rank_set_has(a, r))
			return false;
	return true;
}

static void lower_node(struct emit *e, const struct skel_node *n)
{
	if (n->kind == SKEL_LEAF)
		lower_leaf(e, n);
	else if (n->kind == SKEL_LOOP)
		lower_loop(e, n);
	else
		lower_children(e, n);
}

/* Child i, and those after it that happen on the same ranks at the same executions: the one after them. */
static uint32_t lower_together(struct emit *e, const struct skel_node *n, uint32_t i)
{
	const struct skel_node *first = n->child[i];
	struct lower_when when, next = {.n = 0};
	bool same = true;

	if (lower_when_open(e, first, &when) != 0) {
		e->no_memory = true;
		return i + 1;
	}
	if (!when.conditional) {
		lower_node(e, first);
		return i + 1;
	}
	lower_when_put(e, first, &when, &e->body);
	code_op(&e->body, OPS_IF, 0);
	while (same) {
		lower_node(e, n->child[i++]);
		same = i < n->n_child && same_set(&n->child[i]->ranks, &first->ranks);
		if (same && lower_when_open(e, n->child[i], &next) != 0) {
			e->no_memory = true;
			break;
		}
		same = same && lower_when_same(&when, &next);
		lower_when_close(&next);
	}
	code_op(&e->body, OPS_END, 0);
	lower_when_close(&when);
	return i;
}

static void lower_children(struct emit *e, const struct skel_node *n)
{
	const struct rank_set *before = NULL;
	uint32_t i = 0;

	while (i < n->n_child) {
		const struct rank_set *set = &n->child[i]->ranks;
		bool all = rank_set_count(set) == rank_set_count(&n->ranks);

		if (before != NULL && complementary(before, set, &n->ranks)) {
			code_op(&e->body, OPS_ELSE, 0);
			before = NULL;
		} else if (!all) {
			lower_rank_set(e, set, &e->body);
			code_op(&e->body, OPS_IF, 0);
			before = set;
		} else {
			before = NULL;
		}
		do
			i = lower_together(e, n, i);
		while (i < n->n_child && same_set(&n->child[i]->ranks, set));
		if (!all)
			code_op(&e->body, OPS_END, 0);
	}
}

/* How late each rank enters each piece, us. */
static void put_late(struct emit *e)
{
	const struct pieces *p = e->pieces;
	size_t n = (size_t)p->n * e->tree->n_ranks;
	int64_t *us = p->late_ns != NULL ? calloc(n + 1, sizeof *us) : NULL;

	if (us == NULL) {
		e->no_memory |= p->late_ns != NULL;
		return;
	}
	for (size_t i = 0; i < n; i++)
		us[i] = llround(fmin(p->late_ns[i] * 1e-3, INT32_MAX));
	code_int(&e->body, emit_data_array(e->data, us, (uint32_t)n));
	code_do(&e->body, "skel_late");
	free(us);
}

/* Kinds, traced times (us) and weights of the pieces. */
static void put_pieces(struct emit *e)
{
	const struct pieces *p = e->pieces;
	int64_t *kind = calloc(p->n + 1u, sizeof *kind), *us = calloc(p->n + 1u, sizeof *us);
	int64_t *weight = calloc(p->n + 1u, sizeof *weight);

	if (kind == NULL || us == NULL || weight == NULL) {
		e->no_memory = true;
		goto done;
	}
	for (uint32_t i = 0; i < p->n; i++) {
		kind[i] = p->kind[i];
		us[i] = llround(fmin(p->ns[i] * 1e-3, INT32_MAX));
		weight[i] = piece_weight_bits(p->weight[i]);
	}
	code_comment(&e->body, "%u pieces of the run, of %u kinds.", p->n, p->n_kind);
	code_int(&e->body, emit_data_array(e->data, kind, p->n));
	code_int(&e->body, emit_data_array(e->data, us, p->n));
	code_int(&e->body, emit_data_array(e->data, weight, p->n));
	code_real(&e->body, p->most, 6);
	code_do(&e->body, "skel_pieces");
	put_late(e);
	if (p->left_ns > 0) {
		code_real(&e->body, p->left_ns, 0);
		code_do(&e->body, "skel_left_out");
	}
done:
	free(kind);
	free(us);
	free(weight);
}

int lower_tree(struct emit *e)
{
	if (lower_io_prepare(e) != 0 || lower_gap_prepare(e) != 0)
		return -1;
	if (e->pieces != NULL)
		put_pieces(e);
	if (skel_plan_shares_gaps(e->plan)) {
		code_comment(&e->body, "Of what takes longer than %g s, %.3g %% runs.", e->plan->gap_least_ns * 1e-9,
			     100 * e->plan->gap_share);
		code_int(&e->body, (int64_t)code_rounded(e->plan->gap_least_ns, 0));
		code_real(&e->body, e->plan->gap_share, 6);
		code_do(&e->body, "skel_share");
	}
	if (e->io_unknown > 0) {
		code_int(&e->body, e->io_unknown);
		code_do(&e->body, "skel_files_unknown");
	}
	lower_children(e, e->tree->root);
	return e->no_memory || e->body.failed || e->notes.failed ? -1 : 0;
}
