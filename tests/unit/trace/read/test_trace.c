/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Trace files: written data are read back, every damaged byte is reported with its page, the other pages are still
 * read, and values from a file are checked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/put_page.h"
#include "trace/format/device.h"
#include "trace/format/ends.h"
#include "trace/format/page.h"
#include "trace/format/writer.h"
#include "trace/functions.h"
#include "trace/read/reader.h"

#define RANKS  3
#define EVENTS 1000
#define PER_PAGE 300

static char dir[] = "/tmp/precedent-test-XXXXXX";
static char path[64];

static void fill_defs(struct trace_defs *d, uint32_t rank)
{
	static const uint32_t world[RANKS] = {0, 1, 2};
	int64_t val[6];

	*d = (struct trace_defs){0};
	d->n_comm = 2;
	d->comm = calloc(2, sizeof(*d->comm));
	d->comm[0].members = (struct trace_group){.n = RANKS, .rank = calloc(RANKS, 4)};
	memcpy(d->comm[0].members.rank, world, sizeof(world));
	d->comm[1].members = (struct trace_group){.n = 1, .rank = calloc(1, 4)};
	d->comm[1].members.rank[0] = rank;
	d->n_type = 2;
	d->type = calloc(2, sizeof(*d->type));
	d->type[0] = (struct trace_type){.name = strdup("MPI_DOUBLE"), .size = 8, .extent = 8};
	d->type[1] = (struct trace_type){.combiner = TCOMB_CONTIGUOUS, .n_int = 1, .n_sub = 1, .size = 24, .extent = 24};
	d->type[1].integer = calloc(1, 8);
	d->type[1].integer[0] = 3;
	d->type[1].sub = calloc(1, 4);
	d->n_op = 1;
	d->op = calloc(1, sizeof(*d->op));
	d->op[0] = (struct trace_op){.name = strdup("MPI_SUM"), .commutes = 1};
	d->n_module = 1;
	d->module = calloc(1, sizeof(*d->module));
	d->module[0] = (struct trace_module){.path = strdup("/bin/app"), .build_id = strdup("00ff")};
	d->n_site = 1;
	d->site = calloc(1, sizeof(*d->site));
	d->site[0] = (struct trace_site){.hash = 42, .n_frame = 1, .offset = {0x1234}};
	for (int s = 0; s < 3; s++) { /* MPI_Barrier(comm) on three communicators' worth of values */
		val[0] = s < 2 ? s : TRACE_NULL;
		assert_int_equal(sigtable_intern(&d->sigs, FN_MPI_Barrier, 0, val, 1), s);
	}
	d->proc = (struct trace_proc){.host = strdup("node1"), .program = strdup("/bin/app"), .ns_per_tick = 0.5,
				      .end_ticks = 10000000, .overhead_ticks = 2, .finalized = 1};
	if (rank) { /* the recorder took 100,000 ticks of the rest at once */
		memcpy(d->proc.state_ticks, (uint64_t[]){1900000, 7000000, 500000, 500000}, sizeof(d->proc.state_ticks));
		d->proc.poll_ticks = 900000;
		d->proc.devices = 1ull << TDEV_CUDA | 1ull << (TDEV_N + 1);
	}
}

static uint32_t symbol(uint32_t rank, uint32_t i)
{
	return (i * 7 + rank) % 3;
}

static void write_rank(struct trace_writer *w, uint32_t rank)
{
	struct fold *f = fold_create();
	struct trace_defs d;
	struct buf raw = {0};

	fill_defs(&d, rank);
	trace_defs_encode(&d, &raw);
	put_page(w, TPAGE_DEFS, rank, 0, 0, &raw);
	for (uint32_t i = 0; i < EVENTS; i++)
		fold_push(f, symbol(rank, i));
	assert_int_equal(fold_encode(f, &raw), 0);
	put_page(w, TPAGE_STRUCT, rank, 0, 0, &raw);
	for (uint32_t i = 0; i < EVENTS;) {
		uint32_t first = i;

		for (; i < EVENTS && i - first < PER_PAGE; i++)
			trace_times_put(&raw, 100 + i, 10 + rank);
		put_page(w, TPAGE_TIMES, rank, first, i - first, &raw);
	}
	fold_destroy(f);
	trace_defs_free(&d);
	buf_free(&raw);
}

