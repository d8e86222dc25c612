/* SPDX-License-Identifier: GPL-2.0-or-later */
/* More ranks than processors: what of times is a rank's own, and models of simulated runs whose ranks take turns by a known
 * law, asked for numbers of ranks and of processors that no run had. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/model_world.h"

/* ---- times ---- */

#define PIECES 40

/* Against a search for the level by halving. */
static void check_cut(const struct run_own_piece *was, uint32_t n, double cut)
{
	struct run_own_piece piece[PIECES];
	double all = 0, extra = 0, left = 0, lo = 0, hi = 1e9;

	memcpy(piece, was, n * sizeof(*was));
	for (uint32_t i = 0; i < n; i++) {
		all += was[i].ns;
		extra += was[i].ns - was[i].usual;
	}
	run_own_cut(piece, n, cut);
	for (int k = 0; k < 200; k++) {
		double mid = (lo + hi) / 2, gone = 0;

		for (uint32_t i = 0; i < n; i++)
			gone += cut < extra ? fmax(0, was[i].ns - was[i].usual - mid) : was[i].ns - was[i].usual + fmax(0, was[i].usual - mid);
		*(gone > cut ? &lo : &hi) = mid;
	}
	for (uint32_t i = 0; i < n; i++) {
		const struct run_own_piece *p = &was[i];
		double expected = cut < extra ? p->usual + fmin(p->ns - p->usual, lo) : fmin(p->usual, lo);

		left += piece[i].ns;
		if (fabs(piece[i].ns - expected) > 1e-3)
			fail_msg("%g of %g (%g usual) is left, not %g, when %g of %g are cut", piece[i].ns, p->ns, p->usual, expected, cut,
				 all);
	}
	assert_true(fabs(left - fmax(0, all - cut)) < 1e-3);
}

static void test_cut(void **state)
{
	struct run_own_piece piece[PIECES];
	double sum[PIECES] = {0};
	uint64_t random = 4;

	(void)state;
	for (int round = 0; round < 300; round++) {
		uint32_t n = 1 + (uint32_t)(syn_random(&random) % PIECES);
		double all = 0;

		for (uint32_t i = 0; i < n; i++) {
			double ns = (double)(syn_random(&random) % 5000);

			piece[i] = (struct run_own_piece){ns, syn_random(&random) % 2 ? ns * (double)(syn_random(&random) % 5) / 4 : 0, &sum[i]};
			all += ns;
		}
		check_cut(piece, n, all * (double)(syn_random(&random) % 11) / 10);
	}
}

/* Blocks of 300 us, of which each seventh loses the processor for 6 ms, and short calls. */
static void test_preempted(void **state)
{
	struct syn *s = syn_create(1);
	struct trace_event ev;
	struct errbuf err;
	struct run_own o;
	struct trace_iter *it;
	struct trace *t;
	double gap = 0, call = 0, usual = 0;
	bool timed;

	(void)state;
	syn_begin(s);
	for (uint32_t i = 0; i < 700; i++)
		syn_call(s, 0, "MPI_Send", 1, SYN(.gap_ns = i % 7 == 6 ? 6300000 : 300000, .dur_ns = 2000));
	syn_end(s);
	syn_delayed(s, 0, 100 * 6000000ull);
	t = syn_open(s);
	assert_int_equal(run_own_begin(&o, t, 0, &err), 0);
	it = trace_iter_create(t, 0, &err);
	assert_non_null(it);
	while (trace_iter_next(it, &ev, &timed)) {
		uint64_t from = trace_iter_gap_begin(it), enter, leave;

		trace_iter_when(it, &enter, &leave);
		usual = run_own_usual(usual, (double)ev.gap_ns);
		run_own_add(&o, (double)from, (double)enter, (double)ev.gap_ns, usual, &gap);
		run_own_add(&o, (double)enter, (double)leave, (double)ev.dur_ns, 0, &call);
	}
	run_own_end(&o);
	assert_true(fabs(gap / (700 * 300e3) - 1) < 0.01);
	assert_true(fabs(gap + call - 700 * 302e3) < 1e6 && fabs(o.lost_ns - 600e6) < 1);
	trace_iter_destroy(it);
	trace_close(t);
	syn_destroy(s);
}

