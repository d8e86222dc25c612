/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks of a skeleton's runtime: the inverse of a calibration, the time that blocks really take (printed;
 * asserted only to be of the right order, for the machine may be busy), the optimiser's failure to remove them, and the
 * calibration file. The runtime is a library of its own, so its sources are taken in here.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "skelgen/runtime/calibfile.c"
#include "skelgen/runtime/calibrate.c"
#include "skelgen/runtime/compute.c"
#undef SLICE_NS
#define state kernel_state
#define names kernel_names
#include "skelgen/runtime/kernel.c"
#undef state

/* A block this many times too long or too short is a defect, not a busy machine. */
#define WRONG 20

static struct calibration cal;

static int calibrate_all(void **unused)
{
	(void)unused;
	if (kernel_open() != 0)
		return -1;
	for (int k = 0; k < KERNEL_N; k++)
		calibrate_kernel(k, 40e6, &cal.kernel[k]);
	calibrate_blocks(&cal, 150e6);
	return 0;
}

static int close_all(void **unused)
{
	(void)unused;
	kernel_close();
	return 0;
}

static void test_curve_inverts(void **unused)
{
	struct curve c;

	(void)unused;
	for (int i = 0; i < CURVE_POINTS; i++)
		c.ns[i] = 3.0 + 5.0 * (double)(1ull << i);
	for (double u = 1; u < 1e9; u *= 1.37) {
		double ns = curve_ns(&c, u);

		assert_true(fabs(ns - (3 + 5 * u)) < 1e-6 * ns);
		assert_true(fabs(curve_units(&c, ns) - u) < 1e-6 * u);
	}
	assert_true(curve_units(&c, 0) == 0);
	assert_true(curve_ns(&c, 0) == 0);
	assert_true(fabs(curve_ns_per_unit(&c) - 5) < 1e-9);
}

static void test_more_work_takes_longer(void **unused)
{
	(void)unused;
	for (int k = 0; k < KERNEL_N; k++) {
		print_message("# kernel %-8s %.2f ns a unit, 1 unit %.2f ns\n", kernel_name(k),
			      curve_ns_per_unit(&cal.kernel[k]), cal.kernel[k].ns[0]);
		for (int i = 1; i < CURVE_POINTS; i++)
			assert_true(cal.kernel[k].ns[i] > cal.kernel[k].ns[i - 1]);
		assert_true(curve_ns_per_unit(&cal.kernel[k]) > 0.2);
	}
}

static double measured_ns(double ns)
{
	int repeat = ns < 3e7 ? (int)(3e7 / ns) : 1;
	double start;

	compute_open(&cal);
	start = now_ns();
	for (int i = 0; i < repeat; i++)
		compute_block(ns);
	return (now_ns() - start) / repeat;
}

static void test_blocks_take_their_time(void **unused)
{
	static const double ask[] = {200, 500, 1e3, 3e3, 1e4, 5e4, 2e5, 1e6, 1e7, 1e8};

	(void)unused;
	for (size_t i = 0; i < sizeof ask / sizeof *ask; i++) {
		double sample[5];

		for (int j = 0; j < 5; j++)
			sample[j] = measured_ns(ask[i]);
		double got = median(sample, 5);

		print_message("# asked %.0f ns, took %.1f ns (%+.2f %%)\n", ask[i], got, 100 * (got / ask[i] - 1));
		assert_true(got > ask[i] / WRONG && got < ask[i] * WRONG);
	}
}

static void test_short_gaps_add_up(void **unused)
{
	double sum, start;

	(void)unused;
	compute_open(&cal);
	start = now_ns();
	for (int i = 0; i < 200000; i++)
		compute_block(45);
	sum = now_ns() - start;
	print_message("# 200000 blocks of 45 ns took %.1f ns each\n", sum / 200000);
	assert_true(sum > 45.0 * 200000 / WRONG && sum < 45.0 * 200000 * WRONG);
}

static void test_work_changes_the_digest(void **unused)
{
	(void)unused;
	for (int k = 0; k < KERNEL_VECTOR; k++) {
		double before = kernel_digest();

		kernel_run(k, 1001);
		assert_true(kernel_digest() != before);
	}
}

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_calibration_file(void **unused)
{
	char path[] = "/tmp/precedent-calib-XXXXXX", why[256], line[64];
	struct calibration all[3] = {cal, cal, cal}, back[3];
	int fd = mkstemp(path);

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	all[1].call_ns = 7.25;
	assert_int_equal(calibfile_write(path, all, 3, why, sizeof why), 0);
	assert_int_equal(calibfile_read(path, back, 3, why, sizeof why), 0);
	assert_memory_equal(all, back, sizeof all);
	assert_int_equal(calibfile_read(path, back, 2, why, sizeof why), -1);
	assert_non_null(strstr(why, "2 ranks"));

	static const char *const bad[] = {
		"", "precedent-calibration 2\n", "precedent-calibration 1\nranks 1\nrank 0 call nan\n",
		"precedent-calibration 1\nranks 1\nrank 0 call 1\nrank 0 integer 3 2 1\nend\n",
		"precedent-calibration 1\nranks 1\nend\n"};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		write_text(path, bad[i]);
		assert_int_equal(calibfile_read(path, back, 1, why, sizeof why), -1);
	}
	unlink(path);
	assert_int_equal(calibfile_read(path, back, 1, why, sizeof why), -1);
	snprintf(line, sizeof line, "cannot read %.40s", path);
	assert_non_null(strstr(why, line));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve_inverts),
		cmocka_unit_test(test_more_work_takes_longer),
		cmocka_unit_test(test_blocks_take_their_time),
		cmocka_unit_test(test_short_gaps_add_up),
		cmocka_unit_test(test_work_changes_the_digest),
		cmocka_unit_test(test_calibration_file),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, calibrate_all, close_all);
}
