/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pages of figures: one file without scripts that loads nothing, so that it can be mailed, kept and printed. The page's policy
 * lets nothing run. Text that others chose is for svg_text (svg.h).
 */
#ifndef PRECEDENT_CLI_PAGE_H
#define PRECEDENT_CLI_PAGE_H

#include <stdio.h>

/* Up to <main>; title and heading are written as they are. Returns 0, or 1 after a message. */
int page_begin(FILE *out, const char *title, const char *heading);
/* text explains the figures, and is written as it is; maker: the verb. */
void page_end(FILE *out, const char *text, const char *maker);

/* Writes the page that `put` makes of `of` to the file. put returns 0, or 1 after a message. Returns the exit code. */
int page_write(const char *path, int (*put)(FILE *out, const void *of), const void *of);

/* A figure among others in a <dl class="tiles">. class: "good", "bad" or "". */
void page_tile(FILE *out, const char *what, const char *class, const char *value, const char *more);
/* headings: ends with NULL. All texts are written as they are. */
void page_table_begin(FILE *out, const char *title, const char *caption, const char *const *headings);
void page_table_end(FILE *out);

#endif
