/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Regions, grown from their entry: see region.h. */
#include <stdlib.h>
#include <string.h>

#include "model/induce/model.h"
#include "model/induce/region.h"

#define REGION_MAX 512 /* nodes */

int region_create(struct region *r, const struct topology *t)
{
	*r = (struct region){.most = REGION_MAX, .node = malloc(REGION_MAX * sizeof(*r->node)), .has = malloc(t->n_nodes)};
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

int region_search_create(struct region_search *s, const struct topology *t, size_t work)
{
	size_t n = t->n_nodes;

	*s = (struct region_search){.work = work, .stack = calloc(4 * n + 1 + t->n_arcs, sizeof(*s->stack)), .inner = calloc(3, n)};
	if (!s->stack || !s->inner)
		return -1;
	s->list = s->stack + n;
	s->passed = s->list + n;
	s->first = s->passed + n;
	s->pred = s->first + n + 1;
	s->place = s->inner + n;
	s->around = s->inner + 2 * n;
	for (uint32_t i = 0; i < t->n_arcs; i++)
		if (t->arc[i].to != MODEL_END)
			s->first[t->arc[i].to + 1]++;
	for (size_t u = 0; u < n; u++)
		s->first[u + 1] += s->first[u];
	for (uint32_t i = 0; i < t->n_arcs; i++) {
		uint32_t v = t->arc[i].to;

		if (v != MODEL_END)
			s->pred[s->first[v] + s->stack[v]++] = t->arc[i].from;
	}
	return 0;
}

void region_search_free(struct region_search *s)
{
	free(s->stack);
	free(s->inner);
}

bool region_may_enter(const struct topology *t, struct region_search *s, uint32_t entry)
{
	uint32_t n = 0, preds = 0;

	for (uint32_t i = s->first[entry]; i < s->first[entry + 1]; i++)
		preds += s->pred[i] != entry;
	if (preds < 2)
		return false;
	memset(s->around, 0, t->n_nodes);
	s->around[0] = 1;
	s->stack[n++] = 0;
	while (n) {
		uint32_t u = s->stack[--n];

		for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (v == MODEL_END || v == entry || s->around[v])
				continue;
			s->around[v] = 1;
			s->stack[n++] = v;
		}
	}
	return true;
}

/* Everything that is reached from the entry before the exit or, with early returns, before a place of return. False if the
 * region is too large, does not reach the exit, reaches the end of the program elsewhere, or is entered elsewhere. */
static bool fill(const struct topology *t, struct region *r, uint32_t exit, const struct region_search *s, bool early)
{
	memset(r->has, 0, t->n_nodes);
	r->n = 0;
	r->has[r->entry] = 1;
	r->node[r->n++] = r->entry;
	for (uint32_t k = 0; k < r->n; k++) {
		uint32_t u = r->node[k];

		for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (!early ? u == exit : v == MODEL_END ? s->end : s->place[v])
				continue;
			if (v == MODEL_END || s->around[v] || (!r->has[v] && r->n >= r->most))
				return false;
			if (!r->has[v]) {
				r->has[v] = 1;
				r->node[r->n++] = v;
			}
		}
	}
	return r->has[exit] && r->n <= r->most;
}

/* Whether the region is entered only at its entry, from several nodes, and left from the exit to several ones. */
static bool is_region(const struct topology *t, const struct region *r, uint32_t exit, const struct region_search *s)
{
	uint32_t outside = 0, behind = 0;

	for (uint32_t k = 0; k < r->n; k++)
		for (uint32_t v = r->node[k], i = s->first[v]; i < s->first[v + 1]; i++) {
			if (r->has[s->pred[i]])
				continue;
			if (v != r->entry)
				return false;
			outside++;
		}
	for (uint32_t i = t->first[exit]; i < t->first[exit + 1]; i++)
		behind += t->arc[i].to == MODEL_END || !r->has[t->arc[i].to];
	return outside >= 2 && behind >= 2;
}

bool region_grow(const struct topology *t, struct region *r, uint32_t exit, const struct region_search *s)
{
	return !s->around[exit] && fill(t, r, exit, s, false) && is_region(t, r, exit, s);
}

/* ---- early returns ---- */

/* Counts an arc that is looked at. False if nothing is left to search with. */
static bool work(struct region_search *s)
{
	if (s->work)
		s->work--;
	return s->work > 0;
}

/* Lists the nodes that lead to the exit without the entry, and marks them. All of them are in the region: false if they
 * are too many. */
static bool mark_inner(const struct topology *t, const struct region *r, uint32_t exit, struct region_search *s)
{
	memset(s->inner, 0, t->n_nodes);
	s->inner[exit] = s->inner[r->entry] = 1;
	s->list[0] = r->entry;
	s->list[1] = exit;
	s->n_inner = 2;
	for (uint32_t k = 1; k < s->n_inner; k++)
		for (uint32_t v = s->list[k], i = s->first[v]; i < s->first[v + 1]; i++) {
			uint32_t u = s->pred[i];

			if (!work(s))
				return false;
			if (s->inner[u])
				continue;
			if (s->n_inner >= r->most)
				return false;
			s->inner[u] = 1;
			s->list[s->n_inner++] = u;
		}
	return true;
}

/* Whether all ways from the node lead to places of return, and to several of them: then a call ends with the node. */
static bool is_last(const struct topology *t, uint32_t node, uint32_t entry, struct region_search *s)
{
	uint32_t n = 0, places = 0, pass = ++s->pass;

	s->passed[node] = pass;
	s->stack[n++] = node;
	while (n) {
		uint32_t u = s->stack[--n];

		for (uint32_t i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (v == entry || (v == MODEL_END && !s->end) || !work(s))
				return false;
			if (v == MODEL_END || s->place[v]) {
				places += v == MODEL_END || s->passed[v] != pass;
			} else if (s->passed[v] != pass) {
				s->stack[n++] = v;
			}
			if (v != MODEL_END)
				s->passed[v] = pass;
		}
	}
	return places >= 2;
}

/* Adds places of return that nodes within the region lead to. False if there are no more. */
static bool places_add(const struct topology *t, uint32_t entry, struct region_search *s)
{
	bool added = false;

	for (uint32_t k = 0; k < s->n_inner; k++)
		for (uint32_t u = s->list[k], i = t->first[u]; i < t->first[u + 1]; i++) {
			uint32_t v = t->arc[i].to;

			if (!work(s))
				return false;
			if (v == MODEL_END) {
				added |= !s->end;
				s->end = true;
			} else if (v != entry && !s->inner[v] && !s->place[v] && !is_last(t, v, entry, s)) {
				s->place[v] = 1;
				added = true;
			}
		}
	return added;
}

bool region_grow_early(const struct topology *t, struct region *r, uint32_t exit, struct region_search *s)
{
	uint32_t behind = 0;

	if (exit == r->entry || r->most < 2 || s->around[exit] || !s->work || !mark_inner(t, r, exit, s))
		return false;
	memset(s->place, 0, t->n_nodes);
	s->end = false;
	for (uint32_t i = t->first[exit]; i < t->first[exit + 1]; i++) {
		uint32_t v = t->arc[i].to;

		if (v == MODEL_END)
			s->end = true;
		else if (v != r->entry && !s->inner[v])
			s->place[v] = 1;
		behind += v == MODEL_END || !s->inner[v];
	}
	if (behind < 2)
		return false;
	while (places_add(t, r->entry, s))
		;
	return s->work && fill(t, r, exit, s, true) && is_region(t, r, exit, s);
}
