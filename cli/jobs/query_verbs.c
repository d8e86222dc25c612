/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs that ask precedentd about jobs: jobs, show, explain, retrace, forget. Here are the options, the question and the
 * table of jobs; what the answers hold is said in predictor/query/answer.c, and explain's words are in query_explain.c.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/duration.h"

/* Options of all these verbs; what a verb does not take is refused by its option string. */
struct query_options {
	bool json, all;
	long max;
	uint32_t job;
	const char *from;
};

/* -1: go on; else the exit code. takes: letters of the options that the verb has. */
static int options_parse(int argc, char **argv, const char *takes, const char *help, bool wants_job,
			 struct query_options *o)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'}, {"all", no_argument, NULL, 'a'},
					      {"number", required_argument, NULL, 'n'}, {"from", required_argument, NULL, 'f'},
					      {"help", no_argument, NULL, 'h'}, {0}};
	long job;
	int c;

	*o = (struct query_options){0};
	while ((c = getopt_long(argc, argv, "n:ah", known, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == '?')
			return cli_bad_option(argv[0], "n:ah", argv);
		if (!strchr(takes, c))
			return cli_usage(argv[0], "bad option '%s'", argv[optind - 1]);
		o->json |= c == 'j';
		o->all |= c == 'a';
		if (c == 'f')
			o->from = optarg;
		if (c == 'n' && cli_number(optarg, 1, 500, &o->max) < 0)
			return cli_usage(argv[0], "-n takes a number from 1 to 500, not '%s'", optarg);
	}
	if (wants_job && optind == argc && !o->from && !o->all)
		return cli_usage(argv[0], "which job?");
	if (wants_job && !o->from && !o->all) {
		if (cli_number(argv[optind], 1, UINT32_MAX, &job) < 0)
			return cli_usage(argv[0], "'%s' is not a job id", argv[optind]);
		o->job = (uint32_t)job;
		optind++;
	}
	if (optind < argc)
		return cli_usage(argv[0], "unexpected argument '%s'", argv[optind]);
	return -1;
}

