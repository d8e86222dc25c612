/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See items.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "model/inputs/items.h"

void items_push(struct items *t, struct row *row, struct item *item)
{
	if (row->n >= ITEMS_MOST || ARRAY_ROOM(row->item, row->cap, row->n + 1) != 0)
		t->failed = true;
	else
		row->item[row->n++] = item;
}

uint32_t items_leaves(const struct row *r)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n; i++)
		n += r->item[i]->leaves;
	return n;
}

static void finish_loop(struct item *l)
{
	l->body = l->leaves = 0;
	for (uint32_t i = 0; i < l->n_child; i++) {
		l->body = XXH3_64bits_withSeed(&l->child[i]->hash, sizeof(l->child[i]->hash), l->body);
		l->leaves += l->child[i]->leaves;
	}
	l->hash = XXH3_64bits_withSeed(&l->body, sizeof(l->body), l->count);
}

struct item *items_loop(struct items *t, uint64_t count, struct item *const *child, uint32_t n)
{
	struct item *l = arena_alloc(t->arena, 1, sizeof(*l));
	struct item **copy = arena_alloc(t->arena, n, sizeof(*copy));

	if (!l || !copy) {
		t->failed = true;
		return NULL;
	}
	memcpy(copy, child, n * sizeof(*copy));
	*l = (struct item){.kind = CONTRACT_LOOP, .count = count, .n_child = n, .child = copy};
	finish_loop(l);
	return l;
}

static struct item *make_item(struct items *f, const struct contract_tree *t, uint32_t node)
{
	const struct contract_node *n = &t->node[node];
	struct item *item = arena_alloc(f->arena, 1, sizeof(*item));

	if (!item) {
		f->failed = true;
		return NULL;
	}
	*item = (struct item){.kind = n->kind, .symbol = n->symbol, .count = n->count, .leaves = 1};
	if (n->kind == CONTRACT_LEAF) {
		item->hash = XXH3_64bits(&n->symbol, sizeof(n->symbol));
		return item;
	}
	item->n_child = n->n_children;
	item->child = arena_alloc(f->arena, n->n_children, sizeof(*item->child));
	for (uint32_t i = 0; item->child && i < n->n_children && !f->failed; i++)
		item->child[i] = make_item(f, t, t->child[n->first + i]);
	f->failed |= !item->child;
	if (!f->failed)
		finish_loop(item);
	return item;
}

void items_begin(struct items *t, const struct contract_tree *tree, struct row *row)
{
	*t = (struct items){.arena = arena_create()};
	*row = (struct row){0};
	t->failed = !t->arena;
	for (uint32_t i = 0; i < tree->n_top && !t->failed; i++)
		items_push(t, row, make_item(t, tree, tree->child[tree->top_first + i]));
}

void items_write_out(struct items *t, struct item *const *item, uint32_t n, bool (*around)(const struct item *, uint64_t),
		     uint64_t what, struct row *out)
{
	for (uint32_t i = 0; i < n && !t->failed && out->n < ITEMS_MOST; i++) {
		bool open = item[i]->kind == CONTRACT_LOOP && around(item[i], what);

		for (uint64_t k = 0; open && k < item[i]->count && !t->failed && out->n < ITEMS_MOST; k++)
			items_write_out(t, item[i]->child, item[i]->n_child, around, what, out);
		if (!open)
			items_push(t, out, item[i]);
	}
}

/* ---- back to a tree ---- */

static void count_nodes(struct item *const *item, uint32_t n, struct contract_tree *t)
{
	t->n_node += n;
	t->n_child += n;
	for (uint32_t i = 0; i < n; i++)
		count_nodes(item[i]->child, item[i]->n_child, t);
}

/* Writes the items at child[first...], in preorder. */
static void put_nodes(struct item *const *item, uint32_t n, uint32_t first, struct contract_tree *t)
{
	for (uint32_t i = 0; i < n; i++) {
		struct contract_node *node = &t->node[t->n_node];

		t->child[first + i] = t->n_node++;
		*node = (struct contract_node){item[i]->kind, item[i]->symbol, 0, item[i]->n_child, item[i]->count};
		if (item[i]->kind == CONTRACT_LEAF)
			continue;
		node->first = t->n_child;
		t->n_child += item[i]->n_child;
		put_nodes(item[i]->child, item[i]->n_child, node->first, t);
	}
}

static int put_tree(const struct row *seq, const struct contract_tree *from, struct contract_tree *out)
{
	*out = (struct contract_tree){.n_top = seq->n, .n_events = from->n_events, .hash = from->hash};
	count_nodes(seq->item, seq->n, out);
	out->node = calloc(out->n_node + 1u, sizeof(*out->node));
	out->child = calloc(out->n_child + 1u, sizeof(*out->child));
	if (!out->node || !out->child) {
		contract_tree_free(out);
		return -1;
	}
	out->n_node = 0;
	out->n_child = seq->n;
	put_nodes(seq->item, seq->n, 0, out);
	return 0;
}

void items_end(struct items *t, struct row *row, const struct contract_tree *tree, bool folded, struct contract_tree *out)
{
	if (!t->failed && folded && put_tree(row, tree, out) < 0)
		t->failed = true;
	free(row->item);
	arena_destroy(t->arena);
}
