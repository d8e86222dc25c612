/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times by call and stratum, cuts to a budget, and the walk of the planned program. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/pipeline.h"
#include "skelgen/plan/gap_sampling.h"
#include "skelgen/plan/plan.h"
#include "skelgen/plan/plan_walk.h"
#include "skelgen/timing/times.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

struct fixture {
	struct syn *s;
	struct trace *t;
	struct skel_tree tree;
	struct skel_times times;
	struct skel_plan plan;
	struct errbuf err;
};

static void set_up(struct fixture *f, struct syn *s, struct skel_budget budget)
{
	memset(f, 0, sizeof *f);
	f->s = s;
	f->t = syn_open(s);
	if (skel_tree_build(f->t, &f->tree, &f->err) != 0 || skel_times_collect(&f->tree, &f->times, &f->err) != 0 ||
	    skel_plan(&f->tree, &f->times, &budget, &f->plan, &f->err) != 0)
		fail_msg("%s", f->err.text);
}

static void tear_down(struct fixture *f)
{
	skel_plan_free(&f->plan);
	skel_times_free(&f->times);
	skel_tree_free(&f->tree);
	trace_close(f->t);
	syn_destroy(f->s);
}

/* One loop of n allreduces on each of two ranks; iteration i has a gap of base + i * step ns. */
static struct syn *drifting(int n, uint64_t base, uint64_t step)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < n; i++)
			syn_call(s, r, "MPI_Allreduce", 1,
				 SYN(.count = 1, .gap_ns = base + step * (uint64_t)i, .dur_ns = 2000));
	syn_end(s);
	return s;
}

static const struct skel_leaf_time *leaf_times(const struct fixture *f, const char *fn)
{
	for (uint32_t i = 0; i < f->tree.n_leaf; i++)
		if (strcmp(trace_fn[f->tree.leaf[i]->fn].name, fn) == 0)
			return f->times.leaf[i];
	return NULL;
}

static void test_times_add_up(void **arg)
{
	struct fixture f;
	const struct skel_leaf_time *t;

	(void)arg;
	set_up(&f, drifting(320, 10000, 0), (struct skel_budget){.seconds = 0});
	t = leaf_times(&f, "MPI_Allreduce");
	assert_non_null(t);
	assert_int_equal(t->n, 320);
	assert_int_equal(t->n_stratum, 1);
	assert_true(fabs(t->gap_ns - 320 * 10000.0) < 320);
	assert_true(fabs(t->dur_ns - 320 * 2000.0) < 320);
	assert_int_equal(f.times.untimed, 0);
	assert_true(f.times.node_ns[f.tree.root->id] >= 320 * 12000.0);
	tear_down(&f);
}

static void test_drift_makes_strata(void **arg)
{
	struct fixture f;
	const struct skel_leaf_time *t;
	double sum = 0;

	(void)arg;
	set_up(&f, drifting(320, 10000, 100), (struct skel_budget){.seconds = 0});
	t = leaf_times(&f, "MPI_Allreduce");
	assert_int_equal(t->n_stratum, SKEL_STRATA);
	for (int i = 0; i < SKEL_STRATA; i++) {
		assert_true(fabs(t->stratum_ns[i] - (10000 + 100 * (20 * i + 9.5))) < 20);
		sum += t->stratum_ns[i] * 320 / SKEL_STRATA;
	}
	assert_true(fabs(sum - t->gap_ns) < 1e-6 * sum);
	tear_down(&f);
}

static uint64_t planned_calls(struct fixture *f, uint32_t rank, uint64_t *highest)
{
	const struct skel_node *leaf;
	struct scaled_iter it;
	uint64_t occ, n = 0;
	uint32_t index;

	*highest = 0;
	scaled_begin(&it, &f->tree, &f->plan, rank);
	while (scaled_next(&it, &leaf, &occ, &index)) {
		assert_true(occ < leaf->by_rank[index].n_occ);
		*highest = occ > *highest ? occ : *highest;
		n++;
	}
	return n;
}

