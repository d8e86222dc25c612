/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a rule file: see lex.h. */
#include "expert/lang/lex.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const word_name[] = {
    [RW_END] = "the end of the file", [RW_NAME] = "a name",   [RW_INT] = "a number", [RW_DOUBLE] = "a number",
    [RW_TIME] = "a time",	      [RW_STRING] = "a string", [RW_LPAREN] = "'('",	 [RW_RPAREN] = "')'",
    [RW_COMMA] = "','",		      [RW_SEMICOLON] = "';'",	[RW_ASSIGN] = "'='",	 [RW_DOT] = "'.'",
    [RW_AT] = "'@'",		      [RW_EQ] = "'=='",		[RW_NE] = "'!='",	 [RW_LT] = "'<'",
    [RW_LE] = "'<='",		      [RW_GT] = "'>'",		[RW_GE] = "'>='",	 [RW_PLUS] = "'+'",
    [RW_MINUS] = "'-'",		      [RW_STAR] = "'*'",	[RW_SLASH] = "'/'",	 [RW_PERCENT] = "'%'"};

const char *rules_word_name(uint8_t word)
{
	return word_name[word];
}

static struct rules_pos here(const struct rules_lexer *x)
{
	return (struct rules_pos){x->file, x->line, x->col_before + (uint32_t)(x->at - x->line_begin) + 1};
}

static void fail(struct rules_lexer *x, struct rules_pos pos, const char *what)
{
	if (!x->failed)
		rules_error(x->r, x->err, pos, "%s", what);
	x->failed = true;
	x->word = RW_END;
	x->at = x->end;
}

static void new_line(struct rules_lexer *x)
{
	x->line++;
	x->line_begin = x->at + 1;
	x->col_before = 0;
}

/* Blanks and comments: # and // to the end of the line, slash-star to star-slash. */
static void skip(struct rules_lexer *x)
{
	for (; x->at < x->end; x->at++) {
		char c = *x->at, d = x->at + 1 < x->end ? x->at[1] : '\0';

		if (c == '\n') {
			new_line(x);
		} else if (c == '#' || (c == '/' && d == '/')) {
			while (x->at + 1 < x->end && x->at[1] != '\n')
				x->at++;
		} else if (c == '/' && d == '*') {
			struct rules_pos pos = here(x);

			for (x->at += 2; x->at + 1 < x->end && !(x->at[0] == '*' && x->at[1] == '/'); x->at++)
				if (*x->at == '\n')
					new_line(x);
			if (x->at + 1 >= x->end) {
				fail(x, pos, "this comment has no end; '*/' expected");
				return;
			}
			x->at++;
		} else if (c != ' ' && c != '\t' && c != '\r') {
			return;
		}
	}
}

/* A number is an integer, a double, or with a unit behind it a time. */
static void number(struct rules_lexer *x)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char buf[64];
	const char *p = x->at;
	bool real = false;

	while (p < x->end && isdigit((unsigned char)*p))
		p++;
	if (p + 1 < x->end && *p == '.' && isdigit((unsigned char)p[1]))
		for (real = true, p++; p < x->end && isdigit((unsigned char)*p);)
			p++;
	if (p + 1 < x->end && (*p == 'e' || *p == 'E') &&
	    (isdigit((unsigned char)p[1]) || (p + 2 < x->end && (p[1] == '-' || p[1] == '+') && isdigit((unsigned char)p[2]))))
		for (real = true, p += 2; p < x->end && isdigit((unsigned char)*p);)
			p++;
	if (p - x->at >= (ptrdiff_t)sizeof(buf)) {
		fail(x, x->pos, "this number is too long");
		return;
	}
	memcpy(buf, x->at, (size_t)(p - x->at));
	buf[p - x->at] = '\0';
	errno = 0;
	x->real = strtod(buf, NULL);
	x->integer = real ? 0 : strtoll(buf, NULL, 10);
	x->word = real ? RW_DOUBLE : RW_INT;
	if (!real && errno == ERANGE)
		fail(x, x->pos, "this number is too large: at most 9223372036854775807");
	x->at = x->failed ? x->end : p;
	if (p < x->end && (isalpha((unsigned char)*p) || *p == '_')) {
		const char *u = p;

		while (p < x->end && (isalnum((unsigned char)*p) || *p == '_'))
			p++;
		for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++)
			if ((size_t)(p - u) == strlen(units[i].unit) && !memcmp(u, units[i].unit, (size_t)(p - u))) {
				x->word = RW_TIME;
				x->at = p;
				if (x->real * units[i].ns >= 9e18)
					fail(x, x->pos, "this time is too long");
				else if (real)
					x->integer = llround(x->real * units[i].ns);
				else
					x->integer *= (int64_t)units[i].ns;
				return;
			}
		fail(x, x->pos, "this number has an unknown unit: ns, us, ms or s expected");
	}
}

