/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute kernels: for each class of work a small loop that the same part of the machine limits. A unit takes some
 * nanoseconds. A block of compute is a number of units of each. No kernel's work can be folded away: its values pass
 * through empty assembly. Values stay normal numbers, and are the same in every run.
 *
 * The shape is the amount of data that the classes of the second-level cache and beyond touch. It is chosen for the
 * caches of the traced machine and carried to the others: a program's data do not shrink with the cache either.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_KERNEL_H
#define PRECEDENT_SKELGEN_RUNTIME_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "skelgen/runtime/classes.h"

enum kernel_level { LEVEL_L2, LEVEL_L3, LEVEL_MEM, LEVEL_N };

#define LEVEL_UNIT  12288ull /* sizes are multiples: three arrays of whole pages */
#define LEVEL_LEAST (2 * LEVEL_UNIT)
#define LEVEL_MOST  (1ull << 30)

/* The array of fills and copies is so many times as large as the piece that the program sets or copies. Between two uses of
 * the piece the program touches other memory, so that a cache keeps a piece of at most about a third of its size. */
#define KERNEL_STRING_ROOM (8.0 / 3)

#define KERNEL_ROW_LEAST 16
#define KERNEL_ROW_MOST  512

struct kernel_shape {
	uint64_t bytes[LEVEL_N];
	int vector_bits; /* of packed floating point, as the program was compiled: 128, 256, 512 */
	int row;         /* of scalar chains, numbers: a power of two from KERNEL_ROW_LEAST to KERNEL_ROW_MOST; 0: the most */
	int packed;      /* lines worked on in packed form, of 16 lines of a stream; the others: one number each */
};

/* State of all kernels for one thread. */
struct kernel;

const char *kernel_name(int c);
/* Bytes that the data of these classes (bits 1 << class) take. */
uint64_t kernel_bytes(const struct kernel_shape *s, unsigned classes);
/* Allocate and touch what these classes need; NULL without memory. */
struct kernel *kernel_create(const struct kernel_shape *s, unsigned classes);
void kernel_destroy(struct kernel *k);
/* From now on integer work is an empty loop, as in Zhang, Zhang, Zhang 2010 (cited in skelgen/plan/plan.h), section 4.
 * Shows what such a loop is worth as computation. */
void kernel_be_empty(void);
/* Do that many units of class c, which must be among those of the creation. */
void kernel_run(struct kernel *k, int c, uint64_t units);
/* Units after which a kernel has touched all of its data. */
uint64_t kernel_round(const struct kernel *k, int c);
/* A value that depends on all work done so far. */
double kernel_digest(const struct kernel *k);
/* Width in bits at which packed floating point runs here. */
int kernel_vector_bits(const struct kernel *k);

#endif
