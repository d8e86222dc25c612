/* SPDX-License-Identifier: GPL-2.0-or-later */
/* MPI_Init and MPI_Finalize: see run.h. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/tracer/cost.h"
#include "spank/tracer/device.h"
#include "spank/tracer/facts.h"
#include "spank/tracer/handles.h"
#include "spank/tracer/memory.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/offsets.h"
#include "spank/tracer/record.h"
#include "spank/tracer/place.h"
#include "spank/tracer/python.h"
#include "spank/tracer/quiet.h"
#include "spank/tracer/run.h"
#include "spank/tracer/sample.h"
#include "spank/tracer/stop.h"

#define MEMORY_DEFAULT (64ull << 20)
#define STRUCTURE_DEFAULT (512ull << 20) /* default of rec_options.structure */
#define SPARE_LEAST    (4ull << 20) /* bytes; the recorder's buffers alone take 2 MiB */

struct run run;

/* Read a number of bytes with a suffix K, M or G. Unset or 0: the default. */
static uint64_t env_bytes(const char *name, uint64_t missing)
{
	const char *s = getenv(name);
	char *end;
	unsigned long long v;

	if (!s || !*s)
		return missing;
	v = strtoull(s, &end, 10);
	switch (*end) {
	case 'G': case 'g': v <<= 10; /* fall through */
	case 'M': case 'm': v <<= 10; /* fall through */
	case 'K': case 'k': v <<= 10;
	}
	return v ? v : missing;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Limit of the times in memory and in the file: the smaller one holds for both. */
static uint64_t times_limit(uint64_t spare)
{
	uint64_t memory = env_bytes("PRECEDENT_TRACE_MEMORY", least(MEMORY_DEFAULT, spare / 4));

	return least(memory, env_bytes("PRECEDENT_TRACE_FILE_MAX", memory));
}

/* Make a directory that only this user can write to. The end of a step removes the job's directory if it is
 * empty. Ranks that a batch script starts later make it again, and the end of the job removes it. */
static bool is_private_dir(const char *dir)
{
	struct stat st;

	return (mkdir(dir, 0700) == 0 || errno == EEXIST) && lstat(dir, &st) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_uid == geteuid() && !(st.st_mode & 022);
}

/* Directory of the spill file. */
static const char *local_dir(const struct run *r)
{
	const char *dir = getenv("PRECEDENT_TRACE_LOCAL");
	static char text[PATH_MAX + 64];

	if (!dir || !*dir || !r->id[0] || stop_wanted())
		return NULL;
	if (*dir == '/' && strlen(dir) < PATH_MAX - 300 && is_private_dir(dir))
		return dir;
	snprintf(text, sizeof(text), "no protection against a crash: %s is not a directory of yours alone", dir);
	launch_report(r, text);
	return NULL;
}

/* A child of fork records nothing: the trace belongs to its parent. */
static void child_inert(void)
{
	rec_forget();
	run.wanted = false;
}

/* Time since the start of the process in ns, to a clock tick's precision; 0: not known. */
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

static uint64_t init_ticks; /* ticks when MPI_Init was called */

/* MPICH's Fortran MPI_Init calls MPI_Init of C. The outermost call is the program's. */
static int init_depth;

static void prepare_run(void)
{
	launch_read(&run);
	clock_skew_read(run.rank);
	run.init_mono_ns = clock_ns(CLOCK_MONOTONIC);
	if (!run.wanted)
		return;
	run.before_ns = process_age_ns();
	if (!stop_wanted())
		launch_mark(&run);
	device_before_init();
	clock_is_tsc = clock_has_tsc();
	init_ticks = clock_ticks();
	run.init_mono_ns = clock_ns(CLOCK_MONOTONIC);
}

void run_before_init(void)
{
	struct quiet q;

	init_depth++;
	if (run.init_mono_ns)
		return;
	quiet_begin(&q);
	prepare_run();
	quiet_end(&q);
}

/* Record MPI_Init or MPI_Finalize as an event of this moment, without a duration. */
static void mark_event(uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa)
{
	struct rec_call c;

	if (!rec_enter(&c, ra, cfa))
		return;
	rec_start(&c, (struct rec_inside){.call = SPILL_CALL(fn, 0)});
	if (!rec_leave(&c, true))
		return;
	c.t1 = c.t0;
	if (n)
		memcpy(c.self->v, v, n * sizeof(*v));
	c.slow = 1;
	rec_event(&c, fn, n);
}

static void define_all(struct trace_defs *d)
{
	handles_define(d);
	site_define(d);
}

/* Times get a quarter of the spare memory, definitions and structure the rest. */
static int begin_recording(void)
{
	const uint64_t spare = memory_spare(), structure = spare - spare / 4;
	struct rec_options o = {.rank = (uint32_t)run.world_rank, .n_ranks = (uint32_t)run.world_size,
				.locking = run.thread_level == MPI_THREAD_MULTIPLE, .memory = times_limit(spare),
				.structure = env_bytes("PRECEDENT_TRACE_STRUCTURE", structure < STRUCTURE_DEFAULT ? structure : 0),
				.local = local_dir(&run),
				.id = run.id, .define = define_all};
	struct errbuf err = {""};
	int rv;

	if (spare < SPARE_LEAST) {
		launch_report(&run, "no trace: the process has too little memory to spare");
		return -1;
	}
	rv = rec_begin(&o, &err);
	if (rv == 0) {
		passthrough_protect(&rec.pages.spill);
		site_tell_modules(&rec.pages.spill);
		mpilib_tell_constants(rec.pages.spill.header);
		mpilib_tell_types(rec.live);
	}
	if (err.text[0])
		launch_report(&run, err.text);
	return rv;
}

/* Collect the facts of the process. */
static void learn_facts(struct run *r)
{
	ssize_t n = readlink("/proc/self/exe", r->program, sizeof(r->program) - 1);

	r->program[n > 0 ? n : 0] = '\0';
	launch_host(r->host, sizeof(r->host));
	facts_put_job(&r->facts, r);
}

/* Fill in the facts that a reader of the spill file needs. */
static void fill_header(struct spill_header *h)
{
	h->thread_level = (uint32_t)run.thread_level;
	h->start_real_ns = run.start_real_ns;
	h->init_ticks = init_ticks;
	h->init_mono_ns = run.init_mono_ns;
	h->init_ns = run.init_ns;
	h->before_ns = run.before_ns;
	snprintf(h->host, sizeof(h->host), "%s", run.host);
	snprintf(h->program, sizeof(h->program), "%.511s", run.program);
	if (!run.facts.failed && run.facts.len < sizeof(h->facts))
		memcpy(h->facts, run.facts.data, run.facts.len);
}

/* Prepare recording. Returns false if nothing will be recorded. If run.wanted is set, the other ranks must still
 * be told. */
static bool make_ready(void)
{
	static struct spill_header header; /* static, since the stack may be small */
	MPI_Comm parent = MPI_COMM_NULL;

	run.init_ns = clock_ns(CLOCK_MONOTONIC) - run.init_mono_ns;
	run.wanted = false;
	if (mpilib_load() < 0 || mpi.Comm_rank(mpi.world, &run.world_rank) != MPI_SUCCESS ||
	    mpi.Comm_size(mpi.world, &run.world_size) != MPI_SUCCESS ||
	    mpi.Query_thread(&run.thread_level) != MPI_SUCCESS)
		return false;
	run.spawned = mpi.Comm_get_parent(&parent) == MPI_SUCCESS && parent != MPI_COMM_NULL;
	if (begin_recording() < 0 || handles_begin() < 0 || pthread_atfork(NULL, NULL, child_inert))
		rec.broken = true;
	run.wanted = true;
	if (stop_wanted())
		stop_begin(&run);
	else
		offsets_begin(&run);
	if (!rec_self.v)
		rec_thread_begin(&rec_self); /* slow, so it is done before the program's time starts */
	place_begin();
	python_begin();
	device_after_init();
	run.start_real_ns = clock_ns(CLOCK_REALTIME);
	learn_facts(&run);
	fill_header(&header);
	if (run.world_rank == 0)
		facts_put_command(&run.facts);
	run.start_real_ns = header.start_real_ns = clock_ns(CLOCK_REALTIME);
	run.start_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	run.start_mono_ns = clock_ns(CLOCK_MONOTONIC);
	clock_moment_read(&run.start);
	if (rec.broken)
		return false;
	rec_go(&header);
	return true;
}

void run_after_init(bool ok, uint16_t fn, const int64_t *v, uint32_t n, uintptr_t ra, uintptr_t cfa)
{
	struct quiet q;
	bool on;

	if (--init_depth > 0 || !ok || !run.wanted || run.start_mono_ns)
		return;
	quiet_begin(&q);
	on = make_ready();
	quiet_end(&q);
	if (!on)
		return;
	if (!stop_wanted())
		sample_begin((uint32_t)run.world_rank, (uint32_t)run.world_size);
	mark_event(fn, v, n, ra, cfa);
}

/* Each rank's part of the limit on file sizes; UINT64_MAX: no limit. An eighth is left for data that no rank counts.
 * These are the facts of the job (some KiB) and the index (below 100 bytes for a page). A part may also grow when it is
 * encoded again. */
static uint64_t file_share(int world_size)
{
	struct rlimit r;

	if (getrlimit(RLIMIT_FSIZE, &r) || r.rlim_cur == RLIM_INFINITY)
		return UINT64_MAX;
	return (r.rlim_cur - r.rlim_cur / 8) / (uint64_t)world_size;
}

void run_before_finalize(uint16_t fn, uintptr_t ra, uintptr_t cfa)
{
	enum gathered end;
	struct quiet q;

	if (!run.wanted || !run.start_mono_ns)
		return;
	quiet_begin(&q);
	if (stop_wanted())
		stop_missed();
	mark_event(fn, NULL, 0, ra, cfa);
	sample_end();
	run.file_share = file_share(run.world_size);
	rec_end();
	cost_measure(ra, cfa);
	run.wanted = false;
	end = gather_trace(&run);
	if (end == GATHERED_NOT_WRITTEN)
		rec_keep("the trace could not be written");
	else
		rec_close();
	sample_free();
	buf_free(&run.facts);
	if (end != GATHERED_NOTHING)
		gather_part();
	quiet_end(&q);
}
