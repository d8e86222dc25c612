/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Access to the MPI library by name: see mpilib.h. */
#include <stddef.h>
#include <stdio.h>

#include "spank/loader/host.h"
#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "trace/format/spill_format.h"

struct mpilib mpi;

static const struct loader_host *host;

__attribute__((visibility("default"))) loader_tracer_begin precedent_tracer_begin;

int precedent_tracer_begin(const struct loader_host *h)
{
	if (h->version != LOADER_HOST_VERSION)
		return -1;
	host = h;
	return 0;
}

void *mpilib_object(const char *name)
{
	return host->object(name);
}

void *mpilib_function(const char *name)
{
	return host->function(name);
}

void *mpilib_missing(const char *name)
{
	return host->missing(name);
}

const char *mpilib_passing(void)
{
	return host->passing();
}

/* Find the addresses that Fortran programs pass as constants. In Open MPI these are objects. In MPICH's mpif.h
 * and mpi, these are variables in a common block. Its first Fortran call stores their addresses in variables of
 * the library. */
static void load_fortran(void)
{
	static void *none, *object[3];
	static const struct {
		const char *object, *variable;
		size_t member;
	} constant[3] = {
		{"mpi_fortran_in_place_", "MPIR_F_MPI_IN_PLACE", offsetof(struct mpilib, f_in_place)},
		{"mpi_fortran_status_ignore_", "MPI_F_STATUS_IGNORE", offsetof(struct mpilib, f_status_ignore)},
		{"mpi_fortran_statuses_ignore_", "MPI_F_STATUSES_IGNORE", offsetof(struct mpilib, f_statuses_ignore)}};

	for (int i = 0; i < 3; i++) {
		void **variable = MPILIB_MPICH ? mpilib_object(constant[i].variable) : &object[i];

		if (!MPILIB_MPICH)
			object[i] = mpilib_object(constant[i].object);
		*(void ***)((char *)&mpi + constant[i].member) = variable ? variable : &none;
	}
	if (MPILIB_MPICH) {
		mpi.f08_in_place = mpilib_object("MPIR_F08_MPI_IN_PLACE");
		mpi.f08_status_ignore = mpilib_object("MPIR_F08_MPI_STATUS_IGNORE_OBJ");
		mpi.f08_statuses_ignore = mpilib_object("MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
	}
}

/* 1; differs because of a fault in MPICH 4.0 (its issue 6270). */
static int first_index(void)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING + 1] = "";
	int len = 0, major, minor;

	if (!MPILIB_MPICH || mpi.Get_library_version(text, &len) != MPI_SUCCESS ||
	    sscanf(text, "MPICH Version: %d.%d", &major, &minor) != 2)
		return 1;
	return major == 4 && minor == 0 ? 0 : 1;
}

int mpilib_load(void)
{
	MPI_Request null;

#define X(name) \
	if (!(mpi.name = (__typeof__(mpi.name))mpilib_function("PMPI_" #name))) \
		return -1;
	MPILIB_FUNCTIONS(X)
#ifdef MPICH_VERSION
#undef X
#define X(name) mpi.name = MPILIB_CONVERSION(name);
#endif
	MPILIB_CONVERSIONS(X)
#undef X
	mpi.world = MPI_COMM_WORLD;
	mpi.self = MPI_COMM_SELF;
	null = MPI_REQUEST_NULL;
	mpi.request_null = MPILIB_BITS(null);
	mpi.f_request_null = mpi.Request_c2f(null);
	load_fortran();
	mpi.f08_base = first_index();
	return mpi.world && mpi.self ? 0 : -1;
}

void mpilib_tell_types(struct spill_live *live)
{
	const MPI_Datatype known[] = {
		MPI_CHAR, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_BYTE, MPI_PACKED, MPI_SHORT, MPI_UNSIGNED_SHORT, MPI_INT,
		MPI_UNSIGNED, MPI_LONG, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_FLOAT, MPI_DOUBLE,
		MPI_LONG_DOUBLE, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T,
		MPI_UINT64_T, MPI_C_BOOL, MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_AINT, MPI_OFFSET, MPI_CHARACTER,
		MPI_LOGICAL, MPI_INTEGER, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_COMPLEX, MPI_DOUBLE_COMPLEX};
	uint32_t n = 0;
	int size;

	_Static_assert(sizeof(known) / sizeof(*known) <= SPILL_TYPES_MAX, "room for all types");
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i] != MPI_DATATYPE_NULL && mpi.Type_size(known[i], &size) == MPI_SUCCESS && size > 0)
			live->type[n++] = (struct spill_type){HANDLE_KEY(known[i]), (uint64_t)size};
}

void mpilib_tell_constants(struct spill_header *h)
{
	h->any_source = MPI_ANY_SOURCE;
	h->proc_null = MPI_PROC_NULL;
	h->any_tag = MPI_ANY_TAG;
}

const char *mpilib_op_name(MPI_Op op)
{
#define OP(name) {#name, name}
	const struct {
		const char *name;
		MPI_Op op;
	} known[] = {OP(MPI_SUM),  OP(MPI_MAX), OP(MPI_MIN),    OP(MPI_PROD),   OP(MPI_LAND),
		     OP(MPI_BAND), OP(MPI_LOR), OP(MPI_BOR),    OP(MPI_LXOR),   OP(MPI_BXOR),
		     OP(MPI_MAXLOC), OP(MPI_MINLOC), OP(MPI_REPLACE), OP(MPI_NO_OP)};
#undef OP

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (known[i].op == op)
			return known[i].name;
	return NULL;
}
