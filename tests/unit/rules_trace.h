/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Traces made by hand, in microseconds, and the findings of the installed rules in them. */
#ifndef PRECEDENT_TESTS_UNIT_RULES_TRACE_H
#define PRECEDENT_TESTS_UNIT_RULES_TRACE_H

#include "expert/events/input.h"
#include "expert/replay/replay.h"
#include "expert/report/report.h"
#include "tests/unit/synthetic.h"

struct run {
	struct rules *rules;
	struct plan *plan;
	struct engine *engine;
	struct trace *t;
	struct report report;
	struct input_report input;
	struct replay_report replay;
	struct engine_report engine_report;
};

/* Ranks that have returned from MPI_Init at time 0. */
struct syn *begin(uint32_t ranks);
/* A call from `begin` to `end`. */
void call(struct syn *s, uint32_t rank, const char *fn, uint64_t begin, uint64_t end, struct syn_args *a);
/* The same, with a call site. */
void call_at(struct syn *s, uint32_t rank, const char *fn, uint64_t site, uint64_t begin, uint64_t end, struct syn_args *a);
/* Run the rules on the trace, and replay it. The unchanged replay must be the same run. */
void run(struct run *u, struct syn *s);
/* The problem with this id. Fails the test if there is none. */
const struct report_problem *problem(const struct run *u, const char *id);
void end(struct run *u, struct syn *s);
/* Expect exactly these waits: a line "NAME MICROSECONDS TIMES" for each, the longest first. */
void expect(struct syn *s, const char *want);
/* Expect exactly these problems of all kinds: "ID MICROSECONDS TIMES". */
void expect_all(struct syn *s, const char *want);

#endif
