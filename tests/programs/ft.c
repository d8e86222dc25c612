/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * ft: a three-dimensional Fourier transform of n x n x n points, in the pattern of the FT kernel. Each rank has
 * whole planes and transforms along two directions. Alltoall transposes the data for the third direction. Each
 * iteration multiplies by factors of time and reduces a checksum.
 * Usage: ft [N=64] [ITERATIONS=20], N a power of two and a multiple of the ranks. Rank 0 prints one line.
 */
#include <complex.h>
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

typedef double complex point;

struct ft {
	int n, planes, size;
	point *u, *w, *send, *recv; /* planes x n x n each */
	point *line, *root;
};

/* Transform in place; n is a power of two. */
static void fft(const struct ft *f, point *x, int sign)
{
	int n = f->n;

	for (int i = 1, j = 0; i < n; i++) {
		int bit = n >> 1;

		for (; j & bit; bit >>= 1)
			j ^= bit;
		j |= bit;
		if (i < j) {
			point t = x[i];
			x[i] = x[j];
			x[j] = t;
		}
	}
	for (int len = 2; len <= n; len *= 2)
		for (int i = 0; i < n; i += len)
			for (int k = 0; k < len / 2; k++) {
				point r = f->root[k * (n / len)], t;

				t = x[i + k + len / 2] * (sign > 0 ? r : conj(r));
				x[i + k + len / 2] = x[i + k] - t;
				x[i + k] += t;
			}
}

/* Transform along the two directions that are local to the rank. */
static void fft_planes(const struct ft *f, point *u, int sign)
{
	int n = f->n;

	for (int p = 0; p < f->planes; p++) {
		point *a = u + (size_t)p * (size_t)n * (size_t)n;

		for (int y = 0; y < n; y++)
			fft(f, a + (size_t)y * (size_t)n, sign);
		for (int x = 0; x < n; x++) {
			for (int y = 0; y < n; y++)
				f->line[y] = a[(size_t)y * (size_t)n + (size_t)x];
			fft(f, f->line, sign);
			for (int y = 0; y < n; y++)
				a[(size_t)y * (size_t)n + (size_t)x] = f->line[y];
		}
	}
}

/* w = u with the first and the second direction exchanged over all ranks. */
static void turn(const struct ft *f, const point *u, point *w)
{
	size_t n = (size_t)f->n, np = (size_t)f->planes, block = np * np * n;

	for (size_t r = 0; r < (size_t)f->size; r++)
		for (size_t p = 0; p < np; p++)
			for (size_t y = 0; y < np; y++)
				for (size_t x = 0; x < n; x++)
					f->send[r * block + (y * np + p) * n + x] = u[(p * n + r * np + y) * n + x];
	MPI_Alltoall(f->send, (int)block, MPI_C_DOUBLE_COMPLEX, f->recv, (int)block, MPI_C_DOUBLE_COMPLEX, MPI_COMM_WORLD);
	for (size_t r = 0; r < (size_t)f->size; r++)
		for (size_t y = 0; y < np; y++)
			for (size_t p = 0; p < np; p++)
				for (size_t x = 0; x < n; x++)
					w[(y * n + r * np + p) * n + x] = f->recv[r * block + (y * np + p) * n + x];
}

static void fft_lines(const struct ft *f, point *w, int sign)
{
	size_t n = (size_t)f->n;

	for (int p = 0; p < f->planes; p++)
		for (size_t x = 0; x < n; x++) {
			point *a = w + (size_t)p * n * n + x;

			for (size_t y = 0; y < n; y++)
				f->line[y] = a[y * n];
			fft(f, f->line, sign);
			for (size_t y = 0; y < n; y++)
				a[y * n] = f->line[y];
		}
}

static void evolve(const struct ft *f, int rank)
{
	size_t all = (size_t)f->planes * (size_t)f->n * (size_t)f->n;

	for (size_t i = 0; i < all; i++)
		f->w[i] *= exp(-1e-6 * (double)((i + (size_t)rank) % 4096));
}

static point checksum(const struct ft *f)
{
	size_t all = (size_t)f->planes * (size_t)f->n * (size_t)f->n;
	point s = 0, total;

	for (size_t i = 0; i < all; i += 1021)
		s += f->u[i];
	MPI_Reduce(&s, &total, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, 0, MPI_COMM_WORLD);
	return total;
}

static void ft_create(struct ft *f, int n, int rank, int size)
{
	size_t all = (size_t)n * (size_t)n * (size_t)(n / size);

	*f = (struct ft){.n = n, .planes = n / size, .size = size};
	f->u = malloc(all * sizeof(point));
	f->w = malloc(all * sizeof(point));
	f->send = malloc(all * sizeof(point));
	f->recv = malloc(all * sizeof(point));
	f->line = malloc((size_t)n * sizeof(point));
	f->root = malloc((size_t)n * sizeof(point));
	if (!f->u || !f->w || !f->send || !f->recv || !f->line || !f->root)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int k = 0; k < n; k++)
		f->root[k] = cexp(-2.0 * M_PI * I * k / n);
	for (size_t i = 0; i < all; i++)
		f->u[i] = sin(0.7 * (double)(i % 977) + rank) + I * cos(0.3 * (double)(i % 1009));
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 64, iterations = argc > 2 ? atoi(argv[2]) : 20, rank, size;
	point sum = 0;
	struct ft f;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (n < size || n % size || (n & (n - 1)) || iterations < 0) {
		fprintf(stderr, "ft: usage: ft [N] [ITERATIONS], N a power of two and a multiple of the ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	ft_create(&f, n, rank, size);
	for (int it = 0; it < iterations; it++) {
		fft_planes(&f, f.u, 1);
		turn(&f, f.u, f.w);
		fft_lines(&f, f.w, 1);
		evolve(&f, rank);
		fft_lines(&f, f.w, -1);
		turn(&f, f.w, f.u);
		fft_planes(&f, f.u, -1);
		for (size_t i = 0; i < (size_t)f.planes * (size_t)n * (size_t)n; i++)
			f.u[i] /= (double)n * n * n;
		sum = checksum(&f);
	}
	if (rank == 0)
		printf("ft: n %d iterations %d ranks %d checksum %.6e %.6e\n", n, iterations, size, creal(sum), cimag(sum));
	free(f.u);
	free(f.w);
	free(f.send);
	free(f.recv);
	free(f.line);
	free(f.root);
	MPI_Finalize();
	return 0;
}
