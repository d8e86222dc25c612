/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent skeleton and precedent verify: from a trace to a program, and the proof that it is the right one. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/skeleton.h"
#include "cli/util.h"
#include "cli/verbs.h"
#include "skelgen/tree.h"

static void skeleton_help(void)
{
	puts("Usage: precedent skeleton TRACE [-o DIR] [--seconds S | --scale K] [--kernels] [--tree] [--json]\n\n"
	     "Writes a short MPI program that behaves like the traced one: same calls, peers, message sizes and\n"
	     "datatypes, the same computation between them, fewer iterations of the loops that all ranks share.\n\n"
	     "  -o, --output DIR   where to write skel.c, skel.ops, Makefile, report.txt (default: TRACE.skel)\n"
	     "  --seconds S        run time wanted (default 5)\n"
	     "  --scale K          instead: K times shorter than the traced run\n"
	     "  --kernels          computation by kernels of its kinds alone, without loops of the program itself\n"
	     "  --tree             print the merged program tree too\n"
	     "  --compile          compile it with mpicc as well\n"
	     "  --json             facts for machines\n"
	     "  -h, --help         this text");
}

static void verify_help(void)
{
	puts("Usage: precedent verify TRACE [--json]\n\n"
	     "Builds the skeleton's tree, expands it for every rank, and compares with the trace call by call.\n"
	     "Exit status 0 when they are the same, 1 when not (or when the trace cannot be read).\n\n"
	     "  --json      the same for machines\n"
	     "  -h, --help  this text");
}

static int positive(const char *text, double *out)
{
	char *end;

	*out = strtod(text, &end);
	return end != text && !*end && *out > 0 && *out < 1e9 ? 0 : -1;
}

static int print_facts(const struct skeleton_facts *f, const char *dir, bool json)
{
	char n[32], l[32], s[32], p[32];

	if (json) {
		json_t *o = json_pack("{s:s, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:i, s:s}", "dir", dir, "ranks", (int)f->n_ranks,
				      "events", (json_int_t)f->events, "length", (json_int_t)f->length, "traced_s",
				      f->mpi_s, "computed_s", f->computed_s, "delayed_s", f->delayed_s, "planned_s", f->planned_s,
				      "confidence", f->confidence, "buffered", (int)f->buffered, "hash", f->hash);

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return 0;
	}
	printf("%s: %s calls of %u ranks in %s lines; %s traced, about %s to run; confidence %.0f %%\n", dir,
	       cli_thousands(n, sizeof(n), f->events), f->n_ranks, cli_thousands(l, sizeof(l), f->length),
	       cli_seconds(s, sizeof(s), f->mpi_s), cli_seconds(p, sizeof(p), f->planned_s), f->confidence * 100);
	if (skeleton_was_delayed(f))
		printf("%s: others had a rank's processor for %s of that while it was ready to compute: taken out\n", dir,
		       cli_seconds(s, sizeof(s), f->delayed_s));
	if (f->buffered)
		printf("%s: the program relies on buffered sends, at %u call site%s: see report.txt\n", dir, f->buffered,
		       f->buffered > 1 ? "s" : "");
	return 0;
}

int verb_skeleton(int argc, char **argv)
{
	static const struct option opts[] = {{"output", required_argument, NULL, 'o'},
					     {"seconds", required_argument, NULL, 's'},
					     {"scale", required_argument, NULL, 'k'},
					     {"kernels", no_argument, NULL, 'e'},
					     {"tree", no_argument, NULL, 't'},
					     {"compile", no_argument, NULL, 'c'},
					     {"json", no_argument, NULL, 'j'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	struct skeleton_wish wish = {0};
	struct skeleton_facts facts;
	bool json = false, compile = false;
	const char *output = NULL;
	char *dir = NULL;
	struct errbuf err;
	int c, rc = 1;

	while ((c = getopt_long(argc, argv, "o:h", opts, NULL)) != -1) {
		if (c == 'o')
			output = optarg;
		else if (c == 'e')
			wish.kernels = true;
		else if (c == 't')
			wish.tree = stdout;
		else if (c == 'c')
			compile = true;
		else if (c == 'j')
			json = true;
		else if (c == 'h')
			return skeleton_help(), 0;
		else if (c == '?')
			return cli_bad_option("skeleton", "o:h", argv);
		else if (positive(optarg, c == 's' ? &wish.seconds : &wish.scale) < 0)
			return cli_usage("skeleton", "--%s wants a number above 0, not '%s'", c == 's' ? "seconds" : "scale", optarg);
	}
	if (optind + 1 != argc)
		return cli_usage("skeleton", optind == argc ? "no trace named" : "one trace at a time");
	if (wish.seconds > 0 && wish.scale > 0)
		return cli_usage("skeleton", "--seconds or --scale, not both");
	if (!(wish.scale > 0) && !(wish.seconds > 0))
		wish.seconds = 5;
	if (output ? !(dir = strdup(output)) : asprintf(&dir, "%s.skel", argv[optind]) < 0)
		return cli_fail("no memory");
	if (skeleton_generate(argv[optind], dir, &wish, &facts, &err) < 0 ||
	    (compile && skeleton_compile(dir, NULL, &err) < 0))
		cli_fail("%s", err.text);
	else
		rc = print_facts(&facts, dir, json);
	free(dir);
	return rc;
}

static int verify(const char *path, bool json)
{
	struct skel_verify_report rep = {0};
	struct skel_tree tree;
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	char n[32];
	int rc = 0;

	if (!t)
		return cli_fail("%s", err.text);
	if (skeleton_trace_check(t, &err) < 0 || skel_tree_build(t, &tree, &err) < 0) {
		trace_close(t);
		return cli_fail("%s: %s", path, err.text);
	}
	if (skel_verify(&tree, &rep, &err) < 0)
		rc = cli_fail("%s: the skeleton is not the trace: %s", path, err.text);
	else if (json)
		printf("{\"trace\": \"lossless\", \"ranks\": %u, \"events\": %llu, \"length\": %llu}\n", rep.ranks,
		       (unsigned long long)rep.events, (unsigned long long)skel_tree_length(&tree));
	else
		printf("%s: lossless: %s calls of %u ranks are exactly what the tree of %llu calls expands to\n", path,
		       cli_thousands(n, sizeof(n), rep.events), rep.ranks, (unsigned long long)skel_tree_length(&tree));
	skel_tree_free(&tree);
	trace_close(t);
	return rc;
}

int verb_verify(int argc, char **argv)
{
	static const struct option opts[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'}, {0}};
	bool json = false;
	int c;

	while ((c = getopt_long(argc, argv, "h", opts, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'h')
			return verify_help(), 0;
		else
			return cli_bad_option("verify", "h", argv);
	}
	if (optind + 1 != argc)
		return cli_usage("verify", optind == argc ? "no trace named" : "one trace at a time");
	return verify(argv[optind], json);
}
