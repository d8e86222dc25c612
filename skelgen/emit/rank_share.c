/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rank_share.h. */
#include "skelgen/emit/rank_share.h"

#include <stdlib.h>

#include "skelgen/runtime/data.h"

/* What a step changes, as a share of the gap's time. With twice as many ranks in a group, fewer ranks vary by
 * themselves: waits get a little shorter. With one value, the variation over time is lost. */
#define SHARED_LOSS 0.01
#define PLAIN_LOSS  0.3

static int by_ns(const void *a, const void *b)
{
	const struct rank_member *x = a, *y = b;

	return x->ns != y->ns ? (x->ns > y->ns) - (x->ns < y->ns) : (x->rank > y->rank) - (x->rank < y->rank);
}

/* Ranks with other executions cannot share a record of several values. */
static int by_executions(const void *a, const void *b)
{
	const struct rank_member *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? -1 : 1;
	if (x->made != y->made)
		return x->made < y->made ? -1 : 1;
	return x->period != y->period ? (x->period < y->period ? -1 : 1) : by_ns(a, b);
}

void rank_members_sort(struct rank_member *m, uint32_t n, int level)
{
	if (level > 0)
		qsort(m, n, sizeof *m, level < GAP_PLAIN ? by_executions : by_ns);
}

uint32_t rank_group_end(const struct rank_member *m, uint32_t n, uint32_t first, int level)
{
	const struct rank_member *f = &m[first];
	uint32_t most = level < GAP_PLAIN ? 1u << level : UINT32_MAX, i = first + 1;

	while (i < n && i - first < most && m[i].ns - f->ns <= GAP_AGREE * m[i].ns &&
	       (level == GAP_PLAIN || (m[i].n == f->n && m[i].made == f->made && m[i].period == f->period)))
		i++;
	return i;
}

void rank_share_count(struct rank_share *item, struct rank_member *m, uint32_t n)
{
	for (int level = 0; level < GAP_ONE; level++) {
		if (level == 1 || level == GAP_PLAIN)
			rank_members_sort(m, n, level);
		item->groups[level] = 0;
		for (uint32_t i = 0; i < n; i = rank_group_end(m, n, i, level))
			item->groups[level]++;
	}
}

static uint64_t bytes_of(const struct rank_share *item, int level)
{
	uint64_t record = level == GAP_PLAIN ? (DATA_GAP + 1) * sizeof(uint64_t) : item->record;

	if (level == 0)
		return item->table + item->full;
	return level < GAP_ONE ? item->table + item->groups[level] * record : 0;
}

static double loss_of(const struct rank_share *item, int level)
{
	if (level < GAP_PLAIN)
		return SHARED_LOSS * item->time_ns * level;
	return PLAIN_LOSS * item->time_ns + (level == GAP_ONE ? item->spread_ns : 0);
}

/* The bytes that the next level with fewer bytes saves for each ns that it changes; negative: there is none. */
static double gain_of(const struct rank_share *item, int *next)
{
	uint64_t now = bytes_of(item, item->level);

	for (*next = item->level + 1; *next <= GAP_ONE; ++*next)
		if (bytes_of(item, *next) < now)
			return (double)(now - bytes_of(item, *next)) /
			       (1 + loss_of(item, *next) - loss_of(item, item->level));
	return -1;
}

void rank_share_choose(struct rank_share *item, uint32_t n, uint64_t most_bytes)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += bytes_of(&item[i], item[i].level);
	while (sum > most_bytes) {
		struct rank_share *best = NULL;
		double most = -1;
		int to = 0;

		for (uint32_t i = 0; i < n; i++) {
			int next;
			double gain = gain_of(&item[i], &next);

			if (gain > most) {
				most = gain;
				best = &item[i];
				to = next;
			}
		}
		if (best == NULL)
			return;
		sum -= bytes_of(best, best->level) - bytes_of(best, to);
		best->level = to;
	}
}
