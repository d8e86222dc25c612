/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Segments of a run lie between its cuts. Each has a length, and shares of its time by call site. Segments with like shares
 * are one kind.
 * Source: Sherwood, Perelman, Hamerly and Calder, "Automatically characterizing large scale program behavior", ASPLOS 2002;
 * here, a segment is described by the shares of its time at each call site instead of by basic blocks.
 */
#ifndef PRECEDENT_SKELGEN_PIECES_SEGMENTS_H
#define PRECEDENT_SKELGEN_PIECES_SEGMENTS_H

#include "common/errbuf.h"
#include "skelgen/pieces/cuts.h"
#include "trace/cpu_time/pace.h"

#define SEGMENT_DIMENSIONS 24 /* call sites are hashed to these; SimPoint projects to 15 */
#define PIECE_KINDS_MAX  8
#define SEGMENTS_MOST    2001 /* of a run */

struct segment {
	/* Mean over ranks of their own time in it. Unsuccessful tests that are no work wait like calls. */
	double ns;
	double gap_ns;   /* of it: computation */
	double gap_most_ns; /* computation of the rank that computes longest */
	double late_ns;  /* mean over ranks: apart from `ns`, a piece of it runs so long */
	uint64_t events; /* of all ranks */
	uint64_t waits[SEGMENT_DIMENSIONS]; /* of them: calls that may wait for another rank, by call site */
	double share[SEGMENT_DIMENSIONS]; /* of its time */
	uint32_t kind;
	bool timed;      /* times of all its calls are known */
	bool rest;       /* between the windows of a long run: too long to run, and described by the windows */
	/* Set by segments_choose(), of segments that take much of the budget each: */
	bool alone;      /* runs, and stands for itself */
	bool left;       /* does not run: its kind stands for it */
	double part;     /* of its computations that runs: 1, or less if these are long */
	double run_ns;   /* time of its piece, mean over ranks: part x ns */
};

struct segments {
	uint32_t n, n_kind;
	bool joined;        /* segments_choose() made like kinds one */
	struct segment *at; /* n = cuts + 1 */
	/* [segment * ranks + rank]: from when the first rank enters the segment until this one does */
	double *late_ns;
	double ns;          /* of all */
	/* From the end of MPI_Init on a rank to the end of its last call, by the clock: mean over ranks, and the longest */
	double span_ns, span_most_ns;
	/* Of the run: computation, of it unsuccessful tests and delay by other processes, means over ranks; the most delay. */
	double gap_ns, polled_ns, delayed_ns, delayed_most_ns;
	double waited_ns, waited_most_ns; /* delay in calls, mean over ranks and most */
	double elapsed_ns; /* in calls and gaps of all threads, by the clock: see own_iter_elapsed(); mean over ranks */
	uint64_t events;
	double differs;    /* relative half width by which runs differ: see pace.h */
	struct pace pace;
};

/* rest_ns: segments longer than this are rests if enough others are left; INFINITY: none is. Returns 0, or -1 with the reason. */
int segments_measure(const struct trace *t, const struct cuts *cuts, double rest_ns, struct segments *out, struct errbuf *err);
/* All ranks enter each segment when they come to it. Ranks that share processors do so, and ranks that cannot wait for all
 * others since messages are under way at the cuts. */
void segments_forget_lates(struct segments *s);
void segments_free(struct segments *s);

/*
 * Chooses the segments that run: of every kind, evenly spread over the segments of the kind, and no rests. They take about
 * `seconds` and have at most `events` calls. chosen[] is by segment. Returns their number. Where a segment of each kind is too
 * much, like kinds become one.
 * A segment that takes much of the budget alone would leave no room for pieces of all kinds. The longest of such segments run
 * within half of the budget, and stand for themselves. If there is no room for all of them, a part runs of those in
 * which a rank computes almost all of the time. The others are left out.
 * Source: stratified sampling with systematic selection, Cochran, "Sampling techniques", 1977, chapters 5 and 8. Long segments:
 * Hidiroglou, "The construction of a self-representing stratum of large units in survey design", The American Statistician 40,
 * 1986.
 */
uint32_t segments_choose(struct segments *s, double seconds, uint64_t events, bool *chosen);

#endif
