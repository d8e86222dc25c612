/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arcs, loops and counters of a flow: see topology.h. A loop is a strongly connected component. The header of the loop
 * is its node that was passed first. The arcs back to the header close a cycle. Without these arcs, the component is
 * searched for inner loops. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/induce/map.h"
#include "model/induce/model.h"
#include "model/induce/topology.h"

#define LOOPS_MAX	  1024
#define LOOPS_PER_HEADER  4
#define LOOP_DEPTH	  64
#define COUNTERS_PER_NODE 3

static int arcs_collect(struct topology *t, const struct flow *f, struct map *map, uint64_t **seen)
{
	uint32_t cap = 0;

	for (uint32_t w = 0; w < f->n_walks; w++) {
		const struct flow_step *step = f->step + f->walk[w].first;
		uint32_t u = 0;

		for (size_t i = 0; i <= f->walk[w].n; i++) {
			uint32_t v = i < f->walk[w].n ? step[i].node : MODEL_END;
			uint32_t place = map_put(map, (uint64_t)u << 32 | v);

			if (place == MAP_NONE)
				return -1;
			if (ARRAY_ROOM_ZEROED(*seen, cap, place + 1) != 0)
				return -1;
			(*seen)[place]++;
			u = v;
		}
	}
	t->n_arcs = map->n;
	return 0;
}

static int arcs_build(struct topology *t, const struct flow *f)
{
	struct map map = {0};
	uint64_t *seen = NULL;
	uint32_t *at = NULL;
	int rc = -1;

	if (arcs_collect(t, f, &map, &seen) < 0)
		goto out;
	t->arc = calloc(t->n_arcs ? t->n_arcs : 1, sizeof(*t->arc));
	t->first = calloc(t->n_nodes + 1, sizeof(*t->first));
	at = calloc(t->n_nodes + 1, sizeof(*at));
	if (!t->arc || !t->first || !at)
		goto out;
	for (uint32_t i = 0; i < t->n_arcs; i++)
		t->first[(map.key[i] >> 32) + 1]++;
	for (uint32_t u = 0; u < t->n_nodes; u++)
		t->first[u + 1] += t->first[u];
	memcpy(at, t->first, t->n_nodes * sizeof(*at));
	for (uint32_t i = 0; i < t->n_arcs; i++) {
		uint32_t u = (uint32_t)(map.key[i] >> 32);

		t->arc[at[u]++] = (struct topology_arc){u, (uint32_t)map.key[i], false, seen[i]};
	}
	rc = 0;
out:
	map_free(&map);
	free(seen);
	free(at);
	return rc;
}

uint32_t topology_arc_find(const struct topology *t, uint32_t u, uint32_t v)
{
	for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++)
		if (t->arc[i].to == v)
			return i;
	return MODEL_NONE;
}

/* ---- loops ---- */

/* Strongly connected parts of the nodes of a part, by Tarjan without recursion, over arcs that are not info. */
struct parts {
	uint32_t *index, *low, *stack, *part;
	uint32_t *path, *path_arc; /* instead of recursion */
	bool *on_stack;
	uint32_t n_stack, next_index, n_parts;
};

static bool inside(const struct topology_arc *a, const uint32_t *part, uint32_t which)
{
	return !a->info && a->to != MODEL_END && part[a->to] == which;
}

static void part_pop(struct parts *p, uint32_t u)
{
	uint32_t v;

	do {
		v = p->stack[--p->n_stack];
		p->on_stack[v] = false;
		p->part[v] = p->n_parts;
	} while (v != u);
	p->n_parts++;
}

