/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server behind `precedent view --serve`: see view_serve.h. One thread, one poll loop, answers one by one. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/ui/util.h"
#include "cli/view/view_serve.h"

#define CLIENTS      16
#define REQUEST_MAX  8192
#define IDLE_S       10      /* a connection that says nothing, or takes nothing */
#define SPANS_MAX    600000u /* of an answer */
#define MESSAGES_MAX 100000u
#define CELLS_MAX    (4u << 20)

struct client {
	int fd;              /* -1: free */
	double since;
	bool answering;
	char in[REQUEST_MAX + 1];
	size_t n_in, sent;
	struct buf out;      /* header and, unless it is the page, body */
	const struct buf *page;
};

struct server {
	struct view *v;
	const struct buf *page;
	int fd;
	uint16_t port;
	char token[33];
	struct client client[CLIENTS];
};

static int stop_pipe[2] = {-1, -1}; /* written by the signal handler only */

static void on_signal(int sig)
{
	int saved = errno;
	ssize_t n = write(stop_pipe[1], "", 1);

	(void)n;
	(void)sig;
	errno = saved;
}

/* ---- answers ---- */

static void put(struct buf *b, const char *s)
{
	buf_put(b, s, strlen(s));
}

static void put_head(struct client *c, int status, const char *reason, const char *type, size_t len)
{
	char head[768];
	int n = snprintf(head, sizeof(head),
			 "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: close\r\n"
			 "Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
			 "Cross-Origin-Resource-Policy: same-origin\r\nX-Frame-Options: DENY\r\n"
			 "Content-Security-Policy: frame-ancestors 'none'\r\n%s\r\n",
			 status, reason, type, len, status == 405 ? "Allow: GET\r\n" : "");

	buf_reset(&c->out);
	buf_put(&c->out, head, (size_t)n);
}

static void refuse(struct client *c, int status, const char *reason)
{
	put_head(c, status, reason, "text/plain; charset=utf-8", strlen(reason) + 1);
	put(&c->out, reason);
	put(&c->out, "\n");
}

static void answer_data(struct client *c, int rv, bool cut, const struct buf *body, const struct errbuf *err)
{
	if (rv < 0)
		return refuse(c, 500, err->text);
	if (cut)
		return refuse(c, 413, "Too much for one answer");
	put_head(c, 200, "OK", "application/octet-stream", body->len);
	buf_put(&c->out, body->data, body->len);
}

/* Value of a name in the query, digits only; -1 when it is missing or anything else. */
static int query_number(const char *query, const char *name, uint64_t *out)
{
	size_t len = strlen(name);
	char *end;

	for (const char *p = query; p && *p; p = strchr(p, '&') ? strchr(p, '&') + 1 : NULL) {
		if (strncmp(p, name, len) || p[len] != '=')
			continue;
		p += len + 1;
		if (*p < '0' || *p > '9')
			return -1;
		errno = 0;
		*out = strtoull(p, &end, 10);
		return errno || (*end && *end != '&') ? -1 : 0;
	}
	return -1;
}

static void answer_window(struct server *s, struct client *c, const char *what, const char *query)
{
	uint64_t r0 = 0, r1 = 0, t0, t1, n = 0;
	bool messages = !strcmp(what, "messages"), levels = !strcmp(what, "levels"), cut = false;
	struct buf body = {0};
	struct errbuf err;
	int rv;

	if (query_number(query, "t0", &t0) < 0 || query_number(query, "t1", &t1) < 0 || t0 > t1 ||
	    (!messages && (query_number(query, "r0", &r0) < 0 || query_number(query, "r1", &r1) < 0 || r0 > r1 ||
			   r1 > UINT32_MAX)) ||
	    (levels && (query_number(query, "n", &n) < 0 || !n || n > 65536 || n * (r1 - r0) > CELLS_MAX)))
		return refuse(c, 400, "Bad window");
	if (messages)
		rv = view_messages(s->v, t0, t1, MESSAGES_MAX, &cut, &body, &err);
	else if (levels)
		rv = view_levels(s->v, (uint32_t)r0, (uint32_t)r1, t0, t1, (uint32_t)n, &body, &err);
	else
		rv = view_spans(s->v, (uint32_t)r0, (uint32_t)r1, t0, t1, SPANS_MAX, &cut, &body, &err);
	answer_data(c, rv, cut, &body, &err);
	buf_free(&body);
}

