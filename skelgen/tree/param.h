/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Fitting of values as functions of the rank: the first form that holds on every point. Every function that is
 * returned has been checked on every point; a table always holds.
 */
#ifndef PRECEDENT_SKELGEN_TREE_PARAM_H
#define PRECEDENT_SKELGEN_TREE_PARAM_H

#include "common/arena.h"
#include "skelgen/tree/tree.h"

/* Point i: place[i] of n_places[i] has value[i]; points are in the order of the rank set. */
struct rank_points {
	uint32_t n;
	const uint32_t *place, *n_places;
	const int64_t *value;
};

/* Fit without a table: 0, or -1 when no form holds. */
int rank_fn_fit_form(const struct rank_points *p, uint8_t basis, struct rank_fn *out);
/* Fit with a table as the last resort; the table is allocated from the arena. -1 without memory. */
int rank_fn_fit(const struct rank_points *p, struct arena *a, struct rank_fn *out);
int rank_fn_table(const struct rank_points *p, struct arena *a, struct rank_fn *out);

/* Place of a world rank in a communicator of its definitions; -1 when it is no member. */
int comm_place(const struct trace_defs *d, int64_t comm, uint32_t world_rank, uint32_t *place, uint32_t *n_places);

#endif
