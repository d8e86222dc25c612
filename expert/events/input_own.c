/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls of the program's own functions (spank/tracer/own.h): events of structures that the rules declare. */
#include <stdlib.h>
#include <string.h>

#include "common/array.h"
#include "expert/events/input_impl.h"
#include "trace/format/own_name.h"

#define OPEN_MAX 256 /* calls within each other: a recursion that is deeper makes no events */
#define NO_SLOT  UINT8_MAX

/* A function that the rules have a structure for. */
struct own_function {
	uint32_t type, name;             /* type MSG_NONE: the rules do not look at it */
	uint8_t slot[2][TRACE_OWN_VALUES]; /* of the values of the call, and of the return */
};

struct own_open {
	int64_t op;
	uint64_t start_ns, event;
	uint32_t sym; /* of the call */
	bool untimed;
};

struct input_own {
	struct own_function *function; /* of each operation of the rank */
	struct own_open *open;
	uint32_t n_open, cap_open;
};

void input_own_destroy(struct input_own *o)
{
	if (!o)
		return;
	free(o->function);
	free(o->open);
	free(o);
}

static void place_values(const struct input *in, const struct trace_own_name *n, const struct rules_struct *t,
			 struct own_function *f)
{
	memset(f->slot, NO_SLOT, sizeof(f->slot));
	for (int back = 0; back < 2; back++)
		for (uint32_t i = 0; i < n->n[back]; i++) {
			int at = rules_slot(t, n->value[back][i]);
			uint8_t type = at < 0 ? RT_STRING : t->param[at - RA_N].type;

			if (type == RT_INT || type == RT_TIME || type == RT_BOOLEAN)
				f->slot[back][i] = (uint8_t)(at - RA_N);
		}
	f->type = engine_wants(in->e, t->id) && t->n_param <= INPUT_VALUES ? t->id : MSG_NONE;
	f->name = engine_string(in->e, n->name);
}

int input_own_create(struct input *in, uint32_t rank)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_own *o = NULL;

	for (uint32_t i = 0; i < d->n_op && !in->told; i++) {
		const struct rules_struct *t;
		struct trace_own_name n;

		if (!trace_own_name(d->op[i].name, &n))
			continue;
		t = rules_find(engine_rules(in->e), n.name);
		if (!t || t->category != SC_EVENT || t->builtin || t->composite)
			continue;
		if (!o) {
			o = in->rank[rank].own = calloc(1, sizeof(*o));
			if (!o)
				return -1;
			o->function = calloc(d->n_op, sizeof(*o->function));
			if (!o->function)
				return -1;
			for (uint32_t k = 0; k < d->n_op; k++)
				o->function[k].type = MSG_NONE;
		}
		place_values(in, &n, t, &o->function[i]);
	}
	return 0;
}

static void set_values(const struct trace_defs *d, uint32_t sym, const uint8_t *slot, struct pending *p)
{
	struct sig_walk w;

	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);)
		for (uint32_t i = 0; w.kind == TK_INTS && i < w.n && i < TRACE_OWN_VALUES; i++)
			if (slot[i] != NO_SLOT)
				p->v[slot[i]].i = w.val[i];
}

int input_own_call(struct input *in, uint32_t rank, const struct input_call *c, bool is_return)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	struct input_own *o = in->rank[rank].own;
	int64_t op = sig_scalar(d, c->sym, TK_OP, TRACE_NULL);
	const struct own_function *f = o && op >= 0 ? &o->function[op] : NULL;
	struct own_open *begun;
	struct pending *p;

	if (!f || f->type == MSG_NONE)
		return 0;
	if (!is_return) {
		if (o->n_open == OPEN_MAX)
			return 0;
		if (ARRAY_ROOM(o->open, o->cap_open, o->n_open + 1) != 0)
			return -1;
		o->open[o->n_open++] = (struct own_open){op, c->enter_ns, c->event, c->sym, !c->timed};
		return 0;
	}
	while (o->n_open && o->open[o->n_open - 1].op != op) /* left by a jump */
		o->n_open--;
	if (!o->n_open)
		return 0;
	begun = &o->open[--o->n_open];
	p = input_append(in, rank, c, f->type);
	if (!p)
		return -1;
	p->is_own = true;
	p->s.start_ns = begun->start_ns;
	p->s.event = (int64_t)begun->event;
	p->s.untimed |= begun->untimed;
	p->s.function = f->name == UINT32_MAX ? 0 : f->name;
	set_values(d, begun->sym, f->slot[0], p);
	set_values(d, c->sym, f->slot[1], p);
	return 0;
}
