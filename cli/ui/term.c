/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Width, characters and colours of the terminal: see term.h. */
#include <langinfo.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "cli/ui/term.h"

#define WIDTH_MIN 60
#define WIDTH_MAX 400
#define WIDTH_ELSEWHERE 100

int term_width(void)
{
	const char *s = getenv("COLUMNS");
	struct winsize ws;
	long n = s ? strtol(s, NULL, 10) : 0;

	if (n <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0)
		n = ws.ws_col;
	if (n <= 0)
		n = WIDTH_ELSEWHERE;
	return (int)(n < WIDTH_MIN ? WIDTH_MIN : n > WIDTH_MAX ? WIDTH_MAX : n);
}

bool term_is_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static bool has_colours(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	return !(no && *no) && term && strcmp(term, "dumb") != 0 && isatty(STDOUT_FILENO);
}

const char *term_on(enum term_style s)
{
	static const char *const code[] = {
		[TERM_PLAIN] = "", [TERM_HEADING] = "\033[1m", [TERM_FAINT] = "\033[2m", [TERM_BAR] = "\033[36m",
		[TERM_WARNING] = "\033[1;33m",
	};

	return has_colours() ? code[s] : "";
}

const char *term_off(void)
{
	return has_colours() ? "\033[0m" : "";
}

const char *term_spark(char *buf, size_t size, const double *v, size_t n, double max)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	const char *const *level = term_is_utf8() ? blocks : ascii;
	size_t k = 0;

	for (size_t i = 0; i < n && k + 4 < size; i++) {
		double share = max > 0 ? v[i] / max : 0;
		int cell = share > 0 ? (int)ceil(share * 8) - 1 : 0;

		k += (size_t)snprintf(buf + k, size - k, "%s", isnan(v[i]) ? " " : level[cell > 7 ? 7 : cell]);
	}
	buf[k] = '\0';
	return buf;
}

const char *term_shade(double share)
{
	static const char *const blocks[] = {"░", "▒", "▓", "█"}, *const ascii[] = {".", "o", "O", "#"};
	int i = share > 0.75 ? 3 : share > 0.4 ? 2 : share > 0.1 ? 1 : 0;

	return term_is_utf8() ? blocks[i] : ascii[i];
}

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

int term_columns(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += !continues(*text);
	return n;
}

const char *term_fit(char *buf, size_t size, const char *text, int columns)
{
	const char *more = term_is_utf8() ? "…" : "~";
	size_t k = 0;

	if (term_columns(text) <= columns) {
		snprintf(buf, size, "%s", text);
		return buf;
	}
	for (int n = 0; text[k] && k + 1 < size; k++) {
		n += !continues(text[k]);
		if (n >= columns)
			break;
		buf[k] = text[k];
	}
	snprintf(buf + k, size - k, "%s", more);
	return buf;
}
