/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Functions of the rank: each form is found from its values, what is found holds, nothing overflows. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/tree/param.h"

#define MAX_P 256

static uint64_t state = 88172645463325252u;

static uint32_t rng(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 32);
}

static uint32_t place[MAX_P], n_places[MAX_P];
static int64_t value[MAX_P];

/* Fit value[0..n) at ranks 0, step, 2 step ... of n_ranks, check it on all of them, return its form. */
static struct rank_fn fit(uint32_t n, uint32_t step, uint32_t n_ranks)
{
	struct rank_points p = {n, place, n_places, value};
	struct arena *a = arena_create();
	struct rank_fn f;

	assert_non_null(a);
	for (uint32_t i = 0; i < n; i++) {
		place[i] = i * step;
		n_places[i] = n_ranks;
	}
	assert_int_equal(rank_fn_fit(&p, a, &f), 0);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(rank_fn_eval(&f, place[i], n_ranks, i), value[i]);
	f.table = NULL;
	arena_destroy(a);
	return f;
}

static void test_simple_forms(void **arg)
{
	(void)arg;
	for (uint32_t p = 8; p <= MAX_P; p *= 2) {
		struct rank_fn f;

		for (uint32_t r = 0; r < p; r++)
			value[r] = -2;
		f = fit(p, 1, p);
		assert_int_equal(f.form, RF_CONST);
		assert_int_equal(f.a, -2);
		for (uint32_t r = 0; r < p; r++)
			value[r] = (int64_t)r - 3;
		f = fit(p, 1, p);
		assert_int_equal(f.form, RF_OFFSET);
		assert_int_equal(f.a, -3);
		for (uint32_t r = 0; r < p; r++)
			value[r] = (r + p - 1) % p;
		f = fit(p, 1, p);
		assert_int_equal(f.form, RF_MODULO);
		assert_int_equal(f.a, -1);
		for (uint32_t r = 0; r < p; r++)
			value[r] = r ^ 5;
		f = fit(p, 1, p);
		assert_int_equal(f.form, RF_XOR);
		assert_int_equal(f.a, 5);
		for (uint32_t r = 0; r < p; r++)
			value[r] = 1000 - 7 * (int64_t)r;
		f = fit(p, 1, p);
		assert_int_equal(f.form, RF_AFFINE);
		assert_int_equal(f.a, -7);
		assert_int_equal(f.b, 1000);
	}
}

static void test_subsets_of_ranks(void **arg)
{
	(void)arg;
	for (uint32_t i = 0; i < 64; i++)
		value[i] = 4 * i + 1;
	assert_int_equal(fit(64, 4, 256).form, RF_OFFSET);
	value[63] = 0;
	assert_int_equal(fit(64, 4, 256).form, RF_TABLE);
}

static void fill_grid(int64_t columns, int64_t rows, int64_t dc, int64_t dr, bool wrap)
{
	for (int64_t r = 0; r < columns * rows; r++) {
		int64_t c = r % columns + dc, w = r / columns + dr;

		if (wrap) {
			c = (c + columns) % columns;
			w = (w + rows) % rows;
		}
		value[r] = c < 0 || w < 0 || c >= columns || w >= rows ? TRACE_PROC_NULL : w * columns + c;
	}
}

static void test_grids(void **arg)
{
	static const int64_t shape[][2] = {{4, 4}, {2, 8}, {8, 2}, {16, 16}, {3, 5}, {12, 20}};
	static const int64_t shift[][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, 1}};

	(void)arg;
	for (size_t s = 0; s < sizeof(shape) / sizeof(*shape); s++)
		for (size_t d = 0; d < sizeof(shift) / sizeof(*shift); d++) {
			uint32_t p = (uint32_t)(shape[s][0] * shape[s][1]);
			struct rank_fn f;

			fill_grid(shape[s][0], shape[s][1], shift[d][0], shift[d][1], false);
			assert_int_equal(fit(p, 1, p).form, RF_GRID);
			fill_grid(shape[s][0], shape[s][1], shift[d][0], shift[d][1], true);
			f = fit(p, 1, p);
			assert_true(f.form != RF_TABLE);
		}
}

