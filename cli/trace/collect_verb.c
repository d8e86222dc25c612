/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent collect: not for people. The SPANK plugin runs it, as the user, when a step has ended on a node. It moves
 * spill files of dead ranks from the node's directory to the job's directory. When the spill files of all ranks of a
 * run are there, it makes one partial trace of them. With --last it does not wait long for missing files, and makes the
 * trace of the files that are there. More files may come later, from a node where the step takes time to end. Then the
 * trace is written again. Errors go to tracer.err in the job's directory, because nobody reads our output.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/salvage/salvage.h"

#define SUFFIX    ".spill"
#define COMPLAINT "tracer.err"
#define STALE_LOCK_S 300
#define PATIENCE_S   8 /* for the parts of other nodes */

struct collect_task {
	const char *from, *into, *ended;
	bool last;
};

/* Whether all of the text was written. */
static bool append(const char *dir, const char *text)
{
	char path[PATH_MAX];
	int fd, n;

	if (snprintf(path, sizeof(path), "%s/" COMPLAINT, dir) >= (int)sizeof(path))
		return false;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0640);
	if (fd < 0)
		return false;
	n = dprintf(fd, "collect: %s\n", text);
	close(fd);
	return n > 0;
}

/* In the job's directory; on the node where that has no room. */
static void note_progress(const struct collect_task *c, const char *text)
{
	if (!append(c->into, text))
		append(c->from, text);
}

static bool is_spill(const char *name)
{
	size_t n = strlen(name), k = strlen(SUFFIX);

	return n > k && !strcmp(name + n - k, SUFFIX);
}

/* ---- bringing files ---- */

