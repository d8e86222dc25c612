/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The text of the metrics, see metrics.h. What is read of the store for them is in metrics_collect.c. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/clean.h"
#include "predictor/metrics/metrics.h"

static void __attribute__((format(printf, 2, 3))) put(struct buf *out, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n > 0)
		buf_put(out, line, (size_t)n < sizeof(line) ? (size_t)n : sizeof(line) - 1);
}

static void head(struct buf *out, const char *name, const char *type, const char *help)
{
	put(out, "# HELP precedent_%s %s\n# TYPE precedent_%s %s\n", name, help, name, type);
}

static void number_put(struct buf *out, double v)
{
	if (isnan(v))
		put(out, "NaN\n");
	else if (isinf(v))
		put(out, v > 0 ? "+Inf\n" : "-Inf\n");
	else
		put(out, "%.15g\n", v);
}

/* One metric without labels. */
static void metric_put(struct buf *out, const char *name, const char *type, const char *help, double v)
{
	head(out, name, type, help);
	put(out, "precedent_%s ", name);
	number_put(out, v);
}

/* A label's value, as the format wants it quoted. */
static void quoted(struct buf *out, const char *text)
{
	char clean[512];

	for (const char *c = clean_copy(clean, sizeof(clean), text); *c; c++)
		put(out, *c == '\\' || *c == '"' ? "\\%c" : "%c", *c);
}

static void labelled(struct buf *out, const char *name, const char *label, const char *value, double v)
{
	put(out, "precedent_%s{%s=\"", name, label);
	quoted(out, value);
	put(out, "\"} ");
	number_put(out, v);
}

/* ---- the daemon ---- */

static void live_put(struct buf *out, const struct metrics_live *live)
{
	const struct job_counts *c = &live->counts;

	head(out, "build_info", "gauge", "Always 1; the version is its label.");
	put(out, "precedent_build_info{version=\"" PRECEDENT_VERSION "\"} 1\n");
	metric_put(out, "start_time_seconds", "gauge", "When precedentd started, since the epoch; counters count from then.",
		   (double)live->started);
	metric_put(out, "last_look_timestamp_seconds", "gauge", "The last look at the queue that went well, since the epoch; 0: none yet.",
	    (double)live->looked);
	metric_put(out, "looks_total", "counter", "Looks at the queue.", (double)live->looks);
	metric_put(out, "looks_failed_total", "counter", "Looks that failed: slurmctld did not answer, or the store could not be written.",
	    (double)live->failed_looks);
	metric_put(out, "look_seconds_total", "counter", "Time that looks took.", live->look_total_s);
	metric_put(out, "look_last_seconds", "gauge", "Time that the last look took.", live->look_s);
	metric_put(out, "look_period_seconds", "gauge", "Time until the next look; above PollInterval where looks are costly.", live->period_s);
	metric_put(out, "queue_jobs", "gauge", "Jobs that slurmctld knew at the last look.", (double)live->jobs);
	head(out, "jobs_total", "counter", "Jobs met, by what the plugin did with them.");
	for (int a = ACT_TRACE; a <= ACT_OBSERVE; a++)
		labelled(out, "jobs_total", "act", act_name((enum job_act)a), (double)c->met[a]);
	metric_put(out, "jobs_ended_total", "counter", "Jobs that were followed to their end.", (double)c->ended);
	metric_put(out, "predictions_total", "counter", "Jobs that were submitted with a prediction.", (double)c->told);
	metric_put(out, "limits_set_total", "counter", "Jobs that got a shorter limit than their user asked for, or a shorter plan.",
	    (double)c->limited);
	metric_put(out, "limits_raised_total", "counter", "Times that the limit of a job was raised.", (double)c->raised);
	metric_put(out, "shortened_timeouts_total", "counter", "Jobs that were ended by a limit below what their user asked for; should stay 0.",
	    (double)c->cut_short);
	metric_put(out, "shortened_unseen_total", "counter", "Jobs with a limit below what their user asked for whose end nobody saw.",
	    (double)c->unseen);
}

/* ---- errors ---- */

struct named_row {
	const char *name;
	const struct accuracy_row *row;
};

static void error_lines(struct buf *out, const char *candidate, const struct accuracy_row *row)
{
	static const char *const quantiles[] = {"0.5", "0.9", "1"};

	for (int p = 0; p < ACCURACY_PERFECT; p++) {
		const struct accuracy_errors *e = &row->of[p];
		double values[] = {e->median, e->p90, e->worst};

		for (int q = 0; q < 3 && e->n; q++) {
			put(out, "precedent_error_ratio{candidate=\"");
			quoted(out, candidate);
			put(out, "\",predictor=\"%s\",quantile=\"%s\"} ", accuracy_predictor_name((enum accuracy_predictor)p), quantiles[q]);
			number_put(out, values[q]);
		}
	}
}

typedef double (*row_value)(const struct accuracy_row *);

static double row_n(const struct accuracy_row *r)
{
	return (double)r->n;
}

