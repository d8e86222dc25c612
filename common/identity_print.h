/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A fingerprint as text (common/fingerprint.h), for identity.c. */
#ifndef PRECEDENT_COMMON_IDENTITY_PRINT_H
#define PRECEDENT_COMMON_IDENTITY_PRINT_H

#include <stdbool.h>
#include <stddef.h>

/* Parts of a fingerprint. len: length of the part without bulk data. like: 32 hex digits, bytes: size of bulk
 * data; "" and 0 without bulk data files. */
struct identity_print {
	size_t len;
	const char *like;
	double bytes;
};

/* Returns false if it has another form, or is NULL. */
bool identity_print_read(const char *fingerprint, struct identity_print *out);

#endif
