/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which send reached which receive: MPI's matching (per source, destination, communicator and tag in order; the
 * actual source and tag of wildcards are in the trace), over all ranks in one streaming pass. Memory is that of the
 * messages in flight, not that of the trace.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_H
#define PRECEDENT_TRACE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_message {
	uint32_t src, dst;             /* ranks of MPI_COMM_WORLD */
	uint64_t send_event, recv_event; /* the call that began sending; the call in which receiving was complete */
	uint64_t post_event;           /* the call that posted the receive: recv_event where that blocked */
	uint64_t send_ns, recv_ns;     /* entry of the send, return of the completion, as trace_iter_when gives them */
	uint64_t bytes;                /* of the send's count and datatype */
	uint64_t room;                 /* of the receive's count and datatype; UINT64_MAX: not known */
	int32_t tag;
	uint32_t comm;                 /* index in the definitions of src */
	uint32_t send_sym, recv_sym;   /* signatures of send_event and post_event */
	uint32_t room_sym;             /* signature with the receive's count: recv_sym, or of the call that made the request */
	uint32_t channel;              /* number of its communicator, sender, receiver and tag: the same in every pass */
	bool timed;                    /* both times are known; else an unknown one is that of the last event before it */
};

struct trace_messages_report {
	uint64_t matched, unmatched_sends, unmatched_receives;
	uint64_t untimed; /* one of their ends has no recorded time */
	uint64_t incomplete; /* taken by a receive that was freed or whose completion was not recorded: not reported */
};

/* Calls f for each message, in order of completion at each receiver; f returns 0, or non-zero to stop.
 * Messages to or from MPI_PROC_NULL are none. 0, 1 stopped by f, -1 error. */
int trace_messages(const struct trace *t, int (*f)(const struct trace_message *m, void *arg), void *arg,
		   struct trace_messages_report *report, struct errbuf *err);

/* A moment of a rank on the time line of all, as the clocks were measured and as they are corrected. */
struct trace_moment {
	uint64_t linear, corrected;
};

/* What is done with the order that blocking collectives impose: a return comes after the entries of those whose data it
 * has, or, of a barrier, of all. Within one communicator the k-th of these calls is the same for all its members. */
struct trace_orders {
	struct trace_moment (*at)(void *arg, uint32_t rank, uint64_t local_ns);
	/* The rank returned at leave_ns, and `latest` is the latest of the entries it waited for; not 0: stop. In the order
	 * of trace_messages: all that happened before these entries has been reported. NULL: not asked. */
	int (*leaves)(void *arg, uint32_t rank, uint64_t leave_ns, struct trace_moment latest);
	/* The rank entered at enter_ns, and the first that waited for that returned, corrected, at `first`. NULL: not asked. */
	void (*entered)(void *arg, uint32_t rank, uint64_t enter_ns, uint64_t first);
};

/* trace_messages, and collectives in between. */
int trace_messages_ordered(const struct trace *t, int (*f)(const struct trace_message *m, void *arg),
			   const struct trace_orders *orders, void *arg, struct trace_messages_report *report,
			   struct errbuf *err);

#endif
