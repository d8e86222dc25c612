/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Suffix array of a string of integers, its longest-common-prefix (LCP) array, and longest common extensions
 * of two positions in O(1) by range minimum. The end of the string is smaller than every symbol. All lengths
 * are below SUFFIX_ARRAY_MAX symbols.
 *
 * Sources. SA-IS: Nong, Zhang, Chan, "Linear suffix array construction by almost pure induced-sorting", DCC
 * 2009. LCP array: Karkkainen, Manzini, Puglisi, "Permuted longest-common-prefix array", CPM 2009.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_SUFFIX_ARRAY_H
#define PRECEDENT_SKELGEN_CONTRACT_SUFFIX_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"

#define SUFFIX_ARRAY_MAX 0x7fffffffu

/* Sort the suffixes of s[0..n) into sa[0..n); every symbol is below n_symbols. Returns 0, or -1 with err
 * filled (out of memory, n too large). */
int suffix_array_build(const uint32_t *s, uint32_t n, uint32_t n_symbols, uint32_t *sa, struct errbuf *err);

/* Replace the symbols of s[0..n) by ranks 0..k-1 in the order of their values; out may be s. Returns 0 and k
 * in *n_symbols, or -1. */
int suffix_array_dense(const uint32_t *s, uint32_t n, uint32_t *out, uint32_t *n_symbols, struct errbuf *err);

/* Longest common extensions to the right: rank, LCP and minima of blocks of 32 LCP values, about 10 bytes a
 * symbol. */
struct lce {
	uint32_t n;
	uint32_t *rank; /* [n] place of the suffix in the suffix array */
	uint32_t *lcp;	/* [n] of the suffix at this place and the one before */
	uint32_t **min; /* [n_level][..] minima of 2^level blocks */
	uint32_t n_level;
};

/* Prepare s[0..n) (dense symbols below n_symbols), or its reverse. Returns 0, or -1 with err filled and
 * nothing to free. */
int lce_create(struct lce *l, const uint32_t *s, uint32_t n, uint32_t n_symbols, bool reversed,
	       struct errbuf *err);

/* Length of the longest common prefix of the suffixes at i and j; 0 when either is n. */
uint32_t lce_query(const struct lce *l, uint32_t i, uint32_t j);

void lce_destroy(struct lce *l);

#endif
