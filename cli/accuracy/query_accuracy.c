/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent accuracy: the errors of the predictions, on one screen, beside the errors of simpler predictors on the same
 * runs. The fields of the answer are described in predictor/query/answer_accuracy.c; the page of --html is in
 * accuracy_page.c.
 */
#include <math.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/accuracy/accuracy.h"
#include "cli/jobs/query.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"

#define ROWS_DEFAULT 8 /* of partitions, without --by: one screen */
#define POINTS	     2500

/* ---- words ---- */

const char *accuracy_percent(double share, char *out, size_t size)
{
	if (share > 99.99)
		snprintf(out, size, "%.0fx", share);
	else
		snprintf(out, size, "%.*f %%", share < 0.9995 ? 1 : 0, 100 * share);
	return out;
}

const char *accuracy_hours(double hours, char *out, size_t size)
{
	if (hours >= 999.5)
		return cli_thousands(out, size, (uint64_t)(hours + 0.5));
	snprintf(out, size, "%.*f", hours >= 99.95 ? 0 : hours >= 9.995 ? 1 : 2, hours);
	return out;
}

const char *accuracy_user_name(double uid, char *out, size_t size)
{
	struct passwd *pw = getpwuid((uid_t)uid);

	if (pw)
		snprintf(out, size, "%.*s", (int)size - 1, pw->pw_name);
	else
		snprintf(out, size, "%.0f", uid);
	return out;
}

const char *accuracy_group_name(const json_t *row, char *out, size_t size)
{
	if (json_object_get(row, "family"))
		snprintf(out, size, "%.*s (%.8s)", (int)size - 16, jstr(row, "name"), jstr(row, "family"));
	else if (json_object_get(row, "source"))
		snprintf(out, size, "%.*s", (int)size - 1, jstr(row, "source"));
	else if (json_object_get(row, "candidate"))
		snprintf(out, size, "%.*s", (int)size - 1, jstr(row, "candidate"));
	else
		accuracy_user_name(jnum(row, "uid"), out, size);
	return out;
}

const struct accuracy_label accuracy_labels[] = {
	{"last_two_job", "same job", "mean of the last two runs of the same job"},
	{"last_two_user", "same user", "mean of the user's last two runs"},
	{"request", "request", "what the user asked for"},
	{"perfect", "perfect", "if every time had been known"},
	{NULL, NULL, NULL},
};

static const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

/* ---- the first screen ---- */

static void predictor_line(const char *name, const json_t *e, const char *what)
{
	char median[16], p90[16], worst[16], short_[16];
	double n = jnum(e, "n");

	if (n <= 0) {
		printf("%-10s %9s %9s %9s %10s %6s %6s  %s\n", name, "-", "-", "-", "-", "-", "0", what);
		return;
	}
	printf("%-10s %9s %9s %9s %10s %6.2f %6.0f  %s\n", name, accuracy_percent(jnum(e, "median_error"), median, sizeof(median)),
	       accuracy_percent(jnum(e, "p90_error"), p90, sizeof(p90)),
	       accuracy_percent(jnum(e, "worst_error"), worst, sizeof(worst)),
	       accuracy_percent(jnum(e, "too_short") / n, short_, sizeof(short_)), jnum(e, "said_of_used"), n, what);
}

static void predictors_print(json_t *all)
{
	json_t *own = json_copy(all);

	json_object_set_new(own, "n", json_integer((json_int_t)jnum(all, "completed")));
	printf("\n%-10s %9s %9s %9s %10s %6s %6s\n", "", "MEDIAN", "90 %", "WORST", "TOO SHORT", "TIMES", "RUNS");
	predictor_line("precedent", own, "");
	for (const struct accuracy_label *l = accuracy_labels; l->key; l++)
		predictor_line(l->name, json_object_get(json_object_get(all, "baselines"), l->key), l->what);
	json_decref(own);
}

double accuracy_told(const json_t *all, double *of)
{
	const json_t *ended = json_object_get(all, "ended"), *n;
	double told = 0;
	const char *source;

	*of = 0;
	json_object_foreach((json_t *)(uintptr_t)ended, source, n)
	{
		*of += json_number_value(n);
		told += strcmp(source, "similar") && strcmp(source, "nothing") ? json_number_value(n) : 0;
	}
	return told;
}

static void told_print(const json_t *all)
{
	const json_t *ended = json_object_get(all, "ended");
	double of, told = accuracy_told(all, &of);
	char share[16];

	if (of > 0)
		printf("Told       %.0f of %.0f batch jobs that ended (%s): %.0f by runs, %.0f by probes, %.0f by a model;\n"
		       "           of %.0f more only similar runs were known, of %.0f nothing\n",
		       told, of, accuracy_percent(told / of, share, sizeof(share)), jnum(ended, "runs"), jnum(ended, "probe"),
		       jnum(ended, "model"), jnum(ended, "similar"), jnum(ended, "nothing"));
}

