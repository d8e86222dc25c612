/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of losers: the least of many streams' next keys, about log2(n) comparisons for each that is taken, along one
 * path. Equal keys come in the order of the streams.
 */
#ifndef PRECEDENT_EXPERT_TOURNAMENT_H
#define PRECEDENT_EXPERT_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

#define TOURNAMENT_END UINT64_MAX /* key of a stream that has ended */

struct tournament {
	uint32_t n;       /* a power of two */
	uint64_t *key;    /* [stream] */
	uint32_t *loser;  /* [1 .. n) inner nodes; [0] the winner */
};

/* All streams have ended until their keys are set; then tournament_start. -1 without memory. */
int tournament_init(struct tournament *t, uint32_t n_streams);
void tournament_free(struct tournament *t);
void tournament_start(struct tournament *t);

static inline uint32_t tournament_top(const struct tournament *t)
{
	return t->loser[0];
}

/* The winner's key is another one now. */
static inline void tournament_replay(struct tournament *t, uint64_t key)
{
	uint32_t w = t->loser[0];

	t->key[w] = key;
	for (uint32_t i = (w + t->n) / 2; i > 0; i /= 2) {
		uint32_t l = t->loser[i];
		uint64_t other = t->key[l];
		bool swap = other < key || (other == key && l < w);

		t->loser[i] = swap ? w : l;
		w = swap ? l : w;
		key = swap ? other : key;
	}
	t->loser[0] = w;
}

#endif
