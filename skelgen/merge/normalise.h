/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What makes two events the same: within a rank (shapes: the symbols that its loops are made of) and between ranks
 * (keys: function, call site, communicator, kind of datatype, operation).
 * Paper 004, algorithm 1, sorts adjacent sends before receives so that ranks agree; here the original order is kept
 * (reordering may deadlock and moves the gaps), and agreement is a matter of the alphabet.
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