static void test_budget_is_kept(void **arg)
{
	static const double scale[] = {2, 5, 10};
	struct fixture f;
	uint64_t highest;

	(void)arg;
	for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
		set_up(&f, drifting(2000, 50000, 0), (struct skel_budget){.scale = scale[i]});
		assert_int_equal(f.plan.n_cut, 1);
		assert_true(f.plan.predicted_s <= f.plan.full_s / scale[i] * 1.01);
		assert_true(f.plan.predicted_s >= f.plan.full_s / scale[i] * 0.9);
		assert_true(planned_calls(&f, 1, &highest) < 2002 / scale[i] * 1.05 + 2);
		assert_true(highest > 2000 - 2000 / 20); /* the sample reaches the end */
		tear_down(&f);
	}
}

static void test_least_iterations(void **arg)
{
	struct fixture f;
	uint64_t highest;

	(void)arg;
	set_up(&f, drifting(1000, 50000, 0), (struct skel_budget){.scale = 1000, .min_iterations = 20});
	assert_int_equal(planned_calls(&f, 0, &highest), 2 + 1 + 20);
	tear_down(&f);
	set_up(&f, drifting(21, 50000, 0), (struct skel_budget){.scale = 1000, .min_iterations = 20});
	assert_int_equal(f.plan.n_cut, 0);
	assert_int_equal(planned_calls(&f, 0, &highest), 2 + 21);
	tear_down(&f);
	/* Not told otherwise, the planner goes below 20 where the budget is far away. */
	set_up(&f, drifting(21, 50000, 0), (struct skel_budget){.scale = 4});
	assert_int_equal(f.plan.n_cut, 1);
	assert_int_equal(planned_calls(&f, 0, &highest), 2 + 1 + SKEL_FEWEST_ITERATIONS);
	tear_down(&f);
}

/* A solver that takes more or fewer iterations each time; unlike: every other rank in the opposite order. */
static const uint64_t solves[] = {310, 520, 4, 1, 470, 333, 290, 610};

#define SOLVES (sizeof solves / sizeof *solves)

static struct syn *solver(bool unlike)
{
	struct syn *s = syn_create(4);

	syn_begin(s);
	for (uint32_t r = 0; r < 4; r++)
		for (uint64_t i = 0; i < SOLVES; i++) {
			for (uint64_t k = 0; k < solves[unlike && r % 2 ? SOLVES - 1 - i : i]; k++)
				syn_call(s, r, "MPI_Sendrecv", 1,
					 SYN(.dst = r ^ 2, .src = r ^ 2, .tag = 3, .count = 8, .gap_ns = 9000, .dur_ns = 1000));
			syn_call(s, r, "MPI_Allreduce", 2, SYN(.count = 1, .gap_ns = 10, .dur_ns = 10));
		}
	syn_end(s);
	return s;
}

static const struct skel_node *loop_that_varies(const struct skel_node *n)
{
	const struct skel_node *found = n->kind == SKEL_LOOP && n->turns != NULL ? n : NULL;

	for (uint32_t i = 0; found == NULL && n->kind != SKEL_LEAF && i < n->n_child; i++)
		found = loop_that_varies(n->child[i]);
	return found;
}

