/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernels of a skeleton's runtime: that each does work which depends on all work before, the same in every run, in
 * numbers that stay normal; that their memory is what the caches and the memory of a machine allow.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <cmocka.h>

#include "skelgen/runtime/caches.c"
#include "skelgen/runtime/kernel.c"
#include "skelgen/runtime/kernel_core.c"
#include "skelgen/runtime/kernel_memory.c"
#include "skelgen/runtime/kernel_vector.c"

#define ALL ((1u << CLASS_N) - 1)

static const struct kernel_shape small = {.bytes = {24576, 98304, 393216}, .vector_bits = 128, .packed = 8};

static void test_work_changes_the_digest(void **unused)
{
	static const int widths[] = {128, 256, 512};

	(void)unused;
	for (int w = 0; w < 3; w++) {
		struct kernel_shape s = small;
		struct kernel *k;

		s.vector_bits = widths[w];
		k = kernel_create(&s, ALL);
		assert_non_null(k);
		assert_true(kernel_vector_bits(k) <= widths[w]);
		for (int c = 0; c < CLASS_N; c++)
			for (int i = 0; i < 3; i++) {
				double before = kernel_digest(k);

				kernel_run(k, c, 101);
				assert_true(kernel_digest(k) != before);
			}
		kernel_destroy(k);
	}
}

static void test_runs_are_the_same(void **unused)
{
	double digest[2];

	(void)unused;
	for (int run = 0; run < 2; run++) {
		struct kernel *k = kernel_create(&small, ALL);

		assert_non_null(k);
		for (int i = 0; i < 200; i++)
			for (int c = 0; c < CLASS_N; c++)
				kernel_run(k, c, (uint64_t)(1 + (i * 7 + c) % 50));
		digest[run] = kernel_digest(k);
		kernel_destroy(k);
	}
	assert_true(digest[0] == digest[1]);
}

/* Many short runs are one long one: where a run stops, the next goes on. */
static void test_runs_go_on(void **unused)
{
	struct kernel *a = kernel_create(&small, ALL), *b = kernel_create(&small, ALL);

	(void)unused;
	for (int c = 0; c < CLASS_N; c++) {
		uint64_t step = 5;

		kernel_run(a, c, 600 / step * step);
		for (uint64_t i = 0; i < 600 / step; i++)
			kernel_run(b, c, step);
		assert_true(kernel_digest(a) == kernel_digest(b));
	}
	kernel_destroy(a);
	kernel_destroy(b);
}

static void all_normal(const double *v, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		assert_true(v[i] != 0 && isnormal(v[i]) && fabs(v[i]) < 1e6);
}

static void test_numbers_stay_normal(void **unused)
{
	struct kernel *k = kernel_create(&small, ALL);

	(void)unused;
	for (int c = 0; c < CLASS_N; c++)
		kernel_run(k, c, 300000);
	all_normal(&k->scalar, 1);
	all_normal(k->sums, NUMBERS);
	all_normal(k->divide, 2);
	all_normal(&k->libm, 1);
	all_normal(k->vec[0], sizeof k->vec[0] / sizeof(double));
	all_normal(k->vec[1], sizeof k->vec[1] / sizeof(double));
	all_normal(k->vec[2], sizeof k->vec[2] / sizeof(double));
	for (int l = 0; l < LEVEL_N; l++)
		all_normal(k->stream[l].a, k->stream[l].n);
	kernel_destroy(k);
}

/* By how many bytes, in the last twelve bits of addresses, a store is ahead of a load that goes along with it. */
static unsigned ahead(const void *load, const void *store)
{
	return (unsigned)((uintptr_t)store - (uintptr_t)load) % 4096;
}

static void test_no_load_is_taken_for_what_was_stored(void **unused)
{
	struct kernel *k = kernel_create(&small, ALL);
	const double *stored[] = {k->sums, k->shorts, k->sweep};

	(void)unused;
	for (int i = 0; i < 3; i++) /* three numbers are loaded for one */
		assert_true(ahead(k->number + 2, stored[i]) > 1024);
	assert_int_equal(ahead(k->table, k->sum), 0); /* each is loaded before what is stored there */
	for (int from = 0; from < 2; from++) {
		const double *in = k->vec[from] + LINE_DOUBLES, *out = k->vec[from ^ 1] + LINE_DOUBLES, *sum = k->vec[2];

		assert_true(ahead(in + LINE_DOUBLES, out) > 1024 && ahead(in + LINE_DOUBLES, sum) > 1024);
		assert_true(ahead(sum + LINE_DOUBLES, out) > 1024);
	}
	kernel_destroy(k);
}

