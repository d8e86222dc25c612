/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * precedent accuracy --html: a page of figures (cli/ui/page.h). All text of the store is escaped (svg_text).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/accuracy/accuracy.h"
#include "cli/accuracy/accuracy_plots.h"
#include "cli/jobs/query_print.h"
#include "cli/ui/page.h"
#include "cli/ui/svg.h"
#include "cli/ui/util.h"

static const char *plural(double n)
{
	return n == 1 ? "" : "s";
}

/* ---- head ---- */

static const char *date_text(double when, char *out, size_t size)
{
	char whole[32];

	snprintf(out, size, "%.10s", time_text(when, whole, sizeof(whole)));
	return out;
}

static int head_put(FILE *out, const json_t *answer)
{
	char first[16], last[16], now[32];
	const json_t *all = json_object_get(answer, "all");

	if (page_begin(out, "How good the predictions were", "How good the predictions of walltimes were"))
		return 1;
	fprintf(out, "<p class=\"dim\">%.0f predicted run%s%s, submitted %s to %s: %.0f user%s, %.0f famil%s of jobs, %.0f partition%s. As of %s.</p>\n",
		jnum(all, "n"), plural(jnum(all, "n")), json_is_true(json_object_get(answer, "cut")) ? " (the latest of more)" : "",
		date_text(jnum(answer, "first"), first, sizeof(first)), date_text(jnum(answer, "last"), last, sizeof(last)),
		jnum(answer, "users_n"), plural(jnum(answer, "users_n")), jnum(answer, "families_n"),
		jnum(answer, "families_n") == 1 ? "y" : "ies", jnum(answer, "candidates_n"), plural(jnum(answer, "candidates_n")),
		time_text(jnum(answer, "now"), now, sizeof(now)));
	return 0;
}

/* ---- the figures that matter ---- */

static void told_tile(FILE *out, const json_t *all)
{
	double of, told = accuracy_told(all, &of);
	char share[16], more[160];

	if (of <= 0)
		return;
	snprintf(more, sizeof(more), "of %.0f batch jobs that ended; similar runs were known of %.0f more", of,
		 jnum(json_object_get(all, "ended"), "similar"));
	page_tile(out, "Jobs with a prediction", "", accuracy_percent(told / of, share, sizeof(share)), more);
}

static void tiles_put(FILE *out, const json_t *all)
{
	const json_t *base = json_object_get(all, "baselines");
	double n = jnum(all, "n");
	char a[32], b[32], c[32], more[160];

	fputs("<dl class=\"tiles\">\n", out);
	told_tile(out, all);
	snprintf(more, sizeof(more), "nine in ten within %s; the worst: %s, job %.0f; requests: %s",
		 accuracy_percent(jnum(all, "p90_error"), a, sizeof(a)), accuracy_percent(jnum(all, "worst_error"), b, sizeof(b)),
		 jnum(all, "worst_job"), accuracy_percent(jnum(json_object_get(base, "request"), "median_error"), c, sizeof(c)));
	page_tile(out, "Median error", "", accuracy_percent(jnum(all, "median_error"), a, sizeof(a)), more);
	snprintf(more, sizeof(more), "%.0f ran longer than its upper bound, %.0f shorter than its lower", jnum(all, "under"),
		 jnum(all, "below"));
	page_tile(out, "Inside the interval", "", accuracy_percent(jnum(all, "inside") / n, a, sizeof(a)), more);
	snprintf(a, sizeof(a), "%.0f", jnum(all, "cut_short"));
	snprintf(more, sizeof(more), "of %.0f set or planned shorter; %.0f limit%s raised in time, %.0f time%s", jnum(all, "limits"),
		 jnum(all, "extended"), plural(jnum(all, "extended")), jnum(all, "extensions"), plural(jnum(all, "extensions")));
	page_tile(out, "Ended below their request", jnum(all, "cut_short") > 0 ? "bad" : "good", a, more);
	if (jnum(all, "requested_node_h") > 0) {
		snprintf(a, sizeof(a), "%.2f &rarr; %.2f", jnum(all, "requested_of_used"), jnum(all, "limit_of_used"));
		page_tile(out, "Reserved for each hour used", "", a, "as requested &rarr; as set or planned; 1 is perfect");
		snprintf(more, sizeof(more), "of %s that were asked for; %s were used",
			 accuracy_hours(jnum(all, "requested_node_h"), a, sizeof(a)),
			 accuracy_hours(jnum(all, "used_node_h"), b, sizeof(b)));
		page_tile(out, "Reserved node-hours freed", "", accuracy_hours(jnum(all, "freed_node_h"), a, sizeof(a)), more);
	}
	fputs("</dl>\n", out);
}

/* ---- tables ---- */

static void percent_cell(FILE *out, bool known, double share)
{
	char text[16];

	fprintf(out, "<td>%s</td>", known ? accuracy_percent(share, text, sizeof(text)) : "&ndash;");
}

static void predictor_row(FILE *out, const char *name, const char *what, const json_t *e, double n, double precedent_median)
{
	bool known = n > 0;

	fprintf(out, "<tr><th scope=\"row\">%s<small>%s</small></th>", name, what);
	percent_cell(out, known, jnum(e, "median_error"));
	percent_cell(out, known, jnum(e, "p90_error"));
	percent_cell(out, known, jnum(e, "worst_error"));
	percent_cell(out, known, jnum(e, "bias"));
	percent_cell(out, known, known ? jnum(e, "too_short") / n : 0);
	if (known)
		fprintf(out, "<td>%.2f</td>", jnum(e, "said_of_used"));
	else
		fputs("<td>&ndash;</td>", out);
	fprintf(out, "<td>%.0f</td>", n);
	percent_cell(out, known, precedent_median);
	fputs("</tr>\n", out);
}

