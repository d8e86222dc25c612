/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * SA-IS in the space of the result. The sorted left-most-S suffixes lie at the front of sa[], the reduced
 * string at its end. So a level needs only one bit a symbol and its bucket counters. Sources: see
 * suffix_array.h.
 */
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/suffix_array.h"

#define EMPTY	    UINT32_MAX
#define BLOCK_SHIFT 5
#define BLOCK	    (1u << BLOCK_SHIFT)

/* One level of the recursion. A suffix is S-type when it is smaller than the next one, else L-type. */
struct level {
	const uint32_t *s;
	uint32_t *sa;
	uint32_t n;
	uint32_t n_symbols;
	uint64_t *is_s; /* [n] bits */
	uint32_t *edge; /* [n_symbols] running end of each bucket */
};

static bool type_s(const struct level *v, uint32_t i)
{
	return v->is_s[i >> 6] >> (i & 63) & 1;
}

static bool type_lms(const struct level *v, uint32_t i)
{
	return i > 0 && type_s(v, i) && !type_s(v, i - 1);
}

static void level_classify(struct level *v)
{
	bool s_type = false;

	/* The last suffix is followed by the end, which is smaller: L. */
	for (uint32_t i = v->n - 1; i-- > 0;) {
		if (v->s[i] != v->s[i + 1])
			s_type = v->s[i] < v->s[i + 1];
		if (s_type)
			v->is_s[i >> 6] |= UINT64_C(1) << (i & 63);
	}
}

/* Set edge[] to the first place of every bucket, or to one past its last. */
static void level_edges(struct level *v, bool ends)
{
	uint32_t sum = 0;

	memset(v->edge, 0, (size_t)v->n_symbols * sizeof(*v->edge));
	for (uint32_t i = 0; i < v->n; i++)
		v->edge[v->s[i]]++;
	for (uint32_t c = 0; c < v->n_symbols; c++) {
		uint32_t count = v->edge[c];

		v->edge[c] = ends ? sum + count : sum;
		sum += count;
	}
}

/* From the LMS suffixes in sa[], sort all L-type ones left to right, then all S-type ones right to left. */
static void level_induce(struct level *v)
{
	uint32_t *sa = v->sa;
	const uint32_t *s = v->s;

	level_edges(v, false);
	sa[v->edge[s[v->n - 1]]++] = v->n - 1; /* induced by the end of the string */
	for (uint32_t i = 0; i < v->n; i++) {
		uint32_t j = sa[i];

		if (j != EMPTY && j > 0 && !type_s(v, j - 1))
			sa[v->edge[s[j - 1]]++] = j - 1;
	}
	level_edges(v, true);
	for (uint32_t i = v->n; i-- > 0;) {
		uint32_t j = sa[i];

		if (j != EMPTY && j > 0 && type_s(v, j - 1))
			sa[--v->edge[s[j - 1]]] = j - 1;
	}
}

/* Are the LMS substrings at a and b equal? One that meets the end of the string equals no other. */
static bool lms_equal(const struct level *v, uint32_t a, uint32_t b)
{
	for (uint32_t d = 0;; d++) {
		if (a + d >= v->n || b + d >= v->n)
			return false;
		if (v->s[a + d] != v->s[b + d])
			return false;
		if (d > 0) {
			bool end_a = type_lms(v, a + d), end_b = type_lms(v, b + d);

			if (end_a || end_b)
				return end_a && end_b;
		}
	}
}

/* Sort the LMS substrings, name them, and leave the reduced string at sa[n-m..n). Returns m; *n_names is set.
 */
static uint32_t level_reduce(struct level *v, uint32_t *n_names)
{
	uint32_t *sa = v->sa;
	uint32_t m = 0, names = 0, prev = EMPTY;

	memset(sa, 0xff, (size_t)v->n * sizeof(*sa));
	level_edges(v, true);
	for (uint32_t i = v->n; i-- > 1;)
		if (type_lms(v, i))
			sa[--v->edge[v->s[i]]] = i;
	level_induce(v);
	for (uint32_t i = 0; i < v->n; i++)
		if (type_lms(v, sa[i]))
			sa[m++] = sa[i];
	memset(sa + m, 0xff, (size_t)(v->n - m) * sizeof(*sa));
	for (uint32_t i = 0; i < m; i++) {
		if (prev == EMPTY || !lms_equal(v, prev, sa[i]))
			names++;
		prev = sa[i];
		sa[m + prev / 2] = names - 1; /* no two LMS positions are neighbours */
	}
	for (uint32_t i = v->n, to = v->n; i-- > m;)
		if (sa[i] != EMPTY)
			sa[--to] = sa[i];
	*n_names = names;
	return m;
}

/* sa[0..m) holds the sorted suffixes of the reduced string: put the LMS suffixes into their buckets in that
 * order. */
