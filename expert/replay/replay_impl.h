/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the replay share: see replay.h. */
#ifndef PRECEDENT_EXPERT_REPLAY_IMPL_H
#define PRECEDENT_EXPERT_REPLAY_IMPL_H

#include "expert/events/input_impl.h"
#include "expert/replay/replay.h"

/* Who came, of one side of a message or collective: the last of them, in the run and in each case. */
struct replay_side {
	uint64_t ns;                        /* as it was */
	uint32_t rank, n;
	uint64_t at[REPLAY_CASES], early[REPLAY_CASES]; /* it began; the rank had last got something from others */
	double sum[REPLAY_CASES];           /* of the beginnings of all */
};

/* Who computed while a large message of it was under way came back to MPI, in the run and in each case. */
struct replay_back {
	uint64_t ns, at[REPLAY_CASES]; /* ns 0: it did not */
	uint32_t rank;
};

/* A message, a collective, data for a neighbour. */
struct replay_node {
	uint64_t key[2];
	uint32_t left;                      /* parts that have not ended */
	struct replay_node *next;           /* of the same hash, or free */
	struct replay_side side[2];         /* of senders and roots; of the others */
	struct replay_back back[2];         /* of a message: its sender, its receiver */
	bool is_large, is_synchronous;      /* as it was sent */
	struct replay_scan *scan;           /* NULL: it is no scan */
};

enum replay_needs { RN_NOTHING, RN_FIRST, RN_SECOND };

/* A rank's part in a node, until the call that completes it. */
struct replay_part {
	struct replay_node *node;
	uint64_t event, done_event;
	uint64_t came_ns;                   /* when the rank entered it, in the case that balances it */
	uint32_t place;                     /* of a scan: the rank's number in the communicator */
	uint8_t needs;                      /* enum replay_needs */
	bool is_outside;                    /* of a message: the rank computes before done_event */
};

/* What a call that ends waited for: one of its parts. */
struct replay_ending {
	const struct replay_part *part;
	const struct replay_side *side;     /* who came, and ... */
	const struct replay_back *back;     /* ... came back to MPI later; NULL: it did not stand still until then */
	uint64_t problems;                  /* that the part is of: a bit for each */
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
	uint64_t waited[REPLAY_CASES];      /* the last call in which it waited for others, + 1; 0: none */
	int64_t moved[REPLAY_CASES];        /* sum of its moves to the mean times of scans */
	double factor;                      /* of its computation, where that is levelled */
	struct replay_part *part;
	uint32_t n_part, cap_part;
	uint64_t due;                       /* the first call that ends one of them; UINT64_MAX: none does */
	struct replay_past *past;           /* ring */
	uint64_t n_past;
};

struct replay_cause {
	uint32_t problem, rank, sym;
	uint8_t doing;                      /* enum report_doing */
	uint64_t ns;                        /* 0: none */
};

struct replay_windows;

struct replay {
	const struct trace *t;
	struct report *report;
	struct replay_rank *rank;
	uint32_t n_ranks, n_case;
	uint32_t problem[REPLAY_CASES];     /* of each case but the first */
	uint8_t remedy[REPLAY_CASES];
	uint32_t past;                      /* entries of a ring, a power of two */
	struct replay_node **slot, *free_node;
	uint32_t n_slot, n_node, n_place;   /* n_place: of the ranks of all scans under way */
	uint64_t *sent, *posted;            /* by channel */
	uint32_t n_channel;
	struct replay_cause *cause;
	uint32_t n_cause, n_cause_slot;
	struct replay_ending *ending;       /* of the call that ends */
	uint32_t n_ending, cap_ending;
	uint64_t waits[2];                  /* problems that are waits, [1]: for a rank that computes; a bit for each */
	bool removes;                       /* a remedy is RR_REMOVE */
	struct replay_windows *windows;
	bool incomplete;
	struct replay_report *out;
};

/* ---- replay.c ---- */
/* The node of that key, which has so many parts. NULL without memory, or past the limit, which is noted. */
struct replay_node *replay_node_of(struct replay *p, uint64_t a, uint64_t b, uint32_t parts);
/* One more on a side: the rank came, as it was at ns. */
void replay_side_add(const struct replay *p, struct replay_side *s, uint32_t rank, uint64_t ns);
/* Adds the ranks of x to s. */
void replay_side_merge(const struct replay *p, struct replay_side *s, const struct replay_side *x);
/* The case in which the problem of the rank's call is solved by balance; 0: it has none. */
uint32_t replay_balanced_case(const struct replay *p, uint32_t rank, uint64_t event);
/* The call that x is of has a part in the node, on the side `gives`. -1 without memory. */
int replay_part_add(struct replay *p, uint32_t rank, const struct pending *x, struct replay_node *node, int gives, uint8_t needs);

/* ---- replay_scan.c ---- */
/* The rank of the part has come to a scan of so many ranks. -1 without memory. */
int scan_come(struct replay *p, uint32_t rank, const struct replay_part *x, uint32_t n);
/* Whom a rank waited for in the scan, if it left it then. The result is valid until the next call for this scan. */
const struct replay_side *scan_needed(const struct replay *p, const struct replay_part *x, uint64_t leave_ns);
/* NULL is allowed. */
void scan_destroy(struct replay *p, struct replay_scan *s);

/* ---- replay_window.c ---- */
struct replay_windows *windows_create(uint32_t ranks);
void windows_destroy(struct replay_windows *w);
/* An event of a window. -1 without memory. */
int window_told(struct replay *p, const struct input_types *t, uint32_t rank, const struct pending *x);
/* Finds the locks that calls ended by `ns` waited for. Must run before any of these calls ends in the replay. */
void window_settle(struct replay *p, uint64_t ns);
/* The rank's call has ended in all cases. */
void window_call_ended(struct replay *p, uint32_t rank);

/* ---- blame.c ---- */
/* A rank waited in [from, until), in a call of a problem, for the activity of `cause`. Returns -1 without memory. */
int blame_wait(struct replay *p, uint32_t problem, uint32_t cause, uint64_t from, uint64_t until);
/* Writes the results to the problems of the report. Returns -1 without memory. */
int blame_tell(struct replay *p);

#endif
