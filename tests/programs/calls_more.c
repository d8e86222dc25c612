/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * calls_more: calls that calls.c does not make: windows, files, the remaining collectives, datatypes and requests,
 * on two ranks, in an order that does not depend on timing. calls_more_h, calls_more_mod and calls_more_f08 make
 * the same calls from Fortran. Usage: calls_more FILE [full]; FILE is written and removed; `full` adds calls that
 * some bindings lack.
 */
#include <mpi.h>
#include <stdio.h>

/* Removed in MPI-3, but still in the libraries. */
#undef MPI_Type_struct
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
int MPI_Type_struct(int n, int *lengths, MPI_Aint *at, MPI_Datatype *types, MPI_Datatype *made);
int MPI_Type_hvector(int n, int length, MPI_Aint stride, MPI_Datatype type, MPI_Datatype *made);
int MPI_Type_hindexed(int n, int *lengths, MPI_Aint *at, MPI_Datatype type, MPI_Datatype *made);

#define NOWHERE MPI_STATUS_IGNORE

static int rank, peer, in[64], out[64], base[16];
static long sum;

static void take(const int *a, int n)
{
	for (int i = 0; i < n; i++)
		sum = (sum * 31 + a[i]) % 1000003;
}

static void wait_one(MPI_Request *q)
{
	MPI_Wait(q, NOWHERE);
}

/* ---- windows ---- */

static void put_and_get(MPI_Win win)
{
	MPI_Win_fence(MPI_MODE_NOPRECEDE, win);
	MPI_Put(out, 2, MPI_INT, peer, 0, 2, MPI_INT, win);
	MPI_Accumulate(out, 2, MPI_INT, peer, 4, 2, MPI_INT, MPI_SUM, win);
	MPI_Win_fence(0, win);
	MPI_Get(in, 2, MPI_INT, peer, 0, 2, MPI_INT, win);
	MPI_Get_accumulate(out + 4, 1, MPI_INT, in + 2, 1, MPI_INT, peer, 8, 1, MPI_INT, MPI_REPLACE, win);
	MPI_Fetch_and_op(out, in + 3, MPI_INT, peer, 9, MPI_SUM, win);
	MPI_Compare_and_swap(out, in + 9, in + 4, MPI_INT, peer, 10, win);
	MPI_Put(out, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win);
	MPI_Win_fence(MPI_MODE_NOSTORE | MPI_MODE_NOSUCCEED, win);
	take(in, 5);
}

static void post_and_start(MPI_Comm w, MPI_Win win)
{
	MPI_Group all, other;
	int flag = 0;

	MPI_Comm_group(w, &all);
	MPI_Group_incl(all, 1, &peer, &other);
	MPI_Win_post(other, 0, win);
	MPI_Win_start(other, 0, win);
	MPI_Put(out + 2, 1, MPI_INT, peer, 1, 1, MPI_INT, win);
	MPI_Win_complete(win);
	MPI_Win_wait(win);
	MPI_Win_post(other, MPI_MODE_NOPUT, win);
	MPI_Win_start(other, 0, win);
	MPI_Win_complete(win);
	while (!flag)
		MPI_Win_test(win, &flag);
	MPI_Group_free(&other);
	MPI_Group_free(&all);
}

static void lock_and_flush(MPI_Win win)
{
	MPI_Request q[4];

	MPI_Win_lock(MPI_LOCK_SHARED, peer, 0, win);
	MPI_Rput(out, 1, MPI_INT, peer, 12, 1, MPI_INT, win, &q[0]);
	MPI_Rget(in, 1, MPI_INT, peer, 1, 1, MPI_INT, win, &q[1]);
	MPI_Raccumulate(out, 1, MPI_INT, peer, 13, 1, MPI_INT, MPI_MAX, win, &q[2]);
	MPI_Rget_accumulate(out, 1, MPI_INT, in + 1, 1, MPI_INT, peer, 14, 1, MPI_INT, MPI_MIN, win, &q[3]);
	for (int i = 0; i < 4; i++)
		wait_one(&q[i]);
	MPI_Win_flush_local(peer, win);
	MPI_Win_flush(peer, win);
	MPI_Win_unlock(peer, win);
	take(in, 2);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, rank, MPI_MODE_NOCHECK, win);
	MPI_Win_unlock(rank, win);
	MPI_Win_lock_all(0, win);
	MPI_Win_flush_local_all(win);
	MPI_Win_flush_all(win);
	MPI_Win_sync(win);
	MPI_Win_unlock_all(win);
}

