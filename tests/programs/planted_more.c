/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Problems beyond the ten of planted.c, planted: see planted.h. */
#define _GNU_SOURCE /* sched_getcpu */
#include <sched.h>

#include "planted.h"

#define MANY 2000 /* small messages, */
#define INTS 1    /* with this many ints each */

static MPI_Comm ring;
static MPI_File file;

/* ---- waits ---- */

/* The other ranks of a scan need rank 0's data. */
static void scan_late(struct world *w, int rep)
{
	(w->rank ? early : late)(w, rep);
	mark(w, rep, w->rank ? 'v' : 'c');
}

static void scan(struct world *w, int rep)
{
	scan_late(w, rep);
	MPI_Scan(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm);
}

static void exscan(struct world *w, int rep)
{
	MPI_Request r;

	scan_late(w, rep);
	MPI_Iexscan(w->out, w->in, 1, MPI_INT, MPI_SUM, w->comm, &r);
	wait_for(&r);
}

static void ring_prepare(struct world *w)
{
	int periodic = 1;

	MPI_Cart_create(w->comm, 1, &w->n, &periodic, 0, &ring);
}

static void ring_clear(struct world *w)
{
	(void)w;
	MPI_Comm_free(&ring);
}

/* Only the neighbours of the late rank wait. */
static void neighbours(struct world *w, int rep)
{
	int distance = (w->rank - rep % w->n + w->n) % w->n;

	mark(w, rep, is_late(w, rep) ? 'c' : distance == 1 || distance == w->n - 1 ? 'v' : '-');
	MPI_Neighbor_allgather(w->out, SMALL, MPI_INT, w->many, SMALL, MPI_INT, ring);
}

static void fence(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Win_fence(0, w->win);
}

static void fence_prepare(struct world *w)
{
	MPI_Win_allocate(SMALL * sizeof(int), sizeof(int), MPI_INFO_NULL, w->comm, &w->win_base, &w->win);
}

static void fence_clear(struct world *w)
{
	MPI_Win_free(&w->win);
}

