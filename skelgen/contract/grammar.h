/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The grammar behind a contraction. Symbols below n_leaf are events. The other symbols are loops, interned by
 * (body, count). A body is interned by the text that it had when it was first met ("raw"). Its present text
 * may be shorter.
 */
#ifndef PRECEDENT_SKELGEN_CONTRACT_GRAMMAR_H
#define PRECEDENT_SKELGEN_CONTRACT_GRAMMAR_H

#include <stdint.h>

#include "common/errbuf.h"
#include "common/hash_table.h"
#include "skelgen/contract/contract.h"

#define GRAMMAR_NONE UINT32_MAX

enum grammar_state {
	GRAMMAR_OPEN,	 /* a piece of the text of the current round */
	GRAMMAR_PARKED,	 /* short: waits to be searched exhaustively */
	GRAMMAR_REFUSED, /* too expensive to search */
	GRAMMAR_DONE,
};

struct grammar_body {
	uint64_t raw_first, text_first; /* in g->raw and g->text */
	uint32_t raw_length, text_length;
	enum grammar_state state;
	uint32_t weight;   /* leaves of its tree, once done; 0: not counted yet */
	uint32_t n_events; /* of its expansion; 0: not counted yet */
	uint32_t n_nodes;  /* nodes of its tree, once counted */
};

struct grammar_loop {
	uint32_t body;
	uint32_t count;
};

struct grammar_arena {
	uint32_t *item;
	uint64_t n, cap;
};

struct grammar {
	uint32_t n_leaf;
	uint32_t *leaf_value; /* event of each leaf symbol, or NULL when they are the same */
	struct grammar_body *body;
	uint32_t n_body, cap_body;
	struct grammar_loop *loop;
	uint32_t n_loop, cap_loop;
	struct grammar_arena raw, text;
	struct hash_table body_index, loop_index;
};

/* Start a grammar for sym[0..n) and write the stream in its symbols to text[0..n). Body 0 is the stream
 * itself. */
int grammar_create(struct grammar *g, const uint32_t *sym, uint32_t n, uint32_t *text, struct errbuf *err);
void grammar_destroy(struct grammar *g);

uint32_t grammar_top(const struct grammar *g);
uint32_t grammar_n_symbols(const struct grammar *g);

/* The symbol of the loop over text[0..length); *fresh is its body if that was not known, else untouched. */
int grammar_loop(struct grammar *g, const uint32_t *text, uint32_t length, uint32_t count, uint32_t *symbol,
		 uint32_t *fresh, struct errbuf *err);

const uint32_t *grammar_raw(const struct grammar *g, uint32_t body, uint32_t *length);

/* State the text of a body that is parked or done. */
int grammar_settle(struct grammar *g, uint32_t body, const uint32_t *text, uint32_t length,
		   enum grammar_state state, struct errbuf *err);

/* Leaves of the tree that a symbol stands for. The bodies of all loops in that tree must be done. */
uint32_t grammar_weight(struct grammar *g, uint32_t symbol);

/* Events that a symbol expands to. */
uint32_t grammar_events(struct grammar *g, uint32_t symbol);

/* Append the expansion of a symbol to out[]; the caller has made sure of the room. */
void grammar_expand(const struct grammar *g, uint32_t symbol, uint32_t *out, uint32_t *n);

/* Write the finished grammar as a tree (without n_events and hash). */
int grammar_tree(struct grammar *g, struct contract_tree *out, struct errbuf *err);

#endif
