/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Frames, credentials and the client's side of the query protocol of query.h. Every wait has the one deadline of its
 * exchange, every length is checked before it is believed.
 */
#include <errno.h>
#include <fcntl.h>
#include <munge.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/net/server.h"
#include "predictor/query/query.h"

static const char frame_magic[4] = {'P', 'C', 'Q', '1'};

/* ---- credentials ---- */

static const char *munge_socket; /* set once, before any thread starts */

void query_munge_socket(const char *path)
{
	munge_socket = path && *path ? path : NULL;
}

static munge_ctx_t context_create(struct errbuf *errp)
{
	munge_ctx_t ctx = munge_ctx_create();

	if (!ctx) {
		err_set(errp, "munge: no memory");
		return NULL;
	}
	if (munge_socket && munge_ctx_set(ctx, MUNGE_OPT_SOCKET, munge_socket) != EMUNGE_SUCCESS) {
		err_set(errp, "munge: %s: %s", munge_socket, munge_ctx_strerror(ctx));
		munge_ctx_destroy(ctx);
		return NULL;
	}
	return ctx;
}

static int munge_seal(const void *payload, size_t len, uid_t only, char **cred, struct errbuf *errp)
{
	munge_ctx_t ctx;
	munge_err_t rc;

	*cred = NULL;
	if (len > QUERY_MAX_PAYLOAD)
		return err_set(errp, "message of %zu bytes is longer than %u", len, QUERY_MAX_PAYLOAD);
	ctx = context_create(errp);
	if (!ctx)
		return -1;
	rc = munge_ctx_set(ctx, MUNGE_OPT_CIPHER_TYPE, MUNGE_CIPHER_DEFAULT);
	if (rc == EMUNGE_SUCCESS && only != (uid_t)-1)
		rc = munge_ctx_set(ctx, MUNGE_OPT_UID_RESTRICTION, only);
	if (rc == EMUNGE_SUCCESS)
		rc = munge_encode(cred, ctx, payload, (int)len);
	if (rc != EMUNGE_SUCCESS) {
		const char *why = munge_ctx_strerror(ctx);

		err_set(errp, "munge cannot make a credential: %s", why ? why : munge_strerror(rc));
		*cred = NULL;
	}
	munge_ctx_destroy(ctx);
	return rc == EMUNGE_SUCCESS ? 0 : -1;
}

static int munge_unseal(const char *cred, char **payload, size_t *len, uid_t *uid, struct errbuf *errp)
{
	munge_ctx_t ctx = context_create(errp);
	void *data = NULL;
	munge_err_t rc;
	gid_t gid;
	int n = 0;

	*payload = NULL;
	if (!ctx)
		return -1;
	rc = munge_decode(cred, ctx, &data, &n, uid, &gid);
	if (rc != EMUNGE_SUCCESS) {
		const char *why = munge_ctx_strerror(ctx);

		err_set(errp, "munge refuses the credential: %s", why ? why : munge_strerror(rc));
		free(data);
		munge_ctx_destroy(ctx);
		return -1;
	}
	munge_ctx_destroy(ctx);
	if (!data || n <= 0 || (size_t)n > QUERY_MAX_PAYLOAD || memchr(data, '\0', (size_t)n)) {
		free(data);
		return err_set(errp, "credential without a message");
	}
	*payload = data; /* munge has put a NUL after it */
	*len = (size_t)n;
	return 0;
}

const struct query_crypt *query_munge(void)
{
	static const struct query_crypt crypt = {munge_seal, munge_unseal};

	return &crypt;
}

/* ---- frames ---- */

int query_frame_put(struct buf *out, const char *cred, struct errbuf *errp)
{
	size_t n = strlen(cred);

	if (!n || n > QUERY_MAX_BYTES)
		return err_set(errp, "credential of %zu bytes, limit %u", n, QUERY_MAX_BYTES);
	buf_put(out, frame_magic, sizeof(frame_magic));
	for (int shift = 24; shift >= 0; shift -= 8)
		buf_put_u8(out, (uint8_t)(n >> shift));
	buf_put(out, cred, n);
	return out->failed ? err_set(errp, "no memory for a message of %zu bytes", n) : 0;
}

int query_frame_check(const struct buf *in, size_t *need, struct errbuf *errp)
{
	size_t magic = in->len < sizeof(frame_magic) ? in->len : sizeof(frame_magic), n = 0;

	*need = 0;
	if (magic && memcmp(in->data, frame_magic, magic))
		return err_set(errp, "not a precedent message");
	if (in->len < QUERY_HEAD_BYTES) {
		*need = QUERY_HEAD_BYTES - in->len;
		return 0;
	}
	for (int i = 4; i < 8; i++)
		n = n << 8 | in->data[i];
	if (!n || n > QUERY_MAX_BYTES)
		return err_set(errp, "message of %zu bytes, limit %u", n, QUERY_MAX_BYTES);
	if (in->len > QUERY_HEAD_BYTES + n)
		return err_set(errp, "more bytes than the message announced");
	*need = QUERY_HEAD_BYTES + n - in->len;
	return *need ? 0 : 1;
}

char *query_frame_credential(const struct buf *in)
{
	size_t n = in->len - QUERY_HEAD_BYTES;
	char *cred = malloc(n + 1);

	if (!cred)
		return NULL;
	memcpy(cred, in->data + QUERY_HEAD_BYTES, n);
	cred[n] = '\0';
	return cred;
}

/* ---- sockets ---- */

/* Wait until fd is ready; -1 with errno, ETIMEDOUT when the deadline has come. */
static int fd_wait(int fd, short events, int64_t deadline_ms)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = deadline_ms - net_now_ms();
		int n;

		if (left <= 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		n = poll(&p, 1, (int)left);
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -1;
	}
}

