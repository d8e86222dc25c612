/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent trace: run a command with the tracer preloaded. The command's output, input and exit status are its own.
 * Our message goes to stderr, one line at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/trace/trace_run.h"
#include "cli/ui/command_end.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/read/reader.h"
#include "trace/salvage/salvage.h"

struct args {
	const char *output;
	bool quiet;
};

static char *default_output(char *const cmd[])
{
	char *out;

	return asprintf(&out, "%s.ptrace", basename(command_program(cmd))) < 0 ? NULL : out;
}

static char *absolute(const char *path)
{
	char cwd[PATH_MAX], *out;

	if (path[0] == '/')
		return strdup(path);
	if (!getcwd(cwd, sizeof(cwd)) || asprintf(&out, "%s/%s", cwd, path) < 0)
		return NULL;
	return out;
}

/* A directory beside the trace for the tracer's markers, which a run that dies leaves behind. */
static char *marker_dir(const char *file, const char *path, struct errbuf *err)
{
	char *dir;

	if (asprintf(&dir, "%.*s/.precedent-XXXXXX", (int)(strrchr(path, '/') - path), path) < 0) {
		err_set(err, "no memory");
		return NULL;
	}
	if (mkdtemp(dir))
		return dir;
	err_set(err, "%s: cannot be written: %s", file, strerror(errno));
	free(dir);
	return NULL;
}

/* FILE for the first run that died, FILE.2 ... for further ones: x.ptrace, x.2.ptrace. */
static char *numbered(const char *path, int k)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = dot && dot > slash + 1 ? (int)(dot - path) : (int)strlen(path);
	char *out;
	int n = k == 1 ? asprintf(&out, "%s", path) : asprintf(&out, "%.*s.%d%s", stem, path, k, path + stem);

	return n < 0 ? NULL : out;
}

static const char *how_ended(int rc, char *text, size_t size)
{
	if (command_is_signal(rc))
		snprintf(text, size, "exit code %d (%s)", rc, strsignal(command_is_signal(rc)));
	else if (rc)
		snprintf(text, size, "exit code %d", rc);
	else
		snprintf(text, size, "did not reach MPI_Finalize");
	return text;
}

/* The processes have ended now: how long a call lasted that never returned is told by the time of its file. */
static void touch_all(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;

	while (d && (e = readdir(d)))
		if (e->d_name[0] != '.')
			utimensat(dirfd(d), e->d_name, NULL, AT_SYMLINK_NOFOLLOW);
	if (d)
		closedir(d);
}

/* What ranks that died have left in dir becomes partial traces. */
static void salvage(const char *dir, const char *path, int rc)
{
	struct salvage_report report;
	struct salvage_run *run = NULL;
	struct errbuf err;
	char ended[80];
	int n;

	touch_all(dir);
	n = salvage_find(dir, &run, &err);

	if (n < 0)
		cli_fail("%s", err.text);
	for (int i = 0, k = 1; i < n; i++) {
		char *out = NULL;

		do {
			free(out);
			out = numbered(path, k++);
		} while (out && access(out, F_OK) == 0);
		if (out && salvage_write(dir, run[i].id, NULL, out, how_ended(rc, ended, sizeof(ended)), &report, &err) < 0)
			cli_fail("%s", err.text);
		free(out);
	}
	free(run);
}

/* What the first rank that had a word has said: "RUN: word" is a line of tracer.err. */
static void read_word(const char *dir, struct errbuf *err)
{
	char path[PATH_MAX], line[sizeof(err->text)], *word;
	FILE *f = NULL;

	err->text[0] = '\0';
	if (snprintf(path, sizeof(path), "%s/tracer.err", dir) < (int)sizeof(path))
		f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && (word = strstr(line, ": ")))
		err_set(err, "%.*s", (int)strcspn(word + 2, "\n"), word + 2);
	if (f)
		fclose(f);
}

/* Ctrl-C reaches the command directly. A signal sent to this process alone is passed on. In both cases this process
 * stays until the command ends. */
static void pass_on(int signal)
{
	if (cli_child && signal != SIGINT && signal != SIGQUIT)
		kill(cli_child, signal);
}

