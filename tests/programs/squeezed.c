/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All ranks wait for each other on one processor first, then each has its own. The scheduler may begin a run so. */
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>

enum { TOGETHER = 40, APART = 400 };

static void steps(int n)
{
	for (int i = 0; i < n; i++) {
		double end = MPI_Wtime() + 1e-3;

		while (MPI_Wtime() < end)
			;
		MPI_Barrier(MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	cpu_set_t all, one;
	int first = 0;

	MPI_Init(&argc, &argv);
	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	while (first < CPU_SETSIZE - 1 && !CPU_ISSET(first, &all))
		first++;
	CPU_ZERO(&one);
	CPU_SET(first, &one);
	if (sched_setaffinity(0, sizeof(one), &one) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	steps(TOGETHER);
	if (sched_setaffinity(0, sizeof(all), &all) != 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	steps(APART);
	MPI_Finalize();
	return 0;
}
