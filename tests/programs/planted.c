/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ten problems of A. V. Dergunov's Performance Expert, planted: see planted.h. */
#include "planted.h"

static void late_send(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Recv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

static void late_send_large(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, LARGE, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Recv(w->in, LARGE, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

static void late_send_wildcard(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), rep, w->comm);
	} else {
		MPI_Status s;

		early(w, rep);
		mark(w, rep, 'v');
		MPI_Recv(w->in, SMALL, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &s);
	}
}

/* Half of the delay is used for work: the receive is posted first and waited for later. */
static void late_send_nonblocking(struct world *w, int rep)
{
	MPI_Request r;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		at(w, rep, w->clean ? 0 : 1.5);
		mark(w, rep, 'c');
		MPI_Isend(w->out, SMALL, MPI_INT, peer(w), 1, w->comm, &r);
		wait_for(&r);
	} else {
		early(w, rep);
		MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r);
		at(w, rep, 0.5);
		mark(w, rep, 'v');
		wait_for(&r);
	}
}

static void late_send_waitall(struct world *w, int rep)
{
	MPI_Request r[2];

	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		MPI_Isend(w->out, SMALL, MPI_INT, peer(w), 1, w->comm, &r[0]);
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Isend(w->out, SMALL, MPI_INT, peer(w), 2, w->comm, &r[1]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	} else {
		early(w, rep);
		MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r[0]);
		MPI_Irecv(w->in + SMALL, SMALL, MPI_INT, peer(w), 2, w->comm, &r[1]);
		mark(w, rep, 'v');
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	}
}

static void late_send_waitany(struct world *w, int rep)
{
	MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int which;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r[1]);
		mark(w, rep, 'v');
		MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE);
	}
}

static void late_send_sendrecv(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	(sends(w) ? late : early)(w, rep);
	mark(w, rep, sends(w) ? 'c' : 'v');
	MPI_Sendrecv(w->out, SMALL, MPI_INT, peer(w), 1, w->in, SMALL, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
}

static void late_send_probe(struct world *w, int rep)
{
	MPI_Status s;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Probe(peer(w), 1, w->comm, &s);
		MPI_Recv(w->in, SMALL, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, w->comm, MPI_STATUS_IGNORE);
	}
}

static void late_send_mprobe(struct world *w, int rep)
{
	MPI_Message m;
	MPI_Status s;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Mprobe(peer(w), 1, w->comm, &m, &s);
		MPI_Mrecv(w->in, SMALL, MPI_INT, &m, &s);
	}
}

/* Does this rank wait, and is it in time before the others send late? */
static int waits_early(struct world *w, int rep)
{
	if (!in_pair(w))
		return 0;
	if (!sends(w)) {
		early(w, rep);
		return 1;
	}
	late(w, rep);
	mark(w, rep, 'c');
	MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	return 0;
}

/* Test repeatedly by the given function instead of waiting. */
static void late_send_tested(struct world *w, int rep, int (*test)(MPI_Request *r, int *there))
{
	MPI_Request r[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
	int there = 0;

	if (!waits_early(w, rep))
		return;
	MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r[1]);
	mark(w, rep, 'v');
	while (!there)
		test(r, &there);
}

static int test_one(MPI_Request *r, int *there)
{
	return MPI_Test(&r[1], there, MPI_STATUS_IGNORE);
}

static int test_some(MPI_Request *r, int *there)
{
	int which[2];

	return MPI_Testsome(2, r, there, which, MPI_STATUSES_IGNORE);
}

static void late_send_test(struct world *w, int rep)
{
	late_send_tested(w, rep, test_one);
}

static void late_send_testsome(struct world *w, int rep)
{
	late_send_tested(w, rep, test_some);
}

static void late_send_iprobe(struct world *w, int rep)
{
	MPI_Status s;
	int there = 0;

	if (!waits_early(w, rep))
		return;
	mark(w, rep, 'v');
	while (!there)
		MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, w->comm, &there, &s);
	MPI_Recv(w->in, SMALL, MPI_INT, s.MPI_SOURCE, s.MPI_TAG, w->comm, MPI_STATUS_IGNORE);
}

static void late_send_prepare(struct world *w)
{
	if (!in_pair(w))
		return;
	if (sends(w))
		MPI_Send_init(w->out, SMALL, MPI_INT, peer(w), 1, w->comm, &w->request[0]);
	else
		MPI_Recv_init(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &w->request[0]);
}

