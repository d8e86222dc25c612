/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that are answered and refused, and the headers of every reply. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "common/net/http.h"

#define GET "GET /a HTTP/1.1\r\n"

static struct buf in;

static int judged(const char *request, size_t len, struct http_request *r)
{
	buf_reset(&in);
	buf_put(&in, request, len);
	return http_request(&in, r);
}

static void test_status(void **state)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"", 0}, {"GET", 0}, {GET, 0}, {GET "Host: x\r\n", 0}, {GET "Host: x\r\n\r", 0}, {GET "Host: x\r\n\r\n", 200},
		{"GET /metrics HTTP/1.0\n\n", 200}, {"GET / HTTP/1.1\r\n\r\n", 200}, {"HEAD /a HTTP/1.1\r\n\r\n", 405},
		{"POST /a HTTP/1.1\r\n\r\n", 405}, {"get /a HTTP/1.1\r\n\r\n", 405}, {"GET /a\r\n\r\n", 400},
		{"GET  HTTP/1.1\r\n\r\n", 400}, {"\r\n\r\n", 400}, {"GET http://x/a HTTP/1.1\r\n\r\n", 400}, {"\n\n", 400},
		{" / HTTP/1.1\r\n\r\n", 400}, {"GET /a b HTTP/1.1\r\n\r\n", 400}, {"GET /a\rb HTTP/1.1\r\n\r\n", 400},
	};
	struct http_request r;
	char bytes[HTTP_REQUEST_MAX + 4];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (judged(cases[i].request, strlen(cases[i].request), &r) != cases[i].status)
			fail_msg("case %zu: not %d", i, cases[i].status);
	memset(bytes, 'a', sizeof(bytes));
	assert_int_equal(judged(bytes, HTTP_REQUEST_MAX - 1, &r), 0);
	assert_int_equal(judged(bytes, HTTP_REQUEST_MAX, &r), 431);
	memcpy(bytes, GET, strlen(GET));
	memcpy(bytes + HTTP_REQUEST_MAX, "\r\n\r\n", 4);
	assert_int_equal(judged(bytes, sizeof(bytes), &r), 431); /* all at once */
}

static void test_nul(void **state)
{
	static const char whole[] = "GET /a\0 HTTP/1.1\r\nHost: x\0y\r\n\r\n";
	static const char host[] = GET "Host: x\0y\r\n\r\n", behind[] = GET "\r\n\0";
	struct http_request r;

	(void)state;
	assert_int_equal(judged(whole, sizeof(whole) - 1, &r), 400);
	assert_int_equal(judged(whole, 7, &r), 400);
	assert_int_equal(judged(host, sizeof(host) - 1, &r), 400);
	assert_int_equal(judged(behind, sizeof(behind) - 1, &r), 200);
}

static void test_parts(void **state)
{
	static const struct {
		const char *headers, *host;
	} cases[] = {
		{"Host: x:80\r\n", "x:80"}, {"hOST:x:80 \t\r\n", "x:80"}, {"A: b\nHost:\t x\n", "x"}, {"", ""}, {"Host:\r\n", ""},
		{"Host: x\r\nHost: x\r\n", ""}, {"Host: x\r\nHost: x\r\nHost: x\r\n", ""}, {"Host: x y\r\n", "x y"},
		{"Hosts: x\r\n", ""}, {"Host : x\r\n", ""}, {" Host: x\r\n", ""}, {"A: b\rHost: x\r\n", ""},
	};
	struct http_request r;
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		snprintf(text, sizeof(text), "GET /a?b=c?d HTTP/1.1\r\n%s\r\n", cases[i].headers);
		assert_int_equal(judged(text, strlen(text), &r), 200);
		assert_string_equal(r.path, "/a");
		assert_string_equal(r.query, "b=c?d");
		assert_string_equal(r.host, cases[i].host);
	}
	assert_int_equal(judged(GET "\r\n", strlen(GET "\r\n"), &r), 200);
	assert_null(r.query);
}

static void test_reply(void **state)
{
	static const int refused[] = {400, 403, 404, 405, 413, 431, 500};
	static const char *const everywhere[] = {
		"Connection: close\r\n", "Cache-Control: no-store\r\n", "X-Content-Type-Options: nosniff\r\n",
		"X-Frame-Options: DENY\r\n", "Referrer-Policy: no-referrer\r\n", "Cross-Origin-Resource-Policy: same-origin\r\n",
		"Content-Security-Policy: frame-ancestors 'none'\r\n"};
	struct buf out = {0};

	(void)state;
	for (size_t i = 0; i < 1 + sizeof(refused) / sizeof(refused[0]); i++) {
		char first[32];
		int status = i ? refused[i - 1] : 200;

		buf_reset(&out);
		if (i)
			http_refuse(&out, status, NULL);
		else
			http_reply(&out, 200, "text/plain", "abc\n", 4);
		buf_put_u8(&out, 0);
		snprintf(first, sizeof(first), "HTTP/1.1 %d ", status);
		assert_ptr_equal(strstr((char *)out.data, first), out.data);
		for (size_t j = 0; j < sizeof(everywhere) / sizeof(everywhere[0]); j++)
			assert_non_null(strstr((char *)out.data, everywhere[j]));
		assert_int_equal(!strstr((char *)out.data, "Allow: GET\r\n"), status != 405);
		if (!i) {
			assert_non_null(strstr((char *)out.data, "Content-Type: text/plain\r\nContent-Length: 4\r\n"));
			assert_non_null(strstr((char *)out.data, "\r\n\r\nabc\n"));
		}
	}
	buf_reset(&out);
	http_refuse(&out, 500, "page 3 is damaged");
	buf_put_u8(&out, 0);
	assert_non_null(strstr((char *)out.data, "\r\n\r\npage 3 is damaged\n"));
	buf_free(&out);
	buf_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_status),
		cmocka_unit_test(test_nul),
		cmocka_unit_test(test_parts),
		cmocka_unit_test(test_reply),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
