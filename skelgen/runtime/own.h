/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops of the program itself as kernels: its own instructions in their own order, which any processor weighs as it weighs the
 * program; where all of them are executed in each iteration, its own loop (own_loop.h). What they do to memory they do to a few pages that
 * belong to the kernel, in the first-level cache, but for what goes in order through what the caches behind it hold: that goes through areas
 * as large, so that it is as far ahead of the work on it as in the program. Waiting for what is met in no order, or lies in memory, has
 * kernels of its own. The machine code is made for the traced processor's instruction set by own_code.c, lies in skel.c.data and is told
 * apart by class: CLASS_OWN_0 is the first. Shared by what makes it and what runs it.
 *
 * An image is OWN_DATA bytes at most of code, a function of the number of units (System V calling convention), then OWN_DATA_BYTES
 * of data, which the code reaches relative to itself. Numbers are where the code loads them from, each in its own part; loads
 * and stores have different places in a page, so that no load is taken for one that waits for a store.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_OWN_H
#define PRECEDENT_SKELGEN_RUNTIME_OWN_H

#include <stdint.h>

#include "skelgen/runtime/classes.h"

#define OWN_MOST (CLASS_OWN_7 - CLASS_OWN_0 + 1)
#define OWN_PAGE 4096u
#define OWN_DATA (8 * OWN_PAGE) /* where the data begin */

enum own_part { OWN_STATE, OWN_DOUBLES, OWN_FLOATS, OWN_INTEGERS, OWN_STORES, OWN_STACK, OWN_PARTS };

#define OWN_DATA_BYTES (OWN_PARTS * OWN_PAGE)
/* Of the state: units that are left, the address of the data, general registers and vector registers of doubles and of floats as they begin. */
#define OWN_LEFT           0u
#define OWN_ADDRESS        64u
#define OWN_GENERAL        128u
#define OWN_VECTOR_DOUBLES 1024u
#define OWN_VECTOR_FLOATS  2048u
#define OWN_VECTOR_BYTES   32u
/* What numbers are without their signs by, and what signs are by: of doubles, then of floats, a vector each. */
#define OWN_MASKS          2560u
#define OWN_MASK(floats, sign) (OWN_MASKS + OWN_VECTOR_BYTES * (2u * (floats) + (sign)))

/* Areas of memory that a loop goes through, of each where it is, its begin and its end: a unit begins where it is, which is then a unit's
 * steps ahead, or at the begin again. */
#define OWN_WALKS      8
#define OWN_NO_WALK    0xff
#define OWN_WALK(k)    (3072u + 32u * (k))
#define OWN_WALK_BEGIN 8u
#define OWN_WALK_END   16u
#define OWN_WALKS_MOST (64u << 20) /* bytes of all areas of a loop; all loops of a thread go through the same memory */

struct own_walk {
	uint64_t bytes; /* where units begin; 0: all in the same place */
	uint64_t span;  /* from where a unit begins on so much is touched */
};

/* What a processor must have. */
enum own_needs { OWN_AVX = 1, OWN_AVX2 = 2, OWN_FMA = 4, OWN_BMI = 8, OWN_SSE4 = 16, OWN_F16C = 32, OWN_NEEDS = 64 };

struct own_image {
	uint32_t needs;
	uint32_t len;        /* of the code, bytes */
	const uint8_t *code;
	const double *as;    /* share of its time by class of work, those before CLASS_OWN_0 */
	uint32_t n;          /* instructions of a unit that are the program's */
	uint32_t n_walk;
	const struct own_walk *walk;
};

/* From now on the first n classes of their own do this; the code is borrowed. -1 and why: it cannot run here. */
int own_take(const struct own_image *image, int n, const char **why);

/* Areas of a loop are made so much smaller that they are no more than so many bytes: OWN_WALKS_MOST, unless this is less. */
void own_bound(uint64_t bytes);

/* Bytes that loops of these classes (bits 1 << class) go through; all of a thread go through the same. */
uint64_t own_memory(unsigned classes);

/* One thread's loops. From when they are made until they are destroyed numbers that are too small for normal ones are none, for all that the
 * thread computes. */
struct own;
/* Of these classes; NULL without memory, or where nothing may be executed that was written. */
struct own *own_create(unsigned classes);
void own_destroy(struct own *o);
/* Class c; one that has no code is an empty loop. */
void own_run(struct own *o, int c, uint64_t units);
/* Units done so far. */
uint64_t own_units(const struct own *o);

#endif
