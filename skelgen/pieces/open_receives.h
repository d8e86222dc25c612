/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The receives that a rank has open. A program may have receives open all the time: a master that receives from any worker,
 * or steps that post the receives of the next step. Such a run can be cut where the same receives are open. A receive that a
 * piece leaves open then gets its message in the next piece.
 * To post or complete a receive takes the same time however many are open.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_OPEN_RECEIVES_H
#define PRECEDENT_SKELGEN_PIECES_OPEN_RECEIVES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_table.h"

struct open_receive {
	int64_t slot;
	uint64_t envelope; /* receives of one envelope get messages in the order in which they were posted */
	uint64_t call;     /* the same for receives that can stand for each other: of the same call and values, but for the slot */
};

/* A receive between those of its envelope. Slots and queues are one more than their number; 0: none. */
struct open_link {
	uint64_t call;
	uint32_t queue; /* 0: the slot is no open receive */
	uint32_t before, after;
};

struct open_queue {
	uint64_t envelope;
	uint32_t last;
};

/* Zeroed: none is open. */
struct open_receives {
	struct open_link *at; /* by slot */
	struct open_queue *queue;
	struct hash_table queues; /* by envelope */
	uint32_t cap, n_queue, cap_queue;
	uint64_t state; /* the same for alike open receives in the same order; 0: none is open. See open_receives_order() */
};

/* Returns 0, or -1 without memory. */
int open_receives_add(struct open_receives *o, const struct open_receive *r);
/* Returns whether the slot was an open receive. */
bool open_receives_remove(struct open_receives *o, int64_t slot);
/* The same exactly for alike open receives in the same order. Of receives that can stand for each other, the state is the same for
 * some other orders, too. Takes time for each slot. */
uint64_t open_receives_order(const struct open_receives *o);
/* The slots of the open receives: by envelopes in the order of their first use. slot: room for them, or NULL. Returns their number. */
uint32_t open_receives_list(const struct open_receives *o, uint32_t *slot);
void open_receives_free(struct open_receives *o);

#endif
