/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Does a kernel stand for the programs of its class? Each kernel beside a plain loop of the same class that was written
 * without it in mind, in ns per unit of processor time, the least of several rounds:
 *   bench_kernels [BITS [PACKED[,ROW]]]   a line per class: class kernel_ns loop_ns
 *   bench_kernels BITS PACKED[,ROW] CLASS UNITS   nothing but the units of one class, for who counts instructions (counts.pl)
 * Run natively, under qemu-user and under valgrind without a tool, the ratios of a kernel and of its loop should agree:
 * tests/bench/kernels.pl does that and prints the table. The runtime is a library of its own, so its sources are taken
 * in here.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "skelgen/runtime/caches.c"
#include "skelgen/runtime/kernel.c"
#include "skelgen/runtime/kernel_core.c"
#include "skelgen/runtime/kernel_memory.c"
#include "skelgen/runtime/kernel_vector.c"

#define ROUNDS   9
#define ROUND_NS 4e6

static volatile double sink;

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *room(size_t bytes)
{
	void *p = malloc(bytes);

	if (p == NULL)
		exit(1);
	memset(p, 0, bytes);
	return p;
}

/* ---- the loops: one call does the work of `n` steps ---- */

static uint64_t bytes_of[LEVEL_N];

/* Keys put in bins, and the bins summed. */
static void loop_integer(uint64_t n)
{
	static uint32_t key[1024], bin[256];
	uint32_t sum = 0;

	for (uint32_t i = 0; key[1] == 0 && i < 1024; i++)
		key[i] = (i * 2654435761u) >> 8;
	for (uint64_t i = 0; i < n; i++) {
		bin[(key[i & 1023] + (uint32_t)i) & 255]++;
		sum += bin[i & 255];
	}
	sink = sum;
}

/* A checksum by table. */
static void loop_integer_chain(uint64_t n)
{
	static uint32_t table[256], crc;
	static unsigned char text[4096];

	if (table[1] == 0)
		for (uint32_t i = 0; i < 256; i++) {
			uint32_t c = i;

			for (int k = 0; k < 8; k++)
				c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
			table[i] = c;
			text[i * 16] = (unsigned char)c;
		}
	for (uint64_t i = 0; i < n; i++) {
		uint32_t at = (uint32_t)i & 4095;

		crc = table[(crc ^ text[at]) & 0xff] ^ (crc >> 8);
		text[(at * 7 + 1) & 4095] += (unsigned char)(crc + i);
	}
	sink = crc;
}

/* Binary search of random keys. */
static void loop_branch(uint64_t n)
{
	static uint32_t key[1024];
	static uint64_t x = 88172645463325252ull;
	uint32_t found = 0;

	for (uint32_t i = 0; key[1023] == 0 && i < 1024; i++)
		key[i] = i * 4194304u + 77;
	for (uint64_t i = 0; i < n; i++) {
		uint32_t lo = 0, hi = 1023, want;

		want = (uint32_t)draw(&x);
		while (lo < hi) {
			uint32_t mid = (lo + hi) / 2;

			if (key[mid] < want) {
				lo = mid + 1;
				__asm__ volatile("");
			} else {
				hi = mid;
				__asm__ volatile("");
			}
		}
		found += lo;
	}
	sink = found;
}

/* A row of a plane, each point made of its neighbours. */
static __attribute__((optimize("no-tree-vectorize"))) void loop_scalar(uint64_t n)
{
	static double plane[3][130], out[130];

	for (int k = 0; plane[1][1] == 0 && k < 3 * 130; k++)
		plane[k / 130][k % 130] = 1.0 / (k + 1);
	for (uint64_t done = 0; done < n; done += 128) {
		for (int k = 1; k < 129; k++)
			out[k] = plane[1][k] + 0.2 * (plane[0][k] + plane[2][k] + plane[1][k - 1] + plane[1][k + 1] - 4.0 * plane[1][k]);
		__asm__ volatile("" : : "r"(out) : "memory");
	}
	sink = out[5];
}

/* A vector added to another, scaled, both small. */
static __attribute__((optimize("no-tree-vectorize"))) void loop_scalar_short(uint64_t n)
{
	static double x[256], y[256];

	for (uint64_t done = 0; done < n; done += 256) {
		for (int k = 0; k < 256; k++)
			y[k] = 0.5 * y[k] + x[k];
		__asm__ volatile("" : : "r"(y) : "memory");
	}
	sink = y[5];
}

