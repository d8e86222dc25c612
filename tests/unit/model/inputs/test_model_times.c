/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Times of simulated runs by known laws: work that is divided in smaller pieces than its size counts, runs that take longer
 * and shorter than they should by chance, and ranks that compute before another call than others do, runs made several
 * times. What a model says of other runs is held against the law. */
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

/* ---- powers that no product of sizes has ---- */

#define POWERS 100

static double power_s(double c, double p, double q, uint32_t ranks, double k)
{
	return 1e-4 * (1 + c * pow(k, p)) / pow(ranks, q);
}

/* Laws of other powers, runs with noise: what is asked within twice the size and the ranks is in the interval nine times of ten, which
 * is not so wide that this says nothing. */
static void test_beyond(void **state)
{
	uint32_t in = 0, asked_of = 0;
	double widest = 0, sum = 0;

	(void)state;
	for (uint64_t seed = 0; seed < POWERS; seed++) {
		uint64_t random = 77 * seed + 5;
		double p = 2.5 * (double)(syn_random(&random) % 1000) / 1e3, q = (double)(syn_random(&random) % 1000) / 1e3;
		double c = pow(10, -2 + 3 * (double)(syn_random(&random) % 1000) / 1e3);
		struct trace *t[RUNS];
		struct world w;

		for (uint32_t r = 0; r < RUNS; r++) {
			uint32_t ranks = r < 3 ? 2 : 4;
			struct syn *s = syn_create(ranks);
			double gap = power_s(c, p, q, ranks, size[r]) * chance(0.05, &random);

			syn_begin(s);
			for (uint32_t rank = 0; rank < ranks; rank++)
				for (double step = 0; step < steps[r]; step++)
					syn_call(s, rank, "MPI_Allreduce", 2,
						 SYN(.count = (uint64_t)size[r], .gap_ns = (uint64_t)(1e9 * gap), .dur_ns = CALL_NS));
			syn_end(s);
			t[r] = syn_open(s);
			syn_destroy(s);
		}
		if (world_learn(&w, 1, t, size, steps, RUNS) < 0)
			fail_msg("%s", w.err.text);
		for (int a = 0; a < 3; a++) {
			uint32_t ranks = a == 1 ? 4 : 8;
			double k = a ? 64 : 16, is = 10 * (power_s(c, p, q, ranks, k) + CALL_NS * 1e-9);
			double said = world_seconds(&w, ranks, 0, k, 10, NULL), error;
			struct foresee f;

			assert_int_equal(foresee_open(&f, w.model, ranks, (const char *[]){"K", "I"}, (double[]){k, 10}, 2, false, &w.err), 0);
			error = foresee_error(&f);
			foresee_close(&f);
			in += fmax(said / is, is / said) <= 1 + error;
			asked_of++;
			widest = fmax(widest, error);
			sum += log1p(error);
		}
		world_forget(&w);
	}
	if (in < 0.9 * asked_of || sum / asked_of > 1)
		fail_msg("%u of %u in the interval, which is %.3g times as much in the mean and %.3g at most", in, asked_of, exp(sum / asked_of), 1 + widest);
}

/* ---- a pipeline: who is last in it computes before it begins again, who is first before it sends ---- */

#define FRONT_NS(k) (100 * (uint64_t)(k) * (uint64_t)(k))

static struct trace *pipeline(uint32_t ranks, double k, double i)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++)
		for (uint32_t n = 0; n < i; n++) {
			uint64_t before = n && r == ranks - 1 ? FRONT_NS(k) : 50;

			if (r > 0)
				syn_call(s, r, "MPI_Recv", 1, SYN(.count = (uint64_t)k, .gap_ns = before, .dur_ns = CALL_NS));
			if (r < ranks - 1)
				syn_call(s, r, "MPI_Send", 2, SYN(.count = (uint64_t)k, .gap_ns = FRONT_NS(k), .dur_ns = CALL_NS));
		}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