static void windows(MPI_Comm w)
{
	MPI_Win win, two;
	MPI_Aint size;
	int unit, *p;

	MPI_Win_create(base, sizeof(base), sizeof(int), MPI_INFO_NULL, w, &win);
	put_and_get(win);
	post_and_start(w, win);
	lock_and_flush(win);
	MPI_Win_allocate(64, 4, MPI_INFO_NULL, w, &p, &two);
	MPI_Win_fence(0, two);
	MPI_Win_free(&two);
	MPI_Win_free(&win);
	MPI_Win_allocate_shared(64, 4, MPI_INFO_NULL, w, &p, &win);
	MPI_Win_shared_query(win, peer, &size, &unit, &p);
	take(&unit, 1);
	MPI_Win_free(&win);
	MPI_Win_create_dynamic(MPI_INFO_NULL, w, &win);
	MPI_Win_attach(win, base, sizeof(base));
	MPI_Win_detach(win, base);
	MPI_Win_free(&win);
	MPI_Win_create(base, sizeof(base), sizeof(int), MPI_INFO_NULL, w, &win);
	MPI_Win_free(&win);
}

/* ---- files ---- */

static void at_offsets(MPI_File f, MPI_Offset mine)
{
	MPI_Request q;

	MPI_File_write_at(f, mine, out, 2, MPI_INT, NOWHERE);
	MPI_File_write_at_all(f, mine, out, 2, MPI_INT, NOWHERE);
	MPI_File_iwrite_at(f, mine + 2, out, 2, MPI_INT, &q);
	wait_one(&q);
	MPI_File_iwrite_at_all(f, mine + 4, out, 2, MPI_INT, &q);
	wait_one(&q);
	MPI_File_write_at_all_begin(f, mine + 6, out, 2, MPI_INT);
	MPI_File_write_at_all_end(f, out, NOWHERE);
	MPI_File_sync(f);
	MPI_File_read_at(f, mine, in, 2, MPI_INT, NOWHERE);
	MPI_File_read_at_all(f, mine + 2, in + 2, 2, MPI_INT, NOWHERE);
	MPI_File_iread_at(f, mine + 4, in + 4, 2, MPI_INT, &q);
	wait_one(&q);
	MPI_File_iread_at_all(f, mine + 6, in + 6, 2, MPI_INT, &q);
	wait_one(&q);
	take(in, 8);
	MPI_File_read_at_all_begin(f, mine, in, 2, MPI_INT);
	MPI_File_read_at_all_end(f, in, NOWHERE);
	take(in, 2);
}

