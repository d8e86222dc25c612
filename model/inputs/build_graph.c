/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Graphs: nodes of a sequence of calls and loops, and arcs from each node to its possible successors. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/inputs/build_impl.h"

static bool is_always(const struct learnt_node *k)
{
	return k->when == WHEN_ALWAYS && !k->due.loop;
}

/* A loop over one call that is made in every iteration is that call's node with an arc to itself. */
static const struct merge_node *single_leaf(const struct build *b, const struct merge_node *n)
{
	if (n->kind != SKEL_LOOP || n->n_child != 1 || n->child[0]->kind != SKEL_LEAF)
		return NULL;
	return is_always(&b->l->leaf[n->child[0]->origin]) ? n->child[0] : NULL;
}

static const struct merge_node *leaf_of(const struct build *b, const struct merge_node *n)
{
	return n->kind == SKEL_LEAF ? n : single_leaf(b, n);
}

static const struct learnt_node *learnt_of(const struct build *b, const struct merge_node *n)
{
	return n->kind == SKEL_LEAF ? &b->l->leaf[n->origin] : &b->l->loop[n->origin];
}

/* ---- functions ---- */

static struct model_term *one_stage(struct build *b, struct model_fn *fn, uint32_t most)
{
	fn->stage = model_alloc(b->m, 1, sizeof(*fn->stage));
	if (!fn->stage || !(fn->stage->term = model_alloc(b->m, most, sizeof(*fn->stage->term)))) {
		b->failed = true;
		return NULL;
	}
	fn->n_stages = 1;
	return fn->stage->term;
}

static void add_term(struct model_fn *fn, double coef, const uint32_t *x, uint32_t n_x)
{
	struct model_term *t = &fn->stage->term[fn->stage->n_terms++];

	t->coef = coef;
	t->n_x = n_x;
	for (uint32_t i = 0; i < n_x; i++)
		t->x[i] = x[i];
}

/* sign * rule + shift, and feature `plus` once, unless it is MODEL_NONE. */
static void rule_fn(struct build *b, struct build_graph *g, const struct rule *r, double sign, double shift, uint32_t plus,
		    struct model_fn *fn)
{
	if (!one_stage(b, fn, 4))
		return;
	if (r->num[0] || shift != 0 || !r->n)
		add_term(fn, sign * (double)r->num[0] / (double)r->den + shift, NULL, 0);
	for (uint32_t k = 0; k < r->n; k++) {
		uint32_t x[3] = {build_input(b, g, r->f[k])}, n = 1;

		if (r->g[k] != RULE_NONE)
			x[n++] = build_input(b, g, r->g[k]);
		if (r->h[k] != RULE_NONE)
			x[n++] = build_input(b, g, r->h[k]);
		add_term(fn, sign * (double)r->num[k + 1] / (double)r->den, x, n);
	}
	if (plus != MODEL_NONE)
		add_term(fn, 1, &plus, 1);
}

void build_rule_terms(struct build *b, struct build_graph *g, const struct rule *r, struct model_stage *stage)
{
	struct model_fn fn = {0};

	rule_fn(b, g, r, 1, 0, MODEL_NONE, &fn);
	if (fn.n_stages)
		*stage = *fn.stage;
}

static void constant_fn(struct build *b, double value, struct model_fn *fn)
{
	if (one_stage(b, fn, 1))
		add_term(fn, value, NULL, 0);
}

/* In units of 1 / scale seconds. */
static void add_time(struct build *b, struct build_graph *g, const struct time_fn *t, double scale, struct model_fn *fn)
{
	if (t->constant_s != 0)
		add_term(fn, t->constant_s * scale, NULL, 0);
	for (uint32_t k = 0; k < t->n; k++) {
		uint32_t x[3], n = 0;

		while (n < 3 && t->x[k][n] != RULE_NONE) {
			x[n] = build_input(b, g, t->x[k][n] & ~TIME_INVERSE);
			if (t->x[k][n] & TIME_INVERSE)
				x[n] = build_feature(b, g, MODEL_INVERSE, x[n]);
			n++;
		}
		add_term(fn, t->coef[k] * scale, x, n);
	}
}

