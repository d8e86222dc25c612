/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes by content. Handles whose constructors and arguments are equal, down to predefined types, are one
 * datatype of the trace.
 */
#include <stdlib.h>
#include <string.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "trace/format/event.h"

static uint32_t cap_type;

static int32_t combiner_of(int c)
{
	switch (c) {
	case MPI_COMBINER_NAMED:          return TCOMB_NAMED;
	case MPI_COMBINER_DUP:            return TCOMB_DUP;
	case MPI_COMBINER_CONTIGUOUS:     return TCOMB_CONTIGUOUS;
	case MPI_COMBINER_VECTOR:         return TCOMB_VECTOR;
	case MPI_COMBINER_HVECTOR:        return TCOMB_HVECTOR;
	case MPI_COMBINER_INDEXED:        return TCOMB_INDEXED;
	case MPI_COMBINER_HINDEXED:       return TCOMB_HINDEXED;
	case MPI_COMBINER_INDEXED_BLOCK:  return TCOMB_INDEXED_BLOCK;
	case MPI_COMBINER_HINDEXED_BLOCK: return TCOMB_HINDEXED_BLOCK;
	case MPI_COMBINER_STRUCT:         return TCOMB_STRUCT;
	case MPI_COMBINER_SUBARRAY:       return TCOMB_SUBARRAY;
	case MPI_COMBINER_DARRAY:         return TCOMB_DARRAY;
	case MPI_COMBINER_RESIZED:        return TCOMB_RESIZED;
	case MPI_COMBINER_F90_REAL:
	case MPI_COMBINER_F90_COMPLEX:
	case MPI_COMBINER_F90_INTEGER:    return TCOMB_F90;
	default:                          return TCOMB_OTHER;
	}
}

static void type_clear(struct trace_type *t)
{
	free(t->name);
	free(t->integer);
	free(t->addr);
	free(t->sub);
}

static int words_eq(const void *a, const void *b, uint32_t n, size_t size)
{
	return !n || !memcmp(a, b, n * size);
}

static int type_eq(const struct trace_type *a, const struct trace_type *b)
{
	return a->combiner == b->combiner && a->size == b->size && a->extent == b->extent && a->lb == b->lb &&
	       !strcmp(a->name ? a->name : "", b->name ? b->name : "") && a->n_int == b->n_int &&
	       a->n_addr == b->n_addr && a->n_sub == b->n_sub &&
	       words_eq(a->integer, b->integer, a->n_int, sizeof(*a->integer)) &&
	       words_eq(a->addr, b->addr, a->n_addr, sizeof(*a->addr)) &&
	       words_eq(a->sub, b->sub, a->n_sub, sizeof(*a->sub));
}

/* Index by content: the hash map holds the first index of a hash, next_same the others. */
static struct hmap by_content;
static int32_t *next_same;

static uint64_t type_hash(const struct trace_type *t)
{
	uint64_t h = (uint64_t)t->combiner * 31 + (uint64_t)t->size;

	for (const char *s = t->name; s && *s; s++)
		h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
	for (uint32_t i = 0; i < t->n_int; i++)
		h = (h ^ (uint64_t)t->integer[i]) * 0x9fb21c651e98df25ull;
	for (uint32_t i = 0; i < t->n_addr; i++)
		h = (h ^ (uint64_t)t->addr[i]) * 0x9fb21c651e98df25ull;
	for (uint32_t i = 0; i < t->n_sub; i++)
		h = (h ^ t->sub[i]) * 0x9fb21c651e98df25ull;
	return (h ^ (h >> 31)) | 1;
}

