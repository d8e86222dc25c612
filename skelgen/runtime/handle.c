/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Communicators, datatypes, operations and requests of a skeleton, by the numbers of the trace. Handles that the program
 * left open are completed or freed at the end.
 */
#include <stdlib.h>

#include "skelgen/runtime/mpilib.h"
#include "skelgen/runtime/runtime.h"

#define BSEND_DEPTH 64

MPI_Comm *comm;
MPI_Datatype *type;
MPI_Request *req;
MPI_Message *message;
int *skel_unweighted;
int skel_left_requests, skel_left_comms;

static struct {
	int n_comm, n_type, n_req;
	MPI_Op sum[2]; /* user operations, by whether they commute */
	MPI_Request *batch;
	int cap_batch;
	void *bsend;
} state;

static void sum_bytes(void *in, void *inout, int *len, MPI_Datatype *t)
{
	const unsigned char *a = in;
	unsigned char *b = inout;
	int size;

	MPI_Type_size(*t, &size);
	for (long i = 0; i < (long)size * *len; i++)
		b[i] = (unsigned char)(b[i] + a[i]);
}

/* Room for BSEND_DEPTH buffered sends under way. */
static void bsend_open(int64_t bytes)
{
	int64_t room = BSEND_DEPTH * (bytes + MPI_BSEND_OVERHEAD);

	if (bytes <= 0)
		return;
	if (room > INT32_MAX)
		room = INT32_MAX;
	state.bsend = skel_alloc(1, (size_t)room);
	MPI_Buffer_attach(state.bsend, (int)room);
}

void skel_handles_open(const struct skel_program *p)
{
	state.n_comm = p->n_comms > 2 ? p->n_comms : 2;
	state.n_type = p->n_types;
	state.n_req = p->n_requests;
	comm = skel_alloc((size_t)state.n_comm, sizeof *comm);
	type = skel_alloc((size_t)state.n_type + 1, sizeof *type);
	req = skel_alloc((size_t)state.n_req + 1, sizeof *req);
	message = skel_alloc((size_t)state.n_req + 1, sizeof *message);
	bsend_open(p->bsend_bytes);
	skel_unweighted = (int *)MPI_UNWEIGHTED; /* no constant in MPICH */
	comm[0] = MPI_COMM_WORLD;
	comm[1] = MPI_COMM_SELF;
	for (int i = 2; i < state.n_comm; i++)
		comm[i] = MPI_COMM_NULL;
	for (int i = 0; i < state.n_type; i++)
		type[i] = MPI_DATATYPE_NULL;
	for (int i = 0; i < state.n_req; i++) {
		req[i] = MPI_REQUEST_NULL;
		message[i] = MPI_MESSAGE_NULL;
	}
	state.sum[0] = state.sum[1] = MPI_OP_NULL;
}

static int is_derived(MPI_Datatype t)
{
	int n_int, n_addr, n_sub, combiner;

	MPI_Type_get_envelope(t, &n_int, &n_addr, &n_sub, &combiner);
	return combiner != MPI_COMBINER_NAMED;
}

void skel_handles_free(void)
{
	for (int i = 0; i < state.n_req; i++)
		if (req[i] != MPI_REQUEST_NULL) {
			MPI_Request_free(&req[i]);
			skel_left_requests++;
		}
	for (int i = 2; i < state.n_comm; i++)
		if (comm[i] != MPI_COMM_NULL) {
			MPI_Comm_free(&comm[i]);
			skel_left_comms++;
		}
	for (int i = 0; i < state.n_type; i++)
		if (type[i] != MPI_DATATYPE_NULL && is_derived(type[i]))
			MPI_Type_free(&type[i]);
}

void skel_handles_close(void)
{
	skel_handles_free();
	for (int c = 0; c < 2; c++)
		if (state.sum[c] != MPI_OP_NULL)
			MPI_Op_free(&state.sum[c]);
	free(comm);
	free(type);
	free(req);
	free(message);
	if (state.bsend != NULL) {
		void *p;
		int n;

		MPI_Buffer_detach(&p, &n);
		free(state.bsend);
	}
	free(state.batch);
}

