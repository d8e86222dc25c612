/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all ranks have done up to the end: the ground of their waits. */
#ifndef PRECEDENT_TRACE_ENDING_IMPL_H
#define PRECEDENT_TRACE_ENDING_IMPL_H

#include "trace/ending/ending.h"
#include "trace/messages/messages_names.h"

/* Number of the last collectives of a rank on a communicator that are compared with other ranks. */
#define ENDING_HISTORY 64

/* Messages of one channel (struct msg_channel). */
struct ending_channel {
	uint64_t sent;     /* sends that were begun */
	uint64_t received; /* receives that have taken a message, or will take one that was sent */
};

struct ending_slot {
	uint32_t symbol;   /* of the call that made the request */
	bool made, active, persistent, cancelled;
	uint64_t order;    /* of its start among the rank's events */
	bool matched;      /* its message is there */
	uint64_t number;   /* of the message on its channel, or of the collective on its communicator; from 1 */
};

/* The collectives of one rank on one of its communicators; call: the last ones, by number modulo ENDING_HISTORY. */
struct ending_comm {
	uint64_t entered;
	struct ending_call call[ENDING_HISTORY];
};

/* A lock that a rank holds. */
struct ending_lock {
	uint32_t rank, win;
	int64_t target; /* TRACE_NULL: all ranks of the window */
};

struct ending_state {
	const struct msg_op *op;
	struct ending_slot *slot;
	uint32_t n_slot;
	struct ending_comm **comm; /* [index of the communicator]; NULL: no collective */
	uint64_t events;
	/* The call that did not return. Channels are MSG_NONE if it does not send or receive, or if the source or tag is
	 * not known. */
	uint32_t open_send, open_receive;
	uint64_t open_number;      /* of its message on open_send, or of its collective */
	bool open_matched;         /* a message is there that it receives */
};

/* Ranks that have not entered collective number k of a communicator; shared by all that wait for them. */
struct ending_missing {
	uint32_t comm;     /* global number */
	uint64_t k;
	uint32_t *rank, n;
};

struct ending_own {
	struct msg_names names;
	struct ending_state *state;
	struct ending_channel *channel;
	uint32_t n_channel;
	struct ending_missing *missing;
	uint32_t n_missing, cap_missing;
	struct ending_lock *lock;
	uint32_t n_lock, cap_lock;
	uint32_t *open, n_open;    /* channels with messages that were not received, by receiver */
	bool no_memory;
};

/* Is the function a collective call that all members make in the same order? */
bool ending_is_collective(uint32_t fn);
/* Note that the rank enters a collective. Returns its number on the communicator, from 1; 0: memory ran out. */
uint64_t ending_enter(struct ending_own *o, uint32_t rank, uint32_t comm, struct ending_call call);
struct ending_channel *ending_channel_at(struct ending_own *o, uint32_t channel);
/* Read all events of the ranks. */
int ending_read(struct ending *e, struct errbuf *err);
/* Match what is pending, and fill in the waits of all ranks. */
int ending_find_waits(struct ending *e, struct errbuf *err);
/* The collective calls of the rank on a communicator with this global number; NULL: none. */
const struct ending_comm *ending_comm_of(const struct ending *e, uint32_t rank, uint32_t comm);
/* Which ranks hang, and why. */
int ending_judge(struct ending *e, struct errbuf *err);

#endif
