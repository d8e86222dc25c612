/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent export: a trace for other programs. Files are written beside their final names and renamed. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "trace/export/export.h"

static const struct format {
	const char *suffix;
	int (*to_file)(const struct trace *t, FILE *out, const struct export_options *o, struct export_report *report,
		       struct errbuf *err); /* NULL: to a directory */
} formats[] = {
	{".otf2", NULL},
	{".json", export_chrome},
	{".csv", export_csv},
};
static const char *const format_names[] = {"otf2", "chrome", "csv", NULL};

#define N_FORMATS (sizeof(formats) / sizeof(*formats))

struct wish {
	const char *trace, *output;
	const struct format *format;
	uint32_t r0, r1;
	double from_s, to_s;
};

/* ---- what the exporters ask for ---- */

static double started;

static void progress(void *arg, double done, double total)
{
	(void)arg;
	if (cli_now() - started > 1)
		cli_progress("exporting", done, total);
}

static const char *site_name(void *arg, const struct trace_defs *d, const struct trace_site *s, char *buf, size_t size)
{
	return symbolizer_site(arg, d, s, buf, size);
}

/* ---- files ---- */

static int write_file(const struct trace *t, const struct wish *w, const char *path, const struct export_options *o,
		      struct export_report *report, struct errbuf *err)
{
	char *temp = NULL;
	FILE *f;
	int rv;

	if (!strcmp(path, "-"))
		return w->format->to_file(t, stdout, o, report, err);
	if (asprintf(&temp, "%s.tmp.%ld", path, (long)getpid()) < 0)
		return err_set(err, "no memory");
	f = fopen(temp, "wx");
	if (!f) {
		rv = err_set(err, "%s: cannot create: %s", path, strerror(errno));
		free(temp);
		return rv;
	}
	rv = w->format->to_file(t, f, o, report, err);
	if (fclose(f) && rv == 0)
		rv = err_set(err, "%s: cannot write: %s", path, strerror(errno));
	if (rv == 0 && rename(temp, path) < 0)
		rv = err_set(err, "%s: cannot rename: %s", path, strerror(errno));
	if (rv < 0)
		unlink(temp);
	free(temp);
	return rv;
}

static void print_export(const char *path, const struct export_report *r, bool imported)
{
	char a[32], b[32], c[32];

	printf("%s: %s %s", cli_shown(path), cli_thousands(a, sizeof(a), r->events), imported ? "spans" : "calls");
	if (r->messages)
		printf(", %s messages", cli_thousands(b, sizeof(b), r->messages));
	if (r->untimed)
		printf("; times of %s calls are not known", cli_thousands(c, sizeof(c), r->untimed));
	if (r->posted_sizes)
		printf("; %s receives have the size of their buffer", cli_thousands(c, sizeof(c), r->posted_sizes));
	putchar('\n');
}

static int export_trace(const struct trace *t, const struct wish *w, const char *path)
{
	struct export_options o = {.r0 = w->r0, .r1 = w->r1 < trace_n_ranks(t) ? w->r1 : trace_n_ranks(t),
				   .t0_ns = (uint64_t)(w->from_s * 1e9),
				   .t1_ns = w->to_s < 1e9 ? (uint64_t)(w->to_s * 1e9) : UINT64_MAX,
				   .site = site_name, .site_arg = symbolizer_create(), .progress = progress};
	struct export_report report;
	struct errbuf err = {{0}};
	int rv;

	started = cli_now();
	rv = w->r0 >= trace_n_ranks(t) ? err_set(&err, "there is no rank %u: the trace has ranks 0 to %u", w->r0,
						 trace_n_ranks(t) - 1) :
	     w->format->to_file ? write_file(t, w, path, &o, &report, &err) :
				  export_otf2(t, path, &o, &report, &err);
	cli_progress("", 1, 1);
	symbolizer_destroy(o.site_arg);
	if (rv < 0)
		return cli_fail("%s: %s", w->trace, err.text);
	if (strcmp(path, "-"))
		print_export(path, &report, trace_is_imported(t));
	return 0;
}

