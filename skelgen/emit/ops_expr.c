/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions of emitted source to operations in postfix order, by the precedence of C. */
#include <string.h>

#include "skelgen/emit/ops_work.h"

static const struct {
	const char *sign;
	int level;
	enum ops_op op;
} binary[] = {
	{"||", 1, OPS_OROR}, {"&&", 2, OPS_ANDAND}, {"|", 3, OPS_OR}, {"^", 4, OPS_XOR}, {"==", 5, OPS_EQ},
	{"!=", 5, OPS_NE},   {"<", 6, OPS_LT},	    {"<=", 6, OPS_LE}, {">", 6, OPS_GT}, {">=", 6, OPS_GE},
	{"+", 7, OPS_ADD},   {"-", 7, OPS_SUB},	    {"*", 8, OPS_MUL}, {"/", 8, OPS_DIV}, {"%", 8, OPS_MOD},
};

static const char *const table_names[OPS_TABLE_N] = {"comm", "type", "win", "req", "message"};

static void put_int(struct ops_work *w, int64_t v)
{
	ops_emit(w, OPS_INT, 0, 0);
	ops_put(w, &w->code, (uint64_t)v);
}

static void put_real(struct ops_work *w, double v)
{
	uint64_t word;

	memcpy(&word, &v, sizeof word);
	ops_emit(w, OPS_REAL, 0, 0);
	ops_put(w, &w->code, word);
}

/* ---- names ---- */

static bool token_is(const struct token *t, const char *text)
{
	return strlen(text) == t->n && memcmp(t->text, text, t->n) == 0;
}

/* Parameters up to the closing parenthesis; their number. */
static uint32_t parameters(struct ops_work *w)
{
	uint32_t n = 0;

	while (!w->failed && !lex_is(&w->lex, ")")) {
		ops_expression(w);
		n++;
		if (!lex_skip(&w->lex, ","))
			break;
	}
	ops_expect(w, ")");
	return n;
}

static void call(struct ops_work *w, const struct token *name)
{
	uint32_t f = 0, n;

	if (token_is(name, "SKEL_SLOT")) { /* the macro of skel.h */
		put_int(w, 2);
		put_int(w, 2);
		parameters(w);
		ops_emit(w, OPS_MUL, 0, 0);
		ops_emit(w, OPS_ADD, 0, 0);
		return;
	}
	while (f < ops_n_function && !token_is(name, ops_function[f].name))
		f++;
	if (f == ops_n_function) {
		w->lex.now = *name;
		ops_fail(w, "is not a function of calls.h");
		return;
	}
	n = parameters(w);
	if (!w->failed && n != strlen(ops_function[f].takes)) {
		w->lex.now = *name;
		ops_fail(w, "has another number of parameters in calls.h");
	}
	ops_emit(w, OPS_CALL, 0, f);
}

/* Place of the array that is called so, or -1. */
static int64_t array_named(const struct ops_work *w, const struct token *name)
{
	uint64_t k = 0;

	if (name->n < 6 || (memcmp(name->text, "array", 5) != 0 && memcmp(name->text, "ranks", 5) != 0))
		return -1;
	for (size_t i = 5; i < name->n; i++) {
		if (name->text[i] < '0' || name->text[i] > '9' || k > UINT32_MAX)
			return -1;
		k = 10 * k + (uint64_t)(name->text[i] - '0');
	}
	return k < w->n_array_of ? (int64_t)w->array_of[k] - 1 : -1;
}

static void subscript(struct ops_work *w)
{
	ops_expect(w, "[");
	ops_expression(w);
	ops_expect(w, "]");
}

static void constant(struct ops_work *w, const struct token *name)
{
	for (uint32_t i = 0; i < ops_n_constant; i++)
		if (token_is(name, ops_constant[i].name)) {
			ops_emit(w, OPS_NAMED, 0, i);
			return;
		}
	w->lex.now = *name;
	ops_fail(w, "is not a constant of calls.h");
}

static void handle(struct ops_work *w, enum ops_op op)
{
	for (uint32_t i = 0; i < OPS_TABLE_N; i++)
		if (lex_skip(&w->lex, table_names[i])) {
			subscript(w);
			ops_emit(w, op, 0, i);
			return;
		}
	ops_fail(w, "is not a table of handles");
}

static bool is_table(const struct token *t)
{
	for (int i = 0; i < OPS_TABLE_N; i++)
		if (token_is(t, table_names[i]))
			return true;
	return false;
}

static void value(struct ops_work *w)
{
	ops_expect(w, "[");
	if (w->lex.now.kind != TOKEN_INT || w->lex.now.i < 0 || w->lex.now.i > 1 << 20) {
		ops_fail(w, "is not the number of a value");
		return;
	}
	ops_emit(w, OPS_VALUE, 0, (uint32_t)w->lex.now.i);
	lex_next(&w->lex);
	ops_expect(w, "]");
}

