/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queues of messages in flight: sends that wait for a receive, and receives that wait for a send. Each receiver
 * has a queue of completed receives, which are reported in order.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_MATCH_H
#define PRECEDENT_TRACE_MESSAGES_MATCH_H

#include "trace/messages/messages_names.h"

/* An event with its times, for the matching. */
struct msg_at {
	uint64_t event, enter_ns, leave_ns;
	uint32_t sym;
	bool timed;
};

struct msg_slot {
	uint8_t kind;  /* enum in messages_match.c */
	uint32_t recv; /* pending receive, or MSG_NONE */
	uint32_t sym;  /* signature of the call that created a persistent request */
};

struct msg_rank {
	struct msg_ops ops;
	struct msg_slot *slot;
	uint32_t n_slot;
	uint64_t posted;           /* receives posted so far; gives their order */
	uint32_t wild, wild_last;  /* receives whose channel is not known yet, oldest first */
	uint32_t out, out_tail;    /* completed receives that have not been reported */
	uint32_t n_out;
	bool present, ended;       /* all its events were read */
};

/* After a report: the rank reads on, waits for another rank's send, or must read on to its own send. */
enum msg_wait { MSG_GOES_ON, MSG_WAITS, MSG_FOR_ITSELF };

struct msg_match {
	struct msg_names names;
	struct msg_rank *rank;
	struct msg_send *send;
	struct msg_recv *recv;
	uint32_t n_send, cap_send, free_send;
	uint32_t n_recv, cap_recv, free_recv;
	int (*f)(const struct trace_message *m, void *arg);
	void *arg;
	struct trace_messages_report report;
	bool no_memory, stopped;
};

/* Apply an event to the queues. The channels of messages that the event sends are written to sent[0..*n_sent).
 * The caller provides room for msg_sends_of() channels. */
void msg_event(struct msg_match *m, uint32_t rank, const struct msg_at *at, uint32_t *sent, uint32_t *n_sent);
/* The largest number of messages that a call can send. */
uint32_t msg_sends_of(const struct msg_match *m, uint32_t rank, uint32_t sym);
/* Report completed receives in order. Returns MSG_WAITS if the next receive waits for a send on *channel. */
enum msg_wait msg_flush(struct msg_match *m, uint32_t rank, uint32_t *channel);
/* Give up the receive that the reports wait for; it is counted as unmatched. */
void msg_give_up(struct msg_match *m, uint32_t rank);
/* The events of the rank have ended: its pending requests will not be completed. */
void msg_end(struct msg_match *m, uint32_t rank);
/* Count the sends and receives that are left in the channels after the last event. */
void msg_count_rest(struct msg_match *m);
void msg_match_free(struct msg_match *m);

#endif
