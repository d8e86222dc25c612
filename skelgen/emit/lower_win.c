/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-sided communication. Windows are made again with the kind and size that the trace recorded. Accesses keep target,
 * counts and datatypes. The runtime bounds the size, and keeps displacements inside the window.
 */
#include <string.h>

#include "skelgen/emit/lower_call.h"

static const struct trace_win *win_named(const struct leaf_rank *r, const struct leaf_case *k, const char *name)
{
	int64_t id = call_named(r->d, k->sym, name, TRACE_NULL);

	return id >= 0 && id < r->d->n_win ? &r->d->win[id] : NULL;
}

bool lower_win_known(const struct leaf_ctx *c)
{
	const char *name = lower_has_param(c, "newwin") ? "newwin" : lower_has_param(c, "win") ? "win" : NULL;

	for (uint32_t i = 0; name != NULL && i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++)
			if (win_named(&c->rank[i], &c->rank[i].kase[k], name) == NULL)
				return false;
	return true;
}

/* ---- the longest access ---- */

static int64_t access_bytes(const struct trace_defs *d, uint32_t sym, const char *count, const char *type)
{
	int64_t t = call_named(d, sym, type, TRACE_NULL), n = call_named(d, sym, count, 1), step, own;
	const struct trace_type *ty;
	__int128 all;

	if (t < 0 || t >= d->n_type || n <= 0)
		return 0;
	ty = &d->type[t];
	step = ty->extent < 0 ? -ty->extent : ty->extent;
	own = (ty->size > step ? ty->size : step) + (ty->lb < 0 ? -ty->lb : ty->lb);
	all = (__int128)(n - 1) * step + own;
	return all > (__int128)1 << 40 ? (int64_t)1 << 40 : (int64_t)all;
}

void lower_win_note(struct leaf_ctx *c)
{
	bool own = lower_has_param(c, "rtype");

	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t n = access_bytes(c->rank[i].d, c->rank[i].kase[k].sym, own ? "rcount" : "count",
						 own ? "rtype" : "type");

			c->e->rma_bytes = n > c->e->rma_bytes ? n : c->e->rma_bytes;
		}
}

/* ---- parts of templates ---- */

/* A parameter that the function may lack: then 1. */
static void put_count(struct leaf_ctx *c, const char *name, struct code *out)
{
	if (lower_has_param(c, name))
		lower_named(c, name, VALUE_INT, out);
	else
		code_int(out, 1);
}

static void put_buffer(struct leaf_ctx *c, int which, const char *count, const char *type, struct code *out)
{
	code_int(out, which);
	put_count(c, count, out);
	lower_datatype(c, type, out);
	code_call(out, "skel_rma");
}

static void put_displacement(struct leaf_ctx *c, struct code *out)
{
	bool own = lower_has_param(c, "rtype");

	lower_named(c, "win", VALUE_INT, out);
	lower_named(c, "target", VALUE_PEER, out);
	lower_named(c, "disp", VALUE_LONG, out);
	put_count(c, own ? "rcount" : "count", out);
	lower_datatype(c, own ? "rtype" : "type", out);
	code_call(out, "skel_disp");
}

/* Drop the assertion that a post comes first: in the skeleton the post may come late. */
static bool value_assert(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
			 int64_t *out)
{
	const char *name = trace_fn[c->leaf->fn].name;
	bool group = strcmp(name, "MPI_Win_post") == 0 || strcmp(name, "MPI_Win_start") == 0;

	(void)arg;
	*out = call_named(r->d, k->sym, "assert", 0) & 31;
	if (group)
		*out &= ~(int64_t)TASSERT_NOCHECK;
	return true;
}

static void put_assert(struct leaf_ctx *c, struct code *out)
{
	static const char *const names[] = {"MPI_MODE_NOCHECK", "MPI_MODE_NOSTORE", "MPI_MODE_NOPUT", "MPI_MODE_NOPRECEDE",
					    "MPI_MODE_NOSUCCEED"};
	int n = 0;
	int64_t v;

	if (!value_is_constant(c, value_assert, NULL, 0, &v)) {
		lower_value(c, value_assert, NULL, VALUE_INT, out);
		code_call(out, "skel_assert");
		return;
	}
	if (v == 0)
		code_int(out, 0);
	for (int i = 0; i < 5; i++)
		if (v & 1 << i) {
			code_named(out, names[i]);
			if (n++ > 0)
				code_op(out, OPS_OR, 0);
		}
}

