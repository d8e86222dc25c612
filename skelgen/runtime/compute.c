/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute blocks: which kernel, how many units. The shares of the classes are kept by credit: a slice goes to the class
 * that is owed most.
 */
#include "skelgen/runtime/compute.h"

#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "skelgen/runtime/data.h"
#include "skelgen/runtime/own_clock.h"
#include "skelgen/runtime/threads.h"

#define SLICE_LEAST_NS 2000.0   /* classes take turns no faster */
#define SLICE_MOST_NS  100000.0 /* and no slower */
#define LEAST_NS       60.0     /* shorter blocks wait for the next */
#define DEBT_NS        5000.0   /* most that is carried from block to block */
#define SLEEP_LEAST_NS 100000.0 /* a shorter sleep is no sleep */
#define OFF_LEAST      0.01     /* less of a block's time is not known to be slept */
#define TIMED_LEAST_NS 4000.0   /* of shorter blocks the clock would be too much: of these, */
#define SOME_LEAST_NS  400.0    /* that are longer than the clock is coarse, */
#define SOME_EVERY     17       /* one in so many is timed (a prime, for loops of a few blocks), */
#define CLOCK_MOST_NS  100.0    /* unless a look at the clock takes longer than that */
#define LEARN_MOST     4.0      /* one block says no more than that it took so many times as long, or as short */
#define LONG_NS        2e6      /* of blocks from here on it is known how long they had no processor; shorter ones, */
#define LATE_NS        100e3    /* when they took so much longer than they should have */
#define LEARN_MEMORY   16       /* blocks that are remembered, */
#define LEARN_TRUST    2        /* and as how many of them the calibration counts */
#define SLICE_EVERY    8        /* of a run's slices one in so many is timed, at random: classes come in turns; */
#define SLICE_TRUST_NS 10e3     /* what was known before counts as so much time of a class */

/* One thread's kernels, and the time that each class of each mix is owed. */
struct worker {
	struct kernel *kernel;
	double credit[COMPUTE_MIXES][CLASS_N];
	double left; /* of the last piece of work */
};

static struct {
	struct calibration cal;
	struct compute_mix mix[COMPUTE_MIXES];
	int n_mix, n_worker;
	int n_class[COMPUTE_MIXES];          /* with weight */
	uint8_t order[COMPUTE_MIXES][CLASS_N]; /* these classes */
	double asleep_ns[COMPUTE_MIXES];     /* gathered */
	double carry_ns;
	struct compute_spent spent;
	double clock_ns; /* what a look at the clock takes */
	unsigned some;   /* short blocks since one was timed, */
	double some_ns;  /* and the time that they should have taken */
	int learns, slices; /* blocks are learnt from; of so many slices one */
	uint32_t draw;
	/* What timed slices should have taken by the curves, and took. */
	double slice_ns[COMPUTE_MIXES][CLASS_N], slice_took_ns[COMPUTE_MIXES][CLASS_N];
	double slice_delayed_ns; /* without a processor in all, at the last look for a slice */
	double looks_ns; /* what looks at the clock took of this block */
	double delayed_ns; /* without a processor in all, at the last look */
	uint32_t learnt[COMPUTE_MIXES][BLOCK_POINTS]; /* blocks that each point is corrected by */
	/* What later blocks should have taken, and the work, by the curves, that they did for it. */
	double asked_ns[COMPUTE_MIXES][BLOCK_POINTS], work_ns[COMPUTE_MIXES][BLOCK_POINTS];
	struct worker *worker;
} state;

/* ---- curves ---- */

double curve_ns(const struct curve *c, double units)
{
	int i = 0;

	if (units <= 0)
		return 0;
	if (units < 1)
		return c->ns[0] * units;
	while (i < CURVE_POINTS - 2 && units >= (double)(2ull << i))
		i++;
	double u0 = (double)(1ull << i);

	return c->ns[i] + (units - u0) / u0 * (c->ns[i + 1] - c->ns[i]);
}

double curve_units(const struct curve *c, double ns)
{
	int i = 0;

	if (ns <= c->ns[0])
		return ns > 0 && c->ns[0] > 0 ? ns / c->ns[0] : 0;
	while (i < CURVE_POINTS - 2 && ns >= c->ns[i + 1])
		i++;
	double u0 = (double)(1ull << i), step = c->ns[i + 1] - c->ns[i];

	return step > 0 ? u0 + u0 * (ns - c->ns[i]) / step : u0;
}

