/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conform_comms: intercommunicators (MPI_ROOT and MPI_PROC_NULL as roots), handles that are freed and reused,
 * MPI_COMM_NULL for outsiders, communicators of a single rank, Cartesian grids.
 */
#include "conform.h"

static void inter(void)
{
	int low = conform_rank < conform_size / 2, v = conform_rank, got = -1, root, sum = 0;
	MPI_Comm half, both, merged;

	DO(MPI_Comm_split(MPI_COMM_WORLD, low, conform_rank, &half));
	DO(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, low ? conform_size / 2 : 0, 5, &both));
	root = !low ? 0 : conform_rank == 0 ? MPI_ROOT : MPI_PROC_NULL;
	got = low ? 33 : -1;
	DO(MPI_Bcast(&got, 1, MPI_INT, root, both));
	CHECK(got == 33);
	DO(MPI_Allreduce(&v, &sum, 1, MPI_INT, MPI_SUM, both));
	CHECK(low ? sum >= conform_size / 2 : sum >= 0);
	if (low && conform_rank == 0)
		DO(MPI_Send(&v, 1, MPI_INT, 0, 4, both));
	else if (conform_rank == conform_size / 2)
		DO(MPI_Recv(&got, 1, MPI_INT, 0, 4, both, MPI_STATUS_IGNORE));
	DO(MPI_Barrier(both));
	DO(MPI_Intercomm_merge(both, !low, &merged));
	DO(MPI_Bcast(&v, 1, MPI_INT, 0, merged));
	CHECK(v == 0);
	DO(MPI_Comm_free(&merged));
	DO(MPI_Comm_free(&both));
	DO(MPI_Comm_free(&half));
}

static void reused(void)
{
	for (int i = 0; i < 10; i++) {
		MPI_Comm c;
		MPI_Datatype t;
		int v = i, rank, block[4] = {0};

		DO(MPI_Comm_dup(MPI_COMM_WORLD, &c));
		DO(MPI_Type_contiguous(1 + i % 2, MPI_INT, &t));
		DO(MPI_Type_commit(&t));
		block[0] = conform_rank ? 0 : i + 1;
		DO(MPI_Bcast(block, 1, t, 0, c));
		CHECK(block[0] == i + 1);
		MPI_Comm_rank(c, &rank);
		DO(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_MAX, c));
		CHECK(v == i && rank == conform_rank);
		DO(MPI_Type_free(&t));
		DO(MPI_Comm_free(&c));
		CHECK(c == MPI_COMM_NULL && t == MPI_DATATYPE_NULL);
	}
}

static void outside(void)
{
	MPI_Comm first, self, grid, row;
	int dims[2] = {0, 0}, periods[2] = {1, 0}, keep[2] = {0, 1}, v = 1;

	DO(MPI_Comm_split(MPI_COMM_WORLD, conform_rank ? MPI_UNDEFINED : 0, 0, &first));
	CHECK((first == MPI_COMM_NULL) == (conform_rank != 0));
	if (first != MPI_COMM_NULL) {
		DO(MPI_Barrier(first));
		DO(MPI_Comm_free(&first));
	}
	DO(MPI_Comm_dup(MPI_COMM_SELF, &self));
	DO(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, self));
	CHECK(v == 1);
	DO(MPI_Comm_free(&self));
	MPI_Dims_create(conform_size, 2, dims);
	DO(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid));
	DO(MPI_Cart_sub(grid, keep, &row));
	DO(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, row));
	CHECK(v == dims[1]);
	DO(MPI_Comm_free(&row));
	DO(MPI_Comm_free(&grid));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	conform_begin();
	inter();
	reused();
	outside();
	DO(MPI_Barrier(MPI_COMM_WORLD));
	conform_end();
	MPI_Finalize();
	return 0;
}
