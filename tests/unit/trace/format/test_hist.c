/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Histograms of times: bins, sums, rejected encodings. And a recording with a memory limit, compared with the
 * played events. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/play.h"
#include "tests/unit/skip.h"
#include "trace/format/levels.h"
#include "trace/functions.h"
#include "trace/read/hist_read.h"

#define MEMORY_SLACK (512 << 10) /* bytes that more events may need */

#ifdef __SANITIZE_ADDRESS__
size_t __sanitizer_get_current_allocated_bytes(void); /* its header is not always installed */
#else
#include <malloc.h>
#endif

/* Bytes of the heap in use. Freed memory does not count, in either build. */
static size_t heap_bytes(void)
{
#ifdef __SANITIZE_ADDRESS__
	return __sanitizer_get_current_allocated_bytes();
#else
	struct mallinfo2 m = mallinfo2();

	return m.uordblks + m.hblkhd;
#endif
}

static uint64_t seed = 1;

static uint64_t draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return seed >> 33;
}

static void test_bins(void **state)
{
	unsigned last = 0;

	(void)state;
	assert_int_equal(hist_bin(0), 0);
	assert_int_equal(hist_bin(1), 1);
	assert_int_equal(hist_bin(UINT64_MAX), HIST_BINS - 1);
	for (uint64_t v = 1; v < 1ull << 40; v += 1 + v / 7) {
		unsigned b = hist_bin(v);
		double lo, hi;

		hist_bounds(b, &lo, &hi);
		assert_true((double)v >= lo && (double)v < hi);
		assert_true(hi <= lo * 1.25 + 1);
		assert_true(b >= last);
		last = b;
	}
}

static void test_quantiles(void **state)
{
	struct hist_table t;
	const struct hist_entry *e;
	double sum = 0;

	(void)state;
	hist_table_init(&t, 4);
	for (int i = 0; i < 100000; i++) {
		uint64_t v = draw() % 10000;

		assert_int_equal(hist_table_add(&t, 3, 1, v, 7), 0);
		sum += (double)v;
	}
	e = hist_table_find(&t, 3, 1);
	assert_non_null(e);
	assert_true(hist_mean(&e->gap) == sum / 100000);
	assert_true(fabs(hist_deviation(&e->gap) - 10000 / sqrt(12)) < 50);
	for (double q = 0.1; q < 0.95; q += 0.1)
		assert_true(fabs(hist_quantile(&e->gap, q) - q * 10000) < 400);
	assert_true(hist_mean(&e->duration) == 7 && hist_deviation(&e->duration) == 0);
	assert_null(hist_table_find(&t, 4, 1));
	hist_table_free(&t);
}

/* More symbols than histograms: the others share by function, and no event is lost. */
static void fill(struct hist_table *t, struct sigtable *sigs, uint32_t n_symbols)
{
	*sigs = (struct sigtable){0};
	hist_table_init(t, 4);
	for (int64_t i = 0; i < n_symbols; i++)
		assert_int_equal(sigtable_intern(sigs, (uint16_t)(i % 4), 0, &i, 1), i);
	for (uint32_t i = 0; i < 4 * n_symbols; i++) {
		uint32_t s = i % n_symbols;

		assert_int_equal(hist_table_add(t, s, (uint16_t)(s % 4), draw() % 1000, draw()), 0);
	}
}

static void test_shared(void **state)
{
	struct hist_table t, back;
	struct sigtable sigs;
	struct errbuf err = {""};
	struct buf b = {0};
	struct rdbuf in;
	uint64_t n = 0;

	(void)state;
	fill(&t, &sigs, 5000);
	assert_int_equal(t.n, HIST_SYMBOLS + 4);
	for (uint32_t i = 0; i < t.n; i++)
		n += t.entry[i].gap.n;
	assert_int_equal(n, 20000);
	assert_false(hist_table_find(&t, 7, 3)->shared);
	assert_true(hist_table_find(&t, 4999, 3)->shared);
	assert_ptr_equal(hist_table_find(&t, 4999, 3), hist_table_find(&t, 4995, 3));
	hist_table_encode(&t, &b);
	in = (struct rdbuf){.data = b.data, .len = b.len};
	assert_int_equal(hist_table_decode(&in, &sigs, 4, &back, &err), 0);
	assert_int_equal(back.n, t.n);
	assert_int_equal(back.events, 20000);
	for (uint32_t i = 0; i < t.n; i++)
		assert_memory_equal(&back.entry[i].gap, &t.entry[i].gap, sizeof(t.entry[i].gap));
	assert_ptr_equal(hist_table_find(&back, 4999, 3), hist_table_find(&back, 4995, 3));
	hist_table_free(&back);
	sigs.n = 100; /* fewer symbols than the encoding refers to */
	in = (struct rdbuf){.data = b.data, .len = b.len};
	assert_int_equal(hist_table_decode(&in, &sigs, 4, &back, &err), -1);
	assert_null(back.entry);
	hist_table_free(&t);
	sigtable_free(&sigs);
	buf_free(&b);
}

