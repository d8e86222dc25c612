/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Do blocks of computation take as long as they should, whatever their length? Blocks of lengths from 20 ns to 100 us,
 * one after the other and with other work between them, by the processor time that they take more than that other work
 * alone, after a calibration on this machine. The least of several rounds, in percent of what was asked:
 *   bench_blocks [ROUNDS]     a line per length and mix: mix asked_ns alone% between%
 * The runtime is a library of its own, so its sources are taken in here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "skelgen/runtime/caches.c"
#include "skelgen/runtime/calibrate.c"
#include "skelgen/runtime/compute.c"
#include "skelgen/runtime/kernel.c"
#include "skelgen/runtime/kernel_core.c"
#include "skelgen/runtime/kernel_memory.c"
#include "skelgen/runtime/kernel_vector.c"
#include "skelgen/runtime/own_clock.c"
#include "skelgen/runtime/threads.c"

#define WINDOW_CPU_NS 2e6
#define BETWEEN       1024 /* bytes copied between blocks: about what a call of MPI is */

static const struct {
	const char *name;
	struct compute_mix mix;
} mixes[] = {
	{"scalar", {.share = {[CLASS_SCALAR] = 1}, .threads = 1}},
	{"branchy", {.share = {[CLASS_INTEGER] = 0.6, [CLASS_BRANCH] = 0.4}, .threads = 1}},
	{"stencil",
	 {.share = {[CLASS_INTEGER] = 0.15, [CLASS_SCALAR] = 0.45, [CLASS_VECTOR] = 0.2, [CLASS_STREAM_L2] = 0.1,
		    [CLASS_STREAM_L3] = 0.1},
	  .threads = 1}},
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void other_work(void)
{
	static char from[BETWEEN], to[BETWEEN];

	memcpy(to, from, sizeof to);
	__asm__ volatile("" : : "r"(to) : "memory");
}

/* Mean processor time of n turns: a block if ns > 0, other work if it is wanted. */
static double turn_ns(int mix, double ns, int n, int other)
{
	double start = cpu_ns();

	for (int i = 0; i < n; i++) {
		if (other)
			other_work();
		if (ns > 0)
			compute_block(mix, ns);
	}
	return (cpu_ns() - start) / n;
}

static void calibrate_all(struct calibration *c)
{
	for (int k = 0; k < CLASS_N; k++)
		if (c->classes >> k & 1)
			calibrate_kernel(k, 20e6, &c->kernel[k]);
	calibrate_among(c, 100e6);
	for (int m = 0; m < c->n_mix; m++)
		calibrate_mix(c, m, 80e6);
	calibrate_call(c);
	compute_use(c);
	compute_learn();
}

int main(int argc, char **argv)
{
	enum { N = sizeof mixes / sizeof *mixes };
	static const double length[] = {20, 40, 60, 80, 120, 200, 350, 600, 1000, 1800, 3000, 5000, 10e3, 30e3, 100e3};
	enum { LENGTHS = sizeof length / sizeof *length };
	static double alone[N][LENGTHS], between[N][LENGTHS];
	int rounds = argc > 1 ? atoi(argv[1]) : 7;
	struct compute_mix mix[N];
	static struct calibration cal;
	struct caches caches;

	caches_read("/sys", &caches);
	for (int m = 0; m < N; m++)
		mix[m] = mixes[m].mix;
	cal.n_mix = N;
	cal.classes = compute_classes(mix, N);
	caches_shape(&caches, 1, &cal.shape);
	cal.shape.vector_bits = 256;
	cal.shape.packed = 8;
	caches_bound(&caches, 1, cal.classes, &cal.shape);
	if (rounds < 1 || compute_open(mix, N, &cal.shape) != 0)
		return 1;
	calibrate_all(&cal);
	for (int r = 0; r < rounds; r++)
		for (int m = 0; m < N; m++)
			for (int i = 0; i < LENGTHS; i++) {
				int n = (int)(WINDOW_CPU_NS / (length[i] + 50)) + 2;
				double a = turn_ns(m, length[i], n, 0), b = turn_ns(m, length[i], n, 1) - turn_ns(m, 0, n, 1);

				alone[m][i] = r == 0 || a < alone[m][i] ? a : alone[m][i];
				between[m][i] = r == 0 || b < between[m][i] ? b : between[m][i];
			}
	printf("%-8s %9s %8s %8s\n", "mix", "asked_ns", "alone", "between");
	for (int m = 0; m < N; m++)
		for (int i = 0; i < LENGTHS; i++)
			printf("%-8s %9.0f %+7.1f%% %+7.1f%%\n", mixes[m].name, length[i], 100 * (alone[m][i] / length[i] - 1),
			       100 * (between[m][i] / length[i] - 1));
	compute_close();
	return 0;
}
