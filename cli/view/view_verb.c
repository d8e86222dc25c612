/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent view: a trace as one page for a browser, written to a file or served with all its detail. */
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "cli/view/view_loops.h"
#include "cli/view/view_problems.h"
#include "cli/view/view_serve.h"

#define PAGE_BYTES 16000000u /* about: below 20 MB whatever the trace is */

struct options {
	const char *trace, *out, *rules;
	bool serve;
	uint16_t port;
	long rank;
};

static void help(void)
{
	puts("Usage: precedent view TRACE [-o FILE.html] [--rank R] [--rules RULES]\n"
	     "       precedent view TRACE --serve [--port N] [--rank R] [--rules RULES]\n\n"
	     "Writes one page that shows the run in a browser: ranks over time, calls, messages, loops, totals,\n"
	     "and what `precedent advise` finds in it.\n"
	     "It needs nothing else and opens from disk; '?' in it lists keys and mouse.\n\n"
	     "  -o, --output FILE  name of the page (default: the trace's name with .html, in this directory);\n"
	     "                     - is standard output\n"
	     "  --serve            do not write it: serve it to this machine's browsers, with every call and\n"
	     "                     message of traces that are too large for a page; prints the address; Ctrl-C\n"
	     "                     ends it\n"
	     "  --port N           of the server (default: any free one)\n"
	     "  --rank R           the rank whose loops are shown (default: 0)\n"
	     "  --rules RULES      by which problems are found (the installed problems.rules); none: without\n"
	     "  -h, --help         this text");
}

/* ---- where the page goes ---- */

/* Trace's name without directory and .ptrace, with .html; to be freed. */
static char *default_name(const char *trace)
{
	const char *slash = strrchr(trace, '/'), *base = slash ? slash + 1 : trace;
	size_t n = strlen(base);
	char *name = NULL;

	if (n > 7 && !strcmp(base + n - 7, ".ptrace"))
		n -= 7;
	if (asprintf(&name, "%.*s.html", (int)n, base) < 0)
		return NULL;
	return name;
}

static int write_page(const struct options *o, const struct buf *page)
{
	char *own = o->out ? NULL : default_name(o->trace), size[32];
	const char *path = o->out ? o->out : own;
	int rc;

	if (!path)
		return cli_fail("no memory");
	rc = cli_write_file(path, page->data, page->len);
	if (!rc && !o->out)
		printf("%s (%s)\n", path, cli_bytes(size, sizeof(size), (double)page->len));
	free(own);
	return rc;
}

/* ---- what it shows ---- */

static const char *site_name(void *arg, const struct trace_defs *d, const struct trace_site *site, char *buf,
			     size_t size)
{
	return symbolizer_site(arg, d, site, buf, size);
}

static int show(const struct options *o, struct view_input *in)
{
	struct errbuf err;
	struct view *v = view_create(in, &err);
	struct buf page = {0};
	int rc = 0;

	if (!v || view_page(v, &page, &err) < 0)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else if (!o->serve)
		rc = write_page(o, &page);
	else if (view_serve(v, &page, o->port, &err) < 0)
		rc = cli_fail("%s", err.text);
	buf_free(&page);
	view_destroy(v);
	return rc;
}

static void problems_progress(double share)
{
	cli_progress("problems", share, 1);
}

/* By the rules that were named, or by those that are installed where there are any. */
static int find_problems(const struct options *o, const struct trace *t, struct symbolizer *sym, struct view_problems *out,
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

static int view(const struct options *o)
{
	struct errbuf err;
	struct trace *t = trace_open(o->trace, &err);
	struct symbolizer *sym;
	struct view_loops loops = {0};
	struct view_problems problems = {0};
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
	else if (find_problems(o, t, sym, &problems, &err) < 0)
		rc = cli_fail("%s: %s", o->trace, err.text);
	else {
		in.problem = problems.problem;
		in.n_problem = problems.n;
		in.loop = loops.loop;
		in.n_loop = loops.n;
		rc = show(o, &in);
	}
	view_problems_free(&problems);
	view_loops_free(&loops);
	timeline_destroy(in.timeline);
	symbolizer_destroy(sym);
	trace_close(t);
	return rc;
}

static int view_verb(int argc, char **argv)
{
	static const struct option opts[] = {{"output", required_argument, NULL, 'o'},
					     {"serve", no_argument, NULL, 's'},
					     {"port", required_argument, NULL, 'p'},
					     {"rank", required_argument, NULL, 'r'},
					     {"rules", required_argument, NULL, 'R'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	struct options o = {0};
	long port = 0;
	int c;

	while ((c = getopt_long(argc, argv, "ho:", opts, NULL)) != -1) {
		if (c == 'o')
			o.out = optarg;
		else if (c == 's')
			o.serve = true;
		else if (c == 'p' && cli_number(optarg, 0, 65535, &port) < 0)
			return cli_usage("view", "--port wants a port, not '%s'", optarg);
		else if (c == 'r' && cli_number(optarg, 0, INT32_MAX, &o.rank) < 0)
			return cli_usage("view", "--rank wants a rank, not '%s'", optarg);
		else if (c == 'R')
			o.rules = optarg;
		else if (c == 'h')
			return help(), 0;
		else if (c == '?')
			return cli_bad_option("view", "ho:", argv);
	}
	if (optind + 1 != argc)
		return cli_usage("view", optind == argc ? "no trace named" : "one trace at a time");
	if (o.serve && o.out)
		return cli_usage("view", "-o writes a page, --serve does not: one of them");
	if (port && !o.serve)
		return cli_usage("view", "--port is for --serve");
	o.port = (uint16_t)port;
	o.trace = argv[optind];
	return view(&o);
}

const struct verb verb_view = {
	.name = "view",
	.args = "TRACE [-o FILE.html]",
	.what = "the run as a page for a browser",
	.run = view_verb,
};
