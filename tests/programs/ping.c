/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ping: measures the link and a core of the first two ranks.
 *
 * Rank 0 prints one line per figure: the hosts, the one-way latency of an 8-byte message, the bandwidth of a 1 MiB
 * message, and the speed of the slower rank. It also prints the larger share of a core that a rank got meanwhile,
 * which a CPU quota bounds. Options: ping [SECONDS per figure, default 0.3].
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { SMALL_BYTES = 8, LARGE_BYTES = 1 << 20, BATCH_SMALL = 64, BATCH_LARGE = 2 };

static void exchange(int rank, char *buffer, int bytes, int rounds)
{
	for (int i = 0; i < rounds; i++) {
		if (rank == 0) {
			MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
			MPI_Recv(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		} else {
			MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
		}
	}
}

/* Seconds of a one-way message, over batches until budget_s is used up. Rank 0 decides. */
static double ping_measure(int rank, char *buffer, int bytes, int batch, double budget_s)
{
	long messages = 0;
	int again = 1;

	exchange(rank, buffer, bytes, batch);
	double start_s = MPI_Wtime();
	while (again) {
		exchange(rank, buffer, bytes, batch);
		messages += 2 * (long)batch;
		again = MPI_Wtime() - start_s < budget_s;
		MPI_Bcast(&again, 1, MPI_INT, 0, MPI_COMM_WORLD);
	}
	return (MPI_Wtime() - start_s) / (double)messages;
}

static double cpu_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Mflop/s of this rank while every rank computes, and its share of a core. */
static double compute_measure(double budget_s, double *share)
{
	enum { STEPS = 20000 };
	volatile double sink = 0.0;
	double done = 0.0, start_s = MPI_Wtime(), start_cpu_s = cpu_s(), elapsed_s;

	do {
		double x = 1.0;
		for (int i = 0; i < STEPS; i++)
			x = x * 0.999999 + 0.5;
		sink = sink + x;
		done += STEPS;
		elapsed_s = MPI_Wtime() - start_s;
	} while (elapsed_s < budget_s);
	*share = (cpu_s() - start_cpu_s) / elapsed_s;
	return 2.0 * done / elapsed_s / 1e6;
}

int main(int argc, char **argv)
{
	char host[MPI_MAX_PROCESSOR_NAME] = "", peer[MPI_MAX_PROCESSOR_NAME] = "";
	int rank, ranks, length;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
	double budget_s = argc > 1 ? atof(argv[1]) : 0.3;
	if (ranks != 2 || budget_s <= 0.0) {
		if (rank == 0)
			fprintf(stderr, "ping: needs 2 ranks (has %d) and a positive time\n", ranks);
		MPI_Finalize();
		return 2;
	}
	char *buffer = malloc(LARGE_BYTES);
	if (buffer == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	memset(buffer, 0, LARGE_BYTES);

	MPI_Get_processor_name(host, &length);
	MPI_Sendrecv(host, sizeof host, MPI_CHAR, 1 - rank, 1, peer, sizeof peer, MPI_CHAR, 1 - rank, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	double small_s = ping_measure(rank, buffer, SMALL_BYTES, BATCH_SMALL, budget_s);
	double large_s = ping_measure(rank, buffer, LARGE_BYTES, BATCH_LARGE, budget_s);
	MPI_Barrier(MPI_COMM_WORLD);
	double share, largest = 0.0, slowest = 0.0;
	double rate = compute_measure(budget_s, &share);
	MPI_Reduce(&rate, &slowest, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);
	MPI_Reduce(&share, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);

	if (rank == 0)
		printf("hosts %s %s\nlatency_us %.2f\nbandwidth_mb_s %.1f\ncompute_mflop_s %.1f\ncpu_share "
		       "%.2f\n",
		       host, peer, small_s * 1e6, LARGE_BYTES / large_s / 1e6, slowest, largest);
	free(buffer);
	MPI_Finalize();
	return 0;
}
