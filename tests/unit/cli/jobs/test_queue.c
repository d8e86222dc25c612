/* SPDX-License-Identifier: GPL-2.0-or-later */
/* When a job of the queue ends: a limit of Precedent's is no end, a limit that the user has lowered is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "cli/jobs/query.h"

#define NOW 1000000

/* A running job with this limit in squeue. set: the limit that Precedent has set; 0: none. Returns the limit that is shown. */
static json_int_t shown(json_int_t limit, json_int_t asked, json_int_t set)
{
	json_t *job = json_pack("{s:s, s:I, s:I}", "state", "RUNNING", "start", (json_int_t)NOW, "limit_min", limit);
	json_t *run = json_pack("{s:I, s:o}", "user_limit_min", asked, "limit_min", set ? json_integer(set) : json_null());
	json_int_t min;

	queue_expect(job, run, NOW + 60);
	min = json_integer_value(json_object_get(job, "limit_min"));
	assert_int_equal(json_integer_value(json_object_get(job, "limit_end")), NOW + 60 * min);
	json_decref(job);
	json_decref(run);
	return min;
}

static void test_limits(void **state)
{
	(void)state;
	assert_int_equal(shown(60, 60, 0), 60);
	assert_int_equal(shown(10, 60, 10), 60); /* precedentd raises it in time */
	assert_int_equal(shown(30, 60, 0), 30);	 /* the user has lowered it */
	assert_int_equal(shown(5, 60, 10), 5);
	assert_int_equal(shown(90, 60, 0), 90); /* an operator has raised it */
	assert_int_equal(shown(60, 60, 60), 60);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
