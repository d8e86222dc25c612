/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The receives that a rank has open. A program may have receives open all the time: a master that receives from any worker,
 * or steps that post the receives of the next step. Such a run can be cut where the same receives are open. A receive that a
 * piece leaves open then gets its message in the next piece.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_OPEN_RECEIVES_H
#define PRECEDENT_SKELGEN_PIECES_OPEN_RECEIVES_H

#include <stdbool.h>
#include <stdint.h>

struct open_receive {
	int64_t slot;
	uint64_t envelope; /* receives of one envelope get messages in the order in which they were posted */
	uint64_t call;     /* hash of the call and of the slot */
};

/* Zeroed: none is open. */
struct open_receives {
	struct open_receive *at; /* in the order in which they were posted */
	uint32_t n, cap;
	uint64_t state;
	bool changed; /* since the state was made */
};

/* Returns 0, or -1 without memory. */
int open_receives_add(struct open_receives *o, const struct open_receive *r);
/* Returns whether the slot was an open receive. */
bool open_receives_remove(struct open_receives *o, int64_t slot);
/* The same for the same open receives that get messages in the same order; 0: none is open. */
uint64_t open_receives_state(struct open_receives *o);
void open_receives_free(struct open_receives *o);

#endif
