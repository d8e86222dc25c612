/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Proof that a merged tree is the trace. First the form of the tree is checked. Then every rank is expanded and compared
 * with the recorded events. Above HASH_ABOVE events, the polynomial hash of the stream is compared instead, computed on
 * both folded forms (loops by doubling). The proof shares no code with the construction of the tree.
 *
 * The folded form itself is compared with the hash that the recorder took of the calls as they were made.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/tree/tree.h"
#include "skelgen/merge/verify.h"
#include "trace/functions.h"

#define HASH_ABOVE 100000000ull

struct verify {
	const struct skel_tree *tree;
	struct errbuf *err;
	uint32_t n_node, n_leaf; /* met so far */
};

/* ---- form ---- */

static int check_rank_set(struct verify *v, const struct skel_node *n)
{
	uint32_t next = 0;

	for (uint32_t i = 0; i < n->ranks.n; i++) {
		const struct rank_interval *iv = &n->ranks.iv[i];

		if (!iv->stride || iv->first < next || iv->last < iv->first || iv->last >= v->tree->n_ranks ||
		    (iv->last - iv->first) % iv->stride)
			return err_set(v->err, "node %u: malformed set of ranks", n->id);
		next = iv->last + 1;
	}
	if (!n->ranks.n)
		return err_set(v->err, "node %u: no rank executes it", n->id);
	for (uint32_t r = rank_set_first(&n->ranks); n->parent && r != UINT32_MAX; r = rank_set_next(&n->ranks, r))
		if (!rank_set_has(&n->parent->ranks, r))
			return err_set(v->err, "node %u: rank %u is not in the node around it", n->id, r);
	return 0;
}

static int check_leaf_rank(struct verify *v, const struct skel_node *n, uint32_t rank, const struct skel_leaf_rank *lr)
{
	const struct sigtable *sigs = &trace_get_rank(v->tree->trace, rank)->defs.sigs;
	uint64_t end = 0;

	if (!lr->n_variant || !lr->n_run || !lr->n_occ)
		return err_set(v->err, "leaf %u, rank %u: it has no executions", n->leaf_id, rank);
	if (lr->optional && (lr->n_variant < 2 || lr->variant[lr->n_variant - 1] != SKEL_NOTHING))
		return err_set(v->err, "leaf %u, rank %u: malformed variants", n->leaf_id, rank);
	for (uint32_t i = 0; i < lr->n_variant - lr->optional; i++) {
		if (lr->variant[i] >= sigs->n || sigs->sig[lr->variant[i]].fn != n->fn)
			return err_set(v->err, "leaf %u, rank %u: symbol %u is not a call of %s", n->leaf_id, rank,
				       lr->variant[i], trace_fn[n->fn].name);
	}
	for (uint32_t i = 0; i < lr->n_run; i++) {
		if (lr->run_variant[i] >= lr->n_variant || lr->run_end[i] <= end)
			return err_set(v->err, "leaf %u, rank %u: malformed run %u", n->leaf_id, rank, i);
		end = lr->run_end[i];
	}
	if (end != lr->n_occ)
		return err_set(v->err, "leaf %u, rank %u: runs of %llu executions, expected %llu", n->leaf_id, rank,
			       (unsigned long long)end, (unsigned long long)lr->n_occ);
	return 0;
}

/* Fitted parameters of one variant against its recorded values. */
static int check_values(struct verify *v, const struct skel_node *n, uint32_t rank, uint32_t index, uint32_t sym)
{
	struct sig_walk w;
	uint32_t i = 0;

	sig_walk_begin(&w, &trace_get_rank(v->tree->trace, rank)->defs, sym);
	for (; sig_walk_next(&w); i++) {
		const struct skel_param *p = &n->param[i];

		if (!p->fitted || !p->fn)
			continue;
		if (p->n != w.n)
			return err_set(v->err, "leaf %u (%s), rank %u: %s has %u elements, expected %u", n->leaf_id,
				       trace_fn[n->fn].name, rank, w.name, p->n, w.n);
		for (uint32_t k = 0; k < p->n; k++) {
			int64_t got = skel_param_value(v->tree, n, i, k, rank, index);

			if (got != w.val[k])
				return err_set(v->err, "leaf %u (%s), rank %u: %s is %lld, expected %lld", n->leaf_id,
					       trace_fn[n->fn].name, rank, w.name, (long long)got,
					       (long long)w.val[k]);
		}
	}
	return 0;
}

