/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerators' libraries that are in the process only because an MPI library was linked to them. For example, Debian's
 * MPICH 5 is linked to the library of Level Zero. Such a library says nothing of the program.
 */
#ifndef PRECEDENT_TRACER_DEVICE_NEEDED_H
#define PRECEDENT_TRACER_DEVICE_NEEDED_H

#include <stdbool.h>
#include <stdint.h>

/* Bits of enum trace_device. A library that the program or another of its libraries needs, or that was loaded later, is not
 * among them. */
uint64_t device_needed_by_mpi(void);

#endif
