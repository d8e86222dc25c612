/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How often pieces of loops are executed: loops with arms that are executed known shares of the time, drawn at random, and samples as they
 * would fall; with waiting that samples pile up at, what flows into a piece still flows out of it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/profile/branch_frequency.h"
#include "tests/unit/rng.h"

#define LEN     4
#define SAMPLES 1e6
#define LOOPS   300
#define DEPTH   3

/* A loop, how often each instruction of it is executed an iteration, and what is known of it. */
struct world {
	struct loop_body b;
	double truth[LOOP_OPS_MAX], cost[LOOP_OPS_MAX], often[LOOP_OPS_MAX];
	uint32_t heat[LOOP_OPS_MAX];
};

static struct world w;

static struct loop_op *put(uint8_t kind, double often)
{
	struct loop_op *op = &w.b.op[w.b.n];

	*op = (struct loop_op){.offset = w.b.n * LEN, .len = LEN, .kind = kind, .target = UINT64_MAX};
	w.truth[w.b.n] = often;
	w.cost[w.b.n++] = 0.2 + 0.1 * rng_below(10);
	return op;
}

static void begin(void)
{
	w.b.n = 0;
	w.b.is_loop = true;
}

static void put_some(double often)
{
	for (uint32_t n = 1 + rng_below(4); n--;)
		put(rng_below(2) ? OP_SCALAR : OP_MOVE, often);
}

/* Straight pieces, skipped ones and pairs of arms; inside of these again, `depth` deep. */
static void put_pieces(double often, int depth)
{
	for (uint32_t n = 1 + rng_below(3); n--;) {
		double share = 0.05 + 0.1 * rng_below(10);
		bool pair = rng_below(2);
		struct loop_op *branch, *jump;

		put_some(often);
		branch = put(OP_BRANCH, often);
		put_some(often * share);
		if (depth > 0 && w.b.n < LOOP_OPS_MAX / 4)
			put_pieces(often * share, depth - 1);
		if (pair) {
			jump = put(OP_JUMP, often * share);
			branch->target = w.b.n * LEN;
			put_some(often * (1 - share));
			jump->target = w.b.n * LEN;
		} else {
			branch->target = w.b.n * LEN;
		}
	}
	put_some(often);
}

/* waits: samples pile up, up to so many times what the cycles say. */
static void draw(int depth, uint32_t waits)
{
	begin();
	put_pieces(1, depth);
	put(OP_BRANCH, 1)->target = 0;
	for (uint32_t i = 0; i < w.b.n; i++)
		w.heat[i] = (uint32_t)(SAMPLES / w.b.n * w.truth[i] * w.cost[i] * (1 + rng_below(waits)));
}

static uint32_t at(uint64_t offset)
{
	return (uint32_t)(offset / LEN);
}

/* Each piece begins as often as the ones before lead there, none more often than the head. */
static void flows(void)
{
	static double in[LOOP_OPS_MAX], to[LOOP_OPS_MAX];

	memset(in, 0, sizeof(in));
	assert_true(fabs(w.often[0] - 1) < 1e-9);
	/* Where two ways join the sum is known; where one ends in a branch, the sum of both ways. */
	for (uint32_t i = 0; i + 1 < w.b.n; i++) {
		const struct loop_op *op = &w.b.op[i];

		assert_true(w.often[i] >= 0 && w.often[i] <= 1 + 1e-9);
		if (op->kind == OP_JUMP)
			in[at(op->target)] += w.often[i];
		else if (op->kind == OP_BRANCH)
			to[i] = w.often[i];
		else
			in[i + 1] += w.often[i];
	}
	for (uint32_t i = 0; i + 1 < w.b.n; i++) {
		uint32_t t;

		if (w.b.op[i].kind != OP_BRANCH)
			continue;
		t = at(w.b.op[i].target);
		/* Only the branch leads to what falls through; the rest of it goes to its target. */
		assert_true(w.often[i + 1] <= to[i] + 1e-9);
		in[i + 1] += w.often[i + 1];
		in[t] += to[i] - w.often[i + 1];
	}
	for (uint32_t i = 1; i < w.b.n; i++)
		assert_true(fabs(in[i] - w.often[i]) < 1e-9);
}

