/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The metrics: one thread with its own connection to the store, so that neither a slow disk nor a slow reader keeps the main
 * loop from raising limits. Every few seconds it writes MetricsFile, beside and renamed; on MetricsListen it answers
 * GET /metrics, one request a connection, in five seconds. What it reads of the store is read again when that has become
 * cheap enough: at most one part in COST_SHARE of the time goes there.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/log.h"
#include "common/net/http.h"
#include "common/net/server.h"
#include "predictor/metrics/metrics.h"
#include "predictor/precedentd/daemon.h"

#define CLIENT_MS  5000
#define FILE_MS	   15000
#define FIRST_MS   3000 /* a first look should be over by then */
#define COST_SHARE 200

static pthread_mutex_t live_lock = PTHREAD_MUTEX_INITIALIZER;
static struct metrics_live live; /* under live_lock; written by the main thread */

/* Owned by the thread; metrics_start sets some of these before the thread exists. */
static char *store_path, *file_path; /* file_path NULL: none */
static struct store *store;
static struct metrics_stored stored;
static struct precedent_conf candidates; /* these alone, of the configuration */
static bool stored_good;
static int64_t stored_next_ms, file_next_ms;
static struct log_gate gate;

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
	int64_t before = net_now_ms(), took;
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
	took = net_now_ms() - before;
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

static int64_t file_write(void *arg)
{
	struct buf text = {0};
	struct errbuf why;

	(void)arg;
	if (!file_path)
		return INT64_MAX;
	if (net_now_ms() < file_next_ms)
		return file_next_ms;
	file_next_ms = net_now_ms() + FILE_MS;
	text_make(&text);
	if (text.failed)
		fault_say("no memory");
	else if (file_replace(&text, &why) < 0)
		fault_say(why.text);
	buf_free(&text);
	return file_next_ms;
}

/* ---- the port ---- */

static int answer(struct net_client *c, void *arg)
{
	struct http_request r;
	struct buf text = {0};
	int status = http_request(&c->in, &r);
	bool failed;

	(void)arg;
	if (status == 200 && !strcmp(r.path, "/metrics")) {
		text_make(&text);
		http_reply(&c->out, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
	} else if (status) {
		http_refuse(&c->out, status == 200 ? 404 : status, NULL);
	}
	failed = text.failed;
	buf_free(&text);
	return failed ? -1 : status != 0;
}

/* ---- begin and end ---- */

static struct net_server server = {.answer = answer, .due = file_write, .timeout_ms = CLIENT_MS};

static void release(void)
{
	store_close(store);
	free(store_path);
	free(file_path);
	store = NULL;
	store_path = file_path = NULL;
}

int metrics_start(const struct precedent_conf *c, struct errbuf *errp)
{
	live.started = time(NULL);
	if (!*c->metrics_file && !c->metrics_port)
		return 0;
	store_path = strdup(c->store_file);
	file_path = *c->metrics_file ? strdup(c->metrics_file) : NULL;
	file_next_ms = net_now_ms() + FIRST_MS;
	if (!store_path || (*c->metrics_file && !file_path))
		err_set(errp, "metrics: no memory");
	else if (net_start(&server, c->metrics_port ? c->metrics_host : NULL, c->metrics_port, errp) < 0)
		err_prefix(errp, "MetricsListen");
	else
		return 0;
	release();
	return -1;
}

void metrics_stop(void)
{
	net_stop(&server);
	release();
}
