/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * spare_room: each rank receives short messages with a count of 512 MiB, as programs do that receive into one
 * large pool.
 * Blocking receives, requests and persistent requests; the messages have 1 to 1,000 integers.
 * Usage: spare_room [ROUNDS=20]. Rank 0 prints one line with the sum of its messages.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum { ROOM = 1 << 27, LONGEST = 1000, KINDS = 3 };

int main(int argc, char **argv)
{
	const size_t bytes = (size_t)KINDS * ROOM * sizeof(int);
	int rounds = argc > 1 ? atoi(argv[1]) : 20, out[LONGEST], rank, size;
	int *pool = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	MPI_Request request, again;
	long sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (pool == MAP_FAILED)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < LONGEST; i++)
		out[i] = rank + i;
	MPI_Recv_init(pool, ROOM, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, &again);
	for (int r = 0; r < rounds; r++) {
		int count = 1 + r * 53 % LONGEST, to = (rank + 1) % size, from = (rank + size - 1) % size;

		MPI_Start(&again);
		MPI_Irecv(pool + ROOM, ROOM, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
		for (int tag = 0; tag < KINDS; tag++)
			MPI_Send(out, count, MPI_INT, to, tag, MPI_COMM_WORLD);
		MPI_Recv(pool + 2L * ROOM, ROOM, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Wait(&request, MPI_STATUS_IGNORE);
		MPI_Wait(&again, MPI_STATUS_IGNORE);
		for (int k = 0; k < KINDS; k++)
			sum += pool[(long)k * ROOM + count - 1];
	}
	MPI_Request_free(&again);
	if (rank == 0)
		printf("spare_room: rounds %d sum %ld\n", rounds, sum);
	munmap(pool, bytes);
	MPI_Finalize();
	return 0;
}