static uint32_t crowded_feature(const struct learnt *l)
{
	uint32_t f = 0;

	while (l->feature[f].op != FEATURE_CROWDED)
		f++;
	return f;
}

/* Where a leaf is: in which sequence, and at which place there. */
struct leaf_place {
	const struct merge_node *of;
	uint32_t item;
	bool single; /* it is a loop */
};

static void find_places(const struct build *b, const struct merge_node *of, struct leaf_place *place)
{
	for (uint32_t i = 0; i < of->n_child; i++) {
		const struct merge_node *leaf = leaf_of(b, of->child[i]);

		if (leaf)
			place[leaf->origin] = (struct leaf_place){of, i, leaf != of->child[i]};
		else
			find_places(b, of->child[i], place);
	}
}

int build_find_told(const struct build *b, bool *told)
{
	const struct runs *r = b->l->runs;
	struct leaf_place *place = calloc(r->n_leaf + 1u, sizeof(*place));

	if (!place)
		return -1;
	find_places(b, r->merge.root, place);
	for (uint32_t w = 0; w < r->n_ways; w++) {
		const struct leaf_place *from = &place[r->way[w].from], *to = &place[r->way[w].to];
		bool same = r->way[w].from == r->way[w].to;

		/* A single call that is repeated goes to itself, and from one round of a loop around to the next. */
		if (from->of != to->of || from->item > to->item || (same && (!to->single || to->of->kind == SKEL_LOOP)))
			told[r->way[w].to] = true;
	}
	free(place);
	return 0;
}

/*
 * The computation on an arc from a call to a call. An arc from the beginning of a sequence or from a loop does not know
 * the last call. For such an arc the result is NULL: a variable, set when the last call was left, has the computation.
 */
static const struct time_fn *arc_gap(const struct build *b, const struct build_graph *g, uint32_t from, uint32_t to)
{
	const struct merge_node *before = from ? leaf_of(b, g->item[from - 1]) : NULL;
	const struct merge_node *after = to < g->n_items ? leaf_of(b, g->item[to]) : NULL;

	if (!after)
		return NULL;
	if (before)
		return run_times_gap(b->times, b->l->runs, before->origin, after->origin);
	return b->told[after->origin] == MODEL_NONE ? &b->times->into[after->origin] : NULL;
}

/* Seconds of an arc: the call before, and the computation up to the call after. If calls of ranks that take turns were
 * learnt apart, the first two stages are two times of the call. The first is with a processor for each rank; the second
 * is with fewer processors. told: variable with the computation if gap is NULL; MODEL_NONE. */
static void arc_time(struct build *b, struct build_graph *g, const struct merge_node *before, const struct time_fn *gap, uint32_t told,
		     struct model_arc *a)
{
	const struct run_times *t = b->times;
	bool apart = before && t->split;
	struct model_fn stage[3] = {0};
	uint32_t n = apart ? 3 : 1;