static void test_refused(void **state)
{
	struct hist_table t, back;
	struct sigtable sigs;
	struct errbuf err = {""};
	struct buf b = {0};
	struct rdbuf in;

	(void)state;
	fill(&t, &sigs, 20);
	hist_table_encode(&t, &b);
	for (size_t len = 0; len < b.len; len++) {
		in = (struct rdbuf){.data = b.data, .len = len};
		assert_int_equal(hist_table_decode(&in, &sigs, 4, &back, &err), -1);
	}
	for (int i = 0; i < 20000; i++) { /* flipped bits: no crash, consistent sums */
		size_t at = draw() % b.len;
		uint8_t was = b.data[at];

		b.data[at] ^= (uint8_t)(1 << draw() % 8);
		in = (struct rdbuf){.data = b.data, .len = b.len};
		if (hist_table_decode(&in, &sigs, 4, &back, &err) == 0) {
			assert_true(back.n <= 24);
			hist_table_free(&back);
		}
		b.data[at] = was;
	}
	hist_table_free(&t);
	sigtable_free(&sigs);
	buf_free(&b);
}

/* ---- a capped recording ---- */

struct totals {
	uint64_t events, dropped;
	double gap, duration;    /* ticks */
	uint64_t state[TSTATE_N], end_ticks, levels[TSTATE_N];
	long file;
	size_t memory; /* largest memory during recording */
};

static void add_levels(const struct trace *t, struct totals *sum)
{
	for (uint32_t i = 0; i < trace_n_pages(t); i++) {
		struct errbuf err;
		struct levels l;
		struct rdbuf in;
		uint32_t len;
		uint8_t *raw;

		if (trace_page_at(t, i)->type != TPAGE_LEVELS)
			continue;
		raw = trace_page_read(t, i, &len, &err);
		in = (struct rdbuf){.data = raw, .len = len};
		assert_int_equal(levels_decode(&in, &l, &err), 0);
		for (uint32_t k = 0; k < l.n; k++)
			for (int s = 0; s < TSTATE_N; s++)
				sum->levels[s] += l.step[k][s];
		levels_free(&l);
		free(raw);
	}
}

static struct totals record(enum play_program program, const char *local, uint64_t n, uint64_t memory)
{
	struct totals sum = {0};
	struct hist_table h;
	struct errbuf err = {""};
	struct trace_event ev;
	struct trace_iter *it;
	struct trace *t;
	struct play p;
	size_t before = heap_bytes(), now;
	char path[64];
	bool known;
	double ns;

	snprintf(path, sizeof(path), "/tmp/hist.%ld.ptrace", (long)getpid());
	assert_int_equal(play_begin(&p, program, local, "run", 0, 1, memory, 0, &err), 0);
	while (p.i < n) {
		assert_true(play_one(&p));
		if (p.i % 1024)
			continue;
		now = heap_bytes();
		if (now > before && now - before > sum.memory)
			sum.memory = now - before;
	}
	assert_int_equal(play_end(&p, path, &err), 0);
	t = trace_open(path, &err);
	assert_non_null(t);
	assert_int_equal(trace_n_damage(t), 0);
	sum.file = (long)trace_file_size(t);
	sum.events = trace_get_rank(t, 0)->events.length;
	sum.dropped = trace_get_rank(t, 0)->defs.proc.dropped_events;
	sum.end_ticks = trace_get_rank(t, 0)->defs.proc.end_ticks;
	memcpy(sum.state, trace_get_rank(t, 0)->defs.proc.state_ticks, sizeof(sum.state));
	ns = trace_get_rank(t, 0)->defs.proc.ns_per_tick;
	assert_int_equal(trace_hist_read(t, 0, &h, &err), 0);
	for (uint32_t i = 0; i < h.n; i++) {
		sum.gap += h.entry[i].gap.sum;
		sum.duration += h.entry[i].duration.sum;
	}
	it = trace_iter_create(t, 0, &err);
	for (uint64_t i = 0, untimed = 0; trace_iter_next(it, &ev, &known); i++) {
		double gap, dur;

		assert_true(play_is(program, i, &trace_get_rank(t, 0)->defs, ev.sym));
		untimed += !known;
		if (known)
			sum.duration += (double)ev.dur_ns / ns;
		else
			assert_true(trace_hist_means(t, 0, &h, ev.sym, &gap, &dur));
		if (i + 1 == n)
			assert_int_equal(untimed, sum.dropped);
	}
	assert_int_equal(h.events, sum.dropped);
	add_levels(t, &sum);
	trace_iter_destroy(it);
	hist_table_free(&h);
	trace_close(t);
	unlink(path);
	return sum;
}

static void check_totals(const struct totals *s)
{
	double states = 0, calls = 0;

	for (int k = 0; k < TSTATE_N; k++) {
		assert_int_equal(s->levels[k], s->state[k]);
		states += (double)s->state[k];
		calls += k == TSTATE_WORKING ? 0 : (double)s->state[k];
	}
	assert_true(states <= (double)s->end_ticks);
	/* these calls take no time: the rest is the recorder's own */
	assert_true(states > 0.01 * (double)s->end_ticks);
	assert_true(fabs(calls - s->duration) <= 1e-6 * calls + 2.0 * (double)s->events);
}

