/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Replay of gaps by quantile: every rank keeps its distribution, and what the slowest rank of an execution takes stays
 * what it was, whether the ranks varied together, by themselves or in turn. Also in an emitted skeleton, whose sampled
 * executions must add up to the traced total.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "skelgen/emit/skeleton.h"
#include "skelgen/pipeline.h"
#include "skelgen/simulate/plan_matched.h"
#include "skelgen/timing/gap_rank_order.h"
#include "skelgen/simulate/mpi_sim.h"
#include "skelgen/runtime/data.h"
#include "tests/unit/synthetic.h"

#define RANKS 8
#define N     8192
#define Q     SKEL_QUANTILES

static float series[RANKS][N];

static int compare_float(const void *a, const void *b)
{
	float x = *(const float *)a, y = *(const float *)b;

	return (x > y) - (x < y);
}

static uint64_t draw(uint64_t *seed)
{
	uint64_t x = *seed += 0x9e3779b97f4a7c15ull;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static double uniform(uint64_t *seed)
{
	return ((double)(draw(seed) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t *seed)
{
	double r = sqrt(-2 * log(uniform(seed)));

	return r * cos(2 * M_PI * uniform(seed));
}

/* Each stratum of each rank: quantiles, then the slots; the mean over all slots of the slowest rank's value. */
enum how { BY_ORDER, ALL_SORTED, EACH_DRAWN };

static double replayed_max(enum how how)
{
	double sum = 0;
	uint64_t seed = 5;

	for (uint32_t s = 0; s < SKEL_STRATA; s++) {
		double most[Q] = {0};

		for (int r = 0; r < RANKS; r++) {
			float v[N / SKEL_STRATA], at[Q];
			double mean[Q] = {0};
			uint32_t slot[Q];
			const uint32_t share = N / SKEL_STRATA / Q;

			memcpy(v, series[r] + s * (N / SKEL_STRATA), sizeof v);
			qsort(v, N / SKEL_STRATA, sizeof *v, compare_float);
			for (uint32_t i = 0; i < N / SKEL_STRATA; i++)
				mean[i / share] += v[i] / share;
			for (uint32_t j = 0; j < Q; j++)
				at[j] = how == EACH_DRAWN ? (float)uniform(&seed) :
							    series[r][gap_order_execution(N, SKEL_STRATA, s, j, Q)];
			gap_order_slots(how == ALL_SORTED ? NULL : at, slot);
			for (uint32_t j = 0; j < Q; j++)
				most[j] = fmax(most[j], mean[slot[j]]);
		}
		for (uint32_t j = 0; j < Q; j++)
			sum += most[j] / (Q * SKEL_STRATA);
	}
	return sum;
}

static double true_max(void)
{
	double sum = 0;

	for (int i = 0; i < N; i++) {
		double most = 0;

		for (int r = 0; r < RANKS; r++)
			most = fmax(most, series[r][i]);
		sum += most / N;
	}
	return sum;
}

/* Gaps about 1000, spread by 30 %, of which `common` is the same on all ranks; ranks may be slower by `imbalance`. */
static void make_series(double common, double imbalance)
{
	uint64_t seed = 99;

	for (int i = 0; i < N; i++) {
		double all = normal(&seed);

		for (int r = 0; r < RANKS; r++)
			series[r][i] = (float)(1000 * (1 + imbalance * r / RANKS) *
					       exp(0.3 * (sqrt(common) * all + sqrt(1 - common) * normal(&seed))));
	}
}

static void test_the_slowest_rank_keeps_its_time(void **unused)
{
	static const double common[] = {0, 0.3, 0.7, 1};

	(void)unused;
	for (int i = 0; i < 4; i++)
		for (int imbalance = 0; imbalance < 2; imbalance++) {
			make_series(common[i], 0.5 * imbalance);
			double want = true_max(), got = replayed_max(BY_ORDER), sorted = replayed_max(ALL_SORTED);
			double drawn = replayed_max(EACH_DRAWN);

			print_message("# %2.0f %% in common, imbalance %.1f: slowest of %d %.0f; by order %+.1f %%, "
				      "all sorted %+.1f %%, each drawn %+.1f %%\n",
				      100 * common[i], 0.5 * imbalance, RANKS, want, 100 * (got / want - 1),
				      100 * (sorted / want - 1), 100 * (drawn / want - 1));
			assert_true(fabs(got / want - 1) < 0.05);
			if (common[i] == 0 && !imbalance)
				assert_true(sorted / want < 0.75); /* what the order is for */
			if (common[i] == 1 && !imbalance)
				assert_true(drawn / want > 1.2);
		}
}

static void test_executions_are_of_their_stratum(void **unused)
{
	static const uint64_t n[] = {64, 65, 1000, 8191, 1ull << 40};

	(void)unused;
	for (int i = 0; i < 5; i++)
		for (uint32_t strata = 1; strata <= SKEL_STRATA; strata++) {
			uint32_t draws = strata % 2 ? Q : Q * GAP_ORDER_SETS;
			uint64_t before = 0;

			for (uint32_t s = 0; s < strata; s++)
				for (uint32_t j = 0; j < draws; j++) {
					uint64_t at = gap_order_execution(n[i], strata, s, j, draws);

					assert_true(at < n[i] && at >= before);
					if (n[i] / strata >= draws)
						assert_int_equal(data_stratum(at, n[i], strata), s);
					before = at;
				}
		}
}

static void test_slots_are_a_permutation(void **unused)
{
	const float gap[][Q] = {{5, 4, 3, 2, 1, 0, 9, 8}, {1, 1, 1, 1, 1, 1, 1, 1}, {1, NAN, 2, 3, 4, 5, 6, 7}};

	(void)unused;
	for (int i = 0; i < 4; i++) {
		uint32_t slot[Q], seen = 0;

		gap_order_slots(i < 3 ? gap[i] : NULL, slot);
		for (int j = 0; j < Q; j++)
			seen |= 1u << slot[j];
		assert_int_equal(seen, (1u << Q) - 1);
		if (i == 0)
			assert_int_equal(slot[6], Q - 1);
	}
}

/* ---- rare long gaps, in traces ---- */

#define RARE_RANKS 4
#define RARE_TURNS 8000

/* One execution in forty computes six times as long: on all ranks, on each by itself, or on one rank in turn. */
enum rare { TOGETHER, BY_ITSELF, IN_TURN };

static struct syn *rare(enum rare how, uint64_t seed, double *slowest)
{
	struct syn *s = syn_create(RARE_RANKS);

	syn_begin(s);
	*slowest = 0;
	for (int i = 0; i < RARE_TURNS; i++) {
		bool all = uniform(&seed) < 1.0 / 40;
		uint32_t turn = (uint32_t)(draw(&seed) >> 20) % RARE_RANKS;
		double most = 0;

		for (uint32_t r = 0; r < RARE_RANKS; r++) {
			bool is_long = how == TOGETHER ? all : how == BY_ITSELF ? uniform(&seed) < 1.0 / 40 : all && r == turn;
			uint64_t gap = (is_long ? 600000 : 100000) + draw(&seed) % 5000;

			syn_call(s, r, "MPI_Barrier", 3, SYN(.gap_ns = gap));
			most = fmax(most, (double)gap);
		}
		*slowest += most / RARE_TURNS;
	}
	syn_end(s);
	return s;
}

/* The slowest rank of an execution, in the mean over what is replayed. */
static double replayed_slowest(const struct skel_tree *tree, const struct skel_times *times)
{
	for (uint32_t i = 0; i < tree->n_leaf; i++) {
		const struct skel_leaf_time *t = times->leaf[i];
		double sum = 0;

		if (t->n != RARE_TURNS)
			continue;
		assert_non_null(times->orders.at);
		for (uint32_t s = 0; s < SKEL_STRATA; s++) {
			double most[Q] = {0};

			for (uint32_t r = 0; r < RARE_RANKS; r++) {
				uint32_t slot[Q];

				assert_int_equal(t[r].n_stratum, SKEL_STRATA);
				gap_order_slots(times->orders.at[2 * i][r][s], slot);
				for (uint32_t j = 0; j < Q; j++)
					most[j] = fmax(most[j], t[r].quantile_ns[s][slot[j]]);
			}
			for (uint32_t j = 0; j < Q; j++)
				sum += most[j] / (Q * SKEL_STRATA);
		}
		return sum;
	}
	fail_msg("no call has %d executions", RARE_TURNS);
	return 0;
}

static void test_rare_gaps_keep_their_company(void **unused)
{
	static const char *const name[] = {"together", "by itself", "in turn"};

	(void)unused;
	for (int how = 0; how < 3; how++)
		for (uint64_t seed = 1; seed <= 5; seed++) {
			double want, got;
			struct syn *s = rare((enum rare)how, seed, &want);
			struct trace *t = syn_open(s);
			struct skel_tree tree;
			struct skel_times times;
			struct errbuf err;

			if (skel_tree_build(t, &tree, &err) != 0 || skel_times_collect(&tree, &times, &err) != 0)
				fail_msg("%s", err.text);
			got = replayed_slowest(&tree, &times);
			print_message("# rare long gaps %s: slowest of %d %.0f, replayed %+.1f %%\n", name[how], RARE_RANKS, want,
				      100 * (got / want - 1));
			assert_true(fabs(got / want - 1) < 0.03);
			skel_times_free(&times);
			skel_tree_free(&tree);
			trace_close(t);
			syn_destroy(s);
		}
}

/* ---- emitted ---- */

static char dir[64];

/* Two ranks of which one or the other is slow, in no order; they meet in every iteration. */
static struct syn *alternating(uint32_t iterations, double total_ns[2])
{
	struct syn *s = syn_create(2);
	uint64_t seed = 7;

	syn_begin(s);
	total_ns[0] = total_ns[1] = 0;
	for (uint32_t i = 0; i < iterations; i++) {
		uint32_t slow = (uint32_t)(draw(&seed) >> 20) & 1;

		for (uint32_t r = 0; r < 2; r++) {
			uint64_t gap = (r == slow ? 90000 : 30000) + draw(&seed) % 1000;

			syn_call(s, r, "MPI_Barrier", 3, SYN(.gap_ns = gap));
			total_ns[r] += (double)gap;
		}
	}
	syn_end(s);
	return s;
}

/* The executions that the skeleton runs of the loop, and what each stands for. */
static struct {
	uint64_t total, run, at[4000];
	double weight[4000];
} sampled;

static uint64_t *emitted_data(struct syn *s, double scale)
{
	struct skel_emit_options opt = {.include_dir = "/inc", .lib_dir = "/lib", .trace_name = "x"};
	struct skel_budget budget = {.scale = scale};
	struct trace *t = syn_open(s);
	struct errbuf err;
	struct skel_stages p = {0}, moved;
	char path[100];
	uint64_t *w = calloc(1, 1 << 20);
	FILE *f;

	if (skel_understand(t, &budget, &p, &err) != 0 || skel_write(&p, dir, &opt, &err) != 0)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < p.plan.n_node; i++) {
		if (p.plan.cut[i].total != 4000)
			continue;
		sampled.total = p.plan.cut[i].total;
		sampled.run = p.plan.cut[i].run;
		for (uint64_t j = 0; j < sampled.run; j++) {
			sampled.at[j] = skel_sampled_iteration(&p.plan.cut[i], j);
			sampled.weight[j] = skel_sampled_weight(&p.plan.cut[i], j);
		}
	}
	snprintf(path, sizeof path, "%s/skel.c.data", dir);
	f = fopen(path, "r");
	assert_non_null(f);
	assert_true(fread(w, 1, 1 << 20, f) > 0);
	fclose(f);
	moved = p; /* the order of gaps does not depend on where the tree lies */
	memset(&p, 0xff, sizeof p);
	skel_stages_free(&moved);
	trace_close(t);
	syn_destroy(s);
	return w;
}

static void test_emitted_gaps_add_up(void **unused)
{
	(void)unused;
	for (int cut_it = 0; cut_it < 2; cut_it++) {
		static double value[2][4000];
		double total[2];
		uint64_t *w = emitted_data(alternating(4000, total), cut_it ? 20 : 0);
		uint32_t strata = 0, slots = (uint32_t)sampled.run; /* each that runs has its own */
		double both = 0;

		assert_int_equal(sampled.total, 4000);
		assert_true(cut_it ? sampled.run < 1000 : sampled.run == 4000);
		for (int r = 0; r < 2; r++) {
			const uint64_t *g = NULL;
			double mean = 0;

			for (uint64_t i = 0; i < w[3]; i++) {
				uint64_t off = data_offset(w + DATA_HEADER, (uint64_t)r * w[3] + i);

				if (off > 0 && w[off] == 4000)
					g = w + off;
			}
			assert_non_null(g);
			strata = (uint32_t)g[1];
			assert_int_equal(g[1] >> 32, slots);
			assert_in_range(strata * slots, 1, 4000);
			memcpy(value[r], g + DATA_GAP, strata * slots * sizeof(double));
			for (uint32_t i = 0; i < strata * slots; i++)
				mean += value[r][i] / (strata * slots);
			if (!cut_it) /* every value counts alike */
				assert_true(fabs(mean * 4000 / total[r] - 1) < 0.01);
			/* What the skeleton runs, with the weights of a cut loop. */
			double sum = 0;

			for (uint64_t j = 0; j < sampled.run; j++)
				sum += sampled.weight[j] *
				       value[r][data_stratum(sampled.at[j], 4000, strata) * slots + j % slots];
			assert_true(fabs(sum / total[r] - 1) < 0.01);
		}
		/* One of them is slow and the other is not. */
		for (uint32_t i = 0; i < strata * slots; i++)
			both += fmax(value[0][i], value[1][i]) / (strata * slots);
		print_message("# slowest of two that alternate: %+.1f %%\n", 100 * (both / 90500 - 1));
		assert_true(fabs(both / 90500 - 1) < (cut_it ? 0.03 : 0.01)); /* the gaps of either rank are scaled */
		free(w);
	}
}

static int make_dir(void **unused)
{
	(void)unused;
	strcpy(dir, "/tmp/precedent-order-XXXXXX");
	return mkdtemp(dir) != NULL ? 0 : -1;
}

static int remove_dir(void **unused)
{
	char command[100];

	(void)unused;
	snprintf(command, sizeof command, "rm -rf %s", dir);
	return system(command);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_slowest_rank_keeps_its_time),
		cmocka_unit_test(test_executions_are_of_their_stratum),
		cmocka_unit_test(test_slots_are_a_permutation),
		cmocka_unit_test(test_rare_gaps_keep_their_company),
		cmocka_unit_test(test_emitted_gaps_add_up),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_dir, remove_dir);
}
