/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * sizes: messages that are shorter than their receive buffers, in all ways of receiving, among ranks with other
 * numbers in their communicator. Prints the bytes that each rank received. Usage: sizes [ROUNDS]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define ROOM 1000 /* doubles */

static MPI_Comm comm;
static int rank, size, left, right;
static double in[8][ROOM], out[ROOM];
static long received;

static void got(MPI_Status *st, int n)
{
	for (int i = 0; i < n; i++) {
		int bytes;

		MPI_Get_count(&st[i], MPI_BYTE, &bytes);
		received += bytes;
	}
}

static void one_by_one(int round)
{
	MPI_Status st;
	MPI_Message m;
	MPI_Request q;

	MPI_Isend(out, 10 + round, MPI_DOUBLE, right, 1, comm, &q);
	MPI_Recv(in[0], ROOM, MPI_DOUBLE, left, 1, comm, &st);
	got(&st, 1);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Isend(out, 20 + round, MPI_DOUBLE, right, 2, comm, &q);
	MPI_Recv(in[0], ROOM, MPI_DOUBLE, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &st);
	got(&st, 1);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Sendrecv(out, 30 + round, MPI_DOUBLE, right, 3, in[0], ROOM, MPI_DOUBLE, left, 3, comm, &st);
	got(&st, 1);
	MPI_Isend(out, 40 + round, MPI_DOUBLE, right, 4, comm, &q);
	MPI_Mprobe(left, 4, comm, &m, MPI_STATUS_IGNORE);
	MPI_Mrecv(in[0], ROOM, MPI_DOUBLE, &m, &st);
	got(&st, 1);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	/* fills the buffer */
	MPI_Sendrecv(out, ROOM, MPI_DOUBLE, right, 5, in[0], ROOM, MPI_DOUBLE, left, 5, comm, &st);
	got(&st, 1);
}

static void several(int round, MPI_Request *persistent)
{
	MPI_Request q[8];
	MPI_Status st[8];

	for (int i = 0; i < 4; i++)
		MPI_Irecv(in[i], ROOM, MPI_DOUBLE, left, 10 + i, comm, &q[i]);
	for (int i = 0; i < 4; i++)
		MPI_Isend(out, i + round, MPI_DOUBLE, right, 10 + i, comm, &q[4 + i]);
	MPI_Waitall(8, q, st);
	got(st, 4);
	MPI_Startall(4, persistent);
	for (int i = 0; i < 4; i++)
		MPI_Send(out, 50 + i + round, MPI_DOUBLE, right, 20 + i, comm);
	MPI_Waitall(4, persistent, st);
	got(st, 4);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 10, me;
	MPI_Request persistent[4];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &me);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm); /* in reverse order */
	MPI_Comm_rank(comm, &rank);
	MPI_Comm_size(comm, &size);
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	for (int i = 0; i < 4; i++)
		MPI_Recv_init(in[i], ROOM, MPI_DOUBLE, left, 20 + i, comm, &persistent[i]);
	for (int i = 0; i < rounds; i++) {
		one_by_one(i);
		several(i, persistent);
	}
	for (int i = 0; i < 4; i++)
		MPI_Request_free(&persistent[i]);
	printf("rank %d received %ld\n", me, received);
	MPI_Comm_free(&comm);
	MPI_Finalize();
	return 0;
}
