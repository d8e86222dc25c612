/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The engine and an evaluator of the test's own agree on the values of random expressions over the parameters of two
 * structures.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expert/compile/entry.h"
#include "expert/engine/eval.h"

#define N_PATTERN 2
#define N_SLOT    6 /* three integers, a double, two booleans */
#define EXPRS     60000
#define VALUES    4 /* that each is run with */

struct world {
	struct memory mem;
	struct entry *bound[N_PATTERN];
	uint64_t zero_divisions;
	uint64_t random;
};

static uint32_t below(struct world *w, uint32_t n)
{
	w->random = w->random * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)((w->random >> 33) % n);
}

/* ---- expressions ---- */

static struct expr *random_expr(struct world *w, uint8_t type, unsigned depth);

static struct expr *new_expr(struct world *w, uint8_t kind, uint8_t type)
{
	struct expr *e = memory_alloc(&w->mem, sizeof(*e));

	assert_non_null(e);
	e->kind = kind;
	e->type = type;
	return e;
}

static struct expr *random_leaf(struct world *w, uint8_t type)
{
	struct expr *e;

	if (below(w, 3)) {
		e = new_expr(w, EX_FIELD, type);
		e->pattern = (uint8_t)below(w, N_PATTERN);
		e->slot = (uint16_t)(type == RT_INT ? below(w, 3) : type == RT_DOUBLE ? 3 : 4 + below(w, 2));
		return e;
	}
	e = new_expr(w, type == RT_INT ? EX_INT : type == RT_DOUBLE ? EX_DOUBLE : EX_BOOLEAN, type);
	if (type == RT_DOUBLE)
		e->v.real = (double)below(w, 9) / 4 - 1;
	else
		e->v.integer = type == RT_INT ? (int64_t)below(w, 5) - 2 : below(w, 2);
	return e;
}

static struct expr *random_call(struct world *w, uint8_t type, unsigned depth)
{
	struct expr *e = new_expr(w, EX_CALL, type);

	e->fn = (uint8_t)below(w, type == RT_INT ? EF_INT + 1 : EF_ABS + 1);
	e->n_arg = e->fn == EF_ABS || e->fn == EF_INT ? 1 : (uint8_t)(2 + below(w, 2));
	e->arg = memory_alloc(&w->mem, e->n_arg * sizeof(*e->arg));
	assert_non_null(e->arg);
	for (uint8_t i = 0; i < e->n_arg; i++)
		e->arg[i] = random_expr(w, e->fn == EF_INT ? RT_DOUBLE : type, depth - 1);
	return e;
}

static struct expr *random_number(struct world *w, uint8_t type, unsigned depth)
{
	uint32_t kind = below(w, 8);
	struct expr *e;

	if (kind == 0)
		return random_call(w, type, depth);
	if (kind == 1) {
		e = new_expr(w, type == RT_DOUBLE && below(w, 2) ? EX_CONVERT : EX_NEGATE, type);
		e->a = random_expr(w, e->kind == EX_CONVERT ? RT_INT : type, depth - 1);
		return e;
	}
	e = new_expr(w, (uint8_t)(EX_ADD + below(w, type == RT_INT ? 5 : 4)), type);
	e->a = random_expr(w, type, depth - 1);
	e->b = random_expr(w, type, depth - 1);
	return e;
}

static struct expr *random_condition(struct world *w, unsigned depth)
{
	uint32_t kind = below(w, 8);
	struct expr *e;
	uint8_t type = RT_BOOLEAN;

	if (kind == 0) {
		e = new_expr(w, EX_NOT, RT_BOOLEAN);
		e->a = random_expr(w, RT_BOOLEAN, depth - 1);
		return e;
	}
	if (kind < 4) {
		e = new_expr(w, below(w, 2) ? EX_AND : EX_OR, RT_BOOLEAN);
	} else {
		type = below(w, 4) ? RT_INT : RT_DOUBLE;
		e = new_expr(w, (uint8_t)(EX_EQ + below(w, 6)), RT_BOOLEAN);
	}
	e->a = random_expr(w, type, depth - 1);
	e->b = random_expr(w, type, depth - 1);
	return e;
}

static struct expr *random_expr(struct world *w, uint8_t type, unsigned depth)
{
	if (depth == 0 || below(w, 4) == 0)
		return random_leaf(w, type);
	return type == RT_BOOLEAN ? random_condition(w, depth) : random_number(w, type, depth);
}

/* ---- what they mean ---- */

static union rules_value meaning(struct world *w, const struct expr *e);

static int64_t integer_of(double d)
{
	if (d != d)
		return 0;
	if (d >= 9.2e18 || d <= -9.2e18)
		return d > 0 ? INT64_MAX : INT64_MIN;
	return d < 0 ? -(int64_t)(0.5 - d) : (int64_t)(d + 0.5);
}

static int64_t quotient(struct world *w, int64_t a, int64_t b, bool rest)
{
	__int128 v;

	if (b == 0) {
		w->zero_divisions++;
		return 0;
	}
	v = rest ? (__int128)a % b : (__int128)a / b;
	return (int64_t)(uint64_t)v;
}

/* A comparison; of NaN nothing is less, equal or more. */
static bool holds(uint8_t kind, bool less, bool equal, bool more)
{
	switch (kind) {
	case EX_EQ: return equal;
	case EX_NE: return !equal;
	case EX_LT: return less;
	case EX_LE: return less || equal;
	case EX_GT: return more;
	default: return more || equal;
	}
}