/* The middle dimension of three: columns of a plane, wrapped or not. */
static void test_three_dimensions(void **arg)
{
	const int64_t nx = 4, ny = 4, nz = 8;

	(void)arg;
	for (int wrap = 0; wrap < 2; wrap++) {
		for (int64_t r = 0; r < nx * ny * nz; r++) {
			int64_t y = r / nx % ny + 1;

			value[r] = y < ny ? r + nx : wrap ? r + nx - nx * ny : TRACE_PROC_NULL;
		}
		assert_int_equal(fit(128, 1, 128).form, wrap ? RF_TORUS : RF_GRID);
	}
}

static void test_digits(void **arg)
{
	struct rank_fn f;

	(void)arg;
	for (uint32_t r = 0; r < 64; r++)
		value[r] = r / 8;
	f = fit(64, 1, 64);
	assert_int_equal(f.form, RF_DIGITS);
	for (uint32_t r = 0; r < 64; r++)
		value[r] = r % 16;
	assert_int_equal(fit(64, 1, 64).form, RF_DIGITS);
	for (uint32_t r = 0; r < 64; r++)
		value[r] = r % 8 * 8 + r / 8;
	assert_int_equal(fit(64, 1, 64).form, RF_DIGITS);
}

static void test_tables_and_extremes(void **arg)
{
	static const int64_t odd[] = {INT64_MIN, INT64_MAX, 0, -1, -2, 1, INT64_MIN + 1, INT32_MAX};

	(void)arg;
	for (int k = 0; k < 2000; k++) {
		uint32_t n = 1 + rng() % 40;

		for (uint32_t i = 0; i < n; i++)
			value[i] = rng() % 3 ? odd[rng() % 8] : (int64_t)(rng() % 8);
		fit(n, 1 + rng() % 3, 128);
	}
}

static void test_eval_refuses_nonsense(void **arg)
{
	struct rank_fn f = {.form = RF_GRID, .a = 0};

	(void)arg;
	assert_int_equal(rank_fn_eval(&f, 3, 8, 0), INT64_MIN);
	f = (struct rank_fn){.form = RF_TORUS, .a = 3};
	assert_int_equal(rank_fn_eval(&f, 3, 8, 0), INT64_MIN);
	f = (struct rank_fn){.form = RF_DIGITS, .a = -1};
	assert_int_equal(rank_fn_eval(&f, 3, 8, 0), INT64_MIN);
	f = (struct rank_fn){.form = RF_TABLE};
	assert_int_equal(rank_fn_eval(&f, 3, 8, 0), INT64_MIN);
	f = (struct rank_fn){.form = RF_MODULO, .a = 1};
	assert_int_equal(rank_fn_eval(&f, 0, 0, 0), INT64_MIN);
	f = (struct rank_fn){.form = 200};
	assert_int_equal(rank_fn_eval(&f, 0, 8, 0), INT64_MIN);
}

static void check_text(struct rank_fn f, const char *expected)
{
	char buf[100];

	assert_string_equal(rank_fn_format(&f, 8, buf, sizeof(buf)), expected);
}

static void test_text(void **arg)
{
	int64_t table[] = {5, 3, 1, 9, 8, 7, 2, 4};
	char small[6];
	struct rank_fn f = {.form = RF_TABLE, .table = table};

	(void)arg;
	check_text((struct rank_fn){.form = RF_CONST, .a = -2}, "-2");
	check_text((struct rank_fn){.form = RF_OFFSET}, "r");
	check_text((struct rank_fn){.form = RF_OFFSET, .a = -1}, "r-1");
	check_text((struct rank_fn){.form = RF_MODULO, .basis = RB_COMM, .a = 1}, "(r_comm+1) mod P_comm");
	check_text((struct rank_fn){.form = RF_AFFINE, .a = 2, .b = 1}, "2*r+1");
	check_text((struct rank_fn){.form = RF_DIGITS, .a = 8, .b = 1}, "r/8");
	check_text((struct rank_fn){.form = RF_DIGITS, .a = 8, .b = 1, .c = 8, .d = -1}, "r/8+8*(r%8)-1");
	check_text(f, "{5,3,1,9,8,7,...}");
	rank_fn_format(&f, 8, small, sizeof(small));
	assert_true(strlen(small) < sizeof(small));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_simple_forms),
		cmocka_unit_test(test_subsets_of_ranks),
		cmocka_unit_test(test_grids),
		cmocka_unit_test(test_three_dimensions),
		cmocka_unit_test(test_digits),
		cmocka_unit_test(test_tables_and_extremes),
		cmocka_unit_test(test_eval_refuses_nonsense),
		cmocka_unit_test(test_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
