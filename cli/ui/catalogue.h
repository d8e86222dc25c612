/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A message catalogue as msgfmt writes it (.mo), read without the C library: gettext(3) of glibc 2.39 and later translates
 * nothing where the user's locale is not set up. Format: GNU gettext manual, "The Format of GNU MO Files".
 */
#ifndef PRECEDENT_CLI_CATALOGUE_H
#define PRECEDENT_CLI_CATALOGUE_H

struct catalogue;

/* Returns NULL if the file cannot be read or is no catalogue of this machine's byte order. */
struct catalogue *catalogue_open(const char *path);
/* The translation of text; text itself if there is none. */
const char *catalogue_text(const struct catalogue *c, const char *text);
void catalogue_close(struct catalogue *c);

#endif
