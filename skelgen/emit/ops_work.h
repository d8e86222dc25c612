/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the two files that compile emitted source to operations share: the words so far, and expressions. */
#ifndef PRECEDENT_SKELGEN_EMIT_OPS_WORK_H
#define PRECEDENT_SKELGEN_EMIT_OPS_WORK_H

#include "common/errbuf.h"
#include "skelgen/emit/ops_lex.h"
#include "skelgen/replay/ops.h"

/* Words that grow. */
struct ops_words {
	uint64_t *w;
	size_t n, cap;
};

struct ops_work {
	struct lex lex;
	struct errbuf *err;
	struct ops_words code, array, values; /* array: entries; values: what they hold */
	uint32_t *array_of;                   /* place + 1 of arrayN or ranksN, by N */
	uint32_t n_array_of;
	int depth;                            /* of expressions being read */
	bool failed;                          /* err says why */
};

/* Say what is wrong with the present word; the first time counts. */
void ops_fail(struct ops_work *w, const char *what);
/* Go on after this name or sign, or fail. */
void ops_expect(struct ops_work *w, const char *text);
void ops_put(struct ops_work *w, struct ops_words *to, uint64_t word);
static inline void ops_emit(struct ops_work *w, enum ops_op op, uint32_t n, uint32_t arg)
{
	ops_put(w, &w->code, OPS_WORD(op, n, arg));
}

/* "1, -2, 3}" after the opening brace, as an array of kind 'I' or 'A'; its place. */
uint32_t ops_array_read(struct ops_work *w, char kind);

/* ops_expr.c */
void ops_expression(struct ops_work *w);

#endif
