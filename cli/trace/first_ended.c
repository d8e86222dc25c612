/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See first_ended.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/trace/first_ended.h"
#include "cli/ui/util.h"
#include "common/array.h"
#include "common/fd.h"
#include "trace/format/spill_format.h"
#include "trace/salvage/salvage.h"

/* Ranks of both MPI libraries ended within a second after their launcher was killed. */
#define ORPHANS_S 15.0
#define LOOK_MS	  100

/* Files in the order of their last close. */
struct closed {
	char name[NAME_MAX + 1];
	double at_s;
};

struct first_ended {
	int fd;     /* of inotify */
	int end[2]; /* a pipe: the thread ends when its write side is closed */
	pthread_t thread;
	struct closed *v;
	size_t n, cap;
};

/* The length of the run's id in <id>.r<rank>.spill; 0 if this is no spill file. */
static size_t id_length(const char *name)
{
	size_t len = strlen(name), tail = strlen(SPILL_SUFFIX);

	if (len <= tail || strcmp(name + len - tail, SPILL_SUFFIX))
		return 0;
	for (len -= tail; len > 0 && name[len - 1] >= '0' && name[len - 1] <= '9';)
		len--;
	return len > 2 && name[len - 1] == 'r' && name[len - 2] == '.' ? len - 2 : 0;
}

static void add_closed(struct first_ended *w, const char *name, double at_s)
{
	for (size_t i = 0; i < w->n; i++)
		if (!strcmp(w->v[i].name, name)) {
			memmove(&w->v[i], &w->v[i + 1], (w->n - i - 1) * sizeof(*w->v));
			w->n--;
			break;
		}
	if (id_length(name) && ARRAY_ROOM(w->v, w->cap, w->n + 1) == 0) {
		snprintf(w->v[w->n].name, sizeof(w->v->name), "%s", name);
		w->v[w->n++].at_s = at_s;
	}
}

static void read_closed(struct first_ended *w)
{
	union {
		struct inotify_event event;
		char bytes[16384];
	} room;
	ssize_t n;

	while ((n = read(w->fd, &room, sizeof(room))) > 0)
		for (char *p = room.bytes; p < room.bytes + n;) {
			const struct inotify_event *e = (const void *)p;

			if (e->len)
				add_closed(w, e->name, cli_now());
			p += sizeof(*e) + e->len;
		}
}

static void *watch(void *arg)
{
	struct first_ended *w = arg;
	struct pollfd p[2] = {{.fd = w->fd, .events = POLLIN}, {.fd = w->end[0], .events = POLLIN}};

	while (!p[1].revents) {
		if (poll(p, 2, -1) < 0 && errno != EINTR)
			break;
		read_closed(w);
	}
	return NULL;
}

/* The program's signals are not for the thread. */
static int start_thread(struct first_ended *w)
{
	sigset_t all, old;
	int rc;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	rc = pthread_create(&w->thread, NULL, watch, w);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return rc;
}

struct first_ended *first_ended_watch(const char *dir)
{
	struct first_ended *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (w->fd >= 0 && inotify_add_watch(w->fd, dir, IN_CLOSE_WRITE) >= 0 && pipe2(w->end, O_CLOEXEC) == 0) {
		if (start_thread(w) == 0)
			return w;
		close(w->end[0]);
		close(w->end[1]);
	}
	if (w->fd >= 0)
		close(w->fd);
	free(w);
	return NULL;
}

static bool same_run(const struct closed *a, const struct closed *b)
{
	size_t len = id_length(a->name);

	return id_length(b->name) == len && !memcmp(a->name, b->name, len);
}

/* Writes the mark of file i, if the file is the first of its run and not the only one. */
static void mark(const struct first_ended *w, int at, size_t i, int launcher_signal)
{
	char name[NAME_MAX + sizeof(SALVAGE_FIRST)], text[64];
	double last_s = -1;
	int fd, n;

	for (size_t k = 0; k < w->n; k++) {
		if (k == i || !same_run(&w->v[i], &w->v[k]))
			continue;
		if (k < i)
			return;
		last_s = w->v[k].at_s;
	}
	/* A rank that reached MPI_Finalize has removed its file. */
	if (last_s < 0 || faccessat(at, w->v[i].name, F_OK, 0) < 0)
		return;
	snprintf(name, sizeof(name), "%s" SALVAGE_FIRST, w->v[i].name);
	n = snprintf(text, sizeof(text), "%.6f %d\n", last_s - w->v[i].at_s, launcher_signal);
	fd = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd >= 0) {
		fd_write_all(fd, text, (size_t)n);
		close(fd);
	}
}

/* Is there a spill file that some process still has open? */
static bool is_one_open(const struct first_ended *w, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	bool open = false;

	while (d && !open && (e = readdir(d))) {
		open = id_length(e->d_name) > 0;
		for (size_t i = 0; open && i < w->n; i++)
			open = strcmp(w->v[i].name, e->d_name) != 0;
	}
	if (d)
		closedir(d);
	return open;
}

/* Ranks whose launcher was killed end by themselves, or not at all. */
static void wait_for_orphans(struct first_ended *w, const char *dir)
{
	struct pollfd p = {.fd = w->fd, .events = POLLIN};
	double end_s = cli_now() + ORPHANS_S;

	while (is_one_open(w, dir) && cli_now() < end_s) {
		poll(&p, 1, LOOK_MS);
		read_closed(w);
	}
}

void first_ended_mark(struct first_ended *w, const char *dir, int launcher_signal)
{
	int at;

	if (!w)
		return;
	close(w->end[1]);
	pthread_join(w->thread, NULL);
	close(w->end[0]);
	read_closed(w);
	if (launcher_signal)
		wait_for_orphans(w, dir);
	close(w->fd);
	at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; at >= 0 && i < w->n; i++)
		mark(w, at, i, launcher_signal);
	if (at >= 0)
		close(at);
	free(w->v);
	free(w);
}
