/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The facts of precedentd about one job, in words: the origin of its prediction and of its limit. The fields are those
 * of the answer to "show" in predictor/query/answer.c. Missing fields are left out.
 */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/jobs/query_advice.h"
#include "cli/jobs/query_print.h"
#include "common/duration.h"
#include "common/identity.h"

static const json_t *by_candidate(const json_t *list, const char *candidate)
{
	const json_t *item;
	size_t i;

	json_array_foreach(list, i, item) if (!strcmp(jstr(item, "candidate"), candidate)) return item;
	return NULL;
}

/* An age as text, in days if it is days long. */
static const char *age_text(double seconds, char *out, size_t size)
{
	if (seconds < 120)
		snprintf(out, size, "a moment ago");
	else if (seconds < 7200)
		snprintf(out, size, "%.0f minutes ago", seconds / 60);
	else if (seconds < 2 * 86400)
		snprintf(out, size, "%.0f hours ago", seconds / 3600);
	else
		snprintf(out, size, "%.0f days ago", seconds / 86400);
	return out;
}

/* Where a number of this kind comes from; runs: that went in, 0 where it does not matter. */
static void kind_text(const char *kind, double runs, char *out, size_t size)
{
	char count[32] = "past runs";

	if (runs > 0)
		snprintf(count, sizeof(count), "%.0f past run%s", runs, runs == 1 ? "" : "s");
	if (!strcmp(kind, "source"))
		snprintf(out, size, "the traced run itself");
	else if (!strcmp(kind, "skeleton"))
		snprintf(out, size, "the traced run, times the skeleton's ratio");
	else if (!strcmp(kind, "partial"))
		snprintf(out, size, "the traced run, times what skeleton and program itself give");
	else if (!strcmp(kind, "history"))
		snprintf(out, size, "%s of the same job alone", count);
	else if (!strcmp(kind, "blend"))
		snprintf(out, size, "the skeleton and %s of the same job", count);
	else if (!strcmp(kind, "family"))
		snprintf(out, size, "%s of jobs that differ from it in numbers only", count);
	else if (!strcmp(kind, "model"))
		snprintf(out, size, "a model over inputs%s%s", runs > 0 ? " of " : "", runs > 0 ? count : "");
	else if (!strcmp(kind, "joint"))
		snprintf(out, size, "what is known of the job itself and a model over inputs");
	else
		snprintf(out, size, "%.40s", kind);
}

/* Was the job submitted before the traced run, an earlier one or another task of the array, had ended? */
static bool came_too_early(const json_t *job, const json_t *program)
{
	double first = jnum(program, "source_submitted"), ended = jnum(program, "source_ended"), submit = jnum(job, "submit");

	return first > 0 && jnum(program, "source_job") != jnum(job, "job") && first <= submit && (ended <= 0 || submit < ended);
}

static void explain_headline(const json_t *job, const json_t *program)
{
	const json_t *pred = json_object_get(job, "predicted");
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX], kind[128], id[JOB_TEXT_MAX];

	job_text(job, id);
	if (pred)
		printf("Job %s (%s) was predicted to run %s on %s, between %s and %s", id, jstr(job, "name"),
		       duration_format(mean, sizeof(mean), jnum(pred, "seconds")), jstr(pred, "candidate"),
		       duration_format(lo, sizeof(lo), jnum(pred, "lo_s")), duration_format(hi, sizeof(hi), jnum(pred, "hi_s")));
	if (pred && *jstr(pred, "kind")) {
		kind_text(jstr(pred, "kind"), 0, kind, sizeof(kind));
		printf(",\nfrom %s", kind);
	}
	if (pred)
		puts(".");
	else if (!strcmp(jstr(job, "act"), "trace"))
		printf("Job %s (%s) was the first run of this job: it %s, nothing was predicted for it.\n", id, jstr(job, "name"),
		       run_left_no_trace(job, program) ? "left no trace" : "was traced");
	else if (came_too_early(job, program))
		printf("Nothing was predicted for job %s (%s):\nthe first run, job %.0f, had not ended when this job was submitted.\n", id,
		       jstr(job, "name"), jnum(program, "source_job"));
	else
		printf("Nothing was predicted for job %s (%s).\n", id, jstr(job, "name"));
}

