/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The shortest contraction of a short sequence, by exhaustive search:
 *   C[i][j] = min(w[i] + C[i+1][j], min over loops of period p, t times, at i of C[i][i+p] + C[i+tp][j]).
 * Symbols carry weights, so that loops contracted before count with their own length.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_OPTIMUM_H
#define PRECEDENT_SKELGEN_CONTRACT_OPTIMUM_H

#include <stdint.h>

#include "common/errbuf.h"

#define OPTIMUM_MAX 1024u

/* Zero-initialise; free with optimum_destroy(). */
struct optimum {
	uint32_t s[OPTIMUM_MAX], n; /* the sequence last searched */
	int16_t *cost;		    /* C[i][j] at cost[i * (n+1) + j]; narrow for the sake of vectors */
	uint32_t cap;		    /* longest sequence that there is room for */
	uint32_t *match;	    /* [n] match[p]: common prefix of the suffixes at i and i+p */
	uint64_t work;		    /* steps spent so far, over all searches */
};

/* Search s[0..n), n <= OPTIMUM_MAX, in at most `limit` steps. Returns 1 when done, -1 on error. Returns 0 if
 * the search was given up: the steps ran out, or the weights are too large to add up. */
int optimum_search(struct optimum *o, const uint32_t *s, const uint32_t *weight, uint32_t n, uint64_t limit,
		   struct errbuf *err);

/* First item in the shortest contraction of s[i..j). Returns 0 for a symbol, else the trip count of a loop,
 * with the loop's period in *period. Ties: the loop that covers most, then the loop with the shortest body. */
uint32_t optimum_first(const struct optimum *o, uint32_t i, uint32_t j, uint32_t *period);

void optimum_destroy(struct optimum *o);

#endif
