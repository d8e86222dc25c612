/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Levels: steps that adapt to the length of the run, and rejected encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace/format/levels.h"

/* Every tick is in exactly one step after any number of joins. */
static void test_ticks_are_kept(void **state)
{
	uint64_t total[TSTATE_N] = {0}, t = 0, seed = 1;
	struct levels l;

	(void)state;
	assert_int_equal(levels_init(&l, 4), 0);
	for (int i = 0; i < 200000; i++) {
		enum trace_state s = (enum trace_state)(i % TSTATE_N);
		uint64_t len;

		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		len = (seed >> 40) % (i % 1000 ? 300 : 100000);
		levels_add(&l, t, t + len, s);
		total[s] += len;
		t += len;
	}
	assert_true(l.n <= LEVELS_STEPS);
	assert_int_equal(l.n, (t + levels_width(&l) - 1) / levels_width(&l));
	assert_true(l.n > LEVELS_STEPS / 2 - 1); /* no coarser than needed */
	for (int s = 0; s < TSTATE_N; s++) {
		uint64_t sum = 0;

		for (uint32_t i = 0; i < l.n; i++)
			sum += l.step[i][s];
		assert_int_equal(sum, total[s]);
	}
	for (uint32_t i = 0; i + 1 < l.n; i++) {
		uint64_t sum = 0;

		for (int s = 0; s < TSTATE_N; s++)
			sum += l.step[i][s];
		assert_int_equal(sum, levels_width(&l)); /* the time line has no gaps */
	}
	levels_free(&l);
}

static void test_places(void **state)
{
	struct levels l;

	(void)state;
	assert_int_equal(levels_init(&l, 10), 0);
	levels_add(&l, 1000, 3100, TSTATE_WAITING);
	levels_add(&l, 5000, 5000, TSTATE_WORKING);
	levels_add(&l, 7, 6, TSTATE_WORKING);
	levels_add(&l, 0, 1ull << 63, TSTATE_WORKING);
	assert_int_equal(l.n, 4);
	assert_int_equal(l.step[0][TSTATE_WAITING], 24);
	assert_int_equal(l.step[1][TSTATE_WAITING], 1024);
	assert_int_equal(l.step[2][TSTATE_WAITING], 1024);
	assert_int_equal(l.step[3][TSTATE_WAITING], 28);
	levels_add(&l, 1ull << 22, (1ull << 22) + 1, TSTATE_SENDING); /* step 4096 of 1024: one doubling */
	assert_int_equal(l.shift, 11);
	assert_int_equal(l.step[0][TSTATE_WAITING], 1048);
	assert_int_equal(l.step[1][TSTATE_WAITING], 1052);
	assert_int_equal(l.step[2048][TSTATE_SENDING], 1);
	assert_int_equal(l.step[2048][TSTATE_WAITING], 0);
	levels_free(&l);
}

static void test_round_trip(void **state)
{
	struct levels l, m;
	struct buf b = {0};
	struct rdbuf r;
	struct errbuf err = {""};

	(void)state;
	assert_int_equal(levels_init(&l, 3), 0);
	for (uint64_t t = 0; t < 100000; t += 77)
		levels_add(&l, t, t + 70, (enum trace_state)(t % TSTATE_N));
	levels_encode(&l, &b);
	for (size_t len = 0; len < b.len; len++) {
		r = (struct rdbuf){.data = b.data, .len = len};
		assert_int_equal(levels_decode(&r, &m, &err), -1);
		assert_null(m.step);
	}
	r = (struct rdbuf){.data = b.data, .len = b.len};
	assert_int_equal(levels_decode(&r, &m, &err), 0);
	assert_int_equal(m.shift, l.shift);
	assert_int_equal(m.n, l.n);
	assert_memory_equal(m.step, l.step, l.n * sizeof(*l.step));
	levels_free(&m);
	levels_free(&l);
	buf_free(&b);
}

static void test_refused(void **state)
{
	static const uint64_t bad[][2] = {{0, 0}, {3, 0}, {1ull << 51, 0}, {1024, LEVELS_STEPS + 1}, {1024, 1ull << 60}};
	uint8_t zeros[4 * LEVELS_STEPS + 8] = {0};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct buf b = {0};
		struct levels l;
		struct rdbuf r;
		struct errbuf err = {""};

		buf_put_uv(&b, bad[i][0]);
		buf_put_uv(&b, bad[i][1]);
		buf_put(&b, zeros, sizeof(zeros));
		r = (struct rdbuf){.data = b.data, .len = b.len};
		assert_int_equal(levels_decode(&r, &l, &err), -1);
		assert_true(err.text[0]);
		buf_free(&b);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ticks_are_kept),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_refused),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
