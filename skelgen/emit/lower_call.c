/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls: the parameters that call_template.c names become expressions. */
#include "skelgen/emit/lower_call.h"

#include <string.h>

/* ---- values ---- */

static bool value_source(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out)
{
	(void)c;
	(void)r;
	*out = arg != NULL ? k->tag : k->source;
	return true;
}

bool value_type(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		int64_t *out)
{
	int64_t t = call_named(r->d, k->sym, name, TRACE_NULL);

	if (t < 0 || t >= r->d->n_type)
		return false;
	*out = c->e->tree->globals->type[r->rank][t];
	return true;
}

static bool value_op(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		     int64_t *out)
{
	(void)c;
	(void)arg;
	*out = call_named(r->d, k->sym, "op", TRACE_NULL);
	return *out >= 0 && *out < r->d->n_op;
}

/* ---- handles ---- */

void lower_comm(struct leaf_ctx *c, const char *name, struct code *out)
{
	int64_t id;

	if (value_is_constant(c, value_named, name, 0, &id) && (id == 0 || id == 1)) {
		code_named(out, id == 0 ? "MPI_COMM_WORLD" : "MPI_COMM_SELF");
		return;
	}
	lower_named(c, name, VALUE_INT, out);
	code_op(out, OPS_HANDLE, OPS_COMM);
}

void lower_use_type(struct emit *e, int64_t id)
{
	e->type_used[id] = true;
}

void lower_datatype(struct leaf_ctx *c, const char *name, struct code *out)
{
	int64_t id, v;

	if (value_is_constant(c, value_type, name, -1, &id)) {
		if (id < 0) {
			code_named(out, "MPI_BYTE");
			return;
		}
		const char *known = type_c_name(skel_global_type(c->e->tree, c->e->tree->globals, (uint32_t)id));

		lower_use_type(c->e, id);
		if (known != NULL)
			code_named(out, known);
		else
			code_handle(out, OPS_TYPE, id);
		return;
	}
	c->e->types_indexed = true;
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			if (value_type(c, &c->rank[i], &c->rank[i].kase[k], name, &v))
				lower_use_type(c->e, v);
	lower_value(c, value_type, name, VALUE_INT, out);
	code_op(out, OPS_HANDLE, OPS_TYPE);
}

/* The operation of the first rank that names one: all ranks name the same. */
static void put_op(struct leaf_ctx *c, struct code *out)
{
	for (uint32_t i = 0; i < c->n_rank; i++) {
		int64_t o;

		if (!value_op(c, &c->rank[i], &c->rank[i].kase[0], NULL, &o))
			continue;
		const char *known = op_c_name(&c->rank[i].d->op[o]);

		if (known != NULL) {
			code_named(out, known);
		} else {
			code_int(out, c->rank[i].d->op[o].commutes != 0);
			code_call(out, "skel_op");
		}
		return;
	}
	code_named(out, "MPI_OP_NULL");
}

bool lower_has_param(const struct leaf_ctx *c, const char *name)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];

	for (uint32_t i = 0; i < f->n_param; i++)
		if (strcmp(f->param[i].name, name) == 0)
			return true;
	return false;
}

void lower_slot(struct leaf_ctx *c, const char *name, struct code *out)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t q = call_named(c->rank[i].d, c->rank[i].kase[k].sym, name, TRACE_NULL);

			c->e->max_slot = q > c->e->max_slot ? q : c->e->max_slot;
		}
	lower_named(c, name, VALUE_INT, out);
}

/* ---- parameters ---- */

static void put_slot_in(struct leaf_ctx *c, const char *name, enum ops_op op, enum ops_table table, struct code *out)
{
	lower_slot(c, name, out);
	code_op(out, op, table);
}

/* Letters of parameters that the trace names. */
static const struct {
	char letter;
	const char *name;
	enum value_style style;
} parameters[] = {
	{'d', "dst", VALUE_PEER}, {'r', "root", VALUE_ROOT}, {'p', "partitions", VALUE_INT}, {'i', "partition", VALUE_INT},
	{'j', "low", VALUE_INT},  {'k', "high", VALUE_INT},  {'l', "level", VALUE_INT},
};

/* Append the parameter of a letter that is of no other file. */
static void put_part(struct leaf_ctx *c, char part, struct code *out)
{
	bool receives = lower_has_param(c, "src") && !lower_has_param(c, "dst");

	for (size_t i = 0; i < sizeof parameters / sizeof *parameters; i++)
		if (parameters[i].letter == part) {
			lower_named(c, parameters[i].name, parameters[i].style, out);
			return;
		}
	switch (part) {
	case 'm':
		lower_comm(c, "comm", out);
		break;
	case 's':
		lower_value(c, value_source, NULL, VALUE_PEER, out);
		break;
	case 'g':
		lower_value(c, receives ? value_source : value_named, "tag", VALUE_TAG, out);
		break;
	case 'G':
		lower_value(c, value_source, "tag", VALUE_TAG, out);
		break;
	case 'o':
		put_op(c, out);
		break;
	case 'q':
		put_slot_in(c, "req", OPS_PLACE, OPS_REQ, out);
		break;
	case '5':
		put_slot_in(c, "req", OPS_HANDLE, OPS_REQ, out);
		break;
	case 'M':
		put_slot_in(c, "message", OPS_PLACE, OPS_MESSAGE, out);
		break;
	case 't':
		lower_datatype(c, "type", out);
		break;
	case 'T':
		lower_datatype(c, "rtype", out);
		break;
	case '_':
		code_named(out, "MPI_STATUS_IGNORE");
		break;
	default: /* '-' */
		code_named(out, "MPI_INFO_NULL");
		break;
	}
}