static void test_shares(void **state)
{
	(void)state;
	for (int i = 0; i < LOOPS; i++) {
		draw(i % (DEPTH + 1), 1);
		assert_int_equal(branch_frequency(&w.b, w.cost, w.heat, w.often), 0);
		flows();
		for (uint32_t k = 0; k < w.b.n; k++)
			assert_true(fabs(w.often[k] - w.truth[k]) < 0.01);
	}
}

static void test_waits(void **state)
{
	(void)state;
	for (int i = 0; i < LOOPS; i++) {
		draw(i % (DEPTH + 1), 40);
		assert_true(w.b.n < LOOP_OPS_MAX);
		assert_int_equal(branch_frequency(&w.b, w.cost, w.heat, w.often), 0);
		flows();
	}
}

/* Nothing was met, or all in one place: still shares. */
static void test_no_samples(void **state)
{
	(void)state;
	for (int i = 0; i < LOOPS; i++) {
		draw(1, 1);
		memset(w.heat, 0, sizeof(w.heat));
		w.heat[rng_below(w.b.n)] = i % 2 ? 1000 : 0;
		assert_int_equal(branch_frequency(&w.b, w.cost, w.heat, w.often), 0);
		flows();
	}
}

/* Each instruction takes a cycle, and is met as long as it is executed; those from `from` on so many times as long. */
static void met(double longer, uint32_t from)
{
	for (uint32_t i = 0; i < w.b.n; i++) {
		w.cost[i] = 1;
		w.heat[i] = (uint32_t)(10000 * w.truth[i] * (i < from ? 1 : longer));
	}
	assert_int_equal(branch_frequency(&w.b, w.cost, w.heat, w.often), 0);
}

/* What is behind a branch and never executed is no place where samples lack: an arm with such code in it is executed as often as the rest
 * of it says. */
static void test_never_executed(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 5; i++)
		put(OP_MOVE, 1);
	put(OP_BRANCH, 1)->target = 60 * LEN; /* over the arm, */
	put(OP_MOVE, 0.5);
	put(OP_BRANCH, 0.5)->target = 58 * LEN; /* and over most of it */
	while (w.b.n < 58)
		put(OP_MOVE, 0);
	put(OP_MOVE, 0.5);
	put(OP_MOVE, 0.5);
	put(OP_MOVE, 1);
	put(OP_BRANCH, 1)->target = 0;
	met(1, 0);
	for (uint32_t i = 0; i < w.b.n; i++)
		assert_true(fabs(w.often[i] - w.truth[i]) < 0.01);
}

/* A way back that makes the step to the next iteration itself, and leads behind it: one loop all the same. */
static void test_two_steps(void **state)
{
	(void)state;
	begin();
	put(OP_INTEGER, 0.75); /* the step */
	for (int i = 0; i < 5; i++)
		put(OP_MOVE, 1);
	put(OP_BRANCH, 1)->target = 0;
	for (int i = 0; i < 5; i++)
		put(OP_MOVE, 0.25);
	put(OP_INTEGER, 0.25); /* the same step */
	put(OP_BRANCH, 0.25)->target = LEN;
	met(2, 7); /* too often in the arm: what flows into the begin flows out of it all the same */
	assert_true(fabs(w.often[1] - 1) < 1e-9);
	assert_true(fabs(w.often[0] + w.often[7] - 1) < 1e-6);
	assert_true(fabs(w.often[7] - 0.4) < 0.01);
}

/* A loop within: as often as it was met. */
static void test_loop_within(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 6; i++)
		put(OP_MOVE, i < 2 ? 0.1 : 1);
	put(OP_BRANCH, 1)->target = 2 * LEN;
	put(OP_MOVE, 0.1);
	put(OP_BRANCH, 0.1)->target = 0;
	met(1, 0);
	for (uint32_t i = 0; i < w.b.n; i++)
		assert_true(fabs(w.often[i] - w.truth[i]) < 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_no_samples),
		cmocka_unit_test(test_never_executed),
		cmocka_unit_test(test_two_steps),
		cmocka_unit_test(test_loop_within),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
