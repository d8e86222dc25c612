/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See identity_print.h. */
#include <stdlib.h>
#include <string.h>

#include "common/identity.h"
#include "common/identity_print.h"

/* Are the n bytes lower-case hex digits? */
static bool is_hex(const char *s, size_t n)
{
	bool other = false;

	/* Without an early exit, the compiler vectorises the loop. */
	for (size_t i = 0; i < n; i++)
		other |= ((unsigned char)(s[i] - '0') > 9) & ((unsigned char)(s[i] - 'a') > 5);
	return !other;
}

#define PRINT_FILES_AT 36 /* length of "v1:<32 hex>:" */

bool identity_print_read(const char *f, struct identity_print *out)
{
	size_t n;

	if (!f || strncmp(f, "v1:", 3) || strnlen(f, PRINT_FILES_AT) < PRINT_FILES_AT || !is_hex(f + 3, 32) || f[35] != ':')
		return false;
	n = strspn(f + PRINT_FILES_AT, "0123456789");
	*out = (struct identity_print){.len = PRINT_FILES_AT + n};
	if (n < 1 || n > 9)
		return false;
	f += out->len;
	if (!*f)
		return true;
	if (*f != ':' || strnlen(f, 34) < 34 || !is_hex(f + 1, 32) || f[33] != ':')
		return false;
	out->like = f + 1;
	n = strspn(f + 34, "0123456789");
	if (n < 1 || n > 20 || f[34 + n])
		return false;
	out->bytes = strtod(f + 34, NULL);
	return true;
}

bool identity_fingerprint_valid(const char *fingerprint)
{
	struct identity_print p;

	return identity_print_read(fingerprint, &p);
}

bool identity_key_valid(const char *key)
{
	return key && strnlen(key, IDENTITY_KEY_LEN + 1) == IDENTITY_KEY_LEN && is_hex(key, IDENTITY_KEY_LEN);
}