/* Tasks of the same array have ended since it was submitted, or its probes have. */
static void explain_present(const json_t *e)
{
	char text[128], kind[128];

	if (!e)
		return;
	interval_text(e, text, sizeof(text));
	kind_text(jstr(e, "kind"), 0, kind, sizeof(kind));
	printf("Now:       the tasks that wait are expected to take %s on %s,\n           from %s.\n", text, jstr(e, "candidate"), kind);
}

/* The job was recognised by its launches. */
static void explain_known_by(const json_t *job)
{
	const json_t *same = json_object_get(job, "same_launches");

	if (!same)
		return;
	if (json_integer_value(same) > 0)
		printf("Known by:  program, arguments and inputs are those of job %.0f; the text of the script is new.\n",
		       jnum(job, "same_launches"));
	else
		puts("Known by:  program, arguments and inputs are those of past runs; the text of the script is new.");
}

/* What runs that resemble the job took, if nothing else was known when it was submitted. */
static void explain_similar(const json_t *similar)
{
	static const char *const source[][2] = {{"script", "of the same script"}, {"command", "with the same command"},
						{"numbers", "of this script with other numbers"}, {"name", "with the same name"},
						{"shape", "of the same size"}, {"user", "of the same user"},
						{"account", "of the same account"}};
	char mean[DURATION_TEXT_MAX], lo[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX];

	for (size_t i = 0; i < sizeof(source) / sizeof(source[0]); i++)
		if (!strcmp(jstr(similar, "source"), source[i][0]))
			printf("Similar:   runs %s took %s,\n           nine in ten of them between %s and %s.\n", source[i][1],
			       duration_format(mean, sizeof(mean), jnum(similar, "seconds")),
			       duration_format(lo, sizeof(lo), jnum(similar, "lo_s")), duration_format(hi, sizeof(hi), jnum(similar, "hi_s")));
}

/* Nothing is traced now, or not this program. */
static bool is_withheld(const json_t *answer)
{
	const json_t *trial = json_object_get(answer, "trial");

	return json_object_get(answer, "tracing_stopped") || (trial && strcmp(jstr(trial, "guard"), "free"));
}

/* Why a job has no trace and no program. */
static const char *no_trace_text(const json_t *answer)
{
	const json_t *job = json_object_get(answer, "job");
	const char *act = jstr(job, "act");

	if (!*jstr(job, "key"))
		return "none: only batch scripts are traced, not srun, salloc or heterogeneous jobs";
	if (!strcmp(act, "trace"))
		return "none is known any more: it was forgotten, or not used within Retention";
	if (!strcmp(act, "predict"))
		return "none of this job itself: others that differ from it in numbers only predict it";
	return is_withheld(answer) ? "none: tracing is withheld"
				   : "none: at its submission precedentd was silent, or another run was being traced";
}

/* Keys of its kind never come again, so that a trace would predict nothing. */
static void explain_fresh(const json_t *job)
{
	printf("Trace:     none: the %.0f jobs before it with this name and script were all new; none was\n"
	       "           submitted twice. One in 16 of such jobs is traced. `precedent retrace %.0f` has the next\n"
	       "           eight traced; `sbatch --predict=%s` has one traced.\n",
	       jnum(job, "fresh"), jnum(job, "job"), jstr(job, "mode"));
}

/* Print words behind the first `column` of a line. Lines end before column 98. */
static void put_wrapped(const char *words, int column)
{
	size_t n;

	for (; *words; words += n + (words[n] == ' ')) {
		n = strcspn(words, " ");
		if (column + (int)n > 96)
			column = printf("\n          ");
		column += printf(" %.*s", (int)n, words);
	}
}

