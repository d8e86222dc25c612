/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tournament.h. */
#include "expert/tournament.h"

#include <stdlib.h>

int tournament_init(struct tournament *t, uint32_t n_streams)
{
	t->n = 1;
	while (t->n < n_streams)
		t->n *= 2;
	t->key = malloc(2ull * t->n * sizeof(*t->key));
	t->stream = calloc(t->n, sizeof(*t->stream));
	if (!t->key || !t->stream)
		return -1;
	for (uint64_t i = 0; i < 2ull * t->n; i++)
		t->key[i] = TOURNAMENT_END;
	return 0;
}

void tournament_free(struct tournament *t)
{
	free(t->key);
	free(t->stream);
	*t = (struct tournament){0};
}

/* The winner below inner node i. */
static uint32_t play(struct tournament *t, uint32_t i)
{
	uint32_t a, b, loser;

	if (i >= t->n)
		return i - t->n;
	a = play(t, 2 * i);
	b = play(t, 2 * i + 1);
	loser = t->key[t->n + b] < t->key[t->n + a] ? a : b;
	t->key[i] = t->key[t->n + loser];
	t->stream[i] = loser;
	return a + b - loser;
}

void tournament_start(struct tournament *t)
{
	t->stream[0] = play(t, 1);
	t->key[0] = t->key[t->n + t->stream[0]];
}
