/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communicators, datatypes and operations of the program, named by indexes into the rank's definitions.
 * A handle that was not seen being created is looked at when it is first used. All under the recorder's lock.
 */
#ifndef PRECEDENT_SPANK_TRACER_HANDLES_H
#define PRECEDENT_SPANK_TRACER_HANDLES_H

#include <mpi.h>
#include <stdint.h>

#include "spank/tracer/hmap.h"
#include "spank/tracer/mpilib.h"
#include "trace/defs.h"

/* What a wrapper must know of a communicator. */
struct comm_info {
	int32_t rank, size; /* own rank and members of the own group */
	int32_t peers;      /* members of the other group of an intercommunicator, else size */
	int8_t inter, live;
};

struct handles {
	struct hmap comm, type, op; /* handle -> index */
	struct comm_info *info;     /* by index of communicator */
	struct trace_comm *comm_def;
	struct trace_type *type_def;
	struct trace_op *op_def;
	uint32_t n_comm, n_type, n_op;
};
extern struct handles handles;

/* Defines MPI_COMM_WORLD and MPI_COMM_SELF; -1 without memory. */
int handles_begin(void);
void handles_define(struct trace_defs *d); /* borrowed */

int64_t comm_define(MPI_Comm c);              /* first use: index, or TRACE_NULL */
int64_t comm_define_like(int64_t like);       /* a duplicate whose handle is not known yet */
void comm_bind(MPI_Comm c, int64_t index);    /* now it is */
int64_t comm_take(MPI_Comm c);                /* about to be freed */
void comm_put_back(MPI_Comm c, int64_t index);
void comm_release(int64_t index);             /* was freed */
/* Neighbours of this rank in a communicator with a topology. */
void comm_degrees(MPI_Comm c, int64_t index, int *in, int *out);

int64_t type_define(MPI_Datatype t);
int64_t op_define(MPI_Op op);

/* Handles are pointers (Open MPI) or small integers (MPICH): keys are never 0. */
#define HANDLE_KEY(h) (MPILIB_BITS(h) + 1)

static inline int64_t rec_comm(MPI_Comm c, int *slow)
{
	int32_t i = hmap_get(&handles.comm, HANDLE_KEY(c));

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return comm_define(c);
}

static inline int64_t rec_type(MPI_Datatype t, int *slow)
{
	int32_t i = hmap_get(&handles.type, HANDLE_KEY(t));

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return type_define(t);
}

static inline int64_t rec_op(MPI_Op op, int *slow)
{
	int32_t i = hmap_get(&handles.op, HANDLE_KEY(op));

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return op_define(op);
}

#endif