/* ---- requests by list ---- */

static bool value_only_slot(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			    const void *arg, int64_t *out)
{
	const int64_t *v;
	uint32_t n;

	array_done(c, r, k, arg, &v, &n);
	*out = n > 0 ? v[0] : TRACE_NULL;
	return true;
}

/* Does the call name exactly one request wherever it is made? */
static bool one_slot(struct leaf_ctx *c)
{
	const int64_t *v;
	uint32_t n;

	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			v = call_done_slots(c->rank[i].d, c->rank[i].kase[k].sym, &n);
			if (n != 1 || v[0] < 0)
				return false;
		}
	return true;
}

static bool in_a_row(const int64_t *v, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (v[i] < 0 || v[i] != v[0] + i)
			return false;
	return true;
}

/* A wait names the completed requests. A start names the requests that the program gave. */
static int put_request_list(struct leaf_ctx *c, struct code *out)
{
	bool start = trace_fn[c->leaf->fn].cls == TC_START;
	struct array_value a;
	const int64_t *v;
	uint32_t n;

	if (one_slot(c)) {
		lower_value(c, value_only_slot, NULL, VALUE_INT, out);
		code_op(out, OPS_PLACE, OPS_REQ);
		if (!start)
			code_named(out, "MPI_STATUS_IGNORE");
		code_call(out, start ? "MPI_Start" : "MPI_Wait");
		return 1;
	}
	if (array_is_constant(c, array_done, NULL, &v, &n)) {
		if (n == 0)
			return 0;
		if (in_a_row(v, n)) {
			code_int(out, n);
			code_int(out, v[0]);
			code_op(out, OPS_PLACE, OPS_REQ);
			if (!start)
				code_named(out, "MPI_STATUSES_IGNORE");
			code_call(out, start ? "MPI_Startall" : "MPI_Waitall");
			return 1;
		}
	}
	a = lower_array(c, array_done, NULL);
	array_put_length(&a, out);
	array_put(&a, out);
	code_call(out, start ? "skel_start_all" : "skel_wait");
	return 1;
}

/* Longest buffered send of the leaf, in bytes. */
static void note_bsend(struct leaf_ctx *c)
{
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			const struct trace_defs *d = c->rank[i].d;
			int64_t t = call_named(d, c->rank[i].kase[k].sym, "type", TRACE_NULL), bytes;

			if (t < 0 || t >= d->n_type)
				continue;
			bytes = call_named(d, c->rank[i].kase[k].sym, "count", 0) * d->type[t].size;
			c->e->bsend_bytes = bytes > c->e->bsend_bytes ? bytes : c->e->bsend_bytes;
		}
}

/* Does the call name a request or message that the recorder did not know? */
static bool has_unknown_slot(const struct leaf_ctx *c)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];

	for (uint32_t p = 0; p < f->n_param; p++) {
		if (f->param[p].kind != TK_NEWREQ && f->param[p].kind != TK_REQ)
			continue;
		for (uint32_t i = 0; i < c->n_rank; i++)
			for (uint32_t k = 0; k < c->rank[i].n_case; k++)
				if (call_named(c->rank[i].d, c->rank[i].kase[k].sym, f->param[p].name, TRACE_NULL) < 0)
					return true;
	}
	return false;
}

/* Is it there from MPI-4 on? */
static bool is_mpi4(const char *name)
{
	static const char *const names[] = {"MPI_Isendrecv", "MPI_Psend_init", "MPI_Precv_init", "MPI_Pready",
					    "MPI_Parrived"};
	size_t n = strlen(name);

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(name, names[i], strlen(names[i])) == 0)
			return true;
	return n > 5 && strcmp(name + n - 5, "_init") == 0 && strstr(name, "end_init") == NULL &&
	       strcmp(name, "MPI_Recv_init") != 0;
}

int lower_call(struct leaf_ctx *c, struct code *out, const char **why)
{
	const struct trace_fn_info *f = &trace_fn[c->leaf->fn];
	struct call_template t = lower_template(f->name);

	*why = NULL;
	if (has_unknown_slot(c)) {
		*why = "its request is not known";
		return f->cls == TC_LOCAL ? 0 : -1;
	}
	if (strstr(f->name, "bsend") != NULL || strstr(f->name, "Bsend") != NULL)
		note_bsend(c);
	if (f->cls == TC_WAIT || f->cls == TC_START)
		return put_request_list(c, out);
	if (f->cls == TC_COMM)
		return lower_comm_call(c, out, why);
	if (!lower_win_known(c)) {
		*why = "its window is not known";
		return -1;
	}
	if (f->cls == TC_WIN)
		return lower_win_call(c, out, why);
	if (f->cls == TC_RMA)
		lower_win_note(c);
	c->e->mpi4 = is_mpi4(f->name) ? f->name : c->e->mpi4;
	if (t.call != NULL) {
		for (const char *part = t.parts; *part != '\0'; part++)
			if (!lower_buffer_part(c, *part, out) && !lower_win_part(c, *part, out))
				put_part(c, *part, out);
		code_call(out, c->e->pieces != NULL && c->leaf->fn == FN_MPI_Pcontrol ? "skel_piece" : t.call);
		return 1;
	}
	if (f->cls == TC_LOCAL || f->cls == TC_INIT || f->cls == TC_FINALIZE)
		return 0;
	*why = "this function is not reproduced";
	return -1;
}
