/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The admin_comment: a written comment can be read, and foreign text stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/comment.h"
#include "common/duration.h"

#define KEY    "0123456789abcdef0123456789abcdef"
#define FAMILY "fedcba9876543210fedcba9876543210"

static struct job_comment full(void)
{
	struct job_comment c;

	comment_init(&c);
	c.act = ACT_PREDICT;
	c.mode = MODE_LIMIT;
	strcpy(c.key, KEY);
	strcpy(c.family, FAMILY);
	c.user_limit_min = 120;
	c.limit_min = 4;
	strcpy(c.candidate, "slow:big");
	c.pred_s = 192.4;
	c.lo_s = 185;
	c.hi_s = 199.2;
	return c;
}

static void test_format(void **state)
{
	struct job_comment c = full();
	char text[COMMENT_TEXT_MAX];

	(void)state;
	assert_true(comment_format(&c, text, sizeof(text)) > 0);
	assert_string_equal(text, "precedent:1 act=predict mode=limit key=" KEY " family=" FAMILY
				  " user_limit=120 limit=4 cand=slow:big pred=192 lo=185 hi=200");
	comment_init(&c);
	c.act = ACT_OBSERVE;
	c.user_limit_min = DURATION_UNLIMITED;
	comment_format(&c, text, sizeof(text));
	assert_string_equal(text, "precedent:1 act=observe mode=observe user_limit=unlimited limit=-");
	c.act = ACT_PROBE;
	c.user_limit_min = 5;
	strcpy(c.key, KEY);
	strcpy(c.candidate, "fast");
	comment_format(&c, text, sizeof(text));
	assert_string_equal(text, "precedent:1 act=probe mode=observe key=" KEY " user_limit=5 cand=fast");
	assert_int_equal(comment_format(&c, text, 20), -1);
	assert_string_equal(text, "");
}

static void test_round_trip(void **state)
{
	struct job_comment c = full(), back;
	char text[COMMENT_TEXT_MAX], joined[2 * COMMENT_TEXT_MAX];

	(void)state;
	comment_format(&c, text, sizeof(text));
	snprintf(joined, sizeof(joined), "precedent:1 act=probe | said by an operator | %s", text);
	assert_int_equal(comment_parse(joined, &back), 0);
	assert_int_equal(back.act, ACT_PREDICT);
	assert_int_equal(back.task, COMMENT_NO_TASK);
	assert_int_equal(back.mode, MODE_LIMIT);
	assert_string_equal(back.key, KEY);
	assert_string_equal(back.family, FAMILY);
	assert_int_equal(back.user_limit_min, 120);
	assert_int_equal(back.limit_min, 4);
	assert_string_equal(back.candidate, "slow:big");
	assert_true(back.pred_s == 192 && back.lo_s == 185 && back.hi_s == 200);
	c.task = 0;
	comment_format(&c, text, sizeof(text));
	assert_int_equal(comment_parse(text, &back), 0);
	assert_int_equal(back.task, 0);
	snprintf(joined, sizeof(joined), "%s | added later", text);
	assert_int_equal(comment_parse(joined, &back), 0);
	assert_int_equal(
	    comment_parse("precedent:1 act=trace mode=observe user_limit=- limit=- new=1", &back), 0);
	assert_int_equal(back.act, ACT_TRACE);
	assert_int_equal(back.user_limit_min, DURATION_UNSET);
	/* less than a second is not rounded to 0 */
	c.pred_s = 0.2;
	comment_format(&c, text, sizeof(text));
	assert_int_equal(comment_parse(text, &back), 0);
	assert_true(back.pred_s == 1);
}

