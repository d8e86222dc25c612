/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communicators, datatypes, operations, windows and files of the program, as indexes into the rank's definitions. A
 * handle whose creation was not seen is examined at its first use. All functions need the recorder's lock.
 */
#ifndef PRECEDENT_SPANK_TRACER_HANDLES_H
#define PRECEDENT_SPANK_TRACER_HANDLES_H

#include <mpi.h>
#include <stdint.h>

#include "spank/tracer/hmap.h"
#include "spank/tracer/mpilib.h"
#include "trace/format/defs.h"
#include "trace/format/event.h"

/* Facts of a communicator that wrappers need. */
struct comm_info {
	int32_t rank, size; /* own rank and members of the own group */
	int32_t peers;      /* size of the remote group of an intercommunicator; else size */
	int8_t inter, live;
};

struct handles {
	struct hmap comm, type, op, win, file; /* handle -> index */
	struct comm_info *info;     /* by index of communicator */
	struct trace_comm *comm_def;
	struct trace_type *type_def;
	struct trace_op *op_def;
	struct trace_win *win_def;
	struct trace_file *file_def;
	uint32_t n_comm, n_type, n_op, n_win, n_file;
};
extern struct handles handles;

/* Define MPI_COMM_WORLD and MPI_COMM_SELF. Returns 0, or -1 if memory runs out. */
int handles_begin(void);
void handles_define(struct trace_defs *d); /* borrowed */

int64_t comm_define(MPI_Comm c);              /* at first use; returns the index or TRACE_NULL */
int64_t comm_define_like(int64_t like);       /* a duplicate whose handle is not known yet */
void comm_bind(MPI_Comm c, int64_t index);    /* sets the handle of such a duplicate */
int64_t comm_take(MPI_Comm c);                /* call before the handle is freed */
void comm_put_back(MPI_Comm c, int64_t index);
void comm_release(int64_t index);             /* call after the handle was freed */
/* Numbers of neighbours of this rank in a communicator with a topology. */
void comm_degrees(MPI_Comm c, int64_t index, int *in, int *out);

/* a communicator with these members, existing or new; frees the group */
int64_t comm_of_group(MPI_Group g);

/* comm: the communicator of the window or file; TRACE_NULL if not known. */
int64_t win_define(MPI_Win w, int64_t comm);
int64_t file_define(MPI_File f, int64_t comm, const char *name, int64_t len); /* len -1: name ends with a NUL */
int64_t win_take(MPI_Win w);                  /* call before the handle is freed, as for communicators */
int64_t file_take(MPI_File f);
void win_put_back(MPI_Win w, int64_t index);
void file_put_back(MPI_File f, int64_t index);
void win_release(int64_t index);
void file_release(int64_t index);
/* The displacement; TRACE_UNDEFINED if the call site has too many different ones. */
int64_t disp_of_site(uint32_t site, int64_t disp);
struct rec_thread;
/* Translate a group to ranks of the window's group. t->group has them until the call ends. */
void win_group_find(struct rec_thread *t, MPI_Group g, MPI_Win w);
/* The same, and store the group in the spill file: the call may not return. Call without the lock. */
void win_group_before(struct rec_thread *t, MPI_Group g, MPI_Win w);

int64_t type_define(MPI_Datatype t);
int64_t op_define(MPI_Op op);
/* A function of the program, among the operations: the name stays where it is, and has a parenthesis. */
int64_t own_define(const char *name);

/* Handles are pointers (Open MPI) or small integers (MPICH); keys are never 0. */
#define HANDLE_KEY(h) (MPILIB_BITS(h) + 1)
/* Index of a handle that was seen before, or TRACE_NULL; does not call the library. */
static inline int64_t rec_known(const struct hmap *map, uint64_t key)
{
	int32_t i = hmap_get(map, key);

	return i >= 0 ? i : TRACE_NULL;
}

/* Index of a communicator with processes outside of this MPI_COMM_WORLD: examined once, TRACE_NULL in the trace. */
#define HANDLE_FOREIGN (-2)

static inline int64_t rec_comm(MPI_Comm c, int *slow)
{
	int32_t i = hmap_get(&handles.comm, HANDLE_KEY(c));

	if (__builtin_expect(i >= 0, 1))
		return i;
	if (i == HANDLE_FOREIGN)
		return TRACE_NULL;
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

static inline int64_t rec_win(MPI_Win w, int *slow)
{
	int32_t i = hmap_get(&handles.win, HANDLE_KEY(w));

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return win_define(w, TRACE_NULL);
}

static inline int64_t rec_file(MPI_File f, int *slow)
{
	int32_t i = hmap_get(&handles.file, HANDLE_KEY(f));

	if (__builtin_expect(i >= 0, 1))
		return i;
	*slow = 1;
	return file_define(f, TRACE_NULL, "", 0);
}

#endif
