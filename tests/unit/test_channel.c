/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is written into a channel is looked at once, in its order, whether the two look for each other again and again or
 * sleep; when the thread fails, what it has not looked at is dropped, once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <time.h>
#include <cmocka.h>

#include "expert/engine/channel.h"

#define SLOW_EVERY 4096 /* records: then it is slow, so that the other one waits, and sleeps */

struct reader {
	uint64_t next, fails_at; /* numbers of records */
	uint64_t n_dropped, lost, twice, after;
	bool slow, failed;
};

static void rest(void)
{
	nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

static int eat(void *arg, const char *data, size_t used, struct errbuf *err)
{
	struct reader *r = arg;
	const uint64_t *n = (const uint64_t *)data;

	r->after += r->failed;
	if (r->slow && r->next / SLOW_EVERY != (r->next + used / 8) / SLOW_EVERY)
		rest();
	for (size_t i = 0; i < used / 8; i++, r->next++) {
		r->lost += n[i] > r->next;
		r->twice += n[i] < r->next;
	}
	if (r->next <= r->fails_at)
		return 0;
	r->failed = true;
	return err_set(err, "number %llu", (unsigned long long)r->fails_at);
}

static void drop(void *arg, const char *data, size_t used)
{
	struct reader *r = arg;

	(void)data;
	r->n_dropped += used / 8;
}

/* Returns how many were written. */
static uint64_t run(struct reader *r, uint64_t n, bool slow_writer, uint32_t threads, int *rv, struct errbuf *err)
{
	const struct channel_use use = {.full = 256, .threads = threads, .eat = eat, .drop = drop, .arg = r};
	struct channel *c = channel_create(&use);
	uint64_t written = 0;

	assert_non_null(c);
	*rv = 0;
	while (written < n && *rv == 0) {
		uint64_t *at = channel_room(c, sizeof(*at));

		assert_non_null(at);
		*at = written++;
		*rv = channel_pass_on(c, err);
		if (slow_writer && written % SLOW_EVERY == 0)
			rest();
	}
	if (channel_close(c, err) < 0)
		*rv = -1;
	assert_int_equal(r->lost + r->twice + r->after, 0);
	return written;
}

static void test_order(void **state)
{
	static const uint64_t n[] = {0, 1, 31, 32, 33, 200000};

	(void)state;
	for (size_t i = 0; i < sizeof(n) / sizeof(*n); i++)
		for (int k = 0; k < 8; k++) {
			struct reader r = {.slow = k & 1, .fails_at = UINT64_MAX};
			struct errbuf err = {""};
			int rv;

			assert_int_equal(run(&r, n[i], k & 2, k & 4 ? UINT32_MAX : 1, &rv, &err), n[i]);
			assert_int_equal(rv, 0);
			assert_int_equal(r.next, n[i]);
			assert_int_equal(r.n_dropped, 0);
		}
}

/* The writer hears of it, at the latest when it closes, and what nobody has looked at is dropped. */
static void test_fails(void **state)
{
	static const uint64_t at[] = {0, 31, 5000, 199999};

	(void)state;
	for (size_t i = 0; i < sizeof(at) / sizeof(*at); i++)
		for (int k = 0; k < 8; k++) {
			struct reader r = {.slow = k & 1, .fails_at = at[i]};
			char want[32];
			struct errbuf err = {""};
			uint64_t written;
			int rv;

			written = run(&r, 200000, k & 2, k & 4 ? UINT32_MAX : 1, &rv, &err);
			snprintf(want, sizeof(want), "number %llu", (unsigned long long)at[i]);
			assert_int_equal(rv, -1);
			assert_string_equal(err.text, want);
			assert_true(r.failed);
			assert_int_equal(r.next + r.n_dropped, written);
		}
}

static void test_none(void **state)
{
	struct errbuf err;

	(void)state;
	assert_int_equal(channel_close(NULL, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_order),
	    cmocka_unit_test(test_fails),
	    cmocka_unit_test(test_none),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