static int setup(void **state)
{
	struct errbuf err;
	struct trace_writer *w;
	struct buf raw = {0};

	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(path, sizeof(path), "%s/t.ptrace", dir);
	w = trace_writer_create(path, RANKS, &err);
	if (!w)
		return -1;
	buf_put(&raw, "program=/bin/app\nlauncher=srun\n", 31);
	put_page(w, TPAGE_JOB, 0, 0, 0, &raw);
	for (uint32_t r = 0; r < RANKS; r++)
		write_rank(w, r);
	buf_free(&raw);
	trace_writer_ends(w);
	return trace_writer_close(w, false, &err);
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(dir);
}

/* Number of events of a rank with the right symbol; *timed: with the right times too. */
static uint32_t count_good(const struct trace *t, uint32_t rank, uint32_t *timed)
{
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(t, rank, &err);
	struct trace_event ev;
	uint32_t i = 0;
	bool known;

	*timed = 0;
	if (!it)
		return 0;
	for (; trace_iter_next(it, &ev, &known); i++) {
		if (ev.sym != symbol(rank, i))
			fail_msg("event %u of rank %u is %u", i, rank, ev.sym);
		if (!known)
			continue;
		/* A tick is half a nanosecond. The recorder's two ticks are taken from every gap but the first. */
		assert_int_equal(ev.gap_ns, (100 + i - (i ? 2 : 0)) / 2);
		assert_int_equal(ev.dur_ns, (10 + rank) / 2);
		++*timed;
	}
	trace_iter_destroy(it);
	return i;
}

static void test_round_trip(void **state)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	const struct trace_rank *k;
	uint32_t timed;

	(void)state;
	assert_non_null(t);
	assert_int_equal(trace_n_ranks(t), RANKS);
	assert_false(trace_is_partial(t));
	assert_int_equal(trace_n_damage(t), 0);
	assert_string_equal(trace_job_get(t, "launcher"), "srun");
	assert_null(trace_job_get(t, "nothing"));
	for (uint32_t r = 0; r < RANKS; r++) {
		assert_int_equal(count_good(t, r, &timed), EVENTS);
		assert_int_equal(timed, EVENTS);
	}
	k = trace_get_rank(t, 1);
	assert_int_equal(k->defs.n_comm, 2);
	assert_int_equal(k->defs.comm[0].members.n, RANKS);
	assert_int_equal(k->defs.comm[1].members.rank[0], 1);
	assert_int_equal(k->defs.type[1].combiner, TCOMB_CONTIGUOUS);
	assert_int_equal(k->defs.type[1].integer[0], 3);
	assert_string_equal(k->defs.op[0].name, "MPI_SUM");
	assert_int_equal(k->defs.site[0].offset[0], 0x1234);
	assert_int_equal(sig_scalar(&k->defs, 1, TK_COMM, 99), 1);
	assert_true(k->wall_ns == (10000000 - 100000 - 2.0 * EVENTS) * 0.5);
	assert_true(trace_get_rank(t, 0)->wall_ns == (10000000 - 2.0 * EVENTS) * 0.5);
	assert_null(trace_get_rank(t, RANKS));
	trace_close(t);
}

static void test_no_trace(void **state)
{
	struct errbuf err = {{0}};
	char other[80];
	int fd;

	(void)state;
	assert_null(trace_open("/nonexistent/x.ptrace", &err));
	assert_non_null(strstr(err.text, "/nonexistent/x.ptrace"));
	assert_null(trace_open(dir, &err));
	assert_non_null(strstr(err.text, "regular file"));
	assert_null(trace_open("/dev/null", &err));
	snprintf(other, sizeof(other), "%s/other", dir);
	fd = open(other, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0);
	close(fd);
	assert_null(trace_open(other, &err));
	assert_non_null(strstr(err.text, "empty"));
	fd = open(other, O_WRONLY);
	for (int i = 0; i < 100; i++)
		assert_int_equal(write(fd, "#!/bin/sh\n", 10), 10);
	close(fd);
	assert_null(trace_open(other, &err));
	assert_non_null(strstr(err.text, "not a Precedent trace"));
	unlink(other);
}

static uint8_t *whole(size_t *n)
{
	int fd = open(path, O_RDONLY);
	struct stat st;
	uint8_t *p;

	assert_true(fd >= 0 && fstat(fd, &st) == 0);
	*n = (size_t)st.st_size;
	p = malloc(*n + 64);
	assert_non_null(p);
	assert_int_equal(read(fd, p, *n), st.st_size);
	close(fd);
	return p;
}

static void put_file(const char *to, const uint8_t *p, size_t n)
{
	int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, p, n), (ssize_t)n);
	close(fd);
}

