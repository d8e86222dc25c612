/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A ring of events that wait to be looked at, while what they will ask for is fetched: see ahead.c. */
#ifndef PRECEDENT_EXPERT_AHEAD_H
#define PRECEDENT_EXPERT_AHEAD_H

#include "expert/compile/entry.h"

struct bucket;
struct engine;

#define AHEAD 32 /* a power of two */

struct ahead_event {
	struct entry *entry;
	const struct bucket *bucket; /* the queue, as it was then; NULL: none */
	uint32_t hash;               /* of the key that it will look for */
	bool known;                  /* there is one */
};

struct ahead {
	struct ahead_event event[AHEAD];
	uint32_t first, n;
};

/* x, an event that has just come, is the last of the ring, which is not full. */
void ahead_push(struct engine *e, struct entry *x);
/* The first of it, which is not empty. */
struct entry *ahead_pop(struct engine *e);

#endif