static void test_loop_that_varies(void **arg)
{
	static const double scale[] = {2, 4, 10};
	struct skel_match_report report;
	const struct skel_node *loop;
	struct fixture f;
	uint64_t highest, whole = 0;

	(void)arg;
	for (uint64_t i = 0; i < SOLVES; i++)
		whole += solves[i];
	for (size_t i = 0; i < sizeof scale / sizeof *scale; i++) {
		uint64_t calls, expected = 2 + SOLVES;

		set_up(&f, solver(false), (struct skel_budget){.scale = scale[i]});
		loop = loop_that_varies(f.tree.root);
		assert_non_null(loop);
		assert_int_equal(f.plan.n_cut, 1);
		assert_true(f.plan.cut[loop->id].run < f.plan.cut[loop->id].total);
		assert_true(fabs(f.plan.predicted_s * scale[i] / f.plan.full_s - 1) < 0.05);
		for (uint64_t k = 0; k < SOLVES; k++) {
			struct skel_cut c = skel_cut_at(&f.plan.cut[loop->id], loop, 0, k);
			double weight = 0;

			assert_int_equal(c.total, solves[k]);
			for (uint64_t j = 0; j < c.run; j++) {
				assert_true(skel_sampled_iteration(&c, j) < solves[k]);
				weight += skel_sampled_weight(&c, j);
			}
			assert_true(fabs(weight - (double)solves[k]) < 1e-6);
			expected += c.run;
		}
		for (uint32_t r = 0; r < 4; r++) {
			calls = planned_calls(&f, r, &highest);
			assert_int_equal(calls, expected);
			assert_true(highest > (SOLVES - 1) * 610 + 600);
		}
		assert_true((double)expected < (double)whole / scale[i] * 1.1 + 2 + SOLVES);
		assert_int_equal(skel_match(&f.tree, &f.plan, &report, &f.err), 0);
		assert_int_equal(report.calls, 4 * expected);
		assert_int_equal(report.unreceived, 0);
		tear_down(&f);
	}
	/* iterations that ranks do not make alike stay */
	set_up(&f, solver(true), (struct skel_budget){.scale = 10});
	loop = loop_that_varies(f.tree.root);
	assert_non_null(loop);
	assert_true(f.plan.cut[loop->id].uneven);
	assert_int_equal(f.plan.cut[loop->id].run, f.plan.cut[loop->id].total);
	tear_down(&f);
}

static void test_share_of_turns(void **arg)
{
	(void)arg;
	for (uint64_t total = 2; total < 120; total += 7)
		for (uint64_t run = 2; run < total; run++)
			for (uint64_t turns = 0, before = 0; turns <= total; turns++) {
				uint64_t n = sampled_turns(total, run, turns);

				assert_true(n <= turns && n <= run && n >= before);
				assert_true(turns < 2 ? n == turns : n >= 2);
				assert_true((n - (turns > 0)) * (total - 1) + (total - 1) >= (turns > 0 ? turns - 1 : 0) * (run - 1));
				before = n;
			}
	assert_int_equal(sampled_turns(100, 100, 37), 37);
	assert_int_equal(sampled_turns(100, 20, 100), 20);
	assert_int_equal(sampled_turns(1001, 101, 501), 51);
	assert_int_equal(sampled_turns(1001, 101, 21), 6);
	assert_int_equal(sampled_turns(UINT64_MAX, UINT64_MAX / 2, UINT64_MAX), UINT64_MAX / 2);
}

static void test_no_budget_no_cut(void **arg)
{
	struct fixture f;

	(void)arg;
	set_up(&f, drifting(1000, 50000, 0), (struct skel_budget){.seconds = 1000});
	assert_int_equal(f.plan.n_cut, 0);
	assert_true(fabs(f.plan.predicted_s - f.plan.full_s) < 1e-9);
	tear_down(&f);
}

/* Loops that not all ranks run are never cut. */
static void test_only_common_loops(void **arg)
{
	struct fixture f;
	struct syn *s = syn_create(2);

	(void)arg;
	syn_begin(s);
	for (int i = 0; i < 500; i++)
		syn_call(s, 0, "MPI_Send", 1, SYN(.dst = TRACE_PROC_NULL, .count = 1, .gap_ns = 100000));
	for (uint32_t r = 0; r < 2; r++)
		syn_call(s, r, "MPI_Barrier", 2, SYN(.comm = 0));
	syn_end(s);
	set_up(&f, s, (struct skel_budget){.scale = 10});
	assert_int_equal(f.plan.n_cut, 0);
	tear_down(&f);
}

static void test_sampled_iterations(void **arg)
{
	(void)arg;
	for (uint64_t total = 22; total < 3000; total = total * 3 / 2)
		for (uint64_t run = 2; run < total; run += 1 + run / 3) {
			struct skel_cut c = {.total = total, .run = run};
			uint64_t before = 0;

			assert_int_equal(skel_sampled_iteration(&c, 0), 0);
			for (uint64_t j = 1; j < run; j++) {
				uint64_t o = skel_sampled_iteration(&c, j);

				assert_true(o > before && o < total);
				before = o;
			}
			c.consecutive = true;
			assert_int_equal(skel_sampled_iteration(&c, run - 1), run - 1);
		}
}

