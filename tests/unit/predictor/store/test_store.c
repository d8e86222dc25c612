/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The store: what is written is read back, by every way of asking for it. */
#include "predictor/store/records.h"
#include "tests/unit/store_fixture.h"
#include "predictor/store/keep.h"
#include "predictor/store/probes.h"
#include "predictor/store/runs.h"

static struct store_run run_of(uint32_t jobid, int64_t submit)
{
	struct store_run r = {.jobid = jobid,
			      .submit_time = submit,
			      .uid = 1000,
			      .key = KEY1,
			      .family = FAMILY,
			      .name = "melt",
			      .act = ACT_PREDICT,
			      .mode = MODE_LIMIT,
			      .partition = "fast",
			      .candidate = "fast",
			      .pred_candidate = "fast",
			      .pred_s = 100,
			      .lo_s = 95,
			      .hi_s = 105,
			      .user_limit_min = 10,
			      .limit_min = 4,
			      .nodes = 2,
			      .tasks = 32,
			      .start_time = submit + 10,
			      .end_time = submit + 110,
			      .elapsed_s = 100,
			      .end_state = "COMPLETED",
			      .extensions = 0};

	return r;
}

/* ---- programs, estimates, probes ---- */

static void test_programs(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_NEW, NOW), back;
	struct stat st;

	(void)state;
	ok(stat(path, &st));
	assert_int_equal(st.st_mode & 0777 & ~0640, 0);
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_memory_equal(back.key, p.key, sizeof(p.key));
	assert_string_equal(back.family, FAMILY);
	assert_int_equal(back.uid, 1000);
	assert_int_equal(back.state, PROGRAM_NEW);
	assert_string_equal(back.reason, "why");
	assert_string_equal(back.name, "melt");
	assert_int_equal(back.source_job, 17);
	assert_string_equal(back.source_candidate, "fast");
	assert_true(back.source_elapsed_s == 190.5 && back.mpi_s == 180.25);
	assert_int_equal(back.n_traces, 2);
	assert_int_equal(back.nodes, 2);
	assert_int_equal(back.tasks, 32);
	assert_int_equal(back.created, NOW);
	assert_int_equal(back.retrace_at, 5);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 0);
	assert_int_equal(store_program_get(s, "nonsense", &back, &err), -1);
	assert_non_null(strstr(err.text, "is not a key"));
	ok(store_program_set_state(s, KEY1, PROGRAM_FAILED, "no MPI", NOW + 9, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(back.state, PROGRAM_FAILED);
	assert_string_equal(back.reason, "no MPI");
	assert_int_equal(back.updated, NOW + 9);
	assert_int_equal(store_program_set_state(s, KEY2, PROGRAM_NEW, NULL, NOW, &err), -1);
	p.uid = UINT32_MAX - 1;
	p.source_job = UINT32_MAX - 2;
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(back.uid, UINT32_MAX - 1);
	assert_int_equal(back.source_job, UINT32_MAX - 2);
	store_close(s);
	store_close(NULL);
}

struct poll_cache {
	struct store *s;
	int n, stop_at;
	char keys[8][IDENTITY_KEY_LEN + 1];
};

static int see_program(const struct store_program *p, void *arg)
{
	struct poll_cache *seen = arg;

	strcpy(seen->keys[seen->n++], p->key);
	if (seen->s) /* a callback may change what is walked over */
		ok(store_program_set_state(seen->s, p->key, PROGRAM_BUILDING, "", NOW + 100, &err));
	return seen->n == seen->stop_at;
}

static void test_program_lists(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program_filter all = {.uid = STORE_ALL_USERS}, some = all;
	struct store_program p;
	struct poll_cache seen = {0};

	(void)state;
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 0);
	p = program(KEY1, PROGRAM_NEW, NOW + 1);
	ok(store_program_put(s, &p, &err));
	p = program(KEY2, PROGRAM_READY, NOW + 3);
	p.uid = 1001;
	ok(store_program_put(s, &p, &err));
	p = program(KEY3, PROGRAM_TRACED, NOW + 2);
	p.family[0] = '\0';
	ok(store_program_put(s, &p, &err));
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 3);
	assert_string_equal(seen.keys[0], KEY2);
	assert_string_equal(seen.keys[1], KEY3);
	assert_string_equal(seen.keys[2], KEY1);
	some.state_mask = 1 << PROGRAM_NEW | 1 << PROGRAM_TRACED;
	seen = (struct poll_cache){.s = s};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 2);
	seen = (struct poll_cache){0};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 0);
	some = all;
	some.uid = 1001;
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 1);
	some = all;
	some.family = FAMILY;
	seen = (struct poll_cache){0};
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 2);
	some.max = 1;
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), 1);
	seen = (struct poll_cache){.stop_at = 2};
	assert_int_equal(store_programs_each(s, &all, see_program, &seen, &err), 2);
	some.family = "x";
	assert_int_equal(store_programs_each(s, &some, see_program, &seen, &err), -1);
	store_close(s);
}

