/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of precedentd about one job, as a list. The fields are those of the answer to "show" in
 * predictor/query/answer.c. Missing fields are left out. query_explain.c puts the same facts in words.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/jobs/query_advice.h"
#include "cli/jobs/query_print.h"
#include "common/duration.h"

const char *jstr(const json_t *o, const char *name)
{
	const char *s = json_string_value(json_object_get(o, name));

	return s ? s : "";
}

double jnum(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

void minutes_text(const json_t *v, char *out, size_t size)
{
	uint32_t min = json_is_integer(v)	  ? (uint32_t)json_integer_value(v)
		       : json_string_value(v) ? DURATION_UNLIMITED
						  : DURATION_UNSET;

	duration_format_minutes(out, size, min);
}

void interval_text(const json_t *o, char *out, size_t size)
{
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX];

	snprintf(out, size, "%s (%s-%s)", duration_format(mean, sizeof(mean), jnum(o, "seconds")),
		 duration_format(lo, sizeof(lo), jnum(o, "lo_s")), duration_format(hi, sizeof(hi), jnum(o, "hi_s")));
}

const char *job_text(const json_t *run, char out[JOB_TEXT_MAX])
{
	if (jnum(run, "array_job") > 0 && jnum(run, "start") > 0)
		snprintf(out, JOB_TEXT_MAX, "%u_%u", (unsigned)jnum(run, "array_job"), (unsigned)jnum(run, "array_task"));
	else
		snprintf(out, JOB_TEXT_MAX, "%u", (unsigned)jnum(run, "job"));
	return out;
}

const char *time_text(double when, char *out, size_t size)
{
	time_t t = (time_t)when;
	struct tm tm;

	if (when <= 0 || !localtime_r(&t, &tm) || !strftime(out, size, "%Y-%m-%d %H:%M:%S", &tm))
		snprintf(out, size, "-");
	return out;
}

const char *span_text(double seconds, char *out, size_t size)
{
	if (seconds < 600)
		snprintf(out, size, "%.1f s", seconds);
	else
		duration_format(out, size, seconds);
	return out;
}

bool run_left_no_trace(const json_t *job, const json_t *program)
{
	return !strcmp(jstr(job, "act"), "trace") && !strcmp(jstr(program, "state"), "failed") && jnum(program, "traces") == 0 &&
	       jnum(program, "source_job") == jnum(job, "job");
}

int node_width(const char *text, int max)
{
	int n = max;

	if (strlen(text) <= (size_t)max)
		return max;
	while (n > 0 && text[n] != ',')
		n--;
	return n > 0 ? n : max;
}

/* ---- show ---- */

/* What simpler predictors would have said. */
static void show_beside(const json_t *b)
{
	static const char *const keys[] = {"request", "last_two_user", "last_two_job"};
	char text[3][DURATION_TEXT_MAX];

	if (!b)
		return;
	for (int i = 0; i < 3; i++) {
		if (jnum(b, keys[i]) > 0)
			duration_format(text[i], sizeof(text[i]), jnum(b, keys[i]));
		else
			snprintf(text[i], sizeof(text[i]), "-");
	}
	printf("  beside    request %s, the user's last two runs %s, the job's %s\n", text[0], text[1], text[2]);
}

static void show_job(const json_t *job, const json_t *beside)
{
	char asked[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX], a[32], b[32], c[32], text[128], name[JOB_TEXT_MAX];
	const json_t *pred = json_object_get(job, "predicted");

	minutes_text(json_object_get(job, "user_limit_min"), asked, sizeof(asked));
	minutes_text(json_object_get(job, "limit_min"), limit, sizeof(limit));
	printf("Job         %s  %s  (uid %.0f)\n", job_text(job, name), jstr(job, "name"), jnum(job, "uid"));
	printf("  key       %s\n  family    %s\n", jstr(job, "key"), jstr(job, "family"));
	printf("  what      %s, mode %s\n", jstr(job, "act"), jstr(job, "mode"));
	printf("  where     %s%s%s%s, %.0f nodes, %.0f tasks\n", jstr(job, "partition"),
	       *jstr(job, "candidate") ? " (candidate " : "", jstr(job, "candidate"), *jstr(job, "candidate") ? ")" : "",
	       jnum(job, "nodes"), jnum(job, "tasks"));
	printf("  times     submitted %s, started %s, ended %s\n", time_text(jnum(job, "submit"), a, sizeof(a)),
	       time_text(jnum(job, "start"), b, sizeof(b)), time_text(jnum(job, "end"), c, sizeof(c)));
	printf("  limit     asked %s, set %s, raised %.0f times", asked, limit, jnum(job, "extensions"));
	minutes_text(json_object_get(job, "plan_min"), limit, sizeof(limit));
	if (json_is_integer(json_object_get(job, "plan_min")))
		printf(", planned with %s", limit);
	putchar('\n');
	if (pred) {
		interval_text(pred, text, sizeof(text));
		printf("  predicted %s on %s\n", text, jstr(pred, "candidate"));
	}
	show_beside(beside);
	if (jnum(job, "restarts") > 0 || jnum(job, "suspended_s") > 0)
		printf("  besides   queued again %.0f times, suspended for %s\n", jnum(job, "restarts"),
		       span_text(jnum(job, "suspended_s"), a, sizeof(a)));
	if (*jstr(job, "state"))
		printf("  actual    %s, %s\n", span_text(jnum(job, "elapsed_s"), a, sizeof(a)), jstr(job, "state"));
}

