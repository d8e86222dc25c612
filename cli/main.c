/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent: how long a job will run, before it runs. This file only finds the verb; precedent.1 documents them.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/ui/util.h"
#include "cli/ui/verbs.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *args, *what; /* what is NULL: not for people */
} verbs[] = {
	{"trace", verb_trace, "[-o FILE] -- CMD...", "run CMD and record what it does with MPI"},
	{"info", verb_info, "TRACE", "ranks, events, where the time went"},
	{"import", verb_import, "FILE", "read a 14-column text trace of a simulator"},
	{"view", verb_view, "TRACE [-o FILE.html]", "the run as a page for a browser"},
	{"skeleton", verb_skeleton, "TRACE [-o DIR]", "write a short program that behaves like the traced one"},
	{"verify", verb_verify, "TRACE", "prove that the skeleton expands to the trace exactly"},
	{"predict", verb_predict, "TRACE | -- CMD...", "run the skeleton here and say how long the job takes"},
	{"export", verb_export, "TRACE --format F", "write it as OTF2, Chrome trace or CSV, for other programs"},
	{"advise", verb_advise, "TRACE", "performance problems of a run, and what to do about them"},
	{"model", verb_model, "fit TRACE... -o FILE", "learn from several runs what others do; show, predict, compile"},
	{"jobs", verb_jobs, "", "your recent jobs: predicted and actual times"},
	{"show", verb_show, "JOB", "everything about one job"},
	{"explain", verb_explain, "JOB", "where its prediction came from, in words"},
	{"accuracy", verb_accuracy, "", "how good the predictions have been"},
	{"retrace", verb_retrace, "JOB", "trace the next run of this job again"},
	{"forget", verb_forget, "JOB", "forget what is known about this job"},
	{"doctor", verb_doctor, "", "what is installed where, and what is wrong with it"},
	{"conf", verb_conf, "--check [FILE]", "check the configuration"},
	{"probe", verb_probe, "", NULL},
	{"collect", verb_collect, "", NULL},
	{"confine", verb_confine, "", NULL},
};

#define N_VERBS (sizeof(verbs) / sizeof(*verbs))

static void help(FILE *f)
{
	fputs("Usage: precedent VERB [ARGUMENTS]\n\n"
	      "Predicts how long an MPI job will run, before it runs.\n\n",
	      f);
	for (size_t i = 0; i < N_VERBS; i++)
		if (verbs[i].what)
			fprintf(f, "  %-9s %-20s %s\n", verbs[i].name, verbs[i].args, verbs[i].what);
	fputs("\n'precedent help VERB' tells more, 'man precedent' all. To opt a job out: sbatch --predict=off\n", f);
}

/* Letters to change, leave out or add until one word is the other (Levenshtein); words of verbs are short. */
static int letters_apart(const char *a, const char *b)
{
	int row[16], n = (int)strlen(b);

	if (n >= 16)
		return INT_MAX;
	for (int j = 0; j <= n; j++)
		row[j] = j;
	for (int i = 1; a[i - 1]; i++) {
		int corner = row[0];

		row[0] = i;
		for (int j = 1; j <= n; j++) {
			int change = corner + (a[i - 1] != b[j - 1]), shift = 1 + (row[j] < row[j - 1] ? row[j] : row[j - 1]);

			corner = row[j];
			row[j] = change < shift ? change : shift;
		}
	}
	return row[n];
}

/* One line, with the verb that was probably meant; returns 2. */
static int no_such_verb(const char *word)
{
	const char *meant = NULL;
	int least = strlen(word) > 3 ? 3 : 2; /* that many letters wrong, and it is another word */

	for (size_t i = 0; i < N_VERBS && *word != '-'; i++) {
		int apart = verbs[i].what && *word ? letters_apart(word, verbs[i].name) : INT_MAX;

		if (apart < least) {
			least = apart;
			meant = verbs[i].name;
		}
	}
	if (meant)
		fprintf(stderr, "precedent: there is no verb '%s'; did you mean '%s'? 'precedent --help' lists them\n", word, meant);
	else
		fprintf(stderr, "precedent: there is no verb '%s'; 'precedent --help' lists them\n", word);
	return 2;
}

/* The exit code of a verb, unless what it printed did not arrive. */
static int written(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	return rc ? rc : cli_fail("standard output cannot be written: %s", strerror(errno));
}

static int verb_run(int argc, char **argv)
{
	for (size_t i = 0; i < N_VERBS; i++)
		if (!strcmp(argv[0], verbs[i].name))
			return written(verbs[i].run(argc, argv));
	return no_such_verb(argv[0]);
}

/* `precedent help VERB` is `precedent VERB --help`. */
static int verb_help(int argc, char **argv)
{
	char *asked[] = {argv[0], (char[]){"--help"}, NULL};

	if (argc == 0) {
		help(stdout);
		return written(0);
	}
	if (argc > 1) {
		fprintf(stderr, "precedent help: one verb at a time, not '%s' too\n", argv[1]);
		return 2;
	}
	return verb_run(2, asked);
}

int main(int argc, char **argv)
{
	setlocale(LC_CTYPE, "");
	opterr = 0; /* every verb says itself which option it does not know */
	signal(SIGPIPE, SIG_DFL);
	if (argc < 2) {
		help(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
		return verb_help(argc - 2, argv + 2);
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("precedent " PRECEDENT_VERSION);
		return written(0);
	}
	return verb_run(argc - 1, argv + 1);
}
