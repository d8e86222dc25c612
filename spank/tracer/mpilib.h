/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The MPI library underneath: the one file for what differs between libraries, and the one way to reach it.
 *
 * There is one tracer per MPI library, of the same sources. None needs its libmpi (MPI may be dlopen'ed, and locally):
 * nothing here refers to a symbol of it; functions and the objects behind Open MPI's handle macros are found by name
 * at first use, with the loader's eyes (spank/loader/host.h).
 */
#ifndef PRECEDENT_SPANK_TRACER_MPILIB_H
#define PRECEDENT_SPANK_TRACER_MPILIB_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

/* Open MPI's MPI_COMM_WORLD, MPI_INT ... are addresses of objects in the library: look them up instead. */
#ifdef OMPI_PREDEFINED_GLOBAL
#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)mpilib_object(#global))
#endif

/* MPICH or one of its descendants: integer handles, Fortran that calls the C functions, launched by Hydra. */
#ifdef MPICH_VERSION
#define MPILIB_MPICH 1
#else
#define MPILIB_MPICH 0
#endif

/* Address of a data symbol of the library, or NULL. */
void *mpilib_object(const char *name);
/* A function by name, as the next definition after ours: "MPI_Send", else "PMPI_Send"; NULL when there is none. */
void *mpilib_function(const char *name);
/* What to call where there is none: it returns an error. */
void *mpilib_missing(const char *name);
/* The path of a library whose calls the tracer does not see, or NULL. */
const char *mpilib_passing(void);

/* A handle as a number: MPICH's are ints, half of them negative. */
#define MPILIB_BITS(handle) \
	(sizeof(handle) == sizeof(int) ? (uint64_t)(uint32_t)(uintptr_t)(handle) : (uint64_t)(uintptr_t)(handle))

/* What the recorder itself calls, always by the PMPI name. */
#define MPILIB_FUNCTIONS(X) \
	X(Abort) X(Comm_rank) X(Comm_size) X(Comm_remote_size) X(Comm_group) X(Comm_remote_group) X(Comm_test_inter) X(Comm_get_parent) \
	X(Comm_dup) X(Comm_free) X(Comm_set_errhandler) X(Group_size) X(Group_translate_ranks) \
	X(Group_free) X(Type_get_envelope) X(Type_get_contents) X(Type_get_name) X(Type_get_extent) \
	X(Type_size) X(Type_free) X(Op_commutative) X(Query_thread) \
	X(Get_library_version) X(Topo_test) X(Cartdim_get) X(Graph_neighbors_count) \
	X(Dist_graph_neighbors_count) X(Send) X(Recv) X(Sendrecv) X(Iprobe) X(Gather) X(Bcast) X(Barrier) X(Win_get_attr) \
	X(Win_get_group) X(File_get_amode) X(File_get_group) X(File_f2c)

/* Handles of C and of Fortran. In MPICH both are integers, and these are macros. */
#define MPILIB_CONVERSIONS(X) \
	X(Comm_f2c) X(Type_f2c) X(Op_f2c) X(Group_f2c) X(Win_f2c) X(Request_f2c) X(Request_c2f)
#ifdef MPICH_VERSION
#define MPILIB_CONVERT(name, to, from) static inline to mpilib_##name(from h) { return (to)h; }
MPILIB_CONVERT(Comm_f2c, MPI_Comm, MPI_Fint)
MPILIB_CONVERT(Type_f2c, MPI_Datatype, MPI_Fint)
MPILIB_CONVERT(Op_f2c, MPI_Op, MPI_Fint)
MPILIB_CONVERT(Group_f2c, MPI_Group, MPI_Fint)
MPILIB_CONVERT(Win_f2c, MPI_Win, MPI_Fint)
MPILIB_CONVERT(Request_f2c, MPI_Request, MPI_Fint)
MPILIB_CONVERT(Request_c2f, MPI_Fint, MPI_Request)
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
	/* where the address is that Fortran programs pass; NULL there when there is no Fortran */
	void **f_in_place, **f_status_ignore, **f_statuses_ignore;
	int f08_base;                 /* what mpi_f08 calls the first of several requests */
	void *f08_in_place, *f08_status_ignore, *f08_statuses_ignore; /* where mpi_f08 has its own */
};
extern struct mpilib mpi;

/* Fill `mpi`; -1 when a function is missing. Call after MPI_Init. */
int mpilib_load(void);

/* The constants that callers pass for ranks and tags, for whoever reads the spill file. */
struct spill_header;
void mpilib_tell_constants(struct spill_header *h);

/* A predefined operation's name, or NULL. */
const char *mpilib_op_name(MPI_Op op);

/* ints in a Fortran status, and where the source and the tag are */
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