static void outcome_print(const json_t *all)
{
	double n = jnum(all, "n");
	char kept[16], h[4][24];

	printf("Interval   %.0f of %.0f run%s ended inside it (%s); %.0f ran longer than its upper bound\n", jnum(all, "inside"),
	       n, plural(n), accuracy_percent(jnum(all, "inside") / n, kept, sizeof(kept)), jnum(all, "under"));
	printf("Limits     set or planned for %.0f run%s, raised for %.0f (%.0f time%s); %.0f ended by a limit below what was asked for",
	       jnum(all, "limits"), plural(jnum(all, "limits")), jnum(all, "extended"), jnum(all, "extensions"),
	       plural(jnum(all, "extensions")), jnum(all, "cut_short"));
	if (jnum(all, "unseen") > 0)
		printf(",\n           and of %.0f more with such a limit the end was not seen", jnum(all, "unseen"));
	putchar('\n');
	if (jnum(all, "requested_node_h") > 0)
		printf("Reserved   %.2f times what was used as it was asked for, %.2f times as set or planned:\n"
		       "           %s node-hours of reservation freed (%s asked for, %s set, %s used)\n",
		       jnum(all, "requested_of_used"), jnum(all, "limit_of_used"),
		       accuracy_hours(jnum(all, "freed_node_h"), h[0], sizeof(h[0])),
		       accuracy_hours(jnum(all, "requested_node_h"), h[1], sizeof(h[1])),
		       accuracy_hours(jnum(all, "limit_node_h"), h[2], sizeof(h[2])),
		       accuracy_hours(jnum(all, "used_node_h"), h[3], sizeof(h[3])));
}

/* ---- tables ---- */

enum grouping { BY_USER, BY_FAMILY, BY_PARTITION, BY_SOURCE };

static const char *const grouping_names[] = {"user", "family", "partition", "source", NULL};
static const struct {
	const char *rows, *count, *heading;
} groupings[] = {
	[BY_USER] = {"users", "users_n", "USER"},
	[BY_FAMILY] = {"families", "families_n", "FAMILY"},
	[BY_PARTITION] = {"candidates", "candidates_n", "PARTITION"},
	[BY_SOURCE] = {"sources", "sources_n", "SOURCE"},
};

static void group_line(const json_t *row)
{
	const json_t *base = json_object_get(row, "baselines");
	char name[40], text[4][16] = {"-", "-", "-", "-"}, request[16] = "-", same[16] = "-";

	if (jnum(row, "completed") > 0) {
		accuracy_percent(jnum(row, "median_error"), text[0], sizeof(text[0]));
		accuracy_percent(jnum(row, "p90_error"), text[1], sizeof(text[1]));
		accuracy_percent(jnum(row, "worst_error"), text[2], sizeof(text[2]));
	}
	if (jnum(json_object_get(base, "request"), "n") > 0)
		accuracy_percent(jnum(json_object_get(base, "request"), "median_error"), request, sizeof(request));
	if (jnum(json_object_get(base, "last_two_user"), "n") > 0)
		accuracy_percent(jnum(json_object_get(base, "last_two_user"), "median_error"), same, sizeof(same));
	printf("%-24.24s %6.0f %8s %8s %8s %6.0f %6.0f %7.2f %6.2f %8s %8s\n", accuracy_group_name(row, name, sizeof(name)),
	       jnum(row, "n"), text[0], text[1], text[2], jnum(row, "under"), jnum(row, "extended"),
	       jnum(row, "requested_of_used"), jnum(row, "limit_of_used"), same, request);
}

static void groups_print(const json_t *answer, int which, size_t max)
{
	const json_t *rows = json_object_get(answer, groupings[which].rows), *row;
	double n = jnum(answer, groupings[which].count);
	size_t i;

	printf("\n%-24s %6s %8s %8s %8s %6s %6s %7s %6s %8s %8s\n", groupings[which].heading, "RUNS", "MEDIAN", "90 %", "WORST",
	       "ABOVE", "RAISED", "ASKED", "SET", "USER", "REQUEST");
	json_array_foreach(rows, i, row)
	{
		if (i == max)
			break;
		group_line(row);
	}
	if (n > (double)i)
		printf("... and %.0f more\n", n - (double)i);
}

