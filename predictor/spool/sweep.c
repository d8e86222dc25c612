/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs that died have left in the spool and nobody came for: parts whose other parts never arrived, markers, locks,
 * unfinished traces. See spool.h. Every step goes by directory descriptor, follows no link and checks the owner.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "predictor/spool/spool.h"

#define ENTRIES_MAX 65536
#define DIR_FLAGS   (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)

struct sweep {
	int64_t before;
	const uint32_t *live; /* sorted */
	size_t n_live;
	const atomic_bool *stop;
	struct spool_swept *out;
};

static bool ends_in(const char *name, const char *end)
{
	size_t n = strlen(name), k = strlen(end);

	return n > k && !strcmp(name + n - k, end);
}

static bool is_unfinished_trace(const char *name)
{
	static const char mark[] = ".ptrace.tmp.";
	const char *at = strstr(name, mark), *digits = at ? at + sizeof(mark) - 1 : NULL;

	return at && at > name && *digits && !digits[strspn(digits, "0123456789")];
}

bool spool_is_leftover(const char *name)
{
	static const char *const begins[] = {".present.", ".collect."}, *const ends[] = {".spill", ".spill.part", ".spill.ended"};

	for (size_t i = 0; i < sizeof(begins) / sizeof(*begins); i++)
		if (!strncmp(name, begins[i], strlen(begins[i])))
			return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (name[0] != '.' && ends_in(name, ends[i]))
			return true;
	return name[0] != '.' && is_unfinished_trace(name);
}

/* A file whose owner changes it between look and removal is still an entry of his own directory. */
static void sweep_entry(struct sweep *s, int dir, const char *name, uid_t uid)
{
	struct stat st;

	if (!spool_is_leftover(name) || fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != uid || (int64_t)st.st_mtime >= s->before)
		return;
	if (unlinkat(dir, name, 0) == 0) {
		s->out->removed++;
		s->out->bytes += (uint64_t)st.st_blocks * 512;
	} else if (errno != ENOENT) {
		s->out->kept++;
	}
}

/* Directories are named by numbers as we write them; anything else is none of ours. */
static bool number_of(const char *name, uint32_t *number)
{
	unsigned long long v;

	if (name[0] < '0' || name[0] > '9' || (name[0] == '0' && name[1]) || name[strspn(name, "0123456789")] ||
	    strlen(name) > 10)
		return false;
	v = strtoull(name, NULL, 10);
	*number = (uint32_t)v;
	return v <= UINT32_MAX;
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* The directory `name` of that user; -1 where it is not. */
static int open_own(int parent, const char *name, uid_t uid)
{
	int fd = openat(parent, name, DIR_FLAGS);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != uid)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

typedef void sweep_visit(struct sweep *s, int dir, const char *name, uid_t uid);

/* Takes fd. A user may have made any number of entries: the look stays short. */
static void sweep_each(struct sweep *s, int fd, uid_t uid, sweep_visit *visit)
{
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;

	if (!d && fd >= 0)
		close(fd);
	for (unsigned seen = 0; d && seen < ENTRIES_MAX && !atomic_load(s->stop) && (e = readdir(d)); seen++)
		visit(s, dirfd(d), e->d_name, uid);
	if (d)
		closedir(d);
}

static void sweep_job(struct sweep *s, int parent, const char *name, uid_t uid)
{
	uint32_t job;

	if (number_of(name, &job) && !bsearch(&job, s->live, s->n_live, sizeof(job), by_number))
		sweep_each(s, open_own(parent, name, uid), uid, sweep_entry);
}

static void sweep_user(struct sweep *s, int parent, const char *name, uid_t unused)
{
	uint32_t uid;

	(void)unused;
	if (number_of(name, &uid))
		sweep_each(s, open_own(parent, name, uid), uid, sweep_job);
}

void spool_sweep(const char *spool_dir, int64_t before, const uint32_t *live, size_t n_live, const atomic_bool *stop,
		 struct spool_swept *out)
{
	struct sweep s = {.before = before, .live = live, .n_live = n_live, .stop = stop, .out = out};

	*out = (struct spool_swept){0};
	sweep_each(&s, open(spool_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), 0, sweep_user);
}