/* Each of two ranks computes so long before each of n reductions. */
static struct syn *long_gaps(int n, uint64_t gap_ns)
{
	return drifting(n, gap_ns, 0);
}

static void test_share_of_long_gaps(void **arg)
{
	struct fixture f;

	(void)arg;
	set_up(&f, long_gaps(1, 10000000000), (struct skel_budget){.seconds = 1});
	assert_true(fabs(f.plan.gap_share - 0.1) < 0.001);
	assert_true(fabs(f.plan.predicted_s - 1) < 0.01);
	assert_int_equal(f.plan.n_cut, 0);
	tear_down(&f);
	/* Three hours in a tenth of a second: 25 ms of each. */
	set_up(&f, long_gaps(3, 3600000000000), (struct skel_budget){.seconds = 0.1});
	assert_true(f.plan.gap_least_ns == GAP_SHORT_NS);
	assert_true(fabs(f.plan.predicted_s - 0.1) < 0.02);
	tear_down(&f);
	/* As many iterations as a loop must make, with longer gaps than the budget has time for. */
	set_up(&f, long_gaps(32, 3000000000), (struct skel_budget){.seconds = 0.5});
	assert_true(f.plan.gap_least_ns < GAP_LONG_NS && f.plan.predicted_s < SKEL_WITHIN * 0.5);
	tear_down(&f);
	/* Loops are cut first, and what their iterations leave too much the gaps give. */
	set_up(&f, long_gaps(1000, 1000000000), (struct skel_budget){.seconds = 7});
	assert_int_equal(f.plan.n_cut, 1);
	assert_true(skel_plan_shares_gaps(&f.plan));
	assert_true(f.plan.predicted_s < 1.5 * 7 && f.plan.predicted_s > 0.5 * 7);
	tear_down(&f);
	/* Where the budget is kept, or nothing is long, all of a gap runs. */
	set_up(&f, long_gaps(1, 10000000000), (struct skel_budget){.seconds = 11});
	assert_false(skel_plan_shares_gaps(&f.plan));
	tear_down(&f);
	set_up(&f, long_gaps(10, 20000000), (struct skel_budget){.seconds = 0.02});
	assert_false(skel_plan_shares_gaps(&f.plan));
	tear_down(&f);
	/* Shorter parts where nothing else keeps the budget. */
	set_up(&f, long_gaps(10, 20000000), (struct skel_budget){.seconds = 0.02, .short_parts = true});
	assert_true(f.plan.gap_least_ns < GAP_SHORT_NS && fabs(f.plan.predicted_s - 0.02) < 0.004);
	tear_down(&f);
}

/* Two ranks compute in turn, and the other one waits: only together do their gaps fill the run. */
static void test_share_of_alternate_gaps(void **arg)
{
	struct syn *s = syn_create(2);
	struct fixture f;

	(void)arg;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (uint32_t turn = 0; turn < 4; turn++)
			syn_call(s, r, "MPI_Allreduce", 1,
				 SYN(.count = 1, .gap_ns = turn % 2 == r ? 1000000000 : 1000,
				     .dur_ns = turn % 2 == r ? 1000 : 1000000000));
	syn_end(s);
	set_up(&f, s, (struct skel_budget){.seconds = 1});
	assert_true(f.plan.gap_least_ns == GAP_LONG_NS);
	assert_true(fabs(f.plan.gap_share - 0.25) < 0.01);
	assert_true(fabs(f.plan.predicted_s - 1) < 0.05);
	tear_down(&f);
}

/* Two ranks: a computation of entry_ns, then a loop of 200 reductions every millisecond. If rank 0 computes alone,
 * rank 1 waits for it in the first reduction. */
static void entered(struct fixture *f, uint64_t entry_ns, bool alone, double seconds)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < 200; i++) {
			uint64_t usual_ns = 990000 + (uint64_t)(i % 2) * 10000;
			bool waits = i == 0 && alone && r == 1;

			syn_call(s, r, "MPI_Allreduce", 1,
				 SYN(.count = 1, .gap_ns = i == 0 && !waits ? entry_ns : usual_ns,
				     .dur_ns = waits ? entry_ns - usual_ns : 5000));
		}
	syn_end(s);
	set_up(f, s, (struct skel_budget){.seconds = seconds, .precision = 1e-6});
}

