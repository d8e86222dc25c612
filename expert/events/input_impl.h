/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the input share: see input.h. */
#ifndef PRECEDENT_EXPERT_INPUT_IMPL_H
#define PRECEDENT_EXPERT_INPUT_IMPL_H

#include "expert/events/input.h"
#include "expert/events/input_shortage.h"
#include "trace/clock/clock.h"
#include "trace/ending/ending.h"
#include "trace/messages/messages_names.h"

enum input_kind {
	IK_OTHER, IK_OWN_CALL, IK_OWN_RETURN, IK_COLL, IK_NEIGHBOURS, IK_FILE_COLL, IK_FILE, IK_PROBE, IK_WINDOW,
	IK_LOCK, IK_UNLOCK, IK_LOCK_ALL, IK_UNLOCK_ALL, IK_FLUSH, IK_FENCE, IK_POST, IK_START, IK_COMPLETE, IK_WAIT /* of a window */
};

/* A signature beyond what the matching of messages knows of it. */
struct input_sig {
	uint8_t kind;           /* enum input_kind */
	bool starts_request, persistent, is_root, is_exclusive, sends_and_receives, is_write, is_synchronous, is_file;
	bool is_poll; /* found something at last: it waited since it first asked */
	uint32_t type;          /* of the structure */
	uint32_t comm, size;    /* number over all ranks; members */
	uint32_t comm_index;    /* of the rank's definitions */
	uint32_t place;         /* of a scan: the rank's number in the communicator */
	int64_t root, bytes, request;
	int64_t window, file;   /* indexes of the rank's definitions */
	int64_t target;         /* world rank */
	const int64_t *group;   /* ranks in the window */
	uint32_t n_group;
	uint32_t function;      /* number of the string */
	int64_t site;
};

#define INPUT_VALUES 24
/* Where outside_start_time stands among the values of a send and of a receive. */
#define INPUT_SEND_OUTSIDE 10
#define INPUT_RECV_OUTSIDE 13

/* An event that is not told yet. */
struct pending {
	uint32_t type;
	bool done, is_receive, is_send;
	bool is_own;            /* a function of the program: comes when it returns */
	uint8_t wait;           /* place of wait_start_time in v, 0: it has none */
	uint8_t done_by;        /* the same of wait_function, behind which is wait_site */
	uint32_t sym;           /* of the call */
	uint32_t channel;       /* of a message, MSG_NONE: not known */
	uint32_t place;         /* of a scan: the rank's number in the communicator */
	uint64_t done_event;    /* the call that completed it */
	struct engine_simple s;
	union rules_value v[INPUT_VALUES];
};

struct input_slot {
	uint64_t pending;       /* number of the event + 1, 0: none */
	uint32_t sym;           /* that made a persistent request, MSG_NONE */
	uint32_t more;          /* events of the same request, behind the first */
};

struct input_window {
	uint64_t created;       /* times */
	int64_t number;         /* of the one that there is now */
	uint64_t access, exposure, fences; /* epochs */
	const struct input_sig *start, *post; /* what began them */
	int64_t flushed;           /* target of the first flush since it was locked, -1: none, INPUT_ALL: all */
	uint64_t flush_enter_ns, flush_leave_ns;
};
#define INPUT_ALL INT64_MAX

/* Whom a rank exchanges with in a communicator with a topology: ranks of the world, MSG_NONE for none. */
struct input_topology {
	uint32_t *from, *to;
	uint32_t n_from, n_to;
};

/* Messages that a rank sends to another one, at most INPUT_BURST_GAP_NS apart, and receives nothing meanwhile. */
#define INPUT_BURSTS       16 /* under way on a rank */
#define INPUT_BURST_GAP_NS 100000u
#define INPUT_BURST_FIRST  32 /* sends by which it is known how long one takes */
#define INPUT_BURST_ODD    10 /* times the median: a send whose rank had no processor, or no receiver */
struct input_burst {
	uint32_t dest, count, sym;
	uint64_t bytes, largest, event, left_ns;
	uint64_t ns, usual_ns; /* ns: duration of the sends if there are more than INPUT_BURST_FIRST, outliers counted
			        * as the median; usual_ns: the median */
	bool untimed;
	uint64_t first_ns[INPUT_BURST_FIRST]; /* as many as count says */
};