static int check_leaf(struct verify *v, const struct skel_node *n)
{
	uint32_t index = 0;

	if (n->leaf_id != v->n_leaf || n->leaf_id >= v->tree->n_leaf || v->tree->leaf[n->leaf_id] != n)
		return err_set(v->err, "leaf %u is out of order", n->leaf_id);
	v->n_leaf++;
	if (n->fn >= TRACE_FN_N || n->n_param != trace_fn[n->fn].n_param)
		return err_set(v->err, "leaf %u: no such function", n->leaf_id);
	for (uint32_t r = rank_set_first(&n->ranks); r != UINT32_MAX; r = rank_set_next(&n->ranks, r), index++) {
		const struct skel_leaf_rank *lr = &n->by_rank[index];

		if (check_leaf_rank(v, n, r, lr) < 0)
			return -1;
		for (uint32_t i = 0; i < lr->n_variant - lr->optional; i++)
			if (check_values(v, n, r, index, lr->variant[i]) < 0)
				return -1;
	}
	return 0;
}

static int check_loop(struct verify *v, const struct skel_node *n)
{
	uint32_t index = 0;

	for (uint32_t r = rank_set_first(&n->ranks); r != UINT32_MAX; r = rank_set_next(&n->ranks, r), index++) {
		bool any = false;

		for (uint32_t i = 0; i < n->n_child && !any; i++)
			any = rank_set_has(&n->child[i]->ranks, r);
		if (!any)
			return err_set(v->err, "loop %u does nothing on rank %u", n->id, r);
		if ((int64_t)skel_loop_count(v->tree, n, r, index) < 1)
			return err_set(v->err, "loop %u has no iterations on rank %u", n->id, r);
	}
	return 0;
}

static int check_form(struct verify *v, const struct skel_node *n, const struct skel_node *parent, int depth)
{
	if (depth >= SKEL_MAX_DEPTH)
		return err_set(v->err, "node %u: nested more than %d deep", n->id, SKEL_MAX_DEPTH);
	if (n->id != v->n_node++ || n->parent != parent || n->kind > SKEL_SEQ)
		return err_set(v->err, "node %u is out of order", n->id);
	if (check_rank_set(v, n) < 0)
		return -1;
	if (n->kind == SKEL_LEAF)
		return check_leaf(v, n);
	for (uint32_t i = 0; i < n->n_child; i++)
		if (check_form(v, n->child[i], n, depth + 1) < 0)
			return -1;
	return n->kind == SKEL_LOOP ? check_loop(v, n) : 0;
}

/* ---- executions ---- */

/* Of n executions, each of at most `count` iterations. */
static int check_turns(struct verify *v, const struct skel_node *n, uint32_t rank, const struct skel_turns *t, uint64_t all,
		       uint64_t count)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < t->n_run; i++) {
		if (t->run_end[i] <= end || t->run_turns[i] > count)
			return err_set(v->err, "loop %u, rank %u: malformed run %u of iterations", n->id, rank, i);
		end = t->run_end[i];
	}
	if (t->n_run && end != all)
		return err_set(v->err, "loop %u, rank %u: runs of %llu executions, expected %llu", n->id, rank,
			       (unsigned long long)end, (unsigned long long)all);
	return 0;
}

/* Executions of every leaf, from the counts around it. */
static int check_executions(struct verify *v, const struct skel_iter *it, const struct skel_node *n, uint64_t times)
{
	uint32_t index = it->index[n->id];
	uint64_t before = times;

	if (index == UINT32_MAX)
		return 0;
	if (n->kind == SKEL_LOOP && __builtin_mul_overflow(times, skel_loop_count(it->tree, n, it->rank, index), &times))
		return err_set(v->err, "rank %u: loop %u iterates too often", it->rank, n->id);
	if (n->kind == SKEL_LEAF && n->by_rank[index].n_occ != times)
		return err_set(v->err, "rank %u: leaf %u is executed %llu times, expected %llu", it->rank, n->leaf_id,
			       (unsigned long long)times, (unsigned long long)n->by_rank[index].n_occ);
	if (n->turns && check_turns(v, n, it->rank, &n->turns[index], before, times / before) < 0)
		return -1;
	for (uint32_t i = 0; i < n->n_child; i++)
		if (check_executions(v, it, n->child[i], times) < 0)
			return -1;
	return 0;
}

/* ---- expansion ---- */

static const char *call_name(const struct skel_tree *t, uint32_t rank, uint32_t sym)
{
	const struct sigtable *s = &trace_get_rank(t->trace, rank)->defs.sigs;

	return sym < s->n ? trace_fn[s->sig[sym].fn].name : "?";
}

static int differ(struct verify *v, uint32_t rank, uint64_t event, uint32_t expected, uint32_t got)
{
	return err_set(v->err, "rank %u, event %llu: the tree has %s (symbol %u), the trace %s (symbol %u)", rank,
		       (unsigned long long)event, call_name(v->tree, rank, got), got,
		       call_name(v->tree, rank, expected), expected);
}

