/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables of precedent replay, and its JSON. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/replay/replay.h"
#include "cli/ui/json_out.h"
#include "cli/ui/util.h"

#define DAY_S 86400.0

static double percent(size_t part, size_t of)
{
	return of ? 100.0 * (double)part / (double)of : 0;
}

/* ---- tables ---- */

static const char *change_text(double change, char *out, size_t size)
{
	if (isfinite(change))
		snprintf(out, size, "%+.0f %%", rint(100 * change) + 0.0); /* + 0.0: no "-0" */
	else
		snprintf(out, size, "-");
	return out;
}

static void source_print(const char *title, const struct replay_source *s, size_t counted)
{
	char n[32];

	printf("  %-32s %10s %7.1f %%", title, cli_thousands(n, sizeof(n), s->jobs), percent(s->jobs, counted));
	if (s->judged)
		printf(" %9.1f %% %9.1f %% %8.1f", 100 * s->error, percent(s->inside, s->judged), s->width);
	printf("\n");
}

static void sources_print(const struct replay *r)
{
	printf("\n  %-32s %10s %9s %11s %11s %8s\n", "ESTIMATE FROM", "JOBS", "SHARE", "ERROR", "WITHIN", "WIDTH");
	for (unsigned i = 0; i < SOURCES; i++)
		if (r->source[i].jobs && i != SOURCE_NONE)
			source_print(source_title(i), &r->source[i], r->counted);
	source_print("all of these", &r->all, r->counted);
	source_print(source_title(SOURCE_NONE), &r->source[SOURCE_NONE], r->counted);
}

static void row_print(const struct replay *r, enum plan_by by)
{
	const struct replay_row *row = &r->row[by], *base = &r->row[PLAN_REQUEST];
	char wait[32], slow[32];

	printf("  %-29s %9.1f %8s %9.1f %8s %8.1f %8.2f %8zu %7llu\n", plan_title(by), row->m.wait_s / 60,
	       by == PLAN_REQUEST ? "" : change_text(replay_change(row->m.wait_s, base->m.wait_s), wait, sizeof(wait)),
	       row->m.slowdown,
	       by == PLAN_REQUEST ? "" : change_text(replay_change(row->m.slowdown, base->m.slowdown), slow, sizeof(slow)),
	       row->m.wait_max_s / 3600, r->used_h > 0 ? row->set_h / r->used_h : 0, row->limited,
	       (unsigned long long)row->totals.killed_by_us);
}

static void rows_print(const struct replay *r)
{
	printf("\n  %-29s %9s %8s %9s %8s %8s %8s %8s %7s\n", "PLANNED BY", "WAIT MIN", "", "SLOWDOWN", "", "MAX H", "SET/USED",
	       "LIMITED", "KILLED");
	for (unsigned by = 0; by < PLAN_WAYS; by++)
		row_print(r, (enum plan_by)by);
}

static void head_print(const struct replay_conf *conf, const struct stream *s)
{
	char n[32], m[32], left[32];

	printf("%s: %s jobs in %.1f days on %s %s, load %.2f\n", cli_shown(conf->file), cli_thousands(n, sizeof(n), s->n),
	       (double)s->jobs[s->n - 1].submit_s / DAY_S, cli_thousands(m, sizeof(m), s->nodes), s->processors ? "processors" : "nodes", s->load);
	printf("scheduler: %s, limit guard: %s", sim_policy_name(conf->sim.policy), sim_guard_name(conf->sim.guard));
	if (conf->sim.guard == SIM_OVERTIME)
		printf(", OverTimeLimit %lld min", (long long)conf->sim.overtime_s / 60);
	printf("\n");
	if (s->left_out || s->bad || s->too_large)
		printf("left out: %s that are steps, probes or have not run, %s too large, %zu damaged lines\n",
		       cli_thousands(left, sizeof(left), s->left_out), cli_thousands(n, sizeof(n), s->too_large), s->bad);
	if (s->n_requested < s->n)
		printf("without a requested time: %s; they have the longest of the file\n", cli_thousands(n, sizeof(n), s->n - s->n_requested));
}

