/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The plots of precedent accuracy, see accuracy_plots.h. All errors are drawn on logarithmic axes that end at 0.1 % and
 * at 10 times. Errors beyond an end are drawn at the end.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/accuracy/accuracy.h"
#include "cli/accuracy/accuracy_plots.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/svg.h"
#include "common/duration.h"

#define WIDTH	  560.0
#define HEIGHT	  400.0
#define LEFT	  62.0
#define TOP	  30.0
#define BOTTOM	  48.0
#define RIGHT	  18.0
#define ERROR_LO  0.001
#define ERROR_HI  10.0
#define COVERAGE  260.0 /* height of a plot of shares */
#define CLASSES	  6 /* of partitions, in the style sheet */
#define BARS_MAX  12

static struct svg_plot plot_make(FILE *out, double height)
{
	return (struct svg_plot){.out = out, .x = {0, 1, false, LEFT, WIDTH - RIGHT}, .y = {0, 1, false, height - BOTTOM, TOP}};
}

static double at(const json_t *columns, const char *name, size_t i)
{
	return json_number_value(json_array_get(json_object_get(columns, name), i));
}

static void error_ticks(const struct svg_plot *p, bool x)
{
	static const struct {
		double error;
		const char *label;
	} ticks[] = {{0.001, "0.1 %"}, {0.01, "1 %"}, {0.1, "10 %"}, {1, "100 %"}, {10, "\xe2\x89\xa5 10x"}};

	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		(x ? svg_tick_x : svg_tick_y)(p, ticks[i].error, ticks[i].label);
}

/* ---- predicted against actual ---- */

static const struct {
	double seconds;
	const char *label;
} durations[] = {{1, "1 s"},	{10, "10 s"},	 {60, "1 min"},	   {600, "10 min"},   {3600, "1 h"},  {6 * 3600, "6 h"},
		 {86400, "1 d"}, {7 * 86400, "1 w"}, {30 * 86400, "30 d"}};

/* The range of all that is drawn, somewhat wider. */
static void scatter_range(const json_t *points, size_t n, double *lo, double *hi)
{
	*lo = HUGE_VAL;
	*hi = 0;
	for (size_t i = 0; i < n; i++) {
		double values[] = {at(points, "seconds", i), at(points, "lo", i), at(points, "hi", i)};

		for (int k = 0; k < 3; k++) {
			*lo = values[k] > 0 && values[k] < *lo ? values[k] : *lo;
			*hi = values[k] > *hi ? values[k] : *hi;
		}
	}
	*lo = *lo < HUGE_VAL ? *lo / 1.4 : 1;
	*hi = *hi > *lo ? *hi * 1.4 : *lo * 10;
}

/* One for each class, so that they differ without colours. */
static const char *const shapes[CLASSES] = {"M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0", "M-2.8-2.8h5.6v5.6h-5.6z", "M0-3.8l3.6 6.4h-7.2z",
					    "M0-4l4 4l-4 4l-4-4z", "M0 3.8l-3.6-6.4h7.2z",
					    "M-3.4-1h2.4v-2.4h2v2.4h2.4v2h-2.4v2.4h-2v-2.4h-2.4z"};

static void scatter_mark(const struct svg_plot *p, const json_t *answer, size_t i)
{
	const json_t *points = json_object_get(answer, "points");
	double actual = at(points, "seconds", i), said = at(points, "predicted", i), lo = at(points, "lo", i),
	       hi = at(points, "hi", i), x = svg_at(&p->x, actual);
	unsigned candidate = (unsigned)at(points, "candidate", i);
	const char *name = json_string_value(json_array_get(json_object_get(answer, "candidate_names"), candidate));
	char text[4][DURATION_TEXT_MAX];
	bool completed = at(points, "completed", i) > 0;

	fprintf(p->out, "<g class=\"c%u%s\"><path class=\"bar\" d=\"M%.1f %.1fV%.1f\"/><path class=\"mark\" transform=\"translate(%.1f %.1f)\" d=\"%s\"/><title>",
		candidate % CLASSES, completed ? "" : " open", x, svg_at(&p->y, lo), svg_at(&p->y, hi), x, svg_at(&p->y, said),
		shapes[candidate % CLASSES]);
	fprintf(p->out, "Job %.0f on ", at(points, "job", i));
	svg_text(p->out, name ? name : "?");
	fprintf(p->out, ": predicted %s (%s to %s), %s %s", duration_format(text[0], sizeof(text[0]), said),
		duration_format(text[1], sizeof(text[1]), lo), duration_format(text[2], sizeof(text[2]), hi),
		completed ? "took" : "ended by its limit after", duration_format(text[3], sizeof(text[3]), actual));
	if (completed && actual > 0)
		fprintf(p->out, ", %+.1f %%", 100 * (said - actual) / actual);
	fputs("</title></g>\n", p->out);
}

