/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls: every family of calls that the tracer records, once or a few times, on two ranks. The order does not depend
 * on timing. calls_h, calls_mod and calls_f08 make the same calls from Fortran.
 * Usage: calls [full]; `full` adds calls without a Fortran counterpart. Each rank prints a checksum of the data
 * received.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int rank, peer, in[64], out[64];
static long sum;

static void take(const int *a, int n)
{
	for (int i = 0; i < n; i++)
		sum = (sum * 31 + a[i]) % 1000003;
}

static void blocking(MPI_Comm w)
{
	MPI_Barrier(w);
	MPI_Sendrecv(out, 3, MPI_INT, peer, 11, in, 3, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, MPI_STATUS_IGNORE);
	take(in, 3);
	MPI_Sendrecv_replace(in, 3, MPI_INT, peer, 12, peer, 12, w, MPI_STATUS_IGNORE);
	if (rank == 0) {
		MPI_Send(out, 2, MPI_INT, 1, 13, w);
		MPI_Ssend(out, 2, MPI_INT, 1, 14, w);
		MPI_Send(out, 2, MPI_INT, 1, 15, w);
		MPI_Send(out, 2, MPI_INT, 1, 16, w);
	} else {
		MPI_Recv(in, 2, MPI_INT, MPI_ANY_SOURCE, 13, w, MPI_STATUS_IGNORE);
		take(in, 2);
		MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, w, MPI_STATUS_IGNORE);
		MPI_Recv(in, 2, MPI_INT, 0, MPI_ANY_TAG, w, MPI_STATUS_IGNORE);
		MPI_Recv(in, 2, MPI_INT, 0, 15, w, MPI_STATUS_IGNORE);
		MPI_Recv(in, 2, MPI_INT, MPI_PROC_NULL, 15, w, MPI_STATUS_IGNORE);
		MPI_Recv(in, 2, MPI_INT, 0, 16, w, MPI_STATUS_IGNORE);
		take(in, 2);
	}
}

static void nonblocking(MPI_Comm w)
{
	MPI_Request q[4];
	int flag, index, n, indices[4];

	MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, &q[0]);
	MPI_Irecv(in + 1, 1, MPI_INT, peer, 22, w, &q[1]);
	MPI_Barrier(w);
	MPI_Isend(out, 1, MPI_INT, peer, 21, w, &q[2]);
	MPI_Isend(out + 1, 1, MPI_INT, peer, 22, w, &q[3]);
	MPI_Waitall(4, q, MPI_STATUSES_IGNORE);
	take(in, 2);
	MPI_Issend(out, 1, MPI_INT, peer, 23, w, &q[0]);
	MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 23, w, &q[1]);
	MPI_Wait(&q[1], MPI_STATUS_IGNORE);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, peer, MPI_ANY_TAG, w, &q[0]);
	MPI_Send(out, 1, MPI_INT, peer, 24, w);
	for (flag = 0; !flag;)
		MPI_Test(&q[0], &flag, MPI_STATUS_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, 25, w, &q[1]);
	q[0] = MPI_REQUEST_NULL;
	MPI_Send(out, 1, MPI_INT, peer, 25, w);
	MPI_Waitany(2, q, &index, MPI_STATUS_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, peer, 26, w, &q[0]);
	MPI_Send(out, 1, MPI_INT, peer, 26, w);
	for (flag = 0; !flag;)
		MPI_Testany(2, q, &index, &flag, MPI_STATUS_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w, &q[1]);
	MPI_Send(out, 1, MPI_INT, peer, 27, w);
	MPI_Waitsome(2, q, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, peer, 28, w, &q[1]);
	MPI_Send(out, 1, MPI_INT, peer, 28, w);
	for (n = 0; n == 0;)
		MPI_Testsome(2, q, &n, indices, MPI_STATUSES_IGNORE);
	MPI_Irecv(in, 1, MPI_INT, peer, 29, w, &q[0]);
	MPI_Isend(out, 1, MPI_INT, peer, 29, w, &q[1]);
	for (flag = 0; !flag;)
		MPI_Testall(2, q, &flag, MPI_STATUSES_IGNORE);
	take(in, 1);
	MPI_Irecv(in, 1, MPI_INT, peer, 99, w, &q[0]);
	MPI_Cancel(&q[0]);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
}

static void persistent(MPI_Comm w)
{
	MPI_Request q[2];

	MPI_Send_init(out, 4, MPI_INT, peer, 31, w, &q[0]);
	MPI_Recv_init(in, 4, MPI_INT, MPI_ANY_SOURCE, 31, w, &q[1]);
	for (int i = 0; i < 3; i++) {
		MPI_Startall(2, q);
		MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	}
	MPI_Start(&q[1]);
	MPI_Start(&q[0]);
	MPI_Wait(&q[1], MPI_STATUS_IGNORE);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	take(in, 4);
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
}

