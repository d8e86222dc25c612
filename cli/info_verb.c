/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info: what is in a trace, on one screen; --json for machines; --events for every call of a rank. */
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/info_collect.h"
#include "cli/symbolize.h"
#include "cli/util.h"
#include "cli/verbs.h"

#define TOP_SITES 10

static const char *const class_name[TC_N] = {
	[TC_SEND] = "send", [TC_RECV] = "receive", [TC_SENDRECV] = "send and receive", [TC_ISEND] = "start of sends",
	[TC_IRECV] = "start of receives", [TC_START] = "start of requests", [TC_WAIT] = "wait", [TC_PROBE] = "probe",
	[TC_COLL] = "collectives", [TC_ICOLL] = "start of collectives", [TC_COMM] = "communicators",
	[TC_LOCAL] = "local calls", [TC_INIT] = "init", [TC_FINALIZE] = "finalize",
};

static void help(void)
{
	puts("Usage: precedent info TRACE [--json]\n"
	     "       precedent info TRACE --events RANK\n\n"
	     "Shows what a trace holds: ranks, events, where the time went, the call sites that matter.\n\n"
	     "  --json         the same for machines\n"
	     "  --events RANK  every call of one rank: time, gap before, duration, function, parameters, call site\n"
	     "  -h, --help     this text");
}

/* ---- every call of a rank ---- */

static void print_params(const struct trace_defs *d, uint32_t sym)
{
	struct sig_walk w;
	const char *sep = "";

	putchar('(');
	for (sig_walk_begin(&w, d, sym); sig_walk_next(&w); sep = ", ") {
		printf("%s%s=", sep, w.name);
		if (!trace_kind_is_array(w.kind)) {
			if (w.kind == TK_TYPE && w.val[0] >= 0 && d->type[w.val[0]].name)
				fputs(d->type[w.val[0]].name, stdout);
			else if (w.kind == TK_OP && w.val[0] >= 0 && d->op[w.val[0]].name)
				fputs(d->op[w.val[0]].name, stdout);
			else
				printf("%" PRId64, w.val[0]);
			continue;
		}
		putchar('[');
		for (uint32_t i = 0; i < w.n; i++)
			printf("%s%" PRId64, i ? " " : "", w.val[i]);
		putchar(']');
	}
	putchar(')');
}

static int print_events(const struct trace *t, uint32_t rank)
{
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, rank, &err);
	struct symbolizer *sym = symbolizer_create();
	const struct trace_defs *d;
	struct trace_event ev;
	uint64_t at = 0;
	char site[256];
	bool known;

	if (!it) {
		symbolizer_destroy(sym);
		return cli_fail("%s", err.text);
	}
	d = &trace_get_rank(t, rank)->defs;
	printf("# seconds  gap_us  duration_us  call  # call site\n");
	while (trace_iter_next(it, &ev, &known)) {
		at += ev.gap_ns;
		if (known)
			printf("%.6f %.2f %.2f ", (double)at * 1e-9, (double)ev.gap_ns * 1e-3,
			       (double)ev.dur_ns * 1e-3);
		else
			printf("- - - ");
		at += ev.dur_ns;
		fputs(trace_fn[d->sigs.sig[ev.sym].fn].name, stdout);
		print_params(d, ev.sym);
		printf("  # %s\n", symbolizer_site(sym, d, &d->site[d->sigs.sig[ev.sym].site], site, sizeof(site)));
	}
	trace_iter_destroy(it);
	symbolizer_destroy(sym);
	return ferror(stdout) ? 1 : 0;
}

/* ---- for machines ---- */

static json_t *sum_json(const char *name, const struct info_sum *s)
{
	return json_pack("{s:s, s:I, s:f}", "name", name, "calls", (json_int_t)s->calls, "seconds", s->seconds);
}

static json_t *counted_json(const struct trace *t)
{
	json_t *o = json_object();

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_defs *d = &trace_get_rank(t, r)->defs;

		for (uint32_t i = 0; i < d->n_counted; i++) {
			json_int_t old = json_integer_value(json_object_get(o, d->counted[i].name));

			json_object_set_new(o, d->counted[i].name, json_integer(old + (json_int_t)d->counted[i].calls));
		}
	}
	return o;
}

static json_t *sites_json(const struct trace *t, const struct info *o, struct symbolizer *sym)
{
	json_t *a = json_array();
	char site[256];

	for (uint32_t i = 0; i < o->n_site; i++) {
		const struct trace_defs *d = &trace_get_rank(t, o->site[i].rank)->defs;

		symbolizer_site(sym, d, &d->site[o->site[i].site], site, sizeof(site));
		json_array_append_new(a, json_pack("{s:s, s:s, s:I, s:f}", "site", site, "function",
						   trace_fn[o->site[i].fn].name, "calls",
						   (json_int_t)o->site[i].sum.calls, "seconds",
						   o->site[i].sum.seconds));
	}
	return a;
}

