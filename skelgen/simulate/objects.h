/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Communicators, windows and files of one rank of a simulated run: which ones exist. */
#ifndef PRECEDENT_SKELGEN_SIMULATE_OBJECTS_H
#define PRECEDENT_SKELGEN_SIMULATE_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/tree/callinfo.h"

#define SIM_OBJECT_KINDS 3 /* communicators, windows, files */

enum sim_object { SIM_NEVER, SIM_EXISTS, SIM_FREED };

struct sim_objects {
	uint8_t *state[SIM_OBJECT_KINDS]; /* enum sim_object, by local number */
};

/* MPI_COMM_WORLD and MPI_COMM_SELF exist. Returns 0, or -1 without memory. */
int sim_objects_open(struct sim_objects *o, const struct trace_defs *d);
void sim_objects_close(struct sim_objects *o);
/* Follow a call. Returns NULL, or the fault: its object does not exist, or its new object exists already. */
const char *sim_objects_call(struct sim_objects *o, const struct trace_defs *d, uint32_t sym);
/* Has a call made this communicator? */
bool sim_objects_has_comm(const struct sim_objects *o, int64_t local);

#endif
