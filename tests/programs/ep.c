/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ep: pairs of normal deviates by rejection, counted in rings, in the pattern of the EP kernel. Computation without
 * messages, and three reductions at the end.
 * Usage: ep [MILLIONS_OF_PAIRS=64]. Rank 0 prints one line with the sums.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define RINGS 10
#define BLOCK 65536 /* pairs per seed */

static double uniform(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return (double)(*seed >> 11) * 0x1p-52 - 1.0;
}

static void block(uint64_t number, double sum[2], double ring[RINGS])
{
	uint64_t seed = (number + 1) * 0x9e3779b97f4a7c15u;

	for (int i = 0; i < BLOCK; i++) {
		double x = uniform(&seed), y = uniform(&seed), t = x * x + y * y;

		if (t > 1.0 || t == 0.0)
			continue;
		double f = sqrt(-2.0 * log(t) / t), a = fabs(x * f), b = fabs(y * f), most = a > b ? a : b;

		sum[0] += x * f;
		sum[1] += y * f;
		ring[most < RINGS ? (int)most : RINGS - 1] += 1.0;
	}
}

int main(int argc, char **argv)
{
	double sum[2] = {0}, ring[RINGS] = {0}, all[2], all_rings[RINGS], took = 0, longest;
	long millions = argc > 1 ? atol(argv[1]) : 64;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (millions < 1) {
		fprintf(stderr, "ep: usage: ep [MILLIONS_OF_PAIRS]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	took -= MPI_Wtime();
	for (long i = rank; i < millions * 1000000 / BLOCK; i += size)
		block((uint64_t)i, sum, ring);
	took += MPI_Wtime();
	MPI_Allreduce(sum, all, 2, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(ring, all_rings, RINGS, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Allreduce(&took, &longest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	if (rank == 0)
		printf("ep: millions %ld ranks %d sums %.6e %.6e first ring %.0f\n", millions, size, all[0], all[1], all_rings[0]);
	MPI_Finalize();
	return longest < 0;
}
