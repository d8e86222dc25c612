/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Sets of ranks as strided intervals, sorted, whose spans do not overlap: see tree.h. */
#include <stdlib.h>

#include "skelgen/tree/tree.h"

static uint32_t interval_count(const struct rank_interval *iv)
{
	return (iv->last - iv->first) / iv->stride + 1;
}

/* The last interval that begins at or before rank, or -1. */
static int64_t interval_at(const struct rank_set *s, uint32_t rank)
{
	int64_t lo = 0, hi = (int64_t)s->n - 1, at = -1;

	while (lo <= hi) {
		int64_t mid = (lo + hi) / 2;

		if (s->iv[mid].first <= rank) {
			at = mid;
			lo = mid + 1;
		} else {
			hi = mid - 1;
		}
	}
	return at;
}

static bool interval_has(const struct rank_interval *iv, uint32_t rank)
{
	return rank >= iv->first && rank <= iv->last && (rank - iv->first) % iv->stride == 0;
}

bool rank_set_has(const struct rank_set *s, uint32_t rank)
{
	int64_t at = interval_at(s, rank);

	return at >= 0 && interval_has(&s->iv[at], rank);
}

uint32_t rank_set_index(const struct rank_set *s, uint32_t rank)
{
	int64_t at = interval_at(s, rank);
	uint32_t index = 0;

	if (at < 0 || !interval_has(&s->iv[at], rank))
		return UINT32_MAX;
	for (int64_t i = 0; i < at; i++)
		index += interval_count(&s->iv[i]);
	return index + (rank - s->iv[at].first) / s->iv[at].stride;
}

uint32_t rank_set_count(const struct rank_set *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n; i++)
		n += interval_count(&s->iv[i]);
	return n;
}

/* Ranks in rank[0..n) that follow one another at the distance of the first two. */
static uint32_t progression(const uint32_t *rank, uint32_t n)
{
	uint32_t k = n < 2 ? n : 2;

	while (k < n && rank[k] - rank[k - 1] == rank[1] - rank[0])
		k++;
	return k;
}

/* Length of the interval to make of the start of rank[0..n): a pair is split when its second rank begins a longer
 * progression. */
static uint32_t interval_take(const uint32_t *rank, uint32_t n)
{
	uint32_t k = progression(rank, n);

	if (k == 2 && n > 2 && rank[1] - rank[0] > 1 && progression(rank + 1, n - 1) > 2)
		return 1;
	return k;
}

int rank_set_from_ranks(struct rank_set *s, const uint32_t *rank, uint32_t n)
{
	uint32_t n_iv = 0;

	*s = (struct rank_set){0};
	for (uint32_t i = 0; i < n; i += interval_take(rank + i, n - i))
		n_iv++;
	s->iv = calloc(n_iv ? n_iv : 1, sizeof(*s->iv));
	if (!s->iv)
		return -1;
	for (uint32_t i = 0, k; i < n; i += k) {
		k = interval_take(rank + i, n - i);
		s->iv[s->n++] = (struct rank_interval){rank[i], rank[i + k - 1], k > 1 ? rank[i + 1] - rank[i] : 1};
	}
	return 0;
}

uint32_t rank_set_first(const struct rank_set *s)
{
	return s->n ? s->iv[0].first : UINT32_MAX;
}

uint32_t rank_set_next(const struct rank_set *s, uint32_t rank)
{
	int64_t at = interval_at(s, rank);

	if (at >= 0 && rank < s->iv[at].last)
		return rank + s->iv[at].stride - (rank - s->iv[at].first) % s->iv[at].stride;
	return at + 1 < (int64_t)s->n ? s->iv[at + 1].first : UINT32_MAX;
}

void rank_set_free(struct rank_set *s)
{
	free(s->iv);
	*s = (struct rank_set){0};
}
