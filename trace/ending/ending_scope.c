/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What orders collective calls: communicators, windows and files. All ranks give a scope the same number. A window or a
 * file of a rank may have several definitions, as its size or mode differs from one use to the next; their calls are
 * one sequence.
 */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "trace/ending/ending_impl.h"
#include "trace/functions.h"

/* ---- functions ---- */

static bool is_collective_file_call(uint32_t fn)
{
	switch (fn) {
	case FN_MPI_File_delete:
	case FN_MPI_File_seek:
		return false;
	default:
		return trace_fn[fn].cls == TC_FILE || fn == FN_MPI_File_seek_shared ||
		       strstr(trace_fn[fn].name, "_all") || strstr(trace_fn[fn].name, "_ordered");
	}
}

bool ending_is_collective(uint32_t fn)
{
	switch (fn) {
	case FN_MPI_Comm_create_group:  /* called by a part of the members */
	case FN_MPI_Comm_create_from_group: /* has no communicator */
	case FN_MPI_Intercomm_create:   /* has two communicators */
	case FN_MPI_Win_attach:
	case FN_MPI_Win_detach:
		return false;
	case FN_MPI_Win_fence:
		return true;
	default:
		break;
	}
	switch (trace_fn[fn].cls) {
	case TC_COLL: case TC_ICOLL: case TC_COMM: case TC_WIN:
		return true;
	case TC_FILE: case TC_IO:
		return is_collective_file_call(fn);
	default:
		return false;
	}
}

/* ---- the scopes of a rank ---- */

uint32_t ending_scope_of_win(const struct trace_defs *d, int64_t win)
{
	return win >= 0 && win < (int64_t)d->n_win ? d->n_comm + (uint32_t)win : ENDING_NONE;
}

uint32_t ending_scope_of(const struct trace_defs *d, uint32_t fn, int64_t comm, int64_t win, int64_t file)
{
	if (!ending_is_collective(fn))
		return ENDING_NONE;
	if (comm >= 0)
		return comm < (int64_t)d->n_comm ? (uint32_t)comm : ENDING_NONE;
	if (win >= 0)
		return ending_scope_of_win(d, win);
	return file >= 0 && file < (int64_t)d->n_file ? d->n_comm + d->n_win + (uint32_t)file : ENDING_NONE;
}

uint32_t ending_scope_of_symbol(const struct trace_defs *d, uint32_t symbol)
{
	uint32_t fn = d->sigs.sig[symbol].fn;

	if (!ending_is_collective(fn))
		return ENDING_NONE;
	return ending_scope_of(d, fn, sig_scalar(d, symbol, TK_COMM, TRACE_NULL),
			       sig_scalar(d, symbol, TK_WIN, TRACE_NULL), sig_scalar(d, symbol, TK_FILE, TRACE_NULL));
}

uint32_t ending_scope_of_call(const struct trace_defs *d, const struct trace_in_call *c)
{
	return ending_scope_of(d, c->fn, c->comm, c->win, c->file);
}

uint32_t ending_comm_of(const struct trace_defs *d, uint32_t scope)
{
	if (scope < d->n_comm)
		return scope;
	scope -= d->n_comm;
	return scope < d->n_win ? d->win[scope].comm : d->file[scope - d->n_win].comm;
}

/* ---- the scopes of all ranks ---- */

static uint32_t number_of(struct ending_own *o, struct ending_scope s)
{
	uint64_t hash = ((uint64_t)s.comm << 32 | s.ordinal << 2 | s.kind) * 0x9e3779b97f4a7c15ull;
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&o->known_scope, hash, at, i)
		if (o->scope[i].comm == s.comm && o->scope[i].ordinal == s.ordinal && o->scope[i].kind == s.kind)
			return i;
	if (ARRAY_ROOM(o->scope, o->cap_scope, o->n_scope + 1) != 0 ||
	    hash_table_add(&o->known_scope, hash, o->n_scope) != 0) {
		o->no_memory = true;
		return 0;
	}
	o->scope[o->n_scope] = s;
	return o->n_scope++;
}

