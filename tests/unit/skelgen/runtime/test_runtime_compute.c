/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks of a skeleton's runtime: curves and their inverse, mixes, how the classes share a block, sleep, threads,
 * and the calibration file. What the kernels are given to do is counted; nothing is asserted about time. The runtime is
 * a library of its own, so its sources are taken in here.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "skelgen/runtime/calibfile.c"
#include "tests/unit/skip.h"
#include "tests/unit/skelgen/runtime/machine.h"

#define compute_clock_ns machine_clock
#define kernel_run machine_run
#include "skelgen/runtime/calibrate.c"
#undef compute_clock_ns
#undef kernel_run

#include "skelgen/runtime/kernel.c"
#include "skelgen/runtime/kernel_core.c"
#include "skelgen/runtime/kernel_memory.c"
#include "skelgen/runtime/kernel_vector.c"
#include "skelgen/runtime/threads.c"

static _Atomic uint64_t counted[CLASS_N];

static void counted_run(struct kernel *k, int c, uint64_t units)
{
	counted[c] += units;
	kernel_run(k, c, units < 4 ? units : 4); /* that it runs, not how long */
}

/* A clock by which the work takes `slowly` times as long as the calibration says, that of class slow_class slow_times as long as that,
 * and a look at it look_ns; 0: the real one. */
static double slowly, look_ns, slow_times;
static int slow_class = -1;
static int slow_clock(clockid_t id, struct timespec *t);

#define kernel_run    counted_run
#define clock_gettime slow_clock
#include "skelgen/runtime/compute.c"
#undef kernel_run
#undef clock_gettime

static const struct kernel_shape small = {.bytes = {24576, 49152, 98304}, .vector_bits = 128};

/* A calibration that says: a unit of class c takes c + 2 ns, blocks take what their parts take. */
static struct calibration straight(int n_mix, unsigned classes)
{
	struct calibration c = {.n_mix = n_mix, .classes = classes, .shape = small, .mixes = 77};

	for (int k = 0; k < CLASS_N; k++)
		for (int i = 0; i < CURVE_POINTS; i++)
			c.kernel[k].ns[i] = (k + 2) * (double)(1ull << i);
	for (int m = 0; m < n_mix; m++)
		for (int k = 0; k < CLASS_N; k++)
			c.among[m][k] = 1;
	blocks_trust_curves(&c);
	return c;
}

static double worked_ns(int c)
{
	return (double)counted[c] * (c + 2);
}

static double worked_all_ns(void)
{
	double sum = 0;

	for (int c = 0; c < CLASS_N; c++)
		sum += worked_ns(c) * (c == slow_class ? slow_times : 1);
	return sum;
}

static int slow_clock(clockid_t id, struct timespec *t)
{
	static double looks;
	double ns;

	if (slowly <= 0)
		return clock_gettime(id, t);
	ns = 1e12 + slowly * worked_all_ns() + look_ns * ++looks;
	t->tv_sec = (time_t)(ns / 1e9);
	t->tv_nsec = (long)(ns - 1e9 * (double)t->tv_sec);
	return 0;
}

static void begin(const struct compute_mix *mix, int n)
{
	struct calibration c = straight(n, compute_classes(mix, n));

	assert_int_equal(compute_open(mix, n, &small), 0);
	compute_use(&c);
	memset((void *)counted, 0, sizeof counted);
}

static const struct compute_mix half_and_more = {
	.share = {[CLASS_INTEGER] = 0.5, [CLASS_LIBM] = 0.2, [CLASS_STREAM_L2] = 0.25, [CLASS_RANDOM_L2] = 0.05},
	.threads = 1,
};

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

static void test_block_work_inverts(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_SCALAR] = 1}, .threads = 1};

	(void)unused;
	begin(&mix, 1);
	for (int i = 0; i < BLOCK_POINTS; i++)
		state.cal.block_ns[0][i] = 20 + 1.5 * BLOCK_LEAST_NS * (double)(1ull << i);
	for (double w = BLOCK_LEAST_NS; w < 1e6; w *= 1.19)
		assert_true(fabs(block_work(0, 20 + 1.5 * w) - w) < 1e-6 * w);
	/* Twice the time is twice the work beyond what was measured. */
	assert_true(fabs(block_work(0, 4e8) - 2 * block_work(0, 2e8)) < 1);
	compute_close();
}