static void seat(struct syn *s, uint32_t rank, const char *host, uint32_t processors, uint64_t set, uint32_t of_host)
{
	struct trace_proc *p = &s->rank[rank].defs.proc;

	free(p->host);
	p->host = strdup(host);
	assert_non_null(p->host);
	p->processors = processors;
	p->processor_set = set;
	p->host_processors = of_host;
}

static struct run_place place_of(struct syn *s)
{
	struct run_place place;
	struct trace *t;

	syn_begin(s);
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(run_place_find(t, &place), 0);
	trace_close(t);
	syn_destroy(s);
	return place;
}

static void test_places(void **state)
{
	struct syn *s = syn_create(4);
	struct run_place p;

	(void)state;
	for (uint32_t r = 0; r < 4; r++) /* two hosts, bound each to one of its own, but the last two to the same */
		seat(s, r, r < 2 ? "b" : "a", 1, r < 2 ? r + 1 : 9, 8);
	p = place_of(s);
	assert_int_equal(p.processors, 3);
	assert_true(p.crowd == 2);
	s = syn_create(6);
	for (uint32_t r = 0; r < 6; r++)
		seat(s, r, "a", 4, 5, 4);
	p = place_of(s);
	assert_int_equal(p.processors, 4);
	assert_true(p.crowd == 1.5);
	s = syn_create(3); /* different sets of a host of two */
	for (uint32_t r = 0; r < 3; r++)
		seat(s, r, "a", 1, r, 2);
	p = place_of(s);
	assert_int_equal(p.processors, 2);
	assert_true(p.crowd == 1.5);
	s = syn_create(2); /* one does not say it */
	seat(s, 0, "a", 4, 5, 4);
	seat(s, 1, "a", 0, 0, 4);
	assert_int_equal(place_of(s).processors, 0);
}

/* ---- models ---- */

#define RUNS 6
#define OWN_CALL 900

static uint64_t compute_ns(uint32_t ranks, uint32_t rank, uint32_t size)
{
	uint64_t own = (uint64_t)size * (rank + 1) / ranks - (uint64_t)size * rank / ranks;

	return 20 * size * own;
}

/* Rows of a size over ranks on so many processors. They take turns: what a rank does not compute of its share of the
 * processors it waits for in its calls. busy: other programs have them for so many times as long again. */
static struct trace *turns(uint32_t ranks, uint32_t processors, uint32_t size, uint32_t steps, double busy, uint64_t jitter)
{
	struct syn *s = syn_create(ranks);
	double crowd = ranks > processors ? (double)ranks / processors : 1;
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++) {
		uint64_t gap = compute_ns(ranks, r, size), delay = (uint64_t)((crowd * (1 + busy) - 1) * (double)(gap + OWN_CALL)), all = 0;

		for (uint32_t i = 0; i < steps; i++) {
			uint64_t more = syn_random(&jitter) % 50;

			syn_call(s, r, "MPI_Allreduce", 2, SYN(.count = size, .gap_ns = gap + more, .dur_ns = OWN_CALL + delay));
			all += delay;
		}
		seat(s, r, "a", processors, 5, processors);
		if (all)
			syn_delayed(s, r, all);
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static const double size[RUNS] = {240, 360, 480, 264, 408, 504}, steps[RUNS] = {30, 10, 20, 12, 25, 40};

static void learn_turns(struct world *w, uint32_t processors, double busy)
{
	struct trace *t[RUNS];

	for (uint32_t i = 0; i < RUNS; i++)
		t[i] = turns(i < 3 ? 2 : 4, processors, (uint32_t)size[i], (uint32_t)steps[i], busy, i + 1);
	assert_int_equal(world_learn(w, 1, t, size, steps, RUNS), 0);
}

/* Seconds of a run by the law: the processors are busy until all is done. */
static double law(uint32_t ranks, uint32_t processors, uint32_t n, uint32_t k)
{
	double all = 0, longest = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		double own = ((double)compute_ns(ranks, r, n) + 25 + OWN_CALL) * k * 1e-9;

		all += own;
		longest = fmax(longest, own);
	}
	return fmax(longest, all / processors);
}

