/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Contracted trees as items that can be put together anew: for the files that fold loops. */
#ifndef PRECEDENT_MODEL_INPUTS_ITEMS_H
#define PRECEDENT_MODEL_INPUTS_ITEMS_H

#include "common/arena.h"
#include "skelgen/contract/contract.h"

#define ITEMS_MOST (1u << 20) /* items of a sequence that is written out: 8 MiB of pointers */

struct item {
	uint64_t hash; /* of the expansion */
	uint64_t body; /* loops: hash of one iteration */
	uint32_t kind, symbol, n_child;
	uint64_t count; /* 0: differs from entry to entry (uneven.h) */
	uint32_t leaves;
	struct item **child;
};
struct row {
	struct item **item;
	uint32_t n, cap;
};
/* What has been made of one tree. failed: without memory, or a sequence has too many items. */
struct items {
	struct arena *arena;
	bool failed;
};

/* Makes items of the tree; *row has its outermost sequence. */
void items_begin(struct items *t, const struct contract_tree *tree, struct row *row);
/* Frees all items and the row. folded: writes *out first, the row as a tree of the same events. */
void items_end(struct items *t, struct row *row, const struct contract_tree *tree, bool folded, struct contract_tree *out);

void items_push(struct items *t, struct row *row, struct item *item);
struct item *items_loop(struct items *t, uint64_t count, struct item *const *child, uint32_t n);
/* Calls in a row, as written. */
uint32_t items_leaves(const struct row *r);
/* The sequence without the loops for which around() is true. */
void items_write_out(struct items *t, struct item *const *item, uint32_t n, bool (*around)(const struct item *, uint64_t),
		     uint64_t what, struct row *out);

#endif
