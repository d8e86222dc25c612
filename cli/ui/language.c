/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See language.h. */
#include <locale.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/language.h"
#include "cli/ui/util.h"

#define DOMAIN "precedent"

/* What the environment says of messages: the first one that is set and not empty. */
static const char *wanted(void)
{
	static const char *const name[] = {"LC_ALL", "LC_MESSAGES", "LANG"};

	for (size_t i = 0; i < sizeof(name) / sizeof(*name); i++) {
		const char *v = getenv(name[i]);

		if (v && *v)
			return v;
	}
	return "C";
}

/* A locale that this machine does not have: its language by the catalogue alone. */
static void choose_by_name(const char *name)
{
	char language[32];
	size_t n = strcspn(name, ".@");

	if (n >= sizeof(language) || !setlocale(LC_MESSAGES, "C.UTF-8"))
		return;
	memcpy(language, name, n);
	language[n] = '\0';
	if (!getenv("LANGUAGE") || !*getenv("LANGUAGE"))
		setenv("LANGUAGE", language, 1);
}

void language_choose(void)
{
	char *dir = cli_locale_dir();
	const char *name = wanted();

	if (!dir)
		return;
	if (!setlocale(LC_MESSAGES, ""))
		choose_by_name(name);
	bindtextdomain(DOMAIN, dir);
	bind_textdomain_codeset(DOMAIN, "UTF-8");
	textdomain(DOMAIN);
	free(dir);
}

const char *language_of_rules(const char *text)
{
	return gettext(text);
}

/* ---- lines ---- */

/* Length of the character at p, and the columns that it takes. Bytes that are no UTF-8 stand for themselves. */
static size_t character(const char *p, int *columns)
{
	unsigned char c = (unsigned char)*p;
	size_t n = c >= 0xf0 ? 4 : c >= 0xe0 ? 3 : c >= 0xc0 ? 2 : 1;

	for (size_t i = 1; i < n; i++)
		if (((unsigned char)p[i] & 0xc0) != 0x80)
			n = 1;
	*columns = n == 4 || (n == 3 && c >= 0xe3) ? 2 : 1; /* from U+3000 on: CJK and its punctuation */
	return n;
}

/* Punctuation that must not begin a line. */
static bool stays_behind(const char *p)
{
	static const char *const sign[] = {"\u3001", "\u3002", "\uff0c", "\uff1b", "\uff1a", "\uff09"};

	for (size_t i = 0; i < sizeof(sign) / sizeof(*sign); i++)
		if (!strncmp(p, sign[i], strlen(sign[i])))
			return true;
	return false;
}

/* Bytes of the next line. */
static size_t line_length(const char *p, int width)
{
	size_t at = 0, cut = 0;
	int used = 0, columns;

	while (p[at]) {
		size_t n = character(p + at, &columns);

		if (used + columns > width && p[at] != ' ')
			return cut ? cut : at;
		if (p[at] == ' ')
			cut = at;
		used += columns;
		at += n;
		if (columns == 2 && p[at] && !stays_behind(p + at))
			cut = at;
	}
	return at;
}

void language_print_folded(const char *before, const char *text, int width)
{
	while (*text) {
		size_t n = line_length(text, width);

		printf("%s%.*s\n", before, (int)n, text);
		text += n;
		text += strspn(text, " ");
	}
}
