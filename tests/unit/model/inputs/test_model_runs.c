/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Models of traced runs: features and rules against hand-made values, predictions against simulated runs that the model
 * has not seen, and what the runs do not determine is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

/* ---- features ---- */

static const struct feature *feature_named(const struct feature *f, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (!strcmp(f[i].name, name))
			return &f[i];
	fail_msg("no feature %s", name);
	return NULL;
}

static void test_dims(void **state)
{
	static const uint32_t expected[][5] = {{1, 2, 1, 1, 1}, {2, 2, 2, 1, 1},  {6, 2, 3, 2, 1},  {7, 2, 7, 1, 1},
					       {8, 2, 4, 2, 1}, {8, 3, 2, 2, 2},  {12, 2, 4, 3, 1}, {12, 3, 3, 2, 2},
					       {5, 1, 5, 1, 1}, {36, 2, 6, 6, 1}, {36, 3, 4, 3, 3}};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		uint32_t d[3];

		feature_dims(expected[i][0], expected[i][1], d);
		for (int k = 0; k < 3; k++)
			assert_int_equal(d[k], expected[i][2 + k]);
	}
}

static void test_features(void **state)
{
	static const struct {
		const char *name;
		uint32_t rank;
		int64_t value;
	} expected[] = {
	    /* six ranks: rows 0 1 | 2 3 | 4 5, N = 50, S = 7 */
	    {"N", 3, 50},	      {"rank", 3, 3},	       {"ranks", 3, 6},		{"mod(N,S)", 0, 1},
	    {"div(N,S)", 0, 7},	      {"prev(2,0)", 1, -2},    {"prev(2,0)", 3, 1},	{"next(2,0)", 3, 5},
	    {"next(2,0)", 4, -2},     {"prev(2,1)", 3, 2},     {"next(2,1)", 3, -2},	{"before(2,0)", 1, 5},
	    {"after(2,1)", 3, 2},     {"coord(2,0)", 5, 2},    {"coord(2,1)", 5, 1},	{"dims(2,0)", 0, 3},
	    {"dims(2,1)", 0, 2},      {"line(2,0)", 5, 1},     {"line(2,1)", 5, 4},	{"stride(2,0)", 0, 2},
	    {"lprev(2,0)", 5, 1},     {"lnext(2,1)", 4, 1},    {"block(N,1,0)", 0, 8},	{"block(N,1,0)", 5, 9},
	    {"share(N,1,0)", 1, 9},   {"share(N,1,0)", 2, 8},  {"part(N,1,0)", 2, 8},	{"block(N,2,0)", 1, 16},
	    {"block(N,2,0)", 2, 17},  {"next(1,0)", 5, -2},    {"after(1,0)", 5, 0},	{"log2(ranks)", 0, 3},
	};
	const char *var[] = {"N", "S"};
	const double value[] = {50, 7}, broken[] = {50.5, 0};
	uint32_t n;
	struct feature *f = feature_list(var, 2, &n);

	(void)state;
	assert_non_null(f);
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		struct feature_place p = {value, expected[i].rank, 6, 0};
		int64_t v = feature_value(feature_named(f, n, expected[i].name), &p);

		if (v != expected[i].value)
			fail_msg("%s of rank %u is %lld", expected[i].name, expected[i].rank, (long long)v);
	}
	assert_true(feature_value(feature_named(f, n, "N"), &(struct feature_place){broken, 0, 6, 0}) == FEATURE_NONE);
	assert_true(feature_value(feature_named(f, n, "mod(N,S)"), &(struct feature_place){broken, 0, 6, 0}) == FEATURE_NONE);
	free(f);
}

/* ---- rules ---- */

#define POINTS 12

struct table {
	struct rule_table t;
	uint32_t point[POINTS];
};

/* Sizes 8, 12, 18 on two and four ranks: the last two ranks of each. */
static void table_make(struct table *t)
{
	static const char *var[] = {"N"};
	static const double size[] = {8, 12, 18};

	t->t = (struct rule_table){.n_points = POINTS};
	t->t.feature = feature_list(var, 1, &t->t.n_features);
	t->t.col = calloc(t->t.n_features, sizeof(*t->t.col));
	assert_true(t->t.feature && t->t.col);
	for (uint32_t f = 0; f < t->t.n_features; f++) {
		t->t.col[f] = calloc(POINTS, sizeof(**t->t.col));
		assert_non_null(t->t.col[f]);
		for (uint32_t i = 0; i < POINTS; i++) {
			uint32_t ranks = i % 4 < 2 ? 2 : 4;

			t->t.col[f][i] = feature_value(&t->t.feature[f],
						       &(struct feature_place){&size[i / 4], ranks - 2 + i % 2, ranks, 0});
		}
	}
	for (uint32_t i = 0; i < POINTS; i++)
		t->point[i] = i;
}