static json_t *ranks_json(const struct trace *t, const struct info *o)
{
	json_t *a = json_array();

	for (uint32_t r = 0; r < o->n_ranks; r++) {
		const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;

		json_array_append_new(a, json_pack("{s:i, s:s, s:b, s:I, s:f, s:f, s:f, s:f, s:I}", "rank", (int)r,
						   "host", p->host ? p->host : "", "present",
						   (int)trace_get_rank(t, r)->present, "events",
						   (json_int_t)o->rank[r].events, "wall_s", o->rank[r].wall,
						   "compute_s", o->rank[r].compute, "mpi_s", o->rank[r].mpi,
						   "overhead_s", o->rank[r].overhead, "polls",
						   (json_int_t)o->rank[r].polls));
	}
	return a;
}

static int print_json(const struct trace *t, const struct info *o, const char *path)
{
	static const char *const keys[] = {"program", "arguments", "job", "step", "launcher", "mpi", "date"};
	struct symbolizer *sym = symbolizer_create();
	json_t *root, *cls = json_array(), *fn = json_array(), *damage = json_array();
	int rc;

	for (int i = 0; i < TC_N; i++)
		if (o->cls[i].calls)
			json_array_append_new(cls, sum_json(class_name[i], &o->cls[i]));
	for (int i = 0; i < TRACE_FN_N; i++)
		if (o->fn[i].calls)
			json_array_append_new(fn, sum_json(trace_fn[i].name, &o->fn[i]));
	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		json_array_append_new(damage, json_string(trace_damage(t, i)));
	root = json_pack("{s:s, s:i, s:b, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "trace",
			 path, "ranks", (int)o->n_ranks, "partial", (int)trace_is_partial(t), "events",
			 (json_int_t)o->events, "bytes", (json_int_t)trace_file_size(t), "wall_s", o->wall, "compute_s",
			 o->compute, "messages", (json_int_t)o->messages, "bytes_sent", (json_int_t)o->bytes_sent,
			 "polls", (json_int_t)o->polls, "untimed", (json_int_t)o->untimed, "classes", cls, "functions",
			 fn, "sites", sites_json(t, o, sym), "per_rank", ranks_json(t, o), "passed_through",
			 counted_json(t), "damage", damage);
	for (size_t i = 0; root && i < sizeof(keys) / sizeof(*keys); i++)
		if (trace_job_get(t, keys[i]))
			json_object_set_new(root, keys[i], json_string(trace_job_get(t, keys[i])));
	rc = root ? json_dumpf(root, stdout, JSON_INDENT(2)) : -1;
	putchar('\n');
	json_decref(root);
	symbolizer_destroy(sym);
	return rc ? cli_fail("cannot write the JSON") : 0;
}

/* ---- for people ---- */

static void print_head(const struct trace *t, const struct info *o, const char *path)
{
	char n[32], w[32], size[32];
	const char *program = trace_job_get(t, "program"), *args = trace_job_get(t, "arguments");

	printf("%s: %u ranks, %s events, %s, %s (%.2f bytes per event)%s\n", path, o->n_ranks,
	       cli_thousands(n, sizeof(n), o->events), cli_seconds(w, sizeof(w), o->wall),
	       cli_bytes(size, sizeof(size), (double)trace_file_size(t)),
	       o->events ? (double)trace_file_size(t) / (double)o->events : 0,
	       trace_is_partial(t) ? "  PARTIAL" : "");
	if (program)
		printf("  program  %s %s\n", program, args ? args : "");
	if (trace_job_get(t, "mpi"))
		printf("  mpi      %s\n", trace_job_get(t, "mpi"));
	if (trace_job_get(t, "hosts"))
		printf("  hosts    %s\n", trace_job_get(t, "hosts"));
	if (o->untimed)
		printf("  times    unknown for %s events\n", cli_thousands(n, sizeof(n), o->untimed));
	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		printf("  damage   %s\n", trace_damage(t, i));
}

static void print_share(const char *name, uint64_t calls, double seconds, double total)
{
	char n[32], s[32], bar[128];
	double share = total > 0 ? seconds / total : 0;

	printf("  %-22s %14s %12s  %5.1f %% %s\n", name, calls ? cli_thousands(n, sizeof(n), calls) : "",
	       cli_seconds(s, sizeof(s), seconds), share * 100, cli_bar(bar, sizeof(bar), share, 20));
}

