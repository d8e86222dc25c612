/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of simulated runs by known laws: work that is divided in smaller pieces than its size counts, and runs that take longer
 * and shorter than they should by chance. What a model says of other runs is held against the law. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

#define RUNS	6
#define CALL_NS 900
#define SEEDS	200

static const double size[RUNS] = {2, 8, 32, 2, 8, 32}, steps[RUNS] = {3, 5, 4, 6, 3, 7};

/* Of a size in steps of a loop on that many ranks: no rank has a whole number of the size where there are more ranks. */
static double law_ns(uint32_t ranks, double k)
{
	return 1e7 * k / ranks;
}

static double law(uint32_t ranks, double k, double i)
{
	return i * (law_ns(ranks, k) + CALL_NS) * 1e-9;
}

/* Mean 1, log-normal, out of twelve uniform ones. */
static double chance(double spread, uint64_t *random)
{
	double z = -6;

	for (int i = 0; i < 12; i++)
		z += ((double)(syn_random(random) % 1000000) + 0.5) / 1e6;
	return exp(spread * z - spread * spread / 2);
}

/* All of a run is longer or shorter by chance, and each step of each rank a little. */
static struct trace *run(uint32_t ranks, double k, double i, double spread, uint64_t seed)
{
	struct syn *s = syn_create(ranks);
	double by = chance(spread, &seed);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++)
		for (double n = 0; n < i; n++)
			syn_call(s, r, "MPI_Allreduce", 2,
				 SYN(.count = (uint64_t)k, .gap_ns = (uint64_t)(law_ns(ranks, k) * by * chance(0.02, &seed)), .dur_ns = CALL_NS));
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static void learn(struct world *w, double spread, uint64_t seed)
{
	struct trace *t[RUNS];

	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = run(i < 3 ? 2 : 4, size[i], steps[i], spread, RUNS * seed + i + 1);
	if (world_learn(w, 1, t, size, steps, RUNS) < 0)
		fail_msg("%s", w->err.text);
}

static const struct {
	uint32_t ranks;
	double k;
} asked[] = {{2, 16}, {4, 16}, {3, 16}, {8, 16}, {8, 8}, {5, 3}, {1, 7}};

static void test_small_pieces(void **state)
{
	struct world w;

	(void)state;
	learn(&w, 0, 1);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		double is = law(asked[i].ranks, asked[i].k, 10), said = world_seconds(&w, asked[i].ranks, 0, asked[i].k, 10, NULL);

		if (!(fabs(said / is - 1) < 0.04))
			fail_msg("%g on %u ranks: %g s, predicted %g s", asked[i].k, asked[i].ranks, is, said);
	}
	world_forget(&w);
}

/* What is predicted is the mean of what runs take, not less, however far they are apart. */
static void test_chance(void **state)
{
	double sum = 0;

	(void)state;
	for (uint64_t seed = 0; seed < SEEDS; seed++) {
		struct world w;

		learn(&w, 0.35, seed);
		sum += world_seconds(&w, 2, 0, 16, 10, NULL) / law(2, 16, 10) / SEEDS;
		world_forget(&w);
	}
	if (!(fabs(sum - 1) < 0.05))
		fail_msg("predicted %g of what runs take, in the mean of %d models", sum, SEEDS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_pieces),
	    cmocka_unit_test(test_chance),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