static void scatter_legend(const struct svg_plot *p, const json_t *answer)
{
	const json_t *names = json_object_get(answer, "candidate_names");
	double y = TOP + 14;

	for (size_t i = 0; i < json_array_size(names) && i < CLASSES; i++, y += 18) {
		const char *text = json_string_value(json_array_get(names, i));
		char name[48];

		snprintf(name, sizeof(name), "%.24s%s", text ? text : "?",
			 i + 1 == CLASSES && json_array_size(names) > CLASSES ? " and others" : "");
		fprintf(p->out, "<g class=\"c%zu\"><path class=\"mark\" transform=\"translate(%.1f %.1f) scale(1.4)\" d=\"%s\"/></g>"
				"<text class=\"key\" x=\"%.1f\" y=\"%.1f\">", i, LEFT + 18, y, shapes[i], LEFT + 30, y + 4);
		svg_text(p->out, name);
		fputs("</text>\n", p->out);
	}
}

void accuracy_plot_scatter(FILE *out, const json_t *answer)
{
	const json_t *points = json_object_get(answer, "points");
	size_t n = json_array_size(json_object_get(points, "job"));
	struct svg_plot p = plot_make(out, HEIGHT);
	double lo, hi;
	char text[256];

	scatter_range(points, n, &lo, &hi);
	p.x.lo = p.y.lo = lo;
	p.x.hi = p.y.hi = hi;
	p.x.log = p.y.log = true;
	snprintf(text, sizeof(text),
		 "One mark for each of %zu runs, actual time to the right, predicted time upwards, both logarithmic. On the diagonal a "
		 "prediction is right, above it too long, below it too short. Bars are the predicted intervals.",
		 n);
	svg_begin(out, "scatter", WIDTH, HEIGHT, "Predicted against actual", text);
	for (size_t i = 0; i < sizeof(durations) / sizeof(durations[0]); i++) {
		if (durations[i].seconds < lo || durations[i].seconds > hi)
			continue;
		svg_tick_x(&p, durations[i].seconds, durations[i].label);
		svg_tick_y(&p, durations[i].seconds, durations[i].label);
	}
	fprintf(out, "<path class=\"diagonal\" d=\"M%.1f %.1fL%.1f %.1f\"/>\n", p.x.from, p.y.from, p.x.to, p.y.to);
	for (size_t i = n; i-- > 0;) /* the latest on top */
		scatter_mark(&p, answer, i);
	svg_axes(&p, "actual", "predicted");
	scatter_legend(&p, answer);
	if ((double)n < jnum(json_object_get(answer, "all"), "n"))
		snprintf(text, sizeof(text), "%zu of %.0f runs, evenly chosen. Bars: the predicted interval. Hollow: ended by a time limit.", n,
			 jnum(json_object_get(answer, "all"), "n"));
	else
		snprintf(text, sizeof(text), "Bars: the predicted interval. Hollow: ended by a time limit.");
	svg_end(out, text);
}

/* ---- distribution ---- */

static void distribution_line(const struct svg_plot *p, const json_t *quantiles, const char *class)
{
	size_t n = json_array_size(quantiles);

	if (n < 2)
		return;
	fprintf(p->out, "<path class=\"line %s\" d=\"", class);
	for (size_t i = 0; i < n; i++)
		fprintf(p->out, "%c%.1f %.1f", i ? 'L' : 'M', svg_at(&p->x, json_number_value(json_array_get(quantiles, i))),
			svg_at(&p->y, (double)i / (double)(n - 1)));
	fputs("\"/>\n", p->out);
}

static void distribution_words(const json_t *answer, char *out, size_t size)
{
	const json_t *all = json_object_get(answer, "all"), *base = json_object_get(all, "baselines");
	char own[16], p90[16], user[16], request[16];

	snprintf(out, size,
		 "Share of runs whose error was at most so large. Precedent: half within %s, nine in ten within %s. The user's last two "
		 "runs: half within %s. The request: half within %s.",
		 accuracy_percent(jnum(all, "median_error"), own, sizeof(own)), accuracy_percent(jnum(all, "p90_error"), p90, sizeof(p90)),
		 accuracy_percent(jnum(json_object_get(base, "last_two_user"), "median_error"), user, sizeof(user)),
		 accuracy_percent(jnum(json_object_get(base, "request"), "median_error"), request, sizeof(request)));
}

