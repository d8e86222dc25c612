/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The screen of precedent info: facts, shares of time, balance, and the tracer's report on itself. */
#include <gsl/gsl_sort.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/trace/info_print.h"
#include "cli/trace/info_stopped.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/term.h"
#include "cli/ui/util.h"
#include "common/array.h"
#include "trace/format/device.h"

#define DAMAGE_LINES 3
#define SMALL_SHARE  0.001 /* classes below it are one line */
#define BALANCED     0.03  /* of the run: so much longer than the mean may the slowest rank compute */
#define PAUSED_SHARE 0.01  /* shorter pauses of the recorder are not told */
#define SPARK_CELLS  48

const char *info_rest(const struct info_view *v, int used, const char *text, char *buf, size_t size)
{
	bool cuts = isatty(STDOUT_FILENO) || getenv("COLUMNS");
	int left = v->width - used;

	left = left > 12 ? left : 12;
	return cuts && term_columns(text) > left ? term_fit(buf, size, text, left) : text;
}

const char *info_time(char *buf, size_t size, double s)
{
	static const char *const unit[] = {"s", "ms", "us", "ns"};
	int u = 0;

	for (; u < 3 && s > 0 && s < 0.9995; u++)
		s *= 1e3;
	snprintf(buf, size, "%.*f %s", s >= 99.95 || s <= 0 ? 0 : s >= 9.995 ? 1 : 2, s, s > 0 ? unit[u] : "s");
	return buf;
}

static void heading(const char *text)
{
	printf("\n%s%s%s\n", term_on(TERM_HEADING), text, term_off());
}

/* ---- facts ---- */

static int by_text(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Distinct hosts, or switches right above hosts as far as they are known; *one is one of them. */
static uint32_t count_places(const struct trace *t, bool switches, const char **one)
{
	uint32_t n = 0, distinct = 0;
	const char **host = calloc(trace_n_ranks(t), sizeof(*host));

	*one = "?";
	for (uint32_t r = 0; host && r < trace_n_ranks(t); r++) {
		const struct trace_proc *p = &trace_get_rank(t, r)->defs.proc;
		const char *text = switches ? p->network : p->host;

		if (trace_get_rank(t, r)->present && text && (*text || !switches))
			host[n++] = text;
	}
	if (n) {
		*one = host[0];
		qsort(host, n, sizeof(*host), by_text);
	}
	for (uint32_t i = 0; i < n; i++)
		distinct += i == 0 || strcmp(host[i], host[i - 1]) != 0;
	free(host);
	return distinct;
}

static void warn(const char *what, const char *text)
{
	printf("  %s%-8s%s %s\n", term_on(TERM_WARNING), what, term_off(), text);
}

static void print_partial(const struct trace *t, const struct info *o)
{
	uint32_t unfinished = 0;
	const char *ended = "";
	char text[512], why[300] = "";

	if (!trace_is_partial(t))
		return;
	for (uint32_t r = 0; r < o->n_ranks; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);

		unfinished += !k->present || !k->defs.proc.finalized;
		if (!*ended && k->present && k->defs.proc.ended)
			ended = k->defs.proc.ended;
	}
	if (*ended)
		snprintf(why, sizeof(why), ": %s", ended);
	if (unfinished)
		snprintf(text, sizeof(text), "%u of %u ranks did not reach MPI_Finalize%s", unfinished, o->n_ranks, why);
	else
		snprintf(text, sizeof(text), "the file is not whole%s", why);
	warn("PARTIAL", text);
}

/* Ranks with the same processors are neighbours in this order. */
static int by_processors(const void *a, const void *b)
{
	const struct trace_proc *x = *(const struct trace_proc *const *)a, *y = *(const struct trace_proc *const *)b;

	if (x->processor_set != y->processor_set)
		return x->processor_set < y->processor_set ? -1 : 1;
	return strcmp(x->host ? x->host : "", y->host ? y->host : "");
}

