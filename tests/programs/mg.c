/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * mg: V-cycles of multigrid for a three-dimensional Poisson equation, in the pattern of the MG kernel. Ranks split
 * the grid of n x n x n points along one or two directions. Faces are exchanged before every smoothing, restriction
 * and interpolation; their size shrinks by four from level to level. Each cycle reduces a norm by Allreduce.
 * Usage: mg [N=64] [CYCLES=20], N a power of two. Rank 0 prints one line with the norm.
 */
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define LEVELS 12

struct level {
	int n, nj, nk;         /* own points: n x nj x nk, in (nk + 2) x (nj + 2) x (n + 2) */
	double *u, *f, *r;
};

struct mg {
	int levels, pj, pk;
	int left, right, down, up; /* along j and k */
	struct level level[LEVELS]; /* 0 is the finest */
	double *out, *in;
};

static size_t at(const struct level *l, int i, int j, int k)
{
	return ((size_t)(k + 1) * (size_t)(l->nj + 2) + (size_t)(j + 1)) * (size_t)(l->n + 2) + (size_t)(i + 1);
}

/* Exchange planes of constant j (dim 1) or k (dim 2) with both neighbours. */
static void faces(struct mg *m, const struct level *l, double *v, int dim)
{
	int to[2] = {dim == 1 ? m->left : m->down, dim == 1 ? m->right : m->up};
	int outer = dim == 1 ? l->nk : l->nj, count = outer * l->n, last = (dim == 1 ? l->nj : l->nk) - 1;
	MPI_Request req[2];

	for (int side = 0; side < 2; side++)
		MPI_Irecv(m->in + side * count, count, MPI_DOUBLE, to[side], 10 * dim + (side ^ 1), MPI_COMM_WORLD, &req[side]);
	for (int side = 0; side < 2; side++) {
		int p = side ? last : 0;

		for (int o = 0; o < outer; o++)
			for (int i = 0; i < l->n; i++)
				m->out[o * l->n + i] = v[dim == 1 ? at(l, i, p, o) : at(l, i, o, p)];
		MPI_Send(m->out, count, MPI_DOUBLE, to[side], 10 * dim + side, MPI_COMM_WORLD);
	}
	for (int side = 0; side < 2; side++) {
		int p = side ? last + 1 : -1;

		MPI_Wait(&req[side], MPI_STATUS_IGNORE);
		for (int o = 0; o < outer && to[side] != MPI_PROC_NULL; o++)
			for (int i = 0; i < l->n; i++)
				v[dim == 1 ? at(l, i, p, o) : at(l, i, o, p)] = m->in[side * count + o * l->n + i];
	}
}

static void exchange(struct mg *m, const struct level *l, double *v)
{
	faces(m, l, v, 1);
	faces(m, l, v, 2);
}

/* r = f - A u; with smooth, u += r / 8 at the same time. */
static void residual(struct mg *m, struct level *l, int smooth)
{
	size_t dj = (size_t)(l->n + 2), dk = dj * (size_t)(l->nj + 2);

	exchange(m, l, l->u);
	for (int k = 0; k < l->nk; k++)
		for (int j = 0; j < l->nj; j++) {
			const double *u = l->u + at(l, 0, j, k), *f = l->f + at(l, 0, j, k);
			double *r = l->r + at(l, 0, j, k);

			for (int i = 0; i < l->n; i++)
				r[i] = f[i] - 6.0 * u[i] + u[i - 1] + u[i + 1] + u[i - (long)dj] + u[i + (long)dj] + u[i - (long)dk] + u[i + (long)dk];
		}
	for (int k = 0; smooth && k < l->nk; k++)
		for (int j = 0; j < l->nj; j++)
			for (int i = 0; i < l->n; i++)
				l->u[at(l, i, j, k)] += l->r[at(l, i, j, k)] / 8.0;
}

static void restrict_to(const struct level *fine, struct level *coarse)
{
	for (int k = 0; k < coarse->nk; k++)
		for (int j = 0; j < coarse->nj; j++)
			for (int i = 0; i < coarse->n; i++) {
				double s = 0;

				for (int c = 0; c < 8; c++)
					s += fine->r[at(fine, 2 * i + (c & 1), 2 * j + (c >> 1 & 1), 2 * k + (c >> 2))];
				/* half, since the interpolation is piecewise constant */
				coarse->f[at(coarse, i, j, k)] = s / 4.0;
				coarse->u[at(coarse, i, j, k)] = 0;
			}
}

