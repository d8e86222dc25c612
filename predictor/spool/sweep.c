/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What runs that died have left in the spool and nobody came for: parts whose other parts never arrived, markers, locks,
 * unfinished traces, empty directories. See spool.h. Every step goes by descriptor, follows no link, checks the owner.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fd.h"
#include "predictor/spool/walk.h"

#define DIR_FLAGS (O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK)
#define NEW_JOBS  10000 /* so many jobs may come while the spool is swept */

struct sweep {
	const struct spool_order *order;
	spool_use_fn *tell;
	void *arg;
	uid_t uid; /* whose directory this is */
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
static void sweep_entry(void *arg, int dir, const char *name)
{
	struct sweep *s = arg;
	struct stat st;

	if (!spool_is_leftover(name) || fd_stat_here(dir, name, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_uid != s->uid || (int64_t)st.st_mtime >= s->order->before)
		return;
	if (unlinkat(dir, name, 0) == 0) {
		s->out->removed++;
		s->out->bytes += (uint64_t)st.st_blocks * 512;
	} else if (errno != ENOENT) {
		s->out->kept++;
	}
}

bool walk_number(const char *name, uint32_t *number)
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

static bool is_in(uint32_t job, const uint32_t *jobs, size_t n)
{
	return n && bsearch(&job, jobs, n, sizeof(job), by_number);
}

bool walk_is_live(const struct spool_order *order, const char *name)
{
	uint32_t job, last = order->n_jobs ? order->jobs[order->n_jobs - 1] : 0;

	if (!walk_number(name, &job))
		return false;
	return !order->n_jobs || (job > last && job - last <= NEW_JOBS) || is_in(job, order->jobs, order->n_jobs);
}

int walk_open(int parent, const char *name, uid_t uid)
{
	int fd = fd_open_here(parent, name, DIR_FLAGS);
	struct stat st;

	if (fd >= 0 && (fstat(fd, &st) < 0 || st.st_uid != uid)) {
		close(fd);
		errno = ENOENT;
		fd = -1;
	}
	return fd;
}

bool walk_each(int fd, const atomic_bool *stop, walk_visit *visit, void *arg)
{
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
	struct dirent *e;
	unsigned seen = 0;

	if (!d && fd >= 0)
		close(fd);
	for (; d && seen < WALK_ENTRIES && !atomic_load(stop) && (e = readdir(d)); seen++)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			visit(arg, dirfd(d), e->d_name);
	if (d)
		closedir(d);
	return seen < WALK_ENTRIES;
}

/* An empty directory goes; unlinkat refuses one that is not empty. */
static void sweep_job(void *arg, int parent, const char *name)
{
	struct sweep *s = arg;
	struct stat st;
	uint32_t job;
	int fd;

	if (!walk_number(name, &job) || is_in(job, s->order->live, s->order->n_live) || (fd = walk_open(parent, name, s->uid)) < 0)
		return;
	if (fstat(fd, &st) < 0)
		st.st_mtime = 0;
	walk_each(fd, s->order->stop, sweep_entry, s);
	if ((int64_t)st.st_mtime < s->order->empty_before && !is_in(job, s->order->jobs, s->order->n_jobs) &&
	    unlinkat(parent, name, AT_REMOVEDIR) == 0)
		s->out->dirs++;
}

static void sweep_user(void *arg, int parent, const char *name)
{
	struct sweep *s = arg;
	struct spool_use use = {0};

	if (!walk_number(name, &use.uid))
		return;
	s->uid = use.uid;
	walk_each(walk_open(parent, name, s->uid), s->order->stop, sweep_job, s);
	if (!s->order->quota_bytes)
		return;
	quota_enforce(walk_open(parent, name, s->uid), use.uid, s->order, &use);
	if ((use.over || use.removed_files) && s->tell)
		s->tell(&use, s->arg);
}

void spool_sweep(const char *spool_dir, const struct spool_order *order, spool_use_fn *tell, void *arg, struct spool_swept *out)
{
	struct sweep s = {.order = order, .tell = tell, .arg = arg, .out = out};

	*out = (struct spool_swept){0};
	walk_each(open(spool_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC), order->stop, sweep_user, &s);
}
