/* SPDX-License-Identifier: GPL-2.0-or-later */
/* JSON, HTML text and base64 for the page: see json.h. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/clean.h"
#include "trace/view/json.h"

static void put_text(struct buf *out, const char *s)
{
	buf_put(out, s, strlen(s));
}

/* Write a character inside a JSON string. Characters that have a meaning in HTML or end a line are written as
 * numbers. */
static void put_json_char(struct buf *out, const char *s, uint32_t c, int len)
{
	char t[16];

	if (c == '"' || c == '\\') {
		t[0] = '\\';
		t[1] = (char)c;
		buf_put(out, t, 2);
	} else if (c < 0x20 || c == '<' || c == '>' || c == '&' || c == '\'' || c == 0x2028 || c == 0x2029 ||
		   c == CLEAN_UNFIT) {
		buf_put(out, t, (size_t)snprintf(t, sizeof(t), "\\u%04x", c));
	} else {
		buf_put(out, s, (size_t)len);
	}
}

static void put_json_string(struct buf *out, const char *s)
{
	const char *p = s ? s : "";
	int len;

	buf_put_u8(out, '"');
	for (; *p; p += len) {
		uint32_t c = clean_char(p, &len);

		put_json_char(out, p, c, len);
	}
	buf_put_u8(out, '"');
}

static void begin_value(struct json *j, const char *key)
{
	if (!j->first)
		buf_put_u8(j->out, ',');
	j->first = false;
	if (key) {
		put_json_string(j->out, key);
		buf_put_u8(j->out, ':');
	}
}

void json_open(struct json *j, const char *key, char bracket)
{
	begin_value(j, key);
	buf_put_u8(j->out, (uint8_t)bracket);
	j->first = true;
}

void json_close(struct json *j, char bracket)
{
	buf_put_u8(j->out, (uint8_t)bracket);
	j->first = false;
}

void json_str(struct json *j, const char *key, const char *s)
{
	begin_value(j, key);
	put_json_string(j->out, s);
}

void json_uint(struct json *j, const char *key, uint64_t v)
{
	char t[32];

	begin_value(j, key);
	buf_put(j->out, t, (size_t)snprintf(t, sizeof(t), "%" PRIu64, v));
}

void json_num(struct json *j, const char *key, double v)
{
	char t[32];

	begin_value(j, key);
	if (isfinite(v))
		buf_put(j->out, t, (size_t)snprintf(t, sizeof(t), "%.9g", v));
	else
		put_text(j->out, "null");
}

void json_bool(struct json *j, const char *key, bool v)
{
	begin_value(j, key);
	put_text(j->out, v ? "true" : "false");
}

void html_text(struct buf *out, const char *s)
{
	const char *p = s ? s : "";
	int len;

	for (; *p; p += len) {
		uint32_t c = clean_char(p, &len);

		switch (c) {
		case '<': put_text(out, "&lt;"); break;
		case '>': put_text(out, "&gt;"); break;
		case '&': put_text(out, "&amp;"); break;
		case '"': put_text(out, "&quot;"); break;
		case '\'': put_text(out, "&#39;"); break;
		case CLEAN_UNFIT: put_text(out, "\xef\xbf\xbd"); break;
		case '\n':
		case '\t': buf_put_u8(out, ' '); break;
		default: buf_put(out, p, (size_t)len);
		}
	}
}

void base64_put(struct buf *out, const uint8_t *p, size_t n)
{
	static const char digit[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	size_t len = (n + 2) / 3 * 4;
	uint8_t *o;

	if (buf_reserve(out, len) < 0)
		return;
	o = out->data + out->len;
	for (size_t i = 0; i < n; i += 3, o += 4) {
		uint32_t v = (uint32_t)p[i] << 16 | (i + 1 < n ? (uint32_t)p[i + 1] << 8 : 0) | (i + 2 < n ? p[i + 2] : 0);

		o[0] = (uint8_t)digit[v >> 18];
		o[1] = (uint8_t)digit[v >> 12 & 63];
		o[2] = i + 1 < n ? (uint8_t)digit[v >> 6 & 63] : '=';
		o[3] = i + 2 < n ? (uint8_t)digit[v & 63] : '=';
	}
	out->len += len;
}
