/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lists of ranks that are held once: see shared_groups.h. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "common/array.h"
#include "trace/read/shared_groups.h"

#define SMALL 16 /* ranks of a list that takes no more bytes than its entry here would */

void shared_groups_take(struct shared_groups *s, struct trace_group *g)
{
	uint64_t hash;
	uint32_t at, i;

	if (g->shared || g->n <= SMALL)
		return;
	hash = XXH3_64bits(g->rank, g->n * sizeof *g->rank);
	HASH_TABLE_FOR_EACH(&s->known, hash, at, i)
		if (s->group[i].n == g->n && memcmp(s->group[i].rank, g->rank, g->n * sizeof *g->rank) == 0)
			break;
	if (i != HASH_TABLE_NONE)
		free(g->rank);
	else if (ARRAY_ROOM(s->group, s->cap, s->n + 1) != 0 || hash_table_add(&s->known, hash, s->n) != 0)
		return;
	else
		s->group[i = s->n++] = (struct trace_group){.n = g->n, .rank = g->rank, .shared = true};
	*g = s->group[i];
}

void shared_groups_free(struct shared_groups *s)
{
	for (uint32_t i = 0; i < s->n; i++)
		free(s->group[i].rank);
	free(s->group);
	hash_table_free(&s->known);
	*s = (struct shared_groups){0};
}
