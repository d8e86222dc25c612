/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the writers of a rank's OTF2 events share: messages, one-sided communication, sizes received. */
#ifndef PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_WRITER_H
#define PRECEDENT_TRACE_EXPORT_EXPORT_OTF2_WRITER_H

#include "trace/export/export_otf2.h"

struct otf2_message {
	int64_t comm, peer, tag; /* comm: of the rank; peer: in the communicator */
	uint64_t bytes;
};

#define TRACE_SELF 1 /* index of MPI_COMM_SELF: its group has no members, and its rank is 0 */

/* A one-sided operation that is under way. */
struct otf2_operation {
	uint64_t id;
	uint32_t win;      /* of the rank */
	int64_t target;
};

/* A window as the rank uses it. */
struct otf2_epoch {
	uint32_t number;   /* OTF2's of the window */
	uint32_t start, post; /* OTF2's groups of the epochs, or OTF2_UNDEFINED_GROUP */
};

/* A receive of the call that is being written: its message is not as long as its buffer. */
struct otf2_size {
	uint64_t post_event, bytes;
	uint32_t src;      /* in the world */
	int64_t tag;
};

struct otf2_writer {
	struct otf2 *o;
	const struct trace_defs *d;
	uint32_t rank;
	OTF2_EvtWriter *w;
	OTF2_AttributeList *attributes;
	uint32_t *comm;    /* OTF2's numbers */
	uint32_t *site;    /* string of each signature's call site, or OTF2_UNDEFINED_STRING */
	struct otf2_slot *slot;
	uint32_t n_slot;
	uint64_t next_id;
	struct otf2_epoch *epoch; /* of each window */
	struct otf2_operation *op;
	uint32_t n_op, cap_op;
	uint64_t next_op;
	struct rdbuf received; /* what is left of the rank's list, see otf2_received_collect */
	uint64_t received_event, next_event; /* of the last and of the next entry */
	struct otf2_size *size;
	uint32_t n_size, cap_size, at_size; /* at_size: behind the one found last */
	OTF2_ErrorCode rc; /* of the first event that failed */
};

static inline void otf2_keep(struct otf2_writer *w, OTF2_ErrorCode rc)
{
	if (w->rc == OTF2_SUCCESS)
		w->rc = rc;
}

/* The nth scalar of that kind. */
int64_t otf2_nth(const struct trace_defs *d, uint32_t sym, uint8_t kind, int n, int64_t missing);
uint64_t otf2_bytes(const struct trace_defs *d, int64_t count, int64_t type);
/* Bytes of the nth count and datatype; of a call with only one, of that. */
uint64_t otf2_nth_bytes(const struct trace_defs *d, uint32_t sym, int n);
/* A rank of a communicator, of its other side where it has one, in the world: OTF2 has all ranks so. */
uint32_t otf2_world_rank(const struct otf2_writer *w, int64_t comm, int64_t peer);

/* ---- one-sided communication: export_otf2_rma.c ---- */

int otf2_rma_begin(struct otf2_writer *w);
void otf2_rma_end(struct otf2_writer *w);
/* A call of class TC_WIN, TC_RMA or TC_SYNC; the id of the operation that it began, or UINT64_MAX. */
uint64_t otf2_rma_call(struct otf2_writer *w, const struct export_call *c);
/* The request of the operation is complete. */
void otf2_rma_done(struct otf2_writer *w, uint64_t id, uint64_t t);

/* ---- sizes received: export_otf2_received.c ---- */

/* Go through the messages of the trace for receives whose message is shorter than their buffer. */
int otf2_received_collect(struct otf2 *o, struct errbuf *err);
void otf2_received_free(struct otf2 *o);
void otf2_received_begin(struct otf2_writer *w);
void otf2_received_end(struct otf2_writer *w);
/* The calls before this one are written. */
void otf2_received_at(struct otf2_writer *w, uint64_t event);
/* Size of the message that this call received: of `posted` bytes by the call post_event, if nothing else is known. */
uint64_t otf2_received_size(struct otf2_writer *w, uint64_t post_event, uint32_t src, int64_t tag, uint64_t posted);

#endif