/* Blocks of one length take half as long again as they should: so much less is done in them, elsewhere nothing changes. */
static void test_blocks_are_learnt_from(void **unused)
{
	const struct compute_mix mix[2] = {{.share = {[CLASS_SCALAR] = 1}, .threads = 1}, {.share = {[CLASS_SCALAR] = 1}, .threads = 1}};
	double before, far, other;

	(void)unused;
	begin(mix, 2);
	before = block_work(0, 50e3);
	far = block_work(0, 3000);
	other = block_work(1, 50e3);
	for (int i = 0; i < 200; i++) /* what it takes does not depend on what it is thought to take */
		learn(0, 50e3, block_work(0, 50e3), 1.5 * block_work(0, 50e3) / before * 50e3);
	assert_true(fabs(block_work(0, 50e3) * 1.5 / before - 1) < 0.01);
	assert_true(fabs(block_work(0, 3000) / far - 1) < 1e-9);
	assert_true(block_work(1, 50e3) == other);
	/* One that was held up is worth no more than LEARN_MOST, and is forgotten. */
	learn(0, 50e3, block_work(0, 50e3), 1e12);
	assert_true(block_work(0, 50e3) > before / 1.5 / 2);
	for (int i = 0; i < 200; i++)
		learn(0, 50e3, block_work(0, 50e3), 1.5 * block_work(0, 50e3) / before * 50e3);
	assert_true(fabs(block_work(0, 50e3) * 1.5 / before - 1) < 0.01);
	/* However wild: the curve rises, and its inverse exists. */
	for (int i = 0; i < 3000; i++)
		learn(0, 100.0 * (1 + i * 7919 % 10000), 77, 50.0 * (1 + i * 104729 % 100000));
	for (int i = 1; i < BLOCK_POINTS; i++)
		assert_true(state.cal.block_ns[0][i] > state.cal.block_ns[0][i - 1] && isfinite(state.cal.block_ns[0][i]));
	compute_close();
}

/* So are blocks that are too short for two looks at the clock each, from one in some; not where a look takes too long. */
static void test_short_blocks_are_learnt_from(void **unused)
{
	const struct compute_mix mix[1] = {{.share = {[CLASS_SCALAR] = 1}, .threads = 1}};
	static const double length[] = {500, 1000, 3500};
	struct compute_spent spent;

	(void)unused;
	slowly = 1.5;
	for (size_t i = 0; i < 2 * sizeof length / sizeof *length; i++) {
		double ns = length[i / 2], before, done, first;

		look_ns = i % 2 ? 500 : 20;
		begin(mix, 1);
		compute_learn();
		before = block_work(0, ns);
		for (int n = 0; n < 5000; n++)
			compute_block(0, ns);
		done = worked_all_ns();
		compute_spent(&spent);
		first = spent.took_ns;
		for (int n = 0; n < 5000; n++)
			compute_block(0, ns);
		done = (worked_all_ns() - done) / 5000;
		compute_spent(&spent);
		if (i % 2) {
			assert_true(block_work(0, ns) == before);
			assert_true(spent.took_ns == 0 && fabs(spent.short_ns - 10000 * ns) < 1);
		} else {
			assert_true(fabs(1.5 * done / ns - 1) < 0.02);
			assert_true(fabs(block_work(0, ns) / state.cal.among[0][CLASS_SCALAR] * 1.5 / before - 1) < 0.02);
			assert_true(fabs((spent.took_ns - first) / (5000 * ns) - 1) < 0.03);
			assert_true(spent.short_ns < SOME_EVERY * ns);
		}
		compute_close();
	}
	slowly = 0;
}

