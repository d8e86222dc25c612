/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Types of expressions: see check.h. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "expert/lang/check.h"
#include "trace/format/event.h"

static const struct {
	const char *name;
	int64_t value;
} constants[] = {{"MPI_ANY_SOURCE", TRACE_ANY_SOURCE}, {"MPI_ANY_TAG", TRACE_ANY_TAG},
		 {"MPI_PROC_NULL", TRACE_PROC_NULL},   {"MPI_ROOT", TRACE_ROOT},
		 {"MPI_UNDEFINED", TRACE_UNDEFINED},   {"MPI_LOCK_EXCLUSIVE", TLOCK_EXCLUSIVE},
		 {"MPI_LOCK_SHARED", TLOCK_SHARED}};

static const struct {
	const char *name;
	uint8_t type;
} attributes[RA_N] = {[RA_START] = {"start_time", RT_TIME}, [RA_FINISH] = {"finish_time", RT_TIME},
		      [RA_RANK] = {"rank", RT_INT},	    [RA_SITE] = {"site", RT_INT},
		      [RA_FUNCTION] = {"function", RT_STRING}, [RA_EVENT] = {"event", RT_INT}};

static const struct {
	const char *name;
	uint8_t fn, least, most;
	bool group;
} functions[] = {{"min", EF_MIN, 2, RULES_MAX_ARGS, false}, {"max", EF_MAX, 2, RULES_MAX_ARGS, false},
		 {"abs", EF_ABS, 1, 1, false},		    {"int", EF_INT, 1, 1, false},
		 {"time", EF_TIME, 1, 1, false},	    {"double", EF_DOUBLE, 1, 1, false},
		 {"min", EF_G_MIN, 1, 1, true},		    {"max", EF_G_MAX, 1, 1, true},
		 {"sum", EF_G_SUM, 1, 1, true},		    {"mean", EF_G_MEAN, 1, 1, true},
		 {"count", EF_G_COUNT, 1, 1, true},	    {"at_min", EF_G_AT_MIN, 2, 2, true},
		 {"at_max", EF_G_AT_MAX, 2, 2, true}};

static bool is_number(uint8_t t)
{
	return t == RT_INT || t == RT_TIME || t == RT_DOUBLE;
}

static bool is_whole(uint8_t t)
{
	return t == RT_INT || t == RT_TIME;
}

static const char *an(uint8_t type)
{
	static const char *const text[] = {"an int", "a time", "a double", "a boolean", "a string"};

	return text[type];
}

static int fail(struct check_scope *s, const struct expr *e, const char *what)
{
	return rules_error(s->r, s->err, e->pos, "%s", what);
}

static struct expr *node(struct check_scope *s, const struct expr *like)
{
	struct expr *e = memory_alloc(&s->r->mem, sizeof(*e));

	if (!e)
		rules_error(s->r, s->err, like->pos, "the rules need more than %u MiB of memory", RULES_MAX_MEMORY >> 20);
	else
		*e = *like;
	return e;
}

/* e becomes the double that it is as an integer. */
static int to_double(struct check_scope *s, struct expr **e)
{
	struct expr *c;

	if ((*e)->type == RT_DOUBLE)
		return 0;
	c = node(s, *e);
	if (!c)
		return -1;
	*c = (struct expr){.kind = EX_CONVERT, .type = RT_DOUBLE, .pos = (*e)->pos, .a = *e};
	*e = c;
	return 0;
}

/* ---- names ---- */

static unsigned distance(const char *a, const char *b)
{
	unsigned row[RULES_MAX_NAME + 1], n = (unsigned)strlen(b);

	if (n > RULES_MAX_NAME)
		return UINT32_MAX;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 0; a[i]; i++) {
		unsigned diagonal = row[0];

		row[0] = i + 1;
		for (unsigned j = 1; j <= n; j++) {
			unsigned up = row[j], best = diagonal + (a[i] != b[j - 1]);

			best = up + 1 < best ? up + 1 : best;
			row[j] = row[j - 1] + 1 < best ? row[j - 1] + 1 : best;
			diagonal = up;
		}
	}
	return row[n];
}

const char *check_suggest(char *buf, size_t size, const char *name, const char *(*nth)(const void *arg, uint32_t i), uint32_t n,
			  const void *arg)
{
	unsigned best = (unsigned)strlen(name) / 3 + 1;
	const char *found = NULL;

	for (uint32_t i = 0; i < n; i++) {
		unsigned d = distance(name, nth(arg, i));

		if (d <= best && (!found || d < best)) {
			best = d;
			found = nth(arg, i);
		}
	}
	snprintf(buf, size, found ? ", did you mean '%s'?" : "%s", found ? found : "");
	return buf;
}

