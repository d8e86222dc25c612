/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Open addressing with linear probes, at most half full: see map.h. */
#include <stdlib.h>
#include <string.h>

#include "model/induce/map.h"

static uint32_t hash(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return (uint32_t)(x ^ (x >> 32));
}

static int grow(struct map *m)
{
	uint32_t cap = m->cap ? m->cap * 2 : 64;
	uint64_t *key;
	uint32_t *slot;

	if (m->cap >= 1u << 30)
		return -1;
	key = realloc(m->key, cap / 2 * sizeof(*key));
	if (!key)
		return -1;
	m->key = key;
	slot = calloc(cap, sizeof(*slot));
	if (!slot)
		return -1;
	for (uint32_t i = 0; i < m->n; i++) {
		uint32_t h = hash(m->key[i]) & (cap - 1);

		while (slot[h])
			h = (h + 1) & (cap - 1);
		slot[h] = i + 1;
	}
	free(m->slot);
	m->slot = slot;
	m->cap = cap;
	return 0;
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	if (!m->cap)
		return MAP_NONE;
	for (uint32_t h = hash(key) & (m->cap - 1); m->slot[h]; h = (h + 1) & (m->cap - 1))
		if (m->key[m->slot[h] - 1] == key)
			return m->slot[h] - 1;
	return MAP_NONE;
}

uint32_t map_put(struct map *m, uint64_t key)
{
	uint32_t h;

	if (m->n == m->cap / 2 && grow(m) < 0)
		return MAP_NONE;
	for (h = hash(key) & (m->cap - 1); m->slot[h]; h = (h + 1) & (m->cap - 1))
		if (m->key[m->slot[h] - 1] == key)
			return m->slot[h] - 1;
	m->key[m->n] = key;
	m->slot[h] = ++m->n;
	return m->n - 1;
}

void map_reset(struct map *m)
{
	if (m->slot)
		memset(m->slot, 0, m->cap * sizeof(*m->slot));
	m->n = 0;
}

void map_free(struct map *m)
{
	free(m->key);
	free(m->slot);
	*m = (struct map){0};
}

uint64_t map_bits(double x)
{
	uint64_t bits;

	x = x == 0 ? 0 : x;
	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

double map_number(uint64_t bits)
{
	double x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}
