/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Facts from the launcher, and markers in the trace's directory: see run.h. Only one thread at a time is in
 * MPI_Init or MPI_Finalize. Its stack may be small, so long buffers are static.
 */
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
#include "spank/tracer/clock.h"
#include "spank/tracer/patience.h"
#include "spank/tracer/run.h"

#define MAX_NAMES    10000
#define RECORD       8         /* bytes per rank in its node's marker: number and line feed */
#define DECISION_MAX (1 << 24)

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

/* Read a file of /proc as bytes. Returns its length. */
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

/* Find the address to which the proxies of a run connect, in their command line. It is the same on every node and
 * unique to this mpiexec. */
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

/* Hydra's environment has the rank but not the run, which is read from the proxy among the process's ancestors. */
static void read_hydra(char *id, size_t size)
{
	static char args[4096];
	char name[128];
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
		/* Hydra comes first: srun may start its proxies, and then srun's variables are not those of the
		 * ranks. */
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

/* A function of DMTCP's library (checkpointing), which is preloaded. */
__attribute__((weak)) int dmtcp_is_enabled(void);

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
		r->aloud = !dir || *dir != '/' || strlen(dir) >= sizeof(r->dir) - 600;
		if (!r->aloud)
			snprintf(r->dir, sizeof(r->dir), "%s", dir);
	} else if (dir && *dir && strlen(dir) < sizeof(r->dir) - 600) {
		snprintf(r->dir, sizeof(r->dir), "%s", dir);
	} else {
		return;
	}
	read_launcher(r);
	if (!dmtcp_is_enabled || !dmtcp_is_enabled())
		r->wanted = true;
	else if (r->rank <= 0)
		launch_report(r, "no trace: the program runs under DMTCP, which may checkpoint and restart it");
}

int launch_host(char *host, size_t size)
{
	if (gethostname(host, size - 1))
		return -1;
	host[size - 1] = '\0';
	if (clock_skew.on) /* for tests: a clock of its own means a node of its own */
		snprintf(host + strnlen(host, size / 2), size / 2, "-skewed%d", run.rank);
	return 0;
}

/* ---- markers ---- */

static int marker_path(const struct run *r, const char *what, char *path, size_t size)
{
	return snprintf(path, size, "%s/.present.%s.%s", r->dir, r->id, what) < (int)size ? 0 : -1;
}

/* Add a record to a marker. All ranks of a node share a kernel, so appending is safe on any file system. */
static void append_record(const struct run *r, const char *what, const char *record, struct timespec *when)
{
	static char path[PATH_MAX + 512];
	struct stat st;
	int fd;

	if (marker_path(r, what, path, sizeof(path)) < 0)
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	while (write(fd, record, strlen(record)) < 0 && errno == EINTR)
		;
	if (when && !fstat(fd, &st))
		*when = st.st_mtim;
	close(fd);
}

/* Name of the marker for the processes that one process of the launcher started on this node. */
static int own_marker(char *name, size_t size)
{
	char host[128] = "", clean[128];

	if (launch_host(host, sizeof(host)) < 0)
		return -1;
	sanitise(host, clean, sizeof(clean));
	snprintf(name, size, "n.%s.%ld", clean, (long)getppid());
	return 0;
}

/*
 * Work with the markers has a deadline (patience.h). Late work may still use its arguments, so they are static.
 */
static struct {
	const struct run *r;
	char *text;      /* malloced */
	char *decision;
	int32_t *leader; /* malloced */
	int64_t n;
	bool flag;
} at_work;

static bool run_patiently(const struct run *r, void (*work)(void *))
{
	at_work.r = r;
	at_work.decision = NULL;
	return patience_run(work, NULL, SERVER_S);
}

static void work_mark(void *arg)
{
	struct run *r = arg;
	char name[200], record[32];

	if (own_marker(name, sizeof(name)) < 0)
		return;
	if (r->rank == 0)
		append_record(r, "root", "1", NULL);
	snprintf(record, sizeof(record), "%*d\n", RECORD - 1, r->rank);
	append_record(r, name, record, &r->marked);
}

void launch_mark(struct run *r)
{
	patience_run(work_mark, r, SERVER_S);
}

static void work_root_present(void *arg)
{
	static char path[PATH_MAX + 512];

	(void)arg;
	at_work.flag = marker_path(at_work.r, "root", path, sizeof(path)) == 0 && access(path, F_OK) == 0;
}

