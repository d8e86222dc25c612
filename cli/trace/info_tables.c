/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Tables of precedent info: call sites, loops, messages and who sends them to whom. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/trace/info_print.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"

#define WIDE        96
#define TOP_SITES   6
#define TOP_LOOPS   7
#define SITE_SHARE  0.0005 /* call sites below it are not shown */
#define TOP_SIZES   4
#define TOP_PAIRS   4
#define LOOP_SHARE  0.01 /* loops below it are not shown */
#define CURVE_CELLS 16
#define MATRIX_SMALL 8
#define MATRIX_ALL   64

static void heading(const char *format, const char *text)
{
	putchar('\n');
	fputs(term_on(TERM_HEADING), stdout);
	printf("%s%s", format, text);
	printf("%s\n", term_off());
}

/* Is there no room for every column? */
static bool is_narrow(const struct info_view *v)
{
	return v->width < WIDE;
}

/* A place in the rest of a line: C++ scopes go first, then the file. */
static const char *place_fit(const struct info_view *v, int used, const char *place, char *buf, size_t size)
{
	size_t blanks = strspn(place, " ");
	const char *name = place + blanks, *scope;

	while (info_rest(v, used + (int)blanks, name, buf, size) == buf && (scope = strstr(name, "::")) &&
	       scope < name + strcspn(name, "( "))
		name = scope + 2;
	if (name == place + blanks)
		return info_rest(v, used, place, buf, size);
	printf("%*s", (int)blanks, "");
	return info_rest(v, used + (int)blanks, name, buf, size);
}

/* ---- call sites ---- */

/* A row of the table: call sites that read the same (of several callers, or of unrolled code) are one. */
struct row {
	uint16_t fn;
	struct info_sum sum;
	uint64_t bytes;
	char *where;
};

static int by_name(const void *a, const void *b)
{
	const struct row *x = a, *y = b;
	int order = strcmp(x->where, y->where);

	return order ? order : x->fn - y->fn;
}

static int by_time(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->sum.seconds != y->sum.seconds)
		return x->sum.seconds > y->sum.seconds ? -1 : 1;
	if (x->sum.calls != y->sum.calls)
		return x->sum.calls > y->sum.calls ? -1 : 1;
	return by_name(a, b);
}

/* The rows, the longest first; NULL without memory. */
static struct row *make_rows(const struct info_view *v, uint32_t *n)
{
	struct row *row = calloc(v->o->n_site + 1u, sizeof(*row));
	uint32_t k = 0, kept = 0;
	char site[256];

	for (uint32_t i = 0; row && i < v->o->n_site; i++) {
		const struct info_site *s = &v->o->site[i];
		const struct trace_defs *d = &trace_get_rank(v->t, s->rank)->defs;

		row[k] = (struct row){s->fn, s->sum, s->bytes, NULL};
		row[k].where = strdup(symbolizer_site(v->sym, d, &d->site[s->site], site, sizeof(site)));
		k += row[k].where != NULL;
	}
	if (k)
		qsort(row, k, sizeof(*row), by_name);
	for (uint32_t i = 0; i < k; i++) {
		if (!kept || by_name(&row[kept - 1], &row[i]) != 0) {
			row[kept++] = row[i];
			continue;
		}
		row[kept - 1].sum.calls += row[i].sum.calls;
		row[kept - 1].sum.seconds += row[i].sum.seconds;
		row[kept - 1].bytes += row[i].bytes;
		free(row[i].where);
	}
	if (kept)
		qsort(row, kept, sizeof(*row), by_time);
	*n = kept;
	return row;
}

static void free_rows(struct row *row, uint32_t n)
{
	for (uint32_t i = 0; row && i < n; i++)
		free(row[i].where);
	free(row);
}

double info_top_call(const struct info_view *v, char *buf, size_t size)
{
	uint32_t n = 0;
	struct row *row = make_rows(v, &n);
	double share = row && n && v->total > 0 ? row[0].sum.seconds / v->total : 0;

	if (row && n)
		snprintf(buf, size, "%s in %s", trace_fn[row[0].fn].name, row[0].where);
	free_rows(row, n);
	return share;
}

