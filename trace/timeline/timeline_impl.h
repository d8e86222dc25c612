/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Internals that the files of the time line share: see timeline.h. */
#ifndef PRECEDENT_TRACE_TIMELINE_IMPL_H
#define PRECEDENT_TRACE_TIMELINE_IMPL_H

#include "trace/clock/clock.h"
#include "trace/timeline/timeline.h"

#define TIMELINE_NO_PAGE UINT32_MAX
/* Memory of the iterators that are kept between calls: one page of every rank (precedent-trace(5)). */
#define TIMELINE_ITER_MEMORY (64u << 20)

struct timeline_tiles;
struct timeline_spool;
struct timeline_lates;

struct timeline {
	const struct trace *t;
	uint32_t n_ranks;
	uint64_t end_ns;
	struct trace_clock *clock;
	bool controlled;
	struct trace_iter **it;   /* iterator of each rank, at its last position, or NULL */
	size_t it_memory;
	uint32_t it_victim;       /* rank whose iterator is freed next if memory exceeds its limit */
	uint32_t *levels_page;    /* page of levels of each rank, or TIMELINE_NO_PAGE */
	uint64_t *levels_width;   /* width of these levels' steps in ticks; 0: not known yet */
	/* tiles of an imported trace, else NULL; of the members above an imported trace has only its end */
	struct timeline_tiles *tiles;
	struct timeline_spool *spool; /* messages, after they were asked for */
	struct timeline_lates *lates; /* of each rank, or NULL */
	uint32_t n_late;
};

/* One rank's row of timeline_levels or a part of it: n steps over [t0, t1) with the share of each state. */
struct timeline_row {
	uint64_t t0, t1;
	uint32_t n;
	double (*share)[TSTATE_N];
};

/* Map a rank's local time to the common time line, and back (the latest local time that maps to t or earlier). */
uint64_t timeline_of_local(const struct timeline *tl, uint32_t rank, uint64_t local_ns);
uint64_t timeline_to_local(const struct timeline *tl, uint32_t rank, uint64_t t_ns);
uint64_t timeline_of_ticks(const struct timeline *tl, uint32_t rank, uint64_t ticks);

/* The rank's iterator, which is kept between calls. Returns NULL if memory runs out. */
struct trace_iter *timeline_iter(struct timeline *tl, uint32_t rank, struct errbuf *err);
/* Update the memory accounting after use. May free iterators, including this one. */
void timeline_iter_done(struct timeline *tl, uint32_t rank);

enum trace_state timeline_state(const struct trace_defs *d, uint32_t sym);

/* Add [a, b) in this state, with a share (0..1) of that time. */
void timeline_row_add(struct timeline_row *row, uint64_t a, uint64_t b, int state, double share);

/* Round shares so that they add up to at most 1. Sums from damaged files may exceed 1. */
void timeline_round_shares(double (*share)[TSTATE_N], uint32_t n, float (*out)[TSTATE_N]);

/* For imported traces. */
struct timeline_tiles *timeline_tiles_create(const struct trace *t, uint64_t *end_ns, struct errbuf *err);
void timeline_tiles_destroy(struct timeline_tiles *k);
void timeline_tiles_totals(const struct timeline_tiles *k, uint32_t rank, double seconds[TSTATE_N]);
int timeline_tiles_spans(struct timeline_tiles *k, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1,
			 int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);
int timeline_tiles_levels(struct timeline_tiles *k, uint32_t r0, uint32_t r1, struct timeline_row *row,
			  float (*share)[TSTATE_N], struct errbuf *err);
int timeline_tiles_messages(struct timeline_tiles *k, uint64_t t0, uint64_t t1,
			    int (*f)(const struct timeline_message *m, void *arg), void *arg, struct errbuf *err);

/* For traced runs. timeline_late_add: -1 without memory. */
int timeline_late_add(struct timeline *tl, const struct trace_message *m, uint64_t sent_ns);
void timeline_late_sort(struct timeline *tl);
void timeline_late_free(struct timeline *tl);
int timeline_rank_spans(struct timeline *tl, uint32_t rank, uint64_t t0, uint64_t t1,
			int (*f)(const struct timeline_span *s, void *arg), void *arg, struct errbuf *err);
int timeline_rank_levels(struct timeline *tl, uint32_t rank, struct timeline_row *row, struct errbuf *err);
void timeline_spool_destroy(struct timeline_spool *s);

#endif