/* Of each rank, on as many as no run had: what is computed before a call goes with the call before it. */
static void test_border(void **state)
{
	static const double k[RUNS] = {20, 50, 120, 20, 50, 120}, i[RUNS] = {30, 50, 40, 60, 30, 70};
	static const uint32_t ranks[] = {2, 3, 5, 9};
	struct trace *t[RUNS];
	struct world w;

	(void)state;
	for (uint32_t n = 0; n < RUNS; n++)
		t[n] = pipeline(n < 3 ? 3 : 4, k[n], i[n]);
	if (world_learn(&w, 1, t, k, i, RUNS) < 0)
		fail_msg("%s", w.err.text);
	for (size_t a = 0; a < sizeof(ranks) / sizeof(*ranks); a++)
		for (uint32_t r = 0; r < ranks[a]; r++) {
			bool first = r == 0, last = r == ranks[a] - 1;
			double is = (last ? 99 : 100) * 1e-9 * (double)FRONT_NS(80) + 1e-7 * CALL_NS * (first || last ? 1 : 2), said;
			struct foresee f;

			assert_int_equal(foresee_open(&f, w.model, ranks[a], (const char *[]){"K", "I"}, (double[]){80, 100}, 2, false, &w.err), 0);
			assert_int_equal(foresee_rank(&f, r, NULL, &said, NULL, &w.err), 0);
			if (!(fabs(said / is - 1) < 0.01))
				fail_msg("rank %u of %u: %g s, predicted %g s", r, ranks[a], is, said);
			foresee_close(&f);
		}
	world_forget(&w);
}

/* ---- runs that are made several times ---- */

#define TIMES 3

/* Each run TIMES times; by[]: of these times so many times as long as the law says. The last TIMES * RUNS - n of them are missing. */
static void learn_repeated(struct world *w, const double by[TIMES], uint32_t n)
{
	double k[TIMES * RUNS], i[TIMES * RUNS];
	struct trace *t[TIMES * RUNS];

	for (uint32_t r = 0; r < n; r++) {
		struct syn *s = syn_create(r % RUNS < 3 ? 2 : 4);
		uint32_t ranks = r % RUNS < 3 ? 2 : 4;
		/* Not the same ones of each are disturbed. */
		double of = by[(r / RUNS + r) % TIMES];

		k[r] = size[r % RUNS];
		i[r] = steps[r % RUNS];
		syn_begin(s);
		for (uint32_t rank = 0; rank < ranks; rank++)
			for (double step = 0; step < i[r]; step++)
				syn_call(s, rank, "MPI_Allreduce", 2,
					 SYN(.count = (uint64_t)k[r], .gap_ns = (uint64_t)(of * law_ns(ranks, k[r])),
					     .dur_ns = of > 2 ? (uint64_t)(of * law_ns(ranks, k[r])) : CALL_NS));
		syn_end(s);
		t[r] = syn_open(s);
		syn_destroy(s);
	}
	if (world_learn(w, 1, t, k, i, n) < 0)
		fail_msg("%s", w->err.text);
}

/* One of three takes several times as long as it should, half of it in calls: the others are believed. */
static void test_disturbed(void **state)
{
	struct world w;

	(void)state;
	learn_repeated(&w, (double[]){1, 2.5, 1.001}, TIMES * RUNS);
	assert_int_equal(w.runs.n_different, RUNS);
	for (size_t a = 0; a < sizeof(asked) / sizeof(*asked); a++) {
		double is = law(asked[a].ranks, asked[a].k, 10), said = world_seconds(&w, asked[a].ranks, 0, asked[a].k, 10, NULL);

		if (!(fabs(said / is - 1) < 0.04))
			fail_msg("%g on %u ranks: %g s, predicted %g s", asked[a].k, asked[a].ranks, is, said);
	}
	world_forget(&w);
}

#define SHORT_BY 3.0 /* times as long, of which a rank had its processor for less than half */
#define SHORT_IS 1.4 /* times as long, once what others had is taken away: that is not known exactly */

/* Of a rank that computes each step as long as the law says; others had its processor meanwhile. */
static struct trace *short_of_processors(uint32_t ranks, double k, double i, bool is_short)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++) {
		for (double step = 0; step < i; step++)
			syn_call(s, r, "MPI_Allreduce", 2,
				 SYN(.count = (uint64_t)k, .gap_ns = (uint64_t)((is_short ? SHORT_BY : 1) * law_ns(ranks, k)), .dur_ns = CALL_NS));
	}
	syn_end(s);
	for (uint32_t r = 0; r < ranks && is_short; r++)
		syn_delayed(s, r, (uint64_t)((SHORT_BY - SHORT_IS) * law_ns(ranks, k) * i));
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

