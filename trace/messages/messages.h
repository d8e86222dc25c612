/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the send of each receive by MPI's matching rule: in order per source, destination, communicator and tag.
 * The trace holds the actual source and tag of wildcards. One streaming pass over all ranks holds only the messages
 * in flight in memory.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_H
#define PRECEDENT_TRACE_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_message {
	uint32_t src, dst;             /* ranks in MPI_COMM_WORLD */
	/* calls that started the send and completed the receive */
	uint64_t send_event, recv_event;
	uint64_t post_event;           /* call that posted the receive; recv_event for a blocking receive */
	/* entry of the send, return of the completing call, local times as trace_iter_when gives them */
	uint64_t send_ns, recv_ns;
	uint64_t recv_enter_ns;        /* entry of the completing call */
	uint64_t bytes;                /* from the send's count and datatype */
	uint64_t room;                 /* from the receive's count and datatype; UINT64_MAX: not known */
	int32_t tag;
	uint32_t comm;                 /* index in the definitions of src */
	uint32_t send_sym, recv_sym;   /* signatures of send_event and post_event */
	/* signature with the receive's count: recv_sym, or the signature that created the persistent request */
	uint32_t room_sym;
	/* identifies communicator, sender, receiver and tag; the same in every pass */
	uint32_t channel;
	/* both times are known; an unknown time is the time of the last known event before */
	bool timed;
};

struct trace_messages_report {
	uint64_t matched, unmatched_sends, unmatched_receives;
	uint64_t untimed; /* messages with an end without a recorded time */
	/* messages whose receive was freed or whose completion was not recorded: these are not reported */
	uint64_t incomplete;
};

/* Call f for each message, per receiver in the order of completion. f returns 0 to go on or another value to
 * stop. Messages to or from MPI_PROC_NULL are left out. Returns 0 at the end, 1 if f stopped, -1 on error (err
 * says why). */
int trace_messages(const struct trace *t, int (*f)(const struct trace_message *m, void *arg), void *arg,
		   struct trace_messages_report *report, struct errbuf *err);

/* A time of a rank on the common time line, by the linear correction and by the full correction of clock.h. */
struct trace_moment {
	uint64_t linear, corrected;
};

/* Callbacks for the order that blocking collectives impose. A return from a collective comes after the entries of
 * all ranks whose data it returns. A return from a barrier comes after all entries. The k-th collective call of a
 * communicator is the same collective on all its members. */
struct trace_orders {
	struct trace_moment (*at)(void *arg, uint32_t rank, uint64_t local_ns);
	/* The rank returned at leave_ns; `latest` is the latest entry that it waited for. All messages before
	 * that entry have been reported. May be NULL. Returns 0 to go on, another value to stop. */
	int (*leaves)(void *arg, uint32_t rank, uint64_t leave_ns, struct trace_moment latest);
	/* The rank entered at enter_ns; `first` is the earliest corrected return that waited for this entry. May
	 * be NULL. */
	void (*entered)(void *arg, uint32_t rank, uint64_t enter_ns, uint64_t first);
};

/* Like trace_messages, and call the callbacks of `orders` for collectives in between. */
int trace_messages_ordered(const struct trace *t, int (*f)(const struct trace_message *m, void *arg),
			   const struct trace_orders *orders, void *arg, struct trace_messages_report *report,
			   struct errbuf *err);

#endif
