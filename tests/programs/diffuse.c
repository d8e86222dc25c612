/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * diffuse: implicit diffusion on an n x n x n grid, as a code with halos and a solver.
 *
 * Ranks form a grid of three dimensions. Each step sets a source and solves Poisson's equation by conjugate gradients until
 * the residual has fallen by TOLERANCE. The number of iterations grows about in proportion to n. With a tolerance of 0, each
 * step has 2 n iterations. Every product with the matrix exchanges six faces by MPI_Irecv, MPI_Isend and MPI_Waitall.
 * Usage: diffuse [N=24] [STEPS=24] [TOLERANCE=1e-6]. Rank 0 prints one line with a checksum.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { X, R, P, Q, F, FIELDS };

struct diffuse {
	MPI_Comm grid;
	int n, own[3], first[3], side[6]; /* points, first point, neighbours: below and above in each dimension */
	size_t points, stride[3];
	double *field[FIELDS]; /* (own + 2) in each dimension */
	double *out[6], *in[6];
};

/* Copies the plane `at` of dimension d from or to a buffer. Returns the number of points. */
static int plane(const struct diffuse *c, double *v, int d, int at, double *buffer, int out)
{
	int a = d == 0, b = d == 2 ? 1 : 2, k = 0; /* the two other dimensions */

	for (int i = 1; i <= c->own[a]; i++)
		for (int j = 1; j <= c->own[b]; j++) {
			double *p = v + (size_t)at * c->stride[d] + (size_t)i * c->stride[a] + (size_t)j * c->stride[b];

			if (out)
				buffer[k++] = *p;
			else
				*p = buffer[k++];
		}
	return k;
}

static void halo(struct diffuse *c, double *v)
{
	MPI_Request req[12];
	int n = 0;

	for (int s = 0; s < 6; s++) {
		int count = c->own[s / 2 == 0] * c->own[s / 2 == 2 ? 1 : 2];

		MPI_Irecv(c->in[s], count, MPI_DOUBLE, c->side[s], s ^ 1, c->grid, &req[n++]);
	}
	for (int s = 0; s < 6; s++) {
		int count = plane(c, v, s / 2, s % 2 ? c->own[s / 2] : 1, c->out[s], 1);

		MPI_Isend(c->out[s], count, MPI_DOUBLE, c->side[s], s, c->grid, &req[n++]);
	}
	MPI_Waitall(n, req, MPI_STATUSES_IGNORE);
	for (int s = 0; s < 6; s++)
		if (c->side[s] != MPI_PROC_NULL)
			plane(c, v, s / 2, s % 2 ? c->own[s / 2] + 1 : 0, c->in[s], 0);
}

/* out = A v, A being the Laplacian of seven points. */
static void multiply(struct diffuse *c, double *v, double *out)
{
	size_t x = c->stride[0], y = c->stride[1];

	halo(c, v);
	for (int i = 1; i <= c->own[0]; i++)
		for (int j = 1; j <= c->own[1]; j++) {
			size_t at = (size_t)i * x + (size_t)j * y + 1;

			for (int k = 0; k < c->own[2]; k++, at++)
				out[at] = 6.0 * v[at] - v[at - x] - v[at + x] - v[at - y] - v[at + y] - v[at - 1] - v[at + 1];
		}
}

static double dot(const struct diffuse *c, const double *a, const double *b)
{
	double s = 0, total = 0;

	for (int i = 1; i <= c->own[0]; i++)
		for (int j = 1; j <= c->own[1]; j++) {
			size_t at = (size_t)i * c->stride[0] + (size_t)j * c->stride[1] + 1;

			for (int k = 0; k < c->own[2]; k++, at++)
				s += a[at] * b[at];
		}
	MPI_Allreduce(&s, &total, 1, MPI_DOUBLE, MPI_SUM, c->grid);
	return total;
}

/* y = f a + b at all own points; halos are overwritten before they are read */
static void combine(const struct diffuse *c, double *y, double f, const double *a, const double *b)
{
	for (size_t i = 0; i < c->points; i++)
		y[i] = f * a[i] + b[i];
}

