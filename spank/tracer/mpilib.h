/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MPI library below the tracer. This is the only file with differences between MPI libraries, and the only
 * access to the library.
 *
 * The same sources are built once per MPI library. No tracer is linked to libmpi, since MPI may be loaded by
 * dlopen, even locally. Functions, and the objects behind Open MPI's handle macros, are found by name at first use,
 * through the loader (spank/loader/host.h).
 */
#ifndef PRECEDENT_SPANK_TRACER_MPILIB_H
#define PRECEDENT_SPANK_TRACER_MPILIB_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* In Open MPI, MPI_COMM_WORLD, MPI_INT ... are addresses of objects in the library. They are looked up by name
 * here. */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)mpilib_object(#global))
#endif

/* MPICH or a descendant: integer handles, Fortran that calls the C functions, launched by Hydra. */
#ifdef MPICH_VERSION
#define MPILIB_MPICH 1
#else
#define MPILIB_MPICH 0
#endif

/* Address of a data symbol of the library, or NULL. */
void *mpilib_object(const char *name);
/* The next definition of a function behind the tracer's: "MPI_Send", or else "PMPI_Send". NULL if there is none. */
void *mpilib_function(const char *name);
/* A replacement for a missing function, which returns an error. */
void *mpilib_missing(const char *name);
/* The path of a library whose calls bypass the tracer, or NULL. */
const char *mpilib_passing(void);

/* A handle as a number. MPICH's handles are ints, half of them negative. */
#define MPILIB_BITS(handle) \
	(sizeof(handle) == sizeof(int) ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

/* Functions that the recorder calls, always by their PMPI names. */
#define MPILIB_FUNCTIONS(X) \
	X(Abort) X(Comm_rank) X(Comm_size) X(Comm_remote_size) X(Comm_group) X(Comm_remote_group) X(Comm_test_inter) \
	X(Comm_get_parent) X(Comm_dup) X(Comm_free) X(Comm_set_errhandler) X(Group_size) X(Group_translate_ranks) \
	X(Group_free) X(Type_get_envelope) X(Type_get_contents) X(Type_get_name) X(Type_get_extent) \
	X(Type_size) X(Type_free) X(Op_commutative) X(Query_thread) \
	X(Get_library_version) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count) \
	X(Dist_graph_neighbors_count) X(Send) X(Recv) X(Sendrecv) X(Iprobe) X(Gather) X(Bcast) X(Barrier) X(Win_get_attr) \
	X(Win_get_group) X(File_get_amode) X(File_get_group) X(File_f2c) X(Test_cancelled)

/* Conversions between handles of C and Fortran. In MPICH both are integers, and these are macros.
 * Its statuses are alike. */
#define MPILIB_CONVERSIONS(X) \
	X(Comm_f2c) X(Type_f2c) X(Op_f2c) X(Group_f2c) X(Win_f2c) X(Request_f2c) X(Request_c2f) X(Status_f2c)
#ifdef MPICH_VERSION
#define MPILIB_CONVERT(name, to, from) static inline to mpilib_##name(from h) { return (to)h; }
MPILIB_CONVERT(Comm_f2c, MPI_Comm, MPI_Fint)
MPILIB_CONVERT(Type_f2c, MPI_Datatype, MPI_Fint)
MPILIB_CONVERT(Op_f2c, MPI_Op, MPI_Fint)
MPILIB_CONVERT(Group_f2c, MPI_Group, MPI_Fint)
MPILIB_CONVERT(Win_f2c, MPI_Win, MPI_Fint)
MPILIB_CONVERT(Request_f2c, MPI_Request, MPI_Fint)
MPILIB_CONVERT(Request_c2f, MPI_Fint, MPI_Request)
static inline int mpilib_Status_f2c(const MPI_Fint *f, MPI_Status *c)
{
	memcpy(c, f, sizeof(*c));
	return MPI_SUCCESS;
}
#define MPILIB_CONVERSION(name) mpilib_##name
#else
#define MPILIB_CONVERSION(name) PMPI_##name
#endif

struct mpilib {
#define X(name) __typeof__(PMPI_##name) *name;
	MPILIB_FUNCTIONS(X)
#undef X
#define X(name) __typeof__(MPILIB_CONVERSION(name)) *name;
	MPILIB_CONVERSIONS(X)
#undef X
	MPI_Comm world, self;
	uint64_t request_null;        /* as keys of requests.h */
	int f_request_null;
	/* Pointers to the addresses that Fortran programs pass; NULL without Fortran. */
	void **f_in_place, **f_status_ignore, **f_statuses_ignore;
	int f08_base;                 /* number of the first of several requests in mpi_f08 */
	void *f08_in_place, *f08_status_ignore, *f08_statuses_ignore; /* addresses in mpi_f08 */
};
extern struct mpilib mpi;

/* Fill `mpi` after MPI_Init. Returns 0, or -1 if a function is missing. */
int mpilib_load(void);

/* Store the constants for ranks and tags for readers of the spill file. */
struct spill_header;
void mpilib_tell_constants(struct spill_header *h);
struct spill_live;
/* Sizes of predefined datatypes, for the message of a send that does not return. */
void mpilib_tell_types(struct spill_live *live);

/* Name of a predefined operation, or NULL. */
const char *mpilib_op_name(MPI_Op op);

/* Size of a Fortran status in ints, and positions of source and tag. */
#ifdef OPEN_MPI
#define MPILIB_F_STATUS_SIZE ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)))
#define MPILIB_F_SOURCE 0
#define MPILIB_F_TAG    1
#elif defined(MPI_F_SOURCE)
#define MPILIB_F_STATUS_SIZE MPI_F_STATUS_SIZE
#define MPILIB_F_SOURCE MPI_F_SOURCE
#define MPILIB_F_TAG    MPI_F_TAG
#else
#define MPILIB_F_STATUS_SIZE ((int)(sizeof(MPI_Status) / sizeof(MPI_Fint)))
#define MPILIB_F_SOURCE 2
#define MPILIB_F_TAG    3
#endif

#endif