static void print_row(const struct info_view *v, const struct row *r)
{
	char n[32], w[32], m[32], b[32] = "", cut[256];
	double each = r->sum.calls ? r->sum.seconds / (double)r->sum.calls : 0;

	if (r->bytes)
		cli_bytes(b, sizeof(b), (double)r->bytes / (double)r->sum.calls);
	printf("  %5.1f %%", v->total > 0 ? 100 * r->sum.seconds / v->total : 0);
	if (!is_narrow(v))
		printf(" %8s", info_time(w, sizeof(w), r->sum.seconds));
	printf(" %11s %8s", cli_thousands(n, sizeof(n), r->sum.calls), info_time(m, sizeof(m), each));
	if (!is_narrow(v))
		printf(" %8s", b);
	printf("  %-15s ", trace_fn[r->fn].name);
	puts(place_fit(v, is_narrow(v) ? 48 : 66, r->where, cut, sizeof(cut)));
}

void info_print_sites(const struct info_view *v)
{
	uint32_t n = 0, shown = 0;
	struct row *row = make_rows(v, &n);

	if (!row || !n) {
		free_rows(row, n);
		return;
	}
	heading("Calls", "");
	printf("%s    share%s       calls     each%s  %-15s where%s\n", term_on(TERM_FAINT), is_narrow(v) ? "" : "     time",
	       is_narrow(v) ? "" : "    bytes", "call", term_off());
	for (uint32_t i = 0; i < n; i++)
		if (v->all || i == 0 || (i < TOP_SITES && row[i].sum.seconds >= SITE_SHARE * v->total)) {
			print_row(v, &row[i]);
			shown++;
		}
	if (shown < n)
		printf("%s  and %u more%s\n", term_on(TERM_FAINT), n - shown, term_off());
	free_rows(row, n);
}

/* ---- loops ---- */

const char *info_loop_place(struct symbolizer *s, const struct trace *t, const struct loops *l, uint32_t i, char *buf,
			    size_t size)
{
	const struct trace_defs *d = &trace_get_rank(t, l->rank)->defs;
	struct trace_site site = d->site[l->loop[i].site];
	uint32_t frame = l->loop[i].frame < site.n_frame ? l->loop[i].frame : 0;

	site.n_frame -= (uint8_t)frame; /* the callers of that frame are the callers of the loop */
	memmove(site.module, site.module + frame, site.n_frame * sizeof(*site.module));
	memmove(site.offset, site.offset + frame, site.n_frame * sizeof(*site.offset));
	return symbolizer_site(s, d, &site, buf, size);
}

/* "3,000", or with the executions of an inner loop: "300 x 10". */
static const char *turns(const struct loop *l, char *buf, size_t size)
{
	char a[32], b[32];

	if (l->executions == 1)
		return cli_thousands(buf, size, l->iterations);
	if (l->turns_min == l->turns_max)
		snprintf(buf, size, "%s x %s", cli_thousands(a, sizeof(a), l->executions),
			 cli_thousands(b, sizeof(b), l->turns_max));
	else
		snprintf(buf, size, "%s in %s", cli_thousands(a, sizeof(a), l->iterations),
			 cli_thousands(b, sizeof(b), l->executions));
	return buf;
}

/* Time of an iteration over the run, from 0 to the slowest point. */
static const char *curve(const struct loop *l, size_t width, char *buf, size_t size)
{
	double cell[CURVE_CELLS], max = 0;
	size_t n = l->n_curve < width ? l->n_curve : width;

	for (size_t i = 0; i < n; i++) {
		size_t a = i * l->n_curve / n, b = (i + 1) * l->n_curve / n;
		double sum = 0, known = 0;

		for (size_t k = a; k < b; k++)
			if (!isnan(l->curve[k])) {
				sum += l->curve[k];
				known++;
			}
		cell[i] = known > 0 ? sum / known : (double)NAN;
		max = known > 0 ? fmax(max, cell[i]) : max;
	}
	term_spark(buf, size, cell, n, max);
	for (size_t i = n; i < width && strlen(buf) + 2 < size; i++)
		strcat(buf, " ");
	return buf;
}

