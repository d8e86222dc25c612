/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simple events of a trace, for the rules: calls of all ranks in order of time, on one time line (trace/clock.h), each
 * as the structures of expert/builtin.c. What a call without blocking began is told at its own place with the call that
 * completed it: a rank is read ahead until that is known. Memory is that of the requests under way.
 */
#ifndef PRECEDENT_EXPERT_INPUT_H
#define PRECEDENT_EXPERT_INPUT_H

#include "expert/engine.h"
#include "trace/reader.h"

struct input_report {
	uint64_t calls;        /* of all ranks */
	uint64_t untimed;      /* of them: times were reduced to histograms, or their pages are damaged */
	uint64_t unfinished;   /* requests whose completion was not seen, or not within INPUT_AHEAD events */
	uint32_t missing;      /* ranks without a trace */
	uint64_t span_ns;      /* from the earliest start of a call to the latest return */
	double rank_seconds;   /* of all ranks, from first call to last */
	double moved_ns;       /* most that a time was moved to have no effect before its cause */
};

#define INPUT_AHEAD (1u << 16)

/* All events of the trace through the engine. progress: NULL, or called now and then with the share done. -1 with the
 * reason. */
int input_run(const struct trace *t, struct engine *e, void (*progress)(double share), struct input_report *report,
	      struct errbuf *err);

#endif
