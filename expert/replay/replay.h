/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What problems cost, and which ranks cause them. The replay goes through the events of the trace once more, in order
 * of time. It adds the waits that follow from messages and collectives.
 *
 * A wait is attributed to the activity of the rank that was waited for. If that rank also waited, the wait is
 * attributed to its cause, and so on.
 *
 * The run is also replayed without each of the greatest problems. In such a replay a call ends when everything it waits
 * for has come, plus its time beyond waiting. So time that is gained in one place can be lost in another.
 *
 * Memory holds the messages and collectives under way, and a bounded piece of each rank's past.
 */
#ifndef PRECEDENT_EXPERT_REPLAY_H
#define PRECEDENT_EXPERT_REPLAY_H

#include "expert/events/input.h"
#include "expert/report/report.h"

#define REPLAY_CASES 9 /* replayed at once: the run as it was, and this many problems less one */

struct replay_report {
	uint64_t span_ns;   /* of the run as it was, on the time line of all ranks */
	uint64_t error_ns;  /* how far its replay is from it: 0 */
	bool complete;      /* else there was too much under way, or not all calls of problems were marked: no gains are told */
};

/* Fills the cost and cause of each struct report_problem. Call it after input_run and before report_sort. rank_seconds
 * and the clock (or NULL) come from input_run. Returns -1 with the reason. */
int replay_run(const struct trace *t, struct input_clock *clock, struct engine *e, struct report *r, double rank_seconds, void (*progress)(double share),
	       struct replay_report *out, struct errbuf *err);

#endif
