/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the batch script from sbatch's command line, since SPANK does not tell it. Computes the fingerprint and the
 * hash of the launches. After an error the job has none; messages appear with --verbose only.
 */
#include "spank/submit_side.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/fingerprint.h"
#include "common/inject.h"
#include "common/launches.h"
#include "common/sbatch_args.h"
#include "common/script_words.h"
#include "spank/bounded.h"

#define FINGERPRINT_VAR   "PRECEDENT_FINGERPRINT"
/* A fingerprint gives up earlier (FINGERPRINT_TIME_NS), unless a file server does not answer. */
#define SUBMIT_MS         1000
#define COMMAND_LINE_MAX (4 * 1024 * 1024)
/* Most scripts that come through a pipe are there at once. sbatch itself waits for the others. */
#define PIPE_MS 300

static struct plugin_context {
	enum precedent_mode mode;
	bool mode_given;
	char *piped; /* copy of a script that sbatch reads from a pipe; NULL: none */
	size_t piped_len;
} context;

/* Data read for one submission. */
struct submission {
	char *command_line; /* words, each with a NUL */
	char **argv;        /* into command_line */
	size_t argc;
	char *script;
	size_t script_len;
	char **directives;
	char cwd[PATH_MAX];
	char *work_dir;
	struct sbatch_args args;
};

int submit_side_option(const char *value)
{
	if (!value || mode_parse(value, &context.mode) < 0) {
		slurm_error("precedent: --predict=%s: say off, observe, limit or place", value ? value : "");
		return -1;
	}
	context.mode_given = true;
	return 0;
}

static const char *lookup_env(const char *name)
{
	return getenv(name);
}

/* Read at most max bytes of an open file from its start. The result is NUL-terminated. Returns NULL if the file
 * cannot be read. */
static char *read_whole(int fd, size_t max, bool seekable, size_t *len)
{
	size_t cap = 65536, n = 0;
	char *data = malloc(cap);
	while (data && n < max) {
		if (n + 1 >= cap) {
			char *more = realloc(data, cap *= 2);
			if (!more)
				break;
			data = more;
		}
		size_t room = cap - n - 1 < max - n ? cap - n - 1 : max - n;
		ssize_t got = seekable ? pread(fd, data + n, room, (off_t)n) : read(fd, data + n, room);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0) {
			if (got == 0) {
				data[n] = '\0';
				*len = n;
				return data;
			}
			break;
		}
		n += (size_t)got;
	}
	if (data && n == max) {
		data[n] = '\0';
		*len = n;
		return data;
	}
	free(data);
	return NULL;
}

static int read_command_line(struct submission *s)
{
	size_t len = 0, n = 0;
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	s->command_line = read_whole(fd, COMMAND_LINE_MAX, false, &len);
	close(fd);
	if (!s->command_line || !len || s->command_line[len - 1] != '\0')
		return -1;
	for (size_t i = 0; i < len; i++)
		n += s->command_line[i] == '\0';
	s->argv = calloc(n + 1, sizeof(*s->argv));
	if (!s->argv)
		return -1;
	for (size_t i = 0; i < len; i += strlen(s->command_line + i) + 1)
		s->argv[s->argc++] = s->command_line + i;
	return 0;
}