static int run_export(const struct wish *w)
{
	char *path = w->output ? strdup(w->output) : cli_output_name(w->trace, w->format->suffix);
	struct errbuf err;
	struct trace *t;
	int rc;

	if (!path)
		return cli_fail("no memory");
	t = trace_open(w->trace, &err);
	if (t) {
		rc = export_trace(t, w, path);
		trace_close(t);
	} else {
		rc = cli_fail("%s", err.text);
	}
	free(path);
	return rc;
}

/* ---- arguments ---- */

static int take_format(void *wish, char *text)
{
	struct wish *w = wish;

	for (size_t i = 0; i < N_FORMATS; i++)
		if (!strcmp(text, format_names[i])) {
			w->format = &formats[i];
			return 0;
		}
	return cli_usage("export", "there is no format '%s'", text);
}

/* Without --format, the ending of the output says it. */
static const struct format *format_of(const char *output)
{
	size_t n = output ? strlen(output) : 0;

	for (size_t i = 0; i < N_FORMATS; i++) {
		size_t k = strlen(formats[i].suffix);

		if (n > k && !strcmp(output + n - k, formats[i].suffix))
			return &formats[i];
	}
	return NULL;
}

static int take_ranks(void *wish, char *text)
{
	struct wish *w = wish;
	unsigned long a, b;
	char *end;

	if (*text < '0' || *text > '9')
		return -1;
	a = b = strtoul(text, &end, 10);
	if (*end == '-') {
		text = end + 1;
		if (*text < '0' || *text > '9')
			return -1;
		b = strtoul(text, &end, 10);
	}
	if (*end || a > b || b >= INT32_MAX)
		return -1;
	w->r0 = (uint32_t)a;
	w->r1 = (uint32_t)b + 1;
	return 0;
}

static int check_wish(const struct wish *w)
{
	if (!w->format)
		return cli_usage("export", "say --format otf2, chrome or csv");
	if (w->from_s >= w->to_s)
		return cli_usage("export", "--from %g is not before --to %g", w->from_s, w->to_s);
	if (!w->format->to_file && w->output && !strcmp(w->output, "-"))
		return cli_usage("export", "an OTF2 archive is a directory: name it with -o");
	return 0;
}

static int export_verb(int argc, char **argv)
{
	struct wish w = {.r1 = UINT32_MAX, .to_s = HUGE_VAL};
	int rc;
	char **trace = options_read(&verb_export, argc, argv, &w, &rc);

	if (!trace)
		return rc;
	if (!w.format)
		w.format = format_of(w.output);
	w.trace = *trace;
	rc = check_wish(&w);
	return rc ? rc : run_export(&w);
}

static const struct verb_option options[] = {
	{"format", 0, "FORMAT", OPT_CALL(take_format, format_names),
	 .help = "otf2: a directory with an OTF2 archive, for Vampir, ViTE, Scalasca ...\n"
		 "chrome: JSON, for chrome://tracing and https://ui.perfetto.dev\n"
		 "csv: a table with one row per call"},
	{"output", 'o', "OUT", OPT_TEXT(struct wish, output),
	 .help = "file or directory (default: the trace's name with another ending, here); - is standard output"},
	{"ranks", 0, "A-B", OPT_CALL(take_ranks, NULL), .wants = "wants A-B or A", .help = "only these ranks (or one: A)"},
	{"from", 0, "S", OPT_REAL(struct wish, from_s, 0, 1e9), .wants = "wants seconds",
	 .help = "only calls that end after this second of the run"},
	{"to", 0, "S", OPT_REAL(struct wish, to_s, 0, 1e9), .wants = "wants seconds",
	 .help = "only calls that begin before this second of the run"},
	{0},
};

const struct verb verb_export = {
	"export", "TRACE --format F", "write it as OTF2, Chrome trace or CSV, for other programs",
	.forms = {"TRACE --format FORMAT [-o OUT] [--ranks A-B] [--from S] [--to S]"},
	.text = "Writes a trace in a form that other programs read.",
	.examples = {"app.ptrace --format csv --ranks 0-3 -o app.csv", "app.ptrace --format otf2 -o app.otf2"},
	.options = options, .operand = "trace", .one = true, .run = export_verb,
};
