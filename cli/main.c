/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent: how long a job will run, before it runs. This file only finds the verb; precedent.1 documents them.
 */
#include <errno.h>
#include <getopt.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/util.h"
#include "cli/verbs.h"

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
	{"advise", verb_advise, "TRACE --rules RULES", "performance problems of a run, and what to do about them"},
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
	fputs("\n'precedent VERB --help' tells more. To opt a job out: sbatch --predict=off\n", f);
}

/* The exit code of a verb, unless what it printed did not arrive. */
static int written(int rc)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return rc;
	return rc ? rc : cli_fail("standard output cannot be written: %s", strerror(errno));
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
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help")) {
		help(stdout);
		return written(0);
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("precedent " PRECEDENT_VERSION);
		return 0;
	}
	for (size_t i = 0; i < N_VERBS; i++)
		if (!strcmp(argv[1], verbs[i].name))
			return written(verbs[i].run(argc - 1, argv + 1));
	fprintf(stderr, "precedent: there is no verb '%s'; 'precedent --help' lists them\n", argv[1]);
	return 2;
}
