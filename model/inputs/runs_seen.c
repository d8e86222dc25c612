/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walks the merged tree along the events of every rank: records the values of each call, and proves that the tree
 * expands to the events. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/inputs/runs.h"

#define NO_CALL UINT32_MAX

struct symbol {
	struct runs_symbol is;
	int64_t value[CALL_VALUES];
};

struct pass {
	struct runs *r;
	uint32_t at; /* point */
	const struct trace_rank *rank;
	struct symbol *symbol;
	const struct runs_symbol *before; /* of the last event, where that is looked at */
	bool expanded, steps;		  /* steps: the second time, for how values go with counters */
	uint32_t depth;			  /* loops that are open */
	uint64_t counter[RUNS_DEPTH], count[RUNS_DEPTH];
	struct trace_iter *it;
	struct folded_iter ahead; /* where loops are counted or uneven: */
	uint32_t next;		  /* symbol that comes next */
	bool more;		  /* there is one */
	uint64_t entries;	  /* of loops, so far */
	struct run_own own; /* the first time */
	uint32_t last;	    /* leaf of the last call; NO_CALL before the first */
	double begin_ns;    /* before the first */
	uint64_t n;
	struct errbuf *err;
};

static void number_nodes(struct runs *r, struct merge_node *n)
{
	if (n->kind == SKEL_LEAF) {
		n->origin = r->n_leaf++;
		return;
	}
	if (n->kind == SKEL_LOOP)
		n->origin = r->n_loop++;
	for (uint32_t i = 0; i < n->n_child; i++)
		number_nodes(r, n->child[i]);
}

static int name_leaf(struct runs *r, struct runs_leaf *l, const struct call_view *c)
{
	char *name = arena_alloc(r->arena, strlen(c->name) + 1, 1);

	l->value_name = arena_alloc(r->arena, c->n, sizeof(*l->value_name));
	if (!name || !l->value_name)
		return -1;
	memcpy(name, c->name, strlen(c->name));
	l->name = name;
	l->n_value = c->n;
	for (uint32_t i = 0; i < c->n; i++)
		memcpy(l->value_name[i], c->value[i].name, sizeof(l->value_name[i]));
	return 0;
}

static struct runs_way *add_way(struct runs *r, uint32_t from, uint32_t to)
{
	uint32_t *first = &r->way_behind[from];
	struct runs_way *w;

	if (ARRAY_ROOM(r->way, r->ways_cap, r->n_ways + 1) != 0)
		return NULL;
	w = &r->way[r->n_ways];
	*w = (struct runs_way){from, to, arena_alloc(r->arena, r->n_points, sizeof(*w->seen)), *first};
	if (!w->seen)
		return NULL;
	*first = r->n_ways++;
	return w;
}

/* Counts the way to a call; *sum is where its time is to be added, which stays where it is. */
static int note_way(struct pass *p, uint32_t to, bool timed, double **sum)
{
	struct runs_between *s;
	struct runs_way *w;
	uint32_t from = p->last, i;

	*sum = &p->begin_ns;
	p->last = to;
	if (from == NO_CALL)
		return 0;
	i = runs_way_find(p->r, from, to);
	w = i == RUNS_NO_WAY ? add_way(p->r, from, to) : &p->r->way[i];
	if (!w)
		return err_set(p->err, "no memory");
	s = &w->seen[p->at];
	s->n++;
	s->timed += timed;
	*sum = &s->ns;
	return 0;
}

/* Of a call whose times are known. */
static void note_times(struct pass *p, struct runs_seen *s, const struct trace_event *ev, double *gap_ns)
{
	uint64_t enter, leave, begin = trace_iter_gap_begin(p->it);

	trace_iter_when(p->it, &enter, &leave);
	s->timed++;
	s->usual_ns = run_own_usual(s->usual_ns, (double)ev->gap_ns);
	run_own_add(&p->own, (double)begin, (double)enter, (double)ev->gap_ns, s->usual_ns, gap_ns);
	run_own_add(&p->own, (double)enter, (double)leave, (double)ev->dur_ns, 0, &s->dur_ns);
}

static int note_call(struct pass *p, struct runs_leaf *l, const struct trace_event *ev, bool timed)
{
	struct runs_seen *s = &l->seen[p->at];
	const struct symbol *sym = &p->symbol[ev->sym];
	struct call_view c;
	double *gap_ns;

	if (!l->name) {
		call_view(&p->rank->defs, ev->sym, &c);
		if (name_leaf(p->r, l, &c) < 0)
			return err_set(p->err, "no memory");
	}
	if (!s->value) {
		s->value = arena_alloc(p->r->arena, l->n_value, sizeof(*s->value));
		if (!s->value)
			return err_set(p->err, "no memory");
		memcpy(s->value, sym->value, l->n_value * sizeof(*s->value));
	}
	for (uint32_t i = 0; i < l->n_value; i++)
		if (s->value[i] != sym->value[i])
			s->varies |= 1u << i;
	s->n++;
	if (note_way(p, (uint32_t)(l - p->r->leaf), timed, &gap_ns) < 0)
		return -1;
	if (timed)
		note_times(p, s, ev, gap_ns);
	return 0;
}

