/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that grows, for generated source. Without memory it is marked failed and ignores the rest. */
#ifndef PRECEDENT_SKELGEN_EMIT_TEXT_H
#define PRECEDENT_SKELGEN_EMIT_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct text {
	char *data; /* NUL-terminated once anything was put; NULL before */
	size_t len, cap;
	bool failed;
};

void text_free(struct text *t);
void text_reset(struct text *t);
void text_put(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A line at this depth of tabs. */
void text_line(struct text *t, int depth, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static inline const char *text_get(const struct text *t)
{
	return t->data != NULL ? t->data : "";
}
/* A statement in lines that fit, broken after commas. */
void text_put_statement(struct text *t, int depth, const char *s);
/* The same with another end than a semicolon. */
void text_put_broken(struct text *t, int depth, const char *s, const char *end);
/* s as it may stand in a C comment, a Makefile comment or a string: anything unusual becomes '?'. */
void text_put_clean(struct text *t, const char *s);

#endif