static void parts_from(struct parts *p, const struct topology *t, uint32_t root, const uint32_t *within, uint32_t which)
{
	uint32_t depth = 0;

	p->path[0] = root;
	p->path_arc[0] = t->first[root];
	p->index[root] = p->low[root] = ++p->next_index;
	p->stack[p->n_stack++] = root;
	p->on_stack[root] = true;
	for (;;) {
		uint32_t u = p->path[depth];

		if (p->path_arc[depth] < t->first[u + 1]) {
			const struct topology_arc *a = &t->arc[p->path_arc[depth]++];

			if (!inside(a, within, which))
				continue;
			if (!p->index[a->to]) {
				depth++;
				p->path[depth] = a->to;
				p->path_arc[depth] = t->first[a->to];
				p->index[a->to] = p->low[a->to] = ++p->next_index;
				p->stack[p->n_stack++] = a->to;
				p->on_stack[a->to] = true;
			} else if (p->on_stack[a->to] && p->index[a->to] < p->low[u]) {
				p->low[u] = p->index[a->to];
			}
			continue;
		}
		if (p->low[u] == p->index[u])
			part_pop(p, u);
		if (!depth)
			return;
		depth--;
		if (p->low[u] < p->low[p->path[depth]])
			p->low[p->path[depth]] = p->low[u];
	}
}

static int loop_add(struct topology *t, uint32_t header, const uint8_t *has)
{
	struct topology_loop *l;

	if (t->n_loops == LOOPS_MAX)
		return 0;
	if (ARRAY_ROOM(t->loop, t->loops_cap, t->n_loops + 1) != 0)
		return -1;
	l = &t->loop[t->n_loops];
	*l = (struct topology_loop){.header = header, .has = malloc(t->n_nodes)};
	if (!l->has)
		return -1;
	memcpy(l->has, has, t->n_nodes);
	for (uint32_t u = 0; u < t->n_nodes; u++)
		l->n += has[u];
	t->n_loops++;
	return 0;
}

/* Nodes of the part that reach u without the header. */
static uint32_t body_of(const struct topology *t, uint32_t u, uint32_t header, const uint32_t *part, uint32_t which,
			uint8_t *has)
{
	uint32_t n = 1;
	bool more = true;

	memset(has, 0, t->n_nodes);
	has[header] = 1;
	if (u != header) {
		has[u] = 1;
		n++;
	}
	while (more) {
		more = false;
		for (uint32_t i = t->n_arcs; i-- > 0;) {
			const struct topology_arc *a = &t->arc[i];

			if (!has[a->from] && part[a->from] == which && inside(a, part, which) && a->to != header && has[a->to]) {
				has[a->from] = 1;
				n++;
				more = true;
			}
		}
	}
	return n;
}

static bool contains(const uint8_t *outer, const uint8_t *inner, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (inner[i] && !outer[i])
			return false;
	return true;
}

/* Several loops may share a header: bodies of its back arcs that lie one within the other. Outermost first. */
static int loops_of_header(struct topology *t, uint32_t header, const uint32_t *part, uint32_t which, uint32_t size)
{
	uint8_t *has = malloc(t->n_nodes), *outer = malloc(t->n_nodes);
	uint32_t limit = size;
	int rc = -1;

	if (!has || !outer)
		goto out;
	for (uint32_t u = 0; u < t->n_nodes; u++)
		outer[u] = part[u] == which;
	if (loop_add(t, header, outer) < 0)
		goto out;
	for (int round = 1; round < LOOPS_PER_HEADER; round++) {
		uint32_t best = 0, best_from = MODEL_NONE;

		for (uint32_t i = 0; i < t->n_arcs; i++) {
			const struct topology_arc *a = &t->arc[i];
			uint32_t n;

			if (a->to != header || part[a->from] != which || a->info)
				continue;
			n = body_of(t, a->from, header, part, which, has);
			if (n < limit && n > best && contains(outer, has, t->n_nodes)) {
				best = n;
				best_from = a->from;
			}
		}
		if (best_from == MODEL_NONE)
			break;
		limit = body_of(t, best_from, header, part, which, outer);
		if (loop_add(t, header, outer) < 0)
			goto out;
	}
	for (uint32_t i = 0; i < t->n_arcs; i++)
		if (t->arc[i].to == header && part[t->arc[i].from] == which)
			t->arc[i].info = true;
	rc = 0;
out:
	free(has);
	free(outer);
	return rc;
}

static int loops_within(struct topology *t, const uint32_t *within, uint32_t which, int depth);