static void explain_trace(const json_t *answer, const json_t *p, double now)
{
	char span[32], mpi[32], when[32];

	if (jnum(json_object_get(answer, "job"), "fresh") > 0) {
		explain_fresh(json_object_get(answer, "job"));
		return;
	}
	if (!p) {
		printf("Trace:     %s.\n", no_trace_text(answer));
		return;
	}
	if (!strcmp(jstr(p, "state"), "failed")) {
		put_wrapped(jstr(p, "reason"), printf("Trace:     at present there is no prediction:"));
		puts(".");
		if (jnum(p, "retrace_at") > 0 && !is_withheld(answer))
			printf("           It may be traced again from %s on; precedent retrace does it at once.\n",
			       time_text(jnum(p, "retrace_at"), when, sizeof(when)));
		return;
	}
	if (!strcmp(jstr(p, "state"), "new") && jnum(p, "retrace_at") > 0) {
		printf("Trace:     %s.\n", *jstr(p, "reason") ? jstr(p, "reason") : "the next submission of this job is traced again");
		return;
	}
	if (jnum(p, "source_elapsed_s") <= 0) {
		printf("Trace:     the run to be traced (job %.0f) has not ended yet.\n", jnum(p, "source_job"));
		return;
	}
	printf("Trace:     job %.0f ran %s on %s (%.0f nodes, %.0f tasks) and left %.0f trace%s", jnum(p, "source_job"),
	       span_text(jnum(p, "source_elapsed_s"), span, sizeof(span)), jstr(p, "source_candidate"), jnum(p, "nodes"),
	       jnum(p, "tasks"), jnum(p, "traces"), jnum(p, "traces") == 1 ? "" : "s");
	if (jnum(p, "mpi_s") > 0)
		printf(";\n           %s of it lie between MPI_Init and MPI_Finalize", span_text(jnum(p, "mpi_s"), mpi, sizeof(mpi)));
	puts(".");
	if (jnum(p, "source_ended") > 0)
		printf("           That was %s.\n", age_text(now - jnum(p, "source_ended"), when, sizeof(when)));
	if (strcmp(jstr(p, "state"), "ready"))
		printf("           It is %s; predictions come when the probes have run.\n", jstr(p, "state"));
	else if (*jstr(p, "reason"))
		printf("           Remark: %s.\n", jstr(p, "reason"));
}

/* What came of a traced run that failed, and whether tracing is stopped altogether. */
static void explain_tracing(const json_t *answer)
{
	const json_t *trial = json_object_get(answer, "trial");
	const char *guard = jstr(trial, "guard"), *state = jstr(trial, "state");
	bool suspect = !strcmp(guard, "suspect");
	char when[32];

	if (trial) {
		printf("Tracing:   job %.0f ended %s while it was traced", jnum(trial, "job"), strcmp(state, "UNKNOWN") ? state : "unseen");
		if (suspect || !strcmp(guard, "free"))
			printf(",\n           job %.0f without the tracer ended %s", jnum(trial, "untraced_job"), jstr(trial, "untraced_state"));
	}
	if (suspect)
		printf(":\n           the program is not traced again by itself; precedent retrace %.0f has it traced.\n", jnum(trial, "job"));
	else if (trial)
		printf(":\n           %s.\n", strcmp(guard, "free") ? "the next run goes without the tracer" : "the tracer is not suspected");
	if (json_object_get(answer, "tracing_stopped"))
		printf("%s stopped on the whole cluster since %s: traced jobs failed more often.\n", trial ? "          " : "Tracing:  ",
		       time_text(jnum(answer, "tracing_stopped"), when, sizeof(when)));
}

static double skeleton_seconds(const json_t *probe)
{
	const json_t *t;
	double s = 0;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(probe, "record"), "traces"), i, t) s += jnum(t, "skel_s");
	return s;
}

/* Seconds of one part of the record, all traces; 0 when one does not have it. */
static double part_seconds(const json_t *probe, const char *part, const char *key)
{
	const json_t *t;
	double s = 0;
	size_t i;

	json_array_foreach(json_object_get(json_object_get(probe, "record"), "traces"), i, t)
	{
		if (!json_object_get(t, part))
			return 0;
		s += jnum(json_object_get(t, part), key);
	}
	return s;
}

