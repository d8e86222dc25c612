/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models learnt from some runs of a program against what the program does at other inputs: every row, its time and its
 * variables. What the runs do not determine has to be refused, with a reason.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_programs.h"
#include "model/induce/fit.h"
#include "model/induce/learn.h"
#include "model/induce/region.h"
#include "model/induce/replay.h"
#include "model/induce/text.h"
#include "model/induce/value.h"

#define IN 4
#define N(a) (sizeof(a) / sizeof((a)[0]))

static struct model *learn(const struct program *p, struct journal *j, const double (*in)[IN], size_t n)
{
	struct errbuf err = {""};
	struct model *m;

	for (size_t i = 0; i < n; i++)
		program_journal_run(p, j, in[i]);
	m = model_learn(j, NULL, &err);
	if (!m)
		fail_msg("%s: %s", p->name, err.text);
	return m;
}

static void check_program(const struct program *p, const double (*in)[IN], size_t n, const double (*at)[IN], size_t n_at,
			  double rel)
{
	struct journal *j = program_journal(p);
	struct model *m = learn(p, j, in, n);

	for (size_t i = 0; i < n; i++) {
		struct errbuf err = {""};

		if (program_compare(p, j, m, in[i], rel, &err) < 0)
			fail_msg("at its own inputs %zu: %s", i, err.text);
	}
	for (size_t i = 0; i < n_at; i++) {
		struct errbuf err = {""};

		if (program_compare(p, j, m, at[i], rel, &err) < 0)
			fail_msg("at new inputs %zu: %s", i, err.text);
	}
	assert_int_equal(m->n_unknown, 0);
	assert_false(m->random);
	model_destroy(m);
	journal_destroy(j);
}
#define CHECK(p, in, at) check_program(&(p), in, N(in), at, N(at), 1e-9)

static void test_bounds_from_inputs(void **state)
{
	static const double nested[][IN] = {{3, 4}, {5, 2}, {8, 11}, {4, 7}}, nested_at[][IN] = {{7, 9}, {30, 1}, {1, 50}, {100, 20}};
	static const double tri[][IN] = {{3}, {5}, {9}, {6}}, tri_at[][IN] = {{7}, {1}, {60}};
	static const double half[][IN] = {{12}, {5}, {8}, {9}, {3}}, half_at[][IN] = {{33}, {20}, {2}};
	static const double shared[][IN] = {{2, 3, 4}, {3, 5, 2}, {6, 4, 3}, {4, 2, 7}}, shared_at[][IN] = {{3, 3, 3}, {7, 2, 4}, {5, 9, 2}};

	(void)state;
	CHECK(program_nested, nested, nested_at);
	CHECK(program_triangle, tri, tri_at);
	CHECK(program_halves, half, half_at);
	CHECK(program_shared, shared, shared_at);
}

static void test_branches(void **state)
{
	static const double alt[][IN] = {{4}, {9}, {12}, {6}, {21}}, alt_at[][IN] = {{7}, {30}, {100}};
	static const double par[][IN] = {{4}, {9}, {12}, {5}, {7}, {8}, {20}}, par_at[][IN] = {{6}, {31}, {30}};
	static const double every[][IN] = {{12, 3}, {44, 5}, {80, 2}, {25, 9}}, every_at[][IN] = {{33, 4}, {20, 7}, {100, 10}};

	(void)state;
	CHECK(program_alternate, alt, alt_at);
	CHECK(program_parity, par, par_at);
	CHECK(program_every, every, every_at);
}

static void test_doubling(void **state)
{
	static const double in[][IN] = {{16, 20}, {100, 40}, {900, 9}, {65, 64}}, at[][IN] = {{300, 77}, {64, 100}, {5000, 500}};
	static const double var[][IN] = {{16}, {100}, {900}, {65}}, var_at[][IN] = {{300}, {64}, {1e6}};

	(void)state;
	CHECK(program_doubling, in, at);
	CHECK(program_doubling_var, var, var_at);
}

static void test_variables_decide(void **state)
{
	static const double in[][IN] = {{12, 1e-3}, {5, 1e-6}, {8, 1e-8}, {9, 0.1}, {20, 1e-5}}, at[][IN] = {{50, 2e-5}, {80, 0.003}};

	static const double pick[][IN] = {{14}, {29}, {42}, {23}, {19}}, pick_at[][IN] = {{33}, {100}};

	(void)state;
	CHECK(program_residue, in, at);
	CHECK(program_while_data, pick, pick_at);
}

