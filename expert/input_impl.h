/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the input share: see input.h. */
#ifndef PRECEDENT_EXPERT_INPUT_IMPL_H
#define PRECEDENT_EXPERT_INPUT_IMPL_H

#include "expert/input.h"
#include "trace/clock.h"
#include "trace/messages_impl.h"

enum input_kind {
	IK_OTHER, IK_COLL, IK_WINDOW, IK_LOCK, IK_UNLOCK, IK_POST, IK_START, IK_COMPLETE, IK_WAIT
};

/* A signature beyond what the matching of messages knows of it. */
struct input_sig {
	uint8_t kind;           /* enum input_kind */
	bool starts_request, persistent, is_root, is_exclusive, sends_and_receives;
	uint32_t type;          /* of the structure */
	uint32_t comm, size;    /* number over all ranks; members */
	uint32_t comm_index;    /* of the rank's definitions */
	int64_t root, bytes, request;
	int64_t window, target; /* index of the rank's definitions; world rank */
	const int64_t *group;   /* ranks in the window */
	uint32_t n_group;
	uint32_t function;      /* number of the string */
	int64_t site;
};

#define INPUT_VALUES 12

/* An event that is not told yet. */
struct pending {
	uint32_t type;
	bool done, is_receive, is_send;
	uint8_t wait;           /* place of wait_start_time in v */
	struct engine_simple s;
	union rules_value v[INPUT_VALUES];
};

struct input_slot {
	uint64_t pending;       /* number of the event + 1, 0: none */
	uint32_t sym;           /* that made a persistent request, MSG_NONE */
};

struct input_window {
	uint64_t created;       /* times */
	int64_t number;         /* of the one that there is now */
	uint64_t access, exposure; /* epochs */
	const struct input_sig *start, *post; /* what began them */
};

struct input_rank {
	struct trace_iter *it;
	struct msg_op *op;      /* of each signature */
	struct input_sig *sig;
	struct pending *ring;   /* events [first, last), at their number modulo cap */
	uint64_t first, last;
	uint32_t cap;
	struct input_slot *slot;
	uint32_t n_slot;
	uint64_t *instance;     /* collectives so far, by communicator */
	struct input_window *win;
	uint64_t begin_ns, end_ns;
};

/* Types of the structures. */
struct input_types {
	uint32_t call, send, recv, barrier, to_one, from_one, to_all, scan, window, lock, unlock, post, start, complete, wait;
};

struct input {
	const struct trace *t;
	struct engine *e;
	struct trace_clock *clock;
	struct msg_names names;
	struct input_types type;
	struct input_rank *rank;
	struct input_report *report;
	struct errbuf *err;
	bool wants_calls;
};

/* One call of a rank. */
struct input_call {
	uint64_t enter_ns, leave_ns, gap_ns;
	uint64_t event;
	uint32_t sym;
	bool timed;
};

/* ---- input_sig.c ---- */
/* All signatures of a rank; NULL without memory. */
struct input_sig *input_decode_rank(struct input *in, uint32_t rank);

/* ---- input_call.c ---- */
/* What a call is to the rules goes into the rank's ring. -1 without memory. */
int input_call(struct input *in, uint32_t rank, const struct input_call *c);
/* Nothing more is known of the oldest event, if it is still under way. */
void input_give_up(struct input *in, struct pending *p);

#endif
