/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From probe results to a predicted walltime with its interval: pure functions, no files, no Slurm.
 *
 *   mpi_target  = sum over traces of mpi_s(source) * skel_s(target) / skel_s(source); with records of computation,
 *                 computation by that ratio, and additional time in MPI and waiting added
 *   rest        = elapsed(source job) - sum of mpi_s(source)
 *   rest_target = max(0, rest + n_traces * (startup(target) - startup(source)))
 *   prediction  = mpi_target + rest_target
 *
 * The interval of a trace adds in quadrature the relative half widths of both probes and their measured noise. The noise counts
 * twice, for the probe and for the run. The spread of the kernels' ratios counts in proportion to (1 - confidence). Absolute
 * half widths add up over traces. The half width is at least ESTIMATE_MIN_REL.
 *
 * Partial executions of all traces give a second prediction, in seconds of the program itself. The comparison at home corrects
 * it only beyond the difference of two runs by chance. Both predictions are weighed by the inverse squares of their half
 * widths, which include errors at home and errors in earlier runs of the family on that candidate.
 *
 * History of the key on the same candidate blends in, weighted by the inverse square of each relative error. Without enough
 * evidence a function returns -1 and the reason.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_ESTIMATE_H
#define PRECEDENT_PREDICTOR_ESTIMATE_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/errbuf.h"
#include "predictor/spool/result.h"

#define ESTIMATE_HISTORY_MAX 32
#define ESTIMATE_MIN_REL     0.02 /* least half width, relative to the prediction */
#define ESTIMATE_MAX_RATIO   2.0  /* wider than hi/lo of this: refused */
/*
 * Of past runs alone, from so many on. Runs of one program may really differ so much. Were only narrow intervals told, these would
 * be those of runs that happen to be alike, and hold too seldom.
 */
#define ESTIMATE_RUNS_RATIO  10.0
#define ESTIMATE_RUNS_LEAST  3
#define ESTIMATE_OUTVOTED    3

enum estimate_kind {
	ESTIMATE_SOURCE,   /* the traced run itself, on its own candidate */
	ESTIMATE_SKELETON, /* skeleton ratio to the source candidate */
	ESTIMATE_HISTORY,  /* past runs alone */
	ESTIMATE_BLEND,	   /* skeleton or source, corrected by past runs */
	ESTIMATE_PARTIAL,  /* partial execution, weighed against the skeleton */
	ESTIMATE_FAMILY,   /* past runs of programs that differ in numbers only */
	ESTIMATE_MODEL,    /* a model over inputs, from past runs of such programs (scaling_model.h) */
	ESTIMATE_JOINT,    /* such a model, weighed against probes or past runs of the program itself (combine.h) */
	ESTIMATE_KINDS
};

struct estimate {
	double mean_s, lo_s, hi_s;
	enum estimate_kind kind;
	unsigned n; /* past runs that went in */
};

/* A past run of the same key on the same candidate. */
struct estimate_past {
	double actual_s;
	double pred_s; /* what was predicted then; 0 = nothing */
	bool at_least; /* it was ended before its end: it would have taken actual_s or more */
};

/* How wrong either kind of probe alone was in the past: sums over programs of squared relative errors. */
struct estimate_errors {
	unsigned n;
	double skeleton, partial;
};

/*
 * The target's prediction. If source and target are the same record, the prediction is the traced job's elapsed_s. Returns -1
 * for inconsistent input (out->mean_s is 0) or too uncertain input (*out holds the refused estimate).
 */
int estimate_from_probes(const struct result *source, const struct result *target, double elapsed_s,
			 struct estimate *out, struct errbuf *err);
/* The same by partial execution alone. */
int estimate_from_partial(const struct result *source, const struct result *target, double elapsed_s, struct estimate *out,
			  struct errbuf *err);
/* By both, weighed by their past errors too (NULL: none are known). */
int estimate_from_probes_after(const struct result *source, const struct result *target, double elapsed_s,
			       const struct estimate_errors *errors, struct estimate *out, struct errbuf *err);
/* What either kind says alone of another candidate than the traced one; -1 unless both do. */
int estimate_by_kind(const struct result *source, const struct result *target, double elapsed_s, struct estimate *skeleton,
		     struct estimate *partial);
/* Adds one program: both predictions and its runs, whose mean is the reference. */
void estimate_errors_add(struct estimate_errors *errors, double skeleton_s, double partial_s, const struct estimate_past *past,
			 size_t n);
/* Widens or narrows the interval by past errors of its kind: sq_sum, the sum of squared relative errors over n programs. The
 * claimed interval counts as a few programs. */
void estimate_learn(struct estimate *e, double sq_sum, unsigned n);
/* Relative half width of the difference between a run and a probe that measured `noise` (result.h). */
double estimate_noise_rel(double noise);
/* Weighs two independent estimates by the inverse squares of their half widths. The interval covers their difference. kind: of
 * b. */
void estimate_weigh(const struct estimate *a, const struct estimate *b, struct estimate *out);
/* ---- history.c ---- */

/* What a run tells about the time of a whole run. */
enum run_evidence {
	RUN_NO_EVIDENCE, /* it failed, or its end is not known */
	RUN_LOWER_BOUND,   /* it was ended while it ran, or had begun before: a whole run takes at least as long */
	RUN_WHOLE,
};
/* restarts: how often the job had been queued again: then it may have gone on where it was. */
enum run_evidence run_evidence_of(const char *end_state, unsigned restarts);

/* From past runs alone, the latest first; needs at least two whole ones. */
int estimate_from_history(const struct estimate_past *past, size_t n, struct estimate *out,
			  struct errbuf *err);
/*
 * Corrects base (NULL: none) by past runs, the latest first, at most ESTIMATE_HISTORY_MAX. Without past runs *out is *base.
 * Returns -1 if there is neither, or if the interval stays too wide. Runs that were ended early are lower bounds: within the
 * interval they raise the estimate, beyond the interval they refute it until ESTIMATE_OUTVOTED whole runs have followed.
 */
int estimate_blend(const struct estimate *base, const struct estimate_past *past, size_t n,
		   struct estimate *out, struct errbuf *err);
/* The same, with a prior of the relative spread of runs; 0: the prior of estimate_blend. A single run is weighed by this prior,
 * but never below base. */
int estimate_blend_believing(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			     struct estimate *out, struct errbuf *err);
/* The same. *history: the estimate from past runs alone; *weight: its weight, 0 to 1. */
int estimate_blend_weighed(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			   struct estimate *out, struct estimate *history, double *weight, struct errbuf *err);
/* The prior after n programs of the family; sq_sum: their squared relative errors of past runs as a prediction. */
double estimate_spread(double sq_sum, unsigned n);
/* 0 when the interval makes sense and is narrow enough, else -1 with the reason. */
int estimate_check(const struct estimate *e, struct errbuf *err);

const char *estimate_kind_name(enum estimate_kind kind); /* source, skeleton, history, blend, partial, family, model, joint */
int estimate_kind_parse(const char *text, enum estimate_kind *kind);

#endif
