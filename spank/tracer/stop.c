/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Stops the program at a known place: see stop.h. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "spank/tracer/cost.h"
#include "spank/tracer/mpilib.h"
#include "spank/tracer/record.h"
#include "spank/tracer/stop.h"
#include "trace/format/stop.h"

#define TAG_HERE   1
#define TAG_DONE   2
#define TAG_COST   3
#define ABORT_CODE 87
#define PLAN_MAX   (1 << 30)
#define SPIN       1000

/* Written by the recording thread under the recorder's lock. */
static struct {
	const struct run *run;
	char dir[PATH_MAX]; /* value at the first call: the program may change its environment */
	bool asked;
	struct stop_plan plan;
	struct marks_rank marks;
	uint32_t next;
	uint64_t tick[STOP_MARKS_MAX], gap[STOP_MARKS_MAX], gaps, hash;
	uint64_t *key; /* key of each symbol */
	uint32_t n_key, cap_key;
	MPI_Comm comm;
} stop;

bool stop_wanted(void)
{
	const char *dir = stop.asked ? NULL : getenv("PRECEDENT_STOP_AT");

	stop.asked = true;
	if (dir && *dir == '/' && strlen(dir) < PATH_MAX - 64)
		snprintf(stop.dir, sizeof(stop.dir), "%s", dir);
	return stop.dir[0] != '\0';
}

/* End the program on all ranks. The first reason is kept. */
static void refuse_run(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void refuse_run(const char *fmt, ...)
{
	static char path[PATH_MAX + 64];
	va_list ap;
	int fd;

	snprintf(path, sizeof(path), "%s/" STOP_REFUSED_NAME, stop.dir);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (fd >= 0) {
		va_start(ap, fmt);
		vdprintf(fd, fmt, ap);
		va_end(ap);
		dprintf(fd, "\n");
		close(fd);
	}
	mpi.Abort(mpi.world, ABORT_CODE);
	_exit(ABORT_CODE);
}

static char *read_plan(size_t *len)
{
	static char path[PATH_MAX + 64];
	char *text = NULL;
	struct stat st;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/" STOP_FILE_NAME, stop.dir);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	*len = 0;
	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size < PLAN_MAX)
		text = malloc((size_t)st.st_size + 1);
	while (text && (n = read(fd, text + *len, (size_t)st.st_size - *len)) > 0)
		*len += (size_t)n;
	close(fd);
	return text;
}

/* ---- the end ---- */

/* Wait for a message while MPI makes progress, without taking the processor from ranks that still compute. */
static int await_token_from(int from, int tag, uint64_t until, int *source)
{
	struct timespec nap = {.tv_nsec = 50000};
	MPI_Status status;

	for (unsigned k = 0;; k++) {
		int flag = 0;

		if (mpi.Iprobe(from, tag, stop.comm, &flag, &status) != MPI_SUCCESS)
			return -1;
		if (flag) {
			*source = status.MPI_SOURCE;
			return 0;
		}
		if (clock_true_ns(CLOCK_MONOTONIC) > until)
			return -1;
		if (k < SPIN)
			sched_yield();
		else
			nanosleep(&nap, NULL);
	}
}

static void write_marks(const struct stop_marks *all)
{
	static char path[PATH_MAX + 64], tmp[PATH_MAX + 64];
	struct buf b = {0};
	size_t done = 0;
	ssize_t n = 1;
	int fd;

	snprintf(path, sizeof(path), "%s/" STOP_MARKS_NAME, stop.dir);
	snprintf(tmp, sizeof(tmp), "%s/." STOP_MARKS_NAME, stop.dir);
	stop_marks_format(all, &b);
	fd = open(tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0640);
	if (b.failed || fd < 0)
		refuse_run("rank 0 cannot write %s: %s", tmp, strerror(fd < 0 ? errno : ENOMEM));
	for (; n > 0 && done < b.len; done += n > 0 ? (size_t)n : 0)
		n = write(fd, b.data + done, b.len - done);
	if (done < b.len || fsync(fd) < 0 || close(fd) < 0 || rename(tmp, path) < 0)
		refuse_run("rank 0 cannot write %s: %s", path, strerror(errno));
}

/* Rank 0 collects all marks, writes them and releases all ranks. */
static void meet_and_stop(void)
{
	uint64_t until = clock_true_ns(CLOCK_MONOTONIC) + stop.plan.patience_s * 1000000000ull;
	struct stop_marks all = {.n_ranks = stop.plan.n_ranks, .n_mark = stop.plan.n_mark};
	int n = stop.run->world_size, from;

	if (stop.run->world_rank) {
		mpi.Send(&stop.marks, (int)sizeof(stop.marks), MPI_BYTE, 0, TAG_HERE, stop.comm);
		if (await_token_from(0, TAG_DONE, until + 5000000000ull, &from) < 0)
			refuse_run("ranks did not all come to the place where they were to stop");
		return;
	}
	all.rank = calloc((size_t)n, sizeof(*all.rank));
	if (!all.rank)
		refuse_run("rank 0 has no memory for the marks");
	all.rank[0] = stop.marks;
	for (int i = 1; i < n; i++) {
		if (await_token_from(MPI_ANY_SOURCE, TAG_HERE, until, &from) < 0)
			refuse_run("%d of %d ranks did not come to the place where they were to stop", n - i, n);
		mpi.Recv(&all.rank[from], (int)sizeof(all.rank[from]), MPI_BYTE, from, TAG_HERE, stop.comm,
			 MPI_STATUS_IGNORE);
	}
	write_marks(&all);
	for (int i = 1; i < n; i++)
		mpi.Send(NULL, 0, MPI_BYTE, i, TAG_DONE, stop.comm);
}

