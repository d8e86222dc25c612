/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops for the user: see loops.h. The contracted tree of the rank is walked once together with its events, and every
 * loop collects its iterations. If all executions of a loop are alike, the place of an iteration is computed. Inside a
 * loop whose iterations differ, the places are stored.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/merge/loops.h"
#include "common/array.h"
#include "skelgen/merge/normalise.h"
#include "skelgen/merge/rank_groups.h"
#include "skelgen/merge/irregular_loops.h"

/* Where iterations begin and end, for loops inside of which not every turn is the same; else all zero. */
struct loops_place {
	bool kept;
	uint32_t (*range)[2]; /* of each iteration */
	uint64_t cap_range;
	uint64_t *turn;       /* first iteration of each execution */
	uint64_t cap_turn;
	uint32_t curve_count[LOOPS_CURVE]; /* timed iterations of each point, while the loop is measured */
};

struct form {
	struct contract_tree tree;
	struct segment_notes *notes;
	struct shape_map map;
	bool exact;        /* symbols are signatures, not shapes */
	uint32_t *slot;    /* of each node: number of the loop, or LOOPS_NONE */
	uint32_t *sample;  /* of each shape: a signature that has it */
	uint32_t n_loop;   /* of the tree */
};

struct walk {
	struct trace_iter *events;
	const struct form *form;
	struct loop *loop;         /* NULL: only ns[] is wanted */
	struct loops_place *place;
	double *ns;                /* by loop */
	uint64_t event, untimed;
	double now_ns, mpi_ns;     /* of the events so far */
	struct errbuf *err;
};

/* ---- the tree ---- */

static uint32_t *shapes_of(const struct folded *f, const struct shape_map *m)
{
	uint32_t *shape = malloc((f->length + 1) * sizeof(*shape)), sym;
	struct folded_iter it;

	if (!shape)
		return NULL;
	folded_begin(&it, f);
	for (uint64_t i = 0; i < f->length && folded_next(&it, &sym); i++)
		shape[i] = m->of_sym[sym];
	return shape;
}

static int sample_shapes(struct form *f)
{
	f->sample = calloc(f->map.n_shape + 1u, sizeof(*f->sample));
	if (!f->sample)
		return -1;
	for (uint32_t s = f->map.n_sym; s-- > 0;)
		f->sample[f->map.of_sym[s]] = s;
	return 0;
}

static int contract_rank(const struct trace_rank *k, struct form *f, struct errbuf *err)
{
	uint64_t preferred = 0;
	uint32_t *shape;
	int rv;

	f->exact = k->events.length > RANK_GROUPS_EXPAND_MAX;
	if (f->exact)
		return rank_tree_of_folded(&k->events, &f->tree, err);
	if (shape_map_build(&k->defs, SKEL_SHAPE, NULL, &f->map, err) < 0)
		return -1;
	shape = shapes_of(&k->events, &f->map);
	if (!shape || sample_shapes(f) < 0) {
		free(shape);
		return err_set(err, "no memory for %llu events", (unsigned long long)k->events.length);
	}
	rv = contract_symbols(shape, k->events.length, NULL, &f->tree, err);
	free(shape);
	if (rv == 0)
		rv = segments_fold(k, 1, &f->map, &f->tree, &f->notes, &preferred, err);
	return rv;
}

static void form_free(struct form *f)
{
	contract_tree_free(&f->tree);
	segment_notes_free(f->notes);
	shape_map_free(&f->map);
	free(f->slot);
	free(f->sample);
}

static const struct segment_note *note_of(const struct form *f, uint32_t node)
{
	return f->notes ? &f->notes->note[node] : NULL;
}

/* Number the loops in the order of the program. */
static void number_loops(struct form *f, uint32_t first, uint32_t n)
{
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t c = f->tree.child[i];
		const struct contract_node *node = &f->tree.node[c];

		f->slot[c] = LOOPS_NONE;
		if (node->kind == CONTRACT_LEAF)
			continue;
		f->slot[c] = f->n_loop++;
		number_loops(f, node->first, node->n_children);
	}
}

/* ---- the walk ---- */

