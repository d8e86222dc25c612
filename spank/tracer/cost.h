/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Cost of recording a call. rec_overhead measures in the program's own environment, with its caches. But it misses
 * the code before the first and after the last clock reading, and the clock readings. So recorded calls and
 * unrecorded calls are timed in turns at one place. Their difference gives the factor between the full cost and
 * rec_overhead.
 */
#ifndef PRECEDENT_SPANK_TRACER_COST_H
#define PRECEDENT_SPANK_TRACER_COST_H

#include <stdint.h>

/* Full cost of recording one call in ticks; 0 before the first measurement. plain and recorded make the same MPI
 * call, which takes almost no time. Some thousands of the recorded calls become events, so the program must not
 * continue afterwards. */
double cost_of_call(void (*plain)(void), void (*recorded)(void));

/* Set rec.cost_factor, after the end of a run and rec_end. The events that it records go into no file. Their call
 * site is that of the last call, MPI_Finalize. No MPI function is called. */
void cost_measure(uintptr_t ra, uintptr_t cfa);

#endif
