/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * As much of HTTP as a page and a scraper need: one GET a connection. It is our own because libmicrohttpd has no deadline
 * for a whole request, never closes idle clients to admit others, and brings GnuTLS into precedentd.
 */
#ifndef PRECEDENT_COMMON_NET_HTTP_H
#define PRECEDENT_COMMON_NET_HTTP_H

#include "common/buf.h"

#define HTTP_REQUEST_MAX 8192 /* bytes of the request line and all headers */

struct http_request {
	const char *path;  /* begins with '/'; not decoded */
	const char *query; /* behind the '?', or NULL */
	const char *host;  /* of the header; "" if it is missing or not the only one */
};

/* Status of the request read so far: 0 if it is incomplete, 200 for a GET, 405 for another method, 431 if it is too long,
 * 400 if it is malformed or has a NUL. With 200, r is filled and lends from `in`, whose text is taken apart. */
int http_request(struct buf *in, struct http_request *r);

/* The whole reply, with headers that keep other sites from using or framing it. */
void http_reply(struct buf *out, int status, const char *type, const void *body, size_t len);

/* A reply of one line; why NULL: the status in words. */
void http_refuse(struct buf *out, int status, const char *why);

#endif
