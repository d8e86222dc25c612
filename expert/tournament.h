/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of losers: the least of many streams' next keys, about log2(n) comparisons for each that is taken, along one
 * path. Equal keys come in the order of the streams. Nodes hold the keys, and the loser changes places without a branch:
 * which of two streams is first is not to be foreseen.
 */
#ifndef PRECEDENT_EXPERT_TOURNAMENT_H
#define PRECEDENT_EXPERT_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

#define TOURNAMENT_END UINT64_MAX /* key of a stream that has ended */

struct tournament {
	uint32_t n;       /* a power of two */
	uint64_t *key;    /* [1 .. n) of the losers in the inner nodes; [0] of the winner; [n ..) first ones of streams */
	uint32_t *stream; /* [0 .. n) these */
};

/* All streams have ended until their keys are set; then tournament_start. -1 without memory. */
int tournament_init(struct tournament *t, uint32_t n_streams);
void tournament_free(struct tournament *t);
void tournament_start(struct tournament *t);

/* The first key of a stream, before the start. */
static inline void tournament_set(struct tournament *t, uint32_t stream, uint64_t key)
{
	t->key[t->n + stream] = key;
}

static inline uint32_t tournament_top(const struct tournament *t)
{
	return t->stream[0];
}

/* TOURNAMENT_END: all have ended. */
static inline uint64_t tournament_key(const struct tournament *t)
{
	return t->key[0];
}

/* The winner's key is another one now. */
static inline void tournament_replay(struct tournament *t, uint64_t key)
{
	uint32_t stream = t->stream[0];

	for (uint32_t i = (stream + t->n) / 2; i > 0; i /= 2) {
		uint64_t k = t->key[i];
		uint32_t s = t->stream[i];
		unsigned __int128 other = (unsigned __int128)k << 64 | s, own = (unsigned __int128)key << 64 | stream;
		uint64_t swap = 0 - (uint64_t)(other < own), dk = (k ^ key) & swap;
		uint32_t ds = (s ^ stream) & (uint32_t)swap;

		t->key[i] = k ^ dk;
		t->stream[i] = s ^ ds;
		key ^= dk;
		stream ^= ds;
	}
	t->key[0] = key;
	t->stream[0] = stream;
}

#endif
