/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs that ask precedentd: jobs, show, explain, accuracy, retrace, forget. Here are the options, the question and the
 * tables; what the answers hold is said in predictor/answer.c, and explain's words are in query_explain.c.
 */
#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/query_print.h"
#include "cli/util.h"
#include "cli/verbs.h"
#include "common/conf.h"
#include "common/duration.h"
#include "predictor/query.h"
#include "predictor/site.h"

/* ---- asking ---- */

/* The daemon's answer, or NULL with the message written. Steals nothing. */
static json_t *ask(json_t *request)
{
	struct precedent_conf conf = {0};
	struct query_server server = {.timeout_ms = 2 * QUERY_TIMEOUT_MS};
	char *text = NULL, *reply = NULL;
	json_t *answer = NULL;
	struct errbuf err;
	struct site site;

	if (conf_load(NULL, &conf, &err) < 0) {
		cli_fail("%s", err.text);
		return NULL;
	}
	site_load(&site);
	query_munge_socket(site.munge_socket);
	server.host = conf.listen_host;
	server.port = conf.listen_port;
	server.uid = site.slurm_uid;
	text = json_dumps(request, JSON_COMPACT);
	if (!text || query_call(&server, query_munge(), text, &reply, &err) < 0) {
		cli_fail("%s", text ? err.text : "no memory");
		goto out;
	}
	answer = json_loads(reply, JSON_REJECT_DUPLICATES, NULL);
	if (!json_is_object(answer)) {
		cli_fail("precedentd at %s:%u gave no JSON object", server.host, server.port);
		json_decref(answer);
		answer = NULL;
	} else if (json_object_get(answer, "error")) {
		cli_fail("%s", jstr(answer, "error"));
		json_decref(answer);
		answer = NULL;
	}
out:
	free(text);
	free(reply);
	conf_free(&conf);
	return answer;
}

static int print_json(json_t *answer)
{
	json_object_del(answer, "precedent");
	if (json_dumpf(answer, stdout, JSON_INDENT(2)) < 0)
		return cli_fail("cannot write the JSON");
	putchar('\n');
	return 0;
}

/* Options of all these verbs; what a verb does not take is refused by its option string. */
struct query_options {
	bool json, all, mine;
	long max, days;
	uint32_t job;
};

static int number_parse(const char *text, long max, long *out)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (!*text || *end || v <= 0 || v > max)
		return -1;
	*out = v;
	return 0;
}

/* -1: go on; else the exit code. takes: letters of the options that the verb has. */
static int options_parse(int argc, char **argv, const char *takes, const char *help, bool wants_job,
			 struct query_options *o)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'}, {"all", no_argument, NULL, 'a'},
					      {"mine", no_argument, NULL, 'm'}, {"number", required_argument, NULL, 'n'},
					      {"days", required_argument, NULL, 'd'}, {"help", no_argument, NULL, 'h'}, {0}};
	long job;
	int c;

	*o = (struct query_options){0};
	while ((c = getopt_long(argc, argv, "n:ah", known, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == '?' || !strchr(takes, c))
			return cli_usage(argv[0], "bad option '%s'", argv[optind - 1]);
		o->json |= c == 'j';
		o->all |= c == 'a';
		o->mine |= c == 'm';
		if (c == 'n' && number_parse(optarg, 500, &o->max) < 0)
			return cli_usage(argv[0], "-n takes a number from 1 to 500, not '%s'", optarg);
		if (c == 'd' && number_parse(optarg, 36500, &o->days) < 0)
			return cli_usage(argv[0], "--days takes a number of days, not '%s'", optarg);
	}
	if (wants_job && optind == argc)
		return cli_usage(argv[0], "which job?");
	if (wants_job) {
		if (number_parse(argv[optind], UINT32_MAX, &job) < 0)
			return cli_usage(argv[0], "'%s' is not a job id", argv[optind]);
		o->job = (uint32_t)job;
		optind++;
	}
	if (optind < argc)
		return cli_usage(argv[0], "unexpected argument '%s'", argv[optind]);
	return -1;
}

static json_t *request_make(const char *verb)
{
	return json_pack("{s:i, s:s}", "precedent", 1, "verb", verb);
}