static void explain_partial(const json_t *probe)
{
	const char *why = jstr(json_object_get(probe, "record"), "unpartial");
	double s = part_seconds(probe, "partial", "whole_s");
	char span[32];

	if (s > 0)
		printf("           By some iterations of the program itself, it takes %s there.\n",
		       span_text(s, span, sizeof(span)));
	else if (*why)
		printf("           The program itself was not run there: %.300s.\n", why);
}

static void explain_skeletons(const json_t *answer, const char *source)
{
	const json_t *probes = json_object_get(answer, "probes"), *p;
	double at_source = skeleton_seconds(by_candidate(probes, source));
	double computing = part_seconds(by_candidate(probes, source), "compute", "skel_s");
	const char *label = "Skeleton: ";
	char span[32];
	size_t i;

	json_array_foreach(probes, i, p)
	{
		const char *none = jstr(json_object_get(p, "record"), "unskeleton"), *node = jstr(json_object_get(p, "record"), "node");
		double s = skeleton_seconds(p);

		if (!strcmp(jstr(p, "state"), "done") && *none)
			printf("%s none on %s: %s", label, jstr(p, "candidate"), none);
		else if (!strcmp(jstr(p, "state"), "done") && s > 0)
			printf("%s by its run on %s, the whole program takes %s there", label, jstr(p, "candidate"), span_text(s, span, sizeof(span)));
		else
			printf("%s on %s %s%s%s", label, jstr(p, "candidate"), jstr(p, "state"),
			       *jstr(p, "reason") ? ": " : "", jstr(p, "reason"));
		if (s > 0 && at_source > 0 && strcmp(jstr(p, "candidate"), source)) {
			double c = part_seconds(p, "compute", "skel_s");

			printf(", %.2f times %s", s / at_source, source);
			if (c > 0 && computing > 0)
				printf(":\n           computation %.2f times as long, MPI and waiting %.1f s instead of %.1f s", c / computing,
				       s - c, at_source - computing);
		}
		puts(".");
		if (s > 0)
			printf("           %.*s\n", node_width(node, 88), node);
		explain_partial(p);
		label = "          ";
	}
}

static void explain_history(const json_t *answer)
{
	const json_t *run;
	const char *label = "History:  ";
	char span[32];
	size_t i;
	int n = 0;

	json_array_foreach(json_object_get(answer, "history"), i, run)
	{
		if (strcmp(jstr(run, "state"), "COMPLETED") || ++n > 5)
			continue;
		printf("%s job %.0f took %s on %s.\n", label, jnum(run, "job"),
		       span_text(jnum(run, "elapsed_s"), span, sizeof(span)), jstr(run, "candidate"));
		label = "          ";
	}
	if (n > 5)
		printf("           and %d more.\n", n - 5);
}

static void explain_errors(const json_t *errors, const char *candidate)
{
	static const char *const whose[] = {"job", "family"}, *const words[] = {"this job", "its family"};
	const json_t *of = json_object_get(errors, candidate);
	bool any = false;

	for (int i = 0; i < 2; i++) {
		const json_t *e = json_object_get(of, whose[i]);
		double n = jnum(e, "n");

		if (n <= 0 || (i && n == jnum(json_object_get(of, "job"), "n")))
			continue;
		printf("           Earlier predictions there, %.0f of %s: median error %.1f %%, worst %.1f %%,\n"
		       "           %.0f inside their interval, %.0f above it.\n", n, words[i], 100 * jnum(e, "median_error"),
		       100 * jnum(e, "worst_error"), jnum(e, "inside"), jnum(e, "under"));
		any = true;
	}
	if (!any)
		puts("           No earlier prediction there had come to its end.");
}

