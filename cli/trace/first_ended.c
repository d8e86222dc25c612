/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See first_ended.h. */
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "cli/trace/first_ended.h"
#include "common/array.h"
#include "trace/format/spill_format.h"
#include "trace/salvage/salvage.h"

/* Names of files in the order of their last close. */
struct order {
	char (*name)[NAME_MAX + 1];
	size_t n, cap;
};

int first_ended_watch(const char *dir)
{
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	if (fd >= 0 && inotify_add_watch(fd, dir, IN_CLOSE_WRITE) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

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

static void add_closed(struct order *o, const char *name)
{
	for (size_t i = 0; i < o->n; i++)
		if (!strcmp(o->name[i], name)) {
			memmove(o->name[i], o->name[i + 1], (o->n - i - 1) * sizeof(*o->name));
			o->n--;
			break;
		}
	if (id_length(name) && ARRAY_ROOM(o->name, o->cap, o->n + 1) == 0)
		snprintf(o->name[o->n++], sizeof(*o->name), "%s", name);
}

static void read_closed(int fd, struct order *o)
{
	union {
		struct inotify_event event;
		char bytes[16384];
	} room;
	ssize_t n;

	while ((n = read(fd, &room, sizeof(room))) > 0)
		for (char *p = room.bytes; p < room.bytes + n;) {
			const struct inotify_event *e = (const void *)p;

			if (e->len)
				add_closed(o, e->name);
			p += sizeof(*e) + e->len;
		}
}

/* Is there another file of the same run, from `from` on up to `to`? */
static bool has_sibling(const struct order *o, size_t i, size_t from, size_t to)
{
	size_t len = id_length(o->name[i]);

	for (size_t k = from; k < to; k++)
		if (k != i && id_length(o->name[k]) == len && !memcmp(o->name[k], o->name[i], len))
			return true;
	return false;
}

void first_ended_mark(int fd, const char *dir)
{
	struct order o = {0};
	int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), mark;
	char name[NAME_MAX + sizeof(SALVAGE_FIRST)];

	if (fd >= 0) {
		read_closed(fd, &o);
		close(fd);
	}
	for (size_t i = 0; at >= 0 && i < o.n; i++) {
		/* A rank that reached MPI_Finalize has removed its file. */
		if (has_sibling(&o, i, 0, i) || !has_sibling(&o, i, i, o.n) || faccessat(at, o.name[i], F_OK, 0) < 0)
			continue;
		snprintf(name, sizeof(name), "%s" SALVAGE_FIRST, o.name[i]);
		mark = openat(at, name, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		if (mark >= 0)
			close(mark);
	}
	if (at >= 0)
		close(at);
	free(o.name);
}