static void interpolate(const struct level *coarse, struct level *fine)
{
	for (int k = 0; k < fine->nk; k++)
		for (int j = 0; j < fine->nj; j++)
			for (int i = 0; i < fine->n; i++)
				fine->u[at(fine, i, j, k)] += coarse->u[at(coarse, i / 2, j / 2, k / 2)];
}

static void cycle(struct mg *m)
{
	for (int l = 0; l + 1 < m->levels; l++) {
		for (int s = 0; s < 2; s++)
			residual(m, &m->level[l], 1);
		residual(m, &m->level[l], 0);
		restrict_to(&m->level[l], &m->level[l + 1]);
	}
	for (int s = 0; s < 8; s++)
		residual(m, &m->level[m->levels - 1], 1);
	for (int l = m->levels - 2; l >= 0; l--) {
		exchange(m, &m->level[l + 1], m->level[l + 1].u);
		interpolate(&m->level[l + 1], &m->level[l]);
		for (int s = 0; s < 2; s++)
			residual(m, &m->level[l], 1);
	}
}

static double norm(struct mg *m)
{
	const struct level *l = &m->level[0];
	double s = 0, total;

	residual(m, &m->level[0], 0);
	for (int k = 0; k < l->nk; k++)
		for (int j = 0; j < l->nj; j++)
			for (int i = 0; i < l->n; i++)
				s += l->r[at(l, i, j, k)] * l->r[at(l, i, j, k)];
	MPI_Allreduce(&s, &total, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	return sqrt(total);
}

static void mg_create(struct mg *m, int n, int rank, int size)
{
	int dims[2] = {0, 0};

	MPI_Dims_create(size, 2, dims);
	m->pk = rank / dims[1];
	m->pj = rank % dims[1];
	m->left = m->pj > 0 ? rank - 1 : MPI_PROC_NULL;
	m->right = m->pj < dims[1] - 1 ? rank + 1 : MPI_PROC_NULL;
	m->down = m->pk > 0 ? rank - dims[1] : MPI_PROC_NULL;
	m->up = m->pk < dims[0] - 1 ? rank + dims[1] : MPI_PROC_NULL;
	for (m->levels = 0; m->levels < LEVELS && n / dims[0] >= 2 && n / dims[1] >= 2; n /= 2) {
		struct level *l = &m->level[m->levels++];

		*l = (struct level){.n = n, .nj = n / dims[1], .nk = n / dims[0]};
		size_t points = (size_t)(l->n + 2) * (size_t)(l->nj + 2) * (size_t)(l->nk + 2);
		l->u = calloc(points, sizeof(double));
		l->f = calloc(points, sizeof(double));
		l->r = calloc(points, sizeof(double));
		if (!l->u || !l->f || !l->r)
			MPI_Abort(MPI_COMM_WORLD, 1);
	}
	const struct level *l = &m->level[0];
	m->out = malloc((size_t)l->n * (size_t)l->n * sizeof(double));
	m->in = malloc(2 * (size_t)l->n * (size_t)l->n * sizeof(double));
	if (!m->out || !m->in)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int k = 0; k < l->nk; k++)
		for (int j = 0; j < l->nj; j++)
			for (int i = 0; i < l->n; i++)
				l->f[at(l, i, j, k)] = sin(0.3 * i + 0.5 * (j + m->pj * l->nj) + 0.7 * (k + m->pk * l->nk));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 64, cycles = argc > 2 ? atoi(argv[2]) : 20, rank, size;
	struct mg m = {0};
	double last;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < 4 || (n & (n - 1)) || n / size < 1 || (size & (size - 1)) || cycles < 0) {
		fprintf(stderr, "mg: usage: mg [N] [CYCLES], N and the number of ranks powers of two\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	mg_create(&m, n, rank, size);
	last = norm(&m);
	for (int c = 0; c < cycles; c++) {
		cycle(&m);
		last = norm(&m);
	}
	if (rank == 0)
		printf("mg: n %d cycles %d ranks %d norm %.9e\n", n, cycles, size, last);
	for (int l = 0; l < m.levels; l++) {
		free(m.level[l].u);
		free(m.level[l].f);
		free(m.level[l].r);
	}
	free(m.out);
	free(m.in);
	MPI_Finalize();
	return 0;
}