double curve_ns_per_unit(const struct curve *c)
{
	return (c->ns[CURVE_POINTS - 1] - c->ns[CURVE_POINTS - 2]) / (double)(1ull << (CURVE_POINTS - 2));
}

/* The curves keep what a kernel takes by itself: they only turn work into units. */
void calibration_scale(struct calibration *c, double factor)
{
	for (int m = 0; m < c->n_mix; m++)
		for (int i = 0; i < BLOCK_POINTS; i++)
			c->block_ns[m][i] *= factor;
}

/* ---- mixes ---- */

int compute_mix_read(const double *number, struct compute_mix *out)
{
	double sum = 0, kept = 0, off = number[DATA_MIX_OFF_CPU], threads = number[DATA_MIX_THREADS];

	for (int c = 0; c < CLASS_N; c++) {
		if (!(number[c] >= 0 && number[c] <= 1))
			return -1;
		sum += number[c];
	}
	if (!(sum > 0.9 && sum < 1.1) || !(off >= 0 && off <= 1) || !(threads >= 0 && threads <= 1e6))
		return -1;
	for (int c = 0; c < CLASS_N; c++)
		kept += number[c] >= COMPUTE_LEAST_SHARE * sum ? number[c] : 0;
	for (int c = 0; c < CLASS_N; c++)
		out->share[c] = number[c] >= COMPUTE_LEAST_SHARE * sum ? number[c] / kept : 0;
	out->off_cpu = off >= OFF_LEAST ? off : 0;
	out->threads = threads <= 1.5 ? 1 : threads >= THREADS_MOST ? THREADS_MOST : (int)(threads + 0.5);
	return 0;
}

unsigned compute_classes(const struct compute_mix *mix, int n)
{
	unsigned classes = 0;

	for (int m = 0; m < n; m++)
		for (int c = 0; c < CLASS_N; c++)
			if (mix[m].share[c] > 0)
				classes |= 1u << c;
	return classes;
}

/* ---- workers ---- */

/* The threads beside the first share the caches that ranks share. */
static void shape_for_thread(const struct kernel_shape *s, int threads, struct kernel_shape *out)
{
	*out = *s;
	for (int l = LEVEL_L3; l < LEVEL_N; l++) {
		out->bytes[l] = s->bytes[l] / (uint64_t)threads / LEVEL_UNIT * LEVEL_UNIT;
		if (out->bytes[l] < s->bytes[LEVEL_L2])
			out->bytes[l] = s->bytes[LEVEL_L2] < s->bytes[l] ? s->bytes[LEVEL_L2] : s->bytes[l];
	}
}

struct making {
	struct kernel_shape shape;
	unsigned classes;
};

/* Each thread touches its own memory first, so that it lies near. */
static void worker_make(void *arg, int index)
{
	const struct making *m = arg;

	if (state.worker[index].kernel == NULL)
		state.worker[index].kernel = kernel_create(&m->shape, m->classes);
}

static void mixes_take(const struct compute_mix *mix, int n)
{
	state.n_mix = n;
	memcpy(state.mix, mix, (size_t)n * sizeof *mix);
	for (int m = 0; m < n; m++) {
		state.n_class[m] = 0;
		for (int c = 0; c < CLASS_N; c++)
			if (mix[m].share[c] > 0)
				state.order[m][state.n_class[m]++] = (uint8_t)c;
	}
}

int compute_open(const struct compute_mix *mix, int n, const struct kernel_shape *shape)
{
	struct making alone = {.classes = compute_classes(mix, n)}, shared = {.classes = 0};
	int threads = 1;

	if (n < 1 || n > COMPUTE_MIXES)
		return -1;
	compute_close();
	mixes_take(mix, n);
	for (int m = 0; m < n; m++) {
		if (mix[m].threads > 1)
			shared.classes |= compute_classes(&mix[m], 1);
		threads = mix[m].threads > threads ? mix[m].threads : threads;
	}
	state.worker = calloc((size_t)threads, sizeof *state.worker);
	if (state.worker == NULL)
		return -1;
	state.n_worker = threads;
	state.clock_ns = calibrate_clock();
	alone.shape = *shape;
	shape_for_thread(shape, threads, &shared.shape);
	worker_make(&alone, 0);
	if (threads > 1 && threads_open(threads) == threads)
		threads_run(threads, worker_make, &shared);
	for (int i = 0; i < threads; i++)
		if (state.worker[i].kernel == NULL) {
			compute_close();
			return -1;
		}
	return 0;
}

