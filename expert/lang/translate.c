/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See translate.h. */
#include "expert/lang/translate.h"

#include <ctype.h>
#include <string.h>

#define MOST_HOLES 64

/* Braces of s, between them: *begin and *len of at most MOST_HOLES. */
static uint32_t find_holes(const char *s, const char *begin[MOST_HOLES], size_t len[MOST_HOLES])
{
	uint32_t n = 0;

	for (const char *p = s; *p; p++) {
		if (*p == '\\' && p[1]) {
			p++;
		} else if (*p == '{' && n < MOST_HOLES) {
			begin[n] = p + 1;
			len[n] = strcspn(p + 1, "}");
			p += len[n++];
		}
	}
	return n;
}

bool rules_same_holes(const char *a, const char *b)
{
	const char *begin[2][MOST_HOLES];
	size_t len[2][MOST_HOLES];
	bool used[MOST_HOLES] = {false};
	uint32_t n = find_holes(a, begin[0], len[0]), k;

	if (find_holes(b, begin[1], len[1]) != n)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		for (k = 0; k < n; k++)
			if (!used[k] && len[0][i] == len[1][k] && !memcmp(begin[0][i], begin[1][k], len[0][i]))
				break;
		if (k == n)
			return false;
		used[k] = true;
	}
	return true;
}

/* A line break and the blanks around it are one blank. */
static char *in_one_line(struct memory *m, const char *s, size_t len)
{
	char *out = memory_alloc(m, len + 1);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		if (s[i] != '\n' && s[i] != '\r') {
			out[n++] = s[i];
			continue;
		}
		while (n && isblank((unsigned char)out[n - 1]))
			n--;
		while (i + 1 < len && isspace((unsigned char)s[i + 1]))
			i++;
		out[n++] = ' ';
	}
	if (out)
		out[n] = '\0';
	return out;
}

void rules_translate_word(struct rules_parser *p, const char *param)
{
	struct rules_lexer *x = &p->x;
	const char *text, *made;

	if (!p->r->translate || x->word != RW_STRING ||
	    (strcmp(param, "name") != 0 && strcmp(param, "description") != 0 && strcmp(param, "advice") != 0))
		return;
	text = in_one_line(&p->r->mem, x->text, x->len);
	made = text && *text ? p->r->translate(text) : NULL; /* the empty string stands for a catalogue's header */
	if (!made || made == text || strchr(made, '"') || !rules_same_holes(text, made))
		return;
	x->text = made;
	x->len = strlen(made);
}