/* Ranks that outnumber their processors wait for their turns, and every time of the run holds these waits. */
static void print_processors(const struct trace *t)
{
	const struct trace_proc **p = calloc(trace_n_ranks(t), sizeof(*p)), *worst = NULL;
	uint32_t n = 0, most = 0;
	char text[600];

	for (uint32_t r = 0; p && r < trace_n_ranks(t); r++)
		if (trace_get_rank(t, r)->present && trace_get_rank(t, r)->defs.proc.processors)
			p[n++] = &trace_get_rank(t, r)->defs.proc;
	if (n)
		qsort(p, n, sizeof(*p), by_processors);
	for (uint32_t i = 0, first = 0; i < n; i++) {
		if (by_processors(&p[i], &p[first]))
			first = i;
		if (i + 1 - first > p[i]->processors && (!worst || (double)(i + 1 - first) / p[i]->processors > (double)most / worst->processors)) {
			worst = p[i];
			most = i + 1 - first;
		}
	}
	free(p);
	if (!worst)
		return;
	snprintf(text, sizeof(text), "%u ranks on %s share %u processor%s: all times hold waits for a turn", most, worst->host ? worst->host : "?",
		 worst->processors, worst->processors == 1 ? "" : "s");
	warn("crowded", text);
}

static void print_devices(const struct trace *t)
{
	char names[128], text[300];
	uint32_t ranks;
	uint64_t devices = trace_devices(t, &ranks);

	if (!devices)
		return;
	snprintf(text, sizeof(text), "%u of %u ranks use %s: no skeleton repeats this work, past runs and partial execution do", ranks,
		 trace_n_ranks(t), trace_device_names(devices, names, sizeof(names)));
	warn("device", text);
}

static void print_warnings(const struct info_view *v)
{
	const struct trace *t = v->t;
	const struct info *o = v->o;
	char n[32], text[600];
	uint32_t damage = trace_n_damage(t);

	print_partial(t, o);
	if (trace_is_partial(t))
		info_print_stopped(v);
	print_processors(t);
	print_devices(t);
	if (trace_predicted(t))
		warn("PREDICTED", trace_predicted(t));
	if (o->n_present < o->n_ranks) {
		snprintf(text, sizeof(text), "%u of %u ranks are not in the file", o->n_ranks - o->n_present, o->n_ranks);
		warn("missing", text);
	}
	if (o->dropped) {
		snprintf(text, sizeof(text), "times of %s events are kept as histograms (memory cap)",
			 cli_thousands(n, sizeof(n), o->dropped));
		warn("capped", text);
	}
	if (o->untimed) {
		snprintf(text, sizeof(text), "unknown for %s events: shares are of the others",
			 cli_thousands(n, sizeof(n), o->untimed));
		warn("times", text);
	}
	for (uint32_t i = 0; i < damage && (v->all || i < DAMAGE_LINES); i++)
		warn("damage", trace_damage(t, i));
	if (!v->all && damage > DAMAGE_LINES) {
		snprintf(text, sizeof(text), "and %u more: --check", damage - DAMAGE_LINES);
		warn("damage", text);
	}
}

/* 2026-11-21T12:43:44Z as people write it. */
static const char *readable_date(const char *date, char *buf, size_t size)
{
	if (!date || strlen(date) != 20 || date[10] != 'T' || date[19] != 'Z')
		return date;
	snprintf(buf, size, "%.10s %.8s UTC", date, date + 11);
	return buf;
}

