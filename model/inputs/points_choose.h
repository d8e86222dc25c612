/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Chooses the inputs of computed points (points.h): the inputs of the runs, and others spread over their range and a little beyond. */
#ifndef PRECEDENT_MODEL_INPUTS_POINTS_CHOOSE_H
#define PRECEDENT_MODEL_INPUTS_POINTS_CHOOSE_H

#include "model/inputs/feature.h"
#include "model/inputs/points.h"

#define POINTS_AXES_MAX (FEATURE_VARS_MAX + 1) /* ranks are no variable of a model */

/* An input that varies by itself. */
struct points_axis {
	unsigned var;
	double lo, hi;
	bool powers;  /* of two, in all runs */
	double step; /* the greatest number that divides the input of all runs; 0: not all are whole numbers */
};

/* Inputs that vary, without those that always were in proportion to an earlier one. Returns how many. */
unsigned points_axes(const struct points_run *run, unsigned n, struct points_axis axis[IDENTITY_VARS_MAX]);
/* Sets out->n and the inputs of its points; n_axes: at most POINTS_AXES_MAX. */
void points_choose(const struct points_run *run, unsigned n, const struct points_axis *axis, unsigned n_axes, struct points *out);

#endif