/* Ask `verb` for one job. */
static json_t *ask_job(const char *verb, uint32_t job)
{
	json_t *request = query_request(verb), *answer;

	json_object_set_new(request, "job", json_integer(job));
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

/* ---- jobs ---- */

static void jobs_help_line(json_t *run, char *out, size_t size)
{
	const char *act = jstr(run, "act"), *state = jstr(json_object_get(run, "program"), "state"),
		   *reason = jstr(json_object_get(run, "program"), "reason");

	if (!strcmp(act, "trace"))
		snprintf(out, size, "%s", jstr(run, "state")[0] ? "first run, traced" : "first run, to be traced");
	else if (!strcmp(state, "failed"))
		snprintf(out, size, "none: %.60s", reason);
	else if (*state && strcmp(state, "ready"))
		snprintf(out, size, "none yet: %s", state);
	else
		snprintf(out, size, "none");
}

static void jobs_row(json_t *run)
{
	json_t *pred = json_object_get(run, "predicted");
	char asked[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX], actual[DURATION_TEXT_MAX], what[128], error[32] = "-";
	double elapsed = jnum(run, "elapsed_s"), p = jnum(pred, "seconds");
	bool done = jstr(run, "state")[0];

	minutes_text(json_object_get(run, "user_limit_min"), asked, sizeof(asked));
	minutes_text(json_object_get(run, "limit_min"), limit, sizeof(limit));
	if (done)
		duration_format(actual, sizeof(actual), elapsed);
	else
		snprintf(actual, sizeof(actual), "%s", jnum(run, "start") > 0 ? "running" : "pending");
	if (pred)
		interval_text(pred, what, sizeof(what));
	else
		jobs_help_line(run, what, sizeof(what));
	if (done && strcmp(jstr(run, "state"), "COMPLETED"))
		snprintf(error, sizeof(error), "%.9s", jstr(run, "state"));
	else if (done && pred && elapsed > 0 && !strcmp(jstr(pred, "candidate"), jstr(run, "candidate")))
		snprintf(error, sizeof(error), "%+.1f %%", 100 * (p - elapsed) / elapsed);
	printf("%-7.0f %-12.12s %-9.9s %8s %8s %-28.28s %8s %9s\n", jnum(run, "job"), jstr(run, "name"),
	       jstr(run, "partition"), asked, limit, what, actual, error);
}

static int jobs_verb(int argc, char **argv)
{
	static const char help[] =
		"Usage: precedent jobs [-n N] [--all] [--json]\n\n"
		"Your recent jobs: what was asked and set, what was predicted, what happened.\n"
		"ERROR is (predicted - actual) / actual; ASKED and LIMIT are time limits.\n\n"
		"  -n, --number N  the last N jobs (default 20, at most 500)\n"
		"  -a, --all       everybody's (root and SlurmUser)\n"
		"      --json      everything, for machines\n"
		"  -h, --help      this text\n";
	struct query_options o;
	json_t *request, *answer, *run;
	size_t i;
	int rc = options_parse(argc, argv, "jna", help, false, &o);

	if (rc >= 0)
		return rc;
	request = query_request("jobs");
	json_object_set_new(request, "max", json_integer(o.max ? o.max : 20));
	json_object_set_new(request, "all", json_boolean(o.all));
	answer = query_ask(request);
	json_decref(request);
	if (!answer)
		return 1;
	rc = 0;
	if (o.json) {
		rc = query_print_json(answer);
	} else if (!json_array_size(json_object_get(answer, "jobs"))) {
		puts("no jobs known to Precedent");
	} else {
		printf("%-7s %-12s %-9s %8s %8s %-28s %8s %9s\n", "JOB", "NAME", "PARTITION", "ASKED", "LIMIT",
		       "PREDICTED", "ACTUAL", "ERROR");
		json_array_foreach(json_object_get(answer, "jobs"), i, run) jobs_row(run);
	}
	json_decref(answer);
	return rc;
}

const struct verb verb_jobs = {
	.name = "jobs",
	.args = "",
	.what = "your recent jobs: predicted and actual times",
	.run = jobs_verb,
};

/* ---- show and explain ---- */

static int one_job(int argc, char **argv, const char *help, int (*print)(json_t *answer))
{
	struct query_options o;
	json_t *answer;
	int rc = options_parse(argc, argv, "jf", help, true, &o);

	if (rc >= 0)
		return rc;
	answer = o.from ? query_load(o.from, argv[0], "job") : ask_job("show", o.job);
	if (!answer)
		return 1;
	rc = o.json ? query_print_json(answer) : print(answer);
	json_decref(answer);
	return rc;
}

static int show_verb(int argc, char **argv)
{
	static const char help[] = "Usage: precedent show JOB [--json]\n\n"
				   "Everything known about one job: what was asked, set and predicted, the traces, the\n"
				   "probes on every candidate, the estimates, and earlier runs of the same job.\n\n"
				   "      --json       the same for machines\n"
				   "      --from FILE  what --json printed once, instead of asking precedentd\n"
				   "  -h, --help       this text\n";

	return one_job(argc, argv, help, query_print_show);
}

const struct verb verb_show = {
	.name = "show",
	.args = "JOB",
	.what = "everything about one job",
	.run = show_verb,
};

static int explain_verb(int argc, char **argv)
{
	static const char help[] = "Usage: precedent explain JOB [--json]\n\n"
				   "Says in words where a job's prediction and its limit came from: what was traced when\n"
				   "and where, what its skeleton took on each candidate, the history that joined in, and how\n"
				   "good earlier predictions were.\n\n"
				   "      --json       the numbers, for machines (as precedent show)\n"
				   "      --from FILE  what --json printed once, instead of asking precedentd\n"
				   "  -h, --help       this text\n";

	return one_job(argc, argv, help, query_print_explain);
}

const struct verb verb_explain = {
	.name = "explain",
	.args = "JOB",
	.what = "where its prediction came from, in words",
	.run = explain_verb,
};

/* ---- retrace and forget ---- */

/* Ask for tracing to be resumed everywhere. */
static json_t *ask_all(void)
{
	json_t *request = query_request("retrace"), *answer;

	json_object_set_new(request, "all", json_true());
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

static int change(int argc, char **argv, const char *takes, const char *help, const char *done)
{
	struct query_options o;
	json_t *answer;
	int rc = options_parse(argc, argv, takes, help, true, &o);

	if (rc >= 0)
		return rc;
	answer = o.all ? ask_all() : ask_job(argv[0], o.job);
	if (!answer)
		return 1;
	if (o.json)
		rc = query_print_json(answer);
	else if (o.all)
		rc = printf("tracing goes on; %.0f program%s had been kept from it\n", jnum(answer, "programs"),
			    jnum(answer, "programs") == 1 ? "" : "s") < 0;
	else
		rc = printf("job %u (%s): %s\n", o.job, jstr(answer, "name"), done) < 0;
	json_decref(answer);
	return rc;
}

static int retrace_verb(int argc, char **argv)
{
	static const char help[] = "Usage: precedent retrace JOB [--json]\n"
				   "       precedent retrace --all [--json]\n\n"
				   "The next submission of this job is traced again, and probed again, for example after the\n"
				   "machine or a library has changed. Until then nothing is predicted for it.\n\n"
				   "  -a, --all   tracing goes on where it was stopped, on the whole cluster and for each program\n"
				   "              whose traced run failed (root and SlurmUser)\n"
				   "      --json  for machines\n"
				   "  -h, --help  this text\n";

	return change(argc, argv, "ja", help, "its next submission is traced again");
}

const struct verb verb_retrace = {
	.name = "retrace",
	.args = "JOB",
	.what = "trace the next run of this job again",
	.run = retrace_verb,
};

static int forget_verb(int argc, char **argv)
{
	static const char help[] = "Usage: precedent forget JOB [--json]\n\n"
				   "Drops all that is known of this job and of the same job's other runs: predictions, probes\n"
				   "and history. Traces in the spool directory are yours; remove them as you like.\n\n"
				   "      --json  for machines\n"
				   "  -h, --help  this text\n";

	return change(argc, argv, "j", help, "forgotten, with its other runs");
}

const struct verb verb_forget = {
	.name = "forget",
	.args = "JOB",
	.what = "forget what is known about this job",
	.run = forget_verb,
};
