/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics: one thread with its own connection to the store, so that neither a slow disk nor a slow reader keeps the main
 * loop from raising limits. Every few seconds it writes MetricsFile, beside and renamed; on MetricsListen it answers
 * GET /metrics, one request a connection, in five seconds. What it reads of the store is read again when that has become
 * cheap enough: at most one part in COST_SHARE of the time goes there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "predictor/metrics/metrics.h"
#include "predictor/metrics/http.h"
#include "predictor/precedentd/daemon.h"
#include "predictor/query/query.h"

#define CLIENTS_MAX 16
#define CLIENT_MS   5000
#define FILE_MS	    15000
#define FIRST_MS    3000 /* a first look should be over by then */
#define COST_SHARE  200

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct metrics_live live; /* under live_lock; written by the main thread */

/* Owned by the thread; metrics_start sets some of these before the thread exists. */
struct client {
	int fd;
	long long deadline_ms;
	struct buf in, out;
	size_t sent;
};

static pthread_t thread;
static bool running;
static int listener = -1, stop_fd = -1;
static char *store_path, *file_path; /* file_path NULL: none */
static struct client clients[CLIENTS_MAX];
static unsigned clients_n;
static struct store *store;
static struct metrics_stored stored;
static struct precedent_conf candidates; /* these alone, of the configuration */
static bool stored_good;
static long long stored_next_ms, file_next_ms;
static struct log_gate gate;

static long long now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

void metrics_look(double seconds, bool good, size_t jobs, uint32_t period_s, const struct job_counts *counts)
{
	pthread_mutex_lock(&live_lock);
	live.looks++;
	live.failed_looks += !good;
	live.look_s = seconds;
	live.look_total_s += seconds;
	live.period_s = period_s;
	if (good) {
		live.looked = time(NULL);
		live.jobs = jobs;
	}
	live.counts = *counts;
	pthread_mutex_unlock(&live_lock);
}

static void fault_say(const char *text)
{
	if (log_gate_pass(&gate, text, time(NULL), 600))
		log_warn("metrics: %s", text);
}

/* ---- the text ---- */

/* Reading takes its time, and who holds the configuration keeps the main loop from changing it. */
static void candidates_copy(void)
{
	const struct precedent_conf *conf = daemon_conf_hold();

	candidates.n_candidates = conf->n_candidates;
	memcpy(candidates.candidates, conf->candidates, sizeof(candidates.candidates));
	daemon_conf_release();
}

static void stored_refresh(void)
{
	long long before = now_ms(), took;
	struct errbuf why;

	if (before < stored_next_ms)
		return;
	stored_good = false;
	if (!store && store_open(store_path, STORE_READ | STORE_WAIT, &store, &why) < 0) {
		if (store_last_fault() != STORE_MISSING) /* the main loop has yet to make it */
			fault_say(why.text);
	} else {
		candidates_copy();
		stored_good = metrics_collect(store, &candidates, time(NULL), &stored, &why) == 0;
		if (!stored_good) {
			fault_say(why.text);
			store_close(store);
			store = NULL;
		}
	}
	took = now_ms() - before;
	stored_next_ms = before + (took * COST_SHARE > FILE_MS ? took * COST_SHARE : FILE_MS - 1000);
}

static void text_make(struct buf *out)
{
	struct metrics_live now;

	stored_refresh();
	pthread_mutex_lock(&live_lock);
	now = live;
	pthread_mutex_unlock(&live_lock);
	metrics_format(&now, stored_good ? &stored : NULL, out);
}

/* ---- the file ---- */

static int file_replace(const struct buf *text, struct errbuf *errp)
{
	char *tmp = NULL;
	ssize_t n = -1;
	int fd, rv = -1;

	/* node_exporter reads *.prom: not this one */
	if (asprintf(&tmp, "%s.new", file_path) < 0)
		return err_set(errp, "no memory");
	unlink(tmp); /* of a daemon that was killed, or not ours at all */
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644);
	if (fd >= 0)
		n = write(fd, text->data, text->len);
	if (n != (ssize_t)text->len || fchmod(fd, 0644) < 0 || rename(tmp, file_path) < 0) {
		err_set(errp, "%s cannot be written: %s", file_path, n >= 0 && n < (ssize_t)text->len ? "no room" : strerror(errno));
		if (fd >= 0)
			unlink(tmp);
	} else {
		rv = 0;
	}
	if (fd >= 0)
		close(fd);
	free(tmp);
	return rv;
}