static void test_turns(void **state)
{
	/* ranks, processors that are named, those that there are then */
	static const uint32_t asked[][3] = {{3, 0, 2}, {6, 0, 2}, {8, 0, 2}, {8, 3, 3}, {8, 8, 8}, {8, 16, 16}, {2, 1, 1}, {5, 4, 4}};
	struct world w;
	char why[WORLD_WHY];

	(void)state;
	for (int busy = 0; busy < 2; busy++) {
		learn_turns(&w, 2, 3 * busy);
		assert_int_equal(w.model->place.processors, 2);
		assert_true(w.model->place.crowd == 2);
		assert_true(w.times.worst_error < 0.03);
		assert_true(busy ? w.times.shared > 0.7 && w.times.shared < 0.8 : w.times.shared < 0.05);
		for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
			double is = law(asked[i][0], asked[i][2], 600, 17), said = world_seconds(&w, asked[i][0], asked[i][1], 600, 17, why);

			if (!(said / is > 0.97 && said / is < 1.03))
				fail_msg("%u ranks on %u processors: %g s, predicted %g s", asked[i][0], asked[i][2], is, said);
			assert_string_equal(why, "");
		}
		world_seconds(&w, 9, 2, 600, 17, why);
		assert_non_null(strstr(why, "9 ranks for 2 processors, and the runs had 2 for one at most"));
		world_forget(&w);
	}
}

/* What no rank had of the processors in the quietest of several runs is part of what taking turns costs; of one run it may be others'. */
static void test_lost(void **state)
{
	static const double rows[] = {24, 32, 40}, lost[] = {0.12, 0.05, 0.2};
	double n[WORLD_RUNS], k[WORLD_RUNS];
	struct trace *t[WORLD_RUNS];
	struct world w;

	(void)state;
	for (uint32_t times = 1; times <= 3; times += 2) {
		uint32_t runs = 0;

		for (uint32_t i = 0; i < 6 * times; i++) {
			n[runs] = rows[i % 3];
			k[runs] = i % 3 == 1 ? 80 : 50 + 5 * (i % 3);
			t[runs] = turns(i / 3 % 2 ? 8 : 4, 2, (uint32_t)n[runs], (uint32_t)k[runs], times == 1 ? lost[1] : lost[i / 6], i + 1);
			runs++;
		}
		assert_int_equal(world_learn(&w, 1, t, n, k, runs), 0);
		for (uint32_t ranks = 4; ranks <= 8; ranks += 2) {
			double is = law(ranks, 2, 34, 40) * (times == 1 ? 1 : 1 + lost[1]), said = world_seconds(&w, ranks, 0, 34, 40, NULL);

			if (!(fabs(said / is - 1) < 0.02))
				fail_msg("%u runs, %u ranks: %g s, predicted %g s", runs, ranks, is, said);
		}
		assert_true(fabs(w.times.shared - (times == 1 ? 1 - 1 / (1 + lost[1]) : 1 - (1 + lost[1]) / (1 + lost[2]))) < 0.02);
		world_forget(&w);
	}
}

/* No run had more ranks than processors: that these take turns is known, what it costs is not. */
static void test_unseen(void **state)
{
	struct world w;
	char why[WORLD_WHY];

	(void)state;
	learn_turns(&w, 4, 0);
	assert_true(world_seconds(&w, 8, 0, 600, 17, why) > 0.95 * law(8, 4, 600, 17));
	assert_non_null(strstr(why, "8 ranks for 4 processors, and no run had more ranks than processors"));
	world_seconds(&w, 3, 0, 600, 17, why);
	assert_string_equal(why, "");
	world_forget(&w);
}