static void late_send_persistent(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w))
		late(w, rep);
	else
		early(w, rep);
	mark(w, rep, sends(w) ? 'c' : 'v');
	MPI_Start(&w->request[0]);
	wait_for(&w->request[0]);
}

static void late_receive(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Ssend(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
	} else {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Recv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

static void late_receive_nonblocking(struct world *w, int rep)
{
	MPI_Request r;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		MPI_Issend(w->out, SMALL, MPI_INT, peer(w), 1, w->comm, &r);
		at(w, rep, 0.5);
		mark(w, rep, 'v');
	} else {
		at(w, rep, w->clean ? 0 : 1.5);
		mark(w, rep, 'c');
		MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r);
	}
	wait_for(&r);
}

static void late_receive_prepare(struct world *w)
{
	if (!in_pair(w))
		return;
	if (sends(w))
		MPI_Ssend_init(w->out, SMALL, MPI_INT, peer(w), 1, w->comm, &w->request[0]);
	else
		MPI_Recv_init(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &w->request[0]);
}

static void late_receive_persistent(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	(sends(w) ? early : late)(w, rep);
	mark(w, rep, sends(w) ? 'v' : 'c');
	MPI_Startall(1, w->request);
	wait_for(&w->request[0]);
}

/* ---- collectives of which one is late: another one in every repetition ---- */

static void barrier(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Barrier(w->comm);
}

static void ibarrier(struct world *w, int rep)
{
	MPI_Request r;

	one_is_late(w, rep);
	MPI_Ibarrier(w->comm, &r);
	wait_for(&r);
}

static void allreduce(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Allreduce(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm);
}

static void iallreduce(struct world *w, int rep)
{
	MPI_Request r;

	one_is_late(w, rep);
	MPI_Iallreduce(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm, &r);
	wait_for(&r);
}

static void allgather(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Allgather(w->out, SMALL, MPI_INT, w->many, SMALL, MPI_INT, w->comm);
}

static void alltoall(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Alltoall(w->out, SMALL, MPI_INT, w->many, SMALL, MPI_INT, w->comm);
}

static void ialltoallv(struct world *w, int rep)
{
	MPI_Request r;

	one_is_late(w, rep);
	MPI_Ialltoallv(w->out, w->counts, w->starts, MPI_INT, w->many, w->counts, w->starts, MPI_INT, w->comm, &r);
	wait_for(&r);
}

static void reduce_scatter(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Reduce_scatter_block(w->out, w->in, SMALL, MPI_INT, MPI_SUM, w->comm);
}

/* ---- collectives with a root, which is rank 0 ---- */

/* The root comes early, all others come late. */
static void root_is_early(struct world *w, int rep)
{
	(w->rank ? late : early)(w, rep);
	mark(w, rep, w->rank ? 'c' : 'v');
}

static void root_is_late(struct world *w, int rep)
{
	(w->rank ? early : late)(w, rep);
	mark(w, rep, w->rank ? 'v' : 'c');
}

static void reduce(struct world *w, int rep)
{
	root_is_early(w, rep);
	MPI_Reduce(w->out, w->in, 1, MPI_INT, MPI_SUM, 0, w->comm);
}

static void gather(struct world *w, int rep)
{
	root_is_early(w, rep);
	MPI_Gather(w->out, SMALL, MPI_INT, w->many, SMALL, MPI_INT, 0, w->comm);
}

static void gatherv(struct world *w, int rep)
{
	root_is_early(w, rep);
	MPI_Gatherv(w->out, SMALL, MPI_INT, w->many, w->counts, w->starts, MPI_INT, 0, w->comm);
}

static void ireduce(struct world *w, int rep)
{
	MPI_Request r;

	root_is_early(w, rep);
	MPI_Ireduce(w->out, w->in, 1, MPI_INT, MPI_SUM, 0, w->comm, &r);
	wait_for(&r);
}

static void bcast(struct world *w, int rep)
{
	root_is_late(w, rep);
	MPI_Bcast(w->out, SMALL, MPI_INT, 0, w->comm);
}

static void scatter(struct world *w, int rep)
{
	root_is_late(w, rep);
	MPI_Scatter(w->many, SMALL, MPI_INT, w->in, SMALL, MPI_INT, 0, w->comm);
}

static void iscatterv(struct world *w, int rep)
{
	MPI_Request r;

	root_is_late(w, rep);
	MPI_Iscatterv(w->many, w->counts, w->starts, MPI_INT, w->in, SMALL, MPI_INT, 0, w->comm, &r);
	wait_for(&r);
}

