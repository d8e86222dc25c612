/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See eval.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expert/engine/eval.h"

#define TEXT_MAX 4096

/* ---- numbers ---- */

#define WRAP(a, op, b) ((int64_t)((uint64_t)(a) op (uint64_t)(b)))

static int64_t to_integer(double d)
{
	if (!(d > -9.2e18))
		return d == d ? INT64_MIN : 0;
	return d < 9.2e18 ? (int64_t)llround(d) : INT64_MAX;
}

static int64_t divide(int64_t a, int64_t b, bool rest, struct eval_frame *f)
{
	if (b == 0) {
		++*f->zero_divisions;
		return 0;
	}
	if (b == -1)
		return rest ? 0 : WRAP(0, -, a);
	return rest ? a % b : a / b;
}

static inline int64_t of_integers(uint8_t kind, int64_t a, int64_t b, struct eval_frame *f)
{
	switch (kind) {
	case EX_EQ: return a == b;
	case EX_NE: return a != b;
	case EX_LT: return a < b;
	case EX_LE: return a <= b;
	case EX_GT: return a > b;
	case EX_GE: return a >= b;
	case EX_ADD: return WRAP(a, +, b);
	case EX_SUB: return WRAP(a, -, b);
	case EX_MUL: return WRAP(a, *, b);
	default: return divide(a, b, kind == EX_MOD, f);
	}
}

static union rules_value of_doubles(uint8_t kind, double a, double b)
{
	switch (kind) {
	case EX_EQ: return (union rules_value){.i = a == b};
	case EX_NE: return (union rules_value){.i = a != b};
	case EX_LT: return (union rules_value){.i = a < b};
	case EX_LE: return (union rules_value){.i = a <= b};
	case EX_GT: return (union rules_value){.i = a > b};
	case EX_GE: return (union rules_value){.i = a >= b};
	case EX_ADD: return (union rules_value){.d = a + b};
	case EX_SUB: return (union rules_value){.d = a - b};
	case EX_MUL: return (union rules_value){.d = a * b};
	default: return (union rules_value){.d = a / b};
	}
}

/* ---- text ---- */

static void print_time(char *s, size_t size, int64_t ns)
{
	double v = (double)ns, a = fabs(v);

	if (a >= 1e9)
		snprintf(s, size, "%.3f s", v / 1e9);
	else if (a >= 1e6)
		snprintf(s, size, "%.3f ms", v / 1e6);
	else if (a >= 1e3)
		snprintf(s, size, "%.3f us", v / 1e3);
	else
		snprintf(s, size, "%" PRId64 " ns", ns);
}

/* One piece of a text. Returns s, or the string that it is the number of. */
static const char *print_value(char *s, size_t size, union rules_value v, uint8_t type, const struct strings *text)
{
	switch (type) {
	case RT_TIME: print_time(s, size, v.i); return s;
	case RT_DOUBLE: snprintf(s, size, "%.6g", v.d); return s;
	case RT_BOOLEAN: return v.i ? "true" : "false";
	case RT_STRING: return strings_get(text, (uint64_t)v.i);
	default: snprintf(s, size, "%" PRId64, v.i); return s;
	}
}

static __attribute__((noinline)) union rules_value eval_template(const struct expr *e, struct eval_frame *f)
{
	char text[TEXT_MAX], piece[64];
	size_t n = 0;
	uint32_t id;

	for (uint8_t i = 0; i < e->n_arg; i++) {
		const char *s = print_value(piece, sizeof(piece), eval(e->arg[i], f), e->arg[i]->type, f->text);
		size_t len = strlen(s);

		len = len < TEXT_MAX - n ? len : TEXT_MAX - n;
		memcpy(text + n, s, len);
		n += len;
	}
	id = strings_put(f->text, text, n);
	f->failed |= id == UINT32_MAX;
	return (union rules_value){.i = id == UINT32_MAX ? 0 : id};
}

/* ---- functions ---- */

static union rules_value eval_group(const struct expr *e, struct eval_frame *outer);

/* Values of the functions over the group in e. */
static void eval_inner(const struct expr *e, struct eval_frame *outer, struct eval_inner *inner, uint32_t *n)
{
	if (e->kind == EX_CALL && e->fn >= EF_G_MIN) {
		inner[(*n)++] = (struct eval_inner){.e = e, .v = eval_group(e, outer)};
		return;
	}
	if (e->a)
		eval_inner(e->a, outer, inner, n);
	if (e->b)
		eval_inner(e->b, outer, inner, n);
	for (uint8_t i = 0; i < e->n_arg; i++)
		eval_inner(e->arg[i], outer, inner, n);
}

