/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processors that a process may use, limits on their time, and the host's position in the network. */
#ifndef PRECEDENT_TRACER_PLACE_H
#define PRECEDENT_TRACER_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format/defs.h"

#define PLACE_NETWORK 256 /* bytes for names of switches */

/* Call when recording begins. */
void place_begin(void);
/* Call when recording ends. */
void place_facts(struct trace_proc *p);
/*
 * Find the switches above a host, "top.leaf". With topology/tree, Slurm sets SLURM_TOPOLOGY_ADDR "top.leaf.HOST"
 * and SLURM_TOPOLOGY_ADDR_PATTERN "switch.switch.node". Both come from the user's environment. Returns false, with
 * out = "", if they have another form, another host, characters that no switch name has, or do not fit.
 */
bool place_network(const char *addr, const char *pattern, const char *host, char *out, size_t size);

#endif
