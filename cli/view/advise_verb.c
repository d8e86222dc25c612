/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent advise: which performance problems a run has, by rules; --check: whether a file of rules is sound. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/ui/ending_text.h"
#include "cli/ui/json_out.h"
#include "cli/ui/language.h"
#include "cli/ui/symbolize.h"
#include "cli/ui/util.h"
#include "cli/ui/verbs.h"
#include "expert/events/input.h"
#include "expert/replay/replay.h"
#include "expert/report/report.h"
#include "trace/functions.h"

#define LEAST_SHARE 0.001 /* problems of less are named only */
#define LEAST_LACK  0.01  /* share from which lack of processors comes first */
#define LEAST_GAIN  0.0005 /* 0.0 % as it is printed */
#define PLACES 3 /* call sites shown of each problem, and causes */
#define MERGED 256 /* call sites looked at for that */
#define MINOR  20 /* a rank with less than 1/MINOR of the foremost rank's share of a cause is not named */

/* The findings and their trace. */
struct found {
	const struct trace *t;
	struct engine *e;
	struct report *r;
	const struct input_report *in;
	const struct replay_report *replay;
	struct symbolizer *sym;
	const struct ending *ending;
};

static int check_rules(const char *path)
{
	struct errbuf err;
	struct rules *r = rules_load(path, &err);
	uint32_t own = 0, problems = 0;

	if (!r)
		return cli_fail("%s", err.text);
	for (uint32_t i = 0; i < r->n_type; i++)
		own += !r->type[i]->builtin;
	for (uint32_t i = 0; i < r->n_rule; i++)
		problems += r->rule[i]->form == RF_PROBLEM;
	printf("%s: sound: %u rules, %u of them of problems, and %u structures\n", cli_shown(path), r->n_rule, problems, own);
	rules_free(r);
	return 0;
}

/* ---- of a trace ---- */

/* "rank 3", "ranks 0-3 7" */
static const char *ranks_text(const uint8_t *bits, uint32_t n, char *out, size_t size)
{
	uint32_t count = 0;
	size_t len = 0;

	for (uint32_t r = 0; r < n; r++)
		count += bits[r / 8] >> r % 8 & 1;
	len = (size_t)snprintf(out, size, "%s", count == 1 ? _("rank") : _("ranks"));
	for (uint32_t r = 0; r < n && len < size; r++) {
		uint32_t end = r;

		if (!(bits[r / 8] >> r % 8 & 1))
			continue;
		while (end + 1 < n && bits[(end + 1) / 8] >> (end + 1) % 8 & 1)
			end++;
		if (size - len < 32) {
			len += (size_t)snprintf(out + len, size - len, " ...");
			break;
		}
		len += (size_t)snprintf(out + len, size - len, end > r ? " %u-%u" : " %u", r, end);
		r = end;
	}
	return out;
}

/* A cause: a place and a kind of activity, merged over several ranks. */
struct cause {
	const char *function;
	const struct trace_site *site; /* NULL: unknown */
	uint32_t rank;                 /* one of them */
	uint8_t doing;
	uint64_t ns, most;             /* of all, of one rank */
	uint8_t *ranks;                /* that have much of it */
	uint64_t *of;                  /* each rank's */
};

static int longer_cause(const void *a, const void *b)
{
	const struct cause *x = a, *y = b;

	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : 0;
}

/* *n of them, malloced, the longest first; NULL where there are none. */
static struct cause *join_causes(const struct found *f, const struct report_problem *p, uint32_t *n)
{
	struct cause *all = p->n_cause ? calloc(p->n_cause, sizeof(*all)) : NULL;

	*n = 0;
	for (uint32_t i = 0; all && i < p->n_cause; i++) {
		const struct report_cause *q = &p->cause[i];
		const struct trace_defs *d = &trace_get_rank(f->t, q->rank)->defs;
		const struct trace_sig *g = &d->sigs.sig[q->sym];
		const struct trace_site *site = g->site < d->n_site ? &d->site[g->site] : NULL;
		uint32_t k = 0;

		while (k < *n && (all[k].function != trace_fn[g->fn].name || all[k].doing != q->doing || !all[k].site != !site ||
				  (site && all[k].site->hash != site->hash)))
			k++;
		if (k == *n) {
			all[k] = (struct cause){trace_fn[g->fn].name, site, q->rank, q->doing, 0, q->ns,
						calloc(trace_n_ranks(f->t) / 8 + 1, 1),
						calloc(trace_n_ranks(f->t), sizeof(*all[k].of))};
			++*n;
		}
		all[k].ns += q->ns;
		if (all[k].of)
			all[k].of[q->rank] += q->ns;
		if (all[k].ranks && q->ns >= all[k].most / MINOR) /* the longest are first */
			all[k].ranks[q->rank / 8] |= (uint8_t)(1u << q->rank % 8);
	}
	if (all)
		qsort(all, *n, sizeof(*all), longer_cause);
	return all;
}

