/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A processor that retires in order, against loops whose times are counted by hand; and how branches go, found from samples that are drawn
 * where such a processor would be met, or in one place. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/profile/branch_frequency.h"
#include "skelgen/profile/mispredict.h"

#define LEN 4

static struct mix_body b;
static double latency[MIX_OPS_MAX], load[MIX_OPS_MAX], each[MIX_OPS_MAX], taken[MIX_OPS_MAX], wild[MIX_OPS_MAX];
static double heat[MIX_OPS_MAX], often[MIX_OPS_MAX], chance[MIX_OPS_MAX];
static bool by_data[MIX_OPS_MAX];
static const struct mix_retire loop = {&b, latency, load, each, taken, by_data, wild};

static void begin(void)
{
	memset(&b, 0, sizeof(b));
	memset(load, 0, sizeof(load));
	memset(taken, 0, sizeof(taken));
	memset(wild, 0, sizeof(wild));
	memset(by_data, 0, sizeof(by_data));
	b.is_loop = true;
	for (uint32_t i = 0; i < MIX_OPS_MAX; i++)
		chance[i] = 1;
}

/* Reads and writes a register; `to` less than the number of registers. Returns the number of the instruction. */
static uint32_t put(uint8_t kind, int from, int to, double cycles, double busy)
{
	struct mix_op *op = &b.op[b.n];

	*op = (struct mix_op){.offset = b.n * LEN, .len = LEN, .kind = kind, .target = UINT64_MAX, .base = MIX_NO_REG, .index = MIX_NO_REG,
			      .reads = from < 0 ? 0 : 1ull << from, .writes = to < 0 ? 0 : 1ull << to};
	latency[b.n] = cycles;
	each[b.n] = busy;
	return b.n++;
}

static void close_loop(void)
{
	uint32_t i = put(MIX_BRANCH, -1, -1, 0, 0.5);

	b.op[i].target = 0;
	taken[i] = 1;
}

static double sum(const double *v)
{
	double s = 0;

	for (uint32_t i = 0; i < b.n; i++)
		s += v[i];
	return s;
}

static void test_chain(void **state)
{
	double cycles;

	(void)state;
	begin();
	for (int i = 0; i < 5; i++)
		put(MIX_SCALAR, 20, 20, 4, 0.5);
	close_loop();
	cycles = mix_retire(&loop, false, heat, often);
	assert_true(fabs(cycles - 20) < 0.5); /* each waits for the one before, in the iteration before too */
	assert_true(fabs(sum(heat) - cycles) < 1e-6);
	for (uint32_t i = 0; i < b.n; i++)
		assert_true(fabs(often[i] - 1) < 1e-9);
}

static void test_units(void **state)
{
	(void)state;
	begin();
	for (int i = 0; i < 8; i++)
		put(MIX_SCALAR, 20 + i, 40, 4, 0.5);
	close_loop();
	assert_true(fabs(mix_retire(&loop, false, heat, often) - 4) < 0.2); /* nothing waits but for the units: eight by two a cycle */
	begin();
	for (int i = 0; i < 11; i++)
		put(MIX_INTEGER, 1 + i, 0, 1, 0.1);
	close_loop();
	assert_true(fabs(mix_retire(&loop, false, heat, often) - 2) < 0.2); /* twelve, of which six come under way in a cycle */
}

/* Two loads of memory are under way at once as long as both are in the window. */
static void test_window(void **state)
{
	double near, far;

	(void)state;
	begin();
	load[put(MIX_MOVE, -1, 1, 0, 0.1)] = 300;
	close_loop();
	near = mix_retire(&loop, false, heat, often);
	begin();
	load[put(MIX_MOVE, -1, 1, 0, 0.1)] = 300;
	for (int i = 0; i < 600; i++)
		put(MIX_NOTHING, -1, -1, 0, 0.01);
	close_loop();
	far = mix_retire(&loop, false, heat, often);
	assert_true(near < 10);                  /* 128 at once */
	assert_true(far > 300 && far < 450);     /* one after the other: 256 instructions do not reach the next */
}

/* A chain of `known` cycles, and a branch by it over an arm of so many instructions. Returns the branch. */
static uint32_t put_branch(int known, int arm)
{
	uint32_t at;

	begin();
	for (int i = 0; i < known / 4; i++)
		put(MIX_SCALAR, i ? 20 : 25, 20, 4, 0.5);
	at = put(MIX_BRANCH, 20, -1, 0, 0.5);
	by_data[at] = true;
	for (int i = 0; i < arm; i++)
		put(MIX_SCALAR, 30, 31, 4, 0.5);
	b.op[at].target = b.n * LEN;
	put(MIX_INTEGER, 2, 2, 1, 0.2);
	close_loop();
	return at;
}

