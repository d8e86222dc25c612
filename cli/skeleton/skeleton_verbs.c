/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent skeleton and precedent verify: from a trace to a program, and the proof that it is the right one. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/skeleton/skeleton.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean_json.h"
#include "skelgen/contract/repeats.h"
#include "skelgen/merge/verify.h"
#include "skelgen/pipeline.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/tree/rooms.h"
#include "skelgen/tree/tree.h"

static int print_facts(const struct skeleton_facts *f, const char *dir, bool json)
{
	char n[32], l[32], s[32], p[32];

	if (json) {
		json_t *o = json_pack("{s:o, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:i, s:s}", "dir", clean_json(dir), "ranks", (int)f->n_ranks,
				      "events", (json_int_t)f->events, "length", (json_int_t)f->length, "traced_s",
				      f->mpi_s, "computed_s", f->computed_s, "delayed_s", f->delayed_s, "planned_s", f->planned_s,
				      "confidence", f->confidence, "buffered", (int)f->buffered, "hash", f->hash);

		json_dumpf(o, stdout, JSON_INDENT(2));
		putchar('\n');
		json_decref(o);
		return 0;
	}
	dir = cli_shown(dir);
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

struct args {
	struct skeleton_wish wish;
	const char *output;
	int repeats; /* index in repeats_words */
	bool tree, compile, json;
};

static const char *const repeats_words[] = {"lyndon", "suffix-array", NULL};
static const enum repeats_engine repeats_engines[] = {REPEATS_LYNDON, REPEATS_SUFFIX_ARRAY};

static int skeleton_verb(int argc, char **argv)
{
	struct args a = {0};
	struct skeleton_wish *wish = &a.wish;
	struct skeleton_facts facts;
	char **trace, *dir = NULL;
	struct errbuf err;
	int rc;

	trace = options_read(&verb_skeleton, argc, argv, &a, &rc);
	if (!trace)
		return rc;
	if (wish->seconds > 0 && wish->scale > 0)
		return cli_usage("skeleton", "--seconds or --scale, not both");
	repeats_choose(repeats_engines[a.repeats]);
	if (!(wish->scale > 0) && !(wish->seconds > 0))
		wish->seconds = 5;
	if (a.output ? !(dir = strdup(a.output)) : asprintf(&dir, "%s.skel", *trace) < 0)
		return cli_fail("no memory");
	if (a.json)
		cli_keep_stdout();
	if (a.tree)
		wish->tree = a.json ? stderr : stdout;
	if (skeleton_generate(*trace, dir, wish, &facts, &err) < 0 || (a.compile && skeleton_compile(dir, NULL, &err) < 0))
		rc = cli_fail("%s", err.text);
	else
		rc = print_facts(&facts, dir, a.json);
	free(dir);
	return rc;
}

static const struct verb_option skeleton_options[] = {
	{"output", 'o', "DIR", OPT_TEXT(struct args, output),
	 .help = "where to write skel.c, skel.ops, Makefile, report.txt (default: TRACE.skel)"},
	{"seconds", 0, "S", OPT_REAL(struct args, wish.seconds, OPT_ABOVE_0, 1e9), .wants = "wants a number above 0",
	 .help = "run time wanted (default 5)"},
	{"scale", 0, "K", OPT_REAL(struct args, wish.scale, OPT_ABOVE_0, 1e9), .wants = "wants a number above 0",
	 .help = "instead: K times shorter than the traced run"},
	{"repeats", 0, "ENGINE", OPT_WORD(struct args, repeats, repeats_words),
	 .help = "how repetitions are found: lyndon (default) or suffix-array; the result is the same"},
	{"tree", 0, NULL, OPT_FLAG(struct args, tree), .help = "print the merged program tree too"},
	{"compile", 0, NULL, OPT_FLAG(struct args, compile), .help = "compile it with mpicc as well"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "facts for machines"},
	{0},
};

const struct verb verb_skeleton = {
	"skeleton", "TRACE [-o DIR]", "write a short program that behaves like the traced one",
	.forms = {"TRACE [-o DIR] [--seconds S | --scale K] [options]"},
	.text = "Writes a short MPI program that behaves like the traced one: same calls, peers, message sizes and datatypes, the same "
		"computation between them, fewer iterations of the loops that all ranks share.",
	.options = skeleton_options, .operand = "trace", .one = true, .run = skeleton_verb,
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

	path = cli_shown(path);
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
	struct args a = {0};
	int rc;
	char **trace = options_read(&verb_verify, argc, argv, &a, &rc);

	return trace ? verify(*trace, a.json) : rc;
}

static const struct verb_option verify_options[] = {
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "the same for machines"},
	{0},
};

const struct verb verb_verify = {
	"verify", "TRACE", "prove that the skeleton expands to the trace exactly",
	.forms = {"TRACE [--json]"},
	.text = "Builds the skeleton's tree, expands it for every rank, and compares with the trace call by call. Compares the length "
		"of every message with the room of its receive. Calls of several threads are recorded as they return, and messages "
		"may be matched in another order: one line says so.\n\n"
		"Exit status 0 when tree and trace are the same, 1 when not, when a receive of one thread is too short for its "
		"message, or when the trace cannot be read.",
	.options = verify_options, .operand = "trace", .one = true, .run = verify_verb,
};
