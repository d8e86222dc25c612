/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See map.h. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "model/induce/map.h"

static uint32_t hash(uint64_t x)
{
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	return (uint32_t)(x ^ (x >> 32));
}

uint32_t map_get(const struct map *m, uint64_t key)
{
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&m->place, hash(key), at, i)
		if (m->key[i] == key)
			return i;
	return MAP_NONE;
}

uint32_t map_put(struct map *m, uint64_t key)
{
	uint32_t i = map_get(m, key);

	if (i != MAP_NONE)
		return i;
	if (ARRAY_ROOM(m->key, m->cap, m->n + 1) != 0 || hash_table_add(&m->place, hash(key), m->n) < 0)
		return MAP_NONE;
	m->key[m->n] = key;
	return m->n++;
}

void map_reset(struct map *m)
{
	hash_table_clear(&m->place);
	m->n = 0;
}

void map_free(struct map *m)
{
	free(m->key);
	hash_table_free(&m->place);
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
