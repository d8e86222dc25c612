/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Expressions: see parse.h. Precedence, loosest first: or; and; not; one comparison; + -; * / %; sign. */
#include <string.h>

#include "expert/lang/parse.h"

static struct expr *parse_or(struct rules_parser *p);

static struct expr *node(struct rules_parser *p, uint8_t kind, struct rules_pos pos)
{
	struct expr *e = memory_alloc(&p->r->mem, sizeof(*e));

	if (!e) {
		rules_error(p->r, p->err, pos, "the rules need more than %u MiB of memory", RULES_MAX_MEMORY >> 20);
		return NULL;
	}
	e->kind = kind;
	e->pos = pos;
	return e;
}

static struct expr *binary(struct rules_parser *p, uint8_t kind, struct rules_pos pos, struct expr *a, struct expr *b)
{
	struct expr *e = b ? node(p, kind, pos) : NULL;

	if (e) {
		e->a = a;
		e->b = b;
	}
	return e;
}

/* ---- strings ---- */

char *rules_string_text(struct rules_parser *p, const char *text, size_t len, size_t *out_len)
{
	char *out = memory_alloc(&p->r->mem, len + 1);
	size_t n = 0;

	if (!out) {
		rules_error(p->r, p->err, p->x.pos, "the rules need more than %u MiB of memory", RULES_MAX_MEMORY >> 20);
		return NULL;
	}
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' && i + 1 < len) {
			char c = text[++i];

			out[n++] = c == 'n' ? '\n' : c == 't' ? '\t' : c;
		} else if (text[i] == '\n' || text[i] == '\r') {
			while (n && (out[n - 1] == ' ' || out[n - 1] == '\t'))
				n--;
			while (i + 1 < len && strchr(" \t\r\n", text[i + 1]) && text[i + 1])
				i++;
			if (n && i + 1 < len)
				out[n++] = ' ';
		} else {
			out[n++] = text[i];
		}
	}
	out[n] = '\0';
	*out_len = n;
	return out;
}

static struct expr *string_constant(struct rules_parser *p, const char *text, size_t len, struct rules_pos pos)
{
	struct expr *e = node(p, EX_STRING, pos);
	size_t n;
	char *s = e ? rules_string_text(p, text, len, &n) : NULL;
	uint32_t id;

	if (!s)
		return NULL;
	id = strings_put(&p->r->text, s, n);
	if (id == UINT32_MAX) {
		rules_error(p->r, p->err, pos, "no memory for this string");
		return NULL;
	}
	e->v.integer = id;
	return e;
}

/* Where offset `at` of the string word lies in the file. */
static struct rules_pos place_inside(const struct rules_lexer *x, size_t at)
{
	struct rules_pos pos = x->pos;

	pos.col++;
	for (size_t i = 0; i < at; i++) {
		if (x->text[i] == '\n') {
			pos.line++;
			pos.col = 0;
		}
		pos.col++;
	}
	return pos;
}

/* The expression between braces at [from, to) of the string word. */
static struct expr *embedded(struct rules_parser *p, size_t from, size_t to)
{
	struct rules_lexer outer = p->x;
	struct expr *e;

	rules_lexer_open_inside(&p->x, p->r, place_inside(&outer, from), outer.text + from, to - from, p->err);
	e = rules_parse_expr(p);
	if (e && p->x.word != RW_END) {
		rules_expected(p, "'}'");
		e = NULL;
	}
	if (p->x.failed)
		e = NULL;
	p->x = outer;
	return e;
}

#define TEMPLATE_PARTS 64

static struct expr *add_part(struct rules_parser *p, struct expr *t, struct expr *part)
{
	if (!part)
		return NULL;
	if (t->n_arg >= TEMPLATE_PARTS) {
		rules_error(p->r, p->err, part->pos, "more than %d pieces in a string", TEMPLATE_PARTS);
		return NULL;
	}
	t->arg[t->n_arg++] = part;
	return t;
}

/* A brace of its own: doubled braces are one that is text. Returns its offset, or len. */
static size_t next_brace(const char *s, size_t from, size_t len)
{
	for (size_t i = from; i < len; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == '{')
			return i;
	}
	return len;
}

/* A string is text with expressions in braces: "... {op.bytes} ...". */
static struct expr *parse_string(struct rules_parser *p)
{
	struct rules_lexer *x = &p->x;
	struct expr *t = node(p, EX_TEMPLATE, x->pos);
	size_t at = 0;

