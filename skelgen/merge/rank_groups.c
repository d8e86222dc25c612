/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Classes and groups of ranks: see rank_groups.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/merge/call_variants.h"
#include "skelgen/merge/rank_groups.h"
#include "skelgen/contract/tree_grow.h"


/* An alternating call: few variants that change places often. */
#define ALTERNATING_VARIANTS 16
#define ALTERNATING_RUNS     8

#define SHAPES_BONUS (3 * RANK_GROUPS_NODE_COST)

struct build {
	const struct trace *t;
	struct rank_groups *g;
	const struct key_set *kept;
	struct arena *a;
	struct key_set *alternating;
	bool optional;
	uint64_t preferred; /* call at which the segments of an earlier group begin */
	uint64_t max_cost;
	struct hash_table classes, groups;
	struct errbuf *err;
};

/* ---- digests ---- */

/* What a rank does, but for its definitions: streams of numbers that mean the same calls. */
static void digest_class(const struct trace_rank *r, const struct shape_map *m, uint64_t digest[2])
{
	XXH3_state_t s;
	XXH128_hash_t h;
	const struct folded *f = &r->events;

	XXH3_INITSTATE(&s);
	XXH3_128bits_reset(&s);
	XXH3_128bits_update(&s, f->coded, f->n_coded);
	XXH3_128bits_update(&s, f->body, (f->n_body + 1u) * sizeof(*f->body));
	XXH3_128bits_update(&s, &f->length, sizeof(f->length));
	XXH3_128bits_update(&s, m->of_sym, m->n_sym * sizeof(*m->of_sym));
	XXH3_128bits_update(&s, m->key, m->n_shape * sizeof(*m->key));
	h = XXH3_128bits_digest(&s);
	digest[0] = h.low64;
	digest[1] = h.high64;
}

static void digest_group(const uint32_t *shape, uint64_t n, const struct shape_map *m, uint64_t digest[2])
{
	XXH128_hash_t h = XXH3_128bits_withSeed(shape, n * sizeof(*shape),
						XXH3_64bits(m->key, m->n_shape * sizeof(*m->key)));

	digest[0] = h.low64;
	digest[1] = h.high64;
}

/* ---- one group ---- */

static int copy_items(struct tree_grow *g, const struct folded *f, uint32_t sequence, struct node_list *out);

/* An item becomes a leaf, a loop, or (a body once) the body itself. */
static int copy_item(struct tree_grow *g, const struct folded *f, const struct fold_item *item, struct node_list *out)
{
	struct contract_node node = {.kind = CONTRACT_LEAF, .symbol = item->key, .count = 1};
	struct contract_node head = {.kind = CONTRACT_LOOP, .count = item->count};
	struct node_list body = {0};
	bool is_body = item->key & FOLD_BODY;
	uint32_t b = item->key & ~FOLD_BODY, loop, leaf, first;
	int rv = -1;

	if (is_body && item->count == 1)
		return copy_items(g, f, b, out);
	if (item->count == 1)
		return tree_grow_node(g, node, &leaf) < 0 ? -1 : node_list_add(out, leaf);
	if (tree_grow_node(g, head, &loop) < 0)
		return -1;
	if (is_body) {
		if (copy_items(g, f, b, &body) < 0)
			goto out;
	} else if (tree_grow_node(g, node, &leaf) < 0 || node_list_add(&body, leaf) < 0) {
		goto out;
	}
	if (tree_grow_children(g, &body, &first) < 0)
		goto out;
	g->tree->node[loop].first = first;
	g->tree->node[loop].n_children = body.n;
	rv = node_list_add(out, loop);
out:
	free(body.at);
	return rv;
}

static int copy_items(struct tree_grow *g, const struct folded *f, uint32_t sequence, struct node_list *out)
{
	struct folded_items s = folded_items(f, sequence);
	struct fold_item item;

	while (folded_items_next(&s, &item))
		if (copy_item(g, f, &item, out) < 0)
			return -1;
	return 0;
}