static const char *nth_param(const void *arg, uint32_t i)
{
	const struct rules_struct *t = arg;

	return t->param[i].name;
}

static const char *nth_attribute(const void *arg, uint32_t i)
{
	(void)arg;
	return i < RA_N ? attributes[i].name : "duration";
}

static const char *nth_pattern(const void *arg, uint32_t i)
{
	const struct rules_rule *u = arg;

	return u->pattern[i].name ? u->pattern[i].name : "";
}

static int find_pattern(const struct rules_rule *u, const char *name)
{
	for (uint32_t i = 0; i < u->n_pattern; i++)
		if (u->pattern[i].name && !strcmp(u->pattern[i].name, name))
			return (int)i;
	return -1;
}

/* finish_time - start_time */
static int make_duration(struct check_scope *s, struct expr *e)
{
	struct expr *a = node(s, e), *b = node(s, e);

	if (!a || !b)
		return -1;
	a->type = b->type = RT_TIME;
	a->slot = RA_FINISH;
	b->slot = RA_START;
	e->kind = EX_SUB;
	e->type = RT_TIME;
	e->a = a;
	e->b = b;
	return 0;
}

static int check_attribute(struct check_scope *s, struct expr *e)
{
	char hint[RULES_MAX_NAME + 32];

	for (uint16_t i = 0; i < RA_N; i++)
		if (!strcmp(attributes[i].name, e->member)) {
			e->slot = i;
			e->type = attributes[i].type;
			return 0;
		}
	if (!strcmp(e->member, "duration"))
		return make_duration(s, e);
	return rules_error(s->r, s->err, e->pos, "there is no attribute '@%.60s'%s", e->member,
			   check_suggest(hint, sizeof(hint), e->member, nth_attribute, RA_N + 1, NULL));
}

/* e->member of e->pattern */
static int check_member(struct check_scope *s, struct expr *e)
{
	const struct rules_struct *t = s->r->type[s->rule->pattern[e->pattern].type];
	char hint[RULES_MAX_NAME + 32];
	int slot;

	if (s->only >= 0 && e->pattern != s->only)
		return rules_error(s->r, s->err, e->pos, "only '%s' can be asked here", s->rule->pattern[s->only].name);
	if (e->attribute)
		return check_attribute(s, e);
	slot = rules_slot(t, e->member);
	if (slot < 0)
		return rules_error(s->r, s->err, e->pos, "'%s' has no parameter '%.60s'%s", t->name, e->member,
				   check_suggest(hint, sizeof(hint), e->member, nth_param, t->n_param, t));
	e->slot = (uint16_t)slot;
	e->type = t->param[slot - RA_N].type;
	return 0;
}

static int check_field(struct check_scope *s, struct expr *e)
{
	char hint[RULES_MAX_NAME + 32];
	int i;

	if (!e->name) {
		if (s->rule->n_pattern != 1 || s->rule->pattern[0].name)
			return rules_error(s->r, s->err, e->pos, "'@%.60s' of which structure? write NAME.@%.60s", e->member, e->member);
		e->pattern = 0;
		return check_member(s, e);
	}
	i = find_pattern(s->rule, e->name);
	if (i < 0)
		return rules_error(s->r, s->err, e->pos, "there is no structure '%.60s' in this rule%s", e->name,
				   check_suggest(hint, sizeof(hint), e->name, nth_pattern, s->rule->n_pattern, s->rule));
	e->pattern = (uint8_t)i;
	return check_member(s, e);
}

static int check_name(struct check_scope *s, struct expr *e)
{
	const struct rules_pattern *t = &s->rule->pattern[0];

	for (size_t i = 0; i < sizeof(constants) / sizeof(*constants); i++)
		if (!strcmp(constants[i].name, e->name)) {
			e->kind = EX_INT;
			e->type = RT_INT;
			e->v.integer = constants[i].value;
			return 0;
		}
	if (s->rule->n_pattern == 1 && !t->name) {
		e->kind = EX_FIELD;
		e->member = e->name;
		e->pattern = 0;
		return check_member(s, e);
	}
	if (find_pattern(s->rule, e->name) >= 0)
		return rules_error(s->r, s->err, e->pos, "'%s' is a structure; a parameter of it expected: %s.NAME", e->name, e->name);
	return rules_error(s->r, s->err, e->pos, "there is no constant '%.60s'; a parameter is written STRUCTURE.PARAMETER", e->name);
}

/* ---- operators ---- */

static int bad_operands(struct check_scope *s, const struct expr *e, const char *what)
{
	return rules_error(s->r, s->err, e->pos, "%s and %s cannot be %s", an(e->a->type), an(e->b->type), what);
}

