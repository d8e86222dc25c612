/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the launcher says of this process, and the markers in the trace's directory: see run.h. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/tracer/run.h"

#define MAX_NAMES 10000
#define STALE_S   3600 /* a marker this much older than rank 0's is left over from another run */

static int env_int(const char *name)
{
	const char *s = getenv(name);
	char *end;
	long v;

	if (!s || !isdigit((unsigned char)*s))
		return -1;
	v = strtol(s, &end, 10);
	return *end || v > INT_MAX ? -1 : (int)v;
}

/* Tasks on a node from Slurm's "4(x2),3": the count, repeated for so many nodes. */
static int tasks_on_node(const char *list, int node)
{
	while (list && *list) {
		char *end;
		long n = strtol(list, &end, 10), times = 1;

		if (end == list || n < 1)
			return -1;
		if (end[0] == '(' && end[1] == 'x')
			times = strtol(end + 2, &end, 10);
		if (node < times)
			return (int)n;
		node -= (int)times;
		list = strchr(end, ',');
		list = list ? list + 1 : NULL;
	}
	return -1;
}

static void sanitise(const char *in, char *out, size_t size)
{
	size_t n = 0;

	for (; *in && n + 1 < size; in++, n++)
		out[n] = isalnum((unsigned char)*in) || strchr("_-", *in) || (*in == '.' && n) ? *in : '_';
	out[n] = '\0';
}

static void read_slurm(struct run *r)
{
	r->rank = env_int("SLURM_PROCID");
	r->local_rank = env_int("SLURM_LOCALID");
	r->local_size = tasks_on_node(getenv("SLURM_STEP_TASKS_PER_NODE"), env_int("SLURM_NODEID"));
}

static void read_launcher(struct run *r)
{
	const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	char id[256] = "";

	r->rank = r->local_rank = r->local_size = -1;
	if (space && !strncmp(space, "slurm.pmix.", 11)) {
		snprintf(id, sizeof(id), "%s", space);
		read_slurm(r);
	} else if (space) {
		if (job)
			snprintf(id, sizeof(id), "%s.%s", job, space);
		else
			snprintf(id, sizeof(id), "%s", space);
		r->rank = env_int("OMPI_COMM_WORLD_RANK");
		r->local_rank = env_int("OMPI_COMM_WORLD_LOCAL_RANK");
		r->local_size = env_int("OMPI_COMM_WORLD_LOCAL_SIZE");
	} else if (job && step && getenv("SLURM_STEP_TASKS_PER_NODE")) {
		snprintf(id, sizeof(id), "%s.%s", job, step);
		read_slurm(r);
	}
	if (r->rank < 0)
		r->rank = env_int(getenv("PMIX_RANK") ? "PMIX_RANK" : "PMI_RANK");
	if (!id[0])
		snprintf(id, sizeof(id), "%s%spid%ld", job ? job : "", job ? "." : "", (long)getpid());
	sanitise(id, r->id, sizeof(r->id));
}

void launch_read(struct run *r)
{
	const char *dir = getenv("PRECEDENT_TRACE_DIR"), *file = getenv("PRECEDENT_TRACE_FILE");
	char *slash;

	if (file && *file && strlen(file) < sizeof(r->file) - 32) {
		if (file[0] == '/' || !getcwd(r->dir, sizeof(r->dir)))
			snprintf(r->file, sizeof(r->file), "%s", file);
		else if (snprintf(r->file, sizeof(r->file), "%s/%s", r->dir, file) >= (int)sizeof(r->file))
			return;
		snprintf(r->dir, sizeof(r->dir), "%s", r->file);
		slash = strrchr(r->dir, '/');
		if (slash)
			slash[slash == r->dir] = '\0';
		else
			snprintf(r->dir, sizeof(r->dir), ".");
	} else if (dir && *dir && strlen(dir) < sizeof(r->dir) - 600) {
		snprintf(r->dir, sizeof(r->dir), "%s", dir);
	} else {
		return;
	}
	read_launcher(r);
	r->wanted = true;
}

/* ---- markers ---- */

static int marker_path(const struct run *r, const char *what, char *path, size_t size)
{
	return snprintf(path, size, "%s/.present.%s.%s", r->dir, r->id, what) < (int)size ? 0 : -1;
}

