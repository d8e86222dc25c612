/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One time line for all ranks. A rank's trace counts from its own start on its own clock; here every instant becomes
 * nanoseconds since the earliest start of any rank, on the clock of rank 0.
 * First the measured offsets with linear drift between them (trace_clock_fix), without any the nodes' clocks of day;
 * then, on demand, a controlled logical clock: no message arrives before it was sent, nobody returns from a collective
 * before those have entered whose data it has; intervals are stretched and squeezed as little as possible
 * (Rabenseifner; Becker et al.).
 */
#ifndef PRECEDENT_TRACE_CLOCK_H
#define PRECEDENT_TRACE_CLOCK_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_clock;

struct trace_clock_report {
	uint64_t messages;        /* looked at */
	uint64_t reversed;        /* that arrived before they were sent, under the linear correction */
	uint64_t returns;         /* from collectives, with data of others, looked at */
	uint64_t returns_reversed; /* that came before one of those others had entered, under the linear correction */
	uint64_t reversed_after;  /* of both, after the logical clock: 0 */
	double worst_ns;          /* largest reversal under the linear correction */
	double error_ns;          /* bound of the measured offsets: largest half round trip; < 0: nothing was measured */
	double moved_ns;          /* largest shift of an event by the logical clock */
};

/* Linear correction only. NULL without memory. */
struct trace_clock *trace_clock_create(const struct trace *t, struct errbuf *err);
/* Add the logical clock: two passes over the trace. report may be NULL. -1 without memory. */
int trace_clock_control(struct trace_clock *c, const struct trace *t, struct trace_clock_report *report,
			struct errbuf *err);
void trace_clock_destroy(struct trace_clock *c);

/* local_ns: since the rank's own start on its own clock, as trace_iter_when gives it: the recorder's cost left in. */
uint64_t trace_clock_ns(const struct trace_clock *c, uint32_t rank, uint64_t local_ns);
/* Its inverse, for windows: the latest local instant that is not after t. */
uint64_t trace_clock_local(const struct trace_clock *c, uint32_t rank, uint64_t t_ns);

#endif
