/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Layout of skel.c.data: the values that no expression of rank and size gives. emit/data.c writes them, data.c reads them.
 * 64-bit words in the byte order of the machine.
 *
 *   0 magic  1 version  2 ranks  3 gaps  4 varying calls  5 arrays  6 words in all  7 hash  8 mixes
 *   9 offset of the windows (0: none)
 *   then the word offsets of: gap records, rank by rank; records of varying calls, rank by rank; arrays
 *   (an offset of 0: this rank has none); then the mixes.
 *   offsets:     32-bit integers, two to a word; each of the three tables begins at a word. Ranks may share a record
 *   mix:         share of each class, share of time off the processor, threads, width of vectors in bits, iterations in
 *                a row, of 16 lines those worked on in packed form, bytes worked on in the second-level cache, the last-level
 *                cache and memory (doubles; the last six are the program's)
 *   gap record:  executions; strata, and in the upper half slots per stratum; mix; period, or 0; strata and slots of
 *                executions 0, period, 2 * period, ... (those that enter the loop around the call); then the gap of each
 *                slot of each stratum (double, ns), and those of the latter. Each execution may be a stratum of
 *                its own. The i-th execution of either kind that runs takes slot i modulo slots, on every rank
 *   varying:     runs, values per variant, variants; per run its end (execution number) and its variant; then the
 *                values of each variant
 *   windows:     loops; then per loop its number, windows, whether it drifts, traced iterations that the spikes were
 *                counted in, and as doubles the share of spikes among them, their excess in usual iterations, the sum of
 *                its squares, and the traced time of the iterations that the windows stand for (ns; 0: no regression
 *                on traced times); and per window its first iteration, warm-ups, iterations that count, iterations
 *                that they stand for, segment, and their traced time (double, ns)
 *   array:       length, then 32-bit integers, two to a word
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_DATA_H
#define PRECEDENT_SKELGEN_RUNTIME_DATA_H

#include <stdint.h>

#include "skelgen/runtime/classes.h"

#define DATA_MAGIC   0x41544144424b5350ull
#define DATA_VERSION 15
#define DATA_HEADER  10
#define DATA_GAP     5
#define DATA_MIX     (CLASS_N + 8)

/* Words of a loop's windows, before the windows themselves; and of a window. */
enum { DATA_LOOP_NUMBER, DATA_LOOP_WINDOWS, DATA_LOOP_TREND, DATA_LOOP_KNOWN, DATA_LOOP_RATE, DATA_LOOP_EXCESS,
       DATA_LOOP_SQUARE, DATA_LOOP_TRACED, DATA_LOOP };
#define DATA_WINDOW 6

enum { DATA_MIX_OFF_CPU = CLASS_N, DATA_MIX_THREADS, DATA_MIX_VECTOR_BITS, DATA_MIX_ROW, DATA_MIX_PACKED, DATA_MIX_BYTES };

/* Words of a table of n offsets. */
static inline uint64_t data_table(uint64_t n)
{
	return (n + 1) / 2;
}

static inline uint64_t data_offset(const uint64_t *table, uint64_t i)
{
	return ((const uint32_t *)table)[i];
}

/* Stratum of execution `at` of n. */
static inline uint64_t data_stratum(uint64_t at, uint64_t n, uint32_t n_stratum)
{
	return n_stratum <= 1 || at >= n ? (n_stratum > 0 ? n_stratum - 1 : 0) :
					   (uint64_t)((unsigned __int128)at * n_stratum / n);
}

#endif