static void test_lookup(void **state)
{
	struct store *s = must_open(STORE_WRITE), *r;
	struct store_program p = program(KEY1, PROGRAM_READY, NOW);
	struct store_estimate e = {.candidate = "fast", .e = {190, 185, 200, ESTIMATE_BLEND, 3}, .node_class = "0123456789abcdef", .updated = NOW, .scale = 1};
	struct store_lookup l;
	enum estimate_kind kind;
	int64_t updated;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	strcpy(e.candidate, "slow:big");
	e.e.mean_s = 400;
	ok(store_estimate_put(s, KEY1, &e, &err));
	e.e.mean_s = 401;
	ok(store_estimate_put(s, KEY1, &e, &err));
	r = must_open(STORE_READ);
	assert_int_equal(store_lookup(r, KEY2, &l, &err), 0);
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_string_equal(l.program.key, KEY1);
	assert_int_equal(l.n_estimates, 2);
	assert_string_equal(l.estimates[0].candidate, "fast");
	assert_true(l.estimates[0].e.mean_s == 190 && l.estimates[0].e.lo_s == 185 &&
		    l.estimates[0].e.hi_s == 200);
	assert_int_equal(l.estimates[0].e.kind, ESTIMATE_BLEND);
	assert_int_equal(l.estimates[0].e.n, 3);
	assert_string_equal(l.estimates[0].node_class, "0123456789abcdef");
	assert_true(l.estimates[1].e.mean_s == 401);
	assert_int_equal(store_estimate_updated(r, KEY1, "fast", &kind, &updated, &err), 1);
	assert_true(kind == ESTIMATE_BLEND && updated == l.estimates[0].updated);
	assert_int_equal(store_estimate_updated(r, KEY1, "slow", &kind, &updated, &err), 0);
	assert_int_equal(store_estimate_updated(r, KEY2, "fast", &kind, &updated, &err), 0);
	assert_int_equal(store_estimate_updated(r, "no key", "fast", &kind, &updated, &err), -1);
	ok(store_estimate_drop(s, KEY1, "fast", &err));
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.n_estimates, 1);
	/* more candidates than there were ever configured at once */
	for (int i = 0; i < STORE_ESTIMATES_MAX + 3; i++) {
		snprintf(e.candidate, sizeof(e.candidate), "c%02d", i);
		ok(store_estimate_put(s, KEY1, &e, &err));
	}
	assert_int_equal(store_lookup(r, KEY1, &l, &err), 1);
	assert_int_equal(l.n_estimates, STORE_ESTIMATES_MAX);
	assert_int_equal(store_lookup(r, NULL, &l, &err), -1);
	assert_int_equal(store_program_put(r, &p, &err), -1);
	assert_int_equal(store_last_fault(), STORE_DENIED);
	store_close(r);
	store_close(s);
}

static int count_probe(const struct store_probe *p, void *arg)
{
	assert_true(p->key[0] && p->candidate[0]);
	++*(int *)arg;
	return 0;
}

