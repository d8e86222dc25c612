/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interning of call signatures: see sigtable.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/format/sigtable.h"
#include "common/array.h"
#include "common/hash_table.h"

void sigtable_free(struct sigtable *t)
{
	free(t->sig);
	free(t->pool);
	free(t->rows);
	hash_table_free(&t->known);
	*t = (struct sigtable){0};
}

uint32_t sigtable_intern(struct sigtable *t, uint16_t fn, uint32_t site, const int64_t *val, uint32_t n)
{
	uint64_t h = XXH3_64bits_withSeed(val, n * sizeof(*val), ((uint64_t)fn << 32) ^ site);
	uint32_t at, s;

	HASH_TABLE_FOR_EACH(&t->known, h, at, s) {
		const struct trace_sig *g = &t->sig[s];

		if (g->fn == fn && g->site == site && g->n_interned == n &&
		    (!n || !memcmp(t->pool + g->off, val, n * sizeof(*val))))
			return s;
	}
	if (t->rows || n > UINT32_MAX - t->n_pool)
		return UINT32_MAX;
	if (ARRAY_ROOM(t->sig, t->cap, t->n + 1) != 0 || ARRAY_ROOM(t->pool, t->cap_pool, t->n_pool + n) != 0 ||
	    hash_table_add(&t->known, h, t->n) != 0)
		return UINT32_MAX;
	t->sig[t->n] = (struct trace_sig){.fn = fn, .site = site, .n_interned = n, .off = t->n_pool};
	if (n)
		memcpy(t->pool + t->n_pool, val, n * sizeof(*val));
	t->n_pool += n;
	return t->n++;
}
