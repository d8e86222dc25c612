/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The effect of each call on messages and requests. Each signature is decoded once. Communicators get numbers that
 * are the same on all ranks. A channel holds the messages of one communicator, sender, receiver and tag, in order.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_NAMES_H
#define PRECEDENT_TRACE_MESSAGES_NAMES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/hash_table.h"
#include "trace/messages/messages.h"

#define MSG_NONE UINT32_MAX

/* The effect of a signature on messages and requests. */
enum msg_action {
	MSG_NOTHING,
	MSG_SEND,      /* blocking or non-blocking: sends a message; MPI_Isendrecv also posts a receive */
	MSG_RECV,      /* posts and completes a receive */
	MSG_SENDRECV,
	MSG_IRECV,     /* posts a receive into a request slot */
	MSG_SEND_INIT, /* creates a persistent request in a slot; MSG_START sends */
	MSG_RECV_INIT,
	MSG_START,
	MSG_MPROBE,    /* takes a message out of the channel into a slot */
	MSG_MRECV,
	MSG_IMRECV,
	MSG_DONE,      /* completes slots */
	MSG_FREE,
	MSG_CANCEL,
	MSG_COLL,      /* a collective that orders its members' calls: see messages_coll.h */
	MSG_OTHER      /* a request of another kind takes a slot */
};

/* A decoded signature. A channel is MSG_NONE if no message is sent or received (MPI_PROC_NULL, another
 * MPI_COMM_WORLD). */
struct msg_op {
	uint8_t action;
	bool receives;        /* the call receives, or posts a receive */
	bool wild;            /* source or tag of the receive become known when it completes */
	bool lost;            /* as wild, but the trace does not record source and tag */
	uint32_t comm;        /* index in the rank's definitions */
	uint32_t send, recv;  /* channels */
	uint64_t bytes;       /* bytes sent */
	uint64_t room;        /* bytes that the receive allows; UINT64_MAX: not known */
	/* parameters of the receive as recorded; src is a rank of the communicator */
	int64_t src, tag;
	uint32_t from;        /* src as world rank; MSG_NONE for MPI_ANY_SOURCE */
	int64_t slot, message;
	const int64_t *done, *asrc, *atag; /* MSG_DONE, MSG_START: slots, and source and tag of wildcards */
	uint32_t n_done;
	/* For MSG_COLL; src is the root, comm the communicator. */
	uint8_t order;        /* enum coll_order */
	bool gives, takes, is_root;
	uint16_t fn;
	uint32_t place;       /* rank in the communicator */
};

/* Messages of one communicator, sender, receiver and tag, in order. */
struct msg_channel {
	uint32_t comm, src, dst; /* comm: global number */
	int32_t tag;
	uint32_t s_head, s_tail; /* sends without a receive so far */
	uint32_t r_head, r_tail; /* posted receives without a send so far */
};

/* Global numbers of communicators, and channels. */
struct msg_names {
	const struct trace *t;
	uint32_t n_ranks;
	uint32_t **comm;          /* [rank][index] -> global number */
	uint32_t n_comm;
	struct msg_channel *channel;
	uint32_t n_channel, cap_channel;
	struct hash_table known_channel;
};

int msg_names_build(struct msg_names *n, const struct trace *t);
void msg_names_free(struct msg_names *n);
/* The channel from or to `peer`, a rank of communicator `comm` of `rank`, with this tag. Returns MSG_NONE if
 * there is none. If memory runs out, it returns MSG_NONE and sets *failed. */
uint32_t msg_channel_of(struct msg_names *n, uint32_t rank, uint32_t comm, int64_t peer, int64_t tag, bool sends,
			bool *failed);
/* Decode all signatures of a rank. The caller frees the result. Returns NULL if memory runs out. */
struct msg_op *msg_decode_rank(struct msg_names *n, uint32_t rank);

#endif