static void test_ranks(void **state)
{
	static const double in[][IN] = {{0, 4, 5}, {1, 4, 5}, {2, 4, 5}, {3, 4, 5}, {0, 8, 6}, {3, 8, 6},
					{7, 8, 6}, {5, 8, 9}, {6, 8, 9}, {0, 2, 11}, {1, 2, 11}};
	static const double at[][IN] = {{0, 16, 7}, {15, 16, 9}, {7, 16, 30}, {4, 5, 3}};

	(void)state;
	CHECK(program_ring, in, at);
}

static void test_procedures(void **state)
{
	static const double in[][IN] = {{2, 3}, {4, 5}, {8, 2}, {5, 9}}, at[][IN] = {{3, 4}, {20, 7}};
	struct journal *j = program_journal(&program_calls_nested);
	struct model *m = learn(&program_calls_nested, j, in, N(in));
	uint32_t calling[3] = {0};

	(void)state;
	CHECK(program_calls, in, at);
	CHECK(program_calls_nested, in, at);
	/* The outer procedure is called from two places, the inner one from two places of it. */
	assert_int_equal(m->n_graphs, 3);
	for (uint32_t g = 0; g < 2; g++)
		for (uint32_t n = 0; n < m->graph[g].n_nodes; n++)
			calling[g] += m->graph[g].node[n].callee == g + 1;
	assert_int_equal(calling[0], 2);
	assert_int_equal(calling[1], 2);
	model_destroy(m);
	journal_destroy(j);
}

/* A call may return to several places. */
static void test_callers_that_branch(void **state)
{
	static const double in[][IN] = {{2, 3}, {4, 5}, {8, 2}, {5, 9}, {13, 4}, {21, 3}};
	static const double at[][IN] = {{3, 4}, {17, 7}, {40, 2}, {100, 3}};
	struct journal *j = program_journal(&program_calls_and_branches);
	struct model *m = learn(&program_calls_and_branches, j, in, N(in));
	uint32_t calling = 0;

	(void)state;
	CHECK(program_calls_and_branches, in, at);
	assert_int_equal(m->n_graphs, 2);
	for (uint32_t n = 0; n < m->graph[0].n_nodes; n++)
		calling += m->graph[0].node[n].callee == 1;
	assert_int_equal(calling, 3);
	model_destroy(m);
	journal_destroy(j);
}

/* The body of a procedure is left from three nodes. */
static void test_early_returns(void **state)
{
	static const double in[][IN] = {{2, 3}, {4, 5}, {8, 2}, {5, 9}, {13, 4}, {21, 3}};
	static const double at[][IN] = {{3, 4}, {17, 7}, {40, 2}, {100, 3}};
	struct journal *j = program_journal(&program_calls_return_early);
	struct model *m = learn(&program_calls_return_early, j, in, N(in));
	uint32_t calling = 0;

	(void)state;
	CHECK(program_calls_return_early, in, at);
	assert_int_equal(m->n_graphs, 2);
	assert_int_equal(m->graph[1].n_nodes, 1 + 4);
	for (uint32_t n = 0; n < m->graph[0].n_nodes; n++)
		calling += m->graph[0].node[n].callee == 1;
	assert_int_equal(calling, 3);
	model_destroy(m);
	journal_destroy(j);
}

/* Many places of a program call a procedure. Each has one place of return, but the first one if the program branches there. */
static void check_many_callers(double n, double branch)
{
	const double in[][IN] = {{2, 3, n, branch}, {4, 5, n, branch}, {8, 2, n, branch}, {5, 9, n, branch}}, at[IN] = {3, 4, n, branch};
	struct journal *j = program_journal(&program_many_calls);
	struct model *m = learn(&program_many_calls, j, in, N(in));
	struct errbuf err = {""};

	assert_int_equal(m->n_graphs, 2);
	if (program_compare(&program_many_calls, j, m, at, 1e-9, &err) < 0)
		fail_msg("%g callers: %s", n, err.text);
	model_destroy(m);
	journal_destroy(j);
}

static void test_many_callers(void **state)
{
	(void)state;
	check_many_callers(65, 0);
	check_many_callers(200, 0);
	check_many_callers(65, 1);
	check_many_callers(200, 1);
}

/* A loop of many points, each optional. All pairs of an entry and an exit that may return early: the arcs that are looked at,
 * and how many regions there are. */
