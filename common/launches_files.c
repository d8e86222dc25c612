/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Files and directories of launches: see launches.h. */
#include "common/launches_internal.h"
#include "common/multi_prog.h"
#include "common/shells.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD_MAX       4096  /* bytes of a file that tell whether it is a job script */

static bool took_too_long(const struct launches *l)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (now.tv_sec - l->start.tv_sec) * 1000000000LL + (now.tv_nsec - l->start.tv_nsec) >
	       FINGERPRINT_TIME_NS;
}

int launches_in_time(struct launches *l)
{
	if (!took_too_long(l))
		return 0;
	return err_set(l->why, "reading the files took longer than %d ms", FINGERPRINT_TIME_NS / 1000000);
}

static int unreadable(struct launches *l, const char *path)
{
	return err_set(l->why, "%.300s: cannot be read", path);
}

/* ---- one file ---- */

static ssize_t read_at(int fd, uint8_t *buf, size_t len, off_t at)
{
	size_t n = 0;
	while (n < len) {
		ssize_t got = pread(fd, buf + n, len - n, at + (off_t)n);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -1 : (ssize_t)n;
		n += (size_t)got;
	}
	return (ssize_t)n;
}

/* First and last FINGERPRINT_SAMPLE bytes, as in a fingerprint. */
static int hash_content(struct launches *l, int fd, uint64_t size)
{
	uint64_t head = size < FINGERPRINT_SAMPLE ? size : FINGERPRINT_SAMPLE;
	uint64_t tail = size - head < FINGERPRINT_SAMPLE ? size - head : FINGERPRINT_SAMPLE;
	char text[24];
	snprintf(text, sizeof(text), "%llu", (unsigned long long)size);
	launches_piece(l, 's', text, strlen(text));
	l->bytes_read += head + tail;
	if (l->bytes_read > FINGERPRINT_TOTAL_MAX || read_at(fd, l->buffer, head, 0) != (ssize_t)head)
		return -1;
	launches_piece(l, 'b', l->buffer, head);
	if (tail && read_at(fd, l->buffer, tail, (off_t)(size - tail)) != (ssize_t)tail)
		return -1;
	if (tail)
		launches_piece(l, 'b', l->buffer, tail);
	return 0;
}

int launches_file(struct launches *l, const char *path, struct launch_file *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc = -1;
	const char *slash = strrchr(path, '/');
	uint8_t id[64];
	struct shell_use use;
	struct stat st;
	size_t id_len;
	ssize_t n;
	*out = (struct launch_file){0};
	if (fd < 0 || fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    (n = read_at(fd, l->buffer, HEAD_MAX, 0)) < 0)
		goto done;
	out->shell_script = shell_line((const char *)l->buffer, (size_t)n, &use) ||
			    ((st.st_mode & S_IXUSR) && shell_runs((const char *)l->buffer, (size_t)n));
	out->elf = n >= 4 && memcmp(l->buffer, "\177ELF", 4) == 0;
	id_len = fingerprint_build_id(fd, id, sizeof(id));
	out->program = id_len || (st.st_mode & S_IXUSR);
	out->data = !out->program && !out->elf;
	launches_piece(l, 'f', slash ? slash + 1 : path, strlen(slash ? slash + 1 : path));
	launches_piece(l, 'i', id, id_len);
	rc = id_len ? 0 : hash_content(l, fd, (uint64_t)st.st_size);
done:
	if (fd >= 0)
		close(fd);
	return rc < 0 ? unreadable(l, path) : 0;
}

/* ---- files that the script writes ---- */

int launches_output(struct launches *l, const struct script_word *w)
{
	if (strcmp(w->text, "/dev/null") == 0)
		return 0;
	const char *dir = l->w.dirs[w->dir];
	if ((w->flags & (SCRIPT_WORD_SPLIT | SCRIPT_WORD_MODULE)) || !path_is_textual(dir, w->text) ||
	    ((w->flags & SCRIPT_WORD_OPAQUE) && !(w->flags & SCRIPT_WORD_SLURM))) {
		l->uncertain = true;
		return 0;
	}
	if (l->n_outputs == LAUNCH_OUTPUTS_MAX)
		return err_set(l->why, "the script writes too many files");
	struct launch_output *out = &l->outputs[l->n_outputs++];
	struct stat st;
	char *path = path_normal(dir, w->text);
	*out = (struct launch_output){dir, w->text, l->n_launches, w->fd, w->append, false, 0, 0};
	if (path && stat(path, &st) == 0) {
		out->there = true;
		out->dev = st.st_dev;
		out->ino = st.st_ino;
	}
	free(path);
	return 0;
}

int launches_tee(struct launches *l, const struct script_word *words, size_t n)
{
	size_t first = l->n_outputs;
	bool append = false;
	for (size_t i = 1; i < n; i++) {
		append |= words[i].text[0] == '-'; /* its other options say what a signal or a full disk does */
		if (words[i].text[0] != '-' && launches_output(l, &words[i]) < 0)
			return -1;
	}
	for (size_t i = first; append && i < l->n_outputs; i++)
		l->outputs[i].append = true;
	return 0;
}

/* A link may give the file another name. */
bool launches_is_output(const struct launches *l, const char *path, const struct stat *st)
{
	bool found = false;
	for (size_t i = 0; i < l->n_outputs && !found; i++) {
		const struct launch_output *o = &l->outputs[i];
		char *out = path_normal(o->dir, o->name);
		found = (out && strcmp(out, path) == 0) || (o->there && o->dev == st->st_dev && o->ino == st->st_ino);
		free(out);
	}
	return found;
}

