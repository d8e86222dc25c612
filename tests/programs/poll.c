/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * poll: exactly POLLS unsuccessful tests and probes of every kind, then the message for which they waited.
 * Usage: poll [POLLS=1000]. Prints one line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	int polls = argc > 1 ? atoi(argv[1]) : 1000, in[2] = {0, 0}, out = 5, flag, index, n, done[2], found = 0;
	MPI_Request req[2];

	MPI_Init(&argc, &argv);
	MPI_Irecv(&in[0], 1, MPI_INT, 0, 1, MPI_COMM_SELF, &req[0]);
	MPI_Irecv(&in[1], 1, MPI_INT, MPI_ANY_SOURCE, 2, MPI_COMM_SELF, &req[1]);
	for (int i = 0; i < polls; i++) {
		flag = n = 0;
		switch (i % 6) {
		case 0: MPI_Test(&req[0], &flag, MPI_STATUS_IGNORE); break;
		case 1: MPI_Testany(2, req, &index, &flag, MPI_STATUS_IGNORE); break;
		case 2: MPI_Testall(2, req, &flag, MPI_STATUSES_IGNORE); break;
		case 3: MPI_Testsome(2, req, &n, done, MPI_STATUSES_IGNORE); break;
		case 4: MPI_Iprobe(0, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); break;
		case 5: MPI_Iprobe(MPI_ANY_SOURCE, 3, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE); break;
		}
		found += flag + n;
	}
	MPI_Send(&out, 1, MPI_INT, 0, 1, MPI_COMM_SELF);
	MPI_Send(&out, 1, MPI_INT, 0, 2, MPI_COMM_SELF);
	MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
	printf("poll: polls %d found %d checksum %d\n", polls, found, in[0] + in[1]);
	MPI_Finalize();
	return 0;
}
