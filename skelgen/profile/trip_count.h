/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How long the rows of a loop are: iterations from entering it to leaving it. A chain of values that ends with its row waits
 * less than one that goes on, since the processor begins the next row while it ends this one.
 * Source: algorithms, C.8.
 */
#ifndef PRECEDENT_SKELGEN_PROFILE_TRIP_COUNT_H
#define PRECEDENT_SKELGEN_PROFILE_TRIP_COUNT_H

#include "skelgen/profile/cost_model.h"

/* Iterations of a row: by what its counter begins with, where the code before the loop says that; else, as of a loop that waits for
 * a chain, from how far its counter is from where it ends at each sample. 0: not known. */
double mix_row(const struct mix_body *b, const struct mix_hit *hit, uint32_t n);

/* What is left of the waiting in a chain of rows that long, in a loop of so many instructions. A row of 0: all. */
double mix_row_waits(double row, double instructions);

/* Does this branch lead back to the head of a loop within the body, as often as a counter of that loop says? (Its end is
 * foretold, or met once in a row.) value: registers of a sample, or NULL. */
bool mix_row_is_counted(const struct mix_body *b, uint32_t branch, const uint64_t *value);

#endif
