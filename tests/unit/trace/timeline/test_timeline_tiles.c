/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time line of an imported trace against the matrix of states that it was made from: totals, shares per step,
 * spans and messages of random windows, in nanoseconds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/tiles/tiles_write.h"
#include "trace/timeline/timeline.h"

#define RANKS   37
#define FIRST   100
#define MARKS   9000
#define MARK_NS 2500
#define END_NS  ((uint64_t)MARKS * MARK_NS)
#define N_MESSAGES 3000

static uint8_t cell[RANKS][MARKS];
static struct exchange message[N_MESSAGES];
static uint64_t seed = 88172645463325252ull;
static struct trace *trace;
static struct timeline *tl;

static uint64_t random_below(uint64_t n)
{
	return syn_random(&seed) % n;
}

static int by_arrival(const void *a, const void *b)
{
	const struct exchange *x = a, *y = b;

	return (x->t1 > y->t1) - (x->t1 < y->t1);
}

static void fill_messages(void)
{
	for (uint32_t i = 0; i < N_MESSAGES; i++) {
		struct exchange *m = &message[i];
		uint64_t len = random_below(i % 50 ? 30 : MARKS);

		m->src = (uint32_t)random_below(RANKS);
		m->dst = (uint32_t)random_below(RANKS);
		m->t0 = FIRST + random_below(MARKS);
		m->t1 = m->t0 + len < FIRST + MARKS ? m->t0 + len : FIRST + MARKS - 1;
		m->bytes = random_below(100000);
		m->tag = (int32_t)i;
		m->received = true;
	}
	qsort(message, N_MESSAGES, sizeof(*message), by_arrival);
}

static int fill(struct tiles_writer *w, struct errbuf *err)
{
	uint32_t next = 0;

	for (uint32_t k = 0; k < MARKS; k++) {
		for (uint32_t r = 0; r < RANKS; r++) {
			struct tile_change c = {FIRST + k, r, 0};

			cell[r][k] = k ? cell[r][k - 1] : 0;
			if (random_below(r % 3 ? 40 : 4))
				continue;
			c.state = cell[r][k] = (uint8_t)random_below(4);
			if (tiles_writer_put(w, &c, 1, err) < 0)
				return -1;
		}
		for (; next < N_MESSAGES && message[next].t1 == FIRST + k; next++)
			if (tiles_writer_exchange(w, &message[next], err) < 0)
				return -1;
	}
	return tiles_writer_finish(w, err);
}

static int setup(void **state)
{
	struct tiles_extent x = {.n_ranks = RANKS, .first = FIRST, .last = FIRST + MARKS - 1, .tile_bytes = 20000};
	char path[] = "/tmp/precedent-test-XXXXXX", job[] = "program=test\nmark_ns=2500\n";
	struct trace_page head = {.type = TPAGE_JOB};
	struct errbuf err = {{0}};
	struct trace_writer *out;
	struct tiles_writer *w;
	struct buf page = {0};
	int fd = mkstemp(path);

	(void)state;
	close(fd);
	fill_messages();
	out = trace_writer_create(path, RANKS, &err);
	w = tiles_writer_create(out, &x, &err);
	if (!out || !w || fill(w, &err) < 0 || trace_page_encode(&head, job, sizeof(job) - 1, &page) < 0 ||
	    trace_writer_pages(out, page.data, page.len, &err) < 0)
		return -1;
	tiles_writer_destroy(w);
	buf_free(&page);
	if (trace_writer_close(out, false, &err) < 0)
		return -1;
	trace = trace_open(path, &err);
	unlink(path);
	tl = trace ? timeline_create(trace, &err) : NULL;
	return tl ? 0 : -1;
}

static int teardown(void **state)
{
	(void)state;
	timeline_destroy(tl);
	trace_close(trace);
	return 0;
}

static void test_totals(void **state)
{
	(void)state;
	assert_int_equal(timeline_n_ranks(tl), RANKS);
	assert_int_equal(timeline_end_ns(tl), END_NS);
	for (uint32_t r = 0; r < RANKS; r++) {
		double want[TSTATE_N] = {0}, got[TSTATE_N];

		for (uint32_t k = 0; k < MARKS; k++)
			want[cell[r][k]] += MARK_NS * 1e-9;
		timeline_totals(tl, r, got);
		for (int s = 0; s < TSTATE_N; s++)
			assert_true(fabs(got[s] - want[s]) < 1e-9);
	}
}

struct seen {
	uint64_t t0, t1, end; /* window; end of the rank's last span */
	uint32_t rank;
};

