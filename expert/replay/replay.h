/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What problems cost, and who causes them: the events of the trace are gone through once more, in order of time, with the
 * waits that follow from messages and collectives. Each wait is charged to what the rank that was waited for did meanwhile;
 * where that one waited itself, to what was done there, and so on. And beside the run as it was, the same run is replayed
 * without each of the greatest problems: a call ends when all that it waits for has come, plus the time that it took beyond
 * waiting, so that what is won in one place can be lost in another one.
 * Memory is that of the messages and collectives under way, and a bounded piece of each rank's past.
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

/* After input_run, which told rank_seconds and may have made the clock (or NULL), before report_sort: fills what struct
 * report_problem has of this. -1 with the reason. */
int replay_run(const struct trace *t, struct input_clock *clock, struct engine *e, struct report *r, double rank_seconds, void (*progress)(double share),
	       struct replay_report *out, struct errbuf *err);

#endif
