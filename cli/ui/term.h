/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the terminal can show: its width, whether it has block characters and colours. Elsewhere plain text: characters
 * by the locale, colours never.
 */
#ifndef PRECEDENT_CLI_TERM_H
#define PRECEDENT_CLI_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Columns of standard output: $COLUMNS, else the terminal's, else 100. */
int term_width(void);
bool term_is_utf8(void);

/* Escape sequences, "" without colours ($NO_COLOR, or standard output is no terminal). */
enum term_style { TERM_PLAIN, TERM_HEADING, TERM_FAINT, TERM_BAR, TERM_WARNING };
const char *term_on(enum term_style s);
const char *term_off(void);

/* n values as a line of bars of one cell each, from 0 up to max; NAN is a space. Returns buf (3 n + 1 bytes do). */
const char *term_spark(char *buf, size_t size, const double *v, size_t n, double max);
/* One cell of a matrix: how dark, 0 .. 1. */
const char *term_shade(double share);
/* At most `columns` columns of text, its end replaced by an ellipsis when it is longer. Returns buf. */
const char *term_fit(char *buf, size_t size, const char *text, int columns);
/* Columns that text takes: UTF-8 sequences count one. */
int term_columns(const char *text);

#endif
