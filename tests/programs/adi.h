/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared part of bt and sp. A grid of n x n x n points with COMPONENTS values each is split over j and k among a
 * grid of ranks. Faces are exchanged with the four neighbours. Sweeps along a direction form a pipeline: a rank
 * hands the end of its lines to the next rank, some planes at a time.
 */
#ifndef PRECEDENT_TESTS_ADI_H
#define PRECEDENT_TESTS_ADI_H

#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMPONENTS 5
#define CHUNK      8 /* lines of a plane that are handed over together, n at a time */

struct adi {
	int n, nj, nk;             /* points along i; own points along j and k */
	int prev[3], next[3];      /* neighbours along i (none), j, k */
	double *u, *rhs;           /* (nk + 2) x (nj + 2) x n x COMPONENTS */
	double *out[4], *in[4];    /* faces */
	double *carry;             /* data that a sweep hands over for a chunk of lines */
	int carried;               /* doubles per line */
};

static inline double *adi_at(const struct adi *a, double *v, int i, int j, int k)
{
	return v + (((size_t)(k + 1) * (size_t)(a->nj + 2) + (size_t)(j + 1)) * (size_t)a->n + (size_t)i) * COMPONENTS;
}

static void *adi_alloc(size_t n)
{
	void *p = calloc(n, sizeof(double));

	if (!p) {
		fprintf(stderr, "no memory\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	return p;
}

static void adi_create(struct adi *a, int n, int carried, int rank, int size)
{
	int dims[2] = {0, 0};

	MPI_Dims_create(size, 2, dims);
	int pk = rank / dims[1], pj = rank % dims[1];

	a->n = n;
	a->nk = n * (pk + 1) / dims[0] - n * pk / dims[0];
	a->nj = n * (pj + 1) / dims[1] - n * pj / dims[1];
	a->prev[0] = a->next[0] = MPI_PROC_NULL;
	a->prev[1] = pj > 0 ? rank - 1 : MPI_PROC_NULL;
	a->next[1] = pj < dims[1] - 1 ? rank + 1 : MPI_PROC_NULL;
	a->prev[2] = pk > 0 ? rank - dims[1] : MPI_PROC_NULL;
	a->next[2] = pk < dims[0] - 1 ? rank + dims[1] : MPI_PROC_NULL;
	a->carried = carried;
	size_t points = (size_t)(a->nk + 2) * (size_t)(a->nj + 2) * (size_t)n * COMPONENTS;
	a->u = adi_alloc(points);
	a->rhs = adi_alloc(points);
	for (int f = 0; f < 4; f++) {
		a->out[f] = adi_alloc((size_t)n * (size_t)n * COMPONENTS);
		a->in[f] = adi_alloc((size_t)n * (size_t)n * COMPONENTS);
	}
	a->carry = adi_alloc((size_t)n * CHUNK * (size_t)carried);
	for (size_t i = 0; i < points; i++)
		a->u[i] = 1.0 + 0.01 * sin(0.37 * (double)(i % 1013) + rank);
}

static void adi_free(struct adi *a)
{
	free(a->u);
	free(a->rhs);
	for (int f = 0; f < 4; f++) {
		free(a->out[f]);
		free(a->in[f]);
	}
	free(a->carry);
}

/* Exchange the neighbours' outermost planes of u, all four at once. */
static void adi_faces(struct adi *a)
{
	int to[4] = {a->prev[1], a->next[1], a->prev[2], a->next[2]};
	size_t row = (size_t)a->n * COMPONENTS;
	int count[4] = {a->nk * (int)row, a->nk * (int)row, a->nj * (int)row, a->nj * (int)row};
	MPI_Request req[8];

	for (int f = 0; f < 4; f++)
		MPI_Irecv(a->in[f], count[f], MPI_DOUBLE, to[f], 100 + (f ^ 1), MPI_COMM_WORLD, &req[f]);
	for (int k = 0; k < a->nk; k++) {
		memcpy(a->out[0] + (size_t)k * row, adi_at(a, a->u, 0, 0, k), row * sizeof(double));
		memcpy(a->out[1] + (size_t)k * row, adi_at(a, a->u, 0, a->nj - 1, k), row * sizeof(double));
	}
	for (int j = 0; j < a->nj; j++) {
		memcpy(a->out[2] + (size_t)j * row, adi_at(a, a->u, 0, j, 0), row * sizeof(double));
		memcpy(a->out[3] + (size_t)j * row, adi_at(a, a->u, 0, j, a->nk - 1), row * sizeof(double));
	}
	for (int f = 0; f < 4; f++)
		MPI_Isend(a->out[f], count[f], MPI_DOUBLE, to[f], 100 + f, MPI_COMM_WORLD, &req[4 + f]);
	MPI_Waitall(8, req, MPI_STATUSES_IGNORE);
	for (int k = 0; k < a->nk; k++) {
		if (to[0] != MPI_PROC_NULL)
			memcpy(adi_at(a, a->u, 0, -1, k), a->in[0] + (size_t)k * row, row * sizeof(double));
		if (to[1] != MPI_PROC_NULL)
			memcpy(adi_at(a, a->u, 0, a->nj, k), a->in[1] + (size_t)k * row, row * sizeof(double));
	}
	for (int j = 0; j < a->nj; j++) {
		if (to[2] != MPI_PROC_NULL)
			memcpy(adi_at(a, a->u, 0, j, -1), a->in[2] + (size_t)j * row, row * sizeof(double));
		if (to[3] != MPI_PROC_NULL)
			memcpy(adi_at(a, a->u, 0, j, a->nk), a->in[3] + (size_t)j * row, row * sizeof(double));
	}
}

/* rhs = a seven-point stencil of u. */
static void adi_rhs(struct adi *a)
{
	for (int k = 0; k < a->nk; k++)
		for (int j = 0; j < a->nj; j++)
			for (int i = 0; i < a->n; i++) {
				const double *c = adi_at(a, a->u, i, j, k);
				const double *w = i > 0 ? c - COMPONENTS : c, *e = i < a->n - 1 ? c + COMPONENTS : c;
				const double *s = adi_at(a, a->u, i, j - 1, k), *n = adi_at(a, a->u, i, j + 1, k);
				const double *b = adi_at(a, a->u, i, j, k - 1), *t = adi_at(a, a->u, i, j, k + 1);
				double *r = adi_at(a, a->rhs, i, j, k);

				for (int m = 0; m < COMPONENTS; m++)
					r[m] = 0.05 * (w[m] + e[m] + s[m] + n[m] + b[m] + t[m] - 6.0 * c[m]) + 0.01 * c[m];
			}
}

static void adi_add(struct adi *a)
{
	for (int k = 0; k < a->nk; k++)
		for (int j = 0; j < a->nj; j++) {
			double *u = adi_at(a, a->u, 0, j, k), *r = adi_at(a, a->rhs, 0, j, k);

			for (int i = 0; i < a->n * COMPONENTS; i++)
				u[i] = 0.98 * u[i] + r[i];
		}
}

/* Solve one line of n points from `first` on, `stride` apart. carry: data from the rank before, replaced by data for
 * the next rank; NULL: the line begins here. */
typedef void (*adi_line)(double *first, size_t stride, int n, double *carry, int begins);

static void sweep_lines(struct adi *a, int dim, adi_line line, int backward, int outer0, int outer1, int begins)
{
	size_t stride[3] = {COMPONENTS, (size_t)a->n * COMPONENTS, (size_t)a->n * COMPONENTS * (size_t)(a->nj + 2)};
	int extent[3] = {a->n, a->nj, a->nk}, inner = dim == 0 ? a->nj : a->n;

	for (int o = outer0; o < outer1; o++)
		for (int l = 0; l < inner; l++) {
			double *p = dim == 0 ? adi_at(a, a->rhs, 0, l, o) : dim == 1 ? adi_at(a, a->rhs, l, 0, o) : adi_at(a, a->rhs, l, o, 0);

			if (backward)
				p += stride[dim] * (size_t)(extent[dim] - 1);
			line(p, backward ? -stride[dim] : stride[dim], extent[dim],
			     a->carry + ((size_t)(o - outer0) * (size_t)inner + (size_t)l) * (size_t)a->carried, begins);
		}
}

/* Sweep all lines along dim; backward: from the last rank to the first. */
static void adi_sweep(struct adi *a, int dim, adi_line line, int backward)
{
	int from = backward ? a->next[dim] : a->prev[dim], to = backward ? a->prev[dim] : a->next[dim];
	int outer = dim == 2 ? a->nj : a->nk, inner = dim == 0 ? a->nj : a->n;

	for (int o = 0; o < outer; o += CHUNK) {
		int end = o + CHUNK < outer ? o + CHUNK : outer, count = (end - o) * inner * a->carried;
		MPI_Request req;

		if (from != MPI_PROC_NULL) {
			MPI_Irecv(a->carry, count, MPI_DOUBLE, from, 200 + dim, MPI_COMM_WORLD, &req);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		}
		sweep_lines(a, dim, line, backward, o, end, from == MPI_PROC_NULL);
		if (to != MPI_PROC_NULL) {
			MPI_Isend(a->carry, count, MPI_DOUBLE, to, 200 + dim, MPI_COMM_WORLD, &req);
			MPI_Wait(&req, MPI_STATUS_IGNORE);
		}
	}
}

static double adi_norm(struct adi *a)
{
	double s = 0.0, total;

	for (int k = 0; k < a->nk; k++)
		for (int j = 0; j < a->nj; j++) {
			const double *u = adi_at(a, a->u, 0, j, k);

			for (int i = 0; i < a->n * COMPONENTS; i++)
				s += u[i] * u[i];
		}
	MPI_Allreduce(&s, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sqrt(total);
}

/* The program. A time step is faces, right-hand side, three solves of two sweeps each, and the update. */
static int adi_main(int argc, char **argv, const char *name, int n, int iterations, int carried, adi_line forward, adi_line backward)
{
	struct adi a = {0};
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	n = argc > 1 ? atoi(argv[1]) : n;
	iterations = argc > 2 ? atoi(argv[2]) : iterations;
	if (n < size || n < 4 || iterations < 0) {
		fprintf(stderr, "%s: usage: %s [N] [ITERATIONS], N at least 4 and the number of ranks\n", name, name);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	adi_create(&a, n, carried, rank, size);
	for (int it = 0; it < iterations; it++) {
		adi_faces(&a);
		adi_rhs(&a);
		for (int dim = 0; dim < 3; dim++) {
			adi_sweep(&a, dim, forward, 0);
			adi_sweep(&a, dim, backward, 1);
		}
		adi_add(&a);
	}
	double norm = adi_norm(&a);
	if (rank == 0)
		printf("%s: n %d iterations %d ranks %d checksum %.9e\n", name, n, iterations, size, norm);
	adi_free(&a);
	MPI_Finalize();
	return 0;
}

#endif