static void put_lock_kind(struct leaf_ctx *c, struct code *out)
{
	int64_t v;

	if (value_is_constant(c, value_named, "type", TLOCK_SHARED, &v)) {
		code_named(out, v == TLOCK_EXCLUSIVE ? "MPI_LOCK_EXCLUSIVE" : "MPI_LOCK_SHARED");
		return;
	}
	lower_named(c, "type", VALUE_INT, out);
	code_call(out, "skel_lock");
}

static bool array_group(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
			const int64_t **v, uint32_t *n)
{
	(void)c;
	(void)arg;
	*v = call_array(r->d, k->sym, TK_INTS, 0, n);
	return true;
}

static void put_group(struct leaf_ctx *c, struct code *out)
{
	struct array_value a = lower_array(c, array_group, NULL);

	lower_named(c, "win", VALUE_INT, out);
	array_put(&a, out);
	array_put_length(&a, out);
	code_call(out, "skel_group");
}

bool lower_win_part(struct leaf_ctx *c, char part, struct code *out)
{
	switch (part) {
	case 'u':
		lower_named(c, "win", VALUE_INT, out);
		code_op(out, OPS_HANDLE, OPS_WIN);
		return true;
	case 'a':
		lower_named(c, "target", VALUE_PEER, out);
		return true;
	case 'b':
		put_displacement(c, out);
		return true;
	case 'e':
		put_assert(c, out);
		return true;
	case 'f':
		put_lock_kind(c, out);
		return true;
	case 'h':
		put_group(c, out);
		return true;
	case 'L':
		put_buffer(c, 1, "result_count", "result_type", out);
		return true;
	case '3':
		lower_named(c, "result_count", VALUE_INT, out);
		return true;
	case '4':
		lower_datatype(c, "result_type", out);
		return true;
	case 'B':
	case 'K':
	case 'Q':
		put_buffer(c, part == 'B' ? 0 : part == 'K' ? 1 : 2, "count", "type", out);
		return true;
	default:
		return false;
	}
}

/* ---- windows ---- */

static bool value_size(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		       int64_t *out)
{
	const struct trace_win *w = win_named(r, k, "newwin");

	(void)c;
	if (w == NULL)
		return false;
	*out = arg != NULL ? (int64_t)w->disp_unit : w->size > INT64_MAX ? INT64_MAX : (int64_t)w->size;
	return true;
}

static void put_create(struct leaf_ctx *c, const char *how, struct code *out)
{
	lower_named(c, "newwin", VALUE_INT, out);
	if (strcmp(how, "skel_win_dynamic") != 0) {
		lower_value(c, value_size, NULL, VALUE_LONG, out);
		lower_value(c, value_size, "unit", VALUE_INT, out);
	}
	lower_comm(c, "comm", out);
	code_call(out, how);
}

int lower_win_call(struct leaf_ctx *c, struct code *out, const char **why)
{
	static const char *const makes[][2] = {
		{"MPI_Win_create", "skel_win_create"}, {"MPI_Win_allocate", "skel_win_allocate"},
		{"MPI_Win_allocate_shared", "skel_win_shared"}, {"MPI_Win_create_dynamic", "skel_win_dynamic"},
	};
	const char *name = trace_fn[c->leaf->fn].name;
	bool attach = strcmp(name, "MPI_Win_attach") == 0;

	for (size_t i = 0; i < sizeof makes / sizeof *makes; i++)
		if (strcmp(name, makes[i][0]) == 0) {
			put_create(c, makes[i][1], out);
			return 1;
		}
	if (strcmp(name, "MPI_Win_free") == 0) {
		lower_named(c, "win", VALUE_INT, out);
		code_op(out, OPS_PLACE, OPS_WIN);
		code_call(out, "MPI_Win_free");
		return 1;
	}
	if (!attach && strcmp(name, "MPI_Win_detach") != 0) {
		*why = "this function is not reproduced";
		return -1;
	}
	lower_named(c, "win", VALUE_INT, out);
	if (attach)
		lower_named(c, "size", VALUE_LONG, out);
	code_call(out, attach ? "skel_win_attach" : "skel_win_detach");
	return 1;
}
