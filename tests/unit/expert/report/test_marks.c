/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls marked as parts of problems: random ones against a plain array, and the ends of what can be marked. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expert/report/marks.h"

#define RANKS  5
#define EVENTS 700

static uint64_t seed = 1;

static uint32_t draw(uint32_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(seed >> 33) % below;
}

static struct {
	uint64_t ns;
	bool marked;
} plain[MARKS_PROBLEMS][RANKS][EVENTS];

static void look_at_all(const struct problem_marks *m)
{
	uint32_t n = 0;

	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t e = 0; e < EVENTS; e++) {
			uint64_t want = 0;

			for (uint32_t p = 0; p < MARKS_PROBLEMS; p++) {
				const struct problem_mark *got = marks_find(m, p, r, e);

				assert_int_equal(got != NULL, plain[p][r][e].marked);
				if (!got)
					continue;
				assert_int_equal(got->ns, plain[p][r][e].ns);
				want |= 1ull << p;
				n++;
			}
			assert_int_equal(marks_problems(m, r, e), want);
		}
	assert_int_equal(m->n, n);
	assert_false(m->full);
}

static void test_against_array(void **state)
{
	struct problem_marks m = {0};

	(void)state;
	look_at_all(&m);
	for (uint32_t i = 0; i < 60000; i++) {
		uint32_t p = draw(4) ? draw(3) : draw(MARKS_PROBLEMS), r = draw(RANKS), e = draw(draw(EVENTS) + 1);
		uint64_t ns = draw(1000);

		marks_add(&m, p, r, e, ns);
		plain[p][r][e].ns += ns;
		plain[p][r][e].marked = true;
		if (i % 20000 == 100)
			look_at_all(&m);
	}
	look_at_all(&m);
	marks_free(&m);
	assert_null(m.slot);
	assert_null(m.mark);
}

static void test_limits(void **state)
{
	struct problem_marks m = {0};
	uint64_t last = (1ull << 36) - 1;
	uint32_t rank = (1u << 21) - 1;

	(void)state;
	marks_add(&m, 1, 0, -1, 5); /* no call: nothing is left out */
	assert_int_equal(m.n, 0);
	assert_false(m.full);
	marks_add(&m, MARKS_PROBLEMS - 1, rank, (int64_t)last, 5);
	assert_false(m.full);
	assert_int_equal(marks_find(&m, MARKS_PROBLEMS - 1, rank, last)->ns, 5);
	assert_null(marks_find(&m, 0, 0, last + 1));
	assert_null(marks_find(&m, MARKS_PROBLEMS - 1, rank + 1, last));
	marks_add(&m, MARKS_PROBLEMS, 0, 0, 5);
	assert_true(m.full);
	m.full = false;
	marks_add(&m, 0, rank + 1, 0, 5);
	assert_true(m.full);
	m.full = false;
	marks_add(&m, 0, 0, (int64_t)last + 1, 5);
	assert_true(m.full);
	assert_int_equal(m.n, 1);
	marks_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_against_array), cmocka_unit_test(test_limits)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
