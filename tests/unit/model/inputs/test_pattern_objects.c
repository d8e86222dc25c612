/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Datatypes, windows and files of predicted calls: what a constructor's numbers span against every element laid out one by
 * one, numbers of windows and files as they come and go, names of files with numbers in them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/inputs/pattern_objects.h"
#include "trace/format/event.h"

#define NUMBERS 64

static uint32_t seed = 1;

static int64_t some(int64_t lo, int64_t hi)
{
	seed = seed * 1664525u + 1013904223u;
	return lo + (int64_t)((seed >> 8) % (uint64_t)(hi - lo + 1));
}

/* Elements laid out one by one. */
struct layout {
	int64_t n, lb, ub;
};

static void lay(struct layout *l, const struct trace_type *sub, int64_t disp, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t at = disp + i * sub->extent + sub->lb, end = at + sub->extent;

		l->lb = !l->n || at < l->lb ? at : l->lb;
		l->ub = !l->n || end > l->ub ? end : l->ub;
		l->n++;
	}
}

static struct layout oracle(const struct trace_type *t, const struct trace_type *sub)
{
	const int64_t *v = t->integer;
	struct layout l = {0};

	switch (t->combiner) {
	case TCOMB_CONTIGUOUS:
		lay(&l, sub, 0, v[0]);
		break;
	case TCOMB_VECTOR:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, i * v[2] * sub->extent, v[1]);
		break;
	case TCOMB_HVECTOR:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, i * t->addr[0], v[1]);
		break;
	case TCOMB_INDEXED:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, v[1 + v[0] + i] * sub->extent, v[1 + i]);
		break;
	case TCOMB_HINDEXED:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, t->addr[i], v[1 + i]);
		break;
	case TCOMB_INDEXED_BLOCK:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, v[2 + i] * sub->extent, v[1]);
		break;
	case TCOMB_HINDEXED_BLOCK:
		for (int64_t i = 0; i < v[0]; i++)
			lay(&l, sub, t->addr[i], v[1]);
		break;
	case TCOMB_SUBARRAY:
		for (int64_t i = 0; i < v[3] * v[4]; i++)
			lay(&l, sub, 0, 1);
		l.lb = 0;
		l.ub = v[1] * v[2] * sub->extent;
		break;
	}
	return l;
}

/* Numbers of a constructor of this kind. */
static void fill(struct trace_type *t)
{
	int64_t n = some(0, 5), *v = t->integer;

	t->n_int = t->n_addr = 0;
	for (uint32_t i = 0; i < NUMBERS; i++) {
		v[i] = some(0, 4);
		t->addr[i] = some(-60, 60);
	}
	v[0] = n;
	switch (t->combiner) {
	case TCOMB_CONTIGUOUS:
		t->n_int = 1;
		break;
	case TCOMB_VECTOR:
		t->n_int = 3;
		v[2] = some(-6, 6);
		break;
	case TCOMB_HVECTOR:
		t->n_int = 2;
		t->n_addr = 1;
		break;
	case TCOMB_INDEXED:
		t->n_int = 1 + 2 * (uint32_t)n;
		break;
	case TCOMB_HINDEXED:
		t->n_int = 1 + (uint32_t)n;
		t->n_addr = (uint32_t)n;
		break;
	case TCOMB_INDEXED_BLOCK:
		t->n_int = 2 + (uint32_t)n;
		break;
	case TCOMB_HINDEXED_BLOCK:
		t->n_int = 2;
		t->n_addr = (uint32_t)n;
		break;
	case TCOMB_SUBARRAY:
		t->n_int = 8;
		v[0] = 2;
		for (int d = 0; d < 2; d++) {
			v[3 + d] = some(1, 4);
			v[5 + d] = some(0, 3);
			v[1 + d] = v[3 + d] + v[5 + d] + some(0, 3);
		}
		break;
	}
}

