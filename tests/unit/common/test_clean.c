/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Clean text (clean.h): vectors, all code points, cuts, the log and JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "common/clean.h"
#include "common/clean_json.h"
#include "common/errbuf.h"
#include "common/log.h"

/* text, as a line, as lines (NULL: the same) */
static const char *const vectors[][3] = {
    {"", "", NULL},
    {"plain ASCII ~!", "plain ASCII ~!", NULL},
    {"\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x98\x80", NULL},
    {"two\nlines\tand a tab", "two?lines?and a tab", "two\nlines\tand a tab"},
    {"\033]0;title\007", "?]0;title?", NULL},
    {"\r\b\v\f\x7f", "?????", NULL},
    {"\x9b" "31m", "?31m", NULL},                                 /* C1 as a byte */
    {"\xc2\x9b" "31m", "??31m", NULL},                            /* C1 in UTF-8 */
    {"\xc2\x80\xc2\x9f\xc2\xa0", "????\xc2\xa0", NULL},           /* the first and the last; U+00A0 is fit */
    {"a\xe2\x80\xae" "b\xe2\x80\xaa", "a???b???", NULL},          /* U+202E, U+202A */
    {"\xe2\x81\xa6\xe2\x81\xa9", "??????", NULL},                 /* U+2066, U+2069 */
    {"\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", "\xe2\x80\xa9\xe2\x80\xaf\xe2\x81\xa5\xe2\x81\xaa", NULL},
    {"\xff\xfe\x80", "???", NULL},
    {"\xc0\x9b\xe0\x82\x9b\xf0\x80\x82\x9b", "?????????", NULL},  /* overlong forms of U+009B */
    {"\xed\xa0\x80", "???", NULL},                                /* a surrogate */
    {"\xf4\x90\x80\x80\xf8\x88\x80\x80\x80", "?????????", NULL},  /* above U+10FFFF; five bytes */
    {"\xe2\x82", "??", NULL},                                     /* cut in a character */
    {"\xe2\x82" "x\xc3", "??x?", NULL},
    {"\xef\xbf\xbd", "\xef\xbf\xbd", NULL},                       /* U+FFFD itself */
};

#define N_VECTORS (sizeof(vectors) / sizeof(*vectors))

static void test_vectors(void **state)
{
	char text[64];

	(void)state;
	for (size_t i = 0; i < N_VECTORS; i++) {
		const char *line = vectors[i][1], *lines = vectors[i][2] ? vectors[i][2] : line;

		strcpy(text, vectors[i][0]);
		assert_string_equal(clean_line(text), line);
		assert_true(clean_is_line(text));
		assert_int_equal(clean_is_line(vectors[i][0]), !strcmp(vectors[i][0], line));
		assert_string_equal(clean_text(strcpy(text, vectors[i][0])), lines);
		assert_string_equal(clean_copy(text, sizeof(text), vectors[i][0]), line);
	}
	assert_null(clean_line(NULL));
	assert_null(clean_text(NULL));
}

/* Only control characters, bidirectional controls and surrogates are unfit. */
static void test_code_points(void **state)
{
	(void)state;
	for (uint32_t c = 1; c < 0x110000; c++) {
		bool control = c < 0x20 || (c >= 0x7f && c < 0xa0), order = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
		bool surrogate = c >= 0xd800 && c < 0xe000;
		char s[5] = {(char)c};

		if (c >= 0x80)
			snprintf(s, sizeof(s), c < 0x800 ? "%c%c" : c < 0x10000 ? "%c%c%c" : "%c%c%c%c",
				 c < 0x800     ? 0xc0 | c >> 6 : c < 0x10000 ? 0xe0 | c >> 12 : 0xf0 | c >> 18,
				 c < 0x800     ? 0x80 | (c & 63) : c < 0x10000 ? 0x80 | (c >> 6 & 63) : 0x80 | (c >> 12 & 63),
				 c < 0x10000 ? 0x80 | (c & 63) : 0x80 | (c >> 6 & 63), 0x80 | (c & 63));
		assert_int_equal(clean_is_line(s), !(control || order || surrogate));
	}
}

/* A cut that falls into a character leaves a clean text. */
static void test_cut(void **state)
{
	char text[6];
	struct errbuf err;

	(void)state;
	assert_string_equal(clean_copy(text, sizeof(text), "abc\xe2\x82\xac"), "abc??");
	assert_int_equal(err_set(&err, "%s: %s", "a\033[2J", "b\xc2\x9b\n"), -1);
	assert_string_equal(err.text, "a?[2J: b???");
	assert_int_equal(err_prefix(&err, "%s", "\xff"), -1);
	assert_string_equal(err.text, "?: a?[2J: b???");
}

/* A log line is one clean line. */
static void test_log(void **state)
{
	int old = dup(STDERR_FILENO), end[2];
	char text[256] = "";
	ssize_t n;

	(void)state;
	assert_int_equal(pipe(end), 0);
	dup2(end[1], STDERR_FILENO);
	log_open("test", LOG_TARGET_STDERR_PLAIN, LOG_LEVEL_INFO);
	log_msg(LOG_LEVEL_INFO, "job %s", "a\033[2J\x9b" "1m\nb\xc2\x9b\xe2\x80\xae");
	dup2(old, STDERR_FILENO);
	close(old);
	close(end[1]);
	n = read(end[0], text, sizeof(text) - 1);
	close(end[0]);
	assert_true(n > 0);
	assert_string_equal(text, "<6>job a?[2J?1m?b?????\n");
}

static void test_json(void **state)
{
	json_t *v = json_loads("{\"a\": [\"\\u001b[2J\", {\"b\": \"\\u009b\\u202e\", \"\\u001bkey\": 1, \"n\": 2.5}], \"c\": \"\\u00e4\"}", 0, NULL);
	json_t *s = clean_json("\xff\033"), *none = clean_json(NULL);
	char *text;

	(void)state;
	assert_string_equal(json_string_value(s), "??");
	assert_true(json_is_null(none));
	assert_non_null(v);
	clean_json_all(v);
	clean_json_all(NULL);
	text = json_dumps(v, JSON_COMPACT | JSON_SORT_KEYS);
	assert_string_equal(text, "{\"a\":[\"?[2J\",{\"b\":\"?????\",\"n\":2.5}],\"c\":\"\xc3\xa4\"}");
	free(text);
	json_decref(v);
	json_decref(s);
	json_decref(none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_vectors),
	    cmocka_unit_test(test_code_points),
	    cmocka_unit_test(test_cut),
	    cmocka_unit_test(test_log),
	    cmocka_unit_test(test_json),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("common/clean", tests, NULL, NULL);
}