static double row_under(const struct accuracy_row *r)
{
	return (double)r->under;
}

static double row_inside(const struct accuracy_row *r)
{
	return (double)r->inside;
}

static double row_asked(const struct accuracy_row *r)
{
	return r->requested_node_h * 3600;
}

static double row_set(const struct accuracy_row *r)
{
	return r->set_node_h * 3600;
}

static double row_used(const struct accuracy_row *r)
{
	return r->used_node_h * 3600;
}

static void errors_put(struct buf *out, const struct metrics_stored *stored)
{
	static const struct {
		const char *name, *help;
		row_value value;
	} lines[] = {
		{"recent_runs", "Predicted runs that ended, of the last 7 days.", row_n},
		{"recent_above_interval", "Runs of these that took longer than the upper bound of their prediction.", row_under},
		{"recent_inside_interval", "Runs of these that completed within the predicted interval.", row_inside},
		{"recent_asked_node_seconds", "Node seconds that these runs asked for.", row_asked},
		{"recent_set_node_seconds", "Node seconds that their limits allowed in the end.", row_set},
		{"recent_used_node_seconds", "Node seconds that they used.", row_used},
	};
	struct named_row rows[1 + CONF_CANDIDATES_MAX] = {{"all", &stored->row}};
	unsigned n = 1;

	_Static_assert(METRICS_DAYS == 7, "the help texts say so");
	for (unsigned i = 0; i < stored->n_candidates; i++)
		rows[n++] = (struct named_row){stored->candidates[i].name, &stored->candidates[i].row};
	if (stored->row.of[ACCURACY_PRECEDENT].n)
		head(out, "error_ratio", "gauge",
		     "Quantiles of |predicted - actual| / actual of completed runs of the last 7 days, also of simpler predictors.");
	for (unsigned i = 0; i < n; i++)
		error_lines(out, rows[i].name, rows[i].row);
	for (size_t k = 0; k < sizeof(lines) / sizeof(lines[0]); k++) {
		head(out, lines[k].name, "gauge", lines[k].help);
		for (unsigned i = 0; i < n; i++)
			labelled(out, lines[k].name, "candidate", rows[i].name, lines[k].value(rows[i].row));
	}
}

/* ---- the store ---- */

static void tracing_put(struct buf *out, const struct metrics_stored *stored)
{
	_Static_assert(TRIAL_WINDOW_S == 90 * 86400, "the help text says so");
	metric_put(out, "tracing_suspected", "gauge", "Whether tracing is suspected of making jobs fail, or stopped for it.",
	    stored->tracing != TRACING_ON);
	metric_put(out, "tracing_stopped", "gauge", "Whether tracing is stopped until an administrator resumes it.",
	    stored->tracing == TRACING_STOPPED);
	head(out, "tracing_pairs", "gauge", "Programs with a traced and an untraced run in the last 90 days, by which of both failed.");
	for (int i = TRIAL_BOTH_COMPLETED; i < TRIAL_PAIRS; i++)
		labelled(out, "tracing_pairs", "state", trial_pair_name((enum trial_pair)i), (double)stored->pairs[i]);
}

static void stored_put(struct buf *out, const struct metrics_stored *stored)
{
	metric_put(out, "heartbeat_timestamp_seconds", "gauge", "What the plugin goes by: the heartbeat in the store, since the epoch; 0: none.",
	    (double)stored->heartbeat);
	head(out, "programs", "gauge", "Jobs that are known, by state.");
	for (int i = 0; i <= PROGRAM_FAILED; i++)
		labelled(out, "programs", "state", program_state_name((enum program_state)i), (double)stored->counts.by_state[i]);
	head(out, "probes", "gauge", "Probes of the jobs that are known, by state.");
	for (int i = 0; i <= PROBE_FAILED; i++)
		labelled(out, "probes", "state", probe_state_name((enum probe_state)i), (double)stored->probes[i]);
	metric_put(out, "probe_node_seconds", "gauge", "Node seconds that probes took, within the time of Retention.", stored->probe_node_s);
	tracing_put(out, stored);
	metric_put(out, "limits_stopped", "gauge", "Whether no limit is lowered because slurmctld refuses raises (LimitGuard = raise).",
	    stored->limits_stopped);
	metric_put(out, "estimates", "gauge", "Predictions at hand.", (double)stored->counts.estimates);
	metric_put(out, "runs", "gauge", "Runs in the store.", (double)stored->counts.runs);
	metric_put(out, "runs_open", "gauge", "Runs in the store that have not ended.", (double)stored->counts.runs_open);
	metric_put(out, "store_bytes", "gauge", "Size of the store.", (double)stored->counts.file_bytes);
	errors_put(out, stored);
}

void metrics_format(const struct metrics_live *live, const struct metrics_stored *stored, struct buf *out)
{
	live_put(out, live);
	metric_put(out, "store_up", "gauge", "Whether the store could be read.", stored ? 1 : 0);
	if (stored)
		stored_put(out, stored);
}
