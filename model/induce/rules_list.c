/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Makes several lists of conditions, takes the shortest, and decides the rows that are left: see rules.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/induce/rules.h"

#define CHANCE_MIN   8 /* passages of the second most frequent arc that show chance */
#define ONLY_MOST    4 /* arcs of which lists are made that speak of no other */
#define ANY_ARC	     4 /* lists that may speak of any arc */
#define CHANCE_ARCS  6	      /* of a node: each set of them that leaves two others is tried as chance */
#define CHANCE_BITS  12.0 /* of a probability */
#define UNKNOWN_BITS 1000.0 /* of a rest of which nothing is known */

/* A list that is being made: a program may be described by several, and the shortest one is taken. */
struct list {
	struct rules_atom atom[MODEL_MAX_CHOICES];
	bool both[MODEL_MAX_CHOICES]; /* with the next one */
	uint32_t n;
	bool plain; /* every atom holds for all that was left of its arc */
	bool steps; /* there is a progression */
	double bits;
	struct model_node rest; /* what it says of the rest */
};

static int put_atom(const struct rules_search *s, struct list *l, const struct rules_atom *a)
{
	if (l->n == MODEL_MAX_CHOICES)
		return -1;
	l->both[l->n] = false;
	l->steps |= a->atom.kind == MODEL_ATOM_ARITH || a->atom.kind == MODEL_ATOM_GEOM;
	l->atom[l->n++] = *a;
	l->bits += a->bits + log2(s->t->n_arcs);
	return 0;
}

/* The atom with its feature; then whether it holds on a row is computed as it was in the search. */
static int take_atom(struct rules_search *s, struct rules_atom *a, struct model_choice *out)
{
	uint32_t x = s->t->feature[a->col];

	if (a->atom.kind == MODEL_ATOM_CHANCE) {
		a->atom.x = x;
		*out = (struct model_choice){.atom = a->atom, .arc = a->label};
		return 0;
	}
	if (a->mod)
		x = rules_feature(s->f, MODEL_MOD, x, a->mod);
	else if (a->by != MODEL_NONE)
		x = rules_feature(s->f, MODEL_MODF, x, s->t->feature[a->by]);
	if (x == MODEL_NONE)
		return -1;
	a->atom.x = x;
	/* One from the library belongs to another node. */
	if (a->atom.fn.n_stages && model_fn_copy(s->m, &a->atom.fn, &a->atom.fn) < 0)
		return -1;
	*out = (struct model_choice){.atom = a->atom, .arc = a->label};
	return 0;
}

/* also: the other one that has to hold, or NULL. */
static void cover(struct rules_search *s, const struct rules_atom *a, const struct rules_atom *also)
{
	size_t kept = 0;

	for (size_t i = 0; i < s->n; i++) {
		uint32_t row = s->row[i];

		if (s->t->label[row] == a->label && rules_covers(s->t, a, row) && (!also || rules_covers(s->t, also, row)))
			s->count[a->label]--;
		else
			s->row[kept++] = row;
	}
	s->n = kept;
}

static uint32_t labels_left(const struct rules_search *s, uint32_t *most, size_t *second)
{
	uint32_t n = 0;

	*most = 0;
	*second = 0;
	for (uint32_t l = 0; l < s->t->n_arcs; l++) {
		n += s->count[l] > 0;
		if (s->count[l] > s->count[*most])
			*most = l;
	}
	for (uint32_t l = 0; l < s->t->n_arcs; l++)
		if (l != *most && s->count[l] > *second)
			*second = s->count[l];
	return n;
}

/* What no rule decides: by chance where that was seen often enough, else it is not known. */
static int residual(struct rules_search *s, size_t second, struct list *l, struct errbuf *err)
{
	struct model *m = s->m;
	struct model_node *node = &l->rest;
	struct rules_atom a;
	char text[256];
	int rc = l->n < MODEL_MAX_CHOICES ? thresholds_approximate(s, &a, err) : 0;

	l->plain = false;
	if (rc < 0)
		return -1;
	/* A threshold that is nearly right does not save saying the way of each passage: a list without one goes before. */
	for (uint32_t k = 0; k < s->t->n_arcs; k++)
		l->bits += s->count[k] ? (double)s->count[k] * log2((double)s->n / (double)s->count[k]) : 0;
	if (rc == 1) {
		put_atom(s, l, &a);
		node->rest = MODEL_NEGATIVE;
		for (uint32_t k = 0; k < s->t->n_arcs; k++)
			if (s->count[k] && k != a.label)
				node->negative = k;
		return 0;
	}
	if (second >= CHANCE_MIN) {
		node->rest = MODEL_RANDOM;
		node->weight = model_alloc(m, node->n_arcs, sizeof(*node->weight));
		for (uint32_t k = 0; node->weight && k < node->n_arcs; k++)
			node->weight[k] = (double)s->count[k];
		return node->weight ? 0 : err_set(err, "no memory for a rule");
	}
	snprintf(text, sizeof(text),
		 "%zu of its %zu passages in %u runs went another way than the rest, and no input, counter or variable tells "
		 "them apart; journal more runs, with other inputs",
		 second, s->n, s->n_runs);
	l->bits += UNKNOWN_BITS;
	node->rest = MODEL_UNKNOWN;
	node->reason = model_strdup(m, text);
	return node->reason ? 0 : err_set(err, "no memory for a rule");
}