static int keep_range(struct loops_place *p, uint64_t k, uint64_t first, uint64_t end)
{
	if (ARRAY_ROOM(p->range, p->cap_range, k + 1) != 0)
		return -1;
	p->range[k][0] = (uint32_t)first;
	p->range[k][1] = (uint32_t)end;
	return 0;
}

static int keep_turn(struct loops_place *p, uint64_t e, uint64_t first)
{
	if (ARRAY_ROOM(p->turn, p->cap_turn, e + 1) != 0)
		return -1;
	p->turn[e] = first;
	return 0;
}

/* Add an iteration's time to the curve: sums at first (NAN: none yet), points are paired when they run out. */
static void curve_add(struct loop *l, uint64_t k, double ns, bool known, uint32_t *count)
{
	uint64_t at = k / l->curve_step;

	if (at == LOOPS_CURVE) {
		for (uint32_t i = 0; i < LOOPS_CURVE / 2; i++) {
			l->curve[i] = l->curve[2 * i] + l->curve[2 * i + 1];
			count[i] = count[2 * i] + count[2 * i + 1];
		}
		for (uint32_t i = LOOPS_CURVE / 2; i < LOOPS_CURVE; i++) {
			l->curve[i] = 0;
			count[i] = 0;
		}
		l->curve_step *= 2;
		at /= 2;
	}
	l->n_curve = (uint32_t)at + 1;
	l->curve[at] += known ? ns : 0;
	count[at] += known;
}

static void time_iteration(struct loop *l, double ns)
{
	double d = ns - l->mean_ns;

	if (!l->timed || ns < l->min_ns)
		l->min_ns = ns;
	if (!l->timed || ns > l->max_ns) {
		l->max_ns = ns;
		l->slowest = l->iterations;
	}
	l->timed++;
	l->mean_ns += d / (double)l->timed;
	l->sd_ns += d * (ns - l->mean_ns); /* sum of squares until the end */
}

struct mark {
	uint64_t event, untimed;
	double ns, mpi_ns;
};

static struct mark mark_now(const struct walk *w)
{
	return (struct mark){w->event, w->untimed, w->now_ns, w->mpi_ns};
}

static int end_iteration(struct walk *w, uint32_t slot, const struct mark *from)
{
	struct loop *l = &w->loop[slot];
	uint64_t n = w->event - from->event;
	double ns = w->now_ns - from->ns;
	bool known = w->untimed == from->untimed;

	if (!l->iterations || n < l->events_min)
		l->events_min = n;
	if (n > l->events_max)
		l->events_max = n;
	l->ns += ns;
	l->mpi_ns += w->mpi_ns - from->mpi_ns;
	curve_add(l, l->iterations, ns, known, w->place[slot].curve_count);
	if (known)
		time_iteration(l, ns);
	if (w->place[slot].kept && keep_range(&w->place[slot], l->iterations, from->event, w->event) < 0)
		return err_set(w->err, "no memory for the iterations of a loop");
	l->iterations++;
	return 0;
}

static int walk_leaf(struct walk *w, uint32_t node)
{
	struct trace_event ev;
	uint32_t want = w->form->tree.node[node].symbol;
	bool known;

	if (!trace_iter_next(w->events, &ev, &known) || (w->form->exact ? ev.sym : w->form->map.of_sym[ev.sym]) != want)
		return err_set(w->err, "the contracted tree does not expand to the events");
	w->event++;
	w->untimed += !known;
	w->now_ns += (double)ev.gap_ns + (double)ev.dur_ns;
	w->mpi_ns += (double)ev.dur_ns;
	return 0;
}

static int walk_node(struct walk *w, uint32_t node, uint32_t kind);

/* Turns of a loop; slot LOOPS_NONE: it is not kept. */
static int walk_turns(struct walk *w, uint32_t node, uint32_t kind, uint64_t turns, uint32_t slot)
{
	const struct form *f = w->form;
	const struct contract_node *n = &f->tree.node[node];
	const struct segment_note *note = note_of(f, node);
	int rv = 0;

	for (uint64_t k = 0; rv == 0 && k < turns; k++) {
		uint32_t inner = note && note->region ? f->notes->region[note->region - 1].kind[k] : kind;
		struct mark from = mark_now(w);

		for (uint32_t i = 0; rv == 0 && i < n->n_children; i++)
			rv = walk_node(w, f->tree.child[n->first + i], inner);
		if (rv == 0 && slot != LOOPS_NONE)
			rv = end_iteration(w, slot, &from);
	}
	return rv;
}

