/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of emitted source: see ops_lex.h. */
#include "skelgen/emit/ops_lex.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static void blanks_skip(struct lex *l)
{
	for (;; l->at++) {
		if (*l->at == '\n') {
			l->line++;
			l->fresh = true;
		} else if (l->at[0] == '/' && l->at[1] == '*') {
			const char *end = strstr(l->at + 2, "*/");

			for (; end != NULL && l->at < end; l->at++)
				l->line += *l->at == '\n';
			l->at = end != NULL ? end + 1 : l->at + strlen(l->at) - 1;
		} else if (*l->at == '#' && l->fresh) {
			l->at += strcspn(l->at, "\n");
			l->at--;
		} else if (!isspace((unsigned char)*l->at)) {
			return;
		}
	}
}

/* "12", "0x1f", "1.5", "1e-05": a number, with a sign only in its exponent. */
static void number(struct lex *l, struct token *t)
{
	char *end, *real_end;

	t->kind = TOKEN_INT;
	t->i = (int64_t)strtoull(l->at, &end, 0);
	t->d = strtod(l->at, &real_end);
	if (real_end > end) {
		t->kind = TOKEN_REAL;
		end = real_end;
	}
	t->n = (size_t)(end - l->at);
}

static void quoted(struct lex *l, struct token *t, char quote)
{
	size_t n = strcspn(l->at + 1, quote == '"' ? "\"\n" : "'\n");

	t->text = l->at + 1;
	t->n = n;
	t->kind = quote == '"' ? TOKEN_STRING : TOKEN_INT;
	t->i = (unsigned char)l->at[1];
	l->at += n + 1 + (l->at[n + 1] == quote);
}

void lex_next(struct lex *l)
{
	static const char *const two[] = {"==", "!=", "<=", ">=", "&&", "||", "++"};
	struct token t = {.text = NULL};

	blanks_skip(l);
	l->fresh = false;
	t.text = l->at;
	t.line = l->line;
	if (*l->at == '\0') {
		t.kind = TOKEN_END;
	} else if (isalpha((unsigned char)*l->at) || *l->at == '_') {
		t.kind = TOKEN_NAME;
		while (isalnum((unsigned char)t.text[t.n]) || t.text[t.n] == '_')
			t.n++;
		l->at += t.n;
	} else if (isdigit((unsigned char)*l->at)) {
		number(l, &t);
		l->at += t.n;
	} else if (*l->at == '"' || *l->at == '\'') {
		quoted(l, &t, *l->at);
	} else {
		t.kind = TOKEN_SIGN;
		t.n = 1;
		for (size_t i = 0; i < sizeof two / sizeof *two; i++)
			if (strncmp(l->at, two[i], 2) == 0)
				t.n = 2;
		l->at += t.n;
	}
	l->now = t;
}

void lex_open(struct lex *l, const char *source)
{
	*l = (struct lex){.at = source, .line = 1, .fresh = true};
	lex_next(l);
}

bool lex_is(const struct lex *l, const char *text)
{
	return (l->now.kind == TOKEN_NAME || l->now.kind == TOKEN_SIGN) && strlen(text) == l->now.n &&
	       memcmp(text, l->now.text, l->now.n) == 0;
}

bool lex_skip(struct lex *l, const char *text)
{
	if (!lex_is(l, text))
		return false;
	lex_next(l);
	return true;
}
