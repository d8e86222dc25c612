/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Iteration times from traces: what loops have them, where they change, which spikes a skeleton would miss; and what the
 * plan and the skeleton's data make of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/emit/data.h"
#include "skelgen/pipeline.h"
#include "skelgen/plan/plan.h"
#include "skelgen/runtime/data.h"
#include "tests/unit/synthetic.h"

#define N 1000

struct fixture {
	struct syn *s;
	struct trace *t;
	struct skel_tree tree;
	struct skel_times times;
	struct skel_plan plan;
};

enum spikes { NO_SPIKES, ON_RANK_0, ON_EITHER, IN_CALLS };

/* A loop of allreduces on two ranks, 110 us an iteration, `later` times as long from 700 on; every hundredth has 900 us
 * more. It is in the gap of one of them, for which the other waits, or in the call of both. */
static struct syn *looping(double later, enum spikes spikes)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		uint64_t random = 1;

		for (int i = 0; i < N; i++) {
			uint64_t gap = (uint64_t)(100000 * (i >= 700 ? later : 1)) + syn_random(&random) % 1000;
			uint64_t dur = 10000;

			if (spikes != NO_SPIKES && i % 100 == 37) {
				uint32_t slow = spikes == ON_EITHER ? (uint32_t)(i / 100 % 2) : 0;

				*(r == slow && spikes != IN_CALLS ? &gap : &dur) += 900000;
			}
			syn_call(s, r, "MPI_Allreduce", 1, SYN(.count = 1, .gap_ns = gap, .dur_ns = dur));
		}
	}
	syn_end(s);
	return s;
}

static void set_up(struct fixture *f, struct syn *s, struct skel_budget budget)
{
	struct errbuf err;

	memset(f, 0, sizeof *f);
	f->s = s;
	f->t = syn_open(s);
	if (skel_tree_build(f->t, &f->tree, &err) != 0 || skel_times_collect(&f->tree, &f->times, &err) != 0 ||
	    skel_plan(&f->tree, &f->times, &budget, &f->plan, &err) != 0)
		fail_msg("%s", err.text);
}

static void tear_down(struct fixture *f)
{
	skel_plan_free(&f->plan);
	skel_times_free(&f->times);
	skel_tree_free(&f->tree);
	trace_close(f->t);
	syn_destroy(f->s);
}

static void test_phase_is_found(void **state)
{
	const struct skel_loop_series *l;
	struct fixture f;

	(void)state;
	set_up(&f, looping(1.5, NO_SPIKES), (struct skel_budget){.scale = 10});
	assert_int_equal(f.plan.series->n, 1);
	l = &f.plan.series->loop[0];
	assert_int_equal(l->total, N);
	assert_int_equal(l->visits, 1);
	assert_true(l->placed);
	assert_int_equal(l->stats.n, N);
	assert_int_equal(l->stats.n_segment, 2);
	assert_in_range(l->stats.segment[1].first, 698, 702);
	assert_true(fabs(l->stats.segment[0].mean - 110500) < 600);
	assert_true(fabs(l->stats.segment[1].mean - 160500) < 600);
	assert_int_equal(l->spikes.known, 0);
	tear_down(&f);
}

/* Windows on both sides of the change; weights that add up; and an estimate of the traced total that is right. */
static void test_windows_follow(void **state)
{
	const struct skel_cut *c;
	struct fixture f;
	double sum = 0, time = 0;
	uint64_t last = 0;

	(void)state;
	set_up(&f, looping(1.5, NO_SPIKES), (struct skel_budget){.scale = 10});
	c = &f.plan.cut[f.plan.series->loop[0].node];
	assert_non_null(c->windows);
	assert_int_equal(c->run, sampled_run(c->windows));
	assert_true(c->run <= N / 10 && c->run > N / 12);
	for (uint64_t j = 0; j < c->run; j++) {
		uint64_t at = skel_sampled_iteration(c, j);
		double w = skel_sampled_weight(c, j);

		assert_true(j == 0 || at > last);
		last = at;
		sum += w;
		time += w * (at >= 700 ? 1.5 : 1);
	}
	assert_true(fabs(sum - N) < 1e-6);
	assert_true(fabs(time - (700 + 1.5 * 300)) < 0.01 * 1150);
	assert_true(skel_plan_expected(&f.plan, f.plan.series->loop[0].node) > 0);
	assert_true(skel_plan_expected(&f.plan, f.plan.series->loop[0].node) < 0.01);
	tear_down(&f);
}

