/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent advise: which performance problems a run has, by rules; --check: whether a file of rules is sound. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/symbolize.h"
#include "cli/util.h"
#include "cli/verbs.h"
#include "expert/input.h"
#include "expert/report.h"

#define PLACES 3 /* call sites shown of each problem */

static void help(void)
{
	puts("Usage: precedent advise TRACE [--rules RULES] [--json]\n"
	     "       precedent advise --check RULES\n\n"
	     "Finds performance problems of a traced run by rules (precedent-rules(5)), the longest first:\n"
	     "share of the time of all ranks, how often, in which calls, why, what to do.\n\n"
	     "  --rules RULES   the file of rules (the installed problems.rules)\n"
	     "  --json          for machines\n"
	     "  --check RULES   only say what is wrong with the file and what it includes: FILE:LINE:COLUMN,\n"
	     "                  what was found, what was expected; exit 1 when something is\n"
	     "  -h, --help      this text");
}

static int check(const char *path)
{
	struct errbuf err;
	struct rules *r = rules_load(path, &err);
	uint32_t own = 0, problems = 0;

	if (!r)
		return cli_fail("%s", err.text);
	for (uint32_t i = 0; i < r->n_type; i++)
		own += !r->type[i]->builtin;
	for (uint32_t i = 0; i < r->n_rule; i++)
		problems += r->rule[i]->form == RF_PROBLEM;
	printf("%s: sound: %u rules, %u of them of problems, and %u structures\n", path, r->n_rule, problems, own);
	rules_free(r);
	return 0;
}

/* ---- of a trace ---- */

/* Text in lines of at most `width`, each after `before`. */
static void print_folded(const char *before, const char *text, int width)
{
	const char *p = text;

	while (*p) {
		size_t n = strlen(p), cut = n;

		if (n > (size_t)width) {
			for (cut = (size_t)width; cut > 0 && p[cut] != ' '; cut--)
				;
			if (!cut)
				cut = (size_t)width;
		}
		printf("%s%.*s\n", before, (int)cut, p);
		p += cut;
		p += strspn(p, " ");
	}
}

static void print_problem(const struct trace *t, struct engine *e, const struct report_problem *p, double all_s,
			  struct symbolizer *sym)
{
	char time[32], n[32], site[256];
	double s = (double)p->duration_ns * 1e-9;

	printf("\n%5.1f %%  %s: %s, %s times", all_s > 0 ? 100 * s / all_s : 0, engine_text(e, p->name),
	       cli_seconds(time, sizeof(time), s), cli_thousands(n, sizeof(n), p->n));
	if (p->untimed)
		printf(" (%s of them without known times)", cli_thousands(n, sizeof(n), p->untimed));
	puts("");
	print_folded("         ", p->description, 100);
	for (uint32_t i = 0; i < p->n_place && i < PLACES; i++) {
		const struct report_place *q = &p->place[i];
		const struct trace_defs *d = &trace_get_rank(t, q->rank)->defs;

		printf("         in %s, %s: %s\n", engine_text(e, q->function),
		       symbolizer_site(sym, d, &d->site[q->site], site, sizeof(site)),
		       cli_seconds(time, sizeof(time), (double)q->duration_ns * 1e-9));
	}
	print_folded("         ", p->advice, 100);
}

static void print_report(const struct trace *t, struct engine *e, struct report *r, const struct input_report *in)
{
	struct symbolizer *sym = symbolizer_create();
	struct engine_report er;
	char a[32], b[32], c[32];

	engine_report(e, &er);
	printf("%s calls of %u ranks, %s of each in the mean\n", cli_thousands(a, sizeof(a), in->calls), trace_n_ranks(t),
	       cli_seconds(b, sizeof(b), in->rank_seconds / trace_n_ranks(t)));
	if (in->untimed)
		printf("%s of the calls (%.1f %%) have no times of their own; what follows from them has no duration here\n",
		       cli_thousands(a, sizeof(a), in->untimed), 100.0 * (double)in->untimed / (double)in->calls);
	if (in->missing)
		printf("%u ranks are missing\n", in->missing);
	if (in->unfinished || er.dropped)
		printf("%s requests without an end; %s events waited too long for their counterparts\n",
		       cli_thousands(a, sizeof(a), in->unfinished), cli_thousands(c, sizeof(c), er.dropped));
	report_sort(r);
	for (uint32_t i = 0; i < r->n_problem; i++)
		print_problem(t, e, &r->problem[i], in->rank_seconds, sym);
	if (!r->n_problem)
		puts("no problems found");
	symbolizer_destroy(sym);
}

/* ---- for machines ---- */