static void outlive_command(void)
{
	const struct sigaction a = {.sa_handler = pass_on};
	const int all[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};
	struct sigaction old;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (sigaction(all[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
			sigaction(all[i], &a, NULL);
}

int trace_run(char *const cmd[], const char *file, const char *log, struct errbuf *err)
{
	char *lib = cli_installed("libprecedent_trace.so", err), *path = absolute(file), *preload = NULL, *markers = NULL;
	const char *old = getenv("LD_PRELOAD");
	int rv = -1;

	if (!lib)
		goto out;
	if (!path || asprintf(&preload, "%s%s%s", lib, old && *old ? ":" : "", old ? old : "") < 0) {
		preload = NULL;
		err_set(err, "no memory");
		goto out;
	}
	if (unlink(path) < 0 && errno != ENOENT) {
		err_set(err, "%s: cannot be replaced: %s", file, strerror(errno));
		goto out;
	}
	markers = marker_dir(file, path, err);
	if (!markers)
		goto out;
	const char *const env[] = {"LD_PRELOAD", preload, "PRECEDENT_TRACE_FILE", path, "PRECEDENT_TRACE_DIR", markers,
				   "PRECEDENT_TRACE_LOCAL", markers, NULL};

	outlive_command();
	rv = cli_run(cmd, env, log, 0, err);
	if (rv >= 0) {
		salvage(markers, path, rv);
		read_word(markers, err);
	}
	cli_remove_dir(markers);
out:
	free(markers);
	free(lib);
	free(path);
	free(preload);
	return rv;
}

/* rc: the exit status of cmd, which left the file. */
static int describe(const char *file, char *const cmd[], int rc, struct errbuf *err)
{
	struct trace *t = trace_open(file, err);
	uint64_t events = 0;
	double wall = 0;
	char n[32], w[32], size[32], ended[512];
	bool partial;

	if (!t)
		return -1;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		events += trace_get_rank(t, r)->events.length;
		if (trace_get_rank(t, r)->wall_ns > wall)
			wall = trace_get_rank(t, r)->wall_ns;
	}
	partial = trace_is_partial(t);
	command_how_ended(cmd, rc, partial ? LEFT_PARTIAL : LEFT_WHOLE, ended, sizeof(ended));
	fprintf(stderr, "precedent: %s: %s%s%s%u ranks, %s events, %s, %s", cli_shown(file), partial ? "PARTIAL, " : "", partial ? ended : "",
		partial ? ": " : "", trace_n_ranks(t), cli_thousands(n, sizeof(n), events), cli_seconds(w, sizeof(w), wall * 1e-9),
		cli_bytes(size, sizeof(size), (double)trace_file_size(t)));
	fprintf(stderr, !partial && rc ? "; %s\n" : "\n", ended);
	trace_close(t);
	return 0;
}

static int run_traced(char *const cmd[], const char *file, bool quiet)
{
	struct errbuf err;
	struct stat st;
	int rc = trace_run(cmd, file, NULL, &err);

	if (rc < 0)
		return cli_fail("%s", err.text);
	if (stat(file, &st) < 0) {
		char ended[512];

		command_how_ended(cmd, rc, LEFT_NOTHING, ended, sizeof(ended));
		if (err.text[0])
			cli_fail("%s", err.text);
		else
			cli_fail("no trace: %s", ended);
		return rc ? rc : 1;
	}
	if (err.text[0])
		cli_fail("%s", err.text);
	if (!quiet && describe(file, cmd, rc, &err) < 0)
		return cli_fail("%s", err.text);
	return rc;
}

static int trace_verb(int argc, char **argv)
{
	struct args a = {0};
	int rc;
	char *file, **cmd = options_read(&verb_trace, argc, argv, &a, &rc);

	if (!cmd)
		return rc;
	if (!*cmd)
		return cli_usage("trace", "no command to run");
	file = a.output ? strdup(a.output) : default_output(cmd);
	if (!file)
		return cli_fail("no memory");
	rc = run_traced(cmd, file, a.quiet);
	free(file);
	return rc;
}

static const struct verb_option options[] = {
	{"output", 'o', "FILE", OPT_TEXT(struct args, output), .help = "the trace (default: PROGRAM.ptrace in this directory)"},
	{"quiet", 'q', NULL, OPT_FLAG(struct args, quiet), .help = "say nothing when it worked"},
	{0},
};

const struct verb verb_trace = {
	"trace", "[-o FILE] -- CMD...", "run CMD and record what it does with MPI",
	.forms = {"[-o FILE] [-q] -- CMD..."},
	.text = "Runs CMD (usually: mpirun -n N PROGRAM) and writes what it does with MPI to FILE.\n\n"
		"The exit status is that of CMD; 1 when CMD worked but left no trace. A program that dies leaves a partial trace of "
		"everything until then.",
	.options = options, .operand = "command", .command = true, .run = trace_verb,
};
