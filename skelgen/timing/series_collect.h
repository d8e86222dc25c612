/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Iteration times, from the trace, of the loops that a skeleton might cut. Such a loop is run by all ranks, equally often,
 * and takes a share of the time. The times are read from a few ranks, evenly spread.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_SERIES_COLLECT_H
#define PRECEDENT_SKELGEN_TIMING_SERIES_COLLECT_H

#include "common/errbuf.h"
#include "skelgen/timing/series.h"
#include "skelgen/timing/timed_walk.h"
#include "skelgen/tree/tree.h"

#define SKEL_SERIES_LOOPS 32      /* the longest ones */
#define SKEL_SERIES_RANKS 8       /* most ranks that are read */
#define SKEL_SERIES_MOST  65536   /* elements; in a longer loop an element is the mean of several iterations */
#define SKEL_SERIES_SHARE 0.005   /* of the program's time: a loop with less gets no series */

struct skel_loop_series {
	uint32_t node;
	uint64_t total, visits;   /* iterations of a visit; visits by the whole program */
	bool placed;              /* elements have their places in the loop: none was left out */
	struct series_stats stats;
	double *x;                /* by element: ns an iteration. NULL if some elements have no place, or there are several visits */
	float *gap[SKEL_SERIES_RANKS]; /* of it, the gaps of n_gap ranks */
	uint32_t n_gap;
	/* The part of the spikes that is missing when compute blocks are replayed by their means. */
	struct sampled_spikes spikes;
	/* All spikes, if many are missing when each execution has its own gap: those in calls. */
	struct sampled_spikes spikes_in_calls;
};

struct skel_series {
	uint32_t n;
	struct skel_loop_series loop[SKEL_SERIES_LOOPS];
};

struct skel_times;
struct series_reader;

/* Choose the loops. out->n is 0 if no loop qualifies. Returns NULL with the reason in err. */
struct series_reader *series_reader_create(const struct skel_tree *tree, const struct skel_times *times, struct skel_series *out,
					   struct errbuf *err);
/* struct timed_reader */
int series_reader_begin(void *reader, uint32_t rank, struct errbuf *err);
void series_reader_call(void *reader, const struct timed_walk *w);
/* All ranks were read: fill `out`. Returns 0, or -1 with the reason. */
int series_reader_close(struct series_reader *c, struct errbuf *err);
void series_reader_destroy(struct series_reader *c);

/* Give the windows the traced times of their iterations, with gaps scaled as in the skeleton. If there are spikes to account
 * for, the times are without spikes. l->x is not NULL. */
void series_traced(const struct skel_loop_series *l, struct sampled_plan *p);

void skel_series_free(struct skel_series *s);
/* Of a loop, or NULL. */
const struct skel_loop_series *skel_series_of(const struct skel_series *s, uint32_t node);

#endif
