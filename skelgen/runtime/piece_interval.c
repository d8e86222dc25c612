/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See piece_interval.h. */
#include "skelgen/runtime/piece_interval.h"

#include <math.h>

#include "skelgen/runtime/sampled.h"

/* Mean square of the residuals of pieces about their ratio, ns^2: of one kind, or of all (-1). Returns -1 for fewer than two. */
static double residual2(const struct piece *p, int n_piece, int kind)
{
	double here = 0, there = 0, square = 0, n = 0;

	for (int i = 0; i < n_piece; i++)
		if ((kind < 0 || p[i].kind == kind) && p[i].took_ns >= 0) {
			here += p[i].took_ns;
			there += p[i].us * 1e3;
			n++;
		}
	for (int i = 0; n > 1 && there > 0 && i < n_piece; i++)
		if ((kind < 0 || p[i].kind == kind) && p[i].took_ns >= 0) {
			double d = p[i].took_ns - here / there * p[i].us * 1e3;

			square += d * d;
		}
	return n > 1 ? square / (n - 1) : -1;
}

/* Variance of a piece's time relative to its traced time. Long pieces count more. */
static double relative_variance(const struct piece *p, int n_piece)
{
	double square = residual2(p, n_piece, -1), us2 = 0, n = 0;

	for (int i = 0; i < n_piece; i++)
		if (p[i].took_ns >= 0) {
			us2 += (double)p[i].us * p[i].us;
			n++;
		}
	return us2 > 0 ? square * n / (us2 * 1e6) : 0;
}

/* Variance of the time of one kind, ns^2. A kind with a single piece differs as much, by its time, as the pieces of all
 * kinds do. */
static double kind_variance(const struct piece *p, int n_piece, int kind)
{
	double square = residual2(p, n_piece, kind), relative = square < 0 ? relative_variance(p, n_piece) : 0, sum = 0;

	for (int i = 0; i < n_piece; i++) {
		double us = p[i].us, alone = relative * us * us * 1e6;

		if (p[i].kind == kind && p[i].took_ns >= 0)
			sum += p[i].weight * (p[i].weight - 1) * (square < 0 ? alone : square);
	}
	return sum;
}

/* Degrees of freedom of the variance. A piece of weight 1 is no sample of other pieces. */
static int degrees(const struct piece *p, int n_piece)
{
	int n = 0;

	for (int c = 0; c < PIECE_KINDS; c++) {
		int of_kind = 0, sampled = 0;

		for (int i = 0; i < n_piece; i++) {
			of_kind += p[i].kind == c;
			sampled |= p[i].kind == c && p[i].weight > 1;
		}
		n += sampled ? of_kind - 1 : 0;
	}
	return n > 1 ? n : 1;
}

/* A single piece has no spread: the time that does not run may be none, or twice as long. */
static double left_out_ns(const struct piece *p, int n)
{
	double sum = 0;

	for (int i = 0; i < n; i++)
		sum += p[i].took_ns >= 0 ? (p[i].weight - 1) * p[i].took_ns : 0;
	return sum;
}

double pieces_half_ns(const struct piece *p, int n, double left_ns)
{
	double variance = left_ns * left_ns * relative_variance(p, n);

	if (residual2(p, n, -1) < 0)
		return left_out_ns(p, n);
	for (int c = 0; c < PIECE_KINDS; c++)
		variance += kind_variance(p, n, c);
	return sampled_student95(degrees(p, n)) * sqrt(variance);
}
