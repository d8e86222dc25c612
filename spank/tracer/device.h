/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Accelerators that the program uses, by the libraries in its process and its open device files. MPI libraries and
 * hwloc load such libraries in MPI_Init on every node that has them, so what appears there does not count. Nor does a
 * library that only the MPI library is linked to. A device file counts if more of its kind are open at the end than
 * MPI_Init opened.
 */
#ifndef PRECEDENT_TRACER_DEVICE_H
#define PRECEDENT_TRACER_DEVICE_H

#include <stdint.h>

void device_before_init(void);
void device_after_init(void);
/* What the program uses, as bits of enum trace_device. Call when recording ends. */
uint64_t device_used(void);

#endif
