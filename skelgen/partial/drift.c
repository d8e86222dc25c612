/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Drift of the main loop in the trace: the change from the iterations in the windows of a partial execution to the
 * iterations behind the windows. See partial.h.
 *
 * The traced run had disturbances that are no property of the program. Time that other processes had a rank's processor
 * is subtracted. Computation is taken from the rank that computes most, calls from the rank that waits least.
 *
 * A change counts only beyond chance. Chance is estimated by the mean square of successive differences between blocks of
 * iterations; a drift or a phase adds little to this figure. If the windows of this run follow the windows of the traced
 * run, the iterations differ in the program itself, and chance is smaller. The weight of a change shrinks a mean towards
 * zero, as in predictor/estimate/estimate.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "skelgen/partial/impl.h"
#include "skelgen/timing/timed_walk.h"

#define BLOCKS_REST  64	/* at most, behind the windows */
#define BLOCKS	     (PARTIAL_BATCHES + BLOCKS_REST)
#define LEAST_WORK   0.05 /* least deviation of computation by chance, as a logarithm */
#define LEAST_CALLS  0.2  /* the same of calls */
#define CHANCE	     2.0  /* times the deviation of a block */
#define ALIKE	     0.03 /* relative deviation of a window's computation that has no meaning */
/* Square of the correlation between the windows of this run and of the trace: the least that counts, and a sure relation. */
#define FOLLOWS_LEAST 0.6
#define FOLLOWS	     0.9

/* Mean iteration of each block, ns: computation of the rank that has most of it, calls of the rank that has least. */
struct blocks {
	uint32_t n;
	double work[BLOCKS], calls[BLOCKS];
	uint64_t iterations[BLOCKS]; /* of which times are known; 0: of none */
};

/* One rank's. */
struct rank_blocks {
	double work[BLOCKS], calls[BLOCKS];
	uint64_t iterations[BLOCKS];
	uint64_t made[PARTIAL_BATCHES + 1]; /* of each window, and behind them: also those without known times */
};

static uint32_t blocks_count(const struct partial_plan *p)
{
	uint64_t window = (p->at[PARTIAL_MARKS - 1] - p->at[0]) / PARTIAL_BATCHES, rest = p->iterations - p->at[PARTIAL_MARKS - 1];
	uint64_t n = window ? rest / window : rest;

	return PARTIAL_BATCHES + (uint32_t)(!rest ? 0 : n < 1 ? 1 : n < BLOCKS_REST ? n : BLOCKS_REST);
}

/* iteration >= p->at[0] */
static uint32_t block_of(const struct partial_plan *p, uint32_t n, uint64_t iteration)
{
	uint64_t behind = p->at[PARTIAL_MARKS - 1];
	uint32_t b = 0;

	if (iteration >= behind)
		return PARTIAL_BATCHES + (uint32_t)((unsigned __int128)(iteration - behind) * (n - PARTIAL_BATCHES) / (p->iterations - behind));
	while (iteration >= p->at[b + 1])
		b++;
	return b;
}

/* One iteration, while it lasts. */
struct iteration {
	uint64_t number;
	double work, calls;
	bool known;
};

static void iteration_add(const struct partial_plan *p, uint32_t n, const struct iteration *i, struct rank_blocks *k)
{
	uint32_t b;

	if (i->number < p->at[0] || i->number >= p->iterations)
		return;
	b = block_of(p, n, i->number);
	k->made[b < PARTIAL_BATCHES ? b : PARTIAL_BATCHES]++;
	if (!i->known)
		return;
	k->work[b] += i->work;
	k->calls[b] += i->calls;
	k->iterations[b]++;
}

/* Sums of one rank. *loop_ns: wall time of the rank in the main loop behind the last mark, ns. */
static int rank_sums(const struct skel_tree *tree, const struct skel_node *loop, uint32_t rank, const struct partial_plan *p, uint32_t n,
		     struct rank_blocks *k, double *loop_ns, struct errbuf *err)
{
	struct iteration now = {.number = UINT64_MAX};
	double recorder_ns = partial_recorder_ns(trace_get_rank(tree->trace, rank));
	uint64_t number = 0, enter, leave, gap, before = 0;
	struct timed_walk w;
	int rv;

	memset(k, 0, sizeof(*k));
	*loop_ns = 0;
	if (timed_walk_begin(&w, tree, rank, false, err) < 0)
		return -1;
	while ((rv = timed_walk_next(&w, err)) == 1) {
		own_iter_when(w.times, &enter, &leave, &gap);
		if (partial_iteration_now(&w.tree, loop, &number)) {
			if (number != now.number) {
				iteration_add(p, n, &now, k);
				now = (struct iteration){.number = number, .known = true};
			}
			now.work += (double)w.ev.gap_ns;
			now.calls += (double)w.ev.dur_ns;
			now.known = now.known && w.known;
			if (number >= p->at[PARTIAL_MARKS - 1] && leave > before)
				*loop_ns += fmax(0, (double)(leave - before) - recorder_ns);
		}
		before = leave > before ? leave : before;
	}
	iteration_add(p, n, &now, k);
	timed_walk_end(&w);
	return rv;
}

static void blocks_join(struct blocks *b, const struct rank_blocks *k)
{
	for (uint32_t i = 0; i < b->n; i++) {
		double n = (double)k->iterations[i];

		if (!k->iterations[i])
			continue;
		b->work[i] = fmax(b->work[i], k->work[i] / n);
		b->calls[i] = b->iterations[i] ? fmin(b->calls[i], k->calls[i] / n) : k->calls[i] / n;
		b->iterations[i] = k->iterations[i] > b->iterations[i] ? k->iterations[i] : b->iterations[i];
	}
}

