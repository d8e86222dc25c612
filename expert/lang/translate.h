/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of problems in the user's language. While rules are read, a function translates the strings given for name,
 * description and advice. The function looks up the string between the quotes; there a line break and the blanks around
 * it count as one blank. The translation is parsed like the string, and must have the same expressions in braces.
 */
#ifndef PRECEDENT_EXPERT_TRANSLATE_H
#define PRECEDENT_EXPERT_TRANSLATE_H

#include <stdbool.h>

#include "expert/lang/parse.h"

/* The word is the value of that parameter: it is translated where that is to be done. */
void rules_translate_word(struct rules_parser *p, const char *param);
/* Both have the same expressions in braces, in any order. */
bool rules_same_holes(const char *a, const char *b);

#endif
