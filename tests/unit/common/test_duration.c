/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times as Slurm reads and writes them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "common/duration.h"

static void test_parse(void **state)
{
	static const struct {
		const char *text;
		uint64_t seconds;
		uint32_t minutes;
	} good[] = {
	    {"0", 0, 0},
	    {"5", 300, 5},
	    {"5:30", 330, 6},
	    {"00:05:00", 300, 5},
	    {"00:05:01", 301, 6},
	    {"100:00:00", 360000, 6000},
	    {"1-0", 86400, 1440},
	    {"2-03", 183600, 3060},
	    {"2-03:04", 183840, 3064},
	    {"2-03:04:05", 183845, 3065},
	    {"UNLIMITED", UINT64_MAX, DURATION_UNLIMITED},
	    {"infinite", UINT64_MAX, DURATION_UNLIMITED},
	    {"-1", UINT64_MAX, DURATION_UNLIMITED},
	};
	struct errbuf err = {""};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		uint64_t s = 1;
		uint32_t m = 1;

		assert_int_equal(duration_parse(good[i].text, &s, &err), 0);
		assert_int_equal(s, good[i].seconds);
		assert_int_equal(duration_parse_minutes(good[i].text, &m, &err), 0);
		assert_int_equal(m, good[i].minutes);
	}
}

static void test_parse_bad(void **state)
{
	static const char *const bad[] = {NULL,	     "",    " 5",	   "5 ",	"a",	"1:",  ":1",
					  "1:2:3:4", "1-",  "-",	   "1-2:3:4:5", "1--2", "1.5", "0x5",
					  "+5",	     "1-a", "99999999999", "1:-2",	"--1",	"\n"};
	struct errbuf err;
	uint64_t s;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		err.text[0] = '\0';
		if (duration_parse(bad[i], &s, &err) != -1)
			fail_msg("accepted '%s'", bad[i]);
		assert_non_null(strstr(err.text, "is not a time"));
	}
}

static void test_span(void **state)
{
	struct errbuf err = {""};
	uint64_t s;

	(void)state;
	assert_int_equal(duration_parse_span("90d", &s, &err), 0);
	assert_int_equal(s, 90 * 86400);
	assert_int_equal(duration_parse_span("15", &s, &err), 0);
	assert_int_equal(s, 15);
	assert_int_equal(duration_parse_span("2H", &s, &err), 0);
	assert_int_equal(s, 7200);
	assert_int_equal(duration_parse_span("3m", &s, &err), 0);
	assert_int_equal(s, 180);
	assert_int_equal(duration_parse_span("1w", &s, &err), 0);
	assert_int_equal(s, 604800);
	assert_int_equal(duration_parse_span("00:01:00", &s, &err), 0);
	assert_int_equal(s, 60);
	assert_int_equal(duration_parse_span("d", &s, &err), -1);
	assert_int_equal(duration_parse_span("1dd", &s, &err), -1);
	assert_int_equal(duration_parse_span("1y", &s, &err), -1);
	assert_int_equal(duration_parse_span("", &s, &err), -1);
	assert_int_equal(duration_parse_span(NULL, &s, &err), -1);
	assert_int_equal(duration_parse_span("-5", &s, &err), -1);
}

static void test_format(void **state)
{
	static const struct {
		double s;
		const char *text;
	} good[] = {
	    {0, "00:00:00"},	    {0.4, "00:00:00"},	 {0.5, "00:00:01"},
	    {192, "00:03:12"},	    {86399, "23:59:59"}, {86400, "1-00:00:00"},
	    {183845, "2-03:04:05"}, {-3, "00:00:00"},	 {INFINITY, "UNLIMITED"},
	};
	char buf[DURATION_TEXT_MAX], tiny[6];

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_string_equal(duration_format(buf, sizeof(buf), good[i].s), good[i].text);
	assert_string_equal(duration_format(buf, sizeof(buf), NAN), "-");
	assert_string_equal(duration_format(tiny, sizeof(tiny), 192), "00:03");
	assert_string_equal(duration_format_minutes(buf, sizeof(buf), 120), "02:00:00");
	assert_string_equal(duration_format_minutes(buf, sizeof(buf), DURATION_UNSET), "-");
	assert_string_equal(duration_format_minutes(buf, sizeof(buf), DURATION_UNLIMITED), "UNLIMITED");
}

static void test_ceil(void **state)
{
	(void)state;
	assert_int_equal(duration_ceil_minutes(0), 0);
	assert_int_equal(duration_ceil_minutes(-5), 0);
	assert_int_equal(duration_ceil_minutes(NAN), 0);
	assert_int_equal(duration_ceil_minutes(0.001), 1);
	assert_int_equal(duration_ceil_minutes(60), 1);
	assert_int_equal(duration_ceil_minutes(60.01), 2);
	assert_int_equal(duration_ceil_minutes(1e300), DURATION_UNSET - 1);
	assert_int_equal(duration_ceil_minutes(INFINITY), DURATION_UNSET - 1);
}

static void test_share(void **state)
{
	struct errbuf err = {""};
	double v;

	(void)state;
	assert_int_equal(duration_parse_share("15%", 1, &v, &err), 0);
	assert_true(fabs(v - 0.15) < 1e-12);
	assert_int_equal(duration_parse_share("0.2", 1, &v, &err), 0);
	assert_true(fabs(v - 0.2) < 1e-12);
	assert_int_equal(duration_parse_share("0", 1, &v, &err), 0);
	assert_true(v == 0);
	assert_int_equal(duration_parse_share("101%", 1, &v, &err), -1);
	assert_int_equal(duration_parse_share("1%%", 1, &v, &err), -1);
	assert_int_equal(duration_parse_share("inf", 1, &v, &err), -1);
	assert_int_equal(duration_parse_share("-1", 1, &v, &err), -1);
	assert_int_equal(duration_parse_share("", 1, &v, &err), -1);
	assert_int_equal(duration_parse_share(NULL, 1, &v, &err), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_parse),  cmocka_unit_test(test_parse_bad), cmocka_unit_test(test_span),
	    cmocka_unit_test(test_format), cmocka_unit_test(test_ceil),	     cmocka_unit_test(test_share),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("duration", tests, NULL, NULL);
}
