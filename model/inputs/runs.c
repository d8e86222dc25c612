/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces opened, contracted and merged: see runs.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "model/inputs/runs.h"
#include "model/inputs/uneven.h"
#include "skelgen/contract/contract.h"

/* Kinds of ranks, contracted. */
struct kinds {
	struct runs *r;
	uint32_t n, cap;
	struct kind {
		XXH128_hash_t digest;
		struct contract_tree tree, folded; /* folded: as one that is counted or uneven, or empty */
	} *kind;
	struct errbuf *err;
};

static int check_one(struct runs *r, struct runs_run *run, struct errbuf *err)
{
	const char *path = run->path;
	uint32_t n;

	n = run->n_ranks = trace_n_ranks(run->trace);
	run->first_point = r->n_points;
	if (trace_is_imported(run->trace))
		return err_set(err, "%s was imported: it has no calls to learn from", path);
	if (trace_predicted(run->trace))
		return err_set(err, "%s is predicted: there was no such run to learn from", path);
	if (trace_is_partial(run->trace))
		return err_set(err, "%s: the run was cut short: there is nothing to learn about its end", path);
	if (!n || n > RUNS_POINTS_MAX - r->n_points)
		return err_set(err, "%s: more than %d ranks in all runs", path, RUNS_POINTS_MAX);
	for (uint32_t k = 0; k < n; k++) {
		const struct trace_rank *rank = trace_get_rank(run->trace, k);

		if (!rank->present || !rank->events.length)
			return err_set(err, "%s: rank %u is missing or damaged", path, k);
		if (rank->events.length > RUNS_EVENTS_MAX - r->events)
			return err_set(err, "%s: more than %llu calls in all runs", path, RUNS_EVENTS_MAX);
		r->events += rank->events.length;
		if (rank->wall_ns > run->wall_ns)
			run->wall_ns = rank->wall_ns;
	}
	r->n_points += n;
	return run_place_find(run->trace, &run->place) < 0 ? err_set(err, "no memory for %u ranks", n) : 0;
}

static int check_number(uint32_t n, struct errbuf *err)
{
	if (n < RUNS_MIN)
		return err_set(err, "too few runs: %u, and at least %d are needed, with different arguments", n, RUNS_MIN);
	if (n > RUNS_MAX)
		return err_set(err, "too many runs: %u, and at most %d can be used", n, RUNS_MAX);
	return 0;
}

static int check_all(struct runs *r, uint32_t n, struct errbuf *err)
{
	r->arena = arena_create();
	if (!r->arena)
		return err_set(err, "no memory for %u runs", n);
	for (uint32_t i = 0; i < n; i++)
		if (check_one(r, &r->run[i], err) < 0)
			return -1;
	r->point = calloc(r->n_points, sizeof(*r->point));
	if (!r->point)
		return err_set(err, "no memory for %u ranks", r->n_points);
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < r->run[i].n_ranks; k++)
			r->point[r->run[i].first_point + k] = (struct runs_point){i, k, 0};
	return 0;
}

/* ---- contraction ---- */

/* Where a call is in the program: the address in its name, or the number of its call site. */
static int note_place(struct runs *r, uint32_t point, const char *name)
{
	const char *at = strstr(name, "+0x");

	if (point == MAP_NONE || ARRAY_ROOM_ZEROED(r->place, r->place_cap, point + 1) != 0)
		return -1;
	at = at ? at + 3 : (at = strstr(name, " #")) ? at + 2 : NULL;
	r->place[point] = at ? strtoull(at, NULL, 16) : 0;
	return 0;
}

/* Number of the control point of every symbol, which it has where nothing before it says otherwise. */
static uint32_t *points_of_symbols(struct runs *r, const struct trace_rank *rank, struct runs_symbol *symbol)
{
	uint32_t *of = malloc((rank->defs.sigs.n + 1u) * sizeof(*of));
	struct call_view c;

	for (uint32_t s = 0; of && s < rank->defs.sigs.n; s++) {
		call_view(&rank->defs, s, &c);
		symbol[s] = runs_symbol(r, &c);
		of[s] = map_put(&r->keys, symbol[s].key);
		if (of[s] == MAP_NONE || note_place(r, of[s], c.name) < 0) {
			free(of);
			return NULL;
		}
	}
	return of;
}

