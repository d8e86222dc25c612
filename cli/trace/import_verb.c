/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent import: traces of other programs become trace files; past jobs of the accounting become runs of the store. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/trace/import_sacct.h"
#include "cli/trace/import_stats.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/tiles/columns14.h"

/* Seconds for which sacct is asked for scripts; an administrator waits so long at a terminal. */
#define SCRIPTS_S 60

struct args {
	struct columns14_options o;
	const char *out;
	double scripts_s;
	bool sacct, stats, json, quiet;
};

static void show_progress(uint64_t done, uint64_t total)
{
	cli_progress("importing", (double)done, (double)total);
}

/* "N=WORD": N, and the index of the word among those; -1. */
static int code(const char *text, const char *const *words, int *n)
{
	char *end;
	unsigned long v = strtoul(text, &end, 10);

	if (end == text || *text < '0' || *text > '9' || *end != '=' || v >= COLUMNS14_CODES)
		return -1;
	for (int i = 0; words[i]; i++)
		if (!strcmp(end + 1, words[i])) {
			*n = (int)v;
			return i;
		}
	return -1;
}

static int set_command(void *args, char *text)
{
	static const char *const words[] = {"wait", "work", "send", "receive", "go-on", NULL};
	struct args *a = args;
	int n, does = code(text, words, &n);

	if (does < 0)
		return -1;
	a->o.codes.command[n] = (uint8_t)does;
	return 0;
}

static int set_event(void *args, char *text)
{
	static const char *const words[] = {"nothing", "arrival", NULL};
	struct args *a = args;
	int n, means = code(text, words, &n);

	if (means < 0)
		return -1;
	a->o.codes.arrival[n] = means;
	return 0;
}

static int check_format(void *args, char *text)
{
	(void)args;
	return strcmp(text, "columns14") ? cli_usage("import", "--format: '%s' is not known, columns14 is", text) : 0;
}

/* dir/app.txt -> app.ptrace */
static char *default_output(const char *file)
{
	const char *name = basename(file), *dot = strrchr(name, '.');
	char *out;

	return asprintf(&out, "%.*s.ptrace", dot && dot > name ? (int)(dot - name) : (int)strlen(name), name) < 0 ? NULL : out;
}

static bool same_file(const char *a, const char *b)
{
	struct stat sa, sb;

	return stat(a, &sa) == 0 && stat(b, &sb) == 0 && sa.st_dev == sb.st_dev && sa.st_ino == sb.st_ino;
}

static void describe(const struct args *a, const struct columns14_report *r, double seconds)
{
	char n[32], m[32], rec[32], took[32];

	fprintf(stderr, "precedent: %s: %s processors, %s marks, %s records in %s\n", cli_shown(a->out),
		cli_thousands(n, sizeof(n), r->tally.n_ranks), cli_thousands(m, sizeof(m), r->tally.last - r->tally.first + 1),
		cli_thousands(rec, sizeof(rec), r->tally.records), cli_seconds(took, sizeof(took), seconds));
	if (r->unsent)
		fprintf(stderr, "precedent: arrivals without a send that fits, left out: %s\n", cli_thousands(n, sizeof(n), r->unsent));
	if (r->unreceived)
		fprintf(stderr, "precedent: messages never received: %s\n", cli_thousands(n, sizeof(n), r->unreceived));
}

static int print_stats(const struct args *a)
{
	struct errbuf err;
	struct trace *t = trace_open(a->out, &err);
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	rc = a->json ? import_stats_print_json(t, a->out) : import_stats_print(t, a->out, true);
	trace_close(t);
	return rc;
}

