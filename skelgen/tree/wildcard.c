/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Follows request slots through each rank's run and notes what its wildcard receives got. */
#include "skelgen/tree/wildcard.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

static const int64_t *scalar_place(const struct trace_defs *d, uint32_t sym, uint8_t kind)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		if (w.kind == kind && w.n == 1)
			return w.val;
	return NULL;
}

static bool has_kind(uint16_t fn, uint8_t kind)
{
	for (uint32_t i = 0; i < trace_fn[fn].n_param; i++)
		if (trace_fn[fn].param[i].kind == kind)
			return true;
	return false;
}

const int64_t *call_request_slots(const struct trace_defs *d, uint32_t sym, uint32_t *n)
{
	uint16_t fn = d->sigs.sig[sym].fn;
	const int64_t *v;

	if (has_kind(fn, TK_REQS))
		return call_array(d, sym, TK_REQS, 0, n);
	v = scalar_place(d, sym, TK_REQ);
	*n = v != NULL && *v != TRACE_NULL;
	return *n ? v : NULL;
}

const int64_t *call_done_slots(const struct trace_defs *d, uint32_t sym, uint32_t *n)
{
	if (has_kind(d->sigs.sig[sym].fn, TK_DONE))
		return call_array(d, sym, TK_DONE, 0, n);
	return call_request_slots(d, sym, n);
}

static bool is_wild_irecv(const struct trace_defs *d, uint32_t sym)
{
	if (trace_fn[d->sigs.sig[sym].fn].cls != TC_IRECV || strstr(call_name(d, sym), "_init") != NULL)
		return false;
	return call_scalar(d, sym, TK_SRC, 0, TRACE_NULL + 100) == TRACE_ANY_SOURCE ||
	       call_scalar(d, sym, TK_TAG, 0, TRACE_NULL + 100) == TRACE_ANY_TAG;
}

/* Does the leaf start wildcard receives on any rank? */
static bool leaf_is_wild(const struct skel_tree *tree, const struct skel_node *leaf)
{
	uint32_t index = 0;

	if (trace_fn[leaf->fn].cls != TC_IRECV)
		return false;
	for (uint32_t r = rank_set_first(&leaf->ranks); r != UINT32_MAX; r = rank_set_next(&leaf->ranks, r), index++)
		for (uint32_t v = 0; v < leaf->by_rank[index].n_variant; v++)
			if (leaf->by_rank[index].variant[v] != SKEL_NOTHING &&
			    is_wild_irecv(skel_defs(tree, r), leaf->by_rank[index].variant[v]))
				return true;
	return false;
}

/* ---- one rank ---- */

/* What was started in a slot and waits to be completed: an execution of a wildcard leaf. */
struct open_slot {
	struct wildcard_runs *runs;
	uint64_t occ;
};

struct follower {
	const struct skel_tree *tree;
	struct skel_wildcards *wild;
	struct open_slot *slot;
	uint32_t n_slot;
	/* Executions of the same leaf may complete out of order: values by execution until the end of the rank. */
	struct pending {
		struct wildcard_runs *runs;
		uint64_t occ;
		int64_t source, tag;
	} *pending;
	uint64_t n_pending, cap_pending;
};

static int slot_set(struct follower *f, int64_t slot, struct wildcard_runs *runs, uint64_t occ)
{
	if (slot < 0 || slot > 1 << 26)
		return 0;
	if (ARRAY_ROOM_ZEROED(f->slot, f->n_slot, (size_t)slot + 1) != 0)
		return -1;
	f->slot[slot] = (struct open_slot){runs, occ};
	return 0;
}

static int pending_add(struct follower *f, struct wildcard_runs *runs, uint64_t occ, int64_t source, int64_t tag)
{
	if (ARRAY_ROOM(f->pending, f->cap_pending, f->n_pending + 1) != 0)
		return -1;
	f->pending[f->n_pending++] = (struct pending){runs, occ, source, tag};
	return 0;
}

/* The call completed slots: note what their wildcard receives got. */
static int complete_slots(struct follower *f, const struct trace_defs *d, uint32_t sym)
{
	uint32_t n, n_src, n_tag;
	const int64_t *done = call_done_slots(d, sym, &n);
	const int64_t *src = call_array(d, sym, TK_ASRCS, 0, &n_src), *tag = call_array(d, sym, TK_ATAGS, 0, &n_tag);
	const int64_t *one_src = scalar_place(d, sym, TK_ASRC), *one_tag = scalar_place(d, sym, TK_ATAG);

	for (uint32_t i = 0; i < n; i++) {
		struct open_slot *s;
		int64_t source = i < n_src ? src[i] : n == 1 && one_src != NULL ? *one_src : TRACE_NULL;
		int64_t t = i < n_tag ? tag[i] : n == 1 && one_tag != NULL ? *one_tag : TRACE_NULL;

		if (done[i] < 0 || done[i] >= f->n_slot)
			continue;
		s = &f->slot[done[i]];
		if (s->runs != NULL && pending_add(f, s->runs, s->occ, source, t) != 0)
			return -1;
		s->runs = NULL;
	}
	return 0;
}

static int follow_event(struct follower *f, const struct skel_node *leaf, uint64_t occ, uint32_t index,
			const struct trace_defs *d, uint32_t sym)
{
	int64_t slot = call_scalar(d, sym, TK_NEWREQ, 0, TRACE_NULL);

	if (trace_fn[leaf->fn].cls == TC_WAIT && complete_slots(f, d, sym) != 0)
		return -1;
	if (slot == TRACE_NULL)
		return 0;
	if (f->wild->leaf[leaf->leaf_id] != NULL && is_wild_irecv(d, sym)) {
		f->wild->open++;
		return slot_set(f, slot, &f->wild->leaf[leaf->leaf_id][index], occ);
	}
	return slot < f->n_slot ? slot_set(f, slot, NULL, 0) : 0;
}

