/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the tree and writes statements. Neighbours with the same rank set share one condition. */
#include "skelgen/emit/tree.h"

#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/call.h"
#include "skelgen/emit/turns.h"
#include "skelgen/plan/gap_sampling.h"
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
static void put_lost(struct leaf_ctx *c, const char *where, const char *why, int depth)
{
	struct emit *e = c->e;

	emit_gap(e, c->leaf, true, depth);
	text_put(&e->notes, "  %s: %s; its time is computed away\n", where, why);
	text_line(&e->body, depth, "/* %s: not reproduced (%s) */", where, why);
	e->lost_ns += e->times->node_ns[c->leaf->id];
}

static void put_statement(struct leaf_ctx *c, const char *call, const char *where, int depth)
{
	struct emit *e = c->e;

	text_line(&e->body, depth, "/* %s */", where);
	if (c->n_col == 0) {
		text_put_statement(&e->body, depth, call);
		return;
	}
	text_line(&e->body, depth, "{");
	text_line(&e->body, depth + 1, "const int64_t *v = skel_values(%u);", leaf_ctx_store(c));
	text_line(&e->body, 0, "%s", "");
	text_put_statement(&e->body, depth + 1, call);
	text_line(&e->body, depth, "}");
}

/* if (!CALL) { the delay } */
static void put_io_or_delay(struct leaf_ctx *c, const char *call, int depth)
{
	struct emit *e = c->e;
	size_t before;

	text_put_broken(&e->body, depth, call, ") {");
	before = e->body.len;
	emit_delay(e, c->leaf, emit_io_meets(c->leaf), depth + 1);
	if (e->body.len == before)
		text_line(&e->body, depth + 1, "skel_delay(0);");
	text_line(&e->body, depth, "}");
}

