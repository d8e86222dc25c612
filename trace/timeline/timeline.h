/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What every viewer and exporter reads: ranks x time, in the four states of paper 002, from whole-run totals over
 * levels of detail down to single events and messages. Traced and imported traces look alike.
 * Totals come from summaries, levels from the pyramid, spans from the pages of the window: memory is bounded by them.
 * Time is nanoseconds since the earliest start of any rank, clocks corrected (trace/clock/clock.h): linearly at first, by the
 * logical clock from the first call of timeline_messages or timeline_control on, which may move calls and the end.
 */
#ifndef PRECEDENT_TRACE_TIMELINE_H
#define PRECEDENT_TRACE_TIMELINE_H

#include <stdbool.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "trace/format/event.h"
#include "trace/messages/messages.h"
#include "trace/read/reader.h"

struct timeline;

#define TIMELINE_NO_EVENT UINT64_MAX

struct timeline_span {
	uint32_t rank;
	uint8_t state;        /* enum trace_state */
	uint32_t sym;         /* signature of the call; UINT32_MAX between calls and in imported traces */
	uint64_t event;       /* index of the call, or TIMELINE_NO_EVENT */
	uint64_t t0_ns, t1_ns;
};

struct timeline_message {
	uint32_t src, dst;
	uint64_t t0_ns, t1_ns; /* sent, received */
	uint64_t bytes;
	int32_t tag;
};

/* trace must outlive the timeline. NULL with the reason. */
struct timeline *timeline_create(const struct trace *t, struct errbuf *err);
void timeline_destroy(struct timeline *tl);

/* Have the logical clock now: no message arrives before it was sent. Two passes over the trace, once. */
int timeline_control(struct timeline *tl, struct errbuf *err);

uint32_t timeline_n_ranks(const struct timeline *tl);
uint64_t timeline_end_ns(const struct timeline *tl);

/* Seconds of a rank in each state, whole run, from summaries alone. */
void timeline_totals(const struct timeline *tl, uint32_t rank, double seconds[TSTATE_N]);

/* Share (0..1) of each state per step: share[(rank - r0) * n + step][state], the window [t0, t1) in n equal steps.
 * Reads the coarsest level that is fine enough, single events where none is; what is not known is 0 in all four. */
int timeline_levels(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint32_t n,
		    float (*share)[TSTATE_N], struct errbuf *err);

/* Spans that overlap the window, rank by rank in order of time; f returns non-zero to stop. 0, 1 stopped, -1. */
int timeline_spans(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns,
		   int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);

/* Messages that overlap the window. The first call matches the whole trace once and keeps exchange pages in an
 * unlinked temporary file; later calls read only the pages of their window. */
int timeline_messages(struct timeline *tl, uint64_t t0_ns, uint64_t t1_ns,
		      int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err);

#endif
