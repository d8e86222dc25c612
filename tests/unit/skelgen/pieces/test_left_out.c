/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What skeletons are told of segments: how long those left out are, which part of others runs, which calls may wait. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/temp_dir.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"

enum { STEPS = 4000, STEP_NS = 100000, LONG_NS = 30000000 };

/* Steps with a barrier. Some of the first ones take as long as hundreds of others: rank 0 computes, or all are in the
 * barrier. If `delayed`, rank 1 waits for a processor for half of its time. */
static struct trace *program(uint32_t ranks, int n_long, bool computes, bool delayed, struct syn **s)
{
	*s = syn_create(ranks);
	syn_begin(*s);
	for (int k = 0; k < STEPS; k++)
		for (uint32_t r = 0; r < ranks; r++) {
			uint64_t more = k % 1000 == 500 && k / 1000 < n_long ? LONG_NS - STEP_NS : 0;

			if (computes && r == 0)
				syn_call(*s, r, "MPI_Barrier", 10 + k % 3, SYN(.gap_ns = STEP_NS + more));
			else
				syn_call(*s, r, "MPI_Barrier", 10 + k % 3, SYN(.gap_ns = STEP_NS, .dur_ns = more));
		}
	syn_end(*s);
	syn_delayed(*s, 1, delayed ? (*s)->rank[1].ticks / 2 : 0);
	return syn_open(*s);
}

static double number_after(const char *path, const char *name)
{
	char line[512], *at;
	double v = 0;
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	while (fgets(line, sizeof line, f) != NULL)
		if ((at = strstr(line, name)) != NULL)
			v = strtod(at + strlen(name), NULL);
	fclose(f);
	return v;
}

static void test_long_segments_are_told(void **arg)
{
	const struct skel_budget budget = {.seconds = 0.05};

	(void)arg;
	for (int n_long = 0; n_long <= 2; n_long++) {
		char dir[] = "/tmp/left-out-XXXXXX", path[64];
		struct skel_stages p = {.excerpt = NULL};
		const struct skel_emit_options none = {0};
		struct errbuf err;
		struct syn *s;
		struct trace *t = program(2, n_long, false, false, &s);
		double wall_ns = trace_get_rank(t, 0)->wall_ns;

		assert_int_equal(skel_understand_pieces(t, &budget, &p, &err), 0);
		/* A long step is a segment with few other steps, and its neighbours may be long with it. */
		assert_true(p.pieces.left_ns >= sqrt(n_long) * LONG_NS && p.pieces.left_ns <= 1.2 * sqrt(n_long) * LONG_NS);
		assert_true(fabs(p.pieces.left_share * wall_ns - sqrt(n_long) * p.pieces.left_ns) < 0.02 * wall_ns);
		assert_int_equal(temp_dir_make(dir), 0);
		assert_int_equal(skel_write(&p, dir, &none, &err), 0);
		snprintf(path, sizeof path, "%s/skel.c", dir);
		assert_true(fabs(number_after(path, "skel_left_out(") - p.pieces.left_ns) <= 1);
		temp_dir_remove(dir);
		skel_stages_free(&p);
		trace_close(t);
		syn_destroy(s);
	}
}

/* Of a segment in which a rank computes for long a part runs, an eighth of the budget, and stands for the segment. */
static void test_parts_stand_for_long_computations(void **arg)
{
	const double seconds = 0.05;

	(void)arg;
	for (int n_long = 1; n_long <= 3; n_long++) {
		struct syn *s;
		struct trace *t = program(2, n_long, true, false, &s);
		double wall_ns = trace_get_rank(t, 0)->wall_ns, sum = 0;
		struct pieces p;
		struct survey v;
		struct errbuf err;
		int parts = 0;

		assert_int_equal(survey_make(t, seconds, &v, &err), 0);
		assert_int_equal(pieces_choose(&v, seconds, 4 * STEPS, &p, &err), 0);
		for (uint32_t i = 0; i < p.n; i++) {
			const struct segment *g = &v.segments.at[p.segment[i]];

			sum += p.weight[i] * p.ns[i];
			parts += g->part < 1;
			assert_int_equal(g->part < 1, g->ns >= LONG_NS);
			if (g->part < 1) {
				assert_true(fabs(p.ns[i] - seconds * 1e9 / 8) < 1);
				assert_true(fabs(p.weight[i] * p.ns[i] - g->ns) < 1);
			}
		}
		assert_int_equal(parts, n_long);
		assert_true(p.left_ns == 0);
		assert_true(fabs(sum - v.segments.ns) < 1e-6 * sum);
		assert_true(fabs(p.part_share * wall_ns - n_long * (double)LONG_NS) < 0.02 * wall_ns);
		pieces_free(&p);
		survey_free(&v);
		trace_close(t);
		syn_destroy(s);
	}
}

/* Starts of requests do not wait. */
static void test_calls_that_may_wait(void **arg)
{
	const int64_t slot[] = {0, 1};
	struct syn *s = syn_create(2);
	uint64_t events = 0, waits = 0;
	struct survey v;
	struct errbuf err;
	struct trace *t;

	(void)arg;
	syn_begin(s);
	for (int k = 0; k < STEPS; k++)
		for (uint32_t r = 0; r < 2; r++) {
			syn_call(s, r, "MPI_Irecv", 10, SYN(.src = 1 - r, .count = 1, .req = 0));
			syn_call(s, r, "MPI_Isend", 11, SYN(.dst = 1 - r, .count = 1, .req = 1));
			syn_call(s, r, "MPI_Waitall", 12, SYN(.reqs = slot, .n_reqs = 2));
		}
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(survey_make(t, 0.05, &v, &err), 0);
	for (uint32_t i = 0; i < v.segments.n; i++) {
		events += v.segments.at[i].events;
		for (int d = 0; d < SEGMENT_DIMENSIONS; d++)
			waits += v.segments.at[i].waits[d];
	}
	assert_int_equal(events, 2 * (3 * STEPS + 1)); /* and MPI_Finalize */
	assert_int_equal(waits, 2 * (STEPS + 1));
	survey_free(&v);
	trace_close(t);
	syn_destroy(s);
}

/* One of three ranks waits for a processor half of the time: all end together, though their own times differ. */
static void test_processors_are_shared(void **arg)
{
	struct pieces p;
	struct survey v;
	struct errbuf err;
	struct syn *s;
	struct trace *t = program(3, 0, false, true, &s);

	(void)arg;
	assert_int_equal(survey_make(t, 0.05, &v, &err), 0);
	assert_int_equal(pieces_choose(&v, 0.05, 3 * STEPS, &p, &err), 0);
	assert_true(v.segments.ns < 0.9 * trace_get_rank(t, 1)->wall_ns);
	assert_true(p.most >= 1 && p.most < 1.001);
	pieces_free(&p);
	survey_free(&v);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_segments_are_told),
		cmocka_unit_test(test_parts_stand_for_long_computations),
		cmocka_unit_test(test_calls_that_may_wait),
		cmocka_unit_test(test_processors_are_shared),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