static void free_causes(struct cause *c, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		free(c[i].ranks);
		free(c[i].of);
	}
	free(c);
}

static const char *cause_site(const struct found *f, const struct cause *c, char *buf, size_t size)
{
	if (!c->site)
		return "?";
	return symbolizer_site(f->sym, &trace_get_rank(f->t, c->rank)->defs, c->site, buf, size);
}

/* Merges causes that read the same; the longest stay first. */
static void merge_causes(const struct found *f, struct cause *c, uint32_t *n)
{
	uint32_t bytes = trace_n_ranks(f->t) / 8 + 1, kept = 0;
	static char site[MERGED][256];

	for (uint32_t i = 0; i < *n; i++) {
		uint32_t k = kept;

		if (i < MERGED) {
			cause_site(f, &c[i], site[kept], sizeof(site[kept]));
			for (k = 0; k < kept && (c[k].doing != c[i].doing || strcmp(c[k].function, c[i].function) ||
						 strcmp(site[k], site[kept]) || !c[k].ranks || !c[i].ranks); k++)
				;
		}
		if (k == kept) {
			struct cause own = c[i];

			c[i] = c[kept];
			c[kept++] = own;
			continue;
		}
		c[k].ns += c[i].ns;
		for (uint32_t b = 0; b < bytes; b++)
			c[k].ranks[b] |= c[i].ranks[b];
		free(c[i].ranks);
		free(c[i].of);
	}
	*n = kept;
	if (c)
		qsort(c, *n, sizeof(*c), longer_cause);
}

static void print_causes(const struct found *f, const struct report_problem *p)
{
	char site[256], time[32], ranks[128];
	uint32_t n;
	struct cause *c = join_causes(f, p, &n);

	merge_causes(f, c, &n);
	for (uint32_t i = 0; i < n && i < PLACES && c[i].ranks; i++)
		printf(c[i].doing == RD_COMPUTING ? _("         %s computation before %s, %s, on %s: %s\n") :
						    _("         %s time in %s, %s, on %s: %s\n"),
		       i ? "    " : _("why:"), c[i].function,
		       cause_site(f, &c[i], site, sizeof(site)),
		       ranks_text(c[i].ranks, trace_n_ranks(f->t), ranks, sizeof(ranks)),
		       cli_seconds(time, sizeof(time), (double)c[i].ns * 1e-9));
	free_causes(c, n);
}

/* Places that read the same share a row. They differ only in their callers, or in ranks. */
struct row {
	const char *function, *begun; /* begun: the operation that is completed there, or NULL */
	char site[256], begun_site[256];
	bool waits;             /* the call waits; otherwise other ranks wait for it */
	uint64_t ns;
	uint8_t *ranks;
};

static bool waits(const struct report_place *q)
{
	return 2 * q->waits_ns >= q->duration_ns;
}

/* Its message or collective is under way when it returns. */
static bool only_begins(const char *function)
{
	uint32_t fn = trace_fn_by_name(function);
	uint8_t cls = fn < TRACE_FN_N ? trace_fn[fn].cls : TC_LOCAL;

	return cls == TC_ISEND || cls == TC_IRECV || cls == TC_ICOLL || cls == TC_START;
}

static bool same_row(const struct row *a, const struct row *b)
{
	return a->waits == b->waits && !a->begun == !b->begun && !strcmp(a->function, b->function) && !strcmp(a->site, b->site) &&
	       (!a->begun || !strcmp(a->begun, b->begun)) && !strcmp(a->begun_site, b->begun_site);
}