static void test_measure(void **state)
{
	static const int32_t kind[] = {TCOMB_CONTIGUOUS,    TCOMB_VECTOR,	  TCOMB_HVECTOR,	TCOMB_INDEXED, TCOMB_HINDEXED,
				       TCOMB_INDEXED_BLOCK, TCOMB_HINDEXED_BLOCK, TCOMB_SUBARRAY};
	int64_t integer[NUMBERS], addr[NUMBERS];
	uint32_t sub[] = {0};

	(void)state;
	for (int round = 0; round < 4000; round++) {
		struct trace_type part = {.combiner = TCOMB_RESIZED, .size = 8, .lb = some(0, 3) * (round % 2), .extent = some(1, 12)};
		struct trace_type t = {.combiner = kind[round % 8], .n_sub = 1, .integer = integer, .addr = addr, .sub = sub};
		struct layout l;

		fill(&t);
		l = oracle(&t, &part);
		assert_int_equal(pattern_type_measure(&t, &part, 1), 1);
		assert_int_equal(t.size, 8 * l.n);
		assert_int_equal(t.lb, l.lb);
		assert_int_equal(t.extent, l.ub - l.lb);
	}
}

/* Numbers that no constructor was given: counts below zero, more of them than there are, parts that there are not. */
static void test_no_types(void **state)
{
	int64_t integer[NUMBERS], addr[NUMBERS];
	struct trace_type part = {.size = 8, .extent = 8};
	uint32_t sub[] = {0};

	(void)state;
	for (int32_t kind = TCOMB_DUP; kind < TCOMB_N; kind++)
		for (int round = 0; round < 2000; round++) {
			struct trace_type t = {.combiner = kind, .n_sub = 1, .integer = integer, .addr = addr, .sub = sub};
			static const int64_t odd[] = {0, -1, INT64_MAX, INT64_MIN, INT32_MAX, INT64_C(1) << 47, 3};

			t.n_int = (uint32_t)some(0, 9);
			t.n_addr = (uint32_t)some(0, 5);
			sub[0] = some(0, 9) == 0;
			for (uint32_t i = 0; i < NUMBERS; i++) {
				integer[i] = odd[some(0, 6)];
				addr[i] = odd[some(0, 6)];
			}
			if (pattern_type_measure(&t, &part, 1) == 1) {
				assert_int_equal(sub[0], 0);
				assert_true(t.size >= 0 && t.extent >= 0);
			}
		}
	struct trace_type t = {.combiner = TCOMB_STRUCT};

	assert_int_equal(pattern_type_measure(&t, &part, 1), 0);
}

/* The lowest ordinal that is free among those of the communicator; a definition again where nobody has it. */
static void test_numbers(void **state)
{
	struct pattern_objects o;
	struct trace_win w = {.comm = 0, .size = 80, .disp_unit = 8};

	(void)state;
	assert_int_equal(pattern_objects_begin(&o, 2), 0);
	for (int64_t i = 0; i < 3; i++) {
		assert_int_equal(pattern_objects_window(&o, &w), i);
		pattern_objects_made(&o, POBJ_WIN, 0, i);
		assert_int_equal(o.win[i].ordinal, i);
	}
	w.comm = 1;
	assert_int_equal(pattern_objects_window(&o, &w), 3);
	assert_int_equal(o.win[3].ordinal, 0);
	w.comm = 0;
	pattern_objects_freed(&o, POBJ_WIN, 1);
	assert_int_equal(pattern_objects_window(&o, &w), 1);
	w.size = 160;
	assert_int_equal(pattern_objects_window(&o, &w), 4);
	assert_int_equal(o.win[4].ordinal, 1);

	assert_int_equal(pattern_objects_file(&o, 0, 2, "a"), 0);
	pattern_objects_made(&o, POBJ_FILE, 1, 0);
	assert_int_equal(pattern_objects_file(&o, 0, 2, "a"), 1);
	pattern_objects_freed(&o, POBJ_FILE, 0);
	assert_int_equal(pattern_objects_file(&o, 0, 2, "a"), 0);
	assert_int_equal(pattern_objects_file(&o, 0, 2, "b"), 2);
	assert_int_equal(pattern_objects_file(&o, 0, 4, "a"), 3);
	pattern_objects_end(&o);
}

