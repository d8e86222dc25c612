/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent trace: run a command with the tracer preloaded. The command's output, input and exit status are its own.
 * Our message goes to stderr, one line at the end.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/trace/first_ended.h"
#include "cli/trace/info_stopped.h"
#include "cli/trace/own_wrap.h"
#include "cli/trace/trace_run.h"
#include "cli/ui/command_end.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/arch/arch.h"
#include "common/temp_dir.h"
#include "trace/read/reader.h"
#include "trace/salvage/salvage.h"

struct args {
	const char *output, *rules, *object;
	bool quiet;
};

/* The k-th name like path, from 1: x.ptrace, x.2.ptrace, x.3.ptrace. */
static char *numbered(const char *path, int k)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
	int stem = dot && dot > slash + 1 ? (int)(dot - path) : (int)strlen(path);
	char *out;
	int n = k == 1 ? asprintf(&out, "%s", path) : asprintf(&out, "%.*s.%d%s", stem, path, k, path + stem);

	return n < 0 ? NULL : out;
}

/* The first name like path, from the k-th on, that no file has. NULL: no memory. */
static char *unused(const char *path, int k)
{
	char *out = numbered(path, k);

	while (out && access(out, F_OK) == 0) {
		free(out);
		out = numbered(path, ++k);
	}
	return out;
}

/* PROGRAM.ptrace, numbered if it exists: only a trace that -o names is replaced. */
static char *default_output(char *const cmd[])
{
	char *path, *out;

	if (asprintf(&path, "%s.ptrace", basename(command_program(cmd))) < 0)
		return NULL;
	out = unused(path, 1);
	free(path);
	return out;
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
	if (temp_dir_make(dir) == 0)
		return dir;
	err_set(err, "%s: cannot be written: %s", file, strerror(errno));
	free(dir);
	return NULL;
}

static const char *how_ended(char *const cmd[], int rc, char *text, size_t size)
{
	int number = command_signal(cmd, rc);

	if (!number && rc)
		number = cli_outlived(); /* a launcher that is interrupted exits with a status of its own */
	if (number)
		snprintf(text, size, "exit code %d (%s)", rc, strsignal(number));
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
static void salvage(char *const cmd[], const char *dir, const char *path, int rc)
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
	for (int i = 0; i < n; i++) {
		char *out = unused(path, 1);

		if (out && salvage_write(dir, run[i].id, NULL, out, how_ended(cmd, rc, ended, sizeof(ended)), &report, &err) < 0)
			cli_fail("%s", err.text);
		free(out);
	}
	free(run);
}

/* The first line of a file behind what it begins with. */
static void read_line(const char *dir, const char *name, const char *begin, struct errbuf *err)
{
	char path[PATH_MAX], line[sizeof(err->text)], *word;
	FILE *f = NULL;

	if (snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path))
		f = fopen(path, "re");
	if (f && fgets(line, sizeof(line), f) && (word = strstr(line, begin)))
		err_set(err, "%.*s", (int)strcspn(word + strlen(begin), "\n"), word + strlen(begin));
	if (f)
		fclose(f);
}

/* What the first rank that had a word has said: "RUN: word" is a line of tracer.err. The loader leaves another file. */
static void read_word(const char *dir, bool is_traced, struct errbuf *err)
{
	err->text[0] = '\0';
	read_line(dir, "tracer.err", ": ", err);
	if (!is_traced && !err->text[0])
		read_line(dir, "untraced.txt", "", err);
}

/* The new LD_PRELOAD has the loader, the wrappers of the rules in dir, and its old value. NULL with a message. */
static char *preloaded(const char *lib, const struct own_rules *rules, const char *dir, struct errbuf *err)
{
	const char *old = getenv("LD_PRELOAD");
	char *preload;

	if (rules && strpbrk(dir, " :")) {
		err_set(err, "%s: with --rules the trace's directory has neither ' ' nor ':' in its path", dir);
		return NULL;
	}
	if (rules && own_wrap_build(rules, dir, err) < 0)
		return NULL;
	if (asprintf(&preload, "%s%s%s%s%s%s", lib, rules ? ":" : "", rules ? dir : "", rules ? "/" OWN_WRAP_LIBRARY : "",
		     old && *old ? ":" : "", old ? old : "") < 0) {
		err_set(err, "no memory");
		return NULL;
	}
	return preload;
}

int trace_run(char *const cmd[], const char *file, const char *log, const struct own_rules *rules, struct errbuf *err)
{
	char *lib = cli_installed("libprecedent_trace.so", err), *path = absolute(file), *preload = NULL, *markers = NULL;
	struct first_ended *watch;
	int rv = -1;

	if (!lib)
		goto out;
	if (!path) {
		err_set(err, "no memory");
		goto out;
	}
	if (unlink(path) < 0 && errno != ENOENT) {
		err_set(err, "%s: cannot be replaced: %s", file, strerror(errno));
		goto out;
	}
	markers = marker_dir(file, path, err);
	preload = markers ? preloaded(lib, rules, markers, err) : NULL;
	if (!preload)
		goto out;
	const char *const env[] = {"LD_PRELOAD", preload, "PRECEDENT_TRACE_FILE", path, "PRECEDENT_TRACE_DIR", markers,
				   "PRECEDENT_TRACE_LOCAL", markers, NULL};

	cli_outlive(true);
	watch = first_ended_watch(markers);
	rv = cli_run(cmd, env, log, 0, err);
	first_ended_mark(watch, markers, rv < 0 ? 0 : rv && cli_outlived() ? cli_outlived() : cli_killed_by());
	if (rv >= 0) {
		salvage(cmd, markers, path, rv);
		read_word(markers, access(path, F_OK) == 0, err);
	}
out:
	temp_dir_remove(markers);
	free(markers);
	free(lib);
	free(path);
	free(preload);
	return rv;
}

