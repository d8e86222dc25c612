/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pieces of a run that stand for all of it. At the end of a piece, the virtual clock is put forward: by the piece's time, times
 * its weight less one. This is the time of segments that are left out.
 *
 * Pieces that are far shorter than the budget run in rounds. In the first round caches are cold and connections are
 * new. With pieces of a millisecond the first round took 41 % longer than the other ones. So it does not count if there
 * are others.
 * At the end virtual time is set to the mean of the rounds that count.
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

static struct {
	int n;                            /* that have ended */
	struct skel_virtual first, begin; /* the begin of the first round, and of the one under way */
	struct skel_virtual sum;          /* of the times of the second round and later ones */
	double begin_ns, first_ns, longest_ns; /* real */
} rounds;

static void round_begin(void)
{
	skel_virtual_look(&rounds.begin);
	rounds.begin_ns = skel_clock_ns();
	if (rounds.n == 0) {
		rounds.first = rounds.begin;
		rounds.first_ns = rounds.begin_ns;
	}
}

static void round_end(void)
{
	struct skel_virtual now;
	double ns = skel_clock_ns() - rounds.begin_ns;

	rounds.longest_ns = ns > rounds.longest_ns ? ns : rounds.longest_ns;
	if (rounds.n++ == 0)
		return;
	skel_virtual_look(&now);
	rounds.sum.ns += now.ns - rounds.begin.ns;
	rounds.sum.width2_ns2 += now.width2_ns2 - rounds.begin.width2_ns2;
	rounds.sum.spent.took_ns += now.spent.took_ns - rounds.begin.spent.took_ns;
	rounds.sum.spent.asked_ns += now.spent.asked_ns - rounds.begin.spent.asked_ns;
	rounds.sum.spent.short_ns += now.spent.short_ns - rounds.begin.spent.short_ns;
}

/* Virtual time goes on as if one round had run, with the mean time of the second and later ones. */
static void rounds_close(void)
{
	struct skel_virtual one = rounds.first;
	int n = rounds.n - 1;

	if (n < 1)
		return;
	one.ns += rounds.sum.ns / n;
	one.width2_ns2 += rounds.sum.width2_ns2 / n;
	one.spent.took_ns += rounds.sum.spent.took_ns / n;
	one.spent.asked_ns += rounds.sum.spent.asked_ns / n;
	one.spent.short_ns += rounds.sum.spent.short_ns / n;
	skel_virtual_set(&one);
}

/* A receive that is left would get a message of the next round. Communicators that are left count in the last round. */
int skel_pieces_again(double all_ns)
{
	int more, all;

	if (pieces.n == 0 || !(all_ns > 0))
		return 0;
	round_end();
	skel_handles_free();
	more = rounds.n < PIECES_ROUNDS_MOST && skel_left_requests == 0 && !skel_windows_left() &&
	       skel_clock_ns() - rounds.first_ns + rounds.longest_ns < all_ns;
	PMPI_Allreduce(&more, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
	if (all)
		skel_left_comms = 0;
	skel_data_rewind();
	return all;
}

void skel_pieces(int kind, int us, int weight, double most)
{
	if (!(most >= 1 && most < INFINITY))
		skel_fail("a rank that takes %g times the mean makes no sense: generate the skeleton again", most);
	round_begin();
	if (rounds.n > 0)
		return;
	if (pieces.n > 0)
		skel_fail("it is told twice which pieces it is made of: generate the skeleton again");
	pieces.most = most;
	pieces.started_ns = rounds.begin.ns;
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

/* In later rounds: the mean, without the first round. */
static void piece_took(struct piece *p, double ns)
{
	p->took_ns = rounds.n < 2 ? ns : p->took_ns + (ns - p->took_ns) / rounds.n;
}

static void piece_close(void)
{
	double now = skel_virtual_ns(), more = pieces.now->weight - 1;
	struct compute_spent s;

	skel_spent_virtual(&s);
	piece_took(pieces.now, now - pieces.begin_ns);
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
		rounds_close();
		skel_virtual_forward(0, pieces_half_ns(pieces.at, pieces.n, pieces.left_ns));
		meet();
	}
	free(pieces.at);
	pieces.at = NULL;
}
