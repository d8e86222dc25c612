/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Procedures in a flow. A procedure is a region (region.h) that meets two conditions:
 *
 * - The place of the call says to which places a call can return. Two callers return to the same places, or have none
 *   in common. A caller has several places where it branches, or its loop ends, behind the call.
 *
 * - The variables that the candidate does not modify have the caller's values at its end. If only this condition fails,
 *   every way of calling must have been seen several times (a caller may set variables in passing).
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/induce/flow.h"
#include "model/induce/map.h"
#include "model/induce/model.h"
#include "model/induce/region.h"
#include "model/induce/topology.h"

#define EXITS_MAX   32 /* candidates for the last node of one entry */
#define WORK_PER_STEP (2 * EXITS_MAX) /* arcs looked at for early returns: as many as the candidates of two entries cost */
#define SEEN_ENOUGH 3  /* calls of each caller that are proof without equal variables */

/* Calls of each caller, and its ways: pairs of a caller and a place of return. */
struct pairing {
	struct map callers, ways; /* key of a way: caller << 32 | place */
	uint32_t *calls;
	uint32_t cap;
	uint8_t *modified, *differs; /* by variable */
	bool branching;		     /* a caller may have several places of return */
};

static int pairing_note(struct pairing *p, uint32_t caller, uint32_t back)
{
	uint32_t at = map_put(&p->callers, caller), way = map_put(&p->ways, (uint64_t)caller << 32 | back);

	if (at == MAP_NONE || way == MAP_NONE || ARRAY_ROOM_ZEROED(p->calls, p->cap, p->callers.n) != 0)
		return -1;
	p->calls[at]++;
	return p->branching || p->ways.n <= p->callers.n;
}

static void note_changes(const struct journal *j, const struct journal_run *run, uint32_t a, uint32_t b, uint8_t *changed)
{
	for (uint32_t v = 0; a != b && v < j->n_vars; v++)
		changed[v] |= run->var[(size_t)a * j->n_vars + v] != run->var[(size_t)b * j->n_vars + v];
}

/* One call, from its first step: 1 with the step after it in *end, 0 when the candidate is refuted, -1 without memory. */
static int call_check(const struct flow *f, const struct flow_walk *w, const struct journal *j, const struct region *r,
		      size_t begin, size_t *end, struct pairing *p)
{
	const struct flow_step *step = f->step + w->first;
	const struct journal_run *run = &j->run[w->run];
	uint32_t caller = begin ? step[begin - 1].node : 0, back;
	size_t i = begin;

	for (;; i++) {
		note_changes(j, run, step[i].row, step[i].row_out, p->modified);
		if (i + 1 == w->n || !r->has[step[i + 1].node])
			break;
		note_changes(j, run, step[i].row_out, step[i + 1].row, p->modified);
	}
	back = i + 1 < w->n ? step[i + 1].node : MODEL_END;
	if (begin)
		note_changes(j, run, step[begin - 1].row_out, step[i].row_out, p->differs);
	*end = i + 1;
	return pairing_note(p, caller, back);
}

/*
 * Whether any two callers share all places of return or none, and at least two callers share none.
 *
 * n_ways   the places of each caller
 * kin      by caller: the first caller with the same places
 * first    by place: its first caller
 */
static bool ways_are_parted(const struct pairing *p, const struct map *places, uint32_t *n_ways, uint32_t *kin, uint32_t *first)
{
	bool parted = false;

	for (uint32_t i = 0; i < p->ways.n; i++) {
		uint32_t caller = map_get(&p->callers, p->ways.key[i] >> 32), at = map_get(places, (uint32_t)p->ways.key[i]);

		n_ways[caller]++;
		first[at] = first[at] < caller ? first[at] : caller;
	}
	for (uint32_t i = 0; i < p->ways.n; i++) {
		uint32_t caller = map_get(&p->callers, p->ways.key[i] >> 32), at = map_get(places, (uint32_t)p->ways.key[i]);

		if (kin[caller] != MODEL_NONE && kin[caller] != first[at])
			return false;
		kin[caller] = first[at];
	}
	for (uint32_t c = 0; c < p->callers.n; c++) {
		if (n_ways[c] != n_ways[kin[c]])
			return false;
		parted |= kin[c] != kin[0];
	}
	return parted;
}