/* ---- requests ---- */

/* As long for a wrong token as for the right one. */
static bool token_is(const char *given, const char *token)
{
	unsigned diff = 0;

	if (strlen(given) < 32)
		return false;
	for (int i = 0; i < 32; i++)
		diff |= (unsigned char)given[i] ^ (unsigned char)token[i];
	return diff == 0;
}

/* The one header of that name, without blanks around it, into out; -1 when it is missing, doubled or too long. */
static int header(const char *in, const char *name, char *out, size_t size)
{
	size_t len = strlen(name);
	int found = 0;

	for (const char *p = strstr(in, "\r\n"); p && p[2] != '\r'; p = strstr(p + 2, "\r\n")) {
		const char *v = p + 2 + len, *end;

		if (strncasecmp(p + 2, name, len) || *v != ':')
			continue;
		for (v++; *v == ' ' || *v == '\t'; v++)
			;
		end = strstr(v, "\r\n");
		while (end && end > v && (end[-1] == ' ' || end[-1] == '\t'))
			end--;
		if (!end || (size_t)(end - v) >= size || found++)
			return -1;
		memcpy(out, v, (size_t)(end - v));
		out[end - v] = '\0';
	}
	return found == 1 ? 0 : -1;
}

/* The browser believes that it talks to us, and not to a name that somebody made to point here. */
static bool host_is_ours(const struct server *s, const char *in)
{
	char host[64], want[64];

	if (header(in, "Host", host, sizeof(host)) < 0)
		return false;
	snprintf(want, sizeof(want), "127.0.0.1:%u", s->port);
	if (!strcmp(host, want))
		return true;
	snprintf(want, sizeof(want), "localhost:%u", s->port);
	return !strcasecmp(host, want);
}

static void answer(struct server *s, struct client *c)
{
	char *target = c->in + 4, *end, *query;

	if (strncmp(c->in, "GET ", 4))
		return refuse(c, 405, "Method not allowed");
	if (!host_is_ours(s, c->in))
		return refuse(c, 403, "Forbidden");
	end = strpbrk(target, " \r\n");
	if (!end || strncmp(end, " HTTP/1.", 8))
		return refuse(c, 400, "Bad request");
	*end = '\0';
	if (*target != '/' || !token_is(target + 1, s->token) || target[33] != '/')
		return refuse(c, 403, "Forbidden");
	target += 34;
	query = strchr(target, '?');
	if (query)
		*query++ = '\0';
	if (!*target) {
		put_head(c, 200, "OK", "text/html; charset=utf-8", s->page->len);
		c->page = s->page;
	} else if (!strcmp(target, "spans") || !strcmp(target, "levels") || !strcmp(target, "messages")) {
		answer_window(s, c, target, query);
	} else {
		refuse(c, 404, "Not found");
	}
}

/* ---- connections ---- */

static void client_close(struct client *c)
{
	close(c->fd);
	buf_free(&c->out);
	*c = (struct client){.fd = -1};
}

static void client_accept(struct server *s)
{
	int fd = accept4(s->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct client *c = NULL, *oldest = NULL;

	if (fd < 0)
		return;
	for (int i = 0; i < CLIENTS && !c; i++) {
		if (s->client[i].fd < 0)
			c = &s->client[i];
		else if (!s->client[i].answering && (!oldest || s->client[i].since < oldest->since))
			oldest = &s->client[i];
	}
	if (!c && oldest) { /* browsers open connections that they never use */
		client_close(oldest);
		c = oldest;
	}
	if (!c) {
		close(fd);
		return;
	}
	c->fd = fd;
	c->since = cli_now();
}

static void client_read(struct server *s, struct client *c)
{
	ssize_t n = read(c->fd, c->in + c->n_in, REQUEST_MAX - c->n_in);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		return client_close(c);
	c->n_in += (size_t)n;
	c->in[c->n_in] = '\0';
	if (strlen(c->in) != c->n_in)
		refuse(c, 400, "Bad request");
	else if (strstr(c->in, "\r\n\r\n"))
		answer(s, c);
	else if (c->n_in == REQUEST_MAX)
		refuse(c, 431, "Request too large");
	else
		return;
	c->answering = true;
	c->since = cli_now();
}

static void client_write(struct client *c)
{
	size_t head = c->out.len, all = head + (c->page ? c->page->len : 0);
	const uint8_t *from = c->sent < head ? c->out.data + c->sent : c->page->data + (c->sent - head);
	ssize_t n = send(c->fd, from, c->sent < head ? head - c->sent : all - c->sent, MSG_NOSIGNAL);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0)
		return client_close(c);
	c->sent += (size_t)n;
	c->since = cli_now();
	if (c->sent == all)
		client_close(c);
}

