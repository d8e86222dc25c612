/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes and operations in C. Only names of the MPI standard are written as names: a trace is a user's file, and
 * what it calls a datatype must not become code. Others become as many bytes.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/emit/call.h"

#define FAR (1ll << 40) /* a displacement beyond is an absolute address */

static const char *const type_names[] = {
	"MPI_CHAR", "MPI_SHORT", "MPI_INT", "MPI_LONG", "MPI_LONG_LONG", "MPI_LONG_LONG_INT", "MPI_SIGNED_CHAR",
	"MPI_UNSIGNED_CHAR", "MPI_UNSIGNED_SHORT", "MPI_UNSIGNED", "MPI_UNSIGNED_LONG", "MPI_UNSIGNED_LONG_LONG",
	"MPI_FLOAT", "MPI_DOUBLE", "MPI_LONG_DOUBLE", "MPI_WCHAR", "MPI_C_BOOL", "MPI_INT8_T", "MPI_INT16_T",
	"MPI_INT32_T", "MPI_INT64_T", "MPI_UINT8_T", "MPI_UINT16_T", "MPI_UINT32_T", "MPI_UINT64_T",
	"MPI_C_COMPLEX", "MPI_C_FLOAT_COMPLEX", "MPI_C_DOUBLE_COMPLEX", "MPI_C_LONG_DOUBLE_COMPLEX", "MPI_BYTE",
	"MPI_PACKED", "MPI_AINT", "MPI_OFFSET", "MPI_COUNT", "MPI_FLOAT_INT", "MPI_DOUBLE_INT", "MPI_LONG_INT",
	"MPI_2INT", "MPI_SHORT_INT", "MPI_LONG_DOUBLE_INT", "MPI_INTEGER", "MPI_REAL", "MPI_DOUBLE_PRECISION",
	"MPI_COMPLEX", "MPI_DOUBLE_COMPLEX", "MPI_LOGICAL", "MPI_CHARACTER", "MPI_2INTEGER", "MPI_2REAL",
	"MPI_2DOUBLE_PRECISION", "MPI_INTEGER1", "MPI_INTEGER2", "MPI_INTEGER4", "MPI_INTEGER8", "MPI_REAL4",
	"MPI_REAL8", "MPI_CXX_BOOL", "MPI_CXX_FLOAT_COMPLEX", "MPI_CXX_DOUBLE_COMPLEX",
	"MPI_CXX_LONG_DOUBLE_COMPLEX",
};

static const char *const op_names[] = {
	"MPI_MAX", "MPI_MIN", "MPI_SUM", "MPI_PROD", "MPI_LAND", "MPI_BAND", "MPI_LOR", "MPI_BOR", "MPI_LXOR",
	"MPI_BXOR", "MPI_MINLOC", "MPI_MAXLOC", "MPI_REPLACE", "MPI_NO_OP",
};

static const char *known(const char *const *names, size_t n, const char *name)
{
	for (size_t i = 0; name != NULL && i < n; i++)
		if (strcmp(names[i], name) == 0)
			return names[i];
	return NULL;
}

const char *type_c_name(const struct trace_type *t)
{
	return known(type_names, sizeof type_names / sizeof *type_names, t->name);
}

const char *op_c_name(const struct trace_op *o)
{
	return known(op_names, sizeof op_names / sizeof *op_names, o->name);
}

/* ---- constructors ---- */

struct type_writer {
	struct emit *e;
	const struct trace_defs *d; /* of the rank that defines it */
	const uint32_t *global;     /* of that rank's types */
	const struct trace_type *t;
	uint32_t id;
	struct text *out;
};

/* Integers first .. first + n - 1 as an array of the file, or NULL. */
static void put_array(struct type_writer *w, const char *ctype, const int64_t *v, uint32_t n)
{
	text_put(w->out, "(const %s[]){", ctype);
	for (uint32_t i = 0; i < n; i++)
		text_put(w->out, "%s%lld%s", i > 0 ? ", " : "", (long long)v[i], i % 16 == 15 ? "\n\t\t" : "");
	text_put(w->out, "}");
}

static void put_sub(struct type_writer *w, uint32_t i)
{
	uint32_t id = w->global[w->t->sub[i]];
	const char *name = type_c_name(&w->d->type[w->t->sub[i]]);

	if (name != NULL)
		text_put(w->out, "%s", name);
	else
		text_put(w->out, "type[%u]", id);
}

static void put_bytes(struct type_writer *w)
{
	text_put(w->out, "MPI_Type_contiguous(%lld, MPI_BYTE, &type[%u])", (long long)w->t->size, w->id);
}