	a->time.stage = model_alloc(b->m, n, sizeof(*a->time.stage));
	for (uint32_t i = 0; a->time.stage && i < n; i++)
		if (!one_stage(b, &stage[i], 4 + 2 * TIME_TERMS))
			return;
	if (!a->time.stage) {
		b->failed = true;
		return;
	}
	if (apart) {
		uint32_t crowded = build_input(b, g, crowded_feature(b->l));
		uint32_t x[2] = {MODEL_STAGE, crowded}, y[2] = {MODEL_STAGE | 1, crowded};

		add_time(b, g, &t->dur[before->origin], 1, &stage[0]);
		add_time(b, g, &t->crowded[before->origin], 1, &stage[1]);
		add_term(&stage[2], 1, x, 1);
		add_term(&stage[2], -1, x, 2);
		add_term(&stage[2], 1, y, 2);
		a->time_error_s += fmax(t->dur[before->origin].error_s, t->crowded[before->origin].error_s);
	} else if (before) {
		add_time(b, g, &t->dur[before->origin], 1, &stage[0]);
		a->time_error_s += t->dur[before->origin].error_s;
	}
	if (gap) {
		add_time(b, g, gap, 1, &stage[n - 1]);
		a->time_error_s += gap->error_s;
	} else if (told != MODEL_NONE) {
		uint32_t x = build_feature(b, g, MODEL_VAR, told);

		add_term(&stage[n - 1], 1e-9, &x, 1);
	}
	for (uint32_t i = 0; i < n; i++)
		a->time.stage[i] = *stage[i].stage;
	a->time.n_stages = n;
	if (!a->time.stage[n - 1].n_terms)
		a->time = (struct model_fn){0};
}

/* How much of a time is computation, in nanoseconds. */
static void compute_fn(struct build *b, struct build_graph *g, const struct time_fn *t, uint32_t var, struct model_data *d)
{
	d->var = var;
	if (!one_stage(b, &d->fn, 1 + TIME_TERMS))
		return;
	add_time(b, g, t, 1e9, &d->fn);
	if (!d->fn.stage->n_terms)
		add_term(&d->fn, 0, NULL, 0);
}

/* ---- arcs ---- */

static int compare_data(const void *a, const void *b)
{
	const struct model_data *x = a, *y = b;

	return (x->var > y->var) - (x->var < y->var);
}

/* The value in this iteration: of the loop that is the item itself, or of one around. */
static void step_value(struct build *b, struct build_graph *g, const struct learnt_value *v, uint32_t item, bool again,
		       struct model_fn *fn)
{
	uint32_t var = build_step_var(b, v), x;

	if (var == MODEL_NONE) {
		constant_fn(b, INPUTS_UNKNOWN, fn);
	} else if (g->item[item] == v->loop) {
		build_step_fn(b, g, v, item, var, again, fn);
	} else if (one_stage(b, fn, 1)) {
		x = build_feature(b, g, MODEL_VAR, var);
		add_term(fn, 1, &x, 1);
	}
}

/* What goes with the counter of item `to` is set on every arc to it. */
static void arc_steps(struct build *b, struct build_graph *g, uint32_t item, bool again, struct model_arc *a)
{
	for (uint32_t i = 0; i < b->n_steps; i++) {
		const struct build_step *s = &b->step[i];
		struct model_data *d = &a->data[a->n_data];

		if (s->v->loop != g->item[item])
			continue;
		d->var = s->var;
		build_step_fn(b, g, s->v, item, s->var, again, &d->fn);
		a->n_data++;
	}
}

static void arc_data(struct build *b, struct build_graph *g, uint32_t leaf, uint32_t item, bool again, struct model_arc *a)
{
	const struct runs_leaf *l = &b->l->runs->leaf[leaf];

	for (uint32_t v = 0; v < l->n_value; v++) {
		const struct learnt_value *k = &b->l->value[leaf][v];
		struct model_data *d = &a->data[a->n_data];
		bool twice = false;

		for (uint32_t i = 0; i < a->n_data; i++)
			twice |= a->data[i].var == b->var_of[leaf][v];
		if (twice)
			continue;
		d->var = b->var_of[leaf][v];
		if (k->kind == VALUE_RULE)
			rule_fn(b, g, &k->rule, 1, 0, MODEL_NONE, &d->fn);
		else if (k->kind == VALUE_STEPS)
			step_value(b, g, k, item, again, &d->fn);
		else
			constant_fn(b, INPUTS_UNKNOWN, &d->fn);
		a->n_data++;
	}
}

