/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The verb queue lists the jobs of squeue, each with its estimate from precedentd. A job that waits begins when slurmctld expects
 * it to. It ends when its estimate has passed, and at its limit at the latest.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <time.h>

#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean.h"
#include "common/clean_json.h"
#include "common/duration.h"

#define LINE_FIELDS 8
#define JOBS_ASKED  500 /* as many as precedentd gives */
/* The name is the last field: it may have any character. A line that it makes does not begin with the mark. */
#define SQUEUE "SLURM_TIME_FORMAT=%%s timeout 20 squeue --noheader %s --format='%s|%%A|%%i|%%T|%%S|%%l|%%P|%%r|%%j' </dev/null"

struct args {
	bool json, all;
	const char *from;
};

/* ---- the queue of Slurm ---- */

/* Cuts the line at its first bars. False if it is not a line of squeue. */
static bool line_cut(char *line, const char *mark, char *field[LINE_FIELDS])
{
	size_t n = strlen(mark);

	if (strncmp(line, mark, n) != 0 || line[n] != '|')
		return false;
	line += n + 1;
	line[strcspn(line, "\n")] = '\0';
	for (size_t i = 0; i < LINE_FIELDS; i++) {
		field[i] = line;
		if (i + 1 == LINE_FIELDS)
			return isdigit((unsigned char)field[0][0]);
		line = strchr(line, '|');
		if (!line)
			return false;
		*line++ = '\0';
	}
	return false;
}

static json_t *line_json(char *const field[LINE_FIELDS])
{
	json_t *o = json_object();
	uint32_t limit = DURATION_UNSET;
	struct errbuf why;

	json_object_set_new(o, "job", json_integer(atoll(field[0])));
	json_object_set_new(o, "id", clean_json(field[1]));
	json_object_set_new(o, "state", clean_json(field[2]));
	json_object_set_new(o, "start", json_integer(atoll(field[3]))); /* "N/A" is 0 */
	if (duration_parse_minutes(field[4], &limit, &why) == 0)
		json_object_set_new(o, "limit_min", limit == DURATION_UNLIMITED ? json_string("UNLIMITED") : json_integer(limit));
	json_object_set_new(o, "partition", clean_json(field[5]));
	json_object_set_new(o, "reason", clean_json(field[6]));
	json_object_set_new(o, "name", clean_json(field[7]));
	return o;
}

/* The jobs in the queue; NULL with the message written. squeue shows a user what the site lets them see. */
static json_t *squeue_read(bool all)
{
	char command[256], mark[24], *line = NULL, *field[LINE_FIELDS];
	uint64_t random;
	json_t *queue = json_array();
	size_t room = 0;
	FILE *f;
	int rc;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random)) {
		cli_fail("no random number: %s", strerror(errno));
		json_decref(queue);
		return NULL;
	}
	snprintf(mark, sizeof(mark), "%016llx", (unsigned long long)random);
	snprintf(command, sizeof(command), SQUEUE, all ? "" : "--me", mark);
	f = popen(command, "re");
	while (f && getline(&line, &room, f) > 0)
		if (line_cut(line, mark, field))
			json_array_append_new(queue, line_json(field));
	free(line);
	rc = f ? pclose(f) : -1;
	if (rc == 0)
		return queue;
	if (WIFEXITED(rc) && WEXITSTATUS(rc) == 127)
		cli_fail("there is no squeue here: run this on a host with Slurm's commands");
	else
		cli_fail("squeue gave no list of jobs: see whether 'squeue' works");
	json_decref(queue);
	return NULL;
}

/* ---- what is expected ---- */

static json_t *told_of(json_t *told, const json_t *job)
{
	json_t *run;
	size_t i;

	json_array_foreach(json_object_get(told, "jobs"), i, run)
		if (jnum(run, "job") == jnum(job, "job"))
			return run;
	return NULL;
}

/* The estimate for where the job runs or will run; NULL if there is none. */
static json_t *expected_of(const json_t *run, const json_t *job)
{
	json_t *predicted = json_object_get(run, "predicted"), *present = json_object_get(run, "present");
	bool runs = strcmp(jstr(job, "state"), "PENDING") != 0;

	if (present && !runs)
		return present;
	if (!predicted)
		return json_object_get(run, "similar");
	return runs && strcmp(jstr(predicted, "candidate"), jstr(run, "candidate")) != 0 ? NULL : predicted;
}

/* The limit that Precedent has set, below the user's. precedentd raises it in time. */
static bool limit_is_ours(const json_t *limit, const json_t *asked, const json_t *run)
{
	return json_is_integer(asked) && json_is_integer(limit) && json_integer_value(asked) > json_integer_value(limit) &&
	       json_equal(limit, json_object_get(run, "limit_min"));
}