static void predictor_legend(FILE *out, double x, double y)
{
	svg_legend(out, x, y, "precedent", true, "Precedent");
	svg_legend(out, x, y + 18, "last_two_job", true, "last two runs of the job");
	svg_legend(out, x, y + 36, "last_two_user", true, "last two runs of the user");
	svg_legend(out, x, y + 54, "request", true, "request");
}

void accuracy_plot_distribution(FILE *out, const json_t *answer)
{
	static const char *const back_to_front[] = {"request", "last_two_user", "last_two_job", "precedent"};
	static const char *const shares[] = {"0 %", "25 %", "50 %", "75 %", "100 %"};
	struct svg_plot p = plot_make(out, HEIGHT);
	char text[400];

	p.x.lo = ERROR_LO;
	p.x.hi = ERROR_HI;
	p.x.log = true;
	distribution_words(answer, text, sizeof(text));
	svg_begin(out, "distribution", WIDTH, HEIGHT, "How many runs were predicted how well", text);
	error_ticks(&p, true);
	for (int i = 0; i < 5; i++)
		svg_tick_y(&p, i / 4.0, shares[i]);
	for (size_t i = 0; i < 4; i++)
		distribution_line(&p, json_object_get(json_object_get(answer, "distribution"), back_to_front[i]), back_to_front[i]);
	svg_axes(&p, "error at most", "runs");
	predictor_legend(out, LEFT + 12, TOP + 14); /* only perfect predictions are drawn there */
	svg_end(out, "The further to the left a line, the better. What the others would have said is computed from what was known when "
		     "each job was submitted.");
}

/* ---- over time ---- */

static const char *day_text(double when, double step, char *out, size_t size)
{
	time_t t = (time_t)when;
	struct tm tm;

	if (!localtime_r(&t, &tm) || !strftime(out, size, step < 86400 ? "%d %b %H:%M" : step < 86400 * 28 ? "%d %b" : "%b %Y", &tm))
		snprintf(out, size, "-");
	return out;
}

static double bucket_middle(const json_t *answer, size_t i)
{
	return jnum(json_array_get(json_object_get(answer, "timeline"), i), "from") + jnum(answer, "timeline_step_s") / 2;
}

/* One value of each bucket as a line; buckets without it interrupt nothing. */
static void time_line(const struct svg_plot *p, const json_t *answer, const char *key, const char *class)
{
	const json_t *list = json_object_get(answer, "timeline"), *b;
	bool first = true;
	size_t i;

	fprintf(p->out, "<path class=\"line %s\" d=\"", class);
	json_array_foreach(list, i, b)
	{
		if (!json_object_get(b, key) || jnum(b, "completed") <= 0)
			continue;
		fprintf(p->out, "%c%.1f %.1f", first ? 'M' : 'L', svg_at(&p->x, bucket_middle(answer, i)), svg_at(&p->y, jnum(b, key)));
		first = false;
	}
	fputs("\"/>\n", p->out);
}

static void time_band(const struct svg_plot *p, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "timeline");
	size_t n = json_array_size(list);
	bool first = true;

	fputs("<path class=\"band\" d=\"", p->out);
	for (size_t k = 0; k < 2 * n; k++) {
		size_t i = k < n ? k : 2 * n - 1 - k;
		const json_t *b = json_array_get(list, i);

		if (jnum(b, "completed") <= 0)
			continue;
		fprintf(p->out, "%c%.1f %.1f", first ? 'M' : 'L', svg_at(&p->x, bucket_middle(answer, i)),
			svg_at(&p->y, jnum(b, k < n ? "p75" : "p25")));
		first = false;
	}
	fputs(first ? "\"/>\n" : "Z\"/>\n", p->out);
}

static void time_marks(const struct svg_plot *p, const json_t *answer)
{
	const json_t *b;
	double step = jnum(answer, "timeline_step_s");
	char when[32], median[16], p90[16];
	size_t i;

	json_array_foreach(json_object_get(answer, "timeline"), i, b)
	{
		if (jnum(b, "completed") <= 0)
			continue;
		fprintf(p->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>%s: %.0f run%s, median error %s, nine in ten within %s, %.0f above the interval</title></circle>\n",
			svg_at(&p->x, bucket_middle(answer, i)), svg_at(&p->y, jnum(b, "median")),
			day_text(jnum(b, "from"), step, when, sizeof(when)), jnum(b, "n"), jnum(b, "n") == 1 ? "" : "s",
			accuracy_percent(jnum(b, "median"), median, sizeof(median)), accuracy_percent(jnum(b, "p90"), p90, sizeof(p90)),
			jnum(b, "under"));
	}
}