static void print_head(const struct info_view *v, const char *path)
{
	const struct trace *t = v->t;
	const struct info *o = v->o;
	char n[32], w[32], size[32], when[64], text[2048], cut[2048];
	const char *program = trace_job_get(t, "program"), *args = trace_job_get(t, "arguments"), *host;
	const char *mpi = trace_job_get(t, "mpi"), *date = readable_date(trace_job_get(t, "date"), when, sizeof(when));
	uint32_t hosts = count_places(t, false, &host), switches;

	printf("%s%s%s: %u rank%s, %s events, %s, %s (%.2f bytes per event)\n", term_on(TERM_HEADING), path, term_off(),
	       o->n_ranks, o->n_ranks == 1 ? "" : "s", cli_thousands(n, sizeof(n), o->events),
	       cli_seconds(w, sizeof(w), o->wall), cli_bytes(size, sizeof(size), (double)trace_file_size(t)),
	       o->events ? (double)trace_file_size(t) / (double)o->events : 0);
	if (program) {
		snprintf(text, sizeof(text), "%s%s%s", program, args && *args ? " " : "", args ? args : "");
		printf("  %s\n", info_rest(v, 2, text, cut, sizeof(cut)));
	}
	if (trace_predicted(t))
		snprintf(text, sizeof(text), "never run");
	else if (hosts == 1)
		snprintf(text, sizeof(text), "on 1 node (%s)", host);
	else if ((switches = count_places(t, true, &host)) > 1)
		snprintf(text, sizeof(text), "on %u nodes at %u switches", hosts, switches);
	else
		snprintf(text, sizeof(text), "on %u nodes", hosts);
	printf("  %s%s%s%s%s%s%s\n", term_on(TERM_FAINT), text, mpi ? ", " : "", mpi ? mpi : "", date ? ", " : "",
	       date ? date : "", term_off());
	print_warnings(v);
}

/* ---- the answer in a line or two ---- */

/* Can the rank be compared with others? */
static bool is_measured(const struct info_rank *r)
{
	return r->present && r->untimed <= r->events / 2;
}

/* The number of ranks that can be compared; the one that computes most. */
static uint32_t compare_ranks(const struct info *o, uint32_t *who, double *mean)
{
	uint32_t n = 0;

	*mean = 0;
	for (uint32_t r = 0; r < o->n_ranks; r++) {
		if (!is_measured(&o->rank[r]))
			continue;
		if (!n || o->rank[r].compute > o->rank[*who].compute)
			*who = r;
		*mean += o->rank[r].compute;
		n++;
	}
	*mean /= n ? n : 1;
	return n;
}

static void print_answer(const struct info_view *v)
{
	const struct info *o = v->o;
	double mean, over, share;
	uint32_t who = 0, n = compare_ranks(o, &who, &mean);
	char call[400], text[600], cut[600];

	if (v->total <= 0)
		return;
	snprintf(text, sizeof(text), "%.0f %% computing, %.0f %% in MPI", 100 * o->compute / v->total,
		 100 * (o->mpi + o->polling) / v->total);
	share = info_top_call(v, call, sizeof(call));
	if (share > 0.01)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), ", largest: %s, %.0f %%", call, 100 * share);
	printf("\n%s%s%s\n", term_on(TERM_HEADING), info_rest(v, 0, text, cut, sizeof(cut)), term_off());
	if (n < 2 || mean <= 0)
		return;
	over = o->rank[who].compute - mean;
	if (over > BALANCED * o->wall)
		printf("%sNot balanced%s: rank %u computes %.1f %% longer than the mean, %.1f %% of the run\n", term_on(TERM_WARNING),
		       term_off(), who, 100 * over / mean, o->wall > 0 ? 100 * over / o->wall : 0);
	else
		printf("Balanced: rank %u computes longest, and costs others at most %.1f %% of the run\n", who,
		       o->wall > 0 ? 100 * over / o->wall : 0);
}

/* ---- time split ---- */

struct part {
	const char *name;
	struct info_sum sum;
};

static int by_part(const void *a, const void *b)
{
	const struct part *x = a, *y = b;

	return (x->sum.seconds < y->sum.seconds) - (x->sum.seconds > y->sum.seconds);
}

static void print_part(const struct info_view *v, const struct part *p)
{
	char n[32], s[32], bar[512];
	int cells = v->width - 62;
	double share = v->total > 0 ? p->sum.seconds / v->total : 0;

	cells = cells < 10 ? 10 : cells > 40 ? 40 : cells;
	printf("  %-20s %s%s%s %6.1f %% %9s", p->name, term_on(TERM_BAR), cli_bar(bar, sizeof(bar), share, cells),
	       term_off(), 100 * share, info_time(s, sizeof(s), p->sum.seconds));
	if (p->sum.calls)
		printf(" %13s call%s", cli_thousands(n, sizeof(n), p->sum.calls), p->sum.calls == 1 ? "" : "s");
	putchar('\n');
}