/* Blocks that are replayed by their mean hold the spikes of the slower rank, not those of both. */
static void test_spikes_that_are_missed(void **state)
{
	const struct skel_loop_series *l;
	struct fixture f;

	(void)state;
	set_up(&f, looping(1, ON_RANK_0), (struct skel_budget){.scale = 10});
	l = &f.plan.series->loop[0];
	assert_int_equal(l->stats.n_spike, 10);
	assert_int_equal(l->spikes.known, 0);
	tear_down(&f);
	set_up(&f, looping(1, ON_EITHER), (struct skel_budget){.scale = 10});
	l = &f.plan.series->loop[0];
	assert_int_equal(l->stats.n_spike, 10);
	assert_int_equal(l->spikes.known, N);
	assert_true(fabs(l->spikes.rate - 0.01) < 1e-9);
	assert_true(fabs(l->spikes.excess - 0.5 * 10 * 900.0 / 110.5) < 0.02 * 41);
	assert_int_equal(f.plan.cut[l->node].windows->spikes.known, N);
	tear_down(&f);
}

/* Time of the loop's windows and of all that they stand for, of a plan that accounts for these spikes. */
static double traced_of(const struct fixture *f, struct sampled_spikes spikes, double *windows_ns)
{
	const struct skel_loop_series *l = &f->plan.series->loop[0];
	struct sampled_plan p = *f->plan.cut[l->node].windows;

	p.spikes = spikes;
	series_traced(l, &p);
	*windows_ns = 0;
	for (int i = 0; i < p.n; i++)
		*windows_ns += (double)p.w[i].stands / p.w[i].run * p.w[i].traced_ns;
	return p.traced_ns;
}

/* Spikes in gaps are repeated at their place. Spikes in calls are not: the traced times of windows are without them. */
static void test_spikes_of_recorded_gaps(void **state)
{
	const struct skel_loop_series *l;
	struct fixture f;
	double windows, all;

	(void)state;
	set_up(&f, looping(1, ON_EITHER), (struct skel_budget){.scale = 10});
	l = &f.plan.series->loop[0];
	assert_int_equal(l->spikes_in_calls.known, 0);
	all = traced_of(&f, l->spikes_in_calls, &windows);
	assert_true(fabs(all - (999 * 110500 + 10 * 900000.0)) < 1e-3 * all);
	tear_down(&f);
	set_up(&f, looping(1, IN_CALLS), (struct skel_budget){.scale = 10});
	l = &f.plan.series->loop[0];
	assert_int_equal(l->spikes.known, N);
	assert_int_equal(l->spikes_in_calls.known, N);
	assert_true(fabs(l->spikes_in_calls.excess - 10 * 900.0 / 110.5) < 0.02 * 82);
	all = traced_of(&f, l->spikes_in_calls, &windows);
	assert_true(fabs(all - 999 * 110500.0) < 1e-3 * all);
	assert_true(fabs(windows - all) < 1e-3 * all);
	all = traced_of(&f, (struct sampled_spikes){.known = 0}, &windows);
	assert_true(fabs(all - (999 * 110500 + 10 * 900000.0)) < 1e-3 * all);
	tear_down(&f);
}