static void ibcast(struct world *w, int rep)
{
	MPI_Request r;

	root_is_late(w, rep);
	MPI_Ibcast(w->out, SMALL, MPI_INT, 0, w->comm, &r);
	wait_for(&r);
}

/* ---- windows ---- */

static void win_create(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Win_create(w->out, SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, w->comm, &w->win);
	at(w, rep, 2);
	MPI_Win_free(&w->win);
}

static void win_allocate(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Win_allocate(SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, w->comm, &w->win_base, &w->win);
	at(w, rep, 2);
	MPI_Win_free(&w->win);
}

static void win_dynamic(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Win_create_dynamic(MPI_INFO_NULL, w->comm, &w->win);
	at(w, rep, 2);
	MPI_Win_free(&w->win);
}

static void window_prepare(struct world *w)
{
	MPI_Win_allocate(SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, w->comm, &w->win_base, &w->win);
}

static void window_clear(struct world *w)
{
	if (w->others != MPI_GROUP_NULL)
		MPI_Group_free(&w->others);
	MPI_Win_free(&w->win);
}

/* The holder has rank 0's part from the moment on. The asker asks a little later, and gets the part when the
 * holder is done. */
static void lock_as(struct world *w, int rep, int holder_type, int asker_type)
{
	int asker = w->n - 1, holder = asker - 1;

	if (w->rank == holder) {
		early(w, rep);
		MPI_Win_lock(holder_type, 0, 0, w->win);
		MPI_Put(w->out, 1, MPI_INT, 0, 0, 1, MPI_INT, w->win);
		at(w, rep, w->clean ? 0.2 : 1.5);
		mark(w, rep, 'c');
		MPI_Win_unlock(0, w->win);
	} else if (w->rank == asker) {
		at(w, rep, 0.5);
		mark(w, rep, 'v');
		MPI_Win_lock(asker_type, 0, 0, w->win);
		MPI_Get(w->in, 1, MPI_INT, 0, 0, 1, MPI_INT, w->win);
		MPI_Win_unlock(0, w->win);
	}
}

static void lock_exclusive(struct world *w, int rep)
{
	lock_as(w, rep, MPI_LOCK_EXCLUSIVE, MPI_LOCK_EXCLUSIVE);
}

static void lock_shared(struct world *w, int rep)
{
	lock_as(w, rep, MPI_LOCK_EXCLUSIVE, MPI_LOCK_SHARED);
}

/* Pairs: the even rank's part is exposed to the odd rank. */
static void pair_prepare(struct world *w)
{
	int other = peer(w);
	MPI_Group all;

	window_prepare(w);
	if (!in_pair(w))
		return;
	MPI_Comm_group(w->comm, &all);
	MPI_Group_incl(all, 1, &other, &w->others);
	MPI_Group_free(&all);
}

static void late_exposure(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Win_post(w->others, 0, w->win);
		at(w, rep, 2);
		MPI_Win_wait(w->win);
	} else {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Win_start(w->others, 0, w->win);
		MPI_Put(w->out, SMALL, MPI_INT, peer(w), 0, SMALL, MPI_INT, w->win);
		MPI_Win_complete(w->win);
	}
}

static void early_end(struct world *w, int rep)
{
	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		MPI_Win_post(w->others, 0, w->win);
		at(w, rep, 0.5);
		mark(w, rep, 'v');
		MPI_Win_wait(w->win);
	} else {
		at(w, rep, 0.2);
		MPI_Win_start(w->others, 0, w->win);
		MPI_Put(w->out, SMALL, MPI_INT, peer(w), 0, SMALL, MPI_INT, w->win);
		at(w, rep, w->clean ? 0.3 : 1.5);
		mark(w, rep, 'c');
		MPI_Win_complete(w->win);
	}
}

/* Rank 0 accesses all others, of which the last one is late. */
static void star_prepare(struct world *w)
{
	int zero = 0;
	MPI_Group all;

	window_prepare(w);
	MPI_Comm_group(w->comm, &all);
	if (w->rank)
		MPI_Group_incl(all, 1, &zero, &w->others);
	else
		MPI_Group_excl(all, 1, &zero, &w->others);
	MPI_Group_free(&all);
}

