/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent accuracy: how good the predictions have been. What the answer holds is said in predictor/answer_accuracy.c. */
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/query.h"
#include "cli/query_print.h"
#include "cli/util.h"
#include "cli/verbs.h"

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

struct options {
	bool json, mine;
	long days;
};

/* -1: go on; else the exit code. */
static int options_parse(int argc, char **argv, const char *help, struct options *o)
{
	static const struct option known[] = {{"json", no_argument, NULL, 'j'},
					      {"mine", no_argument, NULL, 'm'},
					      {"days", required_argument, NULL, 'd'},
					      {"help", no_argument, NULL, 'h'},
					      {0}};
	int c;

	*o = (struct options){0};
	while ((c = getopt_long(argc, argv, "h", known, NULL)) != -1) {
		if (c == 'h') {
			fputs(help, stdout);
			return 0;
		}
		if (c == '?')
			return cli_usage(argv[0], "bad option '%s'", argv[optind - 1]);
		o->json |= c == 'j';
		o->mine |= c == 'm';
		if (c == 'd' && query_number(optarg, 36500, &o->days) < 0)
			return cli_usage(argv[0], "--days takes a number of days, not '%s'", optarg);
	}
	if (optind < argc)
		return cli_usage(argv[0], "unexpected argument '%s'", argv[optind]);
	return -1;
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
	struct options o;
	json_t *request, *answer;
	int rc = options_parse(argc, argv, help, &o);

	if (rc >= 0)
		return rc;
	request = query_request("accuracy");
	json_object_set_new(request, "days", json_integer(o.days));
	json_object_set_new(request, "mine", json_boolean(o.mine));
	answer = query_ask(request);
	json_decref(request);
	if (!answer)
		return 1;
	rc = 0;
	if (o.json)
		rc = query_print_json(answer);
	else
		accuracy_print(answer);
	json_decref(answer);
	return rc;
}
