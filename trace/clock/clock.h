/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One time line for all ranks. Events of a rank count from the rank's own start on the rank's own clock. A
 * trace_clock maps them to nanoseconds since the earliest start of any rank, on the clock of rank 0.
 *
 * The linear correction interpolates the measured offsets (trace_clock_fix). Without offsets it takes the nodes'
 * clocks of day. The controlled logical clock is added on demand. It moves a receive behind its send, and a return
 * from a collective behind the entries of the ranks whose data it returns. Intervals are stretched and squeezed as
 * little as possible. (Rabenseifner, "The controlled logical clock", 1997; Becker, Rabenseifner, Wolf and Linford,
 * "Scalable timestamp synchronization for event traces of message-passing applications", 2009.)
 */
#ifndef PRECEDENT_TRACE_CLOCK_H
#define PRECEDENT_TRACE_CLOCK_H

#include <stdint.h>

#include "common/errbuf.h"
#include "trace/read/reader.h"

struct trace_clock;

struct trace_clock_report {
	uint64_t messages;        /* messages compared */
	uint64_t reversed;        /* messages received before they were sent, by the linear correction */
	uint64_t returns;         /* returns from collectives with data of other ranks, compared */
	/* returns before the entry of a rank that gave data, by the linear correction */
	uint64_t returns_reversed;
	uint64_t reversed_after;  /* reversed messages and returns that the logical clock left: 0 */
	double worst_ns;          /* largest reversal, by the linear correction */
	/* bound of the error of measured offsets: largest half round trip; < 0: no offset was measured */
	double error_ns;
	double moved_ns;          /* largest shift of an event by the logical clock */
};

/* Create the linear correction. Returns NULL if memory runs out (err says so). */
struct trace_clock *trace_clock_create(const struct trace *t, struct errbuf *err);
/* Add the logical clock, in two passes over the trace. report may be NULL. Returns 0 on success, -1 on error (err
 * says why). */
int trace_clock_control(struct trace_clock *c, const struct trace *t, struct trace_clock_report *report,
			struct errbuf *err);
void trace_clock_destroy(struct trace_clock *c);

/* Map a rank's local time to the common time line. local_ns: since the rank's start on its own clock, as
 * trace_iter_when gives it, including the recorder's cost. */
uint64_t trace_clock_ns(const struct trace_clock *c, uint32_t rank, uint64_t local_ns);
/* Inverse of trace_clock_ns. Returns the latest local time that maps to t_ns or earlier. */
uint64_t trace_clock_local(const struct trace_clock *c, uint32_t rank, uint64_t t_ns);

#endif