static int steps_create(struct pass *p, struct runs_leaf *l)
{
	struct runs_seen *s = &l->seen[p->at];

	l->depth = p->depth < RUNS_DEPTH ? p->depth : RUNS_DEPTH;
	s->step = arena_alloc(p->r->arena, l->n_value, sizeof(*s->step));
	if (!s->step)
		return err_set(p->err, "no memory");
	for (uint32_t i = 0; i < l->n_value; i++)
		for (uint32_t d = 0; d < RUNS_DEPTH; d++) {
			s->step[i][d] = (struct runs_step){.first = CALL_MISSING, .second = CALL_MISSING,
							   .others = CALL_MISSING, .last = CALL_MISSING};
			for (uint32_t k = 0; k < RUNS_CYCLE; k++)
				s->step[i][d].cycle[k] = CALL_MISSING;
		}
	return 0;
}

static int note_steps(struct pass *p, struct runs_leaf *l, const struct trace_event *ev)
{
	struct runs_seen *s = &l->seen[p->at];

	if (!l->varies)
		return 0;
	if (!s->step && steps_create(p, l) < 0)
		return -1;
	for (uint32_t i = 0; i < l->n_value; i++)
		for (uint32_t d = 0; l->varies >> i & 1 && d < l->depth; d++)
			runs_step_note(&s->step[i][d], p->counter[d], p->count[d], p->symbol[ev->sym].value[i]);
	return 0;
}

static int differs(const struct pass *p)
{
	const struct runs_point *at = &p->r->point[p->at];

	return err_set(p->err, "%s, rank %u: call %llu is not where the merged structure has it", p->r->run[at->run].path,
		       at->rank, (unsigned long long)p->n);
}

/* Does the node begin with the call that comes next? */
static bool comes_next(const struct pass *p, const struct merge_node *n)
{
	bool found = n->kind == SKEL_LEAF && p->more && runs_event_key(&p->symbol[p->next].is, p->before) == n->key;

	for (uint32_t i = 0; i < n->n_child && !found; i++)
		found = merge_has_group(n->child[i], p->r->point[p->at].group) && comes_next(p, n->child[i]);
	return found;
}

/* ---- loops whose trip count differs from entry to entry ---- */

/* What comes behind the calls that were seen. */
struct look {
	const struct pass *p;
	struct folded_iter it;
	uint32_t next;
	bool more;
	const struct runs_symbol *before;
	bool open; /* such a loop has been reached: no call behind it is known */
};

/* Do the calls of the node come next? */
static bool follows(struct look *l, const struct merge_node *n)
{
	const struct pass *p = l->p;
	uint64_t count = n->kind == SKEL_LOOP ? runs_count(n, p->r->point[p->at].group) : 1;

	if (n->kind == SKEL_LEAF) {
		if (!l->more || runs_event_key(&p->symbol[l->next].is, l->before) != n->key)
			return false;
		l->before = p->expanded ? &p->symbol[l->next].is : NULL;
		l->more = folded_next(&l->it, &l->next);
		return true;
	}
	l->open |= runs_trips(p->r, n) != NULL;
	for (uint64_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < n->n_child && !l->open; k++)
			if (merge_has_group(n->child[k], p->r->point[p->at].group) && !follows(l, n->child[k]))
				return false;
	return true;
}

static bool iteration_follows(const struct pass *p, const struct merge_node *loop)
{
	struct look l = {.p = p, .it = p->ahead, .next = p->next, .more = p->more, .before = p->before};

	if (!comes_next(p, loop)) /* an iteration makes a call */
		return false;
	for (uint32_t k = 0; k < loop->n_child && !l.open; k++)
		if (merge_has_group(loop->child[k], p->r->point[p->at].group) && !follows(&l, loop->child[k]))
			return false;
	return true;
}

/* Loops without a trip count (uneven.h) get records. */
static int trips_create(struct runs *r, const struct merge_node *n)
{
	bool open = false;

	for (uint32_t g = 0; n->kind == SKEL_LOOP && g < r->groups.n_group; g++)
		open |= merge_has_group(n, g) && !runs_count(n, g);
	if (open && !(r->trips[n->origin] = arena_alloc(r->arena, r->n_points, sizeof(**r->trips))))
		return -1;
	for (uint32_t i = 0; i < n->n_child; i++)
		if (trips_create(r, n->child[i]) < 0)
			return -1;
	return 0;
}

