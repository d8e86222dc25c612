/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Jacobi iterations for the Dirichlet problem of Laplace's equation on ROWS rows of N points, split into strips of
 * rows. It is the program of an experiment with A. V. Dergunov's Performance Expert, before and after the advice.
 *
 *   jacobi compute-first|send-first|send-test|compute-only|send-only [N=1024] [ITERATIONS=200] [ROWS=N]
 *
 * compute-first: compute the strip, send its edges, receive the neighbours' edges.
 *
 * send-first: send the edges of the last iteration, compute the inner points, receive the neighbours' edges, compute
 * the own edges.
 *
 * send-test: like send-first, with nonblocking receives and MPI_Testall after each row, so that long messages progress.
 *
 * These three have the same results bit by bit. compute-only and send-only do half of the work each, which bounds the
 * gain. Rank 0 prints seconds and a checksum.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct strip {
	int n, rows;         /* points per row including halo and boundary; own rows */
	int up, down;        /* neighbours, or MPI_PROC_NULL */
	double *now, *next;  /* (rows + 2) x n */
};

static double *row(const struct strip *s, double *grid, int i)
{
	return grid + (size_t)i * (size_t)s->n;
}

static void compute(struct strip *s, int from, int to)
{
	for (int i = from; i <= to; i++) {
		const double *above = row(s, s->now, i - 1), *here = row(s, s->now, i), *below = row(s, s->now, i + 1);
		double *new = row(s, s->next, i);

		for (int j = 1; j < s->n - 1; j++)
			new[j] = (above[j] + here[j - 1] + below[j] + here[j + 1]) / 4;
	}
}

static void swap(struct strip *s)
{
	double *grid = s->now;

	s->now = s->next;
	s->next = grid;
}

static void receive_edges(struct strip *s)
{
	MPI_Recv(row(s, s->now, 0), s->n, MPI_DOUBLE, s->up, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Recv(row(s, s->now, s->rows + 1), s->n, MPI_DOUBLE, s->down, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void send_edges(struct strip *s, MPI_Request *request)
{
	MPI_Isend(row(s, s->now, 1), s->n, MPI_DOUBLE, s->up, 2, MPI_COMM_WORLD, &request[0]);
	MPI_Isend(row(s, s->now, s->rows), s->n, MPI_DOUBLE, s->down, 1, MPI_COMM_WORLD, &request[1]);
}

static void compute_first(struct strip *s)
{
	MPI_Request request[2];

	compute(s, 1, s->rows);
	swap(s);
	send_edges(s, request);
	receive_edges(s);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

static void send_first(struct strip *s)
{
	MPI_Request request[2];

	send_edges(s, request);
	compute(s, 2, s->rows - 1);
	receive_edges(s);
	compute(s, 1, 1);
	if (s->rows > 1)
		compute(s, s->rows, s->rows);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
	swap(s);
}

static void send_test(struct strip *s)
{
	MPI_Request request[4];
	int done;

	MPI_Irecv(row(s, s->now, 0), s->n, MPI_DOUBLE, s->up, 1, MPI_COMM_WORLD, &request[2]);
	MPI_Irecv(row(s, s->now, s->rows + 1), s->n, MPI_DOUBLE, s->down, 2, MPI_COMM_WORLD, &request[3]);
	send_edges(s, request);
	for (int i = 2; i < s->rows; i++) {
		compute(s, i, i);
		MPI_Testall(4, request, &done, MPI_STATUSES_IGNORE);
	}
	MPI_Waitall(4, request, MPI_STATUSES_IGNORE);
	compute(s, 1, 1);
	if (s->rows > 1)
		compute(s, s->rows, s->rows);
	swap(s);
}

static void compute_only(struct strip *s)
{
	compute(s, 1, s->rows);
	swap(s);
}

static void send_only(struct strip *s)
{
	MPI_Request request[2];

	send_edges(s, request);
	receive_edges(s);
	MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
}

/* Boundary values: 1 on the upper boundary, 0 elsewhere. */
static int create(struct strip *s, int points, int rows, int rank, int size)
{
	size_t bytes;

	s->n = points + 2;
	s->rows = rows / size + (rank < rows % size);
	s->up = rank ? rank - 1 : MPI_PROC_NULL;
	s->down = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
	bytes = (size_t)(s->rows + 2) * (size_t)s->n * sizeof(double);
	s->now = malloc(bytes);
	s->next = malloc(bytes);
	if (!s->now || !s->next)
		return -1;
	memset(s->now, 0, bytes);
	memset(s->next, 0, bytes);
	for (int j = 0; rank == 0 && j < s->n; j++)
		s->now[j] = s->next[j] = 1;
	return 0;
}

static uint64_t checksum(struct strip *s)
{
	uint64_t sum = 0, own = 0, bits;

	for (int i = 1; i <= s->rows; i++)
		for (int j = 1; j < s->n - 1; j++) {
			memcpy(&bits, row(s, s->now, i) + j, sizeof(bits));
			own += bits;
		}
	MPI_Reduce(&own, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
	return sum;
}

static void (*variant_named(const char *name))(struct strip *s)
{
	static const struct {
		const char *name;
		void (*iterate)(struct strip *s);
	} table[] = {{"compute-first", compute_first}, {"send-first", send_first}, {"send-test", send_test},
		     {"compute-only", compute_only}, {"send-only", send_only}};

	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		if (!strcmp(table[i].name, name))
			return table[i].iterate;
	return NULL;
}

int main(int argc, char **argv)
{
	int points = argc > 2 ? atoi(argv[2]) : 1024, iterations = argc > 3 ? atoi(argv[3]) : 200, rank, size;
	int rows = argc > 4 ? atoi(argv[4]) : points;
	void (*iterate)(struct strip *s) = argc > 1 ? variant_named(argv[1]) : NULL;
	struct strip s = {0};
	double begin, seconds;
	uint64_t sum;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (!iterate || argc > 5 || points < 1 || points > 1000000 || rows < size || rows > 100000 || iterations < 1) {
		fprintf(stderr, "usage: jacobi compute-first|send-first|send-test|compute-only|send-only [N=1024] [ITERATIONS=200] [ROWS=N]\n");
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	if (create(&s, points, rows, rank, size) < 0)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_Barrier(MPI_COMM_WORLD);
	begin = MPI_Wtime();
	for (int i = 0; i < iterations; i++)
		iterate(&s);
	MPI_Barrier(MPI_COMM_WORLD);
	seconds = MPI_Wtime() - begin;
	sum = checksum(&s);
	if (rank == 0)
		printf("seconds %.6f checksum %016llx\n", seconds, (unsigned long long)sum);
	MPI_Finalize();
	free(s.now);
	free(s.next);
	return 0;
}
