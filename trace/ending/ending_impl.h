/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What all ranks have done up to the end: the ground of their waits. */
#ifndef PRECEDENT_TRACE_ENDING_IMPL_H
#define PRECEDENT_TRACE_ENDING_IMPL_H

#include "trace/ending/ending.h"
#include "trace/messages/messages_names.h"

/* Number of the last collectives of a rank in a scope that are compared with other ranks. */
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
	uint64_t number;   /* of the message on its channel, or of the collective in its scope; from 1 */
};

/* The collectives of one rank in one scope; call: the last ones, by number modulo ENDING_HISTORY. */
struct ending_entries {
	uint64_t entered;
	struct ending_call call[ENDING_HISTORY];
};

/* A lock that a rank holds. */
struct ending_lock {
	uint32_t rank, scope;
	int64_t target; /* TRACE_NULL: all ranks of the window */
	bool exclusive;
};

/* Epochs in which `origin` may use the part of a window that `target` has: how often each has called what. */
struct ending_epoch {
	uint32_t scope, origin, target;
	uint64_t posted, started, completed;
};

struct ending_state {
	struct msg_ops ops;
	struct ending_slot *slot;
	uint32_t n_slot;
	/* The rank's scopes: its communicators, then its windows, then its files. */
	uint32_t n_scope;
	uint32_t *scope;           /* [index] -> global number */
	uint32_t *same; /* [index] -> first index with that number; definitions of one window may differ in size */
	struct ending_entries **entry; /* [index]; NULL: no collective */
	uint32_t *start, *post;    /* [index of the window]: symbol of the last such call; ENDING_NONE: none */
	uint64_t events;
	/* The call that did not return. Channels are MSG_NONE if it does not send or receive, or if the source or tag is
	 * not known. */
	uint32_t open_send, open_receive;
	uint64_t open_number;      /* of its message on open_send, or of its collective */
	bool open_matched;         /* a message is there that it receives */
};

/* Ranks that have not entered collective number k of a scope; shared by all that wait for them. Or the partners of an
 * epoch for which one rank waits; scope is ENDING_NONE then. */
struct ending_missing {
	uint32_t scope;    /* global number */
	uint64_t k;
	uint32_t *rank, n;
};

/* What orders collective calls: a communicator, or a window or a file that is made on one. */
enum ending_scope_kind { SCOPE_COMM, SCOPE_WIN, SCOPE_FILE };
struct ending_scope {
	uint32_t comm, ordinal; /* comm: global number of the communicator */
	uint8_t kind;
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
	struct ending_scope *scope; /* of all ranks, by global number */
	uint32_t n_scope, cap_scope;
	struct hash_table known_scope, known_epoch;
	struct ending_epoch *epoch;
	uint32_t n_epoch, cap_epoch;
	uint32_t *open, n_open;    /* channels with messages that were not received, by receiver */
	bool no_memory;
};

/* ---- ending_scope.c ---- */

/* Is the function a collective call that all members make in the same order? */
bool ending_is_collective(uint32_t fn);
/* Number the scopes of all ranks. */
int ending_scopes_build(struct ending *e);
/* Index of the rank's scope of a collective call; ENDING_NONE: not collective, or the object is not known. */
uint32_t ending_scope_of(const struct trace_defs *d, uint32_t fn, int64_t comm, int64_t win, int64_t file);
uint32_t ending_scope_of_symbol(const struct trace_defs *d, uint32_t symbol);
uint32_t ending_scope_of_call(const struct trace_defs *d, const struct trace_in_call *c);
uint32_t ending_scope_of_win(const struct trace_defs *d, int64_t win);
/* Index of the communicator of a scope. */
uint32_t ending_comm_of(const struct trace_defs *d, uint32_t scope);
/* Note that the rank enters a collective. Returns its number in the scope, from 1; 0: memory ran out. */
uint64_t ending_enter(struct ending_own *o, uint32_t rank, uint32_t scope, struct ending_call call);
/* The collective calls of the rank in the scope with this global number; NULL: none. */
const struct ending_entries *ending_entries_of(const struct ending *e, uint32_t rank, uint32_t scope);

/* ---- ending_windows.c ---- */

/* Follow locks and epochs of windows through a call. */
void ending_follow_window(struct ending *e, uint32_t rank, uint32_t symbol);
/* Add the waits of a call that did not return for locks and epochs of its window. */
void ending_wait_on_window(struct ending *e, uint32_t rank, const struct trace_in_call *c);

/* ---- ending_read.c ---- */

struct ending_channel *ending_channel_at(struct ending_own *o, uint32_t channel);
/* Read all events of the ranks. */
int ending_read(struct ending *e, struct errbuf *err);

/* ---- ending_waits.c ---- */

/* Match what is pending, and fill in the waits of all ranks. */
int ending_find_waits(struct ending *e, struct errbuf *err);
void ending_add_wait(struct ending *e, uint32_t rank, struct ending_wait w);

/* ---- ending.c ---- */

/* Which ranks hang, and why. */
int ending_judge(struct ending *e, struct errbuf *err);

#endif