/* Their trip counts become means. */
static void trips_mean(struct runs *r, struct merge_node *n)
{
	const struct runs_trips *t = n->kind == SKEL_LOOP ? runs_trips(r, n) : NULL;

	for (uint32_t i = 0; t && i < r->n_points; i++)
		if (t[i].entries)
			n->counts[r->point[i].group] = (t[i].iterations + t[i].entries / 2) / t[i].entries;
	for (uint32_t i = 0; i < n->n_child; i++)
		trips_mean(r, n->child[i]);
}

/* ---- calls that some iterations leave out ---- */

static struct runs_due *due_of(const struct pass *p, const struct merge_node *n)
{
	return &(n->kind == SKEL_LEAF ? p->r->leaf_due : p->r->loop_due)[n->origin][p->at];
}

static void note_passed(struct runs_due *d, uint64_t i, uint64_t entry)
{
	if (!d->some) {
		d->dead |= d->none;
		d->some = true;
		d->first = i;
	} else if (d->entry != entry) {
		d->dead |= d->first != i;
	} else {
		d->period = d->period ? d->period : i - d->last;
		d->dead |= d->period != i - d->last;
	}
	d->last = i;
	d->entry = entry;
}

/* The loop has been left: did the node stop being passed before? */
static void note_left(struct runs_due *d, uint64_t count, uint64_t entry)
{
	bool here = d->some && d->entry == entry;

	d->count = count;
	d->none |= !here;
	d->dead |= (d->some && !here) || (here && d->period && d->last + d->period < count);
}

static int see_node(struct pass *p, const struct merge_node *n);

/* One iteration of a loop, or the root. */
static int see_children(struct pass *p, const struct merge_node *n, uint64_t i, uint64_t count, uint64_t entry)
{
	bool counted = n->kind == SKEL_LOOP && p->r->folded;

	for (uint32_t k = 0; k < n->n_child; k++) {
		const struct merge_node *c = n->child[k];
		struct runs_due *d = counted ? due_of(p, c) : NULL;
		bool here = !d || comes_next(p, c);

		if (!merge_has_group(c, p->r->point[p->at].group))
			continue;
		if (d && !p->steps && here)
			note_passed(d, i, entry);
		if (d && !here)
			d->partial = true;
		if (here && see_node(p, c) < 0)
			return -1;
		if (d && !p->steps && i + 1 == count)
			note_left(d, count, entry);
	}
	return 0;
}

static int see_node(struct pass *p, const struct merge_node *n)
{
	uint32_t group = p->r->point[p->at].group;
	uint64_t count = n->kind == SKEL_LOOP ? runs_count(n, group) : 1, entry, i;
	bool open = n->kind == SKEL_LOOP && runs_trips(p->r, n);
	struct trace_event ev;
	bool timed;

	if (!merge_has_group(n, group))
		return 0;
	if (n->kind == SKEL_LEAF) {
		if (!trace_iter_next(p->it, &ev, &timed) || runs_event_key(&p->symbol[ev.sym].is, p->before) != n->key)
			return differs(p);
		p->before = p->expanded ? &p->symbol[ev.sym].is : NULL;
		p->n++;
		if (p->r->folded || p->r->uneven)
			p->more = folded_next(&p->ahead, &p->next);
		return p->steps ? note_steps(p, &p->r->leaf[n->origin], &ev) : note_call(p, &p->r->leaf[n->origin], &ev, timed);
	}
	p->depth += n->kind == SKEL_LOOP;
	entry = ++p->entries;
	for (i = 0; open ? iteration_follows(p, n) : i < count; i++) {
		if (n->kind == SKEL_LOOP && p->depth <= RUNS_DEPTH) {
			p->counter[p->depth - 1] = i;
			p->count[p->depth - 1] = count;
		}
		if (see_children(p, n, i, count, entry) < 0)
			return -1;
	}
	if (open && !p->steps) {
		p->r->trips[n->origin][p->at].entries++;
		p->r->trips[n->origin][p->at].iterations += i;
	}
	p->depth -= n->kind == SKEL_LOOP;
	return 0;
}

