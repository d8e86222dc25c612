/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Roles of calls: a call may start or complete requests, open or close epochs, make or free objects, and take part in a
 * collective. A run can be cut where nothing is left open.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_CALL_ROLES_H
#define PRECEDENT_SKELGEN_PIECES_CALL_ROLES_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "skelgen/pieces/probed.h"
#include "trace/read/reader.h"

enum role_object { ROLE_NO_OBJECT, ROLE_COMM, ROLE_WIN, ROLE_LOCK_ALL, ROLE_FILE, ROLE_PERSISTENT };

struct call_role {
	bool always;           /* MPI_Init, MPI_Finalize: made in every excerpt */
	uint8_t object;        /* enum role_object of makes and frees; epochs of MPI_Win_lock_all may be objects */
	int32_t makes, frees;  /* number of the object; -1: none; both -1: the communicator is made on other ranks alone */
	int64_t slot;          /* request or message that the call leaves open; -1: none */
	int64_t single;        /* `starts` or `ends`, if that is one slot that is no array */
	const int64_t *starts, *ends; /* requests that it starts again, and completes or frees */
	uint32_t n_starts, n_ends;
	uint64_t envelope;     /* of the send or receive that the call starts or makes persistent; 0: another call */
	uint64_t request;      /* the same for requests that can stand for each other: receives alike but for the slot */
	struct probed_call probed; /* what it does with a message that a probe finds */
	uint64_t collective;   /* hash of the communicator on which it is collective; 0: none, or no others are in it */
	int64_t weight;        /* of this rank; the weights of all that take part add up to 0 */
	uint32_t counter;      /* of calls on this communicator: an index below n_counter */
	uint64_t epoch;        /* hash of the epoch that it opens or closes; 0: none */
	int8_t opens;          /* 1: opens the epoch, -1: closes it, 0: closes it and may open another (a fence) */
	uint64_t accesses;     /* hash of the epoch in which its window is accessed, if fences open it; 0: no access */
	uint64_t exposure;     /* of MPI_Win_start and MPI_Win_post; a start and its posts add up to 0 */
};

/* Most calls that differ in their sizes have the same role. */
struct call_roles {
	uint32_t n, n_counter, n_role;
	uint32_t n_slot;        /* of requests; 0: requests persist, and an excerpt keeps their slots */
	uint32_t *of;           /* by symbol: number of its role */
	struct call_role *role; /* all differ */
	bool open_requests;    /* a cut may have sends and receives open: rank_walk() tells them as epochs, and not as pairs */
	bool under_way;         /* a cut may have messages under way: see under_way.h */
	bool any_slots;         /* the open requests may be in other slots at each cut, if n_slot > 0 */
};

static inline const struct call_role *call_role_of(const struct call_roles *r, uint32_t sym)
{
	return &r->role[r->of[sym]];
}

/* Does a rank lock a window exclusively? It waits for the ranks that have locked the window with MPI_Win_lock_all. */
bool call_roles_exclude(const struct trace *t);
/* The roles of a rank's symbols. exclusive: call_roles_exclude(). Returns 0; -1 with the reason, also for calls that no
 * excerpt can leave out. */
int call_roles_build(const struct trace_defs *d, uint32_t rank, bool exclusive, struct call_roles *out,
		     struct errbuf *err);
void call_roles_free(struct call_roles *r);

/* The same on all ranks of a collective call, which is number `count` of its rank on the communicator. */
uint64_t call_role_key(const struct call_role *r, uint64_t count);

struct open_requests;

/* What rank_walk() tells in the order of the rank's calls. NULL: not wanted. */
struct walk_listener {
	void *arg;
	/* Calls `first` and `last` of the rank belong together: a cut may not part them. */
	void (*pair)(void *arg, uint64_t first, uint64_t last);
	/* The call is number `count` of its rank on its communicator. */
	void (*collective)(void *arg, uint64_t event, const struct call_role *role, uint64_t count);
	/* Before each call: hash of the epochs, sends and receives that are open. */
	void (*before)(void *arg, uint64_t event, uint64_t open, const struct open_requests *requests);
	/* The call is MPI_Win_start or MPI_Win_post. */
	void (*exposure)(void *arg, uint64_t event, uint64_t exposure);
};

/* Returns 0, or -1 without memory. */
int rank_walk(const struct trace_rank *rank, const struct call_roles *roles, const struct walk_listener *l, struct errbuf *err);

#endif
