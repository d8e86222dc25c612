/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See http.h. Requests are from anybody on this machine. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/net/http.h"

/* Bytes up to and with the empty line, 0 if there is none. Waiting for it keeps closing from cutting off what is still sent. */
static size_t head_length(const char *text, size_t len)
{
	const char *end = text + len, *p = text;

	while ((p = memchr(p, '\n', (size_t)(end - p)))) {
		p++;
		if (p < end && *p == '\n')
			return (size_t)(p + 1 - text);
		if (end - p > 1 && p[0] == '\r' && p[1] == '\n')
			return (size_t)(p + 2 - text);
	}
	return 0;
}

/* The value of a header without blanks around it. */
static const char *value_of(char *s)
{
	char *end;

	s += strspn(s, " \t");
	for (end = s + strlen(s); end > s && strchr(" \t\r", end[-1]); end--)
		;
	*end = '\0';
	return s;
}

int http_request(struct buf *in, struct http_request *r)
{
	char *text = (char *)in->data, *line, *method, *path;
	size_t len = in->len < HTTP_REQUEST_MAX ? in->len : HTTP_REQUEST_MAX, head = len ? head_length(text, len) : 0;

	if (len && memchr(text, '\0', head ? head : len))
		return 400;
	if (!head)
		return len == HTTP_REQUEST_MAX ? 431 : 0;
	text[head - 1] = '\0';
	line = strsep(&text, "\n");
	line[strcspn(line, "\r")] = '\0';
	method = strsep(&line, " ");
	path = strsep(&line, " ");
	if (!*method || !path || *path != '/' || !line || strncmp(line, "HTTP/", 5))
		return 400;
	if (strcmp(method, "GET"))
		return 405;
	*r = (struct http_request){.path = strsep(&path, "?"), .query = path};
	while ((line = strsep(&text, "\n")))
		if (!strncasecmp(line, "Host:", 5))
			r->host = r->host ? "" : value_of(line + 5);
	if (!r->host)
		r->host = "";
	return 200;
}

static const char *reason_of(int status)
{
	switch (status) {
	case 200:
		return "OK";
	case 403:
		return "Forbidden";
	case 404:
		return "Not Found";
	case 405:
		return "Method Not Allowed";
	case 413:
		return "Content Too Large";
	case 431:
		return "Request Header Fields Too Large";
	case 500:
		return "Internal Server Error";
	default:
		return "Bad Request";
	}
}

void http_reply(struct buf *out, int status, const char *type, const void *body, size_t len)
{
	char head[768];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
			 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
			 "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n"
			 "Content-Security-Policy: frame-ancestors 'none'\r\n%s\r\n",
			 status, reason_of(status), type, len, status == 405 ? "Allow: GET\r\n" : "");

	buf_put(out, head, (size_t)n);
	buf_put(out, body, len);
}

void http_refuse(struct buf *out, int status, const char *why)
{
	char text[640];

	snprintf(text, sizeof(text), "%s\n", why ? why : reason_of(status));
	http_reply(out, status, "text/plain; charset=utf-8", text, strlen(text));
}