/* A time times or by a number is a time: as a double in between. */
static int scaled_time(struct check_scope *s, struct expr *e)
{
	struct expr *inner = node(s, e);

	if (!inner || to_double(s, &inner->a) < 0 || to_double(s, &inner->b) < 0)
		return -1;
	inner->type = RT_DOUBLE;
	*e = (struct expr){.kind = EX_CALL, .fn = EF_TIME, .type = RT_TIME, .n_arg = 1, .pos = e->pos, .name = "time"};
	e->arg = memory_alloc(&s->r->mem, sizeof(*e->arg));
	if (!e->arg)
		return fail(s, inner, "no memory");
	e->arg[0] = inner;
	return 0;
}

static int check_arithmetic(struct check_scope *s, struct expr *e)
{
	static const char *const verb[] = {"added", "subtracted", "multiplied", "divided", "divided with a remainder"};
	uint8_t a = e->a->type, b = e->b->type;
	const char *what = verb[e->kind - EX_ADD];

	if (a == RT_STRING && b == RT_STRING && e->kind == EX_ADD)
		return fail(s, e, "strings are put together as \"{a} {b}\"");
	if (!is_number(a) || !is_number(b))
		return bad_operands(s, e, what);
	if (e->kind == EX_MOD && (a == RT_DOUBLE || b == RT_DOUBLE))
		return bad_operands(s, e, what);
	if (e->kind == EX_MUL && a == RT_TIME && b == RT_TIME)
		return bad_operands(s, e, what);
	if ((e->kind == EX_ADD || e->kind == EX_SUB) &&
	    ((a == RT_TIME && b == RT_DOUBLE) || (a == RT_DOUBLE && b == RT_TIME)))
		return bad_operands(s, e, what);
	if ((e->kind == EX_MUL && ((a == RT_TIME && b == RT_DOUBLE) || (a == RT_DOUBLE && b == RT_TIME))) ||
	    (e->kind == EX_DIV && a == RT_TIME && b == RT_DOUBLE))
		return scaled_time(s, e);
	if (a == RT_DOUBLE || b == RT_DOUBLE || (e->kind == EX_DIV && b == RT_TIME)) {
		e->type = RT_DOUBLE;
		return to_double(s, &e->a) < 0 || to_double(s, &e->b) < 0 ? -1 : 0;
	}
	e->type = a == RT_TIME || b == RT_TIME ? RT_TIME : RT_INT;
	return 0;
}

static int check_comparison(struct check_scope *s, struct expr *e)
{
	uint8_t a = e->a->type, b = e->b->type;

	e->type = RT_BOOLEAN;
	if (is_number(a) && is_number(b)) {
		if (a != RT_DOUBLE && b != RT_DOUBLE)
			return 0;
		return to_double(s, &e->a) < 0 || to_double(s, &e->b) < 0 ? -1 : 0;
	}
	if (a != b)
		return bad_operands(s, e, "compared");
	if (e->kind != EX_EQ && e->kind != EX_NE)
		return bad_operands(s, e, "ordered: only == and != compare them");
	return 0;
}

/* ---- functions ---- */

static int check_group_call(struct check_scope *s, struct expr *e)
{
	struct check_scope inside = *s;
	unsigned nested = 0;

	if (!s->group)
		return rules_error(s->r, s->err, e->pos, "%s(...) of a group: only in the parameters of a rule with 'all'", e->name);
	if (s->nested && ++*s->nested > RULES_MAX_NESTED)
		return rules_error(s->r, s->err, e->pos, "more than %d functions over the group inside of another one",
				   RULES_MAX_NESTED);
	inside.nested = s->nested ? s->nested : &nested;
	if (e->fn == EF_G_COUNT) {
		if (e->arg[0]->kind != EX_NAME || find_pattern(s->rule, e->arg[0]->name) != 0)
			return fail(s, e->arg[0], "the name of the group expected: count(NAME) or count(NAME where CONDITION)");
		e->n_arg = 0;
	}
	for (uint8_t i = 0; i < e->n_arg; i++)
		if (check_expr(&inside, e->arg[i]) < 0)
			return -1;
	if (e->where && check_expr_as(&inside, &e->where, RT_BOOLEAN, "a condition") < 0)
		return -1;
	e->type = e->fn == EF_G_COUNT ? RT_INT : e->arg[e->n_arg - 1]->type;
	if (e->fn != EF_G_COUNT && !is_number(e->arg[0]->type))
		return rules_error(s->r, s->err, e->arg[0]->pos, "%s() wants a number here, this is %s", e->name, an(e->arg[0]->type));
	if (e->fn == EF_G_MEAN) {
		e->type = RT_DOUBLE;
		return to_double(s, &e->arg[0]);
	}
	return 0;
}