/* A rule that no call came to is worth a word: the dynamic linker does not see calls inside of a program. */
static int note_unused(const char *file, const struct own_rules *rules, struct errbuf *err)
{
	struct trace *t = trace_open(file, err);
	const struct own_rule *r = t ? own_wrap_unused(rules, t) : NULL;

	if (r)
		fprintf(stderr, "precedent: %s:%u: no call of %s was recorded: the function must lie in a shared library (else see --object), "
			"and be called between MPI_Init and MPI_Finalize\n", cli_shown(rules->file), r->line, r->name);
	trace_close(t);
	return t ? 0 : -1;
}

/* rc: the exit status of cmd, which left the file. */
static int describe(const char *file, char *const cmd[], int rc, struct errbuf *err)
{
	struct trace *t = trace_open(file, err);
	uint64_t events = 0;
	double wall = 0;
	char n[32], w[32], size[32], ended[512];
	char first[1200] = "";
	bool partial;

	if (!t)
		return -1;
	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		events += trace_get_rank(t, r)->events.length;
		if (trace_get_rank(t, r)->wall_ns > wall)
			wall = trace_get_rank(t, r)->wall_ns;
	}
	partial = trace_is_partial(t);
	command_how_ended(cmd, rc, command_left(t), ended, sizeof(ended));
	fprintf(stderr, "precedent: %s: %s%s%s%u ranks, %s events, %s, %s", cli_shown(file), partial ? "PARTIAL, " : "", partial ? ended : "",
		partial ? ": " : "", trace_n_ranks(t), cli_thousands(n, sizeof(n), events), cli_seconds(w, sizeof(w), wall * 1e-9),
		cli_bytes(size, sizeof(size), (double)trace_file_size(t)));
	if (partial && info_first_ended(t, first, sizeof(first)))
		fprintf(stderr, "; %s\n", first);
	else
		fprintf(stderr, !partial && rc ? "; %s\n" : "\n", ended);
	if (!ARCH_SAMPLES && trace_unsampled(t))
		fprintf(stderr, "precedent: %s: the trace does not say what computation consists of: " ARCH_NO_SAMPLES "\n", cli_shown(file));
	trace_close(t);
	return 0;
}

static int run_traced(char *const cmd[], const char *file, const struct own_rules *rules, bool quiet)
{
	struct errbuf err;
	struct stat st;
	int rc = trace_run(cmd, file, NULL, rules, &err);

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
	if ((!quiet && describe(file, cmd, rc, &err) < 0) || (rules && note_unused(file, rules, &err) < 0))
		return cli_fail("%s", err.text);
	return rc;
}

/* What the program is to be linked with. */
static int write_object(const struct own_rules *rules, const char *object)
{
	struct errbuf err;

	if (own_wrap_object(rules, object, &err) < 0)
		return cli_fail("%s", err.text);
	printf("%s", cli_shown(object));
	for (uint32_t i = 0; i < rules->n; i++)
		printf(" -Wl,--wrap=%s", rules->rule[i].name);
	puts("");
	return 0;
}

static int trace_verb(int argc, char **argv)
{
	struct args a = {0};
	struct own_rules rules = {0};
	struct errbuf err;
	int rc;
	char *file, **cmd = options_read(&verb_trace, argc, argv, &a, &rc);

	if (!cmd)
		return rc;
	if (a.object && (!a.rules || *cmd))
		return cli_usage("trace", "--object wants --rules, and no command");
	if (!*cmd && !a.object)
		return cli_usage("trace", "no command to run");
	if (a.rules && own_rules_read(a.rules, &rules, &err) < 0)
		return cli_fail("%s", err.text);
	if (a.object) {
		rc = write_object(&rules, a.object);
		own_rules_free(&rules);
		return rc;
	}
	file = a.output ? strdup(a.output) : default_output(cmd);
	if (!file)
		return cli_fail("no memory");
	rc = run_traced(cmd, file, a.rules ? &rules : NULL, a.quiet);
	free(file);
	own_rules_free(&rules);
	return rc;
}

static const struct verb_option options[] = {
	{"output", 'o', "FILE", OPT_TEXT(struct args, output), .help = "the trace, replaced if it exists (default: PROGRAM.ptrace in this directory, or PROGRAM.2.ptrace ... if it exists)"},
	{"rules", 0, "FILE", OPT_TEXT(struct args, rules), .help = "record calls of the program's own functions too, as the rules in FILE say: precedent-trace-rules(5)"},
	{"object", 0, "FILE", OPT_TEXT(struct args, object), .help = "instead of a run: write the wrappers of --rules as an object, and print what to link the program with"},
	{"quiet", 'q', NULL, OPT_FLAG(struct args, quiet), .help = "say nothing when it worked"},
	{0},
};

const struct verb verb_trace = {
	"trace", "[-o FILE] -- CMD...", "run CMD and record what it does with MPI",
	.forms = {"[-o FILE] [--rules FILE] [-q] -- CMD...", "--rules FILE --object FILE"},
	.text = "Runs CMD (usually: mpirun -n N PROGRAM) and writes what it does with MPI to FILE.\n\n"
		"The exit status is that of CMD; 1 when CMD worked but left no trace. A program that dies leaves a partial trace of "
		"everything until then.",
	.examples = {"-- mpirun -n 4 ./app input.dat", "-o first.ptrace -- mpirun -n 4 ./app input.dat"},
	.options = options, .operand = "command", .command = true, .run = trace_verb,
};
