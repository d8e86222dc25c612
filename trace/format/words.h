/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words in one line of text that can be told apart again, whatever is in them: separated by a space, with %XX for every
 * byte but letters, digits and _ - . / : = + , @. An empty word is a single %.
 */
#ifndef PRECEDENT_TRACE_WORDS_H
#define PRECEDENT_TRACE_WORDS_H

#include <stddef.h>

#include "common/buf.h"

/* n bytes, each word with its NUL. */
void words_put(struct buf *out, const char *words, size_t n);
/* A NULL-ended list in one piece of memory, to be freed; NULL: malformed, without a word, or no memory. */
char **words_parse(const char *text);

#endif
