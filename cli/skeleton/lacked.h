/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs that lacked their processors, or whose threads were in MPI at once, have wider intervals. */
#ifndef PRECEDENT_CLI_SKELETON_LACKED_H
#define PRECEDENT_CLI_SKELETON_LACKED_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/skeleton/partial.h"
#include "cli/skeleton/skeleton.h"

/*
 * Widens [lo_s, hi_s] of r.
 * A skeleton that lost time ran too long: lo_s becomes the time in which all ranks had processors.
 * A traced run that lost time has gaps that may be too long, which lowers lo_s.
 * A calibration that lost time measured long units, so that too little work was done: hi_s rises.
 * Threads in MPI at once wait together. The skeleton waits for one call after the other, which lowers lo_s.
 */
void skeleton_widen(const struct skeleton_facts *f, struct skeleton_result *r);

/* All processors of this machine, since it was started; own_ns: the children of this process. */
struct processors {
	double wall_ns, own_ns, busy_ns, idle_ns;
};

void processors_look(struct processors *out);
/* The share of the processors that n ranks could use, which other programs had since `before`: 0 to 1. */
double processors_lacked(const struct processors *before, uint32_t n);
/* That share, from the differences between two looks at `count` processors. */
double processors_share(const struct processors *passed, double count, uint32_t n);

/* Widens the interval of a partial execution by n ranks, which lose their time independently. */
void partial_widen(struct partial_estimate *e, uint32_t n);

/* "31 % of the calibration and 48 % of the skeleton's run", or "" if no processors were lacking. Returns text. */
const char *skeleton_lacked(const struct skeleton_facts *f, const struct skeleton_result *r, char *text, size_t size);

#endif
