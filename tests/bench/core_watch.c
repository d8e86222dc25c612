/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How fast cores are while something else runs on them. Cores of a virtual machine share units with threads
 * that nobody here sees: what keeps the units busy takes up to 1.8 times as long, for seconds or minutes, and
 * no account of the kernel tells. core_watch CORE... Forty times a second a process of real-time priority
 * takes each core, all at the same instant, for 0.15 ms (0.6 %) of packed multiplications and additions. For
 * each line of standard input it writes one: of each instant since the line before, how many passes the
 * slowest core did in a millisecond. Until standard input ends. Root.
 */
#include <math.h>

#include "tests/bench/cores.h"

#define NS_IN_S	  1000000000ll
#define PERIOD_NS 25000000ll
#define AT_NS	  600000ll /* of each period: when processor_share has had its part of that millisecond */
#define LOOK_NS	  150000ll
#define LATE_NS	  400000ll /* a core that comes later has no share in that instant */
#define BATCH	  16	   /* passes between looks at the clock */
#define SUMS	  12
#define COUNTS	  4
#define STEPS	  32
#define INSTANTS  65536 /* that are kept: half an hour */
#define CORES_MAX 64

/* What all processes have in common. */
struct look {
	float speed[CORES_MAX][INSTANTS]; /* passes in a millisecond, by core and period; 0: none */
};

/* Packed multiplications and additions in enough registers to keep their units busy, and beside them loads
 * and integers. */
static void packed(void)
{
	typedef double pair __attribute__((vector_size(16)));
	static const unsigned long table[STEPS + SUMS];
	pair a[SUMS], by = {0.999999, 0.999999}, more = {1e-9, 1e-9};
	unsigned long n[COUNTS] = {1, 2, 3, 4};

	for (int k = 0; k < SUMS; ++k)
		a[k] = (pair){k, k};
	for (int i = 0; i < STEPS; ++i)
#pragma GCC unroll 12
		for (int k = 0; k < SUMS; ++k) {
			a[k] = a[k] * by + more;
			n[k % COUNTS] = (n[k % COUNTS] ^ table[i + k]) + 5;
			__asm__ volatile("" : "+x"(a[k]), "+r"(n[k % COUNTS]));
		}
}

/* Passes in a millisecond, elapsed: what the host gives to others counts as well. */
static float look(void)
{
	long long begin, now;
	double passes = 0;

	packed(); /* the code comes back to the cache */
	begin = core_now_ns();
	do {
		for (int i = 0; i < BATCH; i++)
			packed();
		passes += BATCH;
		now = core_now_ns();
	} while (now - begin < LOOK_NS);
	return (float)(passes * 1e6 / (double)(now - begin));
}

/* What the process of one core does; its speeds are at ARG. */
static void watch(void *arg)
{
	float *speed = arg;

	for (;;) {
		long long period = core_now_ns() / PERIOD_NS + 1, at = period * PERIOD_NS + AT_NS;

		core_sleep_until(at);
		speed[period % INSTANTS] = core_now_ns() - at < LATE_NS ? look() : 0;
	}
}

/* One line: the slowest core's of each instant from period BEGIN to before END where all cores have one. */
static void report(const struct look *l, int cores, long long begin, long long end)
{
	for (long long p = end - begin > INSTANTS ? end - INSTANTS : begin; p < end; ++p) {
		float least = INFINITY;

		for (int k = 0; k < cores; ++k)
			least = fminf(least, l->speed[k][p % INSTANTS]);
		if (least > 0)
			printf(" %.0f", (double)least);
	}
	putchar('\n');
	fflush(stdout);
}

int main(int argc, char **argv)
{
	struct look *l = mmap(NULL, sizeof(*l), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	long long since = core_now_ns() / PERIOD_NS + 1;
	bool usable = argc > 1 && argc <= CORES_MAX;

	for (int i = 1; i < argc; ++i)
		usable = usable && core_number(argv[i], 0, CPU_SETSIZE - 1) >= 0;
	if (!usable) {
		fprintf(stderr, "usage: core_watch CORE...\n");
		return 2;
	}
	if (l == MAP_FAILED) {
		perror("core_watch");
		return 1;
	}
	for (int i = 1; i < argc; ++i)
		if (core_process(core_number(argv[i], 0, CPU_SETSIZE - 1), 2, watch, l->speed[i - 1]) < 0)
			return 1;
	for (int c; (c = getchar()) != EOF;) {
		long long period = core_now_ns() / PERIOD_NS;

		if (c != '\n')
			continue;
		report(l, argc - 1, since, period);
		since = period;
	}
	return 0;
}