/* How much of the time of an arc to a call is computation: the rest passed in the call before. */
static void arc_compute(struct build *b, struct build_graph *g, const struct time_fn *gap, uint32_t told, struct model_arc *a)
{
	struct model_data *d = &a->data[a->n_data];

	if (gap) {
		compute_fn(b, g, gap, b->compute, d);
		a->n_data++;
	} else if (told != MODEL_NONE && one_stage(b, &d->fn, 1)) {
		uint32_t x = build_feature(b, g, MODEL_VAR, told);

		d->var = b->compute;
		add_term(&d->fn, 1, &x, 1);
		a->n_data++;
	}
}

/* A call is left for the end of the sequence, or for a loop: sets the variables with the computation before each call
 * that follows in the runs. */
static void arc_tell(struct build *b, struct build_graph *g, uint32_t leaf, struct model_arc *a)
{
	const struct runs *r = b->l->runs;

	for (uint32_t w = r->way_behind[leaf]; w != RUNS_NO_WAY; w = r->way[w].next)
		if (b->told[r->way[w].to] != MODEL_NONE)
			compute_fn(b, g, &b->times->gap[w], b->told[r->way[w].to], &a->data[a->n_data++]);
}

/* At the beginning of all: for ways that no rank of the runs went. */
static void arc_tell_all(struct build *b, struct build_graph *g, struct model_arc *a)
{
	for (uint32_t i = 0; i < b->l->runs->n_leaf; i++)
		if (b->told[i] != MODEL_NONE)
			compute_fn(b, g, &b->times->into[i], b->told[i], &a->data[a->n_data++]);
}

static uint32_t ways_behind(const struct runs *r, uint32_t leaf)
{
	uint32_t n = 0;

	for (uint32_t w = r->way_behind[leaf]; w != RUNS_NO_WAY; w = r->way[w].next)
		n++;
	return n;
}

/* Sets all data of an arc: the values of the call at item `to`, and values that step with its counter. Also sets the
 * computation before this call or the next. */
static void all_data(struct build *b, struct build_graph *g, uint32_t from, uint32_t to, const struct time_fn *gap, uint32_t told,
		     struct model_arc *a)
{
	const struct merge_node *before = from ? leaf_of(b, g->item[from - 1]) : NULL;
	const struct merge_node *leaf = to < g->n_items ? leaf_of(b, g->item[to]) : NULL;
	bool again = to + 1 == from, begin = b->times && !from && !g->around;

	a->data = model_alloc(b->m, (leaf ? b->l->runs->leaf[leaf->origin].n_value : 0) + b->n_steps + 2u +
					    (before && !leaf ? ways_behind(b->l->runs, before->origin) : 0) + (begin ? b->l->runs->n_leaf : 0), sizeof(*a->data));
	if (!a->data) {
		b->failed = true;
		return;
	}
	if (leaf)
		arc_data(b, g, leaf->origin, to, again, a);
	if (to < g->n_items)
		arc_steps(b, g, to, again, a);
	if (b->times)
		arc_compute(b, g, gap, told, a);
	if (b->times && before && !leaf)
		arc_tell(b, g, before->origin, a);
	if (begin)
		arc_tell_all(b, g, a);
	qsort(a->data, a->n_data, sizeof(*a->data), compare_data);
}

/* How often the graph was entered at a point: the product of the counts of its loop and those around it. */
static uint64_t times_entered(const struct build_graph *g, uint32_t group)
{
	uint64_t n = 1;

	for (const struct build_graph *k = g; k; k = k->around)
		n *= k->of->kind == SKEL_LOOP ? runs_count(k->of, group) : 1;
	return n;
}

static bool is_between(const struct build_graph *g, uint32_t from, uint32_t to, uint32_t group)
{
	for (uint32_t i = from; i < to; i++)
		if (merge_has_group(g->item[i], group))
			return true;
	return false;
}