/* 1, 0, or -1 without memory. */
static int ways_check(const struct pairing *p)
{
	size_t n = p->callers.n, size = 2 * n + p->ways.n;
	uint32_t *block = malloc((size + 1) * sizeof(*block));
	struct map places = {0};
	int rc = block ? 0 : -1;

	for (uint32_t i = 0; rc == 0 && i < p->ways.n; i++)
		if (map_put(&places, (uint32_t)p->ways.key[i]) == MAP_NONE)
			rc = -1;
	if (rc == 0) {
		memset(block, 0, n * sizeof(*block));
		memset(block + n, 0xff, (size - n) * sizeof(*block));
		rc = ways_are_parted(p, &places, block, block + n, block + 2 * n);
	}
	map_free(&places);
	free(block);
	return rc;
}

static int pairing_convinces(const struct pairing *p, const struct journal *j)
{
	bool equal = true, often = true;

	for (uint32_t v = 0; v < j->n_vars; v++)
		equal &= !p->differs[v] || p->modified[v];
	for (uint32_t i = 0; i < p->callers.n; i++)
		often &= p->calls[i] >= SEEN_ENOUGH;
	return equal || often ? ways_check(p) : 0;
}

static int region_check(const struct flow *f, const struct journal *j, const struct region *r, bool branching)
{
	struct pairing p = {
	    .modified = calloc(j->n_vars + 1u, 1), .differs = calloc(j->n_vars + 1u, 1), .branching = branching};
	int rc = p.modified && p.differs ? 1 : -1;

	for (uint32_t w = 0; rc == 1 && w < f->n_walks; w++) {
		const struct flow_walk *walk = &f->walk[w];

		for (size_t i = 0; rc == 1 && i < walk->n;) {
			if (!r->has[f->step[walk->first + i].node])
				i++;
			else
				rc = call_check(f, walk, j, r, i, &i, &p);
		}
	}
	if (rc == 1)
		rc = pairing_convinces(&p, j);
	map_free(&p.callers);
	map_free(&p.ways);
	free(p.calls);
	free(p.modified);
	free(p.differs);
	return rc;
}

/* Smallest region that is a procedure: 1, 0, -1. */
static int region_find(const struct flow *f, const struct topology *t, const struct journal *j, enum flow_callers callers,
		       struct region *best)
{
	struct region r;
	struct region_search s;
	int rc = (region_create(&r, t) < 0) | (region_search_create(&s, t, WORK_PER_STEP * f->n_steps) < 0) ? -1 : 0;

	for (uint32_t e = 1; rc >= 0 && e < f->n_nodes; e++) {
		uint32_t tried = 0;

		if (!region_may_enter(t, &s, e))
			continue;
		r.entry = e;
		for (uint32_t x = 1; rc >= 0 && x < f->n_nodes && tried < EXITS_MAX; x++) {
			int yes;

			if (t->first[x + 1] - t->first[x] < 2)
				continue;
			if (!region_grow(t, &r, x, &s) && (callers < FLOW_EARLY_RETURNS || !region_grow_early(t, &r, x, &s)))
				continue;
			tried++;
			yes = region_check(f, j, &r, callers >= FLOW_BRANCHING);
			if (yes > 0) {
				region_copy(best, &r, t);
				r.most = r.n - 1;
			}
			rc = yes < 0 ? -1 : rc | yes;
		}
	}
	region_free(&r);
	region_search_free(&s);
	return rc;
}

/* ---- taking it out ---- */

static int put_step(struct flow *f, struct flow_step s)
{
	if (ARRAY_ROOM(f->step, f->steps_cap, f->n_steps + 1) != 0)
		return -1;
	f->step[f->n_steps++] = s;
	return 0;
}