static void test_probes(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_probe p = {.key = KEY1,
				.candidate = "fast",
				.jobid = 18,
				.state = PROBE_SUBMITTED,
				.tries = 1,
				.reason = "",
				.submitted = NOW,
				.updated = NOW,
				.not_before = NOW + 60,
				.cost_node_s = 12.5};
	struct store_probe back;
	char *huge = malloc(STORE_RESULT_MAX + 2), *text;
	struct result *record = malloc(sizeof(*record));
	int n = 0;

	(void)state;
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 1);
	assert_false(back.kept);
	assert_int_equal(back.jobid, 18);
	assert_int_equal(back.state, PROBE_SUBMITTED);
	assert_true(back.cost_node_s == 12.5);
	assert_int_equal(back.not_before, NOW + 60);
	p.state = PROBE_DONE;
	p.result = "precedent-result 1\nend\n";
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probe_get(s, KEY1, "fast", &back, &err), 1);
	assert_true(back.kept);
	assert_int_equal(store_record_text(s, KEY1, "fast", &text, &err), 1);
	assert_string_equal(text, p.result);
	free(text);
	assert_int_equal(store_record_get(s, KEY1, "fast", record, &err), 0); /* no record that can be read */
	assert_int_equal(store_probe_get(s, KEY1, "slow", &back, &err), 0);
	assert_int_equal(store_record_get(s, KEY1, "slow", record, &err), 0);
	strcpy(p.candidate, "slow");
	p.state = PROBE_WAITING;
	ok(store_probe_put(s, &p, &err));
	strcpy(p.key, KEY2);
	ok(store_probe_put(s, &p, &err));
	assert_int_equal(store_probes_each(s, NULL, 0, count_probe, &n, &err), 3);
	assert_int_equal(store_probes_each(s, KEY1, 0, count_probe, &n, &err), 2);
	assert_int_equal(store_probes_each(s, NULL, 1 << PROBE_WAITING, count_probe, &n, &err), 2);
	assert_int_equal(n, 7);
	assert_non_null(huge);
	memset(huge, 'x', STORE_RESULT_MAX + 1);
	huge[STORE_RESULT_MAX + 1] = '\0';
	p.result = huge;
	assert_int_equal(store_probe_put(s, &p, &err), -1);
	free(huge);
	free(record);
	store_close(s);
}

static void test_forget(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW), back;
	struct store_estimate e = {.candidate = "fast", .e = {190, 185, 200, ESTIMATE_BLEND, 3}, .node_class = "", .updated = NOW, .scale = 1};
	struct store_probe probe = {.key = KEY1, .candidate = "fast"};
	struct store_run r = run_of(17, NOW);
	struct store_counts c;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	ok(store_probe_put(s, &probe, &err));
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_program_forget(s, KEY2, &err), 0);
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 0);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.programs + c.estimates + c.probes, 0);
	assert_int_equal(c.runs, 1);
	/* within the caller's transaction: undone with it */
	ok(store_program_put(s, &p, &err));
	ok(store_begin(s, &err));
	assert_int_equal(store_program_forget(s, KEY1, &err), 1);
	store_rollback(s);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	store_close(s);
}

/* ---- runs ---- */

static int count_run(const struct store_run *r, void *arg)
{
	(void)r;
	++*(int *)arg;
	return 0;
}

static int first_run(const struct store_run *r, void *arg)
{
	*(struct store_run *)arg = *r;
	return 1;
}

static void test_runs(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_run r = run_of(17, NOW), back;
	struct store_run_filter f = {.uid = STORE_ALL_USERS};
	int n = 0;

	(void)state;
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, 17, &back, &err), 1);
	/* cmocka has no comparison of structs with padding: the fields one by one that differ from zero */
	assert_string_equal(back.key, KEY1);
	assert_string_equal(back.pred_candidate, "fast");
	assert_int_equal(back.act, ACT_PREDICT);
	assert_int_equal(back.mode, MODE_LIMIT);
	assert_true(back.pred_s == 100 && back.lo_s == 95 && back.hi_s == 105 && back.elapsed_s == 100);
	assert_int_equal(back.user_limit_min, 10);
	assert_int_equal(back.end_time, NOW + 110);
	assert_string_equal(back.end_state, "COMPLETED");
	assert_int_equal(store_run_get(s, 18, &back, &err), 0);
	/* job ids start again one day: the latest counts */
	r = run_of(17, NOW + 1000000);
	r.user_limit_min = DURATION_UNSET;
	r.end_state[0] = '\0';
	r.end_time = 0;
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_run_get(s, 17, &back, &err), 1);
	assert_int_equal(back.submit_time, NOW + 1000000);
	assert_int_equal(back.user_limit_min, DURATION_UNSET);
	r = run_of(18, NOW + 5);
	r.uid = 0;
	r.key[0] = r.family[0] = '\0';
	r.pred_s = 0;
	strcpy(r.end_state, "FAILED");
	ok(store_run_put(s, &r, &err));
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 3);
	f.unfinished = true;
	assert_int_equal(store_runs_each(s, &f, first_run, &back, &err), 1);
	assert_int_equal(back.submit_time, NOW + 1000000);
	f = (struct store_run_filter){.uid = STORE_ALL_USERS, .finished = true, .since = NOW + 1};
	assert_int_equal(store_runs_each(s, &f, first_run, &back, &err), 1);
	assert_int_equal(back.jobid, 18);
	assert_string_equal(back.key, "");
	f = (struct store_run_filter){.uid = 0};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 1);
	f = (struct store_run_filter){.uid = 1000,
				      .key = KEY1,
				      .family = FAMILY,
				      .candidate = "fast",
				      .completed = true,
				      .predicted = true};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 1);
	f = (struct store_run_filter){.uid = STORE_ALL_USERS, .max = 2};
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), 2);
	f.key = "bad";
	assert_int_equal(store_runs_each(s, &f, count_run, &n, &err), -1);
	strcpy(r.key, "bad");
	assert_int_equal(store_run_put(s, &r, &err), -1);
	store_close(s);
}

