/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verbs that ask precedentd about jobs: jobs, show, explain, retrace, forget. This file has the options, the
 * request and the table of jobs. The answers are described in predictor/query/answer.c; the words of explain are in
 * query_explain.c.
 */
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/jobs/jobs_page.h"
#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/conf.h"
#include "common/duration.h"
#include "predictor/spool/remove.h"

#define JOBS_LIST 20  /* one screen */
#define JOBS_PAGE 500 /* as many as precedentd gives */

/* Arguments of all these verbs. */
struct args {
	bool json, all;
	long max, job, task; /* task: -1, or of the array `job` */
	const char *from, *user, *html;
};

/* A job as people write it: 4711, or a task of an array as squeue does, 4711_3. Returns 0, or -1. */
static int job_read(const char *text, struct args *a)
{
	char *copy = strdup(text), *mark = copy ? strchr(copy, '_') : NULL;
	int rv;

	if (mark)
		*mark++ = '\0';
	rv = copy && cli_number(copy, 1, UINT32_MAX, &a->job) == 0 && (!mark || cli_number(mark, 0, UINT32_MAX, &a->task) == 0) ? 0 : -1;
	free(copy);
	return rv;
}

/* -1: go on; else the exit code. A saved answer and --all stand for the job. */
static int arguments_read(const struct verb *v, int argc, char **argv, struct args *a)
{
	int rc;
	char **operand;

	*a = (struct args){.task = -1};
	operand = options_read(v, argc, argv, a, &rc);
	if (!operand)
		return rc;
	if (a->json && a->html)
		return cli_usage(v->name, "--json or --html, not both");
	if (!a->max)
		a->max = a->html ? JOBS_PAGE : JOBS_LIST;
	if (v->operand && !a->from && !a->all && !a->user) {
		if (!*operand)
			return cli_usage(v->name, "which job?");
		if (job_read(*operand, a) < 0)
			return cli_usage(v->name, "'%s' is not a job id", *operand);
		operand++;
	}
	return *operand ? cli_usage(v->name, "unexpected argument '%s'", *operand) : -1;
}