static void show_program(const json_t *answer)
{
	const json_t *p = json_object_get(answer, "program"), *name;
	char span[32], mpi[32];
	size_t i;

	if (!p) {
		puts("Program     not known (forgotten, or its first run was not traced)");
		return;
	}
	printf("Program     %s%s%s\n", jstr(p, "state"), *jstr(p, "reason") ? ": " : "", jstr(p, "reason"));
	if (jnum(p, "source_elapsed_s") > 0)
		printf("  traced    job %.0f on %s, %.0f nodes, %.0f tasks: %s, %s from MPI_Init to MPI_Finalize\n",
		       jnum(p, "source_job"), jstr(p, "source_candidate"), jnum(p, "nodes"), jnum(p, "tasks"),
		       span_text(jnum(p, "source_elapsed_s"), span, sizeof(span)),
		       span_text(jnum(p, "mpi_s"), mpi, sizeof(mpi)));
	if (*jstr(answer, "spool"))
		printf("  spool     %s\n", jstr(answer, "spool"));
	json_array_foreach(json_object_get(answer, "traces"), i, name)
		printf("  trace     %s\n", json_string_value(name));
}

static void show_probe(const json_t *p)
{
	const json_t *record = json_object_get(p, "record"), *t;
	char a[32], b[32];
	size_t i;

	printf("  %-14.40s %s, job %.0f, try %.0f, %.0f node seconds%s%s\n", jstr(p, "candidate"), jstr(p, "state"),
	       jnum(p, "job"), jnum(p, "tries"), jnum(p, "cost_node_s"), *jstr(p, "reason") ? ": " : "",
	       jstr(p, "reason"));
	if (!json_is_true(json_object_get(record, "ok")))
		return;
	printf("  %-14s node class %s:\n  %-14s %.*s\n", "", jstr(record, "node_class"), "", node_width(jstr(record, "node"), 83),
	       jstr(record, "node"));
	if (*jstr(record, "unskeleton"))
		printf("  %-14s no skeleton was run: %.300s\n", "", jstr(record, "unskeleton"));
	json_array_foreach(json_object_get(record, "traces"), i, t)
		if (jnum(t, "skel_s") > 0)
			printf("  %-14s trace %zu: skeleton %s for %s traced, ran %.1f s, %.0f events, reproduces %.0f %% of it\n", "", i,
			       span_text(jnum(t, "skel_s"), a, sizeof(a)), span_text(jnum(t, "mpi_s"), b, sizeof(b)),
			       jnum(t, "ran_s"), jnum(t, "events"), 100 * jnum(t, "confidence"));
	json_array_foreach(json_object_get(record, "traces"), i, t)
	{
		const json_t *partial = json_object_get(t, "partial");

		if (partial)
			printf("  %-14s trace %zu: the program itself %s, by %.1f s of it\n", "", i,
			       span_text(jnum(partial, "whole_s"), a, sizeof(a)), jnum(partial, "ran_s"));
	}
	if (*jstr(record, "unpartial"))
		printf("  %-14s the program itself was not run: %.300s\n", "", jstr(record, "unpartial"));
	if (*jstr(record, "interpreted"))
		printf("  %-14s the skeleton was interpreted: %.300s\n", "", jstr(record, "interpreted"));
}

static void show_lists(const json_t *answer)
{
	const json_t *list = json_object_get(answer, "probes"), *item;
	char text[128], when[32];
	size_t i;

	if (json_array_size(list))
		puts("Probes");
	json_array_foreach(list, i, item) show_probe(item);
	list = json_object_get(answer, "estimates");
	if (json_array_size(list))
		puts("Estimates");
	json_array_foreach(list, i, item)
	{
		interval_text(item, text, sizeof(text));
		printf("  %-14.40s %s from %s, %.0f run%s%s\n", jstr(item, "candidate"), text, jstr(item, "kind"),
		       jnum(item, "runs"), jnum(item, "runs") == 1 ? "" : "s",
		       json_is_true(json_object_get(item, "stale")) ? "; the nodes have changed since" : "");
	}
	list = json_object_get(answer, "history");
	if (json_array_size(list))
		puts("Runs of the same job");
	json_array_foreach(list, i, item)
	{
		const json_t *pred = json_object_get(item, "predicted");

		snprintf(text, sizeof(text), "-");
		if (pred)
			interval_text(pred, text, sizeof(text));
		printf("  %-8.0f %s  %-10.10s %-10s %10.1f s  predicted %s\n", jnum(item, "job"),
		       time_text(jnum(item, "submit"), when, sizeof(when)), jstr(item, "candidate"), jstr(item, "state"),
		       jnum(item, "elapsed_s"), text);
	}
}

int query_print_show(json_t *answer)
{
	show_job(json_object_get(answer, "job"), json_object_get(answer, "baselines"));
	show_program(answer);
	query_print_advice(answer);
	show_lists(answer);
	return 0;
}