static void probes(MPI_Comm w)
{
	MPI_Message m;
	MPI_Request q;
	int flag;

	MPI_Send(out, 1, MPI_INT, peer, 41, w);
	for (flag = 0; !flag;)
		MPI_Iprobe(MPI_ANY_SOURCE, 41, w, &flag, MPI_STATUS_IGNORE);
	MPI_Recv(in, 1, MPI_INT, peer, 41, w, MPI_STATUS_IGNORE);
	MPI_Send(out, 1, MPI_INT, peer, 42, w);
	MPI_Mprobe(peer, MPI_ANY_TAG, w, &m, MPI_STATUS_IGNORE);
	MPI_Mrecv(in, 1, MPI_INT, &m, MPI_STATUS_IGNORE);
	MPI_Send(out, 1, MPI_INT, peer, 43, w);
	for (flag = 0; !flag;)
		MPI_Improbe(peer, 43, w, &flag, &m, MPI_STATUS_IGNORE);
	MPI_Imrecv(in, 1, MPI_INT, &m, &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	take(in, 1);
}

static void collectives(MPI_Comm w)
{
	int one[2] = {1, 2}, two[2] = {2, 2}, at[2] = {0, 4}, bytes[2] = {0, 16};
	MPI_Datatype types[2] = {MPI_INT, MPI_INT}, none = MPI_DATATYPE_NULL;
	void *in_place = MPI_IN_PLACE;

	MPI_Bcast(in, 2, MPI_INT, 1, w);
	MPI_Gather(rank ? (void *)out : in_place, rank ? 2 : 0, rank ? MPI_INT : none, in, rank ? 0 : 2,
		   rank ? none : MPI_INT, 0, w);
	MPI_Gatherv(out, one[rank], MPI_INT, in, one, at, rank ? none : MPI_INT, 0, w);
	MPI_Scatter(out, rank ? 0 : 2, rank ? none : MPI_INT, rank ? (void *)in : in_place, rank ? 2 : 0,
		    rank ? MPI_INT : none, 0, w);
	MPI_Scatterv(out, one, at, rank ? none : MPI_INT, in, one[rank], MPI_INT, 0, w);
	MPI_Allgather(in_place, 0, none, in, 2, MPI_INT, w);
	MPI_Allgatherv(out, one[rank], MPI_INT, in, one, at, MPI_INT, w);
	MPI_Alltoall(in_place, 0, none, in, 2, MPI_INT, w);
	MPI_Alltoallv(out, two, at, MPI_INT, in, two, at, MPI_INT, w);
	MPI_Alltoallw(out, two, bytes, types, in, two, bytes, types, w);
	take(in, 4);
	MPI_Reduce(rank ? (void *)out : in_place, in, 2, MPI_INT, MPI_SUM, 0, w);
	MPI_Allreduce(in_place, in, 2, MPI_INT, MPI_MAX, w);
	MPI_Reduce_scatter(out, in, one, MPI_INT, MPI_MIN, w);
	MPI_Reduce_scatter_block(out, in, 2, MPI_INT, MPI_PROD, w);
	MPI_Scan(out, in, 2, MPI_INT, MPI_SUM, w);
	MPI_Exscan(out, in, 2, MPI_INT, MPI_BOR, w);
	take(in, 2);
}

static void nonblocking_collectives(MPI_Comm w)
{
	MPI_Request q[3];
	int one[2] = {2, 2}, at[2] = {0, 2};

	MPI_Ibarrier(w, &q[0]);
	MPI_Ibcast(in, 2, MPI_INT, 0, w, &q[1]);
	MPI_Iallreduce(out, in + 8, 2, MPI_INT, MPI_SUM, w, &q[2]);
	MPI_Waitall(3, q, MPI_STATUSES_IGNORE);
	MPI_Ialltoallv(out, one, at, MPI_INT, in, one, at, MPI_INT, w, &q[0]);
	MPI_Igatherv(out, 2, MPI_INT, in + 16, one, at, MPI_INT, 1, w, &q[1]);
	MPI_Wait(&q[1], MPI_STATUS_IGNORE);
	MPI_Wait(&q[0], MPI_STATUS_IGNORE);
	take(in, 4);
}

static void communicators(MPI_Comm w)
{
	MPI_Comm c[10];
	MPI_Group all, some;
	MPI_Request q;
	int one[1] = {1}, two[1] = {2}, yes[1] = {1}, index[2] = {1, 2}, edges[2] = {1, 0}, zero[1] = {0};

	MPI_Comm_dup(w, &c[0]);
	MPI_Comm_idup(w, &c[1], &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Barrier(c[1]);
	MPI_Comm_split(w, 0, -rank, &c[2]);
	MPI_Send(out, 1, MPI_INT, rank, 51, c[2]);
	MPI_Recv(in, 1, MPI_INT, rank, 51, c[2], MPI_STATUS_IGNORE);
	MPI_Comm_split(w, rank ? MPI_UNDEFINED : 7, 0, &c[3]);
	MPI_Comm_split_type(w, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &c[4]);
	MPI_Comm_free(&c[0]);
	MPI_Comm_dup(w, &c[0]);
	MPI_Comm_group(w, &all);
	MPI_Group_incl(all, 1, zero, &some);
	MPI_Comm_create(w, some, &c[5]);
	MPI_Cart_create(w, 1, two, yes, 0, &c[6]);
	MPI_Neighbor_alltoall(out, 1, MPI_INT, in, 1, MPI_INT, c[6]);
	MPI_Cart_sub(c[6], yes, &c[7]);
	MPI_Graph_create(w, 2, index, edges, 0, &c[8]);
	MPI_Comm_free(&c[7]);
	MPI_Comm_free(&c[8]);
	MPI_Dist_graph_create_adjacent(w, 1, &peer, one, 1, &peer, one, MPI_INFO_NULL, 0, &c[7]);
	MPI_Neighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, c[7]);
	take(in, 2);
	MPI_Intercomm_create(MPI_COMM_SELF, 0, w, peer, 52, &c[8]);
	MPI_Sendrecv(out, 1, MPI_INT, 0, 53, in, 1, MPI_INT, 0, 53, c[8], MPI_STATUS_IGNORE);
	MPI_Bcast(in, 1, MPI_INT, rank ? 0 : MPI_ROOT, c[8]);
	MPI_Intercomm_merge(c[8], rank, &c[9]);
	MPI_Allreduce(out, in, 1, MPI_INT, MPI_SUM, c[9]);
	take(in, 1);
	for (int i = 0; i < 10; i++)
		if (c[i] != MPI_COMM_NULL)
			MPI_Comm_free(&c[i]);
	MPI_Group_free(&some);
	MPI_Group_free(&all);
}

static void datatypes(MPI_Comm w)
{
	MPI_Datatype t[5], types[2];
	int lengths[2] = {1, 2}, at[2] = {0, 3}, whole[2] = {4, 4}, part[2] = {2, 2}, first[2] = {1, 1};
	MPI_Aint bytes[2] = {0, 8};

	MPI_Type_contiguous(3, MPI_INT, &t[0]);
	MPI_Type_vector(2, 1, 2, t[0], &t[1]);
	MPI_Type_indexed(2, lengths, at, MPI_INT, &t[2]);
	types[0] = MPI_INT;
	types[1] = t[0];
	MPI_Type_create_struct(2, lengths, bytes, types, &t[3]);
	MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_FORTRAN, MPI_INT, &t[4]);
	for (int i = 0; i < 5; i++) {
		MPI_Type_commit(&t[i]);
		MPI_Sendrecv(out, 1, t[i], peer, 61, in, 1, t[i], peer, 61, w, MPI_STATUS_IGNORE);
		take(in, 6);
	}
	for (int i = 0; i < 5; i++)
		MPI_Type_free(&t[i]);
	MPI_Type_contiguous(3, MPI_INT, &t[0]);
	MPI_Type_create_resized(t[0], 0, 16, &t[1]);
	MPI_Type_free(&t[0]);
	MPI_Type_commit(&t[1]);
	MPI_Bcast(in, 2, t[1], 0, w);
	MPI_Type_free(&t[1]);
}

