/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The three lives of a model: in memory, as a file, and compiled. Interpreted and compiled runs have to agree in every
 * bit of every event, also where they stop early; files in every byte, and damaged ones are refused.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/model_programs.h"
#include "model/induce/compile.h"
#include "model/induce/file.h"
#include "model/induce/learn.h"

#define IN 4

struct example {
	const struct program *program;
	uint32_t n;
	double in[11][IN], at[IN];
};
static const struct example examples[] = {
    {&program_nested, 4, {{3, 4}, {5, 2}, {8, 11}, {4, 7}}, {13, 17}},
    {&program_triangle, 4, {{3}, {5}, {9}, {6}}, {31}},
    {&program_alternate, 5, {{4}, {9}, {12}, {6}, {21}}, {33}},
    {&program_parity, 7, {{4}, {9}, {12}, {5}, {7}, {8}, {20}}, {50}},
    {&program_doubling, 4, {{16, 20}, {100, 40}, {900, 9}, {65, 64}}, {300, 777}},
    {&program_doubling_var, 4, {{16}, {100}, {900}, {65}}, {1e9}},
    {&program_calls_nested, 4, {{2, 3}, {4, 5}, {8, 2}, {5, 9}}, {20, 7}},
    {&program_every, 4, {{12, 3}, {44, 5}, {80, 2}, {25, 9}}, {333, 4}},
    {&program_halves, 5, {{12}, {5}, {8}, {9}, {3}}, {33}},
    {&program_shared, 4, {{2, 3, 4}, {3, 5, 2}, {6, 4, 3}, {4, 2, 7}}, {7, 8, 9}},
    {&program_residue, 5, {{12, 1e-3}, {5, 1e-6}, {8, 1e-8}, {9, 0.1}, {20, 1e-5}}, {50, 2e-9}},
    {&program_while_data, 5, {{14}, {29}, {42}, {23}, {19}}, {333}},
    {&program_coin, 3, {{140}, {290}, {420}}, {1000}},
    {&program_maybe, 8, {{20}, {35}, {50}, {64}, {77}, {90}, {101}, {120}}, {150}},
    {&program_noise, 5, {{14}, {29}, {42}, {23}, {19}}, {100}},
    {&program_euler, 4, {{1, 2, 50}, {3, 1, 80}, {0.5, 4, 120}, {2, -1, 33}}, {0, 1, 1000}},
    {&program_ring, 11, {{0, 4, 5}, {1, 4, 5}, {2, 4, 5}, {3, 4, 5}, {0, 8, 6}, {3, 8, 6}, {7, 8, 6}, {5, 8, 9}, {6, 8, 9},
			 {0, 2, 11}, {1, 2, 11}}, {7, 16, 30}},
    {&program_checks, 5, {{37}, {58}, {93}, {142}, {205}}, {120}},
    {&program_checks, 5, {{40}, {8}, {24}, {100}, {60}}, {121}},
};
#define N_EXAMPLES (sizeof(examples) / sizeof(examples[0]))

static struct model *example_learn(const struct example *e)
{
	struct journal *j = program_journal(e->program);
	struct errbuf err = {""};
	struct model *m;

	for (uint32_t i = 0; i < e->n; i++)
		program_journal_run(e->program, j, e->in[i]);
	m = model_learn(j, NULL, &err);
	journal_destroy(j);
	if (!m)
		fail_msg("%s: %s", e->program->name, err.text);
	return m;
}

static char *directory(void)
{
	static char dir[64];

	snprintf(dir, sizeof(dir), "/tmp/precedent-test-model.XXXXXX");
	assert_non_null(mkdtemp(dir));
	return dir;
}

