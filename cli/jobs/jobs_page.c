/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent jobs --html: a page about one's own jobs (cli/ui/page.h). Each row is a family of jobs: the time asked for, the time
 * used, and a request that is enough. All text of the store is escaped (svg_text).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/jobs/jobs_page.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/page.h"
#include "cli/ui/svg.h"
#include "cli/ui/util.h"
#include "common/array.h"
#include "common/duration.h"

#define BARS_MAX 12   /* families that are drawn: one screen */
#define MARGIN	 1.25 /* runs of one family that differ by less count as equal (predictor/estimate/param_family.h) */

/* Of the drawing, in pixels. */
#define WIDTH 640.0
#define LEFT  150.0
#define ROW   48.0
#define TOP   10.0

/* The runs of a family. Times are in seconds. */
struct family {
	const char *key, *name;
	unsigned runs, ended, cut;  /* all; completed; ended by their limit */
	double asked, hi;	    /* of the latest run: its request, 0: none; the upper bound of its estimate, 0: none */
	double longest, cut_at;	    /* the longest run that completed, and the longest that was ended by its limit */
	double asked_h, used_h;	    /* node hours of runs that have ended and had a request */
};

struct families {
	struct family *list;
	size_t n, room;
	double asked_h, used_h;
	unsigned runs, ended, predicted, inside;
	double first, last; /* submissions of these; 0: not known */
	unsigned left_out;  /* of srun and salloc, and heterogeneous jobs: they have no family */
};

/* ---- from runs to families ---- */

static struct family *family_of(struct families *p, const json_t *run)
{
	const char *key = jstr(run, "family");

	for (size_t i = 0; i < p->n; i++)
		if (!strcmp(p->list[i].key, key))
			return &p->list[i];
	if (ARRAY_ROOM(p->list, p->room, p->n + 1) != 0)
		return NULL;
	p->list[p->n] = (struct family){.key = key, .name = jstr(run, "name")};
	return &p->list[p->n++];
}

static double asked_of(const json_t *run)
{
	const json_t *min = json_object_get(run, "user_limit_min");

	return json_is_integer(min) ? 60 * json_number_value(min) : 0;
}

static void run_count(struct families *all, struct family *p, const json_t *run)
{
	const json_t *e = json_object_get(run, "predicted");
	double s = jnum(run, "elapsed_s"), asked = asked_of(run), nodes = jnum(run, "nodes"), submit = jnum(run, "submit");
	bool completed = !strcmp(jstr(run, "state"), "COMPLETED"), cut = !strcmp(jstr(run, "state"), "TIMEOUT");

	if (!p->runs++) { /* the latest run comes first */
		p->asked = asked;
		p->hi = jnum(e, "hi_s");
	}
	all->runs++;
	all->predicted += e != NULL;
	if (submit > 0) {
		all->first = all->first > 0 ? fmin(all->first, submit) : submit;
		all->last = fmax(all->last, submit);
	}
	if (!completed && !cut)
		return;
	p->ended += completed;
	p->cut += cut;
	if (completed)
		p->longest = fmax(p->longest, s);
	else
		p->cut_at = fmax(p->cut_at, s);
	if (asked > 0) {
		p->asked_h += nodes * asked / 3600;
		p->used_h += nodes * s / 3600;
	}
	if (completed && e && !strcmp(jstr(e, "candidate"), jstr(run, "candidate"))) {
		all->ended++;
		all->inside += s >= jnum(e, "lo_s") && s <= jnum(e, "hi_s");
	}
}

static int by_wasted(const void *a, const void *b)
{
	const struct family *x = a, *y = b;
	double dx = x->asked_h - x->used_h, dy = y->asked_h - y->used_h;

	return (dx < dy) - (dx > dy);
}

static int families_read(const json_t *answer, struct families *out)
{
	json_t *run;
	size_t i;

	json_array_foreach(json_object_get(answer, "jobs"), i, run)
	{
		struct family *p;

		if (!jstr(run, "family")[0]) {
			out->left_out++;
			continue;
		}
		p = family_of(out, run);
		if (!p)
			return cli_fail("no memory for %zu jobs", json_array_size(json_object_get(answer, "jobs")));
		run_count(out, p, run);
	}
	for (i = 0; i < out->n; i++) {
		out->asked_h += out->list[i].asked_h;
		out->used_h += out->list[i].used_h;
	}
	if (out->n)
		qsort(out->list, out->n, sizeof(*out->list), by_wasted);
	return 0;
}

/* A request that is enough, in seconds: the estimate's upper bound, or the longest run with a margin. Returns 0 if no run has
 * completed, or if a longer run was ended by its limit. */
static double enough(const struct family *p)
{
	double need = fmax(p->hi, MARGIN * p->longest), step = need > 3600 ? 300 : 60; /* people write such limits */

	return !p->longest && !p->hi ? 0 : p->cut_at >= need ? 0 : step * ceil(need / step);
}

/* ---- the page ---- */

static const char *hours(double h, char *out, size_t size)
{
	snprintf(out, size, h < 10 ? "%.2f" : "%.0f", h);
	return out;
}

