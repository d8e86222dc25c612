/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words in a line of text: see words.h. */
#include <stdlib.h>
#include <string.h>

#include "trace/format/words.h"

static int is_plain(unsigned char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c && strchr("_-./:=+,@", c));
}

void words_put(struct buf *out, const char *words, size_t n)
{
	static const char hex[] = "0123456789ABCDEF";

	for (size_t i = 0; i < n; i += strlen(words + i) + 1) {
		if (i)
			buf_put_u8(out, ' ');
		if (!words[i])
			buf_put_u8(out, '%');
		for (const char *c = words + i; *c; c++) {
			unsigned char u = (unsigned char)*c;

			if (is_plain(u)) {
				buf_put_u8(out, u);
			} else {
				buf_put_u8(out, '%');
				buf_put_u8(out, (uint8_t)hex[u >> 4]);
				buf_put_u8(out, (uint8_t)hex[u & 15]);
			}
		}
	}
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* Decode one word from *p to *to and advance both. Returns 0 on success, -1 if the word is malformed. */
static int parse_word(const char **p, char **to)
{
	if ((*p)[0] == '%' && ((*p)[1] == ' ' || !(*p)[1])) {
		(*p)++;
		*(*to)++ = '\0';
		return 0;
	}
	for (; **p && **p != ' '; (*p)++) {
		int hi, lo;

		if (is_plain((unsigned char)**p)) {
			*(*to)++ = **p;
			continue;
		}
		if (**p != '%' || (hi = digit((*p)[1])) < 0 || (lo = digit((*p)[2])) < 0 || !(hi || lo))
			return -1;
		*(*to)++ = (char)(hi << 4 | lo);
		*p += 2;
	}
	*(*to)++ = '\0';
	return 0;
}

char **words_parse(const char *text)
{
	size_t n = 1, i = 0;
	char **list, *to;

	if (!*text)
		return NULL;
	for (const char *c = text; *c; c++)
		n += *c == ' ';
	list = malloc((n + 1) * sizeof(*list) + strlen(text) + 2);
	if (!list)
		return NULL;
	to = (char *)(list + n + 1);
	for (const char *p = text; i < n; p++) {
		list[i++] = to;
		if (*p == ' ' || !*p || parse_word(&p, &to) < 0) {
			free(list);
			return NULL;
		}
	}
	list[n] = NULL;
	return list;
}
