/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of losers: the least of many streams' next keys, about log2(n) comparisons for each that is taken, along one
 * path. Equal keys come in the order of the streams. Nodes hold a key above its stream as one number, and the loser
 * changes places without a branch: which of two streams is first is not to be foreseen.
 */
#ifndef PRECEDENT_EXPERT_TOURNAMENT_H
#define PRECEDENT_EXPERT_TOURNAMENT_H

#include <stdbool.h>
#include <stdint.h>

#define TOURNAMENT_END UINT64_MAX /* key of a stream that has ended */

typedef unsigned __int128 tournament_node; /* key << 64 | stream */

struct tournament {
	uint32_t n;            /* a power of two */
	tournament_node *node; /* [1 .. n) the losers; [0] the winner; [n ..) first ones of streams */
};

/* All streams have ended until their keys are set; then tournament_start. -1 without memory. */
int tournament_init(struct tournament *t, uint32_t n_streams);
void tournament_free(struct tournament *t);
void tournament_start(struct tournament *t);

static inline tournament_node tournament_pack(uint64_t key, uint32_t stream)
{
	return (tournament_node)key << 64 | stream;
}

/* The first key of a stream, before the start. */
static inline void tournament_set(struct tournament *t, uint32_t stream, uint64_t key)
{
	t->node[t->n + stream] = tournament_pack(key, stream);
}

static inline uint32_t tournament_top(const struct tournament *t)
{
	return (uint32_t)t->node[0];
}

/* TOURNAMENT_END: all have ended. */
static inline uint64_t tournament_key(const struct tournament *t)
{
	return (uint64_t)(t->node[0] >> 64);
}

/* The winner's key is another one now. */
static inline void tournament_replay(struct tournament *t, uint64_t key)
{
	uint32_t stream = tournament_top(t);
	tournament_node own = tournament_pack(key, stream);

	for (uint32_t i = (stream + t->n) / 2; i > 0; i /= 2) {
		tournament_node other = t->node[i], least = other < own ? other : own;

		t->node[i] = other < own ? own : other;
		own = least;
	}
	t->node[0] = own;
}

#endif