static json_t *ask_jobs(long max, bool all)
{
	json_t *request = query_request("jobs"), *answer;

	json_object_set_new(request, "max", json_integer(max));
	json_object_set_new(request, "all", json_boolean(all));
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

/* Ask `verb` for one job. */
static json_t *ask_job(const char *verb, const struct args *a)
{
	json_t *request, *answer;

	request = query_request(verb);
	json_object_set_new(request, a->task < 0 ? "job" : "array_job", json_integer(a->job));
	if (a->task >= 0)
		json_object_set_new(request, "array_task", json_integer(a->task));
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

/* ---- jobs ---- */

static void jobs_help_line(json_t *run, char *out, size_t size)
{
	const json_t *program = json_object_get(run, "program");
	const char *act = jstr(run, "act"), *state = jstr(program, "state"), *reason = jstr(program, "reason");

	if (run_left_no_trace(run, program))
		snprintf(out, size, "first run, left no trace");
	else if (!strcmp(act, "trace"))
		snprintf(out, size, "%s", jstr(run, "state")[0] ? "first run, traced" : "first run, to be traced");
	else if (!strcmp(state, "failed"))
		snprintf(out, size, "none: %.60s", reason);
	else if (!strcmp(state, "new"))
		snprintf(out, size, "none yet: no trace");
	else if (*state && strcmp(state, "ready"))
		snprintf(out, size, "none yet: no probe");
	else
		snprintf(out, size, "none");
}

static int job_width(const json_t *jobs)
{
	int width = 7; /* a job id of a cluster that is some years old */
	char text[JOB_TEXT_MAX];
	const json_t *run;
	size_t i;

	json_array_foreach(jobs, i, run)
	{
		int n = (int)strlen(job_text(run, text));

		width = n > width ? n : width;
	}
	return width;
}

static void jobs_row(json_t *run, int width)
{
	json_t *pred = json_object_get(run, "predicted"), *present = json_object_get(run, "present");
	char asked[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX], actual[DURATION_TEXT_MAX], what[128], error[32] = "-", job[JOB_TEXT_MAX];
	double elapsed = jnum(run, "elapsed_s"), p = jnum(pred, "seconds");
	bool done = jstr(run, "state")[0];

	minutes_text(json_object_get(run, "user_limit_min"), asked, sizeof(asked));
	minutes_text(json_object_get(run, "limit_min"), limit, sizeof(limit));
	if (done)
		duration_format(actual, sizeof(actual), elapsed);
	else
		snprintf(actual, sizeof(actual), "%s", jnum(run, "start") > 0 ? "running" : "pending");
	if (present || pred)
		interval_text(present ? present : pred, what, sizeof(what));
	else
		jobs_help_line(run, what, sizeof(what));
	if (done && strcmp(jstr(run, "state"), "COMPLETED"))
		snprintf(error, sizeof(error), "%.9s", jstr(run, "state"));
	else if (done && pred && elapsed > 0 && !strcmp(jstr(pred, "candidate"), jstr(run, "candidate")))
		snprintf(error, sizeof(error), "%+.1f %%", 100 * (p - elapsed) / elapsed);
	printf("%-*s %-12.12s %-9.9s %8s %8s %-28.28s %8s %9s\n", width, job_text(run, job), jstr(run, "name"), jstr(run, "partition"),
	       asked, limit, what, actual, error);
}

static int jobs_verb(int argc, char **argv)
{
	struct args a;
	json_t *answer, *run;
	size_t i;
	int rc = arguments_read(&verb_jobs, argc, argv, &a), width;

	if (rc >= 0)
		return rc;
	answer = a.from ? query_load(a.from, "jobs", "jobs") : ask_jobs(a.max, a.all);
	if (!answer)
		return 1;
	rc = 0;
	if (a.html) {
		rc = jobs_page_write(answer, a.html);
	} else if (a.json) {
		rc = query_print_json(answer);
	} else if (!json_array_size(json_object_get(answer, "jobs"))) {
		puts("no jobs known to Precedent");
	} else {
		width = job_width(json_object_get(answer, "jobs"));
		printf("%-*s %-12s %-9s %8s %8s %-28s %8s %9s\n", width, "JOB", "NAME", "PARTITION", "ASKED", "LIMIT", "PREDICTED",
		       "ACTUAL", "ERROR");
		json_array_foreach(json_object_get(answer, "jobs"), i, run) jobs_row(run, width);
	}
	json_decref(answer);
	return rc;
}

static const struct verb_option jobs_options[] = {
	{"number", 'n', "N", OPT_NUMBER(struct args, max, 1, 500), .help = "the last N jobs (default 20, with --html 500, which is the most)"},
	{"all", 'a', NULL, OPT_FLAG(struct args, all), .help = "everybody's (root and SlurmUser)"},
	{"html", 0, "FILE", OPT_TEXT(struct args, html), .help = "a page about them: asked for, used, and what to ask for (- is standard output)"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "everything, for machines"},
	{"from", 0, "FILE", OPT_TEXT(struct args, from), .help = "what --json printed once (- is standard input), instead of asking precedentd"},
	{0},
};

const struct verb verb_jobs = {
	"jobs", "", "your recent jobs: predicted and actual times",
	.forms = {"[-n N] [--all] [--json | --html FILE] [--from FILE]"},
	.text = "Your recent jobs: what was asked and set, what was predicted, what happened. ERROR is (predicted - actual) / actual; "
		"ASKED and LIMIT are time limits.",
	.examples = {"", "-n 500 --html jobs.html"},
	.options = jobs_options, .run = jobs_verb,
};

/* ---- show and explain ---- */

static int one_job(const struct verb *v, int argc, char **argv, int (*print)(json_t *answer))
{
	struct args a;
	json_t *answer;
	int rc = arguments_read(v, argc, argv, &a);

	if (rc >= 0)
		return rc;
	answer = a.from ? query_load(a.from, v->name, "job") : ask_job("show", &a);
	if (!answer)
		return 1;
	rc = a.json ? query_print_json(answer) : print(answer);
	json_decref(answer);
	return rc;
}

static int show_verb(int argc, char **argv)
{
	return one_job(&verb_show, argc, argv, query_print_show);
}

static int explain_verb(int argc, char **argv)
{
	return one_job(&verb_explain, argc, argv, query_print_explain);
}

static const struct verb_option one_job_options[] = {
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "all of it, for machines"},
	{"from", 0, "FILE", OPT_TEXT(struct args, from), .help = "what --json printed once (- is standard input), instead of asking precedentd"},
	{0},
};

const struct verb verb_show = {
	"show", "JOB", "everything about one job",
	.forms = {"JOB [--json | --from FILE]"},
	.text = "Everything known about one job: what was asked, set and predicted, the traces, the probes on every candidate, the "
		"estimates, and earlier runs of the same job.",
	.examples = {"1234", "1234 --json"},
	.options = one_job_options, .operand = "job", .run = show_verb,
};

const struct verb verb_explain = {
	"explain", "JOB", "where its prediction came from, in words",
	.forms = {"JOB [--json | --from FILE]"},
	.text = "Says in words where a job's prediction and its limit came from: what was traced when and where, what its skeleton "
		"took on each candidate, the history that joined in, and how good earlier predictions were.",
	.examples = {"1234", "--from answer.json"},
	.options = one_job_options, .operand = "job", .run = explain_verb,
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

static int change(const struct verb *v, int argc, char **argv, const char *done)
{
	struct args a;
	json_t *answer;
	int rc = arguments_read(v, argc, argv, &a);

	if (rc >= 0)
		return rc;
	answer = a.all ? ask_all() : ask_job(v->name, &a);
	if (!answer)
		return 1;
	if (a.json)
		rc = query_print_json(answer);
	else if (a.all)
		rc = printf("tracing goes on; %.0f program%s had been kept from it\n", jnum(answer, "programs"),
			    jnum(answer, "programs") == 1 ? "" : "s") < 0;
	else
		rc = printf("job %.0f (%s): %s\n", jnum(answer, "job"), jstr(answer, "name"), done) < 0;
	json_decref(answer);
	return rc;
}

static int retrace_verb(int argc, char **argv)
{
	return change(&verb_retrace, argc, argv, "its next submission is traced again");
}

#define NO_GROUP 65534 /* nogroup: the owner's rights are enough */

/* Of the user's part of the spool: how many entries went, -1 if somebody else must remove the rest. */
static int64_t spool_forget(const char *name, uid_t uid, gid_t gid)
{
	struct precedent_conf conf = {0};
	struct errbuf err;
	uint64_t files = 0;
	int rv;

	if (geteuid() != 0)
		return cli_fail("the traces of %s are still there: root must run this", name), -1;
	if (conf_load(NULL, &conf, &err) < 0)
		return cli_fail("%s", err.text), -1;
	rv = spool_user_remove(conf.spool_dir, uid, gid, &files, &err);
	conf_free(&conf);
	return rv < 0 ? cli_fail("%s", err.text), -1 : (int64_t)files;
}

static int forget_user(const struct args *a)
{
	const struct passwd *pw = getpwnam(a->user);
	json_t *request, *answer;
	long uid = pw ? (long)pw->pw_uid : -1;
	int64_t files;
	int rc = 0;

	/* A user who has left the site has no name any more. */
	if (!pw && cli_number(a->user, 0, UINT32_MAX, &uid) < 0)
		return cli_fail("there is no user '%s': name the uid if the account is gone", a->user);
	request = query_request("forget");
	json_object_set_new(request, "uid", json_integer(uid));
	answer = query_ask(request);
	json_decref(request);
	if (!answer)
		return 1;
	files = spool_forget(a->user, (uid_t)uid, pw ? pw->pw_gid : NO_GROUP);
	json_object_set_new(answer, "files", json_integer(files));
	if (a->json)
		rc = query_print_json(answer);
	else if (files >= 0)
		printf("%s: forgotten, %.0f records and %lld files\n", a->user, jnum(answer, "rows"), (long long)files);
	json_decref(answer);
	return files < 0 ? 1 : rc;
}

static int forget_verb(int argc, char **argv)
{
	struct args a;
	int rc = arguments_read(&verb_forget, argc, argv, &a);

	if (rc >= 0)
		return rc;
	if (a.user)
		return forget_user(&a);
	return change(&verb_forget, argc, argv, "forgotten, with its other runs");
}

static const struct verb_option retrace_options[] = {
	{"all", 'a', NULL, OPT_FLAG(struct args, all),
	 .help = "tracing goes on where it was stopped, on the whole cluster and for each program whose traced run failed (root and "
		 "SlurmUser)"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "for machines"},
	{0},
};

static const struct verb_option forget_options[] = {
	{"user", 0, "NAME", OPT_TEXT(struct args, user), .help = "erase a user (or uid): all records, and the user's part of the spool (root)"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "for machines"},
	{0},
};

const struct verb verb_retrace = {
	"retrace", "JOB", "trace the next run of this job again",
	.forms = {"JOB [--json]", "--all [--json]"},
	.text = "The next submission of this job is traced again, and probed again, for example after the machine or a library has "
		"changed. Until then nothing is predicted for it. If jobs like this one are no longer traced because all "
		"differed, the next eight are traced.",
	.examples = {"1234", "--all"},
	.options = retrace_options, .operand = "job", .run = retrace_verb,
};

const struct verb verb_forget = {
	"forget", "JOB", "forget what is known about this job",
	.forms = {"JOB [--json]", "--user NAME [--json]"},
	.text = "Drops all that is known of this job and of the same job's other runs: predictions, probes and history. Traces in the "
		"spool directory are yours; remove them as you like.",
	.examples = {"1234", "1234 --json"},
	.options = forget_options, .operand = "job", .run = forget_verb,
};
