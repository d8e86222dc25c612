/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the tests of answers share: a store with the jobs and programs of two users, and requests to it. */
#ifndef PRECEDENT_TESTS_UNIT_PREDICTOR_QUERY_ANSWER_WORLD_H
#define PRECEDENT_TESTS_UNIT_PREDICTOR_QUERY_ANSWER_WORLD_H

#include <ftw.h>
#include <jansson.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/query/answer.h"
#include "predictor/store/programs.h"
#include "predictor/store/runs.h"
#include "predictor/store/trials.h"

#define KEY_A "0123456789abcdef0123456789abcdef"
#define KEY_B "1123456789abcdef0123456789abcdef"
#define NOW   1700000000

static char dir[64], file[128];
static struct store *store;
static struct precedent_conf conf;

static void run_put(uint32_t job, uint32_t uid, const char *key, double pred_s, double elapsed_s)
{
	struct store_run r = {.jobid = job, .submit_time = NOW + job, .uid = uid, .act = ACT_PREDICT, .mode = MODE_LIMIT,
			      .pred_s = pred_s, .lo_s = pred_s * 0.9, .hi_s = pred_s * 1.1, .user_limit_min = 60,
			      .limit_min = 10, .start_time = NOW, .end_time = NOW + job, .elapsed_s = elapsed_s,
			      .extensions = elapsed_s > 600};
	struct errbuf e;

	strcpy(r.key, key);
	strcpy(r.family, KEY_A);
	strcpy(r.name, "app\xff");
	strcpy(r.partition, "fast");
	strcpy(r.candidate, "fast");
	strcpy(r.pred_candidate, "fast");
	strcpy(r.end_state, "COMPLETED");
	if (store_run_put(store, &r, &e) < 0)
		fail_msg("%s", e.text);
}

static void program_put(const char *key, uint32_t uid, enum program_state state)
{
	struct store_program p = {.uid = uid, .state = state, .source_job = 1, .source_elapsed_s = 100, .created = NOW,
				  .updated = NOW};
	struct store_estimate est = {.e = {100, 90, 110, ESTIMATE_SOURCE, 0}, .updated = NOW};
	struct errbuf e;

	strcpy(p.key, key);
	strcpy(p.family, KEY_A);
	strcpy(p.name, "app");
	strcpy(p.source_candidate, "fast");
	strcpy(est.candidate, "fast");
	assert_int_equal(store_program_put(store, &p, &e), 0);
	assert_int_equal(store_estimate_put(store, key, &est, &e), 0);
}

static int setup(void **state)
{
	struct errbuf e;

	(void)state;
	strcpy(dir, "/tmp/precedent-answer-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(file, sizeof(file), "%s/precedent.db", dir);
	if (store_open(file, STORE_WRITE | STORE_WAIT, &store, &e) < 0)
		fail_msg("%s", e.text);
	conf.spool_dir = dir;
	conf.margin = 0.15;
	program_put(KEY_A, 1000, PROGRAM_READY);
	program_put(KEY_B, 2000, PROGRAM_READY);
	run_put(1, 1000, KEY_A, 100, 100);
	run_put(2, 1000, KEY_A, 100, 125);
	run_put(3, 1000, KEY_A, 100, 80);
	run_put(9, 2000, KEY_B, 100, 1000);
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

static int teardown(void **state)
{
	(void)state;
	store_close(store);
	return nftw(dir, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

static json_t *ask(uint32_t uid, bool admin, const char *request)
{
	struct answer_env env = {store, &conf, uid, admin, NOW + 100};
	char *text = answer_make(&env, request, strlen(request));
	json_t *reply;

	assert_non_null(text);
	reply = json_loads(text, 0, NULL);
	assert_true(json_is_object(reply));
	free(text);
	return reply;
}

static void assert_error(uint32_t uid, bool admin, const char *request, const char *says)
{
	json_t *reply = ask(uid, admin, request);
	const char *error = json_string_value(json_object_get(reply, "error"));

	if (!error || !strstr(error, says))
		fail_msg("%s: %s", request, error ? error : "no error");
	json_decref(reply);
}

static size_t jobs_seen(uint32_t uid, bool admin, const char *request)
{
	json_t *reply = ask(uid, admin, request);
	size_t n = json_array_size(json_object_get(reply, "jobs"));

	json_decref(reply);
	return n;
}

static double number(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static void trial_put(const char *key, enum trial_guard guard, const char *end_state)
{
	struct store_trial t = {.uid = 1000, .guard = guard, .traced_job = 1, .control_job = 2, .control_state = "COMPLETED",
				.pair = TRIAL_TRACED_FAILED, .pair_at = NOW};
	struct errbuf e;

	strcpy(t.name, KEY_A);
	strcpy(t.key, key);
	strcpy(t.end_state, end_state);
	assert_int_equal(store_trial_put(store, &t, &e), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

#endif
