/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interface of viewers and exporters to a trace: ranks x time, in the four states of Orlov (2017, cited in
 * trace/tiles/tiles.h). It gives totals of the run, levels of detail, single calls and messages. Traced and
 * imported traces look alike. Totals come from summaries, levels from the pyramid, and spans from the pages of the
 * window, which bounds memory.
 *
 * Times are nanoseconds since the earliest start of any rank, with corrected clocks (trace/clock/clock.h). The
 * correction is linear at first. From the first call of timeline_messages or timeline_control on, it includes the
 * logical clock. This may move calls and the end.
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

/* A part of a blocking receive, of its state, in which the message was not sent yet. */
struct timeline_late {
	uint64_t t0_ns, t1_ns;
	uint8_t state;        /* enum trace_state: of the call */
};

/* The trace must outlive the timeline. Returns NULL on error (err says why). */
struct timeline *timeline_create(const struct trace *t, struct errbuf *err);
void timeline_destroy(struct timeline *tl);

/* Apply the logical clock now, so that no message arrives before it was sent. The first call makes two passes
 * over the trace. */
int timeline_control(struct timeline *tl, struct errbuf *err);

uint32_t timeline_n_ranks(const struct timeline *tl);
uint64_t timeline_end_ns(const struct timeline *tl);

/* Seconds of a rank in each state in the whole run, from summaries. */
void timeline_totals(const struct timeline *tl, uint32_t rank, double seconds[TSTATE_N]);

/* Share (0..1) of each state per step, for the window [t0, t1) in n equal steps: share[(rank - r0) * n +
 * step][state]. Reads the coarsest sufficient level, or single events if no level suffices. Unknown time has 0 in
 * all four states. */
int timeline_levels(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns, uint32_t n,
		    float (*share)[TSTATE_N], struct errbuf *err);

/* Call f for the spans that overlap the window, rank by rank in order of time. f returns non-zero to stop.
 * Returns 0 at the end, 1 if f stopped, -1 on error (err says why). */
int timeline_spans(struct timeline *tl, uint32_t r0, uint32_t r1, uint64_t t0_ns, uint64_t t1_ns,
		   int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);

/* Call f for the messages that overlap the window. The first call matches all messages of the trace and stores
 * them in an unlinked temporary file. Later calls read the pages of their window. */
int timeline_messages(struct timeline *tl, uint64_t t0_ns, uint64_t t1_ns,
		      int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err);

/* Late messages of a rank in order of time, after the first call of timeline_messages. At most 4 million of all ranks are
 * kept; an imported trace has none. Borrowed; NULL if there are none. */
const struct timeline_late *timeline_late(const struct timeline *tl, uint32_t rank, uint32_t *n);

#endif