/* Passages of the arc in all runs. */
static uint64_t times_taken(const struct build *b, const struct build_graph *g, uint32_t from, uint32_t to)
{
	const struct runs *r = b->l->runs;
	uint64_t sum = 0;

	for (uint32_t p = 0; p < r->n_points; p++) {
		uint32_t group = r->point[p].group;
		uint64_t n;

		if (!merge_has_group(g->of, group) || (from && !merge_has_group(g->item[from - 1], group)) ||
		    (to < g->n_items && !merge_has_group(g->item[to], group)))
			continue;
		n = times_entered(g, group);
		if (to + 1 == from)
			sum += n * (runs_count(g->item[to], group) - 1);
		else if (!is_between(g, from, to, group))
			sum += n;
	}
	return sum;
}

/* From node `from` (0: the beginning) to item `to` (n_items: the end). */
static uint32_t add_arc(struct build *b, struct build_graph *g, uint32_t from, uint32_t to)
{
	struct model_node *n = &g->node[from];
	struct model_arc *a = &n->arc[n->n_arcs];
	const struct merge_node *before = from ? leaf_of(b, g->item[from - 1]) : NULL;
	const struct merge_node *after = to < g->n_items ? leaf_of(b, g->item[to]) : NULL;
	const struct time_fn *gap = b->times ? arc_gap(b, g, from, to) : NULL;
	uint32_t told = b->times && after && !gap ? b->told[after->origin] : MODEL_NONE;

	a->to = to < g->n_items ? to + 1 : MODEL_END;
	a->info = a->to == from;
	a->seen = times_taken(b, g, from, to);
	all_data(b, g, from, to, gap, told, a);
	if (b->times)
		arc_time(b, g, before, gap, told, a);
	n->class = (uint8_t)((n->class == MODEL_PT || n->class == MODEL_PTD || a->time.n_stages ? MODEL_PT : MODEL_S) |
			     (n->class == MODEL_PD || n->class == MODEL_PTD || a->n_data ? MODEL_PD : MODEL_S));
	return n->n_arcs++;
}

static void unknown(struct build *b, struct model_node *n, const char *what, const struct merge_node *item)
{
	const struct merge_node *leaf = item;
	char reason[INPUTS_REASON_MAX];

	while (leaf->kind != SKEL_LEAF && leaf->n_child)
		leaf = leaf->child[0];
	snprintf(reason, sizeof(reason), "%s %s %.160s: no rule of the variables, rank and ranks holds in all runs; trace more of them",
		 what, item->kind == SKEL_LOOP ? "the loop over" : "the call", b->l->runs->leaf[leaf->origin].name);
	n->rest = MODEL_UNKNOWN;
	n->reason = model_strdup(b->m, reason);
	b->failed |= !n->reason;
}

static struct model_atom range_atom(struct build *b, struct build_graph *g, uint32_t f, int64_t lo, int64_t hi)
{
	return (struct model_atom){.kind = MODEL_ATOM_RANGE, .x = build_input(b, g, f),
				   .a = lo <= -INT64_MAX ? -INFINITY : (double)lo, .b = hi == INT64_MAX ? INFINITY : (double)hi};
}

/* f is at least g + shift, or below that. */
static struct model_atom than_atom(struct build *b, struct build_graph *g, const struct rule_guard *k, uint8_t kind, double shift)
{
	struct model_atom a = {.kind = kind, .x = build_input(b, g, k->f)};
	uint32_t x = build_input(b, g, k->g);

	if (one_stage(b, &a.fn, 2)) {
		add_term(&a.fn, 1, &x, 1);
		add_term(&a.fn, shift, NULL, 0);
	}
	return a;
}

static void choose_guard(struct build *b, struct build_graph *g, struct model_node *n, uint32_t arc, const struct rule_guard *k)
{
	bool above = k->lo > -INT64_MAX, below = k->hi < INT64_MAX;
	struct model_choice *c = &n->choice[n->n_choices++];

	c->arc = arc;
	c->both = k->both || (k->than && above && below);
	if (k->than)
		c->atom = above ? than_atom(b, g, k, MODEL_ATOM_ABOVE, (double)k->lo - 0.5)
				: than_atom(b, g, k, MODEL_ATOM_BELOW, (double)k->hi + 0.5);
	else
		c->atom = range_atom(b, g, k->f, k->lo, k->hi);
	if (!c->both)
		return;
	c = &n->choice[n->n_choices++];
	c->arc = arc;
	c->atom = k->both ? range_atom(b, g, k->f2, k->lo2, k->hi2) : than_atom(b, g, k, MODEL_ATOM_BELOW, (double)k->hi + 0.5);
}

