/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that change something: retrace and forget. */
#include "predictor/store/busy.h"
#include "predictor/store/keep.h"
#include "tests/unit/predictor/query/answer_world.h"

#define RETRACE	    "{\"precedent\": 1, \"verb\": \"retrace\", \"job\": 3}"
#define RETRACE_ALL "{\"precedent\": 1, \"verb\": \"retrace\", \"all\": true}"

static void test_retrace(void **state)
{
	struct store_lookup l;
	struct errbuf e;

	(void)state;
	json_decref(ask(1000, false, "{\"precedent\": 1, \"verb\": \"retrace\", \"job\": 1}"));
	assert_int_equal(store_lookup(store, KEY_A, &l, &e), 1);
	assert_int_equal(l.program.state, PROGRAM_NEW);
	assert_true(l.program.retrace_at == NOW + 100);
	assert_int_equal(l.n_estimates, 0);
	program_put(KEY_A, 1000, PROGRAM_BUILDING);
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"retrace\", \"job\": 1}", "being probed");
}

static bool is_guarded(const char *key)
{
	struct store_trial t;
	struct errbuf e;

	return store_trial_withholds(store, KEY_A, key, &t, &e) == 1;
}

static void test_retrace_guarded(void **state)
{
	struct store_program p;
	struct errbuf e;

	(void)state;
	trial_put(KEY_A, TRIAL_SUSPECT, "FAILED");
	json_decref(ask(1000, false, RETRACE));
	assert_false(is_guarded(KEY_A));
	assert_int_equal(store_program_get(store, KEY_A, &p, &e), 1);
	assert_int_equal(p.state, PROGRAM_NEW);
	/* a program with other numbers, which is not known itself */
	assert_int_equal(store_program_forget(store, KEY_A, &e), 1);
	trial_put(KEY_B, TRIAL_SUSPECT, "FAILED");
	assert_true(is_guarded(KEY_A));
	json_decref(ask(1000, false, RETRACE));
	assert_false(is_guarded(KEY_A));
	assert_int_equal(store_program_get(store, KEY_A, &p, &e), 0);
}

/* While tracing is stopped nobody loses predictions for a trace that does not come; root resumes it. */
static void test_retrace_all(void **state)
{
	struct store_tracing t = {TRACING_STOPPED, NOW};
	struct store_trial_tally n;
	struct store_lookup l;
	struct errbuf e;
	json_t *reply;

	(void)state;
	trial_put(KEY_A, TRIAL_SUSPECT, "FAILED");
	assert_int_equal(store_tracing_set(store, &t, &e), 0);
	assert_error(1000, false, RETRACE, "tracing is stopped on this cluster; nothing was changed");
	assert_int_equal(store_lookup(store, KEY_A, &l, &e), 1);
	assert_int_equal(l.program.state, PROGRAM_READY);
	assert_int_equal(l.n_estimates, 1);
	assert_true(is_guarded(KEY_A));
	assert_error(1000, false, RETRACE_ALL, "only root and SlurmUser");
	assert_int_equal(store_tracing_get(store, &t, &e), 0);
	assert_int_equal(t.state, TRACING_STOPPED);
	reply = ask(0, true, RETRACE_ALL);
	assert_true(number(reply, "programs") == 1);
	json_decref(reply);
	assert_int_equal(store_tracing_get(store, &t, &e), 0);
	assert_true(t.state == TRACING_ON && t.since == NOW + 100);
	assert_false(is_guarded(KEY_A));
	assert_int_equal(store_trial_count(store, 0, &n, &e), 0);
	assert_int_equal(n.traced_failed, 0);
	json_decref(ask(1000, false, RETRACE));
}

static json_t *ask_well(uint32_t uid, bool admin, const char *request)
{
	json_t *reply = ask(uid, admin, request);

	assert_null(json_object_get(reply, "error"));
	return reply;
}

