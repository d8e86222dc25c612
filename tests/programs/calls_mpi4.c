/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_mpi4: new calls of MPI-4 on two ranks: partitioned messages, persistent collectives, combined nonblocking
 * calls, large counts, the communicator of a session. Exits with 77 if the MPI library has none of them.
 */
#include <mpi.h>
#include <stdio.h>

#if MPI_VERSION >= 4
static int rank, peer, in[64], out[64];
static long sum;

static void take(int n)
{
	for (int i = 0; i < n; i++)
		sum = (sum * 31 + in[i]) % 1000003;
}

static void run(MPI_Request *q)
{
	MPI_Start(q);
	MPI_Wait(q, MPI_STATUS_IGNORE);
	MPI_Request_free(q);
}

static void partitioned(MPI_Comm w)
{
	MPI_Request q[2];
	int flag = 0, rest[2] = {2, 3};

	MPI_Psend_init(out, 4, 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q[0]);
	MPI_Precv_init(in, 4, 2, MPI_INT, peer, 1, w, MPI_INFO_NULL, &q[1]);
	MPI_Startall(2, q);
	MPI_Pready(0, q[0]);
	MPI_Pready_range(1, 1, q[0]);
	MPI_Pready_list(2, rest, q[0]);
	while (!flag)
		MPI_Parrived(q[1], 3, &flag);
	MPI_Waitall(2, q, MPI_STATUSES_IGNORE);
	MPI_Request_free(&q[0]);
	MPI_Request_free(&q[1]);
	take(8);
}

static void persistent(MPI_Comm w)
{
	MPI_Request q;
	int two[2] = {2, 2}, at[2] = {0, 2};

	MPI_Barrier_init(w, MPI_INFO_NULL, &q);
	run(&q);
	MPI_Allreduce_init(out, in, 2, MPI_INT, MPI_SUM, w, MPI_INFO_NULL, &q);
	run(&q);
	MPI_Allgatherv_init(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, two, at, MPI_INT, w, MPI_INFO_NULL, &q);
	run(&q);
	take(4);
}

static void combined(MPI_Comm w)
{
	MPI_Request q;
	MPI_Comm c;
	MPI_Count n = 2, two[2] = {2, 2};
	MPI_Aint at[2] = {0, 2};

	MPI_Isendrecv(out, 2, MPI_INT, peer, 2, in, 2, MPI_INT, MPI_ANY_SOURCE, 2, w, &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	take(2);
	MPI_Isendrecv_replace(in, 2, MPI_INT, peer, 3, MPI_ANY_SOURCE, 3, w, &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	take(2);
	MPI_Comm_idup_with_info(w, MPI_INFO_NULL, &c, &q);
	MPI_Wait(&q, MPI_STATUS_IGNORE);
	MPI_Sendrecv_c(out, n, MPI_INT, peer, 4, in, n, MPI_INT, peer, 4, c, MPI_STATUS_IGNORE);
	MPI_Allgatherv_c(out, n, MPI_INT, in, two, at, MPI_INT, c);
	take(4);
	MPI_Comm_free(&c);
}

static void session(void)
{
	MPI_Session s;
	MPI_Group g;
	MPI_Comm c;

	MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &s);
	MPI_Group_from_session_pset(s, "mpi://WORLD", &g);
	MPI_Comm_create_from_group(g, "org.precedent.calls", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &c);
	MPI_Allgather(out, 2, MPI_INT, in, 2, MPI_INT, c);
	take(4);
	MPI_Comm_free(&c);
	MPI_Group_free(&g);
	MPI_Session_finalize(&s);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	peer = 1 - rank;
	for (int i = 0; i < 64; i++)
		out[i] = 100 * rank + i + 1;
	partitioned(MPI_COMM_WORLD);
	persistent(MPI_COMM_WORLD);
	combined(MPI_COMM_WORLD);
	session();
	MPI_Reduce(rank ? (void *)&sum : MPI_IN_PLACE, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
	if (rank == 0)
		printf("calls: sum %ld\n", sum);
	MPI_Finalize();
	return 0;
}
#else
int main(void)
{
	return 77;
}
#endif
