/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Values as expressions: see lower_expr.h. */
#include "skelgen/emit/lower_expr.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "skelgen/tree/param.h"

#define MAX_FILE_ARRAY 4096 /* longer arrays go into skel.c.data */
#define MAX_CONDITION  4    /* intervals of a rank set in one condition */

/* ---- functions of the rank ---- */

static void put_constant(int64_t v, enum value_style style, struct code *out)
{
	if ((style == VALUE_PEER || style == VALUE_ROOT) && v == TRACE_PROC_NULL)
		code_named(out, "MPI_PROC_NULL");
	else if (style == VALUE_PEER && v == TRACE_ANY_SOURCE)
		code_named(out, "MPI_ANY_SOURCE");
	else if (style == VALUE_TAG && v == TRACE_ANY_TAG)
		code_named(out, "MPI_ANY_TAG");
	else if (style == VALUE_ROOT && v == TRACE_ROOT)
		code_named(out, "MPI_ROOT");
	else
		code_int(out, v);
}

/* "rank op v" */
static void put_with_rank(enum ops_op op, int64_t v, struct code *out)
{
	code_op(out, OPS_RANK, 0);
	code_int(out, v);
	code_op(out, op, 0);
}

/* rank + offset where that is a rank, else MPI_PROC_NULL */
static void put_neighbour(int64_t offset, struct code *out)
{
	if (offset < 0) {
		put_with_rank(OPS_GE, -offset, out);
		put_with_rank(OPS_SUB, -offset, out);
	} else {
		put_with_rank(OPS_ADD, offset, out);
		code_op(out, OPS_SIZE, 0);
		code_op(out, OPS_LT, 0);
		put_with_rank(OPS_ADD, offset, out);
	}
	code_named(out, "MPI_PROC_NULL");
	code_op(out, OPS_CHOOSE, 0);
}

static void put_grid(const struct rank_fn *f, const char *function, struct code *out)
{
	code_int(out, f->a);
	code_int(out, f->b);
	code_int(out, f->c);
	code_call(out, function);
}

/* (rank + offset) mod size, without negative numbers */
static void put_modulo(int64_t offset, int64_t size, struct code *out)
{
	offset = ((offset % size) + size) % size;
	code_op(out, OPS_RANK, 0);
	if (2 * offset > size) {
		code_op(out, OPS_SIZE, 0);
		code_op(out, OPS_ADD, 0);
		code_int(out, size - offset);
		code_op(out, OPS_SUB, 0);
	} else {
		code_int(out, offset);
		code_op(out, OPS_ADD, 0);
	}
	code_op(out, OPS_SIZE, 0);
	code_op(out, OPS_MOD, 0);
}

/* a * rank + b */
static void put_affine(int64_t a, int64_t b, struct code *out)
{
	code_int(out, a == -1 ? b : a);
	code_op(out, OPS_RANK, 0);
	if (a == -1) {
		code_op(out, OPS_SUB, 0);
		return;
	}
	code_op(out, OPS_MUL, 0);
	code_int(out, b < 0 ? -b : b);
	code_op(out, b < 0 ? OPS_SUB : OPS_ADD, 0);
}

/* b * (rank / a) + c * (rank % a) + d */
static void put_digits(const struct rank_fn *f, struct code *out)
{
	code_int(out, f->b);
	put_with_rank(OPS_DIV, f->a, out);
	code_op(out, OPS_MUL, 0);
	code_int(out, f->c);
	put_with_rank(OPS_MOD, f->a, out);
	code_op(out, OPS_MUL, 0);
	code_op(out, OPS_ADD, 0);
	code_int(out, f->d);
	code_op(out, OPS_ADD, 0);
}

/* Append the function; false when it has no expression. */
static bool put_function(const struct emit *e, const struct rank_fn *f, enum value_style style, struct code *out)
{
	switch (f->form) {
	case RF_CONST:
		put_constant(f->a, style, out);
		return true;
	case RF_OFFSET:
		if (f->a == 0)
			code_op(out, OPS_RANK, 0);
		else
			put_with_rank(f->a < 0 ? OPS_SUB : OPS_ADD, f->a < 0 ? -f->a : f->a, out);
		return true;
	case RF_MODULO:
		put_modulo(f->a, e->tree->n_ranks, out);
		return true;
	case RF_XOR:
		put_with_rank(OPS_XOR, f->a, out);
		return true;
	case RF_AFFINE:
		put_affine(f->a, f->b, out);
		return true;
	case RF_GRID:
		if (style != VALUE_PEER)
			return false;
		if (f->c == 0 && f->a >= (int64_t)e->tree->n_ranks)
			put_neighbour(f->b, out);
		else
			put_grid(f, "skel_grid", out);
		return true;
	case RF_TORUS:
		put_grid(f, "skel_torus", out);
		return true;
	case RF_DIGITS:
		if (f->a <= 0)
			return false;
		put_digits(f, out);
		return true;
	default:
		return false;
	}
}

