/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process may use: its processors, and the limits on their time; and where its host is in the network. */
#ifndef PRECEDENT_TRACER_PLACE_H
#define PRECEDENT_TRACER_PLACE_H

#include <stdbool.h>
#include <stddef.h>

#include "trace/format/defs.h"

#define PLACE_NETWORK 256 /* bytes of the names of switches */

/* When recording begins. */
void place_begin(void);
/* When it ends. */
void place_facts(struct trace_proc *p);
/*
 * The switches over a host, "top.leaf", of what Slurm says of a task with topology/tree: SLURM_TOPOLOGY_ADDR
 * "top.leaf.HOST" and SLURM_TOPOLOGY_ADDR_PATTERN "switch.switch.node". Both come from the user's environment: false, and
 * out is "", where they are not of this form, not of this host, hold other characters than names of switches have, or do
 * not fit.
 */
bool place_network(const char *addr, const char *pattern, const char *host, char *out, size_t size);

#endif
