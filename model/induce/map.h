/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table from 64-bit keys to places 0, 1, 2... in order of first appearance. */
#ifndef PRECEDENT_MODEL_INDUCE_MAP_H
#define PRECEDENT_MODEL_INDUCE_MAP_H

#include <stddef.h>
#include <stdint.h>

#include "common/hash_table.h"

#define MAP_NONE UINT32_MAX

struct map {
	uint64_t *key;           /* by place */
	uint32_t n, cap;
	struct hash_table place; /* by key */
};

/* Place of the key, which is added where it is new; MAP_NONE without memory. */
uint32_t map_put(struct map *m, uint64_t key);
/* Place of the key, or MAP_NONE. */
uint32_t map_get(const struct map *m, uint64_t key);
void map_reset(struct map *m); /* keeps the memory */
void map_free(struct map *m);
/* The bits of a number; -0 and 0 are the same. */
uint64_t map_bits(double x);
double map_number(uint64_t bits);

#endif
