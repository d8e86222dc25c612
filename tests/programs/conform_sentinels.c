/* SPDX-License-Identifier: GPL-2.0-or-later */
/* conform_sentinels: MPI_IN_PLACE, MPI_BOTTOM, MPI_STATUS(ES)_IGNORE, MPI_UNWEIGHTED, MPI_PROC_NULL, zero counts. */
#include <stdlib.h>

#include "conform.h"

static void in_place(void)
{
	int p = conform_size, r = conform_rank, sum = p * (p - 1) / 2;
	int *a = malloc((size_t)p * sizeof(int)), *ones = malloc((size_t)p * sizeof(int)), *at = malloc((size_t)p * sizeof(int));
	int v = r;

	DO(MPI_Allreduce(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(v == sum);
	v = r;
	DO(MPI_Reduce(r ? &v : MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD));
	CHECK(r || v == sum);
	for (int i = 0; i < p; i++) {
		a[i] = i == r ? r : -1;
		ones[i] = 1;
		at[i] = i;
	}
	DO(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INT, MPI_COMM_WORLD));
	CHECK(a[p - 1] == p - 1 && a[0] == 0);
	a[0] = r ? -1 : a[0];
	DO(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, ones, at, MPI_INT, MPI_COMM_WORLD));
	CHECK(a[0] == 0);
	v = r + 10;
	a[0] = 10;
	DO(MPI_Gather(r ? (void *)&v : MPI_IN_PLACE, 1, MPI_INT, a, 1, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(r || a[p - 1] == p + 9);
	DO(MPI_Gatherv(r ? (void *)&v : MPI_IN_PLACE, 1, MPI_INT, a, ones, at, MPI_INT, 0, MPI_COMM_WORLD));
	DO(MPI_Scatter(a, 1, MPI_INT, r ? (void *)&v : MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD));
	CHECK(v == r + 10);
	DO(MPI_Scatterv(a, ones, at, MPI_INT, r ? (void *)&v : MPI_IN_PLACE, 1, MPI_INT, 0, MPI_COMM_WORLD));
	for (int i = 0; i < p; i++)
		a[i] = r * 100 + i;
	DO(MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_INT, MPI_COMM_WORLD));
	CHECK(a[p - 1] == (p - 1) * 100 + r);
	DO(MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, a, ones, at, MPI_INT, MPI_COMM_WORLD));
	CHECK(a[p - 1] == r * 100 + p - 1);
	v = 1;
	DO(MPI_Scan(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(v == r + 1);
	v = 1;
	DO(MPI_Exscan(MPI_IN_PLACE, &v, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(!r || v == r);
	for (int i = 0; i < p; i++)
		a[i] = i;
	DO(MPI_Reduce_scatter_block(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
	CHECK(a[0] == r * p);
	free(a);
	free(ones);
	free(at);
}

static void bottom_and_null(void)
{
	int value = 7 + conform_rank, got = -1, one = 1;
	MPI_Aint where;
	MPI_Datatype absolute, target;
	MPI_Request req[2];
	MPI_Status st;
	int next = (conform_rank + 1) % conform_size, before = (conform_rank + conform_size - 1) % conform_size;

	MPI_Get_address(&value, &where);
	DO(MPI_Type_create_hindexed(1, &one, &where, MPI_INT, &absolute));
	DO(MPI_Type_commit(&absolute));
	MPI_Get_address(&got, &where);
	DO(MPI_Type_create_hindexed(1, &one, &where, MPI_INT, &target));
	DO(MPI_Type_commit(&target));
	DO(MPI_Irecv(MPI_BOTTOM, 1, target, before, 3, MPI_COMM_WORLD, &req[0]));
	DO(MPI_Isend(MPI_BOTTOM, 1, absolute, next, 3, MPI_COMM_WORLD, &req[1]));
	DO(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
	CHECK(got == 7 + before);
	DO(MPI_Bcast(MPI_BOTTOM, 1, absolute, 0, MPI_COMM_WORLD));
	CHECK(value == 7);
	DO(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD));
	got = 5;
	DO(MPI_Recv(&got, 1, MPI_INT, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &st));
	CHECK(got == 5 && st.MPI_SOURCE == MPI_PROC_NULL && st.MPI_TAG == MPI_ANY_TAG);
	DO(MPI_Sendrecv(NULL, 0, MPI_INT, next, 9, NULL, 0, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE));
	DO(MPI_Type_free(&absolute));
	DO(MPI_Type_free(&target));
	req[0] = req[1] = MPI_REQUEST_NULL;
	DO(MPI_Waitall(2, req, MPI_STATUSES_IGNORE));
}

/* The compiler sees MPI_UNWEIGHTED as an address without a size, and the argument as an array. */
#pragma GCC diagnostic ignored "-Wstringop-overread"

static void neighbours(void)
{
	int in[1] = {(conform_rank + conform_size - 1) % conform_size}, out[1] = {(conform_rank + 1) % conform_size};
	int mine = conform_rank, theirs = -1;
	MPI_Comm ring, none;

	DO(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, in, MPI_UNWEIGHTED, 1, out, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
					  &ring));
	DO(MPI_Neighbor_allgather(&mine, 1, MPI_INT, &theirs, 1, MPI_INT, ring));
	CHECK(theirs == in[0]);
	DO(MPI_Comm_free(&ring));
	DO(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_WEIGHTS_EMPTY, 0, NULL, MPI_WEIGHTS_EMPTY,
					  MPI_INFO_NULL, 0, &none));
	DO(MPI_Neighbor_alltoall(NULL, 0, MPI_INT, NULL, 0, MPI_INT, none));
	DO(MPI_Comm_free(&none));
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	conform_begin();
	in_place();
	bottom_and_null();
	neighbours();
	DO(MPI_Barrier(MPI_COMM_WORLD));
	conform_end();
	MPI_Finalize();
	return 0;
}