/* Runs on different numbers of processors say nothing of the next one's. */
static void test_different(void **state)
{
	static const uint32_t own[2] = {2, 4}, few[2] = {1, 2};
	struct trace *t[RUNS];
	struct world w;
	char why[WORLD_WHY];

	(void)state;
	for (int crowded = 0; crowded < 2; crowded++) {
		for (uint32_t i = 0; i < RUNS; i++)
			t[i] = turns(i < 3 ? 2 : 4, (crowded ? few : own)[i >= 3], (uint32_t)size[i], (uint32_t)steps[i], 0, i + 1);
		assert_int_equal(world_learn(&w, 1, t, size, steps, RUNS), 0);
		assert_int_equal(w.model->place.processors, 0);
		assert_true(fabs(world_seconds(&w, 8, 0, 600, 17, why) / law(8, 8, 600, 17) - 1) < 0.03);
		if (crowded)
			assert_non_null(strstr(why, "--cpus"));
		else
			assert_string_equal(why, "");
		assert_true(fabs(world_seconds(&w, 8, 4, 600, 17, why) / law(8, 4, 600, 17) - 1) < 0.03);
		assert_true(crowded ? !*why : *why);
		world_forget(&w);
	}
}

/* ---- calls of ranks that give their processor up while they wait ---- */

#define YIELDED   30000 /* ns of a call then, and more for each round */
#define YIELD_LOG 8000

static double alone_ns = OWN_CALL; /* of a call of a rank that has its processor */

static double yield_law(uint32_t ranks, uint32_t processors, uint32_t n, uint32_t k)
{
	bool crowded = ranks > processors;
	double all = 0, longest = 0;

	for (uint32_t r = 0; r < ranks; r++) {
		double own = ((double)compute_ns(ranks, r, n) + (crowded ? YIELDED + YIELD_LOG * ceil(log2(ranks)) : alone_ns)) * k * 1e-9;

		all += own;
		longest = fmax(longest, own);
	}
	return fmax(longest, all / processors);
}

/* As turns(), but a call takes something else where ranks share processors; all of a run is `by` times as long. */
static struct trace *yielding(uint32_t ranks, uint32_t processors, uint32_t size, uint32_t steps, double by)
{
	struct syn *s = syn_create(ranks);
	bool crowded = ranks > processors;
	struct trace *t;

	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++) {
		double gap = by * (double)compute_ns(ranks, r, size), own = by * (crowded ? YIELDED + YIELD_LOG * ceil(log2(ranks)) : alone_ns);
		uint64_t delay = crowded ? (uint64_t)(((double)ranks / processors - 1) * (gap + own)) : 0;

		for (uint32_t i = 0; i < steps; i++)
			syn_call(s, r, "MPI_Allreduce", 2, SYN(.count = size, .gap_ns = (uint64_t)gap, .dur_ns = (uint64_t)own + delay));
		seat(s, r, "a", processors, 5, processors);
		if (delay)
			syn_delayed(s, r, delay * steps);
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

static const double yield_size[] = {40, 60, 90, 40, 60, 90, 40, 60, 90};

/* Learnt from 2 ranks on 2 processors, and 4 and 8 on them; noisy: some runs are longer than they should be. */
static void learn_yielding(struct world *w, bool noisy)
{
	static const double k[9] = {50, 30, 60, 40, 50, 30, 60, 40, 50}, by[9] = {1, 1.1, 0.95, 0.92, 1.08, 1, 1.05, 0.9, 1};
	struct trace *t[9];

	for (uint32_t i = 0; i < 9; i++)
		t[i] = yielding(2u << i / 3, 2, (uint32_t)yield_size[i], (uint32_t)k[i], noisy ? by[i] : 1);
	if (world_learn(w, 1, t, yield_size, k, 9) < 0)
		fail_msg("%s", w->err.text);
}

/* Neither kind of run says what calls take in the other. */
static void test_yielding(void **state)
{
	static const uint32_t asked[][2] = {{2, 2}, {4, 2}, {8, 2}, {16, 2}, {8, 4}, {4, 4}, {16, 16}};
	struct world w;

	(void)state;
	learn_yielding(&w, false);
	assert_true(w.times.split);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		double is = yield_law(asked[i][0], asked[i][1], 75, 17), said = world_seconds(&w, asked[i][0], asked[i][1], 75, 17, NULL);

		if (!(fabs(said / is - 1) < 0.05))
			fail_msg("%u ranks on %u processors: %g s, predicted %g s", asked[i][0], asked[i][1], is, said);
	}
	world_forget(&w);
}

