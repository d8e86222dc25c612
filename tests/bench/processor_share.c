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
#include <sys/wait.h>

#include "tests/bench/cores.h"

#define PERIOD_NS 1000000ll

/* As long as it takes, from when it gets the core: what it comes late it stays longer. */
static void take(void *arg)
{
	long long busy_ns = *(long long *)arg;

	for (;;) {
		long long begin;

		core_sleep_until((core_now_ns() / PERIOD_NS + 1) * PERIOD_NS);
		begin = core_now_ns();
		while (core_now_ns() - begin < busy_ns)
			;
	}
}

int main(int argc, char **argv)
{
	/* Of less than 5 the kernel itself would stop processes of real-time priority. */
	int percent = argc > 2 ? core_number(argv[1], 5, 95) : -1;
	long long busy_ns = PERIOD_NS * (100 - percent) / 100;

	for (int i = 2; i < argc; ++i)
		percent = core_number(argv[i], 0, CPU_SETSIZE - 1) < 0 ? -1 : percent;
	if (percent < 0) {
		fprintf(stderr, "usage: processor_share PERCENT CORE...   (5 to 95 percent are left)\n");
		return 2;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (int i = 2; i < argc; ++i)
		if (core_process(core_number(argv[i], 0, CPU_SETSIZE - 1), 1, take, &busy_ns) < 0)
			return 1;
	puts("ready");
	fflush(stdout);
	wait(NULL);
	return 1;
}
