/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Partial execution: see partial.h. Where to stop is skelgen's, the sandbox is common's; here the two meet. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/skeleton/confine.h"
#include "cli/skeleton/lacked.h"
#include "cli/skeleton/partial.h"
#include "cli/skeleton/skeleton.h"
#include "cli/ui/mpi_tools.h"
#include "cli/ui/util.h"
#include "common/sandbox.h"
#include "skelgen/pipeline.h"
#include "trace/format/words.h"

#define MARKS_MAX  (256ull << 20)
#define LAUNCH_MAX 16

/* ---- what was run ---- */

struct command {
	char **words, **directory, **input, **environment; /* as the trace says */
	const char *environment_text;
	const char *launcher;   /* "srun", "mpirun" */
	char start[4128];       /* the launcher's path */
	char n_ranks[16], self[PATH_MAX], result_dir[PATH_MAX];
	char **argv;            /* all of it */
};

static void command_free(struct command *c)
{
	free(c->words);
	free(c->directory);
	free(c->input);
	free(c->environment);
	free(c->argv);
}

static char **job_words(const struct trace *t, const char *key)
{
	const char *text = trace_job_get(t, key);

	return text ? words_parse(text) : NULL;
}

static int command_read(struct command *c, const struct trace *t, const char *dir, struct errbuf *err)
{
	ssize_t len = readlink("/proc/self/exe", c->self, sizeof(c->self) - 1);
	const char *launcher = trace_job_get(t, "launcher");
	enum mpi_family family = mpi_family_of_library(trace_job_get(t, "mpi"));
	const char *mpicc = mpi_compiler(family);
	size_t n = 0;

	c->words = job_words(t, "command");
	c->directory = job_words(t, "directory");
	c->input = job_words(t, "input");
	c->environment = job_words(t, "environment");
	c->environment_text = trace_job_get(t, "environment");
	c->self[len > 0 ? len : 0] = '\0';
	if (!realpath(dir, c->result_dir))
		return err_set(err, "%s: %s", dir, strerror(errno));
	if (!c->words || !c->directory)
		return err_set(err, "the trace does not say exactly how the program was started");
	c->launcher = launcher && !strcmp(launcher, "srun") ? "srun" : "mpirun";
	mpi_launcher(mpicc ? mpicc : family == MPI_MPICH ? "mpicc.mpich" : "mpicc", c->start, sizeof(c->start));
	snprintf(c->n_ranks, sizeof(c->n_ranks), "%u", trace_n_ranks(t));
	while (c->words[n])
		n++;
	c->argv = calloc(n + LAUNCH_MAX, sizeof(*c->argv));
	return c->argv ? 0 : err_set(err, "no memory for the command");
}

/* Several nodes, or tasks that Slurm starts: then each process enters the sandbox of its node by itself. */
static bool is_spread(const struct command *c)
{
	const char *nodes = getenv("SLURM_JOB_NUM_NODES");

	return !strcmp(c->launcher, "srun") || (nodes && atoi(nodes) > 1);
}

/* LAUNCHER -n N [precedent confine ... --] PROGRAM */
static void command_line(struct command *c, const struct trace *t)
{
	enum mpi_family family = mpi_family_of_library(trace_job_get(t, "mpi"));
	bool srun = !strcmp(c->launcher, "srun");
	size_t n = 0;

	c->argv[n++] = srun ? "srun" : c->start;
	n += mpi_launch_options(family, srun, c->n_ranks, c->argv + n);
	if (is_spread(c)) {
		c->argv[n++] = c->self;
		c->argv[n++] = "confine";
		c->argv[n++] = "--dir";
		c->argv[n++] = c->result_dir;
		c->argv[n++] = "--";
	}
	for (size_t i = 0; c->words[i]; i++)
		c->argv[n++] = c->words[i];
}

/* ---- before and after ---- */

static int write_stop(const char *dir, const struct stop_plan *p, struct errbuf *err)
{
	struct buf b = {0};
	char path[PATH_MAX + 32];
	FILE *f;
	int rv = 0;

	snprintf(path, sizeof(path), "%s/" STOP_FILE_NAME, dir);
	stop_plan_format(p, &b);
	f = fopen(path, "wxe");
	if (b.failed || !f || fwrite(b.data, 1, b.len, f) != b.len || fclose(f))
		rv = err_set(err, "%s: %s", path, b.failed ? "no memory" : strerror(errno));
	buf_free(&b);
	return rv;
}

static char *read_file(const char *dir, const char *name, size_t *len)
{
	char path[PATH_MAX + 32], *text = NULL;
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	*len = 0;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && (unsigned long long)st.st_size < MARKS_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && (n = read(fd, text + *len, (size_t)st.st_size - *len)) > 0)
		*len += (size_t)n;
	close(fd);
	if (text)
		text[*len] = '\0';
	return text;
}

