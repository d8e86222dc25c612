/* SPDX-License-Identifier: GPL-2.0-or-later */
/* nofinalize: ends well after some messages, but never calls MPI_Finalize. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	int rank, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 10; i++)
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("nofinalize: sum %d\n", sum);
	fflush(stdout);
	_exit(0);
}
