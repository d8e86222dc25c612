/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the entries lead: see loader.h. */
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/loader/host.h"
#include "spank/loader/loader.h"

enum { UNDECIDED, REAL, TRACED };

static atomic_int decided;
static _Atomic(void *) tracer; /* set before `decided` says so */

static int unavailable(void)
{
	return 16; /* MPI_ERR_OTHER, or any other error */
}

/* MPI_Initialized and MPI_Finalized without MPI: in C and Fortran the first argument is the flag. */
static int never(int *flag)
{
	*flag = 0;
	return 0;
}

static void *missing(const char *name)
{
	static const char *const quiet[] = {"MPI_Initialized", "MPI_Finalized", "mpi_initialized_", "mpi_finalized_",
					    "mpi_initialized_f08_", "mpi_finalized_f08_"};

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		if (!strcmp(name, quiet[i]))
			return (void *)never;
	dprintf(STDERR_FILENO, "precedent: %s was called, but no MPI library that has it is loaded\n", name);
	return (void *)unavailable;
}

static const struct loader_host host = {
	.version = LOADER_HOST_VERSION,
	.function = library_function,
	.object = library_object,
	.missing = missing,
};

static bool is_set(const char *name)
{
	const char *v = getenv(name);

	return v && *v;
}

static void *open_beside(const char *loader, const char *file)
{
	char path[PATH_MAX + 64];
	const char *slash = strrchr(loader, '/');
	int dir = slash ? (int)(slash - loader + 1) : 0;

	if (snprintf(path, sizeof(path), "%.*s%s", dir, loader, file) >= (int)sizeof(path) || access(path, R_OK))
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* The tracer lies beside the loader: beside the name that it was preloaded by, or else beside the file behind that. */
static void *open_tracer(enum loader_family family)
{
	static const char *const file[LOADER_FAMILIES] = {
		[LOADER_OPENMPI] = "libprecedent_trace_openmpi.so", [LOADER_MPICH] = "libprecedent_trace_mpich.so"};
	char real[PATH_MAX];
	void *h = NULL;
	Dl_info me;

	if (!file[family] || !dladdr((void *)&host, &me) || !me.dli_fname)
		return NULL;
	h = open_beside(me.dli_fname, file[family]);
	if (!h && realpath(me.dli_fname, real))
		h = open_beside(real, file[family]);
	return h;
}

static int decide(void)
{
	int now = atomic_load_explicit(&decided, memory_order_acquire);
	loader_tracer_begin *begin;
	void *h = NULL;

	if (now != UNDECIDED)
		return now;
	now = REAL;
	if ((is_set("PRECEDENT_TRACE_DIR") || is_set("PRECEDENT_TRACE_FILE")) && !library_second_loader())
		h = open_tracer(library_family());
	if (h) {
		begin = (loader_tracer_begin *)dlsym(h, LOADER_TRACER_BEGIN);
		if (begin && !begin(&host)) {
			atomic_store_explicit(&tracer, h, memory_order_relaxed);
			now = TRACED;
		}
	}
	atomic_store_explicit(&decided, now, memory_order_release);
	return now;
}

void *loader_resolve(uint32_t i)
{
	const char *name = loader_names + loader_name_at[i];
	void *target = NULL, *real;
	int err = errno;

	real = library_function(name);
	if (real && decide() == TRACED)
		target = dlsym(atomic_load_explicit(&tracer, memory_order_relaxed), name);
	if (!target)
		target = real;
	if (target)
		__atomic_store_n(&loader_slot[i], target, __ATOMIC_RELEASE);
	else
		target = missing(name); /* not kept: MPI may be loaded later */
	dlerror(); /* what was not found is nothing that the program should hear of */
	errno = err;
	return target;
}
