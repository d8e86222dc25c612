/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Words in one line of text, with any content. Words are separated by a space. Letters, digits and _ - . / : = + ,
 * @ stand for themselves; any other byte is %XX. An empty word is a single %.
 */
#ifndef PRECEDENT_TRACE_WORDS_H
#define PRECEDENT_TRACE_WORDS_H

#include <stddef.h>

#include "common/buf.h"

/* Append the words. words has n bytes, each word ends with a NUL. */
void words_put(struct buf *out, const char *words, size_t n);
/* Returns a NULL-terminated list in one piece of memory, which the caller frees. Returns NULL if text is
 * malformed or empty, or memory runs out. */
char **words_parse(const char *text);

#endif
