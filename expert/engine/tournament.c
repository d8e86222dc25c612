/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tournament.h. */
#include "expert/engine/tournament.h"

#include <stdlib.h>

int tournament_init(struct tournament *t, uint32_t n_streams)
{
	t->n = t->bits = 1;
	while (t->n < n_streams)
		t->n *= 2;
	while ((uint64_t)1 << t->bits < t->n)
		t->bits++;
	t->mask = ((uint64_t)1 << t->bits) - 1;
	t->base = 0;
	t->limit = UINT64_MAX >> t->bits;
	t->node = aligned_alloc(64, (t->n * sizeof(*t->node) + 63) & ~(size_t)63);
	t->key = malloc(t->n * sizeof(*t->key));
	if (!t->node || !t->key) {
		tournament_free(t);
		return -1;
	}
	for (uint32_t i = 0; i < t->n; i++) {
		t->node[i] = t->limit << t->bits | i;
		t->key[i] = TOURNAMENT_END;
	}
	return 0;
}

void tournament_free(struct tournament *t)
{
	free(t->node);
	free(t->key);
	*t = (struct tournament){0};
}

static uint64_t first_node(const struct tournament *t, uint32_t stream)
{
	uint64_t part = t->key[stream] - t->base; /* which is the least of all */

	return (part < t->limit ? part : t->limit) << t->bits | stream;
}

/* The winner below inner node i. */
static uint64_t play(struct tournament *t, uint32_t i)
{
	uint64_t a, b;

	if (i >= t->n)
		return first_node(t, i - t->n);
	a = play(t, 2 * i);
	b = play(t, 2 * i + 1);
	t->node[i] = b < a ? a : b;
	return b < a ? b : a;
}

void tournament_start(struct tournament *t)
{
	t->base = TOURNAMENT_END;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->key[i] < t->base)
			t->base = t->key[i];
	if (t->base == TOURNAMENT_END) /* all have ended: no key lies in a node */
		t->base = 0;
	t->node[0] = play(t, 1);
}

/* Each stream stands in one node: its key goes where it was before the start. */
static void start_again(struct tournament *t)
{
	for (uint32_t i = 0; i < t->n; i++) {
		uint64_t part = t->node[i] >> t->bits;

		if (part < t->limit)
			t->key[t->node[i] & t->mask] = t->base + part;
	}
	tournament_start(t);
}

void tournament_replay_far(struct tournament *t, uint64_t key)
{
	uint32_t stream = tournament_top(t);
	bool before = key < t->base;

	t->key[stream] = key;
	tournament_play(t, stream, t->limit << t->bits | stream);
	if (before || t->node[0] >> t->bits == t->limit)
		start_again(t);
}
