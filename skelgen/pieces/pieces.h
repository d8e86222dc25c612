/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A skeleton of pieces. Where a run does not repeat, or its ranks share no loop, a skeleton of the whole run is as long as
 * the run. Then the skeleton is made of an excerpt: some segments of the run between consistent cuts, exactly as they were.
 * Only long computations may be shorter.
 * Each segment of the run is of a kind, and the pieces of a kind stand for all segments of that kind:
 *
 *	T = sum over pieces of weight x time
 *
 * A weight is at first the traced time of the kind's segments over the traced time of the kind's pieces. The weights are then
 * calibrated (weights.h).
 */
#ifndef PRECEDENT_SKELGEN_PIECES_PIECES_H
#define PRECEDENT_SKELGEN_PIECES_PIECES_H

#include "common/errbuf.h"
#include "skelgen/pieces/call_roles.h"
#include "skelgen/pieces/cuts.h"
#include "skelgen/pieces/segments.h"
#include "skelgen/pieces/weights.h"
#include "trace/read/reader.h"

/* A run with its cuts. */
struct survey {
	const struct trace *trace;
	uint32_t n_ranks;
	double piece_ns; /* wanted */
	double rest_ns;  /* longer segments are rests */
	struct call_roles *roles; /* by rank */
	struct cuts cuts;
	struct segments segments;
};

/* The pieces of an excerpt. */
struct pieces {
	uint32_t n, n_kind;  /* pieces that stand for themselves are a kind */
	uint32_t *segment; /* by piece */
	uint32_t *kind;    /* by piece */
	double *ns;        /* by piece: traced time, mean over ranks; of the part that runs */
	double *weight;    /* by piece: time of the run that it stands for over its own; 1 or more */
	/* [piece * ranks + rank]: so long after the first rank it enters the piece. NULL: each enters it when it comes to
	 * it (segments_forget_lates). */
	double *late_ns;
	double wait_ns;    /* mean over ranks: for so long the skeleton waits before its pieces begin */
	struct weights_balance balance; /* of the pieces by their weights */
	double most;       /* time by the clock of the rank that takes longest, over the mean of all ranks */
	double part_share; /* of the run's time in pieces of whose computation a part runs */
	double left_share; /* of the run's time in long segments that are left out, for which other pieces stand */
	double left_ns;    /* root of the sum of squares of their times */
	uint64_t events;   /* of the pieces */
	uint32_t rounds;   /* that fit into rounds_s */
	double rounds_s;   /* for so long they run again and again; 0: once */
};

#define PIECES_ITEMS_MOST 8000 /* of a rank's folded events: to contract more takes longer than a skeleton may take */

/* The most calls of an excerpt. It has as many folded items as a trace that is contracted, if it folds no better than this
 * one. */
uint64_t pieces_calls_most(const struct trace *t);
/* Cut the run. A piece has about a fortieth of `seconds`. It has a fortieth of the most calls of an excerpt if the excerpt
 * cannot have all calls of the run, and if that is less. Returns 0; 1 if there are fewer than two cuts; -1 with the
 * reason. */
int survey_make(const struct trace *t, double seconds, struct survey *out, struct errbuf *err);
void survey_free(struct survey *s);

/* Choose pieces of about `seconds` with at most `events` calls. Returns 0, or -1 with the reason: no pieces can be chosen. */
int pieces_choose(struct survey *s, double seconds, uint64_t events, struct pieces *out, struct errbuf *err);
/* Open the excerpt of these pieces. Returns 0; 1 with the reason if the excerpt is not the run, other pieces may be; -1 with
 * the reason if no excerpt can be written. */
int pieces_excerpt(const struct survey *s, const struct pieces *p, struct trace **out, struct errbuf *err);
void pieces_free(struct pieces *p);

#endif
