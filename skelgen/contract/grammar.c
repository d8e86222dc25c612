/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interning of loop bodies and loops, and the tree that the finished grammar stands for. See
 * contract_grammar.h. */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/contract/grammar.h"
#include "common/array.h"
#include "common/hash_table.h"

/* Symbols 0..max are taken as they are; where that leaves no room for loops, events are numbered by value. */
#define LEAF_AS_IS 0x80000000u

static int arena_put(struct grammar_arena *a, const uint32_t *text, uint32_t n, uint64_t *first,
		     struct errbuf *err)
{
	if (ARRAY_ROOM(a->item, a->cap, a->n + n) != 0)
		return err_set(err, "contraction: out of memory for loop bodies");
	*first = a->n;
	if (n)
		memcpy(a->item + a->n, text, (size_t)n * sizeof(*text));
	a->n += n;
	return 0;
}

static int body_add(struct grammar *g, const uint32_t *text, uint32_t length, uint32_t *number,
		    struct errbuf *err)
{
	struct grammar_body b = {.raw_length = length};

	if (ARRAY_ROOM(g->body, g->cap_body, g->n_body + 1) != 0)
		return err_set(err, "contraction: out of memory for %u loop bodies", g->n_body);
	if (arena_put(&g->raw, text, length, &b.raw_first, err))
		return -1;
	*number = g->n_body;
	g->body[g->n_body++] = b;
	return 0;
}

static int body_intern(struct grammar *g, const uint32_t *text, uint32_t length, uint32_t *number,
		       uint32_t *fresh, struct errbuf *err)
{
	uint64_t hash = XXH3_64bits(text, (size_t)length * sizeof(*text));
	uint32_t at;

	HASH_TABLE_FOR_EACH(&g->body_index, hash, at, *number) {
		const struct grammar_body *b = &g->body[*number];

		if (b->raw_length == length &&
		    !memcmp(g->raw.item + b->raw_first, text, (size_t)length * sizeof(*text)))
			return 0;
	}
	if (body_add(g, text, length, number, err))
		return -1;
	*fresh = *number;
	if (hash_table_add(&g->body_index, hash, *number) != 0)
		return err_set(err, "contraction: out of memory for %u loop bodies", g->n_body);
	return 0;
}

static int loop_intern(struct grammar *g, uint32_t body, uint32_t count, uint32_t *symbol, struct errbuf *err)
{
	uint64_t key[1] = {(uint64_t)body << 32 | count}, hash = XXH3_64bits(key, sizeof(key));
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&g->loop_index, hash, at, i)
		if (g->loop[i].body == body && g->loop[i].count == count)
			break;
	if (i == HASH_TABLE_NONE) {
		i = g->n_loop;
		if (ARRAY_ROOM(g->loop, g->cap_loop, i + 1) != 0 || hash_table_add(&g->loop_index, hash, i) != 0)
			return err_set(err, "contraction: out of memory for %u loops", i);
		g->loop[g->n_loop++] = (struct grammar_loop){body, count};
	}
	*symbol = g->n_leaf + i;
	return 0;
}

int grammar_loop(struct grammar *g, const uint32_t *text, uint32_t length, uint32_t count, uint32_t *symbol,
		 uint32_t *fresh, struct errbuf *err)
{
	uint32_t body;

	/* A loop over nothing but a loop is one loop. Counts multiply to at most the length of the stream. */
	if (length == 1 && text[0] >= g->n_leaf) {
		const struct grammar_loop inner = g->loop[text[0] - g->n_leaf];

		return loop_intern(g, inner.body, inner.count * count, symbol, err);
	}
	if (body_intern(g, text, length, &body, fresh, err))
		return -1;
	return loop_intern(g, body, count, symbol, err);
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Number the events by value. */
static int leaves_by_value(struct grammar *g, const uint32_t *sym, uint32_t n, uint32_t *text,
			   struct errbuf *err)
{
	uint32_t k = 0, *value = malloc((size_t)n * sizeof(*value));

	if (!value)
		return err_set(err, "contraction: out of memory for %u events", n);
	memcpy(value, sym, (size_t)n * sizeof(*value));
	qsort(value, n, sizeof(*value), compare_u32);
	for (uint32_t i = 0; i < n; i++)
		if (k == 0 || value[k - 1] != value[i])
			value[k++] = value[i];
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t *at = bsearch(&sym[i], value, k, sizeof(*value), compare_u32);

		text[i] = (uint32_t)(at - value);
	}
	g->leaf_value = value;
	g->n_leaf = k;
	return 0;
}

int grammar_create(struct grammar *g, const uint32_t *sym, uint32_t n, uint32_t *text, struct errbuf *err)
{
	uint32_t max = 0, top;

	*g = (struct grammar){0};
	for (uint32_t i = 0; i < n; i++)
		max = sym[i] > max ? sym[i] : max;
	if (max >= LEAF_AS_IS) {
		if (leaves_by_value(g, sym, n, text, err))
			return -1;
	} else {
		if (n)
			memcpy(text, sym, (size_t)n * sizeof(*text));
		g->n_leaf = max + 1;
	}
	return body_add(g, NULL, 0, &top, err);
}

void grammar_destroy(struct grammar *g)
{
	free(g->leaf_value);
	free(g->body);
	free(g->loop);
	free(g->raw.item);
	free(g->text.item);
	hash_table_free(&g->body_index);
	hash_table_free(&g->loop_index);
	*g = (struct grammar){0};
}