static void level_place(struct level *v, uint32_t m)
{
	uint32_t *sa = v->sa, *pos = sa + v->n - m;
	uint32_t k = 0;

	for (uint32_t i = 1; i < v->n; i++)
		if (type_lms(v, i))
			pos[k++] = i;
	for (uint32_t i = 0; i < m; i++)
		sa[i] = pos[sa[i]];
	memset(sa + m, 0xff, (size_t)(v->n - m) * sizeof(*sa));
	level_edges(v, true);
	for (uint32_t i = m; i-- > 0;) {
		uint32_t j = sa[i];

		sa[i] = EMPTY;
		sa[--v->edge[v->s[j]]] = j;
	}
}

static int sais(const uint32_t *s, uint32_t n, uint32_t n_symbols, uint32_t *sa)
{
	struct level v = {.s = s, .sa = sa, .n = n, .n_symbols = n_symbols};
	uint32_t m, n_names;
	int rc = -1;

	v.is_s = calloc((size_t)n / 64 + 1, sizeof(*v.is_s));
	v.edge = malloc(((size_t)n_symbols + 1) * sizeof(*v.edge));
	if (!v.is_s || !v.edge)
		goto out;
	level_classify(&v);
	m = level_reduce(&v, &n_names);
	if (n_names < m) {
		free(v.edge); /* not needed below, and the levels below need the room */
		v.edge = NULL;
		if (sais(sa + n - m, m, n_names, sa))
			goto out;
		v.edge = malloc(((size_t)n_symbols + 1) * sizeof(*v.edge));
		if (!v.edge)
			goto out;
	} else {
		uint32_t *name = sa + n - m;

		for (uint32_t i = 0; i < m; i++)
			sa[name[i]] = i;
	}
	level_place(&v, m);
	level_induce(&v);
	rc = 0;
out:
	free(v.edge);
	free(v.is_s);
	return rc;
}

int suffix_array_build(const uint32_t *s, uint32_t n, uint32_t n_symbols, uint32_t *sa, struct errbuf *err)
{
	if (n > SUFFIX_ARRAY_MAX)
		return err_set(err, "suffix array: %u symbols are more than the limit of %u", n,
			       SUFFIX_ARRAY_MAX);
	if (n == 0)
		return 0;
	if (sais(s, n, n_symbols, sa))
		return err_set(err, "suffix array: out of memory for %u symbols", n);
	return 0;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Ranks through a table of `range` counters that has room for every symbol. */
static void dense_by_table(const uint32_t *s, uint32_t n, uint32_t *out, uint32_t *rank, uint32_t range,
			   uint32_t *k)
{
	for (uint32_t i = 0; i < n; i++)
		rank[s[i]] = 1;
	*k = 0;
	for (uint32_t c = 0; c < range; c++)
		if (rank[c])
			rank[c] = (*k)++;
	for (uint32_t i = 0; i < n; i++)
		out[i] = rank[s[i]];
}

/* Ranks by sorting a copy of the symbols in value[0..n). */
static void dense_by_sort(const uint32_t *s, uint32_t n, uint32_t *out, uint32_t *value, uint32_t *k)
{
	uint32_t kept = 0;

	memcpy(value, s, (size_t)n * sizeof(*value));
	qsort(value, n, sizeof(*value), compare_u32);
	for (uint32_t i = 0; i < n; i++)
		if (kept == 0 || value[kept - 1] != value[i])
			value[kept++] = value[i];
	for (uint32_t i = 0; i < n; i++) {
		uint32_t lo = 0, hi = kept - 1;

		while (lo < hi) {
			uint32_t mid = lo + (hi - lo) / 2;

			if (value[mid] < s[i])
				lo = mid + 1;
			else
				hi = mid;
		}
		out[i] = lo;
	}
	*k = kept;
}

int suffix_array_dense(const uint32_t *s, uint32_t n, uint32_t *out, uint32_t *n_symbols, struct errbuf *err)
{
	uint32_t max = 0, *work;
	bool table;

	*n_symbols = 0;
	if (n == 0)
		return 0;
	for (uint32_t i = 0; i < n; i++)
		max = s[i] > max ? s[i] : max;
	table = max / 4 < n;
	work = table ? calloc((size_t)max + 1, sizeof(*work)) : malloc((size_t)n * sizeof(*work));
	if (!work)
		return err_set(err, "suffix array: out of memory for %u symbols", n);
	if (table)
		dense_by_table(s, n, out, work, max + 1, n_symbols);
	else
		dense_by_sort(s, n, out, work, n_symbols);
	free(work);
	return 0;
}

/* Fill l->rank and l->lcp from sa[]. l->rank first holds phi (the suffix before i in sa[]), then the LCP in
 * text order. */
static void lce_kasai(struct lce *l, const uint32_t *s, const uint32_t *sa)
{
	uint32_t n = l->n, k = 0;
	uint32_t *phi = l->rank;

	for (uint32_t i = 1; i < n; i++)
		phi[sa[i]] = sa[i - 1];
	phi[sa[0]] = EMPTY;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t j = phi[i];

		if (j == EMPTY) {
			k = 0;
		} else {
			uint32_t room = n - (i > j ? i : j);

			while (k < room && s[i + k] == s[j + k])
				k++;
		}
		phi[i] = k; /* from here on the LCP in text order */
		k -= k > 0;
	}
	for (uint32_t i = 0; i < n; i++)
		l->lcp[i] = phi[sa[i]];
	for (uint32_t i = 0; i < n; i++)
		l->rank[sa[i]] = i;
}

