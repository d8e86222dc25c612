/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * JSON for use inside an HTML page. Names in traces are user data. Characters that could end a script or start
 * markup are written as numbers, and bytes that are not clean become U+FFFD. Commas are written automatically.
 */
#ifndef PRECEDENT_TRACE_VIEW_JSON_H
#define PRECEDENT_TRACE_VIEW_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "common/buf.h"

struct json {
	struct buf *out;
	bool first; /* the open object or array is empty so far */
};

static inline struct json json_begin(struct buf *out)
{
	return (struct json){out, true};
}

/* key: NULL inside an array. NULL strings are written as "". */
void json_open(struct json *j, const char *key, char bracket); /* '{' or '[' */
void json_close(struct json *j, char bracket);                 /* '}' or ']' */
void json_str(struct json *j, const char *key, const char *s);
void json_uint(struct json *j, const char *key, uint64_t v);
void json_num(struct json *j, const char *key, double v); /* null if not finite */
void json_bool(struct json *j, const char *key, bool v);

/* Append text, escaped for use between tags and in attributes. */
void html_text(struct buf *out, const char *s);
/* Append n bytes as base64. */
void base64_put(struct buf *out, const uint8_t *p, size_t n);

#endif
