/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Error text in a buffer of the caller. Libraries return -1 and fill the buffer; only programs print it. A message
 * is one line: what failed, on which object, why, and what to do.
 */
#ifndef PRECEDENT_COMMON_ERRBUF_H
#define PRECEDENT_COMMON_ERRBUF_H

struct errbuf {
	char text[512];
};

/* Write the message, cut to the buffer, and return -1, so that `return err_set(...)` works. errp may be NULL.
 * errno is kept. */
int err_set(struct errbuf *errp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "prefix: " before the message. Returns -1 and keeps errno. */
int err_prefix(struct errbuf *errp, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