/* fn(value) or fn(key, value) over the members for which `where` holds. */
static __attribute__((noinline)) union rules_value eval_group(const struct expr *e, struct eval_frame *outer)
{
	struct eval_inner inner[RULES_MAX_NESTED];
	struct entry *bound[1];
	struct eval_frame f = *outer;
	bool real = e->n_arg && e->arg[0]->type == RT_DOUBLE, found = false;
	union rules_value best = {0}, best_key = {0};
	uint64_t n = 0;

	f.bound = bound;
	f.inner = inner;
	f.n_inner = 0;
	for (uint8_t i = 0; i < e->n_arg; i++)
		eval_inner(e->arg[i], outer, inner, &f.n_inner);
	if (e->where)
		eval_inner(e->where, outer, inner, &f.n_inner);
	for (uint32_t i = 0; i < outer->n_member; i++) {
		union rules_value key;
		bool more;

		bound[0] = outer->member[i];
		if (e->where && !eval(e->where, &f).i)
			continue;
		n++;
		if (e->fn == EF_G_COUNT)
			continue;
		key = eval(e->arg[0], &f);
		if (e->fn == EF_G_SUM || e->fn == EF_G_MEAN) {
			if (real)
				best.d += key.d;
			else
				best.i = WRAP(best.i, +, key.i);
			continue;
		}
		more = real ? key.d > best_key.d : key.i > best_key.i;
		if (found && (e->fn == EF_G_MIN || e->fn == EF_G_AT_MIN))
			more = real ? key.d < best_key.d : key.i < best_key.i;
		if (found && !more)
			continue;
		found = true;
		best_key = key;
		best = e->n_arg > 1 ? eval(e->arg[1], &f) : key;
	}
	outer->failed |= f.failed;
	if (e->fn == EF_G_COUNT)
		best.i = (int64_t)n;
	if (e->fn == EF_G_MEAN)
		best.d = n ? best.d / (double)n : 0;
	return best;
}

/* As eval(), without a call for a parameter or an integer. */
static inline union rules_value operand(const struct expr *e, struct eval_frame *f)
{
	if (e->kind == EX_FIELD)
		return f->bound[e->pattern]->v[e->slot];
	if (e->kind == EX_INT)
		return (union rules_value){.i = e->v.integer};
	return eval(e, f);
}

static union rules_value eval_call(const struct expr *e, struct eval_frame *f)
{
	bool real = e->type == RT_DOUBLE;
	union rules_value v;

	if (e->fn >= EF_G_MIN) {
		for (uint32_t i = 0; i < f->n_inner; i++)
			if (f->inner[i].e == e)
				return f->inner[i].v;
		return eval_group(e, f);
	}
	v = operand(e->arg[0], f);
	if (e->fn == EF_ABS && real)
		v.d = fabs(v.d);
	else if (e->fn == EF_ABS && v.i < 0)
		v.i = WRAP(0, -, v.i);
	if ((e->fn == EF_INT || e->fn == EF_TIME) && e->arg[0]->type == RT_DOUBLE)
		v.i = to_integer(v.d);
	for (uint8_t i = 1; i < e->n_arg; i++) {
		union rules_value w = operand(e->arg[i], f);
		bool less = real ? w.d < v.d : w.i < v.i, more = real ? w.d > v.d : w.i > v.i;

		if (e->fn == EF_MIN ? less : more)
			v = w;
	}
	return v;
}

union rules_value eval(const struct expr *e, struct eval_frame *f)
{
	union rules_value a, b;

	switch (e->kind) {
	case EX_FIELD: return f->bound[e->pattern]->v[e->slot];
	case EX_INT: case EX_BOOLEAN: case EX_STRING: return (union rules_value){.i = e->v.integer};
	case EX_DOUBLE: return (union rules_value){.d = e->v.real};
	case EX_CALL: return eval_call(e, f);
	case EX_TEMPLATE: return eval_template(e, f);
	default: a = operand(e->a, f);
	}
	switch (e->kind) {
	case EX_AND: return a.i ? operand(e->b, f) : a;
	case EX_OR: return a.i ? a : operand(e->b, f);
	case EX_NOT: return (union rules_value){.i = !a.i};
	case EX_CONVERT: return (union rules_value){.d = (double)a.i};
	case EX_NEGATE: return e->type == RT_DOUBLE ? (union rules_value){.d = -a.d} : (union rules_value){.i = WRAP(0, -, a.i)};
	default: b = operand(e->b, f);
	}
	if (e->a->type == RT_DOUBLE)
		return of_doubles(e->kind, a.d, b.d);
	return (union rules_value){.i = of_integers(e->kind, a.i, b.i, f)};
}
