/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent replay --html: the figures as a page (cli/ui/page.h). */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/replay/replay.h"
#include "cli/ui/page.h"
#include "cli/ui/svg.h"
#include "cli/ui/util.h"

/* Of the drawings, in pixels. */
#define WIDTH  640.0
#define LEFT   200.0
#define RIGHT  70.0
#define TOP    10.0
#define ROW    34.0
#define BAR    18.0
#define DAY_S  86400.0

static double share(size_t part, size_t of)
{
	return of ? (double)part / (double)of : 0;
}

/* A share as text; of changes with its sign. */
static const char *percent(double part, bool change, char *out, size_t size)
{
	if (!isfinite(part))
		snprintf(out, size, "&ndash;");
	else if (change)
		snprintf(out, size, "%+.0f&nbsp;%%", rint(100 * part) + 0.0); /* + 0.0: no "-0" */
	else
		snprintf(out, size, "%.1f&nbsp;%%", 100 * part);
	return out;
}

static double change_of(const struct replay *r, enum plan_by by, bool slowdown)
{
	const struct measured *m = &r->row[by].m, *base = &r->row[PLAN_REQUEST].m;

	return slowdown ? replay_change(m->slowdown, base->slowdown) : replay_change(m->wait_s, base->wait_s);
}

/* ---- head and tiles ---- */

static void stream_put(FILE *out, const struct replay_conf *conf, const struct stream *s, const struct replay *r)
{
	char n[32], m[32], c[32];

	fputs("<p class=\"dim\">", out);
	svg_text(out, conf->file);
	fprintf(out, ": %s jobs in %.1f days on %s %s, load %.2f. Scheduler: %s; limit guard: %s. Counted: the last %s jobs.</p>\n",
		cli_thousands(n, sizeof(n), s->n), (double)s->jobs[s->n - 1].submit_s / DAY_S, cli_thousands(m, sizeof(m), s->nodes),
		s->processors ? "processors" : "nodes", s->load, sim_policy_name(conf->sim.policy), sim_guard_name(conf->sim.guard),
		cli_thousands(c, sizeof(c), r->counted));
}

static void tiles_put(FILE *out, const struct replay_conf *conf, const struct stream *s, const struct replay *r)
{
	const struct replay_row *set = &r->row[PLAN_PRECEDENT];
	const char *unit = s->processors ? "processor" : "node";
	char a[32], b[32], c[32], more[160];

	fputs("<dl class=\"tiles\">\n", out);
	snprintf(more, sizeof(more), "by the same job: %s", percent(share(r->source[SOURCE_RUNS].jobs, r->counted), false, b, sizeof(b)));
	page_tile(out, "Jobs with an estimate", "", percent(share(r->all.jobs, r->counted), false, a, sizeof(a)), more);
	snprintf(more, sizeof(more), "the same job: %s", percent(r->source[SOURCE_RUNS].error, false, b, sizeof(b)));
	page_tile(out, "Median error", "", percent(r->all.error, false, a, sizeof(a)), more);
	snprintf(more, sizeof(more), "of %s jobs that ended by themselves", cli_thousands(b, sizeof(b), r->all.judged));
	page_tile(out, "Inside the interval", "", percent(share(r->all.inside, r->all.judged), false, a, sizeof(a)), more);
	snprintf(more, sizeof(more), "perfect knowledge: %s", percent(change_of(r, PLAN_PERFECT, false), true, b, sizeof(b)));
	page_tile(out, "Mean wait", change_of(r, PLAN_PRECEDENT, false) < 0 ? "good" : "", percent(change_of(r, PLAN_PRECEDENT, false), true, a, sizeof(a)),
		  more);
	snprintf(more, sizeof(more), "perfect knowledge: %s", percent(change_of(r, PLAN_PERFECT, true), true, b, sizeof(b)));
	page_tile(out, "Mean slowdown", change_of(r, PLAN_PRECEDENT, true) < 0 ? "good" : "", percent(change_of(r, PLAN_PRECEDENT, true), true, a, sizeof(a)),
		  more);
	snprintf(a, sizeof(a), "%llu", (unsigned long long)set->totals.killed_by_us);
	snprintf(more, sizeof(more), "of %s %s; %s %s hours fewer are planned", cli_thousands(b, sizeof(b), set->limited),
		 conf->sim.guard == SIM_SOFT ? "that are planned with less" : "with a shorter limit", cli_thousands(c, sizeof(c), (uint64_t)fmax(0, r->requested_h - set->set_h)), unit);
	page_tile(out, "Ended below their request", set->totals.killed_by_us ? "bad" : "good", a, more);
	fputs("</dl>\n", out);
}

