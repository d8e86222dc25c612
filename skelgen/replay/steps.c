/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From the statements of one rank to steps, which are executed one after the other. Everything that is known before the
 * run is decided here. A call inside a call is a step that stores its result in the parameters of the outer call. Of a
 * condition on the rank alone, only the branch that is taken remains. So a call costs about as much as a compiled call.
 */
#include <stdlib.h>

#include "skelgen/replay/replay.h"

struct steps {
	struct replay *r;
	uint32_t depth; /* of repeated blocks that are open */
};

static struct step *step_add(struct steps *b, enum step_op op)
{
	struct step *s = &b->r->step[b->r->n_step++];

	*s = (struct step){.op = op};
	return s;
}

/* Where the tables will be, and how long an entry is. They are made when the run begins. */
static const struct {
	const void *at;
	uint32_t bytes;
} table[OPS_TABLE_N] = {
	[OPS_COMM] = {&comm, sizeof *comm},
	[OPS_TYPE] = {&type, sizeof *type},
	[OPS_WIN] = {&win, sizeof *win},
	[OPS_REQ] = {&req, sizeof *req},
	[OPS_MESSAGE] = {&message, sizeof *message},
};

/* An entry of a table, or its place, whose number is known and good; the others are looked at each time. */
static int is_entry(const struct node *n)
{
	return (n->op == OPS_PLACE || (n->op == OPS_HANDLE && n->arg != OPS_MESSAGE)) && n->of[0]->op == OPS_INT &&
	       n->of[0]->v.i >= 0 && n->of[0]->v.i < replay_table_n[n->arg];
}

static void call_add(struct steps *b, struct node *n, union value *result);

/* The value of n, which is not known before, goes to *result. */
static void value_add(struct steps *b, struct node *n, union value *result)
{
	struct step *s;

	if (n->op == OPS_CALL) {
		call_add(b, n, result);
		return;
	}
	if (n->op == OPS_VALUE) {
		s = step_add(b, STEP_VALUE);
		s->arg = n->arg;
	} else if (is_entry(n)) {
		s = step_add(b, n->op == OPS_PLACE ? STEP_PLACE : table[n->arg].bytes == sizeof(int) ? STEP_INT : STEP_POINTER);
		s->table = table[n->arg].at;
		s->arg = (uint32_t)n->of[0]->v.i * table[n->arg].bytes;
	} else {
		s = step_add(b, STEP_EVAL);
		s->node = n;
	}
	s->result = result;
}

static void call_add(struct steps *b, struct node *n, union value *result)
{
	struct step *s;

	for (unsigned k = 0; k < n->n_open; k++) {
		struct node *of = n->of[n->open[k]];

		if (of->op == OPS_INT)
			n->a[n->open[k]] = of->v;
		else
			value_add(b, of, &n->a[n->open[k]]);
	}
	s = step_add(b, STEP_CALL);
	s->call = n->call;
	s->a = n->a;
	s->result = result;
}

static void block_add(struct steps *b, uint32_t from, uint32_t to);

/* The statement after the condition and its other branch. */
static uint32_t condition_add(struct steps *b, uint32_t at)
{
	struct replay *r = b->r;
	const struct statement *s = &r->statement[at];
	uint32_t end = s->end, other = end < r->n_statement && r->statement[end].op == OPS_ELSE ? r->statement[end].end : 0;
	struct step *unless, *skip;

	if (s->a->op == OPS_INT) {
		if (s->a->v.i)
			block_add(b, at + 1, end - 1);
		else if (other)
			block_add(b, end + 1, other - 1);
		return other ? other : end;
	}
	unless = step_add(b, STEP_UNLESS);
	unless->node = s->a;
	block_add(b, at + 1, end - 1);
	if (other) {
		skip = step_add(b, STEP_GO);
		unless->to = r->step + r->n_step;
		block_add(b, end + 1, other - 1);
		skip->to = r->step + r->n_step;
	} else {
		unless->to = r->step + r->n_step;
	}
	return other ? other : end;
}

/* Enter and go to the end of the block, where a step leads to its begin as often as it runs. */
static void repeated_add(struct steps *b, uint32_t at)
{
	const struct statement *s = &b->r->statement[at];
	const struct step *begin;
	struct step *enter, *go, *again;

	if (s->op == OPS_LOOP) {
		call_add(b, s->a, &b->r->unused);
		enter = step_add(b, STEP_ENTER);
		enter->a = s->a->a;
		enter->arg = s->arg;
	} else {
		enter = step_add(b, STEP_FOR);
		enter->node = s->a;
		enter->arg = b->depth;
	}
	go = step_add(b, STEP_GO);
	begin = b->r->step + b->r->n_step;
	b->depth++;
	block_add(b, at + 1, s->end - 1);
	b->depth--;
	go->to = b->r->step + b->r->n_step;
	again = step_add(b, s->op == OPS_LOOP ? STEP_LOOP : STEP_AGAIN);
	again->arg = enter->arg;
	again->to = begin;
}

static void values_add(struct steps *b, uint32_t at)
{
	const struct statement *s = &b->r->statement[at];
	struct step *p = step_add(b, STEP_VALUES);

	p->arg = s->arg;
	p->depth = b->depth++;
	block_add(b, at + 1, s->end - 1);
	p = step_add(b, STEP_VALUES_END);
	p->depth = --b->depth;
}

static void block_add(struct steps *b, uint32_t from, uint32_t to)
{
	while (from < to) {
		const struct statement *s = &b->r->statement[from];
		struct step *p;

		switch (s->op) {
		case OPS_DO:
			if (s->a->op == OPS_CALL)
				call_add(b, s->a, &b->r->unused);
			from++;
			continue;
		case OPS_SET_TYPE:
			p = step_add(b, STEP_SET_TYPE);
			p->node = s->a;
			p->other = s->b;
			from++;
			continue;
		case OPS_IF:
			from = condition_add(b, from);
			continue;
		case OPS_FOR:
		case OPS_LOOP:
			repeated_add(b, from);
			break;
		default:
			values_add(b, from);
			break;
		}
		from = s->end;
	}
}

void replay_steps(struct replay *r)
{
	struct steps b = {.r = r};

	/* A step for each expression at most, three more for a block, and the end. */
	r->step = skel_alloc(r->n_node + 3 * (uint64_t)r->n_statement + 1, sizeof *r->step);
	block_add(&b, 0, r->n_statement);
	step_add(&b, STEP_END);
}
