/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See code.h. */
#include "expert/compile/code.h"

struct writer {
	struct memory *mem;
	struct code_group *enclosing; /* NULL: the expression is in no function over the group */
	bool failed;                  /* no memory */
	union {
		struct code node;
		struct code_group group;
	} spare;                      /* where the writer goes on without memory */
};

static struct code *write_expr(struct writer *w, const struct expr *e);

static void *code_room(struct writer *w, size_t size)
{
	void *p = memory_alloc(w->mem, size);

	w->failed |= !p;
	return p ? p : &w->spare;
}

static struct code *write_node(struct writer *w, uint8_t op, const struct code *a, const struct code *b)
{
	struct code *c = code_room(w, sizeof(*c));

	c->op = op;
	c->a = a;
	c->b = b;
	return c;
}

/* 0: a node, 1: a parameter, 2: a constant. */
static int leaf(const struct code *c)
{
	return c->op == OP_CONSTANT ? 2 : c->op == OP_PARAMETER;
}

/* Operations on integers whose operands can change places; CW_N: they cannot. */
static const uint8_t swapped[] = {[CW_EQ] = CW_EQ, [CW_NE] = CW_NE, [CW_LT] = CW_GT, [CW_LE] = CW_GE, [CW_GT] = CW_LT,
				  [CW_GE] = CW_LE, [CW_ADD] = CW_ADD, [CW_SUB] = CW_N, [CW_MUL] = CW_MUL,
				  [CW_MIN] = CW_MIN, [CW_MAX] = CW_MAX};

/* Both operands are evaluated in any case, so that their order does not matter. */
static struct code *write_whole(struct writer *w, uint8_t op, const struct code *a, const struct code *b)
{
	enum code_form form;
	struct code *c;

	if (leaf(a) > leaf(b) && swapped[op] != CW_N) {
		const struct code *swap = a;

		a = b;
		b = swap;
		op = swapped[op];
	}
	if (leaf(a) == 1 && leaf(b))
		form = leaf(b) == 1 ? CF_PP : CF_PC;
	else
		form = leaf(b) == 0 ? CF_NN : leaf(b) == 1 ? CF_NP : CF_NC;
	c = write_node(w, (uint8_t)CODE_WHOLE(op, form), a, b);
	c->pattern = a->pattern;
	c->slot = a->slot;
	c->b_pattern = b->pattern;
	c->b_slot = b->slot;
	if (leaf(b) == 2)
		c->k = b->k;
	return c;
}

static struct code *write_binary(struct writer *w, const struct expr *e)
{
	const struct code *a = write_expr(w, e->a), *b = write_expr(w, e->b);
	bool real = e->a->type == RT_DOUBLE;

	if (e->kind == EX_AND || e->kind == EX_OR)
		return write_node(w, e->kind == EX_AND ? OP_AND : OP_OR, a, b);
	if (e->kind == EX_DIV || e->kind == EX_MOD)
		return write_node(w, real ? OP_DIVIDE_D : e->kind == EX_DIV ? OP_DIVIDE : OP_REST, a, b);
	if (real)
		return write_node(w, (uint8_t)(OP_EQ_D + (e->kind - EX_EQ)), a, b);
	return write_whole(w, (uint8_t)(e->kind - EX_EQ), a, b);
}

/* Of functions over the group inside of another one the value is asked for; it is evaluated before. */
static struct code *write_group(struct writer *w, const struct expr *e)
{
	struct code_group *g = code_room(w, sizeof(*g)), *enclosing = w->enclosing;
	struct code *c = write_node(w, OP_GROUP, NULL, NULL);

	c->group = g;
	g->fn = e->fn;
	g->real = e->n_arg && e->arg[0]->type == RT_DOUBLE;
	w->enclosing = g;
	if (e->n_arg)
		g->key = g->value = write_expr(w, e->arg[0]);
	if (e->n_arg > 1)
		g->value = write_expr(w, e->arg[1]);
	if (e->where)
		g->where = write_expr(w, e->where);
	w->enclosing = enclosing;
	if (!enclosing)
		return c;
	if (enclosing->n_inner == RULES_MAX_NESTED) { /* the checker lets no more pass */
		w->failed = true;
		return c;
	}
	enclosing->inner[enclosing->n_inner] = c;
	c = write_node(w, OP_INNER, NULL, NULL);
	c->slot = (uint16_t)enclosing->n_inner++;
	return c;
}

static struct code *write_call(struct writer *w, const struct expr *e)
{
	bool real = e->type == RT_DOUBLE;
	struct code *c;

	if (e->fn >= EF_G_MIN)
		return write_group(w, e);
	c = write_expr(w, e->arg[0]);
	if (e->fn == EF_ABS)
		c = write_node(w, real ? OP_ABS_D : OP_ABS, c, NULL);
	if ((e->fn == EF_INT || e->fn == EF_TIME) && e->arg[0]->type == RT_DOUBLE)
		c = write_node(w, OP_TO_INTEGER, c, NULL);
	for (uint8_t i = 1; i < e->n_arg; i++) {
		const struct code *b = write_expr(w, e->arg[i]);

		c = real ? write_node(w, e->fn == EF_MIN ? OP_MIN_D : OP_MAX_D, c, b) :
			   write_whole(w, e->fn == EF_MIN ? CW_MIN : CW_MAX, c, b);
	}
	return c;
}

static struct code *write_text(struct writer *w, const struct expr *e)
{
	const struct code **piece = memory_alloc(w->mem, (e->n_arg + 1u) * sizeof(struct code *));
	struct code *c = write_node(w, OP_TEXT, NULL, NULL);

	w->failed |= !piece;
	for (uint8_t i = 0; piece && i < e->n_arg; i++) {
		struct code *p = write_expr(w, e->arg[i]);

		p->type = e->arg[i]->type;
		piece[i] = p;
	}
	c->piece = piece;
	c->slot = e->n_arg;
	return c;
}

static struct code *write_expr(struct writer *w, const struct expr *e)
{
	struct code *c;

	switch (e->kind) {
	case EX_INT: case EX_BOOLEAN: case EX_STRING: case EX_DOUBLE:
		c = write_node(w, OP_CONSTANT, NULL, NULL);
		if (e->kind == EX_DOUBLE)
			c->k.d = e->v.real;
		else
			c->k.i = e->v.integer;
		return c;
	case EX_FIELD:
		c = write_node(w, OP_PARAMETER, NULL, NULL);
		c->pattern = e->pattern;
		c->slot = e->slot;
		return c;
	case EX_NOT: return write_node(w, OP_NOT, write_expr(w, e->a), NULL);
	case EX_NEGATE: return write_node(w, e->type == RT_DOUBLE ? OP_NEGATE_D : OP_NEGATE, write_expr(w, e->a), NULL);
	case EX_CONVERT: return write_node(w, OP_TO_DOUBLE, write_expr(w, e->a), NULL);
	case EX_CALL: return write_call(w, e);
	case EX_TEMPLATE: return write_text(w, e);
	default: return write_binary(w, e);
	}
}

const struct code *code_compile(const struct expr *e, struct memory *m)
{
	struct writer w = {.mem = m};
	const struct code *c = write_expr(&w, e);

	return w.failed ? NULL : c;
}
