/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "common/made_up.h"

#define MARK_LEN  (sizeof(MADE_UP_MARK) - 1)
#define QUOTED_MOST 32 /* neighbours that are sorted; Snakemake writes five */

static bool in_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static size_t hex_at(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && ((text[n] >= '0' && text[n] <= '9') || (text[n] >= 'a' && text[n] <= 'f')))
		n++;
	return n;
}

static size_t name_at(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && in_name(text[n]))
		n++;
	return n;
}

/* Reads no further than a UUID is long: made_up_word asks at words that follow one another in one long name. */
static size_t uuid_at(const char *text, size_t len)
{
	static const unsigned char parts[] = {8, 4, 4, 4, 12};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(parts); i++) {
		if (i && (n == len || text[n++] != '-'))
			return 0;
		if (len - n < parts[i] || hex_at(text + n, parts[i]) != parts[i])
			return 0;
		n += parts[i];
	}
	return n == len || !in_name(text[n]) ? n : 0;
}

static bool has_letter(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (isalpha((unsigned char)text[i]))
			return true;
	return false;
}

static size_t hash_at(const char *text, size_t len)
{
	size_t n = hex_at(text, len);

	if (n == 2 && len > 3 && text[2] == '/') /* folders by the first two digits */
		n += 1 + hex_at(text + 3, len - 3);
	return n >= MADE_UP_HASH && (n == len || !in_name(text[n])) && has_letter(text, n) ? n : 0;
}

/* Without a letter the name may be a date. */
static size_t temporary_at(const char *text, size_t len)
{
	size_t n;

	if (len < 4 || memcmp(text, "tmp", 3))
		return 0;
	if (text[3] != '.') { /* Python's tempfile has no upper case */
		for (n = 3; n < len && in_name(text[n]) && !isupper((unsigned char)text[n]); n++)
			;
		return n == 3 + 8 && (n == len || !in_name(text[n])) && has_letter(text + 3, 8) ? n : 0;
	}
	n = name_at(text + 4, len - 4); /* 8: Snakemake and Cromwell; 10: mktemp */
	return (n == 8 || n == 10) && has_letter(text + 4, n) ? 4 + n : 0;
}

/* Length of the made-up name at the start of text, which is behind a slash; 0: none. */
static size_t made_up_at(const char *text, size_t len)
{
	size_t n = 0;

	if (*text == 't')
		n = temporary_at(text, len);
	else if (hex_at(text, 1))
		n = (n = uuid_at(text, len)) ? n : hash_at(text, len);
	return n;
}

/*
 * Cromwell's variables: "out" or "err" and eight hex digits, set or used. Without a letter the digits may be a date.
 * So one in 43 of Cromwell's scripts counts with its names.
 */
static size_t variable_at(const char *text, size_t len, bool used)
{
	if (len < 12 || (memcmp(text, "out", 3) && memcmp(text, "err", 3)) || hex_at(text + 3, len - 3) != 8 ||
	    !has_letter(text + 3, 8))
		return 0;
	return text[11] == '=' || (used && !in_name(text[11])) ? 11 : 0;
}

/* ---- words that may be made up ---- */

static inline bool is_digit(char c)
{
	return (unsigned char)(c - '0') < 10;
}

/* As isalnum in the C locale, and inline: this runs over each script in slurmctld. */
static inline bool in_word(char c)
{
	return (unsigned char)((c | 32) - 'a') < 26 || is_digit(c);
}

static size_t word_at(const char *text, size_t len)
{
	size_t n = 0;

	while (n < len && in_word(text[n]))
		n++;
	return n;
}

/* Length of the number that starts with the word of n bytes: decimals, exponents, versions. */
static size_t number_at(const char *text, size_t n, size_t len)
{
	while (n + 1 < len && is_digit(text[n + 1]) &&
	       (text[n] == '.' || ((text[n] == '-' || text[n] == '+') && (text[n - 1] | 32) == 'e')))
		n += 1 + word_at(text + n + 1, len - n - 1);
	return n;
}