/* Every event's control point. */
static int expand_rank(struct runs *r, const struct trace_rank *rank, const uint32_t *of, const struct runs_symbol *symbol,
		       uint32_t *stream)
{
	const struct runs_symbol *before = NULL;
	struct folded_iter it;
	uint32_t sym;

	folded_begin(&it, &rank->events);
	for (uint64_t i = 0; i < rank->events.length && folded_next(&it, &sym); i++) {
		uint64_t key = runs_event_key(&symbol[sym], before);

		stream[i] = of[sym];
		if (key != symbol[sym].key) { /* a wait stands right behind its call */
			stream[i] = map_put(&r->keys, key);
			if (stream[i] == MAP_NONE || ARRAY_ROOM_ZEROED(r->place, r->place_cap, stream[i] + 1) != 0)
				return -1;
			r->place[stream[i]] = r->place[of[(uint32_t)(before - symbol)]];
		}
		before = &symbol[sym];
	}
	return 0;
}

static int add_kind(struct kinds *k, const struct trace_rank *rank, const uint32_t *of, const uint32_t *stream,
		    XXH128_hash_t digest)
{
	struct kind *p;

	if (ARRAY_ROOM(k->kind, k->cap, k->n + 1) != 0)
		return err_set(k->err, "no memory");
	p = &k->kind[k->n];
	*p = (struct kind){.digest = digest};
	if (stream ? contract_symbols(stream, rank->events.length, NULL, &p->tree, k->err)
		   : rank_tree_of_folded(&rank->events, &p->tree, k->err))
		return -1;
	for (uint32_t i = 0; !stream && i < p->tree.n_node; i++)
		if (p->tree.node[i].kind == CONTRACT_LEAF)
			p->tree.node[i].symbol = of[p->tree.node[i].symbol];
	k->n++;
	return 0;
}

/* The rank's stream of control points; too long a one stays as the recorder folded it. */
static int add_rank(struct kinds *k, struct runs_point *point)
{
	const struct trace_rank *rank = trace_get_rank(k->r->run[point->run].trace, point->rank);
	bool expand = runs_expands(rank);
	struct runs_symbol *symbol = calloc(rank->defs.sigs.n + 1u, sizeof(*symbol));
	uint32_t *of = symbol ? points_of_symbols(k->r, rank, symbol) : NULL, *stream = NULL;
	XXH128_hash_t digest;
	int rc = -1;

	stream = expand && of ? malloc(rank->events.length * sizeof(*stream)) : NULL;
	if (!of || (expand && (!stream || expand_rank(k->r, rank, of, symbol, stream) < 0))) {
		err_set(k->err, "no memory for %llu events", (unsigned long long)rank->events.length);
		goto out;
	}
	digest = expand ? XXH3_128bits(stream, rank->events.length * sizeof(*stream))
			: XXH3_128bits_withSeed(point, sizeof(*point), 1);
	for (point->group = 0; point->group < k->n; point->group++)
		if (XXH128_isEqual(k->kind[point->group].digest, digest))
			break;
	rc = point->group < k->n ? 0 : add_kind(k, rank, of, stream, digest);
out:
	free(symbol);
	free(of);
	free(stream);
	return rc < 0 ? err_prefix(k->err, "%s, rank %u", k->r->run[point->run].path, point->rank) : 0;
}

/* ---- loops that are counted ---- */

static const struct contract_tree *tree_of(const struct kind *k)
{
	return k->folded.n_node ? &k->folded : &k->tree;
}

/* Loops around each control point: deepest[] is the most in any kind. Returns false if one of this kind has fewer. */
static bool note_depths(const struct contract_tree *t, uint32_t first, uint32_t n, uint32_t depth, uint32_t *deepest, bool note)
{
	bool whole = true;

	for (uint32_t i = first; i < first + n; i++) {
		const struct contract_node *node = &t->node[t->child[i]];

		if (node->kind == CONTRACT_LOOP)
			whole &= note_depths(t, node->first, node->n_children, depth + 1, deepest, note);
		else if (note && deepest[node->symbol] < depth)
			deepest[node->symbol] = depth;
		else
			whole &= depth >= deepest[node->symbol];
	}
	return whole;
}

#define ORDER_MOST 2048 /* control points whose order is kept: 4 MiB */

static int fold_kind(struct kinds *k, struct kind *p, struct counted_order *order, bool inner, struct contract_tree *out)
{
	int rc = counted_fold(&p->tree, order, k->r->shape.counted, inner, out, k->err);

	k->r->folded |= rc > 0;
	return rc < 0 ? -1 : 0;
}

/* Folds every kind: twice, as the order of calls in an iteration may be seen in other kinds only. One that has fewer loops
 * than others is folded again, from inside. */
