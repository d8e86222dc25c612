/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Metrics: the text and its figures. A checker that is stricter than the format looks at every line and name. It refuses
 * doubled series and names of users, jobs or keys.
 */
#include <ctype.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/metrics/metrics.h"
#include "predictor/store/keep.h"
#include "tests/unit/store_fixture.h"

/* ---- the checker ---- */

#define SERIES_MAX 512

struct checker {
	const char *at; /* the rest of the text */
	char metric[128], type[16];
	bool has_help, has_type, has_sample;
	unsigned n_metrics, n_series;
	char metrics[SERIES_MAX][128];
	char series[SERIES_MAX][384];
	char why[512];
};

static bool wrong(struct checker *c, const char *what, const char *line)
{
	snprintf(c->why, sizeof(c->why), "%s: %.300s", what, line);
	return false;
}

/* [a-z][a-z0-9_]*, as far as it goes. */
static size_t name_length(const char *s)
{
	size_t n = 0;

	while (islower((unsigned char)s[n]) || (n && (isdigit((unsigned char)s[n]) || s[n] == '_')))
		n++;
	return n;
}

/* "# HELP name text" and "# TYPE name type", in this order, once for each metric. */
static bool check_comment(struct checker *c, const char *line)
{
	bool help = !strncmp(line, "# HELP ", 7);
	const char *name = line + 7;
	size_t n = name_length(name);

	if ((!help && strncmp(line, "# TYPE ", 7)) || !n || n >= sizeof(c->metric) || name[n] != ' ' || !name[n + 1])
		return wrong(c, "neither HELP nor TYPE", line);
	if (help) {
		if (c->has_help && !c->has_sample)
			return wrong(c, "the metric before has no sample", line);
		for (unsigned i = 0; i < c->n_metrics; i++)
			if (!strncmp(c->metrics[i], name, n) && !c->metrics[i][n])
				return wrong(c, "the same metric again", line);
		if (strncmp(name, "precedent_", 10) || c->n_metrics == SERIES_MAX)
			return wrong(c, "a foreign name", line);
		if (strchr(name, '\\') || name[strlen(name) - 1] != '.')
			return wrong(c, "the help is no sentence", line);
		snprintf(c->metric, sizeof(c->metric), "%.*s", (int)n, name);
		snprintf(c->metrics[c->n_metrics++], sizeof(c->metrics[0]), "%s", c->metric);
		c->has_help = true;
		c->has_type = c->has_sample = false;
		return true;
	}
	if (!c->has_help || c->has_type || strlen(c->metric) != n || strncmp(c->metric, name, n))
		return wrong(c, "TYPE without its HELP", line);
	snprintf(c->type, sizeof(c->type), "%.15s", name + n + 1);
	if (strcmp(c->type, "counter") && strcmp(c->type, "gauge"))
		return wrong(c, "type", line);
	if (!strcmp(c->type, "counter") != (n > 6 && !strncmp(name + n - 6, "_total", 6)))
		return wrong(c, "counters, and nothing else, end in _total", line);
	c->has_type = true;
	return true;
}

/* {name="value",...}; *end behind it. */
static bool check_labels(struct checker *c, const char *line, const char *s, const char **end)
{
	static const char *const known[] = {"version", "act", "state", "candidate", "predictor", "quantile"};

	do {
		size_t n = name_length(++s);
		bool good = false;

		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			good |= strlen(known[i]) == n && !strncmp(s, known[i], n);
		if (!good)
			return wrong(c, "a label that might name somebody", line);
		s += n;
		if (*s++ != '=' || *s++ != '"')
			return wrong(c, "label", line);
		for (; *s && *s != '"'; s++) {
			if (*s == '\\' && *++s != '\\' && *s != '"' && *s != 'n')
				return wrong(c, "escape", line);
			if ((unsigned char)*s < 0x20 || (unsigned char)*s > 0x7e)
				return wrong(c, "control character", line);
		}
		if (*s++ != '"')
			return wrong(c, "label is not closed", line);
	} while (*s == ',');
	*end = s + 1;
	return *s == '}' || wrong(c, "labels are not closed", line);
}

