/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The sends and receives that a rank has open. A program may have receives open all the time: a master that
 * receives from any worker, or steps that post the receives of the next step. It may have sends open all the time:
 * steps with two buffers. Such a run can be cut where the same requests are open. A receive that a piece leaves
 * open gets its message in the next piece, and a send is completed there. To start or complete a request takes the
 * same time however many are open.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_OPEN_REQUESTS_H
#define PRECEDENT_SKELGEN_PIECES_OPEN_REQUESTS_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_table.h"

struct open_request {
	int64_t slot;
	uint64_t envelope; /* receives of one envelope get messages in the order in which they were posted */
	uint64_t call;     /* the same for requests that can stand for each other */
};

/* A request between those of its envelope. Slots and queues are one more than their number; 0: none. */
struct open_link {
	uint64_t call;
	uint32_t queue; /* 0: the slot is no open request */
	uint32_t before, after;
};

struct open_queue {
	uint64_t envelope;
	uint32_t last;
};

/* Zeroed: none is open. */
struct open_requests {
	struct open_link *at; /* by slot */
	struct open_queue *queue;
	struct hash_table queues; /* by envelope */
	uint32_t cap, n_queue, cap_queue;
	uint64_t state; /* the same for alike open requests in the same order; 0: none is open. See open_requests_order() */
};

/* Returns 0, or -1 without memory. */
int open_requests_add(struct open_requests *o, const struct open_request *r);
/* Returns whether the slot was an open request. */
bool open_requests_remove(struct open_requests *o, int64_t slot);
/*
 * The same exactly for alike open requests in the same order. Of requests that can stand for each other, the state
 * is the same for some other orders, too. Takes time for each slot.
 */
uint64_t open_requests_order(const struct open_requests *o);
/*
 * The slots of the open requests: by envelopes in the order of their first use. slot: room for them, or NULL.
 * Returns their number.
 */
uint32_t open_requests_list(const struct open_requests *o, uint32_t *slot);
void open_requests_free(struct open_requests *o);

#endif