static size_t early_regions(const struct flow *f, const struct topology *t, size_t work, uint32_t *n)
{
	struct region_search s;
	struct region r;

	assert_int_equal(region_create(&r, t), 0);
	assert_int_equal(region_search_create(&s, t, work), 0);
	*n = 0;
	for (r.entry = 1; r.entry < f->n_nodes; r.entry++)
		for (uint32_t x = 1; region_may_enter(t, &s, r.entry) && x < f->n_nodes; x++)
			*n += region_grow_early(t, &r, x, &s);
	work -= s.work;
	region_search_free(&s);
	region_free(&r);
	return work;
}

static void test_search_is_bounded(void **state)
{
	enum { POINTS = 150, PASSES = 12 };
	const char *const inputs[] = {"N"};
	struct errbuf err;
	struct journal *j = journal_create(inputs, 1, NULL, 0, &err);
	struct topology t;
	struct flow f;
	double one = 1, time_s = 0;
	uint32_t n;

	(void)state;
	assert_non_null(j);
	for (int k = 0; k < POINTS; k++) {
		char name[16];

		snprintf(name, sizeof(name), "p%d", k);
		assert_int_equal(journal_point(j, name, &err), k);
	}
	assert_int_equal(journal_begin(j, &one, &err), 0);
	for (uint32_t i = 0; i < PASSES; i++)
		for (uint32_t k = 0; k < POINTS; k++)
			if (!k || (i + k) % 3)
				assert_int_equal(journal_add(j, k, time_s += 1e-6, NULL, &err), 0);
	assert_int_equal(flow_from_journal(&f, j, UINT32_MAX, &err), 0);
	assert_int_equal(topology_build(&t, &f, &err), 0);
	assert_true(early_regions(&f, &t, SIZE_MAX, &n) < 64 * f.n_steps);
	assert_true(n > POINTS / 2);
	assert_int_equal(early_regions(&f, &t, 1000, &n), 1000);
	assert_true(n < POINTS / 2);
	topology_free(&t);
	flow_free(&f);
	journal_destroy(j);
}

/* Six runs of the same points. */
static struct journal *six_runs(const char *points)
{
	const char *const inputs[] = {"N"};
	struct errbuf err;
	struct journal *j = journal_create(inputs, 1, NULL, 0, &err);

	assert_non_null(j);
	for (double in = 1; in <= 6; in++) {
		double time_s = 0;

		assert_int_equal(journal_begin(j, &in, &err), 0);
		for (const char *p = points; *p; p++) {
			int32_t point = journal_point(j, (char[]){*p, 0}, &err);

			assert_int_equal(journal_add(j, (uint32_t)point, time_s += 1e-6, NULL, &err), 0);
		}
	}
	return j;
}

/* The caller decides how often the loop of a procedure goes round, and no variable says so. A model with this procedure
 * contradicts the runs; a model without procedures does not. */
static void test_own_runs(void **state)
{
	struct journal *j = six_runs("sabababmababe"), *other = six_runs("sabababmabe");
	struct errbuf err;
	struct model *m = model_learn(j, NULL, &err);
	struct model_result r = {0};

	(void)state;
	assert_non_null(m);
	assert_int_equal(replay_count(m, j, UINT32_MAX), 0);
	assert_int_equal(m->n_unknown, 0);
	/* A model that departs from runs refuses them. */
	assert_int_equal(replay_count(m, other, UINT32_MAX), 6);
	assert_int_equal(replay_count(m, other, 2), 5);
	assert_int_equal(replay_mark(m, other, UINT32_MAX, &err), 0);
	assert_int_equal(m->n_unknown, 1);
	assert_int_equal(replay_count(m, other, UINT32_MAX), 0);
	assert_int_equal(model_interpret(m, &(double){3}, 1, NULL, NULL, &r, &err), -1);
	assert_non_null(strstr(err.text, "do not repeat run 1 behind its row"));
	model_destroy(m);
	journal_destroy(j);
	journal_destroy(other);
}

struct lag {
	double y, worst;
	const struct tape *t;
	size_t at;
};

static int lag_event(void *arg, uint32_t point, double time_s, const double *var)
{
	struct lag *l = arg;

	(void)point;
	(void)time_s;
	l->worst = fmax(l->worst, l->at < l->t->n ? fabs(var[0] - l->t->row[l->at].var[0]) : INFINITY);
	l->at++;
	return 0;
}