	if (!t)
		return NULL;
	if (next_brace(x->text, 0, x->len) == x->len) {
		t = string_constant(p, x->text, x->len, x->pos);
		rules_lexer_next(x);
		return t;
	}
	t->arg = memory_alloc(&p->r->mem, TEMPLATE_PARTS * sizeof(struct expr *));
	if (!t->arg)
		return NULL;
	while (at < x->len) {
		size_t open = next_brace(x->text, at, x->len), close;

		if (open > at && !add_part(p, t, string_constant(p, x->text + at, open - at, x->pos)))
			return NULL;
		if (open == x->len)
			break;
		for (close = open; close < x->len && x->text[close] != '}'; close++)
			;
		if (close == x->len) {
			rules_error(p->r, p->err, place_inside(x, open), "'{' without '}'; a brace that is text is written \\{");
			return NULL;
		}
		if (!add_part(p, t, embedded(p, open + 1, close)))
			return NULL;
		at = close + 1;
	}
	rules_lexer_next(x);
	return t;
}

/* ---- the rest ---- */

static int parse_args(struct rules_parser *p, struct expr *e)
{
	e->arg = memory_alloc(&p->r->mem, RULES_MAX_ARGS * sizeof(struct expr *));
	if (!e->arg)
		return rules_error(p->r, p->err, e->pos, "no memory");
	rules_lexer_next(&p->x);
	if (p->x.word == RW_RPAREN)
		return rules_take(p, RW_RPAREN);
	for (;;) {
		if (e->n_arg == RULES_MAX_ARGS)
			return rules_error(p->r, p->err, p->x.pos, "more than %d arguments", RULES_MAX_ARGS);
		e->arg[e->n_arg] = parse_or(p);
		if (!e->arg[e->n_arg++])
			return -1;
		if (p->x.word != RW_COMMA)
			break;
		rules_lexer_next(&p->x);
	}
	if (rules_lexer_is(&p->x, "where")) {
		rules_lexer_next(&p->x);
		e->where = parse_or(p);
		if (!e->where)
			return -1;
	}
	return rules_take(p, RW_RPAREN);
}

/* NAME, NAME.PARAM, NAME.@ATTRIBUTE, NAME(...), @ATTRIBUTE of the only structure */
static struct expr *parse_name(struct rules_parser *p)
{
	struct rules_pos pos = p->x.pos;
	struct expr *e = node(p, EX_NAME, pos);

	if (!e)
		return NULL;
	if (p->x.word == RW_NAME) {
		e->name = rules_own_name(p, "a name");
		if (!e->name)
			return NULL;
		if (p->x.word == RW_LPAREN) {
			e->kind = EX_CALL;
			return parse_args(p, e) < 0 ? NULL : e;
		}
		if (p->x.word != RW_DOT)
			return e;
		rules_lexer_next(&p->x);
	}
	e->kind = EX_FIELD;
	if (p->x.word == RW_AT) {
		e->attribute = true;
		rules_lexer_next(&p->x);
	}
	if (p->x.word != RW_NAME) {
		rules_expected(p, e->attribute ? "the name of an attribute: start_time, finish_time, ..." :
				  "the name of a parameter, or '@' and that of an attribute");
		return NULL;
	}
	e->member = memory_copy(&p->r->mem, p->x.text, p->x.len);
	rules_lexer_next(&p->x);
	return e->member ? e : NULL;
}

static struct expr *parse_primary(struct rules_parser *p)
{
	struct rules_lexer *x = &p->x;
	struct expr *e;

	if (x->word == RW_LPAREN) {
		rules_lexer_next(x);
		e = parse_or(p);
		if (!e || rules_take(p, RW_RPAREN) < 0)
			return NULL;
		e->in_parens = true;
		return e;
	}
	if (x->word == RW_STRING)
		return parse_string(p);
	if (x->word == RW_INT || x->word == RW_TIME || x->word == RW_DOUBLE) {
		e = node(p, x->word == RW_DOUBLE ? EX_DOUBLE : EX_INT, x->pos);
		if (!e)
			return NULL;
		e->type = x->word == RW_TIME ? RT_TIME : RT_INT;
		if (x->word == RW_DOUBLE)
			e->v.real = x->real;
		else
			e->v.integer = x->integer;
		rules_lexer_next(x);
		return e;
	}
	if (rules_lexer_is(x, "true") || rules_lexer_is(x, "false")) {
		e = node(p, EX_BOOLEAN, x->pos);
		if (e)
			e->v.integer = x->len == 4;
		rules_lexer_next(x);
		return e;
	}
	if (x->word == RW_NAME || x->word == RW_AT)
		return parse_name(p);
	rules_expected(p, "an expression");
	return NULL;
}