static int compare_streams(struct verify *v, struct skel_iter *it, uint64_t *n)
{
	const struct skel_tree *t = v->tree;
	const struct skel_node *leaf;
	struct folded_iter events;
	uint32_t sym, got, index;
	uint64_t occ;

	folded_begin(&events, &trace_get_rank(t->trace, it->rank)->events);
	for (*n = 0; folded_next(&events, &sym); ++*n) {
		if (skel_iter_next(it, &leaf, &occ, &index) != 1)
			return err_set(v->err, "rank %u, event %llu: the tree ends, the trace has %s (symbol %u)",
				       it->rank, (unsigned long long)*n, call_name(t, it->rank, sym), sym);
		if (occ >= leaf->by_rank[index].n_occ)
			return err_set(v->err, "rank %u, event %llu: leaf %u is executed more than %llu times",
				       it->rank, (unsigned long long)*n, leaf->leaf_id, (unsigned long long)occ);
		got = skel_leaf_symbol(&leaf->by_rank[index], occ);
		if (got != sym)
			return differ(v, it->rank, *n, sym, got);
	}
	if (skel_iter_next(it, &leaf, &occ, &index) != 0)
		return err_set(v->err, "rank %u: the trace ends after %llu events, the tree goes on", it->rank,
			       (unsigned long long)*n);
	return 0;
}

static int expand_rank(struct verify *v, uint32_t rank, uint64_t *n)
{
	struct skel_iter it;
	int rv;

	if (skel_iter_begin(&it, v->tree, rank) < 0)
		return err_set(v->err, "no memory to walk %u nodes", v->tree->n_node);
	rv = check_executions(v, &it, v->tree->root, 1);
	if (rv == 0)
		rv = compare_streams(v, &it, n);
	skel_iter_end(&it);
	return rv;
}

/* ---- hash ---- */

/* A string: its hash, BASE to its length, and the length. */
struct span {
	uint64_t hash, power, n;
};

static const struct span empty_span = {0, 1, 0};

static struct span span_of(uint32_t sym)
{
	return (struct span){(uint64_t)sym + 1, TRACE_HASH_BASE % TRACE_HASH_MOD, 1};
}

static struct span span_join(struct span a, struct span b)
{
	uint64_t h = trace_hash_mulmod(a.hash, b.power) + b.hash;

	if (h >= TRACE_HASH_MOD)
		h -= TRACE_HASH_MOD;
	return (struct span){h, trace_hash_mulmod(a.power, b.power), a.n + b.n};
}

static struct span span_repeat(struct span s, uint64_t times)
{
	struct span r = empty_span;

	for (; times; times >>= 1) {
		if (times & 1)
			r = span_join(r, s);
		s = span_join(s, s);
	}
	return r;
}

static struct span span_of_sequence(const struct folded *f, const struct span *body, uint32_t b)
{
	struct folded_items items = folded_items(f, b);
	struct span s = empty_span;
	struct fold_item item;

	while (folded_items_next(&items, &item))
		s = span_join(s, span_repeat(item.key & FOLD_BODY ? body[item.key & ~FOLD_BODY] : span_of(item.key), item.count));
	return s;
}

static int span_of_folded(const struct folded *f, struct span *out)
{
	struct span *body = calloc(f->n_body + 1u, sizeof(*body));

	if (!body)
		return -1;
	for (uint32_t b = 0; b <= f->n_body; b++)
		body[b] = span_of_sequence(f, body, b);
	*out = body[f->n_body];
	free(body);
	return 0;
}

struct hasher {
	const struct skel_tree *tree;
	uint32_t rank;
	uint32_t *index;  /* of the rank, by node */
	bool *steady;     /* by node: the same string at every execution */
	struct span *memo;
	bool *known;
};

static bool find_steady(struct hasher *h, const struct skel_node *n)
{
	bool steady = true;

	if (h->index[n->id] == UINT32_MAX)
		return true;
	if (n->kind == SKEL_LEAF)
		steady = n->by_rank[h->index[n->id]].n_run == 1;
	if (n->turns)
		steady = n->turns[h->index[n->id]].n_run == 0;
	for (uint32_t i = 0; i < n->n_child; i++)
		steady &= find_steady(h, n->child[i]);
	h->steady[n->id] = steady;
	return steady;
}

/* The string of execution number e of a node. */
static struct span span_of_node(struct hasher *h, const struct skel_node *n, uint64_t e)
{
	struct span s = empty_span;
	uint32_t index = h->index[n->id];
	uint64_t count, turns;