static void tiles_put(FILE *out, const struct families *p)
{
	char a[32], b[32], more[128];

	fputs("<dl class=\"tiles\">\n", out);
	snprintf(a, sizeof(a), "%u", p->runs);
	snprintf(more, sizeof(more), "of %zu famil%s; %u left out", p->n, p->n == 1 ? "y" : "ies", p->left_out);
	page_tile(out, "Jobs", "", a, more);
	snprintf(a, sizeof(a), "%u", p->predicted);
	snprintf(more, sizeof(more), "%u of %u that completed were inside the interval", p->inside, p->ended);
	page_tile(out, "Predicted", "", a, more);
	if (p->used_h > 0) {
		snprintf(a, sizeof(a), "%.1f", p->asked_h / p->used_h);
		page_tile(out, "Hours asked for per hour used", "", a, "1 is ideal; a shorter request often starts earlier");
		snprintf(more, sizeof(more), "of %s that were asked for", hours(p->asked_h, b, sizeof(b)));
		page_tile(out, "Node-hours not used", "", hours(p->asked_h - p->used_h, a, sizeof(a)), more);
	}
	fputs("</dl>\n", out);
}

static void bars_put(FILE *out, const struct families *p)
{
	size_t n = 0;

	while (n < p->n && n < BARS_MAX && p->list[n].asked_h > 0)
		n++;
	if (!n)
		return;
	fputs("<div class=\"plots\">\n", out);
	svg_begin(out, "used", WIDTH, TOP + ROW * (double)n, "Asked for and used", "A bar for each family. The table below has the figures.");
	for (size_t i = 0; i < n; i++) {
		const struct family *g = &p->list[i];
		double y = TOP + ROW * (double)i, width = WIDTH - LEFT;
		char a[32], b[32];

		fprintf(out, "<text class=\"key\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", LEFT - 10, y + 15);
		snprintf(a, sizeof(a), "%.18s", g->name);
		svg_text(out, a);
		fprintf(out, "</text><rect class=\"asked\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"20\"/>", LEFT, y, width);
		fprintf(out, "<rect class=\"used\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"10\"/>", LEFT, y + 5,
			width * fmin(1, g->used_h / g->asked_h));
		fprintf(out, "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\">%s node-hours asked for, %s used</text>\n", LEFT, y + 34,
			hours(g->asked_h, a, sizeof(a)), hours(g->used_h, b, sizeof(b)));
	}
	svg_end(out, "Families by node-hours that were asked for and not used.");
	fputs("</div>\n", out);
}

static void seconds_cell(FILE *out, double s)
{
	char text[DURATION_TEXT_MAX];

	fprintf(out, "<td>%s</td>", s > 0 ? duration_format(text, sizeof(text), s) : "&ndash;");
}

static void family_row(FILE *out, const struct family *p)
{
	double ask = enough(p);
	char text[DURATION_TEXT_MAX];

	fputs("<tr><th scope=\"row\"><bdi>", out);
	svg_text(out, p->name);
	fprintf(out, "</bdi></th><td>%u</td><td>%u</td><td>%u</td>", p->runs, p->ended, p->cut);
	seconds_cell(out, p->asked);
	seconds_cell(out, p->longest);
	seconds_cell(out, p->hi);
	if (ask > 0)
		fprintf(out, "<td><b>%s</b></td></tr>\n", duration_format(text, sizeof(text), ask));
	else
		fprintf(out, "<td>%s</td></tr>\n", p->cut ? "more: a run was ended by its limit" : "&ndash;");
}

static void table_put(FILE *out, const struct families *p)
{
	static const char *const headings[] = {"Jobs named", "Runs", "Completed", "Ended by limit", "Last asked", "Longest run", "Estimate, upper bound",
					       "Ask for", NULL};

	page_table_begin(out, "What to ask for", "", headings);
	for (size_t i = 0; i < p->n; i++)
		family_row(out, &p->list[i]);
	page_table_end(out);
}

/* The figures are of the latest jobs, so the reader wants to know since when. */
static void period_put(FILE *out, const struct families *p)
{
	char first[32], last[32];

	if (p->first > 0)
		fprintf(out, "<p class=\"dim\">Submitted %.10s to %.10s.</p>\n", time_text(p->first, first, sizeof(first)),
			time_text(p->last, last, sizeof(last)));
}

static int page_put(FILE *out, const void *answer)
{
	struct families p = {0};
	int rc = families_read(answer, &p) || page_begin(out, "Jobs: asked for and used", "Jobs: asked for and used");

	if (!rc) {
		period_put(out, &p);
		tiles_put(out, &p);
		bars_put(out, &p);
		table_put(out, &p);
		page_end(out,
			 "Each row has jobs of the same size whose scripts differ only in numbers (a family). Ask for is the upper bound of the "
			 "last estimate, and at least 1.25 times the longest completed run, rounded up. Larger inputs need more. Jobs of srun "
			 "and salloc and heterogeneous jobs are left out.",
			 "precedent jobs");
	}
	free(p.list);
	return rc;
}

int jobs_page_write(const json_t *answer, const char *path)
{
	return page_write(path, page_put, answer);
}
