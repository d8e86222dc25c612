/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compute kernels: small loops of known character whose unit of work takes a few nanoseconds. A block of compute is
 * a number of units of each. No kernel's work can be folded away: its state goes through memory that the compiler
 * must assume is read elsewhere.
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_KERNEL_H
#define PRECEDENT_SKELGEN_RUNTIME_KERNEL_H

#include <stdint.h>

enum skel_kernel {
	KERNEL_INTEGER, /* integer arithmetic, table look-ups, branches that depend on data */
	KERNEL_SCALAR,  /* a chain of dependent double precision operations */
	KERNEL_VECTOR,  /* a three-point stencil on arrays in the first-level cache */
	KERNEL_STREAM,  /* a triad over arrays larger than the private caches */
	KERNEL_N
};

const char *kernel_name(int k);
/* Allocate and touch the arrays; -1 without memory. */
int kernel_open(void);
void kernel_close(void);
/* Do that many units of kernel k. */
void kernel_run(int k, uint64_t units);
/* A value that depends on all work done so far. */
double kernel_digest(void);

#endif
