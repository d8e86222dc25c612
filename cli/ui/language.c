/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See language.h. */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/catalogue.h"
#include "cli/ui/language.h"
#include "cli/ui/util.h"

static struct catalogue *catalogue; /* NULL: English */

/* The locale of messages: the first variable that is set and not empty. */
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

/* The catalogue of a locale of n bytes: ll_CC.codeset@modifier by ll_CC, then by ll. */
static struct catalogue *catalogue_of(const char *dir, const char *locale, size_t n)
{
	const size_t cut[] = {strcspn(locale, ".@:"), strcspn(locale, "_.@:")};
	struct catalogue *found = NULL;
	char path[PATH_MAX];

	for (size_t i = 0; !found && i < sizeof(cut) / sizeof(*cut); i++) {
		const int len = (int)(cut[i] < n ? cut[i] : n);
		const int size = snprintf(path, sizeof(path), "%s/%.*s/LC_MESSAGES/precedent.mo", dir, len, locale);

		if (len > 0 && !memchr(locale, '/', (size_t)len) && size > 0 && (size_t)size < sizeof(path))
			found = catalogue_open(path);
	}
	return found;
}

void language_choose(void)
{
	const char *locale = wanted(), *list = getenv("LANGUAGE");
	const size_t base = strcspn(locale, ".@");
	char *dir = cli_locale_dir();

	/* As in gettext(3): LANGUAGE counts except in the locale C. */
	if (!list || !*list || (base == 1 && *locale == 'C') || (base == 5 && !strncmp(locale, "POSIX", 5)))
		list = locale;
	while (dir && !catalogue && *list) {
		const size_t n = strcspn(list, ":");

		catalogue = catalogue_of(dir, list, n);
		list += n + (list[n] == ':');
	}
	free(dir);
}

const char *language_text(const char *text)
{
	return catalogue ? catalogue_text(catalogue, text) : text;
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
