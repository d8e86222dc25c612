/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Gathering by rank 0, with 4,096 simulated ranks. The file is complete, memory does not grow with the ranks' data,
 * and a rank without memory costs only its own pages.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "spank/tracer/gather_root.c"
#include "tests/unit/skip.h"
#include "tests/unit/synthetic.h"
#include "trace/format/page.h"
#include "trace/read/reader.h"

/* Simulated ranks: definitions and structure, then pages of times, as send_pages of the tracer sends them. */
struct crowd {
	struct buf defs, structure, times;
	uint64_t n_events, ticks;
	uint32_t n_ranks, pages;   /* pages of times per rank */
	uint32_t broken, dead;     /* ranks; 0: none */
	uint32_t asked, at, next;  /* ranks asked so far; the sending rank; its next message */
	uint32_t worst_ahead;
	struct buf msg;
	uint64_t bytes;
	bool wrong;                /* asked or read out of order */
};

static void crowd_init(struct crowd *c, uint32_t n_ranks, uint32_t pages, uint32_t iterations)
{
	struct syn *s = syn_ring(2, iterations);
	struct syn_rank *r = &s->rank[0];

	uint64_t seed = 77;

	*c = (struct crowd){.n_ranks = n_ranks, .pages = pages, .n_events = r->n, .asked = 1};
	trace_defs_encode(&r->defs, &c->defs);
	assert_int_equal(fold_encode(r->fold, &c->structure), 0);
	for (uint64_t i = 0; i < r->n; i++) { /* keeps the data from being compressed to almost nothing */
		uint64_t gap = syn_random(&seed) % 30000, dur = syn_random(&seed) % 30000;

		trace_times_put(&c->times, gap, dur);
		c->ticks += gap + dur;
	}
	syn_destroy(s);
}

static void crowd_free(struct crowd *c)
{
	buf_free(&c->defs);
	buf_free(&c->structure);
	buf_free(&c->times);
	buf_free(&c->msg);
}

static void put_page(struct crowd *c, uint32_t rank, uint32_t type, const struct buf *raw)
{
	struct trace_page m = {.type = type, .rank = rank};

	if (type == TPAGE_TIMES) {
		m.n = c->n_events;
		m.t1 = c->ticks;
	}
	assert_int_equal(trace_page_encode(&m, raw->data, raw->len, &c->msg), 0);
}

/* The rank's next message; empty at the end. */
static void make_message(struct crowd *c, uint32_t rank)
{
	buf_reset(&c->msg);
	if (c->next == 0) {
		put_page(c, rank, TPAGE_DEFS, &c->defs);
		put_page(c, rank, TPAGE_STRUCT, &c->structure);
	}
	if (c->next < c->pages)
		put_page(c, rank, TPAGE_TIMES, &c->times);
	c->next++;
}

static int crowd_turn(void *arg, uint32_t rank)
{
	struct crowd *c = arg;

	c->wrong |= rank != c->asked++;
	if (rank > c->at && rank - c->at > c->worst_ahead)
		c->worst_ahead = rank - c->at;
	return 0;
}

static int crowd_length(void *arg, uint32_t rank, uint64_t *len)
{
	struct crowd *c = arg;

	c->wrong |= rank >= c->asked || rank < c->at;
	if (rank != c->at) {
		c->at = rank;
		c->next = 0;
	}
	if (rank == c->dead)
		return -1;
	make_message(c, rank);
	*len = rank == c->broken ? GATHER_BROKEN : c->msg.len;
	return 0;
}

static int crowd_pages(void *arg, uint32_t rank, void *data, uint32_t len)
{
	struct crowd *c = arg;

	c->wrong |= rank != c->at || len != c->msg.len;
	memcpy(data, c->msg.data, len);
	c->bytes += len;
	return 0;
}

static void file_name(char *path, size_t size)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	snprintf(path, size, "%s/precedent-gather-XXXXXX", dir ? dir : "/tmp");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
}

/* Rank 0 has the data of every rank. Returns the trace, opened. */
static struct trace *gather(struct crowd *c, struct gather_report *report, bool partial)
{
	const struct gather_link link = {.turn = crowd_turn, .length = crowd_length, .pages = crowd_pages, .arg = c};
	struct trace_writer *w;
	struct errbuf err = {""};
	struct trace *t;
	char path[512];

