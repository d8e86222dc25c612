/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Everything that depends on the MPI library, for what skeletons link and for precedent-replay. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_MPILIB_H
#define PRECEDENT_SKELGEN_RUNTIME_MPILIB_H

#include <mpi.h>

/* Open MPI ends the program in a wait for an access to a file that failed. MPICH returns the error. */
#ifdef OPEN_MPI
#define MPILIB_WAIT_IS_FATAL 1
#else
#define MPILIB_WAIT_IS_FATAL 0
#endif

#if MPI_VERSION >= 4
#define MPILIB_GET_ELEMENTS              PMPI_Get_elements_c /* the form with _x is deprecated */
#define MPILIB_PARRIVED(q, i, flag)      MPI_Parrived(q, i, flag)
#define MPILIB_IF_4(then, otherwise)     then
#else
#define MPILIB_GET_ELEMENTS              PMPI_Get_elements_x
#define MPILIB_PARRIVED(q, i, flag)      ((void)(q), (void)(i), *(flag) = 1)
#define MPILIB_IF_4(then, otherwise)     otherwise
#endif

#endif