/* ---- drawings ---- */

static void bar_put(FILE *out, double y, const char *name, double part, const char *class, const char *value)
{
	double width = WIDTH - LEFT - RIGHT;

	fprintf(out, "<text class=\"key\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 10, y + BAR - 4);
	svg_text(out, name);
	fprintf(out, "</text><rect class=\"%s\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"%.0f\"/>", class, LEFT, y, width * part, BAR);
	fprintf(out, "<text class=\"tick\" x=\"%.1f\" y=\"%.1f\">", LEFT + width * part + 6, y + BAR - 4);
	svg_text(out, value);
	fputs("</text>\n", out);
}

static double figure_of(const struct replay *r, unsigned by, bool slowdown)
{
	return slowdown ? r->row[by].m.slowdown : r->row[by].m.wait_s / 60;
}

static void plans_draw(FILE *out, const struct replay *r, bool slowdown)
{
	double most = 0;

	for (unsigned by = 0; by < PLAN_WAYS; by++)
		most = fmax(most, figure_of(r, by, slowdown));
	svg_begin(out, slowdown ? "slowdown" : "wait", WIDTH, TOP + ROW * PLAN_WAYS, slowdown ? "Mean slowdown" : "Mean wait, in minutes",
		  "A bar for each way to plan. The table below has the figures.");
	for (unsigned by = 0; by < PLAN_WAYS; by++) {
		double v = figure_of(r, by, slowdown);
		char value[32];

		snprintf(value, sizeof(value), slowdown ? "%.2f" : "%.1f", v);
		bar_put(out, TOP + ROW * by, plan_title((enum plan_by)by), most > 0 ? v / most : 0, by == PLAN_PRECEDENT ? "used" : "set", value);
	}
	svg_end(out, slowdown ? "(wait + run time) / run time, with run times of at least 10 s." : NULL);
}

static void sources_draw(FILE *out, const struct replay *r)
{
	unsigned row = 0;

	for (unsigned i = 0; i < SOURCES; i++)
		row += r->source[i].jobs != 0;
	svg_begin(out, "sources", WIDTH, TOP + ROW * row, "Where estimates come from",
		  "Share of the jobs by source. The table below has the figures.");
	row = 0;
	for (unsigned i = 0; i < SOURCES; i++) {
		double part = share(r->source[i].jobs, r->counted);
		char value[32];

		if (!r->source[i].jobs)
			continue;
		snprintf(value, sizeof(value), "%.1f %%", 100 * part);
		bar_put(out, TOP + ROW * row++, source_title((enum plan_source)i), part,
			i == SOURCE_NONE ? "asked" : i < SOURCE_SIMILAR ? "used" : "set", value);
	}
	svg_end(out, NULL);
}

static void hours_draw(FILE *out, const struct stream *s, const struct replay *r)
{
	const double hours[] = {r->requested_h, r->row[PLAN_PRECEDENT].set_h, r->used_h};
	static const char *const names[] = {"requested", "set by Precedent", "used"}, *const classes[] = {"asked", "set", "used"};

	svg_begin(out, "hours", WIDTH, TOP + ROW * 3, "Requested, set and used", "Hours of all counted jobs.");
	for (unsigned i = 0; i < 3; i++) {
		char value[32];

		cli_thousands(value, sizeof(value), (uint64_t)hours[i]);
		bar_put(out, TOP + ROW * i, names[i], r->requested_h > 0 ? hours[i] / r->requested_h : 0, classes[i], value);
	}
	svg_end(out, s->processors ? "Processor hours of the counted jobs." : "Node hours of the counted jobs.");
}

/* ---- tables ---- */

static void source_row(FILE *out, const char *title, const struct replay_source *s, size_t counted)
{
	char n[32], a[32], b[32], c[32];

	fprintf(out, "<tr><th scope=\"row\">%s</th><td>%s</td><td>%s</td>", title, cli_thousands(n, sizeof(n), s->jobs),
		percent(share(s->jobs, counted), false, a, sizeof(a)));
	if (s->judged)
		fprintf(out, "<td>%s</td><td>%s</td><td>%.1f</td></tr>\n", percent(s->error, false, b, sizeof(b)),
			percent(share(s->inside, s->judged), false, c, sizeof(c)), s->width);
	else
		fputs("<td>&ndash;</td><td>&ndash;</td><td>&ndash;</td></tr>\n", out);
}

static void sources_put(FILE *out, const struct replay *r)
{
	static const char *const headings[] = {"Estimate from", "Jobs", "Share", "Median error", "Inside", "Width", NULL};

	page_table_begin(out, "Estimates", "Errors of jobs that ended by themselves. Width: upper bound / lower bound, median.", headings);
	for (unsigned i = 0; i < SOURCES; i++)
		if (r->source[i].jobs)
			source_row(out, source_title((enum plan_source)i), &r->source[i], r->counted);
	page_table_end(out);
}

static void plans_put(FILE *out, const struct replay *r)
{
	static const char *const headings[] = {"Planned by", "Mean wait, min", "Change", "Longest, h", "Slowdown", "Change", "Set / used",
					       "Limited", "Raised", "Ended by us", NULL};

	page_table_begin(out, "Waiting", "Changes are against the users' requests.", headings);
	for (unsigned by = 0; by < PLAN_WAYS; by++) {
		const struct replay_row *row = &r->row[by];
		char a[32], b[32], n[32];

		fprintf(out,
			"<tr><th scope=\"row\">%s</th><td>%.1f</td><td>%s</td><td>%.1f</td><td>%.2f</td><td>%s</td><td>%.2f</td><td>%s</td>"
			"<td>%llu</td><td>%llu</td></tr>\n",
			plan_title((enum plan_by)by), row->m.wait_s / 60, percent(change_of(r, (enum plan_by)by, false), true, a, sizeof(a)),
			row->m.wait_max_s / 3600, row->m.slowdown, percent(change_of(r, (enum plan_by)by, true), true, b, sizeof(b)),
			r->used_h > 0 ? row->set_h / r->used_h : 0, cli_thousands(n, sizeof(n), row->limited),
			(unsigned long long)row->totals.extensions, (unsigned long long)row->totals.killed_by_us);
	}
	page_table_end(out);
}

/* ---- the page ---- */

#define NOTE_BEGIN \
	"A simulation of past jobs on one pool of processors. A decision about a job knows only runs that had ended before in the " \
	"simulation. Programs have no probes here, since the accounting has no traces. "
#define NOTE_END " How users would react to shorter waits is not known."

struct page {
	const struct replay_conf *conf;
	const struct stream *stream;
	const struct replay *replay;
};

static int page_put(FILE *out, const void *of)
{
	const struct page *page = of;
	const struct stream *s = page->stream;
	const struct replay *r = page->replay;

	if (page_begin(out, "What Precedent would have done here", "What Precedent would have told and gained here"))
		return 1;
	stream_put(out, page->conf, s, r);
	tiles_put(out, page->conf, s, r);
	fputs("<div class=\"plots\">\n", out);
	plans_draw(out, r, false);
	plans_draw(out, r, true);
	sources_draw(out, r);
	hours_draw(out, s, r);
	fputs("</div>\n", out);
	plans_put(out, r);
	sources_put(out, r);
	page_end(out,
		 page->conf->sim.guard == SIM_SOFT
			 ? NOTE_BEGIN "All jobs keep their limits. Jobs without a prediction are planned by similar runs." NOTE_END
			 : NOTE_BEGIN "Precedent tells similar runs, and shortens no limit by them." NOTE_END,
		 "precedent replay");
	return 0;
}

int replay_page_write(const struct replay_conf *conf, const struct stream *stream, const struct replay *r, const char *path)
{
	const struct page page = {conf, stream, r};

	return page_write(path, page_put, &page);
}