static int put_walk(struct flow *f, struct flow_walk w)
{
	if (ARRAY_ROOM(f->walk, f->walks_cap, f->n_walks + 1) != 0)
		return -1;
	f->walk[f->n_walks++] = w;
	return 0;
}

/* Nodes that are left, numbered as they are first passed. Keys of calling nodes have the caller's old number. */
struct renumber {
	const struct flow *from;
	struct flow *to;
	struct map map;
	uint32_t id; /* of the callee */
};
#define CALLING (1ull << 32)

static uint32_t new_node(struct renumber *n, uint64_t key)
{
	uint32_t before = n->map.n, at = map_put(&n->map, key);

	if (at == MAP_NONE || at < before)
		return at == MAP_NONE ? at : at + 1;
	n->to->node[at + 1] = key & CALLING ? (struct flow_node){MODEL_NONE, n->id} : n->from->node[key];
	n->to->n_nodes = at + 2;
	return at + 1;
}

static int take_walk(struct renumber *n, const struct flow_walk *w, const struct region *r, struct flow *callee,
		     const uint32_t *inner)
{
	const struct flow_step *step = n->from->step + w->first;
	struct flow_walk out = {w->run, w->caller, n->to->n_steps, 0};

	for (size_t i = 0; i < w->n;) {
		struct flow_step s = step[i];
		struct flow_walk call = {w->run, 0, callee->n_steps, 0};

		if (!r->has[s.node]) {
			s.node = new_node(n, s.node);
			if (s.node == MAP_NONE || put_step(n->to, s) < 0)
				return -1;
			i++;
			continue;
		}
		s.node = new_node(n, CALLING | (i ? step[i - 1].node : 0));
		call.caller = s.node;
		for (; i < w->n && r->has[step[i].node]; i++) {
			s.row_out = step[i].row_out;
			if (put_step(callee, (struct flow_step){inner[step[i].node], step[i].row, step[i].row_out}) < 0)
				return -1;
		}
		call.n = callee->n_steps - call.first;
		if (s.node == MAP_NONE || put_step(n->to, s) < 0 || put_walk(callee, call) < 0)
			return -1;
	}
	out.n = n->to->n_steps - out.first;
	return put_walk(n->to, out);
}

static int take_out(struct flow *f, const struct region *r, uint32_t id, struct flow *callee)
{
	struct flow to = {.node = calloc(2ull * f->n_nodes + 2, sizeof(*to.node)), .n_nodes = 1};
	struct renumber n = {.from = f, .to = &to, .id = id};
	uint32_t *inner = calloc(f->n_nodes, sizeof(*inner));
	int rc = -1;

	*callee = (struct flow){.node = calloc(r->n + 1ull, sizeof(*callee->node)), .n_nodes = r->n + 1};
	if (!to.node || !inner || !callee->node)
		goto out;
	to.node[0] = callee->node[0] = (struct flow_node){MODEL_NONE, MODEL_NONE};
	for (uint32_t i = 0; i < r->n; i++) {
		inner[r->node[i]] = i + 1;
		callee->node[i + 1] = f->node[r->node[i]];
	}
	for (uint32_t w = 0; w < f->n_walks; w++)
		if (take_walk(&n, &f->walk[w], r, callee, inner) < 0)
			goto out;
	rc = 0;
out:
	map_free(&n.map);
	free(inner);
	if (rc < 0) {
		flow_free(&to);
		flow_free(callee);
	} else {
		flow_free(f);
		*f = to;
	}
	return rc;
}

int flow_extract(struct flow *f, const struct journal *j, uint32_t id, enum flow_callers callers, struct flow *callee,
		 struct errbuf *err)
{
	struct region best = {0};
	struct topology t;
	int rc = -1;

	if (topology_build(&t, f, err) < 0)
		return -1;
	if (region_create(&best, &t) == 0)
		rc = region_find(f, &t, j, callers, &best);
	if (rc == 1 && take_out(f, &best, id, callee) < 0)
		rc = -1;
	if (rc < 0)
		err_set(err, "no memory to look for procedures");
	region_free(&best);
	topology_free(&t);
	return rc;
}
