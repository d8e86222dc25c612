/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Collectives as the walk over all ranks sees them. The k-th ordering call of one communicator is the same collective
 * for all its members; a rank that got something from others waits until these have entered. Memory is that of the
 * collectives under way: one is forgotten when all members have passed it, or have ended.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_COLL_H
#define PRECEDENT_TRACE_MESSAGES_COLL_H

#include "trace/messages/messages_match.h"

/* Whose entry comes before whose return. */
enum coll_order {
	COLL_FREE,      /* nobody's for certain */
	COLL_ALL,       /* those that give before those that take: barrier, allreduce, alltoall */
	COLL_FROM_ROOT, /* the root before those that take: bcast, scatter */
	COLL_TO_ROOT,   /* those that give before the root: reduce, gather */
	COLL_SCAN       /* those of lower rank before those that take */
};

struct coll_comm {
	struct coll_inst *ring; /* under way, oldest first */
	uint32_t head, n, cap;
	uint64_t base;          /* number of the oldest */
	uint32_t members, ended;
	bool broken;            /* its members contradict each other: no order follows from its calls */
};

/* What a rank waits in. */
struct coll_rank {
	uint64_t *passed; /* [index of the communicator]: calls so far */
	uint64_t k;
	uint32_t comm;
	bool held, sleeps; /* its part waits; the walk was told so */
};

struct coll {
	const struct msg_names *names;
	const struct trace_orders *orders;
	void *arg;
	void (*wake)(void *walk, uint32_t rank);
	void *walk;
	struct coll_comm *comm;
	struct coll_rank *rank;
	bool no_memory, stopped;
};

/* orders, arg and wake are the caller's. -1 without memory. */
int coll_open(struct coll *c, const struct msg_names *names);
void coll_close(struct coll *c);
/* The rank made the call; true when it has to wait: wake() tells the end of that. */
bool coll_enter(struct coll *c, uint32_t rank, const struct msg_op *op, const struct msg_at *at);
/* Nobody waits any longer in what this rank waits in. */
void coll_give_up(struct coll *c, uint32_t rank);
/* The rank's events have ended: it is missing in what follows. */
void coll_end(struct coll *c, uint32_t rank);

/* Order, place and data of a call of class TC_COLL. */
void coll_decode(const struct trace_rank *k, uint32_t rank, uint32_t sym, struct msg_op *op);

#endif
