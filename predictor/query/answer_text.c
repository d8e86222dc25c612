/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See answer_text.h. */
#include <stdbool.h>
#include <stddef.h>

#include "predictor/query/answer_text.h"

#define TEXT_MAX 512

static bool is_control(const char *s, size_t i)
{
	unsigned char c = (unsigned char)s[i];

	/* C0 and DEL; C1, which are two bytes in UTF-8 and which terminals obey as well */
	return c < 0x20 || c == 0x7f || (i && (unsigned char)s[i - 1] == 0xc2 && c < 0xa0 && c >= 0x80);
}

json_t *answer_text(const char *s)
{
	char clean[TEXT_MAX];
	bool tame = true;
	json_t *t;
	size_t n;

	for (size_t i = 0; s[i] && tame; i++)
		tame = !is_control(s, i);
	t = tame ? json_string(s) : NULL;
	if (t)
		return t;
	for (n = 0; s[n] && n + 1 < sizeof(clean); n++)
		clean[n] = s[n] < 0x20 || s[n] > 0x7e ? '?' : s[n];
	clean[n] = '\0';
	return json_string(clean);
}
