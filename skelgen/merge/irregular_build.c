/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The tree of a stream that was cut into segments. The tree has the nodes before the region, one loop over all
 * segments, and the nodes after the region. The loop's body is the merge of all kinds of segments. See
 * irregular_loops.c.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/merge/irregular_work.h"
#include "skelgen/contract/loop_count_notes.h"
#include "skelgen/contract/tree_grow.h"

struct builder {
	struct finder *f;
	struct tree_grow g;
	struct segment_notes *notes;
	uint32_t cap_note, n_words, n_kind;
	uint32_t vec_base; /* of the counts in the notes that are copied */
};

static int build_node(struct builder *b, struct contract_node node, uint32_t *index)
{
	struct segment_notes *s = b->notes;

	if (tree_grow_node(&b->g, node, index) < 0)
		return -1;
	if (ARRAY_ROOM(s->note, b->cap_note, *index + 1) != 0)
		return -1;
	s->note[*index] = (struct segment_note){0};
	s->n_note = *index + 1;
	return 0;
}

static uint64_t *copy_words(const uint64_t *from, uint32_t n)
{
	uint64_t *p = malloc(n * sizeof(*p));

	if (p)
		memcpy(p, from, n * sizeof(*p));
	return p;
}

/* Notes of an earlier region go along with its nodes. */
static int copy_note(struct builder *b, const struct segment_note *from, uint32_t index)
{
	struct segment_note *to = &b->notes->note[index];

	to->region = from->region;
	to->vec = from->vec ? from->vec + b->vec_base : 0;
	if (from->kinds && !(to->kinds = copy_words(from->kinds, SEGMENT_KINDS_MAX / 64)))
		return -1;
	if (from->counts && !(to->counts = copy_words(from->counts, SEGMENT_KINDS_MAX)))
		return -1;
	return 0;
}

/* A node of a tree, as it is, with its notes if there are any. */
static int build_copy(struct builder *b, const struct contract_tree *t, const struct segment_notes *notes,
		      uint32_t node, struct node_list *out)
{
	struct contract_node n = t->node[node];
	struct node_list body = {0};
	uint32_t index, first;
	int rv = -1;

	if (build_node(b, n, &index) < 0)
		return -1;
	if (notes && copy_note(b, &notes->note[node], index) < 0)
		return -1;
	if (n.kind == CONTRACT_LOOP) {
		for (uint32_t i = 0; i < n.n_children; i++)
			if (build_copy(b, t, notes, t->child[n.first + i], &body) < 0)
				goto out;
		if (tree_grow_children(&b->g, &body, &first) < 0)
			goto out;
		b->g.tree->node[index].first = first;
	}
	rv = node_list_add(out, index);
out:
	free(body.at);
	return rv;
}

/* For parts of many candidates' trees. The merge finds what segments have in common, and the stretches between the regions of
 * the best tree are folded anew by their shapes. */
static const struct contract_options greedy = {.without_search = true};

/* Events from .. to - 1, contracted. */
static int build_events(struct builder *b, uint64_t from, uint64_t to, struct node_list *out)
{
	struct contract_tree t;
	int rv = 0;

	if (from >= to)
		return 0;
	if (contract_symbols(b->f->stream + from, to - from, &greedy, &t, b->f->err) < 0)
		return -1;
	for (uint32_t i = 0; rv == 0 && i < t.n_top; i++)
		rv = build_copy(b, &t, NULL, t.child[t.top_first + i], out);
	contract_tree_free(&t);
	return rv;
}

/* What is in front of the first segment: earlier regions, and events between them. */
static int build_prefix(struct builder *b, const struct cut *c, struct node_list *out)
{
	uint32_t i = 0;

	while (i < c->start[0]) {
		uint32_t from = i;

		while (i < c->start[0] && !is_region(b->f, c->token[i]))
			i++;
		if (build_events(b, c->at[from], c->at[i], out) < 0)
			return -1;
		if (i < c->start[0] &&
		    build_copy(b, b->f->tree, b->f->notes, c->token[i++]->origin, out) < 0)
			return -1;
	}
	return 0;
}

static int note_kinds(struct builder *b, const struct merge_node *from, uint32_t index)
{
	struct segment_note *note = &b->notes->note[index];
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->n_words; i++)
		n += (uint32_t)__builtin_popcountll(from->groups[i]);
	/* Arrays have their greatest length, so that a later fold can copy them without their region. */
	if (n < b->n_kind) {
		note->kinds = calloc(SEGMENT_KINDS_MAX / 64, sizeof(*note->kinds));
		if (!note->kinds)
			return -1;
		memcpy(note->kinds, from->groups, b->n_words * sizeof(*note->kinds));
	}
	if (from->counts) {
		note->counts = calloc(SEGMENT_KINDS_MAX, sizeof(*note->counts));
		if (!note->counts)
			return -1;
		memcpy(note->counts, from->counts, b->n_kind * sizeof(*note->counts));
	}
	return 0;
}