/* Spans of a rank follow each other and have the states of the matrix. */
static int check_span(const struct timeline_span *s, void *arg)
{
	struct seen *v = arg;

	assert_true(s->rank >= v->rank && s->rank < RANKS);
	if (s->rank > v->rank || v->end == UINT64_MAX) {
		assert_true(v->end == UINT64_MAX || v->end >= v->t1); /* the rank before was complete */
		assert_true(s->rank == v->rank + (v->end != UINT64_MAX));
		assert_true(s->t0_ns <= v->t0);
	} else {
		assert_true(s->t0_ns == v->end);
	}
	assert_true(s->t0_ns < s->t1_ns && s->t0_ns < v->t1 && s->t1_ns > v->t0);
	assert_true(s->sym == UINT32_MAX && s->event == TIMELINE_NO_EVENT);
	for (uint64_t t = s->t0_ns / MARK_NS; t * MARK_NS < s->t1_ns; t++)
		assert_int_equal(cell[s->rank][t], s->state);
	v->rank = s->rank;
	v->end = s->t1_ns;
	return 0;
}

static void test_spans(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		uint32_t r0 = (uint32_t)random_below(RANKS), r1 = r0 + 1 + (uint32_t)random_below(RANKS - r0);
		uint64_t t0 = i ? random_below(END_NS - 1) : 0, t1 = i ? t0 + 1 + random_below(END_NS - t0) : END_NS;
		struct seen v = {t0, t1, UINT64_MAX, r0};
		struct errbuf err = {{0}};

		assert_int_equal(timeline_spans(tl, r0, r1, t0, t1, check_span, &v, &err), 0);
		assert_int_equal(v.rank, r1 - 1);
		assert_true(v.end >= t1 || v.end == END_NS);
	}
}

/* With `blur`, a step may have lost that share to its neighbours. */
static void check_levels(uint64_t t0, uint64_t t1, uint32_t n, double blur)
{
	float (*share)[TSTATE_N] = calloc((size_t)RANKS * n, sizeof(*share));
	double step = (double)(t1 - t0) / n;
	struct errbuf err = {{0}};

	assert_non_null(share);
	assert_int_equal(timeline_levels(tl, 0, RANKS, t0, t1, n, share, &err), 0);
	for (uint32_t r = 0; r < RANKS; r++)
		for (uint32_t i = 0; i < n; i++) {
			double a = (double)t0 + i * step, b = a + step, want[TSTATE_N] = {0};

			for (uint64_t k = (uint64_t)(a / MARK_NS); k < MARKS && (double)(k * MARK_NS) < b; k++) {
				double from = fmax(a, (double)(k * MARK_NS)), to = fmin(b, (double)((k + 1) * MARK_NS));

				if (to > from)
					want[cell[r][k]] += (to - from) / step;
			}
			for (int s = 0; s < TSTATE_N; s++)
				if (fabs(share[(size_t)r * n + i][s] - want[s]) > 1e-4 + blur)
					fail_msg("rank %u step %u of %u of [%llu, %llu) state %d: %f, expected %f", r, i, n,
						 (unsigned long long)t0, (unsigned long long)t1, s,
						 (double)share[(size_t)r * n + i][s], want[s]);
		}
	free(share);
}

static void test_levels(void **state)
{
	(void)state;
	for (int i = 0; i < 20; i++) { /* finer than the pyramid: exact */
		uint64_t t0 = random_below(END_NS / 2), len = 1 + random_below(END_NS / 3);

		check_levels(t0, t0 + len, 1 + (uint32_t)(len / MARK_NS / 60), 0);
	}
	check_levels(0, END_NS, 10, 0.15); /* steps of 900 marks, computed from steps of 64 */
	check_levels(0, END_NS, 3, 0.05);
	check_levels(END_NS / 3, END_NS / 2, 2, 0.2);
	check_levels(0, END_NS, 9000 / 64, 1); /* as fine as the pyramid: only must not fail */
}

struct found {
	uint64_t t0, t1;
	uint32_t n;
	uint8_t seen[N_MESSAGES];
};

static int check_message(const struct timeline_message *m, void *arg)
{
	struct found *f = arg;

	for (uint32_t i = 0; i < N_MESSAGES; i++) {
		if (message[i].tag != m->tag)
			continue;
		assert_int_equal(f->seen[i]++, 0);
		assert_true(m->src == message[i].src && m->dst == message[i].dst && m->bytes == message[i].bytes);
		assert_int_equal(m->t0_ns, (message[i].t0 - FIRST) * MARK_NS);
		assert_int_equal(m->t1_ns, (message[i].t1 - FIRST) * MARK_NS);
	}
	f->n++;
	return 0;
}

static void test_messages(void **state)
{
	(void)state;
	for (int i = 0; i < 30; i++) {
		uint64_t t0 = i ? random_below(END_NS - 1) : 0, t1 = i ? t0 + 1 + random_below(END_NS / 10) : END_NS;
		struct found *f = calloc(1, sizeof(*f));
		struct errbuf err = {{0}};
		uint32_t n = 0;

		assert_non_null(f);
		for (uint32_t k = 0; k < N_MESSAGES; k++)
			n += (message[k].t0 - FIRST) * MARK_NS < t1 && (message[k].t1 - FIRST) * MARK_NS >= t0;
		assert_int_equal(timeline_messages(tl, t0, t1, check_message, f, &err), 0);
		assert_int_equal(f->n, n);
		free(f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_totals),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_levels),
		cmocka_unit_test(test_messages),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, setup, teardown);
}