/* Ask `verb` for one job. */
static json_t *ask_job(const char *verb, uint32_t job)
{
	json_t *request = request_make(verb), *answer;

	json_object_set_new(request, "job", json_integer(job));
	answer = ask(request);
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

int verb_jobs(int argc, char **argv)
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
	request = request_make("jobs");
	json_object_set_new(request, "max", json_integer(o.max ? o.max : 20));
	json_object_set_new(request, "all", json_boolean(o.all));
	answer = ask(request);
	json_decref(request);
	if (!answer)
		return 1;
	rc = 0;
	if (o.json) {
		rc = print_json(answer);
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

/* ---- show and explain ---- */

static int one_job(int argc, char **argv, const char *help, int (*print)(json_t *answer))
{
	struct query_options o;
	json_t *answer;
	int rc = options_parse(argc, argv, "j", help, true, &o);

	if (rc >= 0)
		return rc;
	answer = ask_job("show", o.job);
	if (!answer)
		return 1;
	rc = o.json ? print_json(answer) : print(answer);
	json_decref(answer);
	return rc;
}

int verb_show(int argc, char **argv)
{
	static const char help[] = "Usage: precedent show JOB [--json]\n\n"
				   "Everything known about one job: what was asked, set and predicted, the traces, the\n"
				   "probes on every candidate, the estimates, and earlier runs of the same job.\n\n"
				   "      --json  the same for machines\n"
				   "  -h, --help  this text\n";

	return one_job(argc, argv, help, query_print_show);
}

int verb_explain(int argc, char **argv)
{
	static const char help[] = "Usage: precedent explain JOB [--json]\n\n"
				   "Says in words where a job's prediction and its limit came from: what was traced when\n"
				   "and where, what its skeleton took on each candidate, and the history that joined in.\n\n"
				   "      --json  the numbers, for machines (as precedent show)\n"
				   "  -h, --help  this text\n";

	return one_job(argc, argv, help, query_print_explain);
}

/* ---- accuracy ---- */

static void accuracy_row(json_t *row, bool family)
{
	char what[64];

	if (family)
		snprintf(what, sizeof(what), "%.12s (%.8s)", jstr(row, "name"), jstr(row, "family"));
	printf("%-14.14s %-22.22s %5.0f %7.1f %% %7.1f %% %5.0f %5.0f %8.0f %% %7.0f %%\n", jstr(row, "candidate"),
	       family ? what : "all", jnum(row, "n"), 100 * jnum(row, "median_error"), 100 * jnum(row, "worst_error"),
	       jnum(row, "under"), jnum(row, "extended"), 100 * jnum(row, "used_of_requested"),
	       100 * jnum(row, "used_of_limit"));
}

static void accuracy_print(json_t *answer)
{
	json_t *row;
	size_t i;

	if (!json_array_size(json_object_get(answer, "candidates"))) {
		puts("no predicted job has completed yet");
		return;
	}
	printf("%-14s %-22s %5s %9s %9s %5s %5s %10s %9s\n", "PARTITION", "FAMILY", "RUNS", "MEDIAN", "WORST", "UNDER",
	       "RAISED", "USED/ASKED", "USED/SET");
	json_array_foreach(json_object_get(answer, "candidates"), i, row) accuracy_row(row, false);
	json_array_foreach(json_object_get(answer, "families"), i, row) accuracy_row(row, true);
	if (jnum(answer, "families_n") > (double)json_array_size(json_object_get(answer, "families")))
		printf("... and %.0f more\n",
		       jnum(answer, "families_n") - (double)json_array_size(json_object_get(answer, "families")));
}

int verb_accuracy(int argc, char **argv)
{
	static const char help[] =
		"Usage: precedent accuracy [--days N] [--mine] [--json]\n\n"
		"How good the predictions of completed jobs were, by partition and by family of jobs.\n"
		"MEDIAN and WORST are of |predicted - actual| / actual. UNDER: ran longer than the upper bound.\n"
		"RAISED: their limit had to be raised. USED/ASKED and USED/SET: the share of the requested and of\n"
		"the set limit that was used.\n\n"
		"      --days N  only jobs submitted in the last N days\n"
		"      --mine    only your own (root and SlurmUser see all)\n"
		"      --json    for machines\n"
		"  -h, --help    this text\n";
	struct query_options o;
	json_t *request, *answer;
	int rc = options_parse(argc, argv, "jdm", help, false, &o);

	if (rc >= 0)
		return rc;
	request = request_make("accuracy");
	json_object_set_new(request, "days", json_integer(o.days));
	json_object_set_new(request, "mine", json_boolean(o.mine));
	answer = ask(request);
	json_decref(request);
	if (!answer)
		return 1;
	rc = 0;
	if (o.json)
		rc = print_json(answer);
	else
		accuracy_print(answer);
	json_decref(answer);
	return rc;
}

/* ---- retrace and forget ---- */

static int change(int argc, char **argv, const char *help, const char *done)
{
	struct query_options o;
	json_t *answer;
	int rc = options_parse(argc, argv, "j", help, true, &o);

	if (rc >= 0)
		return rc;
	answer = ask_job(argv[0], o.job);
	if (!answer)
		return 1;
	if (o.json)
		rc = print_json(answer);
	else
		rc = printf("job %u (%s): %s\n", o.job, jstr(answer, "name"), done) < 0;
	json_decref(answer);
	return rc;
}

int verb_retrace(int argc, char **argv)
{
	static const char help[] = "Usage: precedent retrace JOB [--json]\n\n"
				   "The next submission of this job is traced again, and probed again, for example after the\n"
				   "machine or a library has changed. Until then nothing is predicted for it.\n\n"
				   "      --json  for machines\n"
				   "  -h, --help  this text\n";

	return change(argc, argv, help, "its next submission is traced again");
}

int verb_forget(int argc, char **argv)
{
	static const char help[] = "Usage: precedent forget JOB [--json]\n\n"
				   "Drops all that is known of this job and of the same job's other runs: predictions, probes\n"
				   "and history. Traces in the spool directory are yours; remove them as you like.\n\n"
				   "      --json  for machines\n"
				   "  -h, --help  this text\n";

	return change(argc, argv, help, "forgotten, with its other runs");
}