static int build_children(struct builder *b, const struct merge_node *from, uint32_t index);

/* A node of the merged segments. */
static int build_merged(struct builder *b, const struct merge_node *from, struct node_list *out)
{
	struct contract_node n = {.kind = CONTRACT_LEAF, .symbol = from->symbol, .count = 1};
	uint32_t index;

	if (from->kind == SKEL_LOOP)
		n = (struct contract_node){.kind = CONTRACT_LOOP, .count = from->max_count};
	if (build_node(b, n, &index) < 0 || note_kinds(b, from, index) < 0)
		return -1;
	if (from->kind == SKEL_LOOP && build_children(b, from, index) < 0)
		return -1;
	return node_list_add(out, index);
}

static int build_children(struct builder *b, const struct merge_node *from, uint32_t index)
{
	struct node_list body = {0};
	uint32_t first;
	int rv = -1;

	for (uint32_t i = 0; i < from->n_child; i++)
		if (build_merged(b, from->child[i], &body) < 0)
			goto out;
	if (tree_grow_children(&b->g, &body, &first) < 0)
		goto out;
	b->g.tree->node[index].first = first;
	b->g.tree->node[index].n_children = body.n;
	rv = 0;
out:
	free(body.at);
	return rv;
}

/* The loop over all segments. */
static int build_region(struct builder *b, const struct cut *c, const struct merge_node *body, struct node_list *out)
{
	struct segment_notes *s = b->notes;
	struct segment_region *r = &s->region[s->n_region];
	uint32_t index;

	r->kind = malloc(c->n_segment * sizeof(*r->kind));
	if (!r->kind)
		return -1;
	memcpy(r->kind, c->kind, c->n_segment * sizeof(*r->kind));
	r->n = c->n_segment;
	r->n_event = c->end - c->at[c->start[0]];
	s->n_region++;
	if (build_node(b, (struct contract_node){.kind = CONTRACT_LOOP, .count = c->n_segment}, &index) < 0)
		return -1;
	s->note[index].region = s->n_region;
	if (build_children(b, body, index) < 0)
		return -1;
	return node_list_add(out, index);
}

static int build_tree(struct builder *b, const struct cut *c, const struct merge_node *body)
{
	struct node_list top = {0};
	struct contract_tree *t = b->g.tree;
	int rv = -1;

	for (uint32_t i = 0; b->f->notes && i < b->f->notes->n_region; i++) {
		const struct segment_region *from = &b->f->notes->region[i];
		struct segment_region *to = &b->notes->region[b->notes->n_region++];

		to->n = from->n;
		to->n_event = from->n_event;
		to->kind = malloc(from->n * sizeof(*to->kind));
		if (!to->kind)
			return -1;
		memcpy(to->kind, from->kind, from->n * sizeof(*to->kind));
	}
	if (build_prefix(b, c, &top) < 0 || build_region(b, c, body, &top) < 0 ||
	    build_events(b, c->end, c->at[c->n], &top) < 0)
		goto out;
	if (tree_grow_children(&b->g, &top, &t->top_first) < 0)
		goto out;
	t->n_top = top.n;
	t->n_events = b->f->tree->n_events;
	t->hash = b->f->tree->hash;
	rv = 0;
out:
	free(top.at);
	return rv;
}

static struct merge_node *grow_kind(struct finder *f, struct merge *m, const struct cut *c, uint32_t kind)
{
	uint32_t segment = c->first[kind];
	struct merge_node *root;
	struct contract_tree t;

	if (contract_symbols(segment_events(f, c, segment), segment_length(c, segment), &greedy, &t, f->err) < 0)
		return NULL;
	root = merge_grow(m, &t, f->key, kind);
	contract_tree_free(&t);
	return root;
}

/* Kinds first .. first + n - 1 in one. */
static struct merge_node *merge_kinds(struct finder *f, struct merge *m, const struct cut *c, uint32_t first, uint32_t n)
{
	struct merge_node *a, *b;

	if (n == 1)
		return grow_kind(f, m, c, first);
	a = merge_kinds(f, m, c, first, n / 2);
	b = a ? merge_kinds(f, m, c, first + n / 2, n - n / 2) : NULL;
	return b ? merge_pair(m, a, b) : NULL;
}

