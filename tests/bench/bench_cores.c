/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How steady this machine is. Cores of a virtual machine are threads of the host's, of which two share the units of one core,
 * with each other or with whoever else is there: what waits for its own results does not feel that, what keeps the units busy
 * takes up to twice as long. Two loops on all cores at once, by turns, a quarter of a second each: a chain of multiplications
 * and additions, each waiting for the one before, and packed ones of 4 KiB. A line for each loop:
 *	bench_cores [SECONDS]	loop, and passes in a millisecond of the core: least, 10th percentile, median, 90th percentile, most
 */
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define WINDOW_S    0.25
#define BATCH       16   /* passes between looks at the clock */
#define DOUBLES     512
#define LOOPS       2
#define WINDOWS_MAX 100000

static const char *const name[LOOPS] = {"chained", "packed"};

struct core {
	pthread_t thread;
	int number;
	size_t rounds;
	double *speed[LOOPS]; /* by round */
};

static double clock_s(clockid_t which)
{
	struct timespec t;

	clock_gettime(which, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void chained(double *x)
{
	for (int i = 0; i < DOUBLES; i++) {
		x[0] = x[0] * 0.999999 + 1e-9;
		__asm__ volatile("" : : "r"(x) : "memory");
	}
}

__attribute__((optimize("O3"))) static void packed(double *x)
{
	for (int i = 0; i < DOUBLES; i++)
		x[i] = x[i] * 0.999999 + 1e-9;
	__asm__ volatile("" : : "r"(x) : "memory");
}

/* Passes in a millisecond of the core's time. */
static double window(int loop, double *x)
{
	double begin = clock_s(CLOCK_THREAD_CPUTIME_ID), until = clock_s(CLOCK_MONOTONIC) + WINDOW_S, passes = 0;

	for (; clock_s(CLOCK_MONOTONIC) < until; passes += BATCH)
		for (int i = 0; i < BATCH; i++)
			(loop ? packed : chained)(x);
	return passes / (clock_s(CLOCK_THREAD_CPUTIME_ID) - begin) / 1e3;
}

static void *work(void *arg)
{
	double x[DOUBLES] __attribute__((aligned(64))) = {0};
	struct core *c = arg;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(c->number, &set);
	pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
	for (size_t i = 0; i < c->rounds; i++)
		for (int loop = 0; loop < LOOPS; loop++)
			c->speed[loop][i] = window(loop, x);
	return NULL;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 20;
	size_t rounds = (size_t)(seconds / WINDOW_S / LOOPS + 0.5);
	int cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
	struct core *core = calloc((size_t)cores, sizeof(*core));
	double *speed[LOOPS];
	size_t n = rounds * (size_t)cores;

	if (argc > 2 || rounds < 1 || n > WINDOWS_MAX) {
		fprintf(stderr, "usage: bench_cores [SECONDS]\n");
		return 2;
	}
	for (int loop = 0; loop < LOOPS; loop++)
		speed[loop] = calloc(n, sizeof(double));
	if (!core || !speed[0] || !speed[1]) {
		fprintf(stderr, "bench_cores: no memory\n");
		return 1;
	}
	for (int k = 0; k < cores; k++) {
		core[k] = (struct core){.number = k, .rounds = rounds};
		for (int loop = 0; loop < LOOPS; loop++)
			core[k].speed[loop] = speed[loop] + rounds * (size_t)k;
		if (pthread_create(&core[k].thread, NULL, work, &core[k]) != 0) {
			fprintf(stderr, "bench_cores: no thread for core %d\n", k);
			return 1;
		}
	}
	for (int k = 0; k < cores; k++)
		pthread_join(core[k].thread, NULL);
	for (int loop = 0; loop < LOOPS; loop++) {
		qsort(speed[loop], n, sizeof(double), by_value);
		printf("%-8s %8.0f %8.0f %8.0f %8.0f %8.0f\n", name[loop], speed[loop][0], speed[loop][n / 10], speed[loop][n / 2],
		       speed[loop][n - 1 - n / 10], speed[loop][n - 1]);
		free(speed[loop]);
	}
	free(core);
	return 0;
}
