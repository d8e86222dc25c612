/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes and operations. Only names of the MPI standard are written as names: a trace is a user's file, and its
 * names must not become code. Other datatypes become as many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/lower_call.h"

#define FAR (1ll << 40) /* a displacement beyond is an absolute address */

static const char *known(char kind, const char *name)
{
	for (uint32_t i = 0; name != NULL && i < ops_n_constant; i++)
		if (ops_constant[i].kind == kind && strcmp(ops_constant[i].name, name) == 0)
			return ops_constant[i].name;
	return NULL;
}

const char *type_c_name(const struct trace_type *t)
{
	return known('t', t->name);
}

const char *op_c_name(const struct trace_op *o)
{
	return known('o', o->name);
}

/* ---- constructors ---- */

struct type_writer {
	struct emit *e;
	const struct trace_defs *d; /* of the rank that defines it */
	const uint32_t *global;     /* of that rank's types */
	const struct trace_type *t;
	uint32_t id;
	struct code *out;
};

static void put_ints(struct type_writer *w, char kind, const int64_t *v, uint32_t n)
{
	code_op(w->out, OPS_ARRAY, code_array(&w->e->array, kind, v, n));
}

static void put_sub(struct type_writer *w, uint32_t i)
{
	const char *name = type_c_name(&w->d->type[w->t->sub[i]]);

	if (name != NULL)
		code_named(w->out, name);
	else
		code_handle(w->out, OPS_TYPE, w->global[w->t->sub[i]]);
}

/* Make type[id] by the call, whose other parameters were appended. */
static void put_made(struct type_writer *w, const char *call)
{
	code_int(w->out, w->id);
	code_op(w->out, OPS_PLACE, OPS_TYPE);
	code_do(w->out, call);
}

static void put_bytes(struct type_writer *w)
{
	code_int(w->out, w->t->size);
	code_named(w->out, "MPI_BYTE");
	put_made(w, "MPI_Type_contiguous");
}

/* Lengths and displacements, of which either may be one for all. */
static void put_indexed(struct type_writer *w, const char *call, bool one_length, bool addresses)
{
	const struct trace_type *t = w->t;
	uint32_t n = (uint32_t)t->integer[0];

	code_int(w->out, n);
	if (one_length)
		code_int(w->out, t->integer[1]);
	else
		put_ints(w, 'I', t->integer + 1, n);
	if (addresses)
		put_ints(w, 'A', t->addr, n);
	else
		put_ints(w, 'I', t->integer + 1 + (one_length ? 1 : n), n);
	if (t->combiner == TCOMB_STRUCT) {
		for (uint32_t i = 0; i < n; i++)
			put_sub(w, i);
		code_word(w->out, OPS_WORD(OPS_LIST, n, 0));
	} else {
		put_sub(w, 0);
	}
	put_made(w, call);
}

static void put_blocks_of(struct type_writer *w, const char *call, int64_t count, int64_t length, int64_t stride)
{
	code_int(w->out, count);
	code_int(w->out, length);
	code_int(w->out, stride);
	put_sub(w, 0);
	put_made(w, call);
}

static void put_array_type(struct type_writer *w)
{
	const struct trace_type *t = w->t;
	bool sub = t->combiner == TCOMB_SUBARRAY;
	uint32_t n = (uint32_t)t->integer[sub ? 0 : 2], arrays = sub ? 3 : 4;
	const int64_t *v = t->integer + (sub ? 1 : 3);

	for (int i = 0; i < (sub ? 1 : 3); i++)
		code_int(w->out, t->integer[i]);
	for (uint32_t i = 0; i < arrays; i++, v += n)
		put_ints(w, 'I', v, n);
	code_int(w->out, v[0]);
	put_sub(w, 0);
	put_made(w, sub ? "MPI_Type_create_subarray" : "MPI_Type_create_darray");
}

/* Are there as many integers, addresses and types as the constructor takes? */
static bool contents_fit(const struct trace_type *t)
{
	static const struct {
		uint8_t ints, addrs, subs;
	} need[TCOMB_N] = {
		[TCOMB_DUP] = {0, 0, 1},     [TCOMB_CONTIGUOUS] = {1, 0, 1},	[TCOMB_VECTOR] = {3, 0, 1},
		[TCOMB_HVECTOR] = {2, 1, 1}, [TCOMB_INDEXED] = {1, 0, 1},	[TCOMB_HINDEXED] = {1, 0, 1},
		[TCOMB_STRUCT] = {1, 0, 0},  [TCOMB_INDEXED_BLOCK] = {2, 0, 1}, [TCOMB_HINDEXED_BLOCK] = {2, 0, 1},
		[TCOMB_RESIZED] = {0, 2, 1}, [TCOMB_SUBARRAY] = {2, 0, 1},	[TCOMB_DARRAY] = {4, 0, 1},
	};
	uint64_t n;

	if (t->combiner <= TCOMB_NAMED || t->combiner >= TCOMB_F90 || t->n_int < need[t->combiner].ints ||
	    t->n_addr < need[t->combiner].addrs || t->n_sub < need[t->combiner].subs)
		return false;
	n = t->n_int > 0 && t->integer[0] >= 0 ? (uint64_t)t->integer[0] : 0;
	switch (t->combiner) {
	case TCOMB_INDEXED:
		return t->n_int >= 1 + 2 * n;
	case TCOMB_HINDEXED:
		return t->n_int >= 1 + n && t->n_addr >= n;
	case TCOMB_INDEXED_BLOCK:
		return t->n_int >= 2 + n;
	case TCOMB_HINDEXED_BLOCK:
		return t->n_addr >= n;
	case TCOMB_STRUCT:
		return t->n_int >= 1 + n && t->n_addr >= n && t->n_sub >= n;
	case TCOMB_SUBARRAY:
		return t->n_int >= 2 + 3 * n;
	case TCOMB_DARRAY:
		return t->integer[2] >= 0 && t->n_int >= 4 + 4 * (uint64_t)t->integer[2];
	default:
		return true;
	}
}

