/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See metrics_http.h. Headers are waited for and passed over. */
#include <stdio.h>
#include <string.h>

#include "predictor/metrics/http.h"

/* The request line: method, path, version, each apart by one blank. */
static int line_judge(const char *line, size_t len)
{
	const char *path = memchr(line, ' ', len), *version;
	size_t method = path ? (size_t)(path - line) : 0, n;

	if (!path || !method)
		return 400;
	path++;
	version = memchr(path, ' ', len - method - 1);
	if (!version || version == path || (size_t)(line + len - version) < 6 || memcmp(version, " HTTP/", 6) || *path != '/')
		return 400;
	n = (size_t)(version - path);
	if (method != 3 || memcmp(line, "GET", 3))
		return 405;
	if (n >= 8 && !memcmp(path, "/metrics", 8) && (n == 8 || path[8] == '?'))
		return 200;
	return 404;
}

int metrics_http_request(const struct buf *in)
{
	const char *text = (const char *)in->data, *end = in->len ? memchr(text, '\n', in->len) : NULL;
	size_t len;

	/* the whole head, so that closing does not cut off what is still being sent */
	if (!end || (!memmem(text, in->len, "\r\n\r\n", 4) && !memmem(text, in->len, "\n\n", 2)))
		return in->len >= METRICS_REQUEST_MAX ? 431 : 0;
	len = (size_t)(end - text);
	if (len && text[len - 1] == '\r')
		len--;
	return line_judge(text, len);
}

void metrics_http_reply(int status, const struct buf *body, struct buf *out)
{
	const char *reason = status == 200   ? "OK"
			     : status == 404 ? "Not Found"
			     : status == 405 ? "Method Not Allowed"
			     : status == 431 ? "Request Header Fields Too Large"
					     : "Bad Request";
	size_t len = status == 200 ? body->len : 0;
	char head[256];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %d %s\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\nContent-Length: %zu\r\n%s"
			 "Connection: close\r\n\r\n",
			 status, reason, len, status == 405 ? "Allow: GET\r\n" : "");

	buf_put(out, head, (size_t)n);
	if (len)
		buf_put(out, body->data, len);
}
