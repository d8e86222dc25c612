/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long each process went on after MPI_Finalize. The file is complete by then: it leaves room for one number of each
 * rank between its index and its trailer, which the rank fills in when it ends. 0: not told, or not worth telling.
 */
#ifndef PRECEDENT_TRACE_ENDS_H
#define PRECEDENT_TRACE_ENDS_H

#include <stdbool.h>
#include <stdint.h>

#define TRACE_END_BYTES 8 /* of each rank */

/* Microseconds in 48 bits, and 16 bits that show that this rank wrote it. */
uint64_t trace_end_pack(uint32_t rank, uint64_t after_ns);
/* false: no rank has written that, and *after_ns is 0. */
bool trace_end_unpack(uint32_t rank, uint64_t packed, uint64_t *after_ns);

#endif