static void open_file(struct world *w, int rep)
{
	char name[64];

	snprintf(name, sizeof(name), "/tmp/planted-%d", (int)getppid());
	one_is_late(w, rep);
	MPI_File_open(w->comm, name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
	at(w, rep, 2);
	MPI_File_close(&file);
}

/* ---- how messages are sent ---- */

/* Rank 0 first receives the late message of rank 1, while that of rank 2 has arrived. There is work to do after
 * each message. */
static void wrong_order(struct world *w, int rep)
{
	if (w->rank == 0) {
		early(w, rep);
		mark(w, rep, 'v');
		MPI_Recv(w->in, SMALL, MPI_INT, 1, 1, w->comm, MPI_STATUS_IGNORE);
		at(w, rep, w->clean ? 1 : 2);
		MPI_Recv(w->in, SMALL, MPI_INT, 2, 1, w->comm, MPI_STATUS_IGNORE);
	} else if (w->rank == 1) {
		late(w, rep);
		mark(w, rep, 'c');
		MPI_Send(w->out, SMALL, MPI_INT, 0, 1, w->comm);
	} else if (w->rank == 2) {
		early(w, rep);
		MPI_Send(w->out, SMALL, MPI_INT, 0, 1, w->comm);
	}
}

static int shorter(const void *a, const void *b)
{
	const int64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Time of n sends. A send that was interrupted counts as the median. */
static int64_t sending_ns(int64_t *took, int n)
{
	int64_t sum = 0, median;

	qsort(took, (size_t)n, sizeof(*took), shorter);
	median = took[n / 2];
	for (int i = 0; i < n; i++)
		sum += took[i] > 10 * median ? median : took[i];
	return sum;
}

/* Each message is waited for, so that the tracer's cost counts little. Clean: all at once. */
static void small_messages(struct world *w, int rep)
{
	static int64_t took[MANY];
	int n = w->clean ? 1 : MANY, size = w->clean ? MANY * INTS : INTS;

	if (!in_pair(w))
		return;
	early(w, rep);
	if (sends(w)) {
		lose_from(w, rep);
		for (int i = 0; i < n; i++) {
			int64_t begin = now_ns();

			MPI_Ssend(w->out + i * INTS, size, MPI_INT, peer(w), 1, w->comm);
			took[i] = now_ns() - begin;
		}
		w->end_ns[rep] = w->stamp_ns[rep] + (w->clean ? took[0] : sending_ns(took, n));
	} else {
		for (int i = 0; i < n; i++)
			MPI_Recv(w->in + i * INTS, size, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

/*
 * The receive is posted when the send comes, but its rank computes for a delay: the sender waits. Clean: the
 * receiver waits at once.
 */
static void receiver_computes(struct world *w, int rep)
{
	MPI_Request r;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		at(w, rep, w->clean ? 0 : 0.2);
		mark(w, rep, 'v');
		MPI_Send(w->out, LARGE, MPI_INT, peer(w), 1, w->comm);
	} else {
		early(w, rep);
		MPI_Irecv(w->in, LARGE, MPI_INT, peer(w), 1, w->comm, &r);
		at(w, rep, w->clean ? 0 : 1.2);
		mark(w, rep, 'c');
		wait_for(&r);
	}
}

/* The same, but the sender computes. */
static void sender_computes(struct world *w, int rep)
{
	MPI_Request r;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		early(w, rep);
		MPI_Isend(w->out, LARGE, MPI_INT, peer(w), 1, w->comm, &r);
		at(w, rep, w->clean ? 0 : 1.2);
		mark(w, rep, 'c');
		wait_for(&r);
	} else {
		at(w, rep, w->clean ? 0 : 0.2);
		mark(w, rep, 'v');
		MPI_Recv(w->in, LARGE, MPI_INT, peer(w), 1, w->comm, MPI_STATUS_IGNORE);
	}
}

/* Both ranks of a pair exchange; the even one computes longer meanwhile. */
static void halo(struct world *w, int rep)
{
	MPI_Request r[2];

	if (!in_pair(w))
		return;
	early(w, rep);
	MPI_Irecv(w->in, LARGE, MPI_INT, peer(w), 1, w->comm, &r[0]);
	MPI_Isend(w->out, LARGE, MPI_INT, peer(w), 1, w->comm, &r[1]);
	at(w, rep, w->clean ? 0 : sends(w) ? 1.2 : 0.2);
	mark(w, rep, sends(w) ? 'c' : 'v');
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
}

/* Rank 0 waits for two sends at once, to two ranks that compute; the second one computes longer. Clean: the
 * receivers wait at once. */
static void receivers_compute(struct world *w, int rep)
{
	MPI_Request r[2];

	if (w->rank == 0) {
		at(w, rep, w->clean ? 0 : 0.2);
		mark(w, rep, 'v');
		for (int i = 0; i < 2; i++)
			MPI_Isend(w->out, LARGE, MPI_INT, i + 1, 1, w->comm, &r[i]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	} else if (w->rank <= 2) {
		early(w, rep);
		MPI_Irecv(w->in, LARGE, MPI_INT, 0, 1, w->comm, &r[0]);
		at(w, rep, w->clean ? 0 : w->rank == 1 ? 0.9 : 1.2);
		mark(w, rep, w->rank == 1 ? '-' : 'c');
		wait_for(&r[0]);
	}
}

/* The same, but the ranks come late to their receives. */
static void late_receives(struct world *w, int rep)
{
	MPI_Request r[2];

	if (w->rank == 0) {
		early(w, rep);
		mark(w, rep, 'v');
		for (int i = 0; i < 2; i++)
			MPI_Isend(w->out, LARGE, MPI_INT, i + 1, 1, w->comm, &r[i]);
		MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	} else if (w->rank <= 2) {
		at(w, rep, w->clean ? 0 : w->rank == 1 ? 0.7 : 1);
		mark(w, rep, w->rank == 1 ? '-' : 'c');
		MPI_Recv(w->in, LARGE, MPI_INT, 0, 1, w->comm, MPI_STATUS_IGNORE);
	}
}

static void polling(struct world *w, int rep)
{
	MPI_Request r;
	int there = 0;

	if (!in_pair(w))
		return;
	if (sends(w)) {
		late(w, rep);
		MPI_Send(w->out, SMALL, MPI_INT, peer(w), 1, w->comm);
		return;
	}
	early(w, rep);
	MPI_Irecv(w->in, SMALL, MPI_INT, peer(w), 1, w->comm, &r);
	lose_from(w, rep);
	while (!there)
		MPI_Test(&r, &there, MPI_STATUS_IGNORE);
	lose_to(w, rep);
}

/* ---- why ranks wait ---- */

/* Each rank begins when the rank before is done; all work equally long. */
static void wavefront(struct world *w, int rep)
{
	early(w, rep);
	if (w->rank) {
		lose_from(w, rep);
		MPI_Recv(w->in, SMALL, MPI_INT, w->rank - 1, 1, w->comm, MPI_STATUS_IGNORE);
		lose_to(w, rep);
	}
	if (!w->clean)
		until(w, now_ns() + w->delay_ns / 2);
	if (w->rank < w->n - 1)
		MPI_Send(w->out, SMALL, MPI_INT, w->rank + 1, 1, w->comm);
}

static void one_computes_more(struct world *w, int rep)
{
	bool last = w->rank == w->n - 1;

	(last ? late : early)(w, rep);
	mark(w, rep, last ? 'c' : 'v');
	MPI_Barrier(w->comm);
}

static void others_compute_more(struct world *w, int rep)
{
	one_is_late(w, rep);
	MPI_Barrier(w->comm);
}

/* ---- facts of the machine ---- */

static int64_t processor_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* All ranks share the processor of rank 0. The time without the processor is lost. */
static void share_processor(struct world *w)
{
	cpu_set_t set;
	int cpu = sched_getcpu();

	if (w->clean)
		return;
	MPI_Bcast(&cpu, 1, MPI_INT, 0, w->comm);
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* Two processors for four ranks. The bindings hide it: two ranks have one processor each, the other two have both. */
static void share_two(struct world *w)
{
	cpu_set_t set;
	int cpu[2] = {-1, -1};

	if (w->clean)
		return;
	sched_getaffinity(0, sizeof(set), &set);
	for (int i = 0, n = 0; i < CPU_SETSIZE && n < 2; i++)
		if (CPU_ISSET(i, &set))
			cpu[n++] = i;
	MPI_Bcast(cpu, 2, MPI_INT, 0, w->comm);
	CPU_ZERO(&set);
	for (int i = 0; i < 2; i++)
		if (cpu[i] >= 0 && (w->rank > 1 || w->rank == i))
			CPU_SET(cpu[i], &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* The kernel's count from one repetition to the next is lost time, including the barrier and the way to it. */
static void work(struct world *w, int rep)
{
	static int64_t before;
	int64_t begin = processor_ns(), now;

	if (rep == 0)
		before = ready_ns();
	early(w, rep);
	if (w->clean)
		return;
	lose_from(w, rep);
	while (processor_ns() - begin < w->delay_ns / 2)
		;
	w->end_ns[rep] = now_ns() - (processor_ns() - begin);
	at(w, rep, 2.9);
	MPI_Barrier(w->comm);
	now = ready_ns();
	if (now >= 0)
		w->end_ns[rep] = w->stamp_ns[rep] + now - before;
	before = now;
}

/* ---- all ---- */

static const struct form forms[] = {
	{"scan", "blocking", "delay before scan", scan, NULL, NULL},
	{"scan", "iexscan", "delay before scan", exscan, NULL, NULL},
	{"neighbours", "allgather", "delay before an exchange with neighbours", neighbours, ring_prepare, ring_clear},
	{"fence", "blocking", "delay before a fence", fence, fence_prepare, fence_clear},
	{"file", "open", "delay before a common access to a file", open_file, NULL, NULL},
	{"wrong-order", "blocking", "messages received in the wrong order", wrong_order, NULL, NULL},
	{"rendezvous", "blocking", "large messages wait for a handshake", late_receive_large, NULL, NULL},
	{"progress", "receiver", "missing progress", receiver_computes, NULL, NULL},
	{"progress", "sender", "missing progress", sender_computes, NULL, NULL},
	{"progress", "halo", "missing progress", halo, NULL, NULL},
	{"progress", "receivers", "missing progress", receivers_compute, NULL, NULL},
	{"late-receive", "waitall", "late receive", late_receives, NULL, NULL},
	{"small-messages", "blocking", "many small messages", small_messages, NULL, NULL},
	{"polling", "test", "polling", polling, NULL, NULL},
	{"wavefront", "blocking", "serialisation along a wavefront", wavefront, NULL, NULL},
	{"imbalance", "ranks", "computation is unequal over ranks", one_computes_more, NULL, NULL},
	{"imbalance", "iterations", "computation moves between ranks", others_compute_more, NULL, NULL},
	{"processors", "shared", "ranks do not get their processors", work, share_two, NULL},
	{"binding", "one", "ranks are bound to the same processors", work, share_processor, NULL},
};

int main(int argc, char **argv)
{
	/* If the kernel copies messages between processes, the receiver does not need the sender, and would not
	 * wait. */
	setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
	setenv("OMPI_MCA_smsc", "^cma", 0); /* the same since Open MPI 5 */
	return planted_main(forms, (int)(sizeof(forms) / sizeof(*forms)), argc, argv);
}