static void test_set_limit(void **state)
{
	struct job_comment c = full(), back;
	char text[COMMENT_TEXT_MAX], joined[2 * COMMENT_TEXT_MAX], out[2 * COMMENT_TEXT_MAX];

	(void)state;
	c.wish_min = 4;
	c.limit_min = DURATION_UNSET;
	comment_format(&c, text, sizeof(text));
	assert_non_null(strstr(text, " user_limit=120 wish=4 limit=- cand="));
	assert_int_equal(comment_parse(text, &back), 0);
	assert_int_equal(back.wish_min, 4);
	assert_int_equal(back.limit_min, DURATION_UNSET);
	snprintf(joined, sizeof(joined), "wish=9 precedent:1 limit=8 | by  hand | %s later=1 | wish=9 limit=8\n wish=7 ", text);
	assert_true(comment_set_limit(joined, 5, out, sizeof(out)) > 0);
	assert_int_equal(comment_parse(out, &back), 0);
	assert_int_equal(back.wish_min, DURATION_UNSET);
	assert_int_equal(back.limit_min, 5);
	assert_string_equal(out, "wish=9 precedent:1 limit=8 | by  hand | precedent:1 act=predict mode=limit key=" KEY
				 " family=" FAMILY " user_limit=120 limit=5 cand=slow:big pred=192 lo=185 hi=200 later=1"
				 " | wish=9 limit=8\n wish=7 ");
	assert_true(comment_set_limit(out, DURATION_UNLIMITED, joined, sizeof(joined)) == (int)strlen(out) + 8);
	assert_non_null(strstr(joined, " user_limit=120 limit=unlimited cand="));
	assert_int_equal(comment_set_limit(out, 5, joined, strlen(out)), -1);
	assert_int_equal(comment_set_limit(out, 5, joined, strlen(out) + 1), (int)strlen(out));
	assert_int_equal(comment_set_limit("not ours", 5, joined, sizeof(joined)), -1);
	assert_int_equal(comment_set_limit(NULL, 5, joined, sizeof(joined)), -1);
}

/* A wish takes the place of the old one, or of none; a comment of the plugin has room for it. */
static void test_set_wish(void **state)
{
	struct job_comment c = full(), back;
	char text[COMMENT_TEXT_MAX], out[COMMENT_TEXT_MAX], again[COMMENT_TEXT_MAX];

	(void)state;
	c.wish_min = c.limit_min = DURATION_UNSET;
	comment_format(&c, text, sizeof(text));
	assert_true(comment_set_wish(text, 7, out, sizeof(out)) > 0);
	assert_non_null(strstr(out, " user_limit=120 wish=7 limit=- cand="));
	assert_true(comment_set_wish(out, 1234567890, again, sizeof(again)) > 0);
	assert_int_equal(comment_parse(again, &back), 0);
	assert_int_equal(back.wish_min, 1234567890);
	assert_int_equal(back.limit_min, DURATION_UNSET);
	assert_int_equal(strlen(again), strlen(out) + 9);
	assert_int_equal(comment_set_wish("not ours", 5, out, sizeof(out)), -1);
}

/* In a text that is too short for both, the groups stay: without groups a run teaches nothing about similar jobs. */
static void test_short_of_room(void **state)
{
	struct job_comment c = full();
	char text[COMMENT_TEXT_MAX];
	bool groups = true, similar = true, groups_alone = false;

	(void)state;
	strcpy(c.groups, "fast/1/22/333");
	strcpy(c.similar, "command/600/120/4200");
	for (size_t size = sizeof(text); groups; size--) {
		assert_true(comment_format(&c, text, size) > 0);
		assert_true(similar || !strstr(text, " similar="));
		groups = strstr(text, " groups=fast/1/22/333") != NULL;
		similar = strstr(text, " similar=command/600/120/4200") != NULL;
		assert_true(groups || !similar);
		groups_alone |= groups && !similar;
	}
	assert_true(groups_alone);
}

static void test_bad(void **state)
{
	static const char *const bad[] = {
	    NULL,
	    "",
	    "something else",
	    "precedent:2 act=trace",
	    "xprecedent:1 act=trace",
	    "by the way precedent:1 act=trace",
	    "precedent:1 mode=limit",
	    "precedent:1 act=none",
	    "precedent:1 act=dance",
	    "precedent:1 act=trace mode=x",
	    "precedent:1 act=trace key=123",
	    "precedent:1 act=trace key=0123456789ABCDEF0123456789abcdef",
	    "precedent:1 act=trace limit=-5",
	    "precedent:1 act=trace limit=4294967295",
	    "precedent:1 act=trace limit=5m",
	    "precedent:1 act=trace pred=nan",
	    "precedent:1 act=trace pred=1e5",
	    "precedent:1 act=trace pred=99999999999999999999",
	    "precedent:1 act=trace flag",
	};
	struct job_comment c;
	char text[600];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (comment_parse(bad[i], &c) != -1)
			fail_msg("accepted '%s'", bad[i]);
		assert_int_equal(c.act, ACT_NONE);
	}
	snprintf(text, sizeof(text), "precedent:1 act=trace cand=%0400d", 1);
	assert_int_equal(comment_parse(text, &c), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_format),
	    cmocka_unit_test(test_round_trip),
	    cmocka_unit_test(test_set_limit), cmocka_unit_test(test_set_wish),
	    cmocka_unit_test(test_short_of_room),
	    cmocka_unit_test(test_bad),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("comment", tests, NULL, NULL);
}
