/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A hash table of pairs: see info_pairs.h. */
#include <stdlib.h>

#include "cli/trace/info_pairs.h"

static uint32_t *find(const struct info_pairs *p, uint32_t src, uint32_t dst)
{
	uint64_t h = ((uint64_t)src << 32 | dst) * 0x9fb21c651e98df25ull;
	uint32_t i = (uint32_t)(h >> 40) & (p->n_slot - 1);

	while (p->slot[i] && (p->pair[p->slot[i] - 1].src != src || p->pair[p->slot[i] - 1].dst != dst))
		i = (i + 1) & (p->n_slot - 1);
	return &p->slot[i];
}

static int grow(struct info_pairs *p)
{
	uint32_t n = p->n_slot ? p->n_slot * 2 : 256;
	struct info_pair *pair = realloc(p->pair, n / 2 * sizeof(*pair));
	uint32_t *slot = calloc(n, sizeof(*slot));

	if (pair)
		p->pair = pair;
	if (!pair || !slot) {
		free(slot);
		return -1;
	}
	free(p->slot);
	p->slot = slot;
	p->n_slot = n;
	for (uint32_t i = 0; i < p->n; i++)
		*find(p, p->pair[i].src, p->pair[i].dst) = i + 1;
	return 0;
}

int info_pairs_add(struct info_pairs *p, uint32_t src, uint32_t dst, uint64_t messages, uint64_t bytes)
{
	uint32_t *slot;

	if (p->n == p->n_slot / 2 && grow(p) < 0)
		return -1;
	slot = find(p, src, dst);
	if (!*slot) {
		p->pair[p->n] = (struct info_pair){.src = src, .dst = dst};
		*slot = ++p->n;
	}
	p->pair[*slot - 1].messages += messages;
	p->pair[*slot - 1].bytes += bytes;
	return 0;
}

static int by_bytes(const void *a, const void *b)
{
	const struct info_pair *x = a, *y = b;

	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	if (x->messages != y->messages)
		return x->messages > y->messages ? -1 : 1;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->dst > y->dst) - (x->dst < y->dst);
}

void info_pairs_sort(struct info_pairs *p)
{
	if (p->n)
		qsort(p->pair, p->n, sizeof(*p->pair), by_bytes);
}

void info_pairs_free(struct info_pairs *p)
{
	free(p->pair);
	free(p->slot);
	*p = (struct info_pairs){0};
}