static void by_pointer(MPI_File f, MPI_Offset mine)
{
	MPI_Request q;

	MPI_File_seek(f, mine, MPI_SEEK_SET);
	MPI_File_write(f, out, 1, MPI_INT, NOWHERE);
	MPI_File_write_all(f, out, 1, MPI_INT, NOWHERE);
	MPI_File_iwrite(f, out, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_iwrite_all(f, out, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_write_all_begin(f, out, 1, MPI_INT);
	MPI_File_write_all_end(f, out, NOWHERE);
	MPI_File_seek(f, -2, MPI_SEEK_CUR);
	MPI_File_seek(f, mine, MPI_SEEK_SET);
	MPI_File_read(f, in, 1, MPI_INT, NOWHERE);
	MPI_File_read_all(f, in + 1, 1, MPI_INT, NOWHERE);
	MPI_File_iread(f, in + 2, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_iread_all(f, in + 3, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_read_all_begin(f, in + 4, 1, MPI_INT);
	MPI_File_read_all_end(f, in + 4, NOWHERE);
	take(in, 5);
}

/* The data that a rank reads at the shared pointer depend on the order of arrival. */
static void by_shared_pointer(MPI_File f)
{
	MPI_Request q;

	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_write_shared(f, out, 1, MPI_INT, NOWHERE);
	MPI_File_iwrite_shared(f, out, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_write_ordered(f, out, 1, MPI_INT, NOWHERE);
	MPI_File_write_ordered_begin(f, out, 1, MPI_INT);
	MPI_File_write_ordered_end(f, out, NOWHERE);
	MPI_File_seek_shared(f, 0, MPI_SEEK_SET);
	MPI_File_read_shared(f, in, 1, MPI_INT, NOWHERE);
	MPI_File_iread_shared(f, in, 1, MPI_INT, &q);
	wait_one(&q);
	MPI_File_read_ordered(f, in, 1, MPI_INT, NOWHERE);
	MPI_File_read_ordered_begin(f, in, 1, MPI_INT);
	MPI_File_read_ordered_end(f, in, NOWHERE);
}

static void files(MPI_Comm w, const char *name)
{
	MPI_File f;
	MPI_Info info;

	MPI_Info_create(&info);
	MPI_File_open(w, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &f);
	MPI_File_set_size(f, 256);
	MPI_File_preallocate(f, 512);
	MPI_File_set_info(f, info);
	MPI_File_set_atomicity(f, 0);
	MPI_File_set_view(f, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
	at_offsets(f, 16 * rank);
	by_pointer(f, 16 * rank);
	by_shared_pointer(f);
	MPI_File_close(&f);
	MPI_Info_free(&info);
	if (rank == 0)
		MPI_File_delete(name, MPI_INFO_NULL);
}

/* ---- the rest ---- */

static void collectives(MPI_Comm w)
{
	MPI_Request q;
	MPI_Datatype types[2] = {MPI_INT, MPI_INT};
	int two[2] = {2, 2}, at[2] = {0, 2}, bytes[2] = {0, 8};

	MPI_Igather(out, 1, MPI_INT, in, 1, MPI_INT, 0, w, &q);
	wait_one(&q);
	MPI_Iscatter(out, 1, MPI_INT, in, 1, MPI_INT, 0, w, &q);
	wait_one(&q);
	MPI_Iscatterv(out, two, at, MPI_INT, in, 2, MPI_INT, 0, w, &q);
	wait_one(&q);
	take(in, 2);
	MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, 2, MPI_INT, w, &q);
	wait_one(&q);
	MPI_Iallgatherv(out, 2, MPI_INT, in, two, at, MPI_INT, w, &q);
	wait_one(&q);
	MPI_Ialltoall(out, 2, MPI_INT, in, 2, MPI_INT, w, &q);
	wait_one(&q);
	MPI_Ialltoallw(out, two, bytes, types, in, two, bytes, types, w, &q);
	wait_one(&q);
	take(in, 4);
	MPI_Ireduce(out, in, 2, MPI_INT, MPI_SUM, 1, w, &q);
	wait_one(&q);
	MPI_Ireduce_scatter(out, in, two, MPI_INT, MPI_SUM, w, &q);
	wait_one(&q);
	MPI_Ireduce_scatter_block(out, in, 2, MPI_INT, MPI_SUM, w, &q);
	wait_one(&q);
	MPI_Iscan(out, in, 2, MPI_INT, MPI_SUM, w, &q);
	wait_one(&q);
	take(in, 2);
	MPI_Iexscan(out, in, 2, MPI_INT, MPI_SUM, w, &q);
	wait_one(&q);
}

static void neighbours(MPI_Comm w)
{
	MPI_Request q;
	MPI_Comm c;
	MPI_Datatype type = MPI_INT;
	MPI_Aint zero = 0;
	/* otherwise the compiler follows the pointer */
	int one = 1, none = 0, two = 2, *weights = rank < 2 ? MPI_UNWEIGHTED : &one;

	MPI_Dist_graph_create(w, 1, &rank, &one, &peer, weights, MPI_INFO_NULL, 0, &c);
	MPI_Neighbor_allgatherv(out, 2, MPI_INT, in, &two, &none, MPI_INT, c);
	MPI_Neighbor_alltoallv(out, &two, &none, MPI_INT, in, &two, &none, MPI_INT, c);
	MPI_Neighbor_alltoallw(out, &two, &zero, &type, in, &two, &zero, &type, c);
	take(in, 2);
	MPI_Ineighbor_allgather(out, 2, MPI_INT, in, 2, MPI_INT, c, &q);
	wait_one(&q);
	MPI_Ineighbor_allgatherv(out, 2, MPI_INT, in, &two, &none, MPI_INT, c, &q);
	wait_one(&q);
	MPI_Ineighbor_alltoall(out, 2, MPI_INT, in, 2, MPI_INT, c, &q);
	wait_one(&q);
	MPI_Ineighbor_alltoallv(out, &two, &none, MPI_INT, in, &two, &none, MPI_INT, c, &q);
	wait_one(&q);
	MPI_Ineighbor_alltoallw(out, &two, &zero, &type, in, &two, &zero, &type, c, &q);
	wait_one(&q);
	take(in, 2);
	MPI_Comm_free(&c);
	MPI_Comm_dup_with_info(w, MPI_INFO_NULL, &c);
	MPI_Comm_free(&c);
}

static void requests(MPI_Comm w)
{
	static char room[4096];
	MPI_Request q[2];
	int n, flag = 0;
	void *p;

	MPI_Buffer_attach(room, sizeof(room));
	MPI_Irecv(in, 1, MPI_INT, peer, 81, w, &q[0]);
	MPI_Barrier(w);
	MPI_Rsend(out, 1, MPI_INT, peer, 81, w);
	wait_one(&q[0]);
	MPI_Irecv(in, 1, MPI_INT, peer, 82, w, &q[0]);
	MPI_Barrier(w);
	MPI_Irsend(out, 1, MPI_INT, peer, 82, w, &q[1]);
	wait_one(&q[0]);
	wait_one(&q[1]);
	MPI_Ibsend(out, 1, MPI_INT, peer, 83, w, &q[1]);
	wait_one(&q[1]);
	MPI_Recv(in, 1, MPI_INT, peer, 83, w, NOWHERE);
	MPI_Bsend_init(out, 1, MPI_INT, peer, 84, w, &q[0]);
	MPI_Request_free(&q[0]);
	MPI_Ssend_init(out, 1, MPI_INT, peer, 84, w, &q[0]);
	MPI_Request_free(&q[0]);
	MPI_Rsend_init(out, 1, MPI_INT, peer, 84, w, &q[0]);
	MPI_Request_free(&q[0]);
	MPI_Irecv(in, 1, MPI_INT, peer, 85, w, &q[0]);
	MPI_Send(out, 1, MPI_INT, peer, 85, w);
	while (!flag)
		MPI_Request_get_status(q[0], &flag, NOWHERE);
	wait_one(&q[0]);
	take(in, 1);
	MPI_Buffer_detach(&p, &n);
	take(&n, 1);
	MPI_Pcontrol(2);
}

static void datatypes(void)
{
	MPI_Datatype t[6];
	int lengths[2] = {1, 2}, at[2] = {0, 3}, whole[1] = {8}, how[1] = {MPI_DISTRIBUTE_BLOCK};
	int dargs[1] = {MPI_DISTRIBUTE_DFLT_DARG}, grid[1] = {2};
	MPI_Aint bytes[2] = {0, 8};

	MPI_Type_create_hvector(2, 1, 16, MPI_INT, &t[0]);
	MPI_Type_create_hindexed(2, lengths, bytes, MPI_INT, &t[1]);
	MPI_Type_create_indexed_block(2, 2, at, MPI_INT, &t[2]);
	MPI_Type_create_hindexed_block(2, 2, bytes, MPI_INT, &t[3]);
	MPI_Type_create_darray(2, rank, 1, whole, how, dargs, grid, MPI_ORDER_FORTRAN, MPI_INT, &t[4]);
	MPI_Type_dup(t[0], &t[5]);
	for (int i = 0; i < 6; i++)
		MPI_Type_free(&t[i]);
	MPI_Type_create_f90_integer(6, &t[0]);
	MPI_Type_create_f90_real(6, 30, &t[1]);
	MPI_Type_create_f90_complex(6, 30, &t[2]);
}

/* ---- what not every binding has ---- */

static int query(void *extra, MPI_Status *status)
{
	(void)extra;
	MPI_Status_set_elements(status, MPI_INT, 3);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int release(void *extra)
{
	++*(int *)extra;
	return MPI_SUCCESS;
}

static int cancel(void *extra, int complete)
{
	(void)extra;
	return complete ? MPI_SUCCESS : MPI_ERR_OTHER;
}

static void old_and_odd(void)
{
	MPI_Datatype t[3], types[2] = {MPI_INT, MPI_INT};
	int lengths[2] = {1, 2};
	MPI_Aint bytes[2] = {0, 8};
	MPI_Request q;
	MPI_Status status;
	int released = 0, n = 0;

	MPI_Type_hvector(2, 1, 16, MPI_INT, &t[0]);
	MPI_Type_hindexed(2, lengths, bytes, MPI_INT, &t[1]);
	MPI_Type_struct(2, lengths, bytes, types, &t[2]);
	for (int i = 0; i < 3; i++)
		MPI_Type_free(&t[i]);
	MPI_Grequest_start(query, release, cancel, &released, &q);
	MPI_Grequest_complete(q);
	MPI_Wait(&q, &status);
	MPI_Get_elements(&status, MPI_INT, &n);
	take(&released, 1);
	take(&n, 1);
}

int main(int argc, char **argv)
{
	int size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size != 2 || argc < 2)
		MPI_Abort(MPI_COMM_WORLD, 2);
	peer = 1 - rank;
	for (int i = 0; i < 64; i++)
		out[i] = 100 * rank + i + 1;
	windows(MPI_COMM_WORLD);
	files(MPI_COMM_WORLD, argv[1]);
	collectives(MPI_COMM_WORLD);
	neighbours(MPI_COMM_WORLD);
	requests(MPI_COMM_WORLD);
	datatypes();
	out[0] = (int)sum;
	if (rank) {
		MPI_Send(out, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
	} else {
		MPI_Recv(in, 1, MPI_INT, 1, 1, MPI_COMM_WORLD, NOWHERE);
		printf("calls: checksum %ld %d\n", sum, in[0]);
	}
	if (argc > 2)
		old_and_odd();
	MPI_Finalize();
	return 0;
}
