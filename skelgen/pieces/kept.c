/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * See kept.h. An object that is made and freed between two pieces is left out, unless a kept call needs it.
 * All ranks keep a collective call that one rank keeps. One rank may free its communicator between the pieces, and
 * another rank may free it later. MPI_Comm_create makes no communicator on some ranks.
 */
#include "skelgen/pieces/kept.h"

#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "common/hash_table.h"

#define NO_PARTNER UINT32_MAX

/* A call between two pieces that makes or frees an object. */
struct made {
	uint64_t event;
	uint64_t collective;   /* the same on all ranks of the collective call; 0: not collective */
	uint32_t sym, partner; /* the call that frees what this one makes, or the other way round */
	uint32_t first;        /* call between the same two pieces */
	bool keep, followed;   /* all that a kept call needs is kept, too */
};

/* A rank's calls between pieces, of the whole run. */
struct between {
	const struct trace_defs *d;
	const struct call_roles *roles;
	struct made *made;
	uint32_t n, cap;
	uint32_t first;   /* call since the last piece */
	uint64_t *count;  /* by counter: collective calls */
	bool *persistent; /* by slot: it holds a persistent request */
	uint32_t n_slot;
};

/* Collective calls that a rank keeps. */
struct kept_collectives {
	uint64_t *key;
	uint32_t n, cap;
	struct hash_table at;
};

/* ---- the calls between pieces ---- */

static void partner_find(struct between *b, uint32_t i)
{
	const struct call_role *frees = call_role_of(b->roles, b->made[i].sym);

	for (uint32_t j = i; frees->frees >= 0 && j-- > b->first;) {
		const struct call_role *makes = call_role_of(b->roles, b->made[j].sym);

		if (b->made[j].partner != NO_PARTNER || makes->object != frees->object || makes->makes != frees->frees)
			continue;
		b->made[j].partner = i;
		b->made[i].partner = j;
		return;
	}
}

/* A piece begins. Calls that made an object and calls that freed one are kept, unless they are partners. */
static void close(struct between *b)
{
	for (uint32_t i = b->first; i < b->n; i++)
		partner_find(b, i);
	for (uint32_t i = b->first; i < b->n; i++) {
		const struct call_role *r = call_role_of(b->roles, b->made[i].sym);

		b->made[i].keep = b->made[i].partner == NO_PARTNER && (r->makes >= 0 || r->frees >= 0);
	}
	b->first = b->n;
}

/* Does the call make or free an object? Requests that are freed are objects only if they are persistent. */
static bool changes_object(struct between *b, const struct call_role *r)
{
	bool was = true;

	if (r->object == ROLE_PERSISTENT && r->makes >= 0 && (uint32_t)r->makes < b->n_slot)
		b->persistent[r->makes] = true;
	if (r->object == ROLE_PERSISTENT && r->frees >= 0) {
		was = (uint32_t)r->frees < b->n_slot && b->persistent[r->frees];
		if (was)
			b->persistent[r->frees] = false;
	}
	return was && r->object != ROLE_NO_OBJECT;
}

static uint32_t slots_of(const struct call_roles *roles)
{
	int32_t most = -1;

	for (uint32_t i = 0; i < roles->n_role; i++)
		if (roles->role[i].object == ROLE_PERSISTENT)
			most = roles->role[i].makes > most ? roles->role[i].makes : most;
	return (uint32_t)(most + 1);
}

static int collect(struct between *b, const struct trace_rank *k, uint32_t rank, const struct cuts *cuts, const bool *chosen)
{
	struct folded_iter it;
	uint32_t sym, seg = 0;

	b->count = calloc(b->roles->n_counter + 1u, sizeof *b->count);
	b->persistent = calloc(b->n_slot + 1u, sizeof *b->persistent);
	if (b->count == NULL || b->persistent == NULL)
		return -1;
	folded_begin(&it, &k->events);
	for (uint64_t e = 0; folded_next(&it, &sym); e++) {
		const struct call_role *r = call_role_of(b->roles, sym);
		uint64_t collective = r->collective != 0 ? call_role_key(r, b->count[r->counter]++) : 0;

		while (seg < cuts->n && cuts->at[(size_t)seg * cuts->n_ranks + rank] <= e)
			if (chosen[++seg])
				close(b);
		if (!changes_object(b, r) || chosen[seg])
			continue;
		if (ARRAY_ROOM(b->made, b->cap, b->n + 1) != 0)
			return -1;
		b->made[b->n++] = (struct made){.event = e, .collective = collective, .sym = sym, .partner = NO_PARTNER,
						.first = b->first};
	}
	close(b);
	return 0;
}