static int see_point(struct runs *r, uint32_t at, bool steps, struct errbuf *err)
{
	const struct runs_point *point = &r->point[at];
	const struct trace *t = r->run[point->run].trace;
	struct pass p = {.r = r, .at = at, .rank = trace_get_rank(t, point->rank), .last = NO_CALL, .err = err};
	struct call_view c;
	int rc = -1;

	p.expanded = runs_expands(p.rank);
	p.steps = steps;
	folded_begin(&p.ahead, &p.rank->events);
	p.more = folded_next(&p.ahead, &p.next);
	p.symbol = calloc(p.rank->defs.sigs.n + 1u, sizeof(*p.symbol));
	for (uint32_t s = 0; p.symbol && s < p.rank->defs.sigs.n; s++) {
		call_view(&p.rank->defs, s, &c);
		p.symbol[s].is = runs_symbol(r, &c);
		for (uint32_t i = 0; i < c.n; i++)
			p.symbol[s].value[i] = c.value[i].v;
	}
	p.it = p.symbol ? trace_iter_create(t, point->rank, err) : NULL;
	if (!p.symbol)
		err_set(err, "no memory");
	if (!p.it || (!steps && run_own_begin(&p.own, t, point->rank, err) < 0))
		goto out;
	rc = see_node(&p, r->merge.root);
	if (rc == 0 && p.n != p.rank->events.length)
		rc = differs(&p);
out:
	run_own_end(&p.own);
	r->run[point->run].lost_ns += steps ? 0 : p.own.lost_ns;
	trace_iter_destroy(p.it);
	free(p.symbol);
	return rc;
}

/* Does a value vary in any rank that makes a call of this one's? Then this one has to be looked at too. */
static bool find_varying(struct runs *r, uint32_t at)
{
	bool any = false;

	for (uint32_t k = 0; k < r->n_leaf; k++) {
		struct runs_leaf *l = &r->leaf[k];

		for (uint32_t i = 0; at == 0 && i < r->n_points; i++)
			l->varies |= l->seen[i].varies;
		any |= l->varies && l->seen[at].value;
	}
	return any;
}

/* Values that there never were go. */
static void drop_missing(const struct runs *r, struct runs_leaf *l)
{
	uint32_t k = 0;

	for (uint32_t v = 0; v < l->n_value; v++) {
		bool there = false;

		for (uint32_t i = 0; i < r->n_points; i++)
			there |= l->seen[i].value && (l->seen[i].value[v] != CALL_MISSING || l->seen[i].varies >> v & 1);
		if (!there)
			continue;
		for (uint32_t i = 0; i < r->n_points && k != v; i++) {
			struct runs_seen *s = &l->seen[i];

			if (!s->value)
				continue;
			s->value[k] = s->value[v];
			if (s->step)
				memcpy(s->step[k], s->step[v], sizeof(s->step[k]));
			s->varies = (s->varies & ~(1u << k)) | (s->varies >> v & 1) << k;
		}
		memmove(l->value_name[k], l->value_name[v], sizeof(l->value_name[k]));
		k++;
	}
	l->n_value = k;
}

static struct runs_due **due_create(struct runs *r, uint32_t n)
{
	struct runs_due **d = malloc((n + 1u) * sizeof(struct runs_due *));

	for (uint32_t i = 0; d && i < n; i++)
		if (!(d[i] = arena_alloc(r->arena, r->n_points, sizeof(**d)))) {
			free(d);
			return NULL;
		}
	return d;
}

int runs_see(struct runs *r, struct errbuf *err)
{
	number_nodes(r, r->merge.root);
	if (r->folded) {
		r->leaf_due = due_create(r, r->n_leaf);
		r->loop_due = due_create(r, r->n_loop);
		if (!r->leaf_due || !r->loop_due)
			return err_set(err, "no memory for %u calls", r->n_leaf);
	}
	if (r->uneven) {
		r->trips = calloc(r->n_loop + 1u, sizeof(struct runs_trips *));
		if (!r->trips || trips_create(r, r->merge.root) < 0)
			return err_set(err, "no memory for %u loops", r->n_loop);
	}
	r->leaf = calloc(r->n_leaf + 1u, sizeof(*r->leaf));
	r->way_behind = malloc((r->n_leaf + 1u) * sizeof(*r->way_behind));
	if (!r->leaf || !r->way_behind)
		return err_set(err, "no memory for %u calls", r->n_leaf);
	for (uint32_t i = 0; i < r->n_leaf; i++)
		r->way_behind[i] = RUNS_NO_WAY;
	for (uint32_t i = 0; i < r->n_leaf; i++) {
		r->leaf[i].seen = arena_alloc(r->arena, r->n_points, sizeof(*r->leaf[i].seen));
		if (!r->leaf[i].seen)
			return err_set(err, "no memory for %u calls in %u ranks", r->n_leaf, r->n_points);
	}
	for (uint32_t i = 0; i < r->n_points; i++)
		if (see_point(r, i, false, err) < 0)
			return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++)
		if (!r->leaf[i].name)
			return err_set(err, "a call of the merged structure is made by no rank");
	for (uint32_t i = 0; i < r->n_points; i++)
		if (find_varying(r, i) && see_point(r, i, true, err) < 0)
			return -1;
	for (uint32_t i = 0; i < r->n_leaf; i++)
		drop_missing(r, &r->leaf[i]);
	if (r->uneven)
		trips_mean(r, r->merge.root);
	return 0;
}
