/* SPDX-License-Identifier: GPL-2.0-or-later */
/* crash: rank 0 dies of a signal between MPI_Init and MPI_Finalize, after some messages; the others wait for it. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	int rank, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0) {
		printf("crash: dies with %d\n", sum);
		fflush(stdout);
		raise(SIGSEGV);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Finalize();
	return 0;
}