static MPI_Request *batch_of(int n, const int *slot)
{
	if (n > state.cap_batch) {
		free(state.batch);
		state.cap_batch = 2 * n;
		state.batch = skel_alloc((size_t)state.cap_batch, sizeof *state.batch);
	}
	for (int i = 0; i < n; i++)
		if (slot[i] >= state.n_req)
			skel_fail("skel.c.data names request %d of %d", slot[i], state.n_req);
	for (int i = 0; i < n; i++)
		state.batch[i] = slot[i] >= 0 ? req[slot[i]] : MPI_REQUEST_NULL;
	return state.batch;
}

static void batch_store(int n, const int *slot)
{
	for (int i = 0; i < n; i++)
		if (slot[i] >= 0)
			req[slot[i]] = state.batch[i];
}

void skel_wait(int n, const int *slot)
{
	MPI_Waitall(n, batch_of(n, slot), MPI_STATUSES_IGNORE);
	batch_store(n, slot);
}

void skel_start_all(int n, const int *slot)
{
	MPI_Startall(n, batch_of(n, slot));
	batch_store(n, slot);
}

static int general_query(void *extra, MPI_Status *status)
{
	(void)extra;
	MPI_Status_set_elements(status, MPI_BYTE, 0);
	MPI_Status_set_cancelled(status, 0);
	status->MPI_SOURCE = MPI_UNDEFINED;
	status->MPI_TAG = MPI_UNDEFINED;
	return MPI_SUCCESS;
}

static int general_free(void *extra)
{
	(void)extra;
	return MPI_SUCCESS;
}

static int general_cancel(void *extra, int complete)
{
	(void)extra;
	(void)complete;
	return MPI_SUCCESS;
}

void skel_grequest_start(MPI_Request *q)
{
	MPI_Grequest_start(general_query, general_free, general_cancel, NULL, q);
}

void skel_parrived(MPI_Request *q, int partition)
{
	for (int flag = 0; !flag;)
		MPILIB_PARRIVED(*q, partition, &flag);
}

void skel_comm_split(MPI_Comm parent, int k, int colour, int key)
{
	MPI_Comm made;

	MPI_Comm_split(parent, k >= 0 ? colour : MPI_UNDEFINED, key, &made);
	if (k >= 0)
		comm[k] = made;
}

void skel_comm_group(MPI_Comm parent, int k, const int *world_rank, int n, int tag)
{
	MPI_Group world, group;
	MPI_Comm made;

	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, n, world_rank, &group);
	MPI_Comm_create_group(parent, group, tag, &made);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
	if (k >= 0)
		comm[k] = made;
}

MPI_Op skel_op(int commutes)
{
	MPI_Op *o = &state.sum[commutes != 0];

	if (*o == MPI_OP_NULL)
		MPI_Op_create(sum_bytes, commutes != 0, o);
	return *o;
}

int skel_grid(int columns, int dx, int dy)
{
	int x = skel_rank % columns + dx, y = skel_rank / columns + dy;
	int r = y * columns + x;

	return x < 0 || x >= columns || y < 0 || r >= skel_size ? MPI_PROC_NULL : r;
}

int skel_torus(int columns, int dx, int dy)
{
	int rows = skel_size / columns;
	int x = (skel_rank % columns + dx) % columns, y = (skel_rank / columns + dy) % rows;

	return (y < 0 ? y + rows : y) * columns + (x < 0 ? x + columns : x);
}

static int rank_in(MPI_Comm c)
{
	int r = 0;

	MPI_Comm_rank(c, &r);
	return r;
}

int skel_neighbours(MPI_Comm c)
{
	int kind = MPI_UNDEFINED, in = 0, out = 0, weighted;

	MPI_Topo_test(c, &kind);
	if (kind == MPI_CART) {
		MPI_Cartdim_get(c, &in);
		return 2 * in;
	}
	if (kind == MPI_GRAPH) {
		MPI_Graph_neighbors_count(c, rank_in(c), &in);
		return in;
	}
	if (kind == MPI_DIST_GRAPH) {
		MPI_Dist_graph_neighbors_count(c, &in, &out, &weighted);
		return in > out ? in : out;
	}
	return 0;
}