/* ---- what is kept with a kept call ---- */

static bool is_kept(const struct kept_collectives *c, uint64_t key)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&c->at, key, at, i)
		if (c->key[i] == key)
			return true;
	return false;
}

static int collective_keep(struct kept_collectives *c, uint64_t key)
{
	if (key == 0 || is_kept(c, key))
		return 0;
	if (ARRAY_ROOM(c->key, c->cap, c->n + 1) != 0)
		return -1;
	c->key[c->n++] = key;
	return hash_table_add(&c->at, key, c->n - 1);
}

/* The call needs this communicator: it is kept, if it was made between the pieces too. */
static void comm_keep(struct between *b, uint32_t i, int64_t comm)
{
	for (uint32_t j = i; j-- > b->made[i].first;) {
		const struct call_role *r = call_role_of(b->roles, b->made[j].sym);

		if (r->object != ROLE_COMM || r->makes != comm)
			continue;
		b->made[j].keep = true;
		return;
	}
}

/* Returns 0, or -1 without memory. */
static int follow(struct between *b, uint32_t i, struct kept_collectives *c)
{
	struct made *m = &b->made[i];
	struct sig_walk w;

	m->followed = true;
	if (m->partner != NO_PARTNER)
		b->made[m->partner].keep = true;
	sig_walk_begin(&w, b->d, m->sym);
	while (sig_walk_next(&w))
		if (w.kind == TK_COMM && w.n > 0)
			comm_keep(b, i, w.val[0]);
	return collective_keep(c, m->collective);
}

/* Follow the kept calls of all ranks until no further call is kept. Returns 0, or -1 without memory. */
static int follow_all(struct between *b, uint32_t n_ranks)
{
	struct kept_collectives c = {0};
	bool changed = true;
	int rv = 0;

	while (changed) {
		changed = false;
		for (uint32_t r = 0; r < n_ranks; r++)
			for (uint32_t i = b[r].n; i-- > 0;) { /* a call needs calls before it */
				struct made *m = &b[r].made[i];

				m->keep = m->keep || (m->collective != 0 && is_kept(&c, m->collective));
				if (!m->keep || m->followed)
					continue;
				changed = true;
				rv |= follow(&b[r], i, &c);
			}
	}
	free(c.key);
	hash_table_free(&c.at);
	return rv;
}

/* ---- all ranks ---- */

static int keep(const struct between *b, struct kept *out)
{
	for (uint32_t i = 0; i < b->n; i++) {
		if (!b->made[i].keep)
			continue;
		if (ARRAY_ROOM(out->event, out->cap, out->n + 1) != 0)
			return -1;
		out->event[out->n++] = b->made[i].event;
	}
	return 0;
}

struct kept *kept_find(const struct trace *t, const struct call_roles *roles, const struct cuts *cuts, const bool *chosen,
		       struct errbuf *err)
{
	uint32_t n = cuts->n_ranks;
	struct between *b = calloc(n + 1u, sizeof *b);
	struct kept *out = calloc(n + 1u, sizeof *out);
	int rv = b != NULL && out != NULL ? 0 : -1;

	for (uint32_t r = 0; rv == 0 && r < n; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		b[r] = (struct between){.d = &k->defs, .roles = &roles[r], .n_slot = slots_of(&roles[r])};
		rv = collect(&b[r], k, r, cuts, chosen);
	}
	if (rv == 0)
		rv = follow_all(b, n);
	for (uint32_t r = 0; rv == 0 && r < n; r++)
		rv = keep(&b[r], &out[r]);
	for (uint32_t r = 0; b != NULL && r < n; r++) {
		free(b[r].made);
		free(b[r].count);
		free(b[r].persistent);
	}
	free(b);
	if (rv == 0)
		return out;
	kept_free(out, n);
	err_set(err, "no memory for the calls between pieces");
	return NULL;
}

void kept_free(struct kept *k, uint32_t n_ranks)
{
	for (uint32_t r = 0; k != NULL && r < n_ranks; r++)
		free(k[r].event);
	free(k);
}