static void print_loop(const struct info_view *v, uint32_t i, bool spread)
{
	const struct loop *l = &v->o->loops.loop[i];
	char n[80], m[32], sd[32], bar[128], place[256], where[300], cut[300];
	int cells = is_narrow(v) ? CURVE_CELLS / 2 : CURVE_CELLS;

	info_loop_place(v->sym, v->t, &v->o->loops, i, place, sizeof(place));
	snprintf(where, sizeof(where), "%*s%s", l->depth < 10 ? (int)l->depth * 2 : 20, "", place);
	if (l->timed)
		snprintf(sd, sizeof(sd), "%.0f %%", l->mean_ns > 0 ? 100 * l->sd_ns / l->mean_ns : 0);
	else
		snprintf(sd, sizeof(sd), "?");
	printf("  %5.1f %% %16s %8s %6s  %s%s%s  ", 100 * l->share, turns(l, n, sizeof(n)),
	       l->timed ? info_time(m, sizeof(m), l->mean_ns * 1e-9) : "?", sd, term_on(TERM_BAR),
	       curve(l, (size_t)cells, bar, sizeof(bar)), term_off());
	puts(place_fit(v, 46 + cells, where, cut, sizeof(cut)));
	if (spread && l->timed > 1)
		printf("%s  %*s%s to %s, the slowest is number %" PRIu64 "; calls in the body: %u%s\n", term_on(TERM_FAINT), 20, "",
		       info_time(m, sizeof(m), l->min_ns * 1e-9), info_time(sd, sizeof(sd), l->max_ns * 1e-9),
		       l->slowest, l->n_call, term_off());
}

static int by_share(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x < *y) - (*x > *y);
}

/* The least share of the loops that are shown. */
static double loop_threshold(const struct loops *l, bool all)
{
	double *share = calloc(l->n + 1u, sizeof(*share)), least = LOOP_SHARE;

	if (all || !share) {
		free(share);
		return 0;
	}
	for (uint32_t i = 0; i < l->n; i++)
		share[i] = l->loop[i].share;
	qsort(share, l->n, sizeof(*share), by_share);
	if (l->n > TOP_LOOPS && share[TOP_LOOPS] >= least)
		least = nextafter(share[TOP_LOOPS], 2);
	free(share);
	return least;
}

void info_print_loops(const struct info_view *v)
{
	const struct loops *l = &v->o->loops;
	double least = loop_threshold(l, v->all);
	uint32_t shown = 0;
	char title[64];

	if (!l->n && !l->irregular)
		return;
	snprintf(title, sizeof(title), "%u%s", l->rank, v->o->n_present > 1 ? ", which computes longest" : "");
	heading("Loops of rank ", title);
	if (!l->n) {
		puts("  none found: its calls repeat too little");
		return;
	}
	printf("%s    share       iterations     each spread  %-*s  where%s\n", term_on(TERM_FAINT),
	       is_narrow(v) ? CURVE_CELLS / 2 : CURVE_CELLS, is_narrow(v) ? "over run" : "over the run", term_off());
	for (uint32_t i = 0; i < l->n; i++)
		if (l->loop[i].share >= least) {
			print_loop(v, i, v->all);
			shown++;
		}
	if (shown < l->n + l->n_left_out)
		printf("%s  and %u more of little time%s\n", term_on(TERM_FAINT), l->n + l->n_left_out - shown, term_off());
	if (l->irregular)
		printf("%s  loops inside are not sought: their calls repeat too little%s\n", term_on(TERM_FAINT), term_off());
}

/* ---- messages ---- */