void compute_close(void)
{
	threads_close();
	own_clock_close();
	for (int i = 0; i < state.n_worker; i++)
		kernel_destroy(state.worker[i].kernel);
	free(state.worker);
	memset(&state, 0, sizeof state);
}

void compute_use(const struct calibration *c)
{
	state.cal = *c;
	for (int i = 0; i < state.n_worker; i++)
		memset(state.worker[i].credit, 0, sizeof state.worker[i].credit);
	memset(state.asleep_ns, 0, sizeof state.asleep_ns);
	state.carry_ns = 0;
}

void compute_learn_slices(int every)
{
	state.slices = state.clock_ns <= CLOCK_MOST_NS ? every : 0;
	state.draw = 1;
	state.slice_delayed_ns = own_clock_delayed_ns();
	for (int m = 0; m < state.n_mix; m++)
		for (int c = 0; c < CLASS_N; c++) {
			state.slice_ns[m][c] = SLICE_TRUST_NS / state.cal.among[m][c];
			state.slice_took_ns[m][c] = SLICE_TRUST_NS;
		}
}

void compute_learn(void)
{
	compute_learn_slices(SLICE_EVERY);
	state.learns = 1;
	state.delayed_ns = own_clock_delayed_ns();
	memset(state.learnt, 0, sizeof state.learnt);
	memset(state.asked_ns, 0, sizeof state.asked_ns);
	memset(state.work_ns, 0, sizeof state.work_ns);
}

/* The inverse must exist. */
static void points_ascend(double *t, int from)
{
	for (int k = from > 0 ? from : 1; k < BLOCK_POINTS; k++)
		if (t[k] < t[k - 1] * 1.01)
			t[k] = t[k - 1] * 1.01;
}

void compute_learnt(struct calibration *out)
{
	*out = state.cal;
	for (int m = 0; m < state.n_mix; m++) {
		for (int k = 0; k < BLOCK_POINTS; k++)
			if (state.work_ns[m][k] > 0)
				out->block_ns[m][k] = BLOCK_LEAST_NS * (double)(1ull << k) * state.asked_ns[m][k] / state.work_ns[m][k];
		points_ascend(out->block_ns[m], 0);
	}
}

double compute_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

struct kernel *compute_kernel(void)
{
	return state.worker[0].kernel;
}

double compute_digest(void)
{
	double sum = 0;

	for (int i = 0; i < state.n_worker; i++)
		sum += kernel_digest(state.worker[i].kernel);
	return sum;
}

/* ---- blocks ---- */

/* The class that is owed most when `turn` more has been shared out; *slice: how much. A class of small share takes short
 * turns often, as in the program. A long turn now and then would find its memory cold and delay other ranks. */
static int class_owed_most(const struct worker *w, int mix, double turn, double *slice)
{
	const double *credit = w->credit[mix], *share = state.mix[mix].share;
	int best = state.order[mix][0];

	*slice = credit[best] + share[best] * turn;
	for (int i = 1; i < state.n_class[mix]; i++) {
		int c = state.order[mix][i];

		if (credit[c] + share[c] * turn > *slice) {
			best = c;
			*slice = credit[c] + share[c] * turn;
		}
	}
	*slice = *slice < SLICE_LEAST_NS ? SLICE_LEAST_NS : *slice > turn ? turn : *slice;
	return best;
}

static void credit_all(struct worker *w, int mix, double done)
{
	for (int i = 0; i < state.n_class[mix]; i++)
		w->credit[mix][state.order[mix][i]] += state.mix[mix].share[state.order[mix][i]] * done;
}

/* Work, by the curves, of a block that shall take ns. */
static double block_work(int mix, double ns)
{
	const double *t = state.cal.block_ns[mix];
	double w = BLOCK_LEAST_NS;
	int i = 0;

	if (ns <= t[0])
		return w * ns / t[0];
	if (ns >= t[BLOCK_POINTS - 1])
		return BLOCK_LEAST_NS * (double)(1ull << (BLOCK_POINTS - 1)) * (ns / t[BLOCK_POINTS - 1]);
	while (ns >= t[i + 1])
		i++;
	w *= (double)(1ull << i);
	return w + w * (ns - t[i]) / (t[i + 1] - t[i]);
}

