/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Temporary directories: see temp_dir.h. Nothing here allocates memory: a signal handler may remove directories. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/temp_dir.h"

#define LISTED_MAX 8    /* a verb has up to three at once */
#define TRIES      100  /* for a directory in which processes that are being ended still make files */
#define NAMES_SIZE 4096 /* of names that one call of the kernel returns; on the stack for each level of directories */

static struct listed {
	volatile sig_atomic_t used;
	char path[PATH_MAX];
} listed[LISTED_MAX];

/* A directory that does not fit is not listed. Call with all signals blocked. */
static void list(const char *path)
{
	for (size_t i = 0; i < LISTED_MAX && strlen(path) < PATH_MAX; i++)
		if (!listed[i].used) {
			strcpy(listed[i].path, path);
			listed[i].used = 1;
			return;
		}
}

/* Makes a directory of its own name, or one like the template, and lists it before a signal can end this process. */
static int make(char *template, const char *path)
{
	sigset_t all, old;
	int rv, error;

	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	rv = template ? (mkdtemp(template) ? 0 : -1) : mkdir(path, 0700);
	error = errno;
	if (rv == 0)
		list(template ? template : path);
	sigprocmask(SIG_SETMASK, &old, NULL);
	errno = error;
	return rv;
}

int temp_dir_make(char *template)
{
	return make(template, NULL);
}

int temp_dir_make_named(const char *path)
{
	return make(NULL, path);
}

void temp_dir_keep(const char *path)
{
	for (size_t i = 0; i < LISTED_MAX; i++)
		if (listed[i].used && !strcmp(listed[i].path, path))
			listed[i].used = 0;
}

/* As getdents64(2) writes it. */
struct entry {
	uint64_t inode;
	int64_t offset;
	uint16_t size;
	uint8_t type;
	char name[];
};

static void remove_below(int fd);

static bool remove_one(int dir, const char *name)
{
	int sub;

	if (unlinkat(dir, name, 0) == 0)
		return true;
	sub = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (sub >= 0) {
		remove_below(sub);
		close(sub);
	}
	return unlinkat(dir, name, AT_REMOVEDIR) == 0;
}

/* Reads again from the beginning until a pass has removed nothing: removing may hide names from a pass. */
static void remove_below(int fd)
{
	char names[NAMES_SIZE] __attribute__((aligned(8)));
	bool removed;

	do {
		long n;

		removed = false;
		lseek(fd, 0, SEEK_SET);
		while ((n = syscall(SYS_getdents64, fd, names, sizeof(names))) > 0)
			for (long at = 0; at < n;) {
				const struct entry *e = (const struct entry *)(const void *)(names + at);

				if (strcmp(e->name, ".") && strcmp(e->name, ".."))
					removed |= remove_one(fd, e->name);
				at += e->size;
			}
	} while (removed);
}

static void remove_dir(const char *path)
{
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		return;
	for (int i = 0; i < TRIES; i++) {
		remove_below(fd);
		if (rmdir(path) == 0 || errno != ENOTEMPTY)
			break;
	}
	close(fd);
}

void temp_dir_remove(const char *path)
{
	if (!path)
		return;
	remove_dir(path);
	temp_dir_keep(path);
}

void temp_dir_remove_all(void)
{
	for (size_t i = 0; i < LISTED_MAX; i++)
		if (listed[i].used)
			remove_dir(listed[i].path);
}