static void test_capped(void **state)
{
	char dir[] = "/tmp/hist.XXXXXX";
	struct totals s;

	(void)state;
	assert_non_null(mkdtemp(dir));
	for (int where = 0; where < 2; where++) {
		long file = 0;
		size_t memory = 0;

		for (uint64_t n = 250000; n <= 2000000; n *= 2) {
			s = record(PLAY_LOOP, where ? dir : NULL, n, 256 << 10);
			assert_int_equal(s.events, n);
			check_totals(&s);
			if (!file) {
				file = s.file;
				memory = s.memory;
			}
			assert_true(s.file < file + (512 << 10));
			assert_true(s.memory > 0 && s.memory < memory + MEMORY_SLACK);
		}
		/* The number of kept events depends on the variation of times: about half. */
		assert_true(s.dropped > 500000 && s.dropped < 2000000);
	}
	assert_int_equal(rmdir(dir), 0); /* the spill files are removed */
}

static void test_not_capped(void **state)
{
	struct totals s;

	(void)state;
	s = record(PLAY_GROWING, NULL, 200000, 0);
	assert_int_equal(s.dropped, 0);
	check_totals(&s);
}

/* Calls that never repeat: recording stops at the limit, and the trace up to there says so. */
static void test_structure_too_large(void **state)
{
	struct errbuf err = {""};
	struct trace_event ev;
	struct trace_iter *it;
	const struct trace_rank *k;
	struct trace *t;
	struct play p;
	char path[64];
	uint64_t n = 0;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/hist.%ld.ptrace", (long)getpid());
	assert_int_equal(play_begin(&p, PLAY_CHAOS, NULL, "run", 0, 1, 0, 8 << 20, &err), 0);
	while (p.i < 1000000 && play_one(&p))
		;
	assert_true(p.i > 10000 && p.i < 1000000);
	assert_int_equal(play_end(&p, path, &err), 0);
	t = trace_open(path, &err);
	assert_non_null(t);
	k = trace_get_rank(t, 0);
	assert_string_equal(k->defs.proc.ended, "structure too large");
	assert_true(trace_is_partial(t));
	assert_int_equal(k->events.length, p.i);
	it = trace_iter_create(t, 0, &err);
	while (trace_iter_next(it, &ev, NULL))
		assert_true(play_is(PLAY_CHAOS, n++, &k->defs, ev.sym));
	trace_iter_destroy(it);
	trace_close(t);
	unlink(path);
}

/* Bytes of memory of this process. */
static size_t resident_bytes(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	unsigned long pages = 0;

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %lu", &pages), 1);
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

/* Signatures that never repeat take no more memory than their limit says. */
static void test_structure_is_bounded(void **state)
{
	const size_t limit = 64 << 20, other = 8 << 20; /* other: times and the window of the spill file */
	size_t before = resident_bytes(), after;
	struct errbuf err;
	struct play p;

	(void)state;
#ifdef __SANITIZE_ADDRESS__
	SKIP("the address sanitizer takes memory of its own");
#endif
	if (is_emulated())
		SKIP("the emulator's memory is measured");
	assert_int_equal(play_begin(&p, PLAY_CHAOS, NULL, "run", 0, 1, 1 << 20, limit, &err), 0);
	while (p.i < 10000000 && play_one(&p))
		;
	after = resident_bytes();
	assert_string_equal(rec.ended, "structure too large");
	rec_close();
	assert_in_range(after - before, limit / 2, limit + other);
}

/* Calls in any order take a few bytes each, not as many as in the stack of the fold. The heap is the oracle. */
static void test_structure_is_small(void **state)
{
	const uint64_t n = 4000000;
	struct errbuf err = {""};
	struct buf encoded = {0};
	struct play p;
	size_t before, held, told;

	(void)state;
	assert_int_equal(play_begin(&p, PLAY_MIXED, NULL, "run", 0, 1, 1 << 20, 64 << 20, &err), 0);
	while (p.i < n && play_one(&p))
		;
	assert_int_equal(p.i, n);
	assert_null(rec.ended);
	assert_true(fold_items(rec.fold) > n / 2);
	told = fold_bytes(rec.fold);
	before = heap_bytes();
	assert_int_equal(fold_encode(rec.fold, &encoded), 0);
	fold_destroy(rec.fold);
	held = before - (heap_bytes() - encoded.cap) + 2 * encoded.len;
	rec.fold = fold_create();
	/* Arrays have up to twice the room that they need. */
	assert_in_range(told, held / 2, 2 * held);
	buf_free(&encoded);
	rec_close();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bins),
		cmocka_unit_test(test_quantiles),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_capped),
		cmocka_unit_test(test_not_capped),
		cmocka_unit_test(test_structure_too_large),
		cmocka_unit_test(test_structure_is_bounded),
		cmocka_unit_test(test_structure_is_small),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
