/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedentd sees new jobs. Their launches lead to their program, and their kind counts new keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "predictor/learn/launch_follow.h"
#include "predictor/query/answer.h"
#include "predictor/store/launches.h"
#include "predictor/store/runs.h"
#include "tests/unit/follow_world.h"

#define LAUNCH (UINT64_C(1) << 61 | 5)

/* A job with the key of this number. */
static struct cluster_job *job_of(uint32_t id, unsigned key, enum job_act act)
{
	static char texts[64][COMMENT_TEXT_MAX];
	struct cluster_job *j = job_add(id, act);
	struct job_comment c;

	assert_int_equal(comment_parse(j->admin_comment, &c), 0);
	snprintf(c.key, sizeof(c.key), "%032x", key);
	c.launch = LAUNCH;
	assert_true(comment_format(&c, texts[id % 64], sizeof(texts[0])) > 0);
	j->admin_comment = texts[id % 64];
	return j;
}

static struct {
	char key[IDENTITY_KEY_LEN + 1];
	uint32_t fresh;
} found;

static uint32_t fresh_of(const struct store_run *r)
{
	uint32_t n;
	struct errbuf e;

	assert_true(store_kind_get(w->store, store_kind_name(r->uid, r->name, r->family), &n, &e) >= 0);
	return n;
}

static void read_rows(void)
{
	struct store_run r;
	struct errbuf e;

	assert_int_equal(store_run_get(w->store, 1, &r, &e), 1);
	found.key[0] = '\0';
	assert_true(store_launch_get(w->store, LAUNCH, found.key, &e) >= 0);
	assert_true(store_kind_get(w->store, store_kind_name(r.uid, r.name, r.family), &found.fresh, &e) >= 0);
}

static uint32_t fresh(void)
{
	read_rows();
	return found.fresh;
}

static const char *key(void)
{
	read_rows();
	return found.key;
}

static void test_program_of_launches(void **state)
{
	(void)state;
	job_of(1, 1, ACT_TRACE);
	look();
	assert_string_equal(key(), "00000000000000000000000000000001");
	job_of(2, 2, ACT_OBSERVE); /* its own text, the same launches, at the same time */
	look();
	assert_string_equal(key(), "00000000000000000000000000000001");
}

/* The input may lie in the directory, and the text name it not: only the traced run is known to be what its key says. */
static void test_untraced_run_of_traced_key(void **state)
{
	(void)state;
	job_of(1, 1, ACT_OBSERVE);
	look();
	assert_string_equal(key(), "");
}

static void test_kinds(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 9; i++) {
		job_play(job_of(i, i, ACT_OBSERVE), "COMPLETED", 60);
		look(); /* it is seen once */
		assert_int_equal(fresh(), i);
	}
	job_play(job_of(10, 3, ACT_OBSERVE), "COMPLETED", 60); /* one comes again */
	assert_int_equal(fresh(), 0);
	job_play(job_of(11, 11, ACT_OBSERVE), "COMPLETED", 60);
	assert_int_equal(fresh(), 1);
}

/* Seeds that the kin predicts: a new build after them is traced. */
static void test_predicted_keys(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= 9; i++)
		job_play(job_of(i, i, i > 2 ? ACT_PREDICT : ACT_TRACE), "COMPLETED", 60);
	assert_int_equal(fresh(), 0);
}

/* The tasks of an array are one submission. */
static void test_arrays(void **state)
{
	(void)state;
	for (uint32_t id = 1; id <= 4; id++) {
		struct cluster_job *j = job_of(id, 1 + id / 3, ACT_OBSERVE);

		j->array_job = id < 3 ? 2 : 4;
		j->array_task = id;
		job_run(j);
		look();
	}
	assert_int_equal(fresh(), 2);
}

/* An array of many tasks does not hide the submission before it. */
static void test_many_tasks(void **state)
{
	struct store_run r = {.jobid = 1, .submit_time = START, .uid = getuid(), .key = KEY, .family = FAMILY, .act = ACT_OBSERVE};
	const struct job_comment c = {.key = KEY};
	struct errbuf e;

	(void)state;
	for (; r.jobid <= 100; r.jobid++) {
		if (r.jobid == 100)
			assert_int_equal(store_kind_add(w->store, store_kind_name(r.uid, r.name, r.family), false, r.uid, w->now, &e), 0);
		assert_int_equal(launch_follow(&w->env, &r, &c, w->now, &e), 0);
		assert_int_equal(fresh_of(&r), r.jobid == 1 ? 1 : 0);
		assert_int_equal(store_run_put(w->store, &r, &e), 0);
		r.submit_time = START + 1; /* the tasks */
		r.array_job = 2;
	}
	memcpy(r.key, FAMILY, sizeof(r.key)); /* another key: its second task adds nothing */
	for (; r.jobid <= 103; r.jobid++) {
		assert_int_equal(launch_follow(&w->env, &r, &c, w->now, &e), 0);
		assert_int_equal(fresh_of(&r), 1);
		assert_int_equal(store_run_put(w->store, &r, &e), 0);
	}
	r.array_job = 0; /* another submission in the same second */
	assert_int_equal(launch_follow(&w->env, &r, &c, w->now, &e), 0);
	assert_int_equal(fresh_of(&r), 0);
}

/* `precedent retrace` counts as a key that came again: the next ones are traced. */
static void test_retrace(void **state)
{
	struct answer_env env = {.store = w->store, .conf = &w->conf, .uid = 0, .admin = true, .now = w->now};
	static const char request[] = "{\"precedent\": 1, \"verb\": \"retrace\", \"job\": 2}";
	char *text;

	(void)state;
	for (uint32_t i = 1; i <= 3; i++)
		job_play(job_of(i, i, ACT_OBSERVE), "COMPLETED", 60);
	assert_int_equal(fresh(), 3);
	text = answer_make(&env, request, strlen(request));
	assert_non_null(strstr(text, "\"job\":2"));
	free(text);
	assert_int_equal(fresh(), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_program_of_launches), T(test_untraced_run_of_traced_key), T(test_kinds), T(test_predicted_keys), T(test_arrays), T(test_many_tasks), T(test_retrace)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
