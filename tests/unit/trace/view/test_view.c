/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Writers of the page: text that cannot leave its place, base64, and contents of a page. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/view/json.h"
#include "trace/view/view.h"

/* Contents of the buffer as a string; the buffer is emptied. */
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
		{"", "\"\""}, {"plain", "\"plain\""}, {"a\"b\\c", "\"a\\\"b\\\\c\""}, {"\n\t\x01\x7f", "\"\\u000a\\u0009\\ufffd\\ufffd\""},
		{"</script>", "\"\\u003c/script\\u003e\""}, {"<!--", "\"\\u003c!--\""}, {"&'", "\"\\u0026\\u0027\""},
		{"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\""},
		{"\xe2\x80\xa8\xe2\x80\xa9", "\"\\u2028\\u2029\""},
		/* Not UTF-8: single bytes, overlong, surrogate, beyond Unicode, cut off. */
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

/* ---- whole pages ---- */

static bool has(const struct buf *page, const char *s)
{
	return memmem(page->data, page->len, s, strlen(s)) != NULL;
}

/* The page of a run; the caller frees it. s is destroyed. */
static struct buf page_of_run(struct view_input in, struct syn *s)
{
	struct trace *t = syn_open(s);
	struct errbuf err;
	struct timeline *tl = timeline_create(t, &err);
	struct buf page = {0};
	struct view *v;

	assert_non_null(tl);
	in.trace = t;
	in.timeline = tl;
	in.path = "a<b.ptrace";
	v = view_create(&in, &err);
	assert_non_null(v);
	assert_int_equal(view_page(v, &page, &err), 0);
	view_destroy(v);
	timeline_destroy(tl);
	trace_close(t);
	syn_destroy(s);
	return page;
}

static struct buf page_of(struct view_input in, uint32_t ranks, uint32_t iterations)
{
	return page_of_run(in, syn_ring(ranks, iterations));
}

static void page_problems(void **state)
{
	struct view_problem_mark mark = {.rank = 1, .first = 0, .last = 2, .t0_ns = 5, .t1_ns = 9, .ns = 3};
	const struct view_problem problem = {.title = "late sender</script>", .text = "rank 1 waits", .advice = "send first",
					     .site = "main (x.c:3)", .share = 0.25, .ns = 7, .times = 2, .rank = 1, .t0_ns = 5,
					     .t1_ns = 9, .mark = &mark, .n_mark = 1};
	struct view_input in = {.budget = 4000000};
	struct buf page = page_of(in, 4, 20);

	(void)state;
	assert_true(has(&page, "\"problems\":[]"));
	assert_true(has(&page, "<title>a&lt;b.ptrace - Precedent</title>"));
	assert_true(has(&page, "connect-src 'none'"));
	assert_false(has(&page, "{{"));
	buf_free(&page);
	in.problem = &problem;
	in.n_problem = 1;
	in.served = true;
	page = page_of(in, 4, 20);
	assert_true(has(&page, "\"problems\":[{\"title\":\"late sender\\u003c/script\\u003e\",\"text\":\"rank 1 waits\","
			       "\"advice\":\"send first\",\"site\":\"main (x.c:3)\",\"share\":0.25,\"ns\":7,\"times\":2,\"rank\":1,"
			       "\"t0\":5,\"t1\":9,\"marks\":[1,0,2,5,4,3]}]"));
	assert_true(has(&page, "connect-src 'self'"));
	buf_free(&page);
}

/* A number from the facts. */
static double fact(const struct buf *page, const char *object, const char *key)
{
	const char *at = memmem(page->data, page->len, object, strlen(object));

	assert_non_null(at);
	at = strstr(at, key);
	assert_non_null(at);
	return strtod(at + strlen(key), NULL);
}

/* The page keeps to its budget, and tells where single calls end. */
static void page_budget(void **state)
{
	struct buf all = page_of((struct view_input){.budget = 22000000}, 8, 40000);
	struct buf some = page_of((struct view_input){.budget = 1500000}, 8, 40000);
	double end = fact(&all, "\"served\"", "\"end\":");

	(void)state;
	assert_true(fact(&all, "\"columns\"", "\"end\":") == end);
	assert_true(fact(&all, "\"messages\"", "\"end\":") == end);
	assert_true(fact(&some, "\"columns\"", "\"end\":") < end);
	assert_true(fact(&some, "\"columns\"", "\"end\":") > 0);
	assert_true(fact(&some, "\"messages\"", "\"end\":") < end);
	assert_true(fact(&some, "\"messages\"", "\"n\":") == fact(&all, "\"messages\"", "\"n\":"));
	assert_true(all.len < 20000000);
	assert_true(some.len < 1700000);
	assert_true(some.len > 700000);
	buf_free(&all);
	buf_free(&some);
}

/* Of 4 us between two barriers, unsuccessful tests take 3 us. The rest is no waiting. Local calls are none either. */
static void page_polls(void **state)
{
	struct syn *s = syn_create(1);
	struct buf page;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 1000; i++) {
		syn_call(s, 0, "MPI_Barrier", 20, SYN(.comm = 0, .poll_ns = 4000, .dur_ns = 2000));
		syn_call(s, 0, "MPI_Type_commit", 21, SYN(.type = 0, .dur_ns = 5000));
	}
	syn_end(s);
	s->rank[0].defs.proc.polls = 5000;
	s->rank[0].defs.proc.poll_ticks = 3000000;
	page = page_of_run((struct view_input){.budget = 4000000}, s);
	assert_true(fabs(fact(&page, "\"totals\"", ":[") - 5e-3) < 1e-5);
	buf_free(&page);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_strings),
		cmocka_unit_test(json_structure),
		cmocka_unit_test(html),
		cmocka_unit_test(base64),
		cmocka_unit_test(page_problems),
		cmocka_unit_test(page_budget),
		cmocka_unit_test(page_polls),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