struct partial_change partial_change_of(const double *v, const uint64_t *weight, uint32_t n, double least)
{
	double sum[2] = {0, 0}, of[2] = {0, 0}, sq = 0;
	uint32_t pairs = 0, last = n;

	for (uint32_t b = 0; b < n; b++) {
		int rest = b >= PARTIAL_BATCHES;

		if (!weight[b])
			continue;
		sum[rest] += v[b] * (double)weight[b];
		of[rest] += (double)weight[b];
		if (!(v[b] > 0))
			continue;
		if (last < n) {
			sq += pow(log(v[b] / v[last]), 2);
			pairs++;
		}
		last = b;
	}
	if (!(sum[0] > 0) || !(sum[1] > 0) || !pairs)
		return (struct partial_change){0, 0};
	return (struct partial_change){log(sum[1] / of[1] / (sum[0] / of[0])), hypot(least, CHANCE * sqrt(sq / 2 / pairs))};
}

/* Do the calls differ between iterations, in their parameters or their number? */
static bool calls_vary(const struct skel_node *n)
{
	if (n->kind == SKEL_LEAF)
		return n->varies;
	if (n->kind == SKEL_LOOP && n->turns)
		return true;
	for (uint32_t i = 0; i < n->n_child; i++)
		if (calls_vary(n->child[i]))
			return true;
	return false;
}

static bool loop_varies(const struct skel_node *loop)
{
	for (uint32_t i = 0; i < loop->n_child; i++)
		if (calls_vary(loop->child[i]))
			return true;
	return false;
}

int partial_drift_collect(const struct skel_tree *tree, const struct skel_node *loop, struct partial_plan *p, struct errbuf *err)
{
	struct blocks *all = calloc(1, sizeof(*all));
	struct rank_blocks *one = malloc(sizeof(*one));
	int rv = all && one ? 0 : err_set(err, "no memory for the iterations' times");

	if (!rv)
		all->n = blocks_count(p);
	for (uint32_t r = 0; r < tree->n_ranks && !rv; r++) {
		rv = rank_sums(tree, loop, r, p, all->n, one, &p->loop_ns[r], err);
		if (!rv)
			blocks_join(all, one);
		for (uint32_t b = 0; b <= PARTIAL_BATCHES && !rv; b++)
			p->made[b] = one->made[b] > p->made[b] ? one->made[b] : p->made[b];
	}
	if (!rv) {
		memcpy(p->window_work_ns, all->work, sizeof(p->window_work_ns));
		p->work = partial_change_of(all->work, all->iterations, all->n, LEAST_WORK);
		if (loop_varies(loop))
			p->calls = partial_change_of(all->calls, all->iterations, all->n, LEAST_CALLS);
	}
	free(all);
	free(one);
	return rv;
}

double partial_change_beyond(const struct partial_change *c)
{
	double d = fabs(c->log);

	return d > c->chance && isfinite(d) ? 1 - c->chance * c->chance / (d * d) : 0;
}

/* Regression of the windows of this run on the windows of the trace, both as deviations from their mean.
 *     slope   slope of the regression
 *     square  square of the correlation
 *     differ  how much the windows of the trace differ, 0 .. 1 */
struct likeness {
	double slope, square, differ;
};

static struct likeness windows_alike(const struct partial_plan *p, const struct stop_marks *m)
{
	double x[PARTIAL_BATCHES], y[PARTIAL_BATCHES], sx = 0, sy = 0, xx = 0, xy = 0, yy = 0;
	const double n = PARTIAL_BATCHES, nothing = n * ALIKE * ALIKE;

	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
		double most = 0;

		for (uint32_t r = 0; r < m->n_ranks; r++)
			most = fmax(most, (double)(m->rank[r].gap_ns[b + 1] - m->rank[r].gap_ns[b]));
		x[b] = p->window_work_ns[b];
		y[b] = most / (double)p->made[b];
		if (!(x[b] > 0) || !(y[b] > 0))
			return (struct likeness){0, 0, 0};
		sx += x[b];
		sy += y[b];
	}
	for (uint32_t b = 0; b < PARTIAL_BATCHES; b++) {
		double dx = x[b] * n / sx - 1, dy = y[b] * n / sy - 1;

		xx += dx * dx;
		xy += dx * dy;
		yy += dy * dy;
	}
	if (!(xy > 0))
		return (struct likeness){0, 0, 0};
	return (struct likeness){fmin(1, xy / (xx + nothing)), xy * xy / (xx * yy), xx / (xx + nothing)};
}

double partial_work_trust(const struct partial_plan *p, const struct stop_marks *m)
{
	const double n = PARTIAL_BATCHES;
	struct likeness l = windows_alike(p, m);
	double strange = fmin(1, (1 - l.square) * (n - 1) / (n - 2)); /* of the squares: not the program's */
	double ramp = fmax(0, fmin(1, (l.square - FOLLOWS_LEAST) / (FOLLOWS - FOLLOWS_LEAST)));
	struct partial_change c = p->work;

	c.chance = fmax(fmin(LEAST_WORK, c.chance), c.chance * sqrt(1 - l.differ * (1 - strange)));
	return fmax(partial_change_beyond(&c), l.slope * ramp);
}
