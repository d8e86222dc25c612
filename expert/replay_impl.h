/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the replay share: see replay.h. */
#ifndef PRECEDENT_EXPERT_REPLAY_IMPL_H
#define PRECEDENT_EXPERT_REPLAY_IMPL_H

#include "expert/input_impl.h"
#include "expert/replay.h"

/* Who came, of one side of a message or collective: the last of them, in the run and in each case. */
struct replay_side {
	uint64_t ns;                        /* as it was */
	uint32_t rank, n;
	uint64_t at[REPLAY_CASES], early[REPLAY_CASES]; /* it began; the rank had last got something from others */
	double sum[REPLAY_CASES];           /* of the beginnings of all */
};

/* A message, a collective, data for a neighbour. */
struct replay_node {
	uint64_t key[2];
	uint32_t left;                      /* parts that have not ended */
	struct replay_node *next;           /* of the same hash, or free */
	struct replay_side side[2];         /* of senders and roots; of the others */
};

enum replay_needs { RN_NOTHING, RN_FIRST, RN_SECOND };

/* A rank's part in a node, until the call that completes it. */
struct replay_part {
	struct replay_node *node;
	uint64_t event, done_event;
	uint8_t needs;                      /* enum replay_needs */
};

/* A past call. */
struct replay_past {
	uint64_t from_ns, enter_ns, until_ns, leave_ns; /* computing, [from, enter); waiting, [enter, until) */
	uint32_t cause, sym;                /* rank that was waited for */
};

struct replay_rank {
	bool in_call;
	uint64_t event, from_ns, enter_ns, leave_ns; /* of the call that it is in */
	uint32_t sym;
	uint64_t at[REPLAY_CASES], end[REPLAY_CASES]; /* when it entered, when the one before ended */
	uint64_t early[REPLAY_CASES];       /* when the last one ended that others had to do with */
	uint64_t credit[REPLAY_CASES];      /* time still to be taken away */
	double factor;                      /* of its computation, where that is levelled */
	struct replay_part *part;
	uint32_t n_part, cap_part;
	struct replay_past *past;           /* ring */
	uint64_t n_past;
};

struct replay_cause {
	uint32_t problem, rank, sym;
	uint8_t doing;                      /* enum report_doing */
	uint64_t ns;                        /* 0: none */
};

struct replay {
	const struct trace *t;
	struct report *report;
	struct replay_rank *rank;
	uint32_t n_ranks, n_case;
	uint32_t problem[REPLAY_CASES];     /* of each case but the first */
	uint8_t remedy[REPLAY_CASES];
	uint32_t past;                      /* entries of a ring, a power of two */
	struct replay_node **slot, *free_node;
	uint32_t n_slot, n_node;
	uint64_t *sent, *posted;            /* by channel */
	uint32_t n_channel;
	struct replay_cause *cause;
	uint32_t n_cause, n_cause_slot;
	bool incomplete;
	struct replay_report *out;
};

/* ---- blame.c ---- */
/* In a call of a problem a rank waited in [from, until) for what `cause` did. -1 without memory. */
int blame_wait(struct replay *p, uint32_t problem, uint32_t cause, uint64_t from, uint64_t until);
/* What was found, to the problems of the report. -1 without memory. */
int blame_tell(struct replay *p);

#endif
