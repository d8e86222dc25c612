/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Different time steps: an inner loop that grows by one iteration per step, an inner loop with a random number of
 * iterations, a reduction in every tenth step, and messages between pairs of ranks in some steps. Or a few steps of
 * a solver with hundreds of iterations, each with another number. Usage: varying [steps
 * [growing|random|steps|solver|all]].
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LENGTH 100

static unsigned next_random(unsigned *state)
{
	*state = *state * 1103515245u + 12345u;
	return *state >> 16;
}

static void shift(int rank, int size, int count, int tag)
{
	double send[LENGTH] = {0}, receive[LENGTH];

	MPI_Sendrecv(send, count, MPI_DOUBLE, (rank + 1) % size, tag, receive, count, MPI_DOUBLE,
		     (rank + size - 1) % size, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Calls of some steps only. */
static void extra(int rank, int size)
{
	double send = 1, receive;
	int partner = rank ^ 1;

	if (partner < size)
		MPI_Sendrecv(&send, 1, MPI_DOUBLE, partner, 9, &receive, 1, MPI_DOUBLE, partner, 9, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
}

static void growing(int rank, int size, int steps)
{
	for (int i = 0; i < steps; i++) {
		for (int k = 0; k <= i; k++)
			shift(rank, size, 10, 1);
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

static void random_counts(int rank, int size, int steps, unsigned *state)
{
	double one = 1;

	for (int i = 0; i < 10 * steps; i++) {
		int inner = 1 + (int)(next_random(state) % 40);

		for (int k = 0; k < inner; k++)
			shift(rank, size, 20, 2);
		MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
}

static void unlike_steps(int rank, int size, int steps, unsigned *state)
{
	double sum, one = 1, all[64];

	for (int i = 0; i < 10 * steps; i++) {
		for (int k = 0; k < 3; k++) {
			shift(rank, size, 30, 3);
			MPI_Gather(&one, 1, MPI_DOUBLE, all, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
		}
		shift(rank, size, 40, 4);
		shift(rank, size, 50, 5);
		if (i % 10 == 9)
			MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		shift(rank, size, 60, 6);
		shift(rank, size, 70, 7);
		if (next_random(state) % 8 == 0)
			extra(rank, size);
		MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
}

static void solver(int rank, int size, int steps, unsigned *state)
{
	double sum, one = 1;

	for (int i = 0; i < steps; i++) {
		int inner = 100 + (int)(next_random(state) % 400);

		for (int k = 0; k < inner; k++) {
			shift(rank, size, 80, 8);
			MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
		MPI_Bcast(&one, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 60, rank, size;
	const char *phase = argc > 2 ? argv[2] : "all";
	bool all = strcmp(phase, "all") == 0;
	unsigned state = 7;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (all || strcmp(phase, "growing") == 0)
		growing(rank, size, steps);
	if (all || strcmp(phase, "random") == 0)
		random_counts(rank, size, steps, &state);
	if (all || strcmp(phase, "steps") == 0)
		unlike_steps(rank, size, steps, &state);
	if (strcmp(phase, "solver") == 0)
		solver(rank, size, steps, &state);
	MPI_Finalize();
	return 0;
}
