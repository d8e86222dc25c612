/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A tree of losers. It finds the least of the next keys of many streams, with about log2(n) comparisons along one path
 * for each key that is taken. Equal keys come in the order of the streams. A node is one number of 64 bits: the
 * distance of the key from a base, and below it the stream. The loser changes places without a branch, because the
 * branch would often be mispredicted. Keys that are too far from the base are kept apart. The base moves when no other
 * keys are left.
 */
#ifndef PRECEDENT_EXPERT_TOURNAMENT_H
#define PRECEDENT_EXPERT_TOURNAMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TOURNAMENT_END UINT64_MAX /* key of a stream that has ended */

struct tournament {
	uint32_t n;            /* a power of two */
	uint32_t bits;         /* of a node that are its stream */
	uint64_t mask;         /* ... these */
	uint64_t base, limit;  /* keys in [base, base + limit) lie in nodes; others, with `limit` there, in key */
	uint64_t *node;        /* [1 .. n) the losers; [0] the winner: it has such a key, or all have ended */
	uint64_t *key;         /* [stream]: the first ones until the start; then those that are not in nodes */
};

/* All streams have ended until their keys are set; then tournament_start. -1 without memory. */
int tournament_init(struct tournament *t, uint32_t n_streams);
void tournament_free(struct tournament *t);
void tournament_start(struct tournament *t);

/* Gives the winner a new key that is too far from the base for a node. The base may move; then all nodes change. */
void tournament_replay_far(struct tournament *t, uint64_t key);

/* The first key of a stream, before the start. */
static inline void tournament_set(struct tournament *t, uint32_t stream, uint64_t key)
{
	t->key[stream] = key;
}

static inline uint32_t tournament_top(const struct tournament *t)
{
	return (uint32_t)(t->node[0] & t->mask);
}

/* TOURNAMENT_END: all have ended. */
static inline uint64_t tournament_key(const struct tournament *t)
{
	uint64_t part = t->node[0] >> t->bits;

	return part < t->limit ? t->base + part : TOURNAMENT_END;
}

/* The winner is that node now, its stream's. */
static inline void tournament_play(struct tournament *t, uint32_t stream, uint64_t own)
{
	for (size_t i = (stream + t->n) / 2; i > 0; i /= 2) {
		uint64_t other = t->node[i];

		t->node[i] = other < own ? own : other;
		own = other < own ? other : own;
	}
	t->node[0] = own;
}

/* The winner's key is another one now. */
static inline void tournament_replay(struct tournament *t, uint64_t key)
{
	uint64_t part = key - t->base;
	uint32_t stream = tournament_top(t);

	if (key < t->base || part >= t->limit)
		tournament_replay_far(t, key);
	else
		tournament_play(t, stream, part << t->bits | stream);
}

#endif
