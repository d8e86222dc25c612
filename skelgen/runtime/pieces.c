/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of a run that stand for all of it. At the end of a piece, the virtual clock is put forward: by the piece's time, times
 * its weight less one. This is the time of segments that are left out. The spread of the pieces around the ratio of their
 * times here and in the trace gives the half-width of a 95 % interval (a ratio estimate: Cochran, "Sampling techniques", 1977,
 * chapter 6).
 */
#include <math.h>
#include <stdlib.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/runtime.h"
#include "skelgen/runtime/sampled.h"

#define KINDS_MAX 64
#define LEVEL     0x50520000 /* of the first piece: skelgen/pieces/excerpt.h */

static struct {
	int n, n_kind;
	const int *kind, *us, *weight; /* of each piece: its kind, its traced time in microseconds, its weight in thousandths */
	double *took_ns;            /* of each piece here; < 0: not run yet */
	int at;                     /* the piece under way; -1: none */
	double begin_ns;
	struct compute_spent begin;
} pieces = {.at = -1};

void skel_pieces(int kind, int us, int weight)
{
	pieces.n = skel_length(kind);
	pieces.kind = skel_array(kind);
	pieces.us = skel_array(us);
	pieces.weight = skel_array(weight);
	if (pieces.n < 1 || skel_length(us) != pieces.n || skel_length(weight) != pieces.n)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	for (int i = 0; i < pieces.n; i++) {
		if (pieces.kind[i] < 0 || pieces.kind[i] >= KINDS_MAX || pieces.us[i] < 0 || pieces.weight[i] < 1000)
			skel_fail("skel.c.data is damaged: generate the skeleton again");
		pieces.n_kind = pieces.kind[i] >= pieces.n_kind ? pieces.kind[i] + 1 : pieces.n_kind;
	}
	pieces.took_ns = skel_alloc((size_t)pieces.n, sizeof *pieces.took_ns);
	for (int i = 0; i < pieces.n; i++)
		pieces.took_ns[i] = -1;
}

static void piece_close(void)
{
	double now = skel_virtual_ns(), more = pieces.weight[pieces.at] * 1e-3 - 1;
	struct compute_spent s;

	skel_spent_virtual(&s);
	pieces.took_ns[pieces.at] = now - pieces.begin_ns;
	skel_virtual_forward(more * (now - pieces.begin_ns), 0);
	skel_spent_forward(more * (s.took_ns - pieces.begin.took_ns), more * (s.asked_ns - pieces.begin.asked_ns));
	pieces.at = -1;
}

void skel_piece(int64_t level)
{
	int64_t k = level - LEVEL;

	if (k < 0 || k > pieces.n) {
		MPI_Pcontrol((int)level); /* the program's own */
		return;
	}
	if (pieces.at >= 0)
		piece_close();
	if (k == pieces.n)
		return;
	pieces.at = (int)k;
	pieces.begin_ns = skel_virtual_ns();
	skel_spent_virtual(&pieces.begin);
}

/* Mean square of the residuals of pieces about their ratio, ns^2: of one kind, or of all (-1). Returns -1 for fewer than two. */
static double residual2(int kind)
{
	double here = 0, there = 0, square = 0, n = 0;

	for (int i = 0; i < pieces.n; i++)
		if ((kind < 0 || pieces.kind[i] == kind) && pieces.took_ns[i] >= 0) {
			here += pieces.took_ns[i];
			there += pieces.us[i] * 1e3;
			n++;
		}
	for (int i = 0; n > 1 && there > 0 && i < pieces.n; i++)
		if ((kind < 0 || pieces.kind[i] == kind) && pieces.took_ns[i] >= 0) {
			double d = pieces.took_ns[i] - here / there * pieces.us[i] * 1e3;

			square += d * d;
		}
	return n > 1 ? square / (n - 1) : -1;
}

/* Variance of the time of one kind, ns^2. A kind with a single piece differs as much as the pieces of all kinds do. */
static double kind_variance(int kind)
{
	double square = residual2(kind), sum = 0;

	for (int i = 0; i < pieces.n; i++)
		if (pieces.kind[i] == kind && pieces.took_ns[i] >= 0)
			sum += pieces.weight[i] * 1e-3 * (pieces.weight[i] * 1e-3 - 1);
	return sum * fmax(0, square < 0 ? residual2(-1) : square);
}

void skel_pieces_close(void)
{
	double variance = 0;

	for (int c = 0; c < pieces.n_kind; c++)
		variance += kind_variance(c);
	if (pieces.n > 0)
		skel_virtual_forward(0, sampled_student95(fmax(1, pieces.n - pieces.n_kind)) * sqrt(variance));
	free(pieces.took_ns);
	pieces.took_ns = NULL;
}
