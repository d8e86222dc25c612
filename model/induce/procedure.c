/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Procedures in a flow. A candidate is a part of the flow that is entered at one node from several nodes, and left from
 * one node to several nodes. A procedure is a candidate that meets two conditions:
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
#include "model/induce/topology.h"

#define REGION_MAX   512 /* nodes */
#define EXITS_MAX    32	 /* candidates for the last node of one entry */
#define SEEN_ENOUGH  3	 /* calls of each caller that are proof without equal variables */
#define WAYS_MAX     64	 /* of all callers of a candidate where a caller branches: all are compared */

struct region {
	uint32_t entry, exit, n;
	bool branching; /* callers may return to several places */
	uint32_t *node; /* entry first */
	uint8_t *has;	/* by node of the flow */
};

static uint32_t succs(const struct topology *t, uint32_t u, const uint8_t *has)
{
	uint32_t n = 0;

	for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++)
		n += t->arc[i].to == MODEL_END || !has[t->arc[i].to];
	return n;
}

/* Everything that is reached from the entry before the exit is left. False when it is too large, or is left or entered
 * elsewhere. */
static bool region_grow(const struct topology *t, struct region *r)
{
	uint32_t outside = 0;

	memset(r->has, 0, t->n_nodes);
	r->n = 0;
	r->has[r->entry] = 1;
	r->node[r->n++] = r->entry;
	for (uint32_t k = 0; k < r->n; k++) {
		uint32_t u = r->node[k];

		for (uint32_t i = t->first[u]; u != r->exit && i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (v == MODEL_END || r->n == REGION_MAX)
				return false;
			if (!r->has[v]) {
				r->has[v] = 1;
				r->node[r->n++] = v;
			}
		}
	}
	if (!r->has[r->exit])
		return false;
	for (uint32_t i = 0; i < t->n_arcs; i++) {
		const struct topology_arc *a = &t->arc[i];

		if (a->to == MODEL_END || !r->has[a->to] || r->has[a->from])
			continue;
		if (a->to != r->entry)
			return false;
		outside++;
	}
	return outside >= 2 && succs(t, r->exit, r->has) >= 2;
}

/* Calls of each caller, and its ways: pairs of a caller and a place of return. */
struct pairing {
	struct map callers, ways; /* key of a way: caller << 32 | place */
	uint32_t *calls;
	uint32_t cap;
	uint8_t *modified, *differs; /* by variable */
};

static int pairing_note(struct pairing *p, uint32_t caller, uint32_t back, bool branching)
{
	uint32_t at = map_put(&p->callers, caller), way = map_put(&p->ways, (uint64_t)caller << 32 | back);

	if (at == MAP_NONE || way == MAP_NONE || ARRAY_ROOM_ZEROED(p->calls, p->cap, p->callers.n) != 0)
		return -1;
	p->calls[at]++;
	return p->ways.n <= p->callers.n || (branching && p->ways.n <= WAYS_MAX);
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
	if (step[i].node != r->exit)
		return 0;
	back = i + 1 < w->n ? step[i + 1].node : MODEL_END;
	if (begin)
		note_changes(j, run, step[begin - 1].row_out, step[i].row_out, p->differs);
	*end = i + 1;
	return pairing_note(p, caller, back, r->branching);
}

/* Number of places to which the caller returned, and in *common of those to which the other one did as well. */
static uint32_t count_ways(const struct pairing *p, uint32_t caller, uint32_t other, uint32_t *common)
{
	uint32_t n = 0;

	*common = 0;
	for (uint32_t i = 0; i < p->ways.n; i++)
		if (p->ways.key[i] >> 32 == caller) {
			n++;
			*common += map_get(&p->ways, (uint64_t)other << 32 | (uint32_t)p->ways.key[i]) != MAP_NONE;
		}
	return n;
}

/* Each caller has one place of return. Do they differ? */
static bool places_differ(const struct pairing *p)
{
	for (uint32_t i = 1; i < p->ways.n; i++)
		if ((uint32_t)p->ways.key[i] != (uint32_t)p->ways.key[0])
			return true;
	return false;
}

/* False if two callers share some places of return but not all, or if all callers share all places. */
static bool ways_are_parted(const struct pairing *p)
{
	bool parted = false;

	if (p->ways.n == p->callers.n)
		return places_differ(p);
	for (uint32_t a = 0; a < p->callers.n; a++)
		for (uint32_t b = 0; b < p->callers.n; b++) {
			uint32_t common, n = count_ways(p, (uint32_t)p->callers.key[a], (uint32_t)p->callers.key[b], &common);

			if (common && common != n)
				return false;
			parted |= !common;
		}
	return parted;
}

static bool pairing_convinces(const struct pairing *p, const struct journal *j)
{
	bool equal = true, often = true;

	for (uint32_t v = 0; v < j->n_vars; v++)
		equal &= !p->differs[v] || p->modified[v];
	for (uint32_t i = 0; i < p->callers.n; i++)
		often &= p->calls[i] >= SEEN_ENOUGH;
	return (equal || often) && ways_are_parted(p);
}

static int region_check(const struct flow *f, const struct journal *j, const struct region *r)
{
	struct pairing p = {.modified = calloc(j->n_vars + 1u, 1), .differs = calloc(j->n_vars + 1u, 1)};
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

static uint32_t preds(const struct topology *t, uint32_t v)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < t->n_arcs; i++)
		n += t->arc[i].to == v && t->arc[i].from != v;
	return n;
}

/* Smallest region that is a procedure: 1, 0, -1. */
static int region_find(const struct flow *f, const struct topology *t, const struct journal *j, bool branching,
		       struct region *best)
{
	struct region r = {.branching = branching, .node = malloc(REGION_MAX * sizeof(*r.node)), .has = malloc(f->n_nodes)};
	int rc = r.node && r.has ? 0 : -1;

	best->n = REGION_MAX + 1;
	for (uint32_t e = 1; rc >= 0 && e < f->n_nodes; e++) {
		uint32_t tried = 0;

		if (preds(t, e) < 2)
			continue;
		for (uint32_t x = 1; x < f->n_nodes && tried < EXITS_MAX; x++) {
			int yes;

			if (t->first[x + 1] - t->first[x] < 2)
				continue;
			r.entry = e;
			r.exit = x;
			if (!region_grow(t, &r) || r.n >= best->n)
				continue;
			tried++;
			yes = region_check(f, j, &r);
			if (yes < 0) {
				rc = -1;
				break;
			}
			if (yes) {
				best->entry = e;
				best->exit = x;
				best->n = r.n;
				memcpy(best->node, r.node, r.n * sizeof(*r.node));
				memcpy(best->has, r.has, f->n_nodes);
				rc = 1;
			}
		}
	}
	free(r.node);
	free(r.has);
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

int flow_extract(struct flow *f, const struct journal *j, uint32_t id, bool branching, struct flow *callee,
		 struct errbuf *err)
{
	struct region best = {.node = malloc(REGION_MAX * sizeof(*best.node)), .has = malloc(f->n_nodes)};
	struct topology t;
	int rc = -1;

	if (!best.node || !best.has) {
		err_set(err, "no memory to look for procedures");
		goto out;
	}
	if (topology_build(&t, f, err) < 0)
		goto out;
	rc = region_find(f, &t, j, branching, &best);
	topology_free(&t);
	if (rc == 1 && take_out(f, &best, id, callee) < 0)
		rc = -1;
	if (rc < 0)
		err_set(err, "no memory to look for procedures");
out:
	free(best.node);
	free(best.has);
	return rc;
}
