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

#include "spank/tracer/mpilib.h"
#include "spank/tracer/run.h"

#define MAX_NAMES 10000

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

static void sanitise(const char *in, char *out, size_t size)
{
	size_t n = 0;

	for (; *in && n + 1 < size; in++, n++)
		out[n] = isalnum((unsigned char)*in) || strchr("_-", *in) || (*in == '.' && n) ? *in : '_';
	out[n] = '\0';
}

/* Text of a file of /proc, zero bytes as they are; its length. */
static size_t read_proc(long pid, const char *what, char *text, size_t size)
{
	char path[64];
	ssize_t n = -1;
	int fd;

	snprintf(path, sizeof(path), "/proc/%ld/%s", pid, what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		n = read(fd, text, size - 1);
		close(fd);
	}
	text[n > 0 ? n : 0] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static long parent_of(long pid)
{
	char text[512], *p;
	long parent = 0;

	read_proc(pid, "stat", text, sizeof(text));
	p = strrchr(text, ')');
	return p && sscanf(p, ") %*c %ld", &parent) == 1 ? parent : 0;
}

/* Where the proxies of a run report to, as their command line says: the same on every node, and this mpiexec's own. */
static bool hydra_control(const char *args, size_t len, char *out, size_t size)
{
	const char *host = "", *port = NULL;

	for (const char *a = args, *v; a < args + len; a = v) {
		v = a + strlen(a) + 1;
		if (v >= args + len)
			break;
		if (!strcmp(a, "--control-port") || !strcmp(a, "--upstream-port"))
			port = v;
		else if (!strcmp(a, "--upstream-host"))
			host = v;
	}
	return port && snprintf(out, size, "hydra.%s%s%s", host, *host ? "." : "", port) < (int)size;
}

/* The environment of Hydra names the rank, not the run: that is asked of the proxy that is our ancestor. */
static void read_hydra(char *id, size_t size)
{
	char args[4096], name[128];
	long pid = getppid();
	const char *job = getenv("SLURM_JOB_ID");

	snprintf(name, sizeof(name), "ppid%ld", pid);
	for (int k = 0; k < 16 && pid > 1; k++, pid = parent_of(pid)) {
		size_t n = read_proc(pid, "cmdline", args, sizeof(args));

		if (strstr(args, "hydra") && hydra_control(args, n, name, sizeof(name)))
			break;
	}
	snprintf(id, size, "%s%s%s", job ? job : "", job ? "." : "", name);
}

static void read_launcher(struct run *r)
{
	const char *space = getenv("PMIX_NAMESPACE"), *job = getenv("SLURM_JOB_ID"), *step = getenv("SLURM_STEP_ID");
	char id[256] = "";

	r->rank = -1;
	if (MPILIB_MPICH && getenv("PMI_RANK") && getenv("MPI_LOCALRANKID")) {
		/* First: what starts the proxies may be srun, whose variables are then not those of the ranks. */
		read_hydra(id, sizeof(id));
		r->rank = env_int("PMI_RANK");
	} else if (space && !strncmp(space, "slurm.pmix.", 11)) {
		snprintf(id, sizeof(id), "%s", space);
		r->rank = env_int("SLURM_PROCID");
	} else if (space) {
		snprintf(id, sizeof(id), "%s%s%s", job ? job : "", job ? "." : "", space);
		r->rank = env_int("OMPI_COMM_WORLD_RANK");
	} else if (job && step && getenv("SLURM_STEP_TASKS_PER_NODE")) {
		snprintf(id, sizeof(id), "%s.%s", job, step);
		r->rank = env_int("SLURM_PROCID");
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
		if (dir && *dir == '/' && strlen(dir) < sizeof(r->dir) - 600)
			snprintf(r->dir, sizeof(r->dir), "%s", dir);
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

/* Add a byte to a marker. Ranks of a node have one kernel between them, so appending is safe on any file system. */
static void mark(const struct run *r, const char *what)
{
	char path[PATH_MAX + 512];
	int fd;

	if (marker_path(r, what, path, sizeof(path)) < 0)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	while (write(fd, "1", 1) < 0 && errno == EINTR)
		;
	close(fd);
}

void launch_mark(const struct run *r)
{
	char host[128] = "", name[200], clean[128];

	if (gethostname(host, sizeof(host) - 1))
		return;
	sanitise(host, clean, sizeof(clean));
	if (r->rank == 0)
		mark(r, "root");
	snprintf(name, sizeof(name), "n.%s.%ld", clean, (long)getppid());
	mark(r, name);
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

static void add_marker(const char *path, const char *rest, void *arg)
{
	int64_t *n = arg;
	struct stat st;

	if (rest[0] == 'n' && !lstat(path, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		*n += st.st_size;
}

int64_t launch_count(const struct run *r)
{
	int64_t n = 0;

	each_marker(r, add_marker, &n);
	return n;
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
