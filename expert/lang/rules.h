/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A rule base: read from a file or from text, checked, ready for the engine. The languages are those of
 * precedent-rules(5). An error is one line, "FILE:LINE:COLUMN: reason".
 *
 *   struct rules *r = rules_load("problems.rules", &err);
 *   ...
 *   rules_free(r);
 */
#ifndef PRECEDENT_EXPERT_RULES_H
#define PRECEDENT_EXPERT_RULES_H

#include "common/errbuf.h"
#include "expert/lang/ast.h"
#include "expert/lang/memory.h"

struct rules {
	struct memory mem;
	struct strings text;        /* constants; the engine adds what it makes */
	const char *file[RULES_MAX_FILES];
	uint32_t n_file;
	struct rules_struct *type[RULES_MAX_STRUCTS];
	uint32_t n_type;
	struct rules_rule *rule[RULES_MAX_RULES];
	uint32_t n_rule;
	uint32_t problem;           /* the type of the observation that `declare problem` makes */
	const char *(*translate)(const char *text); /* or NULL: see rules_load_in_words */
};

/* NULL with the reason. */
struct rules *rules_load(const char *path, struct errbuf *err);
/* The same, with the texts of problems translated (expert/lang/translate.h). translate: returns a text that stays valid; NULL:
 * no translation. */
struct rules *rules_load_in_words(const char *path, const char *(*translate)(const char *text), struct errbuf *err);
/* The same of text; name stands for the file in messages. Includes are looked up from the current directory. */
struct rules *rules_load_text(const char *name, const char *text, size_t len, struct errbuf *err);
void rules_free(struct rules *r);

/* The type of that name, or NULL. */
const struct rules_struct *rules_find(const struct rules *r, const char *name);
/* The slot of a parameter in the values of a structure, attributes included; -1: none. */
int rules_slot(const struct rules_struct *s, const char *param);
const char *rules_type_name(uint8_t type);
const char *rules_category_name(uint8_t category);
/* Number of values of a structure: attributes, then parameters. */
static inline uint32_t rules_n_slot(const struct rules_struct *s)
{
	return RA_N + s->n_param;
}

/* "FILE:LINE:COL: ..."; returns -1. */
int rules_error(const struct rules *r, struct errbuf *err, struct rules_pos pos, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));

#endif