static int fold_kinds(struct kinds *k)
{
	struct counted_order order = {k->r->place, k->r->keys.n, NULL};
	uint32_t *deepest = calloc(order.n + 1u, sizeof(*deepest));
	int rc;

	order.after = order.n <= ORDER_MOST ? calloc((size_t)order.n * order.n + 1, 1) : NULL;
	rc = deepest && (order.after || order.n > ORDER_MOST) ? 0 : err_set(k->err, "no memory to fold loops");
	for (uint32_t i = 0; i < 2 * k->n && rc == 0; i++) {
		struct kind *p = &k->kind[i % k->n];

		contract_tree_free(&p->folded);
		rc = fold_kind(k, p, &order, false, &p->folded);
		if (rc == 0)
			note_depths(tree_of(p), tree_of(p)->top_first, tree_of(p)->n_top, 0, deepest, true);
	}
	for (uint32_t i = 0; i < k->n && rc == 0; i++) {
		struct kind *p = &k->kind[i];
		struct contract_tree inner;

		if (!p->folded.n_node || note_depths(&p->folded, p->folded.top_first, p->folded.n_top, 0, deepest, false))
			continue;
		rc = fold_kind(k, p, &order, true, &inner);
		if (rc == 0 && inner.n_node && note_depths(&inner, inner.top_first, inner.n_top, 0, deepest, false)) {
			contract_tree_free(&p->folded);
			p->folded = inner;
		} else {
			contract_tree_free(&inner);
		}
	}
	free(deepest);
	free(order.after);
	return rc;
}

static int fold_uneven(struct kinds *k)
{
	int rc = 0;

	for (uint32_t i = 0; i < k->n && rc >= 0; i++) {
		rc = uneven_fold(&k->kind[i].tree, &k->kind[i].folded, k->err);
		k->r->uneven |= rc > 0;
	}
	return rc < 0 ? -1 : 0;
}

static int fold(struct kinds *k)
{
	return k->r->shape.counted != COUNTED_NOT ? fold_kinds(k) : k->r->shape.uneven ? fold_uneven(k) : 0;
}

static int merge_kinds(struct kinds *k)
{
	struct merge *m = &k->r->merge;

	k->r->groups = (struct rank_groups){.n_group = k->n};
	merge_init(m, &k->r->groups);
	m->uneven = true;
	for (uint32_t i = 0; i < k->n; i++) {
		struct merge_node *one = merge_grow(m, tree_of(&k->kind[i]), k->r->keys.key, i);

		m->root = i && one ? merge_pair(m, m->root, one) : one;
		if (!m->root)
			return err_set(k->err, "no memory to merge %u kinds of ranks", k->n);
	}
	return 0;
}

static int contract_all(struct runs *r, struct errbuf *err)
{
	struct kinds k = {.r = r, .err = err};
	int rc = -1;

	/* Begins with the runs of the most ranks. Few ranks may give two loops of one call each where many ranks give
	 * one loop. */
	for (uint32_t most = UINT32_MAX, next; most; most = next) {
		next = 0;
		for (uint32_t i = 0; i < r->n_runs; i++) {
			uint32_t n = r->run[i].n_ranks;

			next = n < most && n > next ? n : next;
			for (uint32_t p = 0; n == most && p < n; p++)
				if (add_rank(&k, &r->point[r->run[i].first_point + p]) < 0)
					goto out;
		}
	}
	rc = fold(&k) < 0 ? -1 : merge_kinds(&k);
out:
	for (uint32_t i = 0; i < k.n; i++) {
		contract_tree_free(&k.kind[i].tree);
		contract_tree_free(&k.kind[i].folded);
	}
	free(k.kind);
	return rc;
}

/* Runs that are the same in all that is known have to do the same. */
static int check_contradictions(const struct runs *r, struct errbuf *err)
{
	for (uint32_t i = 0; i < r->n_runs; i++) {
		for (uint32_t j = 0; j < i; j++) {
			const struct runs_run *a = &r->run[j], *b = &r->run[i];

			if (a->n_ranks != b->n_ranks || memcmp(a->var, b->var, r->n_vars * sizeof(*a->var)))
				continue;
			for (uint32_t k = 0; k < a->n_ranks; k++)
				if (r->point[a->first_point + k].group != r->point[b->first_point + k].group)
					return err_set(err,
						       "%s and %s contradict each other: the same variables and ranks, "
						       "and rank %u makes other calls; name what differs by --var",
						       a->path, b->path, k);
		}
	}
	return 0;
}