static void table_free(struct table *t)
{
	for (uint32_t f = 0; f < t->t.n_features; f++)
		free(t->t.col[f]);
	free(t->t.col);
	free((void *)(uintptr_t)t->t.feature);
}

static int fit(struct table *t, const int64_t *y, struct rule *r, char *text, size_t size)
{
	struct rule others[RULE_OTHERS];
	uint32_t n;
	int found = rule_fit(&t->t, t->point, POINTS, y, r, others, &n);

	if (found == 1)
		rule_format(r, t->t.feature, text, size);
	return found;
}

static void test_rules(void **state)
{
	struct table t;
	struct rule r, again;
	int64_t y[POINTS];
	char text[200], words[200];

	(void)state;
	table_make(&t);
	for (int i = 0; i < POINTS; i++)
		y[i] = i == 3 ? CALL_MISSING : 42;
	assert_int_equal(fit(&t, y, &r, text, sizeof(text)), 1);
	assert_string_equal(text, "42");
	for (int i = 0; i < POINTS; i++)
		y[i] = 3 * t.t.col[0][i] - 2; /* column 0 is N */
	assert_int_equal(fit(&t, y, &r, text, sizeof(text)), 1);
	assert_string_equal(text, "3*N - 2");
	rule_write(&r, t.t.feature, words, sizeof(words));
	assert_int_equal(rule_read(words, t.t.feature, t.t.n_features, &again), 0);
	assert_memory_equal(r.num, again.num, sizeof(r.num));
	assert_int_equal(again.f[0], 0);
	for (int i = 0; i < POINTS; i++)
		y[i] = t.t.col[0][i] * t.t.col[0][i];
	assert_int_equal(fit(&t, y, &r, text, sizeof(text)), 1);
	assert_string_equal(text, "N*N");
	/* nothing gives these */
	for (int i = 0; i < POINTS; i++)
		y[i] = (i * 7919 + i * i * 31) % 97;
	assert_int_equal(fit(&t, y, &r, text, sizeof(text)), 0);
	/* with two numbers of ranks, any two values lie on a line: that is none */
	for (int i = 0; i < POINTS; i++)
		y[i] = i % 4 < 2 ? 100 : 777;
	assert_int_equal(fit(&t, y, &r, text, sizeof(text)), 0);
	for (const char *const *bad = (const char *const[]){"", "x", "0 1", "1", "1 1 2", "1 1 2 N", "1 1 2 M -", "1 1 2 N - 3", "1 1 1 N - 1 N - 1 N -", NULL}; *bad; bad++)
		assert_int_equal(rule_read(*bad, t.t.feature, t.t.n_features, &again), -1);
	table_free(&t);
}

static void test_guards(void **state)
{
	struct table t;
	struct rule_guard g, again, others[RULE_OTHERS];
	bool y[POINTS];
	uint32_t n;
	char text[200];

	(void)state;
	table_make(&t);
	for (int i = 0; i < POINTS; i++)
		y[i] = i % 2 == 0; /* all but the last rank */
	assert_int_equal(rule_fit_guard(&t.t, t.point, POINTS, y, &g, others, &n), 1);
	assert_string_equal(rule_guard_format(&g, t.t.feature, text, sizeof(text)), "next(1,0) >= 0");
	rule_guard_write(&g, t.t.feature, text, sizeof(text));
	assert_int_equal(rule_guard_read(text, t.t.feature, t.t.n_features, &again), 0);
	assert_true(g.f == again.f && g.lo == again.lo && g.hi == again.hi);
	for (int i = 0; i < POINTS; i++)
		y[i] = i % 3 == 0;
	assert_int_equal(rule_fit_guard(&t.t, t.point, POINTS, y, &g, others, &n), 0);
	table_free(&t);
}

/* ---- runs ---- */