static void add_row(const struct found *f, const struct report_place *q, struct row *row, uint32_t *n)
{
	const struct trace_defs *d = &trace_get_rank(f->t, q->rank)->defs;
	uint32_t bytes = trace_n_ranks(f->t) / 8 + 1, i;
	struct row own = {.function = engine_text(f->e, q->call.function), .waits = waits(q)};

	symbolizer_site(f->sym, d, &d->site[q->call.site], own.site, sizeof(own.site));
	if (q->begun.function) {
		own.begun = engine_text(f->e, q->begun.function);
		symbolizer_site(f->sym, d, &d->site[q->begun.site], own.begun_site, sizeof(own.begun_site));
	}
	for (i = 0; i < *n; i++)
		if (same_row(&row[i], &own))
			break;
	if (i == *n) {
		own.ranks = calloc(bytes, 1);
		if (!own.ranks)
			return;
		row[(*n)++] = own;
	}
	row[i].ns += q->duration_ns;
	for (uint32_t k = 0; k < bytes; k++)
		row[i].ranks[k] |= q->ranks[k];
}

static int longer_row(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->waits != y->waits)
		return x->waits ? -1 : 1;
	return x->ns < y->ns ? 1 : x->ns > y->ns ? -1 : strcmp(x->site, y->site);
}

static void print_row(const struct found *f, const struct report_problem *p, const struct row *row)
{
	uint64_t ns = row->ns < p->duration_ns ? row->ns : p->duration_ns; /* one finding may have two that read the same */
	char time[32], ranks[128];

	ranks_text(row->ranks, trace_n_ranks(f->t), ranks, sizeof(ranks));
	cli_seconds(time, sizeof(time), (double)ns * 1e-9);
	if (row->begun)
		printf(_("         in %s, %s, completing %s, %s, on %s: %s\n"), row->function, row->site, row->begun,
		       row->begun_site, ranks, time);
	else
		printf(!row->waits ? _("         for %s, %s, on %s: %s\n") :
		       only_begins(row->function) ? _("         completing %s, %s, on %s: %s\n") :
						    _("         in %s, %s, on %s: %s\n"),
		       row->function, row->site, ranks, time);
}

static void print_places(const struct found *f, const struct report_problem *p)
{
	static struct row row[MERGED];
	uint32_t n = 0, awaited = 0;

	for (uint32_t i = 0; i < p->n_place && i < MERGED; i++)
		add_row(f, &p->place[i], row, &n);
	qsort(row, n, sizeof(*row), longer_row);
	while (awaited < n && row[awaited].waits)
		awaited++;
	/* Many places that wait do not hide whom they wait for. */
	for (uint32_t i = 0; i < n; i++) {
		if (i == awaited || i < (awaited < n && awaited >= PLACES ? PLACES - 1 : PLACES))
			print_row(f, p, &row[i]);
		free(row[i].ranks);
	}
}

static double share_of(const struct found *f, const struct report_problem *p)
{
	return report_share(p, f->in->rank_seconds, f->in->outside_seconds);
}

static void print_problem(const struct found *f, const struct report_problem *p)
{
	double s = (double)p->duration_ns * 1e-9, gain = f->in->span_ns ? (double)p->gain_ns / (double)f->in->span_ns : 0;
	char time[32], n[32];

	if (p->n == 1)
		printf(_("\n%5.1f %%  %s: %s, once"), 100 * share_of(f, p), engine_text(f->e, p->name),
		       cli_seconds(time, sizeof(time), s));
	else
		printf(_("\n%5.1f %%  %s: %s, %s times"), 100 * share_of(f, p), engine_text(f->e, p->name),
		       cli_seconds(time, sizeof(time), s), cli_thousands(n, sizeof(n), p->n));
	if (p->is_outside)
		fputs(_(" (share of the whole life of the processes)"), stdout);
	if (p->untimed)
		printf(_(" (%s of them without known times)"), cli_thousands(n, sizeof(n), p->untimed));
	puts("");
	language_print_folded("         ", p->description, 100);
	print_places(f, p);
	print_causes(f, p);
	language_print_folded("         ", p->advice, 100);
	if (p->has_gain && gain < LEAST_GAIN)
		puts(_("         replayed without it, the run is no shorter: something else holds it up for as long"));
	else if (p->has_gain)
		printf(_("         replayed without it, the run is shorter by %s (%.1f %%)\n"),
		       cli_seconds(time, sizeof(time), (double)p->gain_ns * 1e-9), 100 * gain);
}

static bool is_shown(const struct found *f, const struct report_problem *p)
{
	return share_of(f, p) >= LEAST_SHARE;
}

