/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * thread_order: two threads of each of two ranks call MPI at once (MPI_THREAD_MULTIPLE). Semaphores fix the order in which
 * calls return, and one thread that made the calls in that order would wait for ever.
 * Usage: thread_order [ROUNDS=5]
 *
 *   rank 0: Recv X, Sendrecv Y, Send X       rank 1: Recv Y, Send Y, Sendrecv X
 */
#include <mpi.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

enum { X = 1, Y = 2 };

static int rank, rounds;
static sem_t received, answered;

static void send_and_receive(int tag, double *v)
{
	MPI_Sendrecv_replace(v, 1, MPI_DOUBLE, 1 - rank, tag, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *thread_x(void *unused)
{
	double v = 1;

	for (int i = 0; i < rounds; i++) {
		if (rank == 1) {
			send_and_receive(X, &v);
			continue;
		}
		MPI_Recv(&v, 1, MPI_DOUBLE, 1, X, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sem_post(&received);
		sem_wait(&answered);
		MPI_Send(&v, 1, MPI_DOUBLE, 1, X, MPI_COMM_WORLD);
	}
	return unused;
}

static void *thread_y(void *unused)
{
	double v = 2;

	for (int i = 0; i < rounds; i++) {
		if (rank == 0) {
			sem_wait(&received);
			send_and_receive(Y, &v);
			sem_post(&answered);
			continue;
		}
		MPI_Recv(&v, 1, MPI_DOUBLE, 0, Y, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Send(&v, 1, MPI_DOUBLE, 0, Y, MPI_COMM_WORLD);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t x, y;
	int level, size;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	rounds = argc > 1 ? atoi(argv[1]) : 5;
	if (level < MPI_THREAD_MULTIPLE || size != 2) {
		fprintf(stderr, "thread_order: wants two ranks and MPI_THREAD_MULTIPLE\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	sem_init(&received, 0, 0);
	sem_init(&answered, 0, 0);
	if (pthread_create(&x, NULL, thread_x, NULL) || pthread_create(&y, NULL, thread_y, NULL))
		MPI_Abort(MPI_COMM_WORLD, 1);
	pthread_join(x, NULL);
	pthread_join(y, NULL);
	MPI_Finalize();
	return 0;
}
