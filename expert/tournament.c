/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tournament.h. */
#include "expert/tournament.h"

#include <stdlib.h>

int tournament_init(struct tournament *t, uint32_t n_streams)
{
	t->n = 1;
	while (t->n < n_streams)
		t->n *= 2;
	t->key = malloc(t->n * sizeof(*t->key));
	t->loser = malloc(t->n * sizeof(*t->loser));
	if (!t->key || !t->loser)
		return -1;
	for (uint32_t i = 0; i < t->n; i++)
		t->key[i] = TOURNAMENT_END;
	return 0;
}

void tournament_free(struct tournament *t)
{
	free(t->key);
	free(t->loser);
	*t = (struct tournament){0};
}

/* The winner below inner node i. */
static uint32_t play(struct tournament *t, uint32_t i)
{
	uint32_t a, b;

	if (i >= t->n)
		return i - t->n;
	a = play(t, 2 * i);
	b = play(t, 2 * i + 1);
	if (t->key[b] < t->key[a]) {
		t->loser[i] = a;
		return b;
	}
	t->loser[i] = b;
	return a;
}

void tournament_start(struct tournament *t)
{
	t->loser[0] = play(t, 1);
}
