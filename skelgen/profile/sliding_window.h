/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Addresses without order that go along with the loop, as those of a table that is counted into by keys that were put in
 * order roughly before, or of a sparse matrix's columns near its diagonal: at any time only a window of the table is met,
 * and caches hold that. Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_SLIDING_WINDOW_H
#define PRECEDENT_SKELGEN_PROFILE_SLIDING_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

struct mix_followed {
	double window; /* bytes that are met at a time */
	double slope;  /* bytes that it moves for each one that the counter does */
};

/* Where the loop is and what it meets there, at n samples (the pairs are put in order). false: the addresses do not follow. */
struct mix_pair {
	int64_t counter;
	uint64_t address;
};
bool mix_follow(struct mix_pair *p, uint32_t n, struct mix_followed *out);

#endif
