/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Interning of call signatures: (function, call site, parameter values) -> symbol, numbered in order of first use.
 * Lookups are the recorder's hot path: one hash and one comparison for a known signature.
 */
#ifndef PRECEDENT_TRACE_SIGTABLE_H
#define PRECEDENT_TRACE_SIGTABLE_H

#include <stdint.h>

#include "common/hash_table.h"

struct trace_sig {
	uint16_t fn;     /* enum trace_fn */
	uint32_t site;   /* index of trace_site */
	uint32_t n;      /* number of values */
	uint32_t off;    /* first value in the pool */
};

/* At most 2^32 values: a trace has fewer bytes for its definitions. */
struct sigtable {
	struct trace_sig *sig;
	uint32_t n, cap;
	int64_t *pool;
	uint32_t n_pool, cap_pool;
	struct hash_table known;
};

void sigtable_free(struct sigtable *t);
/* Returns the symbol, or UINT32_MAX if memory runs out or the table is settled. */
uint32_t sigtable_intern(struct sigtable *t, uint16_t fn, uint32_t site, const int64_t *val, uint32_t n);
/* No signature will be added: give back the memory that is kept for that. */
void sigtable_settle(struct sigtable *t);
/* NULL if no signature has values. */
static inline const int64_t *sigtable_values(const struct sigtable *t, uint32_t sym)
{
	return t->pool ? t->pool + t->sig[sym].off : NULL;
}

#endif
