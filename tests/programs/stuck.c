/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Four ranks wait for each other for ever, each in another call that was not made before, until rank 0 is killed.
 * Usage: stuck [SECONDS=1]
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>

static __attribute__((noipa)) void wait_for_next(int rank)
{
	MPI_Recv(&rank, 1, MPI_INT, rank + 1, 42, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* rank 1 stops here */
}

int main(int argc, char **argv)
{
	struct timespec t = {.tv_sec = argc > 1 ? atol(argv[1]) : 1};
	MPI_Request request[3];
	int rank, x = 0, y = 0;
	MPI_Comm half;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
	for (int i = 0; i < 20; i++)
		MPI_Allreduce(MPI_IN_PLACE, &x, 1, MPI_INT, MPI_SUM, half);
	if (rank == 0) {
		nanosleep(&t, NULL);
		raise(SIGKILL);
	} else if (rank == 1) {
		wait_for_next(rank);
	} else if (rank == 2) {
		MPI_Irecv(&x, 1, MPI_INT, MPI_ANY_SOURCE, 7, half, &request[0]);
		MPI_Irecv(&y, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &request[1]);
		MPI_Waitall(2, request, MPI_STATUSES_IGNORE); /* rank 2 stops here */
	} else {
		MPI_Bcast(&x, 1, MPI_INT, 0, half); /* rank 3 stops here */
	}
	MPI_Finalize();
	return 0;
}