#define LOG_END 4096 /* bytes of the end of a log that are read */

/* The program's last line in the log, without the frames of dashes in which launchers comment on it; "": it has none. */
static void last_line(const char *log, char *out, size_t size)
{
	char end[LOG_END + 1];
	FILE *f = log ? fopen(log, "re") : NULL;
	bool framed = false;
	size_t n = 0;

	out[0] = '\0';
	if (f && (fseek(f, -LOG_END, SEEK_END) == 0 || fseek(f, 0, SEEK_SET) == 0))
		n = fread(end, 1, LOG_END, f);
	if (f)
		fclose(f);
	end[n] = '\0';
	for (char *save, *line = strtok_r(end, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		bool frame = !strncmp(line, "----------", 10);

		framed ^= frame;
		if (!frame && !framed && line[strspn(line, " \t\r")])
			snprintf(out, size, "%s", line);
	}
	for (; *out; out++)
		if ((unsigned char)*out < ' ')
			*out = ' ';
}

/* What the run has left. The launcher's opinion of processes that end before MPI_Finalize does not count; a program
 * that the sandbox ended has no say either. */
static int read_marks(const char *dir, const char *log, int rc, struct stop_marks *m, struct errbuf *err)
{
	char words[200];
	size_t len;
	char *text = rc < 0 ? NULL : read_file(dir, STOP_MARKS_NAME, &len);
	int rv;

	if (text) {
		rv = stop_marks_parse(text, len, m, err);
		free(text);
		return rv;
	}
	text = read_file(dir, STOP_REFUSED_NAME, &len);
	if (text) {
		err_set(err, "%.*s", (int)strcspn(text, "\n"), text);
	} else if (rc >= 0) {
		err_set(err, "the program ended before the place where it was to stop (exit status %d)", rc);
	}
	free(text);
	last_line(rc > 0 ? log : NULL, words, sizeof(words));
	if (words[0]) {
		struct errbuf why = *err;

		err_set(err, "%s; its last line: %s", why.text, words);
	}
	return -1;
}

/* ---- the run ---- */

void partial_overlays(struct sandbox *s)
{
	const char *names[] = {s->dir, getenv("HOME"), "/tmp", "/var/tmp", getenv("TMPDIR"), getenv("SCRATCH"), getenv("WORK"),
			       "/scratch", "/work", "/lustre", "/gpfs", "/beegfs", "/dev/shm"};
	size_t n = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (names[i] && names[i][0] == '/')
			s->overlay[n++] = names[i];
}

/* Environment for a partial execution: the tracer's settings, and the variables recorded in the trace. */
struct environment {
	char **list;
	char as_root[2][48], limit[32], preload[2 * PATH_MAX], stop[PATH_MAX + 32], trace[PATH_MAX + 32], file[32], local[32];
};

static int environment_make(struct environment *e, const char *dir, const struct command *c, struct errbuf *err)
{
	char *lib = cli_installed("libprecedent_trace.so", err);
	const char *old = getenv("LD_PRELOAD");
	size_t n = 0;
	int len;

	if (!lib)
		return -1;
	len = snprintf(e->preload, sizeof(e->preload), "LD_PRELOAD=%s%s%s", lib, old && *old ? ":" : "", old ? old : "");
	free(lib);
	if (len < 0 || (size_t)len >= sizeof(e->preload))
		return err_set(err, "LD_PRELOAD is too long");
	while (c && c->environment && c->environment[n])
		n++;
	e->list = calloc(n + 8, sizeof(*e->list));
	if (!e->list)
		return err_set(err, "no memory");
	for (size_t i = 0; i < n; i++)
		e->list[i] = c->environment[i];
	snprintf(e->stop, sizeof(e->stop), "PRECEDENT_STOP_AT=%s", dir);
	snprintf(e->trace, sizeof(e->trace), "PRECEDENT_TRACE_DIR=%s", dir);
	snprintf(e->file, sizeof(e->file), "PRECEDENT_TRACE_FILE=");
	snprintf(e->local, sizeof(e->local), "PRECEDENT_TRACE_LOCAL=");
	e->list[n++] = e->preload;
	e->list[n++] = e->stop;
	e->list[n++] = e->trace;
	e->list[n++] = e->file;
	e->list[n++] = e->local;
	snprintf(e->as_root[0], sizeof(e->as_root[0]), "OMPI_ALLOW_RUN_AS_ROOT=1");
	snprintf(e->as_root[1], sizeof(e->as_root[1]), "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
	for (int i = 0; i < 2 && c && geteuid() == 0; i++)
		e->list[n++] = e->as_root[i];
	return 0;
}

/* The launcher runs outside of the sandbox. It starts `precedent confine` processes, which find their parameters in
 * their environment. */
static int run_spread(const struct partial_wish *w, const struct command *c, const struct environment *e, double limit_s,
		      struct errbuf *err)
{
	const char *pair[] = {CONFINE_DIRECTORY, c->directory[0], CONFINE_INPUT, c->input ? c->input[0] : "/dev/null",
			      CONFINE_PRELOAD, strchr(e->preload, '=') + 1, CONFINE_LIMIT, e->limit, NULL, NULL, NULL, NULL,
			      NULL};
	const char *environment = c->environment_text;
	size_t n = 8;

	if (environment) {
		pair[n++] = CONFINE_ENVIRONMENT;
		pair[n++] = environment;
	}
	return cli_run(c->argv, pair, w->log, limit_s + 20, err);
}

/* c: the command recorded in the trace, or NULL. */
static int run_and_read(const struct partial_wish *w, const struct command *c, const struct partial_plan *plan,
			struct partial_estimate *out, struct errbuf *err)
{
	char cwd[PATH_MAX] = "/", dir[PATH_MAX];
	struct sandbox s = {.log = w->log, .limit_s = w->limit_s + 10 * plan->planned_s};
	struct environment env;
	struct stop_marks marks = {0};
	struct processors before;
	double lacked = 0;
	int rc;

	if (!realpath(w->dir, dir) || (!c && !getcwd(cwd, sizeof(cwd))))
		return err_set(err, "%s: %s", w->dir, strerror(errno));
	s.dir = c ? c->directory[0] : cwd;
	s.shared[0] = dir;
	partial_overlays(&s);
	if (write_stop(dir, &plan->stop, err) < 0)
		return -1;
	if (environment_make(&env, dir, c, err) < 0)
		return -1;
	snprintf(env.limit, sizeof(env.limit), "%.0f", s.limit_s);
	s.env = env.list;
	s.input = c ? (c->input ? c->input[0] : "/dev/null") : NULL;
	processors_look(&before);
	if (c && is_spread(c)) {
		rc = run_spread(w, c, &env, s.limit_s, err);
	} else {
		rc = sandbox_run(&s, c ? c->argv : w->command, err);
		lacked = processors_lacked(&before, plan->stop.n_ranks);
	}
	free(env.list);
	if (read_marks(dir, w->log, rc, &marks, err) < 0)
		return -1;
	rc = partial_estimate_make(plan, &marks, out, err);
	out->lacked = lacked;
	stop_marks_free(&marks);
	return rc;
}

static int predict(const struct trace *t, const struct partial_wish *w, struct partial_estimate *out, struct partial_traced *traced,
		   struct errbuf *err)
{
	struct skel_tree tree = {0};
	struct skel_times times = {0};
	struct partial_plan plan = {0};
	struct command c = {0};
	int rv = -1;

	if (skeleton_trace_check(t, err) < 0)
		return -1;
	if (!skel_tree_fits(t))
		return err_set(err, "its calls repeat too little: no main loop is sought in so long a trace");
	if (!w->command && command_read(&c, t, w->dir, err) < 0)
		goto out;
	if (!w->command)
		command_line(&c, t);
	if (skel_tree_build(t, &tree, err) < 0)
		goto out;
	if (skel_times_collect(&tree, &times, err) == 0) {
		*traced = (struct partial_traced){times.wall_ns * 1e-9, (times.gap_ns + times.delayed_ns) * 1e-9, times.events, tree.n_ranks};
		if (partial_plan_make(&tree, &times, w->seconds, &plan, err) == 0)
			rv = run_and_read(w, w->command ? NULL : &c, &plan, out, err);
		skel_times_free(&times);
	}
	partial_plan_free(&plan);
	skel_tree_free(&tree);
out:
	command_free(&c);
	return rv;
}

bool partial_asked(const char *trace)
{
	struct errbuf unused;
	struct trace *t = trace_open(trace, &unused);
	const char *asked = t ? trace_job_get(t, "partial") : NULL;
	bool yes = asked && (!strcmp(asked, "1") || !strcmp(asked, "on"));

	trace_close(t);
	return yes;
}

int partial_predict(const char *trace, const struct partial_wish *wish, struct partial_estimate *out,
		    struct partial_traced *traced, struct errbuf *err)
{
	struct trace *t = trace_open(trace, err);
	struct partial_traced unused;
	int rv = t ? predict(t, wish, out, traced ? traced : &unused, err) : -1;

	trace_close(t);
	return rv < 0 ? err_prefix(err, "partial execution") : 0;
}

const char *partial_reasons(const char *unskeleton, const struct errbuf *unpartial, struct errbuf *both)
{
	const char *why = strstr(unpartial->text, ": ");

	if (why && strstr(unskeleton, why + 2))
		return unskeleton;
	err_set(both, "%s; %s", unskeleton, unpartial->text);
	return both->text;
}
