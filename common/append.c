/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text that is built piece by piece: see append.h. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/append.h"

#define DIGITS_MAX 20

static void append_bytes(char *buf, size_t size, size_t *len, const char *text, size_t n)
{
	if (*len < size) {
		size_t room = size - *len - 1, fits = n < room ? n : room;

		memcpy(buf + *len, text, fits);
		buf[*len + fits] = '\0';
	}
	*len += n;
}

void append_text(char *buf, size_t size, size_t *len, const char *text)
{
	append_bytes(buf, size, len, text, strlen(text));
}

void append_padded(char *buf, size_t size, size_t *len, uint64_t n, unsigned digits)
{
	char text[DIGITS_MAX];
	unsigned at = DIGITS_MAX;

	do
		text[--at] = (char)('0' + n % 10);
	while ((n /= 10) || (DIGITS_MAX - at < digits && at));
	append_bytes(buf, size, len, text + at, DIGITS_MAX - at);
}

void append_number(char *buf, size_t size, size_t *len, uint64_t n)
{
	append_padded(buf, size, len, n, 1);
}

void append_rounded(char *buf, size_t size, size_t *len, double v)
{
	char text[512];

	if (v >= 0 && v < 1e18 && !signbit(v)) {
		append_number(buf, size, len, (uint64_t)rint(v));
		return;
	}
	snprintf(text, sizeof(text), "%.0f", v);
	append_text(buf, size, len, text);
}