static int check_scalar_call(struct check_scope *s, struct expr *e)
{
	bool real = false, time = false;

	if (e->where)
		return fail(s, e->where, "'where' is for functions over a group");
	for (uint8_t i = 0; i < e->n_arg; i++) {
		if (check_expr(s, e->arg[i]) < 0)
			return -1;
		if (!is_number(e->arg[i]->type) && !(e->fn == EF_INT && e->arg[i]->type == RT_BOOLEAN))
			return rules_error(s->r, s->err, e->arg[i]->pos, "%s() wants a number, this is %s", e->name,
					   an(e->arg[i]->type));
		real |= e->arg[i]->type == RT_DOUBLE;
		time |= e->arg[i]->type == RT_TIME;
	}
	e->type = e->fn == EF_INT ? RT_INT : e->fn == EF_TIME ? RT_TIME : e->fn == EF_DOUBLE || real ? RT_DOUBLE :
		  time ? RT_TIME : RT_INT;
	for (uint8_t i = 0; i < e->n_arg; i++)
		if (e->type == RT_DOUBLE && to_double(s, &e->arg[i]) < 0)
			return -1;
	return 0;
}

static const char *nth_function(const void *arg, uint32_t i)
{
	(void)arg;
	return functions[i].name;
}

static int check_call(struct check_scope *s, struct expr *e)
{
	const uint32_t n = sizeof(functions) / sizeof(*functions);
	char hint[RULES_MAX_NAME + 32];
	bool known = false;

	for (uint32_t i = 0; i < n; i++) {
		if (strcmp(functions[i].name, e->name))
			continue;
		known = true;
		if (e->n_arg < functions[i].least || e->n_arg > functions[i].most)
			continue;
		e->fn = functions[i].fn;
		return functions[i].group ? check_group_call(s, e) : check_scalar_call(s, e);
	}
	if (known)
		return rules_error(s->r, s->err, e->pos, "%s() does not take %u argument%s", e->name, e->n_arg, e->n_arg == 1 ? "" : "s");
	return rules_error(s->r, s->err, e->pos, "there is no function '%.60s'%s", e->name,
			   check_suggest(hint, sizeof(hint), e->name, nth_function, n, NULL));
}

/* ---- all ---- */

static int check_operands(struct check_scope *s, struct expr *e)
{
	if (check_expr(s, e->a) < 0 || (e->b && check_expr(s, e->b) < 0))
		return -1;
	switch (e->kind) {
	case EX_NEGATE:
		e->type = e->a->type;
		return is_number(e->type) ? 0 : rules_error(s->r, s->err, e->pos, "%s has no negative", an(e->type));
	case EX_NOT:
		e->type = RT_BOOLEAN;
		return e->a->type == RT_BOOLEAN ? 0 :
			rules_error(s->r, s->err, e->a->pos, "%s found, a condition expected after 'not'", an(e->a->type));
	case EX_AND:
	case EX_OR:
		e->type = RT_BOOLEAN;
		for (int i = 0; i < 2; i++) {
			const struct expr *o = i ? e->b : e->a;

			if (o->type != RT_BOOLEAN)
				return rules_error(s->r, s->err, o->pos, "%s found, a condition expected %s '%s'", an(o->type),
						   i ? "after" : "before", e->kind == EX_AND ? "and" : "or");
		}
		return 0;
	case EX_ADD: case EX_SUB: case EX_MUL: case EX_DIV: case EX_MOD:
		return check_arithmetic(s, e);
	default:
		return check_comparison(s, e);
	}
}

int check_expr(struct check_scope *s, struct expr *e)
{
	switch (e->kind) {
	case EX_INT:
		return 0;
	case EX_DOUBLE:
		e->type = RT_DOUBLE;
		return 0;
	case EX_BOOLEAN:
		e->type = RT_BOOLEAN;
		return 0;
	case EX_STRING:
		e->type = RT_STRING;
		return 0;
	case EX_NAME:
		return check_name(s, e);
	case EX_FIELD:
		return check_field(s, e);
	case EX_CALL:
		return check_call(s, e);
	case EX_TEMPLATE:
		e->type = RT_STRING;
		for (uint8_t i = 0; i < e->n_arg; i++)
			if (check_expr(s, e->arg[i]) < 0)
				return -1;
		return 0;
	default:
		return check_operands(s, e);
	}
}

int check_expr_as(struct check_scope *s, struct expr **e, uint8_t type, const char *what)
{
	if (check_expr(s, *e) < 0)
		return -1;
	if ((*e)->type == type || (is_whole((*e)->type) && is_whole(type)))
		return 0;
	if (type == RT_DOUBLE && is_whole((*e)->type))
		return to_double(s, e);
	return rules_error(s->r, s->err, (*e)->pos, "%s found, %s expected%s", an((*e)->type), what,
			   (*e)->type == RT_DOUBLE && is_whole(type) ? "; int(...) or time(...) rounds" : "");
}