void accuracy_plot_time(FILE *out, const json_t *answer)
{
	size_t n = json_array_size(json_object_get(answer, "timeline")), every = (n + 5) / 6;
	double step = jnum(answer, "timeline_step_s");
	struct svg_plot p = plot_make(out, HEIGHT);
	char text[256], when[32];

	p.y = (struct svg_scale){ERROR_LO, ERROR_HI, true, HEIGHT - BOTTOM, TOP};
	p.x.lo = n ? bucket_middle(answer, 0) - step / 2 : 0;
	p.x.hi = n ? bucket_middle(answer, n - 1) + step / 2 : 1;
	snprintf(text, sizeof(text), "Median errors of the runs that ended in each of %zu periods of %s, of Precedent, of the user's last two "
		 "runs, of the job's last two runs and of the request.", n, duration_format(when, sizeof(when), step));
	svg_begin(out, "time", WIDTH, HEIGHT, "Errors over time", text);
	error_ticks(&p, false);
	for (size_t i = 0; i < n; i += every ? every : 1)
		svg_tick_x(&p, bucket_middle(answer, i), day_text(bucket_middle(answer, i), step, when, sizeof(when)));
	time_band(&p, answer);
	time_line(&p, answer, "request", "request");
	time_line(&p, answer, "last_two_user", "last_two_user");
	time_line(&p, answer, "last_two_job", "last_two_job");
	time_line(&p, answer, "median", "precedent");
	time_marks(&p, answer);
	svg_axes(&p, "", "error");
	svg_legend(out, LEFT - 10, p.y.from + 34, "precedent", true, "Precedent");
	svg_legend(out, LEFT + 98, p.y.from + 34, "last_two_job", true, "last two of job");
	svg_legend(out, LEFT + 234, p.y.from + 34, "last_two_user", true, "last two of user");
	svg_legend(out, LEFT + 378, p.y.from + 34, "request", true, "request");
	svg_end(out, "Lines: medians. Band: the middle half of Precedent's errors. Runs by the time when they ended.");
}

/* Of a period: the share of jobs with a prediction, or of predicted runs inside the interval. -1: it has none. */
static double coverage_share(const json_t *period)
{
	double of = jnum(period, "n");
	double told = json_object_get(period, "ended") ? accuracy_told(period, &of) : jnum(period, "inside");

	return of > 0 ? told / of : -1;
}

/* For each period coverage_share. */
static void coverage_line(const struct svg_plot *p, const json_t *answer, const char *list, const char *class)
{
	const json_t *b;
	double step = jnum(answer, "timeline_step_s");
	bool first = true;
	size_t i;

	fprintf(p->out, "<path class=\"line %s\" d=\"", class);
	json_array_foreach(json_object_get(answer, list), i, b)
	{
		double share = coverage_share(b);

		if (share < 0)
			continue;
		fprintf(p->out, "%c%.1f %.1f", first ? 'M' : 'L', svg_at(&p->x, jnum(b, "from") + step / 2), svg_at(&p->y, share));
		first = false;
	}
	fputs("\"/>\n", p->out);
}

/* The last period in words. Predicted runs are named only if some ended in this very period. */
static void coverage_words(const json_t *answer, char *out, size_t size)
{
	const json_t *coverage = json_object_get(answer, "coverage"), *timeline = json_object_get(answer, "timeline");
	const json_t *jobs = json_array_get(coverage, json_array_size(coverage) - 1);
	const json_t *runs = json_array_get(timeline, json_array_size(timeline) - 1);
	double inside = jnum(runs, "from") == jnum(jobs, "from") ? coverage_share(runs) : -1;
	char share[2][16], and[80] = "";

	if (inside >= 0)
		snprintf(and, sizeof(and), ", and %s of the predicted runs were inside", accuracy_percent(inside, share[1], sizeof(share[1])));
	snprintf(out, size, "In the last period %s of the jobs that ended had a prediction%s.",
		 accuracy_percent(fmax(0, coverage_share(jobs)), share[0], sizeof(share[0])), and);
}