/* The calibration that is written asks for the work that was done, in the mean, not for what it came to in the end. */
static void test_what_was_learnt_is_a_mean(void **unused)
{
	const struct compute_mix mix[1] = {{.share = {[CLASS_SCALAR] = 1}, .threads = 1}};
	static struct calibration c;
	double done = 0, asked = 0;

	(void)unused;
	begin(mix, 1);
	compute_learn();
	for (int i = -LEARN_MEMORY; i < 100; i++) {
		double work = i < 0 ? 90e3 : i < 50 ? 40e3 : 20e3;

		learn(0, 30e3, work, 30e3);
		learn(0, 300e3, 10 * work, 300e3);
		done += i < 0 ? 0 : work;
		asked += i < 0 ? 0 : 30e3;
	}
	compute_learnt(&c);
	compute_use(&c);
	/* The last of the first ones are in it. */
	assert_true(fabs(block_work(0, 30e3) / 30e3 * asked / done - 1) < 0.1);
	assert_true(fabs(block_work(0, 300e3) / 300e3 * asked / done - 1) < 0.1);
	for (int i = 1; i < BLOCK_POINTS; i++)
		assert_true(c.block_ns[0][i] > c.block_ns[0][i - 1]);
	compute_close();
}

/* A class that takes ten times as long among the others as by itself has its share of the time then, as of the sampled program,
 * and blocks take what they should; in a mix of its own it is none the slower. */
static void test_classes_are_learnt_among_the_others(void **unused)
{
	const struct compute_mix mix[2] = {
		{.share = {[CLASS_INTEGER] = 0.7, [CLASS_SCALAR] = 0.1, [CLASS_RANDOM_L3] = 0.2}, .threads = 1},
		{.share = {[CLASS_RANDOM_L3] = 1}, .threads = 1},
	};
	static const double length[] = {3000, 50e3, 1e6};

	(void)unused;
	slowly = 1;
	slow_class = CLASS_RANDOM_L3;
	slow_times = 10;
	look_ns = 25;
	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		double before, asked = 0;
		static struct calibration c;

		begin(mix, 2);
		compute_learn();
		for (; asked < 2e8; asked += length[i])
			compute_block(0, length[i]);
		assert_true(fabs(state.cal.among[0][CLASS_RANDOM_L3] / 10 - 1) < 0.03);
		assert_true(fabs(state.cal.among[0][CLASS_INTEGER] - 1) < 0.02);
		assert_true(state.cal.among[1][CLASS_RANDOM_L3] == 1);
		/* What others had of the processor is none of its time. */
		before = state.cal.among[0][CLASS_SCALAR];
		machine.stop_ns = 3e6;
		machine.now_ns = 3e6;
		slice_learn(0, CLASS_SCALAR, 10e3 / before, 3.01e6);
		memset(&machine, 0, sizeof machine);
		assert_true(fabs(state.cal.among[0][CLASS_SCALAR] / before - 1) < 1e-9);
		compute_learnt(&c);
		compute_use(&c);
		state.learns = 0;
		compute_learn_slices(0);
		memset((void *)counted, 0, sizeof counted);
		for (asked = 0; asked < 1e8; asked += length[i])
			compute_block(0, length[i]);
		assert_true(fabs(worked_all_ns() / asked - 1) < 0.03);
		assert_true(fabs(10 * worked_ns(CLASS_RANDOM_L3) / asked - 0.2) < 0.01);
		compute_close();
	}
	slowly = 0;
	slow_class = -1;
}

/* What threads of a block read changes when they are done. */
static void test_classes_of_threads_are_learnt_after_the_block(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_INTEGER] = 0.5, [CLASS_SCALAR] = 0.5}, .threads = 2};

	(void)unused;
	look_ns = 25;
	slowly = 1;
	begin(&mix, 1);
	compute_learn_slices(1);
	slice_learn(0, CLASS_SCALAR, 1e9, 1.5e9);
	assert_true(state.cal.among[0][CLASS_SCALAR] == 1);
	compute_block(0, 50e3);
	assert_true(fabs(state.cal.among[0][CLASS_SCALAR] / 1.5 - 1) < 0.1);
	compute_close();
	look_ns = 0;
	slowly = 0;
}