/* Two conditions, where they say more than one: 1, 0 when there are none, -1. */
static int take_pair(struct rules_search *s, struct list *l, struct errbuf *err)
{
	struct rules_atom pair[2];
	int rc = l->n + 2 <= MODEL_MAX_CHOICES ? conjunctions_search(s, pair, err) : 0;

	if (rc != 1 || (s->found && s->best.gain >= pair[1].gain))
		return rc < 0 ? -1 : 0;
	cover(s, &pair[0], &pair[1]);
	put_atom(s, l, &pair[0]);
	put_atom(s, l, &pair[1]);
	l->both[l->n - 2] = true;
	return 1;
}

/* whole: a condition for all of an arc, where there is one, before those that save more bits. */
static int condition_find(struct rules_search *s, double *value, bool whole, struct errbuf *err)
{
	int rc;

	s->whole = whole;
	rc = rules_best(s, value, err);
	if (rc < 0 || s->found || !whole)
		return rc;
	s->whole = false;
	return rules_best(s, value, err);
}

/* What a list is made of besides single conditions, most bits first. */
enum way { WAY_BITS, WAY_WHOLE, WAY_PAIRS };

static int list_learn(struct rules_search *s, double *value, enum way way, struct list *l, struct errbuf *err)
{
	for (;;) {
		uint32_t most;
		size_t second, before = s->n;
		bool complete;

		if (labels_left(s, &most, &second) <= 1) {
			l->rest.rest = MODEL_NEGATIVE;
			l->rest.negative = most;
			return 0;
		}
		if (condition_find(s, value, way == WAY_WHOLE, err) < 0)
			return -1;
		complete = s->found && s->best.covered == s->count[s->best.label];
		l->plain &= complete;
		if (way == WAY_PAIRS && !complete) {
			int rc = take_pair(s, l, err);

			if (rc == 1)
				continue;
			if (rc < 0)
				return -1;
		}
		if (!s->found || l->n == MODEL_MAX_CHOICES)
			return residual(s, second, l, err);
		cover(s, &s->best, NULL);
		if (s->n == before)
			return residual(s, second, l, err);
		put_atom(s, l, &s->best);
	}
}

/* Empties l. Takes all rows except rows of the arcs in `without` (bits). */
static void list_begin(struct rules_search *s, const struct model_node *node, uint32_t without, struct list *l)
{
	memset(s->count, 0, s->t->n_arcs * sizeof(*s->count));
	s->n = 0;
	for (size_t i = 0; i < s->t->n_rows; i++) {
		uint32_t label = s->t->label[i];

		if (label < CHANCE_ARCS && without >> label & 1)
			continue;
		s->row[s->n++] = (uint32_t)i;
		s->count[label]++;
	}
	l->n = 0;
	l->bits = 0;
	l->plain = true;
	l->steps = false;
	l->rest = *node;
}

/*
 * Takes the shortest of several lists. The greedy order, most bits first, does not always find the shortest list. A
 * coincidence of a few values (often a progression) can go before the condition that the program tests. Such a
 * coincidence removes the rows that would show the real condition. So further lists are made if some rule holds for a
 * part of its arc only. One list has no progressions, one prefers conditions for all of an arc, one has conjunctions for
 * any arc, and others have conjunctions for a single arc.
 */
static int shortest_learn(struct rules_search *s, double *value, const struct model_node *node, struct list **best, struct list **l,
			  struct errbuf *err)
{
	uint32_t ways = ANY_ARC + (s->t->n_arcs < ONLY_MOST ? s->t->n_arcs : ONLY_MOST);
	bool steps = false;

	for (uint32_t k = 0; k < ways; k++) {
		if (k == 1 && !steps)
			continue;
		s->no_steps = k > 0;
		s->only = k < ANY_ARC ? MODEL_NONE : k - ANY_ARC;
		list_begin(s, node, 0, *l);
		if (list_learn(s, value, k < 2 ? WAY_BITS : k == 2 ? WAY_WHOLE : WAY_PAIRS, *l, err) < 0)
			return -1;
		steps = (*l)->steps;
		if (!k || (*l)->bits < (*best)->bits - RULES_MARGIN_BITS) {
			struct list *t = *best;

			*best = *l;
			*l = t;
		}
		if (!k && ((*best)->plain || s->repeat))
			break;
	}
	return 0;
}

/* The arcs of `chance` (bits) are drawn before anything is asked, which decides between the others. */
static int list_by_chance(struct rules_search *s, double *value, const struct model_node *node, uint32_t chance, struct list *l,
			  struct errbuf *err)
{
	struct rules_atom drawn[CHANCE_ARCS];
	size_t left = s->t->n_rows, rows[CHANCE_ARCS] = {0};
	uint32_t n = 0;

