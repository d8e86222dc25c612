/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The recorded parameters of a call as values of function_call: see input_impl.h. */
#include <stdlib.h>
#include <string.h>

#include "expert/events/input_impl.h"
#include "trace/format/own_name.h"
#include "trace/functions.h"

#define NO_SLOT UINT8_MAX
_Static_assert(RULES_MAX_PARAMS < NO_SLOT, "a slot has 8 bits");

struct input_params {
	const struct rules_struct *call;
	uint8_t bytes, rbytes;
	uint8_t *slot[TRACE_FN_N]; /* of each parameter of the function */
	uint8_t all[];
};

static uint8_t slot_of_name(const struct rules_struct *t, const char *name)
{
	/* assert is a word of the language */
	int at = rules_slot(t, strcmp(name, "assert") ? name : "assertion");

	return at < 0 ? NO_SLOT : (uint8_t)(at - RA_N);
}

struct input_params *input_params_create(const struct rules_struct *call)
{
	size_t n = 0, at = 0;
	struct input_params *p;

	for (uint32_t fn = 0; fn < TRACE_FN_N; fn++)
		n += trace_fn[fn].n_param;
	p = calloc(1, sizeof(*p) + n);
	if (!p)
		return NULL;
	p->call = call;
	p->bytes = slot_of_name(call, "bytes");
	p->rbytes = slot_of_name(call, "rbytes");
	for (uint32_t fn = 0; fn < TRACE_FN_N; fn++) {
		p->slot[fn] = p->all + at;
		for (uint32_t i = 0; i < trace_fn[fn].n_param; i++)
			p->all[at++] = slot_of_name(call, trace_fn[fn].param[i].name);
	}
	return p;
}

/* ---- values ---- */

/* The rank of MPI_COMM_WORLD of a rank of the communicator; special ranks stay as they are. */
static int64_t world_rank(const struct trace_defs *d, int64_t comm, int64_t rank)
{
	const struct trace_comm *c = comm >= 0 && comm < (int64_t)d->n_comm ? &d->comm[comm] : NULL;
	const struct trace_group *g = c && c->kind == TCOMM_INTER ? &c->remote : c ? &c->members : NULL;

	return g && rank >= 0 && rank < (int64_t)g->n ? (int64_t)g->rank[rank] : rank;
}

static int64_t type_name(struct input *in, const struct trace_defs *d, int64_t type)
{
	const char *name = type < 0 || type >= (int64_t)d->n_type ? "MPI_DATATYPE_NULL" : d->type[type].name;
	uint32_t id = engine_string(in->e, name ? name : "derived");

	return id == UINT32_MAX ? 0 : id;
}

static int64_t op_name(struct input *in, const struct trace_defs *d, int64_t op)
{
	const char *name = op < 0 || op >= (int64_t)d->n_op ? "MPI_OP_NULL" : d->op[op].name;
	struct trace_own_name own;
	uint32_t id = engine_string(in->e, trace_own_name(name, &own) ? own.name : name ? name : "user");

	return id == UINT32_MAX ? 0 : id;
}

static int64_t lock_name(struct input *in, int64_t type)
{
	uint32_t id = engine_string(in->e, type == TLOCK_EXCLUSIVE ? "MPI_LOCK_EXCLUSIVE" : "MPI_LOCK_SHARED");

	return id == UINT32_MAX ? 0 : id;
}

static int64_t sum(const int64_t *v, uint32_t n)
{
	uint64_t all = 0;

	for (uint32_t i = 0; i < n; i++)
		all += (uint64_t)v[i];
	return (int64_t)all;
}

/* Of an array: the sum of counts; the requests that are not null; else the length. */
static int64_t array_value(const struct sig_walk *w)
{
	int64_t n = 0;

	if (w->kind == TK_COUNTS)
		return sum(w->val, w->n);
	for (uint32_t i = 0; i < w->n; i++)
		n += w->kind != TK_REQS || w->val[i] != TRACE_NULL;
	return n;
}

static int64_t param_value(struct input *in, uint32_t rank, const struct sig_walk *w, int64_t comm, bool is_text)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	const struct input_rank *k = &in->rank[rank];
	int64_t v = w->n ? w->val[0] : 0;

	if (trace_kind_is_array(w->kind))
		return array_value(w);
	switch (w->kind) {
	case TK_COMM:
	case TK_NEWCOMM: return v >= 0 && v < (int64_t)d->n_comm ? (int64_t)in->names.comm[rank][v] : TRACE_NULL;
	case TK_DST:
	case TK_SRC:
	case TK_ASRC:
	case TK_ROOT: return world_rank(d, comm, v);
	case TK_TYPE:
	case TK_NEWTYPE: return type_name(in, d, v);
	case TK_OP: return op_name(in, d, v);
	case TK_WIN:
	case TK_NEWWIN: return v >= 0 && v < (int64_t)d->n_win ? k->win[v].number : TRACE_NULL;
	case TK_FILE:
	case TK_NEWFILE: return v >= 0 && v < (int64_t)d->n_file ? (int64_t)d->file[v].ordinal : TRACE_NULL;
	default: return is_text ? lock_name(in, v) : v;
	}
}

/* The communicator whose ranks the call names: its own, or its window's. */
static int64_t comm_of(const struct trace_defs *d, uint32_t sym)
{
	int64_t comm = sig_scalar(d, sym, TK_COMM, TRACE_NULL), win = sig_scalar(d, sym, TK_WIN, TRACE_NULL);

	return comm == TRACE_NULL && win >= 0 && win < (int64_t)d->n_win ? (int64_t)d->win[win].comm : comm;
}

/* Counts times the size of their type; 0 if a type is unknown or the product too large. */
static int64_t data_bytes(const struct trace_defs *d, const struct sig_walk *count, const struct sig_walk *type)
{
	int64_t all = 0, one;

	for (uint32_t i = 0; i < count->n; i++) {
		int64_t t = type->n ? type->val[i < type->n ? i : type->n - 1] : TRACE_NULL;

		if (t < 0 || t >= (int64_t)d->n_type || __builtin_mul_overflow(count->val[i], d->type[t].size, &one) ||
		    __builtin_add_overflow(all, one, &all))
			return 0;
	}
	return all;
}

void input_params_fill(struct input *in, uint32_t rank, uint32_t sym, union rules_value *v)
{
	const struct trace_defs *d = &trace_get_rank(in->t, rank)->defs;
	const struct input_params *p = in->params;
	const uint8_t *slot = p->slot[d->sigs.sig[sym].fn];
	int64_t comm = comm_of(d, sym);
	struct sig_walk w, count = {0};

	for (uint32_t i = 1; i < p->call->n_param; i++)
		v[i].i = p->call->param[i].type == RT_STRING ? 0 : TRACE_UNDEFINED;
	v[p->bytes].i = v[p->rbytes].i = 0;
	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w);) {
		uint8_t at = *slot++;

		if (at != NO_SLOT)
			v[at].i = param_value(in, rank, &w, comm, p->call->param[at].type == RT_STRING);
		if (w.kind == TK_COUNT || w.kind == TK_COUNTS) {
			count = w;
		} else if ((w.kind == TK_TYPE || w.kind == TK_TYPES) && count.n) {
			v[count.name[0] == 'r' ? p->rbytes : p->bytes].i = data_bytes(d, &count, &w);
			count.n = 0;
		}
	}
}