static int loops_of_parts(struct topology *t, const struct parts *p, int depth)
{
	for (uint32_t k = 0; k < p->n_parts; k++) {
		uint32_t header = MODEL_NONE, size = 0;

		for (uint32_t u = 0; u < t->n_nodes; u++) {
			if (p->part[u] != k)
				continue;
			size++;
			if (header == MODEL_NONE)
				header = u; /* nodes are numbered in order of first passage */
		}
		if (size == 1) {
			uint32_t self = topology_arc_find(t, header, header);

			if (self == MODEL_NONE || t->arc[self].info)
				continue;
		}
		if (loops_of_header(t, header, p->part, k, size) < 0)
			return -1;
		if (size > 1 && depth < LOOP_DEPTH && loops_within(t, p->part, k, depth + 1) < 0)
			return -1;
	}
	return 0;
}

static int loops_within(struct topology *t, const uint32_t *within, uint32_t which, int depth)
{
	struct parts p = {0};
	uint32_t *block = calloc(6ull * t->n_nodes + 6, sizeof(*block)), n = t->n_nodes + 1;
	int rc = -1;

	p.on_stack = calloc(n, sizeof(*p.on_stack));
	if (!block || !p.on_stack)
		goto out;
	p.index = block;
	p.low = block + n;
	p.stack = block + 2 * n;
	p.part = block + 3 * n;
	p.path = block + 4 * n;
	p.path_arc = block + 5 * n;
	for (uint32_t u = 0; u < t->n_nodes; u++)
		p.part[u] = MODEL_NONE;
	for (uint32_t u = 0; u < t->n_nodes; u++)
		if (within[u] == which && !p.index[u])
			parts_from(&p, t, u, within, which);
	rc = loops_of_parts(t, &p, depth);
out:
	free(block);
	free(p.on_stack);
	return rc;
}

/* ---- counters ---- */

static int counters_build(struct topology *t)
{
	t->counter = calloc((size_t)t->n_nodes * COUNTERS_PER_NODE + 1, sizeof(*t->counter));
	t->first_counter = calloc(t->n_nodes + 1, sizeof(*t->first_counter));
	if (!t->counter || !t->first_counter)
		return -1;
	for (uint32_t u = 0; u < t->n_nodes; u++) {
		uint32_t level = 0, smaller = 0;

		t->first_counter[u] = t->n_counters;
		while (level < COUNTERS_PER_NODE - 1) {
			uint32_t best = MODEL_NONE;

			for (uint32_t l = 0; l < t->n_loops; l++)
				if (t->loop[l].has[u] && t->loop[l].n > smaller &&
				    (best == MODEL_NONE || t->loop[l].n < t->loop[best].n))
					best = l;
			if (best == MODEL_NONE)
				break;
			smaller = t->loop[best].n;
			t->counter[t->n_counters++] = (struct topology_counter){u, best, level++};
		}
		t->counter[t->n_counters++] = (struct topology_counter){u, MODEL_NONE, level};
	}
	t->first_counter[t->n_nodes] = t->n_counters;
	return 0;
}

bool topology_resets(const struct topology *t, const struct topology_arc *a, const struct topology_counter *c)
{
	return c->loop != MODEL_NONE && a->to != MODEL_END && !t->loop[c->loop].has[a->from] && t->loop[c->loop].has[a->to];
}

int topology_build(struct topology *t, const struct flow *f, struct errbuf *err)
{
	uint32_t *all;
	int rc = -1;

	*t = (struct topology){.n_nodes = f->n_nodes};
	all = calloc(f->n_nodes, sizeof(*all));
	if (all && !arcs_build(t, f) && !loops_within(t, all, 0, 0) && !counters_build(t))
		rc = 0;
	free(all);
	if (rc < 0)
		topology_free(t);
	return rc < 0 ? err_set(err, "no memory for the transition graph") : 0;
}

void topology_free(struct topology *t)
{
	for (uint32_t i = 0; i < t->n_loops; i++)
		free(t->loop[i].has);
	free(t->loop);
	free(t->arc);
	free(t->first);
	free(t->counter);
	free(t->first_counter);
	*t = (struct topology){0};
}
