/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Why a run did not reach MPI_Finalize: where each rank was, which ranks it waited for, and why they never came.
 *
 * Ranks and their waits are a wait-for graph. A wait names the ranks of which one is enough; a rank waits for all its
 * waits, or for any of them (MPI_Waitany). A rank can go on if it is outside of MPI or if ranks that can go on fulfil
 * its waits. The other ranks hang. Algorithm: Hilbrich, Protze, Schulz, de Supinski, Mueller, "MPI Runtime Error
 * Detection with MUST: Advances in Deadlock Detection" (2012), sections 2 and 3.
 */
#ifndef PRECEDENT_TRACE_ENDING_H
#define PRECEDENT_TRACE_ENDING_H

#include "trace/read/reader.h"

#define ENDING_NONE UINT32_MAX

enum ending_where {
	ENDING_ABSENT,   /* the trace lacks this rank */
	ENDING_FINISHED, /* it has entered MPI_Finalize */
	ENDING_ABORTS,   /* it has called MPI_Abort */
	ENDING_INSIDE,   /* in a call that did not return */
	ENDING_OUTSIDE   /* in no MPI call */
};

enum ending_need {
	NEED_MESSAGE,  /* that a peer sends */
	NEED_RECEIVE,  /* that the peer receives */
	NEED_ENTRY,    /* that all peers enter the collective */
	NEED_POST,     /* that all peers call MPI_Win_post */
	NEED_COMPLETE, /* that all peers call MPI_Win_complete */
	NEED_UNLOCK,   /* that all peers unlock the window */
	NEED_UNKNOWN   /* the trace does not tell */
};

struct ending_wait {
	uint8_t need;
	bool any;             /* one of the peers is enough */
	uint32_t symbol;      /* that made the request; ENDING_NONE: the call itself */
	/* ranks in MPI_COMM_WORLD that have not done what is needed; without the rank itself unless n_peer is 1 */
	const uint32_t *peer;
	uint32_t n_peer, one; /* one: room for a single peer */
	int64_t tag;          /* of the message, or TRACE_ANY_TAG */
	int64_t other_tag;    /* of a message from or to that peer that nobody receives; TRACE_NULL: none */
	uint64_t bytes;       /* of the message that is sent; 0: not known */
};

struct ending_rank {
	uint8_t where;        /* enum ending_where */
	bool hangs;           /* its waits will never be fulfilled */
	bool any;             /* one of its waits is enough */
	uint32_t last;        /* symbol of the last call that returned; ENDING_NONE: none */
	double seconds;       /* in the call */
	const struct trace_in_call *call;
	uint32_t *request;    /* symbols of the calls that made the requests under way */
	uint32_t n_request;
	struct ending_wait *wait; /* that are not fulfilled; for all of them or, with `any`, for one of them */
	uint32_t n_wait;
};

/* Why. Findings are in this order. */
enum ending_kind {
	ENDING_DIED,             /* rank[0] ended before all others, in the middle of its work */
	ENDING_ABORTED,          /* these ranks called MPI_Abort */
	ENDING_OTHER_COLLECTIVE, /* rank[0] made call[0], rank[1] call[1], as the same collective */
	ENDING_DEADLOCK,         /* each rank waits for the next, the last for the first */
	ENDING_KNOT,             /* each rank waits for any of the others */
	ENDING_NO_MESSAGE,       /* rank[0] waits for a message; nobody will send it, as all possible senders have ended */
	ENDING_NO_RECEIVE,       /* rank[0] sends to a rank that has ended */
	ENDING_NO_ENTRY,         /* rank[0] is in a collective that ranks have not entered that have ended */
	ENDING_NO_POST,          /* rank[0] begins an epoch of a window, and a target has ended that did not post */
	ENDING_NO_COMPLETE,      /* rank[0] waits for the end of an epoch; an origin has ended that did not complete */
	ENDING_NO_UNLOCK,        /* rank[0] waits for a lock whose holder has ended */
	ENDING_FAILED,           /* rank[0] is the only one in a call that waits for no other rank; no other finding */
	ENDING_KILLED,           /* no other finding: these ranks were killed together, at work */
	ENDING_COMPUTES          /* all other ranks that are in MPI wait in the end for rank[0], which is outside of MPI */
};

/* A collective call. */
struct ending_call {
	uint32_t fn, site;       /* site: in the definitions of its rank, or ENDING_NONE */
	int64_t root;            /* TRACE_IN_CALL_NONE: no root */
};

struct ending_finding {
	uint8_t kind;            /* enum ending_kind */
	uint32_t *rank, n_rank;
	struct ending_call call[2]; /* ENDING_OTHER_COLLECTIVE */
	uint32_t wait;           /* ENDING_NO_...: index of the wait of rank[0] */
};

struct ending {
	const struct trace *t;
	uint32_t n_ranks;
	struct ending_rank *rank;
	struct ending_finding *finding;
	uint32_t n_finding;
	uint32_t n_hang;         /* ranks that hang */
	void *own;
};

/* Did this rank fail to complete MPI_Finalize? */
bool ending_is_open(const struct trace *t, uint32_t rank);
/* The rank that ended before all others, or ENDING_NONE. */
uint32_t ending_first(const struct trace *t);
/* How the ranks ended on the node of the first that ended. Ends are compared on one node, as clocks of nodes differ. */
struct ending_ends {
	const char *host;    /* the node, if other ranks were on other nodes; NULL: these are all ranks */
	double within_s;     /* between the first end and the last; INFINITY: not known */
	int launcher_signal; /* that killed the launcher; 0: none */
	bool killed;         /* the whole run was killed */
	bool perhaps;        /* the whole run was killed, or the first rank ended and the launcher killed the others */
};
struct ending_ends ending_ends(const struct trace *t);
/* The kind's name for machines and rules: "deadlock", "no-message". */
const char *ending_kind_name(uint8_t kind);
/* The id of the problem of the rules that the kind belongs to. */
const char *ending_id(uint8_t kind);
/* NULL on error (err says why). A run that ended well has no findings. */
struct ending *ending_create(const struct trace *t, struct errbuf *err);
void ending_destroy(struct ending *e);

#endif