int rank_tree_of_folded(const struct folded *f, struct contract_tree *t, struct errbuf *err)
{
	struct tree_grow g = {.tree = t};
	struct node_list top = {0};
	int rv = -1;

	*t = (struct contract_tree){.n_events = f->length};
	if (copy_items(&g, f, f->n_body, &top) < 0 || tree_grow_children(&g, &top, &t->top_first) < 0) {
		err_set(err, "too long: %llu events that do not fold", (unsigned long long)f->length);
		contract_tree_free(t);
		goto out;
	}
	t->n_top = top.n;
	rv = 0;
out:
	free(top.at);
	return rv;
}

/* What the tree and its variant runs cost for the rank; UINT64_MAX when more than `most`. */
static int price(struct build *b, uint32_t rank, const struct shape_map *m, const struct contract_tree *tree,
		 const struct segment_notes *notes, uint64_t most, uint64_t *cost)
{
	uint64_t nodes = (uint64_t)RANK_GROUPS_NODE_COST * tree->n_node, n_run = 0;
	uint32_t n_leaf, *number;
	int rv;

	*cost = UINT64_MAX;
	if (nodes > most)
		return 0;
	number = leaf_numbers(tree, &n_leaf);
	if (!number)
		return err_set(b->err, "no memory");
	rv = leaf_runs_collect(trace_get_rank(b->t, rank), m, tree, notes, number, n_leaf, most - nodes, NULL, NULL, &n_run,
			       b->err);
	free(number);
	if (rv == 0)
		*cost = nodes + n_run;
	return rv < 0 ? -1 : 0;
}

/* Fold loops whose iterations vary by their shapes, outside of the regions or everywhere, where that says it more
 * briefly than the tree there is. */
static int fold_shapes(struct build *b, uint32_t rank, const struct shape_map *m, const uint32_t *stream,
		       struct rank_group *g, bool regions)
{
	struct contract_tree tree;
	struct segment_notes *notes;
	uint64_t now, then;
	int rv;

	if (price(b, rank, m, &g->tree, g->notes, UINT64_MAX / 2, &now) < 0 ||
	    segments_fold_shapes(stream, &g->tree, regions ? g->notes : NULL, &tree, &notes, b->err) < 0)
		return -1;
	/* at about the same price, loops in loops rather than a loop over the innermost part */
	now += now < UINT64_MAX ? SHAPES_BONUS : 0;
	rv = price(b, rank, m, &tree, notes, now, &then);
	if (rv == 0 && then < now) {
		struct contract_tree t = g->tree;
		struct segment_notes *s = g->notes;

		g->tree = tree;
		g->notes = notes;
		tree = t;
		notes = s;
	}
	contract_tree_free(&tree);
	segment_notes_free(notes);
	return rv;
}

/* Loops that vary, one way or the other. */
static int fold_varying(struct build *b, uint32_t rank, const struct shape_map *m, const uint32_t *stream,
			struct rank_group *g)
{
	bool many = g->tree.n_node > m->n_shape + m->n_shape / 2 + 8;

	if (segments_fold(trace_get_rank(b->t, rank), trace_n_ranks(b->t), m, &g->tree, &g->notes, &b->preferred, b->err) < 0)
		return -1;
	/* nearly one node for every call: nothing to gain */
	if (!many || g->tree.n_node <= m->n_shape)
		return 0;
	if (g->notes && fold_shapes(b, rank, m, stream, g, true) < 0)
		return -1;
	return fold_shapes(b, rank, m, stream, g, false);
}