int runs_take(struct runs *r, struct trace *const *trace, const char *const *name, uint32_t n, const struct runs_var *var,
	      uint32_t n_var, struct errbuf *err)
{
	*r = (struct runs){.run = calloc(n + 1u, sizeof(*r->run)), .n_runs = n, .shape = {.counted = COUNTED_NOT}};
	for (uint32_t i = 0; i < n; i++) {
		if (r->run)
			r->run[i] = (struct runs_run){.path = name[i], .trace = trace[i]};
		else
			trace_close(trace[i]);
	}
	if (!r->run) {
		r->n_runs = 0;
		return err_set(err, "no memory for %u runs", n);
	}
	if (check_number(n, err) < 0 || check_all(r, n, err) < 0 || runs_take_vars(r, var, n_var, err) < 0 ||
	    runs_find_tags(r, err) < 0 || contract_all(r, err) < 0 || check_contradictions(r, err) < 0)
		return -1;
	return runs_see(r, err);
}

static void forget_shape(struct runs *r)
{
	merge_free(&r->merge);
	map_free(&r->keys);
	free(r->leaf);
	free(r->way);
	free(r->way_behind);
	free(r->leaf_due);
	free(r->loop_due);
	free(r->trips);
	r->leaf_due = r->loop_due = NULL;
	r->trips = NULL;
	r->folded = r->uneven = false;
	r->merge = (struct merge){0};
	r->keys = (struct map){0};
	r->leaf = NULL;
	r->way = NULL;
	r->way_behind = NULL;
	r->n_ways = r->ways_cap = 0;
	r->n_leaf = r->n_loop = 0;
	for (uint32_t i = 0; i < r->n_runs; i++)
		r->run[i].lost_ns = 0;
}

int runs_reshape(struct runs *r, struct runs_shape shape, struct errbuf *err)
{
	if (shape.by_tag && !r->tagged.n)
		return 0;
	forget_shape(r);
	r->shape = shape;
	if (contract_all(r, err) < 0 || check_contradictions(r, err) < 0)
		return -1;
	if ((shape.counted != COUNTED_NOT && !r->folded) || (shape.uneven && !r->uneven))
		return 0;
	if (runs_see(r, err) < 0)
		return shape.counted != COUNTED_NOT || shape.uneven ? 0 : -1;
	return 1;
}

/* A file that is named twice, or copied, is no second run: it would count as a proof. */
static bool same_run(const struct trace *a, const struct trace *b)
{
	const struct trace_proc *p, *q;

	if (!trace_n_ranks(a) || trace_n_ranks(a) != trace_n_ranks(b) || !trace_get_rank(a, 0)->present || !trace_get_rank(b, 0)->present)
		return false;
	p = &trace_get_rank(a, 0)->defs.proc;
	q = &trace_get_rank(b, 0)->defs.proc;
	return p->start_real_ns == q->start_real_ns && p->end_ticks == q->end_ticks && p->pid == q->pid && p->host && q->host &&
	       !strcmp(p->host, q->host);
}

static int check_twice(struct trace *const *trace, const char *const *path, uint32_t n, struct errbuf *err)
{
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < i; j++)
			if (same_run(trace[j], trace[i]))
				return err_set(err, "%s and %s are traces of one and the same run: name each run once", path[j], path[i]);
	return 0;
}

int runs_open(struct runs *r, const char *const *path, uint32_t n, const struct runs_var *var, uint32_t n_var,
	      struct errbuf *err)
{
	struct trace **trace;
	int rc = 0;

	*r = (struct runs){0};
	if (check_number(n, err) < 0)
		return -1;
	trace = calloc(n, sizeof(struct trace *));
	if (!trace)
		return err_set(err, "no memory for %u runs", n);
	for (uint32_t i = 0; i < n && rc == 0; i++) {
		trace[i] = trace_open(path[i], err);
		rc = trace[i] ? 0 : -1;
	}
	if (rc == 0)
		rc = check_twice(trace, path, n, err);
	for (uint32_t i = 0; i < n && rc < 0; i++)
		trace_close(trace[i]);
	if (rc == 0)
		rc = runs_take(r, trace, path, n, var, n_var, err);
	free(trace);
	return rc;
}

void runs_close(struct runs *r)
{
	forget_shape(r);
	map_free(&r->tagged);
	free(r->place);
	for (uint32_t i = 0; i < r->n_runs; i++)
		trace_close(r->run[i].trace);
	free(r->run);
	free(r->point);
	arena_destroy(r->arena);
	*r = (struct runs){0};
}
