/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Processes that take cores away from everything else, at instants of their own: processor_share and core_watch. */
#ifndef PRECEDENT_TESTS_BENCH_CORES_H
#define PRECEDENT_TESTS_BENCH_CORES_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

static inline long long core_now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static inline void core_sleep_until(long long ns)
{
	struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* -1: TEXT is no number from LEAST to MOST. */
static inline int core_number(const char *text, int least, int most)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end > text && !*end && n >= least && n <= most ? (int)n : -1;
}

/* A process of that real-time priority on that core, which does WORK, without end, until it is ended or this one ends.
 * 0 when it has the core; -1 after a line that says why it has not. */
static inline int core_process(int core, int priority, void (*work)(void *arg), void *arg)
{
	struct sched_param how = {.sched_priority = priority};
	pid_t parent = getpid(), pid;
	bool has = false;
	cpu_set_t set;
	int fd[2];

	if (pipe(fd) < 0 || (pid = fork()) < 0) {
		perror("no process for a core");
		return -1;
	}
	if (pid == 0) {
		CPU_ZERO(&set);
		CPU_SET(core, &set);
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		has = getppid() == parent && sched_setaffinity(0, sizeof(set), &set) == 0 && mlockall(MCL_CURRENT) == 0 &&
		      sched_setscheduler(0, SCHED_FIFO, &how) == 0;
		if (!has)
			fprintf(stderr, "core %d: %m\n", core);
		if (write(fd[1], &has, sizeof(has)) == sizeof(has) && has)
			work(arg);
		_exit(1);
	}
	close(fd[1]);
	if (read(fd[0], &has, sizeof(has)) != sizeof(has))
		has = false;
	close(fd[0]);
	return has ? 0 : -1;
}

#endif