static void print_size(const struct info_view *v, int bin)
{
	char a[32], b[32], bar[256];
	double share = (double)v->o->size_count[bin] / (double)v->o->messages;

	printf("  %9s to %-9s %s%s%s %5.1f %%\n", bin ? cli_bytes(a, sizeof(a), ldexp(1, bin)) : "0 B",
	       cli_bytes(b, sizeof(b), ldexp(1, bin + 1) - 1), term_on(TERM_BAR), cli_bar(bar, sizeof(bar), share, 30), term_off(),
	       100 * share);
}

/* The bins of most messages, in order of size. */
static void print_sizes(const struct info_view *v)
{
	double count[64], least = 0;

	for (int i = 0; i < 64; i++)
		count[i] = (double)v->o->size_count[i];
	qsort(count, 64, sizeof(*count), by_share);
	if (!v->all)
		least = fmax(count[TOP_SIZES - 1], 0.005 * (double)v->o->messages);
	for (int i = 0; i < 64; i++)
		if (v->o->size_count[i] && (double)v->o->size_count[i] >= least)
			print_size(v, i);
}

static void print_pairs(const struct info_view *v)
{
	const struct info *o = v->o;
	uint32_t n = v->all || o->pairs.n < TOP_PAIRS ? o->pairs.n : TOP_PAIRS;
	char b[32], c[32];

	if (v->all) {
		printf("%s  %8s %8s %14s %10s%s\n", term_on(TERM_FAINT), "from", "to", "messages", "bytes", term_off());
		for (uint32_t i = 0; i < n; i++)
			printf("  %8u %8u %14s %10s\n", o->pairs.pair[i].src, o->pairs.pair[i].dst,
			       cli_thousands(c, sizeof(c), o->pairs.pair[i].messages),
			       cli_bytes(b, sizeof(b), (double)o->pairs.pair[i].bytes));
		return;
	}
	printf("  busiest of %s pair%s:", cli_thousands(c, sizeof(c), o->pairs.n), o->pairs.n == 1 ? "" : "s");
	for (uint32_t i = 0; i < n; i++)
		printf("%s %u%s%u %s", i ? "," : "", o->pairs.pair[i].src, term_is_utf8() ? "→" : "->",
		       o->pairs.pair[i].dst, cli_bytes(b, sizeof(b), (double)o->pairs.pair[i].bytes));
	putchar('\n');
}

/* Rows send, columns receive; the darker, the more bytes. */
static void print_matrix(const struct info_view *v)
{
	const struct info *o = v->o;
	uint32_t n = o->n_ranks;
	double *cell = calloc((size_t)n * n, sizeof(*cell));

	if (!cell)
		return;
	for (uint32_t i = 0; i < o->pairs.n; i++)
		cell[o->pairs.pair[i].src * n + o->pairs.pair[i].dst] =
			fmax((double)o->pairs.pair[i].bytes, 1) / fmax((double)o->pairs.pair[0].bytes, 1);
	printf("%s  from\\to", term_on(TERM_FAINT));
	for (uint32_t k = 0; k < n; k++)
		printf("%3u", k);
	printf("%s\n", term_off());
	for (uint32_t i = 0; i < n; i++) {
		printf("  %7u%s", i, term_on(TERM_BAR));
		for (uint32_t k = 0; k < n; k++) {
			const char *dark = cell[i * n + k] > 0 ? term_shade(cell[i * n + k]) : " ";

			printf(" %s%s", dark, dark);
		}
		printf("%s\n", term_off());
	}
	free(cell);
}

void info_print_messages(const struct info_view *v)
{
	const struct info *o = v->o;
	char a[32], b[32], c[32], title[160];

	if (!o->messages)
		return;
	snprintf(title, sizeof(title), "%s of %s together, %s on average", cli_thousands(a, sizeof(a), o->messages),
		 cli_bytes(b, sizeof(b), (double)o->bytes_sent),
		 cli_bytes(c, sizeof(c), (double)o->bytes_sent / (double)o->messages));
	heading("Messages: ", title);
	print_sizes(v);
	if (o->n_ranks > 2 && o->n_ranks <= (v->all ? MATRIX_ALL : MATRIX_SMALL))
		print_matrix(v);
	print_pairs(v);
}
