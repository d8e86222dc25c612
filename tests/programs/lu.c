/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * lu: an LU-like wavefront, as in SSOR solvers.
 *
 * An n x n x n grid is split over a px x py grid of ranks. Each iteration sweeps the planes k upwards (data comes
 * from the north and the west) and then downwards (from the south and the east): many small messages in a
 * pipeline. Usage: lu [N=64] [ITERATIONS=20]. Rank 0 prints one line with a checksum.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct lu {
	int n, ni, nj;               /* planes; own points in either direction */
	int north, south, west, east;
	double *u;                   /* n planes of (ni + 2) x (nj + 2) */
	double *edge;                /* column to send or receive */
};

static double *plane(const struct lu *l, int k)
{
	return l->u + (size_t)k * (size_t)(l->ni + 2) * (size_t)(l->nj + 2);
}

static void column_recv(struct lu *l, double *p, int j, int from, int tag)
{
	if (from == MPI_PROC_NULL)
		return;
	MPI_Recv(l->edge, l->ni, MPI_DOUBLE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int i = 1; i <= l->ni; i++)
		p[i * (l->nj + 2) + j] = l->edge[i - 1];
}

static void column_send(struct lu *l, const double *p, int j, int to, int tag)
{
	if (to == MPI_PROC_NULL)
		return;
	for (int i = 1; i <= l->ni; i++)
		l->edge[i - 1] = p[i * (l->nj + 2) + j];
	MPI_Send(l->edge, l->ni, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
}

static void row_recv(struct lu *l, double *p, int i, int from, int tag)
{
	if (from != MPI_PROC_NULL)
		MPI_Recv(p + i * (l->nj + 2) + 1, l->nj, MPI_DOUBLE, from, tag, MPI_COMM_WORLD,
			 MPI_STATUS_IGNORE);
}

static void row_send(struct lu *l, const double *p, int i, int to, int tag)
{
	if (to != MPI_PROC_NULL)
		MPI_Send(p + i * (l->nj + 2) + 1, l->nj, MPI_DOUBLE, to, tag, MPI_COMM_WORLD);
}

static void sweep_lower(struct lu *l)
{
	int w = l->nj + 2;

	for (int k = 1; k < l->n; k++) {
		double *p = plane(l, k);
		const double *q = plane(l, k - 1);

		row_recv(l, p, 0, l->north, 10);
		column_recv(l, p, 0, l->west, 11);
		for (int i = 1; i <= l->ni; i++)
			for (int j = 1; j <= l->nj; j++)
				p[i * w + j] = 0.4 * p[i * w + j] +
					       0.2 * (p[(i - 1) * w + j] + p[i * w + j - 1] + q[i * w + j]);
		row_send(l, p, l->ni, l->south, 10);
		column_send(l, p, l->nj, l->east, 11);
	}
}

static void sweep_upper(struct lu *l)
{
	int w = l->nj + 2;

	for (int k = l->n - 2; k >= 0; k--) {
		double *p = plane(l, k);
		const double *q = plane(l, k + 1);

		row_recv(l, p, l->ni + 1, l->south, 20);
		column_recv(l, p, l->nj + 1, l->east, 21);
		for (int i = l->ni; i >= 1; i--)
			for (int j = l->nj; j >= 1; j--)
				p[i * w + j] = 0.4 * p[i * w + j] +
					       0.2 * (p[(i + 1) * w + j] + p[i * w + j + 1] + q[i * w + j]);
		row_send(l, p, 1, l->north, 20);
		column_send(l, p, 1, l->west, 21);
	}
}

static double norm(const struct lu *l)
{
	double s = 0.0, total = 0.0;

	for (int k = 0; k < l->n; k++)
		for (int i = 1; i <= l->ni; i++)
			for (int j = 1; j <= l->nj; j++) {
				double v = plane(l, k)[i * (l->nj + 2) + j];
				s += v * v;
			}
	MPI_Allreduce(&s, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sqrt(total);
}

static int lu_create(struct lu *l, int n, int rank, int size)
{
	int dims[2] = {0, 0};

	MPI_Dims_create(size, 2, dims);
	int pi = rank / dims[1], pj = rank % dims[1];

	l->n = n;
	l->ni = n * (pi + 1) / dims[0] - n * pi / dims[0];
	l->nj = n * (pj + 1) / dims[1] - n * pj / dims[1];
	l->north = pi > 0 ? rank - dims[1] : MPI_PROC_NULL;
	l->south = pi < dims[0] - 1 ? rank + dims[1] : MPI_PROC_NULL;
	l->west = pj > 0 ? rank - 1 : MPI_PROC_NULL;
	l->east = pj < dims[1] - 1 ? rank + 1 : MPI_PROC_NULL;
	size_t points = (size_t)n * (size_t)(l->ni + 2) * (size_t)(l->nj + 2);
	l->u = malloc(points * sizeof(double));
	l->edge = malloc((size_t)(l->ni + 1) * sizeof(double));
	if (!l->u || !l->edge || l->ni < 1 || l->nj < 1)
		return -1;
	for (size_t i = 0; i < points; i++)
		l->u[i] = 1.0 + 0.001 * (double)((i * 7 + (size_t)rank) % 13);
	return 0;
}

int main(int argc, char **argv)
{
	struct lu l = {0};
	int n = argc > 1 ? atoi(argv[1]) : 64, iterations = argc > 2 ? atoi(argv[2]) : 20, rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < 2 || iterations < 0 || lu_create(&l, n, rank, size) < 0) {
		fprintf(stderr, "lu: usage: lu [N] [ITERATIONS], N at least the ranks in one direction\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	double before = norm(&l);
	for (int it = 0; it < iterations; it++) {
		sweep_lower(&l);
		sweep_upper(&l);
	}
	double after = norm(&l);
	if (rank == 0)
		printf("lu: n %d iterations %d ranks %d start %.9e checksum %.9e\n", n, iterations, size, before,
		       after);
	free(l.u);
	free(l.edge);
	MPI_Finalize();
	return 0;
}
