/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Ranks sleep in turn. In each turn one rank sleeps, and the others wait for it in MPI_Allreduce. The run takes
 * TURNS times MS milliseconds. A rank sleeps in its own turns only.
 * Usage: alternate [MS=1000] [TURNS=4]. Rank 0 prints one line.
 */
#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static void nap(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&t, &t) != 0 && errno == EINTR)
		;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 1000;
	int turns = argc > 2 ? atoi(argv[2]) : 4, rank, size, mine = 0, all = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int t = 0; t < turns; t++) {
		if (t % size == rank) {
			nap(ms);
			mine++;
		}
		MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("alternate: %d turns of %ld ms\n", all, ms);
	MPI_Finalize();
	return 0;
}