/* Horner's rule, one polynomial after the other. */
static void loop_scalar_chain(uint64_t n)
{
	static const double a[8] = {0.3, -0.2, 0.11, 0.07, -0.05, 0.013, 0.002, 0.4};
	static double x = 0.5;

	for (uint64_t i = 0; i < n; i++) {
		double y = a[0];

		for (int k = 1; k < 8; k++)
			y = y * x + a[k];
		x = 0.5 + 0.1 * y;
	}
	sink = x;
}

/* A small matrix times a vector, packed by the compiler. */
static __attribute__((optimize("O3", "fast-math"))) void loop_vector(uint64_t n)
{
	static double m[16][64], v[64], r[64];

	for (int k = 0; v[1] == 0 && k < 64; k++) {
		v[k] = 1.0 / (k + 1);
		for (int i = 0; i < 16; i++)
			m[i][k] = 0.01 * (i + k);
	}
	for (uint64_t i = 0; i < n; i++) {
		double f = 0.125 + v[i & 63] * 1e-3;

		for (int k = 0; k < 64; k++)
			r[k] = r[k] * 0.5 + f * m[i & 15][k];
		__asm__ volatile("" : : "r"(r) : "memory");
	}
	sink = r[5];
}

/* Distances and the force 1 / r between particles. */
static __attribute__((optimize("no-tree-vectorize", "no-math-errno"))) void loop_divide(uint64_t n)
{
	static double x[64], f[64];

	for (int k = 0; x[1] == 0 && k < 64; k++)
		x[k] = 0.37 * k;
	for (uint64_t i = 0; i < n; i++) {
		double d = x[i & 63] - x[(i * 5 + 1) & 63], r = sqrt(d * d + 0.01 + f[i & 63] * 1e-9);

		f[(i + 1) & 63] = f[i & 63] * 0.5 + d / r;
	}
	sink = f[3];
}

/* Random numbers after Box and Muller. */
static void loop_libm(uint64_t n)
{
	static double u = 0.37, sum;

	for (uint64_t i = 0; i < n; i++) {
		u = u * 997.0 + 0.1234567;
		u -= (double)(int64_t)u;
		sum += sqrt(-2 * log(u + 1e-9)) * cos(6.283185307 * u) + exp(-u);
		sum *= 0.5;
	}
	sink = sum;
}

/* A vector added to another, scaled: two arrays, one of them written. Not packed: so is the kernel then. */
static __attribute__((optimize("no-tree-vectorize"))) void stream(int level, uint64_t n)
{
	static double *a[LEVEL_N];
	static uint64_t at[LEVEL_N];
	uint64_t half = bytes_of[level] / 2 / sizeof(double) / 8 * 8;

	if (a[level] == NULL)
		a[level] = room(bytes_of[level]);
	for (uint64_t i = 0; i < n; i++) {
		double *x = a[level] + at[level], *y = x + half;

		for (int k = 0; k < 8; k++)
			x[k] = x[k] * 0.5 + 3.0 * y[k];
		at[level] = at[level] + 8 < half ? at[level] + 8 : 0;
		__asm__ volatile("" : : "r"(x) : "memory");
	}
}

/* Nodes of lists, of 64 bytes with a value, spread over the data; the value is summed. */
struct node {
	struct node *next;
	double value[7];
};

static void lists(int level, uint64_t n)
{
	static struct node *at[LEVEL_N];
	static double sum;

	if (at[level] == NULL) {
		uint64_t count = bytes_of[level] / sizeof(struct node), x = 4101842887655102017ull;
		uint32_t *order = room(count * sizeof *order);
		struct node *node = room(count * sizeof *node);

		for (uint64_t i = 0; i < count; i++)
			order[i] = (uint32_t)i;
		for (uint64_t i = count - 1; i > 0; i--) {
			uint64_t j = draw(&x) % (i + 1);
			uint32_t keep = order[i];

			order[i] = order[j];
			order[j] = keep;
		}
		for (uint64_t i = 0; i < count; i++)
			node[order[i]].next = &node[order[(i + 1) % count]];
		at[level] = node;
		free(order);
	}
	for (uint64_t i = 0; i < n; i++) {
		sum += at[level]->value[2];
		at[level] = at[level]->next;
	}
	sink = sum;
}

/* A table summed by columns. */
static void loop_stride_mem(uint64_t n)
{
	static double *a, sum;
	static uint64_t row, column;
	const uint64_t width = 1031;
	uint64_t rows = bytes_of[LEVEL_MEM] / sizeof(double) / width;

	if (a == NULL)
		a = room(bytes_of[LEVEL_MEM]);
	for (uint64_t i = 0; i < n; i++) {
		sum += a[row * width + column];
		if (++row == rows) {
			row = 0;
			column = (column + 1) % width;
		}
	}
	sink = sum;
}

