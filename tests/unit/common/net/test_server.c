/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clients that trickle, say nothing, take nothing or come in crowds, against a server in a thread. */
#include <netinet/in.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/net/server.h"

#define BIG	(32u << 20) /* more than the kernel keeps of a reply */
#define LONG_MS 60000
#define CROWD	(NET_CLIENTS + 10)

/* A request is a line. */
static int answer(struct net_client *c, void *arg)
{
	(void)arg;
	if (!memchr(c->in.data, '\n', c->in.len))
		return 0;
	if (*c->in.data == 'd')
		return -1;
	if (*c->in.data == 'b' && buf_reserve(&c->out, BIG) == 0) {
		memset(c->out.data, 'b', BIG);
		c->out.len = BIG;
	} else {
		buf_put(&c->out, c->in.data, c->in.len);
	}
	return 1;
}

static struct net_server server;

static void start(int timeout_ms)
{
	struct errbuf why;

	server = (struct net_server){.answer = answer, .timeout_ms = timeout_ms};
	if (net_start(&server, "127.0.0.1", 0, &why) < 0)
		fail_msg("%s", why.text);
}

static int client(const char *request)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
				.sin_port = htons((uint16_t)net_port(server.listener))};
	struct timeval patience = {.tv_sec = 60};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	assert_int_equal(connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
	return fd;
}

/* Bytes until the server closes; a failure while it does not. */
static size_t taken(int fd)
{
	static char bytes[1 << 16];
	size_t all = 0;
	ssize_t n;

	while ((n = recv(fd, bytes, sizeof(bytes), 0)) > 0)
		all += (size_t)n;
	assert_int_equal(n, 0);
	close(fd);
	return all;
}

static void test_answer(void **state)
{
	int fd;

	(void)state;
	start(LONG_MS);
	fd = client("one ");
	assert_int_equal(taken(client("two\n")), 4);
	assert_int_equal(send(fd, "line\n", 5, MSG_NOSIGNAL), 5);
	assert_int_equal(taken(fd), 9);
	assert_int_equal(taken(client("big\n")), BIG);
	assert_int_equal(taken(client("drop\n")), 0);
	net_stop(&server);
	net_stop(&server);
}

/* A byte now and then does not put off the deadline of the request. */
static void test_trickle(void **state)
{
	struct pollfd p;
	unsigned sent = 0;

	(void)state;
	start(200);
	p = (struct pollfd){.fd = client(""), .events = POLLIN};
	while (sent < 8000 && poll(&p, 1, 1) == 0 && send(p.fd, "a", 1, MSG_NOSIGNAL) == 1)
		sent++;
	assert_true(sent < 8000);
	close(p.fd);
	assert_int_equal(taken(client("")), 0); /* nor does silence */
	net_stop(&server);
}

static void test_takes_nothing(void **state)
{
	int fd;

	(void)state;
	start(50);
	fd = client("big\n");
	for (int i = 0; i < 3; i++) /* each lives for the time that fd may wait */
		assert_int_equal(taken(client("")), 0);
	assert_true(taken(fd) < BIG);
	net_stop(&server);
}

static void test_crowd(void **state)
{
	int fd[CROWD], big;
	char c;

	(void)state;
	start(LONG_MS);
	big = client("big\n");
	assert_int_equal(recv(big, &c, 1, 0), 1); /* it is being answered */
	for (unsigned i = 0; i < CROWD; i++)
		fd[i] = client("");
	assert_int_equal(taken(client("last\n")), 5);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(taken(fd[i]), 0); /* the oldest gave way */
	assert_int_equal(send(fd[CROWD - 1], "too\n", 4, MSG_NOSIGNAL), 4);
	assert_int_equal(taken(fd[CROWD - 1]), 4);
	assert_int_equal(taken(big), BIG - 1);
	for (unsigned i = 10; i < CROWD - 1; i++)
		close(fd[i]);
	net_stop(&server);
}

static int64_t tell(void *arg)
{
	assert_int_equal(eventfd_write(*(int *)arg, 1), 0);
	return net_now_ms() + 1;
}

static void test_due(void **state)
{
	struct pollfd p = {.fd = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE), .events = POLLIN};
	struct errbuf why;
	eventfd_t one;

	(void)state;
	server = (struct net_server){.answer = answer, .due = tell, .arg = &p.fd, .timeout_ms = LONG_MS};
	assert_int_equal(net_start(&server, NULL, 0, &why), 0);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(poll(&p, 1, LONG_MS), 1);
		assert_int_equal(eventfd_read(p.fd, &one), 0);
	}
	net_stop(&server);
	close(p.fd);
}

static void test_listen(void **state)
{
	struct sockaddr_in sa;
	socklen_t len = sizeof(sa);
	struct errbuf e;
	int fd = net_listen("127.0.0.1", 0, &e);

	(void)state;
	assert_int_equal(getsockname(fd, (struct sockaddr *)&sa, &len), 0);
	assert_int_equal(ntohl(sa.sin_addr.s_addr), INADDR_LOOPBACK);
	assert_int_equal(ntohs(sa.sin_port), net_port(fd));
	assert_int_equal(net_listen("127.0.0.1", net_port(fd), &e), -1);
	assert_non_null(strstr(e.text, "in use"));
	assert_int_equal(net_start(&server, "127.0.0.1", net_port(fd), &e), -1);
	net_stop(&server); /* legal */
	close(fd);
	fd = net_listen("::1", 0, &e);
	if (fd >= 0) /* a machine without IPv6 has none */
		assert_true(net_port(fd) != 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answer),
		cmocka_unit_test(test_trickle),
		cmocka_unit_test(test_takes_nothing),
		cmocka_unit_test(test_crowd),
		cmocka_unit_test(test_due),
		cmocka_unit_test(test_listen),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
