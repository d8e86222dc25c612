/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Messages in the user's language: message catalogues (po/), chosen by LANGUAGE, LC_ALL, LC_MESSAGES and LANG as in
 * gettext(3). The choice also works if that locale is not set up on this machine. All text is UTF-8; numbers are not
 * translated.
 */
#ifndef PRECEDENT_CLI_LANGUAGE_H
#define PRECEDENT_CLI_LANGUAGE_H

#define _(text) language_text(text)

/* Before the first text. Without a catalogue texts are English. */
void language_choose(void);
const char *language_text(const char *text) __attribute__((format_arg(1)));
/* Text in lines of at most `width` columns, each after `before`; broken at blanks, and between signs that are two wide. */
void language_print_folded(const char *before, const char *text, int width);

#endif
