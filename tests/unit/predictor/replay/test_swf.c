/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The reader of the Standard Workload Format: lines as they should be, and damaged ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/replay/swf.h"

static char told[8][512];
static size_t n_told;

static void bad_line(void *arg, const char *text)
{
	(void)arg;
	if (n_told < 8)
		snprintf(told[n_told], sizeof(told[0]), "%s", text);
	n_told++;
}

#define GOOD "1 0 -1 100 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1\n"

static int parse(const char *text, struct swf *s, struct errbuf *err)
{
	n_told = 0;
	return swf_parse("trace", text, strlen(text), bad_line, NULL, s, err);
}

static void test_swf(void **state)
{
	struct errbuf err = {""};
	struct swf s;
	char *many;

	(void)state;
	assert_int_equal(parse("; Version: 2.2\n;MaxProcs: 430\n; MaxNodes: 215\r\n;\n\n" GOOD
			       "  2 5.7 0 1e2 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1\r\n",
			       &s, &err), 0);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.bad + n_told, 0);
	assert_int_equal(s.max_nodes, 215);
	assert_int_equal(s.jobs[0].field[SWF_ASKED_S], 3600);
	assert_int_equal(s.jobs[1].field[SWF_SUBMIT_S], 5);
	assert_int_equal(s.jobs[1].field[SWF_RUN_S], 100);
	swf_free(&s);

	assert_int_equal(parse("1 2 3\n" GOOD "x 0 -1 100 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1\n"
			       "1 0 -1 100 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1 9\n"
			       "1 0 -1 1e99 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1\n"
			       "1 -4 -1 1 4 -1 -1 8 3600 -1 1 3 1 7 -1 -1 -1 -1",
			       &s, &err), 0);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.bad, 5);
	assert_string_equal(told[0], "trace:1: 3 fields instead of 18");
	assert_string_equal(told[1], "trace:3: field 1 (job number): 'x' is no number");
	assert_string_equal(told[2], "trace:4: more than 18 fields");
	assert_string_equal(told[3], "trace:5: field 4 (run time): '1e99' is no number");
	assert_string_equal(told[4], "trace:6: field 2 (submit time) is negative");
	swf_free(&s);

	assert_int_equal(parse("; nothing\n", &s, &err), -1);
	assert_string_equal(err.text, "trace: no jobs in it");
	many = calloc(1, 2 * SWF_BAD_MAX + 100);
	strcpy(many, GOOD);
	for (int i = 0; i <= SWF_BAD_MAX; i++)
		strcat(many, "?\n");
	assert_int_equal(parse(many, &s, &err), -1);
	assert_non_null(strstr(err.text, "no Standard Workload Format"));
	free(many);
	assert_int_equal(swf_read("/nonexistent/trace.swf", NULL, NULL, &s, &err), -1);
	assert_string_equal(err.text, "/nonexistent/trace.swf: No such file or directory");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_swf)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