/* Problems that lengthen all others, and the waits too. */
static bool lacks_processors(const struct found *f, const struct report_problem *p)
{
	static const char *const ids[] = {"oversubscribed", "poor-binding", "shared-processors", "throttled"};
	const char *id = p->id ? engine_text(f->e, p->id) : "";

	for (size_t i = 0; i < sizeof(ids) / sizeof(*ids); i++)
		if (!strcmp(id, ids[i]))
			return share_of(f, p) >= LEAST_LACK;
	return false;
}

enum part { PART_END, PART_LACK, PART_WAITS, PART_OTHERS };

static enum part part_of(const struct found *f, const struct report_problem *p)
{
	if (p->is_end)
		return PART_END;
	return lacks_processors(f, p) ? PART_LACK : p->is_wait ? PART_WAITS : PART_OTHERS;
}

static void print_part(const struct found *f, enum part part, const char *heading)
{
	for (uint32_t i = 0; i < f->r->n_problem; i++) {
		if (part_of(f, &f->r->problem[i]) != part || !is_shown(f, &f->r->problem[i]))
			continue;
		if (heading)
			puts(heading);
		heading = NULL;
		print_problem(f, &f->r->problem[i]);
	}
}

/* Why the run did not reach MPI_Finalize. The texts name ranks and calls, so shares and places are left out. */
static void print_ends(const struct found *f)
{
	struct ending_words w = {.e = f->ending, .sym = f->sym};
	const char *heading = _("\nHow the run ended:");

	for (uint32_t i = 0; i < f->r->n_problem; i++) {
		const struct report_problem *p = &f->r->problem[i];

		if (part_of(f, p) != PART_END)
			continue;
		printf("%s\n\n  %s\n", heading, engine_text(f->e, p->name));
		heading = "";
		language_print_folded("         ", p->description, 100);
		for (uint32_t k = 0; k < f->ending->n_finding; k++)
			if (!strcmp(ending_id(f->ending->finding[k].kind), engine_text(f->e, p->id)))
				language_print_folded("         ", ending_text(&w, &f->ending->finding[k]), 100);
		language_print_folded("         ", p->advice, 100);
	}
}

static void print_least(const struct found *f)
{
	const char *before = _("\nbelow 0.1 %: ");
	char *text = NULL;
	size_t size = 0;
	FILE *list = open_memstream(&text, &size);

	for (uint32_t i = 0; list && i < f->r->n_problem; i++)
		if (!f->r->problem[i].is_end && !is_shown(f, &f->r->problem[i])) {
			fprintf(list, "%s%s", before, engine_text(f->e, f->r->problem[i].name));
			before = ", ";
		}
	if (list && fclose(list) == 0 && size > 0) {
		puts(""); /* the text begins with this line feed */
		language_print_folded("", text + 1, 109);
	}
	free(text);
}

static void print_report(const struct found *f)
{
	const struct input_report *in = f->in;
	const struct trace *t = f->t;
	struct engine_report er;
	char a[32], b[32], c[32];

	engine_report(f->e, &er);
	if (trace_predicted(t))
		printf(_("PREDICTED: this run was never made, its waits are those of a model: %s\n"), trace_predicted(t));
	printf(_("%s calls of %u ranks, %s of each in the mean\n"), cli_thousands(a, sizeof(a), in->calls), trace_n_ranks(t),
	       cli_seconds(b, sizeof(b), in->rank_seconds / trace_n_ranks(t)));
	if (in->untimed)
		printf(_("%s of the calls (%.1f %%) have no times of their own; what follows from them has no duration here\n"),
		       cli_thousands(a, sizeof(a), in->untimed), 100.0 * (double)in->untimed / (double)in->calls);
	if (in->missing)
		printf(_("%u ranks are missing\n"), in->missing);
	if (in->unfinished || er.dropped)
		printf(_("%s requests without an end; %s events waited too long for their counterparts\n"),
		       cli_thousands(a, sizeof(a), in->unfinished), cli_thousands(c, sizeof(c), er.dropped));
	if (er.over_age)
		printf(_("%s events waited for their counterparts for more than %s, and went to a file meanwhile\n"),
		       cli_thousands(a, sizeof(a), er.over_age), cli_seconds(b, sizeof(b), (double)ENGINE_AGE_MAX_NS * 1e-9));
	print_ends(f);
	if (f->r->n_problem && !f->replay->complete)
		puts(_("too much is under way at once in this run to replay it without a problem"));
	print_part(f, PART_LACK, _("\nRanks lack processors, which lengthens all that follows:"));
	print_part(f, PART_WAITS, NULL);
	print_part(f, PART_OTHERS, _("\nWhy ranks wait, and what else costs time; this is not in addition to the waits:"));
	print_least(f);
	if (!f->r->n_problem)
		puts(_("no problems found"));
}