/* The call is made in certain iterations of the loop around: in those whose variable is 0. */
static void choose_due(struct build *b, struct build_graph *g, struct model_node *n, uint32_t arc, const struct learnt_node *k)
{
	uint32_t var = k->due.loop ? build_step_var(b, &k->due) : MODEL_NONE;

	b->failed |= k->due.loop && var == MODEL_NONE;
	if (var == MODEL_NONE)
		return;
	n->choice[n->n_choices].arc = arc;
	n->choice[n->n_choices].both = k->when != WHEN_ALWAYS;
	n->choice[n->n_choices++].atom =
	    (struct model_atom){.kind = MODEL_ATOM_RANGE, .x = build_feature(b, g, MODEL_VAR, var), .a = 0, .b = 0};
}

/* The choice of the item behind node `from`; false when nothing behind it can be reached any more. */
static bool choose_item(struct build *b, struct build_graph *g, uint32_t from, uint32_t to)
{
	struct model_node *n = &g->node[from];
	const struct learnt_node *k = learnt_of(b, g->item[to]);
	uint32_t arc = add_arc(b, g, from, to);
	struct model_choice *c;
	struct model_atom *a;

	if (k->when == WHEN_UNKNOWN) {
		unknown(b, n, "whether there is", g->item[to]);
		return false;
	}
	choose_due(b, g, n, arc, k);
	c = &n->choice[n->n_choices];
	a = &c->atom;
	c->arc = arc;
	if (k->when == WHEN_GUARD) {
		choose_guard(b, g, n, arc, &k->guard);
		return true;
	}
	if (k->when == WHEN_COUNTED && k->count.n) { /* x >= x + 1/2 - count */
		*a = (struct model_atom){.kind = MODEL_ATOM_ABOVE, .x = build_input(b, g, k->count.f[0])};
		rule_fn(b, g, &k->count, -1, 0.5, a->x, &a->fn);
		n->n_choices++;
		return true;
	}
	if (k->due.loop) {
		if (k->when == WHEN_COUNTED)
			n->choice[n->n_choices - 1].both = false;
		return true;
	}
	n->rest = MODEL_NEGATIVE;
	n->negative = arc;
	return false;
}

/* The node itself again, while its counter is below the number of iterations. */
static bool choose_again(struct build *b, struct build_graph *g, uint32_t from)
{
	struct model_node *n = &g->node[from];
	const struct merge_node *item = g->item[from - 1];
	const struct learnt_node *k = learnt_of(b, item);
	struct model_choice *c = &n->choice[n->n_choices];

	if (item->kind != SKEL_LOOP)
		return true;
	c->arc = add_arc(b, g, from, from - 1);
	if (!k->count_known && !k->about) {
		unknown(b, n, "how often there is", item);
		return false;
	}
	c->atom = (struct model_atom){.kind = MODEL_ATOM_BELOW,
				      .x = build_feature(b, g, MODEL_COUNT, g->counter_of[from - 1])};
	rule_fn(b, g, &k->count, 1, -0.5, MODEL_NONE, &c->atom.fn);
	n->n_choices++;
	return true;
}

