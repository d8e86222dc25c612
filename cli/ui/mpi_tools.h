/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The MPI library of a trace or of a compiler wrapper, and the tools that belong to it. */
#ifndef PRECEDENT_CLI_MPI_TOOLS_H
#define PRECEDENT_CLI_MPI_TOOLS_H

#include <stdbool.h>
#include <stddef.h>

/* In the order of INJECT_TRACER_NAMES. MPI_MPICH: and whatever descends from it. */
enum mpi_family { MPI_OTHER = -1, MPI_OPENMPI, MPI_MPICH };

/* By what MPI_Get_library_version says (a trace's "mpi"; NULL is MPI_OTHER). */
enum mpi_family mpi_family_of_library(const char *version);
/* By the mpi.h that this compiler wrapper uses; runs it. MPI_OTHER when it cannot be run. */
enum mpi_family mpi_family_of_compiler(const char *mpicc);

/* The compiler wrapper for programs of this family: mpicc, or its name with the library's suffix where mpicc is another
 * library's. NULL: there is none in PATH. */
const char *mpi_compiler(enum mpi_family family);
/* The skeletons' runtime for it: a file that cli_installed finds. */
const char *mpi_runtime(enum mpi_family family);
/* What runs skeletons that are not compiled: such a file too. */
const char *mpi_replay(enum mpi_family family);

/* The launcher beside a compiler wrapper, by its name: mpicc.x -> mpirun.x. */
void mpi_launcher(const char *mpicc, char *out, size_t size);
/* The same where that wrapper need not be there: then the one that is, by the library's name. */
void mpi_launcher_without(const char *mpicc, enum mpi_family family, char *out, size_t size);

bool mpi_in_path(const char *program, char *out, size_t size);

#endif
