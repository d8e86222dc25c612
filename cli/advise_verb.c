/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent advise: which performance problems a run has, by rules; --check: whether a file of rules is sound. */
#include <getopt.h>
#include <stdio.h>

#include "cli/util.h"
#include "cli/verbs.h"
#include "expert/rules.h"

static void help(void)
{
	puts("Usage: precedent advise --check RULES\n\n"
	     "Reads a file of rules for the analysis of traces (precedent-rules(5)) and says what is wrong with it:\n"
	     "FILE:LINE:COLUMN, what was found, what was expected.\n\n"
	     "  --check RULES   check the file and what it includes; exit 1 when something is wrong\n"
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

int verb_advise(int argc, char **argv)
{
	static const struct option opts[] = {{"check", required_argument, NULL, 'c'}, {"help", no_argument, NULL, 'h'}, {0}};
	const char *rules = NULL;
	int c;

	while ((c = getopt_long(argc, argv, "h", opts, NULL)) != -1) {
		if (c == 'c')
			rules = optarg;
		else if (c == 'h')
			return help(), 0;
		else
			return cli_usage("advise", "bad option '%s'", argv[optind - 1]);
	}
	if (!rules)
		return cli_usage("advise", "no file of rules named");
	if (optind != argc)
		return cli_usage("advise", "one file of rules at a time");
	return check(rules);
}
