/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * zero_counts: every collective operation with two buffers, without data: counts of 0, a datatype of no bytes, no
 * neighbours. Blocking, nonblocking with all requests open at once, and persistent (MPI-4).
 * Usage: zero_counts [ROUNDS=3]
 */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 64 };

static int size, *zeros, *displs;
static double from[MOST], to[MOST];
static MPI_Aint *addresses;
static MPI_Datatype *types, nothing;
static MPI_Request request[MOST];
static int n_request;

static MPI_Request *next(void)
{
	return &request[n_request++];
}

static void finish(void)
{
	MPI_Waitall(n_request, request, MPI_STATUSES_IGNORE);
	n_request = 0;
}

static void blocking(MPI_Comm c, int count, MPI_Datatype t)
{
	MPI_Gather(from, count, t, to, count, t, 0, c);
	MPI_Scatter(from, count, t, to, count, t, 0, c);
	MPI_Allgather(from, count, t, to, count, t, c);
	MPI_Alltoall(from, count, t, to, count, t, c);
	MPI_Reduce(from, to, 0, MPI_DOUBLE, MPI_SUM, 0, c);
	MPI_Allreduce(from, to, 0, MPI_DOUBLE, MPI_SUM, c);
	MPI_Reduce_scatter_block(from, to, 0, MPI_DOUBLE, MPI_SUM, c);
	MPI_Scan(from, to, 0, MPI_DOUBLE, MPI_SUM, c);
	MPI_Exscan(from, to, 0, MPI_DOUBLE, MPI_SUM, c);
	MPI_Sendrecv(from, count, t, 0, 0, to, count, t, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
}

static void blocking_v(MPI_Comm c)
{
	MPI_Gatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, 0, c);
	MPI_Scatterv(from, zeros, displs, MPI_DOUBLE, to, 0, MPI_DOUBLE, 0, c);
	MPI_Allgatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c);
	MPI_Alltoallv(from, zeros, displs, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c);
	MPI_Alltoallw(from, zeros, displs, types, to, zeros, displs, types, c);
	MPI_Reduce_scatter(from, to, zeros, MPI_DOUBLE, MPI_SUM, c);
}

static void nonblocking(MPI_Comm c, int count, MPI_Datatype t)
{
	MPI_Irecv(to, count, t, MPI_ANY_SOURCE, 1, MPI_COMM_SELF, next());
	MPI_Isend(from, count, t, 0, 1, MPI_COMM_SELF, next());
	MPI_Igather(from, count, t, to, count, t, 0, c, next());
	MPI_Iscatter(from, count, t, to, count, t, 0, c, next());
	MPI_Iallgather(from, count, t, to, count, t, c, next());
	MPI_Ialltoall(from, count, t, to, count, t, c, next());
	MPI_Ireduce(from, to, 0, MPI_DOUBLE, MPI_SUM, 0, c, next());
	MPI_Iallreduce(from, to, 0, MPI_DOUBLE, MPI_SUM, c, next());
	MPI_Ireduce_scatter_block(from, to, 0, MPI_DOUBLE, MPI_SUM, c, next());
	MPI_Iscan(from, to, 0, MPI_DOUBLE, MPI_SUM, c, next());
	MPI_Iexscan(from, to, 0, MPI_DOUBLE, MPI_SUM, c, next());
}

static void nonblocking_v(MPI_Comm c)
{
	MPI_Igatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, 0, c, next());
	MPI_Iscatterv(from, zeros, displs, MPI_DOUBLE, to, 0, MPI_DOUBLE, 0, c, next());
	MPI_Iallgatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, next());
	MPI_Ialltoallv(from, zeros, displs, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, next());
	MPI_Ialltoallw(from, zeros, displs, types, to, zeros, displs, types, c, next());
	MPI_Ireduce_scatter(from, to, zeros, MPI_DOUBLE, MPI_SUM, c, next());
}

