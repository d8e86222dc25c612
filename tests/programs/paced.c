/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An MPI program with a given run time that uses hardly any processor time. In each fifth of a second, or each step of
 * MS milliseconds, it waits (as for a disk), computes a little, passes a message around the ring and sometimes sums up. Many such programs fill a
 * cluster of nodes that share two processors.
 *
 *   paced FIFTHS [MS=200]
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define STEP_MS 200
#define MESSAGE 2000

static double work(double x)
{
	for (int k = 0; k < 300000; k++)
		x = x * 1.0000001 + 1e-9;
	return x;
}

int main(int argc, char **argv)
{
	long steps = argc > 1 ? strtol(argv[1], NULL, 10) : 10, step_ms = argc > 2 ? strtol(argv[2], NULL, 10) : STEP_MS;
	double out[MESSAGE] = {1}, in[MESSAGE] = {0}, sum = 0;
	struct timespec next;
	int rank, n;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &n);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (long i = 0; i < steps; i++) {
		next.tv_nsec += step_ms * 1000000L;
		next.tv_sec += next.tv_nsec / 1000000000L;
		next.tv_nsec %= 1000000000L;
		out[0] = work(in[0]);
		MPI_Sendrecv(out, MESSAGE, MPI_DOUBLE, (rank + 1) % n, 0, in, MESSAGE, MPI_DOUBLE, (rank + n - 1) % n, 0, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		if (i % 10 == 9)
			MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	MPI_Finalize();
	if (!rank)
		printf("%ld steps, sum %g\n", steps, sum);
	return 0;
}