static int add_group(struct build *b, uint32_t rank, const struct shape_map *m, const uint32_t *shape,
		     const uint64_t digest[2], uint32_t *index)
{
	struct rank_groups *g = b->g;
	const struct folded *f = &trace_get_rank(b->t, rank)->events;
	struct rank_group *p;
	uint32_t *number;
	int rv;

	if (ARRAY_ROOM(g->group, g->cap_group, g->n_group + 1) != 0)
		return err_set(b->err, "no memory");
	p = &g->group[g->n_group];
	*p = (struct rank_group){.digest = {digest[0], digest[1]}, .first_rank = rank, .n_shape = m->n_shape};
	p->key = calloc(m->n_shape ? m->n_shape : 1, sizeof(*p->key));
	if (!p->key)
		return err_set(b->err, "no memory");
	memcpy(p->key, m->key, m->n_shape * sizeof(*p->key));
	rv = shape ? contract_symbols(shape, f->length, NULL, &p->tree, b->err) : rank_tree_of_folded(f, &p->tree, b->err);
	if (rv == 0 && shape && b->optional && fold_varying(b, rank, m, shape, p) < 0) {
		contract_tree_free(&p->tree);
		segment_notes_free(p->notes);
		rv = -1;
	}
	if (rv < 0) {
		free(p->key);
		return err_prefix(b->err, "rank %u", rank);
	}
	*index = g->n_group++;
	number = leaf_numbers(&p->tree, &p->n_leaf);
	free(number);
	g->cost += (uint64_t)RANK_GROUPS_NODE_COST * p->tree.n_node;
	return number ? 0 : err_set(b->err, "no memory");
}

/* The group of a stream of shapes, contracted when it is the first of its kind. */
static int find_group(struct build *b, uint32_t rank, const struct shape_map *m, const uint32_t *shape,
		      const uint64_t digest[2], uint32_t *index)
{
	uint32_t at;

	HASH_TABLE_FOR_EACH(&b->groups, digest[0], at, *index)
		if (!memcmp(b->g->group[*index].digest, digest, 2 * sizeof(*digest)))
			return 0;
	if (add_group(b, rank, m, shape, digest, index) < 0)
		return -1;
	return hash_table_add(&b->groups, digest[0], *index) < 0 ? err_set(b->err, "no memory") : 0;
}

/* ---- one class ---- */

static int note_alternating(struct build *b, const struct rank_group *g, const uint32_t *number,
			    const struct skel_leaf_rank *leaf)
{
	const struct contract_tree *t = &g->tree;

	for (uint32_t i = 0; i < t->n_node; i++) {
		const struct skel_leaf_rank *l;

		if (t->node[i].kind != CONTRACT_LEAF)
			continue;
		l = &leaf[number[i]];
		if (l->n_variant > 1u + l->optional && l->n_variant <= ALTERNATING_VARIANTS &&
		    l->n_run > (uint64_t)ALTERNATING_RUNS * l->n_variant &&
		    key_set_add(b->alternating, g->key[t->node[i].symbol]) < 0)
			return err_set(b->err, "no memory");
	}
	return 0;
}

static int fill_class(struct build *b, struct rank_class *c, const struct shape_map *m)
{
	struct rank_groups *g = b->g;
	const struct rank_group *group = &g->group[c->group];
	uint32_t n_leaf, *number;
	uint64_t n_run = 0;
	int rv;

	c->leaf = arena_alloc(b->a, group->n_leaf, sizeof(*c->leaf));
	if (!c->leaf)
		return err_set(b->err, "no memory");
	if (g->alphabet == SKEL_EXACT && !group->notes)
		return leaf_runs_exact(&group->tree, group->n_leaf, b->a, c->leaf) < 0 ? err_set(b->err, "no memory")
										    : 0;
	number = leaf_numbers(&group->tree, &n_leaf);
	if (!number)
		return err_set(b->err, "no memory");
	rv = leaf_runs_collect(trace_get_rank(b->t, c->first_rank), m, &group->tree, group->notes, number, n_leaf,
			       b->max_cost - g->cost, b->a, c->leaf, &n_run, b->err);
	if (rv < 0)
		err_prefix(b->err, "rank %u", c->first_rank);
	else if (note_alternating(b, group, number, c->leaf) < 0)
		rv = -1;
	g->cost += n_run;
	free(number);
	return rv;
}

