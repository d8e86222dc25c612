/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See uneven.h. One loop body is chosen that has several trip counts. Loops around it are written out. Adjacent
 * iterations of the body become one item whatever their number, and the sequence is contracted again. The fold is kept
 * if it has fewer calls than before.
 */
#include <stdlib.h>

#include "model/induce/map.h"
#include "model/inputs/items.h"
#include "model/inputs/uneven.h"

#define BODIES_MOST 32 /* that are tried */
#define ROUNDS_MOST 16 /* bodies that are folded */

struct body {
	const struct item *loop; /* the first one */
	bool differs;		 /* another one has another trip count */
};

/* Inner loops first. */
static void collect(const struct item *item, struct body *body, uint32_t *n)
{
	uint32_t k = 0;

	for (uint32_t i = 0; i < item->n_child; i++)
		collect(item->child[i], body, n);
	if (item->kind != CONTRACT_LOOP || !item->count)
		return;
	while (k < *n && body[k].loop->body != item->body)
		k++;
	if (k < *n)
		body[k].differs |= body[k].loop->count != item->count;
	else if (k < BODIES_MOST)
		body[(*n)++].loop = item;
}

static bool is_around(const struct item *item, uint64_t body)
{
	bool found = false;

	for (uint32_t i = 0; item->count && i < item->n_child && !found; i++)
		found = item->child[i]->kind == CONTRACT_LOOP &&
			(item->child[i]->body == body || is_around(item->child[i], body));
	return found;
}

/* How many items from `at` on are iterations of the loop, in loops or not. */
static uint32_t take_iterations(const struct row *row, uint32_t at, const struct item *loop)
{
	uint32_t i = at, k = 0;

	while (i + k < row->n) {
		const struct item *item = row->item[i + k];

		if (!k && item->kind == CONTRACT_LOOP && item->body == loop->body)
			i++;
		else if (item->hash != loop->child[k]->hash)
			break;
		else if (++k == loop->n_child) {
			i += k;
			k = 0;
		}
	}
	return i - at;
}

/* The contracted sequence of items, each standing for its hash. */
static void put_items(struct items *t, const struct contract_tree *tree, uint32_t first, uint32_t n,
		      struct item *const *item, struct row *out)
{
	for (uint32_t i = 0; i < n && !t->failed; i++) {
		const struct contract_node *node = &tree->node[tree->child[first + i]];
		struct row body = {0};

		if (node->kind == CONTRACT_LEAF) {
			items_push(t, out, item[node->symbol]);
			continue;
		}
		put_items(t, tree, node->first, node->n_children, item, &body);
		if (!t->failed)
			items_push(t, out, items_loop(t, node->count, body.item, body.n));
		free(body.item);
	}
}

static void contract_row(struct items *t, const struct row *row, struct row *out, struct errbuf *err)
{
	uint32_t *symbol = malloc((row->n + 1u) * sizeof(*symbol));
	struct item **item = arena_alloc(t->arena, row->n, sizeof(*item));
	struct contract_tree tree = {0};
	struct map kinds = {0};

	t->failed |= !symbol || !item;
	for (uint32_t i = 0; i < row->n && !t->failed; i++) {
		symbol[i] = map_put(&kinds, row->item[i]->hash);
		t->failed |= symbol[i] == MAP_NONE;
		if (!t->failed)
			item[symbol[i]] = row->item[i];
	}
	t->failed = t->failed || contract_symbols(symbol, row->n, NULL, &tree, err) < 0;
	if (!t->failed)
		put_items(t, &tree, tree.top_first, tree.n_top, item, out);
	contract_tree_free(&tree);
	map_free(&kinds);
	free(symbol);
}

/* The row with all loops over this body as one kind of item, contracted. */
static struct row fold_body(struct items *t, const struct row *seq, const struct item *loop, struct errbuf *err)
{
	struct item *open = items_loop(t, 0, loop->child, loop->n_child);
	struct row flat = {0}, row = {0}, out = {0};

	items_write_out(t, seq->item, seq->n, is_around, loop->body, &flat);
	for (uint32_t i = 0; i < flat.n && flat.n < ITEMS_MOST && !t->failed;) {
		uint32_t n = take_iterations(&flat, i, loop);

		items_push(t, &row, n ? open : flat.item[i]);
		i += n ? n : 1;
	}
	if (row.n && !t->failed)
		contract_row(t, &row, &out, err);
	free(flat.item);
	free(row.item);
	return out;
}

/* Folds the first body, inner ones first, that saves calls. Returns false if none does. */
static bool fold_one(struct items *t, struct row *seq, struct errbuf *err)
{
	struct body body[BODIES_MOST] = {0};
	uint32_t n = 0;

	for (uint32_t i = 0; i < seq->n; i++)
		collect(seq->item[i], body, &n);
	for (uint32_t k = 0; k < n && !t->failed; k++) {
		struct row now = {0};

		if (body[k].differs)
			now = fold_body(t, seq, body[k].loop, err);
		if (!t->failed && now.n && items_leaves(&now) < items_leaves(seq)) {
			free(seq->item);
			*seq = now;
			return true;
		}
		free(now.item);
	}
	return false;
}

int uneven_fold(const struct contract_tree *tree, struct contract_tree *out, struct errbuf *err)
{
	bool folded = false;
	struct items t;
	struct row seq;

	*out = (struct contract_tree){0};
	items_begin(&t, tree, &seq);
	for (int k = 0; k < ROUNDS_MOST && !t.failed && fold_one(&t, &seq, err); k++)
		folded = true;
	items_end(&t, &seq, tree, folded, out);
	return t.failed ? err_set(err, "no memory to fold loops") : folded;
}