void accuracy_plot_coverage(FILE *out, const json_t *answer)
{
	const json_t *list = json_object_get(answer, "coverage");
	size_t n = json_array_size(list), every = (n + 5) / 6;
	double step = jnum(answer, "timeline_step_s");
	struct svg_plot p = plot_make(out, COVERAGE);
	char text[256], when[32];

	if (!n) /* of an older precedentd */
		return;
	p.x.lo = jnum(json_array_get(list, 0), "from");
	p.x.hi = jnum(json_array_get(list, n - 1), "from") + step;
	snprintf(text, sizeof(text), "The share of jobs that had a prediction, and of predicted runs that ended inside the interval, in each of "
		 "%zu periods of %s.", n, duration_format(when, sizeof(when), step));
	svg_begin(out, "coverage", WIDTH, COVERAGE, "Coverage over time", text);
	svg_tick_y(&p, 0, "0 %");
	svg_tick_y(&p, 0.5, "50 %");
	svg_tick_y(&p, 0.9, "90 %");
	for (size_t i = 0; i < n; i += every) {
		double middle = jnum(json_array_get(list, i), "from") + step / 2;

		svg_tick_x(&p, middle, day_text(middle, step, when, sizeof(when)));
	}
	coverage_line(&p, answer, "timeline", "last_two_job");
	coverage_line(&p, answer, "coverage", "precedent");
	svg_axes(&p, "", "share");
	svg_legend(out, LEFT - 10, p.y.from + 34, "precedent", true, "jobs with a prediction");
	svg_legend(out, LEFT + 190, p.y.from + 34, "last_two_job", true, "predicted runs inside their interval");
	coverage_words(answer, text, sizeof(text));
	svg_end(out, text);
}

/* ---- asked, set, used ---- */

static void reserved_row(FILE *out, const json_t *row, double y)
{
	double asked = jnum(row, "requested_node_h"), set = jnum(row, "limit_node_h"), used = jnum(row, "used_node_h");
	double left = 130, width = WIDTH - left - RIGHT;
	char name[64], text[3][24];

	fprintf(out, "<text class=\"key\" x=\"%.0f\" y=\"%.1f\" text-anchor=\"end\">", left - 10, y + 15);
	snprintf(name, sizeof(name), "%.20s", jstr(row, "candidate"));
	svg_text(out, name);
	fprintf(out, "</text><rect class=\"asked\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"20\"/>", left, y, width);
	fprintf(out, "<rect class=\"set\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"20\"/>", left, y,
		width * (asked > 0 ? set / asked : 0));
	fprintf(out, "<rect class=\"used\" x=\"%.0f\" y=\"%.1f\" width=\"%.1f\" height=\"10\"/>", left, y + 5,
		width * (asked > 0 ? used / asked : 0));
	fprintf(out, "<text class=\"tick\" x=\"%.0f\" y=\"%.1f\">%s node-hours asked for, %s set, %s used</text>\n", left, y + 34,
		accuracy_hours(asked, text[0], sizeof(text[0])), accuracy_hours(set, text[1], sizeof(text[1])),
		accuracy_hours(used, text[2], sizeof(text[2])));
}

void accuracy_plot_reserved(FILE *out, const json_t *answer)
{
	const json_t *rows = json_object_get(answer, "candidates"), *row, *all = json_object_get(answer, "all");
	size_t n = json_array_size(rows), i, drawn = 0;
	double height = TOP + 20 + 46 * (double)(n < BARS_MAX ? n : BARS_MAX);
	char text[256], h[3][24];

	snprintf(text, sizeof(text), "%s node-hours were asked for, %s reserved by limits and plans in the end, %s used.",
		 accuracy_hours(jnum(all, "requested_node_h"), h[0], sizeof(h[0])),
		 accuracy_hours(jnum(all, "limit_node_h"), h[1], sizeof(h[1])),
		 accuracy_hours(jnum(all, "used_node_h"), h[2], sizeof(h[2])));
	svg_begin(out, "reserved", WIDTH, height, "Asked for, set and used", text);
	svg_legend(out, 125, 12, "asked", false, "asked for");
	svg_legend(out, 245, 12, "set", false, "limit in the end");
	svg_legend(out, 395, 12, "used", false, "used");
	json_array_foreach(rows, i, row)
	{
		if (jnum(row, "requested_node_h") > 0 && drawn < BARS_MAX)
			reserved_row(out, row, TOP + 46 * (double)drawn++);
	}
	snprintf(text, sizeof(text), "Node-hours of the runs whose request is known, each partition's request drawn as the whole width.%s",
		 n > BARS_MAX ? " Partitions with most runs." : "");
	svg_end(out, text);
}
