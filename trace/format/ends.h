/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time of each process after MPI_Finalize. The trace file is complete before that time is known. So the file has
 * room for one number per rank between index and trailer. The rank fills in its number when it ends. 0: not known, or
 * too short to matter.
 */
#ifndef PRECEDENT_TRACE_ENDS_H
#define PRECEDENT_TRACE_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_END_BYTES 8 /* per rank */

/* Pack microseconds into 48 bits and a check of the rank into 16 bits. */
uint64_t trace_end_pack(uint32_t rank, uint64_t after_ns);
/* Returns false, with *after_ns = 0, if the rank has written no number. */
bool trace_end_unpack(uint32_t rank, uint64_t packed, uint64_t *after_ns);

#endif
