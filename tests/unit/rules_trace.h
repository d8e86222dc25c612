/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Whole traces made by hand, in microseconds, and what the installed rules find in them. */
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

/* Ranks that have returned from MPI_Init at 0. */
struct syn *begin(uint32_t ranks);
/* A call from `begin` to `end`. */
void call(struct syn *s, uint32_t rank, const char *fn, uint64_t begin, uint64_t end, struct syn_args *a);
/* ... from that place of the program. */
void call_at(struct syn *s, uint32_t rank, const char *fn, uint64_t site, uint64_t begin, uint64_t end, struct syn_args *a);
/* ... through the rules, and replayed: as it was, that is the same run. */
void run(struct run *u, struct syn *s);
/* The problem of that id; the test fails where there is none. */
const struct report_problem *problem(const struct run *u, const char *id);
void end(struct run *u, struct syn *s);
/* Exactly these waits, "NAME MICROSECONDS TIMES" in a line each, the longest first. */
void expect(struct syn *s, const char *want);
/* Exactly these problems of all kinds, "ID MICROSECONDS TIMES". */
void expect_all(struct syn *s, const char *want);

#endif
