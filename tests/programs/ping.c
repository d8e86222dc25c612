/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ping: what a link and a core are worth between the first two ranks.
 *
 * Rank 0 prints one line per figure: the hosts, the latency of an 8-byte message one way, the
 * bandwidth of a 1 MiB message, and how fast each rank computes alone (the same loop for a fixed
 * time, so that a CPU quota shows).  Options: ping [SECONDS per figure, default 0.3].
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Seconds of one message one way, over batches until budget_s is spent; rank 0 decides. */
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

/* Million multiply-adds per second of this rank while every rank computes. */
static double compute_measure(double budget_s)
{
	enum { STEPS = 20000 };
	volatile double sink = 0.0;
	double done = 0.0;
	double start_s = MPI_Wtime();

	while (MPI_Wtime() - start_s < budget_s) {
		double x = 1.0;
		for (int i = 0; i < STEPS; i++)
			x = x * 0.999999 + 0.5;
		sink = sink + x;
		done += STEPS;
	}
	return done / (MPI_Wtime() - start_s) / 1e6;
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
	double rate = compute_measure(budget_s), slowest = 0.0;
	MPI_Reduce(&rate, &slowest, 1, MPI_DOUBLE, MPI_MIN, 0, MPI_COMM_WORLD);

	if (rank == 0)
		printf("hosts %s %s\nlatency_us %.2f\nbandwidth_mb_s %.1f\ncompute_mflop_s %.1f\n", host,
		       peer, small_s * 1e6, LARGE_BYTES / large_s / 1e6, 2.0 * slowest);
	free(buffer);
	MPI_Finalize();
	return 0;
}