int segments_build(struct finder *f, const struct cut *c, struct contract_tree *tree, struct segment_notes **notes)
{
	struct rank_groups kinds = {.n_group = c->n_kind};
	struct builder b = {.f = f, .g = {.tree = tree}, .n_kind = c->n_kind, .n_words = (c->n_kind + 63) / 64};
	struct merge_node *body;
	struct merge m;
	int rv = -1;

	*tree = (struct contract_tree){0};
	*notes = b.notes = calloc(1, sizeof(**notes));
	merge_init(&m, &kinds);
	body = b.notes ? merge_kinds(f, &m, c, 0, c->n_kind) : NULL;
	if (body && build_tree(&b, c, body) == 0)
		rv = 0;
	merge_free(&m);
	if (rv < 0) {
		segment_notes_free(*notes);
		*notes = NULL;
		contract_tree_free(tree);
		return err_set(f->err, "no memory to fold loops that vary");
	}
	return 0;
}

/* ---- what lies outside of the regions ---- */

static uint64_t count_events(const struct contract_tree *t, uint32_t node)
{
	const struct contract_node *n = &t->node[node];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n->n_children; i++)
		sum += count_events(t, t->child[n->first + i]);
	return n->kind == CONTRACT_LEAF ? 1 : sum * n->count;
}

/* Take over the count vectors of `from`, whose nodes have been copied. */
static int take_vectors(struct builder *b, struct segment_notes *from)
{
	struct segment_notes *to = b->notes;
	struct count_vec *p = realloc(to->vec, (to->n_vec + from->n_vec + 1u) * sizeof(*p));

	if (!p)
		return -1;
	to->vec = p;
	memcpy(p + to->n_vec, from->vec, from->n_vec * sizeof(*p));
	to->n_vec += from->n_vec;
	from->n_vec = 0;
	return 0;
}

/* Events, folded by their shapes. */
static int build_shapes(struct builder *b, const uint32_t *stream, uint64_t n, struct node_list *out, struct errbuf *err)
{
	struct shape_tree shape;
	struct contract_tree tree = {0};
	struct segment_notes *notes = NULL;
	int rv;

	if (!n)
		return 0;
	if (shape_fold(stream, n, NULL, &shape, err) < 0)
		return -1;
	rv = shape_to_notes(&shape, &tree, &notes, err);
	if (rv > 0)
		rv = contract_symbols(stream, n, NULL, &tree, err);
	b->vec_base = b->notes->n_vec;
	for (uint32_t i = 0; rv == 0 && i < tree.n_top; i++)
		rv = build_copy(b, &tree, notes, tree.child[tree.top_first + i], out);
	if (rv == 0 && notes)
		rv = take_vectors(b, notes);
	contract_tree_free(&tree);
	segment_notes_free(notes);
	return rv;
}

static int copy_regions(struct builder *b, const struct segment_notes *from)
{
	struct segment_notes *to = b->notes;

	for (; from && to->n_region < from->n_region; to->n_region++) {
		struct segment_region *r = &to->region[to->n_region];

		*r = from->region[to->n_region];
		r->kind = malloc(r->n * sizeof(*r->kind));
		if (!r->kind)
			return -1;
		memcpy(r->kind, from->region[to->n_region].kind, r->n * sizeof(*r->kind));
	}
	return 0;
}

/* Top-level nodes in order: regions as they are, stretches between them folded by their shapes. */
static int build_stretches(struct builder *b, const uint32_t *stream, const struct contract_tree *t,
			   const struct segment_notes *notes, struct node_list *top, struct errbuf *err)
{
	uint64_t at = 0, end = 0;

	for (uint32_t i = 0; notes && i < t->n_top; i++) {
		uint32_t node = t->child[t->top_first + i], region = notes->note[node].region;

		if (!region) {
			end += count_events(t, node);
			continue;
		}
		if (build_shapes(b, stream + at, end - at, top, err) < 0 || build_copy(b, t, notes, node, top) < 0)
			return -1;
		at = end += notes->region[region - 1].n_event;
	}
	return build_shapes(b, stream + at, t->n_events - at, top, err);
}

int segments_fold_shapes(const uint32_t *stream, const struct contract_tree *t, const struct segment_notes *notes,
			 struct contract_tree *out, struct segment_notes **out_notes, struct errbuf *err)
{
	struct builder b = {.g = {.tree = out}};
	struct node_list top = {0};
	int rv = -1;

	*out = (struct contract_tree){.n_events = t->n_events, .hash = t->hash};
	*out_notes = b.notes = calloc(1, sizeof(*b.notes));
	if (b.notes && copy_regions(&b, notes) == 0 && build_stretches(&b, stream, t, notes, &top, err) == 0 &&
	    tree_grow_children(&b.g, &top, &out->top_first) == 0) {
		out->n_top = top.n;
		rv = 0;
	}
	free(top.at);
	if (rv < 0) {
		segment_notes_free(*out_notes);
		*out_notes = NULL;
		contract_tree_free(out);
		return err_set(err, "no memory to fold loops that vary");
	}
	if (!b.notes->n_region && !b.notes->n_vec) {
		segment_notes_free(*out_notes);
		*out_notes = NULL;
	}
	return 0;
}
