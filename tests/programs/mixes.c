/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Phases of computation of one known class each, between barriers. The first argument is the length of a phase in
 * seconds (0.2). For phases that compute it is processor time, so that a busy machine gives the same number of
 * samples. Further arguments name the phases (default: all). Rank 0 prints the phases in order, one per line. A
 * phase named NAME is of class NAME; "sleep" sleeps, "threads" computes in two threads.
 */
#include <math.h>
#include <mpi.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NOINLINE __attribute__((noinline, noclone))

static size_t cache[3] = {32u << 10, 1u << 20, 32u << 20};
static volatile uint64_t sink;
static volatile double fsink;

static double time_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double now(void)
{
	return time_of(CLOCK_MONOTONIC);
}

static void read_caches(void)
{
	for (int i = 0; i < 8; i++) {
		char path[96];
		int level = 0;
		unsigned long kb = 0;
		FILE *f;

		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/level", i);
		if (!(f = fopen(path, "r")))
			continue;
		if (fscanf(f, "%d", &level) != 1)
			level = 0;
		fclose(f);
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		if (!(f = fopen(path, "r")))
			continue;
		if (fscanf(f, "%luK", &kb) != 1)
			kb = 0;
		fclose(f);
		if (level >= 1 && level <= 3 && kb)
			cache[level - 1] = kb << 10;
	}
}

/* A working set between a cache level and the next, far from both sizes. */
static size_t size_in(int level)
{
	return level == 3 ? 4 * cache[2] : (size_t)sqrt((double)cache[level - 1] * (double)cache[level]) & ~(size_t)4095;
}

/* ---- each runs for some 10 us to 10 ms ---- */

static NOINLINE void integer_chain(void)
{
	uint64_t h = sink | 1, k = 0;

	for (int i = 0; i < 20000; i++) {
		h = (h ^ (h >> 29)) * 0x9e3779b97f4a7c15ull;
		k += h & (uint64_t)i;
		h ^= k << 3;
	}
	sink = h;
}

/* Only the sums depend on the previous iteration. */
static NOINLINE void integer(void)
{
	static uint32_t word[1024], other[1024];
	uint32_t sum = 1;

	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 1024; i++) {
			word[i] = (other[i] >> 3) + (uint32_t)i;
			other[i] ^= word[i] & 0x55u;
			sum += word[i];
			__asm__ volatile("" : "+r"(sum));
		}
	sink += sum;
}

static uint8_t coin[8192] __attribute__((aligned(8)));

/* Random branches that no predictor can learn. */
static NOINLINE void toss(void)
{
	static uint64_t r = 88172645463325252ull;

	for (size_t i = 0; i < sizeof(coin); i += 8) {
		r ^= r << 13, r ^= r >> 7, r ^= r << 17;
		memcpy(coin + i, &r, 8);
	}
}

static NOINLINE void branch(void)
{
	uint64_t a = sink, b = 1;

	toss();
	for (int round = 0; round < 4; round++)
		for (size_t i = 0; i < sizeof(coin); i++) {
			if (coin[i] & 1) {
				a += i;
				__asm__ volatile("" : "+r"(a));
			} else {
				b ^= a;
				__asm__ volatile("" : "+r"(b));
			}
		}
	sink = a + b;
}

static NOINLINE void scalar_chain(void)
{
	double x = fsink, y = 1.000000001;

	for (int i = 0; i < 20000; i++) {
		x = x * y + 0.5;
		__asm__ volatile("" : "+x"(x));
	}
	fsink = x > 1e9 ? 0 : x;
}

/* A plane of points, each computed from its neighbours. */
static NOINLINE void scalar(void)
{
	static double a[34 * 34], b[34 * 34];
	double factor = 0.2;

	__asm__ volatile("" : "+x"(factor));
	for (int round = 0; round < 20; round++)
		for (int i = 1; i < 33; i++)
			for (int j = 1; j < 33; j++) {
				const double *p = a + i * 34 + j;
				double x = p[0] + factor * (p[-34] + p[34] + p[-1] + p[1] - 4 * p[0] + 1);

				__asm__ volatile("" : "+x"(x));
				b[i * 34 + j] = x;
			}
	fsink = b[40];
}

static NOINLINE void scalar_short(void)
{
	static double a[1024];

	for (int round = 0; round < 20; round++)
		for (int i = 0; i < 1024; i++) {
			double x = a[i] * 0.5 + 1.5;

			__asm__ volatile("" : "+x"(x));
			a[i] = x;
		}
	fsink = a[7];
}

typedef double vec __attribute__((vector_size(16)));

static NOINLINE void vector(void)
{
	static vec a[512];
	vec x = {0.75, 0.5}, y = {0.5, 0.25}, z = {3, 4};

	for (int round = 0; round < 40; round++)
		for (int i = 0; i < 512; i++)
			a[i] = (a[i] * y + z) * x - y;
	fsink = a[7][0];
}

static NOINLINE void divide(void)
{
	double x = fsink + 2;

	for (int i = 1; i < 5000; i++) {
		x = 3.7 / (x + 0.1);
		__asm__ volatile("" : "+x"(x));
	}
	fsink = x;
}

static NOINLINE void libm(void)
{
	double s = fsink;

	for (int i = 0; i < 2000; i++)
		s += exp(-1e-3 * i) * sin(0.37 * i);
	fsink = fabs(s) > 1e9 ? 0 : s;
}

static double *big;
static size_t n_big;