static void string(struct rules_lexer *x)
{
	x->text = ++x->at;
	for (; x->at < x->end && *x->at != '"'; x->at++) {
		if (*x->at == '\\' && x->at + 1 < x->end)
			x->at++;
		if (*x->at == '\n')
			new_line(x);
		if (*x->at == '\0') {
			fail(x, here(x), "a zero byte in a string");
			return;
		}
	}
	if (x->at >= x->end) {
		fail(x, x->pos, "this string has no end; '\"' expected");
		return;
	}
	x->len = (size_t)(x->at - x->text);
	x->at++;
	x->word = RW_STRING;
}

static void sign(struct rules_lexer *x)
{
	static const struct {
		char text[3];
		uint8_t word;
	} signs[] = {{"==", RW_EQ},	{"!=", RW_NE},	 {"<=", RW_LE},	 {">=", RW_GE},	    {"<", RW_LT},    {">", RW_GT},
		     {"(", RW_LPAREN},	{")", RW_RPAREN}, {",", RW_COMMA}, {";", RW_SEMICOLON}, {"=", RW_ASSIGN}, {".", RW_DOT},
		     {"@", RW_AT},	{"+", RW_PLUS},	 {"-", RW_MINUS}, {"*", RW_STAR},    {"/", RW_SLASH}, {"%", RW_PERCENT}};
	char what[96];

	for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
		size_t n = strlen(signs[i].text);

		if ((size_t)(x->end - x->at) >= n && !memcmp(x->at, signs[i].text, n)) {
			x->word = signs[i].word;
			x->len = n;
			x->at += n;
			return;
		}
	}
	if (*x->at == '&' || *x->at == '|' || *x->at == '!')
		snprintf(what, sizeof(what), "'%c' found; the words are 'and', 'or', 'not'", *x->at);
	else if (isprint((unsigned char)*x->at))
		snprintf(what, sizeof(what), "'%c' found where a name, a number, a string or an operator is expected", *x->at);
	else
		snprintf(what, sizeof(what), "byte 0x%02x found outside of strings and comments", (unsigned char)*x->at);
	fail(x, x->pos, what);
}

void rules_lexer_next(struct rules_lexer *x)
{
	skip(x);
	x->pos = here(x);
	x->text = x->at;
	x->len = 0;
	x->word = RW_END;
	if (x->failed || x->at >= x->end)
		return;
	if (isalpha((unsigned char)*x->at) || *x->at == '_') {
		while (x->at < x->end && (isalnum((unsigned char)*x->at) || *x->at == '_'))
			x->at++;
		x->len = (size_t)(x->at - x->text);
		x->word = RW_NAME;
		if (x->len >= RULES_MAX_NAME)
			fail(x, x->pos, "this name is too long");
	} else if (isdigit((unsigned char)*x->at)) {
		number(x);
		x->len = (size_t)(x->at - x->text);
	} else if (*x->at == '"') {
		string(x);
	} else {
		sign(x);
	}
}

void rules_lexer_open(struct rules_lexer *x, const struct rules *r, uint32_t file, const char *text, size_t len,
		      struct errbuf *err)
{
	*x = (struct rules_lexer){.r = r, .err = err, .at = text, .end = text + len, .file = file, .line = 1, .line_begin = text};
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3))
		x->at = x->line_begin = text + 3;
	rules_lexer_next(x);
}

void rules_lexer_open_inside(struct rules_lexer *x, const struct rules *r, struct rules_pos pos, const char *text, size_t len,
			     struct errbuf *err)
{
	*x = (struct rules_lexer){.r = r, .err = err, .at = text, .end = text + len, .file = pos.file, .line = pos.line,
				  .line_begin = text, .col_before = pos.col - 1};
	rules_lexer_next(x);
}

bool rules_lexer_is(const struct rules_lexer *x, const char *name)
{
	return x->word == RW_NAME && strlen(name) == x->len && !memcmp(x->text, name, x->len);
}

const char *rules_lexer_word(const struct rules_lexer *x, char *buf, size_t size)
{
	if (x->word == RW_NAME || x->word == RW_INT || x->word == RW_DOUBLE || x->word == RW_TIME)
		snprintf(buf, size, "'%.*s'", (int)(x->len < 64 ? x->len : 64), x->text);
	else
		snprintf(buf, size, "%s", word_name[x->word]);
	return buf;
}