/* What the model of `times` runs of each says of what is asked, as a ratio to the law, where it is worst; which() are short. */
static double worst_of(uint32_t times, bool (*which)(uint32_t run))
{
	double k[TIMES * RUNS], i[TIMES * RUNS], worst = 1;
	struct trace *t[TIMES * RUNS];
	struct world w;

	for (uint32_t r = 0; r < times * RUNS; r++) {
		k[r] = size[r % RUNS];
		i[r] = steps[r % RUNS];
		t[r] = short_of_processors(r % RUNS < 3 ? 2 : 4, k[r], i[r], which(r));
	}
	if (world_learn(&w, 1, t, k, i, times * RUNS) < 0)
		fail_msg("%s", w.err.text);
	assert_true(fabs(w.times.shared - (1 - SHORT_IS / SHORT_BY)) < 0.01);
	for (size_t a = 0; a < sizeof(asked) / sizeof(*asked); a++) {
		double of = world_seconds(&w, asked[a].ranks, 0, asked[a].k, 10, NULL) / law(asked[a].ranks, asked[a].k, 10);

		worst = fmax(worst, fmax(of, 1 / of));
	}
	world_forget(&w);
	return worst;
}

static bool one_of_all(uint32_t run)
{
	return run == 4;
}

static bool two_of_each(uint32_t run)
{
	return (run / RUNS + run) % TIMES != 0;
}

/* Runs that were short of their processors count for less: one among six, and two of three of each, where the median is short too. */
static void test_short(void **state)
{
	double one, two;

	(void)state;
	one = worst_of(1, one_of_all);
	two = worst_of(TIMES, two_of_each);
	if (one > 1.04 || two > 1.2)
		fail_msg("one among six: %g times the law; two of three: %g times", one, two);
}

/* Who makes each run three times knows no more of other runs than who makes it once: the same functions, errors and doubts. */
static void test_repeated(void **state)
{
	static const double same[TIMES] = {1, 1, 1};
	struct world once, often;

	(void)state;
	learn_repeated(&once, same, RUNS);
	learn_repeated(&often, same, TIMES * RUNS);
	assert_true(fabs(once.times.worst_error - often.times.worst_error) < 1e-9);
	for (int v = 0; v < 3; v++)
		assert_true(fabs(once.times.reach[v] - often.times.reach[v]) < 1e-9);
	assert_int_equal(once.times.n_errors, often.times.n_errors);
	for (size_t a = 0; a < sizeof(asked) / sizeof(*asked); a++) {
		double x = world_seconds(&once, asked[a].ranks, 0, asked[a].k, 10, NULL);
		double y = world_seconds(&often, asked[a].ranks, 0, asked[a].k, 10, NULL);

		assert_true(fabs(x / y - 1) < 1e-9);
	}
	for (uint32_t r = 0; r < RUNS; r++) {
		struct learnt a, b;

		assert_int_equal(learn_runs(&once.runs, r, 1, &a, &once.err), 0);
		assert_int_equal(learn_runs(&often.runs, r, 1, &b, &often.err), 0);
		assert_int_equal(a.n_doubts, b.n_doubts);
		assert_int_equal(a.n_unknown, b.n_unknown);
		assert_int_equal(learnt_check_run(&a, r), learnt_check_run(&b, r));
		assert_int_equal(learnt_check_run(&b, r), learnt_check_run(&b, r + RUNS));
		learnt_free(&a);
		learnt_free(&b);
	}
	world_forget(&once);
	world_forget(&often);
}

/* ---- a code with halos on a grid: volumes, faces and a constant ---- */

#define HALO_RUNS  3 /* of each number of ranks */
#define HALO_ASKED 72
#define HALO_STEPS 4
#define HALO_LAWS  20
#define HALO_THIRD 0.12
#define HALO_EXACT 1e-3 /* whole ns */
#define HALO_WIDE  1.2 /* interval: up to 2.2 times the time */
#define HALO_END_NS 1000 /* before MPI_Finalize (synthetic.h) */

/* Of one computation: ns for each point of a slab, for each point of its faces, and for nothing. */
struct halo_law {
	double volume, faces, constant;
};

static double halo_ns(const struct halo_law *l, uint32_t ranks, double k)
{
	return l->volume * k * k * k / ranks + l->faces * k * k + l->constant;
}

static double halo_s(const struct halo_law *l, uint32_t ranks, double k, double i)
{
	return 1e-9 * (i * (halo_ns(l, ranks, k) + CALL_NS + k * k) + HALO_END_NS);
}