static void accuracy_print(json_t *answer, int by)
{
	json_t *all = json_object_get(answer, "all");
	double n = jnum(all, "n"), days = jnum(answer, "days");
	char since[32];

	if (n <= 0) {
		puts("no predicted job has completed yet");
		if (by < 0)
			told_print(all);
		return;
	}
	time_text(jnum(answer, "first"), since, sizeof(since));
	since[strcspn(since, " ")] = '\0';
	printf("%.0f predicted run%s%s%s since %s: %.0f famil%s of jobs, %.0f user%s\n", n, plural(n),
	       json_is_true(json_object_get(answer, "everybody")) ? "" : " of yours",
	       json_is_true(json_object_get(answer, "cut")) ? ", the latest of more," : "", since, jnum(answer, "families_n"),
	       jnum(answer, "families_n") == 1 ? "y" : "ies", jnum(answer, "users_n"), plural(jnum(answer, "users_n")));
	if (days > 0)
		printf("(submitted in the last %.0f day%s)\n", days, plural(days));
	if (by >= 0) {
		groups_print(answer, by, SIZE_MAX);
		return;
	}
	predictors_print(all);
	putchar('\n');
	told_print(all);
	outcome_print(all);
	groups_print(answer, BY_PARTITION, ROWS_DEFAULT);
}

/* ---- the verb ---- */

struct args {
	bool json, mine, cost;
	int by; /* enum grouping, or -1 */
	long days;
	const char *html, *from;
};

/* 0, or the exit code. */
static int check_arguments(const struct args *a)
{
	if (a->cost && (a->html || a->by >= 0))
		return cli_usage("accuracy", "--cost goes with --days, --mine, --json and --from alone");
	if (a->json && a->html)
		return cli_usage("accuracy", "--json or --html, not both");
	if (a->from && (a->mine || a->days))
		return cli_usage("accuracy", "--days and --mine are for precedentd, not for a saved answer");
	return 0;
}

static json_t *answer_ask(const struct args *a)
{
	json_t *request = query_request("accuracy"), *answer;

	json_object_set_new(request, "days", json_integer(a->days));
	json_object_set_new(request, "mine", json_boolean(a->mine));
	if (a->json || a->html)
		json_object_set_new(request, "points", json_integer(POINTS));
	answer = query_ask(request);
	json_decref(request);
	return answer;
}

static int accuracy_verb(int argc, char **argv)
{
	struct args a = {.by = -1};
	json_t *answer;
	int rc;

	if (!options_read(&verb_accuracy, argc, argv, &a, &rc) || (rc = check_arguments(&a)))
		return rc;
	if (a.cost)
		return accuracy_cost(a.days, a.mine, a.json, a.from);
	answer = a.from ? query_load(a.from, "accuracy", "all") : answer_ask(&a);
	if (!answer)
		return 1;
	if (a.json)
		rc = query_print_json(answer);
	else if (a.html)
		rc = accuracy_page_write(answer, a.html);
	else
		accuracy_print(answer, a.by);
	json_decref(answer);
	return rc;
}

static const struct verb_option options[] = {
	{"by", 0, "WHAT", OPT_WORD(struct args, by, grouping_names),
	 .help = "one line for each user, family of jobs, partition or source of predictions"},
	{"days", 0, "N", OPT_NUMBER(struct args, days, 1, 36500), .wants = "takes a number of days",
	 .help = "only jobs submitted in the last N days"},
	{"mine", 0, NULL, OPT_FLAG(struct args, mine), .help = "only your own (root and SlurmUser see all)"},
	{"cost", 0, NULL, OPT_FLAG(struct args, cost), .help = "what probes cost and what shorter limits freed, by user and partition"},
	{"html", 0, "FILE", OPT_TEXT(struct args, html), .help = "a page with plots, which needs nothing else (- is standard output)"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "all of it, for machines"},
	{"from", 0, "FILE", OPT_TEXT(struct args, from), .help = "what --json printed once (- is standard input), instead of asking precedentd"},
	{0},
};

const struct verb verb_accuracy = {
	"accuracy", "", "how good the predictions have been",
	.forms = {"[--by user|family|partition|source] [--days N] [--mine] [--json | --html FILE | --from FILE]",
		  "--cost [--days N] [--mine] [--json]"},
	.text = "How good the predictions were of jobs that ended, beside what simpler predictors would have said of the same jobs when "
		"they were submitted.\n\n"
		"MEDIAN, 90 % and WORST are of |predicted - actual| / actual. TOO SHORT: ran longer than predicted. TIMES: what was "
		"predicted over what was used. ABOVE: ran longer than the interval's upper bound. RAISED: their limit was raised. ASKED "
		"and SET: the requested time and the limit, over what was used. USER and REQUEST: the median error of the user's last "
		"two runs, and of the request.\n\n"
		"A source is what told the job: probes, runs of the same job, or a model over its numbers. "
		"Errors are of predictions alone.",
	.examples = {"--by partition", "--cost --days 30"},
	.options = options, .run = accuracy_verb,
};
