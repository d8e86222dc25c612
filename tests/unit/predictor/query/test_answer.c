/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Answers to queries: jobs of other users, malformed requests, and the reading of slurm.conf. */
#include <math.h>

#include "common/clean_json.h"
#include "common/duration.h"
#include "predictor/cluster/slurm_conf.h"
#include "predictor/store/busy.h"
#include "predictor/store/kin.h"
#include "predictor/store/past.h"
#include "predictor/store/probes.h"
#include "predictor/store/keep.h"
#include "predictor/store/spool_use.h"
#include "tests/unit/predictor/query/answer_world.h"

static void test_nonsense(void **state)
{
	static const char *const requests[] = {
		"", "{", "[]", "null", "\"jobs\"", "{}", "{\"precedent\": 2, \"verb\": \"jobs\"}",
		"{\"precedent\": 1}", "{\"precedent\": 1, \"verb\": 7}", "{\"precedent\": 1, \"verb\": \"drop\"}",
		"{\"precedent\": 1, \"verb\": \"show\"}", "{\"precedent\": 1, \"verb\": \"show\", \"job\": -1}",
		"{\"precedent\": 1, \"verb\": \"show\", \"job\": \"1\"}",
		"{\"precedent\": 1, \"verb\": \"show\", \"job\": 4294967296}",
		"{\"precedent\": 1, \"verb\": \"jobs\", \"verb\": \"show\"}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		assert_error(0, true, requests[i], "");
}

static void test_jobs_are_ones_own(void **state)
{
	(void)state;
	assert_int_equal(jobs_seen(1000, false, "{\"precedent\": 1, \"verb\": \"jobs\"}"), 3);
	assert_int_equal(jobs_seen(1000, false, "{\"precedent\": 1, \"verb\": \"jobs\", \"max\": 2}"), 2);
	assert_int_equal(jobs_seen(1000, false, "{\"precedent\": 1, \"verb\": \"jobs\", \"all\": true}"), 3);
	assert_int_equal(jobs_seen(3000, false, "{\"precedent\": 1, \"verb\": \"jobs\", \"all\": true}"), 0);
	assert_int_equal(jobs_seen(0, true, "{\"precedent\": 1, \"verb\": \"jobs\", \"all\": true}"), 4);
}

static void test_others_jobs_do_not_exist(void **state)
{
	static const char *const verbs[] = {"show", "retrace", "forget"};
	struct store_program p;
	struct errbuf e;
	char request[128];

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		snprintf(request, sizeof(request), "{\"precedent\": 1, \"verb\": \"%s\", \"job\": 9}", verbs[i]);
		assert_error(1000, false, request, "not yours");
	}
	assert_int_equal(store_program_get(store, KEY_B, &p, &e), 1);
	assert_int_equal(p.state, PROGRAM_READY);
}

static void task_put(uint32_t job, uint32_t task, int64_t submit, int64_t start)
{
	struct store_run r = {.jobid = job, .submit_time = submit, .uid = 1000, .key = KEY_A, .user_limit_min = 60, .start_time = start,
			      .array_job = 90, .array_task = task};
	struct errbuf e;

	assert_int_equal(store_run_put(store, &r, &e), 0);
}

/* A task that has started is found by its index, however many jobs came after it. The last task has the array's job id. */
static void test_tasks(void **state)
{
	static const struct {
		uint32_t task;
		json_int_t job, start;
	} known[] = {{0, 91, NOW + 1}, {1, 93, NOW + 20}, {2, 90, NOW + 6}};
	char request[128];
	const json_t *job;
	json_t *reply;

	(void)state;
	task_put(91, 0, NOW, NOW + 1);
	task_put(93, 1, NOW, NOW + 5);
	task_put(93, 1, NOW + 9, NOW + 20); /* was queued again */
	task_put(90, 2, NOW, NOW + 6);
	for (uint32_t i = 1000; i < 1600; i++)
		run_put(i, 1000, KEY_A, 0, 1);
	for (size_t i = 0; i < 3; i++) {
		snprintf(request, sizeof(request), "{\"precedent\": 1, \"verb\": \"show\", \"array_job\": 90, \"array_task\": %u}",
			 known[i].task);
		reply = ask(1000, false, request);
		job = json_object_get(reply, "job");
		assert_int_equal(json_integer_value(json_object_get(job, "job")), known[i].job);
		assert_int_equal(json_integer_value(json_object_get(job, "start")), known[i].start);
		json_decref(reply);
		assert_error(3000, false, request, "index");
	}
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"array_job\": 90, \"array_task\": 3}",
		     "job 90: index 3 has not started, or the job is not known to Precedent, or not yours");
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 90, \"array_task\": 1}", "no job was named");
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"array_job\": 90, \"array_task\": \"1\"}", "no job was named");
	task_put(90, 0, NOW, 0); /* as long as tasks wait */
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"array_job\": 90, \"array_task\": 2}", "has not started");
}

