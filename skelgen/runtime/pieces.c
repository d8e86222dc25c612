/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of a run that stand for all of it. At the end of a piece, the virtual clock is put forward: by the piece's time, times
 * its weight less one. This is the time of segments that are left out.
 */
#include <math.h>
#include <stdlib.h>

#include "skelgen/runtime/compute.h"
#include "skelgen/runtime/piece_interval.h"
#include "skelgen/runtime/runtime.h"

#define LEVEL 0x50520000 /* of the first piece: skelgen/pieces/excerpt.h */

static struct {
	int n;
	struct piece *at;
	struct piece *now; /* the piece under way, or NULL */
	double begin_ns;
	struct compute_spent begin;
	double left_ns;
	const int *late_us; /* [piece * ranks + rank], or NULL */
	double started_ns;  /* virtual */
	double most;        /* time of the rank that takes longest over the mean of all ranks */
} pieces;

void skel_pieces(int kind, int us, int weight, double most)
{
	if (!(most >= 1 && most < INFINITY))
		skel_fail("a rank that takes %g times the mean makes no sense: generate the skeleton again", most);
	if (pieces.n > 0)
		skel_fail("it is told twice which pieces it is made of: generate the skeleton again");
	pieces.most = most;
	pieces.started_ns = skel_virtual_ns();
	pieces.n = skel_length(kind);
	if (pieces.n < 1 || skel_length(us) != pieces.n || skel_length(weight) != pieces.n)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	pieces.at = skel_alloc((size_t)pieces.n, sizeof *pieces.at);
	for (int i = 0; i < pieces.n; i++) {
		struct piece *p = &pieces.at[i];

		*p = (struct piece){skel_array(kind)[i], skel_array(us)[i], piece_weight(skel_array(weight)[i]), -1};
		if (p->kind < 0 || p->kind >= PIECE_KINDS || p->us < 0 || !(p->weight >= 1 && p->weight < INFINITY))
			skel_fail("skel.c.data is damaged: generate the skeleton again");
	}
}

void skel_left_out(double ns)
{
	if (!(ns >= 0 && ns < INFINITY))
		skel_fail("segments of %g ns make no sense: generate the skeleton again", ns);
	pieces.left_ns = ns;
}

void skel_late(int us)
{
	int64_t n = (int64_t)pieces.n * skel_size;
	const int *late = skel_array(us);

	if (n == 0 || skel_length(us) != n)
		skel_fail("skel.c.data is damaged: generate the skeleton again");
	for (int64_t i = 0; i < n; i++)
		if (late[i] < 0)
			skel_fail("skel.c.data is damaged: generate the skeleton again");
	pieces.late_us = late;
}

/* In the run, ranks did not enter the piece at the same time. A rank that is early there waits longer
 * for the others in the piece. The barrier stands where no message is under way. */
static void enter(int64_t k)
{
	double before = skel_virtual_ns(), late = pieces.late_us[k * skel_size + skel_rank] * 1e3;

	PMPI_Barrier(MPI_COMM_WORLD);
	skel_sleep(late);
	skel_virtual_forward(before - skel_virtual_ns(), 0);
}

static void piece_close(void)
{
	double now = skel_virtual_ns(), more = pieces.now->weight - 1;
	struct compute_spent s;

	skel_spent_virtual(&s);
	pieces.now->took_ns = now - pieces.begin_ns;
	skel_virtual_forward(more * (now - pieces.begin_ns), 0);
	skel_spent_forward(more * (s.took_ns - pieces.begin.took_ns), more * (s.asked_ns - pieces.begin.asked_ns));
	pieces.now = NULL;
}

void skel_piece(int64_t level)
{
	int64_t k = level - LEVEL;

	if (k < 0 || k > pieces.n) {
		MPI_Pcontrol((int)level); /* the program's own */
		return;
	}
	if (pieces.now != NULL)
		piece_close();
	else if (pieces.late_us != NULL && k < pieces.n)
		enter(k);
	if (k == pieces.n)
		return;
	pieces.now = &pieces.at[k];
	pieces.begin_ns = skel_virtual_ns();
	skel_spent_virtual(&pieces.begin);
}

/* Weights stand for the mean over ranks. The times of single ranks vary with when their pieces begin and end. So the
 * longest of these times would be too long. */
static void meet(void)
{
	double mine = skel_virtual_ns() - pieces.started_ns, sum;

	PMPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	skel_virtual_forward(pieces.most * sum / skel_size - mine, 0);
}

void skel_pieces_close(void)
{
	if (pieces.n > 0) {
		skel_virtual_forward(0, pieces_half_ns(pieces.at, pieces.n, pieces.left_ns));
		meet();
	}
	free(pieces.at);
	pieces.at = NULL;
}
