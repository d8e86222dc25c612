/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A skeleton as operations of skelgen/replay while it is being made. Expressions are appended in postfix order. Comments
 * are for the reader of the C source; the operations do not need them. Without memory the code is marked failed and
 * ignores the rest.
 */
#ifndef PRECEDENT_SKELGEN_EMIT_CODE_H
#define PRECEDENT_SKELGEN_EMIT_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "skelgen/emit/text.h"
#include "skelgen/replay/ops.h"

struct code_comment {
	size_t at;   /* the word before which it stands */
	size_t text; /* offset in code.text */
	bool beside; /* at the end of the line of the statement before */
};

struct code {
	uint64_t *word;
	size_t n, cap;
	struct code_comment *comment; /* by place */
	size_t n_comment, cap_comment;
	struct text text;
	bool failed;
};

void code_free(struct code *c);
void code_word(struct code *c, uint64_t word);
static inline void code_op(struct code *c, enum ops_op op, uint32_t arg)
{
	code_word(c, OPS_WORD(op, 0, arg));
}
void code_int(struct code *c, int64_t v);
/* Value of v after it is printed with `decimals` decimals and read again. */
double code_rounded(double v, int decimals);
/* Rounded: the operations have the value that the C source prints. */
void code_real(struct code *c, double v, int decimals);
/* A constant, and a call of a function, of calls.h. ops_check refuses a name that is not there. */
void code_named(struct code *c, const char *name);
void code_call(struct code *c, const char *function);
/* The call as a statement. */
static inline void code_do(struct code *c, const char *function)
{
	code_call(c, function);
	code_op(c, OPS_DO, 0);
}
/* The handle number v of a table. */
void code_handle(struct code *c, enum ops_table table, int64_t v);
/* All of b behind what is in c. */
void code_append(struct code *c, const struct code *b);

/* A line of comment before the next statement; an empty one is an empty line. */
void code_comment(struct code *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A comment beside the last statement. */
void code_comment_beside(struct code *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Arrays of the file, each with its values. */
struct code_arrays {
	struct code entry, value;
};

/* Place of a new array of kind 'I', 'A' or 'B'. */
uint32_t code_array(struct code_arrays *a, char kind, const int64_t *v, uint32_t n);

#endif
