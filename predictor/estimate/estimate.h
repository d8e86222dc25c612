/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From probe results to a predicted walltime with its interval: pure functions, no files, no Slurm.
 *
 *   mpi_target  = sum over traces of mpi_s(source) * skel_s(target) / skel_s(source); where the probes say what of it
 *                 is computation, computation by that ratio, and what MPI and waiting take more there added
 *   rest        = elapsed(source job) - sum of mpi_s(source)
 *   rest_target = max(0, rest + n_traces * (startup(target) - startup(source)))
 *   prediction  = mpi_target + rest_target
 *
 * Interval: per trace the relative half widths of both probes added in quadrature, with the noise that each probe
 * measured (once for the probe and once for the run: the traced one, or the one to come), widened by the spread of
 * the kernels' ratios in proportion to (1 - confidence); absolute half widths add up over traces; at least
 * +-ESTIMATE_MIN_REL. Where both records have partial executions of all traces, what they say there is a second prediction:
 * these are seconds of the program itself, so that the comparison at home corrects them only as far as they were off there by
 * more than two runs differ by chance. The two are weighed by the inverse squares of their half widths; these hold how far
 * each was off at home, and how far each kind was off in earlier runs of the family on that candidate, where there were any.
 * History of the key on the same candidate then blends in, weighted by the inverse square of each one's relative error. An
 * estimate that does not know says so: -1 and the reason in err.
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
#define ESTIMATE_OUTVOTED    3

enum estimate_kind {
	ESTIMATE_SOURCE,   /* the traced run itself, on its own candidate */
	ESTIMATE_SKELETON, /* skeleton ratio to the source candidate */
	ESTIMATE_HISTORY,  /* past runs alone */
	ESTIMATE_BLEND,	   /* skeleton or source, corrected by past runs */
	ESTIMATE_PARTIAL,  /* partial execution, weighed against the skeleton */
	ESTIMATE_FAMILY,   /* past runs of programs that differ in numbers only */
	ESTIMATE_MODEL,    /* a law over inputs, from past runs of such programs (scaling_model.h) */
	ESTIMATE_JOINT,    /* such a law, weighed against what probes or past runs of the program itself say (combine.h) */
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
 * The target's prediction. source and target may be the same record: then the traced run's own elapsed time
 * is the prediction. elapsed_s: the traced job's. Refuses inconsistent or too uncertain input; of the latter *out still says what
 * it would have told, of the former mean_s is 0.
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
/* One program more: what was said of it, and its runs, whose mean it is compared with. */
void estimate_errors_add(struct estimate_errors *errors, double skeleton_s, double partial_s, const struct estimate_past *past,
			 size_t n);
/* The interval that an estimate claims counts as a few programs; what was seen of its kind, each as one: n of them, and the sum
 * of their squared relative errors. */
void estimate_learn(struct estimate *e, double sq_sum, unsigned n);
/* Relative half width by which a run may differ from what a probe, which saw `noise` (result.h), says of it. */
double estimate_noise_rel(double noise);
/* Two independent estimates of one time, weighed by the inverse squares of their widths; wide enough for both where they
 * disagree. kind: that of b. */
void estimate_weigh(const struct estimate *a, const struct estimate *b, struct estimate *out);
/* ---- history.c ---- */

/* What the end of a run says of how long a whole one takes. */
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
 * Correct base (NULL: none) by past runs, the latest first (up to ESTIMATE_HISTORY_MAX are used). With no
 * past runs out is base. Refuses when there is neither or when the interval stays too wide. Runs that were ended before their
 * end never make it shorter: within the interval they raise it, beyond it they refute it until ESTIMATE_OUTVOTED whole runs
 * have come after them.
 */
int estimate_blend(const struct estimate *base, const struct estimate_past *past, size_t n,
		   struct estimate *out, struct errbuf *err);
/* The same, with what is believed of the relative spread of runs before any was seen (0: what estimate_blend believes). One run
 * alone weighs by it too, but never less than base. */
int estimate_blend_believing(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			     struct estimate *out, struct errbuf *err);
/* The same; *history: what past runs say alone, and *weight what that counts for, 0 to 1. */
int estimate_blend_weighed(const struct estimate *base, const struct estimate_past *past, size_t n, double spread,
			   struct estimate *out, struct estimate *history, double *weight, struct errbuf *err);
/* That belief after n programs of the family, with this sum of squared relative errors of past runs as a prediction. */
double estimate_spread(double sq_sum, unsigned n);
/* 0 when the interval makes sense and is narrow enough, else -1 with the reason. */
int estimate_check(const struct estimate *e, struct errbuf *err);

const char *estimate_kind_name(enum estimate_kind kind); /* source, skeleton, history, blend, partial, family, model, joint */
int estimate_kind_parse(const char *text, enum estimate_kind *kind);

#endif