static int serve(struct server *s, struct errbuf *err)
{
	for (;;) {
		struct pollfd p[CLIENTS + 2] = {{.fd = s->fd, .events = POLLIN}, {.fd = stop_pipe[0], .events = POLLIN}};

		for (int i = 0; i < CLIENTS; i++)
			p[i + 2] = (struct pollfd){s->client[i].fd, s->client[i].answering ? POLLOUT : POLLIN, 0};
		if (poll(p, CLIENTS + 2, 1000) < 0 && errno != EINTR)
			return err_set(err, "the server failed: %s", strerror(errno));
		if (p[1].revents)
			return 0;
		for (int i = 0; i < CLIENTS; i++) {
			struct client *c = &s->client[i];

			if (c->fd < 0 || c->fd != p[i + 2].fd)
				continue;
			if (p[i + 2].revents && c->answering)
				client_write(c);
			else if (p[i + 2].revents)
				client_read(s, c);
			else if (cli_now() - c->since > IDLE_S)
				client_close(c);
		}
		if (p[0].revents)
			client_accept(s);
	}
}

/* ---- begin and end ---- */

static int listen_here(struct server *s, uint16_t port, struct errbuf *err)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port),
				.sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(a);
	int one = 1;

	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(s->fd, (struct sockaddr *)&a, sizeof(a)) < 0 || listen(s->fd, CLIENTS) < 0 ||
	    getsockname(s->fd, (struct sockaddr *)&a, &len) < 0)
		return err_set(err, "cannot listen on 127.0.0.1 port %u: %s", port, strerror(errno));
	s->port = ntohs(a.sin_port);
	return 0;
}

static int make_token(char out[33], struct errbuf *err)
{
	uint8_t r[16];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return err_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(out + 2 * i, 3, "%02x", r[i]);
	return 0;
}

static int catch_signals(struct errbuf *err)
{
	struct sigaction sa = {.sa_handler = on_signal};

	if (pipe2(stop_pipe, O_CLOEXEC | O_NONBLOCK) < 0)
		return err_set(err, "no pipe: %s", strerror(errno));
	sigaction(SIGINT, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGHUP, &sa, NULL);
	return 0;
}

int view_serve(struct view *v, const struct buf *page, uint16_t port, struct errbuf *err)
{
	struct server *s = calloc(1, sizeof(*s));
	int rv = -1;

	if (!s)
		return err_set(err, "no memory");
	s->v = v;
	s->page = page;
	s->fd = -1;
	for (int i = 0; i < CLIENTS; i++)
		s->client[i].fd = -1;
	if (catch_signals(err) == 0 && make_token(s->token, err) == 0 && listen_here(s, port, err) == 0) {
		printf("http://127.0.0.1:%u/%s/\n", s->port, s->token);
		fflush(stdout);
		if (isatty(STDERR_FILENO))
			fputs("Open it in a browser of this machine; Ctrl-C ends it.\n"
			      "From elsewhere: ssh -L PORT:127.0.0.1:PORT to here first, with the same port.\n", stderr);
		rv = serve(s, err);
	}
	for (int i = 0; i < CLIENTS; i++)
		if (s->client[i].fd >= 0)
			client_close(&s->client[i]);
	if (s->fd >= 0)
		close(s->fd);
	close(stop_pipe[0]);
	close(stop_pipe[1]);
	free(s);
	return rv;
}
