/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rma: a halo exchange by one-sided communication, in loops with computation between: with fences, with post and
 * start between neighbours, and with locks and flushes. The window's size depends on the rank's part of the grid,
 * and the exchanged line moves through it. Usage: rma [CELLS [STEPS]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size, left, right, cells, steps;
static double *grid, halo[2][64], sum;
static MPI_Win win;

static void compute(void)
{
	for (int k = 0; k < 4; k++)
		for (int i = 1; i + 1 < cells; i++)
			grid[i] = 0.25 * (grid[i - 1] + 2 * grid[i] + grid[i + 1]);
}

static void by_fence(void)
{
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	for (int i = 0; i < steps; i++) {
		compute();
		MPI_Put(grid, 32, MPI_DOUBLE, left, i % 16, 32, MPI_DOUBLE, win);
		MPI_Put(grid + 32, 32, MPI_DOUBLE, right, 64 + i % 16, 32, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
		MPI_Get(halo[0], 16, MPI_DOUBLE, left, 8, 16, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
		sum += halo[0][3];
	}
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
}

/* The neighbours of this rank; the end ranks have one neighbour. */
static MPI_Group neighbours(void)
{
	MPI_Group all, some;
	int list[2], n = 0;

	MPI_Win_get_group(win, &all);
	if (left != MPI_PROC_NULL)
		list[n++] = left;
	if (right != MPI_PROC_NULL)
		list[n++] = right;
	MPI_Group_incl(all, n, list, &some);
	MPI_Group_free(&all);
	return some;
}

static void by_post_and_start(void)
{
	MPI_Group near = neighbours();

	for (int i = 0; i < steps; i++) {
		MPI_Win_post(near, 0, win);
		MPI_Win_start(near, 0, win);
		MPI_Put(grid, 32, MPI_DOUBLE, left, 0, 32, MPI_DOUBLE, win);
		MPI_Accumulate(grid + 32, 32, MPI_DOUBLE, right, 64, 32, MPI_DOUBLE, MPI_SUM, win);
		compute();
		MPI_Win_complete(win);
		MPI_Win_wait(win);
	}
	MPI_Group_free(&near);
}

static void by_lock(void)
{
	MPI_Request q;
	double one = 1, before = 0;

	for (int i = 0; i < steps; i++) {
		compute();
		MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
		MPI_Fetch_and_op(&one, &before, MPI_DOUBLE, 0, 128, MPI_SUM, win);
		MPI_Win_unlock(0, win);
		sum += before;
	}
	MPI_Win_lock_all(0, win);
	for (int i = 0; i < steps; i++) {
		compute();
		if (right != MPI_PROC_NULL) {
			MPI_Put(grid, 16, MPI_DOUBLE, right, 160, 16, MPI_DOUBLE, win);
			MPI_Win_flush(right, win);
		}
		MPI_Rget(halo[1], 16, MPI_DOUBLE, rank, 96, 16, MPI_DOUBLE, win, &q);
		MPI_Wait(&q, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	MPI_Win_unlock_all(win);
}

int main(int argc, char **argv)
{
	double all;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	cells = (argc > 1 ? atoi(argv[1]) : 4000) + 64 * rank;
	steps = argc > 2 ? atoi(argv[2]) : 40;
	if (cells < 256)
		cells = 256;
	left = rank > 0 ? rank - 1 : MPI_PROC_NULL;
	right = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
	grid = calloc((size_t)cells, sizeof *grid);
	if (grid == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Win_create(grid, (MPI_Aint)cells * (MPI_Aint)sizeof *grid, sizeof *grid, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	by_fence();
	by_post_and_start();
	by_lock();
	MPI_Win_free(&win);
	MPI_Allreduce(&sum, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	if (rank == 0)
		printf("rma: %g\n", all);
	free(grid);
	MPI_Finalize();
	return 0;
}