#define RUNS 6
/* A wavefront over 2 x c ranks with `planes` planes: rows are dimension 0 of the grid. */
static struct trace *wavefront(uint32_t rows, uint32_t columns, uint32_t planes, uint32_t iterations)
{
	struct syn *s = syn_wavefront(columns, rows, planes, iterations);
	struct trace *t = syn_open(s);

	syn_destroy(s);
	assert_non_null(t);
	return t;
}

static const double planes[RUNS] = {5, 9, 14, 6, 7, 20}, iterations[RUNS] = {3, 7, 4, 11, 6, 5};

static void learn_wavefronts(struct world *w)
{
	struct trace *t[RUNS];

	for (int i = 0; i < RUNS; i++)
		t[i] = wavefront(2, i % 2 ? 2 : 1, (uint32_t)planes[i], (uint32_t)iterations[i]);
	assert_int_equal(world_learn(w, 2, t, planes, iterations, RUNS), 0);
}

static void test_wavefront(void **state)
{
	static const uint32_t asked[][4] = {{3, 2, 31, 13}, {4, 2, 6, 9}, {3, 3, 12, 2}, {2, 1, 100, 1}};
	struct world w;

	(void)state;
	learn_wavefronts(&w);
	assert_int_equal(w.learnt.n_unknown, 0);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		uint32_t rows = asked[i][0], columns = asked[i][1];
		const double value[] = {asked[i][2], asked[i][3]};
		const char *name[] = {"K", "I"};
		struct trace *t = wavefront(rows, columns, asked[i][2], asked[i][3]);
		struct foresee_difference d;
		struct foresee f;

		if (foresee_open(&f, w.model, rows * columns, name, value, 2, false, &w.err) < 0 ||
		    foresee_compare(&f, t, &d, &w.err) < 0)
			fail_msg("%s", w.err.text);
		assert_string_equal(d.first, "");
		assert_int_equal(d.exact_ranks, rows * columns);
		assert_true(d.calls > rows * columns);
		assert_int_equal(d.wrong, 0);
		assert_int_equal(d.unknown, 0);
		foresee_close(&f);
		trace_close(t);
	}
	world_forget(&w);
}

/* Rows of a size K over the ranks, I steps: times that are known, to the rounding of nanoseconds. */
static struct trace *rows(uint32_t ranks, uint32_t size, uint32_t steps, uint64_t jitter)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t own = (uint64_t)size * (r + 1) / ranks - (uint64_t)size * r / ranks;

		for (uint32_t i = 0; i < steps; i++) {
			syn_call(s, r, "MPI_Sendrecv", 1,
				 SYN(.dst = r ? (int64_t)r - 1 : TRACE_PROC_NULL,
				     .src = r + 1 < ranks ? (int64_t)r + 1 : TRACE_PROC_NULL, .count = size,
				     .gap_ns = 3 * size * own + syn_random(&jitter) % 5, .dur_ns = 2000 + 7 * size));
			syn_call(s, r, "MPI_Allreduce", 2, SYN(.count = 1, .gap_ns = 40, .dur_ns = 900));
		}
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	assert_non_null(t);
	return t;
}

static void test_times(void **state)
{
	static const double size[RUNS] = {100, 160, 230, 120, 150, 210}, steps[RUNS] = {30, 10, 20, 12, 25, 40};
	const double value[] = {500, 17};
	const char *name[] = {"K", "I"};
	struct foresee_difference d;
	struct trace *t[RUNS], *asked = rows(3, 500, 17, 99);
	struct foresee f;
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = rows(i < 3 ? 2 : 4, (uint32_t)size[i], (uint32_t)steps[i], i + 1);
	assert_int_equal(world_learn(&w, 1, t, size, steps, RUNS), 0);
	assert_true(w.times.worst_error < 0.02);
	assert_int_equal(foresee_open(&f, w.model, 3, name, value, 2, false, &w.err), 0);
	assert_int_equal(foresee_compare(&f, asked, &d, &w.err), 0);
	assert_int_equal(d.exact_ranks, 3);
	assert_int_equal(d.wrong, 0);
	assert_true(d.wall_s > 0.004 && d.predicted_s / d.wall_s > 0.99 && d.predicted_s / d.wall_s < 1.01);
	foresee_close(&f);
	trace_close(asked);
	world_forget(&w);
}

