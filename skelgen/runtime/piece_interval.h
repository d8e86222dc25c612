/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The interval of a run that is estimated from pieces. Pure arithmetic, without MPI. The spread of the pieces around the ratio
 * of their times here and in the trace gives the half-width of a 95 % interval (a ratio estimate: Cochran, "Sampling
 * techniques", 1977, chapter 6).
 */
#ifndef PRECEDENT_SKELGEN_RUNTIME_PIECE_INTERVAL_H
#define PRECEDENT_SKELGEN_RUNTIME_PIECE_INTERVAL_H

#include <stdint.h>
#include <string.h>

#define PIECE_KINDS 64
/* A tenth of the deviation of one round. Memory that an MPI library does not free is bounded, too. */
#define PIECES_ROUNDS_MOST 100

struct piece {
	int kind;       /* below PIECE_KINDS */
	int us;         /* traced time, microseconds */
	double weight;  /* 1 or more */
	double took_ns; /* here; < 0: not run yet */
};

/*
 * Half-width of a 95 % interval, ns, of the sum of weight x time over the pieces that have run. left_ns stands for the long
 * segments that are left out. It is the root of the sum of their squared traced times. A long segment has one deviation, as a
 * piece has one. So its variance grows with the square of its time.
 */
double pieces_half_ns(const struct piece *p, int n, double left_ns);

/* A weight in an array of 32-bit numbers: the bits of a float. The weights of a run may be 1, and may be millions. */
static inline int32_t piece_weight_bits(double weight)
{
	float f = (float)weight;
	int32_t bits;

	memcpy(&bits, &f, sizeof bits);
	return bits;
}

static inline double piece_weight(int32_t bits)
{
	float f;

	memcpy(&f, &bits, sizeof f);
	return f;
}

#endif