static void print_split(const struct info_view *v)
{
	const struct info *o = v->o;
	struct part part[TC_N + 2], rest = {.name = "other calls"};
	size_t n = 0;

	part[n++] = (struct part){"computing", {0, o->compute}};
	for (int i = 0; i < TC_N; i++)
		if (o->cls[i].calls && i != TC_INIT && i != TC_FINALIZE)
			part[n++] = (struct part){info_class_name[i], o->cls[i]};
	if (o->polls)
		part[n++] = (struct part){"unsuccessful tests", {o->polls, o->polling}};
	qsort(part + 1, n - 1, sizeof(*part), by_part);
	heading("Where the time goes");
	for (size_t i = 0; i < n; i++) {
		if (i && !v->all && part[i].sum.seconds < SMALL_SHARE * v->total) {
			rest.sum.calls += part[i].sum.calls;
			rest.sum.seconds += part[i].sum.seconds;
		} else {
			print_part(v, &part[i]);
		}
	}
	if (rest.sum.calls)
		print_part(v, &rest);
}

/* ---- balance ---- */

/* Room for a bar of each rank, or of as many quantiles. */
static uint32_t spark_cells(const struct info_view *v)
{
	int room = v->width - 68;

	return room < 8 ? 8 : room > SPARK_CELLS ? SPARK_CELLS : (uint32_t)room;
}

static double rank_value(const struct info_rank *r, int what)
{
	return what == 0 ? r->compute : r->mpi + r->polling;
}

static void print_balance_row(const struct info_view *v, const char *name, int what, double *val)
{
	const struct info *o = v->o;
	char line[SPARK_CELLS * 4], a[32], b[32], c[32];
	double cell[SPARK_CELLS], sum = 0;
	uint32_t n = 0, least = UINT32_MAX, most = 0;
	size_t cells;

	for (uint32_t r = 0; r < o->n_ranks; r++) {
		if (!is_measured(&o->rank[r]))
			continue;
		val[n] = rank_value(&o->rank[r], what);
		sum += val[n++];
		if (least == UINT32_MAX || rank_value(&o->rank[r], what) < rank_value(&o->rank[least], what))
			least = r;
		if (n == 1 || rank_value(&o->rank[r], what) > rank_value(&o->rank[most], what))
			most = r;
	}
	if (n > spark_cells(v))
		gsl_sort(val, 1, n);
	cells = n < spark_cells(v) ? n : spark_cells(v);
	for (size_t i = 0; i < cells; i++)
		cell[i] = val[cells < 2 ? 0 : i * (n - 1) / (cells - 1)];
	printf("  %-10s %s%s%s  %s (rank %u) to %s (rank %u), mean %s\n", name, term_on(TERM_BAR),
	       term_spark(line, sizeof(line), cell, cells, rank_value(&o->rank[most], what)), term_off(),
	       info_time(a, sizeof(a), rank_value(&o->rank[least], what)), least,
	       info_time(b, sizeof(b), rank_value(&o->rank[most], what)), most,
	       info_time(c, sizeof(c), sum / n));
}

static void print_rank_table(const struct info *o)
{
	char a[32], b[32], c[32], n[32];

	printf("  %8s %12s %12s %12s %14s\n", "rank", "computing", "in MPI", "wall", "events");
	for (uint32_t r = 0; r < o->n_ranks; r++)
		if (o->rank[r].present)
			printf("  %8u %12s %12s %12s %14s\n", r, info_time(a, sizeof(a), o->rank[r].compute),
			       info_time(b, sizeof(b), o->rank[r].mpi), info_time(c, sizeof(c), o->rank[r].wall),
			       cli_thousands(n, sizeof(n), o->rank[r].events));
}

static void print_balance(const struct info_view *v)
{
	double *val = calloc(v->o->n_ranks, sizeof(*val)), mean;
	uint32_t who = 0, n = compare_ranks(v->o, &who, &mean);
	char title[80], count[32];

	if (!val || n < 2) {
		free(val);
		return;
	}
	snprintf(title, sizeof(title), "Balance of %s ranks%s", cli_thousands(count, sizeof(count), n),
		 n > spark_cells(v) ? ", sorted" : "");
	heading(title);
	print_balance_row(v, "computing", 0, val);
	print_balance_row(v, "in MPI", 1, val);
	if (v->all)
		print_rank_table(v->o);
	free(val);
}

