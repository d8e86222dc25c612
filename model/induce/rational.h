/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whole numbers as exact rational combinations of others: den y = num[0] + sum of num[i + 1] x[i], solved by
 * fraction-free elimination and verified on every row; every step is checked for overflow.
 */
#ifndef PRECEDENT_MODEL_INDUCE_RATIONAL_H
#define PRECEDENT_MODEL_INDUCE_RATIONAL_H

#include <stdint.h>

#define RATIONAL_TERMS_MAX 3
#define RATIONAL_MOST	   (INT64_C(1) << 50)

struct rational_fn {
	uint32_t n;			     /* terms */
	int64_t num[RATIONAL_TERMS_MAX + 1]; /* constant first */
	int64_t den;			     /* > 0, no factor common to all */
};

/* Column i is x[i][0 .. rows). 1 with the only function that holds on every row, 0 when there is none, or several, or
 * numbers become too large. */
int rational_solve(const int64_t *const *x, uint32_t n, const int64_t *y, uint32_t rows, struct rational_fn *out);
/* Description length in bits. */
double rational_bits(const struct rational_fn *f);
/* Fraction p/q nearest to x with q <= most. */
void rational_near(double x, int64_t most, int64_t *p, int64_t *q);

#endif
