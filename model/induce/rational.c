/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Exact rational functions of whole numbers: see rational.h. */
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "model/induce/rational.h"

#define DIM (RATIONAL_TERMS_MAX + 1)

__extension__ typedef __int128 wide;

static bool mul_sub(wide a, wide b, wide c, wide d, wide *out)
{
	wide p, q;

	return !__builtin_mul_overflow(a, b, &p) && !__builtin_mul_overflow(c, d, &q) && !__builtin_sub_overflow(p, q, out);
}

/* Rows of an upper triangular system, taken one after the other while they add something. Bareiss keeps them whole. */
struct system {
	uint32_t dim, rank;
	wide row[DIM][DIM + 1];
	uint32_t pivot[DIM];
};

static wide gcd(wide a, wide b)
{
	a = a < 0 ? -a : a;
	b = b < 0 ? -b : b;
	while (b) {
		wide r = a % b;

		a = b;
		b = r;
	}
	return a;
}

static void row_reduce(wide *row, uint32_t n)
{
	wide g = 0;

	for (uint32_t i = 0; i < n; i++)
		g = gcd(g, row[i]);
	for (uint32_t i = 0; g > 1 && i < n; i++)
		row[i] /= g;
}

/* 1: a new row; 0: nothing new; -1: it contradicts the others, or numbers become too large. */
static int system_add(struct system *s, wide *row)
{
	uint32_t n = s->dim + 1, pivot = 0;

	for (uint32_t k = 0; k < s->rank; k++) {
		uint32_t p = s->pivot[k];
		wide a = s->row[k][p], b = row[p];

		for (uint32_t i = 0; b && i < n; i++)
			if (!mul_sub(row[i], a, s->row[k][i], b, &row[i]))
				return -1;
		row_reduce(row, n);
	}
	while (pivot < s->dim && !row[pivot])
		pivot++;
	if (pivot == s->dim)
		return row[s->dim] ? -1 : 0;
	/* Kept fully reduced: the new pivot leaves the rows before. */
	for (uint32_t k = 0; k < s->rank; k++) {
		wide a = row[pivot], b = s->row[k][pivot];

		for (uint32_t i = 0; b && i < n; i++)
			if (!mul_sub(s->row[k][i], a, row[i], b, &s->row[k][i]))
				return -1;
		row_reduce(s->row[k], n);
	}
	memcpy(s->row[s->rank], row, n * sizeof(*row));
	s->pivot[s->rank++] = pivot;
	return 1;
}

static int system_read(const struct system *s, struct rational_fn *out)
{
	wide den = 1, value[DIM];

	for (uint32_t k = 0; k < s->rank; k++) {
		wide d = s->row[k][s->pivot[k]], l;

		d = d < 0 ? -d : d;
		if (__builtin_mul_overflow(den / gcd(den, d), d, &l) || l > RATIONAL_MOST)
			return 0;
		den = l;
	}
	for (uint32_t k = 0; k < s->rank; k++) {
		wide d = s->row[k][s->pivot[k]], v;

		if (__builtin_mul_overflow(s->row[k][s->dim], den / d, &v) || v > RATIONAL_MOST || v < -RATIONAL_MOST)
			return 0;
		value[s->pivot[k]] = v;
	}
	out->den = (int64_t)den;
	for (uint32_t i = 0; i < s->dim; i++)
		out->num[i] = (int64_t)value[i];
	return 1;
}

int rational_solve(const int64_t *const *x, uint32_t n, const int64_t *y, uint32_t rows, struct rational_fn *out)
{
	struct system s = {.dim = n + 1};

	for (uint32_t r = 0; r < rows; r++) {
		wide row[DIM + 1] = {1};

		for (uint32_t i = 0; i < n; i++)
			row[i + 1] = x[i][r];
		row[n + 1] = y[r];
		if (s.rank == s.dim) {
			wide sum = 0, part;

			if (r == s.dim || !out->den) { /* read once, then only compare */
				if (!system_read(&s, out))
					return 0;
			}
			for (uint32_t i = 0; i <= n; i++)
				if (__builtin_mul_overflow((wide)out->num[i], row[i], &part) ||
				    __builtin_add_overflow(sum, part, &sum))
					return 0;
			if (sum != (wide)out->den * y[r])
				return 0;
			continue;
		}
		if (system_add(&s, row) < 0)
			return 0;
		out->den = 0;
	}
	if (s.rank < s.dim || !system_read(&s, out))
		return 0;
	out->n = n;
	return 1;
}

static double whole_bits(int64_t v)
{
	return log2(1 + fabs((double)v));
}

double rational_bits(const struct rational_fn *f)
{
	double bits = 1.5 * log2((double)f->den);

	for (uint32_t i = 0; i <= f->n; i++)
		bits += whole_bits(f->num[i]);
	return bits;
}

void rational_near(double x, int64_t most, int64_t *p, int64_t *q)
{
	int64_t p0 = 0, q0 = 1, p1 = 1, q1 = 0;
	double rest = fabs(x);

	while (q1 <= most && rest < 0x1p40) {
		int64_t a = (int64_t)floor(rest), p2, q2;

		if (__builtin_mul_overflow(a, p1, &p2) || __builtin_add_overflow(p2, p0, &p2) ||
		    __builtin_mul_overflow(a, q1, &q2) || __builtin_add_overflow(q2, q0, &q2) || q2 > most)
			break;
		p0 = p1;
		q0 = q1;
		p1 = p2;
		q1 = q2;
		if (rest - (double)a < 1e-13 * fmax(1, fabs(x)))
			break;
		rest = 1 / (rest - (double)a);
	}
	*p = x < 0 ? -p1 : p1;
	*q = q1 ? q1 : 1;
	if (!q1)
		*p = 0;
}