static uint32_t u32_min(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static int lce_minima(struct lce *l)
{
	uint32_t n_block = (l->n + BLOCK - 1) >> BLOCK_SHIFT;
	uint32_t levels = 1;

	while (n_block >> levels)
		levels++;
	l->min = calloc(levels, sizeof(*l->min));
	if (!l->min)
		return -1;
	l->n_level = levels;
	l->min[0] = malloc((size_t)n_block * sizeof(**l->min));
	if (!l->min[0])
		return -1;
	for (uint32_t b = 0; b < n_block; b++) {
		uint32_t m = EMPTY, end = u32_min(l->n, (b + 1) << BLOCK_SHIFT);

		for (uint32_t i = b << BLOCK_SHIFT; i < end; i++)
			m = u32_min(m, l->lcp[i]);
		l->min[0][b] = m;
	}
	for (uint32_t v = 1; v < levels; v++) {
		uint32_t count = n_block - (1u << v) + 1, half = 1u << (v - 1);

		l->min[v] = malloc((size_t)count * sizeof(**l->min));
		if (!l->min[v])
			return -1;
		for (uint32_t b = 0; b < count; b++)
			l->min[v][b] = u32_min(l->min[v - 1][b], l->min[v - 1][b + half]);
	}
	return 0;
}

int lce_create(struct lce *l, const uint32_t *s, uint32_t n, uint32_t n_symbols, bool reversed,
	       struct errbuf *err)
{
	uint32_t *sa = NULL, *turned = NULL;
	int rc = -1;

	*l = (struct lce){.n = n};
	if (n == 0)
		return 0;
	sa = malloc((size_t)n * sizeof(*sa));
	if (!sa)
		goto out;
	if (reversed) {
		turned = malloc((size_t)n * sizeof(*turned));
		if (!turned)
			goto out;
		for (uint32_t i = 0; i < n; i++)
			turned[i] = s[n - 1 - i];
		s = turned;
	}
	if (suffix_array_build(s, n, n_symbols, sa, err))
		goto out_told;
	l->rank = malloc((size_t)n * sizeof(*l->rank));
	l->lcp = malloc((size_t)n * sizeof(*l->lcp));
	if (!l->rank || !l->lcp)
		goto out;
	lce_kasai(l, s, sa);
	if (lce_minima(l))
		goto out;
	rc = 0;
out:
	if (rc)
		err_set(err, "common extensions: out of memory for %u symbols", n);
out_told:
	free(turned);
	free(sa);
	if (rc)
		lce_destroy(l);
	return rc;
}

/* Minimum of lcp[a..b], both included, a <= b. */
static uint32_t lce_range_min(const struct lce *l, uint32_t a, uint32_t b)
{
	uint32_t ba = a >> BLOCK_SHIFT, bb = b >> BLOCK_SHIFT, m = EMPTY;

	if (ba == bb) {
		for (uint32_t i = a; i <= b; i++)
			m = u32_min(m, l->lcp[i]);
		return m;
	}
	for (uint32_t i = a; i < (ba + 1) << BLOCK_SHIFT; i++)
		m = u32_min(m, l->lcp[i]);
	for (uint32_t i = bb << BLOCK_SHIFT; i <= b; i++)
		m = u32_min(m, l->lcp[i]);
	if (ba + 1 < bb) {
		uint32_t v = 31 - (uint32_t)__builtin_clz(bb - ba - 1);

		m = u32_min(m, u32_min(l->min[v][ba + 1], l->min[v][bb - (1u << v)]));
	}
	return m;
}

uint32_t lce_query(const struct lce *l, uint32_t i, uint32_t j)
{
	uint32_t a, b;

	if (i >= l->n || j >= l->n)
		return 0;
	if (i == j)
		return l->n - i;
	a = l->rank[i];
	b = l->rank[j];
	return a < b ? lce_range_min(l, a + 1, b) : lce_range_min(l, b + 1, a);
}

void lce_destroy(struct lce *l)
{
	if (!l)
		return;
	for (uint32_t v = 0; l->min && v < l->n_level; v++)
		free(l->min[v]);
	free(l->min);
	free(l->lcp);
	free(l->rank);
	*l = (struct lce){0};
}
