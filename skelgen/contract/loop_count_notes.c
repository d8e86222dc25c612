/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See loop_count_notes.h. */
#include "skelgen/contract/loop_count_notes.h"

#include <stdlib.h>

#define SLOTS_MAX (UINT64_C(1) << 50) /* executions of a call, those left out included */

static uint64_t greatest_count(const struct count_vec *v)
{
	uint64_t most = 0;

	if (!v->n_segment)
		for (uint64_t k = 0; k < v->period; k++)
			most = v->raw[k] > most ? v->raw[k] : most;
	for (uint32_t i = 0; i < v->n_segment; i++) {
		uint64_t end = i + 1 < v->n_segment ? v->segment[i + 1].start : v->period;
		uint64_t first = count_vec_at(v, v->segment[i].start), last = count_vec_at(v, end - 1);

		most = first > most ? first : most;
		most = last > most ? last : most;
	}
	return most;
}

void segment_notes_free(struct segment_notes *n)
{
	if (!n)
		return;
	for (uint32_t i = 0; i < n->n_note; i++) {
		free(n->note[i].kinds);
		free(n->note[i].counts);
	}
	for (uint32_t i = 0; i < n->n_region; i++)
		free(n->region[i].kind);
	for (uint32_t i = 0; i < n->n_vec; i++)
		count_vec_free(&n->vec[i]);
	free(n->vec);
	free(n->note);
	free(n);
}

/* Do all calls stay below SLOTS_MAX executions? */
static bool is_short(const struct contract_tree *t, uint32_t first, uint32_t n, uint64_t times)
{
	for (uint32_t i = first; i < first + n; i++) {
		const struct contract_node *c = &t->node[t->child[i]];
		uint64_t all;

		if (c->kind == CONTRACT_LEAF)
			continue;
		if (__builtin_mul_overflow(times, c->count, &all) || all > SLOTS_MAX ||
		    !is_short(t, c->first, c->n_children, all))
			return false;
	}
	return true;
}

/* The notes take over the counts that vary. */
static int note_counts(struct shape_tree *from, struct segment_notes **out)
{
	struct segment_notes *notes = calloc(1, sizeof(*notes));

	*out = NULL;
	if (!notes)
		return -1;
	notes->note = calloc(from->n_node + 1u, sizeof(*notes->note));
	notes->vec = calloc(from->n_vec + 1u, sizeof(*notes->vec));
	if (!notes->note || !notes->vec) {
		segment_notes_free(notes);
		return -1;
	}
	notes->n_note = from->n_node;
	for (uint32_t i = 0; i < from->n_node; i++) {
		struct shape_node *n = &from->node[i];

		if (n->kind == CONTRACT_LEAF || count_vec_form(&from->vec[n->vec]) == COUNT_CONSTANT)
			continue;
		notes->vec[notes->n_vec++] = from->vec[n->vec];
		from->vec[n->vec] = (struct count_vec){0};
		notes->note[i].vec = notes->n_vec;
	}
	if (notes->n_vec)
		*out = notes;
	else
		segment_notes_free(notes);
	return 0;
}

int shape_to_notes(struct shape_tree *from, struct contract_tree *tree, struct segment_notes **notes, struct errbuf *err)
{
	int rv = -1;

	*notes = NULL;
	*tree = (struct contract_tree){.n_node = from->n_node,
				       .n_child = from->n_child,
				       .top_first = from->top_first,
				       .n_top = from->n_top,
				       .n_events = from->n_events,
				       .hash = from->hash};
	tree->node = calloc(from->n_node + 1u, sizeof(*tree->node));
	if (!tree->node)
		goto out;
	for (uint32_t i = 0; i < from->n_node; i++) {
		const struct shape_node *n = &from->node[i];

		tree->node[i] = (struct contract_node){
			.kind = n->kind, .symbol = n->symbol, .first = n->first, .n_children = n->n_children, .count = 1};
		if (n->kind == CONTRACT_LOOP)
			tree->node[i].count = greatest_count(&from->vec[n->vec]);
	}
	tree->child = from->child;
	from->child = NULL;
	rv = 1;
	if (is_short(tree, tree->top_first, tree->n_top, 1))
		rv = note_counts(from, notes);
out:
	if (rv < 0)
		err_set(err, "no memory for loops that vary");
	if (rv)
		contract_tree_free(tree);
	shape_tree_free(from);
	return rv;
}
