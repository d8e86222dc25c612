/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of the same computation, of about 20 ms processor time, between barriers. The program prints the processor
 * time and the wall time of the blocks.
 *
 *   blocks N
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double work(double x)
{
	for (int k = 0; k < 5000000; k++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? strtol(argv[1], NULL, 10) : 10;
	double x = 0, cpu = 0, wall = 0;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (long i = 0; i < n; i++) {
		double c = now(CLOCK_THREAD_CPUTIME_ID), w = now(CLOCK_MONOTONIC);

		x = work(x);
		cpu += now(CLOCK_THREAD_CPUTIME_ID) - c;
		wall += now(CLOCK_MONOTONIC) - w;
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("cpu %.6f s, wall %.6f s\n%s", cpu, wall, x > 0 ? "" : "?\n");
	MPI_Finalize();
	return 0;
}