/* To a launcher that speaks PMIx, a process that has finalized and exits with 0 has ended well. */
static void say_goodbye(void)
{
	void *pmix = dlopen("libpmix.so.2", RTLD_LAZY | RTLD_NOLOAD);
	int (*finalize)(const void *, size_t) = NULL, (*initialized)(void) = NULL;

	if (pmix) {
		*(void **)&finalize = dlsym(pmix, "PMIx_Finalize");
		*(void **)&initialized = dlsym(pmix, "PMIx_Initialized");
	}
	for (int i = 0; finalize && initialized && i < 8 && initialized(); i++)
		finalize(NULL, 0);
}

/* A message to itself, in memory that no receive of the program uses. */
static char cost_out, cost_in;

static void plain_call(void)
{
	int me = stop.run->world_rank;

	mpi.Sendrecv(&cost_out, 1, MPI_BYTE, me, TAG_COST, &cost_in, 1, MPI_BYTE, me, TAG_COST, stop.comm, MPI_STATUS_IGNORE);
}

/* Calls by the public name, like the program. */
static void recorded_call(void)
{
	int me = stop.run->world_rank;

	MPI_Sendrecv(&cost_out, 1, MPI_BYTE, me, TAG_COST, &cost_in, 1, MPI_BYTE, me, TAG_COST, stop.comm, MPI_STATUS_IGNORE);
}

/* Ticks without the recorder's cost, in ns; at least `least`, so that marks do not go backwards. */
static uint64_t ticks_without_recorder(uint64_t ticks, double recorder, double ns_per_tick, uint64_t least)
{
	double ns = ((double)ticks - recorder) * ns_per_tick;

	return ns > (double)least ? (uint64_t)ns : least;
}

static void stop_here(void)
{
	uint64_t mono = clock_true_ns(CLOCK_MONOTONIC) - stop.run->start_mono_ns, ticks = clock_ticks() - rec.start;
	double ns_per_tick = ticks ? (double)mono / (double)ticks : 1, cost = cost_of_call(plain_call, recorded_call);

	rec.on = false;
	stop.marks.before_ns = stop.run->before_ns;
	stop.marks.init_ns = stop.run->init_ns;
	for (uint32_t m = 0; m < stop.plan.n_mark; m++) {
		double recorder = cost * (double)stop.plan.rank->event[m];

		stop.marks.t_ns[m] = ticks_without_recorder(stop.tick[m], recorder, ns_per_tick, m ? stop.marks.t_ns[m - 1] : 0);
		stop.marks.gap_ns[m] = ticks_without_recorder(stop.gap[m], recorder, ns_per_tick, m ? stop.marks.gap_ns[m - 1] : 0);
	}
	meet_and_stop();
	say_goodbye();
	_exit(0);
}

/* ---- while the program runs ---- */

static uint64_t key_of_symbol(uint32_t sym)
{
	struct trace_defs d = {0};
	uint64_t *more;

	if (sym < stop.n_key)
		return stop.key[sym];
	if (sym >= stop.cap_key) {
		stop.cap_key = 2 * sym + 64;
		more = realloc(stop.key, stop.cap_key * sizeof(*more));
		if (!more)
			refuse_run("rank %d has no memory", stop.run->world_rank);
		stop.key = more;
	}
	rec.define(&d);
	d.sigs = rec.sigs;
	while (stop.n_key <= sym) {
		stop.key[stop.n_key] = stop_key(&d, stop.n_key);
		stop.n_key++;
	}
	return stop.key[sym];
}

static void on_event(uint32_t sym, uint64_t gap, uint64_t tick)
{
	const struct stop_rank *at = stop.plan.rank;

	if (stop.next == stop.plan.n_mark)
		return; /* events of cost_of_call */
	stop.hash = stop_hash_step(stop.hash, key_of_symbol(sym));
	stop.gaps += gap;
	if (rec.n_events < at->event[stop.next])
		return;
	if (stop.hash != at->hash[stop.next])
		refuse_run("the run is not like the traced one: up to event %llu rank %d has made other calls",
			   (unsigned long long)rec.n_events, stop.run->world_rank);
	stop.gap[stop.next] = stop.gaps;
	stop.tick[stop.next++] = tick - rec.start;
	if (stop.next == stop.plan.n_mark)
		stop_here();
}

void stop_begin(const struct run *r)
{
	struct errbuf err;
	char *text;
	size_t len;

	stop.run = r;
	if (rec.broken)
		refuse_run("rank %d has no memory", r->world_rank);
	text = read_plan(&len);
	if (!text)
		refuse_run("rank %d cannot read %s/" STOP_FILE_NAME, r->world_rank, stop.dir);
	if (stop_plan_parse(text, len, (uint32_t)r->world_rank, &stop.plan, &err) < 0)
		refuse_run("rank %d: %s", r->world_rank, err.text);
	free(text);
	if (stop.plan.n_ranks != (uint32_t)r->world_size)
		refuse_run("the run has %d ranks, the traced one had %u", r->world_size, stop.plan.n_ranks);
	if (mpi.Comm_dup(mpi.world, &stop.comm) != MPI_SUCCESS)
		refuse_run("rank %d cannot duplicate MPI_COMM_WORLD", r->world_rank);
	rec_watch(on_event);
}

void stop_missed(void)
{
	refuse_run("the run is not like the traced one: rank %d has ended after %llu events", stop.run->world_rank,
		   (unsigned long long)rec.n_events);
}
