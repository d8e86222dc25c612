/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text from outside, made fit to be shown: see clean.h. */
#include <stdio.h>

#include "common/clean.h"

static bool is_unfit(uint32_t c)
{
	return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) ||
	       (c >= 0x2066 && c <= 0x2069);
}

/* The character at s; its length, or 0 if s does not begin with one. Overlong forms and surrogates are none. */
static int decode(const unsigned char *s, uint32_t *c)
{
	static const uint32_t least[5] = {0, 0, 0x80, 0x800, 0x10000};
	int n = s[0] < 0x80 ? 1 : s[0] >= 0xc2 && s[0] < 0xe0 ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] < 0xf5 ? 4 : 0;

	*c = n == 1 ? s[0] : n ? s[0] & (0x7fu >> n) : 0;
	for (int i = 1; i < n; i++) {
		if ((s[i] & 0xc0) != 0x80)
			return 0;
		*c = *c << 6 | (s[i] & 0x3f);
	}
	return n && (*c < least[n] || *c > 0x10ffff || (*c >= 0xd800 && *c < 0xe000)) ? 0 : n;
}

uint32_t clean_char(const char *s, int *len)
{
	uint32_t c;

	*len = decode((const unsigned char *)s, &c);
	if (*len && !is_unfit(c))
		return c;
	*len = 1;
	return CLEAN_UNFIT;
}

/* The length of a fit character, else 0. */
static int fit(const char *s, bool lines)
{
	int len;
	uint32_t c = clean_char(s, &len);

	return (c == CLEAN_UNFIT && len == 1) || (!lines && (c == '\n' || c == '\t')) ? 0 : len;
}

static char *replace(char *s, bool lines)
{
	for (char *p = s; p && *p;) {
		int n = fit(p, lines);

		if (!n)
			*p = '?';
		p += n ? n : 1;
	}
	return s;
}

char *clean_line(char *s)
{
	return replace(s, false);
}

char *clean_text(char *s)
{
	return replace(s, true);
}

char *clean_copy(char *buf, size_t size, const char *s)
{
	snprintf(buf, size, "%s", s);
	return clean_line(buf);
}

bool clean_is_line(const char *s)
{
	for (int n; *s; s += n) {
		n = fit(s, false);
		if (!n)
			return false;
	}
	return true;
}
