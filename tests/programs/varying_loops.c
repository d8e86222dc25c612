/* SPDX-License-Identifier: GPL-2.0-or-later */
/* varying_loops STEPS: time steps with three inner loops, each of 2 to 7 iterations at random. An iteration computes a little,
 * exchanges halos and reduces. One short loop does all of the computation. */
#include <mpi.h>
#include <stdlib.h>

#define SHORT_HALO 640
#define LONG_HALO  1920

static double mine, all;

static void work(int n)
{
	volatile double x = 0;

	for (int i = 0; i < n; i++)
		x += i;
}

static void exchange(int bytes)
{
	static char in[LONG_HALO], out[LONG_HALO];
	MPI_Request request[2];
	int rank, size;

	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Irecv(in, bytes, MPI_BYTE, (rank + size - 1) % size, 1, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(out, bytes, MPI_BYTE, (rank + 1) % size, 1, MPI_COMM_WORLD, &request[1]);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static int some(void)
{
	return 2 + rand() % 6;
}

int main(int argc, char **argv)
{
	int steps = argc > 1 ? atoi(argv[1]) : 300;

	MPI_Init(&argc, &argv);
	srand(5);
	for (int step = 0; step < steps; step++) {
		int first = some(), second = some(), third = some();

		for (int i = 0; i < first; i++) {
			work(3000);
			exchange(SHORT_HALO);
			MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		}
		work(20000);
		MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
		for (int i = 0; i < second; i++) {
			work(4000);
			exchange(SHORT_HALO);
			MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
			MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
		}
		for (int i = 0; i < third; i++) {
			work(5000);
			exchange(LONG_HALO);
			MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_PROD, MPI_COMM_WORLD);
		}
	}
	MPI_Finalize();
	return 0;
}