static bool check_sample(struct checker *c, const char *line)
{
	size_t n = name_length(line);
	const char *s = line + n;
	char *end;
	double v;

	if (!c->has_type || strlen(c->metric) != n || strncmp(c->metric, line, n))
		return wrong(c, "a sample of another metric", line);
	if (*s == '{' && !check_labels(c, line, s, &s))
		return false;
	for (unsigned i = 0; i < c->n_series; i++)
		if (!strncmp(c->series[i], line, (size_t)(s - line)) && !c->series[i][s - line])
			return wrong(c, "the same series again", line);
	if (c->n_series == SERIES_MAX || (size_t)(s - line) >= sizeof(c->series[0]))
		return wrong(c, "too much", line);
	snprintf(c->series[c->n_series++], sizeof(c->series[0]), "%.*s", (int)(s - line), line);
	if (*s++ != ' ' || isspace((unsigned char)*s))
		return wrong(c, "one blank before the value", line);
	v = strtod(s, &end);
	if (end == s || *end || !isfinite(v) || v < 0)
		return wrong(c, "value", line);
	c->has_sample = true;
	return true;
}

static bool check(struct checker *c, const char *text)
{
	size_t len = strlen(text);
	char *copy = strdup(text), *line = copy, *end;
	bool good = true;

	memset(c, 0, sizeof(*c));
	assert_non_null(copy);
	if (!len || text[len - 1] != '\n')
		good = wrong(c, "the last line does not end", "");
	for (; good && *line && (end = strchr(line, '\n')); line = end + 1) {
		*end = '\0';
		good = *line == '#' ? check_comment(c, line) : check_sample(c, line);
	}
	if (good && !c->has_sample)
		good = wrong(c, "nothing at the end", "");
	free(copy);
	return good;
}

static void test_checker(void **state)
{
#define HEAD "# HELP precedent_a A.\n# TYPE precedent_a gauge\n"
	static const char *const bad[] = {
		"", "precedent_a 1\n", HEAD, HEAD "precedent_a 1", HEAD "precedent_b 1\n", HEAD "precedent_a  1\n", HEAD "precedent_a x\n",
		HEAD "precedent_a 1 2\n", HEAD "precedent_a 1\nprecedent_a 1\n", HEAD "precedent_a{act=\"x} 1\n",
		HEAD "precedent_a{user=\"x\"} 1\n", HEAD "precedent_a{act=\"x\"}1\n", HEAD "precedent_a{act=\"\\x\"} 1\n",
		HEAD "precedent_a 1\n" HEAD "precedent_a 1\n", "# TYPE precedent_a gauge\nprecedent_a 1\n",
		"# HELP precedent_a A.\n# TYPE precedent_a counter\nprecedent_a 1\n",
		"# HELP precedent_a_total A.\n# TYPE precedent_a_total gauge\nprecedent_a_total 1\n", HEAD "precedent_a NaN\n", HEAD "\n",
	};
	static struct checker c;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (check(&c, bad[i]))
			fail_msg("accepted: %s", bad[i]);
	if (!check(&c, HEAD "precedent_a{act=\"x\\\"y\",state=\"\"} 1e-05\nprecedent_a{act=\"z\"} 2\n"))
		fail_msg("%s", c.why);
}

/* ---- the text ---- */

static char *text_of(const struct metrics_live *live, const struct metrics_stored *stored)
{
	struct buf out = {0};

	metrics_format(live, stored, &out);
	buf_put_u8(&out, 0);
	assert_false(out.failed);
	return (char *)out.data;
}

static void assert_checked(const char *text)
{
	static struct checker c;

	if (!check(&c, text))
		fail_msg("%s\n%s", c.why, text);
}