static int address_connect(const struct addrinfo *ai, int64_t deadline_ms)
{
	int fd = socket(ai->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(int);
	int err = 0;

	if (fd < 0)
		return -1;
	if (connect(fd, ai->ai_addr, ai->ai_addrlen) == 0)
		return fd;
	if (errno == EINPROGRESS && fd_wait(fd, POLLOUT, deadline_ms) == 0 &&
	    getsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) == 0) {
		if (!err)
			return fd;
		errno = err;
	}
	err = errno;
	close(fd);
	errno = err;
	return -1;
}

#define HOST_HINT "; if it runs on another host, set ListenHost in precedent.conf"

static int server_connect(const struct query_server *server, int64_t deadline_ms, struct errbuf *errp)
{
	struct errbuf unknown;
	struct addrinfo *list = net_address(server->host, server->port, 0, &unknown), *ai;
	int fd = -1, why = 0;

	if (!list)
		return err_set(errp, "cannot reach precedentd: %s" HOST_HINT, unknown.text);
	for (ai = list; ai && fd < 0; ai = ai->ai_next) {
		fd = address_connect(ai, deadline_ms);
		if (fd < 0)
			why = errno;
	}
	freeaddrinfo(list);
	if (fd < 0)
		return err_set(errp,
			       "cannot reach precedentd at %s:%u: %s; is it running? (systemctl status precedentd)" HOST_HINT,
			       server->host, server->port, strerror(why));
	return fd;
}

static int frame_send(int fd, const struct buf *out, int64_t deadline_ms)
{
	size_t done = 0;

	while (done < out->len) {
		ssize_t n = send(fd, out->data + done, out->len - done, MSG_NOSIGNAL);

		if (n > 0) {
			done += (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -1;
		if (fd_wait(fd, POLLOUT, deadline_ms) < 0)
			return -1;
	}
	return 0;
}

#define DROPPED (-2) /* the connection was closed before the first byte of an answer */

static int frame_receive(int fd, struct buf *in, int64_t deadline_ms, struct errbuf *errp)
{
	size_t need;
	int rc;

	while ((rc = query_frame_check(in, &need, errp)) == 0) {
		ssize_t n;

		if (need > 65536)
			need = 65536; /* no memory on credit */
		if (buf_reserve(in, need) < 0)
			return err_set(errp, "no memory for the answer");
		n = recv(fd, in->data + in->len, need, 0);
		if (n > 0) {
			in->len += (size_t)n;
			continue;
		}
		if (n == 0 || errno == ECONNRESET) {
			err_set(errp, "precedentd closed the connection without an answer; see its log");
			return in->len ? -1 : DROPPED;
		}
		if (errno != EAGAIN && errno != EINTR)
			return err_set(errp, "%s", strerror(errno));
		if (fd_wait(fd, POLLIN, deadline_ms) < 0)
			return err_set(errp, "no answer from precedentd: %s", strerror(errno));
	}
	return rc < 0 ? -1 : 0;
}

static int reply_open(const struct query_server *server, const struct query_crypt *crypt, const struct buf *in,
		      char **reply, struct errbuf *errp)
{
	char *cred = query_frame_credential(in);
	size_t len;
	uid_t uid;
	int rv;

	if (!cred)
		return err_set(errp, "no memory for the answer");
	rv = crypt->unseal(cred, reply, &len, &uid, errp);
	free(cred);
	if (rv < 0)
		return err_prefix(errp, "answer of precedentd");
	if (uid != 0 && uid != server->uid) {
		free(*reply);
		*reply = NULL;
		return err_set(errp, "answer from %s:%u refused: sent by uid %u, which is not the daemon's user",
			       server->host, server->port, (unsigned)uid);
	}
	return 0;
}

/* One try, with a request that only this uid can read. Returns 0, -1, or DROPPED. */
static int exchange(const struct query_server *server, const struct query_crypt *crypt, const char *request, uid_t only,
		    struct buf *in, struct errbuf *errp)
{
	int64_t deadline_ms = net_now_ms() + server->timeout_ms;
	struct buf out = {0};
	char *cred = NULL;
	int fd, rv = -1;

	/* First: libmunge tries for ten seconds where there is no munged, as on a machine without precedentd. */
	fd = server_connect(server, deadline_ms, errp);
	if (fd < 0)
		return -1;
	if (crypt->seal(request, strlen(request), only, &cred, errp) < 0)
		goto out;
	if (query_frame_put(&out, cred, errp) < 0)
		goto out;
	if (frame_send(fd, &out, deadline_ms) < 0) {
		err_set(errp, "cannot send to precedentd at %s:%u: %s", server->host, server->port, strerror(errno));
		goto out;
	}
	rv = frame_receive(fd, in, deadline_ms, errp);
out:
	close(fd);
	free(cred);
	buf_free(&out);
	return rv;
}

int query_call(const struct query_server *server, const struct query_crypt *crypt, const char *request, char **reply,
	       struct errbuf *errp)
{
	uid_t only = server->uid == (uid_t)-1 ? 0 : server->uid;
	struct buf in = {0};
	struct errbuf root;
	int rv;

	*reply = NULL;
	rv = exchange(server, crypt, request, only, &in, errp);
	/* A precedentd that runs as root cannot read what is sealed for SlurmUser, and closes the connection. */
	if (rv == DROPPED && only != 0)
		rv = exchange(server, crypt, request, 0, &in, &root);
	rv = rv < 0 ? -1 : reply_open(server, crypt, &in, reply, errp);
	buf_free(&in);
	return rv;
}
