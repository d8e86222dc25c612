/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info: what is in a trace, on one screen; --json for machines; --events for every call; --check for damage. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/import_stats.h"
#include "cli/trace/info_mix.h"
#include "cli/trace/info_print.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/timeline/check.h"

enum what { SHOW_TEXT, SHOW_ALL, SHOW_JSON, SHOW_CHECK };

static void help(void)
{
	puts("Usage: precedent info TRACE [--all] [--json]\n"
	     "       precedent info TRACE --events RANK\n"
	     "       precedent info TRACE --mix [--all] [--json]\n"
	     "       precedent info TRACE --check\n\n"
	     "Shows where the time of a traced run went and whether it is balanced: classes of calls, ranks,\n"
	     "call sites, loops, messages.\n\n"
	     "  -a, --all      every row of every table\n"
	     "  --json         the same for machines\n"
	     "  --mix          what computation consists of, block by block: from samples of the program\n"
	     "  --events RANK  every call of one rank: time, gap before, duration, function, parameters, call site\n"
	     "  --check        read every page of the file and name what is damaged; exit 1 when anything is\n"
	     "  -h, --help     this text");
}

static void print_damage(const char *line, void *arg)
{
	printf("%s: %s\n", (const char *)arg, line);
}

static int check(const struct trace *t, const char *path)
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

static int summary(const struct trace *t, const char *path, enum what what)
{
	struct errbuf err;
	struct info o;
	int rc;

	if (trace_is_imported(t))
		return what == SHOW_JSON ? import_stats_print_json(t, path) : info_print_imported(t, path, what == SHOW_ALL);
	if (info_collect(t, &o, &err) < 0)
		return cli_fail("%s: %s", path, err.text);
	rc = what == SHOW_JSON ? info_print_json(t, &o, path) : info_print_text(t, &o, path, what == SHOW_ALL);
	info_free(&o);
	return rc;
}

static int show(const char *path, enum what what, bool mix, long events_of)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	if (mix)
		rc = info_print_mix(t, path, what == SHOW_ALL, what == SHOW_JSON);
	else if (events_of >= 0)
		rc = info_print_events(t, path, (uint32_t)events_of);
	else
		rc = what == SHOW_CHECK ? check(t, path) : summary(t, path, what);
	trace_close(t);
	return rc;
}

static int info_verb(int argc, char **argv)
{
	static const struct option opts[] = {{"json", no_argument, NULL, 'j'},
					     {"all", no_argument, NULL, 'a'},
					     {"check", no_argument, NULL, 'c'},
					     {"mix", no_argument, NULL, 'm'},
					     {"events", required_argument, NULL, 'e'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	bool json = false, all = false, check = false, mix = false;
	long events_of = -1;
	int c;

	while ((c = getopt_long(argc, argv, "ah", opts, NULL)) != -1) {
		if (c == 'j') {
			json = true;
		} else if (c == 'a') {
			all = true;
		} else if (c == 'c') {
			check = true;
		} else if (c == 'm') {
			mix = true;
		} else if (c == 'e') {
			if (cli_number(optarg, 0, INT32_MAX, &events_of) < 0)
				return cli_usage("info", "--events wants a rank, not '%s'", optarg);
		} else if (c == 'h') {
			return help(), 0;
		} else {
			return cli_bad_option("info", "ah", argv);
		}
	}
	if (optind + 1 != argc)
		return cli_usage("info", optind == argc ? "no trace named" : "one trace at a time");
	if ((events_of >= 0) + mix + check > 1)
		return cli_usage("info", "--events, --mix or --check: one of them");
	if ((json || all) && (events_of >= 0 || check))
		return cli_usage("info", "%s goes with the summary and with --mix", json ? "--json" : "--all");
	return show(argv[optind], check ? SHOW_CHECK : json ? SHOW_JSON : all ? SHOW_ALL : SHOW_TEXT, mix, events_of);
}

const struct verb verb_info = {
	.name = "info",
	.args = "TRACE",
	.what = "ranks, events, where the time went",
	.run = info_verb,
};
