/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calibrations of ranks on processors of one kind become their mean, number by number; those of another kind, and those that are
 * slower than any disturbance, stay what they were.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "skelgen/runtime/alike.c"

/* Times of a machine on which everything takes `slow` times as long. */
static struct calibration slower(double slow)
{
	struct calibration c = {.n_mix = 2, .classes = 3, .mixes = 7, .call_ns = 10 * slow, .gap_ns = 5 * slow};

	for (int k = 0; k < 2; k++)
		for (int i = 0; i < CURVE_POINTS; i++)
			c.kernel[k].ns[i] = (k + 1) * (double)(1 << i) * slow;
	for (int m = 0; m < 2; m++)
		for (int k = 0; k < BLOCK_POINTS; k++)
			c.block_ns[m][k] = BLOCK_LEAST_NS * (double)(1 << k) * (m + 1) * slow;
	for (int m = 0; m < 2; m++)
		for (int k = 0; k < CLASS_N; k++)
			c.among[m][k] = 1 + m + k * slow;
	return c;
}

static void same(const struct calibration *a, const struct calibration *b)
{
	assert_float_equal(a->call_ns, b->call_ns, 1e-9);
	assert_float_equal(a->gap_ns, b->gap_ns, 1e-9);
	for (int k = 0; k < CLASS_N; k++)
		for (int i = 0; i < CURVE_POINTS; i++)
			assert_float_equal(a->kernel[k].ns[i], b->kernel[k].ns[i], 1e-6);
	for (int m = 0; m < COMPUTE_MIXES; m++)
		for (int k = 0; k < BLOCK_POINTS; k++)
			assert_float_equal(a->block_ns[m][k], b->block_ns[m][k], 1e-6);
	for (int m = 0; m < COMPUTE_MIXES; m++)
		for (int k = 0; k < CLASS_N; k++)
			assert_float_equal(a->among[m][k], b->among[m][k], 1e-9);
	assert_int_equal(a->mixes, b->mixes);
	assert_int_equal(a->n_mix, b->n_mix);
}

static void test_like_ranks_have_the_mean(void **unused)
{
	static struct calibration all[4];
	const uint64_t kind[4] = {1, 2, 1, 2};
	struct calibration one = slower(1.1), two = slower(3);

	(void)unused;
	all[0] = slower(1.0);
	all[1] = slower(2.9);
	all[2] = slower(1.2);
	all[3] = slower(3.1);
	alike_mean(all, kind, 4);
	for (int i = 0; i < 4; i++)
		same(&all[i], kind[i] == 1 ? &one : &two);
}

static void test_slow_ranks_stay_slow(void **unused)
{
	static struct calibration all[3];
	const uint64_t kind[3] = {1, 1, 1};
	const double slow[3] = {1, 1.05, 2};

	(void)unused;
	for (int i = 0; i < 3; i++)
		all[i] = slower(slow[i]);
	alike_mean(all, kind, 3);
	for (int i = 0; i < 3; i++) {
		struct calibration was = slower(slow[i]);

		same(&all[i], &was);
	}
}

static void test_one_rank_keeps_its_own(void **unused)
{
	static struct calibration all[1];
	struct calibration was = slower(1.7);
	const uint64_t kind[1] = {9};

	(void)unused;
	all[0] = was;
	alike_mean(all, kind, 1);
	same(&all[0], &was);
}

static uint64_t kind_of(const char *text, uint64_t l2, int ranks)
{
	char path[] = "/tmp/alike.XXXXXX";
	struct caches c = {.l1 = 32 << 10, .l2 = l2, .l3 = 16 << 20, .n_l3 = 1};
	int fd = mkstemp(path);
	uint64_t kind;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
	kind = alike_kind(path, &c, ranks);
	unlink(path);
	return kind;
}

static void test_kinds(void **unused)
{
	const char *one = "processor\t: 0\nmodel name\t: Alpha 1\ncpu MHz\t: 2445.4\n", *other = "processor\t: 0\nmodel name\t: Beta 2\n";
	uint64_t kind = kind_of(one, 512 << 10, 2);

	(void)unused;
	assert_true(kind == kind_of("processor\t: 5\nmodel name\t: Alpha 1\ncpu MHz\t: 1500.0\n", 512 << 10, 2)); /* clocks vary */
	assert_true(kind != kind_of(other, 512 << 10, 2));
	assert_true(kind != kind_of(one, 1024 << 10, 2));
	assert_true(kind != kind_of(one, 512 << 10, 4));
	assert_true(kind != alike_kind("/none/there", &(struct caches){.l2 = 512 << 10}, 2));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_like_ranks_have_the_mean),
		cmocka_unit_test(test_slow_ranks_stay_slow),
		cmocka_unit_test(test_one_rank_keeps_its_own),
		cmocka_unit_test(test_kinds),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
