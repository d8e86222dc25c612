/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where a list of choices says more than the rows show. The order of two choices is known only if both held on some
 * row. How a threshold is passed is known only if some row was beyond the threshold. See struct model_doubt.
 */
#include <stdlib.h>
#include <string.h>

#include "model/induce/rules.h"

#define CHOICES_MOST 64 /* bits of a mask; a longer list of choices repeats values, which exclude each other */

struct seen {
	uint64_t with[CHOICES_MOST]; /* by the choice that decided: choices after it that held as well */
	uint64_t at, beyond;	     /* thresholds on a counter: rows at the threshold, and beyond it */
};

static uint32_t group_end(const struct model_node *n, uint32_t i)
{
	while (n->choice[i].both)
		i++;
	return i;
}

static bool group_holds(const struct rules_table *t, const struct rules_atom *atom, const struct model_node *n, uint32_t i, uint32_t row)
{
	for (; n->choice[i].both; i++)
		if (!rules_covers(t, &atom[i], row))
			return false;
	return rules_covers(t, &atom[i], row);
}

/* A threshold on a counter that stands alone: the counter rises by one, so that a program cannot jump over a whole bound. */
static bool is_step(const struct rules_features *f, const struct model_node *n, uint32_t i)
{
	const struct model_atom *a = &n->choice[i].atom;

	return !n->choice[i].both && (a->kind == MODEL_ATOM_ABOVE || a->kind == MODEL_ATOM_BELOW) && f->feature[a->x].op == MODEL_COUNT;
}

static void row_look(const struct rules_table *t, const struct rules_features *f, const struct rules_atom *atom,
		     const struct model_node *n, uint32_t row, struct seen *seen)
{
	for (uint32_t i = 0; i < n->n_choices; i = group_end(n, i) + 1) {
		if (n->choice[i].atom.kind == MODEL_ATOM_CHANCE)
			continue;
		if (is_step(f, n, i)) {
			double far = rules_beyond(t, &atom[i], row);

			seen->at |= (uint64_t)(far == 0) << i;
			seen->beyond |= (uint64_t)(far > 0) << i;
		}
		if (!group_holds(t, atom, n, i, row))
			continue;
		for (uint32_t k = group_end(n, i) + 1; k < n->n_choices; k = group_end(n, k) + 1)
			if (n->choice[k].atom.kind != MODEL_ATOM_CHANCE && group_holds(t, atom, n, k, row))
				seen->with[i] |= 1ull << k;
		return;
	}
}

/* Whether no state lets both choices hold. */
static bool exclude(const struct model_choice *a, const struct model_choice *b)
{
	return !a->both && !b->both && a->atom.kind == MODEL_ATOM_RANGE && b->atom.kind == MODEL_ATOM_RANGE &&
	       a->atom.x == b->atom.x && (a->atom.b < b->atom.a || b->atom.b < a->atom.a);
}

static bool is_doubt(const struct rules_features *f, const struct model_node *n, uint32_t i, uint32_t k, const struct seen *seen)
{
	const struct model_choice *a = &n->choice[i], *b = &n->choice[k];

	if (a->atom.kind == MODEL_ATOM_CHANCE || b->atom.kind == MODEL_ATOM_CHANCE)
		return false;
	if (i == k)
		return is_step(f, n, i) && seen->at >> i & 1 && !(seen->beyond >> i & 1);
	return a->arc != b->arc && !(seen->with[i] >> k & 1) && !exclude(a, b);
}

int rules_doubts(const struct rules_table *t, const struct rules_features *f, const struct rules_atom *atom, struct model *m,
		 struct model_node *n)
{
	struct seen seen = {.at = 0};
	uint32_t count = 0;

	n->n_doubts = 0;
	if (!n->n_choices || n->n_choices > CHOICES_MOST)
		return 0;
	for (size_t row = 0; row < t->n_rows; row++)
		row_look(t, f, atom, n, (uint32_t)row, &seen);
	for (int write = 0; write < 2; write++) {
		for (uint32_t i = 0; i < n->n_choices; i = group_end(n, i) + 1)
			for (uint32_t k = i; k < n->n_choices; k = group_end(n, k) + 1) {
				if (!is_doubt(f, n, i, k, &seen))
					continue;
				if (write)
					n->doubt[n->n_doubts++] = (struct model_doubt){i, k};
				else
					count++;
			}
		if (write || !count)
			break;
		n->doubt = model_alloc(m, count, sizeof(*n->doubt));
		if (!n->doubt)
			return -1;
	}
	return 0;
}
