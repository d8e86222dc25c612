/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent skeleton and precedent verify: from a trace to a program, and the proof that it is the right one. */
#include <getopt.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/skeleton/skeleton.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "skelgen/pipeline.h"
#include "skelgen/merge/verify.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/tree/rooms.h"
#include "skelgen/tree/tree.h"

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
	     "Compares the length of every message with the room of its receive. Calls of several threads are\n"
	     "recorded as they return, and messages may be matched in another order: one line says so.\n"
	     "Exit status 0 when tree and trace are the same, 1 when not, when a receive of one thread is too\n"
	     "short for its message, or when the trace cannot be read.\n\n"
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

static int skeleton_verb(int argc, char **argv)
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
	if (json)
		cli_keep_stdout();
	if (json && wish.tree)
		wish.tree = stderr;
	if (skeleton_generate(argv[optind], dir, &wish, &facts, &err) < 0 ||
	    (compile && skeleton_compile(dir, NULL, &err) < 0))
		cli_fail("%s", err.text);
	else
		rc = print_facts(&facts, dir, json);
	free(dir);
	return rc;
}

const struct verb verb_skeleton = {
	.name = "skeleton",
	.args = "TRACE [-o DIR]",
	.what = "write a short program that behaves like the traced one",
	.run = skeleton_verb,
};

/* "rank 1, event 37: MPI_Mrecv at app+0x190e has room for 993 bytes and gets a message of 2995 ..." */
static void describe_short(const struct trace *t, const struct trace_message *m, char *text, size_t size)
{
	char call[256];

	skel_call_describe(&trace_get_rank(t, m->dst)->defs, m->recv_sym, call, sizeof(call));
	snprintf(text, size, "rank %u, event %llu: %s has room for %llu bytes and gets a message of %llu from rank %u, event %llu (tag %d)",
		 m->dst, (unsigned long long)m->post_event, call, (unsigned long long)m->room, (unsigned long long)m->bytes, m->src,
		 (unsigned long long)m->send_event, m->tag);
}

static void print_verified(const char *path, const struct skel_tree *tree, const struct skel_verify_report *rep,
			   const struct skel_rooms *rooms, const char *first)
{
	char n[32], k[32];

	printf("%s: lossless: %s calls of %u ranks are exactly what the tree of %llu calls expands to\n", path,
	       cli_thousands(n, sizeof(n), rep->events), rep->ranks, (unsigned long long)skel_tree_length(tree));
	if (rooms->n_short)
		printf("%s: %s: threads returned in another order than their messages were matched (receives like this: %s); the skeleton "
		       "makes room\n", path, first, cli_thousands(k, sizeof(k), rooms->n_short));
}

static void print_verified_json(const struct skel_tree *tree, const struct skel_verify_report *rep, const struct skel_rooms *rooms,
				const char *first)
{
	json_t *j = json_pack("{s:s, s:i, s:I, s:I, s:I}", "trace", "lossless", "ranks", (int)rep->ranks, "events",
			      (json_int_t)rep->events, "length", (json_int_t)skel_tree_length(tree), "short_receives",
			      (json_int_t)rooms->n_short);

	if (rooms->n_short)
		json_object_set_new(j, "short_receive", json_string(first));
	json_dumpf(j, stdout, 0);
	putchar('\n');
	json_decref(j);
}

/* The tree is the trace: the sizes of its messages, too? */
static int verify_rooms(const char *path, const struct skel_tree *tree, const struct skel_verify_report *rep, bool json)
{
	struct skel_rooms rooms;
	struct errbuf err;
	char first[512] = "";
	int rc = 0;

	if (skel_rooms_find(tree->trace, &rooms, &err) < 0)
		return cli_fail("%s: %s", path, err.text);
	if (rooms.n_short)
		describe_short(tree->trace, &rooms.first, first, sizeof(first));
	if (rooms.n_short && !skel_rank_has_threads(tree->trace, rooms.first.dst) &&
	    !skel_rank_has_threads(tree->trace, rooms.first.src))
		rc = cli_fail("%s: the trace contradicts itself: %s", path, first);
	else if (json)
		print_verified_json(tree, rep, &rooms, first);
	else
		print_verified(path, tree, rep, &rooms, first);
	skel_rooms_free(&rooms);
	return rc;
}

static int verify(const char *path, bool json)
{
	struct skel_verify_report rep = {0};
	struct skel_tree tree;
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	if (skeleton_trace_check(t, &err) < 0 || skel_tree_build(t, &tree, &err) < 0) {
		trace_close(t);
		return cli_fail("%s: %s", path, err.text);
	}
	if (skel_verify(&tree, &rep, &err) < 0)
		rc = cli_fail("%s: the skeleton is not the trace: %s", path, err.text);
	else
		rc = verify_rooms(path, &tree, &rep, json);
	skel_tree_free(&tree);
	trace_close(t);
	return rc;
}

static int verify_verb(int argc, char **argv)
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

const struct verb verb_verify = {
	.name = "verify",
	.args = "TRACE",
	.what = "prove that the skeleton expands to the trace exactly",
	.run = verify_verb,
};