/* Solves A x = f from x = 0. Returns the number of iterations. */
static int solve(struct diffuse *c, double tolerance)
{
	double *x = c->field[X], *r = c->field[R], *p = c->field[P], *q = c->field[Q], rr, start;
	int it = 0;

	memset(x, 0, c->points * sizeof(*x));
	memcpy(r, c->field[F], c->points * sizeof(*r));
	memcpy(p, r, c->points * sizeof(*p));
	rr = start = dot(c, r, r);
	while (tolerance > 0 ? rr > tolerance * tolerance * start : it < 2 * c->n) {
		double alpha, next;

		multiply(c, p, q);
		alpha = rr / dot(c, p, q);
		combine(c, x, alpha, p, x);
		combine(c, r, -alpha, q, r);
		next = dot(c, r, r);
		combine(c, p, next / rr, p, r);
		rr = next;
		it++;
	}
	return it;
}

static int diffuse_create(struct diffuse *c, int n, int size)
{
	int dims[3] = {0}, periods[3] = {0}, coords[3], rank;

	MPI_Dims_create(size, 3, dims);
	MPI_Cart_create(MPI_COMM_WORLD, 3, dims, periods, 0, &c->grid);
	MPI_Comm_rank(c->grid, &rank);
	MPI_Cart_coords(c->grid, rank, 3, coords);
	c->n = n;
	c->points = 1;
	for (int d = 2; d >= 0; d--) {
		c->first[d] = (int)((long)n * coords[d] / dims[d]);
		c->own[d] = (int)((long)n * (coords[d] + 1) / dims[d]) - c->first[d];
		c->stride[d] = c->points;
		c->points *= (size_t)c->own[d] + 2;
		MPI_Cart_shift(c->grid, d, 1, &c->side[2 * d], &c->side[2 * d + 1]);
		if (c->own[d] < 1)
			return -1;
	}
	for (int i = 0; i < FIELDS; i++) {
		c->field[i] = calloc(c->points, sizeof(double));
		if (!c->field[i])
			return -1;
	}
	for (int s = 0; s < 6; s++) {
		c->out[s] = calloc((size_t)n * (size_t)n, sizeof(double));
		c->in[s] = calloc((size_t)n * (size_t)n, sizeof(double));
		if (!c->out[s] || !c->in[s])
			return -1;
	}
	return 0;
}

/* The source moves through the grid with the steps. */
static void set_source(struct diffuse *c, int step)
{
	for (int i = 0; i < c->own[0]; i++)
		for (int j = 0; j < c->own[1]; j++)
			for (int k = 0; k < c->own[2]; k++) {
				double x = (c->first[0] + i + 0.5) / c->n, y = (c->first[1] + j + 0.5) / c->n, z = (c->first[2] + k + 0.5) / c->n;
				size_t at = (size_t)(i + 1) * c->stride[0] + (size_t)(j + 1) * c->stride[1] + (size_t)k + 1;

				c->field[F][at] = x * (1 - x) * y * (1 - z) + 0.01 * step * z * y;
			}
}

int main(int argc, char **argv)
{
	struct diffuse c = {0};
	int n = argc > 1 ? atoi(argv[1]) : 24, steps = argc > 2 ? atoi(argv[2]) : 24, rank, size, all = 0;
	double tolerance = argc > 3 ? atof(argv[3]) : 1e-6, sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < 1 || steps < 0 || tolerance < 0 || diffuse_create(&c, n, size) < 0) {
		fprintf(stderr, "diffuse: usage: diffuse [N] [STEPS] [TOLERANCE], N at least the ranks in one direction\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	for (int s = 0; s < steps; s++) {
		set_source(&c, s);
		all += solve(&c, tolerance);
	}
	sum = dot(&c, c.field[X], c.field[X]);
	if (rank == 0)
		printf("diffuse: n %d steps %d ranks %d iterations %d checksum %.9e\n", n, steps, size, all, sqrt(sum));
	for (int i = 0; i < FIELDS; i++)
		free(c.field[i]);
	for (int s = 0; s < 6; s++) {
		free(c.out[s]);
		free(c.in[s]);
	}
	MPI_Comm_free(&c.grid);
	MPI_Finalize();
	return 0;
}