static void learn_halo(struct world *w, const struct halo_law *l, uint32_t n)
{
	static const double k[2 * HALO_RUNS] = {24, 36, 48, 24, 36, 48}, i[2 * HALO_RUNS] = {HALO_STEPS, HALO_STEPS, HALO_STEPS, HALO_STEPS, HALO_STEPS, HALO_STEPS};
	struct trace *t[2 * HALO_RUNS];

	for (uint32_t r = 0; r < n; r++) {
		uint32_t ranks = r < HALO_RUNS ? 2 : 4;
		struct syn *s = syn_create(ranks);

		syn_begin(s);
		for (uint32_t rank = 0; rank < ranks; rank++)
			for (double step = 0; step < i[r]; step++)
				syn_call(s, rank, "MPI_Sendrecv", 2,
					 SYN(.dst = (rank + 1) % ranks, .src = (rank + ranks - 1) % ranks, .count = (int64_t)(k[r] * k[r]),
					     .gap_ns = (uint64_t)halo_ns(l, ranks, k[r]), .dur_ns = (uint64_t)(CALL_NS + k[r] * k[r])));
		syn_end(s);
		t[r] = syn_open(s);
		syn_destroy(s);
	}
	if (world_learn(w, 1, t, k, i, n) < 0)
		fail_msg("%s", w->err.text);
}

/* The run's time beside the law's. Returns whether the law's time is in the interval, which has to say something. */
static bool ask_halo(struct world *w, const struct halo_law *l, uint32_t ranks, double may)
{
	double is = halo_s(l, ranks, HALO_ASKED, HALO_STEPS), said = world_seconds(w, ranks, 0, HALO_ASKED, HALO_STEPS, NULL), error;
	struct foresee f;

	assert_int_equal(foresee_open(&f, w->model, ranks, (const char *[]){"K", "I"}, (double[]){HALO_ASKED, HALO_STEPS}, 2, false, &w->err), 0);
	error = foresee_error(&f);
	foresee_close(&f);
	if (!(fabs(said / is - 1) <= may) || error > HALO_WIDE)
		fail_msg("%g, %g, %g on %u ranks: %g s, predicted %g s, interval x %g", l->volume, l->faces, l->constant, ranks, is, said, 1 + error);
	return fmax(said / is, is / said) <= 1 + error + HALO_EXACT;
}

/* Three sizes show two terms exactly, whichever they are, on one number of ranks and on two. */
static void test_halo_exact(void **state)
{
	static const struct halo_law law[] = {{8, 0, 0}, {0, 9, 0}, {8, 0, 2e5}, {8, 100, 0}, {2, 300, 0}, {0, 50, 4e4}};

	(void)state;
	for (size_t a = 0; a < sizeof(law) / sizeof(*law); a++)
		for (uint32_t n = HALO_RUNS; n <= 2 * HALO_RUNS; n += HALO_RUNS) {
			struct world w;

			learn_halo(&w, &law[a], n);
			for (uint32_t ranks = 2; ranks <= (n > HALO_RUNS ? 4 : 2); ranks += 2)
				assert_true(ask_halo(&w, &law[a], ranks, HALO_EXACT));
			world_forget(&w);
		}
}

/* Three terms of any shares: three sizes determine two, and the error is what the third one leaves. */
static void test_halo_mixed(void **state)
{
	uint64_t random = 3;
	uint32_t in = 0;

	(void)state;
	for (uint32_t a = 0; a < HALO_LAWS; a++) {
		double share[3];
		struct halo_law l;
		struct world w;

		for (int i = 0; i < 3; i++)
			share[i] = 1e6 * (double)(1 + syn_random(&random) % 100);
		l = (struct halo_law){2 * share[0] / 46656, share[1] / 1296, share[2]};
		learn_halo(&w, &l, HALO_RUNS);
		in += ask_halo(&w, &l, 2, HALO_THIRD);
		world_forget(&w);
	}
	assert_true(in >= 0.9 * HALO_LAWS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_small_pieces),
	    cmocka_unit_test(test_chance),
	    cmocka_unit_test(test_beyond),
	    cmocka_unit_test(test_border),
	    cmocka_unit_test(test_disturbed),
	    cmocka_unit_test(test_repeated),
	    cmocka_unit_test(test_short),
	    cmocka_unit_test(test_halo_exact),
	    cmocka_unit_test(test_halo_mixed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
