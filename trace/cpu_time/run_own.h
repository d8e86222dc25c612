/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What of a rank's times it had its processor for, or slept of its own accord: without what it was ready and others had the
 * processor, be they ranks of the same run, where there are more of them than processors, or other programs. Samples say how
 * long that was between two of them, not where. What is taken away first is what computation took beyond the usual, and all
 * of calls, the longest first down to one length: whoever loses the processor loses it for much longer than a short block
 * lasts, and who waits lets others have it. Then the usual computation.
 */
#ifndef PRECEDENT_TRACE_RUN_OWN_H
#define PRECEDENT_TRACE_RUN_OWN_H

#include "trace/format/samples.h"
#include "trace/read/reader.h"

/* A time, or the part of it between two samples. */
struct run_own_piece {
	double ns, usual, *sum; /* usual: not more than ns */
};
struct run_own {
	struct trace_samples s;
	double ns_per_tick;
	uint32_t at;	 /* the sample that ends the window */
	double begin_ns; /* of the window, as the rank's clock went */
	double left_ns;	 /* of the window's delay, not cut yet */
	uint32_t n, cap;
	struct run_own_piece *piece;
	double lost_ns; /* cut in all */
};

/* -1 without memory. A rank without samples, or with unreadable ones, had its processor always. */
int run_own_begin(struct run_own *o, const struct trace *t, uint32_t rank, struct errbuf *err);
/* A time of ns that lies between these moments of the rank's clock is to be added to *sum, which has to stay where it is until
 * the end; in order. usual_ns: of computation here; 0 of calls. */
void run_own_add(struct run_own *o, double from_ns, double to_ns, double ns, double usual_ns, double *sum);
/* What is usual after another time of ns: near the median, 0 before the first. */
double run_own_usual(double usual_ns, double ns);
/* All times until this moment of the rank's clock are final, with their part of the window's delay. */
void run_own_settle(struct run_own *o, double until_ns);
/* Adds what is left, and frees. */
void run_own_end(struct run_own *o);

/* Cut pieces until together they are cut_ns shorter, or nothing is left. */
void run_own_cut(struct run_own_piece *piece, uint32_t n, double cut_ns);

/* Processors that a run's ranks may use, and how many ranks there are for one of them where it is worst. */
struct run_place {
	uint32_t processors; /* 0: not known */
	double crowd;
};
/* -1 without memory. */
int run_place_find(const struct trace *t, struct run_place *out);
/* Seconds of a run whose ranks have a processor of their own for sum_s together, the longest for longest_s. */
double run_place_wall(double crowd, uint32_t ranks, double longest_s, double sum_s);
/* A traced run's by that: what it takes when no other program has its processors. -1 with the reason. */
int run_own_wall(const struct trace *t, double *wall_s, struct errbuf *err);

#endif
