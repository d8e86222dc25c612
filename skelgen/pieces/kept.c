/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See kept.h. An object that is made and freed between two pieces is left out, unless a kept call needs it. */
#include "skelgen/pieces/kept.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"

#define NO_PARTNER UINT32_MAX

/* A call between two pieces that makes or frees an object. */
struct made {
	uint64_t event;
	uint32_t sym, partner; /* the call that frees what this one makes, or the other way round */
	bool keep;
};

struct between {
	const struct trace_defs *d;
	const struct call_roles *roles;
	struct made *made;
	uint32_t n, cap;
	bool *persistent; /* by slot: it holds a persistent request */
	uint32_t n_slot;
};

static void partner_find(struct between *b, uint32_t i)
{
	const struct call_role *frees = &b->roles->role[b->made[i].sym];

	for (uint32_t j = i; frees->frees >= 0 && j-- > 0;) {
		const struct call_role *makes = &b->roles->role[b->made[j].sym];

		if (b->made[j].partner != NO_PARTNER || makes->object != frees->object || makes->makes != frees->frees)
			continue;
		b->made[j].partner = i;
		b->made[i].partner = j;
		return;
	}
}

/* The call needs this communicator: it is kept, if it was made between the pieces too. */
static void comm_keep(struct between *b, uint32_t i, int64_t comm)
{
	for (uint32_t j = i; j-- > 0;) {
		const struct call_role *r = &b->roles->role[b->made[j].sym];

		if (r->object != ROLE_COMM || r->makes != comm)
			continue;
		b->made[j].keep = true;
		if (b->made[j].partner != NO_PARTNER)
			b->made[b->made[j].partner].keep = true;
		return;
	}
}

static void close(struct between *b)
{
	for (uint32_t i = 0; i < b->n; i++)
		partner_find(b, i);
	for (uint32_t i = 0; i < b->n; i++)
		b->made[i].keep = b->made[i].partner == NO_PARTNER;
	for (uint32_t i = b->n; i-- > 0;) {
		struct sig_walk w;

		if (!b->made[i].keep)
			continue;
		sig_walk_begin(&w, b->d, b->made[i].sym);
		while (sig_walk_next(&w))
			if (w.kind == TK_COMM && w.n > 0)
				comm_keep(b, i, w.val[0]);
	}
}

/* Does the call make or free an object? Requests that are freed are objects only if they are persistent. */
static bool changes_object(struct between *b, const struct call_role *r)
{
	bool was = true;

	if (r->object == ROLE_PERSISTENT && r->makes >= 0 && (uint32_t)r->makes < b->n_slot)
		b->persistent[r->makes] = true;
	if (r->object == ROLE_PERSISTENT && r->frees >= 0 && (uint32_t)r->frees < b->n_slot) {
		was = b->persistent[r->frees];
		b->persistent[r->frees] = false;
	}
	return was && r->object != ROLE_NO_OBJECT;
}

static int flush(struct between *b, struct kept *out)
{
	close(b);
	for (uint32_t i = 0; i < b->n; i++) {
		if (!b->made[i].keep)
			continue;
		if (ARRAY_ROOM(out->event, out->cap, out->n + 1) != 0)
			return -1;
		out->event[out->n++] = b->made[i].event;
	}
	b->n = 0;
	return 0;
}

static uint32_t slots_of(const struct call_roles *roles)
{
	int32_t most = -1;

	for (uint32_t s = 0; s < roles->n; s++)
		if (roles->role[s].object == ROLE_PERSISTENT)
			most = roles->role[s].makes > most ? roles->role[s].makes : most;
	return (uint32_t)(most + 1);
}

static int find(struct between *b, const struct trace_rank *k, uint32_t rank, const struct cuts *cuts, const bool *chosen,
		struct kept *out)
{
	struct folded_iter it;
	uint32_t sym, seg = 0;

	folded_begin(&it, &k->events);
	for (uint64_t e = 0; folded_next(&it, &sym); e++) {
		const struct call_role *r = &b->roles->role[sym];

		while (seg < cuts->n && cuts->at[(size_t)seg * cuts->n_ranks + rank] <= e)
			if (chosen[++seg] && flush(b, out) != 0)
				return -1;
		if (!changes_object(b, r) || chosen[seg])
			continue;
		if (ARRAY_ROOM(b->made, b->cap, b->n + 1) != 0)
			return -1;
		b->made[b->n++] = (struct made){.event = e, .sym = sym, .partner = NO_PARTNER};
	}
	return flush(b, out);
}

int kept_find(const struct trace *t, uint32_t rank, const struct call_roles *roles, const struct cuts *cuts, const bool *chosen,
	      struct kept *out, struct errbuf *err)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct between b = {.d = &k->defs, .roles = roles, .n_slot = slots_of(roles)};
	int rv = -1;

	*out = (struct kept){0};
	b.persistent = calloc(b.n_slot + 1u, sizeof *b.persistent);
	if (b.persistent != NULL)
		rv = find(&b, k, rank, cuts, chosen, out);
	free(b.persistent);
	free(b.made);
	if (rv != 0)
		kept_free(out);
	return rv == 0 ? 0 : err_set(err, "no memory for the calls between pieces");
}

void kept_free(struct kept *k)
{
	free(k->event);
	*k = (struct kept){0};
}