static void test_show(void **state)
{
	json_t *reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}"), *job;

	(void)state;
	job = json_object_get(reply, "job");
	assert_int_equal(json_integer_value(json_object_get(job, "job")), 1);
	assert_string_equal(json_string_value(json_object_get(job, "name")), "app?"); /* not UTF-8 in the store */
	assert_int_equal(json_array_size(json_object_get(reply, "estimates")), 1);
	assert_int_equal(json_array_size(json_object_get(reply, "history")), 3);
	assert_string_equal(json_string_value(json_object_get(json_object_get(reply, "program"), "state")), "ready");
	assert_int_equal(json_object_size(json_object_get(reply, "past_errors")), 0); /* nothing had ended before job 1 */
	assert_true(json_is_null(json_object_get(json_object_get(reply, "baselines"), "last_two_user")));
	json_decref(reply);
}

/* A record of an earlier version, with a field that is no longer used. */
static void test_probe_of_earlier_version(void **state)
{
	struct store_probe probe = {.state = PROBE_DONE, .key = KEY_A, .candidate = "old",
				    .result = "precedent-result 1\njob 5\ncandidate old\nstatus ok\nnode_class 0123456789abcdef Old CPU\n"
					      "startup_s 0\ntrace 0 mpi_s 1 skel_s 1 lo_s 1 hi_s 1 ran_s 1 events 1 confidence 1\n"
					      "without_own no AVX2 here\nhash fedcba9876543210\nend\n"};
	json_t *reply, *record;
	struct errbuf e;

	(void)state;
	assert_int_equal(store_probe_put(store, &probe, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	record = json_object_get(json_array_get(json_object_get(reply, "probes"), 0), "record");
	assert_true(json_is_true(json_object_get(record, "ok")));
	assert_null(json_object_get(record, "without_own"));
	json_decref(reply);
	assert_int_equal(store_probe_drop(store, KEY_A, "old", &e), 0);
}

/* Job 3 was submitted when jobs 1 and 2 had ended, with errors of 0 and 20 %. */
static void test_evidence(void **state)
{
	json_t *reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 3}");
	const json_t *fast = json_object_get(json_object_get(reply, "past_errors"), "fast");
	const json_t *baselines = json_object_get(reply, "baselines");

	(void)state;
	assert_true(number(json_object_get(fast, "job"), "n") == 2);
	assert_true(number(json_object_get(fast, "job"), "median_error") == 0.1);
	assert_true(number(json_object_get(fast, "job"), "worst_error") == 0.2);
	assert_true(number(json_object_get(fast, "family"), "n") == 2); /* the other user's runs of that family are not his */
	assert_true(number(json_object_get(fast, "family"), "under") == 1);
	assert_true(number(baselines, "request") == 3600);
	assert_true(number(baselines, "last_two_user") == 112.5);
	assert_true(number(baselines, "last_two_job") == 112.5);
	assert_true(number(json_object_get(reply, "program"), "source_ended") == NOW + 1);
	assert_true(number(json_object_get(reply, "program"), "source_submitted") == NOW + 1);
	json_decref(reply);
}

/* Jobs that differ in numbers only, and drift: of the asking user's job alone. */
static void test_relations(void **state)
{
	struct store_family f = {.candidate = "fast", .e = {100, 95, 106, ESTIMATE_FAMILY, 5}, .programs = 3, .ranges = "1:4",
				 .updated = NOW};
	struct drift d = {DRIFT_REPROBED, NOW - 50, NOW};
	struct store_run r;
	struct errbuf e;
	json_t *reply, *list;

	(void)state;
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	assert_null(json_object_get(reply, "families"));
	assert_null(json_object_get(reply, "drift"));
	json_decref(reply);
	assert_int_equal(store_run_get(store, 1, &r, &e), 1);
	memcpy(f.family, r.family, sizeof(f.family));
	strcpy(f.kin, KEY_B);
	assert_int_equal(store_family_put(store, &f, &e), 0);
	strcpy(f.candidate, "slow");
	strcpy(f.reason, "too uncertain");
	memset(&f.e, 0, sizeof(f.e));
	assert_int_equal(store_family_put(store, &f, &e), 0);
	strcpy(r.kin, KEY_B);
	assert_int_equal(store_run_put(store, &r, &e), 0);
	assert_int_equal(store_drift_put(store, KEY_A, "fast", &d, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	list = json_object_get(reply, "families");
	assert_int_equal(json_array_size(list), 2);
	assert_true(json_real_value(json_object_get(json_array_get(list, 0), "hi_s")) == 106);
	assert_int_equal(json_integer_value(json_object_get(json_array_get(list, 0), "programs")), 3);
	assert_null(json_object_get(json_array_get(list, 1), "seconds"));
	assert_string_equal(json_string_value(json_object_get(json_array_get(list, 1), "reason")), "too uncertain");
	assert_string_equal(json_string_value(json_object_get(json_object_get(reply, "drift"), "stage")), "reprobed");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(reply, "drift"), "since")), NOW - 50);
	assert_null(json_object_get(reply, "drift_model"));
	json_decref(reply);
	assert_int_equal(store_drift_put(store, KEY_B, "fast", &d, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	assert_int_equal(json_integer_value(json_object_get(json_object_get(reply, "drift_model"), "since")), NOW - 50);
	json_decref(reply);
}

/* What the model over inputs says of the job's own numbers, or why it does not. */
static void test_models(void **state)
{
	struct store_model m = {.candidate = "fast", .law = "law1 12 6 5|2:2,1:1,1:1,0:0,1000:3000||1/0.01/0.1*4^1", .runs = 12, .points = 6,
				.scale = 1, .updated = NOW};
	struct store_run r;
	struct errbuf e;
	json_t *reply, *list, *said;

	(void)state;
	assert_int_equal(store_run_get(store, 1, &r, &e), 1);
	strcpy(r.kin, KEY_B);
	strcpy(r.vars, "2,1,1,0,2500");
	assert_int_equal(store_run_put(store, &r, &e), 0);
	strcpy(m.kin, KEY_B);
	assert_int_equal(store_model_put(store, &m, &e), 0);
	strcpy(m.candidate, "slow");
	strcpy(m.law, "");
	strcpy(m.reason, "runs of 2 different inputs: 3 are needed");
	m.updated--;
	assert_int_equal(store_model_put(store, &m, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	list = json_object_get(reply, "models");
	assert_int_equal(json_array_size(list), 2);
	said = json_array_get(list, 0);
	assert_true(fabs(json_real_value(json_object_get(said, "seconds")) - 250) < 1e-6);
	assert_true(json_real_value(json_object_get(said, "hi_s")) > 255);
	assert_string_equal(json_string_value(json_object_get(said, "law")), "0.1 s * n1");
	assert_int_equal(json_integer_value(json_object_get(said, "runs")), 12);
	assert_string_equal(json_string_value(json_object_get(said, "reason")), "");
	said = json_array_get(list, 1);
	assert_null(json_object_get(said, "seconds"));
	assert_string_equal(json_string_value(json_object_get(said, "reason")), "runs of 2 different inputs: 3 are needed");
	assert_int_equal(json_array_size(json_object_get(reply, "inputs")), 5);
	json_decref(reply);
	strcpy(r.vars, "2,1,1,0,9000");
	assert_int_equal(store_run_put(store, &r, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	said = json_array_get(json_object_get(reply, "models"), 0);
	assert_null(json_object_get(said, "seconds"));
	assert_string_equal(json_string_value(json_object_get(said, "reason")), "n1 9000 is too far from the 1000 to 3000 that ran (500 to 4000 is near enough)");
	json_decref(reply);
}

/* The present estimate of the only job in the list and of the same job shown, in seconds; 0: none is told. */
static double present_of(struct store_run *r)
{
	double of_jobs, of_show;
	struct errbuf e;
	json_t *reply;

	assert_int_equal(store_run_put(store, r, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"jobs\", \"max\": 1}");
	of_jobs = json_number_value(json_object_get(json_object_get(json_array_get(json_object_get(reply, "jobs"), 0), "present"), "seconds"));
	json_decref(reply);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 50}");
	of_show = json_number_value(json_object_get(json_object_get(json_object_get(reply, "job"), "present"), "seconds"));
	json_decref(reply);
	assert_true(of_jobs == of_show);
	return of_jobs;
}

/* Told of arrays that wait, where the partition alone says on which candidate they will run. */
static void test_present(void **state)
{
	struct store_run r = {.jobid = 50, .submit_time = NOW + 50, .uid = 1000, .act = ACT_TRACE, .mode = MODE_LIMIT, .user_limit_min = 60,
			      .limit_min = DURATION_UNSET, .array_job = 50, .pred_kind = -1};

	(void)state;
	strcpy(r.key, KEY_A);
	strcpy(r.family, KEY_A);
	strcpy(r.partition, "fast");
	assert_true(present_of(&r) == 100);
	strcpy(r.partition, "fast,slow"); /* nothing is known of slow */
	assert_true(present_of(&r) == 0);
	strcpy(r.partition, "fast");
	conf.n_candidates = 1;
	strcpy(conf.candidates[0].partition, "fast");
	strcpy(conf.candidates[0].constraint, "big");
	assert_true(present_of(&r) == 0);
	conf.n_candidates = 0;
	r.array_job = 0;
	assert_true(present_of(&r) == 0);
	r.array_job = 50;
	r.start_time = NOW + 60;
	assert_true(present_of(&r) == 0);
}

static void test_text(void **state)
{
	static const char *const cases[][2] = {{"plain", "plain"}, {"\xc3\xa4", "\xc3\xa4"}, {"a\033[2J", "a?[2J"}, {"\xff", "?"},
					       {"tab\t", "tab?"},   {"c1\xc2\x9b", "c1??"}, {"nbsp\xc2\xa0", "nbsp\xc2\xa0"}, {"", ""}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		json_t *t = clean_json(cases[i][0]);

		assert_string_equal(json_string_value(t), cases[i][1]);
		json_decref(t);
	}
}

static void test_accuracy(void **state)
{
	json_t *reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"accuracy\"}");
	const json_t *row = json_array_get(json_object_get(reply, "candidates"), 0);

	(void)state;
	assert_int_equal(json_array_size(json_object_get(reply, "candidates")), 1);
	assert_true(number(row, "n") == 3);
	assert_true(number(row, "median_error") == 0.2); /* 0, -0.2, +0.25 */
	assert_true(number(row, "worst_error") == 0.25);
	assert_true(number(row, "under") == 1);
	assert_true(number(row, "inside") == 1);
	assert_true(number(row, "extended") == 0);
	assert_true(number(row, "used_of_requested") > 0.028 && number(row, "used_of_requested") < 0.029);
	assert_true(number(row, "used_of_limit") > 0.169 && number(row, "used_of_limit") < 0.170);
	assert_int_equal(json_array_size(json_object_get(reply, "users")), 1);
	assert_true(number(json_array_get(json_object_get(reply, "users"), 0), "uid") == 1000);
	assert_true(number(json_object_get(reply, "all"), "freed_node_h") == 2.5); /* 3 times 50 minutes, of one node */
	assert_string_equal(json_string_value(json_object_get(json_array_get(json_object_get(reply, "families"), 0), "name")), "app?");
	assert_null(json_object_get(reply, "points"));
	json_decref(reply);
	reply = ask(0, true, "{\"precedent\": 1, \"verb\": \"accuracy\"}");
	row = json_array_get(json_object_get(reply, "candidates"), 0);
	assert_true(number(row, "n") == 4);
	assert_true(number(row, "extended") == 1);
	json_decref(reply);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"accuracy\", \"points\": 2}");
	assert_int_equal(json_array_size(json_object_get(json_object_get(reply, "points"), "job")), 2);
	assert_int_equal(json_array_size(json_object_get(json_object_get(reply, "distribution"), "precedent")), 101);
	assert_int_equal(json_array_size(json_object_get(reply, "timeline")), 1);
	json_decref(reply);
	reply = ask(3000, false, "{\"precedent\": 1, \"verb\": \"accuracy\", \"points\": 9}");
	assert_int_equal(json_array_size(json_object_get(reply, "candidates")), 0);
	json_decref(reply);
}

#define SHOW	    "{\"precedent\": 1, \"verb\": \"show\", \"job\": 3}"
/* Why a program is not traced: for its owner's own runs, and for runs with other numbers where these are kept from it too. */
static void test_show_trial(void **state)
{
	static const struct {
		enum trial_guard guard;
		const char *key, *end_state, *says; /* NULL: nothing */
		bool control;
	} cases[] = {
		{TRIAL_DOUBT, KEY_A, "FAILED", "doubt", false},	     {TRIAL_DOUBT, KEY_B, "FAILED", "doubt", false},
		{TRIAL_DOUBT_KEY, KEY_A, "FAILED", "key", false},    {TRIAL_DOUBT_KEY, KEY_B, "FAILED", NULL, false},
		{TRIAL_SUSPECT, KEY_B, "TIMEOUT", "suspect", true},  {TRIAL_FREE, KEY_A, "FAILED", "free", true},
		{TRIAL_FREE, KEY_A, "COMPLETED", NULL, false},	     {TRIAL_FREE, KEY_A, "", NULL, false},
	};
	struct store_tracing stopped = {TRACING_STOPPED, NOW + 7};
	struct errbuf e;
	json_t *reply, *trial;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		trial_put(cases[i].key, cases[i].guard, cases[i].end_state);
		reply = ask(1000, false, SHOW);
		trial = json_object_get(reply, "trial");
		assert_int_equal(trial != NULL, cases[i].says != NULL);
		assert_null(json_object_get(reply, "tracing_stopped"));
		if (trial) {
			assert_string_equal(json_string_value(json_object_get(trial, "guard")), cases[i].says);
			assert_string_equal(json_string_value(json_object_get(trial, "state")), cases[i].end_state);
			assert_true(number(trial, "job") == 1);
			assert_int_equal(json_object_get(trial, "untraced_job") != NULL, cases[i].control);
			assert_int_equal(json_object_get(trial, "untraced_state") != NULL, cases[i].control);
		}
		json_decref(reply);
	}
	assert_int_equal(store_tracing_set(store, &stopped, &e), 0);
	reply = ask(1000, false, SHOW);
	assert_true(json_integer_value(json_object_get(reply, "tracing_stopped")) == NOW + 7);
	json_decref(reply);
}

static void test_show_quota(void **state)
{
	const struct spool_use use = {.uid = 1000, .bytes = 5, .files = 2, .removed_bytes = 7, .removed_files = 3, .over = true};
	json_t *reply, *quota;
	struct errbuf e;

	(void)state;
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
	assert_null(json_object_get(reply, "quota"));
	json_decref(reply);
	for (int64_t age = 60; age <= 86400; age += 86340) {
		assert_int_equal(store_spool_use_put(store, &use, NOW + 100 - age, &e), 0);
		reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}");
		quota = json_object_get(reply, "quota");
		assert_int_equal(json_integer_value(json_object_get(quota, "removed_files")), 3);
		assert_int_equal(json_integer_value(json_object_get(quota, "when")), NOW + 100 - age);
		assert_int_equal(json_is_true(json_object_get(quota, "over")), age == 60); /* by now there may be room */
		json_decref(reply);
	}
}

static void test_busy_lists(void **state)
{
	struct store_submitted *submitted;
	struct store_pair *list;
	struct store_probe probe = {.state = PROBE_SUBMITTED};
	struct errbuf e;
	size_t n;

	(void)state;
	assert_int_equal(store_busy_programs(store, &(struct store_place){0}, 100, &list, &n, &e), 0);
	assert_int_equal(n, 0);
	free(list);
	program_put(KEY_A, 1000, PROGRAM_BUILDING);
	assert_int_equal(store_busy_programs(store, &(struct store_place){0}, 100, &list, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].key, KEY_A);
	free(list);
	strcpy(probe.key, KEY_A);
	strcpy(probe.candidate, "fast");
	assert_int_equal(store_probe_put(store, &probe, &e), 0);
	strcpy(probe.candidate, "slow");
	probe.state = PROBE_DONE;
	assert_int_equal(store_probe_put(store, &probe, &e), 0);
	strcpy(probe.candidate, "fat");
	probe.state = PROBE_WAITING;
	assert_int_equal(store_probe_put(store, &probe, &e), 0);
	assert_int_equal(store_busy_probes(store, &(struct store_place){0}, 100, &list, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(list[0].candidate, "fat");
	free(list);
	assert_int_equal(store_busy_submitted(store, &submitted, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_string_equal(submitted[0].of.candidate, "fast");
	assert_int_equal(submitted[0].uid, 1000);
	free(submitted);
}

/* A walk over a long list in turns sees each once, and begins again. */
static void test_busy_in_turns(void **state)
{
	struct store_place programs = {0}, probes = {0};
	struct store_probe probe = {.state = PROBE_WAITING, .candidate = "fast"};
	unsigned seen = 0, turns = 0;
	struct store_pair *list;
	struct errbuf e;
	char key[33];
	size_t n;

	(void)state;
	for (unsigned i = 0; i < 25; i++) {
		snprintf(key, sizeof(key), "%032x", i * 7 % 25 + 1);
		program_put(key, 1000, i % 2 ? PROGRAM_BUILDING : PROGRAM_TRACED);
		strcpy(probe.key, key);
		assert_int_equal(store_probe_put(store, &probe, &e), 0);
	}
	do {
		assert_int_equal(store_busy_programs(store, &programs, 10, &list, &n, &e), 0);
		for (size_t i = 0; i < n; i++)
			seen ^= 1u << strtoul(list[i].key, NULL, 16);
		free(list);
		assert_int_equal(store_busy_probes(store, &probes, 10, &list, &n, &e), 0);
		free(list);
		assert_int_equal(n, turns < 2 ? 10 : 5);
	} while (++turns < 3);
	assert_int_equal(seen, 0x3fffffe);
	assert_int_equal(programs.key[0], 0);
	assert_int_equal(probes.row, 0);
}

static void test_ping(void **state)
{
	json_t *reply = ask(4711, false, "{\"precedent\":1,\"verb\":\"ping\"}");
	struct errbuf e;

	(void)state;
	assert_int_equal(json_integer_value(json_object_get(reply, "heartbeat")), 0);
	json_decref(reply);
	assert_int_equal(store_heartbeat_set(store, NOW + 90, &e), 0);
	reply = ask(4711, false, "{\"precedent\":1,\"verb\":\"ping\"}");
	assert_int_equal(json_integer_value(json_object_get(reply, "heartbeat")), NOW + 90);
	assert_int_equal(json_integer_value(json_object_get(reply, "now")), NOW + 100);
	json_decref(reply);
}

static void test_site(void **state)
{
	struct slurm_conf conf;
	char path[128];
	FILE *f;

	(void)state;
	slurm_conf_load_file(NULL, &conf);
	assert_string_equal(conf.slurm_user, "slurm");
	snprintf(path, sizeof(path), "%s/slurm.conf", dir);
	slurm_conf_load_file(path, &conf); /* missing */
	assert_string_equal(conf.slurm_user, "slurm");
	assert_string_equal(conf.ctld_host, "localhost");
	f = fopen(path, "w");
	fputs("# SlurmUser=nobody\n  slurmuser = daemon # the account\nAuthInfo=ttl=10,socket=/run/x/munge,cred_expire=1\n"
	      "SlurmUserX=root\n", f);
	fclose(f);
	slurm_conf_load_file(path, &conf);
	assert_string_equal(conf.slurm_user, "daemon");
	assert_int_equal(conf.slurm_uid, 1);
	assert_string_equal(conf.munge_socket, "/run/x/munge");
	f = fopen(path, "w");
	fputs("SlurmUser=no-such-account(12)\n", f);
	fclose(f);
	slurm_conf_load_file(path, &conf);
	assert_true(conf.slurm_uid == (uid_t)-1);
	assert_string_equal(conf.munge_socket, "");
	f = fopen(path, "w");
	fputs("#SlurmctldHost=no\nSlurmctldHost=one(10.0.0.1)\nSlurmctldHost=two\n", f);
	fclose(f);
	slurm_conf_load_file(path, &conf);
	assert_string_equal(conf.ctld_host, "10.0.0.1");
	f = fopen(path, "w");
	fputs("ControlMachine=old,backup\n", f);
	fclose(f);
	slurm_conf_load_file(path, &conf);
	assert_string_equal(slurm_conf_daemon_host(&conf, &(struct precedent_conf){.listen_host = (char[]){""}}), "old");
	assert_string_equal(slurm_conf_daemon_host(&conf, &(struct precedent_conf){.listen_host = (char[]){"here"}}), "here");
	unlink(path);
}

/* What probes cost and limits freed: users see their own, root and SlurmUser all. */
static void test_cost(void **state)
{
	struct store_run r = {.jobid = 50, .submit_time = NOW, .uid = 1000, .partition = "slow", .user_limit_min = 70, .limit_min = 10,
			      .nodes = 6, .start_time = NOW, .end_time = NOW + 600, .elapsed_s = 600, .end_state = "COMPLETED"};
	json_t *reply, *rows;
	struct errbuf e;

	(void)state;
	assert_int_equal(store_run_put(store, &r, &e), 0);
	assert_int_equal(store_cost_add(store, NOW, 1000, "slow:big", 1800, &e), 0);
	assert_int_equal(store_cost_add(store, NOW, 2000, "slow", 3600, &e), 0);
	reply = ask(1000, false, "{\"precedent\": 1, \"verb\": \"cost\"}");
	assert_true(json_is_false(json_object_get(reply, "everybody")));
	rows = json_object_get(reply, "rows");
	assert_int_equal(json_array_size(rows), 2); /* fast and slow */
	rows = json_array_get(rows, 1);
	assert_string_equal(json_string_value(json_object_get(rows, "partition")), "slow");
	assert_int_equal(json_integer_value(json_object_get(rows, "uid")), 1000);
	assert_int_equal(json_integer_value(json_object_get(rows, "probes")), 1);
	assert_true(json_number_value(json_object_get(rows, "probe_node_h")) == 0.5);
	assert_true(json_number_value(json_object_get(rows, "used_node_h")) == 1);
	assert_true(json_number_value(json_object_get(rows, "probe_share")) == 0.5);
	assert_true(json_number_value(json_object_get(rows, "asked_node_h")) == 7);
	assert_true(json_number_value(json_object_get(rows, "freed_node_h")) == 6);
	assert_true(json_number_value(json_object_get(json_object_get(reply, "total"), "probe_node_h")) == 0.5);
	json_decref(reply);
	reply = ask(0, true, "{\"precedent\": 1, \"verb\": \"cost\", \"days\": 1}");
	assert_true(json_number_value(json_object_get(json_object_get(reply, "total"), "probe_node_h")) == 1.5);
	json_decref(reply);
	reply = ask(0, true, "{\"precedent\": 1, \"verb\": \"cost\", \"mine\": true}");
	assert_int_equal(json_integer_value(json_object_get(reply, "rows_n")), 0);
	json_decref(reply);
	reply = ask(3000, false, "{\"precedent\": 1, \"verb\": \"cost\"}");
	assert_int_equal(json_integer_value(json_object_get(reply, "rows_n")), 0);
	json_decref(reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_nonsense), T(test_jobs_are_ones_own), T(test_others_jobs_do_not_exist), T(test_show), T(test_tasks),
		T(test_evidence), T(test_relations), T(test_models), T(test_accuracy), T(test_show_trial),
		T(test_show_quota), T(test_busy_lists), T(test_busy_in_turns), T(test_site), T(test_ping),
		T(test_present), T(test_text), T(test_cost), T(test_probe_of_earlier_version),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
