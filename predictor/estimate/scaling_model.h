/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A performance model over inputs, fitted to past runs of programs that differ in numbers only (`kin` in common/identity.h). It
 * predicts a program with numbers that never ran. Pure; no text of a user is executed.
 *
 * A shape is a sum of at most SCALING_TERMS_MAX terms c * prod x_i^a log2(x_i)^b with c > 0 (the performance model normal form:
 * Calotoiu, Hoefler, Poke and Wolf, "Using automated performance modeling to find scalability bugs in complex codes", SC 2013).
 * Or it is one power law with fitted exponents. Coefficients minimise the relative errors. Each shape is judged by its
 * leave-one-out error.
 *
 * Computed points (model/inputs/points.h) stand beside the runs, where there are some. Runs decide: a point where there was a run only
 * tells how far off points are. By that all points are scaled and all intervals are wider. Points together weigh no more than runs, and
 * the model holds as far from the runs as without points.
 *
 * Few runs do not determine one shape. So all shapes that are about as good as the best are averaged, weighed by error and size
 * (model averaging). Near the inputs that ran they agree; far from these they differ, and the interval includes their
 * difference.
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
/* Few inputs flatter the shape that fits them: its interval is wider by this, over their number. */
#define SCALING_FEW	  3.0
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
	double missed; /* the same over runs alone, computed points left aside; not kept by scaling_format */
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
	unsigned computed; /* points that were computed; not kept by scaling_format */
	bool array; /* the last input is the index of an array (for its name alone) */
	double lo[SCALING_VARS_MAX], hi[SCALING_VARS_MAX]; /* over these runs */
	struct scaling_tie ties[SCALING_TIES_MAX];
	struct scaling_shape s[SCALING_SHAPES_MAX]; /* the best first */
};

/* The latest first; at most SCALING_RUNS_MAX are used. Runs of the same numbers count once, by the median of the latest. *out is
 * zeroed but for the runs and points where it refuses, with the reason. */
int scaling_fit(const struct param_family_run *runs, size_t n, struct scaling_model *out, struct errbuf *why);
/* A computed point. vars: numbers as of a run, borrowed; seconds: of the whole run; claim: error that its model claims, a ratio less 1. */
struct scaling_point {
	const char *vars;
	double seconds, claim;
};
#define SCALING_COMPUTED_MAX 32 /* that are used */
/* The same with computed points beside the runs; NULL: no traces can give points of these runs. out->computed: how many are in the
 * model; 0: it is that of the runs alone. */
int scaling_fit_with(const struct param_family_run *runs, size_t n, const struct scaling_point *points, size_t n_points,
		     struct scaling_model *out, struct errbuf *why);
/* Seconds by one shape. All inputs that it takes logarithms or powers of must be above 0. */
double scaling_shape_at(const struct scaling_shape *s, const double *vars);
/* Predicts a run with these inputs. Refuses inputs too far from all that ran, and inputs for which the shapes disagree. */
int scaling_predict(const struct scaling_model *model, const double *vars, unsigned n_vars, struct estimate *out, struct errbuf *why);
/* Distance beyond the ranges of the inputs, in widths; 0: within. Refuses inputs that are too far. */
struct scaling_beyond {
	double above, below;
};
int scaling_distance(const struct scaling_model *model, const double *vars, struct scaling_beyond *far, struct errbuf *why);
/* Numbers as identity_vars_format writes them. Returns how many, 0 when it is malformed or more than SCALING_VARS_MAX. */
unsigned scaling_vars_parse(const char *text, double out[SCALING_VARS_MAX]);
/* Formats one line for scaling_parse; "" if it does not fit. */
void scaling_format(const struct scaling_model *model, char *out, size_t size);
/* Refuses any text that is not a model within bounds. */
int scaling_parse(const char *text, struct scaling_model *out, struct errbuf *why);
/* The best shape in words: "1.2 s + 3.4e-05 s * n2^2 / ranks", n2 the second number in arguments and script. Returns out. */
char *scaling_words(const struct scaling_model *model, char *out, size_t size);

#endif
