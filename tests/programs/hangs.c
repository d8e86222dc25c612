/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * hangs CASE: a few steps that work, then one planted hang or death. Cases are the functions below; `well` is none, and
 * `works` is at work until it is killed. The lines at which ranks stop have a comment "CASE: rank N stops here", which
 * tests/cli/info-hangs.t reads.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MANY 80000 /* doubles: more than any library sends before the receiver asks for them */

/* Keeps a call of MPI from becoming a jump, which would hide the caller. */
#define RETURNS __asm__ volatile("")

static int rank, size;
static double out[MANY], in[MANY];
static volatile double sink;

static void send_send(void)
{
	if (rank > 1)
		return;
	MPI_Send(out, MANY, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD); /* send-send: ranks 0 and 1 stop here */
	MPI_Recv(in, MANY, MPI_DOUBLE, 1 - rank, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	RETURNS;
}

static void ring(void)
{
	MPI_Recv(in, 1, MPI_DOUBLE, (rank + 1) % size, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* ring: all ranks stop here */
	MPI_Send(out, 1, MPI_DOUBLE, (rank + size - 1) % size, 6, MPI_COMM_WORLD);
	RETURNS;
}

static void no_send(void)
{
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* no-send: rank 1 stops here */
	RETURNS;
}

static void wrong_tag(void)
{
	if (rank == 0)
		MPI_Send(out, 1, MPI_DOUBLE, 1, 7, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* wrong-tag: rank 1 stops here */
	RETURNS;
}

static void not_entered(void)
{
	if (rank != 1)
		MPI_Barrier(MPI_COMM_WORLD); /* not-entered: ranks 0, 2 and 3 stop here */
	RETURNS;
}

static void other_collective(void)
{
	if (rank == 2) /* other-collective: the two calls below */
		MPI_Reduce(out, in, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	else
		MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	RETURNS;
}

static void other_root(void)
{
	MPI_Bcast(in, MANY, MPI_DOUBLE, rank == 3 ? 3 : 0, MPI_COMM_WORLD); /* other-root: all ranks call it */
	MPI_Reduce(out, in, MANY, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	RETURNS;
}

static void two_comms(void)
{
	MPI_Comm other;

	MPI_Comm_dup(MPI_COMM_WORLD, &other);
	MPI_Barrier(rank == 0 ? other : MPI_COMM_WORLD); /* two-comms: all ranks stop here */
	MPI_Barrier(rank == 0 ? MPI_COMM_WORLD : other);
	RETURNS;
}

static void waitall(void)
{
	MPI_Request r[2];

	if (rank == 0)
		MPI_Send(out, 1, MPI_DOUBLE, 2, 8, MPI_COMM_WORLD);
	if (rank != 2)
		return;
	MPI_Irecv(in, 1, MPI_DOUBLE, 0, 8, MPI_COMM_WORLD, &r[0]);
	MPI_Irecv(in + 1, 1, MPI_DOUBLE, 3, 8, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE); /* waitall: rank 2 stops here */
	RETURNS;
}

static void any_source(void)
{
	MPI_Recv(in, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* any-source: all ranks stop here */
	MPI_Send(out, 1, MPI_DOUBLE, (rank + 1) % size, 9, MPI_COMM_WORLD);
	RETURNS;
}

static void waitany(void)
{
	MPI_Request r[2];
	int which;

	for (int i = 0; i < 2; i++)
		MPI_Irecv(in + i, 1, MPI_DOUBLE, (rank + 1 + i) % size, 10, MPI_COMM_WORLD, &r[i]);
	MPI_Waitany(2, r, &which, MPI_STATUS_IGNORE); /* waitany: all ranks stop here */
	RETURNS;
}

static __attribute__((noipa)) void spin_for_ever(void)
{
	for (;;)
		sink += 1; /* computes: rank 2 stays here */
}

static void computes(void)
{
	if (rank == 2)
		spin_for_ever();
	MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* computes: ranks 0, 1 and 3 stop here */
	RETURNS;
}

static void chain(void)
{
	if (rank == size - 1)
		spin_for_ever();
	MPI_Recv(in, 1, MPI_DOUBLE, rank + 1, 11, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* chain: ranks 0, 1 and 2 stop here */
	if (rank)
		MPI_Send(in, 1, MPI_DOUBLE, rank - 1, 11, MPI_COMM_WORLD);
	RETURNS;
}

static void polls(void)
{
	MPI_Request r;
	int done = 0;

	if (rank != 3)
		return;
	MPI_Irecv(in, 1, MPI_DOUBLE, 0, 12, MPI_COMM_WORLD, &r);
	while (!done)
		MPI_Test(&r, &done, MPI_STATUS_IGNORE); /* polls: rank 3 stops here */
	RETURNS;
}

static void probe(void)
{
	if (rank == 1)
		MPI_Probe(3, 13, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* probe: rank 1 stops here */
	RETURNS;
}

static void ibarrier(void)
{
	MPI_Request r;

	if (rank == 3)
		return;
	MPI_Ibarrier(MPI_COMM_WORLD, &r);
	MPI_Wait(&r, MPI_STATUS_IGNORE); /* ibarrier: ranks 0, 1 and 2 stop here */
	RETURNS;
}

static void lock(void)
{
	MPI_Win win;

	MPI_Win_create(in, sizeof(in), sizeof(*in), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
	if (rank == 1)
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 2) {
		MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
		MPI_Put(out, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, win);
		MPI_Win_unlock(0, win);
	}
	MPI_Barrier(MPI_COMM_WORLD); /* lock: ranks 0, 1 and 3 stop here */
	RETURNS;
}

static __attribute__((noipa)) void divide(void)
{
	raise(SIGSEGV); /* segv: rank 1 dies here */
}

static void segv(void)
{
	if (rank == 1)
		divide();
	RETURNS;
}

static void calls_abort(void)
{
	if (rank == 2)
		MPI_Abort(MPI_COMM_WORLD, 3); /* abort: rank 2 stops here */
	RETURNS;
}

static void leaves(void)
{
	if (rank == 1)
		_exit(0); /* without MPI_Finalize */
	RETURNS;
}

static void truncated(void)
{
	if (rank == 0)
		MPI_Send(out, 100, MPI_DOUBLE, 1, 14, MPI_COMM_WORLD);
	if (rank == 1)
		MPI_Recv(in, 1, MPI_DOUBLE, 0, 14, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* truncated: rank 1 stops here */
	RETURNS;
}

static void no_rank(void)
{
	if (rank == 3)
		MPI_Send(out, 1, MPI_DOUBLE, size, 15, MPI_COMM_WORLD); /* no-rank: rank 3 stops here */
	RETURNS;
}

static void to_self(void)
{
	if (rank == 0)
		MPI_Ssend(out, 1, MPI_DOUBLE, 0, 16, MPI_COMM_WORLD); /* to-self: rank 0 stops here */
	RETURNS;
}

static void works(void)
{
	for (;;) {
		MPI_Sendrecv(out, 100, MPI_DOUBLE, (rank + 1) % size, 18, in, 100, MPI_DOUBLE, (rank + size - 1) % size, 18, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
}

static void well(void)
{
	MPI_Request r[2];

	MPI_Irecv(in, MANY, MPI_DOUBLE, MPI_ANY_SOURCE, 17, MPI_COMM_WORLD, &r[0]);
	MPI_Isend(out, MANY, MPI_DOUBLE, (rank + 1) % size, 17, MPI_COMM_WORLD, &r[1]);
	MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
	RETURNS;
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"send-send", send_send}, {"ring", ring}, {"no-send", no_send}, {"wrong-tag", wrong_tag}, {"not-entered", not_entered},
	{"other-collective", other_collective}, {"other-root", other_root}, {"two-comms", two_comms}, {"waitall", waitall},
	{"any-source", any_source}, {"waitany", waitany}, {"computes", computes}, {"chain", chain}, {"polls", polls},
	{"probe", probe}, {"ibarrier", ibarrier}, {"lock", lock}, {"segv", segv}, {"abort", calls_abort}, {"leaves", leaves},
	{"truncated", truncated}, {"no-rank", no_rank}, {"to-self", to_self}, {"works", works}, {"well", well},
};

int main(int argc, char **argv)
{
	double sum = 0;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 5; i++) {
		MPI_Sendrecv(&sum, 1, MPI_DOUBLE, (rank + 1) % size, 1, in, 1, MPI_DOUBLE, (rank + size - 1) % size, 1, MPI_COMM_WORLD,
			     MPI_STATUS_IGNORE);
		MPI_Allreduce(in, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	printf("hangs: rank %d is there\n", rank);
	fflush(stdout);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (argc > 1 && !strcmp(argv[1], cases[i].name))
			cases[i].run();
	MPI_Finalize();
	return 0;
}