#define INPUT_LOOP_LEAST 4 /* passes */

/* The loop that most of a rank's events lie in. */
struct input_loop {
	uint64_t first, length, count; /* events; count 0: there is none */
	uint64_t pass;                 /* that the rank is in */
	uint64_t begin_ns, computed_ns, total_ns, later_ns; /* the last one without the first pass */
	bool untimed;
};

struct input_params;
struct input_own;

struct input_rank {
	struct trace_iter *it;
	struct msg_ops ops;
	struct input_sig *sig;
	struct pending *ring;   /* events [first, last), at their number modulo cap */
	uint64_t first, last;
	uint32_t cap;
	struct input_slot *slot;
	uint32_t n_slot;
	uint64_t *instance;     /* collectives so far, by communicator */
	uint64_t *file_instance;  /* the same, by file */
	struct input_window *win;
	struct input_topology *topology; /* of each communicator */
	struct input_burst burst[INPUT_BURSTS];
	uint32_t bursting;      /* those under way: a bit for each */
	struct input_loop loop;
	struct input_shortage shortage;
	struct {
		uint32_t channel;      /* MSG_NONE: none */
		uint64_t enter_ns;
		uint64_t pending;      /* number of its event + 1, 0: none */
	} probe;                       /* that the receive which follows is for */
	struct input_own *own;         /* calls of the program's own functions, or NULL */
	uint64_t received;             /* receives so far */
	uint64_t computed_ns, in_files_ns, n_calls, untimed;
	uint64_t begin_ns, end_ns;
	uint64_t outside_ns;           /* end of the last MPI call before the current one; if the rank polled in vain
				        * meanwhile, the beginning of the current call */
	bool begun, ended;             /* was told */
	bool is_server;
};

#define INPUT_TYPES 64

/* Types of the structures. */
struct input_types {
	uint32_t call, send, recv, barrier, to_one, from_one, to_all, scan, window, lock, unlock, post, start, complete, wait;
	uint32_t fence, neighbour, neighbour_data, file_coll, file, burst, iteration, begin, end, stop;
	/* no structures of the rules, told to others than the engine only: */
	uint32_t probe; /* v[0]: the receive's call */
	uint32_t flush; /* v[0], v[1]: window, target or INPUT_ALL */
};

struct input {
	const struct trace *t;
	struct engine *e;
	struct input_clock *clock;
	struct msg_names names;
	struct input_types type;
	uint8_t n_value[INPUT_TYPES]; /* number of values; set for structures with small numbers, as calls have */
	uint8_t done_by[INPUT_TYPES]; /* place of wait_function among the values, 0: none */
	struct input_rank *rank;
	struct input_report *report;
	struct errbuf *err;
	bool wants_calls;
	struct input_params *params; /* set if the engine wants calls */
	int (*told)(void *arg, const struct input *in, const struct pending *p, struct errbuf *err); /* NULL: the engine */
	void *arg;
	bool locks_exclude;       /* some rank asks for an exclusive lock */
	bool has_servers;
	uint32_t loop_ranks;      /* ranks whose main loop has the most common number of iterations */
	uint32_t hosts;
	uint32_t *host, *on_host; /* [rank]: number of the string; ranks there */
	uint32_t *on_set;         /* [rank]: ranks there that may use the same processors */
	struct ending *ending;    /* of a run that did not reach MPI_Finalize; or NULL */
	uint32_t *network;        /* number of the string that names the switches over its host, 0: unknown */
};

