/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions to code: see code.h. */
#include "expert/compile/code.h"

#include <string.h>

struct writer {
	struct code_ins *ins;
	uint32_t n;
	struct code_group *group;
	uint32_t n_group;
	struct memory *mem;
	bool failed, makes_text;
};

/* How many instructions and functions over groups there can be. */
static void measure(const struct expr *e, uint32_t *n, uint32_t *n_group)
{
	*n += 2;
	if (e->kind == EX_CALL && e->fn >= EF_G_MIN) {
		++*n_group;
		return;
	}
	if (e->a)
		measure(e->a, n, n_group);
	if (e->b)
		measure(e->b, n, n_group);
	for (uint8_t i = 0; i < e->n_arg; i++) {
		++*n;
		measure(e->arg[i], n, n_group);
	}
}

static struct code_ins *emit(struct writer *w, uint8_t op)
{
	struct code_ins *i = &w->ins[w->n++];

	i->op = op;
	return i;
}

static void write_expr(struct writer *w, const struct expr *e);

static void write_constant(struct writer *w, const struct expr *e)
{
	struct code_ins *i = emit(w, OP_CONST);

	if (e->kind == EX_DOUBLE)
		i->k.d = e->v.real;
	else
		i->k.i = e->v.integer;
}

/* The right side is skipped when the left one decides. */
static void write_logic(struct writer *w, const struct expr *e)
{
	struct code_ins *jump;

	write_expr(w, e->a);
	jump = emit(w, e->kind == EX_AND ? OP_JUMP_FALSE : OP_JUMP_TRUE);
	write_expr(w, e->b);
	jump->target = w->n;
}

/* Most comparisons are of a parameter with a parameter or a constant. */
static bool write_short(struct writer *w, const struct expr *e)
{
	bool field = e->b->kind == EX_FIELD, constant = e->b->kind == EX_INT || e->b->kind == EX_STRING || e->b->kind == EX_BOOLEAN;
	struct code_ins *i;

	if (e->kind > EX_GE || e->a->kind != EX_FIELD || !(field || constant))
		return false;
	i = emit(w, (uint8_t)((field ? OP_EQ_FF : OP_EQ_FC) + (e->kind - EX_EQ)));
	i->pattern = e->a->pattern;
	i->slot = e->a->slot;
	if (field)
		i->target = (uint32_t)e->b->pattern << 16 | e->b->slot;
	else
		i->k.i = e->b->v.integer;
	return true;
}

/* What is there already with a parameter or a constant, by the operation of that number in the list of code.h. */
static bool write_with(struct writer *w, const struct expr *b, uint8_t number)
{
	struct code_ins *i;

	if (b->kind == EX_FIELD) {
		i = emit(w, (uint8_t)(OP_ADD_IF + number));
		i->pattern = b->pattern;
		i->slot = b->slot;
		return true;
	}
	if (b->kind != EX_INT)
		return false;
	emit(w, (uint8_t)(OP_ADD_IC + number))->k.i = b->v.integer;
	return true;
}

/* A comparison with a parameter on one side: what is on the other one is there already. */
static bool write_side(struct writer *w, const struct expr *e)
{
	static const uint8_t turned[] = {[EX_EQ - EX_EQ] = OP_EQ_IF, [EX_NE - EX_EQ] = OP_NE_IF, [EX_LT - EX_EQ] = OP_GT_IF,
					 [EX_LE - EX_EQ] = OP_GE_IF, [EX_GT - EX_EQ] = OP_LT_IF, [EX_GE - EX_EQ] = OP_LE_IF};
	const struct expr *field = e->b->kind == EX_FIELD ? e->b : e->a;
	struct code_ins *i;

	if (e->kind > EX_GE)
		return false;
	if (e->b->kind == EX_INT) {
		write_expr(w, e->a);
		emit(w, (uint8_t)(OP_EQ_IC + (e->kind - EX_EQ)))->k.i = e->b->v.integer;
		return true;
	}
	if (field->kind != EX_FIELD)
		return false;
	write_expr(w, field == e->b ? e->a : e->b);
	i = emit(w, field == e->b ? (uint8_t)(OP_EQ_IF + (e->kind - EX_EQ)) : turned[e->kind - EX_EQ]);
	i->pattern = field->pattern;
	i->slot = field->slot;
	return true;
}

static void write_binary(struct writer *w, const struct expr *e)
{
	bool real = e->a->type == RT_DOUBLE;

	if (!real && (write_short(w, e) || write_side(w, e)))
		return;
	write_expr(w, e->a);
	if (!real && e->kind >= EX_ADD && e->kind <= EX_MUL && write_with(w, e->b, (uint8_t)(e->kind - EX_ADD)))
		return;
	write_expr(w, e->b);
	if (e->kind <= EX_GE)
		emit(w, (uint8_t)((real ? OP_EQ_D : OP_EQ_I) + (e->kind - EX_EQ)));
	else
		emit(w, (uint8_t)((real ? OP_ADD_D : OP_ADD_I) + (e->kind - EX_ADD)));
}