static int walk_loop(struct walk *w, uint32_t node, uint32_t kind)
{
	const struct segment_note *note = note_of(w->form, node);
	uint64_t turns = note && note->counts ? note->counts[kind] : w->form->tree.node[node].count;
	uint32_t slot = w->form->slot[node];
	double from_ns = w->now_ns;
	struct loop *l;
	int rv;

	if (!turns)
		return 0;
	if (!w->loop) {
		rv = walk_turns(w, node, kind, turns, LOOPS_NONE);
		w->ns[slot] += w->now_ns - from_ns;
		return rv;
	}
	if (slot == LOOPS_NONE)
		return walk_turns(w, node, kind, turns, slot);
	l = &w->loop[slot];
	if (!l->executions) {
		l->first_event = w->event;
		l->t0_ns = w->now_ns;
		l->turns_min = turns;
	}
	if (w->place[slot].kept && keep_turn(&w->place[slot], l->executions, l->iterations) < 0)
		return err_set(w->err, "no memory for the executions of a loop");
	l->executions++;
	l->turns_min = turns < l->turns_min ? turns : l->turns_min;
	l->turns_max = turns > l->turns_max ? turns : l->turns_max;
	rv = walk_turns(w, node, kind, turns, slot);
	l->end_event = w->event;
	l->t1_ns = w->now_ns;
	return rv;
}

static int walk_node(struct walk *w, uint32_t node, uint32_t kind)
{
	const struct segment_note *note = note_of(w->form, node);

	if (note && !segment_note_has(note, kind))
		return 0;
	if (w->form->tree.node[node].kind == CONTRACT_LEAF)
		return walk_leaf(w, node);
	return walk_loop(w, node, kind);
}

static int walk_all(struct walk *w, const struct trace *t, uint32_t rank)
{
	const struct contract_tree *tree = &w->form->tree;
	struct trace_event ev;
	int rv = 0;

	w->events = trace_iter_create(t, rank, w->err);
	if (!w->events)
		return -1;
	for (uint32_t i = 0; rv == 0 && i < tree->n_top; i++)
		rv = walk_node(w, tree->child[tree->top_first + i], 0);
	if (rv == 0 && trace_iter_next(w->events, &ev, NULL))
		rv = err_set(w->err, "the contracted tree expands to less than the events");
	trace_iter_destroy(w->events);
	return rv;
}

/* ---- which loops are kept ---- */

struct weight {
	double ns;
	uint32_t loop;
};

static int heavier(const void *a, const void *b)
{
	const struct weight *x = a, *y = b;

	if (x->ns != y->ns)
		return x->ns > y->ns ? -1 : 1;
	return (x->loop > y->loop) - (x->loop < y->loop); /* the outer one comes before what is inside */
}

/* Take LOOPS_MAX of too many loops: a loop takes no less time than those inside it, so whole paths stay. */
static int leave_out(const struct trace *t, uint32_t rank, struct form *f, struct errbuf *err)
{
	struct walk w = {.form = f, .err = err};
	struct weight *order = malloc(f->n_loop * sizeof(*order));
	uint32_t *number = malloc(f->n_loop * sizeof(*number)), n = 0;
	int rv = -1;

	w.ns = calloc(f->n_loop, sizeof(*w.ns));
	if (!w.ns || !order || !number) {
		err_set(err, "no memory for %u loops", f->n_loop);
		goto out;
	}
	if (walk_all(&w, t, rank) < 0)
		goto out;
	for (uint32_t i = 0; i < f->n_loop; i++) {
		order[i] = (struct weight){w.ns[i], i};
		number[i] = LOOPS_NONE;
	}
	qsort(order, f->n_loop, sizeof(*order), heavier);
	for (uint32_t i = 0; i < LOOPS_MAX; i++)
		number[order[i].loop] = 0;
	for (uint32_t i = 0; i < f->n_loop; i++)
		if (number[i] == 0)
			number[i] = n++;
	for (uint32_t i = 0; i < f->tree.n_node; i++)
		if (f->slot[i] != LOOPS_NONE)
			f->slot[i] = number[f->slot[i]];
	rv = 0;
out:
	free(w.ns);
	free(order);
	free(number);
	return rv;
}