static double credible(double ratio)
{
	return ratio > LEARN_MOST ? LEARN_MOST : ratio < 1 / LEARN_MOST ? 1 / LEARN_MOST : ratio;
}

static void among_learn(int mix, int c)
{
	state.cal.among[mix][c] = fmin(fmax(state.slice_took_ns[mix][c] / state.slice_ns[mix][c], 1 / AMONG_MOST), AMONG_MOST);
}

/* A slice should have taken want_ns by its curve, and took took_ns. From a late slice the time that others had the processor
 * is taken off. Threads of a block read the factor: it changes after the block. */
static void slice_learn(int mix, int c, double want_ns, double took_ns)
{
	double late = took_ns - want_ns * state.cal.among[mix][c], before = state.slice_delayed_ns;

	if (late > LATE_NS) {
		state.slice_delayed_ns = own_clock_delayed_ns();
		took_ns -= fmin(late, state.slice_delayed_ns - before);
	}
	state.slice_ns[mix][c] += want_ns;
	state.slice_took_ns[mix][c] += took_ns;
	if (state.mix[mix].threads <= 1)
		among_learn(mix, c);
}

/* By the first thread: the curves are of its share of the caches. */
static int is_slice_timed(const struct worker *w, double ns)
{
	if (state.slices == 0 || w != state.worker || ns < SOME_LEAST_NS)
		return 0;
	state.draw = state.draw * 1664525u + 1013904223u;
	return (state.draw >> 16) % (uint32_t)state.slices == 0;
}

/* What a slice takes by its curve, or somewhat more or less; how long it should take is returned. */
static double slice_run(struct worker *w, int mix, int c, double ns)
{
	double among = state.cal.among[mix][c], units = fmax(1, floor(curve_units(&state.cal.kernel[c], ns / among) + 0.5)), begin;

	ns = curve_ns(&state.cal.kernel[c], units);
	if (is_slice_timed(w, ns * among)) {
		begin = compute_clock_ns();
		kernel_run(w->kernel, c, (uint64_t)units);
		slice_learn(mix, c, ns, compute_clock_ns() - begin - state.clock_ns);
		state.looks_ns += 2 * state.clock_ns;
	} else {
		kernel_run(w->kernel, c, (uint64_t)units);
	}
	return ns * among;
}

/* Do that much work by the curves; the rest that rounding leaves, or has taken. */
static double work(struct worker *w, int mix, double left)
{
	double turn = left / (2 * state.n_class[mix]);

	turn = turn < SLICE_LEAST_NS ? SLICE_LEAST_NS : turn > SLICE_MOST_NS ? SLICE_MOST_NS : turn;
	do {
		double slice, done;
		int c = class_owed_most(w, mix, turn, &slice);

		done = slice_run(w, mix, c, slice < left ? slice : left);
		credit_all(w, mix, done);
		w->credit[mix][c] -= done;
		left -= done;
	} while (left >= LEAST_NS);
	return left;
}

struct region {
	int mix;
	double ns;
};

static void work_part(void *arg, int index)
{
	const struct region *r = arg;
	struct worker *w = &state.worker[index];

	w->left = work(w, r->mix, r->ns);
}

/* Threads need time to come together: a block shorter than that is one thread's. */
static double work_threads(int mix, double ns, double work_ns)
{
	struct region r = {mix, work_ns};

	if (r.ns < BLOCK_LEAST_NS)
		return work(&state.worker[0], mix, ns);
	threads_run(state.mix[mix].threads, work_part, &r);
	return state.worker[0].left;
}

/* A block that should have taken want_ns, and did so much work for it, took took_ns: the points beside it are corrected,
 * the nearer the more. */
