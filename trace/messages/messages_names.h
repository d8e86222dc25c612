/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The effect of each call on messages and requests. Each signature is decoded once. Signatures share their effect
 * if they differ only in counts of data, or in which of equally many requests they start or complete. Communicators
 * get numbers that are the same on all ranks. A channel holds the messages of one communicator, sender, receiver and
 * tag, in order.
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

/* An amount of data: a count of the signature, and a datatype. */
struct msg_amount {
	uint32_t at;   /* place of the count in sigtable_amounts(); MSG_NONE: no count and datatype are recorded */
	uint32_t type; /* index in the rank's definitions */
};

/* The effect of signatures. A channel is MSG_NONE if no message is sent or received (MPI_PROC_NULL, another
 * MPI_COMM_WORLD). Effects are compared as bytes, so there is no padding. */
struct msg_op {
	uint8_t action;
	bool receives;        /* the call receives, or posts a receive */
	bool wild;            /* source or tag of the receive become known when it completes */
	bool lost;            /* as wild, but the trace does not record source and tag */
	/* of MSG_COLL */
	uint8_t order;        /* enum coll_order */
	bool gives, takes, is_root;
	uint32_t fn;
	uint32_t place;       /* rank in the communicator */
	/* of all */
	uint32_t comm;        /* index in the rank's definitions */
	uint32_t send, recv;  /* channels */
	/* Parameters of the receive as recorded. src is a rank of the communicator; of MSG_COLL, the root. */
	uint32_t from;        /* src as world rank; MSG_NONE for MPI_ANY_SOURCE */
	int64_t src, tag;
	int64_t slot, message; /* request slot that the call fills, that it uses */
	struct msg_amount sent, room; /* room: that the receive allows */
	/* MSG_DONE, MSG_START: places of slots, and of wildcards' sources and tags, in sigtable_row(); or MSG_NONE */
	uint32_t slots_at, sources_at, tags_at;
	uint32_t n_slots;
};
_Static_assert(sizeof(struct msg_op) == 8 + 14 * sizeof(uint32_t) + 4 * sizeof(int64_t), "padding");

/* The effects of a rank's signatures. */
struct msg_ops {
	const struct trace_defs *d;
	uint32_t *of; /* [symbol]: index of its effect */
	struct msg_op *op;
	uint32_t n, cap;
};

/* The slots that a call starts or completes, and source and tag of wildcards. Each is NULL if it is not recorded. */
struct msg_slots {
	const int64_t *slot, *src, *tag;
	uint32_t n;
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
/* Decode all signatures of a rank, which has none yet. Returns 0 on success, -1 if memory runs out. */
int msg_ops_build(struct msg_ops *ops, struct msg_names *n, uint32_t rank);
void msg_ops_free(struct msg_ops *ops);
static inline const struct msg_op *msg_op_of(const struct msg_ops *ops, uint32_t sym)
{
	return &ops->op[ops->of[sym]];
}
/* Bytes that the call sends. 0: nothing, or not known. */
uint64_t msg_bytes(const struct msg_ops *ops, uint32_t sym);
/* Bytes that the receive of the call allows. UINT64_MAX: not known. */
uint64_t msg_room(const struct msg_ops *ops, uint32_t sym);
struct msg_slots msg_slots_of(const struct msg_ops *ops, uint32_t sym);

#endif