/* What is missed of the result when it is fitted as a function of the inputs. */
static double lag_direct(const double (*at)[IN], size_t n_at)
{
	struct journal *j = program_journal(&program_euler);
	struct model *m = model_create();
	double col[3][60], y[60], *cols[3] = {col[0], col[1], col[2]}, worst = 0;
	uint32_t group[60];
	const uint32_t feature[3] = {0, 1, 2};
	const struct fit_table table = {60, 3, cols, feature, group, NULL};
	struct model_feature features[3] = {{MODEL_INPUT, 0, 0}, {MODEL_INPUT, 1, 0}, {MODEL_INPUT, 2, 0}};
	struct model_graph g = {.n_features = 3, .feature = features};
	struct fit_quality q;
	struct model_fn fn;
	struct errbuf err;
	struct tape t;

	for (uint32_t i = 0; i < 60; i++) {
		double in[IN] = {(i * 7 % 11) * 0.5 - 2, (i * 5 % 13) * 0.5 - 3, 10 + i * 37 % 191};

		program_run(&program_euler, j, in, &t);
		y[i] = t.row[t.n - 1].var[0];
		for (int k = 0; k < 3; k++)
			col[k][i] = in[k];
		group[i] = i;
		tape_free(&t);
	}
	assert_int_equal(fit_function(&table, y, false, m, &fn, &q, &err), 0);
	assert_false(q.exact);
	for (size_t i = 0; i < n_at; i++) {
		struct model_state s = {.input = at[i]};

		program_run(&program_euler, j, at[i], &t);
		worst = fmax(worst, fabs(model_fn_value(&g, &fn, &s) - t.row[t.n - 1].var[0]));
		tape_free(&t);
	}
	model_destroy(m);
	journal_destroy(j);
	return worst;
}

/* The paper's experiment: a model of the algorithm against a direct approximation of its result. */
static void test_euler(void **state)
{
	static const double in[][IN] = {{1, 2, 50}, {3, 1, 80}, {0.5, 4, 120}, {2, -1, 33}};
	static const double at[][IN] = {{0, 1, 150}, {2.5, -2.5, 100}, {1.5, 2.5, 40}, {1, 0.5, 1000}};
	struct journal *j = program_journal(&program_euler);
	struct model *m = learn(&program_euler, j, in, N(in));
	double direct;

	(void)state;
	for (size_t i = 0; i < N(at); i++) {
		struct tape t;
		struct lag l = {.t = &t};
		struct model_sink sink = {lag_event, &l};
		struct model_result r = {0};
		struct errbuf err;

		program_run(&program_euler, j, at[i], &t);
		assert_int_equal(model_interpret(m, at[i], 1, NULL, &sink, &r, &err), 0);
		assert_int_equal(l.at, t.n);
		assert_true(l.worst < 2e-13);
		tape_free(&t);
	}
	direct = lag_direct(at, N(at) - 1);
	assert_true(direct > 1e-4);
	assert_true(direct < 1);
	model_destroy(m);
	journal_destroy(j);
}

/* A variable that nothing gives is not known; the sequence, which does not need it, is. */
static void test_unknown_variable(void **state)
{
	static const double in[][IN] = {{14}, {29}, {42}, {23}, {19}}, at[3] = {33};
	struct journal *j = program_journal(&program_noise);
	struct model *m = learn(&program_noise, j, in, N(in));
	struct model_result r = {0};
	double var[1];
	struct errbuf err;

	(void)state;
	assert_false(m->var[0].known);
	assert_non_null(strstr(m->var[0].reason, "from"));
	r.var = var;
	assert_int_equal(model_interpret(m, at, 1, NULL, NULL, &r, &err), 0);
	assert_int_equal(r.events, 34);
	assert_true(isnan(var[0]));
	model_destroy(m);
	journal_destroy(j);
}

/* The root of the input was seen three times: a parabola goes through any three values. */
static void test_three_values_prove_nothing(void **state)
{
	const char *const inputs[] = {"N"}, *const vars[] = {"steps"};
	struct errbuf err;
	struct journal *j = journal_create(inputs, 1, vars, 1, &err);
	struct model *m;

	(void)state;
	assert_non_null(j);
	assert_int_equal(journal_point(j, "start", &err), 0);
	assert_int_equal(journal_point(j, "rooted", &err), 1);
	for (double steps = 10; steps <= 30; steps += 10) {
		double n = steps * steps, none = 0;

		assert_int_equal(journal_begin(j, &n, &err), 0);
		assert_int_equal(journal_add(j, 0, 0, &none, &err), 0);
		assert_int_equal(journal_add(j, 1, 1, &steps, &err), 0);
	}
	m = model_learn(j, NULL, &err);
	assert_non_null(m);
	assert_false(m->var[0].known);
	assert_non_null(strstr(m->var[0].reason, "nothing that is known gives it"));
	model_destroy(m);
	journal_destroy(j);
}