static void last(void *a, void *b, int *n, MPI_Datatype *t)
{
	(void)t;
	memcpy(b, a, (size_t)*n * sizeof(int));
}

static void full(MPI_Comm w)
{
	MPI_Op op;
	MPI_Group all;
	MPI_Comm c;
	char room[4096];
	int n;
	void *p;

	MPI_Op_create(last, 0, &op);
	MPI_Allreduce(out, in, 2, MPI_INT, op, w);
	MPI_Op_free(&op);
	MPI_Comm_group(w, &all);
	MPI_Comm_create_group(w, all, 71, &c);
	MPI_Group_free(&all);
	MPI_Buffer_attach(room, sizeof(room));
	MPI_Bsend(out, 1, MPI_INT, peer, 72, c);
	MPI_Recv(in, 1, MPI_INT, peer, 72, c, MPI_STATUS_IGNORE);
	MPI_Buffer_detach(&p, &n);
	MPI_Comm_disconnect(&c);
}

int main(int argc, char **argv)
{
	int size, flag = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	peer = 1 - rank;
	for (int i = 0; i < 64; i++)
		out[i] = 100 * rank + i + 1;
	blocking(MPI_COMM_WORLD);
	nonblocking(MPI_COMM_WORLD);
	persistent(MPI_COMM_WORLD);
	probes(MPI_COMM_WORLD);
	collectives(MPI_COMM_WORLD);
	nonblocking_collectives(MPI_COMM_WORLD);
	communicators(MPI_COMM_WORLD);
	datatypes(MPI_COMM_WORLD);
	if (argc > 1)
		full(MPI_COMM_WORLD);
	MPI_Initialized(&flag);
	out[0] = (int)sum;
	if (rank) {
		MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	} else {
		MPI_Recv(in, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		printf("calls: checksum %ld %d\n", sum, in[0]);
	}
	MPI_Finalize();
	return 0;
}
