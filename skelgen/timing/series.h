/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Statistics of the iteration times of a loop: segments between change points, drift, autocorrelation, period and rare
 * spikes. The statistics give the windows that represent the loop, as many as a precision needs. Change points are found
 * by binary segmentation of means with a penalty, after spikes are clipped, in O(n) a level.
 */
#ifndef PRECEDENT_SKELGEN_TIMING_SERIES_H
#define PRECEDENT_SKELGEN_TIMING_SERIES_H

#include <stdbool.h>
#include <stdint.h>

#include "skelgen/runtime/sampled.h"

#define SERIES_SEGMENTS 8

struct series_segment {
	uint64_t first, n;  /* elements */
	double mean;        /* without spikes */
	double deviation;   /* of an element */
	double long_run;    /* long-run deviation: limit of sqrt(n) times the deviation of the mean of n elements */
};

struct series_stats {
	uint64_t n;         /* elements */
	uint64_t group;     /* iterations per element; an element is their mean */
	double mean;        /* with spikes */
	double usual;       /* without */
	double deviation, long_run; /* within segments */
	double lag1;        /* autocorrelation within segments */
	uint32_t period;    /* elements; 0: none seen */
	double drift;       /* change from beginning to end by a straight line, relative to the mean */
	bool drifts;        /* the line explains the segments, not steps */
	uint32_t n_segment;
	struct series_segment segment[SERIES_SEGMENTS];
	uint64_t n_spike;   /* 0 also when long iterations are not rare */
	double spike_excess, spike_square; /* sums over spikes, in units of a usual element */
	double *spike_over; /* NULL, or by element: its excess, in the series' own unit (0: no spike) */
};

/* -1 without memory. An empty series gives n 0. */
int series_analyse(const double *x, uint64_t n, uint64_t group, struct series_stats *out);
void series_stats_free(struct series_stats *s);

/* Iterations to sample of `total` for a relative half-width at 95 %. */
uint64_t series_wanted(const struct series_stats *s, uint64_t total, double precision);
/* Relative half-width at 95 % to expect of these windows, with the spikes they account for. */
double series_expected(const struct series_stats *s, const struct sampled_plan *p);
/* Place the windows over a loop of `total` iterations. run: most iterations that run, with the first and the warm-ups.
 * s: statistics of the loop, or NULL. If visits > 1, the series is not of this visit alone; segments are then ignored. */
void series_windows(const struct series_stats *s, uint64_t total, uint64_t visits, uint64_t run,
		    struct sampled_plan *out);

#endif