static void neighbours(MPI_Comm c)
{
	MPI_Neighbor_allgather(from, 0, MPI_DOUBLE, to, 0, MPI_DOUBLE, c);
	MPI_Neighbor_allgatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c);
	MPI_Neighbor_alltoall(from, 0, MPI_DOUBLE, to, 0, MPI_DOUBLE, c);
	MPI_Neighbor_alltoallv(from, zeros, displs, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c);
	MPI_Neighbor_alltoallw(from, zeros, addresses, types, to, zeros, addresses, types, c);
	MPI_Ineighbor_allgather(from, 0, MPI_DOUBLE, to, 0, MPI_DOUBLE, c, next());
	MPI_Ineighbor_allgatherv(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, next());
	MPI_Ineighbor_alltoall(from, 0, MPI_DOUBLE, to, 0, MPI_DOUBLE, c, next());
	MPI_Ineighbor_alltoallv(from, zeros, displs, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, next());
	MPI_Ineighbor_alltoallw(from, zeros, addresses, types, to, zeros, addresses, types, c, next());
}

#if MPI_VERSION >= 4
static void persistent(MPI_Comm c)
{
	MPI_Alltoallv_init(from, zeros, displs, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, MPI_INFO_NULL, next());
	MPI_Alltoallw_init(from, zeros, displs, types, to, zeros, displs, types, c, MPI_INFO_NULL, next());
	MPI_Allgatherv_init(from, 0, MPI_DOUBLE, to, zeros, displs, MPI_DOUBLE, c, MPI_INFO_NULL, next());
	MPI_Allreduce_init(from, to, 0, MPI_DOUBLE, MPI_SUM, c, MPI_INFO_NULL, next());
	for (int i = 0; i < 2; i++) {
		MPI_Startall(n_request, request);
		MPI_Waitall(n_request, request, MPI_STATUSES_IGNORE);
	}
	while (n_request > 0)
		MPI_Request_free(&request[--n_request]);
}
#endif

/* A ring of processes, and a topology without neighbours. */
static void topologies(void)
{
	int ring[1] = {size}, wraps[1] = {1};
	int *volatile no_weights = (int *)MPI_UNWEIGHTED; /* compilers take it for a pointer to an empty object */
	MPI_Comm c;

	MPI_Cart_create(MPI_COMM_WORLD, 1, ring, wraps, 0, &c);
	neighbours(c);
	finish();
	MPI_Comm_free(&c);
	MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, zeros, no_weights, 0, zeros, no_weights, MPI_INFO_NULL, 0, &c);
	neighbours(c);
	finish();
	MPI_Comm_free(&c);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 3;

	MPI_Init(&argc, &argv);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	zeros = calloc((size_t)size + 2, sizeof *zeros);
	displs = calloc((size_t)size + 2, sizeof *displs);
	addresses = calloc((size_t)size + 2, sizeof *addresses);
	types = calloc((size_t)size + 2, sizeof *types);
	if (!zeros || !displs || !addresses || !types)
		MPI_Abort(MPI_COMM_WORLD, 1);
	for (int i = 0; i < size + 2; i++)
		types[i] = MPI_DOUBLE;
	MPI_Type_contiguous(0, MPI_DOUBLE, &nothing);
	MPI_Type_commit(&nothing);
	for (int i = 0; i < rounds; i++) {
		blocking(MPI_COMM_WORLD, 0, MPI_DOUBLE);
		blocking(MPI_COMM_WORLD, 1, nothing);
		blocking_v(MPI_COMM_WORLD);
		nonblocking(MPI_COMM_WORLD, 0, MPI_DOUBLE);
		nonblocking(MPI_COMM_WORLD, 1, nothing);
		nonblocking_v(MPI_COMM_WORLD);
		finish();
	}
	topologies();
#if MPI_VERSION >= 4
	persistent(MPI_COMM_WORLD);
#endif
	MPI_Type_free(&nothing);
	MPI_Finalize();
	return 0;
}