/* ---- names and places ---- */

static uint32_t site_of_leaf(const struct form *f, const struct trace_defs *d, uint32_t node, uint32_t *sym)
{
	uint32_t s = f->tree.node[node].symbol;

	*sym = f->exact ? s : f->sample[s];
	return d->sigs.sig[*sym].site;
}

/* Is frame k of a call site among those of another? Frame 0 is the call itself. */
static bool called_through(const struct trace_site *s, uint32_t k, const struct trace_site *other)
{
	for (uint32_t i = 1; i < other->n_frame; i++)
		if (other->offset[i] == s->offset[k] && other->module[i] == s->module[k])
			return true;
	return false;
}

/* Set l->frame to the innermost frame through which every call of the loop was made. */
static void join_sites(const struct form *f, const struct trace_defs *d, uint32_t first, uint32_t n, struct loop *l)
{
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t c = f->tree.child[i], sym, site;

		if (f->tree.node[c].kind == CONTRACT_LOOP) {
			join_sites(f, d, f->tree.node[c].first, f->tree.node[c].n_children, l);
			continue;
		}
		site = site_of_leaf(f, d, c, &sym);
		l->n_call++;
		if (l->n_call == 1) {
			l->sym = sym;
			l->site = site;
			l->frame = 1;
		}
		while (site != l->site && l->frame < d->site[l->site].n_frame &&
		       !called_through(&d->site[l->site], l->frame, &d->site[site]))
			l->frame++;
	}
}

/* Fill in the place of each kept loop below: parent, depth, call site, and whether iterations are stored. */
static void describe(const struct form *f, const struct trace_defs *d, uint32_t first, uint32_t n, uint32_t parent,
		     bool varies, struct loops *out)
{
	for (uint32_t i = first; i < first + n; i++) {
		uint32_t c = f->tree.child[i], slot = f->slot[c];
		const struct contract_node *node = &f->tree.node[c];
		const struct segment_note *note = note_of(f, c);
		bool inside = varies || (note && note->region);
		struct loop *l;

		if (node->kind == CONTRACT_LEAF || slot == LOOPS_NONE)
			continue;
		l = &out->loop[slot];
		*l = (struct loop){.parent = parent, .curve_step = 1};
		l->depth = parent == LOOPS_NONE ? 0 : out->loop[parent].depth + 1;
		join_sites(f, d, node->first, node->n_children, l);
		l->frame--; /* the innermost frame that is common is where the loop's function was called */
		out->place[slot].kept = inside;
		describe(f, d, node->first, node->n_children, slot, inside, out);
	}
}

static void finish(struct loops *out, const struct walk *w)
{
	double inside = 0;

	out->events = w->event;
	out->untimed = w->untimed;
	out->ns = w->now_ns;
	for (uint32_t i = 0; i < out->n; i++) {
		struct loop *l = &out->loop[i];

		l->share = out->ns > 0 ? l->ns / out->ns : 0;
		l->sd_ns = l->timed > 1 ? sqrt(l->sd_ns / (double)(l->timed - 1)) : 0;
		for (uint32_t k = 0; k < l->n_curve; k++)
			l->curve[k] = out->place[i].curve_count[k]
					      ? l->curve[k] / out->place[i].curve_count[k]
					      : (double)NAN;
		if (l->parent == LOOPS_NONE)
			inside += l->share;
	}
	out->share = inside;
}

/* ---- runs of too many items: the outermost loop, by a sample ---- */

#define SAMPLE       (1u << 14) /* calls in the middle of the run: contracting them takes 25 MiB and 0.25 s at most */
#define SAMPLE_TURNS 4	        /* least iterations of a loop in the sample */
#define SAMPLE_CUT   2	        /* iterations at the ends of the sample */
#define SAMPLE_SHARE 0.5	/* of the sample that the loop covers at least: only one loop can */