static void test_chance(void **state)
{
	static const double in[][IN] = {{140}, {290}, {420}}, at[1] = {1000};
	struct journal *j = program_journal(&program_coin);
	struct model *m = learn(&program_coin, j, in, N(in));
	struct model_spread s;
	struct errbuf err;

	(void)state;
	assert_true(m->random);
	assert_int_equal(model_interpret_often(m, at, 7, 50, NULL, &s, &err), 0);
	assert_int_equal(s.n, 50);
	assert_in_range(s.n_cluster, 40, 50);
	/* 1 ms a toss, 10 ms for heads (3 of 10), 1 ms for tails. */
	assert_true(fabs(s.mean_s / (1000 * (0.001 + 0.3 * 0.01 + 0.7 * 0.001)) - 1) < 0.1);
	model_destroy(m);
	journal_destroy(j);
}

static void test_exit_before_chance(void **state)
{
	static const double in[][IN] = {{20}, {35}, {50}, {64}, {77}, {90}, {101}, {120}}, at[] = {150, 1000};
	struct journal *j = program_journal(&program_maybe);
	struct model *m = learn(&program_maybe, j, in, N(in));

	(void)state;
	assert_true(m->random);
	assert_int_equal(m->n_unknown, 0);
	for (size_t k = 0; k < N(at); k++)
		for (uint64_t seed = 1; seed <= 20; seed++) {
			uint64_t passages[8] = {0};
			struct model_result r = {.passages = passages};
			struct model_limits limits = {.steps = 100000};
			struct errbuf err;

			if (model_interpret(m, &at[k], seed, &limits, NULL, &r, &err) < 0)
				fail_msg("n = %g: %s", at[k], err.text);
			for (uint32_t p = 0; p < m->n_points; p++) {
				double share = (double)passages[p] / at[k];

				if (!strcmp(m->point[p], "step"))
					assert_int_equal(passages[p], (uint64_t)at[k]);
				else if (!strcmp(m->point[p], "extra"))
					assert_true(share > 0.15 && share < 0.45);
				else if (!strcmp(m->point[p], "more"))
					assert_true(share > 0.01 && share < 0.25);
				else
					assert_int_equal(passages[p], 1);
			}
		}
	model_destroy(m);
	journal_destroy(j);
}

/* Ends after 17, 23, 19, 29 steps, whatever the input: nothing says when. */
static void whim(struct tape *t, const double *in)
{
	static const int steps[] = {17, 23, 19, 29};

	for (int i = 0; i < steps[(int)in[0] % 4]; i++)
		tape_pass(t, "step");
	tape_pass(t, "end");
}
static const struct program program_whim = {"whim", whim, 1, 0, {"N"}, {NULL}};

static void test_refuses_what_is_not_determined(void **state)
{
	static const double in[][IN] = {{104}, {237}, {158}, {91}}, at[1] = {120};
	struct journal *j = program_journal(&program_whim);
	struct model *m = learn(&program_whim, j, in, N(in));
	struct model_result r = {0};
	struct errbuf err;

	(void)state;
	assert_int_equal(m->n_unknown, 1);
	assert_int_equal(model_interpret(m, at, 1, NULL, NULL, &r, &err), -1);
	assert_non_null(strstr(err.text, "where step leads is not known"));
	model_destroy(m);
	journal_destroy(j);
}

static void test_refuses_other_constants(void **state)
{
	static const double in[][IN] = {{9, 3}}, same[2] = {9, 3}, other[2] = {9, 4};
	struct journal *j = program_journal(&program_nested);
	struct model *m = learn(&program_nested, j, in, N(in));
	struct model_result r = {0};
	struct errbuf err;

	(void)state;
	/* One run is repeated exactly, and nothing else is said. */
	assert_int_equal(model_interpret(m, same, 1, NULL, NULL, &r, &err), 0);
	assert_int_equal(r.events, 2 + 9 * 2 + 27);
	assert_int_equal(model_interpret(m, other, 1, NULL, NULL, &r, &err), -1);
	assert_non_null(strstr(err.text, "input M was 3 in every run"));
	model_destroy(m);
	journal_destroy(j);
}