/* Tables made new: some kilobytes to some hundred set to zero, or taken from elsewhere. */
static void tables(int c, uint64_t n)
{
	static char *a[LEVEL_N];
	static uint64_t at[LEVEL_N], turn;
	const int level = kernel_level(c);
	const uint64_t half = bytes_of[level] / 2;

	if (a[level] == NULL)
		a[level] = room(bytes_of[level]);
	for (uint64_t left = n, pages; left; left -= pages) {
		uint64_t most = (half - at[level]) / 4096;

		pages = 2 + turn++ * 5 % 31;
		pages = pages < most ? pages : most;
		pages = pages < left ? pages : left;
		if (is_copy(c))
			memcpy(a[level] + at[level], a[level] + half + at[level], pages * 4096);
		else
			memset(a[level] + (turn & 1 ? at[level] : half + at[level]), 0, pages * 4096);
		__asm__ volatile("" : : "r"(a[level]) : "memory");
		at[level] += pages * 4096;
		if (half - at[level] < 4096)
			at[level] = 0;
	}
}

static void run_loop(int c, uint64_t n)
{
	static void (*const core[])(uint64_t) = {[CLASS_INTEGER] = loop_integer, [CLASS_INTEGER_CHAIN] = loop_integer_chain,
						 [CLASS_BRANCH] = loop_branch, [CLASS_SCALAR] = loop_scalar,
						 [CLASS_SCALAR_SHORT] = loop_scalar_short,
						 [CLASS_SCALAR_CHAIN] = loop_scalar_chain, [CLASS_VECTOR] = loop_vector,
						 [CLASS_DIVIDE] = loop_divide, [CLASS_LIBM] = loop_libm};

	if (c <= CLASS_LIBM)
		core[c](n);
	else if (c == CLASS_STRIDE_MEM)
		loop_stride_mem(n);
	else if (is_string(c))
		tables(c, n);
	else if (is_chain(c))
		lists(kernel_level(c), n);
	else
		stream(kernel_level(c), n);
}

/* ---- measuring ---- */

static struct kernel *kernel;

static void run_one(int c, int loop, uint64_t n)
{
	if (loop)
		run_loop(c, n);
	else
		kernel_run(kernel, c, n);
}

/* Least over the rounds, so that what others do on the machine counts little. */
static double unit_ns(int c, int loop)
{
	uint64_t n = 64;
	double least = INFINITY, start, ns;

	if (kernel_level(c) >= 0)
		run_one(c, loop, bytes_of[kernel_level(c)] / 64);
	do {
		n *= 2;
		start = cpu_ns();
		run_one(c, loop, n);
		ns = cpu_ns() - start;
	} while (ns < ROUND_NS / 2);
	for (int i = 0; i < ROUNDS; i++) {
		start = cpu_ns();
		run_one(c, loop, n);
		ns = (cpu_ns() - start) / (double)n;
		least = ns < least ? ns : least;
	}
	return least;
}

/* Units of the class of that name; 1 where there is none. */
static int run_units(const struct kernel_shape *shape, const char *name, uint64_t units)
{
	int c = 0;

	while (c < CLASS_N && strcmp(kernel_name(c), name))
		c++;
	kernel = c < CLASS_N ? kernel_create(shape, 1u << c) : NULL;
	if (kernel == NULL) {
		fprintf(stderr, "bench_kernels: no class '%s', or no memory\n", name);
		return 1;
	}
	kernel_run(kernel, c, units);
	sink = kernel_digest(kernel);
	kernel_destroy(kernel);
	return 0;
}

int main(int argc, char **argv)
{
	struct kernel_shape shape;
	struct caches caches;

	caches_read("/sys", &caches);
	caches_shape(&caches, 2, &shape);
	if (argc > 2)
		sscanf(argv[2], "%d,%d", &shape.packed, &shape.row);
	if (argc > 1)
		shape.vector_bits = atoi(argv[1]);
	memcpy(bytes_of, shape.bytes, sizeof bytes_of);
	if (argc > 4)
		return run_units(&shape, argv[3], strtoull(argv[4], NULL, 10));
	kernel = kernel_create(&shape, (1u << CLASS_N) - 1);
	if (kernel == NULL) {
		fprintf(stderr, "bench_kernels: no memory\n");
		return 1;
	}
	for (int c = 0; c < CLASS_N; c++) {
		printf("%s %.4f %.4f\n", kernel_name(c), unit_ns(c, 0), unit_ns(c, 1));
		fflush(stdout);
	}
	kernel_destroy(kernel);
	return 0;
}