static NOINLINE void triad(size_t bytes)
{
	size_t n = bytes / 3 / sizeof(vec);
	vec *a = (vec *)big, *b = a + n, *c = b + n, s = {0.3, 0.3};

	for (size_t round = 0; round < 1 + 100000 / n; round++)
		for (size_t i = 0; i < n; i++)
			a[i] = b[i] + s * c[i];
}

static size_t chain_of; /* bytes of big that the chain covers */

/* Link all cache lines in one cycle (Sattolo). */
static void link_chain(size_t bytes)
{
	size_t n = bytes / 64, *next = (size_t *)big;
	uint64_t r = 88172645463325252ull;

	for (size_t i = 0; i < n; i++)
		next[8 * i] = i;
	for (size_t i = n - 1; i > 0; i--) {
		size_t k, t;

		r ^= r << 13, r ^= r >> 7, r ^= r << 17;
		k = r % i;
		t = next[8 * i];
		next[8 * i] = next[8 * k];
		next[8 * k] = t;
	}
	for (size_t i = 0; i < n; i++)
		next[8 * i] = (size_t)&next[8 * next[8 * i]];
	chain_of = bytes;
}

static NOINLINE void chase(size_t bytes)
{
	static void **p;

	if (chain_of != bytes) {
		link_chain(bytes);
		p = (void **)big;
	}
	for (int i = 0; i < 20000; i++)
		p = *p;
	sink = (uint64_t)p;
}

static NOINLINE void stride(size_t bytes)
{
	size_t n = bytes / sizeof(double), step = 72; /* nine cache lines */
	double s = 0;

	for (size_t first = 0; first < 4; first++)
		for (size_t i = first; i < n; i += step)
			s += big[i];
	fsink = s;
	chain_of = 0;
}

static NOINLINE void fill(size_t bytes)
{
	memset(big, 0, bytes);
	chain_of = 0;
}

#define PIECE (32u << 10) /* C libraries copy longer pieces past the caches */

static NOINLINE void copy(size_t bytes)
{
	char *to = (char *)big, *from = to + bytes / 2;

	for (size_t at = 0; at + PIECE <= bytes / 2; at += PIECE)
		memcpy(to + at, from + at, PIECE);
	chain_of = 0;
}

static void stream_l2(void) { chain_of = 0; triad(size_in(1)); }
static void stream_l3(void) { chain_of = 0; triad(size_in(2)); }
static void stream_mem(void) { chain_of = 0; triad(size_in(3)); }
static void random_l2(void) { chase(size_in(1)); }
static void random_l3(void) { chase(size_in(2)); }
static void random_mem(void) { chase(size_in(3)); }
static void stride_mem(void) { stride(size_in(3)); }
static void fill_l2(void) { fill(size_in(1)); }
static void fill_l3(void) { fill(size_in(2)); }
static void fill_mem(void) { fill(size_in(3)); }
static void copy_l2(void) { copy(size_in(1)); }
static void copy_l3(void) { copy(size_in(2)); }
static void copy_mem(void) { copy(size_in(3)); }

static void nap(void)
{
	struct timespec t = {.tv_nsec = 5000000};

	nanosleep(&t, NULL);
}

static double seconds = 0.2;

static void *other(void *arg)
{
	double begin = now();

	while (now() - begin < seconds)
		integer();
	return arg;
}

static void threads(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, other, NULL))
		exit(1);
	other(NULL);
	pthread_join(t, NULL);
}

static int rank, n_name;
static char **names;

static int is_wanted(const char *name)
{
	for (int i = 0; i < n_name; i++)
		if (!strcmp(names[i], name))
			return 1;
	return n_name <= 0;
}

/* The phase is the block before this MPI_Allreduce, which is called from a line of its own. */
static NOINLINE void run(const char *name, void (*f)(void))
{
	clockid_t clock = f == nap || f == threads ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
	double begin;

	if (!is_wanted(name))
		return;
	f(); /* warm-up, which is another block */
	MPI_Barrier(MPI_COMM_WORLD);
	begin = time_of(clock);
	do
		f();
	while (time_of(clock) - begin < seconds);
	MPI_Allreduce(MPI_IN_PLACE, &begin, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		puts(name);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (argc > 1)
		seconds = atof(argv[1]);
	n_name = argc - 2;
	names = argv + 2;
	read_caches();
	n_big = size_in(3) / sizeof(double);
	if (posix_memalign((void **)&big, 4096, n_big * sizeof(double) + 4096))
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (size_t i = 0; i < n_big; i++)
		big[i] = 1;
	run("integer", integer);
	run("integer_chain", integer_chain);
	run("branch", branch);
	run("scalar", scalar);
	run("scalar_short", scalar_short);
	run("scalar_chain", scalar_chain);
	run("vector", vector);
	run("divide", divide);
	run("libm", libm);
	run("stream_l2", stream_l2);
	run("stream_l3", stream_l3);
	run("stream_mem", stream_mem);
	run("random_l2", random_l2);
	run("random_l3", random_l3);
	run("random_mem", random_mem);
	run("stride_mem", stride_mem);
	run("fill_l2", fill_l2);
	run("fill_l3", fill_l3);
	run("fill_mem", fill_mem);
	run("copy_l2", copy_l2);
	run("copy_l3", copy_l3);
	run("copy_mem", copy_mem);
	run("sleep", nap);
	run("threads", threads);
	free(big);
	MPI_Finalize();
	return 0;
}
