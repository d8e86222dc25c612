/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Values as functions of the rank: evaluation, fitting, text. Values come from traces, so that all arithmetic is
 * checked or wraps.
 */
#include <stdio.h>
#include <string.h>

#include "skelgen/tree/param.h"

/* ---- evaluation ---- */

static int64_t wrap_add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t wrap_mul(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static int64_t floor_mod(int64_t a, int64_t m)
{
	int64_t r = a % m;

	return r < 0 ? r + m : r;
}

static int64_t eval_grid(const struct rank_fn *f, int64_t r, int64_t n)
{
	int64_t rows, col, row;

	if (f->a <= 0 || n % f->a)
		return INT64_MIN;
	rows = n / f->a;
	col = wrap_add(r % f->a, f->b);
	row = wrap_add(r / f->a, f->c);
	if (f->form == RF_TORUS)
		return floor_mod(row, rows) * f->a + floor_mod(col, f->a);
	if (col < 0 || col >= f->a || row < 0 || row >= rows)
		return TRACE_PROC_NULL;
	return row * f->a + col;
}

int64_t rank_fn_eval(const struct rank_fn *f, uint32_t place, uint32_t n_places, uint32_t index_in_set)
{
	int64_t r = place, n = n_places;

	switch (f->form) {
	case RF_CONST:
		return f->a;
	case RF_OFFSET:
		return wrap_add(r, f->a);
	case RF_MODULO:
		return n ? floor_mod(wrap_add(r, f->a), n) : INT64_MIN;
	case RF_XOR:
		return r ^ f->a;
	case RF_AFFINE:
		return wrap_add(wrap_mul(f->a, r), f->b);
	case RF_GRID:
	case RF_TORUS:
		return n ? eval_grid(f, r, n) : INT64_MIN;
	case RF_DIGITS:
		if (f->a <= 0)
			return INT64_MIN;
		return wrap_add(wrap_add(wrap_mul(f->b, r / f->a), wrap_mul(f->c, r % f->a)), f->d);
	case RF_TABLE:
		return f->table ? f->table[index_in_set] : INT64_MIN;
	default:
		return INT64_MIN;
	}
}

int comm_place(const struct trace_defs *d, int64_t comm, uint32_t world_rank, uint32_t *place, uint32_t *n_places)
{
	const struct trace_group *g;

	if (comm < 0 || comm >= (int64_t)d->n_comm)
		return -1;
	g = &d->comm[comm].members;
	*n_places = g->n;
	/* Members of the world communicator and its copies stand at their own rank. */
	if (world_rank < g->n && g->rank[world_rank] == world_rank) {
		*place = world_rank;
		return 0;
	}
	for (uint32_t i = 0; i < g->n; i++)
		if (g->rank[i] == world_rank) {
			*place = i;
			return 0;
		}
	return -1;
}

/* ---- fitting ---- */

static bool holds(const struct rank_fn *f, const struct rank_points *p)
{
	for (uint32_t i = 0; i < p->n; i++)
		if (rank_fn_eval(f, p->place[i], p->n_places[i], i) != p->value[i])
			return false;
	return true;
}

static bool try_form(struct rank_fn f, uint8_t basis, const struct rank_points *p, struct rank_fn *out)
{
	f.basis = f.form == RF_CONST ? RB_WORLD : basis;
	if (!holds(&f, p))
		return false;
	*out = f;
	return true;
}

static bool fit_affine(const struct rank_points *p, uint8_t basis, struct rank_fn *out)
{
	struct rank_fn f = {.form = RF_AFFINE};
	int64_t dv, dr, ar;

	if (p->n < 3 || __builtin_sub_overflow(p->value[1], p->value[0], &dv))
		return false;
	dr = (int64_t)p->place[1] - p->place[0];
	if (!dr || dv == INT64_MIN || dv % dr)
		return false;
	f.a = dv / dr;
	if (__builtin_mul_overflow(f.a, (int64_t)p->place[0], &ar) ||
	    __builtin_sub_overflow(p->value[0], ar, &f.b))
		return false;
	return try_form(f, basis, p, out);
}

/* Column counts to try: the divisors of the number of places. */
static int64_t next_columns(int64_t columns, int64_t n)
{
	for (columns++; columns * columns <= n; columns++)
		if (n % columns == 0)
			return columns;
	for (int64_t rows = n / columns; rows >= 1; rows--)
		if (n % rows == 0 && n / rows >= columns)
			return n / rows;
	return n + 1;
}

/* The neighbour at distance d on `columns` columns, as (column, row) offsets: d = b + c * columns. */
static bool fit_grid_distance(const struct rank_points *p, uint8_t basis, uint8_t form, int64_t columns, int64_t d,
			      struct rank_fn *out)
{
	int64_t b = d % columns, c = d / columns;

	for (int64_t turn = -1; turn <= 1; turn++) {
		struct rank_fn f = {.form = form, .a = columns, .b = b - turn * columns, .c = c + turn};

		if (f.b > -columns && f.b < columns && try_form(f, basis, p, out))
			return true;
	}
	return false;
}

/* Of the shifts that are equal modulo n, the one of least magnitude: (r - 1) mod P rather than (r + P - 1) mod P. */
static int64_t least_shift(int64_t d, int64_t n)
{
	d = floor_mod(d, n);
	return d > n / 2 ? d - n : d;
}

/* The first point that has a neighbour, or n. A bounded grid also needs a point without one: else it is an offset. */
static uint32_t first_neighbour(const struct rank_points *p, uint8_t form)
{
	uint32_t n_null = 0, first = p->n;

	for (uint32_t i = p->n; i-- > 0;) {
		if (p->value[i] == TRACE_PROC_NULL)
			n_null++;
		else
			first = i;
	}
	return form == RF_TORUS || n_null ? first : p->n;
}

/* One neighbour fixes the distance on a bounded grid, and both offsets on a torus. */
static bool fit_grid(const struct rank_points *p, uint8_t basis, uint8_t form, struct rank_fn *out)
{
	uint32_t i = first_neighbour(p, form);
	int64_t n, r, v;

	if (p->n < 3 || i == p->n)
		return false;
	n = p->n_places[i];
	r = p->place[i];
	v = p->value[i];
	if (v < 0 || v >= n)
		return false;
	for (int64_t columns = next_columns(0, n); columns <= n; columns = next_columns(columns, n)) {
		if (form == RF_GRID) {
			if (fit_grid_distance(p, basis, form, columns, v - r, out))
				return true;
		} else {
			struct rank_fn f = {.form = RF_TORUS, .a = columns,
					    .b = least_shift(v % columns - r % columns, columns),
					    .c = least_shift(v / columns - r / columns, n / columns)};

			if (try_form(f, basis, p, out))
				return true;
		}
	}
	return false;
}

/* Solve b and c of b * (r / a) + c * (r mod a) + d from the first pairs of points that show them. */
static bool solve_digits(const struct rank_points *p, struct rank_fn *f)
{
	bool has_b = false, has_c = false;
	int64_t dv, dq, dm, t;

	for (int turn = 0; turn < 2; turn++) {
		for (uint32_t i = 1; i < p->n && !(has_b && has_c); i++) {
			dq = p->place[i] / f->a - p->place[i - 1] / f->a;
			dm = p->place[i] % f->a - p->place[i - 1] % f->a;
			if (__builtin_sub_overflow(p->value[i], p->value[i - 1], &dv) || dv == INT64_MIN)
				return false;
			if (!has_c && !dq && dm) {
				f->c = dv / dm;
				has_c = true;
			} else if (!has_b && dq && (has_c || !dm)) {
				if (__builtin_mul_overflow(f->c, dm, &t) || __builtin_sub_overflow(dv, t, &dv) ||
				    dv == INT64_MIN)
					return false;
				f->b = dv / dq;
				has_b = true;
			}
		}
	}
	f->d = 0;
	f->d = (int64_t)((uint64_t)p->value[0] - (uint64_t)rank_fn_eval(f, p->place[0], p->n_places[0], 0));
	return has_b && has_c;
}

static bool fit_digits(const struct rank_points *p, uint8_t basis, struct rank_fn *out)
{
	int64_t n = p->n_places[0];

	if (p->n < 4)
		return false;
	for (uint32_t i = 0; i < p->n; i++)
		if (p->value[i] < 0) /* a special value has no digits */
			return false;
	for (int64_t a = next_columns(1, n); a < n; a = next_columns(a, n)) {
		struct rank_fn f = {.form = RF_DIGITS, .a = a};

		if (solve_digits(p, &f) && try_form(f, basis, p, out))
			return true;
	}
	return false;
}

int rank_fn_fit_form(const struct rank_points *p, uint8_t basis, struct rank_fn *out)
{
	int64_t v = p->value[0], r = p->place[0], n = p->n_places[0], d;

	if (try_form((struct rank_fn){.form = RF_CONST, .a = v}, basis, p, out))
		return 0;
	if (!__builtin_sub_overflow(v, r, &d)) {
		if (try_form((struct rank_fn){.form = RF_OFFSET, .a = d}, basis, p, out))
			return 0;
		if (try_form((struct rank_fn){.form = RF_MODULO, .a = least_shift(d, n)}, basis, p, out))
			return 0;
	}
	if (v >= 0 && try_form((struct rank_fn){.form = RF_XOR, .a = v ^ r}, basis, p, out))
		return 0;
	if (fit_affine(p, basis, out) || fit_grid(p, basis, RF_GRID, out) || fit_grid(p, basis, RF_TORUS, out) ||
	    fit_digits(p, basis, out))
		return 0;
	return -1;
}

int rank_fn_table(const struct rank_points *p, struct arena *a, struct rank_fn *out)
{
	*out = (struct rank_fn){.form = RF_TABLE, .table = arena_alloc(a, p->n, sizeof(*out->table))};
	if (!out->table)
		return -1;
	memcpy(out->table, p->value, p->n * sizeof(*p->value));
	return 0;
}

int rank_fn_fit(const struct rank_points *p, struct arena *a, struct rank_fn *out)
{
	if (rank_fn_fit_form(p, RB_WORLD, out) == 0)
		return 0;
	return rank_fn_table(p, a, out);
}

/* ---- text ---- */

/* " + 3" or " - 3" without the blanks; nothing for 0. */
static const char *signed_text(char *buf, size_t size, int64_t v)
{
	if (v)
		snprintf(buf, size, "%+lld", (long long)v);
	else
		buf[0] = '\0';
	return buf;
}

static void format_table(const struct rank_fn *f, uint32_t n, char *buf, size_t size)
{
	size_t len = (size_t)snprintf(buf, size, "{");

	for (uint32_t i = 0; i < n && i < 6 && len < size; i++)
		len += (size_t)snprintf(buf + len, size - len, "%s%lld", i ? "," : "", (long long)f->table[i]);
	if (len < size)
		snprintf(buf + len, size - len, "%s}", n > 6 ? ",..." : "");
}

/* One term of a sum, with its sign unless it is the first; nothing for 0. */
static size_t format_term(char *buf, size_t size, size_t len, int64_t factor, const char *r, char op, int64_t a)
{
	if (!factor || len >= size)
		return len;
	if (factor == 1)
		return len + (size_t)snprintf(buf + len, size - len, "%s%s%c%lld", len ? "+" : "", r, op, (long long)a);
	return len + (size_t)snprintf(buf + len, size - len, len ? "%+lld*(%s%c%lld)" : "%lld*(%s%c%lld)",
				      (long long)factor, r, op, (long long)a);
}

static void format_digits(const struct rank_fn *f, const char *r, char *buf, size_t size)
{
	size_t len = format_term(buf, size, 0, f->b, r, '/', f->a);

	len = format_term(buf, size, len, f->c, r, '%', f->a);
	if (f->d && len < size)
		snprintf(buf + len, size - len, "%+lld", (long long)f->d);
}

const char *rank_fn_format(const struct rank_fn *f, uint32_t n_table, char *buf, size_t size)
{
	const char *r = f->basis == RB_COMM ? "r_comm" : "r", *p = f->basis == RB_COMM ? "P_comm" : "P";
	char s[32];

	switch (f->form) {
	case RF_CONST:
		snprintf(buf, size, "%lld", (long long)f->a);
		break;
	case RF_OFFSET:
		snprintf(buf, size, "%s%s", r, signed_text(s, sizeof(s), f->a));
		break;
	case RF_MODULO:
		snprintf(buf, size, "(%s%s) mod %s", r, signed_text(s, sizeof(s), f->a), p);
		break;
	case RF_XOR:
		snprintf(buf, size, "%s xor %lld", r, (long long)f->a);
		break;
	case RF_AFFINE:
		snprintf(buf, size, "%lld*%s%s", (long long)f->a, r, signed_text(s, sizeof(s), f->b));
		break;
	case RF_GRID:
	case RF_TORUS:
		snprintf(buf, size, "%s(%s, %lld columns, %+lld, %+lld)", f->form == RF_GRID ? "grid" : "torus", r,
			 (long long)f->a, (long long)f->b, (long long)f->c);
		break;
	case RF_DIGITS:
		format_digits(f, r, buf, size);
		break;
	case RF_TABLE:
		format_table(f, n_table, buf, size);
		break;
	default:
		snprintf(buf, size, "?");
	}
	return buf;
}