static uint32_t *expand_shapes(const struct folded *f, const struct shape_map *m)
{
	uint32_t *shape = calloc(f->length ? f->length : 1, sizeof(*shape)), sym;
	struct folded_iter it;

	if (!shape)
		return NULL;
	folded_begin(&it, f);
	for (uint64_t i = 0; i < f->length && folded_next(&it, &sym); i++)
		shape[i] = m->of_sym[sym];
	return shape;
}

static int settle_class(struct build *b, struct rank_class *c, const struct shape_map *m)
{
	const struct folded *f = &trace_get_rank(b->t, c->first_rank)->events;
	uint32_t *shape = NULL;
	uint64_t digest[2] = {c->digest[0], c->digest[1]};
	int rv;

	if (f->length <= RANK_GROUPS_EXPAND_MAX) {
		shape = expand_shapes(f, m);
		if (!shape)
			return err_set(b->err, "no memory for %llu events", (unsigned long long)f->length);
		digest_group(shape, f->length, m, digest);
	} else if (b->g->alphabet != SKEL_EXACT) {
		return 1;
	}
	rv = find_group(b, c->first_rank, m, shape, digest, &c->group);
	free(shape);
	if (rv == 0 && b->g->cost > b->max_cost)
		rv = 1;
	return rv ? rv : fill_class(b, c, m);
}

static int add_rank(struct build *b, uint32_t rank)
{
	struct rank_groups *g = b->g;
	const struct trace_rank *r = trace_get_rank(b->t, rank);
	struct rank_class c = {.first_rank = rank};
	struct shape_map m;
	uint32_t at, i;
	int rv = 0;

	if (shape_map_build(&r->defs, g->alphabet, b->kept, &m, b->err) < 0)
		return -1;
	digest_class(r, &m, c.digest);
	HASH_TABLE_FOR_EACH(&b->classes, c.digest[0], at, i)
		if (!memcmp(g->cls[i].digest, c.digest, sizeof(c.digest)))
			break;
	if (i == HASH_TABLE_NONE) {
		i = g->n_class;
		rv = settle_class(b, &c, &m);
		if (rv == 0 && hash_table_add(&b->classes, c.digest[0], i) < 0)
			rv = err_set(b->err, "no memory");
		if (rv == 0)
			g->cls[g->n_class++] = c;
	}
	if (rv == 0) {
		g->class_of[rank] = i;
		g->cls[i].n_rank++;
	}
	shape_map_free(&m);
	return rv;
}

int rank_groups_build(const struct trace *t, enum skel_alphabet alphabet, const struct key_set *kept,
		      bool optional, uint64_t max_cost, struct arena *a, struct key_set *alternating,
		      struct rank_groups *out, struct errbuf *err)
{
	struct build b = {.t = t, .g = out, .kept = kept, .a = a, .alternating = alternating, .optional = optional,
			  .max_cost = max_cost, .err = err};
	uint32_t n = trace_n_ranks(t);
	int rv = 0;

	*out = (struct rank_groups){.n_ranks = n, .alphabet = alphabet};
	out->class_of = calloc(n, sizeof(*out->class_of));
	out->cls = calloc(n, sizeof(*out->cls));
	if (!out->class_of || !out->cls)
		rv = err_set(err, "no memory for %u ranks", n);
	for (uint32_t r = 0; rv == 0 && r < n; r++)
		rv = add_rank(&b, r);
	hash_table_free(&b.classes);
	hash_table_free(&b.groups);
	if (rv)
		rank_groups_free(out);
	return rv;
}

void rank_groups_free(struct rank_groups *g)
{
	for (uint32_t i = 0; i < g->n_group; i++) {
		free(g->group[i].key);
		contract_tree_free(&g->group[i].tree);
		segment_notes_free(g->group[i].notes);
	}
	free(g->group);
	free(g->cls);
	free(g->class_of);
	*g = (struct rank_groups){0};
}