/* How many values an event of that type has, at most. */
static inline uint32_t input_values(const struct input *in, uint32_t type)
{
	return type < INPUT_TYPES && in->n_value[type] ? in->n_value[type] : INPUT_VALUES;
}

/* One call of a rank. */
struct input_call {
	uint64_t enter_ns, leave_ns, gap_ns;
	uint64_t event;
	uint32_t sym;
	bool timed;
};

/* ---- input.c ---- */
/* input_run, but all events, calls among them, are told to somebody else; e gives numbers of types and strings. */
int input_watch(const struct trace *t, struct input_clock *clock, struct engine *e,
		int (*told)(void *arg, const struct input *in, const struct pending *p, struct errbuf *err), void *arg,
		void (*progress)(double share), struct errbuf *err);

/* ---- input_sig.c ---- */
/* All signatures of a rank; NULL without memory. */
struct input_sig *input_decode_rank(struct input *in, uint32_t rank);

/* Neighbours in each of its communicators; NULL without memory. */
struct input_topology *input_topologies(struct input *in, uint32_t rank);
void input_topologies_free(struct input_topology *t, uint32_t n);

/* ---- input_rank.c: facts from many calls of a rank ---- */
/* Main loops and hosts of all ranks. -1 without memory. */
int input_ranks_open(struct input *in);
/* Before and after the call's own events are put into the ring. -1 without memory. */
int input_rank_before(struct input *in, uint32_t rank, const struct input_call *c);
int input_rank_after(struct input *in, uint32_t rank, const struct input_call *c);
/* The rank has no more calls. */
int input_rank_end(struct input *in, uint32_t rank);
/* It sent, and: it received, or waited for others. */
int input_burst_add(struct input *in, uint32_t rank, const struct input_call *c, uint32_t dest, uint64_t bytes);
int input_bursts_end(struct input *in, uint32_t rank, const struct input_call *c);

/* ---- input_stop.c ---- */
/* Find why the run did not reach MPI_Finalize, if a rule asks for it. -1 on error. */
int input_stops_open(struct input *in);
/* Tell the reasons in which the rank is. c: its last call. -1 without memory. */
int input_stops(struct input *in, uint32_t rank, const struct input_call *c);

/* ---- input_server.c ---- */
/* Sets is_server of all ranks, and has_servers. -1 without memory. */
int input_servers_find(struct input *in);

/* ---- input_window.c: windows and files ---- */
int input_window_call(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g);
int input_file_call(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g);

/* ---- input_params.c ---- */
/* Where the parameters of each function stand in the structure function_call, which is borrowed. NULL without memory. */
struct input_params *input_params_create(const struct rules_struct *call);
/* All values of function_call but the first, RULES_MAX_PARAMS at most. */
void input_params_fill(struct input *in, uint32_t rank, uint32_t sym, union rules_value *v);

/* ---- input_own.c ---- */
/* The functions of the program that the rules have structures for; none: the rank's own stays NULL. -1 without memory. */
int input_own_create(struct input *in, uint32_t rank);
void input_own_destroy(struct input_own *o);
/* A function of the program was called, or has returned: then its event is in the ring. -1 without memory. */
int input_own_call(struct input *in, uint32_t rank, const struct input_call *c, bool is_return);

/* ---- input_call.c ---- */
/* A new event in the rank's ring, of that call; NULL without memory. */
struct pending *input_append(struct input *in, uint32_t rank, const struct input_call *c, uint32_t type);
struct pending *input_last(const struct input_rank *k);
/* A part in a collective; the event is the last of the ring then. */
int input_collective(struct input *in, uint32_t rank, const struct input_call *c, const struct input_sig *g, uint64_t instance,
		     uint32_t made_by, int64_t slot);
/* What a call is to the rules goes into the rank's ring. -1 without memory. */
int input_call(struct input *in, uint32_t rank, const struct input_call *c);
/* Nothing more is known of the oldest event, if it is still under way. */
void input_give_up(struct input *in, struct pending *p);

#endif