/* The calls in the middle of a rank, as a rank of its own, which borrows the definitions. */
static int take_sample(const struct trace_rank *k, struct trace_rank *out, struct errbuf *err)
{
	struct fold *fold = fold_create();
	struct folded_iter it;
	struct buf raw = {0};
	uint32_t sym;
	int rv;

	*out = (struct trace_rank){.present = true, .defs = k->defs};
	if (fold)
		folded_seek(&it, &k->events, (k->events.length - SAMPLE) / 2);
	for (uint32_t i = 0; fold && i < SAMPLE && folded_next(&it, &sym); i++)
		fold_push(fold, sym);
	rv = !fold || fold_encode(fold, &raw) < 0 ? err_set(err, "no memory for a sample of the calls") : 0;
	if (rv == 0)
		rv = folded_decode(&(struct rdbuf){.data = raw.data, .len = raw.len}, k->defs.sigs.n, &out->events, err);
	buf_free(&raw);
	fold_destroy(fold);
	return rv;
}

/* The calls of each shape in the sample. */
struct shape_use {
	uint64_t n, first, last; /* calls, and the places of the first and the last one */
	bool inside;             /* the loop */
};

static struct shape_use *shapes_used(const struct form *f, const struct folded *events)
{
	struct shape_use *use = calloc(f->map.n_shape + 1u, sizeof(*use));
	struct folded_iter it;
	uint32_t sym;

	folded_begin(&it, events);
	for (uint64_t i = 0; use && i < events->length && folded_next(&it, &sym); i++) {
		struct shape_use *u = &use[f->map.of_sym[sym]];

		if (!u->n++)
			u->first = i;
		u->last = i;
	}
	return use;
}

static void mark_inside(const struct form *f, uint32_t node, struct shape_use *use)
{
	const struct contract_node *n = &f->tree.node[node];

	if (n->kind == CONTRACT_LEAF)
		use[n->symbol].inside = true;
	for (uint32_t i = 0; n->kind == CONTRACT_LOOP && i < n->n_children; i++)
		mark_inside(f, f->tree.child[n->first + i], use);
}

/* The call that each iteration of the outermost loop makes exactly once, and that is made nowhere else but in the iterations that
 * the sample cuts. Returns its shape, or LOOPS_NONE; *loop: the loop's node. */
static uint32_t find_delimiter(const struct form *f, const struct shape_use *use, uint32_t *loop)
{
	const struct contract_tree *t = &f->tree;

	for (uint32_t i = 0; i < t->n_top; i++) {
		const struct contract_node *n = &t->node[*loop = t->child[t->top_first + i]];

		for (uint32_t k = 0; n->kind == CONTRACT_LOOP && k < n->n_children; k++) {
			uint32_t c = t->child[n->first + k];
			const struct segment_note *note = note_of(f, c);
			const struct shape_use *u = &use[t->node[c].kind == CONTRACT_LEAF ? t->node[c].symbol : 0];

			if (t->node[c].kind == CONTRACT_LEAF && !(note && note->kinds) && n->count >= SAMPLE_TURNS &&
			    u->n >= n->count && u->n <= n->count + SAMPLE_CUT &&
			    (double)(u->last - u->first) >= SAMPLE_SHARE * SAMPLE)
				return t->node[c].symbol;
		}
	}
	return LOOPS_NONE;
}

static void set_mark(struct walk *w, const struct mark *m)
{
	w->event = m->event;
	w->untimed = m->untimed;
	w->now_ns = m->ns;
	w->mpi_ns = m->mpi_ns;
}