	if (index == UINT32_MAX)
		return s;
	if (h->known[n->id])
		return h->memo[n->id];
	if (n->kind == SKEL_LEAF) {
		const struct skel_leaf_rank *lr = &n->by_rank[index];
		uint32_t sym = e < lr->n_occ ? skel_leaf_symbol(lr, e) : SKEL_NOTHING;

		s = sym != SKEL_NOTHING ? span_of(sym) : s;
	} else {
		count = n->kind == SKEL_LOOP ? skel_loop_count(h->tree, n, h->rank, index) : 1;
		turns = skel_loop_turns(n, index, count, e);
		for (uint64_t k = 0; k < (h->steady[n->id] ? 1 : turns); k++)
			for (uint32_t i = 0; i < n->n_child; i++)
				s = span_join(s, span_of_node(h, n->child[i], e * count + k));
		if (h->steady[n->id])
			s = span_repeat(s, count);
	}
	if (h->steady[n->id]) {
		h->known[n->id] = true;
		h->memo[n->id] = s;
	}
	return s;
}

static int hash_rank(struct verify *v, uint32_t rank, uint64_t *n)
{
	const struct skel_tree *t = v->tree;
	struct hasher h = {.tree = t, .rank = rank};
	struct skel_iter it;
	struct span got, expected;
	int rv = -1;

	if (skel_iter_begin(&it, t, rank) < 0)
		return err_set(v->err, "no memory to walk %u nodes", t->n_node);
	h.index = it.index;
	h.steady = calloc(t->n_node + 1u, sizeof(*h.steady));
	h.known = calloc(t->n_node + 1u, sizeof(*h.known));
	h.memo = calloc(t->n_node + 1u, sizeof(*h.memo));
	if (!h.steady || !h.known || !h.memo || span_of_folded(&trace_get_rank(t->trace, rank)->events, &expected) < 0) {
		err_set(v->err, "no memory to walk %u nodes", t->n_node);
		goto out;
	}
	if (check_executions(v, &it, t->root, 1) < 0)
		goto out;
	find_steady(&h, t->root);
	got = span_of_node(&h, t->root, 0);
	if (got.n != expected.n || got.hash != expected.hash) {
		err_set(v->err, "rank %u: the tree has %llu events (hash %016llx), the trace %llu (hash %016llx)", rank,
			(unsigned long long)got.n, (unsigned long long)got.hash, (unsigned long long)expected.n,
			(unsigned long long)expected.hash);
		goto out;
	}
	*n = got.n;
	rv = 0;
out:
	free(h.steady);
	free(h.known);
	free(h.memo);
	skel_iter_end(&it);
	return rv;
}

/* ---- all ranks ---- */

static int verify_tree(const struct skel_tree *tree, bool by_hash, struct skel_verify_report *rep, struct errbuf *err)
{
	struct verify v = {.tree = tree, .err = err};
	struct skel_verify_report r = {0};

	if (!tree->root || tree->root->kind != SKEL_SEQ || rank_set_count(&tree->root->ranks) != tree->n_ranks ||
	    tree->n_ranks != trace_n_ranks(tree->trace))
		return err_set(err, "the tree does not stand for all ranks");
	if (check_form(&v, tree->root, NULL, 0) < 0)
		return -1;
	if (v.n_node != tree->n_node || v.n_leaf != tree->n_leaf)
		return err_set(err, "the tree has %u nodes, expected %u", v.n_node, tree->n_node);
	for (uint32_t rank = 0; rank < tree->n_ranks; rank++) {
		uint64_t n = 0;

		if ((by_hash ? hash_rank(&v, rank, &n) : expand_rank(&v, rank, &n)) < 0)
			return -1;
		r.events += n;
		r.ranks++;
	}
	r.length = skel_tree_length(tree);
	if (rep)
		*rep = r;
	return 0;
}

int skel_verify_folded(const struct trace *t, struct skel_verify_report *rep, struct errbuf *err)
{
	*rep = (struct skel_verify_report){.ranks = trace_n_ranks(t)};
	for (uint32_t r = 0; r < rep->ranks; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		struct span s;

		if (!k->present || k->events.length == 0)
			return err_set(err, "the trace has no events of rank %u", r);
		if (span_of_folded(&k->events, &s) < 0)
			return err_set(err, "no memory to expand %u bodies of loops", k->events.n_body);
		if (s.n != k->events.length || s.hash != k->events.hash)
			return err_set(err, "rank %u: the trace has %llu calls (hash %016llx), the run had %llu (hash %016llx)", r,
				       (unsigned long long)s.n, (unsigned long long)s.hash, (unsigned long long)k->events.length,
				       (unsigned long long)k->events.hash);
		rep->events += s.n;
		rep->length += k->events.n_item;
	}
	return 0;
}

int skel_verify(const struct skel_tree *tree, struct skel_verify_report *rep, struct errbuf *err)
{
	uint64_t events = 0;

	for (uint32_t r = 0; r < trace_n_ranks(tree->trace); r++)
		events += trace_get_rank(tree->trace, r)->events.length;
	return verify_tree(tree, events > HASH_ABOVE, rep, err);
}

int skel_verify_by_hash(const struct skel_tree *tree, struct skel_verify_report *rep, struct errbuf *err)
{
	return verify_tree(tree, true, rep, err);
}
