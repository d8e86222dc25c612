/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The queues of messages in flight: sends that wait for a receive, receives that wait for their send, and, per
 * receiver, completed receives that are to be reported in order.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_MATCH_H
#define PRECEDENT_TRACE_MESSAGES_MATCH_H

#include "trace/messages/messages_names.h"

/* An event as the matching sees it. */
struct msg_at {
	uint64_t event, enter_ns, leave_ns;
	uint32_t sym;
	bool timed;
};

struct msg_slot {
	uint8_t kind;  /* enum in messages_match.c */
	uint32_t recv; /* receive under way, or MSG_NONE */
	uint32_t sym;  /* of the call that made a persistent request */
};

struct msg_rank {
	const struct msg_op *op;
	struct msg_slot *slot;
	uint32_t n_slot;
	uint64_t posted;           /* receives so far: their order */
	uint32_t wild;             /* receives whose channel is not known yet, oldest first */
	uint32_t out, out_tail;    /* completed receives that have not been reported */
	uint32_t n_out;
	bool present, ended;       /* all its events were seen */
};

/* Why a receiver's reports cannot go on. */
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

/* Do what the event does to messages. The channel that a message was sent on, or MSG_NONE, is put into sent[0..n): the
 * caller's room holds all (1, or the number of requests started). */
void msg_event(struct msg_match *m, uint32_t rank, const struct msg_at *at, uint32_t *sent, uint32_t *n_sent);
/* How many messages the event may send. */
uint32_t msg_sends_of(const struct msg_op *op);
/* Report what can be reported; MSG_WAITS: for a send on *channel. */
enum msg_wait msg_flush(struct msg_match *m, uint32_t rank, uint32_t *channel);
/* Give up the receive that the reports wait for. */
void msg_give_up(struct msg_match *m, uint32_t rank);
/* The rank's events have ended: requests that are under way will not be completed. */
void msg_end(struct msg_match *m, uint32_t rank);
/* What is left in the channels at the end of all. */
void msg_count_rest(struct msg_match *m);
void msg_match_free(struct msg_match *m);

#endif