/* A run takes no less on fewer processors, whatever calls of ranks that take turns are learnt to take. */
static void test_least(void **state)
{
	static const uint32_t processors[] = {5, 4, 3, 2, 1};
	double alone = 0, law;
	struct world w;

	(void)state;
	alone_ns = 50 * YIELDED;
	learn_yielding(&w, false);
	law = yield_law(5, 4, 75, 17);
	for (size_t i = 0; i < sizeof(processors) / sizeof(*processors); i++) {
		double said = world_seconds(&w, 5, processors[i], 75, 17, NULL);

		if (said < alone * (1 - 1e-9))
			fail_msg("%u processors: %g s, with one for each rank %g s", processors[i], said, alone);
		alone = i ? alone : said;
	}
	assert_true(law < 0.8 * alone);
	alone_ns = OWN_CALL;
	world_forget(&w);
}

/* Rounds of calls, not ranks: 4 and 6 ranks make two and three, and 8 make no more than 6. */
static void test_rounds(void **state)
{
	static const double k[6] = {50, 30, 60, 40, 50, 30};
	static const uint32_t asked[] = {4, 6, 8, 16};
	struct trace *t[6];
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		t[i] = yielding(i < 3 ? 4 : 6, 2, (uint32_t)yield_size[i], (uint32_t)k[i], 1);
	if (world_learn(&w, 1, t, yield_size, k, 6) < 0)
		fail_msg("%s", w.err.text);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		double is = yield_law(asked[i], 2, 75, 17), said = world_seconds(&w, asked[i], 0, 75, 17, NULL);

		if (!(fabs(said / is - 1) < 0.05))
			fail_msg("%u ranks: %g s, predicted %g s", asked[i], is, said);
	}
	world_forget(&w);
}

/* What the interval of what is asked is wider by than that of runs between: by so many times as much of K, and of ranks. */
static double wider(const struct world *w, double k, double ranks)
{
	return hypot(log(k) * w->times.reach[0], log(ranks) * w->times.reach[2]);
}

/* The interval is that of runs between those learnt from, and beyond them wider, the more the farther. */
static void test_interval(void **state)
{
	static const struct {
		uint32_t ranks;
		double k, i;
		const char *outside;
		double more_k, more_ranks;
	} asked[] = {{4, 75, 40, NULL, 1, 1}, {2, 60, 50, NULL, 1, 1}, {8, 95, 40, "K", 95 / 90.0, 1}, {8, 35, 40, "K", 40 / 35.0, 1},
		     {16, 75, 40, "ranks", 1, 2}, {1, 75, 40, "ranks", 1, 2}, {32, 180, 40, "K", 2, 4}};
	struct world w;

	(void)state;
	learn_yielding(&w, true);
	assert_true(w.times.worst_error > 0.02);
	assert_int_equal(w.model->confidence.n_reach, 3);
	for (int v = 0; v < 3; v++)
		assert_true(w.model->confidence.reach[v] == w.times.reach[v]);
	assert_true(w.times.reach[0] > 0 || w.times.reach[2] > 0);
	for (size_t i = 0; i < sizeof(asked) / sizeof(*asked); i++) {
		const double value[] = {asked[i].k, asked[i].i};
		struct foresee f;
		const char *outside;

		assert_int_equal(foresee_open(&f, w.model, asked[i].ranks, (const char *[]){"K", "I"}, value, 2, false, &w.err), 0);
		assert_int_equal(foresee_place(&f, 2, &w.err), 0);
		outside = foresee_outside(&f);
		assert_true(!outside == !asked[i].outside);
		if (outside)
			assert_string_equal(outside, asked[i].outside);
		assert_true(fabs(foresee_error(&f) / expm1(hypot(log1p(w.times.worst_error), wider(&w, asked[i].more_k, asked[i].more_ranks))) - 1) < 1e-9);
		foresee_close(&f);
	}
	world_forget(&w);
}

