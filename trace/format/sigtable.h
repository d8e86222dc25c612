/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interning of call signatures: (function, call site, parameter values) -> symbol, numbered in order of first use.
 * Lookups are the recorder's hot path: one hash and one comparison for a known signature.
 *
 * A table is interned from calls, or decoded from a trace. In an interned table, the pool has all values of each
 * signature. If the messages of a run all have sizes of their own, the run has as many signatures as messages. They
 * differ in amounts only: counts and displacements. So in a decoded table, the pool has the amounts alone. The other
 * values of a signature are a row. Equal rows are held once.
 */
#ifndef PRECEDENT_TRACE_SIGTABLE_H
#define PRECEDENT_TRACE_SIGTABLE_H

#include <stdint.h>

#include "common/hash_table.h"

struct trace_sig {
	uint16_t fn;     /* enum trace_fn */
	uint32_t site;   /* index of trace_site */
	union {
		uint32_t n_interned; /* interned: number of values */
		uint32_t row;        /* decoded: first value of its row, in `rows` */
	};
	uint32_t off;    /* first value, or first amount, in the pool */
};

struct sigtable {
	struct trace_sig *sig;
	uint32_t n, cap;
	int64_t *pool;
	uint32_t n_pool, cap_pool;
	struct hash_table known; /* interned signatures */
	int64_t *rows;           /* NULL: the table is interned */
	uint32_t n_rows, cap_rows; /* values in it */
};

void sigtable_free(struct sigtable *t);
/* Returns the symbol, or UINT32_MAX if memory runs out or the table was decoded. */
uint32_t sigtable_intern(struct sigtable *t, uint16_t fn, uint32_t site, const int64_t *val, uint32_t n);
/* Decoded: the amounts of a signature. Interned: all its values. NULL: no signature has any. */
static inline const int64_t *sigtable_amounts(const struct sigtable *t, uint32_t sym)
{
	return t->pool ? t->pool + t->sig[sym].off : NULL;
}
/* Decoded: the row of a signature. Interned: all its values. */
static inline const int64_t *sigtable_row(const struct sigtable *t, uint32_t sym)
{
	return t->rows ? t->rows + t->sig[sym].row : sigtable_amounts(t, sym);
}

#endif