static int run_import(const char *file, struct args *a)
{
	struct columns14_report r;
	struct errbuf err;
	double start = cli_now();

	if (same_file(file, a->out))
		return cli_fail("%s: would overwrite the file that is imported: name another with -o", a->out);
	if (columns14_import(file, a->out, &a->o, &r, &err) < 0) {
		cli_progress("importing", 1, 1);
		return cli_fail("%s", err.text);
	}
	cli_progress("importing", 1, 1);
	if (!a->quiet)
		describe(a, &r, cli_now() - start);
	return a->stats || a->json ? print_stats(a) : 0;
}

static int import_verb(int argc, char **argv)
{
	struct args a = {.o = {.progress = show_progress}, .scripts_s = SCRIPTS_S};
	char **file, *out = NULL;
	int rc;

	columns14_codes_default(&a.o.codes);
	file = options_read(&verb_import, argc, argv, &a, &rc);
	if (!file)
		return rc;
	if (*file ? file[1] != NULL : !a.sacct)
		return cli_usage("import", *file ? "one file at a time" : "no file named");
	if (a.sacct)
		return a.out || a.stats ? cli_usage("import", "--sacct writes no trace: leave out --output and --stats")
					: import_sacct(*file, a.scripts_s, a.json, a.quiet);
	if (!a.out && !(a.out = out = default_output(*file)))
		return cli_fail("no memory");
	rc = run_import(*file, &a);
	free(out);
	return rc;
}

static const char *const formats[] = {"columns14", NULL};
static const struct verb_option options[] = {
	{"sacct", 0, NULL, OPT_FLAG(struct args, sacct), .help = "past jobs, as 'sacct --parsable2' printed them to FILE; without FILE sacct is asked"},
	{"scripts", 0, "SECONDS", OPT_REAL(struct args, scripts_s, 0, 1e6), .wants = "wants seconds, 0 to 1e6",
	 .help = "how long sacct is asked for the scripts of these jobs, newest first (default 60; 0: no scripts)"},
	{"format", 0, "NAME", OPT_CALL(check_format, formats), .help = "columns14 (the default, and so far the only one)"},
	{"output", 'o', "OUT", OPT_TEXT(struct args, out), .help = "the trace (default: FILE's name with .ptrace in this directory)"},
	{"command", 0, "N=STATE", OPT_CALL(set_command, NULL), .wants = "wants N=wait|work|send|receive|go-on with N below " OPTION_SPELL(COLUMNS14_CODES),
	 .help = "what command N does: wait, work, send, receive, go-on (default: 0=wait 1=work 2=send 3=receive 4=go-on)"},
	{"event", 0, "N=WHAT", OPT_CALL(set_event, NULL), .wants = "wants N=arrival|nothing with N below " OPTION_SPELL(COLUMNS14_CODES),
	 .help = "what event N means: arrival, nothing (default: 1=arrival)"},
	{"mark-ns", 0, "NS", OPT_REAL(struct args, o.mark_ns, 1e-3, 1e15), .wants = "wants nanoseconds, 0.001 to 1e15",
	 .help = "what a unit of time is worth in nanoseconds, for viewers (default 1000000)"},
	{"stats", 0, NULL, OPT_FLAG(struct args, stats), .help = "print the time of each processor in each state"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "the same for machines; with --sacct: what was read, for machines"},
	{"quiet", 'q', NULL, OPT_FLAG(struct args, quiet), .help = "say nothing when it worked"},
	{0},
};

const struct verb verb_import = {
	"import", "FILE", "read a simulator's trace, or past jobs of the accounting",
	.forms = {"FILE [--format columns14] [-o OUT] [options]", "--sacct [FILE] [--scripts SECONDS] [--json] [--quiet]"},
	.text = "Reads a text trace of 14 columns (time, processor, command, 4 parameters, event, 4 parameters, subproblems, record "
		"flag) and writes it as a trace file. precedent.1 says how the columns are read.\nWith --sacct, puts past jobs into the "
		"store of precedentd. This is for administrators.",
	.examples = {"run.txt -o run.ptrace --command 5=work --stats", "--sacct"},
	.options = options, .operand = "file", .run = import_verb,
};
