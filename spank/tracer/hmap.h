/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Map from a handle, or any nonzero 64-bit key, to a small index. Open addressing with linear probing. Removal
 * shifts entries back, so probes stay short when handles come and go.
 */
#ifndef PRECEDENT_SPANK_TRACER_HMAP_H
#define PRECEDENT_SPANK_TRACER_HMAP_H

#include <stdint.h>
#include <stdlib.h>

#define HMAP_NONE (-1)

struct hmap {
	uint64_t *key; /* 0: empty */
	int32_t *val;
	uint32_t n, cap; /* cap is a power of two, or 0 */
};

static inline uint32_t hmap_hash(uint64_t key)
{
	return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 32);
}

static inline int32_t hmap_get(const struct hmap *m, uint64_t key)
{
	if (!m->cap)
		return HMAP_NONE;
	for (uint32_t i = hmap_hash(key) & (m->cap - 1); m->key[i]; i = (i + 1) & (m->cap - 1))
		if (m->key[i] == key)
			return m->val[i];
	return HMAP_NONE;
}

static inline int hmap_grow(struct hmap *m)
{
	struct hmap t = {.cap = m->cap ? m->cap * 2 : 64};

	t.key = calloc(t.cap, sizeof(*t.key));
	t.val = calloc(t.cap, sizeof(*t.val));
	if (!t.key || !t.val) {
		free(t.key);
		free(t.val);
		return -1;
	}
	for (uint32_t k = 0; k < m->cap; k++) {
		uint32_t i = hmap_hash(m->key[k]) & (t.cap - 1);

		if (!m->key[k])
			continue;
		while (t.key[i])
			i = (i + 1) & (t.cap - 1);
		t.key[i] = m->key[k];
		t.val[i] = m->val[k];
	}
	t.n = m->n;
	free(m->key);
	free(m->val);
	*m = t;
	return 0;
}

/* Set or replace. Returns 0, or -1 if memory runs out. */
static inline int hmap_put(struct hmap *m, uint64_t key, int32_t val)
{
	uint32_t i;

	if (!key || (m->n >= m->cap / 2 && hmap_grow(m) < 0))
		return -1;
	for (i = hmap_hash(key) & (m->cap - 1); m->key[i] && m->key[i] != key;)
		i = (i + 1) & (m->cap - 1);
	m->n += !m->key[i];
	m->key[i] = key;
	m->val[i] = val;
	return 0;
}

/* Remove. Returns the old value, or HMAP_NONE. */
static inline int32_t hmap_take(struct hmap *m, uint64_t key)
{
	uint32_t i, j, mask = m->cap - 1;
	int32_t val;

	if (!m->cap || !key)
		return HMAP_NONE;
	for (i = hmap_hash(key) & mask; m->key[i] != key; i = (i + 1) & mask)
		if (!m->key[i])
			return HMAP_NONE;
	val = m->val[i];
	for (j = (i + 1) & mask; m->key[j]; j = (j + 1) & mask) {
		uint32_t home = hmap_hash(m->key[j]) & mask;

		if (((j - home) & mask) >= ((j - i) & mask)) {
			m->key[i] = m->key[j];
			m->val[i] = m->val[j];
			i = j;
		}
	}
	m->key[i] = 0;
	m->n--;
	return val;
}

#endif
