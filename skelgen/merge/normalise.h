/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Equality of events. Within a rank, two events are equal if they have the same shape; loops are made of shapes.
 * Between ranks, two events are equal if they have the same key: function, call site, communicator, kind of datatype,
 * operation.
 *
 * The original order of events is kept. Zhang, Zhang and Zhang (2010, cited in merge.h, section 2.2,
 * algorithm 1) sort adjacent sends before receives so that ranks agree. But reordering may deadlock, and it moves the
 * gaps. Here the alphabet makes ranks agree.
 */
#ifndef PRECEDENT_SKELGEN_MERGE_NORMALISE_H
#define PRECEDENT_SKELGEN_MERGE_NORMALISE_H

#include "common/errbuf.h"
#include "skelgen/tree/tree.h"
#include "trace/format/defs.h"

/* A set of keys, sorted. */
struct key_set {
	uint64_t *key;
	uint32_t n, cap;
};
bool key_set_has(const struct key_set *s, uint64_t key);
/* Keeps the set sorted; -1 without memory. */
int key_set_add(struct key_set *s, uint64_t key);
void key_set_free(struct key_set *s);

/* Symbols of a rank to shapes, numbered in the order of their first symbol. */
struct shape_map {
	uint32_t n_sym, n_shape;
	uint32_t *of_sym;
	uint64_t *key; /* of each shape */
};

/* Shapes of a rank in the alphabet, except that calls whose key is in `kept` (may be NULL) stay exact. */
int shape_map_build(const struct trace_defs *d, enum skel_alphabet alphabet, const struct key_set *kept,
		    struct shape_map *out, struct errbuf *err);
void shape_map_free(struct shape_map *m);

/* Key of a symbol. */
uint64_t event_key(const struct trace_defs *d, uint32_t sym);

#endif
