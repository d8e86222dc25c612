/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The recording of a process that is killed at any moment. A child plays calls into the recorder and counts them.
 * The trace made from its spill file must begin with exactly these calls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/play.h"
#include "tests/unit/skip.h"
#include "trace/functions.h"
#include "trace/salvage/salvage.h"

static char dir[64];
static volatile uint64_t *done; /* events that the child's recorder has completed */

static int setup(void **state)
{
	(void)state;
	snprintf(dir, sizeof(dir), "/tmp/salvage.XXXXXX");
	done = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return mkdtemp(dir) && done != MAP_FAILED ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	return rmdir(dir);
}

/* A child that plays by `body` and exits with 0 or with its result. */
static void in_child(const char *id, uint32_t rank, uint32_t n_ranks, int (*body)(struct play *p))
{
	struct errbuf err;
	struct play p;
	int status;
	pid_t pid = fork();

	if (!pid)
		_exit(play_begin(&p, PLAY_LOOP, dir, id, rank, n_ranks, 0, 0, &err) < 0 ? 3 : body(&p));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void play_until(struct play *p, uint64_t i)
{
	while (p->i < i)
		play_one(p);
}

static struct trace *open_salvaged(const char *id, const char *ended, struct salvage_report *r)
{
	struct errbuf err = {""};
	struct trace *t;

	if (salvage_write(dir, id, dir, NULL, ended, r, &err) < 0)
		fail_msg("%s", err.text);
	t = trace_open(r->path, &err);
	if (!t)
		fail_msg("%s", err.text);
	unlink(r->path);
	return t;
}

/* A child that plays until it is killed, or for `limit` events. */
static pid_t child(enum play_program program, const char *where, uint64_t memory, uint64_t limit)
{
	struct errbuf err;
	struct play p;
	pid_t pid;

	*done = 0;
	pid = fork();
	if (pid)
		return pid;
	if (play_begin(&p, program, where, "run.1", 0, 1, memory, 0, &err) < 0)
		_exit(3);
	while (p.i < limit && play_one(&p))
		*done = p.i;
	for (;;)
		pause();
}

static void wait_until_done(pid_t pid, uint64_t n)
{
	struct timespec nap = {.tv_nsec = 100000};

	for (int i = 0; i < 300000 && *done < n; i++) {
		assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		nanosleep(&nap, NULL);
	}
	assert_true(*done >= n);
}

static void end_child(pid_t pid)
{
	int status;

	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
}

/* The trace has exactly the first events of the program, from `least` to `most` of them. Returns how many. */
static uint64_t check_prefix(const char *path, enum play_program program, uint64_t least, uint64_t most)
{
	struct errbuf err = {""};
	struct trace *t = trace_open(path, &err);
	const struct trace_rank *k;
	struct trace_iter *it;
	struct trace_event ev;
	uint64_t n = 0, untimed = 0, ticks = 0;
	bool known;

	if (!t)
		fail_msg("%s", err.text);
	for (uint32_t i = 0; i < trace_n_damage(t); i++)
		fail_msg("%s", trace_damage(t, i));
	assert_true(trace_is_partial(t));
	k = trace_get_rank(t, 0);
	assert_non_null(strstr(k->defs.proc.ended, "killed"));
	assert_int_equal(k->defs.proc.finalized, 0);
	it = trace_iter_create(t, 0, &err);
	while (trace_iter_next(it, &ev, &known)) {
		if (!play_is(program, n, &k->defs, ev.sym) && n < least)
			fail_msg("event %llu is another call", (unsigned long long)n);
		untimed += !known;
		n++;
	}
	assert_int_equal(n, k->events.length);
	assert_true(n >= least && n <= most);
	assert_int_equal(untimed, k->defs.proc.dropped_events);
	for (int s = 0; s < TSTATE_N; s++)
		ticks += k->defs.proc.state_ticks[s];
	assert_true(n == 0 || (ticks > 0 && ticks <= k->defs.proc.end_ticks));
	trace_iter_destroy(it);
	trace_close(t);
	return n;
}

static uint64_t salvage(enum play_program program, uint64_t least, uint64_t most)
{
	struct salvage_report r;
	struct errbuf err = {""};
	uint64_t n;

	if (salvage_write(dir, "run.1", dir, NULL, "killed by signal 9", &r, &err) < 0)
		fail_msg("%s", err.text);
	assert_int_equal(r.n_ranks, 1);
	assert_int_equal(r.n_found, 1);
	n = check_prefix(r.path, program, least, most);
	assert_int_equal(n, r.events);
	unlink(r.path);
	return n;
}

/* ---- at any instant ---- */

static void kill_often(enum play_program program, uint64_t memory, int times)
{
	const char *more = getenv("PRECEDENT_TEST_KILLS");
	uint64_t seed = (uint64_t)getpid();

	if (more)
		times = atoi(more);
	for (int i = 0; i < times; i++) {
		struct timespec nap = {0};
		pid_t pid = child(program, dir, memory, UINT64_MAX);

		wait_until_done(pid, 1);
		seed = seed * 6364136223846793005ull + 1442695040888963407ull;
		nap.tv_nsec = (long)((seed >> 33) % (i % 10 ? 3000000 : 60000000));
		nanosleep(&nap, NULL);
		end_child(pid);
		/* One event may be committed without being counted, and one more may be entered. */
		salvage(program, *done, *done + 2);
	}
}

static void test_kill_loop(void **state)
{
	(void)state;
	kill_often(PLAY_LOOP, 64 << 10, 120); /* times are dropped all the time */
	kill_often(PLAY_LOOP, 0, 30);
}

static void test_kill_growing(void **state)
{
	(void)state;
	kill_often(PLAY_GROWING, 64 << 10, 60);
}

static void test_kill_polls(void **state)
{
	(void)state;
	kill_often(PLAY_POLLS, 256 << 10, 30);
}

static void test_kill_chaos(void **state)
{
	(void)state;
	kill_often(PLAY_CHAOS, 0, 30);
}

/* ---- what is in a partial trace ---- */

/* A run that is long enough for structure to replace symbols and for histograms to hold most times. */
static void test_long_run(void **state)
{
	const uint64_t n = 2000000;
	struct stat st;
	char path[128];
	pid_t pid = child(PLAY_LOOP, dir, 64 << 10, n);

	(void)state;
	wait_until_done(pid, n);
	end_child(pid);
	snprintf(path, sizeof(path), "%s/run.1.r0.spill", dir);
	assert_int_equal(stat(path, &st), 0);
	assert_true(st.st_size < 2 << 20); /* window and 64 KiB of times, independent of the number of events */
	assert_int_equal(salvage(PLAY_LOOP, n, n), n);
}

static int receives_for_ever(struct play *p)
{
	struct rec_call c;

	play_until(p, 1000);
	if (!rec_enter(&c, rec.live->enter_address, 0)) /* event 999 is a receive: the same call site again */
		return 4;
	rec.live->comm[0] = 77;
	/* 999 % 7 is 5: from rank 0 with tag 5 */
	rec_start(&c, (struct rec_inside){SPILL_CALL(FN_MPI_Recv, 5), 77, REC_PEERS(0, 0), 0});
	return 0;
}

/* The same call site, but a new call: it is reported, but is no event. */
static int receives_otherwise(struct play *p)
{
	struct rec_call c;

	play_until(p, 1000);
	if (!rec_enter(&c, rec.live->enter_address, 0))
		return 4;
	rec_start(&c, (struct rec_inside){SPILL_CALL(FN_MPI_Recv, -7), 78, REC_PEERS(0, -9), 0});
	return 0;
}

/* A call from an address in a module without call sites so far. */
static int waits_elsewhere(struct play *p)
{
	struct spill_module *m = (struct spill_module *)(rec.pages.spill.map + rec.pages.spill.header->module_at);
	struct rec_call c;

	play_until(p, 1000);
	m[0] = (struct spill_module){.base = 0x5000, .lo = 0x6000, .hi = 0x7000, .path = "/lib/other.so"};
	if (!rec_enter(&c, 0x6123, 0))
		return 4;
	rec_start(&c, (struct rec_inside){SPILL_CALL(FN_MPI_Waitall, 0), 0, REC_PEERS(3, 0), 0});
	return 0;
}

static void has_constants(struct spill *s)
{
	s->header->any_source = -9;
	s->header->proc_null = -2;
	s->header->any_tag = -7;
	s->header->n_module = 1;
}

/* Looks before the last call, then more than the file keeps behind that call; one of them outside of all modules. */
static int computes_for_ever(struct play *p)
{
	struct spill_module *m = (struct spill_module *)(rec.pages.spill.map + rec.pages.spill.header->module_at);
	struct spill_live *live = rec.live;

	m[0] = (struct spill_module){.base = 0x5000, .lo = 0x6000, .hi = 0x7000, .path = "/lib/other.so"};
	play_until(p, 1000);
	for (uint64_t i = 0; i < 20; i++) {
		live->place[live->n_place % SPILL_PLACES_MAX] =
			(struct spill_place){i < 8 ? 999 : rec.n_events, i == 18 ? 0x9000 : 0x6100 + i % 2 * 0x10,
					     i == 10 ? 0x6f00 : i == 12 ? 0x9000 : 0};
		live->n_place++;
	}
	return 0;
}

static void test_where_it_computed(void **state)
{
	const struct trace_defs *d;
	struct salvage_report r;
	struct trace *t;

	(void)state;
	play_opened = has_constants;
	in_child("run.1", 0, 1, computes_for_ever);
	t = open_salvaged("run.1", "", &r);
	d = &trace_get_rank(t, 0)->defs;
	assert_false(d->proc.in_call.inside);
	assert_int_equal(d->proc.n_place, 11); /* looks 8 to 19 but look 18 */
	for (uint32_t i = 0; i < 11; i++) {
		const struct trace_site *s = &d->site[d->proc.place[i]];

		uint32_t look = i ? 18 - i : 19;

		assert_int_equal(s->offset[0], look % 2 ? 0x1111 : 0x1101);
		assert_int_equal(s->n_frame, look == 10 ? 2 : 1); /* the caller of look 12 is in no module */
		assert_true(look != 10 || s->offset[1] == 0x1f00);
		assert_string_equal(d->module[s->module[0]].path, "/lib/other.so");
	}
	trace_close(t);
	play_opened = NULL;
}

static void test_calls_that_are_new(void **state)
{
	const struct trace_in_call *call;
	const struct trace_rank *k;
	struct salvage_report r;
	struct trace *t;

	(void)state;
	play_opened = has_constants;
	in_child("run.1", 0, 1, receives_otherwise);
	t = open_salvaged("run.1", "", &r);
	k = trace_get_rank(t, 0);
	call = &k->defs.proc.in_call;
	assert_int_equal(k->events.length, 1000);
	assert_true(call->inside && call->fn == FN_MPI_Recv && call->site < k->defs.n_site);
	assert_int_equal(call->src, TRACE_ANY_SOURCE);
	assert_int_equal(call->tag, TRACE_ANY_TAG);
	assert_true(call->dst == TRACE_IN_CALL_NONE);
	assert_int_equal(call->comm, TRACE_NULL); /* a handle that is not stored */
	trace_close(t);

	in_child("run.1", 0, 1, waits_elsewhere);
	t = open_salvaged("run.1", "", &r);
	k = trace_get_rank(t, 0);
	call = &k->defs.proc.in_call;
	assert_true(call->inside && call->fn == FN_MPI_Waitall && call->requests == 3);
	assert_int_equal(call->site, k->defs.n_site - 1);
	assert_string_equal(k->defs.module[k->defs.site[call->site].module[0]].path, "/lib/other.so");
	assert_int_equal(k->defs.site[call->site].offset[0], 0x1123);
	trace_close(t);
	play_opened = NULL;
}

/* In MPI_Win_start for 200 of 300 ranks: all but every third. */
static int starts_an_epoch(struct play *p)
{
	struct rec_call c;

	play_until(p, 1000);
	for (uint32_t i = 0; i < 300; i++)
		rec.pages.spill.group[i / 8] |= (uint8_t)((i % 3 > 0) << i % 8);
	rec.live->n_group = 200;
	if (!rec_enter(&c, 0x6123, 0))
		return 4;
	rec_start(&c, (struct rec_inside){SPILL_CALL(FN_MPI_Win_start, 0), 0, 0, 0});
	return 0;
}

static void test_group_of_an_epoch(void **state)
{
	const struct trace_group *g;
	struct salvage_report r;
	struct trace *t;

	(void)state;
	in_child("run.1", 299, 300, starts_an_epoch);
	t = open_salvaged("run.1", "", &r);
	g = &trace_get_rank(t, 299)->defs.proc.in_call.group;
	assert_int_equal(g->n, 200);
	for (uint32_t i = 0; i < 200; i++)
		assert_int_equal(g->rank[i], i / 2 * 3 + i % 2 + 1);
	trace_close(t);
}

static void test_call_that_did_not_return(void **state)
{
	struct salvage_report r;
	const struct trace_rank *k;
	struct timespec when[2];
	struct trace *t;
	char path[128];

	(void)state;
	in_child("run.1", 0, 1, receives_for_ever);
	snprintf(path, sizeof(path), "%s/run.1.r0.spill", dir);
	clock_gettime(CLOCK_REALTIME, &when[0]);
	when[0].tv_sec += 812;
	when[1] = when[0];
	assert_int_equal(utimensat(AT_FDCWD, path, when, 0), 0);
	t = open_salvaged("run.1", "time limit", &r);
	k = trace_get_rank(t, 0);
	assert_int_equal(k->events.length, 1001);
	assert_string_equal(k->defs.proc.ended, "time limit");
	assert_true(k->defs.proc.in_call.inside && k->defs.proc.in_call.fn == FN_MPI_Recv);
	assert_int_equal(k->defs.proc.in_call.src, 0);
	assert_int_equal(k->defs.proc.in_call.tag, 5);
	assert_int_equal(k->defs.proc.in_call.comm, 0);
	assert_true((double)k->defs.proc.in_call.ticks * k->defs.proc.ns_per_tick > 810e9);
	assert_true(k->wall_ns > 810e9 && k->wall_ns < 820e9);
	assert_string_equal(trace_job_get(t, "hosts"), "node1");
	assert_string_equal(trace_job_get(t, "program"), "/bin/played");
	trace_close(t);
}

/* ---- functions that are only counted ---- */

static _Alignas(4096) uint64_t counter[512];

static void count_in_file(struct spill *s)
{
	spill_counters(s, counter, 4, "MPI_Get_count\0MPI_Pack\0MPI_Wtime\0MPI_Wtick");
}

/* Count calls before there is a file, in a child of fork (which are its own), and until the end. */
static int counts(struct play *p)
{
	int status;
	pid_t inner;

	play_until(p, 10);
	counter[2] += 7;
	inner = fork();
	if (!inner) {
		rec_forget();
		counter[0] += 100;
		counter[1] += 100;
		_exit(counter[0] == 105 && counter[2] == 7 ? 0 : 4);
	}
	waitpid(inner, &status, 0);
	counter[3]++;
	return status ? 5 : 0;
}

static void check_counted(const struct trace_defs *d, const char *name, uint64_t calls)
{
	for (uint32_t i = 0; i < d->n_counted; i++)
		if (!strcmp(d->counted[i].name, name)) {
			assert_int_equal(d->counted[i].calls, calls);
			return;
		}
	fail_msg("%s was not counted", name);
}

static void test_counters(void **state)
{
	const struct trace_defs *d;
	struct salvage_report r;
	struct trace *t;

	(void)state;
	play_opened = count_in_file;
	counter[0] = 5;
	in_child("run.1", 0, 1, counts);
	counter[0] = 0;
	play_opened = NULL;
	t = open_salvaged("run.1", "killed", &r);
	d = &trace_get_rank(t, 0)->defs;
	assert_int_equal(d->n_counted, 3);
	check_counted(d, "MPI_Get_count", 5);
	check_counted(d, "MPI_Wtime", 7);
	check_counted(d, "MPI_Wtick", 1);
	trace_close(t);
}

static bool maps_spill_file(void)
{
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	while (fgets(line, sizeof(line), f))
		found |= strstr(line, ".spill") != NULL;
	fclose(f);
	return found;
}

/* A run that ends well: the counters are back in memory, and the file is not held. */
static void test_counters_of_a_whole_run(void **state)
{
	struct errbuf err;
	struct play p;
	char path[128];

	(void)state;
	snprintf(path, sizeof(path), "%s/whole.ptrace", dir);
	play_opened = count_in_file;
	memset(counter, 0, sizeof(counter));
	counter[1] = 1;
	assert_int_equal(play_begin(&p, PLAY_LOOP, dir, "run.1", 0, 1, 0, 0, &err), 0);
	play_opened = NULL;
	play_until(&p, 10);
	assert_true(maps_spill_file());
	counter[1]++;
	assert_int_equal(play_end(&p, path, &err), 0);
	assert_false(maps_spill_file());
	counter[1]++;
	assert_int_equal(counter[1], 3);
	unlink(path);
}

/* A rank without a file is missing, for any number of ranks. */
static int ten_calls(struct play *p)
{
	play_until(p, 10);
	return 0;
}

static void test_missing_ranks(void **state)
{
	struct salvage_run *run;
	struct salvage_report r;
	struct errbuf err = {""};
	struct trace *t;
	char path[128];

	(void)state;
	in_child("job.7", 1234, 4096, ten_calls);
	assert_int_equal(salvage_find(dir, &run, &err), 1);
	assert_string_equal(run[0].id, "job.7");
	assert_int_equal(run[0].world_size, 4096);
	assert_int_equal(run[0].n_found, 1);
	free(run);
	t = open_salvaged("job.7", "killed", &r);
	assert_int_equal(trace_n_ranks(t), 4096);
	assert_true(trace_get_rank(t, 1234)->present);
	assert_false(trace_get_rank(t, 0)->present);
	assert_int_equal(trace_get_rank(t, 1234)->events.length, 10);
	trace_close(t);
	/* The others may still come, so the file is kept. */
	assert_int_equal(salvage_find(dir, &run, &err), 1);
	free(run);
	snprintf(path, sizeof(path), "%s/job.7.r1234.spill", dir);
	assert_int_equal(unlink(path), 0);
}

/* The mark beside the spill file of the rank that ended first, well and badly written. */
static void test_marks(void **state)
{
	static const struct {
		const char *line, *within, *signal;
	} v[] = {
		{"0.012000 0\n", "0.012000", NULL}, {"1.500000 9\n", "1.500000", "9"}, {"", NULL, NULL},      {"0.5\n", NULL, NULL},
		{"-1 9\n", NULL, NULL},		   {"nan 9\n", NULL, NULL},	     {"1e300 9\n", NULL, NULL}, {"0.5 65\n", NULL, NULL},
		{"first_ended=0\n", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(v) / sizeof(*v); i++) {
		struct salvage_report r;
		char path[128];
		struct trace *t;
		const char *x;
		FILE *f;

		in_child("job.8", 0, 2, ten_calls);
		in_child("job.8", 1, 2, ten_calls);
		snprintf(path, sizeof(path), "%s/job.8.r1.spill" SALVAGE_FIRST, dir);
		f = fopen(path, "w");
		assert_non_null(f);
		fputs(v[i].line, f);
		fclose(f);
		t = open_salvaged("job.8", "killed", &r);
		assert_string_equal(trace_job_get(t, "first_ended"), "1");
		x = trace_job_get(t, "ends_within");
		assert_string_equal(x ? x : "none", v[i].within ? v[i].within : "none");
		x = trace_job_get(t, "launcher_signal");
		assert_string_equal(x ? x : "none", v[i].signal ? v[i].signal : "none");
		trace_close(t);
		assert_int_equal(access(path, F_OK), -1);
	}
}

/* ---- faults ---- */

/* The disk is full: earlier data are kept, and the process goes on. */
static void test_disk_full(void **state)
{
	char mnt[80], path[128];
	uint64_t n;
	pid_t pid;

	(void)state;
	snprintf(mnt, sizeof(mnt), "%s/small", dir);
	mkdir(mnt, 0700);
	if (geteuid() || mount("none", mnt, "tmpfs", 0, "size=1200k")) {
		rmdir(mnt);
		SKIP("mounting needs root");
	}
	pid = child(PLAY_CHAOS, mnt, 0, 400000);
	wait_until_done(pid, 400000);
	end_child(pid);
	snprintf(path, sizeof(path), "%s/run.1.r0.spill", dir);
	{
		char cmd[300];

		snprintf(cmd, sizeof(cmd), "cp %s/run.1.r0.spill %s", mnt, path);
		assert_int_equal(system(cmd), 0);
	}
	assert_int_equal(umount(mnt), 0);
	rmdir(mnt);
	n = salvage(PLAY_CHAOS, 1000, 400000);
	assert_true(n < 400000);
}

/* No room for the window: memory is used, and the run's trace is complete. */
static void test_no_room(void **state)
{
	char mnt[80], path[128];
	struct errbuf err = {""};
	struct trace *t;
	struct play p;

	(void)state;
	snprintf(mnt, sizeof(mnt), "%s/tiny", dir);
	mkdir(mnt, 0700);
	if (geteuid() || mount("none", mnt, "tmpfs", 0, "size=64k")) {
		rmdir(mnt);
		SKIP("mounting needs root");
	}
	assert_int_equal(play_begin(&p, PLAY_LOOP, mnt, "run.1", 0, 1, 0, 0, &err), 0);
	assert_non_null(strstr(err.text, "no room"));
	while (p.i < 100000)
		assert_true(play_one(&p));
	snprintf(path, sizeof(path), "%s/whole.ptrace", dir);
	assert_int_equal(play_end(&p, path, &err), 0);
	assert_int_equal(umount(mnt), 0);
	rmdir(mnt);
	t = trace_open(path, &err);
	assert_non_null(t);
	assert_int_equal(trace_get_rank(t, 0)->events.length, 100000);
	assert_false(trace_is_partial(t));
	trace_close(t);
	unlink(path);
}

/* With any bytes changed, the result is a trace or an error. */
static void test_damaged(void **state)
{
	char path[128], *keep, *bad;
	struct stat st;
	uint64_t seed = 5;
	int fd, traces = 0;
	pid_t pid = child(PLAY_GROWING, dir, 64 << 10, 30000);

	(void)state;
	wait_until_done(pid, 30000);
	end_child(pid);
	snprintf(path, sizeof(path), "%s/run.1.r0.spill", dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(fstat(fd, &st), 0);
	keep = malloc((size_t)st.st_size);
	bad = malloc((size_t)st.st_size);
	assert_int_equal(read(fd, keep, (size_t)st.st_size), st.st_size);
	close(fd);
	unlink(path);
	for (int i = 0; i < 300; i++) {
		struct salvage_report r;
		struct errbuf err = {""};
		size_t len = (size_t)st.st_size;

		memcpy(bad, keep, len);
		for (int k = 0; k < 1 + i % 20; k++) {
			seed = seed * 6364136223846793005ull + 1442695040888963407ull;
			/* Most of the file is the empty directory, so half of the changes hit used parts. */
			bad[(seed >> 20) % (i & 1 ? len : 16384)] ^= (char)(1 << (seed >> 61));
		}
		if (i % 5 == 0)
			len = (seed >> 30) % len;
		fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
		assert_int_equal(write(fd, bad, len), len);
		close(fd);
		if (salvage_write(dir, "run.1", dir, NULL, "killed", &r, &err) == 0) {
			struct trace *t = trace_open(r.path, &err);

			if (!t)
				fail_msg("round %d: %s", i, err.text);
			trace_close(t);
			unlink(r.path);
			traces++;
		} else {
			assert_true(err.text[0]);
		}
	}
	unlink(path);
	free(keep);
	free(bad);
	assert_true(traces > 30);
}

/* A child of fork leaves the parent's recording alone. */
static int forks(struct play *p)
{
	int status;
	pid_t inner;

	play_until(p, 500);
	inner = fork();
	if (!inner) {
		rec_forget();
		for (int i = 0; i < 100; i++)
			if (play_one(p))
				_exit(4);
		_exit(0);
	}
	waitpid(inner, &status, 0);
	play_until(p, 1000);
	return status ? 5 : 0;
}

static void test_fork(void **state)
{
	(void)state;
	in_child("run.1", 0, 1, forks);
	salvage(PLAY_LOOP, 1000, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kill_loop),
		cmocka_unit_test(test_kill_growing),
		cmocka_unit_test(test_kill_polls),
		cmocka_unit_test(test_kill_chaos),
		cmocka_unit_test(test_long_run),
		cmocka_unit_test(test_group_of_an_epoch),
		cmocka_unit_test(test_call_that_did_not_return),
		cmocka_unit_test(test_calls_that_are_new),
		cmocka_unit_test(test_where_it_computed),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_counters_of_a_whole_run),
		cmocka_unit_test(test_missing_ranks),
		cmocka_unit_test(test_marks),
		cmocka_unit_test(test_disk_full),
		cmocka_unit_test(test_no_room),
		cmocka_unit_test(test_damaged),
		cmocka_unit_test(test_fork),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
