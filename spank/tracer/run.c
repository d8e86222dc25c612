/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI_Init and MPI_Finalize: see run.h. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spank/tracer/handles.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "spank/tracer/run.h"

#define MEMORY_DEFAULT (64ull << 20)

struct run run;

/* PRECEDENT_TRACE_MEMORY: bytes for encoded times, with K, M or G. */
static size_t memory_limit(void)
{
	const char *s = getenv("PRECEDENT_TRACE_MEMORY");
	char *end;
	unsigned long long v;

	if (!s || !*s)
		return MEMORY_DEFAULT;
	v = strtoull(s, &end, 10);
	switch (*end) {
	case 'G': case 'g': v <<= 10; /* fall through */
	case 'M': case 'm': v <<= 10; /* fall through */
	case 'K': case 'k': v <<= 10;
	}
	return v ? v : MEMORY_DEFAULT;
}

/* A child of fork records nothing: its parent's trace is not its own. */
static void child_inert(void)
{
	rec.on = false;
	run.wanted = false;
}

/* Since this process was started, in ns (to a clock tick's precision); 0 when it cannot be told. */
static uint64_t process_age_ns(void)
{
	char text[1024], *p;
	unsigned long long start = 0;
	FILE *f = fopen("/proc/self/stat", "re");
	size_t n;
	uint64_t now, begun;
	long hz = sysconf(_SC_CLK_TCK);

	if (!f)
		return 0;
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	text[n] = '\0';
	p = strrchr(text, ')');
	for (int field = 2; p && field < 22; field++)
		p = strchr(p + 1, ' ');
	if (!p || hz <= 0 || sscanf(p, " %llu", &start) != 1)
		return 0;
	now = clock_ns(CLOCK_BOOTTIME);
	begun = start * (1000000000ull / (uint64_t)hz);
	return now > begun ? now - begun : 0;
}

/* MPICH's Fortran MPI_Init calls MPI_Init of C: the outermost call is the program's. */
static int init_depth;

void run_before_init(void)
{
	init_depth++;
	if (run.init_mono_ns)
		return;
	launch_read(&run);
	run.init_mono_ns = clock_ns(CLOCK_MONOTONIC);
	if (!run.wanted)
		return;
	run.before_ns = process_age_ns();
	launch_mark(&run);
	run.init_mono_ns = clock_ns(CLOCK_MONOTONIC);
}

/* The event of MPI_Init or MPI_Finalize: at this moment, without a duration. */
static void mark_event(uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa)
{
	struct rec_call c;

	if (!rec_enter(&c, ra, cfa))
		return;
	rec_start(&c);
	if (!rec_leave(&c, true))
		return;
	c.t1 = c.t0;
	if (n)
		memcpy(c.self->v, v, n * sizeof(*v));
	c.slow = 1;
	rec_event(&c, fn, n);
}

void run_after_init(bool ok, uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa)
{
	if (--init_depth > 0 || !ok || !run.wanted || run.start_mono_ns)
		return;
	run.init_ns = clock_ns(CLOCK_MONOTONIC) - run.init_mono_ns;
	run.wanted = false;
	if (mpilib_load() < 0 || mpi.Comm_rank(mpi.world, &run.world_rank) != MPI_SUCCESS ||
	    mpi.Comm_size(mpi.world, &run.world_size) != MPI_SUCCESS ||
	    mpi.Query_thread(&run.thread_level) != MPI_SUCCESS)
		return;
	if (rec_begin((uint32_t)run.world_rank, run.thread_level == MPI_THREAD_MULTIPLE, memory_limit()) < 0 ||
	    handles_begin() < 0 || pthread_atfork(NULL, NULL, child_inert))
		rec.broken = true; /* the others must still be told */
	run.wanted = true;
	if (!rec_self.v)
		rec_thread_begin(&rec_self); /* slow: not in the program's time */
	run.start_real_ns = clock_ns(CLOCK_REALTIME);
	run.start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	run.start_mono_ns = clock_ns(CLOCK_MONOTONIC);
	rec.start = rec.last_end = rec.page_t0 = run.start_ticks = clock_ticks();
	rec.on = !rec.broken;
	mark_event(fn, v, n, ra, cfa);
}

void run_before_finalize(uint16_t fn, uintptr_t ra, uintptr_t cfa)
{
	if (!run.wanted || !run.start_mono_ns)
		return;
	mark_event(fn, NULL, 0, ra, cfa);
	rec_end();
	run.wanted = false;
	gather_trace(&run);
}
