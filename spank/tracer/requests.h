/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Request slots: the names of requests in the trace. A request takes the lowest free slot when it is created and
 * gives it back when it is completed (persistent ones: when freed), so that a loop repeats the same names.
 *
 * Handles do not identify requests: Open MPI gives one and the same handle to all sends that were complete at
 * once. So a request is looked up by handle and place first (the address of the program's variable), then by
 * handle alone, oldest first. Keys are C handles, or Fortran integers with KEY_FORTRAN. Messages of matched
 * probes take slots too (KEY_MESSAGE). All under the recorder's lock.
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
	REQ_ACTIVE = 8
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

/* The new request's slot, or TRACE_NULL without memory. */
int64_t request_new(uint64_t key, const void *place, unsigned flags);
/* Slot of a request, or TRACE_NULL when it is null or was created by a function that is only counted. */
int64_t request_find(uint64_t key, const void *place);
/* The same for the requests of one list: between two request_list calls no slot is given twice. */
void request_list(void);
int64_t request_find_next(uint64_t key, const void *place);
unsigned request_flags(int64_t slot);
/* A communicator that becomes known when the request completes: where the program wants its handle. */
void request_bind_comm(int64_t slot, const void *newcomm, int fortran, int64_t index);
void request_start(int64_t slot);
/* Completed: a persistent request becomes inactive, any other gives its slot back. */
void request_complete(int64_t slot);
/* Freed by MPI_Request_free. */
void request_drop(int64_t slot);

#endif
