/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Between which candidates a job's place was chosen: the words in the comment, what is answered from them, and what a user is
 * told whose job stays because nobody has asked yet how long it would wait elsewhere. */
#include <jansson.h>

#include "predictor/query/answer_weighed.h"
#include "tests/unit/decide_world.h"

#define ASKED "; not moved: how long such jobs would wait is asked from now on"

static struct decision place(void)
{
	w.conf.mode = MODE_PLACE;
	w.in.partition = NULL;
	return run();
}

/* Submitted to the default partition, fast, where it would wait for two hours. */
static void at_is(const char *text)
{
	struct decision d = run();

	assert_string_equal(comment_of(&d).at, text);
}

static void test_words(void **state)
{
	(void)state;
	place();
	set_waits(2 * H, 0);
	at_is("slow/0/460,fast/7200/192");
	w.doors[1].open = false;
	at_is("fast/7200/192,slow/0/460/closed");
	w.doors[1].open = true;
	w.waits[1].answer = PLACE_REFUSED;
	at_is("fast/7200/192,slow/-/460/refused");
	w.waits[1].answer = PLACE_AT_LEAST;
	at_is("fast/7200/192,slow/0/460/least");
	w.waits[1].answer = PLACE_KNOWN;
	w.waits[0].answer = PLACE_AT_LEAST;
	at_is("slow/0/460,fast/7200/192/least");
	set_waits(2 * H, -1);
	at_is("fast/7200/192,slow/-/460");
	set_waits(2 * H, 0);
	w.doors[1].max_min = 5;
	at_is("fast/7200/192,slow/0/460/limit");
	w.doors[1].max_min = 600;
	w.conf.n_candidates = 1;
	at_is("fast/7200/192,slow/-/460/other");
}

static void test_unasked(void **state)
{
	(void)state;
	place();
	assert_null(strstr(run().message, "not moved"));
	set_waits(2 * H, -1);
	assert_non_null(strstr(run().message, ASKED));
	w.doors[1].open = false; /* what it would wait there is all the same */
	assert_null(strstr(run().message, "not moved"));
	w.doors[1].open = true;
	set_waits(2 * H, 0);
	w.known.program.shape = 0; /* such a job has not been seen */
	assert_non_null(strstr(run().message, ASKED));
	source.places = NULL;
	assert_non_null(strstr(run().message, ASKED));
	w.in.pinned = true;
	assert_null(strstr(run().message, "not moved"));
	w.in.pinned = false;
	w.known.n_estimates = 1; /* nowhere else to go */
	assert_null(strstr(run().message, "not moved"));
	w.conf.mode = MODE_LIMIT;
	w.known.n_estimates = 2;
	assert_null(strstr(run().message, "not moved"));
}

static void test_answer(void **state)
{
	json_t *list = answer_weighed("slow/0/460,third/-/20/closed,fast/7200/192/least"), *o = json_array_get(list, 0);

	(void)state;
	assert_int_equal(json_array_size(list), 3);
	assert_string_equal(json_string_value(json_object_get(o, "candidate")), "slow");
	assert_true(json_is_true(json_object_get(o, "taken")));
	assert_true(json_number_value(json_object_get(o, "wait_s")) == 0);
	assert_true(json_number_value(json_object_get(o, "ends_s")) == 460);
	assert_string_equal(json_string_value(json_object_get(o, "why")), "");
	o = json_array_get(list, 1);
	assert_true(json_is_false(json_object_get(o, "taken")));
	assert_true(json_is_null(json_object_get(o, "wait_s")) && json_is_null(json_object_get(o, "ends_s")));
	assert_true(json_number_value(json_object_get(o, "seconds")) == 20);
	assert_string_equal(json_string_value(json_object_get(o, "why")), "closed");
	o = json_array_get(list, 2);
	assert_true(json_number_value(json_object_get(o, "ends_s")) == 7392);
	json_decref(list);
}

static void test_malformed(void **state)
{
	static const char *const none[] = {"", ",", "slow", "slow/0", "/0/1", "slow/x/1", "slow/0/", "slow/-5/1", "slow/0/1e9",
					   "slow//3", "slow/0/9999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		json_t *list = answer_weighed(none[i]);

		assert_int_equal(json_array_size(list), 0);
		json_decref(list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_words), T(test_unasked), T(test_answer), T(test_malformed)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("weighed", tests, NULL, NULL);
}
