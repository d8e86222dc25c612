/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Recursive descent over both languages: see precedent-rules(5) for the grammar. The result is not checked yet. */
#ifndef PRECEDENT_EXPERT_PARSE_H
#define PRECEDENT_EXPERT_PARSE_H

#include "expert/lang/lex.h"

struct rules_parser {
	struct rules *r;
	struct rules_lexer x;
	struct errbuf *err;
	unsigned depth;          /* of nested expressions */
	const char *path;        /* of the file, for its includes; NULL: text */
	unsigned includes;       /* files that include each other, this one last */
	const struct rules_file_id *reading;
};

/* Parse what the lexer gives, to its end. -1 with the reason. */
int rules_parse(struct rules_parser *p);
/* A file and its includes. A file that is included twice is read once. */
int rules_parse_file(struct rules *r, const char *path, struct errbuf *err);
/* An expression; NULL with the reason. */
struct expr *rules_parse_expr(struct rules_parser *p);

/* "FILE:LINE:COL: X found, Y expected"; returns -1. */
int rules_expected(struct rules_parser *p, const char *what);
/* The word must be that; go on behind it. */
int rules_take(struct rules_parser *p, uint8_t word);
int rules_take_name(struct rules_parser *p, const char *name);
/* A name of the file's own, copied; what: "the name of a parameter". NULL with the reason. */
const char *rules_own_name(struct rules_parser *p, const char *what);
/* The text of the string that the word is, newlines and the blanks around them one blank, without a look at braces. */
char *rules_string_text(struct rules_parser *p, const char *text, size_t len, size_t *out_len);

#endif
