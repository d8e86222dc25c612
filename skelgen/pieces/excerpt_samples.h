/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The samples of a rank's computation that lie in an excerpt, at their new places. */
#ifndef PRECEDENT_SKELGEN_PIECES_EXCERPT_SAMPLES_H
#define PRECEDENT_SKELGEN_PIECES_EXCERPT_SAMPLES_H

#include "common/buf.h"
#include "common/errbuf.h"
#include "trace/format/samples.h"
#include "trace/read/reader.h"

struct excerpt_samples {
	struct trace_samples from, to;
	uint32_t next;              /* of `from` */
	double ns_per_tick;
	double last_ns[TSAMPLE_THREADS_MAX]; /* by thread: its sample before, by the trace's clock */
	double piece_ns;            /* begin of the piece by the trace's clock; < 0: outside */
};

/* A call of the excerpt. By the trace's clock: its entry and the time before it. In the excerpt: its number, entry and
 * time in it, and which part of the trace's times it has. */
struct excerpt_moment {
	uint64_t enter_ns, before;
	uint64_t number, enter, dur;
	double part;
};

/* Returns 0, also if the rank has no samples; -1 without memory. */
int excerpt_samples_open(struct excerpt_samples *s, const struct trace *t, uint32_t rank, struct errbuf *err);
/* A call of a piece, number `event` of the trace. */
void excerpt_samples_pass(struct excerpt_samples *s, uint64_t event, const struct excerpt_moment *m);
/* The piece has ended. */
void excerpt_samples_leave(struct excerpt_samples *s);
/* Returns whether there are samples. */
bool excerpt_samples_encode(const struct excerpt_samples *s, struct buf *out);
void excerpt_samples_close(struct excerpt_samples *s);

#endif