/* Cuts the whole run at each delimiter. The last iteration ends with the last call that the loop has. */
static int cut_run(struct walk *w, const struct shape_use *use, uint32_t delimiter)
{
	struct mark from = {0}, last = {0};
	struct loop *l = w->loop;
	struct trace_event ev;
	bool known;
	int rv = 0;

	while (rv == 0 && trace_iter_next(w->events, &ev, &known)) {
		uint32_t shape = w->form->map.of_sym[ev.sym];

		if (shape == delimiter) {
			if (l->executions)
				rv = end_iteration(w, 0, &from);
			from = mark_now(w);
			if (!l->executions++) {
				l->first_event = w->event;
				l->t0_ns = w->now_ns;
			}
		}
		w->event++;
		w->untimed += !known;
		w->now_ns += (double)ev.gap_ns + (double)ev.dur_ns;
		w->mpi_ns += (double)ev.dur_ns;
		if (use[shape].inside)
			last = mark_now(w);
	}
	if (rv == 0 && l->executions) {
		struct mark end = mark_now(w);

		set_mark(w, &last);
		rv = end_iteration(w, 0, &from);
		l->end_event = w->event;
		l->t1_ns = w->now_ns;
		l->turns_min = l->turns_max = l->iterations;
		set_mark(w, &end);
	}
	return rv == 0 ? keep_turn(w->place, 0, 0) : rv;
}

/* The loop that `f`, made of a sample, has found, over the whole run. */
static int measure_outermost(const struct trace *t, struct form *f, const struct shape_use *use, uint32_t delimiter, uint32_t loop,
			     struct loops *out, struct errbuf *err)
{
	struct walk w = {.form = f, .err = err, .events = trace_iter_create(t, out->rank, err)};
	int rv;

	if (!w.events)
		return -1;
	f->slot = malloc((f->tree.n_node + 1u) * sizeof(*f->slot));
	w.loop = out->loop = calloc(1, sizeof(*out->loop));
	w.place = out->place = calloc(1, sizeof(*out->place));
	if (!f->slot || !out->loop || !out->place) {
		trace_iter_destroy(w.events);
		return err_set(err, "no memory for a loop");
	}
	out->n = 1;
	memset(f->slot, 0xff, f->tree.n_node * sizeof(*f->slot));
	f->slot[loop] = 0;
	describe(f, &trace_get_rank(t, out->rank)->defs, f->tree.top_first, f->tree.n_top, LOOPS_NONE, true, out);
	rv = cut_run(&w, use, delimiter);
	trace_iter_destroy(w.events);
	out->loop->executions = 1;
	if (rv == 0)
		finish(out, &w);
	return rv;
}

static int build_outermost(const struct trace *t, struct loops *out, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, out->rank);
	struct trace_rank sample;
	struct shape_use *use = NULL;
	struct form f = {0};
	uint32_t delimiter, loop = 0;
	int rv = take_sample(k, &sample, err);

	out->events = k->events.length;
	if (rv == 0)
		rv = contract_rank(&sample, &f, err);
	if (rv == 0 && !(use = shapes_used(&f, &sample.events)))
		rv = err_set(err, "no memory for the calls of a sample");
	delimiter = rv == 0 ? find_delimiter(&f, use, &loop) : LOOPS_NONE;
	if (delimiter != LOOPS_NONE) {
		mark_inside(&f, loop, use);
		rv = measure_outermost(t, &f, use, delimiter, loop, out, err);
	}
	free(use);
	form_free(&f);
	folded_free(&sample.events);
	return rv;
}

int loops_build(const struct trace *t, uint32_t rank, struct loops *out, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct form f = {0};
	struct walk w = {.form = &f, .err = err};
	int rv = -1;

	*out = (struct loops){.rank = rank};
	if (!k || !k->present)
		return err_set(err, "rank %u is not in the trace", rank);
	out->irregular = k->events.n_item > LOOPS_ITEMS_MAX;
	if (out->irregular) {
		rv = build_outermost(t, out, err);
		goto out;
	}
	if (contract_rank(k, &f, err) < 0)
		goto out;
	f.slot = malloc((f.tree.n_node + 1u) * sizeof(*f.slot));
	if (!f.slot) {
		err_set(err, "no memory");
		goto out;
	}
	number_loops(&f, f.tree.top_first, f.tree.n_top);
	if (f.n_loop > LOOPS_MAX && leave_out(t, rank, &f, err) < 0)
		goto out;
	out->n = f.n_loop < LOOPS_MAX ? f.n_loop : LOOPS_MAX;
	out->n_left_out = f.n_loop - out->n;
	out->loop = calloc(out->n + 1u, sizeof(*out->loop));
	out->place = calloc(out->n + 1u, sizeof(*out->place));
	if (!out->loop || !out->place) {
		err_set(err, "no memory for %u loops", out->n);
		goto out;
	}
	describe(&f, &k->defs, f.tree.top_first, f.tree.n_top, LOOPS_NONE, false, out);
	w.loop = out->loop;
	w.place = out->place;
	rv = walk_all(&w, t, rank);
	if (rv == 0)
		finish(out, &w);
out:
	form_free(&f);
	if (rv < 0)
		loops_free(out);
	return rv;
}