static bool is_far(const struct trace_type *t)
{
	for (uint32_t i = 0; i < t->n_addr; i++)
		if (t->addr[i] > FAR || t->addr[i] < -FAR)
			return true;
	return t->lb > FAR || t->lb < -FAR || t->extent > FAR || t->extent < -FAR;
}

static void put_constructor(struct type_writer *w)
{
	const struct trace_type *t = w->t;

	if (!contents_fit(t) || is_far(t)) {
		put_bytes(w);
		return;
	}
	switch (t->combiner) {
	case TCOMB_DUP:
		put_sub(w, 0);
		put_made(w, "MPI_Type_dup");
		break;
	case TCOMB_CONTIGUOUS:
		code_int(w->out, t->integer[0]);
		put_sub(w, 0);
		put_made(w, "MPI_Type_contiguous");
		break;
	case TCOMB_VECTOR:
		put_blocks_of(w, "MPI_Type_vector", t->integer[0], t->integer[1], t->integer[2]);
		break;
	case TCOMB_HVECTOR:
		put_blocks_of(w, "MPI_Type_create_hvector", t->integer[0], t->integer[1], t->addr[0]);
		break;
	case TCOMB_INDEXED:
		put_indexed(w, "MPI_Type_indexed", false, false);
		break;
	case TCOMB_HINDEXED:
		put_indexed(w, "MPI_Type_create_hindexed", false, true);
		break;
	case TCOMB_INDEXED_BLOCK:
		put_indexed(w, "MPI_Type_create_indexed_block", true, false);
		break;
	case TCOMB_HINDEXED_BLOCK:
		put_indexed(w, "MPI_Type_create_hindexed_block", true, true);
		break;
	case TCOMB_STRUCT:
		put_indexed(w, "MPI_Type_create_struct", false, true);
		break;
	case TCOMB_RESIZED:
		put_sub(w, 0);
		code_int(w->out, t->addr[0]);
		code_int(w->out, t->addr[1]);
		put_made(w, "MPI_Type_create_resized");
		break;
	default:
		put_array_type(w);
		break;
	}
}

/* ---- the ones that are used ---- */

/* A derived type needs the types that it is made of. */
static void mark(struct emit *e, uint32_t id, bool *mark_of)
{
	const struct skel_global_def *def = &e->tree->globals->type_def[id];
	const struct trace_type *t = skel_global_type(e->tree, e->tree->globals, id);

	if (mark_of[id])
		return;
	mark_of[id] = true;
	if (!contents_fit(t) || is_far(t))
		return;
	for (uint32_t i = 0; i < t->n_sub; i++)
		mark(e, e->tree->globals->type[def->rank][t->sub[i]], mark_of);
}

static void lower_type(struct emit *e, uint32_t id, struct code *out)
{
	const struct skel_global_def *def = &e->tree->globals->type_def[id];
	struct type_writer w = {e, skel_defs(e->tree, def->rank), e->tree->globals->type[def->rank],
				skel_global_type(e->tree, e->tree->globals, id), id, out};
	const char *name = type_c_name(w.t);

	if (name != NULL) {
		if (e->types_indexed) {
			code_int(out, id);
			code_named(out, name);
			code_op(out, OPS_SET_TYPE, 0);
		}
		return;
	}
	put_constructor(&w);
	put_made(&w, "MPI_Type_commit");
}

/* Those that a type is made of come earlier on every rank, but not by global number: emit in depth. */
static void lower_in_order(struct emit *e, uint32_t id, bool *done, struct code *out)
{
	const struct skel_global_def *def = &e->tree->globals->type_def[id];
	const struct trace_type *t = skel_global_type(e->tree, e->tree->globals, id);

	if (done[id])
		return;
	done[id] = true;
	if (contents_fit(t) && !is_far(t))
		for (uint32_t i = 0; i < t->n_sub; i++)
			lower_in_order(e, e->tree->globals->type[def->rank][t->sub[i]], done, out);
	lower_type(e, id, out);
}

void lower_types(struct emit *e, struct code *out)
{
	bool *needed = calloc(e->tree->globals->n_type + 1u, sizeof *needed);
	bool *done = calloc(e->tree->globals->n_type + 1u, sizeof *done);

	if (needed == NULL || done == NULL) {
		e->no_memory = true;
		goto out;
	}
	for (uint32_t i = 0; i < e->tree->globals->n_type; i++)
		if (e->type_used[i])
			mark(e, i, needed);
	for (uint32_t i = 0; i < e->tree->globals->n_type; i++)
		if (needed[i])
			lower_in_order(e, i, done, out);
out:
	free(needed);
	free(done);
}
