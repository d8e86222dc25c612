/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The page's writers: text that cannot leave its place; base64. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/view/json.h"

/* What is in the buffer, as a string; the buffer is emptied. */
static const char *text(struct buf *b)
{
	static char t[4096];

	assert_true(b->len < sizeof(t) && !b->failed);
	memcpy(t, b->data, b->len);
	t[b->len] = '\0';
	buf_reset(b);
	return t;
}

static void json_strings(void **state)
{
	static const struct {
		const char *in, *out;
	} v[] = {
		{"", "\"\""}, {"plain", "\"plain\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""}, {"\n\t\x01\x7f", "\"\\u000a\\u0009\\u0001\\u007f\""},
		{"</script>", "\"\\u003c/script\\u003e\""}, {"<!--", "\"\\u003c!--\""}, {"&'", "\"\\u0026\\u0027\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\""},
		/* no UTF-8: lone bytes, overlong, surrogate, beyond Unicode, cut off */
		{"\xff", "\"\\ufffd\""}, {"\xc0\xaf", "\"\\ufffd\\ufffd\""}, {"\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\""},
		{"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""}, {"\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\""},
		{"a\xe2\x82", "\"a\\ufffd\\ufffd\""},
	};
	struct buf b = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct json j = json_begin(&b);

		json_str(&j, NULL, v[i].in);
		assert_string_equal(text(&b), v[i].out);
	}
	buf_free(&b);
}

static void json_structure(void **state)
{
	struct buf b = {0};
	struct json j = json_begin(&b);

	(void)state;
	json_open(&j, NULL, '{');
	json_str(&j, "s", NULL);
	json_open(&j, "a", '[');
	json_uint(&j, NULL, UINT64_MAX);
	json_num(&j, NULL, 0.5);
	json_num(&j, NULL, 0.0 / 0.0);
	json_close(&j, ']');
	json_open(&j, "e", '{');
	json_close(&j, '}');
	json_bool(&j, "<b>", false);
	json_close(&j, '}');
	assert_string_equal(text(&b), "{\"s\":\"\",\"a\":[18446744073709551615,0.5,null],\"e\":{},\"\\u003cb\\u003e\":false}");
	buf_free(&b);
}

static void html(void **state)
{
	struct buf b = {0};

	(void)state;
	html_text(&b, "<a href=\"x\" b='y'>&\n\xff\xc3\xa9</a>");
	assert_string_equal(text(&b), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp; \xef\xbf\xbd\xc3\xa9&lt;/a&gt;");
	html_text(&b, NULL);
	assert_int_equal(b.len, 0);
	buf_free(&b);
}

static void base64(void **state)
{
	static const char *const out[] = {"", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"}; /* RFC 4648 */
	struct buf b = {0};

	(void)state;
	for (size_t n = 0; n < 7; n++) {
		base64_put(&b, (const uint8_t *)"foobar", n);
		assert_int_equal(b.len, strlen(out[n]));
		if (n)
			assert_string_equal(text(&b), out[n]);
	}
	buf_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_strings),
		cmocka_unit_test(json_structure),
		cmocka_unit_test(html),
		cmocka_unit_test(base64),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