static void directory_remove(const char *dir)
{
	static const char *const names[] = {"model.c", "model.h", "model.so", "model"};
	char path[128];

	for (size_t i = 0; i < 4; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	assert_int_equal(rmdir(dir), 0);
}

/* Every bit of every event, in order. */
struct bits {
	uint64_t hash, n, stop_at;
	uint32_t n_vars;
};

static int bits_event(void *arg, uint32_t point, double time_s, const double *var)
{
	struct bits *b = arg;
	uint64_t x[2 + TAPE_VARS] = {point};

	memcpy(&x[1], &time_s, 8);
	memcpy(&x[2], var, b->n_vars * 8);
	for (uint32_t i = 0; i < 2 + b->n_vars; i++)
		b->hash = (b->hash ^ x[i]) * 0x100000001b3u + (b->hash >> 31);
	return ++b->n == b->stop_at;
}

static void run_both(const struct model *m, const struct model_program *p, const double *in, uint64_t seed,
		     const struct model_limits *limits, uint64_t stop_at)
{
	struct bits a = {.n_vars = m->n_vars, .stop_at = stop_at}, b = a;
	struct model_sink sa = {bits_event, &a}, sb = {bits_event, &b};
	double va[TAPE_VARS] = {0}, vb[TAPE_VARS] = {0};
	uint64_t pa[64], pb[64];
	struct model_result ra = {.var = va, .passages = pa}, rb = {.var = vb, .passages = pb};
	struct errbuf ea = {""}, eb = {""};
	int rc = model_interpret(m, in, seed, limits, &sa, &ra, &ea);

	assert_in_range(m->n_points, 1, 64);
	assert_int_equal(model_program_run(p, in, seed, limits, &sb, &rb, &eb), rc);
	assert_string_equal(ea.text, eb.text);
	assert_int_equal(a.n, b.n);
	assert_int_equal(a.hash, b.hash);
	assert_memory_equal(&ra.time_s, &rb.time_s, sizeof(double));
	assert_memory_equal(va, vb, sizeof(va));
	assert_memory_equal(pa, pb, m->n_points * sizeof(*pa));
	assert_int_equal(ra.steps, rb.steps);
	assert_int_equal(ra.events, rb.events);
	assert_int_equal(ra.stop, rb.stop);
	/* Without anybody who looks at the events, and so ends the run. */
	if (stop_at)
		return;
	assert_int_equal(model_program_run(p, in, seed, limits, NULL, &rb, &eb), rc);
	assert_memory_equal(&ra.time_s, &rb.time_s, sizeof(double));
}

static void test_compiled_is_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EXAMPLES; i++) {
		const struct example *e = &examples[i];
		struct model *m = example_learn(e);
		const struct model_limits few = {.steps = 37}, events = {.events = 11};
		char *dir = directory();
		struct model_program *p;
		struct errbuf err = {""};

		if (model_compile(m, dir, NULL, &err) < 0)
			fail_msg("%s: %s", e->program->name, err.text);
		p = model_program_load(m, dir, &err);
		if (!p)
			fail_msg("%s: %s", e->program->name, err.text);
		for (uint32_t k = 0; k < e->n; k++)
			run_both(m, p, e->in[k], k, NULL, 0);
		for (uint64_t seed = 0; seed < 5; seed++)
			run_both(m, p, e->at, seed, NULL, 0);
		run_both(m, p, e->at, 1, &few, 0);
		run_both(m, p, e->at, 1, &events, 0);
		run_both(m, p, e->at, 1, NULL, 5);
		model_program_unload(p);
		model_destroy(m);
		directory_remove(dir);
	}
}

static void test_compiled_is_checked(void **state)
{
	struct model *a = example_learn(&examples[0]), *b = example_learn(&examples[1]);
	char *dir = directory(), path[128];
	struct errbuf err = {""};

	(void)state;
	assert_null(model_program_load(a, dir, &err));
	assert_int_equal(model_compile(a, dir, "no-such-compiler", &err), -1);
	assert_non_null(strstr(err.text, "a C compiler is needed"));
	assert_int_equal(model_compile(a, dir, "false", &err), -1);
	assert_int_equal(model_compile(a, "/nonexistent/dir", NULL, &err), -1);
	assert_int_equal(model_compile(a, dir, NULL, &err), 0);
	assert_null(model_program_load(b, dir, &err));
	assert_non_null(strstr(err.text, "another model"));
	snprintf(path, sizeof(path), "%s/model.so", dir);
	assert_int_equal(chmod(path, 0722), 0);
	assert_null(model_program_load(a, dir, &err));
	assert_non_null(strstr(err.text, "this user alone"));
	directory_remove(dir);
	model_destroy(a);
	model_destroy(b);
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_EXAMPLES; i++) {
		struct model *m = example_learn(&examples[i]), *back;
		struct buf a = {0}, b = {0};
		char *dir = directory(), path[128];
		struct errbuf err = {""};

		snprintf(path, sizeof(path), "%s/model", dir);
		assert_int_equal(model_save(m, path, &err), 0);
		back = model_load(path, &err);
		if (!back)
			fail_msg("%s: %s", examples[i].program->name, err.text);
		assert_int_equal(model_format(m, &a, &err), 0);
		assert_int_equal(model_format(back, &b, &err), 0);
		assert_int_equal(a.len, b.len);
		assert_memory_equal(a.data, b.data, a.len);
		buf_free(&a);
		buf_free(&b);
		model_destroy(m);
		model_destroy(back);
		directory_remove(dir);
	}
}

