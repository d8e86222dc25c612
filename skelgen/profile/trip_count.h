/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The trip count of a loop: iterations from its entry to its exit, called a row. A chain of values that ends with its row waits
 * less than a longer chain, because the processor begins the next row while this one ends.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_TRIP_COUNT_H
#define PRECEDENT_SKELGEN_PROFILE_TRIP_COUNT_H

#include "skelgen/profile/loop_disasm.h"

/* Iterations of a row, from n samples; 0: not known. If the code before the loop tells the first value of the counter, the row
 * follows from that. Else it follows from the iterations that are left at each sample, as of a loop that waits for a chain. */
double trip_count(const struct loop_body *b, const struct loop_sample *hit, uint32_t n);

/* The waiting of a chain of rows relative to an endless chain: 0 .. 1. instructions: of the loop. A row of 0 is endless. */
double trip_count_waits(double row, double instructions);

/* Is this branch the end of an inner loop that a counter ends? Such a branch is predicted, or mispredicted once a row. value:
 * registers of a sample, or NULL. */
bool trip_count_is_counted(const struct loop_body *b, uint32_t branch, const uint64_t *value);

#endif
