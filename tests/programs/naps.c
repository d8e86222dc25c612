/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Short sleeps and polls between short computations: 20,000 of each kind, or as many as the argument says. No
 * signal handler may end them early. Prints how many were ended early, and how many more descriptors the process
 * has at the end than after MPI_Init.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <mpi.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/select.h>
#include <time.h>
#include <unistd.h>

static int pipes[2];

static void work(int n)
{
	volatile double x = 1;

	for (int k = 0; k < n; k++)
		x *= 1.0001;
}

static int nap(void)
{
	struct timespec t = {.tv_nsec = 1};

	return nanosleep(&t, NULL);
}

static int nap_until(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (errno = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) ? -1 : 0;
}

static int look(void)
{
	struct pollfd p = {.fd = pipes[0], .events = POLLIN};
	struct timespec t = {.tv_nsec = 1};

	return ppoll(&p, 1, &t, NULL);
}

static int choose(void)
{
	struct timeval t = {.tv_usec = 1};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(pipes[0], &set);
	return select(pipes[0] + 1, &set, NULL, NULL, &t);
}

static int talk(void)
{
	char c = 'x';

	return write(pipes[1], &c, 1) == 1 && read(pipes[0], &c, 1) == 1 ? 0 : -1;
}

static int descriptors(void)
{
	int n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += lseek(fd, 0, SEEK_CUR) >= 0 || errno != EBADF;
	return n;
}

int main(int argc, char **argv)
{
	int (*const call[])(void) = {nap, nap_until, look, choose, talk};
	int n = argc > 1 ? atoi(argv[1]) : 20000, early = 0, failed = 0, before;

	MPI_Init(&argc, &argv);
	if (pipe(pipes))
		MPI_Abort(MPI_COMM_WORLD, 1);
	before = descriptors();
	for (size_t k = 0; k < sizeof(call) / sizeof(*call); k++)
		for (int i = 0; i < n; i++) {
			errno = 0;
			if (call[k]() < 0) {
				early += errno == EINTR;
				failed += errno != EINTR;
			}
			work(i % 3000);
		}
	printf("early %d failed %d descriptors %d\n", early, failed, descriptors() - before);
	MPI_Finalize();
	return 0;
}