static int leave_node(struct build *b, struct build_graph *g, uint32_t from)
{
	struct model_node *n = &g->node[from];
	uint32_t most = 3;

	/* up to the next one that is always there, and the end */
	for (uint32_t to = from; to < g->n_items && most < MODEL_MAX_CHOICES / 3; to++, most++)
		if (is_always(learnt_of(b, g->item[to])) || learnt_of(b, g->item[to])->when == WHEN_UNKNOWN)
			break;
	n->rest = MODEL_RESTS;
	n->arc = model_alloc(b->m, most, sizeof(*n->arc));
	n->choice = model_alloc(b->m, 3 * (size_t)most, sizeof(*n->choice)); /* guards may be two, and the iteration */
	if (!n->arc || !n->choice)
		return -1;
	if (from && !choose_again(b, g, from)) {
		if (n->n_arcs < most)
			add_arc(b, g, from, from < g->n_items ? from : g->n_items);
		return 0;
	}
	for (uint32_t to = from; to < g->n_items; to++) {
		if (n->n_arcs + 1u == most)
			return err_set(b->err, "more than %d calls in a row of which each may be left out", MODEL_MAX_CHOICES / 3);
		if (!choose_item(b, g, from, to))
			return 0;
	}
	n->rest = MODEL_NEGATIVE;
	n->negative = add_arc(b, g, from, g->n_items);
	return 0;
}

/* ---- the graph ---- */

static int fill_node(struct build *b, struct build_graph *g, uint32_t i)
{
	const struct merge_node *leaf = leaf_of(b, g->item[i]);
	struct model_node *n = &g->node[i + 1];

	*n = (struct model_node){.point = MODEL_NONE, .callee = MODEL_NONE};
	if (leaf)
		n->point = b->point_of[leaf->origin];
	else
		n->callee = build_graph(b, g->item[i], g);
	return leaf || n->callee != MODEL_NONE ? 0 : -1;
}

static int close_graph(struct build *b, const struct build_graph *g)
{
	struct model_graph *out = &b->m->graph[g->index];

	out->n_nodes = g->n_items + 1;
	out->node = g->node;
	out->n_counters = g->n_counters;
	out->counter = g->counter;
	out->n_features = g->n_features;
	out->feature = model_alloc(b->m, g->n_features + 1u, sizeof(*out->feature));
	if (!out->feature)
		return -1;
	memcpy(out->feature, g->feature, g->n_features * sizeof(*out->feature));
	return 0;
}

uint32_t build_graph(struct build *b, const struct merge_node *of, const struct build_graph *around)
{
	struct build_graph *g = calloc(1, sizeof(*g));
	uint32_t index = MODEL_NONE;

	if (!g || b->m->n_graphs == MODEL_MAX_GRAPHS || of->n_child >= MODEL_MAX_NODES) {
		if (g)
			err_set(b->err, "more than %d loops, or more than %d calls in a row: too many for a model",
				MODEL_MAX_GRAPHS, MODEL_MAX_NODES);
		free(g);
		return MODEL_NONE;
	}
	g->index = b->m->n_graphs++;
	g->of = of;
	g->around = around;
	g->n_items = of->n_child;
	g->item = (const struct merge_node **)of->child;
	g->node = model_alloc(b->m, g->n_items + 1u, sizeof(*g->node));
	g->counter = model_alloc(b->m, g->n_items + 1u, sizeof(*g->counter));
	g->counter_of = arena_alloc(b->l->arena, g->n_items, sizeof(*g->counter_of));
	if (!g->node || !g->counter || !g->counter_of)
		goto out;
	for (uint32_t i = 0; i < g->n_items; i++)
		if (g->item[i]->kind == SKEL_LOOP) {
			g->counter_of[i] = g->n_counters;
			g->counter[g->n_counters++] = i + 1;
		}
	g->node[0] = (struct model_node){.point = MODEL_NONE, .callee = MODEL_NONE};
	for (uint32_t i = 0; i < g->n_items; i++)
		if (fill_node(b, g, i) < 0)
			goto out;
	for (uint32_t i = 0; i <= g->n_items; i++)
		if (leave_node(b, g, i) < 0)
			goto out;
	if (close_graph(b, g) == 0)
		index = g->index;
out:
	free(g);
	return index;
}