static void put_io(struct leaf_ctx *c, const char *where, int depth)
{
	struct text call = {.len = 0};
	struct emit *e = c->e;
	enum io_call does;

	text_put(&call, "if (!");
	does = emit_io_call(c, &call);
	if (does == IO_MEETS)
		put_statement(c, text_get(&call) + strlen("if (!"), where, depth);
	else
		text_line(&e->body, depth, "/* %s */", where);
	if (does != IO_MAKES) {
		emit_delay(e, c->leaf, emit_io_meets(c->leaf), depth);
	} else if (c->n_col == 0) {
		put_io_or_delay(c, text_get(&call), depth);
	} else {
		text_line(&e->body, depth, "{");
		text_line(&e->body, depth + 1, "const int64_t *v = skel_values(%u);", leaf_ctx_store(c));
		text_line(&e->body, 0, "%s", "");
		put_io_or_delay(c, text_get(&call), depth + 1);
		text_line(&e->body, depth, "}");
	}
	e->no_memory |= call.failed;
	text_free(&call);
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
static void put_meeting(struct emit *e, const struct skel_node *leaf, int depth)
{
	e->clocks_apart |= skel_plan_shares_gaps(e->plan) && clocks_part(e, leaf);
	if (!e->clocks_apart || e->plan->meets[leaf->id] != SKEL_MEETS_HERE)
		return;
	text_line(&e->body, depth, "skel_meet(MPI_COMM_WORLD);");
	e->clocks_apart = false;
}

static void emit_leaf(struct emit *e, const struct skel_node *leaf, int depth)
{
	struct text call = {.len = 0}, where = {.len = 0}, named = {.len = 0};
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
	if (emit_is_io(e, leaf)) {
		emit_gap(e, leaf, false, depth);
		put_io(&c, text_get(&named), depth);
		goto done;
	}
	rv = emit_call(&c, &call, &why);
	if (rv < 0) {
		put_lost(&c, text_get(&named), why, depth);
		goto done;
	}
	if (trace_fn[leaf->fn].cls != TC_INIT)
		emit_gap(e, leaf, false, depth);
	put_meeting(e, leaf, depth);
	if (rv > 0)
		put_statement(&c, text_get(&call), text_get(&where), depth);
	else if (trace_fn[leaf->fn].cls != TC_INIT && trace_fn[leaf->fn].cls != TC_FINALIZE)
		text_line(&e->body, depth, "/* %s */", text_get(&named));
done:
	e->no_memory |= call.failed || where.failed || named.failed;
	text_free(&call);
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

static void put_count(struct emit *e, const struct skel_node *loop, struct text *out)
{
	uint32_t n = rank_set_count(&loop->ranks), i = 0;
	int64_t *count = calloc(n + 1u, sizeof *count);

	if (count == NULL) {
		e->no_memory = true;
		return;
	}
	for (uint32_t r = rank_set_first(&loop->ranks); r != UINT32_MAX; r = rank_set_next(&loop->ranks, r), i++)
		count[i] = (int64_t)skel_loop_count(e->tree, loop, r, i);
	emit_rank_value(e, &loop->ranks, count, out);
	free(count);
}

static void emit_children(struct emit *e, const struct skel_node *n, int depth);

static void emit_loop(struct emit *e, const struct skel_node *loop, int depth)
{
	const struct skel_cut *cut = &e->plan->cut[loop->id];
	struct text count = {.len = 0}, turns = {.len = 0};

	e->clocks_apart |= skel_plan_shares_gaps(e->plan) && clocks_part(e, loop); /* from the iteration before */
	if (cut->run != cut->total) {
		text_line(&e->body, depth, "/* %s%llu iterations, of which %llu run%s: %.3g %% of the time */",
			  cut->varies ? "up to " : "", (unsigned long long)cut->total, (unsigned long long)cut->run,
			  cut->windows != NULL ? " in windows" : "",
			  e->times->node_ns[e->tree->root->id] > 0 ?
				  100 * e->times->node_ns[loop->id] / e->times->node_ns[e->tree->root->id] :
				  0.0);
		if (emit_turns_vary(e, loop)) {
			emit_turns_put(e, loop, &turns);
			text_line(&e->body, depth, "for (skel_loop_part(%u, %llu, %s, %llu); skel_next(%u);) {", e->n_loop,
				  (unsigned long long)cut->total, text_get(&turns), (unsigned long long)cut->run, e->n_loop);
		} else {
			text_line(&e->body, depth, "for (%s(%u, %llu, %llu); skel_next(%u);) {",
			  cut->consecutive ? "skel_loop_first" : "skel_loop", e->n_loop,
			  (unsigned long long)cut->total, (unsigned long long)cut->run, e->n_loop);
		}
		if (cut->windows != NULL)
			emit_data_windows(e->data, e->n_loop, cut->windows);
		e->n_loop++;
	} else if (emit_turns_vary(e, loop)) {
		put_count(e, loop, &count);
		emit_turns_put(e, loop, &turns);
		text_line(&e->body, depth, "for (skel_loop_some(%u, %s, %s); skel_next(%u);) {", e->n_loop, text_get(&count),
			  text_get(&turns), e->n_loop);
		e->n_loop++;
	} else {
		put_count(e, loop, &count);
		if (needs_position(e, loop) || contains_cut(e, loop)) {
			text_line(&e->body, depth, "for (skel_loop(%u, %s, SKEL_ALL); skel_next(%u);) {", e->n_loop,
				  text_get(&count), e->n_loop);
			e->n_loop++;
		} else {
			text_line(&e->body, depth, "for (long i%d = 0; i%d < %s; i%d++) {", depth, depth,
				  text_get(&count), depth);
		}
	}
	emit_children(e, loop, depth + 1);
	text_line(&e->body, depth, "}");
	e->no_memory |= count.failed || turns.failed;
	text_free(&count);
	text_free(&turns);
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

static void emit_node(struct emit *e, const struct skel_node *n, int depth)
{
	if (n->kind == SKEL_LEAF)
		emit_leaf(e, n, depth);
	else if (n->kind == SKEL_LOOP)
		emit_loop(e, n, depth);
	else
		emit_children(e, n, depth);
}

/* Child i, and those after it that happen on the same ranks at the same executions: the one after them. */
static uint32_t emit_together(struct emit *e, const struct skel_node *n, uint32_t i, int depth)
{
	const struct skel_node *first = n->child[i];
	struct text condition = {.len = 0};
	struct emit_when when, next = {.n = 0};
	bool same = true;

	if (emit_when_open(e, first, &when) != 0) {
		e->no_memory = true;
		return i + 1;
	}
	if (!when.conditional) {
		emit_node(e, first, depth);
		return i + 1;
	}
	emit_when_put(e, first, &when, &condition);
	text_line(&e->body, depth, "if (%s) {", text_get(&condition));
	while (same) {
		emit_node(e, n->child[i++], depth + 1);
		same = i < n->n_child && same_set(&n->child[i]->ranks, &first->ranks);
		if (same && emit_when_open(e, n->child[i], &next) != 0) {
			e->no_memory = true;
			break;
		}
		same = same && emit_when_same(&when, &next);
		emit_when_close(&next);
	}
	text_line(&e->body, depth, "}");
	e->no_memory |= condition.failed;
	text_free(&condition);
	emit_when_close(&when);
	return i;
}

static void emit_children(struct emit *e, const struct skel_node *n, int depth)
{
	const struct rank_set *before = NULL;
	uint32_t i = 0;

	while (i < n->n_child) {
		const struct rank_set *set = &n->child[i]->ranks;
		bool all = rank_set_count(set) == rank_set_count(&n->ranks);
		struct text condition = {.len = 0};

		if (before != NULL && complementary(before, set, &n->ranks)) {
			e->body.len -= 1; /* the newline after the brace */
			text_put(&e->body, " else {\n");
			before = NULL;
		} else if (!all) {
			emit_rank_set(e, set, &condition);
			text_line(&e->body, depth, "if (%s) {", text_get(&condition));
			before = set;
		} else {
			before = NULL;
		}
		do
			i = emit_together(e, n, i, depth + !all);
		while (i < n->n_child && same_set(&n->child[i]->ranks, set));
		if (!all)
			text_line(&e->body, depth, "}");
		text_free(&condition);
	}
}

int emit_tree(struct emit *e)
{
	if (emit_io_prepare(e) != 0)
		return -1;
	if (skel_plan_shares_gaps(e->plan)) {
		text_line(&e->body, 1, "/* Of what takes longer than %g s, %.3g %% runs. */", e->plan->gap_least_ns * 1e-9, 100 * e->plan->gap_share);
		text_line(&e->body, 1, "skel_share(%.0f, %.6f);", e->plan->gap_least_ns, e->plan->gap_share);
	}
	if (e->io_unknown > 0)
		text_line(&e->body, 1, "skel_files_unknown(%u);", e->io_unknown);
	emit_children(e, e->tree->root, 1);
	return e->no_memory || e->body.failed || e->decl.failed || e->notes.failed ? -1 : 0;
}
