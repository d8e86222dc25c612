/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions, grown from their entry: see region.h. */
#include <stdlib.h>
#include <string.h>

#include "model/induce/model.h"
#include "model/induce/region.h"

#define REGION_MAX 512 /* nodes */

int region_create(struct region *r, const struct topology *t)
{
	*r = (struct region){.node = malloc(REGION_MAX * sizeof(*r->node)), .has = malloc(t->n_nodes)};
	return r->node && r->has ? 0 : -1;
}

void region_free(struct region *r)
{
	free(r->node);
	free(r->has);
}

void region_copy(struct region *to, const struct region *from, const struct topology *t)
{
	to->entry = from->entry;
	to->n = from->n;
	memcpy(to->node, from->node, from->n * sizeof(*from->node));
	memcpy(to->has, from->has, t->n_nodes);
}

int region_search_create(struct region_search *s, const struct topology *t)
{
	size_t n = t->n_nodes;

	*s = (struct region_search){.stack = malloc(n * sizeof(*s->stack)), .inner = malloc(3 * n)};
	s->place = s->inner + n;
	s->passed = s->inner + 2 * n;
	return s->stack && s->inner ? 0 : -1;
}

void region_search_free(struct region_search *s)
{
	free(s->stack);
	free(s->inner);
}

/* Everything that is reached from the entry before the exit or, with a search, before a place of return. False if the
 * region is too large, does not reach the exit, or reaches the end of the program elsewhere. */
static bool fill(const struct topology *t, struct region *r, uint32_t exit, const struct region_search *s)
{
	memset(r->has, 0, t->n_nodes);
	r->n = 0;
	r->has[r->entry] = 1;
	r->node[r->n++] = r->entry;
	for (uint32_t k = 0; k < r->n; k++) {
		uint32_t u = r->node[k];

		for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (!s ? u == exit : v == MODEL_END ? s->end : s->place[v])
				continue;
			if (v == MODEL_END || (!r->has[v] && r->n == REGION_MAX))
				return false;
			if (!r->has[v]) {
				r->has[v] = 1;
				r->node[r->n++] = v;
			}
		}
	}
	return r->has[exit];
}

static uint32_t places_behind(const struct topology *t, uint32_t exit, const uint8_t *has)
{
	uint32_t n = 0;

	for (uint32_t i = t->first[exit]; i < t->first[exit + 1]; i++)
		n += t->arc[i].to == MODEL_END || !has[t->arc[i].to];
	return n;
}

/* Whether the region is entered only at its entry, from several nodes, and left from the exit to several ones. */
static bool is_region(const struct topology *t, const struct region *r, uint32_t exit)
{
	uint32_t outside = 0;

	for (uint32_t i = 0; i < t->n_arcs; i++) {
		const struct topology_arc *a = &t->arc[i];

		if (a->to == MODEL_END || !r->has[a->to] || r->has[a->from])
			continue;
		if (a->to != r->entry)
			return false;
		outside++;
	}
	return outside >= 2 && places_behind(t, exit, r->has) >= 2;
}

bool region_grow(const struct topology *t, struct region *r, uint32_t exit)
{
	return fill(t, r, exit, NULL) && is_region(t, r, exit);
}

/* ---- early returns ---- */

/* Marks the nodes that lead to the exit without the entry. */
static void mark_inner(const struct topology *t, uint32_t entry, uint32_t exit, struct region_search *s)
{
	bool more = true;

	memset(s->inner, 0, t->n_nodes);
	s->inner[exit] = s->inner[entry] = 1;
	while (more) {
		more = false;
		for (uint32_t i = t->n_arcs; i-- > 0;) {
			const struct topology_arc *a = &t->arc[i];

			if (a->to == MODEL_END || a->to == entry || s->inner[a->from] || !s->inner[a->to])
				continue;
			s->inner[a->from] = 1;
			more = true;
		}
	}
}

/* Whether all ways from the node lead to places of return, and to several of them: then a call ends with the node. */
static bool is_last(const struct topology *t, uint32_t node, uint32_t entry, struct region_search *s)
{
	uint32_t n = 0, places = 0;

	memset(s->passed, 0, t->n_nodes);
	s->passed[node] = 1;
	s->stack[n++] = node;
	while (n) {
		uint32_t u = s->stack[--n];

		for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (v == entry || (v == MODEL_END && !s->end))
				return false;
			if (v == MODEL_END || s->place[v]) {
				places += v == MODEL_END || !s->passed[v];
			} else if (!s->passed[v]) {
				s->stack[n++] = v;
			}
			if (v != MODEL_END)
				s->passed[v] = 1;
		}
	}
	return places >= 2;
}

/* One more place of return that nodes within the region lead to. */
static bool place_add(const struct topology *t, uint32_t entry, struct region_search *s)
{
	for (uint32_t i = 0; i < t->n_arcs; i++) {
		uint32_t u = t->arc[i].from, v = t->arc[i].to;

		if (!s->inner[u])
			continue;
		if (v == MODEL_END ? s->end : v == entry || s->inner[v] || s->place[v])
			continue;
		if (v == MODEL_END) {
			s->end = true;
			return true;
		}
		if (!is_last(t, v, entry, s)) {
			s->place[v] = 1;
			return true;
		}
	}
	return false;
}

bool region_grow_early(const struct topology *t, struct region *r, uint32_t exit, struct region_search *s)
{
	uint32_t places = 0;

	if (exit == r->entry)
		return false;
	mark_inner(t, r->entry, exit, s);
	memset(s->place, 0, t->n_nodes);
	s->end = false;
	for (uint32_t i = t->first[exit]; i < t->first[exit + 1]; i++) {
		uint32_t v = t->arc[i].to;

		if (v == MODEL_END)
			s->end = true;
		else if (v != r->entry && !s->inner[v])
			s->place[v] = 1;
	}
	while (place_add(t, r->entry, s) && ++places < REGION_MAX)
		;
	return fill(t, r, exit, s) && is_region(t, r, exit);
}
