/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Programs whose branches are drawn at random, either of two conjunctions of two conditions: what models learn of them from some
 * runs against the programs themselves at other inputs. What has no rule is not given one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_programs.h"
#include "model/induce/learn.h"
#include "tests/unit/synthetic.h"

#define AUTOMATA 8
#define RUNS	 5

/* A condition on one of two counters. */
struct condition {
	int var, kind, value, mod; /* kind 0: at least, 1: at most, 2: remainder */
};
static struct condition guard[2][2];
static uint64_t noise; /* 0: guards decide */

static bool holds(const struct condition *c, const int x[2])
{
	return c->kind == 0 ? x[c->var] >= c->value : c->kind == 1 ? x[c->var] <= c->value : x[c->var] % c->mod == c->value;
}

static void automaton(struct tape *t, const double *in)
{
	for (int i = 0; i < in[0]; i++) {
		tape_pass(t, "row");
		for (int k = 0; k < in[1]; k++) {
			const int x[2] = {i, k};
			uint64_t state = noise ^ ((uint64_t)i * 1000003 + (uint64_t)k * 7919 + 1);
			bool taken = false;

			for (int g = 0; g < 2; g++)
				taken |= holds(&guard[g][0], x) && holds(&guard[g][1], x);
			if (noise) {
				for (int n = 0; n < 5; n++)
					taken = syn_random(&state) >> 20 & 1;
			}
			tape_pass(t, "test");
			tape_pass(t, taken ? "yes" : "no");
		}
	}
	tape_pass(t, "end");
}
static const struct program program = {"automaton", automaton, 2, 0, {"N", "M"}, {NULL}};

static const double at[RUNS][4] = {{11, 9}, {14, 12}, {9, 13}, {13, 8}, {10, 11}};

static void draw(uint64_t *random)
{
	for (int g = 0; g < 2; g++)
		for (int k = 0; k < 2; k++) {
			struct condition *c = &guard[g][k];

			*c = (struct condition){k, (int)(syn_random(random) % 3), 2 + (int)(syn_random(random) % 5),
						2 + (int)(syn_random(random) % 2)};
			if (c->kind == 2)
				c->value %= c->mod;
		}
}

static struct model *learn(struct journal **j)
{
	struct errbuf err = {""};
	struct model *m;

	*j = program_journal(&program);
	assert_non_null(*j);
	for (int i = 0; i < RUNS; i++)
		program_journal_run(&program, *j, at[i]);
	m = model_learn(*j, NULL, &err);
	if (!m)
		fail_msg("%s", err.text);
	return m;
}

static bool has_pair(const struct model *m)
{
	for (uint32_t g = 0; g < m->n_graphs; g++)
		for (uint32_t n = 0; n < m->graph[g].n_nodes; n++)
			for (uint32_t c = 0; c < m->graph[g].node[n].n_choices; c++)
				if (m->graph[g].node[n].choice[c].both)
					return true;
	return false;
}

/* A few are described as well by something else that is as short, and differ elsewhere. */
static void test_guards(void **state)
{
	static const double other[][4] = {{12, 10}, {8, 15}, {15, 9}};
	uint64_t random = 77;
	uint32_t pairs = 0, wrong = 0;

	(void)state;
	noise = 0;
	for (int k = 0; k < AUTOMATA; k++) {
		struct errbuf err = {""};
		struct journal *j;
		struct model *m;
		size_t i = 0;

		draw(&random);
		m = learn(&j);
		pairs += has_pair(m);
		while (i < sizeof(other) / sizeof(*other) && program_compare(&program, j, m, other[i], 1e-9, &err) == 0)
			i++;
		if (i < sizeof(other) / sizeof(*other)) {
			const struct condition *g = guard[0], *h = guard[1];

			wrong++;
			print_message("# automaton %d, (%d %d %d, %d %d %d) or (%d %d %d, %d %d %d): %s\n", k, g[0].kind, g[0].value, g[0].mod,
				      g[1].kind, g[1].value, g[1].mod, h[0].kind, h[0].value, h[0].mod, h[1].kind, h[1].value, h[1].mod,
				      err.text);
		}
		model_destroy(m);
		journal_destroy(j);
	}
	assert_true(wrong <= AUTOMATA / 8);
	assert_true(pairs >= AUTOMATA / 8);
}

/* Which way is taken is drawn anew for every pair of values: no two conditions tell it. */
static void test_no_rule(void **state)
{
	(void)state;
	for (noise = 1; noise < 3; noise++) {
		struct journal *j;
		struct model *m = learn(&j);

		assert_true(m->random || m->n_unknown);
		assert_false(has_pair(m));
		model_destroy(m);
		journal_destroy(j);
	}
	noise = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_guards), cmocka_unit_test(test_no_rule)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