/* Neither outcome of a branch becomes a habit: the bits that decide are even, and so are their changes. */
static void test_branches_are_even(void **unused)
{
	struct kernel *k = kernel_create(&small, 1u << CLASS_BRANCH);
	int taken = 0, changed = 0, before = 0;

	(void)unused;
	for (int i = 0; i < 20000; i++) {
		uint64_t x = k->branch;
		int now = (int)((x * BRANCH_FACTOR + BRANCH_ADD) >> 63);

		kernel_run(k, CLASS_BRANCH, 1);
		taken += now;
		changed += now != before;
		before = now;
	}
	assert_in_range(taken, 9500, 10500);
	assert_in_range(changed, 9500, 10500);
	kernel_destroy(k);
}

static void test_chain_is_one_round(void **unused)
{
	struct kernel *k = kernel_create(&small, 1u << CLASS_RANDOM_L3);
	struct kernel_chain *c = &k->chain[LEVEL_L3];
	void **start = c->at, **at = start;
	uint64_t n = 0;

	(void)unused;
	assert_int_equal(c->n, 98304 / 64);
	assert_int_equal(kernel_round(k, CLASS_RANDOM_L3), c->n);
	do {
		assert_true(at >= c->line && (uint64_t)(at - c->line) < c->n * 8 && (at - c->line) % 8 == 0);
		at = *at;
		n++;
	} while (at != start && n <= c->n);
	assert_int_equal(n, c->n);
	kernel_run(k, CLASS_RANDOM_L3, n);
	assert_ptr_equal(c->at, start);
	kernel_destroy(k);
}

/* A stride touches every line in the end, and stays inside. */
static void test_stride_stays_inside(void **unused)
{
	struct kernel *k = kernel_create(&small, 1u << CLASS_STRIDE_MEM);
	struct kernel_array *s = &k->stream[LEVEL_MEM];

	(void)unused;
	for (int i = 0; i < 100000; i++) {
		assert_true(s->jump < s->n);
		kernel_run(k, CLASS_STRIDE_MEM, 1);
	}
	kernel_destroy(k);
}

/* All of an array is set, and half of it copied, whole pages at a time, in turns that end where it ends. */
static void test_strings_cover_their_array(void **unused)
{
	struct kernel *k = kernel_create(&small, 1u << CLASS_FILL_L2 | 1u << CLASS_COPY_L2);
	struct kernel_array *s = &k->stream[LEVEL_L2];
	uint64_t half = s->n / 2, round;

	(void)unused;
	assert_null(k->stream[LEVEL_L3].a);
	round = kernel_round(k, CLASS_COPY_L2);
	assert_int_equal(round, half / STRING_DOUBLES);
	for (uint64_t i = 0; i < s->n; i++)
		s->a[i] = (double)(i + 1);
	kernel_run(k, CLASS_COPY_L2, round - 1);
	for (uint64_t i = 0; i < s->n; i++)
		assert_true(s->a[i] == (double)(i < half - STRING_DOUBLES ? i + half + 1 : i + 1));
	kernel_run(k, CLASS_COPY_L2, 1);
	assert_true(s->a[half - 1] == (double)s->n);
	assert_int_equal(k->string[LEVEL_L2].copy, 0);
	round = kernel_round(k, CLASS_FILL_L2);
	assert_int_equal(round, s->n / STRING_DOUBLES);
	kernel_run(k, CLASS_FILL_L2, round - 1);
	assert_true(s->a[0] == s->a[s->n - STRING_DOUBLES - 1] && s->a[s->n - 1] == (double)s->n);
	kernel_run(k, CLASS_FILL_L2, 1);
	assert_true(s->a[0] == s->a[s->n - 1]);
	assert_int_equal(k->string[LEVEL_L2].fill, 0);
	kernel_destroy(k);
}

static void test_memory_is_what_is_needed(void **unused)
{
	struct kernel *k = kernel_create(&small, 1u << CLASS_SCALAR | 1u << CLASS_STREAM_L3);

	(void)unused;
	assert_null(k->stream[LEVEL_L2].a);
	assert_null(k->stream[LEVEL_MEM].a);
	assert_non_null(k->stream[LEVEL_L3].a);
	assert_null(k->chain[LEVEL_L3].line);
	assert_int_equal(kernel_bytes(&small, 1u << CLASS_SCALAR | 1u << CLASS_STREAM_L3), sizeof *k + 98304);
	assert_int_equal(kernel_bytes(&small, 1u << CLASS_STREAM_MEM | 1u << CLASS_STRIDE_MEM), sizeof *k + 393216);
	kernel_destroy(k);
	kernel_destroy(NULL);
}

