/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the writers of a rank's OTF2 events share: messages, one-sided communication, received sizes. */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_WRITER_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_WRITER_H

#include "trace/export/export_otf2.h"

struct otf2_message {
	int64_t comm, peer, tag; /* comm: index of the rank; peer: rank in the communicator */
	uint64_t bytes;
};

#define TRACE_SELF 1 /* index of MPI_COMM_SELF, whose group is empty and whose rank is 0 */

/* A one-sided operation that is not complete. */
struct otf2_operation {
	uint64_t id;
	uint32_t win;      /* index of the rank */
	int64_t target;
};

/* The state of a window on the rank. */
struct otf2_epoch {
	uint32_t number;   /* number of the window in OTF2 */
	uint32_t start, post; /* groups of the open epochs in OTF2, or OTF2_UNDEFINED_GROUP */
};

/* A receive of the current call whose message is shorter than its buffer. */
struct otf2_size {
	uint64_t post_event, bytes;
	uint32_t src;      /* world rank */
	int64_t tag;
};

struct otf2_writer {
	struct otf2 *o;
	const struct trace_defs *d;
	uint32_t rank;
	OTF2_EvtWriter *w;
	OTF2_AttributeList *attributes;
	uint32_t *comm;    /* numbers in OTF2 */
	uint32_t *site;    /* string of each signature's call site, or OTF2_UNDEFINED_STRING */
	struct otf2_slot *slot, *half; /* half: the receives of MPI_Isendrecv, by the slots of their requests */
	uint32_t n_slot, n_half;
	uint64_t next_id;
	struct otf2_epoch *epoch; /* of each window */
	struct otf2_operation *op;
	uint32_t n_op, cap_op;
	uint64_t next_op;
	struct rdbuf received; /* unread part of the rank's list, see otf2_received_collect */
	uint64_t received_event, next_event; /* calls of the last and of the next entry */
	struct otf2_size *size;
	uint32_t n_size, cap_size, at_size; /* at_size: behind the entry found last */
	OTF2_ErrorCode rc; /* result of the first event that failed */
};

static inline void otf2_keep(struct otf2_writer *w, OTF2_ErrorCode rc)
{
	if (w->rc == OTF2_SUCCESS)
		w->rc = rc;
}

/* The n-th scalar parameter of this kind. */
int64_t otf2_nth(const struct trace_defs *d, uint32_t sym, uint8_t kind, int n, int64_t missing);
uint64_t otf2_bytes(const struct trace_defs *d, int64_t count, int64_t type);
/* Bytes of the n-th count and datatype; of the only one if there is no n-th. */
uint64_t otf2_nth_bytes(const struct trace_defs *d, uint32_t sym, int n);
/* World rank of a rank in a communicator, or in the remote group of an intercommunicator. OTF2 uses world ranks. */
uint32_t otf2_world_rank(const struct otf2_writer *w, int64_t comm, int64_t peer);

/* ---- one-sided communication: export_otf2_rma.c ---- */

int otf2_rma_begin(struct otf2_writer *w);
void otf2_rma_end(struct otf2_writer *w);
/* Write a call of class TC_WIN, TC_RMA or TC_SYNC. Returns the id of the operation that it began, or UINT64_MAX. */
uint64_t otf2_rma_call(struct otf2_writer *w, const struct export_call *c);
/* Write the completion of an operation with a request. */
void otf2_rma_done(struct otf2_writer *w, uint64_t id, uint64_t t);

/* ---- sizes received: export_otf2_received.c ---- */

/* Find the receives whose message is shorter than their buffer, in one pass over all messages. */
int otf2_received_collect(struct otf2 *o, struct errbuf *err);
void otf2_received_free(struct otf2 *o);
void otf2_received_begin(struct otf2_writer *w);
void otf2_received_end(struct otf2_writer *w);
/* Collect the sizes of call `event`; earlier calls are written. */
void otf2_received_at(struct otf2_writer *w, uint64_t event);
/* Size of the message that the current call received. Returns `posted`, the size of the buffer, if no size is
 * stored. */
uint64_t otf2_received_size(struct otf2_writer *w, uint64_t post_event, uint32_t src, int64_t tag, uint64_t posted);

#endif