bool launch_root_present(const struct run *r)
{
	return run_patiently(r, work_root_present) ? at_work.flag : r->root_seen;
}

/* Call f(path, rest of the name) for each marker of this run. */
static void each_marker(const struct run *r, void (*f)(const char *path, const char *rest, void *arg), void *arg)
{
	static char path[PATH_MAX + 512];
	char prefix[256];
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

struct presence {
	const struct run *r;
	/* per rank: first its node's index in seen, then the lowest rank of that node; -1: not present */
	int32_t *leader;
	struct node_seen {
		char name[200];
		int32_t least; /* lowest rank */
	} *seen;
	int32_t n_seen;
	int64_t known, unknown;
	bool failed;           /* a rank occurred twice, or memory ran out */
};

/* Index of the node, or -1 if memory runs out. */
static int32_t node_index(struct presence *p, const char *name, size_t len)
{
	struct node_seen *h;

	for (int32_t i = p->n_seen - 1; i >= 0; i--)
		if (strlen(p->seen[i].name) == len && !strncmp(p->seen[i].name, name, len))
			return i;
	h = realloc(p->seen, (size_t)(p->n_seen + 1) * sizeof(*h));
	if (!h || len >= sizeof(h->name)) {
		p->failed = true;
		p->seen = h ? h : p->seen;
		return -1;
	}
	p->seen = h;
	memcpy(h[p->n_seen].name, name, len);
	h[p->n_seen].name[len] = '\0';
	h[p->n_seen].least = INT32_MAX;
	return p->n_seen++;
}

static void add_present_rank(struct presence *p, const char *record, int32_t node)
{
	char *end;
	long rank = strtol(record, &end, 10);

	if (rank < 0 || rank >= p->r->world_size) {
		p->unknown++;
		return;
	}
	p->known++;
	if (p->leader[rank] >= 0)
		p->failed = true;
	p->leader[rank] = node;
	if (rank < p->seen[node].least)
		p->seen[node].least = (int32_t)rank;
}

static void add_marker(const char *path, const char *rest, void *arg)
{
	struct presence *p = arg;
	char record[RECORD + 1] = "";
	struct stat st;
	int32_t node;
	int fd;

	if (rest[0] != 'n' || rest[1] != '.')
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return;
	node = node_index(p, rest, strlen(rest));
	if (node >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
		while (read(fd, record, RECORD) == RECORD)
			add_present_rank(p, record, node);
	close(fd);
}

static int64_t count_markers(const struct run *r, int32_t *leader)
{
	struct presence p = {.r = r, .leader = leader};

	for (int i = 0; i < r->world_size; i++)
		leader[i] = -1;
	each_marker(r, add_marker, &p);
	for (int i = 0; i < r->world_size; i++)
		if (leader[i] >= 0)
			leader[i] = p.seen[leader[i]].least;
	free(p.seen);
	if (p.failed || (p.known && p.unknown))
		return -1;
	return p.known ? p.known : p.unknown;
}

static void work_count(void *arg)
{
	(void)arg;
	at_work.n = count_markers(at_work.r, at_work.leader);
}

int64_t launch_count(const struct run *r, int32_t *leader)
{
	const size_t size = (size_t)r->world_size * sizeof(*leader);
	int64_t n = 0;

	memset(leader, 0xff, size); /* -1 */
	at_work.leader = patience_lost() ? NULL : malloc(size);
	if (!at_work.leader || !run_patiently(r, work_count))
		return 0;
	n = at_work.n;
	memcpy(leader, at_work.leader, size);
	free(at_work.leader);
	return n;
}

static int64_t count_here(const struct run *r, bool *lowest)
{
	static char path[PATH_MAX + 512];
	char name[200];
	struct presence p = {.r = r};
	int64_t n = 0;

	*lowest = true;
	p.leader = malloc((size_t)r->world_size * sizeof(*p.leader));
	if (!p.leader || own_marker(name, sizeof(name)) < 0 || marker_path(r, name, path, sizeof(path)) < 0)
		goto out;
	for (int i = 0; i < r->world_size; i++)
		p.leader[i] = -1;
	add_marker(path, name, &p);
	n = p.failed || p.unknown ? 0 : p.known;
	for (int i = 0; i < r->world_rank && *lowest; i++)
		*lowest = p.leader[i] < 0;
out:
	free(p.leader);
	free(p.seen);
	return n;
}

static void work_here(void *arg)
{
	(void)arg;
	at_work.n = count_here(at_work.r, &at_work.flag);
}

int64_t launch_here(const struct run *r, bool *lowest)
{
	const bool done = run_patiently(r, work_here);

	*lowest = !done || at_work.flag;
	return done ? at_work.n : 0;
}

/* ---- one decision for all ---- */

/* Read the decision of this run. A decision of another run is older than our marker, by the file server's clock. */
static char *read_decision(const struct run *r, const char *path)
{
	char *text = NULL;
	struct stat st;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() && st.st_size < DECISION_MAX &&
	    (st.st_mtim.tv_sec > r->marked.tv_sec ||
	     (st.st_mtim.tv_sec == r->marked.tv_sec && st.st_mtim.tv_nsec >= r->marked.tv_nsec)))
		text = malloc((size_t)st.st_size + 1);
	if (text) {
		n = read(fd, text, (size_t)st.st_size);
		text[n > 0 ? n : 0] = '\0';
	}
	close(fd);
	return text;
}

static void work_decision(void *arg)
{
	static char path[PATH_MAX + 512];

	(void)arg;
	if (marker_path(at_work.r, "decision", path, sizeof(path)) == 0)
		at_work.decision = read_decision(at_work.r, path);
}

char *launch_decision(const struct run *r)
{
	return run_patiently(r, work_decision) ? at_work.decision : NULL;
}

static char *decide(const struct run *r, const char *text)
{
	static char path[PATH_MAX + 512], own[PATH_MAX + 512];
	char name[32];
	char *made = NULL;
	int fd;

	snprintf(name, sizeof(name), "t.%d", r->world_rank);
	if (marker_path(r, "decision", path, sizeof(path)) < 0 || marker_path(r, name, own, sizeof(own)) < 0)
		return NULL;
	fd = open(own, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return NULL;
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text)) {
		close(fd);
		/* Whoever came first: link() fails for all others. */
		if (!link(own, path) || errno == EEXIST)
			made = read_decision(r, path);
	} else {
		close(fd);
	}
	unlink(own);
	return made;
}