/* Fit the values of these world ranks: 0 and the function, or -1. */
static int fit(const struct emit *e, const uint32_t *rank, const int64_t *value, uint32_t n, struct rank_fn *f)
{
	uint32_t *places = malloc((n + 1u) * sizeof *places);
	struct rank_points p = {n, rank, places, value};
	int rv;

	if (places == NULL)
		return -1;
	for (uint32_t i = 0; i < n; i++)
		places[i] = e->tree->n_ranks;
	rv = n > 0 ? rank_fn_fit_form(&p, RB_WORLD, f) : -1;
	free(places);
	return rv;
}

/* ---- values of a leaf ---- */

bool value_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 int64_t *out)
{
	(void)c;
	*out = call_named(r->d, k->sym, name, TRACE_NULL);
	return true;
}

bool array_named(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *name,
		 const int64_t **v, uint32_t *n)
{
	struct sig_walk w;

	(void)c;
	*n = 0;
	*v = NULL;
	sig_walk_begin(&w, r->d, k->sym);
	while (sig_walk_next(&w))
		if (trace_kind_is_array(w.kind) && strcmp(w.name, name) == 0) {
			*v = w.val;
			*n = w.n;
		}
	return true;
}

bool array_done(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k, const void *arg,
		const int64_t **v, uint32_t *n)
{
	(void)c;
	(void)arg;
	*v = call_done_slots(r->d, k->sym, n);
	return true;
}

bool value_is_constant(const struct leaf_ctx *c, value_fn fn, const void *arg, int64_t missing, int64_t *value)
{
	bool any = false;
	int64_t v;

	*value = missing;
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			if (!fn(c, &c->rank[i], &c->rank[i].kase[k], arg, &v))
				continue;
			if (any && v != *value)
				return false;
			*value = v;
			any = true;
		}
	return true;
}

/* One value per rank that looks at it: the number of such ranks, or -1 when the value varies on some rank. */
static int64_t values_by_rank(const struct leaf_ctx *c, value_fn fn, const void *arg, uint32_t *rank, int64_t *value)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->n_rank; i++) {
		bool seen = false;

		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			int64_t v;

			if (!fn(c, &c->rank[i], &c->rank[i].kase[k], arg, &v))
				continue;
			if (seen && v != value[n])
				return -1;
			value[n] = v;
			seen = true;
		}
		if (seen)
			rank[n++] = c->rank[i].rank;
	}
	return n;
}

/* The number of the column with these values. */
static uint32_t value_column(struct leaf_ctx *c, value_fn fn, const void *arg)
{
	int64_t *value = calloc(c->n_case + 1u, sizeof *value);
	uint32_t at = 0;

	if (value == NULL) {
		c->e->no_memory = true;
		return 0;
	}
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++, at++)
			if (!fn(c, &c->rank[i], &c->rank[i].kase[k], arg, &value[at]))
				value[at] = 0;
	return leaf_ctx_column(c, value);
}

static void put_column(uint32_t number, enum value_style style, struct code *out)
{
	static const char *const readers[] = {[VALUE_PEER] = "skel_peer", [VALUE_TAG] = "skel_tag", [VALUE_ROOT] = "skel_root"};

	code_op(out, OPS_VALUE, number);
	if (style == VALUE_INT)
		code_op(out, OPS_TO_INT, 0);
	else if (style != VALUE_LONG)
		code_call(out, readers[style]);
}

/* "rank + a where that is a rank, else MPI_PROC_NULL": how one writes it for a chain of ranks. */
static bool put_chain(const struct emit *e, const uint32_t *rank, const int64_t *value, uint32_t n, struct code *out)
{
	int64_t a = 0, p = e->tree->n_ranks;

	for (uint32_t i = 0; i < n; i++)
		if (value[i] != TRACE_PROC_NULL)
			a = value[i] - rank[i];
	if (a == 0)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		int64_t peer = rank[i] + a;

		if (value[i] != (peer >= 0 && peer < p ? peer : TRACE_PROC_NULL))
			return false;
	}
	put_neighbour(a, out);
	return true;
}

static bool has_null(const int64_t *value, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (value[i] == TRACE_PROC_NULL)
			return true;
	return false;
}

