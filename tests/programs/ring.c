/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ring: a token of BYTES bytes goes round all ranks ROUNDS times. With SIZE, one token per round goes round each
 * group of SIZE successive ranks.
 * Usage: ring [ROUNDS=100] [BYTES=8] [SIZE=all]. Rank 0 prints one line with a checksum.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100, bytes = argc > 2 ? atoi(argv[2]) : 8, rank, size, first, n;
	unsigned sum = 0;
	unsigned char *token = calloc(1, bytes > 0 ? (size_t)bytes : 1);

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	n = argc > 3 && atoi(argv[3]) > 0 ? atoi(argv[3]) : size;
	if (rounds < 0 || bytes < 1 || !token || size % n) {
		fprintf(stderr, "ring: usage: ring [ROUNDS] [BYTES >= 1] [SIZE that divides the ranks]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	first = rank - rank % n;
	for (int r = 0; r < rounds; r++) {
		int next = first + (rank + 1) % n, previous = first + (rank + n - 1) % n;

		if (rank == first)
			MPI_Send(token, bytes, MPI_BYTE, next, 7, MPI_COMM_WORLD);
		MPI_Recv(token, bytes, MPI_BYTE, previous, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		token[r % bytes] = (unsigned char)(token[r % bytes] + rank + 1);
		if (rank != first)
			MPI_Send(token, bytes, MPI_BYTE, next, 7, MPI_COMM_WORLD);
	}
	for (int i = 0; i < bytes; i++)
		sum = sum * 31 + token[i];
	if (rank == 0)
		printf("ring: rounds %d bytes %d ranks %d checksum %u\n", rounds, bytes, size, sum);
	free(token);
	MPI_Finalize();
	return 0;
}
