/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values of features, functions and atoms in a state. Only this file defines their meaning. compile.c writes the same
 * operations in the same order, so that both give the same bits. Compile with -ffp-contract=off.
 */
#ifndef PRECEDENT_MODEL_INDUCE_VALUE_H
#define PRECEDENT_MODEL_INDUCE_VALUE_H

#include "model/induce/model.h"

struct model_state {
	const double *input;
	const double *var;
	const uint64_t *count; /* counters of the graph */
	uint32_t from, caller;
};

double model_mod(double x, double k);  /* in [0, k); NaN unless k >= 1 */
double model_divide(double x, double k); /* whole part; NaN unless k >= 1 */
double model_log2(double x);
double model_inverse(double x);
double model_sign(double x);
double model_ring(double x, double n);
double model_ring_back(double x, double n);
bool model_arith(double x, double a, double b, uint64_t n);
bool model_geom(double x, double a, double b, uint64_t n);

double model_feature_value(const struct model_graph *g, uint32_t x, const struct model_state *s);
double model_fn_value(const struct model_graph *g, const struct model_fn *fn, const struct model_state *s);
bool model_atom_holds(const struct model_graph *g, const struct model_atom *a, const struct model_state *s);

/* Uniform in [0, 1): the state is stepped. */
double model_random(uint64_t *state);

#endif
