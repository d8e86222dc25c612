/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * cg: conjugate gradients for the 2-D Poisson equation on an n x n grid.
 *
 * Ranks form a grid with a communicator per row and per column of it. Each iteration exchanges halos inside these
 * (rows contiguous, columns packed) and takes two dot products by Allreduce.
 * Usage: cg [N=256] [ITERATIONS=200]. Rank 0 prints one line with a checksum.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct cg {
	int ni, nj;                   /* own points */
	MPI_Comm grid, in_row, in_col;
	int left, right, up, down;    /* ranks in in_row and in in_col */
	double *x, *r, *p, *q;        /* (ni + 2) x (nj + 2) */
	double *pack;                 /* four columns */
};

static void halo(struct cg *c, double *v)
{
	int w = c->nj + 2, n = c->ni;
	double *out_l = c->pack, *out_r = c->pack + n, *in_l = c->pack + 2 * n, *in_r = c->pack + 3 * n;
	MPI_Request req[4];

	for (int i = 0; i < n; i++) {
		out_l[i] = v[(i + 1) * w + 1];
		out_r[i] = v[(i + 1) * w + c->nj];
	}
	MPI_Irecv(in_r, n, MPI_DOUBLE, c->right, 1, c->in_row, &req[0]);
	MPI_Irecv(in_l, n, MPI_DOUBLE, c->left, 2, c->in_row, &req[1]);
	MPI_Isend(out_l, n, MPI_DOUBLE, c->left, 1, c->in_row, &req[2]);
	MPI_Isend(out_r, n, MPI_DOUBLE, c->right, 2, c->in_row, &req[3]);
	MPI_Sendrecv(v + w + 1, c->nj, MPI_DOUBLE, c->up, 3, v + (size_t)(n + 1) * w + 1, c->nj, MPI_DOUBLE,
		     c->down, 3, c->in_col, MPI_STATUS_IGNORE);
	MPI_Sendrecv(v + (size_t)n * w + 1, c->nj, MPI_DOUBLE, c->down, 4, v + 1, c->nj, MPI_DOUBLE, c->up, 4,
		     c->in_col, MPI_STATUS_IGNORE);
	MPI_Waitall(4, req, MPI_STATUSES_IGNORE);
	for (int i = 0; i < n && c->left != MPI_PROC_NULL; i++)
		v[(i + 1) * w] = in_l[i];
	for (int i = 0; i < n && c->right != MPI_PROC_NULL; i++)
		v[(i + 1) * w + c->nj + 1] = in_r[i];
}

static void multiply(const struct cg *c, const double *v, double *out)
{
	int w = c->nj + 2;

	for (int i = 1; i <= c->ni; i++)
		for (int j = 1; j <= c->nj; j++)
			out[i * w + j] = 4.0 * v[i * w + j] - v[(i - 1) * w + j] - v[(i + 1) * w + j] -
					 v[i * w + j - 1] - v[i * w + j + 1];
}

static double dot(const struct cg *c, const double *a, const double *b)
{
	int w = c->nj + 2;
	double s = 0.0, total = 0.0;

	for (int i = 1; i <= c->ni; i++)
		for (int j = 1; j <= c->nj; j++)
			s += a[i * w + j] * b[i * w + j];
	MPI_Allreduce(&s, &total, 1, MPI_DOUBLE, MPI_SUM, c->grid);
	return total;
}

/* y = alpha * a + b over the own points */
static void combine(const struct cg *c, double *y, double alpha, const double *a, const double *b)
{
	int w = c->nj + 2;

	for (int i = 1; i <= c->ni; i++)
		for (int j = 1; j <= c->nj; j++)
			y[i * w + j] = alpha * a[i * w + j] + b[i * w + j];
}

static int cg_create(struct cg *c, int n, int size)
{
	int dims[2] = {0, 0}, periods[2] = {0, 0}, coords[2], rank;
	int rows[2] = {0, 1}, cols[2] = {1, 0};

	MPI_Dims_create(size, 2, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &c->grid);
	MPI_Cart_sub(c->grid, rows, &c->in_row);
	MPI_Cart_sub(c->grid, cols, &c->in_col);
	MPI_Cart_shift(c->in_row, 0, 1, &c->left, &c->right);
	MPI_Cart_shift(c->in_col, 0, 1, &c->up, &c->down);
	MPI_Comm_rank(c->grid, &rank);
	MPI_Cart_coords(c->grid, rank, 2, coords);
	c->ni = n * (coords[0] + 1) / dims[0] - n * coords[0] / dims[0];
	c->nj = n * (coords[1] + 1) / dims[1] - n * coords[1] / dims[1];
	if (c->ni < 1 || c->nj < 1)
		return -1;
	size_t points = (size_t)(c->ni + 2) * (size_t)(c->nj + 2);
	c->x = calloc(points, sizeof(double));
	c->r = calloc(points, sizeof(double));
	c->p = calloc(points, sizeof(double));
	c->q = calloc(points, sizeof(double));
	c->pack = calloc(4 * (size_t)c->ni, sizeof(double));
	if (!c->x || !c->r || !c->p || !c->q || !c->pack)
		return -1;
	for (int i = 1; i <= c->ni; i++)
		for (int j = 1; j <= c->nj; j++)
			c->r[i * (c->nj + 2) + j] = c->p[i * (c->nj + 2) + j] =
				1.0 + (double)((n * coords[0] / dims[0] + i) % 5) * 0.25;
	return 0;
}

static void cg_destroy(struct cg *c)
{
	free(c->x);
	free(c->r);
	free(c->p);
	free(c->q);
	free(c->pack);
	MPI_Comm_free(&c->in_row);
	MPI_Comm_free(&c->in_col);
	MPI_Comm_free(&c->grid);
}

int main(int argc, char **argv)
{
	struct cg c = {0};
	int n = argc > 1 ? atoi(argv[1]) : 256, iterations = argc > 2 ? atoi(argv[2]) : 200, rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < 2 || iterations < 0 || cg_create(&c, n, size) < 0) {
		fprintf(stderr, "cg: usage: cg [N] [ITERATIONS], N at least the ranks in one direction\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	double rr = dot(&c, c.r, c.r), start = rr;
	for (int it = 0; it < iterations && rr > 1e-300; it++) {
		halo(&c, c.p);
		multiply(&c, c.p, c.q);
		double alpha = rr / dot(&c, c.p, c.q);
		combine(&c, c.x, alpha, c.p, c.x);
		combine(&c, c.r, -alpha, c.q, c.r);
		double next = dot(&c, c.r, c.r);
		combine(&c, c.p, next / rr, c.p, c.r);
		rr = next;
	}
	double xx = dot(&c, c.x, c.x);
	if (rank == 0)
		printf("cg: n %d iterations %d ranks %d start %.9e residual %.9e checksum %.9e\n", n, iterations,
		       size, sqrt(start), sqrt(rr), sqrt(xx));
	cg_destroy(&c);
	MPI_Finalize();
	return 0;
}
