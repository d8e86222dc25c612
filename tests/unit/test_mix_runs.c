/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Branches by data that lie in regions, and by chance: turns drawn by what is known, and samples of a loop with two arms. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/profile/branch_frequency.h"
#include "skelgen/profile/branch_runs.h"
#include "tests/unit/rng.h"

#define LEN  4
#define MANY 400

static struct mix_turn turn[MANY];
/* Anywhere in the data, of which `percent` lie in each region's first part; or by chance. Of the samples `say` say which. */
static double chance(uint32_t regions, uint32_t percent, uint32_t say, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint32_t where = rng_below(1000000), in_region = where % (1000000 / (regions ? regions : 1));
		bool taken = regions ? in_region < 10000 / regions * percent : rng_below(100) < percent;

		turn[k] = (struct mix_turn){.where = where, .when = k, .way = rng_below(100) >= say ? MIX_WAY_ANY : taken ? MIX_WAY_TAKEN : MIX_WAY_FALLS};
	}
	return mix_runs_chance(turn, n);
}

static void test_chance(void **state)
{
	(void)state;
	for (uint32_t percent = 10; percent < 100; percent += 20)
		for (int again = 0; again < 100; again++) {
			assert_true(chance(0, percent, 60, MANY) == 1);
			assert_true(chance(1, percent, 60, MANY) < 0.15);
			assert_true(chance(3, percent, 60, MANY) < 0.25);
		}
}

/* The other way is never met: as where it takes no time. */
static void test_one_way(void **state)
{
	uint32_t wrong = 0;

	(void)state;
	for (int again = 0; again < 200; again++) {
		for (int regions = 0; regions < 3; regions++) {
			double most;

			chance(regions, 60, 70, MANY);
			for (uint32_t k = 0; k < MANY; k++)
				turn[k].way = turn[k].way == MIX_WAY_TAKEN ? MIX_WAY_ANY : turn[k].way;
			most = mix_runs_chance(turn, MANY);
			if (regions == 0)
				wrong += most < 1;
			else
				assert_true(most < 0.15);
		}
	}
	assert_true(wrong <= 2);
}

static void test_few(void **state)
{
	(void)state;
	assert_true(chance(0, 50, 100, 0) == 1);
	assert_true(chance(1, 50, 100, 7) == 1);
	assert_true(chance(1, 0, 60, MANY) == 1);
	assert_true(chance(1, 100, 60, MANY) == 1);
	assert_true(chance(1, 50, 0, MANY) == 1);
}

/* Regions in which it goes one way more often than in others are chance all the same. */
static void test_mostly(void **state)
{
	(void)state;
	for (int again = 0; again < 100; again++) {
		for (uint32_t k = 0; k < MANY; k++)
			turn[k] = (struct mix_turn){.where = k, .when = k, .way = rng_below(100) < (k < MANY / 2 ? 70u : 30u) ? MIX_WAY_TAKEN : MIX_WAY_FALLS};
		assert_true(mix_runs_chance(turn, MANY) > 0.5);
	}
}

static struct mix_body b;

static uint32_t put(struct mix_op op)
{
	op.offset = b.n * LEN;
	op.len = LEN;
	op.base = op.index = op.copy_of = op.add_reg = MIX_NO_REG;
	b.op[b.n] = op;
	return b.n++;
}

/* A loop with a step in register 3: a branch, 5 instructions, a jump, or 5 others. Returns the branch. */
static uint32_t put_loop(void)
{
	uint32_t at, jump;

	memset(&b, 0, sizeof(b));
	b.is_loop = true;
	put((struct mix_op){.kind = MIX_MOVE, .load = true, .bytes = 8, .writes = 1, .target = UINT64_MAX});
	at = put((struct mix_op){.kind = MIX_BRANCH, .reads = 1});
	for (int i = 0; i < 5; i++)
		put((struct mix_op){.kind = MIX_SCALAR, .target = UINT64_MAX});
	jump = put((struct mix_op){.kind = MIX_JUMP});
	b.op[at].target = b.n * LEN;
	for (int i = 0; i < 5; i++)
		put((struct mix_op){.kind = MIX_SCALAR, .target = UINT64_MAX});
	b.op[jump].target = b.n * LEN;
	put((struct mix_op){.kind = MIX_INTEGER, .adds = true, .add = 8, .reads = 1 << 3, .writes = 1 << 3, .target = UINT64_MAX});
	put((struct mix_op){.kind = MIX_BRANCH, .target = 0});
	return at;
}

static void test_ways(void **state)
{
	uint32_t at = put_loop();
	uint8_t way[MIX_OPS_MAX];

	(void)state;
	assert_int_equal(mix_flow_ways(&b, at, way), 0);
	for (uint32_t i = 0; i < b.n; i++)
		assert_int_equal(way[i], i > at && i <= at + 6 ? MIX_WAY_FALLS : i > at + 6 && i <= at + 11 ? MIX_WAY_TAKEN : MIX_WAY_ANY);
	b.op[at].target = (at + 12) * LEN; /* all is skipped, or none */
	b.op[at + 6].kind = MIX_SCALAR;
	assert_int_equal(mix_flow_ways(&b, at, way), 0);
	for (uint32_t i = 0; i < b.n; i++)
		assert_int_equal(way[i], i > at && i <= at + 11 ? MIX_WAY_FALLS : MIX_WAY_ANY);
}

/* Samples anywhere in the loop and in its data, in any order of time: the register says what time does not. */
static void test_loop(void **state)
{
	static uint64_t regs[MANY][TSAMPLE_REGS];
	static struct mix_hit hit[MANY];
	uint32_t at = put_loop();
	bool by_data[MIX_OPS_MAX] = {false};
	double wild[MIX_OPS_MAX];

	(void)state;
	by_data[at] = true;
	for (int sorted = 0; sorted < 2; sorted++) {
		for (uint32_t k = 0; k < MANY; k++) {
			bool taken;

			regs[k][3] = 0x100000 + 8 * rng_below(10000);
			taken = sorted ? regs[k][3] > 0x100000 + 8 * 3000 : rng_below(2);
			hit[k] = (struct mix_hit){LEN * (rng_below(3) ? at + (taken ? 7 : 1) + rng_below(5) : 0), regs[k]};
		}
		assert_int_equal(mix_runs(&b, hit, MANY, by_data, wild), 0);
		if (sorted)
			assert_true(wild[at] < 0.1);
		else
			assert_true(wild[at] == 1);
		assert_true(wild[0] == 1);
	}
	for (uint32_t k = 0; k < MANY; k++) { /* by time alone */
		regs[k][3] = 0x100000 + 8 * rng_below(10000);
		hit[k].offset = LEN * (at + (k > 100 ? 7 : 1) + rng_below(5));
	}
	assert_int_equal(mix_runs(&b, hit, MANY, by_data, wild), 0);
	assert_true(wild[at] < 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chance),
		cmocka_unit_test(test_one_way),
		cmocka_unit_test(test_few),
		cmocka_unit_test(test_mostly),
		cmocka_unit_test(test_ways),
		cmocka_unit_test(test_loop),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