/* Different values beyond the range in which C computes with rank. */
static bool is_wide(const int64_t *value, uint32_t n)
{
	bool wide = false, differ = false;

	for (uint32_t i = 0; i < n; i++) {
		wide |= value[i] > INT32_MAX || value[i] < INT32_MIN;
		differ |= value[i] != value[0];
	}
	return wide && differ;
}

void lower_value(struct leaf_ctx *c, value_fn fn, const void *arg, enum value_style style, struct code *out)
{
	uint32_t *rank = malloc((c->n_rank + 1u) * sizeof *rank);
	int64_t *value = malloc((c->n_rank + 1u) * sizeof *value), n;
	struct rank_fn f;

	if (rank == NULL || value == NULL) {
		c->e->no_memory = true;
		goto done;
	}
	n = values_by_rank(c, fn, arg, rank, value);
	if (n == 0)
		put_constant(style == VALUE_PEER ? TRACE_PROC_NULL : 0, style, out);
	else if (n > 1 && style == VALUE_PEER && has_null(value, (uint32_t)n) &&
		 put_chain(c->e, rank, value, (uint32_t)n, out))
		goto done;
	else if (n < 0 || (style == VALUE_LONG && is_wide(value, (uint32_t)n)) ||
		 fit(c->e, rank, value, (uint32_t)n, &f) != 0 || !put_function(c->e, &f, style, out))
		put_column(value_column(c, fn, arg), style, out);
done:
	free(rank);
	free(value);
}

bool array_is_constant(const struct leaf_ctx *c, array_fn fn, const void *arg, const int64_t **v, uint32_t *n)
{
	bool any = false;
	const int64_t *w;
	uint32_t m;

	*v = NULL;
	*n = 0;
	for (uint32_t i = 0; i < c->n_rank; i++)
		for (uint32_t k = 0; k < c->rank[i].n_case; k++) {
			if (!fn(c, &c->rank[i], &c->rank[i].kase[k], arg, &w, &m))
				continue;
			if (any && (m != *n || (m > 0 && memcmp(w, *v, m * sizeof *w) != 0)))
				return false;
			*v = w;
			*n = m;
			any = true;
		}
	return true;
}

/* The array of a case as its number in skel.c.data. */
struct array_of {
	array_fn fn;
	const void *arg;
};

static bool array_number(const struct leaf_ctx *c, const struct leaf_rank *r, const struct leaf_case *k,
			 const void *arg, int64_t *out)
{
	const struct array_of *a = arg;
	const int64_t *v;
	uint32_t n;

	if (!a->fn(c, r, k, a->arg, &v, &n))
		return false;
	*out = emit_data_array(c->e->data, v, n);
	return true;
}

/* Number of the file-scope array with these values. */
static uint32_t file_array(struct emit *e, const int64_t *v, uint32_t n)
{
	uint64_t hash = XXH3_64bits(v, n * sizeof *v);
	struct named_array *p;

	for (uint32_t i = 0; i < e->n_named; i++)
		if (e->named[i].hash == hash && e->named[i].n == n)
			return e->named[i].id;
	p = realloc(e->named, (e->n_named + 1) * sizeof *p);
	if (p == NULL) {
		e->no_memory = true;
		return 0;
	}
	e->named = p;
	e->named[e->n_named] = (struct named_array){hash, n, code_array(&e->array, 'I', v, n)};
	return e->named[e->n_named++].id;
}

int lower_where(struct leaf_ctx *c, value_fn fn, const void *arg, struct code *out)
{
	uint32_t *rank = malloc((c->n_rank + 1u) * sizeof *rank), n_on = 0;
	int64_t *value = malloc((c->n_rank + 1u) * sizeof *value), n = -1;
	struct rank_set set = {.n = 0};

	if (rank != NULL && value != NULL)
		n = values_by_rank(c, fn, arg, rank, value);
	for (int64_t i = 0; i < n; i++)
		if (value[i] != 0)
			rank[n_on++] = rank[i];
	if (n < 0 || n_on == 0 || rank_set_from_ranks(&set, rank, n_on) != 0)
		n = -1;
	else
		lower_rank_set(c->e, &set, out);
	rank_set_free(&set);
	free(rank);
	free(value);
	return n < 0 ? -1 : 0;
}

struct array_value lower_array(struct leaf_ctx *c, array_fn fn, const void *arg)
{
	struct array_of a = {fn, arg};
	const int64_t *v;
	uint32_t n;