/* ---- caches ---- */

static char root[] = "/tmp/precedent-sys-XXXXXX";

static void put(const char *path, const char *text)
{
	char full[512], *p;
	FILE *f;

	snprintf(full, sizeof full, "%s/%s", root, path);
	for (p = full + strlen(root) + 1; (p = strchr(p, '/')) != NULL; p++) {
		*p = '\0';
		mkdir(full, 0777);
		*p = '/';
	}
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void put_cache(int cpu, int index, const char *level, const char *type, const char *size, const char *shared)
{
	const char *const name[] = {"level", "type", "size", "shared_cpu_list"}, *const value[] = {level, type, size, shared};

	for (int i = 0; i < 4; i++) {
		char path[128];

		snprintf(path, sizeof path, "devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, name[i]);
		put(path, value[i]);
	}
}

static void test_caches_are_read(void **unused)
{
	struct caches c;

	(void)unused;
	put_cache(0, 0, "1\n", "Data\n", "48K\n", "0\n");
	put_cache(0, 1, "1\n", "Instruction\n", "32K\n", "0\n");
	put_cache(0, 2, "2\n", "Unified\n", "2048K\n", "0\n");
	put_cache(0, 3, "3\n", "Unified\n", "30M\n", "0-27\n");
	caches_read(root, &c);
	assert_int_equal(c.l1, 48 << 10);
	assert_int_equal(c.l2, 2 << 20);
	assert_int_equal(c.l3, 30 << 20);
	assert_int_equal(c.n_l3, 1);
	assert_true(c.memory > 0);
}

static void test_memory_limits_are_read(void **unused)
{
	char self[64];

	(void)unused;
	put("fs/cgroup/slurm/memory.max", "max\n");
	put("fs/cgroup/slurm/job_7/memory.max", "3000000\n");
	put("fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
	put("fs/cgroup/memory/old/memory.limit_in_bytes", "2000000\n");
	put("self", "4:memory:/old\n3:cpu:/x\n0::/slurm/job_7/step_0\n");
	snprintf(self, sizeof self, "%s/self", root);
	assert_int_equal(caches_memory_limit(root, self, 1ull << 40), 2000000);
	put("self", "0::/slurm/job_7/step_0\n");
	assert_int_equal(caches_memory_limit(root, self, 1ull << 40), 3000000);
	assert_int_equal(caches_memory_limit(root, self, 1000), 1000);
	put("self", "junk\n0::\n");
	assert_int_equal(caches_memory_limit(root, self, 5000), 5000);
	assert_int_equal(caches_memory_limit(root, "/nowhere", 5000), 5000);
}

/* More than a rank's part of the last cache, so that a round does not find there what the one before left; else 64 MiB will do. */
static bool leaves_the_cache(const struct caches *c, int ranks, uint64_t bytes)
{
	uint64_t share = c->l3 / (uint64_t)((ranks + c->n_l3 - 1) / c->n_l3);

	if (bytes > 1ull << 30 || (bytes > 64 << 20 && bytes > 2 * share))
		return false;
	return bytes > share || bytes > (1ull << 30) - LEVEL_UNIT;
}

static void test_shape_follows_the_caches(void **unused)
{
	static const struct caches many[] = {
		{32 << 10, 1 << 20, 32 << 20, 1, 24ull << 30},   /* a part of a processor */
		{32 << 10, 512 << 10, 256ull << 20, 8, 512ull << 30},
		{48 << 10, 2 << 20, 30 << 20, 1, 128ull << 30},
		{48 << 10, 2 << 20, 260 << 20, 1, 24ull << 30},  /* two processors of many, and the cache of all */
		{48 << 10, 2 << 20, 2048ull << 20, 1, 512ull << 30}, /* none is as large yet */
		{32 << 10, 256 << 10, 0, 1, 4ull << 30},         /* no third level */
		{0, 0, 0, 1, 1ull << 30},                        /* nothing is known */
	};

	(void)unused;
	for (size_t i = 0; i < sizeof many / sizeof *many; i++)
		for (int ranks = 1; ranks <= 256; ranks *= 4) {
			struct kernel_shape s, before;

			caches_shape(&many[i], ranks, &s);
			assert_true(s.bytes[LEVEL_L2] < s.bytes[LEVEL_L3] && s.bytes[LEVEL_L3] <= s.bytes[LEVEL_MEM]);
			assert_true(leaves_the_cache(&many[i], ranks, s.bytes[LEVEL_MEM]));
			for (int l = 0; l < LEVEL_N; l++)
				assert_int_equal(s.bytes[l] % LEVEL_UNIT, 0);
			if (many[i].l2 > 0)
				assert_true(s.bytes[LEVEL_L2] <= many[i].l2);
			/* A program's sizes are kept where they make sense; the levels keep their order whatever it asks. */
			for (double want = 1e3; want < 1e12; want *= 10) {
				struct kernel_shape like = s;

				caches_shape_like(&many[i], ranks, (double[LEVEL_N]){want, want, want}, &like);
				assert_true(like.bytes[LEVEL_L2] < like.bytes[LEVEL_L3] && like.bytes[LEVEL_L3] <= like.bytes[LEVEL_MEM]);
				assert_true(leaves_the_cache(&many[i], ranks, like.bytes[LEVEL_MEM]));
				for (int l = 0; l < LEVEL_N; l++)
					assert_int_equal(like.bytes[l] % LEVEL_UNIT, 0);
			}
			before = s;
			caches_shape_like(&many[i], ranks, (double[LEVEL_N]){0, NAN, -1}, &s);
			assert_memory_equal(&s, &before, sizeof s);
			caches_bound(&many[i], ranks, ALL, &s);
			for (int l = 0; l < LEVEL_N; l++)
				assert_true(s.bytes[l] >= LEVEL_LEAST && s.bytes[l] <= before.bytes[l]);
			assert_true(kernel_bytes(&s, ALL) <= many[i].memory / 8 / (uint64_t)ranks ||
				    s.bytes[LEVEL_MEM] == LEVEL_LEAST);
		}
}

static void test_shape_of_the_program(void **unused)
{
	static const struct caches c = {32 << 10, 1 << 20, 32 << 20, 1, 24ull << 30};
	struct kernel_shape s;

	(void)unused;
	caches_shape(&c, 2, &s);
	assert_true(s.bytes[LEVEL_L3] > 8e6);
	caches_shape_like(&c, 2, (double[LEVEL_N]){0, 3.9e6, 40e6}, &s);
	assert_true(s.bytes[LEVEL_L3] <= 3.9e6 && s.bytes[LEVEL_L3] > 3.9e6 - LEVEL_UNIT);
	assert_true(s.bytes[LEVEL_MEM] <= 40e6 && s.bytes[LEVEL_MEM] > 40e6 - LEVEL_UNIT);
}

static int make_root(void **unused)
{
	(void)unused;
	return mkdtemp(root) == NULL ? -1 : 0;
}

static int remove_root(void **unused)
{
	char command[64];

	(void)unused;
	snprintf(command, sizeof command, "rm -rf %s", root);
	return system(command);
}

/* Where /sys says nothing of caches, as in some virtual machines. */
static void test_last_level_of_a_package(void **unused)
{
	struct caches c = {.l1 = 48 << 10, .l2 = 1 << 20, .n_l3 = 1, .memory = 1ull << 35};
	struct kernel_shape s;

	(void)unused;
	assert_true(caches_l3_of(0, 260ull << 20) == 260ull << 20);
	assert_true(caches_l3_of(1, 512ull << 20) == 32ull << 20);
	assert_true(caches_l3_of(1, 16ull << 20) == 16ull << 20);
	c.l3 = caches_l3_of(1, 512ull << 20);
	caches_shape(&c, 2, &s);
	assert_true(s.bytes[LEVEL_MEM] <= 64ull << 20 && s.bytes[LEVEL_MEM] >= c.l3);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_last_level_of_a_package),
		cmocka_unit_test(test_work_changes_the_digest),
		cmocka_unit_test(test_runs_are_the_same),
		cmocka_unit_test(test_runs_go_on),
		cmocka_unit_test(test_numbers_stay_normal),
		cmocka_unit_test(test_no_load_is_taken_for_what_was_stored),
		cmocka_unit_test(test_branches_are_even),
		cmocka_unit_test(test_chain_is_one_round),
		cmocka_unit_test(test_stride_stays_inside),
		cmocka_unit_test(test_strings_cover_their_array),
		cmocka_unit_test(test_memory_is_what_is_needed),
		cmocka_unit_test(test_caches_are_read),
		cmocka_unit_test(test_memory_limits_are_read),
		cmocka_unit_test(test_shape_follows_the_caches),
		cmocka_unit_test(test_shape_of_the_program),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_root, remove_root);
}