static void predictors_put(FILE *out, const json_t *all)
{
	static const char *const headings[] = {"Predictor", "Median", "90&nbsp;%", "Worst", "Bias", "Too short", "Times used", "Runs",
					       "Precedent, same runs", NULL};

	page_table_begin(out, "Beside simpler predictors", "Errors of completed runs. What the others would have said is computed from what had ended before each submission.",
		    headings);
	predictor_row(out, "Precedent", "what sbatch told the user", all, jnum(all, "completed"), jnum(all, "median_error"));
	for (const struct accuracy_label *l = accuracy_labels; l->key; l++) {
		const json_t *e = json_object_get(json_object_get(all, "baselines"), l->key);

		predictor_row(out, l->name, l->what, e, jnum(e, "n"), jnum(e, "precedent_median_error"));
	}
	page_table_end(out);
}

static void group_row(FILE *out, const json_t *row)
{
	const json_t *base = json_object_get(row, "baselines"), *user = json_object_get(base, "last_two_user"),
		     *request = json_object_get(base, "request");
	bool known = jnum(row, "completed") > 0, asked = jnum(row, "requested_node_h") > 0;
	char name[64];

	fputs("<tr><th scope=\"row\"><bdi>", out);
	if (json_object_get(row, "family"))
		svg_text(out, jstr(row, "name"));
	else
		svg_text(out, accuracy_group_name(row, name, sizeof(name)));
	fputs("</bdi>", out);
	if (json_object_get(row, "family")) {
		fputs("<small>", out);
		svg_text(out, accuracy_user_name(jnum(row, "uid"), name, sizeof(name)));
		snprintf(name, sizeof(name), ", family %.8s", jstr(row, "family"));
		svg_text(out, name);
		fputs("</small>", out);
	}
	fprintf(out, "</th><td>%.0f</td>", jnum(row, "n"));
	percent_cell(out, known, jnum(row, "median_error"));
	percent_cell(out, known, jnum(row, "p90_error"));
	percent_cell(out, known, jnum(row, "worst_error"));
	fprintf(out, "<td>%.0f</td><td>%.0f</td>", jnum(row, "under"), jnum(row, "extended"));
	percent_cell(out, jnum(user, "n") > 0, jnum(user, "median_error"));
	percent_cell(out, jnum(request, "n") > 0, jnum(request, "median_error"));
	if (asked)
		fprintf(out, "<td>%.2f</td><td>%.2f</td><td>%s</td>", jnum(row, "requested_of_used"), jnum(row, "limit_of_used"),
			accuracy_hours(jnum(row, "freed_node_h"), name, sizeof(name)));
	else
		fputs("<td>&ndash;</td><td>&ndash;</td><td>&ndash;</td>", out);
	fputs("</tr>\n", out);
}

static void groups_put(FILE *out, const json_t *answer, const char *rows, const char *count, const char *title, const char *what)
{
	const char *headings[] = {what, "Runs", "Median", "90&nbsp;%", "Worst", "Above", "Raised", "Last two of user", "Request",
				  "Asked / used", "Set / used", "Freed node-h", NULL};
	const json_t *list = json_object_get(answer, rows), *row;
	char caption[64] = "";
	size_t i;

	if (jnum(answer, count) > (double)json_array_size(list))
		snprintf(caption, sizeof(caption), "The %zu with most runs, of %.0f.", json_array_size(list), jnum(answer, count));
	page_table_begin(out, title, caption, headings);
	json_array_foreach(list, i, row) group_row(out, row);
	page_table_end(out);
}

/* ---- the page ---- */

static void foot_put(FILE *out)
{
	page_end(out,
		 "Runs that were predicted, ran on the partition that they were predicted for, and completed or were ended by "
		 "a time limit. Errors are |predicted &minus; actual| / actual of the completed ones. Above: ran longer than the upper bound of the "
		 "predicted interval. Raised: the limit was raised while the job ran. Reservation freed: nodes times the requested time less the "
		 "limit in the end, or less what Slurm planned with. The waiting that this saved depends on all other jobs: <code>precedent replay --sacct --html FILE</code> "
		 "schedules the site's past jobs with and without predictions.",
		 "precedent accuracy");
}

static int page_put(FILE *out, const void *of)
{
	const json_t *answer = of;
	const json_t *all = json_object_get(answer, "all");

	if (head_put(out, answer))
		return 1;
	if (jnum(all, "n") <= 0) {
		fputs("<p class=\"lead\">No predicted job has completed yet.</p>\n<dl class=\"tiles\">\n", out);
		told_tile(out, all);
		fputs("</dl>\n", out);
		foot_put(out);
		return 0;
	}
	tiles_put(out, all);
	fputs("<div class=\"plots\">\n", out);
	accuracy_plot_scatter(out, answer);
	accuracy_plot_distribution(out, answer);
	accuracy_plot_time(out, answer);
	accuracy_plot_coverage(out, answer);
	accuracy_plot_reserved(out, answer);
	fputs("</div>\n", out);
	predictors_put(out, all);
	groups_put(out, answer, "sources", "sources_n", "By source of the prediction", "Source");
	groups_put(out, answer, "candidates", "candidates_n", "By partition", "Partition");
	groups_put(out, answer, "users", "users_n", "By user", "User");
	groups_put(out, answer, "families", "families_n", "By family of jobs", "Job");
	foot_put(out);
	return 0;
}

int accuracy_page_write(const json_t *answer, const char *path)
{
	if (!json_object_get(answer, "points"))
		return cli_fail("this answer has no single runs, which the plots need; is precedentd older than this command?");
	return page_write(path, page_put, answer);
}
