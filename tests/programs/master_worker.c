/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * master_worker: rank 0 hands out TASKS tasks to idle ranks (MPI_ANY_SOURCE, MPI_ANY_TAG).
 * Usage: master_worker [TASKS=200] [WORK=2000]. Rank 0 prints one line with a checksum, which does not depend on
 * the order of answers. Needs two ranks.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { TAG_TASK = 1, TAG_STOP = 2, TAG_ANSWER = 3 };

static unsigned long work(int task, int amount)
{
	unsigned long x = (unsigned long)task * 2654435761u + 1;

	for (int i = 0; i < amount; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x >> 33;
}

static unsigned long master(int tasks, int size)
{
	unsigned long sum = 0, answer;
	int given = 0, busy = 0;
	MPI_Status status;

	for (int w = 1; w < size; w++) {
		MPI_Send(&given, 1, MPI_INT, w, given < tasks ? TAG_TASK : TAG_STOP, MPI_COMM_WORLD);
		busy += given < tasks;
		given += given < tasks;
	}
	while (busy > 0) {
		MPI_Recv(&answer, 1, MPI_UNSIGNED_LONG, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		sum += answer;
		MPI_Send(&given, 1, MPI_INT, status.MPI_SOURCE, given < tasks ? TAG_TASK : TAG_STOP,
			 MPI_COMM_WORLD);
		busy -= given >= tasks;
		given += given < tasks;
	}
	return sum;
}

static void worker(int amount)
{
	MPI_Status status;
	int task;

	for (;;) {
		MPI_Recv(&task, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == TAG_STOP)
			return;
		unsigned long answer = work(task, amount);
		MPI_Send(&answer, 1, MPI_UNSIGNED_LONG, 0, TAG_ANSWER, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? atoi(argv[1]) : 200, amount = argc > 2 ? atoi(argv[2]) : 2000, rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size < 2 || tasks < 0 || amount < 0) {
		fprintf(stderr, "master_worker: usage: master_worker [TASKS] [WORK], on two ranks or more\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (rank == 0)
		printf("master_worker: tasks %d ranks %d checksum %lu\n", tasks, size, master(tasks, size));
	else
		worker(amount);
	MPI_Finalize();
	return 0;
}
