/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * rough: a tracer must survive this. Calls that fail, a child by fork that ends normally, a program by exec, MPI
 * called from a callback, copied requests, many outstanding sends, and a program that resets unknown signals.
 * Rank 0 prints one line.
 */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MANY = 300 };

static int child(int (*run)(void))
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0)
		exit(run());
	if (pid > 0)
		waitpid(pid, &status, 0);
	return status;
}

static int end(void)
{
	return 3;
}

static int other_program(void)
{
	execl("/bin/true", "true", (char *)NULL);
	return 127;
}

/* Reset all signals for a clean start, then run long enough for a pending signal. */
static void reset_signals(void)
{
	clock_t begun;

	for (int no = 1; no <= SIGRTMAX; no++)
		signal(no, SIG_DFL);
	begun = clock();
	while (clock() - begun < CLOCKS_PER_SEC / 10)
		;
}

static void add(void *a, void *b, int *n, MPI_Datatype *t)
{
	int size;

	MPI_Type_size(*t, &size);
	MPI_Barrier(MPI_COMM_SELF); /* inside a call, so no event */
	for (int i = 0; i < *n && size == sizeof(int); i++)
		((int *)b)[i] += ((int *)a)[i];
}

int main(int argc, char **argv)
{
	int rank, size, x = 1, sum = 0, bad, code, status[2], in[MANY];
	MPI_Request first[2 * MANY], later[2 * MANY];
	MPI_Op op;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	bad = MPI_Send(&x, 1, MPI_INT, size + 7, 0, MPI_COMM_WORLD);
	MPI_Error_class(bad, &code);
	status[0] = child(end);
	status[1] = child(other_program);
	for (int i = 0; i < MANY; i++)
		MPI_Irecv(&in[i], 1, MPI_INT, rank, i, MPI_COMM_WORLD, &first[i]);
	for (int i = 0; i < MANY; i++)
		MPI_Isend(&rank, 1, MPI_INT, rank, i, MPI_COMM_WORLD, &first[MANY + i]);
	for (int i = 0; i < 2 * MANY; i++)
		later[i] = first[2 * MANY - 1 - i];
	MPI_Waitall(2 * MANY, later, MPI_STATUSES_IGNORE);
	MPI_Op_create(add, 1, &op);
	MPI_Allreduce(&x, &sum, 1, MPI_INT, op, MPI_COMM_WORLD);
	MPI_Op_free(&op);
	reset_signals();
	if (rank == 0)
		printf("rough: error class is %s, child %d, program %d, sum %d\n",
		       code == MPI_ERR_RANK ? "rank" : "another", WEXITSTATUS(status[0]), status[1], sum);
	MPI_Finalize();
	return 0;
}
