/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The list of maximal repetitions, its order, and the engine REPEATS_SUFFIX_ARRAY. For every period p the
 * engine compares each of the positions 0, p, 2p, ... with the next one. Where the two are equal, the match is
 * extended to both sides in O(1).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/repeats.h"
#include "common/array.h"
#include "common/hash_table.h"
#include "skelgen/contract/lyndon.h"
#include "skelgen/contract/suffix_array.h"

uint32_t symbols_match(const uint32_t *a, const uint32_t *b, uint32_t max)
{
	uint32_t k = 0;

	for (; max - k >= 4; k += 4) {
		uint64_t a0, a1, b0, b1;

		memcpy(&a0, a + k, sizeof(a0));
		memcpy(&b0, b + k, sizeof(b0));
		memcpy(&a1, a + k + 2, sizeof(a1));
		memcpy(&b1, b + k + 2, sizeof(b1));
		if ((a0 ^ b0) | (a1 ^ b1))
			break;
	}
	while (k < max && a[k] == b[k])
		k++;
	return k;
}

int repeat_holds(const uint32_t *s, const struct repeat *r)
{
	uint32_t rest = r->length - r->period;

	return symbols_match(s + r->start, s + r->start + r->period, rest) == rest;
}

int repeat_list_add(struct repeat_list *list, struct repeat r, struct errbuf *err)
{
	if (ARRAY_ROOM(list->item, list->cap, list->n + 1) != 0)
		return err_set(err, "repetitions: out of memory for %u of them", list->n);
	list->item[list->n++] = r;
	return 0;
}

void repeat_list_free(struct repeat_list *list)
{
	if (!list)
		return;
	free(list->item);
	*list = (struct repeat_list){0};
}

/* Set of (start, length). A repetition is found again at every multiple of its period; the smallest period is
 * found first. */
/* All repetitions of period p. After one that ends at e the next anchor inside it could only find it again.
 */
static int anchors_scan(const uint32_t *s, uint32_t n, uint32_t p, const struct lce *forward,
			const struct lce *backward, struct hash_table *seen, struct repeat_list *out,
			struct errbuf *err)
{
	for (uint64_t j = 0; j + p < n; j += p) {
		uint32_t ahead, behind, start, length, at, i;
		uint64_t hash;

		if (s[j] != s[j + p])
			continue;
		ahead = lce_query(forward, (uint32_t)j, (uint32_t)j + p);
		behind = j ? lce_query(backward, n - (uint32_t)j, n - (uint32_t)j - p) : 0;
		start = (uint32_t)j - behind;
		length = behind + p + ahead;
		hash = ((uint64_t)length << 32 | start) * UINT64_C(0x9e3779b97f4a7c15);
		HASH_TABLE_FOR_EACH(seen, hash, at, i)
			if (out->item[i].start == start && out->item[i].length == length)
				break;
		if (i == HASH_TABLE_NONE && length >= 2 * (uint64_t)p) {
			if (repeat_list_add(out, (struct repeat){start, length, p}, err))
				return -1;
			if (hash_table_add(seen, hash, out->n - 1) != 0)
				return err_set(err, "repetitions: out of memory");
		}
		j += (uint64_t)(ahead / p) * p;
	}
	return 0;
}

static int anchors_find(const uint32_t *s, uint32_t n, struct repeat_list *out, struct errbuf *err)
{
	uint32_t *dense = malloc(((size_t)n + 1) * sizeof(*dense)), n_symbols;
	struct lce forward = {0}, backward = {0};
	struct hash_table seen = {0}; /* repetitions of the list */
	int rc = -1;

	if (!dense) {
		err_set(err, "repetitions: out of memory for %u symbols", n);
		goto out;
	}
	if (suffix_array_dense(s, n, dense, &n_symbols, err) ||
	    lce_create(&forward, dense, n, n_symbols, false, err) ||
	    lce_create(&backward, dense, n, n_symbols, true, err))
		goto out;
	for (uint32_t p = 1; p <= n / 2; p++)
		if (anchors_scan(s, n, p, &forward, &backward, &seen, out, err))
			goto out;
	rc = 0;
out:
	hash_table_free(&seen);
	lce_destroy(&backward);
	lce_destroy(&forward);
	free(dense);
	return rc;
}

static enum repeats_engine chosen = REPEATS_LYNDON;

void repeats_choose(enum repeats_engine engine)
{
	chosen = engine == REPEATS_DEFAULT ? REPEATS_LYNDON : engine;
}

int repeats_find(const uint32_t *s, uint32_t n, enum repeats_engine engine, struct repeat_list *out,
		 struct errbuf *err)
{
	out->n = 0;
	if (n > REPEATS_MAX_SYMBOLS)
		return err_set(err, "repetitions: %u symbols are more than the limit of %u", n,
			       REPEATS_MAX_SYMBOLS);
	if (n < 2)
		return 0;
	if ((engine == REPEATS_DEFAULT ? chosen : engine) == REPEATS_SUFFIX_ARRAY)
		return anchors_find(s, n, out, err);
	return repeats_lyndon_find(s, n, REPEATS_LYNDON_BUDGET(n), out, err);
}

static int compare_longest(const void *a, const void *b)
{
	const struct repeat *x = a, *y = b;

	if (x->length != y->length)
		return x->length > y->length ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

/* One stable counting pass over keys 0..n. */
static void counting_pass(const struct repeat *in, struct repeat *out, uint32_t count, uint32_t *edge,
			  uint32_t n, bool by_length)
{
	uint32_t sum = 0;

	memset(edge, 0, ((size_t)n + 1) * sizeof(*edge));
	for (uint32_t i = 0; i < count; i++)
		edge[by_length ? n - in[i].length : in[i].start]++;
	for (uint32_t k = 0; k <= n; k++) {
		uint32_t c = edge[k];

		edge[k] = sum;
		sum += c;
	}
	for (uint32_t i = 0; i < count; i++)
		out[edge[by_length ? n - in[i].length : in[i].start]++] = in[i];
}

int repeats_sort_longest(struct repeat_list *list, uint32_t n, struct errbuf *err)
{
	struct repeat *other;
	uint32_t *edge;

	if (list->n < 64 || list->n < n / 16) {
		if (list->n)
			qsort(list->item, list->n, sizeof(*list->item), compare_longest);
		return 0;
	}
	other = malloc((size_t)list->n * sizeof(*other));
	edge = malloc(((size_t)n + 1) * sizeof(*edge));
	if (!other || !edge) {
		free(other);
		free(edge);
		return err_set(err, "repetitions: out of memory to sort %u of them", list->n);
	}
	counting_pass(list->item, other, list->n, edge, n, false);
	counting_pass(other, list->item, list->n, edge, n, true);
	free(other);
	free(edge);
	return 0;
}
