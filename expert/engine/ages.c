/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Waiting entries by age: a ring, oldest first. An entry that leaves the ring leaves a gap. So its neighbours are not
 * touched: with thousands of ranks they are in no cache. Gaps are closed when the ring is full.
 */
#include <stdlib.h>

#include "expert/engine/engine_impl.h"

#define FIRST_SLOTS 1024
#define FIRST_PLACE (1ull << 62) /* places before this one are for entries that come back from the file */

int ages_init(struct ages *a)
{
	a->n_slot = FIRST_SLOTS;
	a->head = a->tail = a->unseen = FIRST_PLACE;
	a->slot = malloc(a->n_slot * sizeof(*a->slot));
	return a->slot ? 0 : -1;
}

void ages_free(struct ages *a)
{
	free(a->slot);
}

/* Without gaps, in `slot` of n_slot, which may be the ring itself. */
static void close_gaps(struct ages *a, struct entry **slot, uint64_t n_slot)
{
	uint64_t to = a->head, unseen = a->tail;

	for (uint64_t at = a->head; at != a->tail; at++) {
		struct entry *x = a->slot[at & (a->n_slot - 1)];

		if (at == a->unseen)
			unseen = to;
		if (!x)
			continue;
		slot[to & (n_slot - 1)] = x;
		x->age = to++;
	}
	a->unseen = unseen < to ? unseen : to;
	a->tail = to;
}

int ages_room(struct ages *a)
{
	uint64_t n_slot = 2 * a->n_slot;
	struct entry **slot;

	if (a->n <= a->n_slot / 2) {
		close_gaps(a, a->slot, a->n_slot);
		return 0;
	}
	slot = malloc(n_slot * sizeof(*slot));
	if (!slot)
		return -1;
	close_gaps(a, slot, n_slot);
	free(a->slot);
	a->slot = slot;
	a->n_slot = n_slot;
	return 0;
}

int ages_put_oldest(struct ages *a, struct entry *x)
{
	ages_take(a, x);
	if (a->tail - a->head == a->n_slot && ages_room(a) < 0)
		return -1;
	x->age = --a->head;
	a->slot[x->age & (a->n_slot - 1)] = x;
	a->n++;
	return 0;
}
