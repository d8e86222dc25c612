/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Text put together piece by piece as snprintf would, for what runs within every submission: buf holds what fits of it and
 * ends in NUL (unless size is 0), *len is how long all of it is.
 */
#ifndef PRECEDENT_COMMON_APPEND_H
#define PRECEDENT_COMMON_APPEND_H

#include <stddef.h>
#include <stdint.h>

void append_text(char *buf, size_t size, size_t *len, const char *text);
void append_number(char *buf, size_t size, size_t *len, uint64_t n);
/* With leading zeros where it has fewer digits, up to 20. */
void append_padded(char *buf, size_t size, size_t *len, uint64_t n, unsigned digits);
/* As "%.0f". */
void append_rounded(char *buf, size_t size, size_t *len, double v);

#endif