static int copy_bytes(int in, int out, off_t size)
{
	while (size > 0) {
		ssize_t n = sendfile(out, in, NULL, (size_t)size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -1 : (errno = EIO, -1);
		size -= n;
	}
	return 0;
}

/*
 * A process that lives holds a lock on its spill file: that run has not ended. Who brings the file holds it too, since
 * nodes may share the directory. The descriptor with the lock; -1 where the file is in such hands or has been brought
 * already, or with err.
 */
static int take_over(int from, const char *name, struct errbuf *err)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int fd = openat(from, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	bool others = false;
	struct stat st;

	err->text[0] = '\0';
	if (fd < 0 && errno == ENOENT)
		return -1;
	if (fd >= 0 && fcntl(fd, F_SETLK, &lock) < 0)
		others = errno == EAGAIN || errno == EACCES;
	if (fd < 0 || fstat(fd, &st) < 0)
		err_set(err, "%s: cannot be read: %s", name, strerror(errno));
	else if (!S_ISREG(st.st_mode))
		err_set(err, "%s: cannot be read: is not a file", name);
	else if (!others && st.st_nlink)
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* Under a name that is no spill file's until it is whole. */
static int bring(int in, int from, int into, const char *name, struct errbuf *err)
{
	char temp[NAME_MAX + 1];
	struct stat st;
	int out, rv = -1;

	if (snprintf(temp, sizeof(temp), "%.200s.part", name) >= (int)sizeof(temp))
		return err_set(err, "%s: name too long", name);
	unlinkat(into, temp, 0);
	out = openat(into, temp, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640);
	if (out < 0 || fstat(in, &st) < 0 || copy_bytes(in, out, st.st_size) < 0 || renameat(into, temp, into, name) < 0) {
		err_set(err, "%s: cannot be brought here: %s", name, strerror(errno));
		unlinkat(into, temp, 0);
	} else {
		unlinkat(from, name, 0);
		rv = 0;
	}
	if (out >= 0)
		close(out);
	return rv;
}

/* What was known of the node's tasks when the file could not be brought; else what is known now. */
static void how_ended(const struct collect_task *c, int from, const char *beside, char *text, size_t size)
{
	int fd = openat(from, beside, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, size - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n > 0)
		text[n] = '\0';
	else
		snprintf(text, size, "%s", c->ended);
}

static bool write_ended(int dir, const char *beside, const char *text)
{
	int fd = openat(dir, beside, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0640);
	bool written;

	if (fd < 0)
		return false;
	written = dprintf(fd, "%s", text) == (int)strlen(text);
	close(fd);
	if (!written)
		unlinkat(dir, beside, 0);
	return written;
}

/*
 * Nodes end in different ways: the node where a rank was killed knows the signal. This record is brought first, because
 * any process that finds the spill file may assemble the run. If the spill file cannot be brought, the record stays
 * beside it for a later attempt.
 */
static int bring_told(const struct collect_task *c, int in, int from, int into, const char *name, struct errbuf *err)
{
	char beside[NAME_MAX + 1], text[101];

	if (snprintf(beside, sizeof(beside), "%.240s" SALVAGE_ENDED, name) >= (int)sizeof(beside))
		return err_set(err, "%s: name too long", name);
	how_ended(c, from, beside, text, sizeof(text));
	write_ended(into, beside, text);
	if (bring(in, from, into, name, err) < 0) {
		unlinkat(into, beside, 0);
		write_ended(from, beside, text);
		return -1;
	}
	unlinkat(from, beside, 0);
	return 0;
}

/* -1: it stays where it is, for want of a place to bring it to. */
static int bring_one(const struct collect_task *c, int from, int into, const char *name)
{
	struct errbuf err;
	int in = take_over(from, name, &err), rv = 0;

	if (in >= 0) {
		rv = bring_told(c, in, from, into, name, &err);
		close(in);
	}
	if (err.text[0])
		note_progress(c, err.text);
	return rv;
}

static void bring_all(const struct collect_task *c)
{
	int into = open(c->into, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = opendir(c->from);
	bool all = into >= 0;
	struct errbuf err;
	struct dirent *e;

	if (d && into < 0) {
		err_set(&err, "%s: %s", c->into, strerror(errno));
		note_progress(c, err.text);
	}
	while (d && into >= 0 && (e = readdir(d)))
		if (is_spill(e->d_name))
			all &= bring_one(c, dirfd(d), into, e->d_name) == 0;
	if (d && all)
		unlinkat(dirfd(d), COMPLAINT, 0); /* of an earlier try */
	if (d)
		closedir(d);
	if (into >= 0)
		close(into);
}

/* ---- putting together ---- */

/* Two nodes may find a run complete at the same moment: one makes the trace. The file's path, or NULL. */
static char *take_lock(const struct collect_task *c, const char *id)
{
	struct stat st;
	char *path;
	int fd;

	if (asprintf(&path, "%s/.collect.%s", c->into, id) < 0)
		return NULL;
	if (lstat(path, &st) == 0 && time(NULL) - st.st_mtime > STALE_LOCK_S)
		unlink(path); /* left by one that was killed */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0) {
		free(path);
		return NULL;
	}
	close(fd);
	return path;
}

/* Another collector may have made the trace, and removed the parts, since they were found. */
static bool still_there(const struct collect_task *c, const char *id)
{
	struct salvage_run *run = NULL;
	struct errbuf err;
	int n = salvage_find(c->into, &run, &err);
	bool there = false;

	for (int i = 0; i < n; i++)
		there |= !strcmp(run[i].id, id);
	free(run);
	return there;
}

static void put_together(const struct collect_task *c, const struct salvage_run *run)
{
	struct salvage_report report;
	struct errbuf err;
	char *lock;

	if (!c->last && (!run->world_size || run->n_found < run->world_size))
		return;
	lock = take_lock(c, run->id);
	if (!lock)
		return;
	if (still_there(c, run->id) && salvage_write(c->into, run->id, c->into, NULL, c->ended, &report, &err) < 0)
		note_progress(c, err.text);
	unlink(lock);
	free(lock);
}

static bool all_complete(const struct salvage_run *run, int n)
{
	for (int i = 0; i < n; i++)
		if (!run[i].world_size || run[i].n_found < run[i].world_size)
			return false;
	return true;
}

static int collect(const struct collect_task *c)
{
	const struct timespec nap = {.tv_nsec = 200000000};
	double end = cli_now() + (c->last ? PATIENCE_S : 0);
	struct salvage_run *run = NULL;
	struct errbuf err;
	int n;

	prctl(PR_SET_DUMPABLE, 0); /* started by root, and outside of the job's processes: nobody may take it over */
	bring_all(c);
	while ((n = salvage_find(c->into, &run, &err)) > 0 && !all_complete(run, n) && cli_now() < end) {
		free(run);
		run = NULL;
		nanosleep(&nap, NULL);
	}
	if (n < 0)
		note_progress(c, err.text);
	for (int i = 0; i < n; i++)
		put_together(c, &run[i]);
	free(run);
	if (c->last)
		rmdir(c->from); /* when nothing is left in it */
	return n < 0;
}

static int collect_verb(int argc, char **argv)
{
	struct collect_task c = {.ended = "ended before MPI_Finalize"};
	int rc;
	char **more = options_read(&verb_collect, argc, argv, &c, &rc);

	if (!more)
		return rc;
	if (!c.from || !c.into || *more)
		return cli_usage("collect", "needs --from and --into");
	return collect(&c);
}

static const struct verb_option options[] = {
	{"from", 0, "DIR", OPT_TEXT(struct collect_task, from), .help = "the node's spill files"},
	{"into", 0, "DIR", OPT_TEXT(struct collect_task, into), .help = "the job's directory"},
	{"ended", 0, "TEXT", OPT_TEXT(struct collect_task, ended), .help = "how ranks ended"},
	{"last", 0, NULL, OPT_FLAG(struct collect_task, last), .help = "a trace of what there is, if the rest does not come soon"},
	{0},
};

const struct verb verb_collect = {
	.name = "collect",
	.forms = {"--from DIR --into DIR [options]"},
	.text = "Run by Slurm when a traced step has ended. Not meant to be typed.",
	.options = options, .run = collect_verb,
};
