/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions as trees of small nodes, which eval() walks. A node says in one number what it does, with values of which
 * kind, and where its operands are. Types were checked before.
 */
#ifndef PRECEDENT_EXPERT_CODE_H
#define PRECEDENT_EXPERT_CODE_H

#include "expert/compile/entry.h"

/* Operations on two integers. Each has a number for each form. */
enum code_whole {
	CW_EQ, CW_NE, CW_LT, CW_LE, CW_GT, CW_GE, CW_ADD, CW_SUB, CW_MUL, CW_MIN, CW_MAX, CW_N
};

/* Where the operands are: nodes (N), parameters (P) or a constant (C). */
enum code_form { CF_NN, CF_NP, CF_NC, CF_PP, CF_PC, CF_N };

#define CODE_WHOLE(whole, form) ((whole) * CF_N + (form))

enum code_op {
	OP_CONSTANT = CODE_WHOLE(CW_N, 0), OP_PARAMETER, OP_AND, OP_OR, OP_NOT,
	OP_NEGATE, OP_ABS, OP_DIVIDE, OP_REST, OP_TO_DOUBLE,
	/* of doubles */
	OP_EQ_D, OP_NE_D, OP_LT_D, OP_LE_D, OP_GT_D, OP_GE_D, OP_ADD_D, OP_SUB_D, OP_MUL_D, OP_MIN_D, OP_MAX_D,
	OP_NEGATE_D, OP_ABS_D, OP_DIVIDE_D, OP_TO_INTEGER,
	OP_GROUP, OP_INNER, OP_TEXT
};

struct code {
	uint8_t op;
	uint8_t type;                 /* of the value, in a text */
	uint8_t pattern, b_pattern;   /* parameters: OP_PARAMETER and CF_P.: the first; CF_.P: the second */
	uint16_t slot, b_slot;        /* ... OP_INNER: index of the value; OP_TEXT: number of pieces */
	const struct code *a;         /* first operand */
	union {
		const struct code *b;
		union rules_value k;
		const struct code_group *group;
		const struct code *const *piece;
	};
};

/* fn(value) or fn(key, value) over the members for which `where` holds; NULL: none. */
struct code_group {
	uint8_t fn;                   /* enum expr_fn */
	bool real;                    /* the key is a double */
	const struct code *key, *value, *where;
	/* Functions over the group inside of this one: the same for all members. OP_INNER asks for their values. */
	const struct code *inner[RULES_MAX_NESTED];
	uint32_t n_inner;
};

/* The expression as nodes in m's memory. NULL without memory. */
const struct code *code_compile(const struct expr *e, struct memory *m);

#endif
