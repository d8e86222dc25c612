/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A hash table from keys to the indices of an array that the caller keeps. Open addressing with linear probing,
 * at most half full. The table keeps 32 bits of each hash, so that it grows without asking the caller, and
 * compares keys only where these bits agree.
 *
 *	uint32_t at, i;
 *
 *	HASH_TABLE_FOR_EACH(&table, hash, at, i)
 *		if (same(key, &list->item[i]))
 *			return i;
 *	... append the key to the list ...
 *	return hash_table_add(&table, hash, list->n - 1);
 *
 * A zeroed structure is an empty table.
 */
#ifndef PRECEDENT_COMMON_HASH_TABLE_H
#define PRECEDENT_COMMON_HASH_TABLE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define HASH_TABLE_NONE UINT32_MAX

struct hash_slot {
	uint32_t hash;
	uint32_t index; /* one more than the index; 0: the slot is free */
};

struct hash_table {
	struct hash_slot *slot;
	uint32_t n_slot; /* 0 or a power of two */
	uint32_t n;
};

static inline void hash_table_free(struct hash_table *t)
{
	free(t->slot);
	*t = (struct hash_table){0};
}

/* Empty the table; its memory stays. */
static inline void hash_table_clear(struct hash_table *t)
{
	if (t->n > 0)
		memset(t->slot, 0, t->n_slot * sizeof *t->slot);
	t->n = 0;
}

static inline uint32_t hash_table_fold(uint64_t hash)
{
	return (uint32_t)(hash ^ hash >> 32);
}

/* The index at the first slot from *at on whose hash is the same; *at is then that slot. HASH_TABLE_NONE if none. */
static inline uint32_t hash_table_look(const struct hash_table *t, uint32_t hash, uint32_t *at)
{
	if (t->n_slot == 0)
		return HASH_TABLE_NONE;
	for (uint32_t s = *at & (t->n_slot - 1); t->slot[s].index != 0; s = (s + 1) & (t->n_slot - 1)) {
		if (t->slot[s].hash != hash)
			continue;
		*at = s;
		return t->slot[s].index - 1;
	}
	return HASH_TABLE_NONE;
}

/* Visit the indices `i` that were added with a hash like `hash`; `at` is the loop's own variable. */
#define HASH_TABLE_FOR_EACH(t, hash64, at, i)                                                                             \
	for ((at) = hash_table_fold(hash64); ((i) = hash_table_look((t), hash_table_fold(hash64), &(at))) != HASH_TABLE_NONE; (at)++)

static inline void hash_table_set(struct hash_table *t, uint32_t hash, uint32_t index)
{
	uint32_t s = hash & (t->n_slot - 1);

	while (t->slot[s].index != 0)
		s = (s + 1) & (t->n_slot - 1);
	t->slot[s] = (struct hash_slot){hash, index + 1};
}

/* Add the index of a key that is not in the table. `index` is below 2^30. Returns 0; -1 if memory runs out. */
static inline int hash_table_add(struct hash_table *t, uint64_t hash, uint32_t index)
{
	if (2 * (t->n + 1) > t->n_slot) {
		struct hash_table grown = {.n_slot = t->n_slot > 0 ? 2 * t->n_slot : 64, .n = t->n};

		if (grown.n_slot > 1u << 31 || !(grown.slot = calloc(grown.n_slot, sizeof *grown.slot)))
			return -1;
		for (uint32_t s = 0; s < t->n_slot; s++)
			if (t->slot[s].index != 0)
				hash_table_set(&grown, t->slot[s].hash, t->slot[s].index - 1);
		free(t->slot);
		*t = grown;
	}
	hash_table_set(t, hash_table_fold(hash), index);
	t->n++;
	return 0;
}

#endif
