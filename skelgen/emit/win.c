/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One-sided communication. Windows are made again with the kind and size that the trace recorded (the runtime bounds
 * the size) and accesses keep target, counts and datatypes; the runtime keeps displacements inside the window.
 */
#include <string.h>

#include "skelgen/emit/call.h"

static const struct trace_win *win_named(const struct leaf_rank *r, const struct leaf_case *k, const char *name)
{
	int64_t id = call_named(r->d, k->sym, name, TRACE_NULL);

	return id >= 0 && id < r->d->n_win ? &r->d->win[id] : NULL;
}

bool emit_win_known(const struct leaf_ctx *c)
{
	const char *name = emit_has_param(c, "newwin") ? "newwin" : emit_has_param(c, "win") ? "win" : NULL;

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

void emit_win_note(struct leaf_ctx *c)
{
	bool own = emit_has_param(c, "rtype");

	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t n = access_bytes(c->rank[i].d, c->rank[i].kase[k].sym, own ? "rcount" : "count",
						 own ? "rtype" : "type");

			c->e->rma_bytes = n > c->e->rma_bytes ? n : c->e->rma_bytes;
		}
}

/* ---- parts of templates ---- */

/* A parameter that the function may lack: then 1. */
static void put_count(struct leaf_ctx *c, const char *name, struct text *out)
{
	if (emit_has_param(c, name))
		emit_value(c, value_named, name, VALUE_INT, out);
	else
		text_put(out, "1");
}

static void put_buffer(struct leaf_ctx *c, int which, const char *count, const char *type, struct text *out)
{
	text_put(out, "skel_rma(%d, ", which);
	put_count(c, count, out);
	text_put(out, ", ");
	emit_datatype(c, type, out);
	text_put(out, ")");
}

static void put_displacement(struct leaf_ctx *c, struct text *out)
{
	bool own = emit_has_param(c, "rtype");

	text_put(out, "skel_disp(");
	emit_value(c, value_named, "win", VALUE_INT, out);
	text_put(out, ", ");
	emit_value(c, value_named, "target", VALUE_PEER, out);
	text_put(out, ", ");
	emit_value(c, value_named, "disp", VALUE_LONG, out);
	text_put(out, ", ");
	put_count(c, own ? "rcount" : "count", out);
	text_put(out, ", ");
	emit_datatype(c, own ? "rtype" : "type", out);
	text_put(out, ")");
}

/* A post that the program knew to come first may come late here: the assertion that nobody need look is dropped. */
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

static void put_assert(struct leaf_ctx *c, struct text *out)
{
	static const char *const names[] = {"NOCHECK", "NOSTORE", "NOPUT", "NOPRECEDE", "NOSUCCEED"};
	const char *before = "";
	int64_t v;

	if (!value_is_constant(c, value_assert, NULL, 0, &v)) {
		text_put(out, "skel_assert(");
		emit_value(c, value_assert, NULL, VALUE_INT, out);
		text_put(out, ")");
		return;
	}
	if (v == 0)
		text_put(out, "0");
	for (int i = 0; i < 5; i++)
		if (v & 1 << i) {
			text_put(out, "%sMPI_MODE_%s", before, names[i]);
			before = " | ";
		}
}

static void put_lock_kind(struct leaf_ctx *c, struct text *out)
{
	int64_t v;

	if (value_is_constant(c, value_named, "type", TLOCK_SHARED, &v)) {
		text_put(out, v == TLOCK_EXCLUSIVE ? "MPI_LOCK_EXCLUSIVE" : "MPI_LOCK_SHARED");
		return;
	}
	text_put(out, "skel_lock(");
	emit_value(c, value_named, "type", VALUE_INT, out);
	text_put(out, ")");
}

static bool array_group(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
			const int64_t **v, uint32_t *n)
{
	(void)c;
	(void)arg;
	*v = call_array(r->d, k->sym, TK_INTS, 0, n);
	return true;
}

static void put_group(struct leaf_ctx *c, struct text *out)
{
	struct text a = {.len = 0}, n = {.len = 0};

	emit_array(c, array_group, NULL, &a, &n);
	text_put(out, "skel_group(");
	emit_value(c, value_named, "win", VALUE_INT, out);
	text_put(out, ", %s, %s)", text_get(&a), text_get(&n));
	text_free(&a);
	text_free(&n);
}

void emit_win_part(struct leaf_ctx *c, char part, struct text *out)
{
	switch (part) {
	case 'u':
		text_put(out, "win[");
		emit_value(c, value_named, "win", VALUE_INT, out);
		text_put(out, "]");
		break;
	case 'a':
		emit_value(c, value_named, "target", VALUE_PEER, out);
		break;
	case 'b':
		put_displacement(c, out);
		break;
	case 'e':
		put_assert(c, out);
		break;
	case 'f':
		put_lock_kind(c, out);
		break;
	case 'h':
		put_group(c, out);
		break;
	case 'L':
		put_buffer(c, 1, "result_count", "result_type", out);
		break;
	case '3':
		emit_value(c, value_named, "result_count", VALUE_INT, out);
		break;
	case '4':
		emit_datatype(c, "result_type", out);
		break;
	default: /* B, K, Q */
		put_buffer(c, part == 'B' ? 0 : part == 'K' ? 1 : 2, "count", "type", out);
		break;
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

static void put_create(struct leaf_ctx *c, const char *how, struct text *out)
{
	text_put(out, "skel_win_%s(", how);
	emit_value(c, value_named, "newwin", VALUE_INT, out);
	if (strcmp(how, "dynamic") != 0) {
		text_put(out, ", ");
		emit_value(c, value_size, NULL, VALUE_LONG, out);
		text_put(out, ", ");
		emit_value(c, value_size, "unit", VALUE_INT, out);
	}
	text_put(out, ", ");
	emit_comm(c, "comm", out);
	text_put(out, ")");
}

int emit_win_call(struct leaf_ctx *c, struct text *out, const char **why)
{
	static const char *const makes[][2] = {
		{"MPI_Win_create", "create"}, {"MPI_Win_allocate", "allocate"}, {"MPI_Win_allocate_shared", "shared"},
		{"MPI_Win_create_dynamic", "dynamic"},
	};
	const char *name = trace_fn[c->leaf->fn].name;

	for (size_t i = 0; i < sizeof makes / sizeof *makes; i++)
		if (strcmp(name, makes[i][0]) == 0) {
			put_create(c, makes[i][1], out);
			return 1;
		}
	if (strcmp(name, "MPI_Win_free") == 0) {
		text_put(out, "MPI_Win_free(&win[");
		emit_value(c, value_named, "win", VALUE_INT, out);
		text_put(out, "])");
		return 1;
	}
	if (strcmp(name, "MPI_Win_attach") != 0 && strcmp(name, "MPI_Win_detach") != 0) {
		*why = "this function is not reproduced";
		return -1;
	}
	text_put(out, "skel_win_%s(", name + 8);
	emit_value(c, value_named, "win", VALUE_INT, out);
	if (name[8] == 'a') {
		text_put(out, ", ");
		emit_value(c, value_named, "size", VALUE_LONG, out);
	}
	text_put(out, ")");
	return 1;
}