void replay_print(const struct replay_conf *conf, const struct stream *stream, const struct replay *r)
{
	const char *unit = stream->processors ? "processor" : "node";
	char n[32], a[32], b[32], c[32];

	head_print(conf, stream);
	sources_print(r);
	rows_print(r);
	printf("\ncounted: the last %s jobs. %s hours: %s requested, %s used, %s set by Precedent\n", cli_thousands(n, sizeof(n), r->counted),
	       unit, cli_thousands(a, sizeof(a), (uint64_t)r->requested_h), cli_thousands(b, sizeof(b), (uint64_t)r->used_h),
	       cli_thousands(c, sizeof(c), (uint64_t)r->row[PLAN_PRECEDENT].set_h));
	printf("ended at the limit of their users: %llu; by a limit of Precedent: %llu; limits raised: %llu\n",
	       (unsigned long long)r->row[PLAN_REQUEST].totals.killed_by_user,
	       (unsigned long long)r->row[PLAN_PRECEDENT].totals.killed_by_us,
	       (unsigned long long)r->row[PLAN_PRECEDENT].totals.extensions);
}

/* ---- JSON ---- */

static json_t *source_json(const char *name, const struct replay_source *s)
{
	return json_pack("{s:s, s:I, s:I, s:I, s:f, s:f}", "source", name, "jobs", (json_int_t)s->jobs, "judged", (json_int_t)s->judged,
			 "inside", (json_int_t)s->inside, "median_error", s->error, "median_width", s->width);
}

static json_t *row_json(const struct replay_row *row, enum plan_by by)
{
	return json_pack("{s:s, s:f, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:I}", "planned_by", plan_name(by), "wait_s", row->m.wait_s,
			 "wait_median_s", row->m.wait_median_s, "wait_max_s", row->m.wait_max_s, "slowdown", row->m.slowdown,
			 "slowdown_median", row->m.slowdown_median, "set_hours", row->set_h, "limited", (json_int_t)row->limited,
			 "raised", (json_int_t)row->totals.extensions, "killed_at_own_request", (json_int_t)row->totals.killed_by_user,
			 "killed_by_us", (json_int_t)row->totals.killed_by_us);
}

int replay_print_json(const struct replay_conf *conf, const struct stream *s, const struct replay *r)
{
	json_t *sources = json_array(), *rows = json_array();

	for (unsigned i = 0; i < SOURCES; i++)
		json_array_append_new(sources, source_json(source_name(i), &r->source[i]));
	for (unsigned by = 0; by < PLAN_WAYS; by++)
		json_array_append_new(rows, row_json(&r->row[by], (enum plan_by)by));
	return cli_print_json(json_pack("{s:s, s:I, s:I, s:I, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:s, s:s, s:I, s:f, s:f, s:f, s:o, s:o, s:o}",
					"file", cli_shown(conf->file), "jobs", (json_int_t)s->n, "counted", (json_int_t)r->counted, "size",
					(json_int_t)s->nodes, "unit", s->processors ? "processors" : "nodes", "load", s->load, "days",
					(double)s->jobs[s->n - 1].submit_s / DAY_S, "left_out", (json_int_t)s->left_out, "too_large",
					(json_int_t)s->too_large, "bad_lines", (json_int_t)s->bad, "with_request",
					(json_int_t)s->n_requested, "scheduler", sim_policy_name(conf->sim.policy), "guard",
					sim_guard_name(conf->sim.guard), "overtime_min", (json_int_t)conf->sim.overtime_s / 60,
					"requested_hours", r->requested_h, "used_hours", r->used_h, "seconds", r->seconds, "all",
					source_json("all", &r->all), "sources", sources, "plans", rows));
}
