/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interning of call signatures: (function, call site, parameter values) -> symbol, numbered in order of first use.
 * Lookups are the recorder's hot path: one hash and one comparison for a known signature.
 *
 * A table is interned, or read from a trace. In an interned table, the pool has all values of each signature.
 * If the messages of a run all have sizes of their own, the run has as many signatures as messages. They differ in
 * amounts only: counts and displacements. So in a table that was read, the pool has the amounts alone. Signatures
 * share a row of their other values, which is held once.
 */
#ifndef PRECEDENT_TRACE_SIGTABLE_H
#define PRECEDENT_TRACE_SIGTABLE_H

#include <stdint.h>

#include "common/hash_table.h"

struct trace_sig {
	uint16_t fn;     /* enum trace_fn */
	uint32_t site;   /* index of trace_site */
	union {
		uint32_t n;    /* interned: number of values */
		uint32_t rest; /* read: first value of its row, in `rest` */
	};
	uint32_t off;    /* first value, or first amount, in the pool */
};

/* While a table is read: values in `rest`. */
struct sig_row {
	uint32_t off, n;
};

/* At most 2^32 values: a trace has fewer bytes for its definitions. */
struct sigtable {
	struct trace_sig *sig;
	uint32_t n, cap;
	int64_t *pool;
	uint32_t n_pool, cap_pool;
	struct hash_table known; /* signatures; rows while a table is read */
	int64_t *rest;           /* NULL: the table is interned */
	uint32_t n_rest, cap_rest;
	struct sig_row *row;
	uint32_t n_row, cap_row;
};

void sigtable_free(struct sigtable *t);
/* Returns the symbol, or UINT32_MAX if memory runs out or the table was read. */
uint32_t sigtable_intern(struct sigtable *t, uint16_t fn, uint32_t site, const int64_t *val, uint32_t n);
/* The table has been read: give back the memory that only adding needs. */
void sigtable_settle(struct sigtable *t);
/* The amounts of a signature of a table that was read; of an interned table, all values. NULL: no signature has any. */
static inline const int64_t *sigtable_amounts(const struct sigtable *t, uint32_t sym)
{
	return t->pool ? t->pool + t->sig[sym].off : NULL;
}
/* The other values of a signature of a table that was read; of an interned table, all values. */
static inline const int64_t *sigtable_rest(const struct sigtable *t, uint32_t sym)
{
	return t->rest ? t->rest + t->sig[sym].rest : sigtable_amounts(t, sym);
}

#endif
