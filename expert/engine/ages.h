/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ring of all that waits, by age: see ages.c. */
#ifndef PRECEDENT_EXPERT_AGES_H
#define PRECEDENT_EXPERT_AGES_H

#include "expert/compile/entry.h"

/* All waiting entries, oldest first: a ring with gaps, see ages.c. Places only count up; the place of an entry is its
 * `age`. */
struct ages {
	struct entry **slot;         /* NULL: a gap */
	uint64_t n_slot, n;          /* n_slot: a power of two; n: of entries */
	uint64_t head, tail;         /* head: place of the oldest entry; tail: place of the next entry to come */
	uint64_t unseen;             /* place of the first entry whose age has not been checked */
};

int ages_init(struct ages *a);
void ages_free(struct ages *a);
/* Room for one more in a ring that is full. -1 without memory. */
int ages_room(struct ages *a);
/* x, which is in it, is the oldest. -1 without memory: it is in it no longer. */
int ages_put_oldest(struct ages *a, struct entry *x);

/* x, which is not in it, is the youngest. -1 without memory. */
static inline int ages_add(struct ages *a, struct entry *x)
{
	if (a->tail - a->head == a->n_slot && ages_room(a) < 0)
		return -1;
	x->age = a->tail++;
	a->slot[x->age & (a->n_slot - 1)] = x;
	a->n++;
	return 0;
}

static inline void ages_take(struct ages *a, const struct entry *x)
{
	a->slot[x->age & (a->n_slot - 1)] = NULL;
	a->n--;
	while (a->head != a->tail && !a->slot[a->head & (a->n_slot - 1)])
		a->head++;
	if (a->unseen < a->head)
		a->unseen = a->head;
}

/* NULL: nothing waits. */
static inline struct entry *ages_oldest(const struct ages *a)
{
	return a->n ? a->slot[a->head & (a->n_slot - 1)] : NULL;
}

#endif