/* A calibration has the times of classes among the others of each mix, within bounds. */
static void test_classes_are_calibrated_among_the_others(void **unused)
{
	static struct calibration c;

	(void)unused;
	if (is_emulated())
		SKIP("under qemu-user the time of a calibration is over before it has learnt");
	begin(&half_and_more, 1);
	c = straight(1, compute_classes(&half_and_more, 1));
	slowly = 1;
	slow_class = CLASS_LIBM;
	slow_times = 3;
	look_ns = 25;
	calibrate_among(&c, 20e6);
	assert_true(fabs(c.among[0][CLASS_LIBM] / 3 - 1) < 0.05);
	assert_true(fabs(c.among[0][CLASS_INTEGER] - 1) < 0.05);
	assert_true(c.among[0][CLASS_DIVIDE] == 1); /* which it does not have */
	slow_times = 1e6;
	calibrate_among(&c, 20e6);
	assert_true(c.among[0][CLASS_LIBM] <= AMONG_MOST);
	calibrate_among(&c, 0);
	assert_true(c.among[0][CLASS_LIBM] == 1);
	slowly = 0;
	slow_class = -1;
	compute_close();
}

static void test_mix_is_read_with_care(void **unused)
{
	double v[DATA_MIX] = {[CLASS_INTEGER] = 0.6, [CLASS_VECTOR] = 0.396, [CLASS_RANDOM_MEM] = 0.004,
			      [DATA_MIX_OFF_CPU] = 0.25, [DATA_MIX_THREADS] = 3.6};
	struct compute_mix m;
	double sum = 0;

	(void)unused;
	assert_int_equal(compute_mix_read(v, &m), 0);
	for (int c = 0; c < CLASS_N; c++)
		sum += m.share[c];
	assert_true(fabs(sum - 1) < 1e-12);
	assert_true(m.share[CLASS_RANDOM_MEM] == 0); /* too little to be worth its memory */
	assert_int_equal(compute_classes(&m, 1), 1u << CLASS_INTEGER | 1u << CLASS_VECTOR);
	assert_int_equal(m.threads, 4);
	assert_true(m.off_cpu == 0.25);
	v[DATA_MIX_THREADS] = 1.4;
	v[DATA_MIX_OFF_CPU] = 0.002;
	assert_int_equal(compute_mix_read(v, &m), 0);
	assert_int_equal(m.threads, 1);
	assert_true(m.off_cpu == 0);

	static const struct {
		int at;
		double value;
	} bad[] = {{CLASS_INTEGER, -0.1}, {CLASS_INTEGER, NAN}, {CLASS_INTEGER, 0.2}, {CLASS_INTEGER, 7},
		   {DATA_MIX_OFF_CPU, 1.5}, {DATA_MIX_OFF_CPU, NAN}, {DATA_MIX_THREADS, -1},
		   {DATA_MIX_THREADS, INFINITY}};

	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		double w[DATA_MIX];

		memcpy(w, v, sizeof w);
		w[bad[i].at] = bad[i].value;
		assert_int_equal(compute_mix_read(w, &m), -1);
	}
}

/* Whatever the length of the blocks, the work adds up to the time asked for, and the classes to their shares. */
static void test_shares_are_met(void **unused)
{
	static const double length[] = {17, 75, 400, 2500, 30e3, 1e6, 3e7};

	(void)unused;
	for (size_t i = 0; i < sizeof length / sizeof *length; i++) {
		double total = 0;

		begin(&half_and_more, 1);
		for (int n = 0; n < 20000 && total < 2e8; n++) {
			compute_block(0, length[i]);
			total += length[i];
		}
		assert_true(fabs(worked_all_ns() - total) < 200);
		for (int c = 0; c < CLASS_N; c++)
			assert_true(fabs(worked_ns(c) / total - half_and_more.share[c]) <
				    0.01 + 2 * fmax(length[i] / total, 0) * (length[i] < 4 * SLICE_LEAST_NS));
		compute_close();
	}
}

