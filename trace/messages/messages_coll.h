/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The order that collectives impose, in one walk over all ranks. The k-th collective call of a communicator is the
 * same collective for all its members. A rank that receives data from other ranks waits until these ranks have
 * entered. Only collectives in progress are held in memory. A collective is freed when all its members have passed
 * it or have ended.
 */
#ifndef PRECEDENT_TRACE_MESSAGES_COLL_H
#define PRECEDENT_TRACE_MESSAGES_COLL_H

#include "trace/messages/messages_match.h"

/* Whose entry must come before whose return. */
enum coll_order {
	COLL_FREE,      /* no order for certain */
	COLL_ALL,       /* ranks that give data before ranks that take data: barrier, allreduce, alltoall */
	COLL_FROM_ROOT, /* the root before the ranks that take data: bcast, scatter */
	COLL_TO_ROOT,   /* the ranks that give data before the root: reduce, gather */
	COLL_SCAN       /* ranks that give data before higher ranks that take data */
};

struct coll_comm {
	struct coll_inst *ring; /* collectives in progress, oldest first */
	uint32_t head, n, cap;
	uint64_t base;          /* number of the oldest collective in the ring */
	uint32_t members, ended;
	bool broken;            /* the members' calls contradict each other; no order follows from them */
};

/* The state of a rank in its collectives. */
struct coll_rank {
	uint64_t *passed; /* [index of the communicator]: collective calls so far */
	uint64_t k;
	uint32_t comm;
	bool held, sleeps; /* its part waits; the walk was told that it waits */
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

/* The caller sets orders, arg and wake before. Returns 0 on success, -1 if memory runs out. */
int coll_open(struct coll *c, const struct msg_names *names);
void coll_close(struct coll *c);
/* The rank made the collective call. Returns true if the rank has to wait until wake() is called for it. */
bool coll_enter(struct coll *c, uint32_t rank, const struct msg_op *op, const struct msg_at *at);
/* End the wait in the collective in which this rank waits, for all its members. */
void coll_give_up(struct coll *c, uint32_t rank);
/* The events of the rank have ended: later collectives do not wait for the rank. */
void coll_end(struct coll *c, uint32_t rank);

/* Decode order, place and data of a call of class TC_COLL. */
void coll_decode(const struct trace_rank *k, uint32_t rank, uint32_t sym, struct msg_op *op);

#endif
