/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See info_pairs.h. */
#include <stdlib.h>

#include "cli/trace/info_pairs.h"
#include "common/array.h"

int info_pairs_add(struct info_pairs *p, uint32_t src, uint32_t dst, uint64_t messages, uint64_t bytes)
{
	uint64_t hash = ((uint64_t)src << 32 | dst) * 0x9fb21c651e98df25ull;
	uint32_t at, i;

	HASH_TABLE_FOR_EACH(&p->table, hash, at, i)
		if (p->pair[i].src == src && p->pair[i].dst == dst)
			break;
	if (i == HASH_TABLE_NONE) {
		if (ARRAY_ROOM(p->pair, p->cap, p->n + 1) < 0 || hash_table_add(&p->table, hash, p->n) < 0)
			return -1;
		i = p->n++;
		p->pair[i] = (struct info_pair){.src = src, .dst = dst};
	}
	p->pair[i].messages += messages;
	p->pair[i].bytes += bytes;
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
	hash_table_free(&p->table);
	*p = (struct info_pairs){0};
}