/* One long block is not one class's. */
static void test_a_block_is_a_mixture(void **unused)
{
	(void)unused;
	begin(&half_and_more, 1);
	compute_block(0, 400e3);
	for (int c = 0; c < CLASS_N; c++)
		assert_true(fabs(worked_ns(c) / 400e3 - half_and_more.share[c]) < 0.15);
	assert_true(counted[CLASS_INTEGER] > 0 && counted[CLASS_LIBM] > 0 && counted[CLASS_STREAM_L2] > 0);
	compute_close();
}

static void test_mixes_do_not_mingle(void **unused)
{
	const struct compute_mix mix[2] = {{.share = {[CLASS_INTEGER] = 1}, .threads = 1},
					   {.share = {[CLASS_DIVIDE] = 1}, .threads = 1}};

	const double ns[2] = {500 * (CLASS_INTEGER + 2), 60 * (CLASS_DIVIDE + 2)}; /* whole units of each */

	(void)unused;
	begin(mix, 2);
	for (int i = 0; i < 300; i++) {
		compute_block(0, ns[0]);
		compute_block(1, ns[1]);
	}
	assert_true(fabs(worked_ns(CLASS_INTEGER) - 300 * ns[0]) < 1000);
	assert_true(fabs(worked_ns(CLASS_DIVIDE) - 300 * ns[1]) < 1000);
	compute_block(99, 1e6); /* a mix that is not there is the first */
	assert_true(worked_ns(CLASS_INTEGER) > 1.2e6);
	compute_close();
}

static void test_sleep_is_kept_apart(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_INTEGER] = 1}, .off_cpu = 0.4, .threads = 1};
	double slept = 0;

	(void)unused;
	begin(&mix, 1);
	for (int i = 0; i < 1000; i++) {
		double s = compute_sleep_ns(0, 20e3);

		assert_true(s == 0 || s >= SLEEP_LEAST_NS); /* shorter ones gather */
		slept += s;
		compute_block(0, compute_work_ns(0, 20e3));
	}
	assert_true(fabs(slept - 0.4 * 20e6) < 2 * SLEEP_LEAST_NS);
	assert_true(fabs(worked_ns(CLASS_INTEGER) - 0.6 * 20e6) < 1000);
	compute_close();
}

/* Runs of the same blocks do the same work in the same order. */
static void test_runs_are_the_same(void **unused)
{
	double digest[2];

	(void)unused;
	for (int run = 0; run < 2; run++) {
		begin(&half_and_more, 1);
		for (int i = 0; i < 500; i++)
			compute_block(0, 100 + 37 * (i % 91));
		digest[run] = compute_digest();
		compute_close();
	}
	assert_true(digest[0] == digest[1]);
}

/* ---- threads ---- */

static _Atomic int visited[THREADS_MOST];

static void visit(void *arg, int index)
{
	(void)arg;
	visited[index]++;
}

static void test_pool_runs_each_thread_once(void **unused)
{
	(void)unused;
	for (int n = 1; n <= 5; n++) {
		assert_true(threads_open(n) >= n);
		memset((void *)visited, 0, sizeof visited);
		for (int i = 0; i < 500; i++)
			threads_run(n, visit, NULL);
		for (int i = 0; i < THREADS_MOST; i++)
			assert_int_equal(visited[i], i < n ? 500 : 0);
	}
	threads_run(2, visit, NULL); /* fewer than there are */
	assert_int_equal(visited[1], 501);
	assert_int_equal(visited[2], 500);
	struct timespec rest = {0, 3000000};

	nanosleep(&rest, NULL); /* they sleep by now, and wake again */
	threads_run(5, visit, NULL);
	assert_int_equal(visited[4], 501);
	threads_close();
	threads_close();
}

