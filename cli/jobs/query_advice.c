/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See query_advice.h. */
#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/jobs/query_advice.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/ending_text.h"
#include "cli/ui/language.h"
#include "cli/ui/util.h"
#include "expert/events/input.h"
#include "expert/report/report.h"

#define MOST_BYTES  (16u << 20)
#define MOST_CALLS  2000000u
#define LINES       3
#define LEAST_SHARE 0.01
#define MOST_NAMES  1000 /* files of a job's directory that are looked at */
#define PARTIAL     ".partial.ptrace"

/* The caller's own file, of that size at most. */
static bool is_own_and_small(const char *path, bool *large)
{
	struct stat st;

	if (lstat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return false;
	*large = st.st_size > MOST_BYTES;
	return true;
}

static uint64_t calls_of(const struct trace *t)
{
	uint64_t n = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		n += trace_get_rank(t, r)->present ? trace_get_rank(t, r)->events.length : 0;
	return n;
}

enum part { WAITS, OUTSIDE, CAUSES };

/* Problems of that kind, the longest first, most of them at most; how many. before: a word, or NULL. */
static uint32_t print_part(struct engine *e, const struct report *r, const struct input_report *in, enum part part, uint32_t most,
			   const char *before)
{
	uint32_t lines = 0;

	for (uint32_t i = 0; i < r->n_problem && lines < most; i++) {
		const struct report_problem *p = &r->problem[i];
		double share = report_share(p, in->rank_seconds, in->outside_seconds);
		const char *function = part == WAITS && p->n_place ? engine_text(e, p->place[0].call.function) : NULL;

		if (share < LEAST_SHARE || (p->is_wait ? WAITS : p->is_outside ? OUTSIDE : CAUSES) != part)
			continue;
		printf("  %5.1f %%   %s%s%s%s%s\n", 100 * share, before ? before : "", before ? " " : "", engine_text(e, p->name),
		       function ? ", " : "", function ? function : "");
		lines++;
	}
	return lines;
}

/* Prints waits and time outside of MPI first: no time is in two of these problems. Then prints the greatest of the
 * problems that explain waits, or that cost time beside them. */
static void print_problems(struct engine *e, struct report *r, const struct input_report *in)
{
	uint32_t lines;

	report_sort(r);
	lines = print_part(e, r, in, WAITS, LINES, NULL);
	lines += print_part(e, r, in, OUTSIDE, LINES - lines, NULL);
	lines += print_part(e, r, in, CAUSES, 1, _("why:"));
	if (!lines)
		printf("  %s\n", _("no problems found"));
}

static bool print_advice(const char *path, const char *rules_path)
{
	struct errbuf err;
	struct report report = {0};
	struct engine_options o = {.found = report_found, .arg = &report, .ahead_from = ENGINE_AHEAD};
	struct input_report in;
	struct trace *t = trace_open(path, &err);
	struct rules *rules = NULL;
	struct plan *plan = NULL;
	struct engine *e = NULL;
	bool done = false;

	report.t = t;
	if (t && !trace_is_imported(t) && calls_of(t) <= MOST_CALLS)
		rules = rules_load_in_words(rules_path, language_text, &err);
	if (rules)
		plan = plan_create(rules, &err);
	if (plan)
		e = engine_create(plan, &o, &err);
	if (e && input_run(t, NULL, e, NULL, &in, &err) == 0) {
		print_problems(e, &report, &in);
		done = true;
	}
	report_free(&report);
	engine_destroy(e);
	plan_destroy(plan);
	rules_free(rules);
	trace_close(t);
	return done;
}

void query_print_advice(const json_t *answer)
{
	const char *dir = jstr(answer, "spool");
	const char *name = json_string_value(json_array_get(json_object_get(answer, "traces"), 0));
	char path[PATH_MAX];
	struct errbuf err;
	bool large = false;
	char *rules;

	if (!*dir || !name || strchr(name, '/') || snprintf(path, sizeof(path), "%s/%s", dir, name) >= (int)sizeof(path) ||
	    !is_own_and_small(path, &large))
		return;
	rules = large ? NULL : cli_shared("problems.rules", &err);
	language_choose();
	puts("Problems of the traced run");
	if (!rules || !print_advice(path, rules))
		puts("  it is too large to be looked at here, or cannot be read");
	printf("  more      precedent advise %s\n", path);
	free(rules);
}

/* ---- how a run ended that left a partial trace ---- */

/* The first partial trace of the directory that is the caller's own and small. */
static bool find_partial(const char *dir, char *path, size_t size)
{
	DIR *d = opendir(dir);
	const struct dirent *e;
	bool found = false, large = false;

	for (int i = 0; d && !found && i < MOST_NAMES && (e = readdir(d)); i++) {
		size_t len = strlen(e->d_name), tail = strlen(PARTIAL);

		found = len > tail && !strcmp(e->d_name + len - tail, PARTIAL) &&
			snprintf(path, size, "%s/%s", dir, e->d_name) < (int)size && is_own_and_small(path, &large) && !large;
	}
	if (d)
		closedir(d);
	return found;
}

static const char *verdict(const struct ending *e)
{
	switch (e->n_finding ? e->finding[0].kind : ENDING_COMPUTES) {
	case ENDING_KILLED: case ENDING_COMPUTES: return "it was still at work";
	case ENDING_DIED: return "one rank died";
	case ENDING_ABORTED: return "the program called MPI_Abort";
	case ENDING_FAILED: return "a call failed";
	default: return "it hung";
	}
}

void query_print_ending(const json_t *answer)
{
	const char *dir = jstr(answer, "spool");
	double job = jnum(json_object_get(answer, "program"), "source_job");
	struct errbuf err;
	char path[PATH_MAX];
	struct trace *t = *dir && find_partial(dir, path, sizeof(path)) ? trace_open(path, &err) : NULL;
	struct ending *e = t && calls_of(t) <= MOST_CALLS ? ending_create(t, &err) : NULL;
	struct ending_words w = {.e = e, .sym = e && e->n_finding ? symbolizer_create() : NULL};

	if (e)
		printf("Ended:     job %.0f did not reach MPI_Finalize: %s%s\n", job, verdict(e), e->n_finding ? ":" : ", no rank hung.");
	for (uint32_t i = 0; e && i < e->n_finding && i < LINES; i++)
		language_print_folded("           ", ending_text(&w, &e->finding[i]), 88);
	if (e)
		printf("           More: precedent info %s\n", path);
	symbolizer_destroy(w.sym);
	ending_destroy(e);
	trace_close(t);
}