/* If several kinds of evidence were combined to a number: the estimate of each kind alone, and its weight. */
static void explain_evidence(const json_t *list)
{
	char text[128], kind[128];
	const json_t *e;
	size_t i;

	if (json_array_size(list) < 2)
		return;
	json_array_foreach(list, i, e)
	{
		interval_text(e, text, sizeof(text));
		kind_text(jstr(e, "kind"), jnum(e, "runs"), kind, sizeof(kind));
		printf("           %3.0f %% of it: %s,\n                    from %s", 100 * jnum(e, "weight"), text, kind);
		if (jnum(e, "programs") > 0)
			printf(";\n                    off by %.1f %% over %.0f program%s of its family", 100 * jnum(e, "past_error"),
			       jnum(e, "programs"), jnum(e, "programs") == 1 ? "" : "s");
		puts(".");
	}
}

static void explain_estimate(const json_t *answer, const json_t *e, const char *label)
{
	double scale = jnum(e, "scale"), age = jnum(answer, "now") - jnum(e, "updated");
	char text[128], kind[128], when[32];

	interval_text(e, text, sizeof(text));
	kind_text(jstr(e, "kind"), jnum(e, "runs"), kind, sizeof(kind));
	printf("%s %s %s,\n           from %s, %s.\n", label, jstr(e, "candidate"), text, kind, age_text(age, when, sizeof(when)));
	explain_evidence(json_object_get(e, "evidence"));
	if (scale > 1.05 || (scale > 0 && scale < 0.95))
		printf("           Its interval is %.1f times as wide as its evidence says: earlier ones were too %s.\n", scale,
		       scale > 1 ? "narrow" : "wide");
	if (json_is_true(json_object_get(e, "stale")))
		puts("           The nodes there are not those that it was probed on: wider until it is probed again.");
	explain_errors(json_object_get(answer, "past_errors"), jstr(e, "candidate"));
}

static void explain_estimates(const json_t *answer)
{
	const char *label = "Estimates:";
	const json_t *e;
	size_t i;

	json_array_foreach(json_object_get(answer, "estimates"), i, e)
	{
		explain_estimate(answer, e, label);
		label = "          ";
	}
}

/* What jobs say that differ from it in numbers only. */
static void explain_families(const json_t *answer)
{
	const char *label = "Family:   ";
	const json_t *f;
	char text[128];
	size_t i;

	json_array_foreach(json_object_get(answer, "families"), i, f)
	{
		if (jnum(f, "seconds") > 0) {
			interval_text(f, text, sizeof(text));
			printf("%s %s %s,\n           from %.0f runs of %.0f jobs that differ in numbers only.\n", label, jstr(f, "candidate"), text,
			       jnum(f, "runs"), jnum(f, "programs"));
		} else {
			printf("%s nothing for %s from %.0f jobs that differ in numbers only:\n           %s.\n", label,
			       jstr(f, "candidate"), jnum(f, "programs"), jstr(f, "reason"));
		}
		label = "          ";
	}
}

static void explain_model_shape(const json_t *m)
{
	if (*jstr(m, "law"))
		printf("           On average %.200s;\n           inputs that were left out of the fit it missed by %.1f %%.\n", jstr(m, "law"),
		       100 * jnum(m, "error"));
	if (*jstr(m, "remark"))
		printf("           Fitted %s.\n", jstr(m, "remark"));
}

static void explain_inputs(const json_t *inputs)
{
	static const char *const own[IDENTITY_OWN_VARS] = {"ranks", "nodes", "CPUs per rank", "input bytes"};
	const json_t *x;
	size_t i;

	if (!json_array_size(inputs))
		return;
	printf("           Its inputs:");
	json_array_foreach(inputs, i, x)
	{
		if (i < IDENTITY_OWN_VARS)
			printf("%s %s %.12g", i ? "," : "", own[i], json_number_value(x));
		else
			printf(", n%zu %.9g", i - IDENTITY_OWN_VARS + 1, json_number_value(x));
	}
	puts(".");
}

