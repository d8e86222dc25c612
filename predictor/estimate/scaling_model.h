/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A model over inputs from how long past runs took: programs that differ in numbers only (a kin, common/identity.h) took as
 * long as their numbers say, so one whose numbers never ran is predicted. Pure; nothing of what users wrote is executed.
 *
 * A shape is a sum of at most SCALING_TERMS_MAX terms c * prod x_i^a log2(x_i)^b with c > 0 (the performance-model normal form), or
 * one power law with fitted exponents. Coefficients minimise the relative errors (least squares); each shape is held against
 * runs that it was not fitted to, one left out at a time. Since few runs determine no shape for certain, all that do about as
 * well as the best are kept, weighed by their error and their size (model averaging): near the inputs that ran they agree, far
 * from them they part, and the interval holds both their errors and their disagreement. What it does not know it refuses.
 */
#ifndef PRECEDENT_PREDICTOR_ESTIMATE_SCALING_MODEL_H
#define PRECEDENT_PREDICTOR_ESTIMATE_SCALING_MODEL_H

#include <stdbool.h>
#include <stddef.h>

#include "common/identity.h"
#include "predictor/estimate/estimate.h"
#include "predictor/estimate/param_family.h"

#define SCALING_RUNS_MAX	 256 /* the latest runs that are looked at */
#define SCALING_POINTS_MAX	 48  /* different inputs among them */
#define SCALING_POINTS_MIN	 3
#define SCALING_VARS_MAX	 IDENTITY_VARS_MAX
#define SCALING_FACTORS_MAX	 3
#define SCALING_TERMS_MAX	 4
#define SCALING_SHAPES_MAX	 8
#define SCALING_TIES_MAX	 16
#define SCALING_TEXT_MAX	 2048
#define SCALING_ERROR_MAX	 0.25 /* a greater error on runs that were left out: refused */

struct scaling_factor {
	unsigned var;
	double power;
	unsigned log; /* times log2(x) to this power, 0 or 1 */
};

struct scaling_term {
	double c; /* seconds */
	unsigned n;
	struct scaling_factor f[SCALING_FACTORS_MAX];
};

struct scaling_shape {
	double weight; /* all add up to 1 */
	double error;  /* relative, root mean square over what was left out */
	unsigned n;
	struct scaling_term t[SCALING_TERMS_MAX];
};

/* Inputs that always were in the same proportion: vars[var] = ratio * vars[with]. */
struct scaling_tie {
	unsigned var, with;
	double ratio;
};

struct scaling_model {
	unsigned runs, points; /* that it was fitted to; points: different inputs */
	unsigned n_vars, n_ties, n_shapes;
	bool array; /* the last input is the index of an array (for its name alone) */
	double lo[SCALING_VARS_MAX], hi[SCALING_VARS_MAX]; /* over these runs */
	struct scaling_tie ties[SCALING_TIES_MAX];
	struct scaling_shape s[SCALING_SHAPES_MAX]; /* the best first */
};

/* The latest first; at most SCALING_RUNS_MAX are used. Runs of the same numbers count once, by the median of the latest. *out is
 * zeroed but for the runs and points where it refuses, with the reason. */
int scaling_fit(const struct param_family_run *runs, size_t n, struct scaling_model *out, struct errbuf *why);
/* What one shape says, in seconds; by input, of which each has to be above 0. */
double scaling_shape_at(const struct scaling_shape *s, const double *vars);
/* How long a run with these numbers takes. Refuses what lies too far from all that ran, or where the shapes disagree. */
int scaling_predict(const struct scaling_model *model, const double *vars, unsigned n_vars, struct estimate *out, struct errbuf *why);
/* How far beyond the ranges of its inputs these lie, in widths of them; 0: none does. Refuses what is too far. */
struct scaling_beyond {
	double above, below;
};
int scaling_distance(const struct scaling_model *model, const double *vars, struct scaling_beyond *far, struct errbuf *why);
/* Numbers as identity_vars_format writes them. Returns how many, 0 when it is malformed or more than SCALING_VARS_MAX. */
unsigned scaling_vars_parse(const char *text, double out[SCALING_VARS_MAX]);
/* As text of one line, which scaling_parse reads; "" where it does not fit. */
void scaling_format(const struct scaling_model *model, char *out, size_t size);
/* Any text: what is not a law, or out of bounds, is refused. */
int scaling_parse(const char *text, struct scaling_model *out, struct errbuf *why);
/* The best shape in words: "1.2 s + 3.4e-05 s * n2^2 / ranks", n2 the second number in arguments and script. Returns out. */
char *scaling_words(const struct scaling_model *model, char *out, size_t size);

#endif