static void test_refuses_to_part_what_went_together(void **state)
{
	static const double in[][IN] = {{3, 3}, {5, 5}, {8, 8}, {12, 12}}, same[2] = {20, 20}, other[2] = {20, 10};
	struct journal *j = program_journal(&program_nested);
	struct model *m = learn(&program_nested, j, in, N(in));
	struct model_result r = {0};
	struct errbuf err;

	(void)state;
	assert_int_equal(model_interpret(m, same, 1, NULL, NULL, &r, &err), 0);
	assert_int_equal(r.events, 2 + 20 * 2 + 400);
	assert_int_equal(model_interpret(m, other, 1, NULL, NULL, &r, &err), -1);
	assert_non_null(strstr(err.text, "went together"));
	model_destroy(m);
	journal_destroy(j);
}

/* Asks for every N up to `most`: the answer is what the program does, or a refusal that names what no run had. */
static uint32_t right_or_refused(const struct program *p, struct journal *j, const struct model *m, double most)
{
	uint32_t refused = 0;

	for (double at = 1; at <= most; at++) {
		struct model_result r = {0};
		struct errbuf err = {""};

		if (model_interpret(m, &at, 1, NULL, NULL, &r, &err) == 0 && program_compare(p, j, m, &at, 1e-9, &err) < 0)
			fail_msg("%s, N = %g: %s", p->name, at, err.text);
		if (r.stop != MODEL_DONE && !strstr(err.text, "no run had"))
			fail_msg("%s, N = %g: %s", p->name, at, err.text);
		refused += r.stop != MODEL_DONE;
	}
	return refused;
}

/* Runs that never ended at a check, runs that only ended at one, and both programs that could have been run. */
static void test_refuses_what_no_run_decides(void **state)
{
	static const double beside[][IN] = {{37}, {58}, {93}, {142}, {205}}, at[][IN] = {{40}, {8}, {24}, {100}, {60}};
	const struct program *const programs[] = {&program_checks, &program_checks_not_last};

	(void)state;
	for (size_t k = 0; k < N(programs); k++) {
		struct journal *j = program_journal(programs[k]), *last = program_journal(programs[k]);
		struct model *m = learn(programs[k], j, beside, N(beside)), *at_checks = learn(programs[k], last, at, N(at));
		static const double both[1][IN] = {{40}};

		assert_int_equal(right_or_refused(programs[k], j, m, 240), 60);
		assert_in_range(right_or_refused(programs[k], last, at_checks, 120), 1, 90);
		model_destroy(m);
		model_destroy(at_checks);
		/* One more run settles it. */
		m = learn(programs[k], j, both, 1);
		assert_int_equal(right_or_refused(programs[k], j, m, 240), 0);
		model_destroy(m);
		journal_destroy(j);
		journal_destroy(last);
	}
}

static void test_confidence(void **state)
{
	static const double in[][IN] = {{3, 4}, {5, 2}, {8, 11}, {4, 7}, {9, 8}}, whims[][IN] = {{104}, {237}, {158}, {91}};
	const struct model_learn_options o = {.cross_validate = true};
	struct journal *j = program_journal(&program_nested), *w = program_journal(&program_whim);
	struct errbuf err;
	struct model *m;

	(void)state;
	for (size_t i = 0; i < N(in); i++)
		program_journal_run(&program_nested, j, in[i]);
	m = model_learn(j, &o, &err);
	assert_non_null(m);
	assert_int_equal(m->confidence.n_runs, 5);
	assert_int_equal(m->confidence.n_exact, 5);
	assert_true(m->confidence.time_error < 1e-9);
	model_destroy(m);
	for (size_t i = 0; i < N(whims); i++)
		program_journal_run(&program_whim, w, whims[i]);
	m = model_learn(w, &o, &err);
	assert_non_null(m);
	assert_int_equal(m->confidence.n_refused, 4);
	model_destroy(m);
	journal_destroy(j);
	journal_destroy(w);
}