/* Where few iterations are precise enough, half of the seconds are left; a scale is kept. */
static void test_precision_saves(void **state)
{
	double with_seconds;
	struct fixture f;

	(void)state;
	set_up(&f, looping(1, NO_SPIKES), (struct skel_budget){.seconds = 0.02});
	with_seconds = f.plan.predicted_s;
	assert_true(with_seconds < 0.012 && with_seconds > 0.005);
	tear_down(&f);
	set_up(&f, looping(1, NO_SPIKES), (struct skel_budget){.seconds = 0.02, .precision = 1e-6});
	assert_true(f.plan.predicted_s > 0.018 && f.plan.predicted_s <= 0.0202);
	tear_down(&f);
	set_up(&f, looping(1, NO_SPIKES), (struct skel_budget){.seconds = 1000});
	assert_int_equal(f.plan.n_cut, 0);
	tear_down(&f);
}

/* Inner loops have positions of the whole program, and no windows by segment. */
static void test_inner_loops(void **state)
{
	const struct skel_loop_series *inner = NULL;
	struct syn *s = syn_create(2);
	struct fixture f;

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < 40; i++) {
			for (int k = 0; k < 50; k++)
				syn_call(s, r, "MPI_Allreduce", 1, SYN(.count = 1, .gap_ns = 20000, .dur_ns = 1000));
			syn_call(s, r, "MPI_Barrier", 2, SYN(.comm = 0));
		}
	syn_end(s);
	set_up(&f, s, (struct skel_budget){.scale = 200});
	for (uint32_t i = 0; i < f.plan.series->n; i++)
		inner = f.plan.series->loop[i].total == 50 ? &f.plan.series->loop[i] : inner;
	assert_non_null(inner);
	assert_int_equal(inner->visits, 40);
	assert_int_equal(inner->stats.n, 2000);
	assert_true(fabs(inner->stats.mean - 21000) < 100);
	assert_non_null(f.plan.cut[inner->node].windows);
	for (int i = 0; i < f.plan.cut[inner->node].windows->n; i++)
		assert_int_equal(f.plan.cut[inner->node].windows->w[i].segment, 0);
	tear_down(&f);
}

static void test_windows_in_data(void **state)
{
	struct sampled_plan p = {.n = 2, .trend = 1, .w = {{5, 1, 3, 50, 0}, {60, 0, 4, 49, 1}},
				 .spikes = {100, 0.01, 9, 81}};
	struct emit_data *d = emit_data_create(1);
	double excess;
	uint64_t *w;
	size_t n;

	(void)state;
	emit_data_windows(d, 3, &p);
	emit_data_windows(d, 8, &p);
	w = emit_data_finish(d, &n);
	assert_non_null(w);
	assert_int_equal(w[w[9]], 2);
	assert_int_equal(n, w[9] + 1 + 2 * (DATA_LOOP + 2 * DATA_WINDOW));
	for (int i = 0; i < 2; i++) {
		const uint64_t *l = w + w[9] + 1 + i * (DATA_LOOP + 2 * DATA_WINDOW);

		assert_int_equal(l[DATA_LOOP_NUMBER], i == 0 ? 3 : 8);
		assert_int_equal(l[DATA_LOOP_WINDOWS], 2);
		assert_int_equal(l[DATA_LOOP_TREND], 1);
		assert_int_equal(l[DATA_LOOP_KNOWN], 100);
		memcpy(&excess, &l[DATA_LOOP_EXCESS], sizeof excess);
		assert_true(excess == 9);
		assert_memory_equal(l + DATA_LOOP + DATA_WINDOW, ((uint64_t[]){60, 0, 4, 49, 1}), 5 * sizeof *l);
	}
	free(w);
	emit_data_destroy(d);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_phase_is_found),  cmocka_unit_test(test_windows_follow),
		cmocka_unit_test(test_spikes_that_are_missed), cmocka_unit_test(test_spikes_of_recorded_gaps),
		cmocka_unit_test(test_precision_saves),
		cmocka_unit_test(test_inner_loops),     cmocka_unit_test(test_windows_in_data),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