/* A user may ask for so many changes in an hour; others and administrators are not kept from theirs. */
static void test_changes_are_bounded(void **state)
{
	static const char again[] = "{\"precedent\": 1, \"verb\": \"retrace\", \"job\": 9}";
	const struct answer_env later = {store, &conf, 1000, false, NOW + 100 + 3600};
	char *text;

	(void)state;
	for (int i = 0; i < 60; i++)
		json_decref(ask(1000, false, RETRACE));
	assert_error(1000, false, RETRACE,
		     "60 requests to retrace or forget within an hour; nothing was changed: try again in 60 minutes");
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"forget\", \"job\": 1}", "nothing was changed");
	json_decref(ask_well(2000, false, again));
	for (int i = 0; i < 70; i++)
		json_decref(ask_well(0, true, again));
	text = answer_make(&later, RETRACE, strlen(RETRACE));
	assert_null(strstr(text, "error"));
	free(text);
}

static void test_forget(void **state)
{
	struct store_program p;
	struct errbuf e;

	(void)state;
	json_decref(ask(1000, false, "{\"precedent\": 1, \"verb\": \"forget\", \"job\": 1}"));
	assert_int_equal(store_program_get(store, KEY_A, &p, &e), 0);
	assert_int_equal(store_key_forgotten(store, KEY_A, NOW + 100, &e), 1);
	assert_int_equal(store_key_forgotten(store, KEY_A, NOW + 101, &e), 0);
	assert_int_equal(store_key_forgotten(store, KEY_B, NOW, &e), 0);
	assert_true(store_forgotten_prune(store, NOW + 101, &e) >= 0);
	assert_int_equal(store_key_forgotten(store, KEY_A, NOW, &e), 0);
	assert_int_equal(jobs_seen(1000, false, "{\"precedent\": 1, \"verb\": \"jobs\"}"), 0);
	assert_int_equal(store_program_get(store, KEY_B, &p, &e), 1);
	assert_error(1000, false, "{\"precedent\": 1, \"verb\": \"show\", \"job\": 1}", "not known");
	json_decref(ask(0, true, "{\"precedent\": 1, \"verb\": \"forget\", \"job\": 9}"));
	assert_int_equal(store_program_get(store, KEY_B, &p, &e), 0);
}

/* Nothing of the user remains, in any table; nothing of others goes. */
static void test_forget_user(void **state)
{
	json_t *reply;
	struct errbuf e;
	struct store_lookup l;
	char text[64];

	(void)state;
	assert_int_equal(store_cost_add(store, NOW, 1000, "fast", 80, &e), 0);
	assert_int_equal(store_cost_add(store, NOW, 2000, "fast", 80, &e), 0);
	assert_int_equal(store_meta_set(store, "asked.1000", "1 1", &e), 0);
	assert_error(1000, false, "{\"precedent\":1,\"verb\":\"forget\",\"uid\":1000}",
		     "only root and SlurmUser may forget a user");
	assert_error(0, true, "{\"precedent\":1,\"verb\":\"forget\",\"uid\":-1}", "no user was named");
	reply = ask(0, true, "{\"precedent\":1,\"verb\":\"forget\",\"uid\":1000}");
	assert_true(json_integer_value(json_object_get(reply, "rows")) >= 5);
	json_decref(reply);
	assert_int_equal(jobs_seen(1000, false, "{\"precedent\":1,\"verb\":\"jobs\"}"), 0);
	assert_int_equal(jobs_seen(2000, false, "{\"precedent\":1,\"verb\":\"jobs\"}"), 1);
	assert_int_equal(store_lookup(store, KEY_A, &l, &e), 0);
	assert_int_equal(store_lookup(store, KEY_B, &l, &e), 1);
	assert_int_equal(l.n_estimates, 1);
	assert_int_equal(store_meta_get(store, "asked.1000", text, sizeof(text), &e), 0);
	assert_int_equal(store_key_forgotten(store, KEY_A, NOW, &e), 1); /* slurmctld may still know its jobs */
	assert_int_equal(store_key_forgotten(store, KEY_B, NOW, &e), 0);
	reply = ask(0, true, "{\"precedent\":1,\"verb\":\"cost\",\"days\":7}");
	assert_int_equal(json_array_size(json_object_get(reply, "rows")), 1);
	json_decref(reply);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_retrace), T(test_retrace_guarded), T(test_retrace_all), T(test_changes_are_bounded),
		T(test_forget), T(test_forget_user),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
