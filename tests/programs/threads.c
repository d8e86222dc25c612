/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * threads: several threads of each rank call MPI at once (MPI_THREAD_MULTIPLE), each on its own communicator.
 * Usage: threads [ROUNDS=100]. Rank 0 prints one line with a checksum.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 3 };

struct worker {
	MPI_Comm comm;
	int rounds, id;
	long sum;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	int rank, size;

	MPI_Comm_rank(w->comm, &rank);
	MPI_Comm_size(w->comm, &size);
	for (int i = 0; i < w->rounds; i++) {
		int out = rank + i * w->id, in = 0;
		MPI_Request req[2];

		MPI_Irecv(&in, 1, MPI_INT, (rank + size - 1) % size, 5, w->comm, &req[0]);
		MPI_Isend(&out, 1, MPI_INT, (rank + 1) % size, 5, w->comm, &req[1]);
		MPI_Waitall(2, req, MPI_STATUSES_IGNORE);
		w->sum += in;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	struct worker w[THREADS];
	pthread_t t[THREADS];
	int rounds = argc > 1 ? atoi(argv[1]) : 100, provided, rank;
	long sum = 0, total = 0;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (provided < MPI_THREAD_MULTIPLE || rounds < 0) {
		fprintf(stderr, "threads: needs MPI_THREAD_MULTIPLE; usage: threads [ROUNDS]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (int i = 0; i < THREADS; i++) {
		w[i] = (struct worker){.rounds = rounds, .id = i + 1};
		MPI_Comm_dup(MPI_COMM_WORLD, &w[i].comm);
	}
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, &w[i]))
			MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(t[i], NULL);
		sum += w[i].sum;
	}
	for (int i = 0; i < THREADS; i++)
		MPI_Comm_free(&w[i].comm);
	MPI_Reduce(&sum, &total, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("threads: rounds %d checksum %ld\n", rounds, total);
	MPI_Finalize();
	return 0;
}