static void assert_line(const char *text, const char *line)
{
	const char *at = strstr(text, line);

	if (!at || (at != text && at[-1] != '\n') || at[strlen(line)] != '\n')
		fail_msg("no line %s in\n%s", line, text);
}

static void test_live(void **state)
{
	struct metrics_live live = {.started = 1700000000, .looked = 1700000010, .looks = 12, .failed_looks = 1, .look_s = 0.25,
				    .look_total_s = 3.5, .period_s = 13, .jobs = 10000,
				    .counts = {.met = {[ACT_TRACE] = 3, [ACT_PREDICT] = 40, [ACT_OBSERVE] = 5}, .told = 40,
					       .limited = 30, .raised = 2, .ended = 41}};
	char *text = text_of(&live, NULL);

	(void)state;
	assert_checked(text);
	assert_line(text, "precedent_build_info{version=\"" PRECEDENT_VERSION "\"} 1");
	assert_line(text, "precedent_start_time_seconds 1700000000");
	assert_line(text, "precedent_last_look_timestamp_seconds 1700000010");
	assert_line(text, "precedent_look_last_seconds 0.25");
	assert_line(text, "precedent_look_period_seconds 13");
	assert_line(text, "precedent_looks_failed_total 1");
	assert_line(text, "precedent_queue_jobs 10000");
	assert_line(text, "precedent_jobs_total{act=\"predict\"} 40");
	assert_line(text, "precedent_limits_raised_total 2");
	assert_line(text, "precedent_shortened_timeouts_total 0");
	assert_line(text, "precedent_store_up 0");
	free(text);
}

static void put_run(struct store *s, uint32_t job, const char *candidate, double elapsed, double said)
{
	struct store_run r = {.jobid = job, .submit_time = NOW - 86400, .uid = 4711, .nodes = 2, .act = ACT_PREDICT, .pred_s = said,
			      .lo_s = said * 0.9, .hi_s = said * 1.1, .user_limit_min = 60, .limit_min = 10, .start_time = NOW - 86400,
			      .end_time = NOW - 80000, .elapsed_s = elapsed};

	strcpy(r.key, KEY1);
	strcpy(r.family, FAMILY);
	strcpy(r.name, "secret-name");
	snprintf(r.candidate, sizeof(r.candidate), "%s", candidate);
	snprintf(r.pred_candidate, sizeof(r.pred_candidate), "%s", candidate);
	strcpy(r.end_state, "COMPLETED");
	ok(store_run_put(s, &r, &err));
}