/* The time of the planned calls of rank 0, each by its own gap: seconds. */
static double gaps_of_plan(const struct fixture *f)
{
	const struct skel_node *leaf;
	struct scaled_iter it;
	uint64_t occ;
	uint32_t index;
	double sum = 0;

	scaled_begin(&it, &f->tree, &f->plan, 0);
	while (scaled_next(&it, &leaf, &occ, &index)) {
		const struct skel_leaf_time *t = &f->times.leaf[leaf->leaf_id][index];

		if (skel_enters(t, occ))
			sum += t->entry->stratum_ns[0];
		else if (trace_fn[leaf->fn].cls != TC_INIT)
			sum += (t->gap_ns - (t->entry != NULL ? t->entry->gap_ns : 0)) / (double)(t->made - (t->entry != NULL));
	}
	return sum * 1e-9;
}

static void test_what_enters_a_loop_runs_whole(void **arg)
{
	struct fixture f;

	(void)arg;
	for (int alone = 0; alone < 2; alone++) {
		entered(&f, 60000000, alone, 0.1);
		assert_int_equal(f.plan.n_cut, 1);
		assert_true(fabs(gaps_of_plan(&f) - 0.1) < 0.01);
		assert_true(fabs(f.plan.predicted_s - gaps_of_plan(&f)) < 0.005);
		assert_true(fabs(f.plan.whole_s - 0.06) < 0.005);
		tear_down(&f);
		/* The fewest iterations take too long with it: a part of it runs. */
		entered(&f, 2300000000, alone, 1);
		assert_true(fabs(f.plan.gap_share - 1 / 2.3) < 0.03);
		assert_true(fabs(f.plan.predicted_s - 1) < 0.05);
		tear_down(&f);
		/* Iterations that take nothing beside it stay whole. */
		entered(&f, 60000000000, alone, 50);
		assert_int_equal(f.plan.n_cut, 0);
		assert_true(fabs(f.plan.predicted_s - 50) < 0.5);
		tear_down(&f);
	}
}

/* Two ranks: a loop of so many reductions, of which every twentieth follows a long computation. With messages
 * instead, rank 1 computes nothing and waits for rank 0. */
static void rarely_long(struct fixture *f, int turns, bool messages, double seconds)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (int i = 0; i < turns; i++) {
			uint64_t ns = i % 20 == 11 ? 30000000 + (uint64_t)i * 100000 : 30000;

			if (!messages)
				syn_call(s, r, "MPI_Allreduce", 1, SYN(.count = 1, .gap_ns = ns, .dur_ns = 5000));
			else if (r == 0)
				syn_call(s, r, "MPI_Send", 1, SYN(.dst = 1, .count = 1, .gap_ns = ns, .dur_ns = 5000));
			else
				syn_call(s, r, "MPI_Recv", 1, SYN(.src = 0, .count = 1, .gap_ns = 100, .dur_ns = ns));
		}
	syn_end(s);
	set_up(f, s, (struct skel_budget){.seconds = seconds});
}

static void test_few_iterations_take_the_time(void **arg)
{
	struct fixture f;

	(void)arg;
	rarely_long(&f, 800, false, 0.5);
	assert_int_equal(f.plan.n_cut, 0);
	assert_true(skel_plan_shares_gaps(&f.plan));
	assert_true(f.plan.predicted_s < 0.6 && f.plan.predicted_s > 0.4);
	tear_down(&f);
	/* Its other iterations alone exceed the budget: it is cut. */
	rarely_long(&f, 40000, false, 0.5);
	assert_int_equal(f.plan.n_cut, 1);
	assert_true(f.plan.predicted_s < 0.6);
	tear_down(&f);
	/* What parts save would be lost for the rank that waits. */
	rarely_long(&f, 800, true, 0.5);
	assert_int_equal(f.plan.n_cut, 1);
	assert_false(skel_plan_shares_gaps(&f.plan));
	tear_down(&f);
}

