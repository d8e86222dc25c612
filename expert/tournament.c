/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See tournament.h. */
#include "expert/tournament.h"

#include <stdlib.h>

int tournament_init(struct tournament *t, uint32_t n_streams)
{
	t->n = 1;
	while (t->n < n_streams)
		t->n *= 2;
	t->node = aligned_alloc(64, (2ull * t->n * sizeof(*t->node) + 63) & ~63ull);
	if (!t->node)
		return -1;
	for (uint32_t i = 0; i < t->n; i++) {
		t->node[i] = 0;
		tournament_set(t, i, TOURNAMENT_END);
	}
	return 0;
}

void tournament_free(struct tournament *t)
{
	free(t->node);
	*t = (struct tournament){0};
}

/* The winner below inner node i. */
static tournament_node play(struct tournament *t, uint32_t i)
{
	tournament_node a, b;

	if (i >= t->n)
		return t->node[i];
	a = play(t, 2 * i);
	b = play(t, 2 * i + 1);
	t->node[i] = b < a ? a : b;
	return b < a ? b : a;
}

void tournament_start(struct tournament *t)
{
	t->node[0] = play(t, 1);
}
