/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The own times of a rank: the times in which the rank had its processor or slept by itself. Delay is the time in
 * which the rank was ready to run while its processor served other processes. These may be ranks of the same run,
 * if there are more ranks than processors, or other programs.
 *
 * Samples tell the delay between two samples, but not where in that window the delay occurred. Delay is first taken
 * out of all calls and of the part of each computation that exceeds its usual time. The longest times are cut
 * first, down to one level. A lost time slice is much longer than a short computation, and a waiting rank yields
 * its processor. If delay remains, it is taken out of the usual computation.
 */
#ifndef PRECEDENT_TRACE_RUN_OWN_H
#define PRECEDENT_TRACE_RUN_OWN_H

#include "trace/format/samples.h"
#include "trace/read/reader.h"

/* A time, or the part of a time between two samples. */
struct run_own_piece {
	double ns, usual, *sum; /* usual <= ns */
};
struct run_own {
	struct trace_samples s;
	double ns_per_tick;
	uint32_t at;	 /* index of the sample that ends the window */
	double begin_ns; /* start of the window by the rank's clock */
	double left_ns;	 /* delay of the window that is not cut yet */
	uint32_t n, cap;
	struct run_own_piece *piece;
	double lost_ns; /* total delay that was cut */
};

/* Start reading a rank. A rank whose samples are missing or unreadable has no delay. Returns 0 on success, -1 if
 * memory runs out. */
int run_own_begin(struct run_own *o, const struct trace *t, uint32_t rank, struct errbuf *err);
/* Add a time of ns, which lies between from_ns and to_ns of the rank's clock. Its own part is added to *sum,
 * which must stay valid until run_own_end. Times come in order. usual_ns: usual time of this computation; 0 for
 * calls. */
void run_own_add(struct run_own *o, double from_ns, double to_ns, double ns, double usual_ns, double *sum);
/* Update the estimate of a usual time by one more time. It stays near the median. usual_ns is 0 before the first
 * time. */
double run_own_usual(double usual_ns, double ns);
/* Make all times before until_ns of the rank's clock final. They take their part of the window's delay. */
void run_own_settle(struct run_own *o, double until_ns);
/* Continue with the last window that begins at or before the event. *event becomes the event at its begin, or 0 if
 * nothing is skipped: the event is in the window at hand, which has delay. Times that are not final are dropped. */
void run_own_skip(struct run_own *o, uint64_t *event);
/* Make all times final, and free. */
void run_own_end(struct run_own *o);

/* Shorten the pieces by cut_ns together, as far as their lengths allow. */
void run_own_cut(struct run_own_piece *piece, uint32_t n, double cut_ns);

/* Processors that the ranks of a run may use, and the largest number of ranks per processor. */
struct run_place {
	uint32_t processors; /* 0: not known */
	double crowd;
};
/* Returns 0 on success, -1 if memory runs out. */
int run_place_find(const struct trace *t, struct run_place *out);
/* Predict the wall time of a run in seconds. sum_s: own time of all ranks together. longest_s: own time of the
 * longest rank. */
double run_place_wall(double crowd, uint32_t ranks, double longest_s, double sum_s);
/* The predicted wall time of a traced run if no other program uses its processors. Returns 0 on success, -1 on
 * error (err says why). */
int run_own_wall(const struct trace *t, double *wall_s, struct errbuf *err);

#endif
