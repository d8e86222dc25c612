/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The stack machine: see code.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "expert/compile/entry.h"
#include "expert/engine/code_run.h"

#define TEXT_MAX 4096

struct text_buf {
	char s[TEXT_MAX];
	size_t n;
};

/* ---- text ---- */

static void put_time(char *s, size_t size, int64_t ns)
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

static void put_text(struct text_buf *b, union rules_value v, uint8_t type, const struct strings *text)
{
	char s[64];
	const char *p = s;
	size_t n;

	switch (type) {
	case RT_TIME: put_time(s, sizeof(s), v.i); break;
	case RT_DOUBLE: snprintf(s, sizeof(s), "%.6g", v.d); break;
	case RT_BOOLEAN: p = v.i ? "true" : "false"; break;
	case RT_STRING: p = strings_get(text, (uint64_t)v.i); break;
	default: snprintf(s, sizeof(s), "%" PRId64, v.i);
	}
	n = strlen(p);
	if (n > TEXT_MAX - b->n)
		n = TEXT_MAX - b->n;
	memcpy(b->s + b->n, p, n);
	b->n += n;
}

/* ---- numbers ---- */

static int64_t to_integer(double d)
{
	if (!(d > -9.2e18))
		return d == d ? INT64_MIN : 0;
	return d < 9.2e18 ? (int64_t)llround(d) : INT64_MAX;
}

static int64_t divide(int64_t a, int64_t b, bool rest, struct code_frame *f)
{
	if (b == 0) {
		++*f->zero_divisions;
		return 0;
	}
	if (b == -1)
		return rest ? 0 : (int64_t)(0 - (uint64_t)a);
	return rest ? a % b : a / b;
}

#define WRAP(a, op, b) ((int64_t)((uint64_t)(a) op (uint64_t)(b)))

/* ---- groups ---- */

static union rules_value group_run(const struct code_group *g, struct code_frame *outer);

/* What is asked of the whole group inside of a function over it is asked once, not for each member. */
static void run_inner(const struct code *c, struct code_frame *outer, union rules_value *inner)
{
	for (uint32_t i = 0; i < c->n_group; i++)
		inner[i] = group_run(&c->group[i], outer);
}

static inline union rules_value run_member(const struct code *c, struct code_frame *f, const union rules_value *inner)
{
	f->inner = inner;
	return code_run(c, f);
}

static union rules_value group_run(const struct code_group *g, struct code_frame *outer)
{
	union rules_value key_inner[RULES_MAX_NESTED], value_inner[RULES_MAX_NESTED], where_inner[RULES_MAX_NESTED];
	struct code_frame f = *outer;
	union rules_value best = {0}, best_key = {0};
	bool real = g->type == RT_DOUBLE, found = false;
	uint64_t n = 0;
	struct entry *bound[1];

	f.bound = bound;
	run_inner(&g->key, outer, key_inner);
	run_inner(&g->value, outer, value_inner);
	run_inner(&g->where, outer, where_inner);
	for (uint32_t i = 0; i < outer->n_member; i++) {
		union rules_value key;
		bool more;

		bound[0] = outer->member[i];
		if (g->where.ins && !run_member(&g->where, &f, where_inner).i)
			continue;
		n++;
		if (g->fn == EF_G_COUNT)
			continue;
		key = run_member(&g->key, &f, key_inner);
		if (g->fn == EF_G_SUM || g->fn == EF_G_MEAN) {
			if (real)
				best.d += key.d;
			else
				best.i = WRAP(best.i, +, key.i);
			continue;
		}
		more = real ? key.d > best_key.d : key.i > best_key.i;
		if (found && (g->fn == EF_G_MIN || g->fn == EF_G_AT_MIN))
			more = real ? key.d < best_key.d : key.i < best_key.i;
		if (found && !more)
			continue;
		found = true;
		best_key = key;
		best = g->fn == EF_G_AT_MIN || g->fn == EF_G_AT_MAX ? run_member(&g->value, &f, value_inner) : key;
	}
	outer->failed |= f.failed;
	if (g->fn == EF_G_COUNT)
		best.i = (int64_t)n;
	if (g->fn == EF_G_MEAN)
		best.d = n ? best.d / (double)n : 0;
	return best;
}

/* ---- the machine ---- */

static void text_end(struct text_buf *b, union rules_value *out, struct code_frame *f)
{
	uint32_t id = strings_put(f->text, b->s, b->n);

	f->failed |= id == UINT32_MAX;
	out->i = id == UINT32_MAX ? 0 : id;
}

/* The last value is not on the stack but in `top`; what lies below the first is nothing. */
#define FIELD_A (f->bound[i->pattern]->v[i->slot].i)
#define FIELD_B (f->bound[i->target >> 16]->v[i->target & 0xffff].i)
#define PUSH          *sp++ = top
#define SHORT(op, b)  PUSH, top.i = FIELD_A op (b)
#define WITH_W(op, b) top.i = WRAP(top.i, op, b)
#define WITH_I(op, b) top.i = top.i op (b)
#define LEAST(a, b) ((b) < (a) ? (b) : (a))
#define MOST(a, b)  ((b) > (a) ? (b) : (a))
#define BINARY_I(op)  sp--, top.i = sp[0].i op top.i
#define BINARY_W(op)  sp--, top.i = WRAP(sp[0].i, op, top.i)
#define COMPARE_D(op) sp--, top.i = sp[0].d op top.d
#define BINARY_D(op)  sp--, top.d = sp[0].d op top.d
/* Either the value is kept, and it goes on there; or it is not, and the jump that stands behind is passed over. */
#define JUMP_IF(value, wanted, there) \
	if (((value) != 0) == (wanted)) { \
		PUSH, top.i = (value); \
		i = c->ins + (there) - 1; \
	} else { \
		i++; \
	} \
	break
