/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent view: a trace as one page for a browser, written to a file or served with all its detail. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/ending_text.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "cli/view/view_loops.h"
#include "cli/view/view_problems.h"
#include "cli/view/view_serve.h"

#define ENDINGS 20 /* reasons that the page tells; a reader looks at the first ones */
#define PAGE_BYTES 16000000u /* about: below 20 MB whatever the trace is */

struct args {
	const char *trace, *out, *rules;
	bool serve;
	long port, rank;
};

/* ---- where the page goes ---- */

static int write_page(const struct args *o, const struct buf *page)
{
	char *own = o->out ? NULL : cli_output_name(o->trace, ".html"), size[32];
	const char *path = o->out ? o->out : own;
	int rc;

	if (!path)
		return cli_fail("no memory");
	rc = cli_write_file(path, page->data, page->len);
	if (!rc && !o->out)
		printf("%s (%s)\n", cli_shown(path), cli_bytes(size, sizeof(size), (double)page->len));
	free(own);
	return rc;
}

/* ---- what it shows ---- */

static const char *site_name(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf,
			     size_t size)
{
	return symbolizer_site(arg, d, site, buf, size);
}

static int show_page(const struct args *o, struct view_input *in)
{
	struct errbuf err;
	struct view *v = view_create(in, &err);
	struct buf page = {0};
	int rc = 0;

	if (!v || view_page(v, &page, &err) < 0)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else if (!o->serve)
		rc = write_page(o, &page);
	else if (view_serve(v, &page, (uint16_t)o->port, &err) < 0)
		rc = cli_fail("%s", err.text);
	buf_free(&page);
	view_destroy(v);
	return rc;
}

static void problems_progress(double share)
{
	cli_progress("problems", share, 1);
}

/* Finds problems by the named rules, or by the installed rules if there are any. */
static int find_problems(const struct args *o, const struct trace *t, struct symbolizer *sym, struct view_problems *out,
			 struct errbuf *err)
{
	char *installed = o->rules ? NULL : cli_shared("problems.rules", err);
	const char *rules = o->rules ? o->rules : installed;
	int rv = 0;

	*out = (struct view_problems){0};
	if (rules && strcmp(rules, "none") != 0)
		rv = view_problems_build(t, rules, sym, problems_progress, out, err);
	cli_progress("problems", 1, 1);
	free(installed);
	return rv;
}

/* Texts of the first reasons why the run did not reach MPI_Finalize. Returns their number, or -1 on error. */
static int find_endings(const struct trace *t, struct symbolizer *sym, const char *text[ENDINGS], struct errbuf *err)
{
	struct ending *e = ending_create(t, err);
	struct ending_words w = {.e = e, .sym = sym};
	int n = 0;

	if (!e)
		return -1;
	for (uint32_t i = 0; i < e->n_finding && i < ENDINGS; i++)
		if ((text[n] = strdup(ending_text(&w, &e->finding[i]))))
			n++;
	ending_destroy(e);
	return n;
}

static int view(const struct args *o)
{
	struct errbuf err;
	struct trace *t = trace_open(o->trace, &err);
	struct symbolizer *sym;
	struct view_loops loops = {0};
	struct view_problems problems = {0};
	const char *ending[ENDINGS];
	int n_ending = 0;
	struct view_input in = {.trace = t, .path = o->trace, .site_name = site_name, .budget = PAGE_BYTES,
				.served = o->serve, .progress = cli_progress, .loop_rank = (uint32_t)o->rank};
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	sym = symbolizer_create();
	in.site_arg = sym;
	in.timeline = timeline_create(t, &err);
	if (!in.timeline)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else if (in.loop_rank >= trace_n_ranks(t))
		rc = cli_fail("%s: there is no rank %ld, they go up to %u", o->trace, o->rank, trace_n_ranks(t) - 1);
	else if (view_loops_build(t, in.loop_rank, sym, &loops, &err) < 0)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else if (find_problems(o, t, sym, &problems, &err) < 0 || (n_ending = find_endings(t, sym, ending, &err)) < 0)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else {
		in.problem = problems.problem;
		in.n_problem = problems.n;
		in.ending = ending;
		in.n_ending = (uint32_t)n_ending;
		in.loop = loops.loop;
		in.n_loop = loops.n;
		rc = show_page(o, &in);
	}
	for (int i = 0; i < n_ending; i++)
		free((char *)ending[i]);
	view_problems_free(&problems);
	view_loops_free(&loops);
	timeline_destroy(in.timeline);
	symbolizer_destroy(sym);
	trace_close(t);
	return rc;
}

static int view_verb(int argc, char **argv)
{
	struct args a = {0};
	int rc;
	char **trace = options_read(&verb_view, argc, argv, &a, &rc);

	if (!trace)
		return rc;
	if (a.serve && a.out)
		return cli_usage("view", "-o writes a page, --serve does not: one of them");
	if (a.port && !a.serve)
		return cli_usage("view", "--port is for --serve");
	a.trace = *trace;
	return view(&a);
}

static const struct verb_option options[] = {
	{"output", 'o', "FILE", OPT_TEXT(struct args, out),
	 .help = "name of the page (default: the trace's name with .html, in this directory); - is standard output"},
	{"serve", 0, NULL, OPT_FLAG(struct args, serve),
	 .help = "do not write it: serve it to this machine's browsers, with every call and message of traces that are too large for a "
		 "page; prints the address; Ctrl-C ends it"},
	{"port", 0, "N", OPT_NUMBER(struct args, port, 0, 65535), .wants = "wants a port", .help = "of the server (default: any free one)"},
	{"rank", 0, "R", OPT_NUMBER(struct args, rank, 0, INT32_MAX), .wants = "wants a rank",
	 .help = "the rank whose loops are shown (default: 0)"},
	{"rules", 0, "RULES", OPT_TEXT(struct args, rules),
	 .help = "by which problems are found (the installed problems.rules); none: without"},
	{0},
};

const struct verb verb_view = {
	"view", "TRACE [-o FILE.html]", "the run as a page for a browser",
	.forms = {"TRACE [-o FILE.html] [--rank R] [--rules RULES]", "TRACE --serve [--port N] [--rank R] [--rules RULES]"},
	.text = "Writes one page that shows the run in a browser: ranks over time, calls, messages, loops, totals, and what `precedent "
		"advise` finds in it. It needs nothing else and opens from disk; '?' in it lists keys and mouse.",
	.examples = {"app.ptrace", "app.ptrace --serve"},
	.options = options, .operand = "trace", .one = true, .run = view_verb,
};
