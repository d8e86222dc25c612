/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the files of the kernels share: their state, and how values are hidden from the optimiser. */
#ifndef PRECEDENT_SKELGEN_RUNTIME_KERNEL_WORK_H
#define PRECEDENT_SKELGEN_RUNTIME_KERNEL_WORK_H

#include "common/arch/arch.h"
#include "skelgen/runtime/kernel.h"

#define TABLE_WORDS    1024 /* 8 KiB */
#define NUMBERS        512  /* 4 KiB */
#define HALF_PAGE      256  /* numbers */
#define INTEGER_WORDS  8    /* of the table, a unit */
#define SCALAR_POINTS  8    /* a unit */
#define BRANCH_FACTOR  6364136223846793005ull
#define BRANCH_ADD     1442695040888963407ull
#define VECTOR_DOUBLES 768  /* 3 x 6 KiB */
#define VECTOR_APART   (VECTOR_DOUBLES + 88) /* two thirds of a page more than a page */
#define LINE_DOUBLES   8    /* of a cache line: the unit of vectors and streams */
#define LINE_BYTES     64
#define STRING_DOUBLES 512  /* a page, the unit of fills and copies: C libraries do shorter ones in ways of their own */

/* The compiler must take the value for any other. */
#define HIDE_INTEGER(x) __asm__ volatile("" : "+r"(x))
#define HIDE_DOUBLE(x) __asm__ volatile("" : ARCH_DOUBLE(x))
#define HIDE_MEMORY(p) __asm__ volatile("" : : "r"(p) : "memory")

/* Doubles of one array, in order or in strides. */
struct kernel_array {
	double *a;
	uint64_t n;     /* doubles of all; a stream takes thirds */
	uint64_t at;    /* next of a stream, doubles of one third */
	uint64_t jump;  /* next of a stride, doubles */
	uint64_t turn;  /* accesses of the stride so far */
};

struct kernel_chain {
	void **line;    /* one pointer per cache line */
	void **at;
	uint64_t n;     /* lines */
};

/* Where fills and copies are in a stream's array, doubles, and how many units they did. */
struct kernel_string {
	uint64_t fill, copy, units;
};

struct kernel;
typedef void (*kernel_fn)(struct kernel *k, int c, uint64_t units);

/*
 * Processors predict by the last twelve bits of an address whether a load depends on a pending store. In these bits, no
 * store of a kernel lies just ahead of its next load. Otherwise the kernel is slower, always or in one process of twenty.
 */
struct kernel {
	uint64_t integer[2], hash, branch, side[2];
	double scalar, scalar_sum, divide[2], libm;
	uint32_t table_at, number_at, short_at, chain_at, libm_at, vec_at, vec_from;
	struct kernel_array stream[LEVEL_N];
	struct kernel_chain chain[LEVEL_N];
	kernel_fn vector, triad;
	int vector_bits;
	uint32_t row;          /* of the chain */
	uint32_t packed, turn; /* of 16 lines of a stream; lines so far */
	uint64_t table[TABLE_WORDS], sum[TABLE_WORDS]; /* the first is only read */
	double number[NUMBERS + HALF_PAGE], sums[NUMBERS], shorts[NUMBERS], sweep[NUMBERS]; /* one point more on either side */
	double vec[3][VECTOR_APART];
	struct kernel_string string[LEVEL_N]; /* the last two, so that what the others use lies as it did */
};

/* Level of a class that touches data beyond the first; -1: none. */
int kernel_level(int c);

/* kernel_core.c: classes that need little or no memory */
void kernel_integer(struct kernel *k, uint64_t units);
void kernel_nothing(uint64_t units);
void kernel_integer_chain(struct kernel *k, uint64_t units);
void kernel_branch(struct kernel *k, uint64_t units);
void kernel_scalar(struct kernel *k, uint64_t units);
void kernel_scalar_short(struct kernel *k, uint64_t units);
void kernel_scalar_chain(struct kernel *k, uint64_t units);
void kernel_divide(struct kernel *k, uint64_t units);
void kernel_libm(struct kernel *k, uint64_t units);
/* kernel_vector.c: choose the versions for the width */
void kernel_vector_choose(struct kernel *k, int bits);
/* kernel_memory.c */
int kernel_array_open(struct kernel_array *a, uint64_t bytes);
int kernel_chain_open(struct kernel_chain *c, uint64_t bytes);
void kernel_chase(struct kernel *k, int c, uint64_t units);
void kernel_stride(struct kernel *k, uint64_t units);
void kernel_fill(struct kernel *k, int c, uint64_t units);
void kernel_copy(struct kernel *k, int c, uint64_t units);

#endif