#define COMPARE_JUMP(name, op) \
	case OP_##name##_FF_JF: JUMP_IF(FIELD_A op FIELD_B, false, i->k.i); \
	case OP_##name##_FC_JF: JUMP_IF(FIELD_A op i->k.i, false, i->target); \
	case OP_##name##_FF_JT: JUMP_IF(FIELD_A op FIELD_B, true, i->k.i); \
	case OP_##name##_FC_JT: JUMP_IF(FIELD_A op i->k.i, true, i->target)
#define COMPARE(name, op) \
	case OP_##name##_I: BINARY_I(op); break; \
	case OP_##name##_D: COMPARE_D(op); break; \
	case OP_##name##_FF: SHORT(op, FIELD_B); break; \
	case OP_##name##_FC: SHORT(op, i->k.i); break; \
	case OP_##name##_IF: WITH_I(op, FIELD_A); break; \
	case OP_##name##_IC: WITH_I(op, i->k.i); break; \
	COMPARE_JUMP(name, op)

static inline __attribute__((always_inline)) union rules_value run(const struct code *c, struct code_frame *f,
								   union rules_value *sp, struct text_buf *text)
{
	union rules_value top = {0};

	for (const struct code_ins *i = c->ins;; i++) {
		switch ((enum code_op)i->op) {
		case OP_END: return top;
		case OP_CONST: PUSH, top = i->k; break;
		case OP_FIELD: PUSH, top.i = FIELD_A; break;
		case OP_JUMP_FALSE:
		case OP_JUMP_TRUE:
			if (!top.i == (i->op == OP_JUMP_FALSE))
				i = c->ins + i->target - 1;
			else
				top = *--sp;
			break;
		case OP_FIELD_JF: JUMP_IF(FIELD_A, false, i->target);
		case OP_FIELD_JT: JUMP_IF(FIELD_A, true, i->target);
		COMPARE(EQ, ==);
		COMPARE(NE, !=);
		COMPARE(LT, <);
		COMPARE(LE, <=);
		COMPARE(GT, >);
		COMPARE(GE, >=);
		case OP_NOT: top.i = !top.i; break;
		case OP_NEG_I: top.i = WRAP(0, -, top.i); break;
		case OP_NEG_D: top.d = -top.d; break;
		case OP_TO_D: top.d = (double)top.i; break;
		case OP_TO_I: top.i = to_integer(top.d); break;
		case OP_ADD_I: BINARY_W(+); break;
		case OP_SUB_I: BINARY_W(-); break;
		case OP_MUL_I: BINARY_W(*); break;
		case OP_DIV_I: sp--, top.i = divide(sp[0].i, top.i, false, f); break;
		case OP_MOD_I: sp--, top.i = divide(sp[0].i, top.i, true, f); break;
		case OP_ADD_D: BINARY_D(+); break;
		case OP_SUB_D: BINARY_D(-); break;
		case OP_MUL_D: BINARY_D(*); break;
		case OP_DIV_D: BINARY_D(/); break;
		case OP_MIN_I: sp--, top.i = LEAST(sp[0].i, top.i); break;
		case OP_MAX_I: sp--, top.i = MOST(sp[0].i, top.i); break;
		case OP_MIN_D: sp--, top.d = top.d < sp[0].d ? top.d : sp[0].d; break;
		case OP_MAX_D: sp--, top.d = top.d > sp[0].d ? top.d : sp[0].d; break;
		case OP_ABS_I: top.i = top.i < 0 ? WRAP(0, -, top.i) : top.i; break;
		case OP_ABS_D: top.d = fabs(top.d); break;
		case OP_ADD_IF: WITH_W(+, FIELD_A); break;
		case OP_SUB_IF: WITH_W(-, FIELD_A); break;
		case OP_MUL_IF: WITH_W(*, FIELD_A); break;
		case OP_MIN_IF: top.i = LEAST(top.i, FIELD_A); break;
		case OP_MAX_IF: top.i = MOST(top.i, FIELD_A); break;
		case OP_ADD_IC: WITH_W(+, i->k.i); break;
		case OP_SUB_IC: WITH_W(-, i->k.i); break;
		case OP_MUL_IC: WITH_W(*, i->k.i); break;
		case OP_MIN_IC: top.i = LEAST(top.i, i->k.i); break;
		case OP_MAX_IC: top.i = MOST(top.i, i->k.i); break;
		case OP_GROUP: PUSH, top = f->inner ? f->inner[i->target] : group_run(&c->group[i->target], f); break;
		case OP_TEXT_BEGIN: text->n = 0; break;
		case OP_TEXT: put_text(text, top, i->pattern, f->text), top = *--sp; break;
		case OP_TEXT_END: PUSH, text_end(text, &top, f); break;
		default: __builtin_unreachable(); /* code.c writes no others */
		}
	}
}

/* Only code that makes text needs the room for it. */
static __attribute__((noinline)) union rules_value run_text(const struct code *c, struct code_frame *f)
{
	union rules_value stack[CODE_STACK];
	struct text_buf text;

	text.n = 0;
	return run(c, f, stack, &text);
}

static __attribute__((noinline)) union rules_value run_high(const struct code *c, struct code_frame *f)
{
	union rules_value stack[CODE_STACK];

	return run(c, f, stack, NULL);
}

union rules_value code_run(const struct code *c, struct code_frame *f)
{
	const struct code_ins *i = c->ins;

	if (i->op == OP_FIELD && i[1].op == OP_END) /* as in most functions over groups */
		return f->bound[i->pattern]->v[i->slot];
	if (c->makes_text)
		return run_text(c, f);
	return c->low ? run(c, f, f->stack, NULL) : run_high(c, f);
}
