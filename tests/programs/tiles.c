/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * tiles: a grid in strips of columns. The borders are sent as derived datatypes: by messages, by windows with every
 * kind of synchronisation, and through files. All sizes come from the arguments. Usage: tiles N STEPS; the files
 * are made in the work directory and removed.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

struct head {
	int step;
	double norm[2];
};

static int rank, size, n, steps, width, left, right;
static double *tile, *shared;
static MPI_Datatype column, wide, inner, part, head;
static MPI_Win win;

static void compute(void)
{
	for (int i = 1; i + 1 < n * width; i++)
		tile[i] = 0.25 * (tile[i - 1] + 2 * tile[i] + tile[i + 1]) + 1;
}

/*
 * Types: the column of a tile, spread so that the next column follows it at once; the tile without its border; the
 * tile's place in the file, which has room for the whole grid per rank.
 */
static void make_types(void)
{
	MPI_Datatype one;
	int whole[2] = {n, width}, some[2] = {n - 2, width - 2}, at[2] = {1, 1};
	int file[2] = {n, size * n}, mine[2] = {n, width}, place[2] = {0, rank * n};
	int lengths[2] = {1, 2};
	MPI_Aint offsets[2] = {0, sizeof(double)};
	MPI_Datatype kinds[2] = {MPI_INT, MPI_DOUBLE};

	MPI_Type_vector(n, 1, width, MPI_DOUBLE, &one);
	MPI_Type_create_resized(one, 0, sizeof(double), &column);
	MPI_Type_free(&one);
	MPI_Type_commit(&column);
	MPI_Type_contiguous(2, column, &wide);
	MPI_Type_commit(&wide);
	MPI_Type_create_subarray(2, whole, some, at, MPI_ORDER_C, MPI_DOUBLE, &inner);
	MPI_Type_commit(&inner);
	MPI_Type_create_subarray(2, file, mine, place, MPI_ORDER_C, MPI_DOUBLE, &part);
	MPI_Type_commit(&part);
	MPI_Type_create_struct(2, lengths, offsets, kinds, &head);
	MPI_Type_commit(&head);
}

static void by_messages(int step)
{
	struct head h = {step, {1, 2}}, got;
	MPI_Request q[2];

	MPI_Irecv(tile, 1, column, left, 1, MPI_COMM_WORLD, &q[0]);
	MPI_Isend(tile + width - 2, 1, column, right, 1, MPI_COMM_WORLD, &q[1]);
	MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	MPI_Sendrecv(tile, 1, wide, left, 2, tile + width - 2, 1, wide, right, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Sendrecv(&h, 1, head, left, 3, &got, 1, head, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void by_windows(void)
{
	MPI_Group all, to, from;

	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	for (int i = 0; i < steps; i++) {
		compute();
		MPI_Put(tile + 1, 1, column, right, 0, n, MPI_DOUBLE, win);
		MPI_Get(tile, n, MPI_DOUBLE, left, n, n, MPI_DOUBLE, win);
		MPI_Win_fence(0, win);
	}
	MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
	MPI_Win_get_group(win, &all);
	MPI_Group_incl(all, 1, &right, &to);
	MPI_Group_incl(all, 1, &left, &from);
	MPI_Win_post(from, 0, win);
	MPI_Win_start(to, 0, win);
	MPI_Accumulate(tile, width, MPI_DOUBLE, right, n, width, MPI_DOUBLE, MPI_SUM, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	MPI_Group_free(&all);
	MPI_Group_free(&to);
	MPI_Group_free(&from);
	MPI_Win_lock(MPI_LOCK_SHARED, right, 0, win);
	MPI_Put(tile, 3, MPI_DOUBLE, right, 2 * n, 3, MPI_DOUBLE, win);
	MPI_Win_unlock(right, win);
}

static void into_file(int step)
{
	char name[64];
	MPI_File f;

	snprintf(name, sizeof name, "tiles-%03d.out", step);
	if (MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
			  &f) != MPI_SUCCESS)
		MPI_Abort(MPI_COMM_WORLD, 1);
	MPI_File_write_at_all(f, (MPI_Offset)rank * n * (MPI_Offset)sizeof *tile, tile, n, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_set_view(f, 8 * n, MPI_DOUBLE, part, "native", MPI_INFO_NULL);
	MPI_File_write_all(f, tile, n * width, MPI_DOUBLE, MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI_File_read_at(f, n, tile, 4, MPI_DOUBLE, MPI_STATUS_IGNORE);
	MPI_File_close(&f);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	n = argc > 1 ? atoi(argv[1]) : 64;
	steps = argc > 2 ? atoi(argv[2]) : 4;
	left = (rank + size - 1) % size;
	right = (rank + 1) % size;
	width = n / size + (rank < n % size);
	tile = calloc((size_t)n * (size_t)width, sizeof *tile);
	shared = calloc((size_t)n * 3, sizeof *shared);
	if (n < 4 * size || !tile || !shared)
		MPI_Abort(MPI_COMM_WORLD, 1);
	make_types();
	for (int i = 0; i < steps; i++) {
		compute();
		by_messages(i);
	}
	MPI_Bcast(tile, 1, inner, 0, MPI_COMM_SELF);
	MPI_Win_create(shared, 3 * n * (MPI_Aint)sizeof *shared, sizeof *shared, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	by_windows();
	MPI_Win_free(&win);
	for (int i = 0; i < steps; i++)
		into_file(i);
	MPI_Type_free(&column);
	MPI_Type_free(&wide);
	MPI_Type_free(&inner);
	MPI_Type_free(&part);
	MPI_Type_free(&head);
	free(tile);
	free(shared);
	MPI_Finalize();
	return 0;
}
