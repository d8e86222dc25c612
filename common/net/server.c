/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The poll loop of server.h. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/net/server.h"

#define READ_BYTES 16384 /* of one arrival; an announced length reserves nothing */

struct table {
	struct net_client client[NET_CLIENTS];
	unsigned n;
};

int64_t net_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * INT64_C(1000) + ts.tv_nsec / 1000000;
}

/* ---- clients ---- */

static void client_close(struct table *t, unsigned i)
{
	struct net_client *c = &t->client[i];

	close(c->fd);
	buf_free(&c->in);
	buf_free(&c->out);
	memmove(c, c + 1, (--t->n - i) * sizeof(*c)); /* the order tells the older of two within a millisecond */
}

static unsigned least_worthy(const struct table *t)
{
	unsigned least = 0;

	for (unsigned i = 1; i < t->n; i++) {
		const struct net_client *a = &t->client[i], *b = &t->client[least];

		if (a->answering != b->answering ? b->answering : a->deadline_ms < b->deadline_ms)
			least = i;
	}
	return least;
}

static void client_accept(const struct net_server *s, struct table *t)
{
	int fd = accept4(s->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0 ? t->n && (errno == EMFILE || errno == ENFILE) : t->n == NET_CLIENTS)
		client_close(t, least_worthy(t));
	if (fd >= 0)
		t->client[t->n++] = (struct net_client){.fd = fd, .deadline_ms = net_now_ms() + s->timeout_ms};
}

/* Each returns -1 when the connection is over. */
static int client_read(const struct net_server *s, struct net_client *c)
{
	ssize_t n;
	int rc;

	if (buf_reserve(&c->in, READ_BYTES) < 0)
		return -1;
	n = recv(c->fd, c->in.data + c->in.len, READ_BYTES, 0);
	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
	c->in.len += (size_t)n;
	rc = s->answer(c, s->arg);
	if (rc > 0) {
		c->answering = true;
		c->deadline_ms = net_now_ms() + s->timeout_ms;
	}
	return c->out.failed ? -1 : rc;
}

static int client_write(const struct net_server *s, struct net_client *c)
{
	ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent, MSG_NOSIGNAL);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -1;
	c->sent += (size_t)n;
	c->deadline_ms = net_now_ms() + s->timeout_ms;
	if (c->sent < c->out.len)
		return 0;
	shutdown(c->fd, SHUT_WR);
	return -1;
}

/* ---- the loop ---- */

static int poll_fill(const struct net_server *s, const struct table *t, struct pollfd *p)
{
	int64_t soonest = s->due ? s->due(s->arg) : INT64_MAX, now = net_now_ms();

	p[0] = (struct pollfd){.fd = s->stop, .events = POLLIN};
	p[1] = (struct pollfd){.fd = s->listener, .events = POLLIN}; /* -1 is passed over */
	for (unsigned i = 0; i < t->n; i++) {
		const struct net_client *c = &t->client[i];

		p[2 + i] = (struct pollfd){.fd = c->fd, .events = c->answering ? POLLOUT : POLLIN};
		if (c->deadline_ms < soonest)
			soonest = c->deadline_ms;
	}
	return soonest <= now ? 0 : soonest - now > 60000 ? 60000 : (int)(soonest - now);
}

int net_serve(const struct net_server *s, struct errbuf *errp)
{
	struct table t = {.n = 0};
	struct pollfd p[2 + NET_CLIENTS];
	int rv = 0;

	for (;;) {
		int timeout_ms = poll_fill(s, &t, p);

		if (poll(p, 2 + t.n, timeout_ms) < 0 && errno != EINTR) {
			rv = err_set(errp, "the server failed: %s", strerror(errno));
			break;
		}
		if (p[0].revents)
			break;
		for (unsigned i = t.n; i-- > 0;) { /* backwards: closing moves the later ones */
			struct net_client *c = &t.client[i];
			int over = 0;

			if (p[2 + i].revents)
				over = c->answering ? client_write(s, c) : client_read(s, c);
			if (over < 0 || net_now_ms() >= c->deadline_ms)
				client_close(&t, i);
		}
		if (p[1].revents)
			client_accept(s, &t);
	}
	while (t.n)
		client_close(&t, 0);
	return rv;
}

/* ---- begin and end ---- */

struct addrinfo *net_address(const char *host, unsigned port, int flags, struct errbuf *errp)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = AF_UNSPEC, .ai_flags = flags};
	struct addrinfo *list = NULL;
	char service[16];
	int rc;

	snprintf(service, sizeof(service), "%u", port);
	rc = getaddrinfo(host, service, &hints, &list);
	if (rc) {
		err_set(errp, "%s: %s", host, gai_strerror(rc));
		return NULL;
	}
	return list;
}

int net_listen(const char *host, unsigned port, struct errbuf *errp)
{
	struct addrinfo *list = net_address(host, port, AI_PASSIVE, errp);
	int fd, one = 1;

	if (!list)
		return err_prefix(errp, "cannot listen");
	fd = socket(list->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0 ||
	    bind(fd, list->ai_addr, list->ai_addrlen) < 0 || listen(fd, NET_CLIENTS) < 0) {
		err_set(errp, "cannot listen on %s:%u: %s", host, port, strerror(errno));
		if (fd >= 0)
			close(fd);
		fd = -1;
	}
	freeaddrinfo(list);
	return fd;
}

unsigned net_port(int listener)
{
	struct sockaddr_in a = {0}; /* the port of IPv6 is at the same place */
	socklen_t len = sizeof(a);

	return getsockname(listener, (struct sockaddr *)&a, &len) == 0 ? ntohs(a.sin_port) : 0;
}

static void *thread_run(void *arg)
{
	struct errbuf why;

	if (net_serve(arg, &why) < 0)
		log_error("%s", why.text);
	return NULL;
}

static void release(struct net_server *s)
{
	if (s->listener >= 0)
		close(s->listener);
	if (s->stop >= 0)
		close(s->stop);
}

int net_start(struct net_server *s, const char *host, unsigned port, struct errbuf *errp)
{
	int rc;

	s->listener = host ? net_listen(host, port, errp) : -1;
	if (host && s->listener < 0)
		return -1;
	s->stop = eventfd(0, EFD_CLOEXEC);
	rc = s->stop < 0 ? errno : pthread_create(&s->thread, NULL, thread_run, s);
	s->running = !rc;
	if (!rc)
		return 0;
	release(s);
	return err_set(errp, "cannot start a server: %s", strerror(rc));
}

void net_stop(struct net_server *s)
{
	if (!s->running)
		return;
	if (eventfd_write(s->stop, 1) == 0)
		pthread_join(s->thread, NULL);
	release(s);
	s->running = false;
}
