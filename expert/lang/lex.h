/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words of a rule file, one ahead. An error is kept and stands for the end of the file. */
#ifndef PRECEDENT_EXPERT_LEX_H
#define PRECEDENT_EXPERT_LEX_H

#include <stdbool.h>

#include "expert/lang/rules.h"

enum rules_word {
	RW_END, RW_NAME, RW_INT, RW_DOUBLE, RW_TIME, RW_STRING,
	RW_LPAREN, RW_RPAREN, RW_COMMA, RW_SEMICOLON, RW_ASSIGN, RW_DOT, RW_AT,
	RW_EQ, RW_NE, RW_LT, RW_LE, RW_GT, RW_GE, RW_PLUS, RW_MINUS, RW_STAR, RW_SLASH, RW_PERCENT
};

struct rules_lexer {
	const struct rules *r;
	struct errbuf *err;
	bool failed;
	const char *at, *end;
	uint32_t file, line;
	const char *line_begin;
	uint32_t col_before;     /* of line_begin, where it is inside a line */
	/* the word */
	uint8_t word;
	struct rules_pos pos;
	const char *text;        /* the token in the file; of a string, the text between the quotes */
	size_t len;
	int64_t integer;         /* RW_INT, RW_TIME (ns) */
	double real;
};

/* Reads the first word. */
void rules_lexer_open(struct rules_lexer *x, const struct rules *r, uint32_t file, const char *text, size_t len,
		      struct errbuf *err);
/* The same of a piece of a string that begins at that place. */
void rules_lexer_open_inside(struct rules_lexer *x, const struct rules *r, struct rules_pos pos, const char *text, size_t len,
			     struct errbuf *err);
void rules_lexer_next(struct rules_lexer *x);
/* The word is that name. */
bool rules_lexer_is(const struct rules_lexer *x, const char *name);
/* "line 3" ... what the word is, for messages. */
const char *rules_lexer_word(const struct rules_lexer *x, char *buf, size_t size);
/* What kind of word, for messages: "a name", "';'" */
const char *rules_word_name(uint8_t word);

#endif
