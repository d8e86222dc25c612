/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops of which a sample runs. Iteration 0 is the warm-up and stands for itself; the n others stand for the N - 1
 * that are left, spread evenly. When the loop ends, the virtual clock is put forward by the time of the iterations
 * left out: (N - 1) / n times the window, less the window. Windows are measured on the virtual clock, so that a loop
 * inside a loop is accounted for recursively.
 *
 * The spread of up to MAX_BATCH batch means gives the half-width of a 95 % interval (Student's t, with the correction
 * 1 - n / (N - 1) for a finite population). Half-widths of successive loops add in quadrature; a loop's own batches
 * hold the variation of the loops inside it.
 */
#include <math.h>
#include <stdlib.h>

#include "skelgen/runtime/runtime.h"

#define MAX_BATCH 10

struct skel_loop_state *skel_loops;
uint64_t skel_position;

static double bonus_ns;  /* virtual minus real time */
static double width2_ns2;

static const double student95[MAX_BATCH] = {0, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262};

void skel_loops_open(int n)
{
	if (n < 0 || n > SKEL_MAX_LOOPS)
		skel_fail("skeleton has %d loops: more than %d", n, SKEL_MAX_LOOPS);
	skel_loops = skel_alloc((size_t)n + 1, sizeof *skel_loops);
	skel_position = 0;
	bonus_ns = 0;
	width2_ns2 = 0;
}

void skel_loops_close(void)
{
	free(skel_loops);
	skel_loops = NULL;
}

double skel_virtual_ns(void)
{
	return skel_clock_ns() + bonus_ns;
}

double skel_width2_ns2(void)
{
	return width2_ns2;
}

void skel_loop(int id, uint64_t total, uint64_t run)
{
	struct skel_loop_state *l = &skel_loops[id];

	if (run < 2 || run > total)
		run = total;
	l->total = total;
	l->run = run;
	l->next = 0;
	l->end = total;
	l->saved_base = skel_position;
	l->base = skel_position * total;
	l->consecutive = 0;
	l->visits++;
	if (run != total) {
		uint64_t n = run - 1;

		l->n_batch = n >= 4 ? (int)(n / 2 < MAX_BATCH ? n / 2 : MAX_BATCH) : (int)n;
		l->batch = 0;
		l->batch_sum_ns = l->batch_sumsq_ns = 0;
		l->width2_before = width2_ns2;
	}
}

void skel_loop_first(int id, uint64_t total, uint64_t run)
{
	skel_loop(id, total, run);
	skel_loops[id].consecutive = 1;
}

/* Iterations of batches 0 .. b - 1, of n in all. */
static uint64_t batch_bound(const struct skel_loop_state *l, int b)
{
	return (uint64_t)b * (l->run - 1) / (uint64_t)l->n_batch;
}

static void batch_close(struct skel_loop_state *l, double now)
{
	uint64_t k = batch_bound(l, l->batch + 1) - batch_bound(l, l->batch);
	double mean = (now - l->batch_start_ns) / (double)k;

	l->batch_sum_ns += mean;
	l->batch_sumsq_ns += mean * mean;
	l->batch_start_ns = now;
	l->batch++;
}

static void loop_close(struct skel_loop_state *l, double now)
{
	double left = (double)(l->total - 1), n = (double)(l->run - 1), b = l->n_batch;
	double window = now - l->warm_end_ns, virtual = window * left / n;

	if (l->n_batch >= 2) {
		double mean = l->batch_sum_ns / b;
		double var = (l->batch_sumsq_ns / b - mean * mean) * b / (b - 1);
		double half = var > 0 ? student95[l->n_batch - 1] * left * sqrt(var / b * (1 - n / left)) : 0;

		width2_ns2 = l->width2_before + half * half;
	}
	bonus_ns += virtual - window;
	l->window_ns += window;
	l->virtual_ns += virtual;
	l->iterations_run += l->run;
	skel_position = l->saved_base;
}

/* Iteration that executed iteration j >= 1 stands for. */
static uint64_t sampled_iteration(const struct skel_loop_state *l, uint64_t j)
{
	unsigned __int128 left = l->total - 1, n = l->run - 1;

	if (l->consecutive)
		return j;
	return 1 + (uint64_t)((2 * (unsigned __int128)(j - 1) + 1) * left / (2 * n));
}

int skel_next_sampled(struct skel_loop_state *l)
{
	uint64_t j = l->next;

	if (j == 0) {
		skel_position = l->base;
		l->next = 1;
		return l->total > 0;
	}
	if (j == 1) {
		l->warm_end_ns = l->batch_start_ns = skel_virtual_ns();
	} else if (j - 1 == batch_bound(l, l->batch + 1)) {
		double now = skel_virtual_ns();

		batch_close(l, now);
		if (j == l->run) {
			loop_close(l, now);
			return 0;
		}
	}
	skel_position = l->base + sampled_iteration(l, j);
	l->next++;
	return 1;
}
