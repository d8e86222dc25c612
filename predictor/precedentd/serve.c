/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The query server: one thread with its own connection to the store, so that neither slow clients nor a slow munged keep the
 * main loop from raising limits. Every connection has one request, one reply and five seconds; when the table is full the
 * oldest gives way. Everything static here belongs to the thread, but for what serve_start sets before it exists.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "predictor/query/answer.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/query/query.h"

#define CLIENTS_MAX 64

struct client {
	int fd;
	long long deadline_ms;
	struct buf in, out;
	size_t sent;
	bool replying;
};

static pthread_t thread;
static bool running;
static int listener = -1, stop_fd = -1;
static char *store_path;
static uid_t slurm_user;
static struct client clients[CLIENTS_MAX];
static unsigned clients_n;
static struct store *store;
static struct log_gate gate;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void fault_say(const char *text)
{
	if (log_gate_pass(&gate, text, time(NULL), 600))
		log_warn("query: %s", text);
}

static void client_close(unsigned i)
{
	close(clients[i].fd);
	buf_free(&clients[i].in);
	buf_free(&clients[i].out);
	clients[i] = clients[--clients_n];
}

static void client_accept(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	unsigned oldest = 0;

	if (fd < 0) {
		if ((errno == EMFILE || errno == ENFILE) && clients_n)
			client_close(0);
		return;
	}
	if (clients_n == CLIENTS_MAX) {
		for (unsigned i = 1; i < clients_n; i++)
			if (clients[i].deadline_ms < clients[oldest].deadline_ms)
				oldest = i;
		client_close(oldest);
	}
	clients[clients_n++] = (struct client){.fd = fd, .deadline_ms = now_ms() + QUERY_TIMEOUT_MS};
}

/* ---- one request ---- */

static char *request_answer(uid_t uid, const char *request, size_t len)
{
	struct answer_env env = {.uid = uid, .now = time(NULL)};
	struct errbuf why;
	char *reply;

	env.admin = uid == 0 || uid == slurm_user || uid == geteuid();
	if (!store && store_open(store_path, STORE_WRITE | STORE_WAIT, &store, &why) < 0) {
		fault_say(why.text);
		return strdup("{\"error\": \"precedentd cannot open its store; its log says why\"}");
	}
	env.store = store;
	env.conf = daemon_conf_hold();
	reply = answer_make(&env, request, len);
	daemon_conf_release();
	if (store_last_fault() == STORE_CORRUPT) { /* perhaps it has been replaced by now */
		store_close(store);
		store = NULL;
	}
	return reply;
}

/* From the frame that came in to the frame that goes out; -1 when the client is to be dropped. */
static int client_serve(struct client *c)
{
	const struct query_crypt *crypt = query_munge();
	char *cred = query_frame_credential(&c->in), *request = NULL, *reply = NULL, *sealed = NULL;
	struct errbuf why = {"no memory"};
	size_t len;
	uid_t uid;
	int rv = -1;

	buf_free(&c->in);
	if (!cred || crypt->unseal(cred, &request, &len, &uid, &why) < 0)
		goto out;
	reply = request_answer(uid, request, len);
	if (!reply || crypt->seal(reply, strlen(reply), uid, &sealed, &why) < 0 ||
	    query_frame_put(&c->out, sealed, &why) < 0)
		goto out;
	c->replying = true;
	rv = 0;
out:
	if (rv < 0)
		fault_say(why.text);
	free(cred);
	free(request);
	free(reply);
	free(sealed);
	return rv;
}

/* Each returns -1 when the connection is over. */
static int client_read(struct client *c)
{
	struct errbuf why;
	size_t need;
	ssize_t n;
	int rc;

	while ((rc = query_frame_check(&c->in, &need, &why)) == 0) {
		if (need > 65536)
			need = 65536; /* memory only for what has come */
		if (buf_reserve(&c->in, need) < 0)
			return -1;
		n = recv(c->fd, c->in.data + c->in.len, need, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -1;
		c->in.len += (size_t)n;
	}
	return rc < 0 ? -1 : client_serve(c);
}

/* ---- the thread ---- */

static int fill_poll(struct pollfd *p)
{
	long long now = now_ms(), soonest = now + 60000;

	p[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = listener, .events = POLLIN};
	for (unsigned i = 0; i < clients_n; i++) {
		p[2 + i] = (struct pollfd){.fd = clients[i].fd, .events = clients[i].replying ? POLLOUT : POLLIN};
		if (clients[i].deadline_ms < soonest)
			soonest = clients[i].deadline_ms;
	}
	return soonest > now ? (int)(soonest - now) : 0;
}

static void *serve_run(void *arg)
{
	struct pollfd p[2 + CLIENTS_MAX];

	(void)arg;
	for (;;) {
		unsigned n = clients_n;
		int timeout_ms = fill_poll(p), rc = poll(p, 2 + n, timeout_ms);

		if (rc < 0 && errno != EINTR)
			break;
		if (rc > 0 && p[0].revents)
			break;
		for (unsigned i = n; i-- > 0;) { /* backwards: closing moves the last one here */
			struct client *c = &clients[i];
			int over = 0;

			if (rc > 0 && p[2 + i].revents)
				over = c->replying ? reply_send(c->fd, &c->out, &c->sent) : client_read(c);
			if (over < 0 || now_ms() >= c->deadline_ms)
				client_close(i);
		}
		if (rc > 0 && p[1].revents)
			client_accept();
	}
	while (clients_n)
		client_close(0);
	store_close(store);
	store = NULL;
	return NULL;
}

int serve_start(const char *host, unsigned port, const char *store_file, uid_t slurm_uid, struct errbuf *errp)
{
	int rc;

	slurm_user = slurm_uid;
	store_path = strdup(store_file);
	listener = query_listen(host, port, errp);
	if (listener < 0)
		goto fail;
	stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = stop_fd < 0 || !store_path ? errno : pthread_create(&thread, NULL, serve_run, NULL);
	if (rc) {
		err_set(errp, "query server: %s", strerror(rc));
		goto fail;
	}
	running = true;
	return 0;
fail:
	if (listener >= 0)
		close(listener);
	if (stop_fd >= 0)
		close(stop_fd);
	listener = stop_fd = -1;
	free(store_path);
	store_path = NULL;
	return -1;
}

void serve_stop(void)
{
	if (!running)
		return;
	if (eventfd_write(stop_fd, 1) == 0)
		pthread_join(thread, NULL);
	close(listener);
	close(stop_fd);
	listener = stop_fd = -1;
	free(store_path);
	store_path = NULL;
	running = false;
}
