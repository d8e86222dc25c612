/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of emitted source. Comments and lines for the preprocessor are passed over. */
#ifndef PRECEDENT_SKELGEN_EMIT_OPS_LEX_H
#define PRECEDENT_SKELGEN_EMIT_OPS_LEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum token_kind { TOKEN_END, TOKEN_NAME, TOKEN_INT, TOKEN_REAL, TOKEN_STRING, TOKEN_SIGN };

struct token {
	enum token_kind kind;
	const char *text; /* in the source; of a string, without its quotes */
	size_t n;
	int64_t i;        /* of a number or a character */
	double d;
	unsigned line;
};

struct lex {
	const char *at;
	unsigned line;
	bool fresh;       /* nothing but blanks stands on this line yet */
	struct token now;
};

void lex_open(struct lex *l, const char *source);
/* Go on to the next one. */
void lex_next(struct lex *l);
/* Is the present one this name or sign? */
bool lex_is(const struct lex *l, const char *text);
/* The same, and go on if so. */
bool lex_skip(struct lex *l, const char *text);

#endif
