/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Which MPI library, and its tools: see mpi_tools.h. */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ui/mpi_tools.h"

bool mpi_in_path(const char *program, char *out, size_t size)
{
	const char *path = getenv("PATH");
	char *copy = strdup(path ? path : ""), *save, *dir;
	bool found = false;

	for (dir = copy ? strtok_r(copy, ":", &save) : NULL; dir && !found; dir = strtok_r(NULL, ":", &save)) {
		snprintf(out, size, "%s/%s", dir, program);
		found = access(out, X_OK) == 0;
	}
	free(copy);
	return found;
}

enum mpi_family mpi_family_of_library(const char *version)
{
	static const char *const mpich[] = {"MPICH", "Intel(R) MPI", "MVAPICH"};

	if (!version)
		return MPI_OTHER;
	for (size_t i = 0; i < sizeof(mpich) / sizeof(*mpich); i++)
		if (strstr(version, mpich[i]))
			return MPI_MPICH;
	return !strncmp(version, "Open MPI", 8) ? MPI_OPENMPI : MPI_OTHER;
}

enum mpi_family mpi_family_of_compiler(const char *mpicc)
{
	enum mpi_family family = MPI_OTHER;
	char command[4200], line[4096];
	FILE *f;

	if (strchr(mpicc, '\'') || snprintf(command, sizeof(command), "'%s' -E -dM -include mpi.h -xc /dev/null 2>/dev/null "
					    "</dev/null", mpicc) >= (int)sizeof(command))
		return MPI_OTHER;
	f = popen(command, "re");
	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "#define OPEN_MPI ", 17))
			family = MPI_OPENMPI;
		else if (!strncmp(line, "#define MPICH_VERSION ", 22))
			family = MPI_MPICH;
	if (f)
		pclose(f);
	return family;
}

const char *mpi_compiler(enum mpi_family family)
{
	static const char *const suffixed[] = {[MPI_OPENMPI] = "mpicc.openmpi", [MPI_MPICH] = "mpicc.mpich"};
	enum mpi_family plain;
	char path[4096];

	if (family == MPI_OTHER)
		return "mpicc";
	plain = mpi_in_path("mpicc", path, sizeof(path)) ? mpi_family_of_compiler(path) : MPI_OTHER;
	if (plain == family || (plain == MPI_OTHER && family == MPI_OPENMPI))
		return "mpicc"; /* one that cannot be run is said to be so */
	if (mpi_in_path(suffixed[family], path, sizeof(path)))
		return suffixed[family];
	return plain == MPI_OTHER ? "mpicc" : NULL;
}

const char *mpi_runtime(enum mpi_family family)
{
	return family == MPI_MPICH ? "libprecedent_skel_mpich.a" : "libprecedent_skel.a";
}

const char *mpi_replay(enum mpi_family family)
{
	return family == MPI_MPICH ? "precedent-replay-mpich" : "precedent-replay";
}

void mpi_launcher(const char *mpicc, char *out, size_t size)
{
	const char *cc = strstr(basename(mpicc), "mpicc");

	if (cc)
		snprintf(out, size, "%.*smpirun%s", (int)(cc - mpicc), mpicc, cc + 5);
	else
		snprintf(out, size, "mpirun");
}

void mpi_launcher_without(const char *mpicc, enum mpi_family family, char *out, size_t size)
{
	const char *suffixed = family == MPI_MPICH ? "mpirun.mpich" : "mpirun.openmpi";
	char path[4096];

	mpi_launcher(mpicc, out, size);
	if (strchr(mpicc, '/') ? access(out, X_OK) == 0 : mpi_in_path(mpicc, path, sizeof(path)))
		return;
	if (mpi_in_path(suffixed, path, sizeof(path)))
		snprintf(out, size, "%s", suffixed);
	else if (strchr(out, '/') || !mpi_in_path(out, path, sizeof(path)))
		snprintf(out, size, "mpirun");
}

/* Processors that this process may use. */
static long processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN);
}

size_t mpi_launch_options(enum mpi_family family, bool srun, char *n_ranks, char **argv)
{
	long here = processors();
	size_t n = 0;

	if (srun) {
		argv[n++] = family == MPI_MPICH ? "--mpi=pmi2" : "--mpi=pmix";
	} else if (family != MPI_MPICH && !getenv("SLURM_JOB_ID")) {
		/* Only where it must be: an oversubscribed run is not bound to cores. */
		if (strtol(n_ranks, NULL, 10) > here)
			argv[n++] = "--oversubscribe";
		/* Open MPI binds ranks to any cores of the machine, also where taskset permits a few. */
		if (here < sysconf(_SC_NPROCESSORS_ONLN)) {
			argv[n++] = "--bind-to";
			argv[n++] = "none";
		}
	}
	argv[n++] = "-n";
	argv[n++] = n_ranks;
	return n;
}