static void test_threads_share_the_work(void **unused)
{
	const struct compute_mix mix[2] = {{.share = {[CLASS_INTEGER] = 1}, .threads = 3},
					   {.share = {[CLASS_SCALAR] = 1}, .threads = 1}};
	double before[3];

	(void)unused;
	begin(mix, 2);
	for (int i = 0; i < 3; i++)
		before[i] = kernel_digest(state.worker[i].kernel);
	compute_block(0, 1e6);
	for (int i = 0; i < 3; i++)
		assert_true(kernel_digest(state.worker[i].kernel) != before[i]);
	assert_true(fabs(worked_ns(CLASS_INTEGER) - 3e6) < 3000); /* each for as long as the block */
	compute_block(1, 1e6);
	assert_true(fabs(worked_ns(CLASS_SCALAR) - 1e6) < 1000);
	compute_close();
}

/* ---- calibration ---- */

static void test_calibration_rises(void **unused)
{
	struct calibration c = {.n_mix = 1, .shape = small};
	const struct compute_mix mix = {.share = {[0 ... CLASS_N - 1] = 1.0 / CLASS_N}, .threads = 1};

	(void)unused;
	assert_int_equal(compute_open(&mix, 1, &small), 0);
	c.classes = compute_classes(&mix, 1);
	assert_int_equal(c.classes, (1u << CLASS_N) - 1);
	for (int k = 0; k < CLASS_N; k++) {
		calibrate_kernel(k, 2e6, &c.kernel[k]);
		assert_true(c.kernel[k].ns[0] > 0);
		for (int i = 1; i < CURVE_POINTS; i++)
			assert_true(c.kernel[k].ns[i] > c.kernel[k].ns[i - 1]);
	}
	calibrate_among(&c, 1e6);
	calibrate_mix(&c, 0, 1e6);
	for (int i = 1; i < BLOCK_POINTS; i++)
		assert_true(c.block_ns[0][i] > c.block_ns[0][i - 1]);
	calibrate_call(&c);
	assert_true(c.call_ns >= 0);
	double last = c.block_ns[0][BLOCK_POINTS - 1];

	calibration_scale(&c, 2);
	assert_true(c.block_ns[0][BLOCK_POINTS - 1] == 2 * last);
	compute_close();
}

/* On the simulated machine that stops for so long, at that look at the clock or again and again. */
static void integer_curve_is_exact(double budget_ns, double stop, unsigned at)
{
	struct curve curve;

	machine.simulated = 1;
	calibrate_kernel(CLASS_INTEGER, budget_ns, &curve);
	for (int i = 0; i < CURVE_POINTS; i++)
		if (fabs(curve.ns[i] / ((CLASS_INTEGER + 2) * (double)(1ull << i)) - 1) > 1e-6)
			fail_msg("stops of %g ns, at look %u: %llu units take %g ns", stop, at, 1ull << i, curve.ns[i]);
	memset(&machine, 0, sizeof(machine));
}

/* Whenever the rank has to wait for its core, and however long. */
static void test_calibration_stalled(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_INTEGER] = 1}, .threads = 1};

	(void)unused;
	assert_int_equal(compute_open(&mix, 1, &small), 0);
	for (double stall = 1e3; stall < 2e9; stall *= 10)
		for (unsigned at = 0; at < 1500; at += 7) {
			machine.stalls_at = at;
			machine.stall_ns = stall;
			integer_curve_is_exact(15e6, stall, at);
		}
	compute_close();
}

/* Where others have the core for as long as it has it, however often, also in step with what is measured. */
static void test_calibration_crowded(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_INTEGER] = 1}, .threads = 1};

	(void)unused;
	assert_int_equal(compute_open(&mix, 1, &small), 0);
	for (double stop = 3e3; stop < 1e7; stop *= 1.07) {
		machine.stop_ns = stop;
		integer_curve_is_exact(4e6, stop, 0);
	}
	compute_close();
}

/* Calibrates on the simulated machine, on which others have the core `others` times as long. Returns the share of the rounds that
 * were left out. */