static void learn(int mix, double want_ns, double work_ns, double took_ns)
{
	double *t = state.cal.block_ns[mix], ratio = credible(took_ns / want_ns), near;
	int i = 0;

	while (i < BLOCK_POINTS - 1 && want_ns >= t[i + 1])
		i++;
	near = i < BLOCK_POINTS - 1 && want_ns > t[i] ? (want_ns - t[i]) / (t[i + 1] - t[i]) : 0;
	for (int k = i; k < BLOCK_POINTS && k <= i + 1; k++) {
		double weight = k == i ? 1 - near : near;
		uint32_t n = state.learnt[mix][k] < LEARN_MEMORY - LEARN_TRUST ? ++state.learnt[mix][k] : state.learnt[mix][k];

		t[k] *= 1 + weight * (ratio - 1) / (n + LEARN_TRUST);
		if (n == LEARN_MEMORY - LEARN_TRUST) { /* before that, they are far off */
			state.asked_ns[mix][k] += weight * want_ns;
			state.work_ns[mix][k] += weight * work_ns;
		}
	}
	points_ascend(t, i);
}

/* Is this block timed? All long ones are, and some of the short ones. */
static int is_timed(double want)
{
	if (want >= TIMED_LEAST_NS)
		return 1;
	if (want < SOME_LEAST_NS || state.clock_ns > CLOCK_MOST_NS || ++state.some < SOME_EVERY)
		return 0;
	state.some = 0;
	return 1;
}

/* The time for which a block had a processor. Traced gaps are without the rest too. */
static double own_time(double asked, double took)
{
	double now, delayed;

	if (asked < LONG_NS && took - asked < LATE_NS)
		return took;
	now = own_clock_delayed_ns();
	delayed = now - state.delayed_ns;
	state.delayed_ns = now;
	/* The last look before a short block is long ago: waiting in calls between is not its own. */
	return asked < LONG_NS ? took - fmin(delayed, took - asked) : fmax(0, took - delayed);
}

/* A timed block is over. The cost of the looks is not taken from the next block: the ranks' blocks stay the same. */
static void timed_account(int mix, double asked, double work_ns, double took)
{
	int some = asked < TIMED_LEAST_NS;

	took -= state.looks_ns + (some ? state.clock_ns : 0);
	if (some) {
		/* It stands for those before it. */
		state.spent.took_ns += credible(took / asked) * (asked + state.some_ns);
		state.spent.asked_ns += asked + state.some_ns;
		state.spent.short_ns -= state.some_ns;
		state.some_ns = 0;
	} else {
		state.spent.took_ns += took;
		state.spent.asked_ns += asked;
	}
	if (state.learns)
		learn(mix, asked, work_ns, own_time(asked, took));
}

void compute_block(int mix, double ns)
{
	double want = ns + state.carry_ns, asked = want, begin = 0, work_ns = 0;

	if (mix < 0 || mix >= state.n_mix)
		mix = 0;
	if (want >= LEAST_NS)
		work_ns = block_work(mix, want);
	if (state.learns && want >= LONG_NS)
		state.delayed_ns = own_clock_delayed_ns();
	state.looks_ns = 0;
	if (is_timed(want))
		begin = compute_clock_ns();
	if (want < LEAST_NS)
		want -= state.cal.call_ns;
	else if (state.mix[mix].threads > 1)
		want = work_threads(mix, want, work_ns);
	else
		want = work(&state.worker[0], mix, work_ns);
	if (begin > 0) {
		timed_account(mix, asked, work_ns, compute_clock_ns() - begin);
	} else if (ns > 0) {
		state.spent.short_ns += ns;
		state.some_ns += asked >= SOME_LEAST_NS ? ns : 0;
	}
	if (state.looks_ns > 0)
		for (int i = 0; i < state.n_class[mix]; i++)
			among_learn(mix, state.order[mix][i]);
	state.carry_ns = want < -DEBT_NS ? -DEBT_NS : want;
}

void compute_spent(struct compute_spent *out)
{
	*out = state.spent;
}

double compute_work_ns(int mix, double ns)
{
	return mix >= 0 && mix < state.n_mix ? ns * (1 - state.mix[mix].off_cpu) : ns;
}

double compute_sleep_ns(int mix, double ns)
{
	double *gathered, sleep;

	if (mix < 0 || mix >= state.n_mix || state.mix[mix].off_cpu <= 0)
		return 0;
	gathered = &state.asleep_ns[mix];
	sleep = *gathered += ns * state.mix[mix].off_cpu;
	if (sleep < SLEEP_LEAST_NS)
		return 0;
	*gathered = 0;
	state.spent.took_ns += sleep;
	state.spent.asked_ns += sleep;
	return sleep;
}