/* Takes ownership of *t. */
static int64_t type_intern(struct trace_type *t)
{
	uint64_t h = type_hash(t);
	int32_t first = hmap_get(&by_content, h);

	for (int32_t i = first; i >= 0; i = next_same[i])
		if (type_eq(&handles.type_def[i], t)) {
			type_clear(t);
			return i;
		}
	if (handles.n_type == cap_type) {
		uint32_t cap = cap_type ? cap_type * 2 : 32;
		void *p = realloc(handles.type_def, cap * sizeof(*handles.type_def));

		if (!p)
			goto fail;
		handles.type_def = p;
		if (!(p = realloc(next_same, cap * sizeof(*next_same))))
			goto fail;
		next_same = p;
		cap_type = cap;
	}
	next_same[handles.n_type] = first;
	if (hmap_put(&by_content, h, (int32_t)handles.n_type) < 0)
		goto fail;
	handles.type_def[handles.n_type] = *t;
	return handles.n_type++;
fail:
	type_clear(t);
	return TRACE_NULL;
}

static int64_t type_read(MPI_Datatype h);

/* Read the constructor's arguments. Types among them are defined first. */
static int read_contents(MPI_Datatype h, int n_int, int n_addr, int n_sub, struct trace_type *t)
{
	int *ints = malloc(((size_t)n_int + 1) * sizeof(*ints)), rv = -1;
	MPI_Aint *addrs = malloc(((size_t)n_addr + 1) * sizeof(*addrs));
	MPI_Datatype *subs = malloc(((size_t)n_sub + 1) * sizeof(*subs));

	t->integer = malloc(((size_t)n_int + 1) * sizeof(*t->integer));
	t->addr = malloc(((size_t)n_addr + 1) * sizeof(*t->addr));
	t->sub = malloc(((size_t)n_sub + 1) * sizeof(*t->sub));
	if (!ints || !addrs || !subs || !t->integer || !t->addr || !t->sub)
		goto out;
	if (mpi.Type_get_contents(h, n_int, n_addr, n_sub, ints, addrs, subs) != MPI_SUCCESS)
		goto out;
	t->n_int = (uint32_t)n_int;
	t->n_addr = (uint32_t)n_addr;
	t->n_sub = (uint32_t)n_sub;
	rv = 0;
	for (int i = 0; i < n_int; i++)
		t->integer[i] = ints[i];
	for (int i = 0; i < n_addr; i++)
		t->addr[i] = addrs[i];
	for (int i = 0; i < n_sub; i++) {
		int a, b, c, comb = MPI_COMBINER_NAMED;
		int64_t s = type_read(subs[i]);

		mpi.Type_get_envelope(subs[i], &a, &b, &c, &comb);
		if (combiner_of(comb) != TCOMB_NAMED && combiner_of(comb) != TCOMB_F90)
			mpi.Type_free(&subs[i]); /* a new handle from the library */
		if (s < 0)
			rv = -1;
		else
			t->sub[i] = (uint32_t)s;
	}
out:
	free(ints);
	free(addrs);
	free(subs);
	return rv;
}

static int64_t type_read(MPI_Datatype h)
{
	struct trace_type t = {0};
	int n_int, n_addr, n_sub, comb, size = 0;
	MPI_Aint lb = 0, extent = 0;

	if (h == MPI_DATATYPE_NULL || mpi.Type_get_envelope(h, &n_int, &n_addr, &n_sub, &comb) != MPI_SUCCESS)
		return TRACE_NULL;
	t.combiner = combiner_of(comb);
	if (t.combiner == TCOMB_NAMED) {
		char name[MPI_MAX_OBJECT_NAME + 1] = "";
		int len = 0;

		mpi.Type_get_name(h, name, &len);
		t.name = strdup(name);
		if (!t.name)
			return TRACE_NULL;
	} else if (read_contents(h, n_int, n_addr, n_sub, &t) < 0) {
		type_clear(&t);
		return TRACE_NULL;
	}
	mpi.Type_size(h, &size);
	mpi.Type_get_extent(h, &lb, &extent);
	t.size = size > 0 ? size : 0; /* MPI_UNDEFINED if the size exceeds an int */
	t.lb = lb;
	t.extent = extent;
	return type_intern(&t);
}

int64_t type_define(MPI_Datatype h)
{
	int64_t index = type_read(h);

	if (index >= 0)
		hmap_put(&handles.type, HANDLE_KEY(h), (int32_t)index);
	return index;
}