static struct ending_scope describe(const struct ending *e, uint32_t rank, uint32_t i)
{
	const struct trace_defs *d = &trace_get_rank(e->t, rank)->defs;
	const struct ending_own *o = e->own;
	struct ending_scope s = {.comm = o->names.comm[rank][ending_comm_of(d, i)], .kind = SCOPE_COMM};

	if (i >= d->n_comm + d->n_win) {
		s.kind = SCOPE_FILE;
		s.ordinal = d->file[i - d->n_comm - d->n_win].ordinal;
	} else if (i >= d->n_comm) {
		s.kind = SCOPE_WIN;
		s.ordinal = d->win[i - d->n_comm].ordinal;
	}
	return s;
}

/* The first index of each number, rank by rank. */
static int find_same(struct ending *e)
{
	struct ending_own *o = e->own;
	uint32_t *first = malloc((o->n_scope + 1ull) * sizeof(*first));

	for (uint32_t i = 0; first && i < o->n_scope; i++)
		first[i] = ENDING_NONE;
	for (uint32_t r = 0; first && r < e->n_ranks; r++) {
		struct ending_state *s = &o->state[r];

		for (uint32_t i = 0; i < s->n_scope; i++) {
			if (first[s->scope[i]] == ENDING_NONE)
				first[s->scope[i]] = i;
			s->same[i] = first[s->scope[i]];
		}
		for (uint32_t i = 0; i < s->n_scope; i++)
			first[s->scope[i]] = ENDING_NONE;
	}
	if (!first)
		return -1;
	free(first);
	return 0;
}

int ending_scopes_build(struct ending *e)
{
	struct ending_own *o = e->own;

	for (uint32_t r = 0; r < e->n_ranks; r++) {
		const struct trace_rank *t = trace_get_rank(e->t, r);
		struct ending_state *s = &o->state[r];

		if (!t->present)
			continue;
		s->n_scope = t->defs.n_comm + t->defs.n_win + t->defs.n_file;
		s->scope = malloc((s->n_scope + 1ull) * sizeof(*s->scope));
		s->same = malloc((s->n_scope + 1ull) * sizeof(*s->same));
		s->entry = calloc(s->n_scope + 1ull, sizeof(*s->entry));
		s->start = malloc((t->defs.n_win + 1ull) * sizeof(*s->start));
		s->post = malloc((t->defs.n_win + 1ull) * sizeof(*s->post));
		if (!s->scope || !s->same || !s->entry || !s->start || !s->post)
			return -1;
		for (uint32_t i = 0; i < s->n_scope; i++)
			s->scope[i] = number_of(o, describe(e, r, i));
		for (uint32_t i = 0; i < t->defs.n_win; i++)
			s->start[i] = s->post[i] = ENDING_NONE;
	}
	return o->no_memory ? -1 : find_same(e);
}

/* ---- entries ---- */

uint64_t ending_enter(struct ending_own *o, uint32_t rank, uint32_t scope, struct ending_call call)
{
	struct ending_entries **c = &o->state[rank].entry[o->state[rank].same[scope]];

	if (!*c)
		*c = calloc(1, sizeof(**c));
	if (!*c) {
		o->no_memory = true;
		return 0;
	}
	(*c)->call[(*c)->entered++ % ENDING_HISTORY] = call;
	return (*c)->entered;
}

const struct ending_entries *ending_entries_of(const struct ending *e, uint32_t rank, uint32_t scope)
{
	const struct ending_state *s = &((const struct ending_own *)e->own)->state[rank];
	const struct ending_entries *best = NULL;

	for (uint32_t i = 0; i < s->n_scope; i++)
		if (s->scope[i] == scope && s->entry[i] && (!best || s->entry[i]->entered > best->entered))
			best = s->entry[i];
	return best;
}
