/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that came from outside (names, paths, arguments, records, answers), made fit for terminals, logs and JSON. This is
 * the only definition of fit: UTF-8 without control characters (C0, DEL, C1) and without characters that reorder text
 * (U+202A-U+202E, U+2066-U+2069). Terminals obey the first; the second show a reader another text than there is.
 */
#ifndef PRECEDENT_COMMON_CLEAN_H
#define PRECEDENT_COMMON_CLEAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CLEAN_UNFIT 0xfffdu

/* The character at s, which is not the end, and its length in bytes. A byte that begins no fit character gives
 * CLEAN_UNFIT and length 1. Newline and tab are given as they are. */
uint32_t clean_char(const char *s, int *len);

/* Replace every unfit byte by '?', in place: the length stays. clean_line replaces newlines and tabs too, clean_text
 * leaves them. s: may be NULL. Both return s. */
char *clean_line(char *s);
char *clean_text(char *s);

/* Copy s as a clean line, cut to size. Returns buf. */
char *clean_copy(char *buf, size_t size, const char *s);

/* True if clean_line would change nothing. */
bool clean_is_line(const char *s);

#endif
