/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI library of a trace or of a compiler wrapper, and the tools that belong to it. */
#ifndef PRECEDENT_CLI_MPI_TOOLS_H
#define PRECEDENT_CLI_MPI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* In the order of INJECT_TRACER_NAMES. MPI_MPICH includes all libraries derived from MPICH. */
enum mpi_family { MPI_OTHER = -1, MPI_OPENMPI, MPI_MPICH };

/* The family by the result of MPI_Get_library_version (a trace's "mpi"; NULL gives MPI_OTHER). */
enum mpi_family mpi_family_of_library(const char *version);
/* The family by the mpi.h of this compiler wrapper, which is run. MPI_OTHER if the wrapper cannot be run. */
enum mpi_family mpi_family_of_compiler(const char *mpicc);

/* The compiler wrapper for programs of this family: mpicc, or its name with the library's suffix where mpicc is another
 * library's. NULL: there is none in PATH. */
const char *mpi_compiler(enum mpi_family family);
/* The skeletons' runtime for it: a file that cli_installed finds. */
const char *mpi_runtime(enum mpi_family family);
/* The file that runs skeletons without compiling them; cli_installed finds it too. */
const char *mpi_replay(enum mpi_family family);

/* The launcher beside a compiler wrapper, by its name: mpicc.x -> mpirun.x. */
void mpi_launcher(const char *mpicc, char *out, size_t size);
/* The same where that wrapper need not be there: then the one that is, by the library's name. */
void mpi_launcher_without(const char *mpicc, enum mpi_family family, char *out, size_t size);

/* Options of srun, or of the family's mpirun, for so many ranks on this machine. Sets up to five arguments. Returns
 * their number. */
size_t mpi_launch_options(enum mpi_family family, bool srun, char *n_ranks, char **argv);

bool mpi_in_path(const char *program, char *out, size_t size);

#endif
