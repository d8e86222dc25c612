/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernels. Each keeps its state between calls, so that a block continues where the last one stopped, and hides
 * its values from the optimiser with empty assembly, which costs no instruction.
 */
#include "skelgen/runtime/kernel.h"

#include <stdlib.h>

#define TABLE_WORDS   1024           /* 8 KiB */
#define VECTOR_DOUBLES 1024          /* 2 x 8 KiB */
#define STREAM_DOUBLES (256u * 1024) /* 3 x 2 MiB */
#define STREAM_UNIT   8              /* doubles of each array: one cache line */
#define VECTOR_UNIT   8

typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

static struct {
	uint64_t integer;
	uint64_t table[TABLE_WORDS];
	double scalar;
	double vec[2][VECTOR_DOUBLES + 2];
	uint32_t vec_at, vec_from;
	double *stream[3];
	uint32_t stream_at;
} state;

static const char *const names[KERNEL_N] = {"integer", "scalar", "vector", "stream"};

const char *kernel_name(int k)
{
	return k >= 0 && k < KERNEL_N ? names[k] : "?";
}

int kernel_open(void)
{
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < TABLE_WORDS; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		state.table[i] = x;
	}
	state.integer = x;
	state.scalar = 0.3;
	for (int i = 0; i < VECTOR_DOUBLES + 2; i++)
		state.vec[0][i] = state.vec[1][i] = 1.0 + i * 1e-6;
	for (int a = 0; a < 3; a++) {
		void *p;

		if (posix_memalign(&p, 4096, STREAM_DOUBLES * sizeof(double)) != 0) {
			kernel_close();
			return -1;
		}
		state.stream[a] = p;
		for (uint32_t i = 0; i < STREAM_DOUBLES; i++)
			state.stream[a][i] = 1.0 + a;
	}
	return 0;
}

void kernel_close(void)
{
	for (int a = 0; a < 3; a++) {
		free(state.stream[a]);
		state.stream[a] = NULL;
	}
}

/* The table's words decide the branch: taken once in eight, with no pattern to learn. */
static __attribute__((noinline)) void run_integer(uint64_t units)
{
	uint64_t x = state.integer;

	for (uint64_t u = 0; u < units; u++) {
		uint64_t *w = &state.table[x & (TABLE_WORDS - 1)];

		x = x * 6364136223846793005ull + *w;
		if ((x >> 61) == 0) {
			*w ^= x >> 7;
			x ^= x >> 33;
		}
		__asm__ volatile("" : "+r"(x) : : "memory");
	}
	state.integer = x;
}

/* The logistic map: a chain of dependent operations that never settles, within (0, 1). */
static __attribute__((noinline)) void run_scalar(uint64_t units)
{
	double x = state.scalar;

	for (uint64_t u = 0; u < units; u++) {
		double t = 3.99 * x;

		x = t - t * x;
		__asm__ volatile("" : "+x"(x));
	}
	state.scalar = x;
}

static __attribute__((noinline)) void run_vector(uint64_t units)
{
	uint32_t at = state.vec_at, from = state.vec_from;

	for (uint64_t u = 0; u < units; u++) {
		const double *in = state.vec[from] + at;
		double *out = state.vec[from ^ 1] + at;
		pair third = {1.0 / 3, 1.0 / 3};

		for (int i = 1; i <= VECTOR_UNIT; i += 2)
			*(pair *)(out + i) = third * (*(const pair *)(in + i - 1) + *(const pair *)(in + i) +
						      *(const pair *)(in + i + 1));
		at += VECTOR_UNIT;
		if (at == VECTOR_DOUBLES) {
			at = 0;
			from ^= 1;
		}
		__asm__ volatile("" : : "r"(out) : "memory");
	}
	state.vec_at = at;
	state.vec_from = from;
}

static __attribute__((noinline)) void run_stream(uint64_t units)
{
	double *a = state.stream[0];
	const double *b = state.stream[1], *c = state.stream[2];
	uint32_t at = state.stream_at;
	pair k = {0.25, 0.25};

	for (uint64_t u = 0; u < units; u++) {
		for (int i = 0; i < STREAM_UNIT; i += 2)
			*(pair *)(a + at + i) = *(const pair *)(b + at + i) + k * *(const pair *)(c + at + i);
		at = (at + STREAM_UNIT) & (STREAM_DOUBLES - 1);
		__asm__ volatile("" : : "r"(a) : "memory");
	}
	state.stream_at = at;
}

void kernel_run(int k, uint64_t units)
{
	switch (k) {
	case KERNEL_INTEGER:
		run_integer(units);
		break;
	case KERNEL_SCALAR:
		run_scalar(units);
		break;
	case KERNEL_VECTOR:
		run_vector(units);
		break;
	case KERNEL_STREAM:
		run_stream(units);
		break;
	default:
		break;
	}
}

double kernel_digest(void)
{
	return (double)(state.integer & 0xffff) + state.scalar + state.vec[0][1] +
	       (state.stream[0] != NULL ? state.stream[0][0] : 0.0);
}