static void test_stored(void **state)
{
	static struct precedent_conf conf = {.n_candidates = 2, .candidates = {{.name = "fast"}, {.name = "odd\"\\:x"}}};
	struct store *s = must_open(STORE_WRITE | STORE_WAIT);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_probe probe = {.state = PROBE_DONE, .cost_node_s = 80};
	static struct metrics_stored stored;
	struct metrics_live live = {0};
	char *text;

	(void)state;
	ok(store_program_put(s, &p, &err));
	strcpy(probe.key, KEY1);
	strcpy(probe.candidate, "fast");
	ok(store_probe_put(s, &probe, &err));
	ok(store_cost_add(s, NOW, 4711, "fast", 80, &err));
	ok(store_heartbeat_set(s, NOW - 5, &err));
	put_run(s, 1, "fast", 100, 110);
	put_run(s, 2, "fast", 100, 100);
	put_run(s, 3, "odd\"\\:x", 100, 50);
	put_run(s, 4, "gone", 100, 100);
	ok(metrics_collect(s, &conf, NOW, &stored, &err));
	text = text_of(&live, &stored);
	assert_checked(text);
	assert_line(text, "precedent_store_up 1");
	assert_line(text, "precedent_heartbeat_timestamp_seconds 1699999995");
	assert_line(text, "precedent_programs{state=\"ready\"} 1");
	assert_line(text, "precedent_programs{state=\"failed\"} 0");
	assert_line(text, "precedent_probes{state=\"done\"} 1");
	assert_line(text, "precedent_probe_node_seconds 80");
	assert_line(text, "precedent_runs 4");
	assert_line(text, "precedent_error_ratio{candidate=\"all\",predictor=\"precedent\",quantile=\"1\"} 0.5");
	assert_line(text, "precedent_error_ratio{candidate=\"fast\",predictor=\"precedent\",quantile=\"0.5\"} 0.05");
	assert_line(text, "precedent_error_ratio{candidate=\"fast\",predictor=\"request\",quantile=\"0.5\"} 35");
	assert_line(text, "precedent_recent_runs{candidate=\"odd\\\"\\\\:x\"} 1");
	assert_line(text, "precedent_recent_above_interval{candidate=\"all\"} 1");
	assert_line(text, "precedent_recent_used_node_seconds{candidate=\"fast\"} 400");
	assert_null(strstr(text, "4711"));
	assert_null(strstr(text, "secret"));
	assert_null(strstr(text, "gone"));
	assert_null(strstr(text, KEY1));
	free(text);
	ok(metrics_collect(s, &conf, NOW + 8 * 86400, &stored, &err)); /* nothing of the last days */
	text = text_of(&live, &stored);
	assert_checked(text);
	assert_line(text, "precedent_recent_runs{candidate=\"all\"} 0");
	free(text);
	ok(metrics_collect(s, &(struct precedent_conf){0}, NOW, &stored, &err)); /* no Candidates: all places with runs */
	text = text_of(&live, &stored);
	assert_line(text, "precedent_recent_runs{candidate=\"gone\"} 1");
	free(text);
	store_close(s);
}

/* Whether tracing makes jobs fail, without the names of programs and users. */
static void test_tracing(void **state)
{
	static const enum tracing_state states[] = {TRACING_ON, TRACING_SUSPECTED, TRACING_STOPPED};
	static struct precedent_conf conf;
	struct store *s = must_open(STORE_WRITE | STORE_WAIT);
	static struct metrics_stored stored;
	struct metrics_live live = {0};
	char *text, line[64];

	(void)state;
	for (unsigned i = 0; i < 10; i++) { /* 1, 2, 3 and 4 of the four kinds; no user counts for more than that here */
		static const enum trial_pair pairs[] = {1, 2, 2, 3, 3, 3, 4, 4, 4, 4};
		struct store_trial t = {.uid = 4711, .pair = pairs[i], .pair_at = NOW - TRIAL_WINDOW_S};

		snprintf(t.name, sizeof(t.name), "%032x", i);
		strcpy(t.key, KEY1);
		ok(store_trial_put(s, &t, &err));
	}
	for (int i = 0; i < 3; i++) {
		struct store_tracing t = {states[i], NOW};

		ok(store_tracing_set(s, &t, &err));
		ok(metrics_collect(s, &conf, NOW, &stored, &err));
		text = text_of(&live, &stored);
		assert_checked(text);
		snprintf(line, sizeof(line), "precedent_tracing_suspected %d", i > 0);
		assert_line(text, line);
		snprintf(line, sizeof(line), "precedent_tracing_stopped %d", i > 1);
		assert_line(text, line);
		assert_line(text, "precedent_tracing_pairs{state=\"both_completed\"} 1");
		assert_line(text, "precedent_tracing_pairs{state=\"both_failed\"} 2");
		assert_line(text, "precedent_tracing_pairs{state=\"traced_failed\"} 3");
		assert_line(text, "precedent_tracing_pairs{state=\"untraced_failed\"} 4");
		assert_null(strstr(text, "4711"));
		free(text);
	}
	ok(metrics_collect(s, &conf, NOW + 1, &stored, &err)); /* too old */
	text = text_of(&live, &stored);
	assert_line(text, "precedent_tracing_pairs{state=\"traced_failed\"} 0");
	free(text);
	store_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checker),
		cmocka_unit_test(test_live),
		cmocka_unit_test_setup_teardown(test_stored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tracing, setup, teardown),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
