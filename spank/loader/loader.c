/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets of the entries: see loader.h. */
#include "spank/loader/loader.h"

#include <fcntl.h>
#include <stdatomic.h>

#include "spank/loader/host.h"

enum { UNDECIDED, REAL, TRACED };

static atomic_int decided;
static _Atomic(void *) tracer; /* is set before `decided` */

static int unavailable(void)
{
	return 16; /* MPI_ERR_OTHER, or another error */
}

/* MPI_Initialized and MPI_Finalized without MPI. The flag is the first argument in C and in Fortran. */
static int never_initialized(int *flag)
{
	*flag = 0;
	return 0;
}

static void *missing(const char *name)
{
	static const char quiet[][24] = {"MPI_Initialized", "MPI_Finalized", "mpi_initialized_", "mpi_finalized_",
					 "mpi_initialized_f08_", "mpi_finalized_f08_"};

	for (size_t i = 0; i < sizeof(quiet) / sizeof(*quiet); i++)
		if (free_equal(name, quiet[i]))
			return (void *)never_initialized;
	free_say("precedent: ", name, " was called, but no MPI library that has it is loaded\n");
	return (void *)unavailable;
}

static const struct loader_host host = {
	.version = LOADER_HOST_VERSION,
	.function = library_function,
	.object = library_object,
	.missing = missing,
	.passing = library_passing,
};

static bool env_is_set(const char *name)
{
	const char *v = getenv ? getenv(name) : NULL;

	return v && *v;
}

static void *open_beside(const char *loader, const char *file)
{
	char path[PATH_MAX];
	size_t dir = (size_t)(free_base_name(loader) - loader);

	if (!free_join(path, sizeof(path), loader, dir, file) ||
	    arch_syscall(SYS_faccessat, AT_FDCWD, (long)path, 4 /* R_OK */, 0) != 0)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

/* Open the tracer beside the loader: in the directory of the preloaded name, or else in the directory of the file
 * that it links to. */
static void *open_tracer(enum loader_family family)
{
	static const char file[LOADER_FAMILIES][40] = {
		[LOADER_OPENMPI] = "libprecedent_trace_openmpi.so", [LOADER_MPICH] = "libprecedent_trace_mpich.so"};
	const char *own = library_own_path();
	char real[PATH_MAX];
	void *h = NULL;

	if (!file[family][0] || !*own)
		return NULL;
	h = open_beside(own, file[family]);
	if (!h && realpath && realpath(own, real))
		h = open_beside(real, file[family]);
	return h;
}

/* The first process of the job that has no tracer leaves the reason where the job's trace would be. */
static void note_untraced(const char *library)
{
	static const char file[] = "/untraced.txt";
	const char *dir = env_is_set("PRECEDENT_TRACE_DIR") ? getenv("PRECEDENT_TRACE_DIR") : "";
	const char *text[] = {"no tracer for ", library, " can be loaded: there are tracers for Open MPI (libmpi.so.40) and for "
			      "the interface of MPICH (names that end in .so.12)\n"};
	char path[PATH_MAX];
	long fd;

	if (!*dir || !*library || !free_join(path, sizeof(path), dir, free_length(dir), file))
		return;
	fd = arch_syscall(SYS_openat, AT_FDCWD, (long)path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	for (int i = 0; i < 3; i++)
		arch_syscall(SYS_write, fd, (long)text[i], (long)free_length(text[i]), 0);
	arch_syscall(SYS_close, fd, 0, 0, 0);
}

/* The tracers need the GNU C library. */
static bool can_trace(void)
{
	return gnu_get_libc_version && dlopen && (env_is_set("PRECEDENT_TRACE_DIR") || env_is_set("PRECEDENT_TRACE_FILE")) &&
	       !library_second_loader();
}

static int decide(void)
{
	int now = atomic_load_explicit(&decided, memory_order_acquire);
	loader_tracer_begin *begin;
	char library[64];
	void *h = NULL;

	if (now != UNDECIDED)
		return now;
	now = REAL;
	if (can_trace()) {
		h = open_tracer(library_family(library, sizeof(library)));
		if (!h)
			note_untraced(library);
	}
	if (h) {
		begin = (loader_tracer_begin *)loader_symbol(h, LOADER_TRACER_BEGIN);
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
	int *error = __errno_location ? __errno_location() : NULL, err = error ? *error : 0;
	void *target = NULL, *real;

	real = library_function(name);
	if (real && decide() == TRACED)
		target = loader_symbol(atomic_load_explicit(&tracer, memory_order_relaxed), name);
	if (!target)
		target = real;
	if (target)
		__atomic_store_n(&loader_slot[i], target, __ATOMIC_RELEASE);
	else
		target = missing(name); /* not stored: MPI may be loaded later */
	if (dlerror)
		dlerror(); /* clears the error, so that the program does not see it */
	if (error)
		*error = err;
	return target;
}

/* Number of an entry by its name, by bisection; loader_n if there is none. */
static uint32_t entry_of(const char *name)
{
	uint32_t lo = 0, hi = loader_n;

	while (lo < hi) {
		uint32_t mid = (lo + hi) / 2;
		const char *a = loader_names + loader_name_at[mid], *b = name;

		for (; *a && *a == *b; a++)
			b++;
		if (*a == *b)
			return mid;
		if ((unsigned char)*a < (unsigned char)*b)
			lo = mid + 1;
		else
			hi = mid;
	}
	return loader_n;
}

bool loader_has(const char *name)
{
	return entry_of(name) < loader_n;
}

/*
 * AddressSanitizer's library asks for default options, before ASAN_OPTIONS counts. It ends a program in which it is
 * not the first library. The loader comes before it, so this check is turned off.
 */
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	static const char ours[] = "verify_asan_link_order=0:";
	static char both[1024];
	const char *(*next)(void) = (const char *(*)(void))loader_symbol(RTLD_NEXT, "__asan_default_options");

	return next && free_join(both, sizeof(both), ours, sizeof(ours) - 1, next()) ? both : ours;
}

void *loader_dlsym(void *handle, const char *name)
{
	void *real = loader_symbol(handle, name);
	uint32_t i = real ? entry_of(name) : loader_n;

	return i < loader_n && library_is_mpi(real) ? loader_entry(i) : real;
}
