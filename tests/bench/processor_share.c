/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Makes cores slower, for programs that measure what that does: leaves everything else a part of their time.
 *	processor_share PERCENT CORE...
 * Takes each core away for the rest of every millisecond, on all cores at the same instants, by a process of real-time
 * priority; until it is ended, or the one that started it is. It says "ready" when all cores are slower. Root.
 *
 * The quotas of cgroups do not do this: they take a core away at timer ticks, for 4 ms and more, and by accounts of their own
 * that differ from run to run, so that the same program takes half as long again.
 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PERIOD_NS 1000000ll
#define SECOND_NS 1000000000ll

static long long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * SECOND_NS + t.tv_nsec;
}

static void sleep_until(long long ns)
{
	struct timespec t = {.tv_sec = ns / SECOND_NS, .tv_nsec = ns % SECOND_NS};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

/* As long as it takes, from when it gets the core: what it comes late it stays longer. */
static void take(long long busy_ns)
{
	for (;;) {
		long long begin;

		sleep_until((now_ns() / PERIOD_NS + 1) * PERIOD_NS);
		begin = now_ns();
		while (now_ns() - begin < busy_ns)
			;
	}
}

/* The process of one core, which says on FD whether it has it. It never outlives PARENT. */
static void child(pid_t parent, int core, long long busy_ns, int fd)
{
	struct sched_param priority = {.sched_priority = 1};
	bool slower;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	slower = sched_setaffinity(0, sizeof(set), &set) == 0 && mlockall(MCL_CURRENT) == 0 &&
		 sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
	if (!slower)
		fprintf(stderr, "processor_share: core %d: %m\n", core);
	if (write(fd, &slower, sizeof(slower)) != sizeof(slower) || !slower)
		_exit(1);
	take(busy_ns);
}

/* -1: TEXT is no number from LEAST to MOST. */
static int number(const char *text, int least, int most)
{
	char *end;
	long n = strtol(text, &end, 10);

	return end > text && !*end && n >= least && n <= most ? (int)n : -1;
}

int main(int argc, char **argv)
{
	/* Of less than 5 the kernel itself would stop processes of real-time priority. */
	int i, fd[2], percent = argc > 2 ? number(argv[1], 5, 95) : -1;
	pid_t self = getpid();
	bool slower;

	for (i = 2; i < argc; ++i)
		percent = number(argv[i], 0, CPU_SETSIZE - 1) < 0 ? -1 : percent;
	if (percent < 0) {
		fprintf(stderr, "usage: processor_share PERCENT CORE...   (5 to 95 percent are left)\n");
		return 2;
	}
	if (pipe(fd) < 0) {
		perror("processor_share");
		return 1;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (i = 2; i < argc; ++i) {
		pid_t pid = fork();

		if (pid == 0)
			child(self, number(argv[i], 0, CPU_SETSIZE - 1), PERIOD_NS * (100 - percent) / 100, fd[1]);
		if (pid < 0 || read(fd[0], &slower, sizeof(slower)) != sizeof(slower) || !slower)
			return 1;
	}
	puts("ready");
	fflush(stdout);
	wait(NULL);
	return 1;
}
