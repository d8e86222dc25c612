/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Expressions as code of a small stack machine. Values are eight bytes: an integer (int, time in ns, boolean, number of
 * a string) or a double; the types were checked, the code does not look at them. Division of integers by zero gives 0
 * and is counted; other overflow wraps.
 */
#ifndef PRECEDENT_EXPERT_CODE_H
#define PRECEDENT_EXPERT_CODE_H

#include "expert/lang/rules.h"

union rules_value {
	int64_t i;
	double d;
};

enum code_op {
	OP_END, OP_CONST, OP_FIELD, OP_JUMP_FALSE, OP_JUMP_TRUE, /* jumps keep what they look at, or drop it and go on */
	OP_NOT, OP_NEG_I, OP_NEG_D, OP_TO_D, OP_TO_I,
	OP_EQ_I, OP_NE_I, OP_LT_I, OP_LE_I, OP_GT_I, OP_GE_I,
	OP_EQ_D, OP_NE_D, OP_LT_D, OP_LE_D, OP_GT_D, OP_GE_D,
	OP_ADD_I, OP_SUB_I, OP_MUL_I, OP_DIV_I, OP_MOD_I,
	OP_ADD_D, OP_SUB_D, OP_MUL_D, OP_DIV_D,
	OP_MIN_I, OP_MAX_I, OP_MIN_D, OP_MAX_D, OP_ABS_I, OP_ABS_D,
	/* a parameter with a parameter, and with a constant */
	OP_EQ_FF, OP_NE_FF, OP_LT_FF, OP_LE_FF, OP_GT_FF, OP_GE_FF,
	OP_EQ_FC, OP_NE_FC, OP_LT_FC, OP_LE_FC, OP_GT_FC, OP_GE_FC,
	/* what is there already with a parameter, and with a constant */
	OP_ADD_IF, OP_SUB_IF, OP_MUL_IF, OP_MIN_IF, OP_MAX_IF,
	OP_ADD_IC, OP_SUB_IC, OP_MUL_IC, OP_MIN_IC, OP_MAX_IC,
	OP_EQ_IF, OP_NE_IF, OP_LT_IF, OP_LE_IF, OP_GT_IF, OP_GE_IF,
	OP_EQ_IC, OP_NE_IC, OP_LT_IC, OP_LE_IC, OP_GT_IC, OP_GE_IC,
	/* a comparison of two parameters, or of one and a constant, and the jump behind it: nothing is kept when it goes on */
	OP_EQ_FF_JF, OP_NE_FF_JF, OP_LT_FF_JF, OP_LE_FF_JF, OP_GT_FF_JF, OP_GE_FF_JF,
	OP_EQ_FC_JF, OP_NE_FC_JF, OP_LT_FC_JF, OP_LE_FC_JF, OP_GT_FC_JF, OP_GE_FC_JF,
	OP_EQ_FF_JT, OP_NE_FF_JT, OP_LT_FF_JT, OP_LE_FF_JT, OP_GT_FF_JT, OP_GE_FF_JT,
	OP_EQ_FC_JT, OP_NE_FC_JT, OP_LT_FC_JT, OP_LE_FC_JT, OP_GT_FC_JT, OP_GE_FC_JT,
	OP_FIELD_JF, OP_FIELD_JT,                                /* a parameter that is true or not, likewise */
	OP_GROUP,                                                /* a function over the group */
	OP_TEXT_BEGIN, OP_TEXT, OP_TEXT_END                      /* pieces of a string */
};

struct code_ins {
	uint8_t op;
	uint8_t pattern;  /* of a parameter; of OP_TEXT: type */
	uint16_t slot;
	uint32_t target;  /* of jumps; OP_GROUP: index of the function; OP_.._FF: pattern << 16 | slot of the other */
	union rules_value k; /* OP_.._FF_J.: the target of its jump */
};

struct code_group;

struct code {
	struct code_ins *ins;  /* ends with OP_END; NULL: none */
	uint32_t n;
	struct code_group *group;
	uint32_t n_group;
	bool makes_text;
	bool low;              /* CODE_LOW values at most lie on its stack */
};

/* fn(value), fn(key, value) over the members for which where holds. */
struct code_group {
	uint8_t fn, type;      /* enum expr_fn; of the (first) argument */
	struct code key, value, where;
};

#define CODE_STACK (2 * RULES_MAX_DEPTH + 8)
#define CODE_LOW   4

/* Compile; memory is m's. -1 without. */
int code_compile(struct code *c, const struct expr *e, struct memory *m);

#endif
