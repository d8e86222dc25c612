/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request slots: numbers of requests in the trace. A request takes the lowest free slot at its creation, and
 * releases the slot at its completion (a persistent request: when freed). So a loop repeats the same numbers.
 *
 * Handles do not identify requests: in Open MPI, all sends that completed at once share a handle. So a request is
 * looked up by handle and place (address of the program's variable), or else by handle alone, oldest first. Keys
 * are C handles, or Fortran integers with KEY_FORTRAN. Matched-probe messages also take slots (KEY_MESSAGE). All
 * functions need the recorder's lock.
 */
#ifndef PRECEDENT_SPANK_TRACER_REQUESTS_H
#define PRECEDENT_SPANK_TRACER_REQUESTS_H

#include <mpi.h>
#include <stdint.h>

#include "spank/tracer/mpilib.h"

#define KEY_FORTRAN (1ull << 63)
#define KEY_MESSAGE (1ull << 62)

enum {
	REQ_PERSISTENT = 1,
	REQ_WILD_SRC = 2,
	REQ_WILD_TAG = 4,
	REQ_ACTIVE = 8,
	REQ_CANCELLED = 16 /* MPI_Cancel was called for it; it may complete with a message nevertheless */
};
#define REQ_WILD (REQ_WILD_SRC | REQ_WILD_TAG)

static inline uint64_t key_c(MPI_Request r)
{
	return MPILIB_BITS(r);
}

static inline uint64_t key_f(MPI_Fint r)
{
	return KEY_FORTRAN | (uint32_t)r;
}

static inline uint64_t key_message_c(MPI_Message m)
{
	return KEY_MESSAGE | MPILIB_BITS(m);
}

static inline uint64_t key_message_f(MPI_Fint m)
{
	return KEY_FORTRAN | KEY_MESSAGE | (uint32_t)m;
}

static inline int key_is_null(uint64_t key)
{
	return key == mpi.request_null || key == key_f(mpi.f_request_null);
}

/* Slot of a new request; TRACE_NULL if memory runs out. */
int64_t request_new(uint64_t key, const void *place, unsigned flags);
/* Slot of a request. TRACE_NULL if it is null, or if a function that is only counted created it. */
int64_t request_find(uint64_t key, const void *place);
/* Like request_find, for the requests of one list: between two calls of request_list, no slot is found twice. */
void request_list(void);
int64_t request_find_next(uint64_t key, const void *place);
unsigned request_flags(int64_t slot);
/* Note the variable that receives a communicator's handle; the handle is known when the request completes. */
void request_bind_comm(int64_t slot, const void *newcomm, int fortran, int64_t index);
void request_start(int64_t slot);
void request_cancel(int64_t slot);
/* A persistent request becomes inactive; any other request releases its slot. */
void request_complete(int64_t slot);
/* Call for MPI_Request_free. */
void request_drop(int64_t slot);

#endif
