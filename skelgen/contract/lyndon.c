/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All maximal repetitions from Lyndon roots. next[i] is the first suffix after i that is smaller than suffix
 * i. Then [i, next[i]) is the longest Lyndon word at i. Every repetition has a root among these words under
 * one of the two orders of the symbols. In this order, the symbol behind the repetition is smaller than the
 * symbol one period before. The end of the string is smallest in both orders.
 *
 * Suffixes are taken from right to left. Where text repeats with some shift, next[] is copied from the
 * repetition, as radii are copied in Manacher's algorithm for palindromes. So a loop costs one comparison a
 * symbol. Other suffixes are compared directly. When the budget of comparisons is spent, a Karp-Rabin hash
 * mod 2^61-1 bounds the total to O(n log n).
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/contract/lyndon.h"

#define NEAR	   64u /* symbols compared directly before the hash is asked */
#define WINDOW_MIN 8u  /* a shorter repetition is not worth copying from */
#define KNOWN	   64u /* repetitions remembered; a power of two */
#define HASH_MOD   ((UINT64_C(1) << 61) - 1)
#define HASH_BASE  UINT64_C(0x14e1f2b7a9d3c865)

/* s[x] == s[x+shift] for x in [begin, end), and no further. */
struct known {
	uint32_t shift, begin, end;
};

struct lyndon {
	const uint32_t *s;
	uint32_t n;
	bool flip;	  /* the larger symbol comes first */
	uint32_t *next;	  /* [n] first smaller suffix to the right, n when there is none */
	uint32_t *common; /* [n] length of the common prefix of suffixes i and next[i] */
	uint32_t shift;	  /* s[x] == s[x+shift] for x in [i, window_end); 0: no window */
	uint32_t window_end;
	struct known known[KNOWN]; /* recent repetitions, by shift */
	uint64_t work, budget;	   /* symbols compared directly so far, and before the hash is built */
	uint64_t *hash;		   /* [n+1] prefix hashes, NULL until needed */
	uint64_t power[32];	   /* HASH_BASE^(2^k) */
};

static uint64_t hash_mul(uint64_t a, uint64_t b)
{
	__uint128_t t = (__uint128_t)a * b;
	uint64_t r = (uint64_t)(t & HASH_MOD) + (uint64_t)(t >> 61);

	return r >= HASH_MOD ? r - HASH_MOD : r;
}

static int hash_build(struct lyndon *y, struct errbuf *err)
{
	y->hash = malloc(((size_t)y->n + 1) * sizeof(*y->hash));
	if (!y->hash)
		return err_set(err, "repetitions: out of memory for %u symbols", y->n);
	y->hash[0] = 0;
	for (uint32_t i = 0; i < y->n; i++) {
		uint64_t h = hash_mul(y->hash[i], HASH_BASE) + y->s[i] + 1;

		y->hash[i + 1] = h >= HASH_MOD ? h - HASH_MOD : h;
	}
	y->power[0] = HASH_BASE;
	for (int k = 1; k < 32; k++)
		y->power[k] = hash_mul(y->power[k - 1], y->power[k - 1]);
	return 0;
}

/* Are the 2^k symbols at a and at b equal, by hash? */
static bool hash_equal(const struct lyndon *y, uint32_t a, uint32_t b, unsigned k)
{
	uint64_t ha = y->hash[a + (1u << k)] + HASH_MOD - hash_mul(y->hash[a], y->power[k]);
	uint64_t hb = y->hash[b + (1u << k)] + HASH_MOD - hash_mul(y->hash[b], y->power[k]);

	return (ha >= HASH_MOD ? ha - HASH_MOD : ha) == (hb >= HASH_MOD ? hb - HASH_MOD : hb);
}

/* Length of the match of the suffixes at i < j, by hash: grow by doubling, then halve. */
static uint32_t hash_match(const struct lyndon *y, uint32_t i, uint32_t j)
{
	uint32_t room = y->n - j, got = 0;
	unsigned k = 6;

	while (room - got >= 1u << k && hash_equal(y, i + got, j + got, k)) {
		got += 1u << k;
		k++;
	}
	while (k-- > 0)
		if (room - got >= 1u << k && hash_equal(y, i + got, j + got, k))
			got += 1u << k;
	return got;
}

/* What the suffixes at i < j are known to share: the twin of i repeats i, and may have met j. *all: no more is equal */
static uint32_t twin_match(const struct lyndon *y, uint32_t i, uint32_t j, bool *all)
{
	uint32_t twin = i + y->shift, inside = y->window_end - i;

	*all = false;
	if (!y->shift || y->next[twin] != j)
		return 0;
	*all = y->common[twin] < inside;
	return *all ? y->common[twin] : inside;
}