static union rules_value of_integers(struct world *w, uint8_t kind, int64_t a, int64_t b)
{
	uint64_t x = (uint64_t)a, y = (uint64_t)b;
	union rules_value v = {.i = holds(kind, a < b, a == b, a > b)};

	switch (kind) {
	case EX_EQ: case EX_NE: case EX_LT: case EX_LE: case EX_GT: case EX_GE: break;
	case EX_ADD: v.i = (int64_t)(x + y); break;
	case EX_SUB: v.i = (int64_t)(x - y); break;
	case EX_MUL: v.i = (int64_t)(x * y); break;
	default: v.i = quotient(w, a, b, kind == EX_MOD);
	}
	return v;
}

static union rules_value of_doubles(uint8_t kind, double a, double b)
{
	union rules_value v = {.i = holds(kind, a < b, a == b, a > b)};

	switch (kind) {
	case EX_EQ: case EX_NE: case EX_LT: case EX_LE: case EX_GT: case EX_GE: break;
	case EX_ADD: v.d = a + b; break;
	case EX_SUB: v.d = a - b; break;
	case EX_MUL: v.d = a * b; break;
	default: v.d = a / b;
	}
	return v;
}

static union rules_value of_call(struct world *w, const struct expr *e)
{
	bool real = e->type == RT_DOUBLE;
	union rules_value v = meaning(w, e->arg[0]);

	if (e->fn == EF_INT)
		v.i = integer_of(v.d);
	if (e->fn == EF_ABS && real)
		v.d = v.d < 0 ? -v.d : v.d + 0.0; /* not -0 */
	else if (e->fn == EF_ABS && v.i < 0)
		v.i = (int64_t)(0 - (uint64_t)v.i);
	for (uint8_t i = 1; i < e->n_arg; i++) {
		union rules_value next = meaning(w, e->arg[i]);
		bool less = real ? next.d < v.d : next.i < v.i, more = real ? next.d > v.d : next.i > v.i;

		if (e->fn == EF_MIN ? less : more)
			v = next;
	}
	return v;
}

static union rules_value meaning(struct world *w, const struct expr *e)
{
	union rules_value a, b, v = {0};

	switch (e->kind) {
	case EX_INT: case EX_BOOLEAN:
		v.i = e->v.integer;
		return v;
	case EX_DOUBLE:
		v.d = e->v.real;
		return v;
	case EX_FIELD:
		return w->bound[e->pattern]->v[e->slot];
	case EX_CALL:
		return of_call(w, e);
	default:
		a = meaning(w, e->a);
	}
	switch (e->kind) {
	case EX_NOT: v.i = a.i == 0; return v;
	case EX_CONVERT: v.d = (double)a.i; return v;
	case EX_NEGATE:
		if (e->type == RT_DOUBLE)
			v.d = -a.d;
		else
			v.i = (int64_t)(0 - (uint64_t)a.i);
		return v;
	case EX_AND: return a.i ? meaning(w, e->b) : a;
	case EX_OR: return a.i ? a : meaning(w, e->b);
	default:
		b = meaning(w, e->b);
		return e->a->type == RT_DOUBLE ? of_doubles(e->kind, a.d, b.d) : of_integers(w, e->kind, a.i, b.i);
	}
}

/* ---- tests ---- */

static void change_values(struct world *w)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, -1, 0};

	for (unsigned p = 0; p < N_PATTERN; p++) {
		union rules_value *v = w->bound[p]->v;

		for (unsigned s = 0; s < 3; s++)
			v[s].i = below(w, 20) ? (int64_t)below(w, 5) - 2 : odd[below(w, 4)];
		v[3].d = (double)below(w, 9) / 4 - 1;
		v[4].i = below(w, 2);
		v[5].i = below(w, 2);
	}
}

/* NaN is as good as any other. */
static bool same(union rules_value a, union rules_value b, uint8_t type)
{
	return type == RT_DOUBLE ? a.d == b.d || (a.d != a.d && b.d != b.d) : a.i == b.i;
}

static void compare(struct world *w, const struct expr *e)
{
	uint64_t divisions = 0;
	struct eval_frame f = {.bound = w->bound, .zero_divisions = &divisions};
	union rules_value expected, got;

	change_values(w);
	w->zero_divisions = 0;
	expected = meaning(w, e);
	got = eval(code_compile(e, &w->mem), &f);
	assert_true(same(expected, got, e->type));
	assert_int_equal(w->zero_divisions, divisions);
	assert_false(f.failed);
}

/* Conditions are what rules have most of. */
static void test_random(void **state)
{
	static const uint8_t types[] = {RT_BOOLEAN, RT_BOOLEAN, RT_INT, RT_DOUBLE};
	struct world w = {.random = 5};

	(void)state;
	for (unsigned p = 0; p < N_PATTERN; p++) {
		w.bound[p] = calloc(1, sizeof(struct entry) + N_SLOT * sizeof(union rules_value));
		assert_non_null(w.bound[p]);
	}
	for (unsigned n = 0; n < EXPRS; n++) {
		struct expr *e;

		memory_init(&w.mem, RULES_MAX_MEMORY);
		e = random_expr(&w, types[n % 4], 1 + n % 7);
		for (unsigned v = 0; v < VALUES; v++)
			compare(&w, e);
		memory_free(&w.mem);
	}
	for (unsigned p = 0; p < N_PATTERN; p++)
		free(w.bound[p]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
