/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text that is built piece by piece. Appends like snprintf, but faster, since it runs in every submission. buf
 * holds as much of the text as fits and ends in NUL (unless size is 0). *len is the length of the whole text.
 */
#ifndef PRECEDENT_COMMON_APPEND_H
#define PRECEDENT_COMMON_APPEND_H

#include <stddef.h>
#include <stdint.h>

void append_text(char *buf, size_t size, size_t *len, const char *text);
void append_number(char *buf, size_t size, size_t *len, uint64_t n);
/* Append n with leading zeros to at least `digits` digits, at most 20. */
void append_padded(char *buf, size_t size, size_t *len, uint64_t n, unsigned digits);
/* Append v as "%.0f". */
void append_rounded(char *buf, size_t size, size_t *len, double v);

#endif