static void file_write(void)
{
	struct buf text = {0};
	struct errbuf why;

	if (!file_path || now_ms() < file_next_ms)
		return;
	file_next_ms = now_ms() + FILE_MS;
	text_make(&text);
	if (text.failed)
		fault_say("no memory");
	else if (file_replace(&text, &why) < 0)
		fault_say(why.text);
	buf_free(&text);
}

/* ---- the port ---- */

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

	if (fd < 0) {
		if ((errno == EMFILE || errno == ENFILE) && clients_n)
			client_close(0);
		return;
	}
	if (clients_n == CLIENTS_MAX)
		client_close(0); /* the oldest, or nearly */
	clients[clients_n++] = (struct client){.fd = fd, .deadline_ms = now_ms() + CLIENT_MS};
}

/* Each returns -1 when the connection is over. */
static int client_read(struct client *c)
{
	struct buf text = {0};
	ssize_t n;
	int rc;

	if (buf_reserve(&c->in, 1024) < 0)
		return -1;
	n = recv(c->fd, c->in.data + c->in.len, 1024, 0);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return 0;
	if (n <= 0)
		return -1;
	c->in.len += (size_t)n;
	rc = metrics_http_request(&c->in);
	if (!rc)
		return 0;
	if (rc == 200)
		text_make(&text);
	metrics_http_reply(rc, &text, &c->out);
	rc = text.failed || c->out.failed ? -1 : 0;
	buf_free(&text);
	return rc;
}

/* ---- the thread ---- */

static int fill_poll(struct pollfd *p)
{
	long long now = now_ms(), soonest = file_path && file_next_ms < now + 60000 ? file_next_ms : now + 60000;

	p[0] = (struct pollfd){.fd = stop_fd, .events = POLLIN};
	p[1] = (struct pollfd){.fd = listener, .events = POLLIN}; /* -1 is passed over */
	for (unsigned i = 0; i < clients_n; i++) {
		p[2 + i] = (struct pollfd){.fd = clients[i].fd, .events = clients[i].out.len ? POLLOUT : POLLIN};
		if (clients[i].deadline_ms < soonest)
			soonest = clients[i].deadline_ms;
	}
	return soonest > now ? (int)(soonest - now) : 0;
}

static void *metrics_run(void *arg)
{
	struct pollfd p[2 + CLIENTS_MAX];

	(void)arg;
	file_next_ms = now_ms() + FIRST_MS;
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
				over = c->out.len ? reply_send(c->fd, &c->out, &c->sent) : client_read(c);
			if (over < 0 || now_ms() >= c->deadline_ms)
				client_close(i);
		}
		if (rc > 0 && p[1].revents)
			client_accept();
		file_write();
	}
	while (clients_n)
		client_close(0);
	store_close(store);
	store = NULL;
	return NULL;
}

static void release(void)
{
	if (listener >= 0)
		close(listener);
	if (stop_fd >= 0)
		close(stop_fd);
	listener = stop_fd = -1;
	free(store_path);
	free(file_path);
	store_path = file_path = NULL;
}

int metrics_start(const struct precedent_conf *c, struct errbuf *errp)
{
	int rc;

	live.started = time(NULL);
	if (!*c->metrics_file && !c->metrics_port)
		return 0;
	store_path = strdup(c->store_file);
	file_path = *c->metrics_file ? strdup(c->metrics_file) : NULL;
	if (c->metrics_port) {
		listener = query_listen(c->metrics_host, c->metrics_port, errp);
		if (listener < 0) {
			err_prefix(errp, "MetricsListen");
			goto fail;
		}
	}
	stop_fd = eventfd(0, EFD_CLOEXEC);
	rc = stop_fd < 0 || !store_path || (*c->metrics_file && !file_path) ? errno
									     : pthread_create(&thread, NULL, metrics_run, NULL);
	if (rc) {
		err_set(errp, "metrics: %s", strerror(rc));
		goto fail;
	}
	running = true;
	return 0;
fail:
	release();
	return -1;
}

void metrics_stop(void)
{
	if (!running)
		return;
	if (eventfd_write(stop_fd, 1) == 0)
		pthread_join(thread, NULL);
	release();
	running = false;
}
