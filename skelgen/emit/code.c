/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operations that grow: see code.h. */
#include "skelgen/emit/code.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/array.h"

void code_free(struct code *c)
{
	free(c->word);
	free(c->comment);
	text_free(&c->text);
	memset(c, 0, sizeof *c);
}

void code_word(struct code *c, uint64_t word)
{
	c->failed = c->failed || ARRAY_ROOM(c->word, c->cap, c->n + 1) != 0;
	if (c->failed)
		return;
	c->word[c->n++] = word;
}

void code_int(struct code *c, int64_t v)
{
	code_op(c, OPS_INT, 0);
	code_word(c, v < 0 ? -(uint64_t)v : (uint64_t)v);
	if (v < 0)
		code_op(c, OPS_NEGATE, 0);
}

double code_rounded(double v, int decimals)
{
	char text[400];

	snprintf(text, sizeof text, "%.*f", decimals, v);
	return strtod(text, NULL);
}

void code_real(struct code *c, double v, int decimals)
{
	double rounded = code_rounded(v, decimals);
	uint64_t word;

	memcpy(&word, &rounded, sizeof word);
	code_op(c, OPS_REAL, 0);
	code_word(c, word);
}

void code_named(struct code *c, const char *name)
{
	uint32_t i = 0;

	while (i < ops_n_constant && strcmp(ops_constant[i].name, name) != 0)
		i++;
	code_op(c, OPS_NAMED, i);
}

void code_call(struct code *c, const char *function)
{
	uint32_t i = 0;

	while (i < ops_n_function && strcmp(ops_function[i].name, function) != 0)
		i++;
	code_op(c, OPS_CALL, i);
}

void code_handle(struct code *c, enum ops_table table, int64_t v)
{
	code_int(c, v);
	code_op(c, OPS_HANDLE, table);
}

static void comment_add(struct code *c, size_t at, const char *text, bool beside)
{
	c->failed = c->failed || ARRAY_ROOM(c->comment, c->cap_comment, c->n_comment + 1) != 0;
	if (c->failed)
		return;
	c->comment[c->n_comment++] = (struct code_comment){at, c->text.len, beside};
	text_put(&c->text, "%s%c", text, '\0');
	c->failed |= c->text.failed;
}

void code_append(struct code *c, const struct code *b)
{
	size_t at = c->n;

	for (size_t i = 0; i < b->n; i++)
		code_word(c, b->word[i]);
	for (size_t i = 0; i < b->n_comment; i++)
		comment_add(c, at + b->comment[i].at, b->text.data + b->comment[i].text, b->comment[i].beside);
	c->failed |= b->failed;
}

/* ---- comments ---- */

static void comment_put(struct code *c, bool beside, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0) {
		c->failed = true;
		return;
	}
	comment_add(c, c->n, text, beside);
	free(text);
}

void code_comment(struct code *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment_put(c, false, fmt, ap);
	va_end(ap);
}

void code_comment_beside(struct code *c, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	comment_put(c, true, fmt, ap);
	va_end(ap);
}

/* ---- arrays ---- */

uint32_t code_array(struct code_arrays *a, char kind, const int64_t *v, uint32_t n)
{
	uint32_t place = (uint32_t)a->entry.n, size = kind == 'A' ? 8 : kind == 'I' ? 4 : 1;
	uint64_t word = 0;

	code_word(&a->entry, (uint64_t)(unsigned char)kind | (uint64_t)n << 8);
	for (uint32_t i = 0, at = 0; i < n; i++, at += size) {
		const int32_t four = (int32_t)v[i];
		const char one = (char)v[i];

		memcpy((char *)&word + at % 8, kind == 'A' ? (const void *)&v[i] : kind == 'I' ? (const void *)&four : &one,
		       size);
		if ((at + size) % 8 == 0 || i + 1 == n) {
			code_word(&a->value, word);
			word = 0;
		}
	}
	return place;
}