static void named(struct ops_work *w)
{
	struct token name = w->lex.now;
	int64_t array;

	if (is_table(&name)) {
		handle(w, OPS_HANDLE);
		return;
	}
	lex_next(&w->lex);
	if (token_is(&name, "rank")) {
		ops_emit(w, OPS_RANK, 0, 0);
	} else if (token_is(&name, "size")) {
		ops_emit(w, OPS_SIZE, 0, 0);
	} else if (token_is(&name, "v") && lex_is(&w->lex, "[")) {
		value(w);
	} else if (lex_skip(&w->lex, "(")) {
		call(w, &name);
	} else if ((array = array_named(w, &name)) >= 0) {
		bool element = lex_is(&w->lex, "[");

		if (element)
			subscript(w);
		ops_emit(w, element ? OPS_ELEMENT : OPS_ARRAY, 0, (uint32_t)array);
	} else {
		constant(w, &name);
	}
}

/* ---- casts, and arrays without a name ---- */

static void unary(struct ops_work *w);

static void datatypes(struct ops_work *w)
{
	uint32_t n = 0;

	while (!w->failed && !lex_is(&w->lex, "}")) {
		ops_expression(w);
		n++;
		if (!lex_skip(&w->lex, ","))
			break;
	}
	ops_expect(w, "}");
	ops_emit(w, OPS_LIST, n, 0);
}

/* "const int[]){1, 2}" and the like. */
static void array_literal(struct ops_work *w)
{
	struct token type;

	ops_expect(w, "const");
	type = w->lex.now;
	lex_next(&w->lex);
	for (const char *const *s = (const char *const[]){"[", "]", ")", "{", NULL}; *s != NULL; s++)
		ops_expect(w, *s);
	if (w->failed)
		return;
	if (token_is(&type, "MPI_Datatype"))
		datatypes(w);
	else
		ops_emit(w, OPS_ARRAY, 0, ops_array_read(w, token_is(&type, "int") ? 'I' : 'A'));
}

static void parenthesis(struct ops_work *w)
{
	if (lex_is(&w->lex, "const")) {
		array_literal(w);
	} else if (lex_skip(&w->lex, "int64_t")) {
		ops_expect(w, ")");
		unary(w); /* all are 64 bits wide here */
	} else if (lex_skip(&w->lex, "int")) {
		bool pointer = lex_skip(&w->lex, "*");

		ops_expect(w, ")");
		unary(w);
		if (!pointer)
			ops_emit(w, OPS_TO_INT, 0, 0);
	} else {
		ops_expression(w);
		ops_expect(w, ")");
	}
}

static void unary(struct ops_work *w)
{
	const struct token t = w->lex.now;

	if (w->failed || w->depth > OPS_MAX_DEPTH) {
		ops_fail(w, "is nested too deeply");
		return;
	}
	w->depth++;
	if (t.kind == TOKEN_INT) {
		put_int(w, t.i);
		lex_next(&w->lex);
	} else if (t.kind == TOKEN_REAL) {
		put_real(w, t.d);
		lex_next(&w->lex);
	} else if (lex_skip(&w->lex, "-")) {
		unary(w);
		ops_emit(w, OPS_NEGATE, 0, 0);
	} else if (lex_skip(&w->lex, "!")) {
		unary(w);
		ops_emit(w, OPS_NOT, 0, 0);
	} else if (lex_skip(&w->lex, "&")) {
		handle(w, OPS_PLACE);
	} else if (lex_skip(&w->lex, "(")) {
		parenthesis(w);
	} else if (t.kind == TOKEN_NAME) {
		named(w);
	} else {
		ops_fail(w, "does not begin an expression");
	}
	w->depth--;
}

/* ---- operators ---- */

static int operator_at(const struct lex *l, int least)
{
	for (size_t i = 0; i < sizeof binary / sizeof *binary; i++)
		if (binary[i].level >= least && lex_is(l, binary[i].sign))
			return (int)i;
	return -1;
}

static void operands(struct ops_work *w, int least)
{
	int i;

	unary(w);
	while (!w->failed && (i = operator_at(&w->lex, least)) >= 0) {
		lex_next(&w->lex);
		operands(w, binary[i].level + 1);
		ops_emit(w, binary[i].op, 0, 0);
	}
}

void ops_expression(struct ops_work *w)
{
	w->depth++;
	operands(w, 1);
	if (!w->failed && lex_skip(&w->lex, "?")) {
		ops_expression(w);
		ops_expect(w, ":");
		ops_expression(w);
		ops_emit(w, OPS_CHOOSE, 0, 0);
	}
	w->depth--;
}