void queue_expect(json_t *job, const json_t *run, time_t now)
{
	json_t *e = expected_of(run, job), *limit = json_object_get(job, "limit_min"), *asked = json_object_get(run, "user_limit_min");
	double start = jnum(job, "start"), limit_s = json_is_integer(limit) ? 60 * json_number_value(limit) : 0;
	bool waits = strcmp(jstr(job, "state"), "PENDING") == 0;
	static const char *const name[][2] = {{"seconds", "end"}, {"lo_s", "end_lo"}, {"hi_s", "end_hi"}};

	if (waits && start > 0 && start < (double)now) {
		start = (double)now;
		json_object_set_new(job, "start", json_integer(now));
	}
	if (limit_is_ours(limit, asked, run)) {
		json_object_set(job, "limit_min", asked);
		limit_s = 60 * json_number_value(asked);
	}
	if (start > 0 && limit_s > 0)
		json_object_set_new(job, "limit_end", json_integer((json_int_t)(start + limit_s)));
	if (!e)
		return;
	json_object_set(job, "takes", e);
	for (size_t i = 0; i < 3 && start > 0; i++) {
		double s = jnum(e, name[i][0]);

		json_object_set_new(job, name[i][1], json_integer((json_int_t)(start + (limit_s > 0 && limit_s < s ? limit_s : s))));
	}
}

static json_t *queue_ask(const struct args *a)
{
	json_t *queue = squeue_read(a->all), *request, *told, *job, *answer;
	time_t now = time(NULL);
	size_t i;

	if (!queue)
		return NULL;
	request = query_request("jobs");
	json_object_set_new(request, "max", json_integer(JOBS_ASKED));
	json_object_set_new(request, "all", json_boolean(a->all));
	told = query_ask(request);
	json_decref(request);
	if (!told) {
		json_decref(queue);
		return NULL;
	}
	json_array_foreach(queue, i, job) queue_expect(job, told_of(told, job), now);
	answer = json_pack("{s:I, s:o}", "now", (json_int_t)now, "queue", queue);
	json_decref(told);
	return answer;
}

/* ---- the table ---- */

/* "16:51" on the day of `day`, else "11-30 16:51"; "-" for none. */
static const char *clock_text(double when, double day, char out[32])
{
	time_t t = (time_t)when, d = (time_t)day;
	struct tm at, on;

	if (when <= 0 || !localtime_r(&t, &at) || !localtime_r(&d, &on))
		snprintf(out, 32, "-");
	else
		strftime(out, 32, at.tm_yday == on.tm_yday && at.tm_year == on.tm_year ? "%H:%M" : "%m-%d %H:%M", &at);
	return out;
}

static void end_text(const json_t *job, double now, char *out, size_t size)
{
	double end = jnum(job, "end"), last = jnum(job, "end_hi"), limit = jnum(job, "limit_end");
	char at[32], lo[32], hi[32];

	if (last > 0 && (last >= now || limit <= 0))
		snprintf(out, size, "%s (%s-%s)", clock_text(end, now, at), clock_text(jnum(job, "end_lo"), end, lo), clock_text(last, end, hi));
	else if (limit > 0)
		snprintf(out, size, "%sby %s", last > 0 ? "late, " : "", clock_text(limit, now, at));
	else
		snprintf(out, size, "-");
}

static void queue_row(const json_t *job, double now)
{
	char limit[DURATION_TEXT_MAX], takes[DURATION_TEXT_MAX] = "-", start[32], end[128];
	const json_t *e = json_object_get(job, "takes");

	minutes_text(json_object_get(job, "limit_min"), limit, sizeof(limit));
	if (e)
		duration_format(takes, sizeof(takes), jnum(e, "seconds"));
	end_text(job, now, end, sizeof(end));
	printf("%-9.9s %-10.10s %-9.9s %-9.9s %9s %9s %11s  %s\n", jstr(job, "id"), jstr(job, "name"), jstr(job, "partition"),
	       jstr(job, "state"), limit, takes, clock_text(jnum(job, "start"), now, start), end);
}

static int queue_verb(int argc, char **argv)
{
	struct args a = {0};
	json_t *answer, *job;
	char **operand;
	size_t i;
	int rc;

	operand = options_read(&verb_queue, argc, argv, &a, &rc);
	if (!operand)
		return rc;
	if (*operand)
		return cli_usage("queue", "unexpected argument '%s'", *operand);
	answer = a.from ? query_load(a.from, "queue", "queue") : queue_ask(&a);
	if (!answer)
		return 1;
	rc = 0;
	if (a.json) {
		rc = query_print_json(answer);
	} else if (!json_array_size(json_object_get(answer, "queue"))) {
		puts("no jobs in the queue");
	} else {
		printf("%-9s %-10s %-9s %-9s %9s %9s %11s  %s\n", "JOB", "NAME", "PARTITION", "STATE", "LIMIT", "TAKES", "START",
		       "END");
		json_array_foreach(json_object_get(answer, "queue"), i, job) queue_row(job, jnum(answer, "now"));
	}
	json_decref(answer);
	return rc;
}

static const struct verb_option queue_options[] = {
	{"all", 'a', NULL, OPT_FLAG(struct args, all), .help = "everybody's jobs; estimates of others' jobs are for root and SlurmUser"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "everything, for machines"},
	{"from", 0, "FILE", OPT_TEXT(struct args, from), .help = "what --json printed once (- is standard input), instead of asking Slurm"},
	{0},
};

const struct verb verb_queue = {
	"queue", "", "your jobs in the queue: when they begin and end",
	.forms = {"[--all] [--json | --from FILE]"},
	.text = "Your jobs that wait or run. LIMIT: the limit that you asked for, or have set since. TAKES: the estimate, or how long "
		"similar runs took. "
		"START: when the job began, or when Slurm expects it to begin. END: the expected end, with its interval. 'by 16:51': "
		"there is no estimate, its limit ends then. 'late, by 16:51': it has run longer than the upper bound.",
	.examples = {"", "--json"},
	.options = queue_options, .run = queue_verb,
};
