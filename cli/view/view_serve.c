/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The server behind `precedent view --serve`: see view_serve.h. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "cli/view/view_serve.h"
#include "common/net/http.h"
#include "common/net/server.h"

#define TIMEOUT_MS   10000
#define SPANS_MAX    600000u /* of an answer */
#define MESSAGES_MAX 100000u
#define CELLS_MAX    (4u << 20)

struct source {
	struct view *v;
	const struct buf *page;
	unsigned port;
	char token[33];
};

/* ---- answers ---- */

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

static void answer_window(const struct source *s, struct buf *out, const char *what, const char *query)
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
		return http_refuse(out, 400, "Bad window");
	if (messages)
		rv = view_messages(s->v, t0, t1, MESSAGES_MAX, &cut, &body, &err);
	else if (levels)
		rv = view_levels(s->v, (uint32_t)r0, (uint32_t)r1, t0, t1, (uint32_t)n, &body, &err);
	else
		rv = view_spans(s->v, (uint32_t)r0, (uint32_t)r1, t0, t1, SPANS_MAX, &cut, &body, &err);
	if (rv < 0)
		http_refuse(out, 500, err.text);
	else if (cut)
		http_refuse(out, 413, "Too much for one answer");
	else
		http_reply(out, 200, "application/octet-stream", body.data, body.len);
	buf_free(&body);
}

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

/* The browser believes that it talks to us, and not to a name that somebody made to point here. */
static bool host_is_ours(const struct source *s, const char *host)
{
	char want[64];

	snprintf(want, sizeof(want), "127.0.0.1:%u", s->port);
	if (!strcmp(host, want))
		return true;
	snprintf(want, sizeof(want), "localhost:%u", s->port);
	return !strcasecmp(host, want);
}

static void answer_path(const struct source *s, struct buf *out, const struct http_request *r)
{
	const char *what;

	if (!host_is_ours(s, r->host) || !token_is(r->path + 1, s->token) || r->path[33] != '/')
		return http_refuse(out, 403, NULL);
	what = r->path + 34;
	if (!*what)
		http_reply(out, 200, "text/html; charset=utf-8", s->page->data, s->page->len);
	else if (!strcmp(what, "spans") || !strcmp(what, "levels") || !strcmp(what, "messages"))
		answer_window(s, out, what, r->query);
	else
		http_refuse(out, 404, NULL);
}

static int answer(struct net_client *c, void *arg)
{
	struct http_request r;
	int status = http_request(&c->in, &r);

	if (status == 200)
		answer_path(arg, &c->out, &r);
	else if (status)
		http_refuse(&c->out, status, NULL);
	return status != 0;
}

/* ---- begin and end ---- */

static int make_token(char out[33], struct errbuf *err)
{
	uint8_t r[16];

	if (getrandom(r, sizeof(r), 0) != sizeof(r))
		return err_set(err, "no random numbers: %s", strerror(errno));
	for (size_t i = 0; i < sizeof(r); i++)
		snprintf(out + 2 * i, 3, "%02x", r[i]);
	return 0;
}

/* A descriptor that can be read once a signal has come. */
static int signals_take(struct errbuf *err)
{
	sigset_t set;
	int fd;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return fd < 0 ? err_set(err, "cannot wait for signals: %s", strerror(errno)) : fd;
}

int view_serve(struct view *v, const struct buf *page, uint16_t port, struct errbuf *err)
{
	struct source source = {.v = v, .page = page};
	struct net_server s = {.answer = answer, .arg = &source, .timeout_ms = TIMEOUT_MS, .listener = -1, .stop = -1};
	int rv = -1;

	if (make_token(source.token, err) == 0 && (s.stop = signals_take(err)) >= 0 &&
	    (s.listener = net_listen("127.0.0.1", port, err)) >= 0) {
		source.port = net_port(s.listener);
		printf("http://127.0.0.1:%u/%s/\n", source.port, source.token);
		fflush(stdout);
		if (isatty(STDERR_FILENO))
			fputs("Open it in a browser of this machine; Ctrl-C ends it.\n"
			      "From elsewhere: ssh -L PORT:127.0.0.1:PORT to here first, with the same port.\n", stderr);
		rv = net_serve(&s, err);
	}
	if (s.listener >= 0)
		close(s.listener);
	if (s.stop >= 0)
		close(s.stop);
	return rv;
}