/* Two ranks: `parts` loops of 10 iterations, in each of which a loop of 160 and one of 16 are made, and a long
 * computation: what a plane-wave program does for each of its points. */
static struct syn *nested(uint64_t parts)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++)
		for (uint64_t i = 0; i < 10 * parts; i++) {
			uint64_t site = 10 * (i / 10);

			for (int k = 0; k < 160; k++)
				syn_call(s, r, "MPI_Allreduce", site + 1, SYN(.count = 1, .gap_ns = 30000, .dur_ns = 5000));
			for (int k = 0; k < 16; k++)
				syn_call(s, r, "MPI_Bcast", site + 2, SYN(.count = 1, .gap_ns = 500000, .dur_ns = 10000));
			syn_call(s, r, "MPI_Barrier", site + 3, SYN(.gap_ns = 10000000, .dur_ns = 10000));
		}
	syn_end(s);
	return s;
}

/* How many times its own time the leaf that the walk is at stands for. */
static double stands_for(const struct scaled_iter *it)
{
	double weight = 1;

	for (int i = 0; i < it->depth; i++)
		if (it->level[i].node->kind == SKEL_LOOP)
			weight *= skel_sampled_weight(&it->level[i].cut, it->level[i].iter - 1);
	return weight;
}

/* What the skeleton would tell of rank 0 where the processor is taken away for `stop` ns after each `stop` ns, the first time
 * after `first` ns. *most: what most stands for. */
static double told_with_stops(const struct fixture *f, double first, double stop, double *most)
{
	const struct skel_node *leaf;
	struct scaled_iter it;
	uint64_t occ;
	uint32_t index;
	double told = 0, next = first, at = 0;

	*most = 0;
	scaled_begin(&it, &f->tree, &f->plan, 0);
	while (scaled_next(&it, &leaf, &occ, &index)) {
		const struct skel_leaf_time *t = &f->times.leaf[leaf->leaf_id][index];
		double ns = (t->gap_ns + t->dur_ns) / (double)t->made, weight = stands_for(&it);

		told += weight * ns;
		*most = fmax(*most, weight);
		for (at += ns; next <= at; next += stop)
			told += weight * stop;
	}
	return told;
}

/* Half a processor takes twice as long, wherever the stops fall: also where the budget is far below what
 * five iterations of every loop take. */
static void test_stops_count_alike(void **arg)
{
	enum { PHASES = 200 };
	const double stop = 1e6;
	double square = 0, mean = 0, most, whole;
	struct fixture f;

	(void)arg;
	set_up(&f, nested(4), (struct skel_budget){.seconds = 0.05});
	whole = f.plan.full_s * 1e9;
	for (int i = 0; i < PHASES; i++) {
		double off = told_with_stops(&f, stop * (i + 0.5) / PHASES, stop, &most) / (2 * whole) - 1;

		mean += off / PHASES;
		square += off * off / PHASES;
	}
	print_message("# %.3f of %.3f s, for up to %.1f times; off by %.2f %% in the mean, deviation %.2f %%\n", f.plan.predicted_s, f.plan.full_s, most,
		      100 * mean, 100 * sqrt(square));
	assert_true(f.plan.predicted_s < f.plan.full_s * 0.7);
	assert_true(fabs(mean) < 0.01);
	assert_true(sqrt(square) < 0.015);
	assert_true(most < 20);
	tear_down(&f);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_times_add_up),	 cmocka_unit_test(test_drift_makes_strata),
		cmocka_unit_test(test_budget_is_kept),	 cmocka_unit_test(test_least_iterations),
		cmocka_unit_test(test_loop_that_varies),
		cmocka_unit_test(test_share_of_turns),
		cmocka_unit_test(test_no_budget_no_cut), cmocka_unit_test(test_only_common_loops),
		cmocka_unit_test(test_sampled_iterations), cmocka_unit_test(test_share_of_long_gaps),
		cmocka_unit_test(test_share_of_alternate_gaps),
		cmocka_unit_test(test_what_enters_a_loop_runs_whole),
		cmocka_unit_test(test_few_iterations_take_the_time),
		cmocka_unit_test(test_stops_count_alike),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