/* ---- for machines ---- */

static json_t *json_ranks(const uint8_t *bits, uint32_t n)
{
	json_t *all = json_array();

	for (uint32_t r = 0; r < n; r++)
		if (bits[r / 8] >> r % 8 & 1)
			json_array_append_new(all, json_integer(r));
	return all;
}

static json_t *json_places(const struct found *f, const struct report_problem *p)
{
	json_t *all = json_array();
	char site[256];

	for (uint32_t i = 0; i < p->n_place; i++) {
		const struct report_place *q = &p->place[i];
		const struct trace_defs *d = &trace_get_rank(f->t, q->rank)->defs;

		json_t *o = json_pack("{s:s, s:s, s:o, s:I, s:f, s:b}", "function", engine_text(f->e, q->call.function), "site",
				      symbolizer_site(f->sym, d, &d->site[q->call.site], site, sizeof(site)), "ranks",
				      json_ranks(q->ranks, trace_n_ranks(f->t)), "times", (json_int_t)q->n,
				      "seconds", (double)q->duration_ns * 1e-9, "waits", waits(q));

		if (o && q->begun.function)
			json_object_set_new(o, "begun", json_pack("{s:s, s:s}", "function", engine_text(f->e, q->begun.function), "site",
								  symbolizer_site(f->sym, d, &d->site[q->begun.site], site, sizeof(site))));
		json_array_append_new(all, o);
	}
	return all;
}

/* Of all ranks that have anything of it. */
static json_t *json_by_rank(const struct cause *c, uint32_t n)
{
	json_t *all = json_object();
	char rank[16];

	for (uint32_t r = 0; r < n; r++)
		if (c->of[r]) {
			snprintf(rank, sizeof(rank), "%u", r);
			json_object_set_new(all, rank, json_real((double)c->of[r] * 1e-9));
		}
	return all;
}

static json_t *json_causes(const struct found *f, const struct report_problem *p)
{
	json_t *all = json_array();
	char site[256];
	uint32_t n;
	struct cause *c = join_causes(f, p, &n);

	for (uint32_t i = 0; i < n && c[i].ranks && c[i].of; i++)
		json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:o, s:o, s:f}", "doing",
						     c[i].doing == RD_COMPUTING ? "computation before" : "time in", "function",
						     c[i].function, "site", cause_site(f, &c[i], site, sizeof(site)), "ranks",
						     json_ranks(c[i].ranks, trace_n_ranks(f->t)), "seconds_by_rank",
						     json_by_rank(&c[i], trace_n_ranks(f->t)), "seconds", (double)c[i].ns * 1e-9));
	free_causes(c, n);
	return all;
}

static json_t *json_problem(const struct found *f, const struct report_problem *p)
{
	double s = (double)p->duration_ns * 1e-9;
	json_t *o = json_pack("{s:s, s:s, s:s, s:f, s:f, s:I, s:I, s:s?, s:s?, s:o, s:o}", "id", engine_text(f->e, p->id), "kind",
			      p->kind ? engine_text(f->e, p->kind) : "wait", "name", engine_text(f->e, p->name), "share",
			      share_of(f, p), "seconds", s, "times", (json_int_t)p->n, "untimed",
			      (json_int_t)p->untimed, "description", p->description, "advice", p->advice, "places",
			      json_places(f, p), "causes", json_causes(f, p));

	if (o && p->has_gain)
		json_object_set_new(o, "gain_seconds", json_real((double)p->gain_ns * 1e-9));
	return o;
}

static void json_report(const struct found *f)
{
	const struct input_report *in = f->in;
	json_t *all = json_array(), *top;
	struct engine_report er;

	engine_report(f->e, &er);
	for (uint32_t i = 0; i < f->r->n_problem; i++)
		json_array_append_new(all, json_problem(f, &f->r->problem[i]));
	top = json_pack("{s:i, s:I, s:f, s:f, s:f, s:I, s:i, s:I, s:I, s:I, s:o}", "ranks", (int)trace_n_ranks(f->t), "calls",
			(json_int_t)in->calls, "rank_seconds", in->rank_seconds, "outside_seconds", in->outside_seconds, "seconds", (double)in->span_ns * 1e-9,
			"untimed_calls", (json_int_t)in->untimed, "missing_ranks", (int)in->missing, "unfinished_requests",
			(json_int_t)in->unfinished, "dropped_events", (json_int_t)er.dropped, "over_age_events", (json_int_t)er.over_age,
			"problems", all);
	if (top && f->ending->n_finding)
		json_object_set_new(top, "ending", ending_json(f->ending, f->sym));
	if (top && trace_predicted(f->t))
		json_object_set_new(top, "predicted", json_string(trace_predicted(f->t)));
	cli_print_json(top);
}

