/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The simple events of a trace, for the rules: calls of all ranks in order of time, on one time line (trace/clock/clock.h).
 * Each event is a structure of expert/lang/builtin.c. The event of a nonblocking call stands where the call began and names
 * the call that completed it. To find that call, the rank is read ahead. Memory: the requests under way.
 */
#ifndef PRECEDENT_EXPERT_INPUT_H
#define PRECEDENT_EXPERT_INPUT_H

#include "expert/engine/engine.h"
#include "trace/read/reader.h"

struct trace_clock;

struct input_report {
	uint64_t calls;        /* of all ranks */
	uint64_t untimed;      /* of them: times were reduced to histograms, or their pages are damaged */
	uint64_t unfinished;   /* requests whose completion was not seen, or not within INPUT_AHEAD events */
	uint32_t missing;      /* ranks without a trace */
	uint64_t span_ns;      /* from the earliest start of a call to the latest return */
	double rank_seconds;   /* of all ranks, from first call to last */
	double outside_seconds; /* of all ranks: from the start of the process to the return of MPI_Init, and after MPI_Finalize */
	double moved_ns;       /* most that a time was moved to have no effect before its cause */
};

#define INPUT_AHEAD (1u << 16)

/* The time line of a trace, for who goes through it more than once: zeroed at first, made by the first who needs it. */
struct input_clock {
	struct trace_clock *line;
	double moved_ns;
};
void input_clock_free(struct input_clock *c);

/* All events of the trace through the engine. clock: NULL, or kept for others. progress: NULL, or called now and then with
 * the share done. -1 with the reason. */
int input_run(const struct trace *t, struct input_clock *clock, struct engine *e, void (*progress)(double share),
	      struct input_report *report, struct errbuf *err);

#endif