static double undone_within(double limit_ns, double others, double *wall_ns)
{
	struct curve curve;
	double begin;

	machine.simulated = 1;
	machine.stop_ns = 3e3;
	machine.others = others - 1;
	begin = machine_clock();
	calibrate_limit(limit_ns);
	for (int i = 0; i < 4; i++) {
		calibrate_kernel(CLASS_INTEGER, 4e6, &curve);
		for (int k = 0; k < CURVE_POINTS; k++)
			assert_true(fabs(curve.ns[k] / ((CLASS_INTEGER + 2) * (double)(1ull << k)) - 1) < 1e-6);
	}
	*wall_ns = machine_clock() - begin;
	memset(&machine, 0, sizeof(machine));
	return calibrate_undone();
}

/* On a starved machine fewer rounds are made. The curve is right, and the share of the missing rounds is known. */
static void test_calibration_has_a_limit(void **unused)
{
	const struct compute_mix mix = {.share = {[CLASS_INTEGER] = 1}, .threads = 1};
	double plenty, some, least, wall, round = 50 * 4e6 / ROUNDS;

	(void)unused;
	assert_int_equal(compute_open(&mix, 1, &small), 0);
	assert_true(undone_within(1e12, 50, &plenty) == 0);
	assert_true(undone_within(plenty, 1, &wall) == 0);
	some = undone_within(plenty / 2, 50, &wall);
	assert_true(some > 0.2 && some < 0.6);
	assert_true(wall < 0.5 * plenty + 4 * 2 * round);
	least = undone_within(0, 50, &wall);
	assert_true(fabs(least - (1 - 1.0 / ROUNDS)) < 1e-9); /* one round is always made */
	assert_true(wall < 4 * 2 * round);
	calibrate_limit(INFINITY);
	compute_close();
}

/* ---- the file ---- */

static void write_bytes(const char *path, const char *text, size_t n)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, n, f), n);
	fclose(f);
}

static size_t read_bytes(const char *path, char *out, size_t size)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	n = fread(out, 1, size, f);
	fclose(f);
	return n;
}

static void test_calibration_file(void **unused)
{
	char path[] = "/tmp/precedent-calib-XXXXXX", why[256], line[64];
	struct calibration all[3], back[3], wish;
	int fd = mkstemp(path);

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	for (int i = 0; i < 3; i++) {
		all[i] = straight(2, 1u << CLASS_SCALAR | 1u << CLASS_RANDOM_L3);
		all[i].lacked = 0.25;
		memset(&all[i].kernel[CLASS_INTEGER], 0, sizeof all[i].kernel[0]);
	}
	wish = straight(2, all[0].classes);
	all[1].call_ns = 7.25;
	all[1].among[1][CLASS_RANDOM_L3] = 2.5;
	all[2].block_ns[1][BLOCK_POINTS - 1] *= 1.5;
	assert_int_equal(calibfile_write(path, all, 3, why, sizeof why), 0);
	for (int i = 0; i < CLASS_N; i++) /* only what the classes need comes back */
		for (int r = 0; r < 3; r++)
			if (!(all[0].classes >> i & 1))
				memcpy(&all[r].kernel[i], &wish.kernel[i], sizeof wish.kernel[i]);
	back[0] = wish;
	back[0].shape = (struct kernel_shape){.vector_bits = 512};
	assert_int_equal(calibfile_read(path, back, 3, why, sizeof why), 0);
	assert_memory_equal(all, back, sizeof all);
	back[0] = wish;
	assert_int_equal(calibfile_read(path, back, 2, why, sizeof why), -1);
	assert_non_null(strstr(why, "2 ranks"));
	back[0] = wish;
	back[0].mixes++; /* of another program */
	assert_int_equal(calibfile_read(path, back, 3, why, sizeof why), -1);
	unlink(path);
	assert_int_equal(calibfile_read(path, back, 1, why, sizeof why), -1);
	snprintf(line, sizeof line, "cannot read %.40s", path);
	assert_non_null(strstr(why, line));
}

