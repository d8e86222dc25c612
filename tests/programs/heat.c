/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * heat: explicit 2-D heat equation on an n x n grid, split into blocks of rows.
 *
 * Each step exchanges one halo row with either neighbour and, every EVERY steps, sums the change over all ranks.
 * Usage: heat [N=512] [STEPS=400] [EVERY=10] [sendrecv|isend]. Rank 0 prints one line with a checksum.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct heat {
	int n, rows, first; /* columns and global rows, own rows, global index of the first */
	int rank, up, down; /* neighbours, or MPI_PROC_NULL */
	double *now, *next; /* (rows + 2) x n, with a halo row above and below */
};

static void halo_sendrecv(struct heat *h)
{
	double *a = h->now;
	int n = h->n, r = h->rows;

	MPI_Sendrecv(a + n, n, MPI_DOUBLE, h->up, 1, a + (size_t)(r + 1) * n, n, MPI_DOUBLE, h->down, 1,
		     MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(a + (size_t)r * n, n, MPI_DOUBLE, h->down, 2, a, n, MPI_DOUBLE, h->up, 2, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
}

static void halo_isend(struct heat *h)
{
	double *a = h->now;
	int n = h->n, r = h->rows;
	MPI_Request req[4];

	MPI_Irecv(a, n, MPI_DOUBLE, h->up, 2, MPI_COMM_WORLD, &req[0]);
	MPI_Irecv(a + (size_t)(r + 1) * n, n, MPI_DOUBLE, h->down, 1, MPI_COMM_WORLD, &req[1]);
	MPI_Isend(a + n, n, MPI_DOUBLE, h->up, 1, MPI_COMM_WORLD, &req[2]);
	MPI_Isend(a + (size_t)r * n, n, MPI_DOUBLE, h->down, 2, MPI_COMM_WORLD, &req[3]);
	MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
}

/* One step. Returns the sum of squared changes if `measure` is set, else 0. */
static double step(struct heat *h, int measure)
{
	int n = h->n;
	double change = 0.0;

	for (int i = 1; i <= h->rows; i++) {
		const double *a = h->now + (size_t)i * n;
		double *b = h->next + (size_t)i * n;
		int g = h->first + i - 1;

		b[0] = a[0];
		b[n - 1] = a[n - 1];
		if (g == 0 || g == n - 1) {
			memcpy(b, a, sizeof(double) * (size_t)n);
			continue;
		}
		for (int j = 1; j < n - 1; j++)
			b[j] = a[j] + 0.2 * (a[j - n] + a[j + n] + a[j - 1] + a[j + 1] - 4.0 * a[j]);
		for (int j = 1; measure && j < n - 1; j++)
			change += (b[j] - a[j]) * (b[j] - a[j]);
	}
	double *t = h->now;
	h->now = h->next;
	h->next = t;
	return change;
}

static int heat_create(struct heat *h, int n)
{
	int size;

	MPI_Comm_rank(MPI_COMM_WORLD, &h->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	h->n = n;
	h->first = (int)((long)n * h->rank / size);
	h->rows = (int)((long)n * (h->rank + 1) / size) - h->first;
	h->up = h->rank > 0 ? h->rank - 1 : MPI_PROC_NULL;
	h->down = h->rank < size - 1 ? h->rank + 1 : MPI_PROC_NULL;
	h->now = calloc((size_t)(h->rows + 2) * (size_t)n, sizeof(double));
	h->next = calloc((size_t)(h->rows + 2) * (size_t)n, sizeof(double));
	if (!h->now || !h->next)
		return -1;
	for (int i = 1; i <= h->rows; i++) /* hot left edge, warm spot in the middle */
		for (int j = 0; j < n; j++) {
			double x = (double)j / n - 0.5, y = (double)(h->first + i - 1) / n - 0.5;
			h->now[(size_t)i * n + j] = j == 0 ? 100.0 : 50.0 * exp(-20.0 * (x * x + y * y));
		}
	return 0;
}

int main(int argc, char **argv)
{
	struct heat h = {0};
	int n = argc > 1 ? atoi(argv[1]) : 512, steps = argc > 2 ? atoi(argv[2]) : 400;
	int every = argc > 3 ? atoi(argv[3]) : 10, size;
	int isend = argc > 4 && !strcmp(argv[4], "isend");
	double sum = 0.0, total, change = 0.0;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < 3 || n < size || steps < 0 || every < 1 || heat_create(&h, n) < 0) {
		fprintf(stderr, "heat: usage: heat [N >= ranks] [STEPS] [EVERY] [sendrecv|isend]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (int s = 1; s <= steps; s++) {
		if (isend)
			halo_isend(&h);
		else
			halo_sendrecv(&h);
		double local = step(&h, s % every == 0);
		if (s % every == 0)
			MPI_Allreduce(&local, &change, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	for (int i = 1; i <= h.rows; i++)
		for (int j = 0; j < n; j++)
			sum += h.now[(size_t)i * n + j];
	MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	if (h.rank == 0)
		printf("heat: n %d steps %d ranks %d change %.9e checksum %.9e\n", n, steps, size, change, total);
	free(h.now);
	free(h.next);
	MPI_Finalize();
	return 0;
}
