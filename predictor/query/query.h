/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The query protocol between the commands and precedentd: one request and one reply over one TCP connection.
 * Each is a frame: "PCQ1", the length as 32 bits big endian, then that many bytes of a MUNGE credential. Its
 * payload is one JSON object. The request's credential can be decoded by the daemon's user only, and tells the daemon who asks. The
 * reply's can be decoded by that user only, and tells the command that the daemon really sent it.
 *
 *   request  {"precedent": 1, "verb": "jobs", ...}     reply  {"precedent": 1, ...} or {"error": "one line"}
 */
#ifndef PRECEDENT_PREDICTOR_QUERY_QUERY_H
#define PRECEDENT_PREDICTOR_QUERY_QUERY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/buf.h"
#include "common/errbuf.h"

#define QUERY_MAX_BYTES	   (1u << 20)   /* of a credential on the wire */
#define QUERY_MAX_PAYLOAD  (640u << 10) /* of the JSON in it: base64 and MUNGE's own limit leave no more */
#define QUERY_HEAD_BYTES   8
#define QUERY_TIMEOUT_MS   5000

/* How payloads become credentials. Tests bring their own; everybody else uses query_munge(). */
struct query_crypt {
	/* *cred: to be freed by the caller. only: the one uid that may decode it, or -1 for any. */
	int (*seal)(const void *payload, size_t len, uid_t only, char **cred, struct errbuf *errp);
	/* *payload: NUL-terminated, to be freed by the caller. *uid: who sealed it. */
	int (*unseal)(const char *cred, char **payload, size_t *len, uid_t *uid, struct errbuf *errp);
};
const struct query_crypt *query_munge(void);
/* Where munged listens ("" or NULL: its default). Once, before the first use; borrowed. */
void query_munge_socket(const char *path);

/* Append a frame that holds the credential. */
int query_frame_put(struct buf *out, const char *cred, struct errbuf *errp);

/* Look at what has come in so far: -1 this can never be a frame, 0 *need more bytes are wanted, 1 a whole frame and
 * nothing after it. */
int query_frame_check(const struct buf *in, size_t *need, struct errbuf *errp);

/* The credential of a whole frame, to be freed by the caller. */
char *query_frame_credential(const struct buf *in);

struct query_server {
	const char *host;
	unsigned port;
	uid_t uid;	/* the daemon's: a reply sealed by anyone else but root is refused; -1: root only */
	int timeout_ms; /* of the whole exchange */
};

/* Ask and wait for the answer. *reply: the JSON text, to be freed by the caller. The message of a failed connection
 * says how to look at the daemon. */
int query_call(const struct query_server *server, const struct query_crypt *crypt, const char *request, char **reply,
	       struct errbuf *errp);

#endif