void loops_free(struct loops *l)
{
	for (uint32_t i = 0; l->place && i < l->n; i++) {
		free(l->place[i].range);
		free(l->place[i].turn);
	}
	free(l->place);
	free(l->loop);
	*l = (struct loops){0};
}

/* ---- iterations ---- */

static uint64_t iteration_first(const struct loops *l, uint32_t loop, uint64_t k)
{
	const struct loop *x = &l->loop[loop];
	uint64_t in = k % x->turns_max * x->events_max, up;

	if (l->place[loop].kept)
		return l->place[loop].range[k][0];
	if (x->parent == LOOPS_NONE)
		return x->first_event + in;
	up = iteration_first(l, x->parent, k / x->turns_max);
	return up + (x->first_event - l->loop[x->parent].first_event) + in;
}

void loops_iteration(const struct loops *l, uint32_t loop, uint64_t k, uint64_t *first, uint64_t *end)
{
	*first = iteration_first(l, loop, k);
	*end = l->place[loop].kept ? l->place[loop].range[k][1] : *first + l->loop[loop].events_max;
}

void loops_execution(const struct loops *l, uint32_t loop, uint64_t e, uint64_t *first, uint64_t *end)
{
	const struct loop *x = &l->loop[loop];
	const struct loops_place *p = &l->place[loop];

	*first = p->kept ? p->turn[e] : e * x->turns_max;
	*end = p->kept ? (e + 1 < x->executions ? p->turn[e + 1] : x->iterations) : *first + x->turns_max;
}

/* The iteration of a loop that event is in; false when it is in none. */
static bool iteration_at(const struct loops *l, uint32_t loop, uint64_t event, uint64_t *k)
{
	const struct loop *x = &l->loop[loop];
	uint64_t lo = 0, hi = x->iterations, first, end;

	if (event < x->first_event || event >= x->end_event)
		return false;
	while (hi - lo > 1) {
		uint64_t mid = lo + (hi - lo) / 2;

		if (iteration_first(l, loop, mid) <= event)
			lo = mid;
		else
			hi = mid;
	}
	loops_iteration(l, loop, lo, &first, &end);
	*k = lo;
	return event >= first && event < end;
}

uint32_t loops_at(const struct loops *l, uint64_t event, uint64_t *iteration)
{
	uint32_t in = LOOPS_NONE;

	for (uint32_t i = 0; i < l->n; i++)
		if (l->loop[i].parent == in && iteration_at(l, i, event, iteration))
			in = i;
	return in;
}

int loops_times(const struct loops *l, const struct trace *t, uint32_t loop,
		int (*f)(uint64_t k, double t0_ns, double t1_ns, bool known, void *arg), void *arg,
		struct errbuf *err)
{
	struct trace_iter *it = trace_iter_create(t, l->rank, err);
	uint64_t k = 0, first, end, unknown = 0;
	struct trace_event ev;
	double now = 0, from = 0;
	bool known;
	int rv = 0;

	if (!it)
		return -1;
	loops_iteration(l, loop, 0, &first, &end);
	for (uint64_t i = 0; rv == 0 && trace_iter_next(it, &ev, &known); i++) {
		if (i == first) {
			from = now;
			unknown = 0;
		}
		now += (double)ev.gap_ns + (double)ev.dur_ns;
		unknown += !known;
		if (i + 1 < end)
			continue;
		rv = f(k, from, now, !unknown, arg) != 0;
		if (++k == l->loop[loop].iterations)
			break;
		loops_iteration(l, loop, k, &first, &end);
	}
	trace_iter_destroy(it);
	return rv;
}
