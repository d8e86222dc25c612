/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * polls_asleep: rank 0 computes for MS ms before each of TASKS messages. Rank 1 probes for them and sleeps between
 * unsuccessful probes, as task farms do. After each message rank 1 computes for a twentieth of MS ms and sleeps for a
 * fifth.
 * Usage: polls_asleep [TASKS=20] [MS=20] [NAP_US=200]. Prints one line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* Processor time: other load does not count. */
static void compute(double seconds)
{
	struct timespec t;
	double begun = -1, now;

	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
		now = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
		begun = begun < 0 ? now : begun;
	} while (now < begun + seconds);
}

int main(int argc, char **argv)
{
	int tasks = argc > 1 ? atoi(argv[1]) : 20, ms = argc > 2 ? atoi(argv[2]) : 20;
	int nap = argc > 3 ? atoi(argv[3]) : 200, rank, polls = 0, sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < tasks; i++) {
		int flag = 0, task = i;

		if (rank == 0) {
			compute(ms * 1e-3);
			MPI_Send(&task, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		}
		if (rank != 1)
			continue;
		for (; !flag; polls++) {
			MPI_Iprobe(0, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
			if (!flag)
				usleep((useconds_t)nap);
		}
		MPI_Recv(&task, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		sum += task;
		compute(ms * 0.05e-3);
		usleep((useconds_t)(ms * 200));
	}
	if (rank == 1)
		printf("polls_asleep: polls %d sum %d\n", polls, sum);
	MPI_Finalize();
	return 0;
}