/* Is the word at start a short option with its value at i: "-n100"? */
static bool is_option(const char *text, size_t start, size_t i)
{
	return i == start + 1 && start > 0 && text[start - 1] == '-' &&
	       (start == 1 || isspace((unsigned char)text[start - 2]));
}

size_t made_up_word(const char *text, size_t len, size_t *at)
{
	const size_t first = *at;
	size_t i = first;

	for (;;) {
		size_t start, n, uuid;

		while (i < len && !is_digit(text[i]))
			i++;
		if (i == len)
			return 0;
		for (start = i; start > first && in_word(text[start - 1]); start--)
			;
		n = word_at(text + start, len - start);
		*at = start;
		if (n == 8 && (uuid = uuid_at(text + start, len - start)))
			return uuid;
		if (i == start || is_option(text, start, i)) {
			*at = i;
			return number_at(text + i, start + n - i, len - i);
		}
		if (n >= MADE_UP_WORD)
			return n;
		i = start + n;
	}
}

/* ---- sets ---- */

struct quoted {
	const char *at;
	size_t len;
};

static int by_text(const void *a, const void *b)
{
	const struct quoted *x = a, *y = b;
	int order = memcmp(x->at, y->at, x->len < y->len ? x->len : y->len);

	return order ? order : (x->len > y->len) - (x->len < y->len);
}

/* Length of the word in single quotes at text, with its quotes; 0: none, or it has a digit. */
static size_t quoted_at(const char *text, size_t len)
{
	size_t n = 1;

	if (!len || *text != '\'')
		return 0;
	while (n < len && text[n] != '\'' && !isdigit((unsigned char)text[n]))
		n++;
	return n < len && text[n] == '\'' ? n + 1 : 0;
}

/* Sorts the quoted neighbours at text, by way of out, which has room for them. Returns their length; 0: none. */
static size_t sort_at(char *text, size_t len, char *out)
{
	struct quoted q[QUOTED_MOST];
	size_t n = 0, end = 0, at = 0, m;

	while (n < QUOTED_MOST && (m = quoted_at(text + at, len - at))) {
		q[n++] = (struct quoted){text + at, m};
		end = at + m;
		at = end + 1;
		if (end == len || text[end] != ' ')
			break;
	}
	if (n < 2)
		return end;
	qsort(q, n, sizeof(*q), by_text);
	at = 0;
	for (size_t i = 0; i < n; i++) {
		memcpy(out + at, q[i].at, q[i].len);
		at += q[i].len;
		out[at++] = ' ';
	}
	memcpy(text, out, end);
	return end;
}

/* Sorts the values of each long option. */
static void sort_sets(char *text, size_t len, char *out)
{
	bool option = false; /* the last word is one */

	for (size_t i = 0; i < len;) {
		size_t n = option && text[i] == '\'' ? sort_at(text + i, len - i, out) : 0;

		if (!n) {
			option = len - i > 2 && !memcmp(text + i, "--", 2);
			while (i + n < len && text[i + n] != ' ')
				n++;
		}
		i += n + (i + n < len);
	}
}

size_t made_up_hide(const char *text, size_t len, char *out, size_t room)
{
	size_t n = 0, done = 0;

	if (len >= room / 2)
		return 0;
	for (size_t i = 0; i < len; i++) {
		size_t made = 0;

		if (i && text[i - 1] == '/')
			made = made_up_at(text + i, len - i);
		else if ((text[i] == 'o' || text[i] == 'e') && (!i || !in_name(text[i - 1])))
			made = variable_at(text + i, len - i, i && text[i - 1] == '$');
		if (!made)
			continue;
		memcpy(out + n, text + done, i - done);
		n += i - done;
		memcpy(out + n, MADE_UP_MARK, MARK_LEN);
		n += MARK_LEN;
		done = i + made;
		i = done - 1;
	}
	if (!done)
		return 0;
	memcpy(out + n, text + done, len - done);
	n += len - done;
	sort_sets(out, n, out + room / 2);
	return n;
}
