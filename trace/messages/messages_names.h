/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the calls of a trace do to messages and requests: each signature decoded once, communicators with numbers that are
 * the same on all ranks, and channels, which are the messages of one communicator, sender, receiver and tag, in order.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_NAMES_H
#define PRECEDENT_TRACE_MESSAGES_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "trace/messages/messages.h"

#define MSG_NONE UINT32_MAX

/* What a signature does to messages. */
enum msg_action {
	MSG_NOTHING,
	MSG_SEND,      /* blocking or not: a message sets out */
	MSG_RECV,      /* posts and completes */
	MSG_SENDRECV,
	MSG_IRECV,     /* posts, into a slot */
	MSG_SEND_INIT, /* persistent: into a slot, sets out with MSG_START */
	MSG_RECV_INIT,
	MSG_START,
	MSG_MPROBE,    /* takes a message out of the channel, into a slot */
	MSG_MRECV,
	MSG_IMRECV,
	MSG_DONE,      /* completes slots */
	MSG_FREE,
	MSG_CANCEL,
	MSG_COLL,      /* a collective that puts its members in an order: see messages_coll.h */
	MSG_OTHER      /* another kind of request takes a slot */
};

/* A signature, decoded once. Channels are MSG_NONE where there is no message (MPI_PROC_NULL, another world). */
struct msg_op {
	uint8_t action;
	bool wild;            /* the receive's source or tag becomes known when it completes */
	bool lost;            /* ... and the trace does not say it */
	uint32_t comm;        /* index in the rank's definitions */
	uint32_t send, recv;  /* channels */
	uint64_t bytes;       /* sent */
	uint64_t room;        /* to receive; UINT64_MAX: not known */
	int64_t src, tag;     /* of the receive as given: src a rank of the communicator */
	uint32_t from;        /* src in the world, MSG_NONE where any will do */
	int64_t slot, message;
	const int64_t *done, *asrc, *atag; /* MSG_DONE, MSG_START: slots and what wildcards received */
	uint32_t n_done;
	/* MSG_COLL; src is the root, comm the communicator */
	uint8_t order;        /* enum coll_order */
	bool gives, takes, is_root;
	uint16_t fn;
	uint32_t place;       /* rank in the communicator */
};

/* Messages of one communicator, sender, receiver and tag: in order. */
struct msg_channel {
	uint32_t comm, src, dst; /* comm: number over all ranks */
	int32_t tag;
	uint32_t s_head, s_tail; /* sends that no receive has taken */
	uint32_t r_head, r_tail; /* receives by posting that no send has reached */
};

/* Communicators over all ranks, and channels. */
struct msg_names {
	const struct trace *t;
	uint32_t n_ranks;
	uint32_t **comm;          /* [rank][index] -> number over all ranks */
	uint32_t n_comm;
	struct msg_channel *channel;
	uint32_t n_channel, cap_channel;
	uint32_t *slot;           /* open addressing, channel + 1 */
	uint32_t n_slot;          /* a power of two */
};

int msg_names_build(struct msg_names *n, const struct trace *t);
void msg_names_free(struct msg_names *n);
/* The channel from or to `peer` (a rank of communicator `comm` of `rank`) with that tag; MSG_NONE when there is none,
 * or without memory, which sets *failed. */
uint32_t msg_channel_of(struct msg_names *n, uint32_t rank, uint32_t comm, int64_t peer, int64_t tag, bool sends,
			bool *failed);
/* All signatures of a rank, malloced; NULL without memory. */
struct msg_op *msg_decode_rank(struct msg_names *n, uint32_t rank);

#endif
