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

static int64_t absolute(int64_t a)
{
	return a < 0 ? WRAP(0, -, a) : a;
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

static __attribute__((noinline)) union rules_value eval_text(const struct code *c, struct eval_frame *f)
{
	char text[TEXT_MAX], piece[64];
	size_t n = 0;
	uint32_t id;

	for (uint16_t i = 0; i < c->slot; i++) {
		const char *s = print_value(piece, sizeof(piece), eval(c->piece[i], f), c->piece[i]->type, f->text);
		size_t len = strlen(s);

		len = len < TEXT_MAX - n ? len : TEXT_MAX - n;
		memcpy(text + n, s, len);
		n += len;
	}
	id = strings_put(f->text, text, n);
	f->failed |= id == UINT32_MAX;
	return (union rules_value){.i = id == UINT32_MAX ? 0 : id};
}

/* ---- functions over a group ---- */

static __attribute__((noinline)) union rules_value eval_group(const struct code_group *g, struct eval_frame *outer)
{
	union rules_value inner[RULES_MAX_NESTED];
	struct entry *bound[1];
	struct eval_frame f = *outer;
	bool found = false;
	union rules_value best = {0}, best_key = {0};
	uint64_t n = 0;

	for (uint32_t i = 0; i < g->n_inner; i++)
		inner[i] = eval_group(g->inner[i]->group, outer);
	f.bound = bound;
	f.inner = inner;
	for (uint32_t i = 0; i < outer->n_member; i++) {
		union rules_value key;
		bool more;

		bound[0] = outer->member[i];
		if (g->where && !eval(g->where, &f).i)
			continue;
		n++;
		if (g->fn == EF_G_COUNT)
			continue;
		key = eval(g->key, &f);
		if (g->fn == EF_G_SUM || g->fn == EF_G_MEAN) {
			if (g->real)
				best.d += key.d;
			else
				best.i = WRAP(best.i, +, key.i);
			continue;
		}
		more = g->real ? key.d > best_key.d : key.i > best_key.i;
		if (found && (g->fn == EF_G_MIN || g->fn == EF_G_AT_MIN))
			more = g->real ? key.d < best_key.d : key.i < best_key.i;
		if (found && !more)
			continue;
		found = true;
		best_key = key;
		best = g->value != g->key ? eval(g->value, &f) : key;
	}
	outer->failed |= f.failed;
	if (g->fn == EF_G_COUNT)
		best.i = (int64_t)n;
	if (g->fn == EF_G_MEAN)
		best.d = n ? best.d / (double)n : 0;
	return best;
}

/* ---- all ---- */

#define A       eval(c->a, f).i
#define B       eval(c->b, f).i
#define PARAM_A f->bound[c->pattern]->v[c->slot].i
#define PARAM_B f->bound[c->b_pattern]->v[c->b_slot].i
#define WHOLE_FORM(whole, form, first, second, value) \
	case CODE_WHOLE(whole, form): { \
		int64_t a = first, b = second; \
		return (union rules_value){.i = value}; \
	}
#define WHOLE(whole, value) \
	WHOLE_FORM(whole, CF_NN, A, B, value) \
	WHOLE_FORM(whole, CF_NP, A, PARAM_B, value) \
	WHOLE_FORM(whole, CF_NC, A, c->k.i, value) \
	WHOLE_FORM(whole, CF_PP, PARAM_A, PARAM_B, value) \
	WHOLE_FORM(whole, CF_PC, PARAM_A, c->k.i, value)
#define REAL(op, member, value) \
	case op: { \
		double a = eval(c->a, f).d, b = eval(c->b, f).d; \
		return (union rules_value){.member = value}; \
	}

union rules_value eval(const struct code *c, struct eval_frame *f)
{
	for (;;) {
		switch (c->op) {
		case OP_CONSTANT: return c->k;
		case OP_PARAMETER: return f->bound[c->pattern]->v[c->slot];
		case OP_AND:
			if (!A)
				return (union rules_value){.i = false};
			c = c->b;
			continue;
		case OP_OR:
			if (A)
				return (union rules_value){.i = true};
			c = c->b;
			continue;
		WHOLE(CW_EQ, a == b)
		WHOLE(CW_NE, a != b)
		WHOLE(CW_LT, a < b)
		WHOLE(CW_LE, a <= b)
		WHOLE(CW_GT, a > b)
		WHOLE(CW_GE, a >= b)
		WHOLE(CW_ADD, WRAP(a, +, b))
		WHOLE(CW_SUB, WRAP(a, -, b))
		WHOLE(CW_MUL, WRAP(a, *, b))
		WHOLE(CW_MIN, b < a ? b : a)
		WHOLE(CW_MAX, b > a ? b : a)
		REAL(OP_EQ_D, i, a == b)
		REAL(OP_NE_D, i, a != b)
		REAL(OP_LT_D, i, a < b)
		REAL(OP_LE_D, i, a <= b)
		REAL(OP_GT_D, i, a > b)
		REAL(OP_GE_D, i, a >= b)
		REAL(OP_ADD_D, d, a + b)
		REAL(OP_SUB_D, d, a - b)
		REAL(OP_MUL_D, d, a * b)
		REAL(OP_DIVIDE_D, d, a / b)
		REAL(OP_MIN_D, d, b < a ? b : a)
		REAL(OP_MAX_D, d, b > a ? b : a)
		case OP_NOT: return (union rules_value){.i = !A};
		case OP_NEGATE: return (union rules_value){.i = WRAP(0, -, A)};
		case OP_NEGATE_D: return (union rules_value){.d = -eval(c->a, f).d};
		case OP_ABS: return (union rules_value){.i = absolute(A)};
		case OP_ABS_D: return (union rules_value){.d = fabs(eval(c->a, f).d)};
		case OP_TO_DOUBLE: return (union rules_value){.d = (double)A};
		case OP_TO_INTEGER: return (union rules_value){.i = to_integer(eval(c->a, f).d)};
		case OP_DIVIDE: return (union rules_value){.i = divide(A, B, false, f)};
		case OP_REST: return (union rules_value){.i = divide(A, B, true, f)};
		case OP_INNER: return f->inner[c->slot];
		case OP_GROUP: return eval_group(c->group, f);
		default: return eval_text(c, f);
		}
	}
}