static void test_bad_journals(void **state)
{
	const char *const inputs[] = {"N", "N"}, *const odd[] = {"a\nb"};
	struct errbuf err;
	struct journal *j;
	double nan_in[1] = {NAN}, in[1] = {1};

	(void)state;
	assert_null(journal_create(inputs, 2, NULL, 0, &err));
	assert_non_null(strstr(err.text, "two inputs are called N"));
	assert_null(journal_create(odd, 1, NULL, 0, &err));
	j = journal_create(inputs, 1, NULL, 0, &err);
	assert_non_null(j);
	assert_null(model_learn(j, NULL, &err));
	assert_non_null(strstr(err.text, "no runs"));
	assert_int_equal(journal_point(j, "", &err), -1);
	assert_int_equal(journal_point(j, "a", &err), 0);
	assert_int_equal(journal_add(j, 0, 0, NULL, &err), -1);
	assert_int_equal(journal_begin(j, nan_in, &err), -1);
	assert_int_equal(journal_begin(j, in, &err), 0);
	assert_int_equal(journal_add(j, 1, 0, NULL, &err), -1);
	assert_int_equal(journal_add(j, 0, 1, NULL, &err), 0);
	assert_int_equal(journal_add(j, 0, 0.5, NULL, &err), -1);
	assert_non_null(strstr(err.text, "goes back"));
	assert_int_equal(journal_begin(j, in, &err), 0);
	assert_null(model_learn(j, NULL, &err));
	assert_non_null(strstr(err.text, "run 1 of the journal has no rows"));
	journal_destroy(j);
}

static void test_bounds(void **state)
{
	static const double in[][IN] = {{3, 4}, {5, 2}, {8, 11}, {4, 7}}, at[2] = {1e6, 1e6}, endless[2] = {1e300, 1};
	struct journal *j = program_journal(&program_nested);
	struct model *m = learn(&program_nested, j, in, N(in));
	const struct model_limits steps = {.steps = 1000}, events = {.events = 10};
	struct model_result r = {0};
	struct errbuf err;

	(void)state;
	assert_int_equal(model_interpret(m, at, 1, &steps, NULL, &r, &err), -1);
	assert_int_equal(r.steps, 1000);
	assert_non_null(strstr(err.text, "has not ended after 1000 steps"));
	assert_int_equal(model_interpret(m, at, 1, &events, NULL, &r, &err), -1);
	assert_int_equal(r.events, 10);
	assert_int_equal(model_interpret(m, endless, 1, &steps, NULL, &r, &err), -1);
	model_destroy(m);
	journal_destroy(j);
}

static void test_text(void **state)
{
	static const double in[][IN] = {{2, 3}, {4, 5}, {8, 2}, {5, 9}};
	struct journal *j = program_journal(&program_calls);
	struct model *m = learn(&program_calls, j, in, N(in));
	char *text = NULL;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	assert_int_equal(model_print(m, f), 0);
	fclose(f);
	assert_non_null(strstr(text, "else to send"));
	assert_non_null(strstr(text, "#send >= neighbours"));
	assert_non_null(strstr(text, "procedure 1"));
	free(text);
	f = open_memstream(&text, &size);
	assert_int_equal(model_print_dot(m, f), 0);
	fclose(f);
	assert_memory_equal(text, "digraph model {", 15);
	assert_non_null(strstr(text, "style=dashed"));
	free(text);
	model_destroy(m);
	journal_destroy(j);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_bounds_from_inputs),
	    cmocka_unit_test(test_branches),
	    cmocka_unit_test(test_doubling),
	    cmocka_unit_test(test_variables_decide),
	    cmocka_unit_test(test_ranks),
	    cmocka_unit_test(test_procedures),
	    cmocka_unit_test(test_callers_that_branch),
	    cmocka_unit_test(test_early_returns),
	    cmocka_unit_test(test_many_callers),
	    cmocka_unit_test(test_search_is_bounded),
	    cmocka_unit_test(test_own_runs),
	    cmocka_unit_test(test_euler),
	    cmocka_unit_test(test_unknown_variable),
	    cmocka_unit_test(test_three_values_prove_nothing),
	    cmocka_unit_test(test_chance),
	    cmocka_unit_test(test_exit_before_chance),
	    cmocka_unit_test(test_refuses_what_is_not_determined),
	    cmocka_unit_test(test_refuses_other_constants),
	    cmocka_unit_test(test_refuses_to_part_what_went_together),
	    cmocka_unit_test(test_refuses_what_no_run_decides),
	    cmocka_unit_test(test_confidence),
	    cmocka_unit_test(test_bad_journals),
	    cmocka_unit_test(test_bounds),
	    cmocka_unit_test(test_text),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