/* Open the script as sbatch finds it: in the current directory, then in PATH. Returns -1 if there is none. */
static int open_script(const char *name)
{
	struct stat st;
	const char *path = getenv("PATH");
	int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
	int fd = open(name, flags);
	while (fd < 0 && !strchr(name, '/') && path && *path) {
		size_t len = strcspn(path, ":");
		char full[PATH_MAX];
		int n = snprintf(full, sizeof(full), "%.*s/%s", (int)len, path, name);
		if (n > 0 && (size_t)n < sizeof(full))
			fd = open(full, flags);
		path += len + (path[len] == ':');
	}
	if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static bool word_is_script(const char *word)
{
	char magic[2];
	int fd = open_script(word);
	bool yes = fd >= 0 && pread(fd, magic, 2, 0) == 2 && memcmp(magic, "#!", 2) == 0;
	if (fd >= 0)
		close(fd);
	return yes;
}

/* Read the script's text: from a file, from --wrap, or from standard input. sbatch has read it, but a
 * file can be read again, and of a pipe there is a copy. */
static int read_script(struct submission *s)
{
	struct stat st;
	if (s->args.wrap) {
		s->script = strdup(s->args.wrap);
		s->script_len = s->script ? strlen(s->script) : 0;
	} else if (s->args.script) {
		int fd = open_script(s->args.script);
		if (fd >= 0) {
			s->script = read_whole(fd, SCRIPT_BYTES_MAX, true, &s->script_len);
			close(fd);
		}
	} else if (fstat(STDIN_FILENO, &st) == 0 && S_ISREG(st.st_mode)) {
		s->script = read_whole(STDIN_FILENO, SCRIPT_BYTES_MAX, true, &s->script_len);
	} else if (context.piped) {
		s->script = strdup(context.piped);
		s->script_len = s->script ? context.piped_len : 0;
	}
	return s->script ? 0 : -1;
}

/* Read the script's #SBATCH lines, then the command line again, which overrides them. */
static int read_directives(struct submission *s)
{
	size_t n = 0;
	struct sbatch_args said = {0}, command = s->args;
	s->directives = sbatch_directives(s->script, s->script_len, &n);
	if (!s->directives)
		return -1;
	sbatch_args_read(s->directives, n, NULL, &said);
	if (!command.chdir)
		s->args.chdir = said.chdir;
	if (!command.input)
		s->args.input = said.input;
	if (!command.output)
		s->args.output = said.output;
	if (!command.error)
		s->args.error = said.error;
	return 0;
}

/* Fill in the data of a batch job. Returns 0, or -1 if they cannot be found. */
static int read_batch(struct submission *s, struct fingerprint_job *job)
{
	sbatch_args_read(s->argv + 1, s->argc - 1, word_is_script, &s->args);
	if (read_script(s) < 0 || (!s->args.wrap && read_directives(s) < 0))
		return -1;
	job->script = s->script;
	job->script_len = s->script_len;
	job->args = s->args.args;
	job->n_args = s->args.n_args;
	job->input = s->args.input;
	job->output = s->args.output;
	job->error = s->args.error;
	return 0;
}

/* The job of this submission. Its files may be on a server that does not answer. */
static int read_submission(struct submission *s, struct fingerprint_job *job, struct errbuf *err)
{
	if (!getcwd(s->cwd, sizeof(s->cwd)) || read_command_line(s) < 0 || s->argc < 1)
		return err_set(err, "the command line cannot be read");
	if (strcmp(program_invocation_short_name, "sbatch") == 0) {
		if (read_batch(s, job) < 0)
			return err_set(err, "the script cannot be read here");
	} else {
		job->args = s->argv + 1;
		job->n_args = s->argc - 1;
	}
	s->work_dir = path_normal(s->cwd, s->args.chdir ? s->args.chdir : ".");
	job->work_dir = s->work_dir;
	job->submit_dir = s->cwd;
	return s->work_dir ? 0 : err_set(err, "no memory");
}

/*
 * Tell the job_submit plugin whether sbatch's standard error is a terminal, and the user's choice when to be told. A
 * choice that is not known is no choice: sbatch must submit.
 */
static void pass_message_choice(spank_t sp)
{
	const char *choice = getenv(MESSAGE_VAR);
	enum conf_message message;
	spank_job_control_setenv(sp, MESSAGE_TERMINAL_VAR, isatty(STDERR_FILENO) ? "1" : "0", 1);
	if (!choice || !*choice)
		return;
	if (message_parse(choice, &message) == 0)
		spank_job_control_setenv(sp, MESSAGE_VAR, message_name(message), 1);
	else
		slurm_error("precedent: " MESSAGE_VAR "=%s: write always, terminal or never", choice);
}

static void submission_free(struct submission *s)
{
	free(s->command_line);
	free(s->argv);
	free(s->script);
	free(s->directives);
	free(s->work_dir);
	free(s);
}

static void strip_variable(const char *name, int (*strip)(const char *, char *, size_t))
{
	char value[INJECT_VALUE_MAX];
	const char *old = getenv(name);
	if (!old || strip(old, value, sizeof(value)) < 0 || strcmp(old, value) == 0)
		return;
	if (value[0])
		setenv(name, value, 1);
	else
		unsetenv(name);
}

/* A job submitted from within a traced job must not inherit its tracer. For its option see submit_side_begin. */
static void forget_outer_job(void)
{
	const char *agent = getenv(INJECT_AGENT);
	unsetenv(INJECT_MARK);
	unsetenv(INJECT_LIMITS);
	unsetenv("PRECEDENT_TRACE_DIR");
	unsetenv("PRECEDENT_TRACE_LOCAL");
	strip_variable("LD_PRELOAD", inject_preload_strip);
	strip_variable(INJECT_ENV_LIST, inject_env_list_strip);
	strip_variable(INJECT_ENV_LIST_INTERNAL, inject_env_list_strip);
	if (agent && inject_is_agent(agent))
		unsetenv(INJECT_AGENT);
}

static int compute(int (*hash)(const struct fingerprint_job *, char *, struct errbuf *), char *out, struct errbuf *err)
{
	struct submission *s = calloc(1, sizeof(*s));
	struct fingerprint_job job = {.lookup = lookup_env};
	int rc = s ? read_submission(s, &job, err) : err_set(err, "no memory");
	if (rc == 0)
		rc = hash(&job, out, err);
	if (s)
		submission_free(s);
	return rc < 0 ? -1 : 0;
}

static int compute_fingerprint(void *out, struct errbuf *err)
{
	return compute(fingerprint_job, out, err);
}

static int compute_launches(void *out, struct errbuf *err)
{
	return compute(launches_of, out, err);
}

/* No file is opened here, since its server may not answer. */
static bool word_may_be_script(const char *word)
{
	(void)word;
	return true;
}

/* Does sbatch only tell something, and submit nothing? */
static bool only_tells(const struct submission *s)
{
	static const char *const options[] = {"--help", "--usage", "--version", "-V", "-h"};
	for (size_t i = 1; i < s->argc; i++)
		for (size_t k = 0; k < sizeof(options) / sizeof(options[0]); k++)
			if (strcmp(s->argv[i], options[k]) == 0)
				return true;
	return false;
}

/* Does sbatch read its script from standard input? In doubt about a word, no: nothing is waited for. */
static bool reads_input(void)
{
	struct submission *s = calloc(1, sizeof(*s));
	bool reads = s && read_command_line(s) == 0 && s->argc > 0 && !only_tells(s);
	if (reads) {
		sbatch_args_read(s->argv + 1, s->argc - 1, word_may_be_script, &s->args);
		reads = !s->args.script && !s->args.wrap;
	}
	if (s)
		submission_free(s);
	return reads;
}

/* Copy a script that waits in a pipe: tee(2) leaves it there for sbatch. The copy is whole if the pipe's other end is closed. */
static void copy_pipe(void)
{
	struct pollfd closed = {.fd = STDIN_FILENO};
	int copy[2], size = 0;
	struct stat st;
	if (strcmp(program_invocation_short_name, "sbatch") != 0 || fstat(STDIN_FILENO, &st) != 0 || !S_ISFIFO(st.st_mode) ||
	    !reads_input() || poll(&closed, 1, PIPE_MS) != 1 || !(closed.revents & POLLHUP))
		return;
	if (ioctl(STDIN_FILENO, FIONREAD, &size) != 0 || size <= 0 || size > SCRIPT_BYTES_MAX || pipe2(copy, O_CLOEXEC) != 0)
		return;
	fcntl(copy[1], F_SETPIPE_SZ, SCRIPT_BYTES_MAX);
	if (tee(STDIN_FILENO, copy[1], (size_t)size, SPLICE_F_NONBLOCK) == size) {
		close(copy[1]);
		copy[1] = -1;
		context.piped = read_whole(copy[0], SCRIPT_BYTES_MAX, false, &context.piped_len);
	}
	close(copy[0]);
	if (copy[1] >= 0)
		close(copy[1]);
}

void submit_side_begin(void)
{
	copy_pipe();
	/* Inside a job, Slurm would take the outer job's option for the inner job's. A step has the option of its job. */
	if (spank_context() != S_CTX_ALLOCATOR || !getenv("SLURM_JOB_ID"))
		return;
	unsetenv("_SLURM_SPANK_OPTION_precedent_predict");
	unsetenv("SPANK__SLURM_SPANK_OPTION_precedent_predict");
	unsetenv("SLURM_SPANK__SLURM_SPANK_OPTION_precedent_predict");
	unsetenv("SLURM_SPANK_" FINGERPRINT_VAR);
	unsetenv("SLURM_SPANK_" LAUNCHES_VAR);
	unsetenv("SLURM_SPANK_" MESSAGE_VAR);
}

static unsigned passed_ms(const struct timespec *since)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (unsigned)((now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000);
}

/* The launches have the time that the fingerprint left. A late answer must not cost the fingerprint. */
static void pass_hashes(spank_t sp)
{
	char fingerprint[FINGERPRINT_LEN] = "", launches[LAUNCHES_LEN] = "";
	const struct bounded first = {compute_fingerprint, fingerprint, sizeof(fingerprint), SUBMIT_MS, "an input file"};
	struct bounded second = {compute_launches, launches, sizeof(launches), SUBMIT_MS, "a file that is launched"};
	struct timespec start;
	struct errbuf err;
	unsigned passed;
	clock_gettime(CLOCK_MONOTONIC, &start);
	if (bounded_run(&first, NULL, &err) < 0) {
		slurm_verbose("precedent: no fingerprint: %s", err.text);
		return;
	}
	slurm_debug("precedent: fingerprint %s", fingerprint);
	spank_job_control_setenv(sp, FINGERPRINT_VAR, fingerprint, 1);
	passed = passed_ms(&start);
	second.ms -= passed < SUBMIT_MS ? passed : SUBMIT_MS - 1;
	if (bounded_run(&second, NULL, &err) < 0) {
		slurm_debug("precedent: launches not certain: %s", err.text);
		return;
	}
	slurm_debug("precedent: launches %s", launches);
	spank_job_control_setenv(sp, LAUNCHES_VAR, launches, 1);
}

void submit_side_options_done(spank_t sp)
{
	/* srun inside a job starts a step, not a job. */
	if (spank_context() == S_CTX_LOCAL && getenv("SLURM_JOB_ID"))
		return;
	forget_outer_job();
	if (context.mode_given && context.mode == MODE_OFF)
		return;
	pass_message_choice(sp);
	pass_hashes(sp);
}