/* What the numbers of jobs that differ from it in nothing else do. */
static void explain_models(const json_t *answer)
{
	const char *label = "Model:    ";
	char text[128], when[32];
	const json_t *m;
	size_t i;

	json_array_foreach(json_object_get(answer, "models"), i, m)
	{
		if (jnum(m, "seconds") > 0) {
			interval_text(m, text, sizeof(text));
			printf("%s %s %s,\n           from %.0f runs with %.0f different inputs, %s.\n", label, jstr(m, "candidate"), text,
			       jnum(m, "runs"), jnum(m, "inputs"), age_text(jnum(answer, "now") - jnum(m, "updated"), when, sizeof(when)));
		} else {
			printf("%s nothing for %s from %.0f runs with %.0f different inputs:\n           %s.\n", label, jstr(m, "candidate"),
			       jnum(m, "runs"), jnum(m, "inputs"), jstr(m, "reason"));
		}
		explain_model_shape(m);
		explain_errors(json_object_get(answer, "past_errors"), jstr(m, "candidate"));
		label = "          ";
	}
	explain_inputs(json_object_get(answer, "inputs"));
}

static void explain_drift(const json_t *drift, double now)
{
	char when[32];

	if (!drift)
		return;
	printf("Drift:     on %s runs were not as predicted; what ran before (%s) counts no more, and\n           %s.\n",
	       jstr(drift, "candidate"), age_text(now - jnum(drift, "since"), when, sizeof(when)),
	       strcmp(jstr(drift, "stage"), "retraced") ? "the probe was made again where there is one" : "the job is traced again");
}

/* Of all that differ from it in numbers. */
static void explain_model_drift(const json_t *drift, double now)
{
	char when[32];

	if (drift)
		printf("Drift:     on %s runs with other numbers were not as their model said; what ran before\n"
		       "           (%s) counts no more for it.\n", jstr(drift, "candidate"), age_text(now - jnum(drift, "since"), when, sizeof(when)));
}

/* A job that was given less time than it will probably need. */
static void explain_warning(const json_t *job)
{
	const json_t *pred = json_object_get(job, "predicted"), *asked = json_object_get(job, "user_limit_min");
	double asked_s = 60 * (double)json_integer_value(asked);

	if (!pred || !json_is_integer(asked) || asked_s >= jnum(pred, "hi_s"))
		return;
	printf("Warning:   the limit asked for is below the %s: Slurm ends the job at this limit.\n",
	       asked_s < jnum(pred, "seconds") ? "predicted time" : "upper bound");
}

/* Rules of the site by which this job's limit may have been kept: a list with commas. */
static void explain_rules(const char *kept)
{
	int column = printf("           By rules of the site "), n;

	for (; *kept; kept += n) {
		n = (int)(strcspn(kept, ",") + (strchr(kept, ',') ? 1 : 0));
		if (column + n > 98)
			column = printf("\n          ");
		column += printf("%.*s", n, kept);
	}
	puts(".");
}

static void explain_limit(const json_t *answer)
{
	const json_t *job = json_object_get(answer, "job"), *rules = json_object_get(answer, "rules"), *plan = json_object_get(job, "plan_min");
	char asked[DURATION_TEXT_MAX], limit[DURATION_TEXT_MAX], least[DURATION_TEXT_MAX], hi[DURATION_TEXT_MAX];
	const json_t *pred = json_object_get(job, "predicted");
	const char *kept = jstr(answer, "limit_rules");

	minutes_text(json_object_get(job, "user_limit_min"), asked, sizeof(asked));
	minutes_text(json_object_get(job, "limit_min"), limit, sizeof(limit));
	if (!pred || json_is_null(json_object_get(job, "limit_min"))) {
		if (json_is_null(json_object_get(job, "user_limit_min")))
			printf("Limit:     none was asked for, mode %s.\n", jstr(job, "mode"));
		else
			printf("Limit:     left as it was asked for (%s), mode %s.\n", asked, jstr(job, "mode"));
		minutes_text(plan, limit, sizeof(limit));
		if (json_is_integer(plan))
			printf("           Slurm %s with %s: the job's TimeMin.\n", *jstr(job, "state") ? "planned" : "plans", limit);
		if (*kept && strcmp(jstr(job, "mode"), "observe"))
			explain_rules(kept);
		return;
	}
	minutes_text(json_object_get(rules, "min_limit_min"), least, sizeof(least));
	printf("Limit:     upper bound %s plus %.0f %%, in whole minutes, at least %s,\n"
	       "           at most what was asked (%s): %s now",
	       duration_format(hi, sizeof(hi), jnum(pred, "hi_s")), 100 * jnum(rules, "margin"), least, asked, limit);
	if (!strcmp(jstr(rules, "limit_guard"), "overtime"))
		printf(",\n           shortened by no more than OverTimeLimit of slurm.conf");
	if (jnum(job, "extensions") > 0)
		printf(",\n           raised %.0f time%s because the job ran longer", jnum(job, "extensions"),
		       jnum(job, "extensions") == 1 ? "" : "s");
	puts(".");
}