static void test_calibration_file_damaged(void **unused)
{
	char path[] = "/tmp/precedent-calib-XXXXXX", why[256], *text = malloc(1 << 20), *bad = malloc(1 << 20);
	struct calibration all[2], back[2];
	int fd = mkstemp(path);
	uint64_t x = 12345;
	size_t n;

	(void)unused;
	assert_true(fd >= 0);
	close(fd);
	all[0] = all[1] = straight(1, 1u << CLASS_SCALAR);
	assert_int_equal(calibfile_write(path, all, 2, why, sizeof why), 0);
	n = read_bytes(path, text, 1 << 20);
	for (size_t cut = 0; cut < n; cut += 7) {
		write_bytes(path, text, cut);
		back[0] = all[0];
		assert_int_equal(calibfile_read(path, back, 2, why, sizeof why), -1);
	}
	memcpy(bad, text, n);
	bad[n] = '\n';
	write_bytes(path, bad, n + 1);
	back[0] = all[0];
	assert_int_equal(calibfile_read(path, back, 2, why, sizeof why), -1);
	/* Whatever a byte is changed to, what is taken makes sense. */
	for (int i = 0; i < 2000; i++) {
		memcpy(bad, text, n);
		bad[draw(&x) % n] = (char)draw(&x);
		write_bytes(path, bad, n);
		back[0] = all[0];
		if (calibfile_read(path, back, 2, why, sizeof why) != 0)
			continue;
		for (int r = 0; r < 2; r++)
			for (int p = 1; p < BLOCK_POINTS; p++)
				assert_true(back[r].block_ns[0][p] > back[r].block_ns[0][p - 1] &&
					    isfinite(back[r].block_ns[0][p]));
		for (int r = 0; r < 2; r++)
			for (int k = 0; k < CLASS_N; k++)
				assert_true(back[r].among[0][k] * AMONG_MOST >= 1 && back[r].among[0][k] <= AMONG_MOST);
		for (int l = 0; l < LEVEL_N; l++)
			assert_true(back[0].shape.bytes[l] >= LEVEL_LEAST && back[0].shape.bytes[l] <= LEVEL_MOST);
	}
	static const char *const wrong[] = {"data 1 2 3", "data 24576 49152 1e300", "data 24576 49152 nan",
					    "data 24577 49152 98304"};

	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		char *at = strstr(text, "data "), *rest = strchr(at, '\n');
		int m = snprintf(bad, 1 << 20, "%.*s%s%.*s", (int)(at - text), text, wrong[i], (int)(n - (size_t)(rest - text)), rest);

		write_bytes(path, bad, (size_t)m);
		back[0] = all[0];
		assert_int_equal(calibfile_read(path, back, 2, why, sizeof why), -1);
	}
	unlink(path);
	free(text);
	free(bad);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_curve_inverts),
		cmocka_unit_test(test_block_work_inverts),
		cmocka_unit_test(test_blocks_are_learnt_from),
		cmocka_unit_test(test_short_blocks_are_learnt_from),
		cmocka_unit_test(test_what_was_learnt_is_a_mean),
		cmocka_unit_test(test_classes_are_learnt_among_the_others),
		cmocka_unit_test(test_classes_of_threads_are_learnt_after_the_block),
		cmocka_unit_test(test_classes_are_calibrated_among_the_others),
		cmocka_unit_test(test_mix_is_read_with_care),
		cmocka_unit_test(test_shares_are_met),
		cmocka_unit_test(test_a_block_is_a_mixture),
		cmocka_unit_test(test_mixes_do_not_mingle),
		cmocka_unit_test(test_sleep_is_kept_apart),
		cmocka_unit_test(test_runs_are_the_same),
		cmocka_unit_test(test_pool_runs_each_thread_once),
		cmocka_unit_test(test_threads_share_the_work),
		cmocka_unit_test(test_calibration_rises),
		cmocka_unit_test(test_calibration_stalled),
		cmocka_unit_test(test_calibration_crowded),
		cmocka_unit_test(test_calibration_has_a_limit),
		cmocka_unit_test(test_calibration_file),
		cmocka_unit_test(test_calibration_file_damaged),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