int launches_outputs(struct launches *l)
{
	for (size_t i = 0; l->n_launches > 1 && i < l->n_outputs; i++) {
		char *path = path_normal(l->outputs[i].dir, l->outputs[i].name);
		const char *rest = path ? launches_below(l->w.dirs[0], path) : NULL;
		char how[40];
		if (!path)
			return unreadable(l, l->outputs[i].name);
		snprintf(how, sizeof(how), "%zu %d%s", l->outputs[i].launch, l->outputs[i].fd,
			 l->outputs[i].append ? " append" : "");
		launches_piece(l, 'H', how, strlen(how));
		launches_piece(l, 'O', rest ? rest : path, strlen(rest ? rest : path));
		free(path);
	}
	return 0;
}

/* ---- what launches name ---- */

void launches_name(struct launches *l, const struct stat *st)
{
	if (l->n_named < LAUNCH_NAMED_MAX)
		l->named[l->n_named++] = (struct launch_place){st->st_dev, st->st_ino};
	else
		l->moved = true;
}

bool launches_is_named(const struct launches *l, const struct stat *st)
{
	for (size_t i = 0; i < l->n_named; i++)
		if (l->named[i].dev == st->st_dev && l->named[i].ino == st->st_ino)
			return true;
	return false;
}

bool launches_is_built(const char *path)
{
	static const char *const dirs[] = {"/bin", "/sbin", "/usr"};
	/* These programs run scripts, or copy or unpack files. */
	static const char *const known[] = {"R",	"busybox", "bsdtar", "cp",   "dd",  "git",    "gtar",	"install", "java", "julia",
					    "ln",	"lua",	   "make",   "mv",   "node", "octave", "perl",	"php",	   "python", "rsync",
					    "ruby", "tar",	   "tclsh",  "toybox", "unzip"};
	char real[PATH_MAX];
	const char *name = real;
	if (!realpath(path, real))
		return false;
	name = path_base(real);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (launches_below(dirs[i], real) && !launches_below("/usr/local", real))
			return false;
	/* python3.11 */
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		size_t n = strlen(known[i]);
		if (strncmp(name, known[i], n) == 0 && !name[n + strspn(name + n, "0123456789.-")])
			return false;
	}
	return true;
}

/* ---- srun --multi-prog ---- */

struct multi {
	struct launches *l;
	const char *dir;
};

static int multi_word(const char *text, void *arg)
{
	struct multi *m = arg;
	return launches_in_time(m->l) < 0 || launches_word(m->l, m->dir, text) < 0 ? 1 : 0;
}

int launches_multi_prog(struct launches *l, const char *dir, const char *name)
{
	char *path = path_normal(dir, name);
	struct multi m = {l, dir};
	struct stat st;
	/* Whoever writes into a pipe would notice that it is opened. */
	int rc = path && stat(path, &st) == 0 && S_ISREG(st.st_mode) ? multi_prog_each(path, multi_word, &m) : -1;
	free(path);
	if (rc == MULTI_PROG_MORE)
		return err_set(l->why, "%.200s: names more than %d programs and arguments", name, MULTI_PROG_WORDS_MAX);
	return rc < 0 ? unreadable(l, name) : rc ? -1 : 0;
}

/* ---- directories ---- */

static bool is_slurm_output(const char *name)
{
	size_t n = strlen(name);
	return strncmp(name, "slurm-", 6) == 0 && n > 4 && strcmp(name + n - 4, ".out") == 0;
}

/* Scripts for a shell are job scripts: the text around launches does not count. */
static bool is_job_script(struct launches *l, const char *path)
{
	struct shell_use use;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd >= 0 ? read_at(fd, l->buffer, HEAD_MAX, 0) : -1;
	if (fd >= 0)
		close(fd);
	return n > 0 && shell_line((const char *)l->buffer, (size_t)n, &use);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The paths of the regular files; -1: the directory counts by its path. */
static int list(struct launches *l, const char *dir, char *paths[LAUNCH_LISTING_MAX])
{
	DIR *d = opendir(dir);
	struct dirent *e;
	int n = 0;
	while (d && n >= 0 && (e = readdir(d))) {
		struct stat st;
		char *path;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") || is_slurm_output(e->d_name))
			continue;
		path = path_normal(dir, e->d_name);
		if (path && !took_too_long(l) && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
		    (launches_is_output(l, path, &st) || is_job_script(l, path))) {
			free(path);
			continue;
		}
		if (!path || n == LAUNCH_LISTING_MAX || took_too_long(l) || stat(path, &st) != 0 || !S_ISREG(st.st_mode)) {
			free(path);
			while (n > 0)
				free(paths[--n]);
			n = -1;
		} else {
			paths[n++] = path;
		}
	}
	if (!d)
		return -1;
	closedir(d);
	return n;
}

static int hash_listing(struct launches *l, const char *dir)
{
	char *paths[LAUNCH_LISTING_MAX];
	struct launch_file file;
	int n = list(l, dir, paths), rc = launches_in_time(l);
	if (n < 0)
		launches_piece(l, 'D', dir, strlen(dir));
	else
		launches_piece(l, 'l', "", 0);
	if (n > 0)
		qsort(paths, (size_t)n, sizeof(*paths), compare);
	for (int k = 0; k < n; k++) {
		if (rc == 0)
			rc = launches_file(l, paths[k], &file);
		if (rc == 0)
			rc = launches_in_time(l);
		free(paths[k]);
	}
	return rc;
}

int launches_folder(struct launches *l, const char *path)
{
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	if (strcmp(folder, l->listed) == 0)
		return 0;
	memcpy(l->listed, folder, sizeof(folder));
	return hash_listing(l, folder[0] ? folder : "/");
}

int launches_dirs(struct launches *l)
{
	for (size_t i = 0; i < l->n_dirs; i++)
		if (hash_listing(l, l->w.dirs[l->dirs[i]]) < 0)
			return -1;
	return 0;
}