static void explain_beside(const json_t *b)
{
	char user[DURATION_TEXT_MAX], same[DURATION_TEXT_MAX];

	if (jnum(b, "last_two_user") <= 0)
		return;
	printf("Beside:    the user's last two runs before it took %s on average",
	       duration_format(user, sizeof(user), jnum(b, "last_two_user")));
	if (jnum(b, "last_two_job") > 0)
		printf(", those of this job %s", duration_format(same, sizeof(same), jnum(b, "last_two_job")));
	puts(".");
}

static void explain_outcome(const json_t *job)
{
	const json_t *pred = json_object_get(job, "predicted");
	double s = jnum(job, "elapsed_s"), p = jnum(pred, "seconds");
	char span[32];

	if (!*jstr(job, "state"))
		return;
	printf("Outcome:   %s after %s on %s", jstr(job, "state"), span_text(s, span, sizeof(span)), jstr(job, "candidate"));
	if (pred && s > 0 && !strcmp(jstr(pred, "candidate"), jstr(job, "candidate")))
		printf(": predicted %.1f %% too %s, %s the interval", fabs(100 * (p - s) / s), p >= s ? "long" : "short",
		       s >= jnum(pred, "lo_s") && s <= jnum(pred, "hi_s") ? "inside" : "outside");
	puts(".");
}

/* What precedentd removed from the spool of the job's user, or could not. */
static void explain_quota(const json_t *quota, double now)
{
	double mib = 1 << 20;
	char when[32];

	if (!quota)
		return;
	printf("Spool:     the user's directory was above SpoolQuota (%.0f MiB) %s", jnum(quota, "quota") / mib,
	       age_text(now - jnum(quota, "when"), when, sizeof(when)));
	if (jnum(quota, "removed_files") > 0)
		printf(";\n           precedentd removed %.0f files, %.1f MiB, the oldest first", jnum(quota, "removed_files"),
		       jnum(quota, "removed_bytes") / mib);
	puts(".");
	if (json_is_true(json_object_get(quota, "over")))
		puts("           It still is, or is closed to precedentd: no probes until there is room.");
}

int query_print_explain(json_t *answer)
{
	const json_t *job = json_object_get(answer, "job"), *program = json_object_get(answer, "program");

	explain_headline(job, program);
	explain_present(json_object_get(job, "present"));
	explain_known_by(job);
	explain_similar(json_object_get(job, "similar"));
	explain_trace(answer, program, jnum(answer, "now"));
	query_print_ending(answer);
	explain_tracing(answer);
	explain_quota(json_object_get(answer, "quota"), jnum(answer, "now"));
	if (program)
		explain_skeletons(answer, jstr(program, "source_candidate"));
	explain_history(answer);
	explain_estimates(answer);
	explain_families(answer);
	explain_models(answer);
	explain_drift(json_object_get(answer, "drift"), jnum(answer, "now"));
	explain_model_drift(json_object_get(answer, "drift_model"), jnum(answer, "now"));
	explain_place(json_object_get(job, "weighed"));
	explain_limit(answer);
	explain_warning(job);
	explain_beside(json_object_get(answer, "baselines"));
	explain_outcome(job);
	return 0;
}