/* A trace with one byte changed is rejected or reports damage. All data that are read are right. */
static void test_every_byte(void **state)
{
	char other[80];
	size_t n;
	uint8_t *p = whole(&n);

	(void)state;
	snprintf(other, sizeof(other), "%s/flip", dir);
	for (size_t i = 0; i < n; i++) {
		struct errbuf err = {{0}};
		uint32_t untimed = 0, lost = 0, timed;
		struct trace *t;

		p[i] ^= 0x40;
		put_file(other, p, n);
		p[i] ^= 0x40;
		t = trace_open(other, &err);
		if (!t) {
			assert_true(err.text[0]);
			continue;
		}
		for (uint32_t r = 0; r < RANKS; r++) {
			lost += count_good(t, r, &timed) != EVENTS;
			untimed += timed != EVENTS;
		}
		if (!trace_n_damage(t) && !lost && !untimed)
			fail_msg("byte %zu of %zu changed and nobody noticed", i, n);
		assert_true(lost <= 1 || trace_n_damage(t) > 1);
		trace_close(t);
	}
	unlink(other);
	free(p);
}

/* Cut off anywhere: ranks before the cut are read. */
static void test_truncated(void **state)
{
	char other[80];
	size_t n;
	uint8_t *p = whole(&n);
	uint32_t most = 0;

	(void)state;
	snprintf(other, sizeof(other), "%s/cut", dir);
	for (size_t len = 0; len < n; len += 13) {
		struct errbuf err = {{0}};
		uint32_t ranks = 0, timed;
		struct trace *t;

		put_file(other, p, len);
		t = trace_open(other, &err);
		if (!t) {
			assert_true(err.text[0]);
			continue;
		}
		assert_true(trace_is_partial(t));
		assert_true(trace_n_damage(t) > 0);
		for (uint32_t r = 0; r < RANKS; r++)
			ranks += count_good(t, r, &timed) == EVENTS;
		if (ranks > most)
			most = ranks;
		trace_close(t);
	}
	assert_int_equal(most, RANKS);
	unlink(other);
	free(p);
}

/* Each rank fills in its own number. Another rank's number, or half of one, is not accepted. */
static void test_ends(void **state)
{
	struct errbuf err = {{0}};
	char other[80];
	size_t n;
	uint8_t *p = whole(&n);
	uint8_t *end = p + n - TRACE_TRAILER - RANKS * TRACE_END_BYTES;
	uint64_t told = trace_end_pack(1, 2500000999);
	struct trace *t;

	(void)state;
	assert_int_equal(trace_end_pack(3, 999), 0);
	assert_int_equal(trace_end_pack(0, UINT64_MAX) >> 16, 0xffffffffffff);
	snprintf(other, sizeof(other), "%s/ends", dir);
	for (int i = 0; i < 8; i++)
		end[TRACE_END_BYTES + i] = (uint8_t)(told >> 8 * i);
	put_file(other, p, n);
	t = trace_open(other, &err);
	assert_non_null(t);
	assert_int_equal(trace_n_damage(t), 0);
	assert_int_equal(trace_get_rank(t, 1)->defs.proc.after_ns, 2500000000);
	assert_int_equal(trace_get_rank(t, 0)->defs.proc.after_ns, 0);
	trace_close(t);
	memcpy(end, end + TRACE_END_BYTES, TRACE_END_BYTES);
	end[TRACE_END_BYTES] ^= 1;
	put_file(other, p, n);
	t = trace_open(other, &err);
	assert_non_null(t);
	assert_int_equal(trace_n_damage(t), 2);
	assert_non_null(strstr(trace_damage(t, 0), "rank 0 after MPI_Finalize"));
	for (uint32_t r = 0; r < RANKS; r++)
		assert_int_equal(trace_get_rank(t, r)->defs.proc.after_ns, 0);
	assert_false(trace_is_partial(t));
	trace_close(t);
	unlink(other);
	free(p);
}

static void test_newer_and_appended(void **state)
{
	struct errbuf err = {{0}};
	char other[80];
	size_t n;
	uint8_t *p = whole(&n);
	struct trace *t;

	(void)state;
	snprintf(other, sizeof(other), "%s/new", dir);
	p[8] = TRACE_VERSION + 1;
	put_file(other, p, n);
	assert_null(trace_open(other, &err));
	assert_non_null(strstr(err.text, "newer"));
	p[8] = TRACE_VERSION - 1;
	put_file(other, p, n);
	assert_null(trace_open(other, &err));
	assert_non_null(strstr(err.text, "older"));
	p[8] = TRACE_VERSION;
	memset(p + n, 7, 64);
	put_file(other, p, n + 64);
	t = trace_open(other, &err);
	assert_non_null(t);
	assert_true(trace_n_damage(t) > 0);
	trace_close(t);
	unlink(other);
	free(p);
}

