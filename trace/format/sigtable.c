/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Interning of call signatures: see sigtable.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "trace/format/sigtable.h"

#define FIRST_SLOTS 1024u

int sigtable_init(struct sigtable *t)
{
	*t = (struct sigtable){0};
	t->slot = calloc(FIRST_SLOTS, sizeof(*t->slot));
	if (!t->slot)
		return -1;
	t->n_slot = FIRST_SLOTS;
	return 0;
}

void sigtable_free(struct sigtable *t)
{
	free(t->sig);
	free(t->pool);
	free(t->slot);
	free(t->hash);
	*t = (struct sigtable){0};
}

static int grow_slots(struct sigtable *t)
{
	uint32_t n = t->n_slot * 2;
	uint32_t *slot = n > t->n_slot ? calloc(n, sizeof(*slot)) : NULL;

	if (!slot)
		return -1;
	for (uint32_t s = 0; s < t->n; s++) {
		uint32_t i = (uint32_t)t->hash[s] & (n - 1);

		while (slot[i])
			i = (i + 1) & (n - 1);
		slot[i] = s + 1;
	}
	free(t->slot);
	t->slot = slot;
	t->n_slot = n;
	return 0;
}

static int grow_sigs(struct sigtable *t)
{
	uint32_t cap = t->cap ? t->cap * 2 : 256;
	struct trace_sig *sig = realloc(t->sig, cap * sizeof(*sig));
	uint64_t *hash;

	if (!sig)
		return -1;
	t->sig = sig;
	hash = realloc(t->hash, cap * sizeof(*hash));
	if (!hash)
		return -1;
	t->hash = hash;
	t->cap = cap;
	return 0;
}

static int grow_pool(struct sigtable *t, uint32_t n)
{
	uint64_t cap = t->cap_pool ? t->cap_pool : 1024;
	int64_t *pool;

	while (cap < t->n_pool + n)
		cap *= 2;
	pool = realloc(t->pool, cap * sizeof(*pool));
	if (!pool)
		return -1;
	t->pool = pool;
	t->cap_pool = cap;
	return 0;
}

static uint32_t add_signature(struct sigtable *t, uint64_t h, uint32_t slot, const struct trace_sig *key, const int64_t *val)
{
	if (t->n >= UINT32_MAX / 4 || (t->n == t->cap && grow_sigs(t) < 0))
		return UINT32_MAX;
	if (t->n_pool + key->n > t->cap_pool && grow_pool(t, key->n) < 0)
		return UINT32_MAX;
	t->sig[t->n] = *key;
	t->sig[t->n].off = t->n_pool;
	if (key->n)
		memcpy(t->pool + t->n_pool, val, key->n * sizeof(*val));
	t->n_pool += key->n;
	t->hash[t->n] = h;
	t->slot[slot] = ++t->n;
	if (t->n > t->n_slot / 2 && grow_slots(t) < 0 && t->n >= t->n_slot - 1) {
		t->slot[slot] = 0;
		t->n--;
		return UINT32_MAX;
	}
	return t->n - 1;
}

uint32_t sigtable_intern(struct sigtable *t, uint16_t fn, uint32_t site, const int64_t *val, uint32_t n)
{
	uint64_t h = XXH3_64bits_withSeed(val, n * sizeof(*val), ((uint64_t)fn << 32) ^ site);
	struct trace_sig key = {.fn = fn, .site = site, .n = n};
	uint32_t i = (uint32_t)h & (t->n_slot - 1);

	for (; t->slot[i]; i = (i + 1) & (t->n_slot - 1)) {
		uint32_t s = t->slot[i] - 1;
		const struct trace_sig *g = &t->sig[s];

		if (t->hash[s] == h && g->fn == fn && g->site == site && g->n == n &&
		    (!n || !memcmp(t->pool + g->off, val, n * sizeof(*val))))
			return s;
	}
	return add_signature(t, h, i, &key, val);
}