static void late_exposure_star(struct world *w, int rep)
{
	bool last = w->rank == w->n - 1;

	(last ? late : early)(w, rep);
	mark(w, rep, w->rank ? 'c' : 'v'); /* a busy machine may delay another rank, which is then the last one */
	if (w->rank) {
		MPI_Win_post(w->others, 0, w->win);
		at(w, rep, 2);
		MPI_Win_wait(w->win);
		return;
	}
	MPI_Win_start(w->others, 0, w->win);
	for (int r = 1; r < w->n; r++)
		MPI_Put(w->out, 1, MPI_INT, r, 0, 1, MPI_INT, w->win);
	MPI_Win_complete(w->win);
}

/* ---- all ---- */

static const struct form forms[] = {
	{"late-send", "blocking", "late send", late_send, NULL, NULL},
	{"late-send", "large", "late send", late_send_large, NULL, NULL},
	{"late-send", "wildcard", "late send", late_send_wildcard, NULL, NULL},
	{"late-send", "nonblocking", "late send", late_send_nonblocking, NULL, NULL},
	{"late-send", "waitall", "late send", late_send_waitall, NULL, NULL},
	{"late-send", "waitany", "late send", late_send_waitany, NULL, NULL},
	{"late-send", "sendrecv", "late send", late_send_sendrecv, NULL, NULL},
	{"late-send", "probe", "late send", late_send_probe, NULL, NULL},
	{"late-send", "mprobe", "late send", late_send_mprobe, NULL, NULL},
	{"late-send", "test", "late send", late_send_test, NULL, NULL},
	{"late-send", "testsome", "late send", late_send_testsome, NULL, NULL},
	{"late-send", "iprobe", "late send", late_send_iprobe, NULL, NULL},
	{"late-send", "persistent", "late send", late_send_persistent, late_send_prepare, NULL},
	{"late-receive", "blocking", "late receive", late_receive, NULL, NULL},
	{"late-receive", "large", "late receive", late_receive_large, NULL, NULL},
	{"late-receive", "nonblocking", "late receive", late_receive_nonblocking, NULL, NULL},
	{"late-receive", "persistent", "late receive", late_receive_persistent, late_receive_prepare, NULL},
	{"barrier", "blocking", "delay before barrier", barrier, NULL, NULL},
	{"barrier", "nonblocking", "delay before barrier", ibarrier, NULL, NULL},
	{"many-to-one", "reduce", "early receive in many-to-one", reduce, NULL, NULL},
	{"many-to-one", "gather", "early receive in many-to-one", gather, NULL, NULL},
	{"many-to-one", "gatherv", "early receive in many-to-one", gatherv, NULL, NULL},
	{"many-to-one", "ireduce", "early receive in many-to-one", ireduce, NULL, NULL},
	{"one-to-many", "bcast", "late send in one-to-many", bcast, NULL, NULL},
	{"one-to-many", "scatter", "late send in one-to-many", scatter, NULL, NULL},
	{"one-to-many", "iscatterv", "late send in one-to-many", iscatterv, NULL, NULL},
	{"one-to-many", "ibcast", "late send in one-to-many", ibcast, NULL, NULL},
	{"many-to-many", "allreduce", "delay before many-to-many", allreduce, NULL, NULL},
	{"many-to-many", "iallreduce", "delay before many-to-many", iallreduce, NULL, NULL},
	{"many-to-many", "allgather", "delay before many-to-many", allgather, NULL, NULL},
	{"many-to-many", "alltoall", "delay before many-to-many", alltoall, NULL, NULL},
	{"many-to-many", "ialltoallv", "delay before many-to-many", ialltoallv, NULL, NULL},
	{"many-to-many", "reduce_scatter", "delay before many-to-many", reduce_scatter, NULL, NULL},
	{"window", "create", "delay at window creation", win_create, NULL, NULL},
	{"window", "allocate", "delay at window creation", win_allocate, NULL, NULL},
	{"window", "dynamic", "delay at window creation", win_dynamic, NULL, NULL},
	{"lock", "exclusive", "contention for a window lock", lock_exclusive, window_prepare, window_clear},
	{"lock", "shared", "contention for a window lock", lock_shared, window_prepare, window_clear},
	{"exposure-start", "pair", "late start of an exposure epoch", late_exposure, pair_prepare, window_clear},
	{"exposure-start", "star", "late start of an exposure epoch", late_exposure_star, star_prepare, window_clear},
	{"exposure-end", "pair", "early end of an exposure epoch", early_end, pair_prepare, window_clear},
};

int main(int argc, char **argv)
{
	return planted_main(forms, (int)(sizeof(forms) / sizeof(*forms)), argc, argv);
}