static int deeper(struct rules_parser *p)
{
	if (++p->depth > RULES_MAX_DEPTH)
		return rules_error(p->r, p->err, p->x.pos, "this expression is nested more than %d deep", RULES_MAX_DEPTH);
	return 0;
}

/* The word before an operand, and the operand. */
static struct expr *unary(struct rules_parser *p, uint8_t kind, struct expr *(*operand)(struct rules_parser *))
{
	struct rules_pos pos = p->x.pos;
	struct expr *e;

	rules_lexer_next(&p->x);
	if (deeper(p) < 0)
		return NULL;
	e = binary(p, kind, pos, NULL, operand(p));
	p->depth--;
	if (!e)
		return NULL;
	e->a = e->b;
	e->b = NULL;
	return e;
}

/* The word behind the left operand, and the right one; *n: how much deeper a row of them is by now. */
static struct expr *go_on(struct rules_parser *p, uint8_t kind, struct expr *left, struct expr *(*operand)(struct rules_parser *),
			  unsigned *n)
{
	struct rules_pos pos = p->x.pos;

	if (deeper(p) < 0)
		return NULL;
	++*n;
	rules_lexer_next(&p->x);
	return binary(p, kind, pos, left, operand(p));
}

static struct expr *parse_sign(struct rules_parser *p)
{
	return p->x.word == RW_MINUS ? unary(p, EX_NEGATE, parse_sign) : parse_primary(p);
}

static struct expr *parse_product(struct rules_parser *p)
{
	struct expr *e = parse_sign(p);
	unsigned n = 0;

	while (e && (p->x.word == RW_STAR || p->x.word == RW_SLASH || p->x.word == RW_PERCENT)) {
		uint8_t kind = p->x.word == RW_STAR ? EX_MUL : p->x.word == RW_SLASH ? EX_DIV : EX_MOD;

		e = go_on(p, kind, e, parse_sign, &n);
	}
	p->depth -= n;
	return e;
}

static struct expr *parse_sum(struct rules_parser *p)
{
	struct expr *e = parse_product(p);
	unsigned n = 0;

	while (e && (p->x.word == RW_PLUS || p->x.word == RW_MINUS))
		e = go_on(p, p->x.word == RW_PLUS ? EX_ADD : EX_SUB, e, parse_product, &n);
	p->depth -= n;
	return e;
}

static struct expr *parse_comparison(struct rules_parser *p)
{
	struct expr *e = parse_sum(p);
	struct rules_pos pos = p->x.pos;
	uint8_t word = p->x.word;

	if (!e || word < RW_EQ || word > RW_GE) {
		if (e && word == RW_ASSIGN) {
			rules_error(p->r, p->err, pos, "'=' found; a comparison is written '=='");
			return NULL;
		}
		return e;
	}
	rules_lexer_next(&p->x);
	e = binary(p, (uint8_t)(EX_EQ + (word - RW_EQ)), pos, e, parse_sum(p));
	if (e && p->x.word >= RW_EQ && p->x.word <= RW_GE) {
		rules_error(p->r, p->err, p->x.pos, "two comparisons in a row; put one in parentheses, or 'and' between them");
		return NULL;
	}
	return e;
}

static struct expr *parse_not(struct rules_parser *p)
{
	return rules_lexer_is(&p->x, "not") ? unary(p, EX_NOT, parse_not) : parse_comparison(p);
}

static struct expr *parse_and(struct rules_parser *p)
{
	struct expr *e = parse_not(p);
	unsigned n = 0;

	while (e && rules_lexer_is(&p->x, "and"))
		e = go_on(p, EX_AND, e, parse_not, &n);
	p->depth -= n;
	return e;
}

static struct expr *parse_or(struct rules_parser *p)
{
	struct expr *e;
	unsigned n = 1;

	if (deeper(p) < 0)
		return NULL;
	e = parse_and(p);
	while (e && rules_lexer_is(&p->x, "or"))
		e = go_on(p, EX_OR, e, parse_and, &n);
	p->depth -= n;
	return e;
}

struct expr *rules_parse_expr(struct rules_parser *p)
{
	return parse_or(p);
}
