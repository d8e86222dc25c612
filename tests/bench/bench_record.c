/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recorder alone, without MPI: ns per recorded call and per counted poll, memory and spill file against the
 * number of calls. Each line is a process of its own.
 * bench_record [MILLIONS of calls at most, default 30]; bench_record loop|tests|polls MILLIONS: that one line alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/unit/play.h"

static double now(void)
{
	return (double)clock_ns(CLOCK_MONOTONIC) * 1e-9;
}

static void line(const char *what, enum play_program program, const char *dir, uint64_t memory, uint64_t n)
{
	struct errbuf err;
	struct rusage use;
	struct stat st = {0};
	struct play p;
	char path[PATH_MAX];
	double t;

	if (play_begin(&p, program, dir, "bench", 0, 1, memory, 0, &err) < 0)
		exit(1);
	t = now();
	while (p.i < n && play_one(&p))
		;
	t = now() - t;
	getrusage(RUSAGE_SELF, &use);
	snprintf(path, sizeof(path), "%s/bench.r0.spill", dir ? dir : "");
	if (dir)
		stat(path, &st);
	printf("%-34s %11llu calls  %6.1f ns each  hot %5.1f ns  %7.1f MiB resident  %6.1f MiB spilled%s%s\n", what,
	       (unsigned long long)p.i, t * 1e9 / (double)p.i,
	       rec.overhead_sum / (double)(rec.overhead_n ? rec.overhead_n : 1) * t * 1e9 / (double)(clock_ticks() - rec.start),
	       (double)use.ru_maxrss / 1024, (double)st.st_blocks / 2048, rec.ended ? ", ended: " : "",
	       rec.ended ? rec.ended : "");
	rec_close();
	fflush(stdout);
}

static void apart(const char *what, enum play_program program, const char *dir, uint64_t memory, uint64_t n)
{
	pid_t pid = fork();

	if (!pid) {
		line(what, program, dir, memory, n);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

/* Unsuccessful polls one after the other: what is added to each. */
static void polls(const char *dir, uint64_t n)
{
	char path[PATH_MAX];
	struct stat st = {0};
	struct errbuf err;
	struct rusage use;
	struct rec_call c;
	struct play p;
	double t;

	if (play_begin(&p, PLAY_LOOP, dir, "polls", 0, 1, 0, 0, &err) < 0)
		return;
	t = now();
	for (uint64_t i = 0; i < n; i++) {
		rec_enter(&c, (uintptr_t)polls, 0);
		rec_start_poll(&c, (struct rec_inside){0});
		rec_leave_poll(&c, true, false);
	}
	t = now() - t;
	getrusage(RUSAGE_SELF, &use);
	snprintf(path, sizeof(path), "%s/polls.r0.spill", dir);
	stat(path, &st);
	printf("%-34s %11llu polls  %6.1f ns each                %7.1f MiB resident  %6.1f MiB spilled\n",
	       "polls in close succession", (unsigned long long)n, t * 1e9 / (double)n, (double)use.ru_maxrss / 1024,
	       (double)st.st_blocks / 2048);
	rec_close();
}

/* One line that may take its time. */
static int only(const char *what, const char *dir, uint64_t n)
{
	if (!strcmp(what, "loop"))
		line("loop, spilled", PLAY_LOOP, dir, 0, n);
	else if (!strcmp(what, "tests"))
		line("loop with polls, spilled", PLAY_POLLS, dir, 0, n);
	else if (!strcmp(what, "polls"))
		polls(dir, n);
	else
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	uint64_t most = (argc > 1 ? strtoull(argv[argc - 1], NULL, 10) : 30) * 1000000;
	char dir[] = "/tmp/bench_record.XXXXXX";

	if (!mkdtemp(dir))
		return 1;
	if (argc > 2) {
		int bad = only(argv[1], dir, most);

		return rmdir(dir) || bad;
	}
	apart("loop, in memory", PLAY_LOOP, NULL, 0, 3000000);
	for (uint64_t n = 1000000; n <= most; n *= 3) {
		apart("loop, spilled", PLAY_LOOP, dir, 0, n);
		apart("loop, spilled, 4 MiB of times", PLAY_LOOP, dir, 4 << 20, n);
	}
	apart("loop with polls, spilled", PLAY_POLLS, dir, 0, 3000000);
	apart("new signature every 50 calls", PLAY_GROWING, dir, 0, 3000000);
	apart("every call a new signature", PLAY_CHAOS, dir, 0, 10000000);
	polls(dir, 30000000);
	return rmdir(dir);
}