uint32_t grammar_top(const struct grammar *g)
{
	(void)g;
	return 0;
}

uint32_t grammar_n_symbols(const struct grammar *g)
{
	return g->n_leaf + g->n_loop;
}

const uint32_t *grammar_raw(const struct grammar *g, uint32_t body, uint32_t *length)
{
	*length = g->body[body].raw_length;
	return g->raw.item + g->body[body].raw_first;
}

int grammar_settle(struct grammar *g, uint32_t body, const uint32_t *text, uint32_t length,
		   enum grammar_state state, struct errbuf *err)
{
	uint64_t first = 0;

	if (arena_put(&g->text, text, length, &first, err))
		return -1;
	g->body[body].text_first = first;
	g->body[body].text_length = length;
	g->body[body].state = state;
	return 0;
}

uint32_t grammar_weight(struct grammar *g, uint32_t symbol)
{
	struct grammar_body *b;

	if (symbol < g->n_leaf)
		return 1;
	b = &g->body[g->loop[symbol - g->n_leaf].body];
	if (!b->weight)
		for (uint32_t k = 0; k < b->text_length; k++)
			b->weight += grammar_weight(g, g->text.item[b->text_first + k]);
	return b->weight;
}

uint32_t grammar_events(struct grammar *g, uint32_t symbol)
{
	const struct grammar_loop *l;
	struct grammar_body *b;

	if (symbol < g->n_leaf)
		return 1;
	l = &g->loop[symbol - g->n_leaf];
	b = &g->body[l->body];
	if (!b->n_events)
		for (uint32_t k = 0; k < b->raw_length; k++)
			b->n_events += grammar_events(g, g->raw.item[b->raw_first + k]);
	return b->n_events * l->count;
}

void grammar_expand(const struct grammar *g, uint32_t symbol, uint32_t *out, uint32_t *n)
{
	const struct grammar_loop *l;
	const struct grammar_body *b;
	uint32_t first = *n, length;

	if (symbol < g->n_leaf) {
		out[(*n)++] = symbol;
		return;
	}
	l = &g->loop[symbol - g->n_leaf];
	b = &g->body[l->body];
	for (uint32_t k = 0; k < b->raw_length; k++)
		grammar_expand(g, g->raw.item[b->raw_first + k], out, n);
	length = *n - first;
	for (uint32_t k = length; k < length * l->count; k++)
		out[(*n)++] = out[first + k - length];
}

static bool body_is_loop(const struct grammar *g, uint32_t body)
{
	const struct grammar_body *b = &g->body[body];

	return b->text_length == 1 && g->text.item[b->text_first] >= g->n_leaf;
}

/* The loop that a loop symbol stands for; bodies that came out as one single loop are merged into it. */
static struct grammar_loop loop_resolve(const struct grammar *g, uint32_t symbol, uint64_t *count)
{
	struct grammar_loop l = g->loop[symbol - g->n_leaf];

	*count = l.count;
	while (body_is_loop(g, l.body)) {
		l = g->loop[g->text.item[g->body[l.body].text_first] - g->n_leaf];
		*count *= l.count;
	}
	return l;
}

/* Nodes below a body: one for each symbol, and the nodes of each loop's body. Nesting is logarithmic. */
static uint32_t body_count_nodes(struct grammar *g, uint32_t body)
{
	struct grammar_body *b = &g->body[body];
	uint64_t count;

	if (b->n_nodes)
		return b->n_nodes;
	b->n_nodes = b->text_length;
	for (uint32_t k = 0; k < b->text_length; k++) {
		uint32_t symbol = g->text.item[b->text_first + k];

		if (symbol >= g->n_leaf)
			b->n_nodes += body_count_nodes(g, loop_resolve(g, symbol, &count).body);
	}
	return b->n_nodes;
}

/* Write the sequence of a body: its child entries first, then its nodes in preorder. */
static void tree_put(const struct grammar *g, struct contract_tree *t, uint32_t body, uint32_t *first)
{
	const struct grammar_body *b = &g->body[body];

	*first = t->n_child;
	t->n_child += b->text_length;
	for (uint32_t k = 0; k < b->text_length; k++) {
		uint32_t symbol = g->text.item[b->text_first + k], index = t->n_node++;
		struct contract_node *node = &t->node[index];

		t->child[*first + k] = index;
		if (symbol < g->n_leaf) {
			*node =
			    (struct contract_node){.kind = CONTRACT_LEAF,
						   .count = 1,
						   .symbol = g->leaf_value ? g->leaf_value[symbol] : symbol};
		} else {
			uint64_t count;
			uint32_t inner = loop_resolve(g, symbol, &count).body;

			*node = (struct contract_node){
			    .kind = CONTRACT_LOOP, .count = count, .n_children = g->body[inner].text_length};
			tree_put(g, t, inner, &node->first);
		}
	}
}

int grammar_tree(struct grammar *g, struct contract_tree *out, struct errbuf *err)
{
	uint32_t nodes = body_count_nodes(g, 0);

	*out = (struct contract_tree){0};
	out->node = malloc(((size_t)nodes + 1) * sizeof(*out->node));
	out->child = malloc(((size_t)nodes + 1) * sizeof(*out->child));
	if (!out->node || !out->child) {
		contract_tree_free(out);
		return err_set(err, "contraction: out of memory for a tree of %u nodes", nodes);
	}
	out->n_top = g->body[0].text_length;
	tree_put(g, out, 0, &out->top_first);
	return 0;
}