static void progress(double share)
{
	cli_progress("reading the trace", share, 1);
}

static void progress_replay(double share)
{
	cli_progress("replaying the run", share, 1);
}

static int advise(const char *path, const char *rules_path, bool json)
{
	struct errbuf err = {""};
	struct report report = {0};
	struct engine_options o = {.found = report_found, .arg = &report, .ahead_from = ENGINE_AHEAD};
	struct input_report in;
	struct input_clock clock = {0};
	struct replay_report replay = {0};
	struct ending *ending = NULL;
	struct rules *rules = rules_load_in_words(rules_path, json ? NULL : language_text, &err);
	struct plan *plan = rules ? plan_create(rules, &err) : NULL;
	struct trace *t = plan ? trace_open(path, &err) : NULL;
	struct engine *e = t ? engine_create(plan, &o, &err) : NULL;
	int rc = 1;

	report.t = t;
	if (!e)
		cli_fail("%s", err.text);
	else if (trace_is_imported(t))
		cli_fail("%s: an imported trace has states but no calls to look at", path);
	else if (input_run(t, &clock, e, progress, &in, &err) < 0 ||
		 (report.n_problem && replay_run(t, &clock, e, &report, in.rank_seconds, progress_replay, &replay, &err) < 0))
		cli_fail("%s: %s", path, err.text);
	else if (!(ending = ending_create(t, &err)))
		cli_fail("%s: %s", path, err.text);
	else
		rc = 0;
	cli_progress("replaying the run", 1, 1);
	report_sort(&report);
	if (rc == 0) {
		struct found f = {t, e, &report, &in, &replay, symbolizer_create(), ending};

		if (engine_dropped(e, err.text, sizeof(err.text)))
			fprintf(stderr, "precedent: %s: what they belong to was not found\n", err.text);
		(json ? json_report : print_report)(&f);
		symbolizer_destroy(f.sym);
	}
	ending_destroy(ending);
	input_clock_free(&clock);
	report_free(&report);
	engine_destroy(e);
	trace_close(t);
	plan_destroy(plan);
	rules_free(rules);
	return rc;
}

struct args {
	const char *check, *rules;
	bool json;
};

static int advise_verb(int argc, char **argv)
{
	struct args a = {0};
	char *installed = NULL;
	struct errbuf err;
	int rc;
	char **trace = options_read(&verb_advise, argc, argv, &a, &rc);

	if (!trace)
		return rc;
	if (a.check && (*trace || a.rules || a.json))
		return cli_usage("advise", "--check takes one file of rules and nothing else");
	if (a.check)
		return check_rules(a.check);
	language_choose();
	if (!*trace || trace[1])
		return cli_usage("advise", *trace ? "one trace at a time" : "no trace named");
	if (!a.rules && !(installed = cli_shared("problems.rules", &err)))
		return cli_fail("%s", err.text);
	rc = advise(*trace, a.rules ? a.rules : installed, a.json);
	free(installed);
	return rc;
}

static const struct verb_option options[] = {
	{"rules", 0, "RULES", OPT_TEXT(struct args, rules), .help = "the file of rules (the installed problems.rules)"},
	{"json", 0, NULL, OPT_FLAG(struct args, json), .help = "for machines"},
	{"check", 0, "RULES", OPT_TEXT(struct args, check),
	 .help = "only say what is wrong with the file and what it includes: FILE:LINE:COLUMN, what was found, what was expected; exit 1 "
		 "when something is"},
	{0},
};

const struct verb verb_advise = {
	"advise", "TRACE", "performance problems of a run, and what to do about them",
	.forms = {"TRACE [--rules RULES] [--json]", "--check RULES"},
	.text = "Finds performance problems of a traced run by rules (precedent-rules(5)): waits, then their causes, the longest first: "
		"share of the time of all ranks, how often, where, what ranks did that were waited for, what to do, and how much "
		"shorter the run would be.",
	.examples = {"app.ptrace", "app.ptrace --rules my.rules"},
	.options = options, .operand = "trace", .run = advise_verb,
};
