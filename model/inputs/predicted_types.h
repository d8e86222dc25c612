/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes of a predicted rank, in the order in which its calls use them, as the tracer numbers them.
 */
#ifndef PRECEDENT_MODEL_INPUTS_PREDICTED_TYPES_H
#define PRECEDENT_MODEL_INPUTS_PREDICTED_TYPES_H

#include "model/inputs/pattern.h"

struct predicted_types {
	uint32_t n, cap, n_of;
	struct trace_type *type; /* subtypes are malloced, all else is of the set */
	uint32_t *of;		 /* by datatype of the set, PATTERN_NONE */
};

/* Adds the datatypes among the parameters of a call to the rank's, and renumbers the parameters from the set's numbers.
 * Returns -1 without memory. */
int predicted_types_name(struct predicted_types *t, const struct pattern_set *set, uint32_t pattern, int64_t *val);
void predicted_types_free(struct predicted_types *t);

#endif