/* Common prefix of the suffixes at i < j. */
static uint32_t lyndon_match(struct lyndon *y, uint32_t i, uint32_t j)
{
	uint32_t p = j - i, at, gap, near, got;
	struct known *k = &y->known[p & (KNOWN - 1)];
	bool all, meets;

	if (y->shift == p)
		return y->window_end - i;
	if (y->s[i] != y->s[j])
		return 0;
	at = twin_match(y, i, j, &all);
	if (all)
		return at;
	meets = k->shift == p && k->end > i + at;
	gap = !meets ? y->n - j - at : k->begin > i + at ? k->begin - i - at : 0;
	near = y->hash && gap > NEAR ? NEAR : gap;
	got = symbols_match(y->s + i + at, y->s + j + at, near);
	y->work += got;
	at += got;
	if (got == gap && meets)
		at = k->end - i;
	else if (got == near && near < gap)
		at += hash_match(y, i + at, j + at);
	if (at >= WINDOW_MIN)
		*k = (struct known){p, i, i + at};
	return at;
}

/* Take the repetition of [i, i+length) at shift as the one to copy from, if it reaches behind both copies of the
 * present one. Up to there the present one tells the text. */
static void window_offer(struct lyndon *y, uint32_t i, uint32_t shift, uint32_t length)
{
	if (length < WINDOW_MIN || (y->shift && i + length <= y->window_end + y->shift))
		return;
	y->shift = shift;
	y->window_end = i + length;
}

/* Find next[i]; all of next[i+1..n) is known. */
static void lyndon_step(struct lyndon *y, uint32_t i)
{
	uint32_t j = i + 1, length = 0;

	if (y->shift && y->s[i] != y->s[i + y->shift])
		y->shift = 0;
	if (y->shift) {
		uint32_t twin = i + y->shift;

		/* Everything that decided next[twin] lies inside the window. */
		if ((uint64_t)y->next[twin] + y->common[twin] < (uint64_t)y->window_end + y->shift) {
			y->next[i] = y->next[twin] - y->shift;
			y->common[i] = y->common[twin];
			return;
		}
	}
	while (j < y->n) {
		length = lyndon_match(y, i, j);
		window_offer(y, i, j - i, length);
		if (j + length == y->n)
			break;
		if ((y->s[j + length] < y->s[i + length]) != y->flip)
			break;
		j = y->next[j];
		length = 0;
	}
	y->next[i] = j;
	y->common[i] = length;
}

/* Do the `need` symbols before i equal those before j? */
static bool left_equal(struct lyndon *y, uint32_t i, uint32_t j, uint32_t need)
{
	uint32_t near = need < NEAR || !y->hash ? need : NEAR, k = 0;

	while (k < near && y->s[i - 1 - k] == y->s[j - 1 - k])
		k++;
	y->work += k;
	if (k < near)
		return false;
	if (k < need) {
		unsigned log = 31 - (unsigned)__builtin_clz(need);

		return hash_equal(y, i - need, j - need, log) &&
		       hash_equal(y, i - (1u << log), j - (1u << log), log);
	}
	return true;
}

/* Emit the repetition whose last root is [i, next[i]), if there is one. */
static int lyndon_emit(struct lyndon *y, uint32_t i, struct repeat_list *out, struct errbuf *err)
{
	uint32_t j = y->next[i], p = j - i, ahead = y->common[i], behind = 0;

	/* A whole period ahead: the root at j has met this repetition already. */
	if (ahead >= p || i < p - ahead || (y->flip && j + ahead == y->n))
		return 0;
	if (!left_equal(y, i, j, p - ahead))
		return 0;
	while (behind < i && y->s[i - 1 - behind] == y->s[j - 1 - behind])
		behind++;
	if (behind + ahead < p) /* the hash was wrong */
		return 0;
	return repeat_list_add(out, (struct repeat){i - behind, behind + p + ahead, p}, err);
}

static int lyndon_pass(struct lyndon *y, struct repeat_list *out, struct errbuf *err)
{
	y->shift = 0;
	y->work = 0;
	memset(y->known, 0, sizeof(y->known));
	for (uint32_t i = y->n; i-- > 0;) {
		lyndon_step(y, i);
		if (lyndon_emit(y, i, out, err))
			return -1;
		if (y->work > y->budget && !y->hash && hash_build(y, err))
			return -1;
	}
	return 0;
}

int repeats_lyndon_find(const uint32_t *s, uint32_t n, uint64_t budget, struct repeat_list *out,
			struct errbuf *err)
{
	struct lyndon y = {.s = s, .n = n, .budget = budget};
	int rc = -1;

	y.next = malloc((size_t)n * sizeof(*y.next));
	y.common = malloc((size_t)n * sizeof(*y.common));
	if (!y.next || !y.common) {
		err_set(err, "repetitions: out of memory for %u symbols", n);
		goto out;
	}
	if (lyndon_pass(&y, out, err))
		goto out;
	y.flip = true;
	if (lyndon_pass(&y, out, err))
		goto out;
	rc = 0;
out:
	free(y.hash);
	free(y.common);
	free(y.next);
	return rc;
}