/* Lengths and displacements, of which either may be one for all. */
static void put_indexed(struct type_writer *w, const char *call, bool one_length, bool addresses)
{
	const struct trace_type *t = w->t;
	uint32_t n = (uint32_t)t->integer[0];

	text_put(w->out, "%s(%u, ", call, n);
	if (one_length)
		text_put(w->out, "%lld, ", (long long)t->integer[1]);
	else
		put_array(w, "int", t->integer + 1, n);
	text_put(w->out, "%s", one_length ? "" : ", ");
	if (addresses)
		put_array(w, "MPI_Aint", t->addr, n);
	else
		put_array(w, "int", t->integer + 1 + (one_length ? 1 : n), n);
	text_put(w->out, ", ");
	if (t->combiner == TCOMB_STRUCT) {
		text_put(w->out, "(const MPI_Datatype[]){");
		for (uint32_t i = 0; i < n; i++) {
			text_put(w->out, "%s", i > 0 ? ", " : "");
			put_sub(w, i);
		}
		text_put(w->out, "}");
	} else {
		put_sub(w, 0);
	}
	text_put(w->out, ", &type[%u])", w->id);
}

static void put_blocks_of(struct type_writer *w, const char *call, int64_t count, int64_t length, int64_t stride)
{
	text_put(w->out, "%s(%lld, %lld, %lld, ", call, (long long)count, (long long)length, (long long)stride);
	put_sub(w, 0);
	text_put(w->out, ", &type[%u])", w->id);
}

static void put_array_type(struct type_writer *w)
{
	const struct trace_type *t = w->t;
	bool sub = t->combiner == TCOMB_SUBARRAY;
	uint32_t n = (uint32_t)t->integer[sub ? 0 : 2], arrays = sub ? 3 : 4;
	const int64_t *v = t->integer + (sub ? 1 : 3);

	if (sub)
		text_put(w->out, "MPI_Type_create_subarray(%u, ", n);
	else
		text_put(w->out, "MPI_Type_create_darray(%lld, %lld, %u, ", (long long)t->integer[0],
			 (long long)t->integer[1], n);
	for (uint32_t i = 0; i < arrays; i++, v += n) {
		put_array(w, "int", v, n);
		text_put(w->out, ", ");
	}
	text_put(w->out, "%lld, ", (long long)v[0]);
	put_sub(w, 0);
	text_put(w->out, ", &type[%u])", w->id);
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
		text_put(w->out, "MPI_Type_dup(");
		put_sub(w, 0);
		text_put(w->out, ", &type[%u])", w->id);
		break;
	case TCOMB_CONTIGUOUS:
		text_put(w->out, "MPI_Type_contiguous(%lld, ", (long long)t->integer[0]);
		put_sub(w, 0);
		text_put(w->out, ", &type[%u])", w->id);
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
		text_put(w->out, "MPI_Type_create_resized(");
		put_sub(w, 0);
		text_put(w->out, ", %lld, %lld, &type[%u])", (long long)t->addr[0], (long long)t->addr[1], w->id);
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

static void emit_type(struct emit *e, uint32_t id, struct text *out)
{
	const struct skel_global_def *def = &e->tree->globals->type_def[id];
	struct type_writer w = {e, skel_defs(e->tree, def->rank), e->tree->globals->type[def->rank],
				skel_global_type(e->tree, e->tree->globals, id), id, out};
	const char *name = type_c_name(w.t);

	if (name != NULL) {
		if (e->types_indexed)
			text_line(out, 1, "type[%u] = %s;", id, name);
		return;
	}
	text_put(out, "\t");
	put_constructor(&w);
	text_put(out, ";\n");
	text_line(out, 1, "MPI_Type_commit(&type[%u]);", id);
}

/* Those that a type is made of come earlier on every rank, but not by global number: emit in depth. */
static void emit_in_order(struct emit *e, uint32_t id, bool *done, struct text *out)
{
	const struct skel_global_def *def = &e->tree->globals->type_def[id];
	const struct trace_type *t = skel_global_type(e->tree, e->tree->globals, id);

	if (done[id])
		return;
	done[id] = true;
	if (contents_fit(t) && !is_far(t))
		for (uint32_t i = 0; i < t->n_sub; i++)
			emit_in_order(e, e->tree->globals->type[def->rank][t->sub[i]], done, out);
	emit_type(e, id, out);
}

void emit_types(struct emit *e, struct text *out)
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
			emit_in_order(e, i, done, out);
out:
	free(needed);
	free(done);
}