	if (!array_is_constant(c, fn, arg, &v, &n) || n > MAX_FILE_ARRAY)
		return (struct array_value){ARRAY_BY_COLUMN, 0, value_column(c, array_number, &a)};
	return (struct array_value){n > 0 ? ARRAY_OF_FILE : ARRAY_NULL, n, n > 0 ? file_array(c->e, v, n) : 0};
}

void array_put(const struct array_value *a, struct code *out)
{
	if (a->where == ARRAY_NULL) {
		code_named(out, "NULL");
	} else if (a->where == ARRAY_OF_FILE) {
		code_op(out, OPS_ARRAY, a->number);
	} else {
		put_column(a->number, VALUE_INT, out);
		code_call(out, "skel_array");
	}
}

void array_put_length(const struct array_value *a, struct code *out)
{
	if (a->where != ARRAY_BY_COLUMN) {
		code_int(out, a->n);
		return;
	}
	put_column(a->number, VALUE_INT, out);
	code_call(out, "skel_length");
}

/* ---- loops and rank sets ---- */

void lower_rank_value(struct emit *e, const struct rank_set *set, const int64_t *value, struct code *out)
{
	uint32_t n = rank_set_count(set), i = 0;
	uint32_t *rank = malloc((n + 1u) * sizeof *rank);
	int64_t *all = calloc(e->tree->n_ranks + 1u, sizeof *all);
	struct rank_fn f;

	if (rank == NULL || all == NULL) {
		e->no_memory = true;
		goto done;
	}
	for (uint32_t r = rank_set_first(set); r != UINT32_MAX; r = rank_set_next(set, r), i++) {
		rank[i] = r;
		all[r] = value[i];
	}
	if (fit(e, rank, value, n, &f) == 0 && put_function(e, &f, VALUE_INT, out))
		goto done;
	code_op(out, OPS_RANK, 0);
	code_op(out, OPS_ELEMENT, file_array(e, all, e->tree->n_ranks));
done:
	free(rank);
	free(all);
}

static void put_interval(const struct emit *e, const struct rank_interval *iv, struct code *out)
{
	uint32_t last = e->tree->n_ranks - 1, stride = iv->stride > 0 ? iv->stride : 1;
	int n = 0; /* conditions */

	if (iv->first == iv->last) {
		put_with_rank(OPS_EQ, iv->first, out);
		return;
	}
	if (stride > 1) {
		put_with_rank(OPS_MOD, stride, out);
		code_int(out, iv->first % stride);
		code_op(out, OPS_EQ, 0);
		n++;
	}
	if (iv->first >= stride || (n == 0 && iv->last + stride > last)) {
		put_with_rank(OPS_GE, iv->first, out);
		if (n++ > 0)
			code_op(out, OPS_ANDAND, 0);
	}
	if (iv->last + stride <= last) {
		put_with_rank(OPS_LE, iv->last, out);
		if (n > 0)
			code_op(out, OPS_ANDAND, 0);
	}
}

/* The one rank that is not in the set, or UINT32_MAX. */
static uint32_t only_absent(const struct emit *e, const struct rank_set *set)
{
	if (rank_set_count(set) + 1 != e->tree->n_ranks)
		return UINT32_MAX;
	for (uint32_t r = 0; r < e->tree->n_ranks; r++)
		if (!rank_set_has(set, r))
			return r;
	return UINT32_MAX;
}

/* The table of the ranks: '1' at the places of the set. */
static uint32_t set_array(struct emit *e, const struct rank_set *set)
{
	int64_t *has = malloc((e->tree->n_ranks + 1u) * sizeof *has);
	uint32_t place = 0;

	for (uint32_t r = 0; has != NULL && r < e->tree->n_ranks; r++)
		has[r] = rank_set_has(set, r) ? '1' : '0';
	if (has != NULL)
		place = code_array(&e->array, 'B', has, e->tree->n_ranks);
	else
		e->no_memory = true;
	free(has);
	return place;
}

void lower_rank_set(struct emit *e, const struct rank_set *set, struct code *out)
{
	uint32_t absent = only_absent(e, set);

	if (absent != UINT32_MAX && e->tree->n_ranks > 2) {
		put_with_rank(OPS_NE, absent, out);
	} else if (set->n <= MAX_CONDITION) {
		for (uint32_t i = 0; i < set->n; i++) {
			put_interval(e, &set->iv[i], out);
			if (i > 0)
				code_op(out, OPS_OROR, 0);
		}
	} else {
		code_op(out, OPS_RANK, 0);
		code_op(out, OPS_ELEMENT, set_array(e, set));
		code_int(out, '1');
		code_op(out, OPS_EQ, 0);
	}
}
