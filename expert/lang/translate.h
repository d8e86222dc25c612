/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Texts of problems in the user's language: while rules are read, the strings given for name, description and advice are
 * replaced by what a function makes of them. What is looked up is the string as it stands between the quotes, a line break
 * and the blanks around it one blank; what comes back is read like it, and must have the same expressions in braces.
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
