/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent skeleton and precedent verify: from a trace to a program, and the proof that it is the right one. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/skeleton/skeleton.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "common/clean_json.h"
#include "skelgen/contract/repeats.h"
#include "skelgen/merge/verify.h"
#include "skelgen/pipeline.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/tree/rooms.h"
#include "skelgen/tree/tree.h"

#define LONGER 1.2 /* times the run time wanted: up to that, loops are run whole that could be cut */

/* Why the skeleton runs longer than was asked for. */
static void print_longer(const struct skeleton_facts *f, const char *dir, double seconds)
{
	char p[32], w[32];

	if (!(seconds > 0) || f->planned_s < LONGER * seconds)
		return;
	if (f->kinds > 0) {
		printf("%s: cannot run for %g s: one piece of each of %u kinds takes longer\n", dir, seconds, f->kinds);
		return;
	}
	printf("%s: cannot run for %g s: %s are in no loop that can be cut", dir, seconds, cli_seconds(w, sizeof(w), f->whole_s));
	if (f->planned_s - f->whole_s > 0.01 * f->planned_s)
		printf(", %s are the fewest iterations of the others (report.txt names them)",
		       cli_seconds(p, sizeof(p), f->planned_s - f->whole_s));
	putchar('\n');
}

static int print_facts(const struct skeleton_facts *f, const char *dir, double seconds, bool json)
{
	char n[32], l[32], s[32], p[32];

	if (json) {
		json_t *o = json_pack("{s:o, s:i, s:I, s:I, s:f, s:f, s:f, s:f, s:f, s:f, s:i, s:s}", "dir", clean_json(dir), "ranks", (int)f->n_ranks,
				      "events", (json_int_t)f->events, "length", (json_int_t)f->length, "traced_s",
				      f->mpi_s, "computed_s", f->computed_s, "delayed_s", f->delayed_s, "planned_s", f->planned_s, "whole_s", f->whole_s,
				      "reproduced", f->confidence, "buffered", (int)f->buffered, "hash", f->hash);

		return cli_print_json(o);
	}
	dir = cli_shown(dir);
	printf("%s: %s calls of %u ranks in %s lines; %s traced, about %s to run; reproduces %.0f %% of the run\n", dir,
	       cli_thousands(n, sizeof(n), f->events), f->n_ranks, cli_thousands(l, sizeof(l), f->length),
	       cli_seconds(s, sizeof(s), f->mpi_s), cli_seconds(p, sizeof(p), f->planned_s), f->confidence * 100);
	print_longer(f, dir, seconds);
	if (skeleton_was_delayed(f))
		printf("%s: others had a rank's processor for %s of that while it was ready to compute: taken out\n", dir,
		       cli_seconds(s, sizeof(s), f->delayed_s));
	if (f->unsampled[0])
		printf("%s: computes with the default mix of kernels, as nothing was sampled: %s\n", dir, cli_shown(f->unsampled));
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
		rc = print_facts(&facts, dir, wish->seconds, a.json);
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
	.examples = {"app.ptrace --seconds 2", "app.ptrace -o short --compile"},
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

struct verified {
	const struct trace *t;
	struct skel_verify_report report;
	bool whole; /* a tree of the whole run was made */
};

static void print_verified(const char *path, const struct verified *v, const struct skel_rooms *rooms, const char *first)
{
	char n[32], k[32];

	path = cli_shown(path);
	printf("%s: lossless: %s calls of %u ranks are exactly what ", path, cli_thousands(n, sizeof(n), v->report.events),
	       v->report.ranks);
	if (v->whole)
		printf("the tree of %llu calls expands to\n", (unsigned long long)v->report.length);
	else
		printf("was recorded, folded to %s; they do not repeat, so a skeleton has pieces of the run\n",
		       cli_thousands(k, sizeof(k), v->report.length));
	if (rooms->n_short)
		printf("%s: %s: threads returned in another order than their messages were matched (receives like this: %s); the skeleton "
		       "makes room\n", path, first, cli_thousands(k, sizeof(k), rooms->n_short));
}

static void print_verified_json(const struct verified *v, const struct skel_rooms *rooms, const char *first)
{
	json_t *j = json_pack("{s:s, s:i, s:I, s:I, s:I}", "trace", "lossless", "ranks", (int)v->report.ranks, "events",
			      (json_int_t)v->report.events, "length", (json_int_t)v->report.length, "short_receives",
			      (json_int_t)rooms->n_short);

	if (rooms->n_short)
		json_object_set_new(j, "short_receive", json_string(first));
	cli_print_json(j);
}

/* The calls are those of the run: the sizes of their messages, too? */
static int verify_rooms(const char *path, const struct verified *v, bool json)
{
	struct skel_rooms rooms;
	struct errbuf err;
	char first[512] = "";
	int rc = 0;

	if (skel_rooms_find(v->t, &rooms, &err) < 0)
		return cli_fail("%s: %s", path, err.text);
	if (rooms.n_short)
		describe_short(v->t, &rooms.first, first, sizeof(first));
	if (rooms.n_short && !skel_rank_has_threads(v->t, rooms.first.dst) && !skel_rank_has_threads(v->t, rooms.first.src))
		rc = cli_fail("%s: the trace contradicts itself: %s", path, first);
	else if (json)
		print_verified_json(v, &rooms, first);
	else
		print_verified(path, v, &rooms, first);
	skel_rooms_free(&rooms);
	return rc;
}

static int verify_tree(struct verified *v, struct errbuf *err)
{
	struct skel_tree tree;

	if (skel_tree_build(v->t, &tree, err) < 0)
		return -1;
	if (skel_verify(&tree, &v->report, err) < 0) {
		skel_tree_free(&tree);
		return err_prefix(err, "the skeleton is not the trace");
	}
	skel_tree_free(&tree);
	return 0;
}

static int verify(const char *path, bool json)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	struct verified v = {.t = t};
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	v.whole = skel_repeats(t);
	skeleton_name_sites(true);
	if (skeleton_trace_check(t, &err) < 0 || skel_verify_folded(t, &v.report, &err) < 0 || (v.whole && verify_tree(&v, &err) < 0))
		rc = cli_fail("%s: %s", path, err.text);
	else
		rc = verify_rooms(path, &v, json);
	skeleton_name_sites(false);
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
		"may be matched in another order: one line says so. Where the run does not repeat, the calls are compared with the "
		"hash that was taken as they were made, and no tree is built.\n\n"
		"Exit status 0 when tree and trace are the same, 1 when not, when a receive of one thread is too short for its "
		"message, or when the trace cannot be read.",
	.examples = {"app.ptrace", "app.ptrace --json"},
	.options = verify_options, .operand = "trace", .one = true, .run = verify_verb,
};