static void write_group(struct writer *w, const struct expr *e)
{
	struct code_group *g = &w->group[w->n_group];
	const struct expr *value = e->n_arg ? e->arg[e->n_arg - 1] : NULL, *key = e->n_arg ? e->arg[0] : NULL;

	emit(w, OP_GROUP)->target = w->n_group++;
	g->fn = e->fn;
	g->type = key ? key->type : RT_INT;
	if ((key && code_compile(&g->key, key, w->mem) < 0) || (value && code_compile(&g->value, value, w->mem) < 0) ||
	    (e->where && code_compile(&g->where, e->where, w->mem) < 0))
		w->failed = true;
}

static void write_call(struct writer *w, const struct expr *e)
{
	bool real = e->type == RT_DOUBLE;

	if (e->fn >= EF_G_MIN) {
		write_group(w, e);
		return;
	}
	write_expr(w, e->arg[0]);
	if (e->fn == EF_ABS)
		emit(w, real ? OP_ABS_D : OP_ABS_I);
	if ((e->fn == EF_INT || e->fn == EF_TIME) && e->arg[0]->type == RT_DOUBLE)
		emit(w, OP_TO_I);
	for (uint8_t i = 1; i < e->n_arg; i++) {
		if (!real && write_with(w, e->arg[i], e->fn == EF_MIN ? OP_MIN_IF - OP_ADD_IF : OP_MAX_IF - OP_ADD_IF))
			continue;
		write_expr(w, e->arg[i]);
		emit(w, e->fn == EF_MIN ? (real ? OP_MIN_D : OP_MIN_I) : (real ? OP_MAX_D : OP_MAX_I));
	}
}

static void write_template(struct writer *w, const struct expr *e)
{
	w->makes_text = true;
	emit(w, OP_TEXT_BEGIN);
	for (uint8_t i = 0; i < e->n_arg; i++) {
		write_expr(w, e->arg[i]);
		emit(w, OP_TEXT)->pattern = e->arg[i]->type;
	}
	emit(w, OP_TEXT_END);
}

static void write_expr(struct writer *w, const struct expr *e)
{
	struct code_ins *i;

	switch (e->kind) {
	case EX_INT: case EX_DOUBLE: case EX_BOOLEAN: case EX_STRING:
		write_constant(w, e);
		break;
	case EX_FIELD:
		i = emit(w, OP_FIELD);
		i->pattern = e->pattern;
		i->slot = e->slot;
		break;
	case EX_NOT: case EX_NEGATE: case EX_CONVERT:
		write_expr(w, e->a);
		emit(w, e->kind == EX_NOT ? OP_NOT : e->kind == EX_CONVERT ? OP_TO_D : e->type == RT_DOUBLE ? OP_NEG_D : OP_NEG_I);
		break;
	case EX_AND: case EX_OR:
		write_logic(w, e);
		break;
	case EX_CALL:
		write_call(w, e);
		break;
	case EX_TEMPLATE:
		write_template(w, e);
		break;
	default:
		write_binary(w, e);
	}
}

/* By how much an instruction raises the stack; a jump that is not taken drops what it looks at. */
static int rise(const struct code_ins *i)
{
	switch ((enum code_op)i->op) {
	case OP_CONST: case OP_FIELD: case OP_GROUP: case OP_TEXT_END:
		return 1;
	case OP_JUMP_FALSE: case OP_JUMP_TRUE: case OP_TEXT:
		return -1;
	default:
		if (i->op >= OP_EQ_FF && i->op <= OP_GE_FC)
			return 1;
		return (i->op >= OP_EQ_I && i->op <= OP_MAX_D) ? -1 : 0;
	}
}

static bool is_low(const struct writer *w)
{
	int n = 0, most = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		n += rise(&w->ins[i]);
		most = n > most ? n : most;
	}
	return most <= CODE_LOW;
}

/* Comparisons take the jump behind them along, to where the last of a row of jumps goes. It stays, for others that jump there. */
static void join_jumps(struct writer *w)
{
	for (uint32_t n = 0; n + 1 < w->n; n++) {
		struct code_ins *i = &w->ins[n];
		uint8_t jump = w->ins[n + 1].op;
		uint32_t target = w->ins[n + 1].target;

		if (jump != OP_JUMP_FALSE && jump != OP_JUMP_TRUE)
			continue;
		while (w->ins[target].op == jump)
			target = w->ins[target].target;
		if (i->op == OP_FIELD) {
			i->op = jump == OP_JUMP_FALSE ? OP_FIELD_JF : OP_FIELD_JT;
			i->target = target;
		} else if (i->op >= OP_EQ_FF && i->op <= OP_GE_FC) {
			if (i->op < OP_EQ_FC)
				i->k.i = target;
			else
				i->target = target;
			i->op = (uint8_t)(i->op - OP_EQ_FF + (jump == OP_JUMP_FALSE ? OP_EQ_FF_JF : OP_EQ_FF_JT));
		}
	}
}

int code_compile(struct code *c, const struct expr *e, struct memory *m)
{
	uint32_t n = 1, n_group = 0;
	struct writer w = {.mem = m};

	measure(e, &n, &n_group);
	w.ins = memory_alloc(m, n * sizeof(*w.ins));
	w.group = memory_alloc(m, (n_group + 1) * sizeof(*w.group));
	if (!w.ins || !w.group)
		return -1;
	write_expr(&w, e);
	emit(&w, OP_END);
	*c = (struct code){.ins = w.ins, .n = w.n, .group = w.group, .n_group = w.n_group, .makes_text = w.makes_text, .low = is_low(&w)};
	join_jumps(&w);
	return w.failed ? -1 : 0;
}