static void touch(const struct run *r, const char *what)
{
	char path[PATH_MAX + 512];
	int fd;

	if (marker_path(r, what, path, sizeof(path)) < 0)
		return;
	unlink(path); /* one left by a run that died would be older */
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0)
		close(fd);
}

void launch_mark(const struct run *r)
{
	char host[128] = "", name[200], clean[128];

	if (gethostname(host, sizeof(host) - 1))
		return;
	sanitise(host, clean, sizeof(clean));
	if (r->rank == 0)
		touch(r, "root");
	if (r->local_rank >= 0 && r->local_size > 0) {
		snprintf(name, sizeof(name), "n.%s.%d", clean, r->local_size);
		if (r->local_rank == 0)
			touch(r, name);
	} else if (r->rank >= 0) {
		snprintf(name, sizeof(name), "r.%d", r->rank);
		touch(r, name);
	}
}

bool launch_root_present(const struct run *r)
{
	char path[PATH_MAX + 512];

	return marker_path(r, "root", path, sizeof(path)) == 0 && access(path, F_OK) == 0;
}

/* Call f(path, rest of the name) for each marker of this run. */
static void each_marker(const struct run *r, void (*f)(const char *path, const char *rest, void *arg), void *arg)
{
	char prefix[256], path[PATH_MAX + 512];
	struct dirent *e;
	DIR *d = opendir(r->dir);
	size_t n;

	if (!d)
		return;
	n = (size_t)snprintf(prefix, sizeof(prefix), ".present.%s.", r->id);
	while ((e = readdir(d)))
		if (!strncmp(e->d_name, prefix, n) &&
		    snprintf(path, sizeof(path), "%s/%s", r->dir, e->d_name) < (int)sizeof(path))
			f(path, e->d_name + n, arg);
	closedir(d);
}

struct count {
	time_t root;
	int64_t ranks;
};

static void find_root(const char *path, const char *rest, void *arg)
{
	struct count *c = arg;
	struct stat st;

	if (!strcmp(rest, "root") && !lstat(path, &st))
		c->root = st.st_mtime;
}

static void add_marker(const char *path, const char *rest, void *arg)
{
	struct count *c = arg;
	const char *dot = strrchr(rest, '.');
	struct stat st;

	if (!dot || lstat(path, &st) || st.st_uid != geteuid() || st.st_mtime < c->root - STALE_S)
		return;
	c->ranks += rest[0] == 'n' ? atoi(dot + 1) : 1;
}

int64_t launch_count(const struct run *r)
{
	struct count c = {0};

	each_marker(r, find_root, &c);
	if (c.root)
		each_marker(r, add_marker, &c);
	return c.ranks;
}

static void remove_marker(const char *path, const char *rest, void *arg)
{
	(void)rest;
	(void)arg;
	unlink(path);
}

void launch_unmark(const struct run *r)
{
	each_marker(r, remove_marker, NULL);
}

/* ---- names ---- */

int launch_trace_path(const struct run *r, char *path, size_t size)
{
	const char *slash = strrchr(r->file, '/'), *dot = strrchr(r->file, '.');
	int stem = dot && (!slash || dot > slash + 1) ? (int)(dot - r->file) : (int)strlen(r->file);

	for (int k = 1; k < MAX_NAMES; k++) {
		int n;

		if (!r->file[0])
			n = snprintf(path, size, "%s/%s.%d.ptrace", r->dir, r->id, k);
		else if (k == 1)
			n = snprintf(path, size, "%s", r->file);
		else
			n = snprintf(path, size, "%.*s.%d%s", stem, r->file, k, r->file + stem);
		if (n < 0 || (size_t)n >= size)
			return -1;
		if (access(path, F_OK))
			return 0;
	}
	return -1;
}

void launch_report(const struct run *r, const char *text)
{
	char path[PATH_MAX + 32];
	int fd;

	if (r->file[0]) {
		dprintf(STDERR_FILENO, "precedent: %s\n", text);
		return;
	}
	if (snprintf(path, sizeof(path), "%s/tracer.err", r->dir) >= (int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	dprintf(fd, "%s: %s\n", r->id, text);
	close(fd);
}