/* The file exists complete or not at all, without other files beside it. */
static void test_writer_is_atomic(void **state)
{
	struct errbuf err = {{0}};
	char other[80];
	struct trace_writer *w;
	struct stat st;

	(void)state;
	snprintf(other, sizeof(other), "%s/atomic", dir);
	w = trace_writer_create(other, 1, &err);
	assert_non_null(w);
	assert_int_equal(stat(other, &st), -1);
	trace_writer_abort(w);
	assert_int_equal(stat(other, &st), -1);
	assert_int_equal(rmdir(dir), -1); /* only the trace is left */
	assert_null(trace_writer_create("/nonexistent/x", 1, &err));
	assert_non_null(strstr(err.text, "/nonexistent/x"));
	w = trace_writer_create(other, 1, &err);
	assert_non_null(w);
	assert_int_equal(trace_writer_pages(w, "garbage", 7, &err), -1);
	trace_writer_abort(w);
}

/* Accelerators of all ranks together, one that this version does not know among them. */
static void test_devices(void **state)
{
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	uint32_t ranks;

	(void)state;
	assert_non_null(t);
	assert_int_equal(trace_devices(t, &ranks), 1ull << TDEV_CUDA | 1ull << (TDEV_N + 1));
	assert_int_equal(ranks, RANKS - 1);
	trace_close(t);
}

/* The group of an open call in runs of ranks, and the list that older recorders wrote in its place. */
static void test_group(void **state)
{
	static const uint8_t older[] = {3, 2, 0, 4, 0}; /* ranks 1, 0 and 2; no places */
	uint32_t rank[] = {0, 2, 1};
	struct trace_defs d, back;
	struct buf raw = {0};
	struct rdbuf in;
	struct errbuf err;

	(void)state;
	fill_defs(&d, 0);
	d.proc.in_call.group = (struct trace_group){.n = 3, .rank = rank};
	trace_defs_encode(&d, &raw);
	in = (struct rdbuf){.data = raw.data, .len = raw.len};
	assert_int_equal(trace_defs_decode(&in, RANKS, &back, &err), 0);
	assert_int_equal(back.proc.in_call.group.n, 3);
	assert_memory_equal(back.proc.in_call.group.rank, rank, sizeof(rank));
	trace_defs_free(&back);
	buf_reset(&raw);
	d.proc.in_call.group = (struct trace_group){0};
	trace_defs_encode(&d, &raw);
	raw.len -= 3;
	buf_put(&raw, older, sizeof(older));
	in = (struct rdbuf){.data = raw.data, .len = raw.len};
	assert_int_equal(trace_defs_decode(&in, RANKS, &back, &err), 0);
	assert_int_equal(back.proc.in_call.group.n, 3);
	assert_int_equal(back.proc.in_call.group.rank[0], 1);
	assert_int_equal(back.proc.in_call.group.rank[2], 2);
	trace_defs_free(&back);
	trace_defs_free(&d);
	buf_free(&raw);
}

/* What later recorders append is missing in older traces. From the end these are: the group of an open call, the places
 * outside of MPI, then the file, lock and list of the group. Before them are the bytes of an open send, and devices. */
static void test_before_devices(void **state)
{
	static const struct {
		size_t cut;
		uint64_t devices, bytes;
	} of[] = {{0, 1, 2}, {1, 1, 2}, {2, 1, 2}, {5, 1, 2}, {6, 1, 0}, {7, 0, 0}};
	struct trace_defs d, back;
	struct buf raw = {0};
	struct errbuf err;

	(void)state;
	fill_defs(&d, 0);
	d.proc.devices = 1;
	d.proc.in_call.bytes = 2;
	trace_defs_encode(&d, &raw);
	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		struct rdbuf in = {.data = raw.data, .len = raw.len - of[i].cut};

		assert_int_equal(trace_defs_decode(&in, RANKS, &back, &err), 0);
		assert_int_equal(back.proc.devices, of[i].devices);
		assert_int_equal(back.proc.in_call.bytes, of[i].bytes);
		assert_int_equal(back.proc.in_call.file, TRACE_NULL);
		assert_string_equal(back.proc.host, "node1");
		trace_defs_free(&back);
	}
	trace_defs_free(&d);
	buf_free(&raw);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),	 cmocka_unit_test(test_no_trace),
		cmocka_unit_test(test_every_byte),	 cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_devices),		 cmocka_unit_test(test_group), cmocka_unit_test(test_before_devices),
		cmocka_unit_test(test_newer_and_appended), cmocka_unit_test(test_writer_is_atomic),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