static void work_decide(void *arg)
{
	(void)arg;
	at_work.decision = decide(at_work.r, at_work.text);
}

char *launch_decide(const struct run *r, const char *text)
{
	at_work.text = patience_lost() ? NULL : strdup(text);
	if (!at_work.text || !run_patiently(r, work_decide))
		return NULL;
	free(at_work.text);
	return at_work.decision;
}

static void remove_marker(const char *path, const char *rest, void *arg)
{
	(void)rest;
	(void)arg;
	unlink(path);
}

static void work_unmark(void *arg)
{
	(void)arg;
	each_marker(at_work.r, remove_marker, NULL);
}

void launch_unmark(const struct run *r)
{
	run_patiently(r, work_unmark);
}

/* ---- names ---- */

int launch_trace_path(const struct run *r, char *path, size_t size)
{
	const char *slash = strrchr(r->file, '/'), *dot = strrchr(r->file, '.'), *spawned = r->spawned ? ".spawned" : "";
	int stem = dot && (!slash || dot > slash + 1) ? (int)(dot - r->file) : (int)strlen(r->file);

	for (int k = 1; k < MAX_NAMES; k++) {
		int n;

		if (!r->file[0])
			n = snprintf(path, size, "%s/%s.%d%s.ptrace", r->dir, r->id, k, spawned);
		else if (k == 1)
			n = snprintf(path, size, "%.*s%s%s", stem, r->file, spawned, r->file + stem);
		else
			n = snprintf(path, size, "%.*s%s.%d%s", stem, r->file, spawned, k, r->file + stem);
		if (n < 0 || (size_t)n >= size)
			return -1;
		if (access(path, F_OK))
			return 0;
	}
	return -1;
}

static void work_report(void *arg)
{
	static char path[PATH_MAX + 32];
	int fd;

	(void)arg;
	if (snprintf(path, sizeof(path), "%s/tracer.err", at_work.r->dir) >= (int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd < 0)
		return;
	dprintf(fd, "%s: %s\n", at_work.r->id, at_work.text);
	close(fd);
}

void launch_report(const struct run *r, const char *text)
{
	if (r->aloud) {
		dprintf(STDERR_FILENO, "precedent: %s\n", text);
		return;
	}
	at_work.text = patience_lost() ? NULL : strdup(text);
	if (at_work.text && run_patiently(r, work_report))
		free(at_work.text);
}