/* A prediction is not what another run does. */
static void test_difference(void **state)
{
	const double value[] = {31, 13};
	const char *name[] = {"K", "I"};
	struct trace *t = wavefront(3, 2, 31, 14);
	struct foresee_difference d;
	struct foresee f;
	struct world w;

	(void)state;
	learn_wavefronts(&w);
	assert_int_equal(foresee_open(&f, w.model, 6, name, value, 2, false, &w.err), 0);
	assert_int_equal(foresee_compare(&f, t, &d, &w.err), 0);
	assert_int_equal(d.exact_ranks, 0);
	assert_non_null(strstr(d.first, "rank 0, call "));
	foresee_close(&f);
	trace_close(t);
	world_forget(&w);
}

static void test_refusals(void **state)
{
	const double value[] = {31, 13}, same[] = {5, 5, 5}, once[] = {3, 4, 5};
	const char *name[] = {"K", "I"};
	struct trace *t[RUNS];
	struct foresee f;
	struct world w;

	(void)state;
	for (int i = 0; i < 2; i++)
		t[i] = wavefront(2, 1, 5, 3);
	assert_int_equal(world_learn(&w, 2, t, planes, iterations, 2), -1);
	assert_non_null(strstr(w.err.text, "too few runs"));
	world_forget(&w);
	/* the same variables and other calls */
	for (uint32_t i = 0; i < 3; i++)
		t[i] = wavefront(2, 1, 5, 3 + i);
	assert_int_equal(world_learn(&w, 2, t, same, same, 3), -1);
	assert_non_null(strstr(w.err.text, "contradict each other"));
	world_forget(&w);
	/* a variable that never varied, and one that is missing or none */
	for (uint32_t i = 0; i < 3; i++)
		t[i] = wavefront(2, 1, 5, 3 + i);
	assert_int_equal(world_learn(&w, 2, t, same, once, 3), 0);
	assert_int_equal(foresee_open(&f, w.model, 2, name, value, 2, true, &w.err), 0);
	assert_int_equal(foresee_rank(&f, 0, NULL, NULL, NULL, &w.err), -1);
	assert_non_null(strstr(w.err.text, "input K was 5 in every run"));
	foresee_close(&f);
	assert_int_equal(foresee_open(&f, w.model, 2, name, value, 1, true, &w.err), -1);
	assert_non_null(strstr(w.err.text, "value of I is not given"));
	name[1] = "J";
	assert_int_equal(foresee_open(&f, w.model, 2, name, value, 2, true, &w.err), -1);
	world_forget(&w);
}

/* ---- one number of ranks ---- */

#define FACE_RUNS 3

/* Two ranks, each with half of a grid of k x k x k, exchange a face along the cut and across it. */
static struct trace *faces(uint32_t ranks, int64_t k, uint32_t steps)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t i = 0; i < steps; i++) {
			int64_t peer = (r + 1) % ranks, half = k * (r + 1) / ranks - k * r / ranks;

			syn_call(s, r, "MPI_Sendrecv", 1, SYN(.dst = peer, .src = peer, .count = k * k));
			syn_call(s, r, "MPI_Sendrecv", 2, SYN(.dst = peer, .src = peer, .count = k * half));
		}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

/* Many rules of grids are the same on two ranks. Where they differ on more ranks is no doubt, as two are predicted only. */
static void test_one_number(void **state)
{
	static const double k[FACE_RUNS] = {24, 36, 48}, i[FACE_RUNS] = {2, 3, 5};
	struct trace *t[FACE_RUNS];
	struct world w;

	(void)state;
	for (uint32_t r = 0; r < FACE_RUNS; r++)
		t[r] = faces(2, (int64_t)k[r], (uint32_t)i[r]);
	if (world_learn(&w, 0, t, k, i, FACE_RUNS) < 0)
		fail_msg("%s", w.err.text);
	world_exact(&w, faces(2, 72, 7), 2, 72, 7);
	/* how halves are rounded no run shows */
	world_refused(&w, faces(2, 73, 7), 2, 73, 7, "not determined by the runs");
	world_refused(&w, faces(3, 72, 7), 3, 72, 7, "ranks");
	world_forget(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_dims),      cmocka_unit_test(test_features),	 cmocka_unit_test(test_rules),
	    cmocka_unit_test(test_guards),    cmocka_unit_test(test_wavefront), cmocka_unit_test(test_difference),
	    cmocka_unit_test(test_refusals),  cmocka_unit_test(test_times),
	    cmocka_unit_test(test_one_number),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