/* Of two makers one remains that made every one; where two remain they have to agree. */
static void test_makers(void **state)
{
	struct arena *a = arena_create();
	struct pattern_objects o;
	struct pattern_makers m = {0};
	const char *why = NULL;

	(void)state;
	assert_int_equal(pattern_objects_begin(&o, 3), 0);
	pattern_objects_made(&o, POBJ_TYPE, 0, 5);
	pattern_objects_made(&o, POBJ_TYPE, 2, 5);
	assert_int_equal(pattern_makers_learn(&m, &o, POBJ_TYPE, 5, a), 0);
	assert_int_equal(m.n, 2);
	assert_int_equal(pattern_makers_find(&m, &o, POBJ_TYPE, &why), 5);
	assert_null(why);
	pattern_objects_made(&o, POBJ_TYPE, 0, 6);
	assert_int_equal(pattern_makers_find(&m, &o, POBJ_TYPE, &why), TRACE_NULL);
	assert_non_null(strstr(why, "name more of them"));
	why = NULL;
	assert_int_equal(pattern_makers_learn(&m, &o, POBJ_TYPE, 6, a), 0);
	assert_int_equal(pattern_makers_find(&m, &o, POBJ_TYPE, &why), 6);
	assert_int_equal(pattern_makers_learn(&m, &o, POBJ_TYPE, 7, a), 0);
	assert_int_equal(pattern_makers_find(&m, &o, POBJ_TYPE, &why), TRACE_NULL);
	assert_non_null(strstr(why, "was not made"));
	pattern_objects_end(&o);
	arena_destroy(a);
}

static void test_names(void **state)
{
	static const char *const same[][3] = {{"out/step.9", "out/step.10", "out/step.123"},
					      {"d7/s-0009.h5", "d7/s-0010.h5", "d7/s-12345.h5"},
					      {"plain", "plain", "plain"},
					      {"a1b2c3d4e5", "a9b8c7d6e5", "a10b11c12d13e5"}};
	static const char *const other[][2] = {{"a/x1", "b/x1"}, {"x1", "y1"}, {"e1.1.1.1.1", "e1.1.1.1.2"}, {"x", "x1"}};
	struct arena *a = arena_create();
	char text[64];

	(void)state;
	for (size_t i = 0; i < sizeof(same) / sizeof(*same); i++) {
		struct pattern_name p = {0};

		for (int k = 0; k < 2; k++)
			assert_int_equal(pattern_name_learn(&p, same[i][k], a), 0);
		for (int k = 0; k < 3; k++) {
			int64_t number[CALL_FILE_NUMBERS] = {0};
			size_t at = 0, n;
			const char *digits;

			for (int j = 0; j < CALL_FILE_NUMBERS && (digits = call_file_number(same[i][k], &at, &n)); j++)
				number[j] = strtoll(digits, NULL, 10);
			assert_int_equal(pattern_name_make(&p, number, CALL_FILE_NUMBERS, text, sizeof(text)), 0);
			assert_string_equal(text, same[i][k]);
			assert_int_equal(pattern_name_make(&p, number, CALL_FILE_NUMBERS, text, strlen(text)), -1);
		}
		int64_t none[CALL_FILE_NUMBERS] = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN};

		assert_int_equal(pattern_name_make(&p, none, CALL_FILE_NUMBERS, text, sizeof(text)), i == 2 ? 0 : -1);
	}
	for (size_t i = 0; i < sizeof(other) / sizeof(*other); i++) {
		struct pattern_name p = {0};

		for (int k = 0; k < 2; k++)
			assert_int_equal(pattern_name_learn(&p, other[i][k], a), 0);
		assert_true(p.other);
	}
	arena_destroy(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_measure), cmocka_unit_test(test_no_types), cmocka_unit_test(test_numbers),
	    cmocka_unit_test(test_makers),  cmocka_unit_test(test_names),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