/* ---- the tracer ---- */

/* Largest bound of a measured clock offset, ns; negative when nothing was measured. */
static double clock_error(const struct trace *t)
{
	double worst = -1;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++) {
		const struct trace_clock_fix *c = &trace_get_rank(t, r)->defs.proc.clock;

		for (int i = 0; trace_get_rank(t, r)->present && i < c->n; i++)
			worst = fmax(worst, c->error_ns[i]);
	}
	return worst;
}

struct counted {
	const char *name;
	uint64_t calls;
};

static int by_calls(const void *a, const void *b)
{
	const struct counted *x = a, *y = b;

	if (x->calls != y->calls)
		return x->calls < y->calls ? 1 : -1;
	return strcmp(x->name, y->name);
}

/* Functions that passed through, over all ranks. */
static void print_counted(const struct info_view *v)
{
	struct counted *list = NULL;
	uint32_t n = 0, cap = 0;
	int used = 11;
	char c[32];

	for (uint32_t r = 0; r < trace_n_ranks(v->t); r++) {
		const struct trace_defs *d = &trace_get_rank(v->t, r)->defs;

		for (uint32_t i = 0; i < d->n_counted; i++) {
			uint32_t k = 0;

			while (k < n && strcmp(list[k].name, d->counted[i].name) != 0)
				k++;
			if (k == n) {
				if (ARRAY_ROOM(list, cap, n + 1) < 0)
					break;
				list[n++] = (struct counted){d->counted[i].name, 0};
			}
			list[k].calls += d->counted[i].calls;
		}
	}
	if (n) {
		qsort(list, n, sizeof(*list), by_calls);
		printf("  counted  ");
		for (uint32_t i = 0; i < n; i++) {
			used += printf("%s%s %s", i ? ", " : "", list[i].name,
				       cli_thousands(c, sizeof(c), list[i].calls));
			if (!v->all && i + 1 < n && used > v->width - 50) {
				printf(", %u more", n - i - 1);
				break;
			}
		}
		putchar('\n');
	}
	free(list);
}

/* What the tracer itself took. Few calls may have no measured cost. */
static void print_tracer(const struct info_view *v)
{
	const struct info *o = v->o;
	double paused = o->paused > PAUSED_SHARE * v->total ? o->paused : 0, cost = o->overhead - paused;
	double percent = v->total > 0 ? 100 / v->total : 0;
	char a[32];

	if (!o->events)
		return;
	printf("  tracer   ");
	if (cost > 0 || !paused)
		printf("%.0f ns a call, %.2f %% of the time%s", 1e9 * cost / (double)o->events, percent * cost, paused ? ", and " : "\n");
	if (paused)
		printf("%s (%.1f %%) in pauses\n", info_time(a, sizeof(a), paused), percent * paused);
}

static void print_foot(const struct info_view *v)
{
	const char *samples = trace_job_get(v->t, "samples");
	double error = clock_error(v->t);
	char a[32];

	putchar('\n');
	print_tracer(v);
	if (samples && !strncmp(samples, "none", 4))
		printf("  samples  %s\n", samples);
	if (error >= 0)
		printf("  clocks   agree within %s\n", info_time(a, sizeof(a), error * 1e-9));
	print_counted(v);
	if (!v->all)
		printf("%s  --all: every row; --events RANK: every call; --json: for machines%s\n", term_on(TERM_FAINT),
		       term_off());
}

int info_print_text(const struct trace *t, const struct info *o, const char *path, bool all)
{
	struct info_view v = {.t = t, .o = o, .sym = symbolizer_create(), .width = term_width(), .all = all,
			      .total = o->compute + o->mpi + o->polling};

	print_head(&v, path);
	print_answer(&v);
	print_split(&v);
	print_balance(&v);
	info_print_sites(&v);
	info_print_loops(&v);
	info_print_messages(&v);
	print_foot(&v);
	symbolizer_destroy(v.sym);
	return ferror(stdout) ? 1 : 0;
}
