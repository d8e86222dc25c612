/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * conform_processes: fork, exec, and threads under MPI_THREAD_MULTIPLE. A child is no rank: it makes no call and
 * leaves no trace, and its output and exit status are its own. Each thread uses a communicator of its own.
 */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "conform.h"

#define THREADS 4
#define ROUNDS  200

static MPI_Comm channel[THREADS];

static int child(int with_exec)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		if (with_exec)
			execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
		_exit(7);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void *talk(void *arg)
{
	int t = *(int *)arg, next = (conform_rank + 1) % conform_size, before = (conform_rank + conform_size - 1) % conform_size;
	long wrong = 0;

	for (int i = 0; i < ROUNDS; i++) {
		int out = t * 1000 + i, in = -1;

		MPI_Sendrecv(&out, 1, MPI_INT, next, t, &in, 1, MPI_INT, before, t, channel[t], MPI_STATUS_IGNORE);
		wrong += in != out;
	}
	return (void *)wrong;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int level, id[THREADS];

	MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
	conform_begin();
	CHECK(child(0) == 7);
	CHECK(child(1) == 7);
	CHECK(system("exit 3") >> 8 == 3);
	for (int t = 0; t < THREADS; t++)
		DO(MPI_Comm_dup(MPI_COMM_WORLD, &channel[t]));
	for (int t = 0; t < THREADS; t++) {
		id[t] = t;
		if (level < MPI_THREAD_MULTIPLE || pthread_create(&thread[t], NULL, talk, &id[t])) {
			CHECK(talk(&id[t]) == NULL);
			thread[t] = 0;
		}
	}
	for (int t = 0; t < THREADS; t++) {
		void *wrong = NULL;

		if (thread[t])
			pthread_join(thread[t], &wrong);
		CHECK(!wrong);
		did("MPI_Sendrecv", ROUNDS);
		DO(MPI_Comm_free(&channel[t]));
	}
	DO(MPI_Barrier(MPI_COMM_WORLD));
	conform_end();
	MPI_Finalize();
	return 0;
}
