/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conform_requests: wildcards with all kinds of probe, any/some/test loops (unsuccessful tests are counts, not events),
 * cancelled and freed requests, persistent requests that live from the beginning to the end.
 */
#include <stdlib.h>

#include "conform.h"

#define ROUNDS 20

static MPI_Request persistent[2];
static int persistent_in, persistent_out;

static void persistent_begin(void)
{
	DO(MPI_Recv_init(&persistent_in, 1, MPI_INT, (conform_rank + conform_size - 1) % conform_size, 77, MPI_COMM_WORLD,
			 &persistent[0]));
	DO(MPI_Send_init(&persistent_out, 1, MPI_INT, (conform_rank + 1) % conform_size, 77, MPI_COMM_WORLD,
			 &persistent[1]));
}

static void persistent_round(int i)
{
	persistent_out = conform_rank * 1000 + i;
	DO(MPI_Startall(2, persistent));
	DO(MPI_Waitall(2, persistent, MPI_STATUSES_IGNORE));
	CHECK(persistent_in == (conform_rank + conform_size - 1) % conform_size * 1000 + i);
}

static void persistent_end(void)
{
	DO(MPI_Request_free(&persistent[0]));
	DO(MPI_Request_free(&persistent[1]));
}

/* All ranks but rank 0 send; rank 0 receives from any source in every way. */
static void receive_anything(int way)
{
	MPI_Message m;
	MPI_Request r;
	MPI_Status st;
	int v = -1, flag = 0;

	switch (way) {
	case 0:
		DO(MPI_Recv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st));
		break;
	case 1:
		DO(MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &st));
		DO(MPI_Recv(&v, 1, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st));
		break;
	case 2:
		while (!flag)
			MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &st);
		did("MPI_Iprobe", 1);
		DO(MPI_Recv(&v, 1, MPI_INT, st.MPI_SOURCE, st.MPI_TAG, MPI_COMM_WORLD, &st));
		break;
	case 3:
		DO(MPI_Mprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &m, &st));
		DO(MPI_Mrecv(&v, 1, MPI_INT, &m, &st));
		break;
	case 4:
		while (!flag)
			MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &m, &st);
		did("MPI_Improbe", 1);
		DO(MPI_Imrecv(&v, 1, MPI_INT, &m, &r));
		DO(MPI_Wait(&r, &st));
		break;
	default:
		DO(MPI_Irecv(&v, 1, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &r));
		while (!flag)
			MPI_Test(&r, &flag, &st);
		did("MPI_Test", 1);
		break;
	}
	CHECK(st.MPI_SOURCE * 100 + st.MPI_TAG == v);
}

static void wildcards(void)
{
	int v;

	if (conform_rank) {
		for (int i = 0; i < ROUNDS; i++) {
			v = conform_rank * 100 + i;
			DO(MPI_Send(&v, 1, MPI_INT, 0, i, MPI_COMM_WORLD));
		}
		return;
	}
	for (int i = 0; i < ROUNDS * (conform_size - 1); i++)
		receive_anything(i % 6);
}

/* Completion in any order until all are complete. */
static void complete_some(int way)
{
	int n = 2 * (conform_size - 1), left = n, in[16], out[16], index[16], flag, k;
	MPI_Request r[16];
	MPI_Status st[16];

	for (int i = 0, j = 0; i < conform_size; i++) {
		if (i == conform_rank)
			continue;
		out[j] = conform_rank;
		DO(MPI_Irecv(&in[j], 1, MPI_INT, i, 200 + way, MPI_COMM_WORLD, &r[2 * j]));
		DO(MPI_Isend(&out[j], 1, MPI_INT, i, 200 + way, MPI_COMM_WORLD, &r[2 * j + 1]));
		j++;
	}
	while (left > 0) {
		if (way == 0) {
			DO(MPI_Waitany(n, r, &index[0], st));
			left--;
		} else if (way == 1) {
			DO(MPI_Waitsome(n, r, &k, index, st));
			left -= k;
		} else if (way == 2) {
			MPI_Testany(n, r, &index[0], &flag, MPI_STATUS_IGNORE);
			did("MPI_Testany", flag);
			left -= flag;
		} else if (way == 3) {
			MPI_Testsome(n, r, &k, index, MPI_STATUSES_IGNORE);
			did("MPI_Testsome", k > 0);
			left -= k;
		} else {
			MPI_Testall(n, r, &flag, st);
			did("MPI_Testall", flag);
			left = flag ? 0 : left;
		}
	}
	for (int i = 0, j = 0; i < conform_size; i++)
		if (i != conform_rank)
			CHECK(in[j++] == i);
}

static void cancelled_and_freed(void)
{
	int v = 1, w = 0, flag, next = (conform_rank + 1) % conform_size, before = (conform_rank + conform_size - 1) % conform_size;
	MPI_Request r;
	MPI_Status st;

	DO(MPI_Irecv(&v, 1, MPI_INT, MPI_ANY_SOURCE, 999, MPI_COMM_WORLD, &r)); /* no rank sends this message */
	DO(MPI_Cancel(&r));
	DO(MPI_Wait(&r, &st));
	MPI_Test_cancelled(&st, &flag);
	CHECK(flag);
	DO(MPI_Isend(&v, 1, MPI_INT, next, 998, MPI_COMM_WORLD, &r));
	DO(MPI_Request_free(&r));
	CHECK(r == MPI_REQUEST_NULL);
	DO(MPI_Recv(&w, 1, MPI_INT, before, 998, MPI_COMM_WORLD, &st));
	CHECK(w == 1);
}

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	conform_begin();
	persistent_begin();
	for (int i = 0; i < ROUNDS; i++)
		persistent_round(i);
	DO(MPI_Barrier(MPI_COMM_WORLD));
	wildcards();
	DO(MPI_Barrier(MPI_COMM_WORLD)); /* no other message for the wildcard receives */
	for (int way = 0; way < 5; way++) {
		complete_some(way);
		DO(MPI_Barrier(MPI_COMM_WORLD));
	}
	cancelled_and_freed();
	persistent_round(ROUNDS);
	persistent_end();
	DO(MPI_Barrier(MPI_COMM_WORLD));
	conform_end();
	MPI_Finalize();
	return 0;
}
