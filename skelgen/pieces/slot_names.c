/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See slot_names.h. */
#include "skelgen/pieces/slot_names.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "skelgen/pieces/open_requests.h"

/* A walk over the rank that lists the open requests at cuts. */
struct lister {
	struct slot_names *s;
	const struct cuts *cuts;
	uint32_t rank, next; /* cut that the walk comes to */
	bool failed;
};

static void list_before(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests)
{
	struct lister *l = arg;
	struct slot_names *s = l->s;
	const struct cuts *c = l->cuts;

	(void)open;
	for (; !l->failed && l->next < c->n && c->at[(size_t)l->next * c->n_ranks + l->rank] <= event; l->next++) {
		uint32_t first = s->first[l->next], n = open_requests_list(requests, NULL);

		l->failed = ARRAY_ROOM(s->open, s->cap, first + n) != 0;
		if (!l->failed)
			open_requests_list(requests, s->open + first);
		s->first[l->next + 1] = first + n;
	}
}

int slot_names_begin(struct slot_names *s, const struct trace_rank *k, const struct call_roles *roles, const struct cuts *cuts, uint32_t rank,
		     struct errbuf *err)
{
	struct lister l = {.s = s, .cuts = cuts, .rank = rank};
	const struct walk_listener w = {.arg = &l, .before = list_before};

	*s = (struct slot_names){.same = true};
	if (!roles->any_slots || roles->n_slot == 0)
		return 0;
	s->n_slot = roles->n_slot;
	s->name = calloc(s->n_slot, sizeof *s->name);
	s->before = calloc(s->n_slot, sizeof *s->before);
	s->taken = calloc(s->n_slot, sizeof *s->taken);
	s->first = calloc(cuts->n + 1u, sizeof *s->first);
	if (s->first == NULL || s->name == NULL || s->before == NULL || s->taken == NULL ||
	    rank_walk(k, roles, &w, err) != 0 || l.failed) {
		slot_names_free(s);
		return err_set(err, "no memory for the requests of rank %u", rank);
	}
	for (uint32_t i = 0; i < s->n_slot; i++)
		s->name[i] = i;
	return 0;
}

void slot_names_pass(struct slot_names *s, uint32_t from, uint32_t to)
{
	uint32_t *names = s->before, next = 0, n_open;
	const uint32_t *left, *found;

	if (s->first == NULL || from + 1 == to)
		return;
	left = s->open + s->first[from];
	found = s->open + s->first[to - 1];
	n_open = s->first[to] - s->first[to - 1];
	s->before = s->name;
	s->name = names;
	memset(s->taken, 0, s->n_slot * sizeof *s->taken);
	memset(names, 0xff, s->n_slot * sizeof *names);
	for (uint32_t i = 0; i < n_open; i++) {
		names[found[i]] = s->before[left[i]];
		s->taken[names[found[i]]] = true;
	}
	for (uint32_t i = 0; i < s->n_slot; i++)
		if (names[i] == UINT32_MAX && !s->taken[i]) {
			names[i] = i;
			s->taken[i] = true;
		}
	s->same = true;
	for (uint32_t i = 0; i < s->n_slot; i++) {
		while (names[i] == UINT32_MAX && s->taken[next])
			next++;
		if (names[i] == UINT32_MAX)
			names[i] = next++;
		s->same &= names[i] == i;
	}
}

bool slot_names_has(const struct sig_walk *w)
{
	return w->kind == TK_REQS || w->kind == TK_DONE || ((w->kind == TK_REQ || w->kind == TK_NEWREQ) && strcmp(w->name, "message") != 0);
}

bool slot_names_put(const struct slot_names *s, const struct trace_defs *d, uint32_t sym, int64_t *value)
{
	struct sig_walk w;
	bool any = false;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w)) {
		value += trace_kind_is_array(w.kind);
		for (uint32_t i = 0; i < w.n && slot_names_has(&w); i++)
			if (value[i] >= 0 && value[i] < s->n_slot) {
				value[i] = s->name[value[i]];
				any = true;
			}
		value += w.n;
	}
	return any;
}

void slot_names_free(struct slot_names *s)
{
	free(s->first);
	free(s->open);
	free(s->name);
	free(s->before);
	free(s->taken);
	*s = (struct slot_names){.same = true};
}