static int compare_pending(const void *a, const void *b)
{
	const struct pending *x = a, *y = b;

	if (x->runs != y->runs)
		return x->runs < y->runs ? -1 : 1;
	return (x->occ > y->occ) - (x->occ < y->occ);
}

static int runs_append(struct wildcard_runs *w, uint64_t end, int64_t source, int64_t tag)
{
	if (w->n > 0 && w->run[w->n - 1].source == source && w->run[w->n - 1].tag == tag) {
		w->run[w->n - 1].end = end;
		return 0;
	}
	if (ARRAY_ROOM(w->run, w->cap, w->n + 1) != 0)
		return -1;
	w->run[w->n++] = (struct wildcard_run){end, source, tag};
	return 0;
}

/* Executions that nothing completed keep their wildcards. */
static int pending_to_runs(struct follower *f)
{
	if (f->n_pending > 0)
		qsort(f->pending, f->n_pending, sizeof *f->pending, compare_pending);
	for (uint64_t i = 0; i < f->n_pending; i++) {
		struct pending *p = &f->pending[i];
		uint64_t before = p->runs->n > 0 ? p->runs->run[p->runs->n - 1].end : 0;

		if (p->occ > before && runs_append(p->runs, p->occ, TRACE_ANY_SOURCE, TRACE_ANY_TAG) != 0)
			return -1;
		if (runs_append(p->runs, p->occ + 1, p->source != TRACE_NULL ? p->source : TRACE_ANY_SOURCE,
				p->tag != TRACE_NULL ? p->tag : TRACE_ANY_TAG) != 0)
			return -1;
		f->wild->resolved++;
	}
	f->n_pending = 0;
	return 0;
}

static int follow_rank(struct follower *f, uint32_t rank)
{
	const struct trace_defs *d = skel_defs(f->tree, rank);
	const struct skel_node *leaf;
	struct skel_iter it;
	uint64_t occ;
	uint32_t index;
	int rv = 0;

	if (f->n_slot > 0)
		memset(f->slot, 0, f->n_slot * sizeof *f->slot);
	if (skel_iter_begin(&it, f->tree, rank) != 0)
		return -1;
	while (rv == 0 && skel_iter_next(&it, &leaf, &occ, &index))
		rv = follow_event(f, leaf, occ, index, d, skel_leaf_symbol(&leaf->by_rank[index], occ));
	skel_iter_end(&it);
	return rv != 0 ? -1 : pending_to_runs(f);
}

int skel_wildcards_resolve(const struct skel_tree *tree, struct skel_wildcards *out, struct errbuf *err)
{
	struct follower f = {.tree = tree, .wild = out};
	bool any = false;
	int rv = -1;

	memset(out, 0, sizeof *out);
	out->n_leaf = tree->n_leaf;
	out->leaf = calloc(tree->n_leaf + 1u, sizeof *out->leaf);
	out->n_rank = calloc(tree->n_leaf + 1u, sizeof *out->n_rank);
	if (out->leaf == NULL || out->n_rank == NULL)
		goto done;
	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		if (!leaf_is_wild(tree, tree->leaf[i]))
			continue;
		any = true;
		out->n_rank[i] = rank_set_count(&tree->leaf[i]->ranks);
		out->leaf[i] = calloc(out->n_rank[i], sizeof **out->leaf);
		if (out->leaf[i] == NULL)
			goto done;
	}
	for (uint32_t r = 0; any && r < tree->n_ranks; r++)
		if (follow_rank(&f, r) != 0)
			goto done;
	rv = 0;
done:
	free(f.slot);
	free(f.pending);
	if (rv != 0) {
		skel_wildcards_free(out);
		err_set(err, "no memory to follow wildcard receives");
	} else {
		out->open -= out->resolved;
	}
	return rv;
}

void skel_wildcards_free(struct skel_wildcards *w)
{
	for (uint32_t i = 0; w->leaf != NULL && i < w->n_leaf; i++) {
		for (uint32_t k = 0; w->leaf[i] != NULL && k < w->n_rank[i]; k++)
			free(w->leaf[i][k].run);
		free(w->leaf[i]);
	}
	free(w->leaf);
	free(w->n_rank);
	memset(w, 0, sizeof *w);
}

struct call_match skel_call_match(const struct skel_wildcards *w, const struct skel_node *leaf, uint32_t index,
				  uint64_t occ, const struct trace_defs *d, uint32_t sym)
{
	/* The receiving half of a sendrecv has the second tag. */
	uint32_t nth = has_kind(leaf->fn, TK_SRC) && has_kind(leaf->fn, TK_DST);
	struct call_match m = {call_scalar(d, sym, TK_SRC, 0, TRACE_ANY_SOURCE),
			       call_scalar(d, sym, TK_TAG, nth, TRACE_ANY_TAG)};
	int64_t source = call_scalar(d, sym, TK_ASRC, 0, TRACE_NULL), tag = call_scalar(d, sym, TK_ATAG, 0, TRACE_NULL);
	const struct wildcard_runs *runs = w != NULL && w->leaf != NULL ? w->leaf[leaf->leaf_id] : NULL;

	if (runs != NULL && (m.source == TRACE_ANY_SOURCE || m.tag == TRACE_ANY_TAG)) {
		uint32_t lo = 0, hi = runs[index].n;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (runs[index].run[mid].end <= occ)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < runs[index].n) {
			source = runs[index].run[lo].source;
			tag = runs[index].run[lo].tag;
		}
	}
	if (m.source == TRACE_ANY_SOURCE && source >= 0)
		m.source = source;
	if (m.tag == TRACE_ANY_TAG && tag >= 0)
		m.tag = tag;
	return m;
}
