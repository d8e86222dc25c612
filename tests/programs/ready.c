/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Rank 0 sends ROUNDS messages to rank 1 by one persistent request in ready mode. A barrier tells that the receive is there. */
#include <stdlib.h>

#include <mpi.h>

int main(int argc, char **argv)
{
	int rank, rounds = argc > 1 ? atoi(argv[1]) : 0, data[4] = {0};
	MPI_Request request;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (rank == 0)
		MPI_Rsend_init(data, 4, MPI_INT, 1, 7, MPI_COMM_WORLD, &request);
	else
		MPI_Recv_init(data, 4, MPI_INT, 0, 7, MPI_COMM_WORLD, &request);
	for (int i = 0; i < rounds; i++) {
		if (rank == 1)
			MPI_Start(&request);
		MPI_Barrier(MPI_COMM_WORLD);
		if (rank == 0)
			MPI_Start(&request);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
	}
	MPI_Request_free(&request);
	return MPI_Finalize();
}