static void test_damaged_files(void **state)
{
	struct model *m = example_learn(&examples[6]);
	struct buf b = {0};
	struct errbuf err;

	(void)state;
	assert_int_equal(model_format(m, &b, &err), 0);
	for (size_t n = 0; n < b.len; n++)
		assert_null(model_parse((char *)b.data, n, &err));
	for (size_t i = 0; i < b.len; i++) {
		uint8_t was = b.data[i];

		b.data[i] = was == '1' ? '2' : '1';
		assert_null(model_parse((char *)b.data, b.len, &err));
		assert_int_not_equal(err.text[0], '\0');
		b.data[i] = was;
	}
	buf_put_u8(&b, '\n');
	assert_null(model_parse((char *)b.data, b.len, &err));
	buf_free(&b);
	model_destroy(m);
	assert_null(model_load("/dev/null", &err));
	assert_null(model_load("/nonexistent/model", &err));
	assert_non_null(strstr(err.text, "/nonexistent/model"));
}

/* What a hostile file could say, one thing at a time. */
static void refused(struct model *m, const char *why)
{
	struct errbuf err = {""};

	assert_int_equal(model_check(m, &err), -1);
	if (!strstr(err.text, why))
		fail_msg("\"%s\" does not say \"%s\"", err.text, why);
}

#define REFUSED(m, lvalue, value, why)                                                                                         \
	do {                                                                                                                    \
		__typeof__(lvalue) was = (lvalue);                                                                              \
		(lvalue) = (value);                                                                                             \
		refused(m, why);                                                                                                \
		(lvalue) = was;                                                                                                 \
	} while (0)

static void test_hostile_models(void **state)
{
	struct model *m = example_learn(&examples[6]);
	struct model_graph *g = &m->graph[1];
	struct model_node *call = NULL, *choosing = NULL;
	struct errbuf err;

	(void)state;
	for (uint32_t i = 0; i < m->graph[0].n_nodes; i++)
		call = m->graph[0].node[i].callee != MODEL_NONE ? &m->graph[0].node[i] : call;
	for (uint32_t i = 0; i < m->graph[0].n_nodes; i++)
		choosing = m->graph[0].node[i].n_choices ? &m->graph[0].node[i] : choosing;
	assert_non_null(call);
	assert_non_null(choosing);
	REFUSED(m, call->callee, 0u, "calls a graph");
	REFUSED(m, call->callee, 77u, "calls a graph");
	REFUSED(m, call->point, 0u, "has to be");
	REFUSED(m, call->arc[0].to, 1000u, "leads nowhere");
	REFUSED(m, call->arc[0].to, 0u, "leads nowhere");
	REFUSED(m, call->negative, 9u, "negative arc");
	REFUSED(m, call->rest, 9, "where to go");
	REFUSED(m, call->arc[0].time_error_s, -1.0, "error of a time rule");
	REFUSED(m, choosing->choice[0].arc, 9u, "choice is for an arc");
	REFUSED(m, choosing->choice[0].atom.x, 9999u, "feature that is not there");
	REFUSED(m, choosing->choice[0].atom.kind, 9, "of no kind");
	REFUSED(m, g->feature[0].op, 99, "feature is none");
	REFUSED(m, g->n_nodes, 0u, "none, or too many");
	REFUSED(m, m->n_graphs, 0u, "none, or too many");
	REFUSED(m, m->input[0].lo, 1e300, "no range");
	REFUSED(m, m->confidence.prefix, 2.0, "confidence");
	REFUSED(m, m->confidence.n_reach, MODEL_REACH_MAX + 1u, "confidence");
	m->confidence.n_reach = 1;
	REFUSED(m, m->confidence.reach[0], -1.0, "confidence beyond");
	REFUSED(m, m->confidence.reach[0], INFINITY, "confidence beyond");
	m->confidence.n_reach = 0;
	assert_int_equal(model_check(m, &err), 0);
	model_destroy(m);
}

static void test_hostile_doubts(void **state)
{
	struct model *m = example_learn(&examples[N_EXAMPLES - 2]);
	struct model_node *n = NULL;
	struct errbuf err;

	(void)state;
	for (uint32_t i = 0; i < m->graph[0].n_nodes; i++)
		n = m->graph[0].node[i].n_doubts ? &m->graph[0].node[i] : n;
	assert_non_null(n);
	assert_int_equal(n->n_doubts, 2);
	assert_true(n->doubt[0].first < n->doubt[0].second);
	assert_int_equal(n->doubt[1].first, n->doubt[1].second);
	REFUSED(m, n->doubt[0].second, n->n_choices, "choice that is not there");
	REFUSED(m, n->doubt[0].first, 9u, "choice that is not there");
	REFUSED(m, n->doubt[0], n->doubt[1], "out of order");
	REFUSED(m, n->choice[n->doubt[1].first].atom.kind, (uint8_t)MODEL_ATOM_RANGE, "threshold that is none");
	assert_int_equal(model_check(m, &err), 0);
	model_destroy(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_compiled_is_the_same), cmocka_unit_test(test_compiled_is_checked),
	    cmocka_unit_test(test_files),		 cmocka_unit_test(test_damaged_files),
	    cmocka_unit_test(test_hostile_models),	 cmocka_unit_test(test_hostile_doubts),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
