/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A loop with one branch that depends on random data: guesses WAY SHARE PASSES [sorted]. WAY is skips (a long piece
 * is done or skipped, as for pairs of atoms within a cutoff), forks (a short and a long piece), or counts
 * (integers). SHARE of the data goes to the first piece. sorted: the same data in order, so that every prediction
 * is right and the work is the same. Rank 0 prints nanoseconds per iteration.
 */
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define N     (1 << 20) /* more branches than a predictor remembers */
#define KINDS 256       /* different data values, which fit into the first-level cache */
#define CALLS 20        /* number of blocks of computation */

/* Keeps the compiler from removing a branch. */
#define KEEP(x) __asm__ volatile("" : "+r"(x))
#define HERE    __asm__ volatile("" ::: "memory")

static uint8_t which[N];
static double at[KINDS][3], force[KINDS][3], value[KINDS];
static long number[KINDS];

static double draw(void)
{
	static uint64_t s = 88172645463325252u;

	s ^= s << 13;
	s ^= s >> 7;
	s ^= s << 17;
	return (double)(s >> 11) / 9007199254740992.0;
}

static double skips(void)
{
	double sum = 0;

	for (int i = 0; i < N; i++) {
		int k = which[i];
		double dx = 1 - at[k][0], dy = 1 - at[k][1], dz = 1 - at[k][2], r2 = dx * dx + dy * dy + dz * dz;

		if (r2 < 1) {
			double over = 1 / r2, over6 = over * over * over, f = over6 * (1.3 * over6 - 0.7) * over;

			force[k][0] += dx * f;
			force[k][1] += dy * f;
			force[k][2] += dz * f;
			sum += f;
			HERE;
		}
	}
	return sum;
}

static double forks(void)
{
	double a = 0, b = 0;

	for (int i = 0; i < N; i++) {
		double v = value[which[i]];

		if (v < 1) {
			a += v * 0.5;
			HERE;
		} else {
			double w = v * v;

			b += (((((w * 0.1 + 0.2) * w + 0.3) * w + 0.4) * w + 0.5) * w + 0.6) *
				     (((((v * 0.1 + 0.2) * v + 0.3) * v + 0.4) * v + 0.5) * v + 0.6) + w;
			HERE;
		}
	}
	return a + b;
}

static double counts(void)
{
	long n = 0, m = 1;

	for (int i = 0; i < N; i++) {
		long v = number[which[i]];

		if (v < 1000) {
			n += v ^ m;
			m = m * 3 + (n >> 3);
			KEEP(m);
		} else {
			n ^= v;
			KEEP(n);
		}
	}
	return (double)(n + m);
}

static void fill(double share, int in_order)
{
	int first = (int)(share * KINDS);

	for (int k = 0; k < KINDS; k++) {
		double v = k < first ? 0.2 + 0.7 * draw() : 1.1 + draw();

		value[k] = v;
		number[k] = (long)(1000 * v);
		at[k][0] = at[k][1] = at[k][2] = 1 - sqrt(v / 3);
	}
	for (int i = 0; i < N; i++) {
		double part = in_order ? (double)i / N : draw();

		which[i] = (uint8_t)(part < share ? draw() * first : first + draw() * (KINDS - first));
	}
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		double (*run)(void);
	} ways[] = {{"skips", skips}, {"forks", forks}, {"counts", counts}};
	double begin, sum = 0;
	int rank, way = 0, passes;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	while (argc >= 4 && way < 3 && strcmp(argv[1], ways[way].name) != 0)
		way++;
	if (argc < 4 || way == 3)
		MPI_Abort(MPI_COMM_WORLD, 2);
	passes = atoi(argv[3]);
	fill(atof(argv[2]), argc > 4);
	begin = MPI_Wtime();
	for (int call = 0; call < CALLS; call++) {
		for (int i = 0; i < passes; i++)
			sum += ways[way].run();
		MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	if (rank == 0)
		printf("%.3f\n", 1e9 * (MPI_Wtime() - begin) / CALLS / passes / N);
	if (rank == 0 && sum == 0.5)
		puts("");
	MPI_Finalize();
	return 0;
}
