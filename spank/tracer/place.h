/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a process may use: its processors, and the limits on their time. */
#ifndef PRECEDENT_TRACER_PLACE_H
#define PRECEDENT_TRACER_PLACE_H

#include "trace/defs.h"

/* When recording begins. */
void place_begin(void);
/* When it ends. */
void place_facts(struct trace_proc *p);

#endif