static void test_past(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct estimate_past past[4];

	(void)state;
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 4, &err), 0);
	for (uint32_t i = 0; i < 6; i++) {
		struct store_run r = run_of(20 + i, NOW + i);

		r.elapsed_s = 100 + i;
		if (i == 1)
			strcpy(r.end_state, "TIMEOUT");
		if (i == 2)
			strcpy(r.candidate, "slow");
		if (i == 3)
			strcpy(r.pred_candidate, "slow");
		ok(store_run_put(s, &r, &err));
	}
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 4, &err), 4);
	assert_true(past[0].actual_s == 105 && past[0].pred_s == 100);
	assert_true(past[1].actual_s == 104);
	assert_true(past[2].actual_s == 103 && past[2].pred_s == 0); /* that prediction was for elsewhere */
	assert_true(past[3].actual_s == 100);
	assert_int_equal(store_runs_past(s, KEY1, "fast", past, 2, &err), 2);
	assert_int_equal(store_runs_past(s, KEY2, "fast", past, 4, &err), 0);
	store_close(s);
}

static int take_accuracy(const struct store_accuracy *a, void *arg)
{
	struct store_accuracy **p = arg;

	*(*p)++ = *a;
	return 0;
}

static void test_accuracy(void **state)
{
	/* actual against predicted 100 (95-105) */
	static const double fast[] = {100, 125, 80, 104};
	struct store *s = must_open(STORE_WRITE);
	struct store_accuracy a[2], *p = a;

	(void)state;
	assert_int_equal(store_accuracy_each(s, STORE_ALL_USERS, NULL, 0, take_accuracy, &p, &err), 0);
	for (uint32_t i = 0; i < 4; i++) {
		struct store_run r = run_of(30 + i, NOW + i);

		r.elapsed_s = fast[i];
		r.extensions = i == 1;
		r.user_limit_min = i ? DURATION_UNSET : 10;
		r.limit_min = DURATION_UNLIMITED;
		ok(store_run_put(s, &r, &err));
	}
	{
		struct store_run r = run_of(40, NOW);

		strcpy(r.end_state, "TIMEOUT");
		ok(store_run_put(s, &r, &err));
		r = run_of(41, NOW);
		strcpy(r.candidate, "slow"); /* ran elsewhere than predicted: says nothing */
		ok(store_run_put(s, &r, &err));
		r = run_of(42, NOW);
		strcpy(r.candidate, "slow");
		strcpy(r.pred_candidate, "slow");
		r.uid = 1001;
		ok(store_run_put(s, &r, &err));
	}
	assert_int_equal(store_accuracy_each(s, STORE_ALL_USERS, NULL, 0, take_accuracy, &p, &err), 2);
	assert_string_equal(a[0].candidate, "fast");
	assert_string_equal(a[1].candidate, "slow");
	assert_int_equal(a[0].n, 4);
	/* |errors|: 0, 0.2, 0.25, 0.03846 */
	assert_float_equal(a[0].mean_abs_rel, 0.122115, 1e-5);
	assert_float_equal(a[0].median_abs_rel, 0.119231, 1e-5);
	assert_float_equal(a[0].p90_abs_rel, 0.25, 1e-9);
	assert_float_equal(a[0].bias_rel, (0 - 0.2 + 0.25 - 4.0 / 104) / 4, 1e-9);
	assert_float_equal(a[0].share_under, 2.0 / 5,
			   1e-9); /* the one of 125 s and the one that was killed */
	assert_float_equal(a[0].share_inside, 0.5, 1e-9);
	assert_int_equal(a[0].extended, 1);
	assert_int_equal(a[0].timed_out, 1);
	assert_float_equal(a[0].used_of_requested, 100.0 / 600, 1e-9);
	assert_float_equal(a[0].used_of_limit, 0, 1e-9);
	assert_int_equal(a[1].n, 1);
	p = a;
	assert_int_equal(store_accuracy_each(s, 1001, NULL, 0, take_accuracy, &p, &err), 1);
	assert_string_equal(a[0].candidate, "slow");
	p = a;
	assert_int_equal(store_accuracy_each(s, 1000, KEY2, 0, take_accuracy, &p, &err), 0);
	assert_int_equal(store_accuracy_each(s, 1000, "x", 0, take_accuracy, &p, &err), -1);
	store_close(s);
}

