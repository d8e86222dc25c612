/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info: the contents of a trace on one screen; --json for machines; --events for every call; --check for
 * damage. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/import_stats.h"
#include "cli/trace/info_mix.h"
#include "cli/trace/info_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/timeline/check.h"

struct args {
	bool all, json, check, mix;
	long events; /* of that rank, or -1 */
};

static void print_damage(const char *line, void *arg)
{
	printf("%s: %s\n", (const char *)arg, line);
}

static int check_trace(const struct trace *t, const char *path)
{
	struct trace_check_report report;
	struct errbuf err;
	char size[32];
	int rv = trace_check(t, print_damage, (void *)path, &report, &err);

	if (rv < 0)
		return cli_fail("%s: %s", path, err.text);
	if (rv > 0)
		return cli_fail("%s: %u of its pages or parts are damaged; the rest can be read", path, report.damaged);
	printf("%s: sound: %u pages, %s%s\n", path, report.pages,
	       cli_bytes(size, sizeof(size), (double)trace_file_size(t)),
	       trace_is_partial(t) ? "; of a run that was cut short" : "");
	return 0;
}

static int summary(const struct trace *t, const char *path, const struct args *a)
{
	struct errbuf err;
	struct info o;
	int rc;

	if (trace_is_imported(t))
		return a->json ? import_stats_print_json(t, path) : info_print_imported(t, path, a->all);
	if (info_collect(t, &o, &err) < 0)
		return cli_fail("%s: %s", path, err.text);
	rc = a->json ? info_print_json(t, &o, path) : info_print_text(t, &o, path, a->all);
	info_free(&o);
	return rc;
}

static int show_info(const char *path, const struct args *a)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	path = cli_shown(path);
	if (a->mix)
		rc = info_print_mix(t, path, a->all, a->json);
	else if (a->events >= 0)
		rc = info_print_events(t, path, (uint32_t)a->events);
	else
		rc = a->check ? check_trace(t, path) : summary(t, path, a);
	trace_close(t);
	return rc;
}

static int info_verb(int argc, char **argv)
{
	struct args a = {.events = -1};
	int rc;
	char **trace = options_read(&verb_info, argc, argv, &a, &rc);

	if (!trace)
		return rc;
	if ((a.events >= 0) + a.mix + a.check > 1)
		return cli_usage("info", "--events, --mix or --check: one of them");
	if ((a.json || a.all) && (a.events >= 0 || a.check))
		return cli_usage("info", "%s goes with the summary and with --mix", a.json ? "--json" : "--all");
	return show_info(*trace, &a);
}

static const struct verb_option options[] = {
	{"all", 'a', NULL, OPT_FLAG(struct args, all), .help = "every row of every table"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "the same for machines"},
	{"mix", 0, NULL, OPT_FLAG(struct args, mix), .help = "what computation consists of, block by block: from samples of the program"},
	{"events", 0, "RANK", OPT_NUMBER(struct args, events, 0, INT32_MAX), .wants = "wants a rank",
	 .help = "every call of one rank: time, gap before, duration, function, parameters, call site"},
	{"check", 0, NULL, OPT_FLAG(struct args, check),
	 .help = "read every page of the file and name what is damaged; exit 1 when anything is"},
	{0},
};

const struct verb verb_info = {
	"info", "TRACE", "ranks, events, where the time went",
	.forms = {"TRACE [--all] [--json]", "TRACE --events RANK", "TRACE --mix [--all] [--json]", "TRACE --check"},
	.text = "Shows where the time of a traced run went and whether it is balanced: classes of calls, ranks, call sites, loops, "
		"messages.",
	.examples = {"app.ptrace", "app.ptrace --events 0"},
	.options = options, .operand = "trace", .one = true, .run = info_verb,
};