	file_name(path, sizeof(path));
	w = trace_writer_create(path, c->n_ranks, &err);
	assert_non_null(w);
	make_message(c, 0);
	assert_int_equal(trace_writer_pages(w, c->msg.data, c->msg.len, &err), 0);
	c->next = 0;
	assert_int_equal(gather_root(&link, c->n_ranks, &w, report, &err), 0);
	assert_non_null(w);
	assert_int_equal(trace_writer_close(w, partial, &err), 0);
	assert_false(c->wrong);
	assert_int_equal(c->asked, c->n_ranks);
	assert_true(c->worst_ahead <= GATHER_AHEAD + 1);
	t = trace_open(path, &err);
	unlink(path);
	assert_non_null(t);
	return t;
}

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Gather only, and discard the file. */
static uint64_t gather_away(uint32_t n_ranks, uint32_t pages, uint32_t iterations)
{
	struct crowd c;
	const struct gather_link link = {.turn = crowd_turn, .length = crowd_length, .pages = crowd_pages, .arg = &c};
	struct gather_report report;
	struct trace_writer *w;
	struct errbuf err = {""};
	uint64_t bytes;
	char path[512];

	crowd_init(&c, n_ranks, pages, iterations);
	file_name(path, sizeof(path));
	w = trace_writer_create(path, n_ranks, &err);
	assert_int_equal(gather_root(&link, n_ranks, &w, &report, &err), 0);
	trace_writer_abort(w);
	unlink(path);
	assert_false(c.wrong);
	bytes = c.bytes;
	crowd_free(&c);
	return bytes;
}

static void test_memory(void **state)
{
	struct timespec t0, t1;
	uint64_t little, much;
	long before, after;

	(void)state;
	little = gather_away(4096, 1, 10);
	before = peak_kib();
	clock_gettime(CLOCK_MONOTONIC, &t0);
	much = gather_away(4096, 1, 6000); /* 64 KiB of times per rank */
	clock_gettime(CLOCK_MONOTONIC, &t1);
	after = peak_kib();
	printf("# 4096 ranks: %.0f MiB in %.2f s (with making them), %ld KiB more memory than for %.0f MiB\n",
	       (double)much / 1048576, (double)(t1.tv_sec - t0.tv_sec) + (double)(t1.tv_nsec - t0.tv_nsec) * 1e-9,
	       after - before, (double)little / 1048576);
	assert_true(much > 100 << 20 && much > 20 * little);
	if (is_emulated())
		SKIP("the memory of the emulator would be measured");
#ifndef __SANITIZE_ADDRESS__
	assert_true(after - before < 8 << 10);
#endif
	/* Many messages of a rank need no more memory than one. */
	before = peak_kib();
	assert_true(gather_away(2, 2000, 6000) > much / 4);
#ifndef __SANITIZE_ADDRESS__
	assert_true(peak_kib() - before < 8 << 10);
#endif
}

static void test_whole(void **state)
{
	struct gather_report report;
	struct crowd c;
	struct trace *t;

	(void)state;
	crowd_init(&c, 100, 1, 50);
	t = gather(&c, &report, false);
	assert_int_equal(report.n_missing, 0);
	assert_int_equal(trace_n_damage(t), 0);
	for (uint32_t r = 0; r < 100; r++) {
		assert_true(trace_get_rank(t, r)->present);
		assert_int_equal(trace_get_rank(t, r)->events.length, c.n_events);
	}
	trace_close(t);
	crowd_free(&c);
}

static void test_broken_rank(void **state)
{
	struct gather_report report;
	struct crowd c;
	struct trace *t;

	(void)state;
	crowd_init(&c, 50, 1, 50);
	c.broken = 17;
	t = gather(&c, &report, true);
	assert_int_equal(report.n_missing, 1);
	assert_int_equal(report.missing, 17);
	assert_true(trace_is_partial(t));
	for (uint32_t r = 0; r < 50; r++)
		assert_int_equal(trace_get_rank(t, r)->present, r != 17);
	trace_close(t);
	crowd_free(&c);
}

static void test_failures(void **state)
{
	struct crowd c;
	const struct gather_link link = {.turn = crowd_turn, .length = crowd_length, .pages = crowd_pages, .arg = &c};
	struct gather_report report;
	struct trace_writer *w = NULL;
	struct errbuf err = {""};

	(void)state;
	crowd_init(&c, 40, 1, 50);
	/* no file: all data are received all the same */
	assert_int_equal(gather_root(&link, 40, &w, &report, &err), 0);
	assert_null(w);
	assert_true(c.bytes > 0 && c.asked == 40);
	crowd_free(&c);
	crowd_init(&c, 40, 1, 50);
	c.dead = 9;
	assert_int_equal(gather_root(&link, 40, &w, &report, &err), -1);
	assert_non_null(strstr(err.text, "rank 9"));
	crowd_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_memory),      cmocka_unit_test(test_whole),
		cmocka_unit_test(test_broken_rank), cmocka_unit_test(test_failures),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
