/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What recording costs a call of the program. The recorder's own looks (rec_overhead) are where the program is, with its caches
 * as they are, but tell a part: neither what comes before a call nor what the clock takes. How many times that the whole is,
 * calls that are recorded and the same past the recorder tell, one after the other.
 */
#ifndef PRECEDENT_SPANK_TRACER_COST_H
#define PRECEDENT_SPANK_TRACER_COST_H

#include <stdint.h>

/* Ticks of one call; 0 before the recorder's first look. plain and recorded make the same call, which takes no time to speak
 * of; some thousands of the latter become events, so that nothing of the program's may come after. */
double cost_of_call(void (*plain)(void), void (*recorded)(void));

/* Once a run is recorded and rec_end is through: rec.cost_factor. By events that are recorded nowhere, of the call site of the
 * last one, MPI_Finalize's; no function of MPI is called. */
void cost_measure(uintptr_t ra, uintptr_t cfa);

#endif