/* Without crowded runs that could be left out nothing says what more ranks do: no law but that time may go with them. */
static void test_reach_unknown(void **state)
{
	static const double k[6] = {50, 30, 60, 40, 50, 30};
	struct trace *t[6];
	struct world w;

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		t[i] = yielding(i < 3 ? 2 : 4, 2, (uint32_t)yield_size[i], (uint32_t)k[i], 1);
	if (world_learn(&w, 1, t, yield_size, k, 6) < 0)
		fail_msg("%s", w.err.text);
	assert_true(w.times.reach[2] == 1);
	world_forget(&w);
}

/* ---- messages at which a rank gives its processor up ---- */

#define JUMP 32 /* elements */

static uint64_t jump_ns(uint32_t count)
{
	return 300 + (count > JUMP ? 5000 : 0);
}

/* Two messages a step, of a size and of the rank's part of it, of ranks that share one processor. */
static struct trace *jumping(uint32_t ranks, uint32_t size, uint32_t steps, double *own_s)
{
	struct syn *s = syn_create(ranks);
	struct trace *t;

	*own_s = 0;
	syn_begin(s);
	for (uint32_t r = 0; r < ranks; r++) {
		uint32_t part = size * (r + 1) / ranks - size * r / ranks;
		uint64_t gap = 10 * size, whole = jump_ns(size), less = jump_ns(part), own = 2 * gap + whole + less;

		for (uint32_t i = 0; i < steps; i++) {
			syn_call(s, r, "MPI_Send", 1, SYN(.count = size, .gap_ns = gap, .dur_ns = whole + (ranks - 1) * own));
			syn_call(s, r, "MPI_Send", 2, SYN(.count = part, .gap_ns = gap, .dur_ns = less));
		}
		seat(s, r, "a", 1, 1, 2);
		syn_delayed(s, r, (ranks - 1) * own * steps);
		*own_s += (double)(own * steps) * 1e-9;
	}
	syn_end(s);
	t = syn_open(s);
	syn_destroy(s);
	return t;
}

/* Sizes on both sides of the jump tell it from a slope; of the second message one run alone is above it. */
static void test_jump(void **state)
{
	static const double k[6] = {24, 30, 70, 24, 30, 70}, i[6] = {300, 200, 260, 240, 300, 200};
	static const struct {
		uint32_t ranks, k;
	} asked[] = {{2, 35}, {2, 60}, {2, 68}, {4, 33}, {4, 66}, {4, 28}, {8, 31}, {8, 36}};
	struct trace *t[6];
	struct world w;
	double is;

	(void)state;
	for (uint32_t n = 0; n < 6; n++)
		t[n] = jumping(n < 3 ? 2 : 4, (uint32_t)k[n], (uint32_t)i[n], &is);
	if (world_learn(&w, 1, t, k, i, 6) < 0)
		fail_msg("%s", w.err.text);
	for (size_t n = 0; n < sizeof(asked) / sizeof(*asked); n++) {
		double said = world_seconds(&w, asked[n].ranks, 0, asked[n].k, 250, NULL);

		trace_close(jumping(asked[n].ranks, asked[n].k, 250, &is));
		if (!(fabs(said / is - 1) < 0.05))
			fail_msg("%u on %u ranks: %g s, predicted %g s", asked[n].k, asked[n].ranks, is, said);
	}
	world_forget(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_cut),	  cmocka_unit_test(test_preempted), cmocka_unit_test(test_places),
	    cmocka_unit_test(test_turns), cmocka_unit_test(test_unseen),    cmocka_unit_test(test_different),
	    cmocka_unit_test(test_yielding), cmocka_unit_test(test_rounds), cmocka_unit_test(test_interval), cmocka_unit_test(test_reach_unknown),
	    cmocka_unit_test(test_jump), cmocka_unit_test(test_lost),
	    cmocka_unit_test(test_least),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
