/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the time line share: see timeline.h. */
#ifndef PRECEDENT_TRACE_TIMELINE_IMPL_H
#define PRECEDENT_TRACE_TIMELINE_IMPL_H

#include "trace/clock/clock.h"
#include "trace/timeline/timeline.h"

#define TIMELINE_NO_PAGE UINT32_MAX
/* What the iterators that are kept between calls may hold: one page of every rank (precedent-trace(5)). */
#define TIMELINE_ITER_MEMORY (64u << 20)

struct timeline_tiles;
struct timeline_spool;

struct timeline {
	const struct trace *t;
	uint32_t n_ranks;
	uint64_t end_ns;
	struct trace_clock *clock;
	bool controlled;
	struct trace_iter **it;   /* of each rank, kept where it stopped, or NULL */
	size_t it_memory;
	uint32_t it_victim;       /* next one to go when they hold too much */
	uint32_t *levels_page;    /* of each rank, or TIMELINE_NO_PAGE */
	uint64_t *levels_width;   /* of their steps, in ticks, or 0 while it is not known */
	struct timeline_tiles *tiles; /* of an imported trace, which has nothing of the above but its end; else NULL */
	struct timeline_spool *spool; /* of messages, once they were asked for */
};

/* One rank's row of timeline_levels, or of a part of it: n steps over [t0, t1), shares of each state. */
struct timeline_row {
	uint64_t t0, t1;
	uint32_t n;
	double (*share)[TSTATE_N];
};

/* Time of a rank to time of all, and back (the latest that is not after t). */
uint64_t timeline_of_local(const struct timeline *tl, uint32_t rank, uint64_t local_ns);
uint64_t timeline_to_local(const struct timeline *tl, uint32_t rank, uint64_t t_ns);
uint64_t timeline_of_ticks(const struct timeline *tl, uint32_t rank, uint64_t ticks);

/* The rank's iterator, kept from call to call. NULL without memory. */
struct trace_iter *timeline_iter(struct timeline *tl, uint32_t rank, struct errbuf *err);
/* Account for what it holds now; may free iterators, this one too. */
void timeline_iter_done(struct timeline *tl, uint32_t rank);

enum trace_state timeline_state(const struct trace_defs *d, uint32_t sym);

/* [a, b) in that state, in a share (0..1) of that time. */
void timeline_row_add(struct timeline_row *row, uint64_t a, uint64_t b, int state, double share);

/* Sums of what files say need not add up to 1. */
void timeline_round_shares(double (*share)[TSTATE_N], uint32_t n, float (*out)[TSTATE_N]);

/* Imported traces. */
struct timeline_tiles *timeline_tiles_create(const struct trace *t, uint64_t *end_ns, struct errbuf *err);
void timeline_tiles_destroy(struct timeline_tiles *k);
void timeline_tiles_totals(const struct timeline_tiles *k, uint32_t rank, double seconds[TSTATE_N]);
int timeline_tiles_spans(struct timeline_tiles *k, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1,
			 int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);
int timeline_tiles_levels(struct timeline_tiles *k, uint32_t r0, uint32_t r1, struct timeline_row *row,
			  float (*share)[TSTATE_N], struct errbuf *err);
int timeline_tiles_messages(struct timeline_tiles *k, uint64_t t0, uint64_t t1,
			    int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err);

/* Traced runs. */
int timeline_rank_spans(struct timeline *tl, uint32_t rank, uint64_t t0, uint64_t t1,
			int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);
int timeline_rank_levels(struct timeline *tl, uint32_t rank, struct timeline_row *row, struct errbuf *err);
void timeline_spool_destroy(struct timeline_spool *s);

#endif