static void print_ranks(const struct info *o)
{
	double lo = 1e300, hi = 0, sum = 0;
	uint32_t who = 0, n = 0;
	char a[32], b[32], c[32];

	for (uint32_t r = 0; r < o->n_ranks; r++) {
		if (!o->rank[r].events)
			continue;
		if (o->rank[r].compute > hi) {
			hi = o->rank[r].compute;
			who = r;
		}
		if (o->rank[r].compute < lo)
			lo = o->rank[r].compute;
		sum += o->rank[r].compute;
		n++;
	}
	if (n > 1 && sum > 0)
		printf("\nimbalance: compute %s to %s (rank %u), mean %s: the slowest rank computes %.1f %% longer than the "
		       "mean\n", cli_seconds(a, sizeof(a), lo), cli_seconds(b, sizeof(b), hi), who,
		       cli_seconds(c, sizeof(c), sum / n), (hi / (sum / n) - 1) * 100);
}

static void print_messages(const struct info *o)
{
	char a[32], b[32], c[32];

	if (!o->messages)
		return;
	printf("messages: %s, %s sent, mean %s; by size:", cli_thousands(a, sizeof(a), o->messages),
	       cli_bytes(b, sizeof(b), (double)o->bytes_sent),
	       cli_bytes(c, sizeof(c), (double)o->bytes_sent / (double)o->messages));
	for (int i = 0; i < 32; i++)
		if (o->size_count[i])
			printf(" %s+ %.0f %%", cli_bytes(a, sizeof(a), i ? (double)(1ull << i) : 0),
			       100.0 * (double)o->size_count[i] / (double)o->messages);
	putchar('\n');
}

static int print_text(const struct trace *t, const struct info *o, const char *path)
{
	struct symbolizer *sym = symbolizer_create();
	double total = 0;
	char site[200], name[256];

	for (uint32_t r = 0; r < o->n_ranks; r++)
		total += o->rank[r].compute + o->rank[r].mpi;
	print_head(t, o, path);
	printf("\n  %-22s %14s %12s  %7s\n", "sum over ranks", "calls", "time", "share");
	print_share("compute", 0, o->compute, total);
	for (int i = 0; i < TC_N; i++)
		if (o->cls[i].calls && i != TC_INIT && i != TC_FINALIZE)
			print_share(class_name[i], o->cls[i].calls, o->cls[i].seconds, total);
	if (o->polls)
		printf("  %-22s %14s\n", "unsuccessful tests", cli_thousands(name, sizeof(name), o->polls));
	print_ranks(o);
	print_messages(o);
	printf("\n  %-22s %14s %12s  %5s    call site\n", "function", "calls", "time", "share");
	for (uint32_t i = 0; i < o->n_site && i < TOP_SITES; i++) {
		const struct info_site *s = &o->site[i]; /* the longest first */
		const struct trace_defs *d = &trace_get_rank(t, s->rank)->defs;
		char n[32], w[32];

		printf("  %-22s %14s %12s  %5.1f %%  %s\n", trace_fn[s->fn].name,
		       cli_thousands(n, sizeof(n), s->sum.calls), cli_seconds(w, sizeof(w), s->sum.seconds),
		       total > 0 ? 100 * s->sum.seconds / total : 0,
		       symbolizer_site(sym, d, &d->site[s->site], site, sizeof(site)));
	}
	if (o->n_site > TOP_SITES)
		printf("  and %u more call sites (--json lists them)\n", o->n_site - TOP_SITES);
	symbolizer_destroy(sym);
	return ferror(stdout) ? 1 : 0;
}

static int show(const char *path, bool json, long events_of)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	struct info o;
	int rc;

	if (!t)
		return cli_fail("%s", err.text);
	if (events_of >= 0) {
		rc = print_events(t, (uint32_t)events_of);
	} else if (info_collect(t, &o, &err) < 0) {
		rc = cli_fail("%s: %s", path, err.text);
	} else {
		rc = json ? print_json(t, &o, path) : print_text(t, &o, path);
		info_free(&o);
	}
	trace_close(t);
	return rc;
}

int verb_info(int argc, char **argv)
{
	static const struct option opts[] = {{"json", no_argument, NULL, 'j'},
					     {"events", required_argument, NULL, 'e'},
					     {"help", no_argument, NULL, 'h'},
					     {0}};
	bool json = false;
	long events_of = -1;
	int c;

	while ((c = getopt_long(argc, argv, "h", opts, NULL)) != -1) {
		char *end;

		if (c == 'j') {
			json = true;
		} else if (c == 'e') {
			events_of = strtol(optarg, &end, 10);
			if (*end || end == optarg || events_of < 0 || events_of >= INT32_MAX)
				return cli_usage("info", "--events wants a rank, not '%s'", optarg);
		} else if (c == 'h') {
			return help(), 0;
		} else {
			return cli_usage("info", "bad option '%s'", argv[optind - 1]);
		}
	}
	if (optind + 1 != argc)
		return cli_usage("info", optind == argc ? "no trace named" : "one trace at a time");
	return show(argv[optind], json, events_of);
}