	for (size_t i = 0; i < s->t->n_rows; i++)
		if (s->t->label[i] < CHANCE_ARCS)
			rows[s->t->label[i]]++;
	list_begin(s, node, chance, l);
	if (list_learn(s, value, WAY_BITS, l, err) < 0)
		return -1;
	for (uint32_t k = 0; k < CHANCE_ARCS; k++) {
		double p = (double)rows[k] / (double)left, rest = (double)(left - rows[k]);

		if (!(chance >> k & 1))
			continue;
		if (rows[k] < CHANCE_MIN || !(rest > 0))
			l->plain = false;
		drawn[n] = (struct rules_atom){.by = MODEL_NONE, .label = k};
		drawn[n++].atom = (struct model_atom){.kind = MODEL_ATOM_CHANCE, .a = p};
		l->bits += CHANCE_BITS - (double)rows[k] * log2(p) - rest * log2(1 - p);
		left -= rows[k];
	}
	if (l->n + n > MODEL_MAX_CHOICES)
		return 0;
	memmove(l->atom + n, l->atom, l->n * sizeof(*l->atom));
	memmove(l->both + n, l->both, l->n * sizeof(*l->both));
	memcpy(l->atom, drawn, n * sizeof(*drawn));
	memset(l->both, 0, n * sizeof(*l->both));
	l->n += n;
	return l->plain && l->rest.rest == MODEL_NEGATIVE;
}

/* Numbers that say how often each arc is drawn. */
static double weight_bits(const struct model_node *rest)
{
	double bits = 0;

	for (uint32_t k = 0; rest->rest == MODEL_RANDOM && k < rest->n_arcs; k++)
		bits += rest->weight[k] > 0 ? CHANCE_BITS : 0;
	return bits > 0 ? bits - CHANCE_BITS : 0;
}

/*
 * A branch by chance beside the exit of a loop: the exit is decided by a counter, but only where the branch was not taken.
 * So some arcs are drawn first, and the others have exact conditions.
 */
static int chance_first(struct rules_search *s, double *value, const struct model_node *node, struct list **best, struct list **l,
			struct errbuf *err)
{
	uint32_t n = s->t->n_arcs;

	if (n < 3 || n > CHANCE_ARCS || !s->t->n_cols || (*best)->rest.rest == MODEL_NEGATIVE)
		return 0;
	s->no_steps = true;
	s->only = MODEL_NONE;
	for (uint32_t chance = 1; chance < 1u << n; chance++) {
		struct list *t = *best;
		int rc;

		if ((uint32_t)__builtin_popcount(chance) > n - 2)
			continue;
		rc = list_by_chance(s, value, node, chance, *l, err);
		if (rc < 0)
			return -1;
		if (!rc || (*l)->bits >= t->bits + weight_bits(&t->rest) - RULES_MARGIN_BITS)
			continue;
		*best = *l;
		*l = t;
	}
	return 0;
}

static int list_take(struct rules_search *s, struct list *l, struct model_node *node, struct errbuf *err)
{
	*node = l->rest;
	node->n_choices = l->n;
	node->choice = l->n ? model_alloc(s->m, l->n, sizeof(*node->choice)) : NULL;
	if (l->n && !node->choice)
		return err_set(err, "no memory for the rules of a node");
	for (uint32_t i = 0; i < l->n; i++) {
		if (take_atom(s, &l->atom[i], &node->choice[i]) < 0)
			return err_set(err, "no memory for a rule");
		node->choice[i].both = l->both[i];
	}
	return rules_doubts(s->t, s->f, l->atom, s->m, node) < 0 ? err_set(err, "no memory for the rules of a node") : 0;
}

int rules_learn(struct rules_table *t, struct rules_features *f, const struct rules_library *lib, bool repeat,
		struct model *m, struct model_node *node, struct errbuf *err)
{
	struct rules_search s = {.t = t, .f = f, .m = m, .lib = lib, .repeat = repeat, .only = MODEL_NONE};
	struct list *best = NULL, *list = NULL;
	double *value = NULL;
	int rc = -1;

	node->rest = MODEL_NEGATIVE;
	node->n_choices = 0;
	node->choice = NULL;
	node->n_doubts = 0;
	if (t->n_arcs == 1)
		return 0;
	best = malloc(sizeof(*best));
	list = malloc(sizeof(*list));
	value = malloc((t->n_rows + 1) * sizeof(*value));
	s.row = malloc((t->n_rows + 1) * sizeof(*s.row));
	s.count = calloc(t->n_arcs, sizeof(*s.count));
	s.scratch = rules_scratch();
	if (!s.row || !s.count || !s.scratch || !value || !best || !list)
		err_set(err, "no memory for %zu rows of a node", t->n_rows);
	else if (shortest_learn(&s, value, node, &best, &list, err) == 0 &&
		 chance_first(&s, value, node, &best, &list, err) == 0)
		rc = list_take(&s, best, node, err);
	free(best);
	free(list);
	free(value);
	free(s.row);
	free(s.count);
	free(s.scratch);
	map_free(&s.values);
	return rc;
}
