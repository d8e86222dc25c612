/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * All maximal repetitions ("runs") of a string of symbols: [start, start+length) has the smallest period
 * `period`, length >= 2*period, and cannot be extended to either side. Two engines give the same set:
 *   REPEATS_LYNDON        next smaller suffixes under both orders of the symbols give every Lyndon root
 *                         (Bannai et al., "The runs theorem", SIAM J. Comput. 2017); 8 bytes a symbol.
 *   REPEATS_SUFFIX_ARRAY  anchors j = 0 mod p and common extensions by suffix array, LCP and range minimum
 *                         (Zhang, Zhang, Zhang 2010, cited in contract.h, sections 3.1 and 3.2); about 25 bytes a symbol.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_REPEATS_H
#define PRECEDENT_SKELGEN_CONTRACT_REPEATS_H

#include <stdint.h>

#include "common/errbuf.h"

#define REPEATS_MAX_SYMBOLS 0x7ffffffeu

enum repeats_engine {
	REPEATS_DEFAULT, /* what repeats_choose() has set: REPEATS_LYNDON at first */
	REPEATS_LYNDON,
	REPEATS_SUFFIX_ARRAY,
	REPEATS_ENGINES,
};

/* The engine for the whole process from now on. Call before other threads run. */
void repeats_choose(enum repeats_engine engine);

struct repeat {
	uint32_t start;
	uint32_t length;
	uint32_t period;
};

/* Zero-initialise; free with repeat_list_free(). */
struct repeat_list {
	struct repeat *item;
	uint32_t n, cap;
};

/* Replace out's items by the maximal repetitions of s[0..n), each once, in no particular order. The Lyndon
 * engine may compare long extensions by a 61-bit hash. A caller that must be sure calls repeat_holds() before
 * it uses an item. Returns 0, or -1 with err filled. */
int repeats_find(const uint32_t *s, uint32_t n, enum repeats_engine engine, struct repeat_list *out,
		 struct errbuf *err);

/* Longest first, then leftmost: the order in which repetitions are contracted. */
int repeats_sort_longest(struct repeat_list *list, uint32_t n, struct errbuf *err);

/* Does the period hold on the whole of r? Direct comparison. */
int repeat_holds(const uint32_t *s, const struct repeat *r);

/* Length of the longest common prefix of a and b, at most max. */
uint32_t symbols_match(const uint32_t *a, const uint32_t *b, uint32_t max);

void repeat_list_free(struct repeat_list *list);

#endif
