/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows: see text.h. */
#include "skelgen/emit/text.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void text_free(struct text *t)
{
	free(t->data);
	memset(t, 0, sizeof *t);
}

void text_reset(struct text *t)
{
	t->len = 0;
	if (t->data != NULL)
		t->data[0] = '\0';
}

static int reserve(struct text *t, size_t n)
{
	t->failed = t->failed || ARRAY_ROOM(t->data, t->cap, t->len + n + 1) != 0;
	return t->failed ? -1 : 0;
}

__attribute__((format(printf, 2, 0))) static void put_va(struct text *t, const char *fmt, va_list ap)
{
	va_list again;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n < 0 || reserve(t, (size_t)n) != 0)
		return;
	vsnprintf(t->data + t->len, (size_t)n + 1, fmt, ap);
	t->len += (size_t)n;
}

void text_put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put_va(t, fmt, ap);
	va_end(ap);
}

void text_line(struct text *t, int depth, const char *fmt, ...)
{
	va_list ap;

	for (int i = 0; i < depth; i++)
		text_put(t, "\t");
	va_start(ap, fmt);
	put_va(t, fmt, ap);
	va_end(ap);
	text_put(t, "\n");
}

/* Where to break s: after the last comma within the first `room` bytes, else after the first one beyond. */
static size_t break_at(const char *s, size_t room)
{
	size_t n = strlen(s), last = 0;

	if (n <= room)
		return n;
	for (size_t i = 0; i + 1 < n; i++)
		if (s[i] == ',' && s[i + 1] == ' ') {
			if (i > room && last > 0)
				break;
			last = i + 1;
			if (i > room)
				break;
		}
	return last > 0 ? last : n;
}

void text_put_broken(struct text *t, int depth, const char *s, const char *end)
{
	size_t wide = 100 - (size_t)(depth < 8 ? depth : 8) * 8;
	int more = 0;

	while (*s != '\0') {
		size_t n = break_at(s, wide - (more > 0 ? 8 : 0));

		text_line(t, depth + more, "%.*s%s", (int)n, s, s[n] == '\0' ? end : "");
		s += n;
		while (*s == ' ')
			s++;
		more = 1;
	}
}

void text_put_statement(struct text *t, int depth, const char *s)
{
	text_put_broken(t, depth, s, ";");
}

void text_put_clean(struct text *t, const char *s)
{
	for (; *s != '\0'; s++)
		text_put(t, "%c", isalnum((unsigned char)*s) || strchr("_-+.,:/ ()=@", *s) != NULL ? *s : '?');
}
