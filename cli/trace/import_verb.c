/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent import: traces of other programs become trace files. */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/trace/import_stats.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/tiles/columns14.h"

static void help(void)
{
	puts("Usage: precedent import FILE [--format columns14] [-o OUT]\n\n"
	     "Reads a text trace of 14 columns (time, processor, command, 4 parameters, event, 4 parameters,\n"
	     "subproblems, record flag) and writes it as a trace file. precedent.1 says how the columns are read.\n\n"
	     "      --format NAME      columns14 (the default, and so far the only one)\n"
	     "  -o, --output OUT       the trace (default: FILE's name with .ptrace in this directory)\n"
	     "      --command N=STATE  what command N does: wait, work, send, receive, go-on\n"
	     "                         (default: 0=wait 1=work 2=send 3=receive 4=go-on)\n"
	     "      --event N=WHAT     what event N means: arrival, nothing (default: 1=arrival)\n"
	     "      --mark-ns NS       what a unit of time is worth in nanoseconds, for viewers (default 1000000)\n"
	     "      --stats            print the time of each processor in each state\n"
	     "      --json             the same for machines\n"
	     "  -q, --quiet            say nothing when it worked\n"
	     "  -h, --help             this text");
}

struct args {
	struct columns14_options o;
	const char *file, *out;
	bool stats, json, quiet;
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

static int set_command(struct args *a, const char *text)
{
	static const char *const words[] = {"wait", "work", "send", "receive", "go-on", NULL};
	int n, does = code(text, words, &n);

	if (does < 0)
		return cli_usage("import", "--command wants N=wait|work|send|receive|go-on with N from 0 to %d, not '%s'",
				 COLUMNS14_CODES - 1, text);
	a->o.codes.command[n] = (uint8_t)does;
	return 0;
}

static int set_event(struct args *a, const char *text)
{
	static const char *const words[] = {"nothing", "arrival", NULL};
	int n, means = code(text, words, &n);

	if (means < 0)
		return cli_usage("import", "--event wants N=arrival|nothing with N from 0 to %d, not '%s'", COLUMNS14_CODES - 1,
				 text);
	a->o.codes.arrival[n] = means;
	return 0;
}

static int set_mark_ns(struct args *a, const char *text)
{
	char *end;

	errno = 0;
	a->o.mark_ns = strtod(text, &end);
	if (end == text || *end || errno || !(a->o.mark_ns >= 1e-3 && a->o.mark_ns <= 1e15))
		return cli_usage("import", "--mark-ns wants nanoseconds, 0.001 to 1e15, not '%s'", text);
	return 0;
}

static int parse(int argc, char **argv, struct args *a)
{
	static const struct option opts[] = {
		{"format", required_argument, NULL, 'f'},  {"output", required_argument, NULL, 'o'},
		{"command", required_argument, NULL, 'c'}, {"event", required_argument, NULL, 'e'},
		{"mark-ns", required_argument, NULL, 'm'}, {"stats", no_argument, NULL, 's'},
		{"json", no_argument, NULL, 'j'},	   {"quiet", no_argument, NULL, 'q'},
		{"help", no_argument, NULL, 'h'},	   {0}};
	int c, rc = 0;

	while (!rc && (c = getopt_long(argc, argv, "o:qh", opts, NULL)) != -1) {
		if (c == 'f' && strcmp(optarg, "columns14"))
			rc = cli_usage("import", "--format: '%s' is not known, columns14 is", optarg);
		else if (c == 'o')
			a->out = optarg;
		else if (c == 'c')
			rc = set_command(a, optarg);
		else if (c == 'e')
			rc = set_event(a, optarg);
		else if (c == 'm')
			rc = set_mark_ns(a, optarg);
		else if (c == 's')
			a->stats = true;
		else if (c == 'j')
			a->json = true;
		else if (c == 'q')
			a->quiet = true;
		else if (c == 'h')
			return help(), -1;
		else if (c != 'f')
			rc = cli_bad_option("import", "o:qh", argv);
	}
	if (!rc && optind + 1 != argc)
		rc = cli_usage("import", optind == argc ? "no file named" : "one file at a time");
	a->file = rc ? NULL : argv[optind];
	return rc;
}

/* dir/app.txt -> app.ptrace */
static char *default_output(const char *file)
{
	const char *name = strrchr(file, '/') ? strrchr(file, '/') + 1 : file;
	const char *dot = strrchr(name, '.');
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

	fprintf(stderr, "precedent: %s: %s processors, %s marks, %s records in %s\n", a->out,
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

static int run(struct args *a)
{
	struct columns14_report r;
	struct errbuf err;
	double start = cli_now();

	if (same_file(a->file, a->out))
		return cli_fail("%s: would overwrite the file that is imported: name another with -o", a->out);
	if (columns14_import(a->file, a->out, &a->o, &r, &err) < 0) {
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
	struct args a = {.o = {.progress = show_progress}};
	char *out = NULL;
	int rc;

	columns14_codes_default(&a.o.codes);
	rc = parse(argc, argv, &a);
	if (rc)
		return rc < 0 ? 0 : rc;
	if (!a.out && !(a.out = out = default_output(a.file)))
		return cli_fail("no memory");
	rc = run(&a);
	free(out);
	return rc;
}

const struct verb verb_import = {
	.name = "import",
	.args = "FILE",
	.what = "read a 14-column text trace of a simulator",
	.run = import_verb,
};
