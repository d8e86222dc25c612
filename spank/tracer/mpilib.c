/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reaching the MPI library by name: see mpilib.h. */
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

#include "spank/tracer/mpilib.h"

struct mpilib mpi;

#define MAX_MODULES 16

struct modules {
	int n;
	char path[MAX_MODULES][512];
};

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int note_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct modules *m = data;

	(void)size;
	if (m->n < MAX_MODULES && info->dlpi_name && !strncmp(base_name(info->dlpi_name), "libmpi", 6) &&
	    strlen(info->dlpi_name) < sizeof(m->path[0]))
		memcpy(m->path[m->n++], info->dlpi_name, strlen(info->dlpi_name) + 1);
	return 0;
}

/* Look into every loaded MPI library: one that was dlopen'ed locally is not in the global scope.
 * The list is taken first, because dlopen may not be called while the loader's list is locked. */
static void *find_in_modules(const char *name)
{
	struct modules m = {0};
	void *found = NULL;

	dl_iterate_phdr(note_module, &m);
	for (int i = 0; i < m.n && !found; i++) {
		void *h = dlopen(m.path[i], RTLD_LAZY | RTLD_NOLOAD);

		if (!h)
			continue;
		found = dlsym(h, name);
		dlclose(h);
	}
	return found;
}

static void *find(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);

	return p ? p : find_in_modules(name);
}

/* Data may have been moved into the executable (copy relocation, Fortran common), which RTLD_NEXT passes by. */
void *mpilib_object(const char *name)
{
	void *p = dlsym(RTLD_DEFAULT, name);

	return p ? p : find_in_modules(name);
}

void *mpilib_function(const char *name)
{
	char pname[80];
	void *f = find(name);

	if (!f && snprintf(pname, sizeof(pname), "%s%s", name[0] == 'M' ? "P" : "p", name) < (int)sizeof(pname))
		f = find(pname);
	return f;
}

int mpilib_load(void)
{
	MPI_Request null;

#define X(name) \
	if (!(mpi.name = (__typeof__(mpi.name))find("PMPI_" #name))) \
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
	mpi.request_null = (uint64_t)(uintptr_t)null;
	mpi.f_request_null = mpi.Request_c2f(null);
	mpi.f_in_place = mpilib_object("mpi_fortran_in_place_");
	mpi.f_status_ignore = mpilib_object("mpi_fortran_status_ignore_");
	mpi.f_statuses_ignore = mpilib_object("mpi_fortran_statuses_ignore_");
	mpi.f08_in_place = mpilib_object("MPIR_F08_MPI_IN_PLACE");
	mpi.f08_status_ignore = mpilib_object("MPIR_F08_MPI_STATUS_IGNORE_OBJ");
	mpi.f08_statuses_ignore = mpilib_object("MPIR_F08_MPI_STATUSES_IGNORE_OBJ");
	return mpi.world && mpi.self ? 0 : -1;
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
