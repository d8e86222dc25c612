/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A search that is kept is the search of that input and of no other. Earlier fits do not change a fit by one byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "predictor/estimate/scaling_memo.h"

#define T(f) cmocka_unit_test(f)

/* What the test keeps for an input is made of the input alone. */
static struct scaling_found made_of(const double *input, size_t n)
{
	struct scaling_found f = {.n = 1, .points = (unsigned)n};

	for (size_t i = 0; i < n; i++)
		f.s[0].error += (double)(i + 1) * input[i];
	return f;
}

static void is_made_of(const struct scaling_found *f, const double *input, size_t n)
{
	struct scaling_found want = made_of(input, n);

	assert_int_equal(f->points, n);
	assert_true(f->s[0].error == want.s[0].error);
}

static void test_input_decides(void **state)
{
	static double input[SCALING_MEMO_INPUT];
	struct scaling_found f;
	unsigned kept = 0;

	(void)state;
	srand48(7);
	for (unsigned trial = 0; trial < 20000; trial++) {
		size_t n = trial % 100 ? 1 + (size_t)(lrand48() % 6) : SCALING_MEMO_INPUT;

		for (size_t i = 0; i < n; i++)
			input[i] = (double)(lrand48() % 4);
		if (scaling_memo_get(input, n, &f)) {
			is_made_of(&f, input, n);
			kept++;
			continue;
		}
		f = made_of(input, n);
		scaling_memo_put(input, n, &f);
		memset(&f, 0, sizeof(f));
		assert_true(scaling_memo_get(input, n, &f));
		is_made_of(&f, input, n);
	}
	assert_in_range(kept, 1000, 20000);
}

/* 0 and -0 are equal numbers and unlike inputs. */
static void test_by_bits(void **state)
{
	const double plus = 0.0, minus = -0.0;
	struct scaling_found f = made_of(&plus, 1);

	(void)state;
	scaling_memo_put(&plus, 1, &f);
	assert_true(scaling_memo_get(&plus, 1, &f));
	assert_false(scaling_memo_get(&minus, 1, &f));
}

struct family {
	char vars[24][32];
	struct param_family_run runs[24];
	size_t n;
};

/* Seven sizes and two numbers of steps, with an outlier in some. */
static void family_make(unsigned seed, struct family *f)
{
	srand48(seed);
	f->n = 10 + (size_t)(lrand48() % 14);
	for (size_t i = 0; i < f->n; i++) {
		long size = 1 + lrand48() % 7, steps = 1 + lrand48() % 2;
		double s = (double)(10 * size * size * steps) * (0.95 + 0.1 * drand48());

		snprintf(f->vars[i], sizeof(f->vars[i]), "%ld,%ld", size, steps);
		f->runs[i] = (struct param_family_run){"k", f->vars[i], lrand48() % 20 ? s : 3 * s, false};
	}
}

#define FAMILIES 600

static void test_fits_are_the_same(void **state)
{
	static char first[FAMILIES][SCALING_TEXT_MAX], again[SCALING_TEXT_MAX];
	static struct scaling_model model;
	struct errbuf why, why_first[1];
	unsigned fitted = 0;

	(void)state;
	for (unsigned pass = 0; pass < 3; pass++)
		for (unsigned i = 0; i < FAMILIES; i++) {
			struct family f;
			int rc;

			family_make(i, &f);
			why.text[0] = '\0';
			rc = scaling_fit(f.runs, f.n, &model, &why);
			scaling_format(&model, again, sizeof(again));
			if (rc < 0)
				snprintf(again, sizeof(again), "%s", why.text);
			if (!pass)
				memcpy(first[i], again, sizeof(again));
			assert_string_equal(again, first[i]);
			fitted += rc == 0;
			/* at once: the search is kept */
			*why_first = why;
			why.text[0] = '\0';
			assert_int_equal(scaling_fit(f.runs, f.n, &model, &why), rc);
			assert_string_equal(why.text, why_first->text);
		}
	assert_in_range(fitted, FAMILIES, 3 * FAMILIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {T(test_input_decides), T(test_by_bits), T(test_fits_are_the_same)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