static json_t *json_places(const struct trace *t, struct engine *e, const struct report_problem *p, struct symbolizer *sym)
{
	json_t *all = json_array();
	char site[256];

	for (uint32_t i = 0; i < p->n_place; i++) {
		const struct report_place *q = &p->place[i];
		const struct trace_defs *d = &trace_get_rank(t, q->rank)->defs;

		json_array_append_new(all, json_pack("{s:s, s:s, s:I, s:f}", "function", engine_text(e, q->function), "site",
						     symbolizer_site(sym, d, &d->site[q->site], site, sizeof(site)), "times",
						     (json_int_t)q->n, "seconds", (double)q->duration_ns * 1e-9));
	}
	return all;
}

static void json_report(const struct trace *t, struct engine *e, struct report *r, const struct input_report *in)
{
	struct symbolizer *sym = symbolizer_create();
	json_t *all = json_array(), *top;
	struct engine_report er;

	engine_report(e, &er);
	report_sort(r);
	for (uint32_t i = 0; i < r->n_problem; i++) {
		const struct report_problem *p = &r->problem[i];
		double s = (double)p->duration_ns * 1e-9;

		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:s?, s:s?, s:o}", "id",
						     engine_text(e, p->id), "kind", p->kind ? engine_text(e, p->kind) : "wait",
						     "name", engine_text(e, p->name),
						     "share", in->rank_seconds > 0 ? s / in->rank_seconds : 0, "seconds", s,
						     "times", (json_int_t)p->n, "untimed", (json_int_t)p->untimed,
						     "description", p->description, "advice", p->advice, "places",
						     json_places(t, e, p, sym)));
	}
	top = json_pack("{s:i, s:I, s:f, s:I, s:i, s:I, s:I, s:o}", "ranks", (int)trace_n_ranks(t), "calls", (json_int_t)in->calls,
			"rank_seconds", in->rank_seconds, "untimed_calls", (json_int_t)in->untimed, "missing_ranks",
			(int)in->missing, "unfinished_requests", (json_int_t)in->unfinished, "dropped_events",
			(json_int_t)er.dropped, "problems", all);
	if (top)
		json_dumpf(top, stdout, JSON_INDENT(2));
	puts("");
	json_decref(top);
	symbolizer_destroy(sym);
}

static void progress(double share)
{
	cli_progress("reading the trace", share, 1);
}

static int advise(const char *path, const char *rules_path, bool json)
{
	struct errbuf err = {""};
	struct report report = {0};
	struct engine_options o = {.found = report_found, .arg = &report};
	struct input_report in;
	struct rules *rules = rules_load(rules_path, &err);
	struct plan *plan = rules ? plan_create(rules, &err) : NULL;
	struct trace *t = plan ? trace_open(path, &err) : NULL;
	struct engine *e = t ? engine_create(plan, &o, &err) : NULL;
	int rc = 1;

	report.t = t;
	if (!e)
		cli_fail("%s", err.text);
	else if (trace_is_imported(t))
		cli_fail("%s: an imported trace has states but no calls to look at", path);
	else if (input_run(t, e, progress, &in, &err) < 0)
		cli_fail("%s: %s", path, err.text);
	else
		rc = 0;
	cli_progress("reading the trace", 1, 1);
	if (rc == 0)
		(json ? json_report : print_report)(t, e, &report, &in);
	report_free(&report);
	engine_destroy(e);
	trace_close(t);
	plan_destroy(plan);
	rules_free(rules);
	return rc;
}

int verb_advise(int argc, char **argv)
{
	static const struct option opts[] = {{"check", required_argument, NULL, 'c'},
					     {"rules", required_argument, NULL, 'r'},
					     {"json", no_argument, NULL, 'j'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	const char *to_check = NULL, *rules = NULL;
	char *installed = NULL;
	struct errbuf err;
	bool json = false;
	int c, rc;

	while ((c = getopt_long(argc, argv, "h", opts, NULL)) != -1) {
		if (c == 'c')
			to_check = optarg;
		else if (c == 'r')
			rules = optarg;
		else if (c == 'j')
			json = true;
		else if (c == 'h')
			return help(), 0;
		else
			return cli_usage("advise", "bad option '%s'", argv[optind - 1]);
	}
	if (to_check) {
		if (optind != argc || rules || json)
			return cli_usage("advise", "--check takes one file of rules and nothing else");
		return check(to_check);
	}
	if (optind + 1 != argc)
		return cli_usage("advise", optind == argc ? "no trace named" : "one trace at a time");
	if (!rules && !(installed = cli_shared("problems.rules", &err)))
		return cli_fail("%s", err.text);
	rc = advise(argv[optind], rules ? rules : installed, json);
	free(installed);
	return rc;
}
