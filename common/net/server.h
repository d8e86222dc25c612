/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A server over TCP in one thread: a connection has one request and one reply. Clients are not trusted. A request has a
 * deadline as a whole, and a client that takes nothing of its reply has the same deadline. When the table is full,
 * the client that has waited longest gives way; clients that have sent no whole request go first.
 */
#ifndef PRECEDENT_COMMON_NET_SERVER_H
#define PRECEDENT_COMMON_NET_SERVER_H

#include <pthread.h>
#include <stdint.h>

#include "common/buf.h"
#include "common/errbuf.h"

#define NET_CLIENTS 64

struct net_client {
	struct buf in;	/* what has come so far */
	struct buf out; /* the reply */
	/* the server's own: */
	int fd;
	bool answering;
	int64_t deadline_ms;
	size_t sent;
};

struct net_server {
	/* Called after each arrival. 0: the request is incomplete, 1: the reply is in `out`, -1: drop the client. It must
	 * bound the length of a request. */
	int (*answer)(struct net_client *c, void *arg);
	/* NULL, or does what is due at a time. Returns when it must be called again, by net_now_ms(). */
	int64_t (*due)(void *arg);
	void *arg;
	int timeout_ms;
	int listener; /* -1: none */
	int stop;     /* the server ends when this can be read */
	/* of net_start: */
	pthread_t thread;
	bool running;
};

int64_t net_now_ms(void); /* monotonic */

struct addrinfo;
/* Addresses of a TCP port; flags are those of getaddrinfo(3). NULL with the reason. The caller calls freeaddrinfo. */
struct addrinfo *net_address(const char *host, unsigned port, int flags, struct errbuf *errp);

/* A listening socket (non-blocking, close-on-exec) on exactly host:port, or -1. port 0 lets the kernel choose. */
int net_listen(const char *host, unsigned port, struct errbuf *errp);
unsigned net_port(int listener);

/* Answer clients in this thread until `stop` can be read: then 0. The caller closes `listener` and `stop`. */
int net_serve(const struct net_server *s, struct errbuf *errp);

/* The same in a thread of its own, on host:port; host NULL: no clients. Sets `listener` and `stop`. */
int net_start(struct net_server *s, const char *host, unsigned port, struct errbuf *errp);
void net_stop(struct net_server *s); /* waits for the thread; legal when it was not started */

#endif