/* ---- partitions, meta, upkeep ---- */

static void test_partitions(void **state)
{
	struct store_partition parts[] = {{"slow", false, DURATION_UNSET, DURATION_UNLIMITED},
					  {"fast", true, 30, 60}};
	struct store *s = must_open(STORE_WRITE), *r = must_open(STORE_READ);
	struct store_partition p;

	(void)state;
	assert_int_equal(store_partition_get(r, NULL, &p, &err), 0);
	ok(store_partitions_put(s, parts, 2, &err));
	ok(store_partitions_put(s, parts, 2, &err));
	assert_int_equal(store_partition_get(r, NULL, &p, &err), 1);
	assert_string_equal(p.name, "fast");
	assert_int_equal(p.default_min, 30);
	assert_int_equal(store_partition_get(r, "slow", &p, &err), 1);
	assert_int_equal(p.default_min, DURATION_UNSET);
	assert_int_equal(p.max_min, DURATION_UNLIMITED);
	assert_false(p.is_default);
	ok(store_partitions_put(s, parts, 1, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 0);
	ok(store_begin(s, &err));
	ok(store_partitions_put(s, parts + 1, 1, &err));
	ok(store_commit(s, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 1);
	ok(store_partitions_put(s, NULL, 0, &err));
	assert_int_equal(store_partition_get(r, "fast", &p, &err), 0);
	store_close(r);
	store_close(s);
}

static void test_meta(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	char value[8];
	int64_t when = 7;

	(void)state;
	ok(store_heartbeat_get(s, &when, &err));
	assert_int_equal(when, 0);
	ok(store_heartbeat_set(s, NOW, &err));
	ok(store_heartbeat_get(s, &when, &err));
	assert_int_equal(when, NOW);
	assert_int_equal(store_meta_get(s, "cursor", value, sizeof(value), &err), 0);
	assert_string_equal(value, "");
	ok(store_meta_set(s, "cursor", "1234567890", &err));
	assert_int_equal(store_meta_get(s, "cursor", value, sizeof(value), &err), 1);
	assert_string_equal(value, "1234567");
	store_close(s);
}

static void test_prune(void **state)
{
	struct store *s = must_open(STORE_WRITE);
	struct store_program p = program(KEY1, PROGRAM_READY, NOW), q = program(KEY2, PROGRAM_READY, NOW),
			     back;
	struct store_estimate e = {.candidate = "fast", .e = {190, 185, 200, ESTIMATE_BLEND, 3}, .node_class = "", .updated = NOW, .scale = 1};
	struct store_run old = run_of(1, NOW), open = run_of(2, NOW), fresh = run_of(3, NOW + 1000);
	struct store_counts c;

	(void)state;
	ok(store_program_put(s, &p, &err));
	ok(store_program_put(s, &q, &err));
	ok(store_estimate_put(s, KEY1, &e, &err));
	ok(store_estimate_put(s, KEY2, &e, &err));
	open.end_time = 0;
	open.end_state[0] = '\0';
	strcpy(old.key, KEY2);
	ok(store_run_put(s, &old, &err));
	ok(store_run_put(s, &open, &err));
	ok(store_run_put(s, &fresh, &err));
	/* the old run, the program without newer runs, its estimate */
	assert_int_equal(store_prune(s, NOW + 500, &err), 2);
	assert_int_equal(store_program_get(s, KEY1, &back, &err), 1);
	assert_int_equal(store_program_get(s, KEY2, &back, &err), 0);
	ok(store_counts(s, &c, &err));
	assert_int_equal(c.runs, 2);
	assert_int_equal(c.runs_open, 1);
	assert_int_equal(c.estimates, 1);
	assert_int_equal(c.by_state[PROGRAM_READY], 1);
	assert_int_equal(c.schema, STORE_SCHEMA_VERSION);
	assert_true(c.file_bytes > 0);
	assert_int_equal(store_prune(s, NOW + 500, &err), 0);
	ok(store_check(s, &err));
	store_close(s);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
	    T(test_programs),	T(test_program_lists), T(test_lookup), T(test_probes),
	    T(test_forget),	T(test_runs),	       T(test_past),   T(test_accuracy),
	    T(test_partitions), T(test_meta),	       T(test_prune),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