static void test_wrong(void **state)
{
	(void)state;
	for (int known = 8; known <= 40; known += 8) {
		uint32_t at = put_branch(known, 4);
		double foretold, cycles;

		taken[at] = 0.5;
		wild[at] = 1;
		foretold = mix_retire(&loop, true, heat, often);
		cycles = mix_retire(&loop, false, heat, often);
		assert_true(fabs(sum(heat) - cycles) < 1e-6);
		assert_true(fabs(often[at + 1] / often[at] - 0.5) < 0.08);
		/* Half of the guesses are wrong, and each costs 17 cycles from when it is known; what is under way until then is done anyway. */
		assert_true(cycles - foretold > 0.5 * 0.85 * (17 + known - 2 * foretold));
		assert_true(cycles - foretold < 0.5 * 1.15 * (17 + known));
		wild[at] = 0.5;
		assert_true(mix_retire(&loop, false, heat, often) < foretold + 0.65 * (cycles - foretold));
		wild[at] = 0;
		assert_true(fabs(mix_retire(&loop, false, heat, often) - foretold) < 0.1 * foretold + 0.5);
	}
}

/* Nearly always skipped: the arm is entered by wrong guesses, and met as long as these take. */
static void test_met(void **state)
{
	uint32_t at = put_branch(24, 4);
	double arm = 0;

	(void)state;
	taken[at] = 0.9;
	wild[at] = 1;
	mix_retire(&loop, false, heat, often);
	for (uint32_t i = at + 1; i <= at + 4; i++)
		arm += heat[i];
	assert_true(arm / often[at + 1] > 17);
	wild[at] = 0;
	mix_retire(&loop, false, heat, often);
	for (uint32_t i = at + 1; i <= at + 4; i++)
		arm -= heat[i];
	assert_true(arm > 1);
}

/* Samples as that processor would be met: how the branch goes is found again. */
static void test_found(void **state)
{
	static const double rates[] = {0.15, 0.35, 0.65, 0.85}, wilds[] = {0, 0.5, 1};
	static uint32_t samples[MIX_OPS_MAX];

	(void)state;
	for (size_t i = 0; i < 4; i++)
		for (size_t j = 0; j < 3; j++) {
			uint32_t at = put_branch(24, 12);
			double cycles, wrong, found;

			taken[at] = rates[i];
			wild[at] = wilds[j];
			cycles = mix_retire(&loop, true, heat, often);
			wrong = mix_retire(&loop, false, heat, often);
			wrong = 1 - cycles / wrong;
			for (uint32_t k = 0; k < b.n; k++)
				samples[k] = (uint32_t)(2000 * heat[k] / sum(heat) + 0.5);
			found = mix_guess(&loop, samples, chance, often);
			assert_true(fabs(found - wrong) < 0.13); /* half a step of what is tried changes it by so much */
			assert_true(fabs(taken[at] - rates[i]) < 0.12);
			assert_true(fabs(often[0] - 1) < 1e-9);
			assert_true(fabs(often[at + 1] - (1 - rates[i])) < 0.15);
			chance[at] = 0.24; /* it goes one way for long, whatever the samples say */
			assert_true(mix_guess(&loop, samples, chance, often) < 0.01);
			assert_true(wild[at] <= 0);
		}
}

/* None, or all in one place, and more branches than are looked for: still a share. */
static void test_any(void **state)
{
	static uint32_t samples[MIX_OPS_MAX];

	(void)state;
	for (int where = 0; where < 40; where++) {
		double wrong;

		begin();
		for (int k = 0; k < 10; k++) {
			uint32_t at = put(MIX_BRANCH, 20, -1, 0, 0.5);

			put(MIX_SCALAR, 20, 20, 4, 0.5);
			b.op[at].target = b.n * LEN;
			by_data[at] = true;
			taken[at] = 0.5;
		}
		close_loop();
		memset(samples, 0, sizeof(samples));
		samples[(uint32_t)where % b.n] = where < 20 ? 100000 : 0;
		wrong = mix_guess(&loop, samples, chance, often);
		assert_true(wrong >= 0 && wrong < 1);
		for (uint32_t i = 0; i < b.n; i++)
			assert_true(often[i] >= 0 && often[i] <= 1 && taken[i] >= 0 && taken[i] <= 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_met),
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_any),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
