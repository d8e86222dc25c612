/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time line against an oracle that knows every call of the synthetic run. Totals, levels, spans and messages of
 * random windows must be those of a walk over all calls. Dropped times must be unknown.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/functions.h"
#include "trace/timeline/timeline.h"

#define EPOCH 1000000000ull

struct call {
	uint64_t begin, enter, leave; /* on the common time line */
	uint32_t sym;
	uint8_t state;
	bool known;
};

struct oracle {
	struct syn *s;
	struct call **call; /* of each rank */
	uint64_t end;
};

static uint64_t seed = 88172645463325252ull;

static uint64_t random_below(uint64_t n)
{
	return syn_random(&seed) % n;
}

/* A run with calls of every state, some without duration. Ranks start at different times. */
static struct syn *random_run(uint32_t n_ranks, uint32_t calls)
{
	static const char *const fn[] = {"MPI_Send", "MPI_Recv", "MPI_Barrier", "MPI_Allreduce", "MPI_Type_commit"};
	struct syn *s = syn_create(n_ranks);

	syn_begin(s);
	for (uint32_t r = 0; r < n_ranks; r++) {
		s->rank[r].defs.proc.start_real_ns = EPOCH + (r ? random_below(50000) : 0);
		for (uint32_t i = 0; i < calls; i++) {
			uint64_t gap = 1 + random_below(3000), dur = 1 + random_below(i % 97 ? 800 : 200000);
			uint64_t k = random_below(5);

			syn_call(s, r, fn[k], 10 + k, SYN(.src = 0, .dst = 1, .gap_ns = gap, .dur_ns = dur));
		}
	}
	syn_end(s);
	return s;
}

static struct oracle *oracle_of(struct syn *s)
{
	struct oracle *o = calloc(1, sizeof(*o));

	assert_non_null(o);
	o->s = s;
	o->call = calloc(s->n_ranks, sizeof(*o->call));
	assert_non_null(o->call);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		struct syn_rank *k = &s->rank[r];
		struct rdbuf in = {.data = k->times.data, .len = k->times.len};
		uint64_t t = k->defs.proc.start_real_ns - EPOCH;

		o->call[r] = calloc(k->n, sizeof(**o->call));
		assert_non_null(o->call[r]);
		for (uint64_t i = 0; i < k->n; i++) {
			struct call *c = &o->call[r][i];
			uint64_t page = s->page_events ? i / s->page_events : 0;

			c->begin = t;
			c->enter = t += rdbuf_uv(&in);
			c->leave = t += rdbuf_uv(&in);
			c->sym = k->sym[i];
			c->state = (uint8_t)trace_class_state(trace_fn[k->defs.sigs.sig[c->sym].fn].cls);
			c->known = !s->drop_every || (page + 1) % s->drop_every;
		}
		if (t > o->end)
			o->end = t;
	}
	return o;
}

static void oracle_free(struct oracle *o)
{
	for (uint32_t r = 0; r < o->s->n_ranks; r++)
		free(o->call[r]);
	free(o->call);
	syn_destroy(o->s);
	free(o);
}

/* ---- spans ---- */

struct check {
	const struct oracle *o;
	uint64_t t0, t1;
	uint32_t rank, r1;
	uint64_t call; /* next call to be compared */
	bool work;     /* its gap was given */
	uint64_t spans, stop_after;
};

static bool overlaps(const struct check *c, uint64_t a, uint64_t b)
{
	return a < c->t1 && (b > c->t0 || (a == b && a == c->t0));
}

/* The next span that the oracle expects. Returns false if there is none. */
static bool expected(struct check *c, struct timeline_span *s)
{
	for (; c->rank < c->r1; c->rank++, c->call = 0) {
		for (; c->call < c->o->s->rank[c->rank].n; c->call++, c->work = false) {
			const struct call *k = &c->o->call[c->rank][c->call];

			if (!k->known)
				continue;
			if (!c->work && k->begin < k->enter && overlaps(c, k->begin, k->enter)) {
				c->work = true;
				*s = (struct timeline_span){c->rank, TSTATE_WORKING, UINT32_MAX, TIMELINE_NO_EVENT,
							    k->begin, k->enter};
				return true;
			}
			if (overlaps(c, k->enter, k->leave)) {
				*s = (struct timeline_span){c->rank, k->state, k->sym, c->call, k->enter, k->leave};
				c->call++;
				c->work = false;
				return true;
			}
		}
	}
	return false;
}

static int check_span(const struct timeline_span *s, void *arg)
{
	struct check *c = arg;
	struct timeline_span e;

	assert_true(expected(c, &e));
	if (s->rank != e.rank || s->state != e.state || s->sym != e.sym || s->event != e.event || s->t0_ns != e.t0_ns ||
	    s->t1_ns != e.t1_ns)
		fail_msg("rank %u event %lld [%llu, %llu) in state %u; expected: rank %u event %lld [%llu, %llu) in %u",
			 s->rank, (long long)s->event, (unsigned long long)s->t0_ns, (unsigned long long)s->t1_ns,
			 s->state, e.rank, (long long)e.event, (unsigned long long)e.t0_ns,
			 (unsigned long long)e.t1_ns, e.state);
	return ++c->spans == c->stop_after;
}

static void check_window(struct timeline *tl, const struct oracle *o, uint32_t r0, uint32_t r1, uint64_t t0, uint64_t t1)
{
	struct check c = {.o = o, .t0 = t0, .t1 = t1, .rank = r0, .r1 = r1};
	struct timeline_span rest;
	struct errbuf err = {{0}};

	assert_int_equal(timeline_spans(tl, r0, r1, t0, t1, check_span, &c, &err), 0);
	if (t0 < t1)
		assert_false(expected(&c, &rest));
	else
		assert_int_equal(c.spans, 0);
}

static void check_spans(const struct oracle *o, struct timeline *tl)
{
	uint32_t n = o->s->n_ranks;
	struct check c = {.o = o, .t1 = o->end + 1, .r1 = n, .stop_after = 10};
	struct errbuf err = {{0}};

	check_window(tl, o, 0, n, 0, o->end + 1);
	check_window(tl, o, 0, n, o->end + 1, o->end + 1000);
	check_window(tl, o, 0, n, 5000, 5000);
	for (int i = 0; i < 300; i++) {
		uint32_t r0 = (uint32_t)random_below(n), r1 = r0 + 1 + (uint32_t)random_below(n - r0);
		uint64_t t0 = random_below(o->end), len = 1 + random_below(i % 3 ? 20000 : o->end / 3);

		check_window(tl, o, r0, r1, t0, t0 + len);
	}
	if (o->s->drop_every == 1)
		return; /* there is nothing to stop at */
	assert_int_equal(timeline_spans(tl, 0, n, 0, o->end + 1, check_span, &c, &err), 1);
	assert_int_equal(c.spans, 10);
}

/* ---- levels ---- */

static void oracle_add(double (*share)[TSTATE_N], uint64_t t0, uint64_t t1, uint32_t n, uint64_t a, uint64_t b, int state)
{
	for (uint32_t i = 0; i < n; i++) {
		double lo = (double)t0 + (double)(t1 - t0) * i / n, hi = (double)t0 + (double)(t1 - t0) * (i + 1) / n;
		double from = fmax(lo, (double)a), to = fmin(hi, (double)b);

		if (to > from)
			share[i][state] += (to - from) / (hi - lo);
	}
}

/* With `blur`, a step may have lost `blur` of its width to its neighbours. */
static void check_levels(const struct oracle *o, struct timeline *tl, uint64_t t0, uint64_t t1, uint32_t n, double blur)
{
	uint32_t ranks = o->s->n_ranks;
	float (*share)[TSTATE_N] = calloc((size_t)ranks * n, sizeof(*share));
	double (*want)[TSTATE_N] = calloc(n, sizeof(*want));
	struct errbuf err = {{0}};

	assert_true(share && want);
	assert_int_equal(timeline_levels(tl, 0, ranks, t0, t1, n, share, &err), 0);
	for (uint32_t r = 0; r < ranks; r++) {
		memset(want, 0, n * sizeof(*want));
		for (uint64_t i = 0; i < o->s->rank[r].n; i++) {
			const struct call *k = &o->call[r][i];

			if (!k->known || k->leave < t0 || k->begin >= t1)
				continue;
			oracle_add(want, t0, t1, n, k->begin, k->enter, TSTATE_WORKING);
			oracle_add(want, t0, t1, n, k->enter, k->leave, k->state);
		}
		for (uint32_t i = 0; i < n; i++)
			for (int s = 0; s < TSTATE_N; s++)
				if (fabs(share[(size_t)r * n + i][s] - want[i][s]) > 1e-5 + blur)
					fail_msg("rank %u step %u of %u of [%llu, %llu) state %d: %f, expected %f", r, i, n,
						 (unsigned long long)t0, (unsigned long long)t1, s,
						 (double)share[(size_t)r * n + i][s], want[i][s]);
	}
	free(share);
	free(want);
}

static void check_all_levels(const struct oracle *o, struct timeline *tl)
{
	for (int i = 0; i < 20; i++) {
		uint64_t t0 = random_below(o->end), len = 1 + random_below(o->end / 2);

		check_levels(o, tl, t0, t0 + len, 1 + (uint32_t)random_below(200), 0);
	}
	check_levels(o, tl, 0, o->end, 7, 0);
	check_levels(o, tl, 0, o->end, 1, 0);
	check_levels(o, tl, 0, 3 * o->end, 5, 0);
}

/* ---- messages ---- */

struct list {
	struct timeline_message *m;
	uint32_t n, cap;
};

static void list_add(struct list *l, const struct timeline_message *m)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? l->cap * 2 : 256;
		l->m = realloc(l->m, l->cap * sizeof(*l->m));
		assert_non_null(l->m);
	}
	l->m[l->n++] = *m;
}

static int collect(const struct timeline_message *m, void *arg)
{
	struct timeline_message copy;

	memset(&copy, 0, sizeof(copy)); /* padding is compared too */
	copy.src = m->src;
	copy.dst = m->dst;
	copy.t0_ns = m->t0_ns;
	copy.t1_ns = m->t1_ns;
	copy.bytes = m->bytes;
	copy.tag = m->tag;
	list_add(arg, &copy);
	return 0;
}

static int stop_at_first(const struct timeline_message *m, void *arg)
{
	(void)m, (void)arg;
	return 1;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct timeline_message));
}

/* The messages of [t0, t1), in the order of compare. */
static struct list naive_window(const struct list *all, uint64_t t0, uint64_t t1)
{
	struct list l = {0};

	for (uint32_t i = 0; i < all->n; i++)
		if (all->m[i].t0_ns < t1 && all->m[i].t1_ns >= t0)
			list_add(&l, &all->m[i]);
	return l;
}

/* A window must have the messages that a filter of all messages gives. */
static void check_messages(struct timeline *tl, const struct list *all)
{
	uint64_t end = timeline_end_ns(tl);
	struct errbuf err = {{0}};

	for (int i = 0; i < 200; i++) {
		uint64_t t0 = i ? random_below(end) : 0, t1 = i ? t0 + 1 + random_below(end / (1 + (uint64_t)i)) : end + 1;
		struct list got = {0}, want = naive_window(all, t0, t1);

		assert_int_equal(timeline_messages(tl, t0, t1, collect, &got, &err), 0);
		assert_int_equal(got.n, want.n);
		if (got.n)
			qsort(got.m, got.n, sizeof(*got.m), compare);
		if (want.n)
			qsort(want.m, want.n, sizeof(*want.m), compare);
		for (uint32_t k = 0; k < got.n; k++)
			assert_int_equal(compare(&got.m[k], &want.m[k]), 0);
		free(got.m);
		free(want.m);
	}
	assert_int_equal(timeline_messages(tl, 0, end + 1, stop_at_first, NULL, &err), all->n > 0);
	assert_int_equal(timeline_messages(tl, end + 10, end + 20, stop_at_first, NULL, &err), 0);
}

/* ---- tests ---- */

static void run(struct syn *s)
{
	struct oracle *o = oracle_of(s);
	struct trace *t = syn_open(s);
	struct errbuf err = {{0}};
	struct timeline *tl = timeline_create(t, &err);

	assert_non_null(tl);
	assert_int_equal(timeline_n_ranks(tl), s->n_ranks);
	assert_true(timeline_end_ns(tl) == o->end);
	for (uint32_t r = 0; r < s->n_ranks; r++) {
		double want[TSTATE_N] = {0}, got[TSTATE_N];

		for (uint64_t i = 0; i < s->rank[r].n; i++) {
			want[TSTATE_WORKING] += (double)(o->call[r][i].enter - o->call[r][i].begin) * 1e-9;
			want[o->call[r][i].state] += (double)(o->call[r][i].leave - o->call[r][i].enter) * 1e-9;
		}
		timeline_totals(tl, r, got);
		for (int k = 0; k < TSTATE_N; k++)
			assert_true(fabs(got[k] - want[k]) < 1e-9);
	}
	check_spans(o, tl);
	check_all_levels(o, tl);
	timeline_destroy(tl);
	trace_close(t);
	oracle_free(o);
}

static void test_one_page(void **state)
{
	(void)state;
	run(random_run(5, 3000));
}

static void test_many_pages(void **state)
{
	struct syn *s = random_run(7, 3000);

	(void)state;
	s->page_events = 100;
	run(s);
}

static void test_dropped_pages(void **state)
{
	struct syn *s = random_run(4, 3000);

	(void)state;
	s->page_events = 64;
	s->drop_every = 3;
	run(s);
	s = random_run(3, 500);
	s->page_events = 17;
	s->drop_every = 1; /* no times are known */
	run(s);
}

static void test_programs(void **state)
{
	(void)state;
	run(syn_stencil(3, 3, 200, SYN_PERIODIC));
	run(syn_wavefront(3, 2, 20, 20));
	run(syn_master_worker(4, 200, 7));
}

/* Coarse windows come from LEVELS pages: the same totals, blurred by at most one of their steps. Also for dropped
 * times. */
static void test_level_pages(void **state)
{
	struct syn *s = random_run(5, 4000);
	struct oracle *o;
	struct errbuf err = {{0}};
	struct timeline *tl;
	struct trace *t;

	(void)state;
	s->levels = true;
	s->page_events = 50;
	s->drop_every = 2;
	o = oracle_of(s);
	for (uint32_t r = 0; r < s->n_ranks; r++)
		for (uint64_t i = 0; i < s->rank[r].n; i++)
			o->call[r][i].known = true;
	t = syn_open(s);
	tl = timeline_create(t, &err);
	assert_non_null(tl);
	/* between 2,048 and 4,096 steps over the run: 100 steps blur by less than 2 / 20 */
	check_levels(o, tl, 0, o->end, 100, 0.1);
	check_levels(o, tl, o->end / 4, o->end / 2, 25, 0.1);
	timeline_destroy(tl);
	trace_close(t);
	oracle_free(o);
}

/* A ring in lockstep, whose messages are known in advance. */
static void test_messages(void **state)
{
	const uint32_t n = 5, steps = 4000;
	struct syn *s = syn_create(n);
	struct list all = {0};
	struct errbuf err = {{0}};
	struct timeline *tl;
	struct trace *t;

	(void)state;
	for (uint32_t i = 0; i < steps; i++) {
		uint64_t sent[8], received = 0;

		for (uint32_t r = 0; r < n; r++) { /* all send, some of them late */
			uint64_t gap = i % 500 == 7 && r == 2 ? 3000000 : 900;

			sent[r] = s->rank[r].ticks + gap;
			syn_call(s, r, "MPI_Bsend", 1, SYN(.dst = (r + 1) % n, .tag = i % 3, .count = i % 9, .gap_ns = gap,
							   .dur_ns = 100));
			received = s->rank[r].ticks > received ? s->rank[r].ticks : received;
		}
		for (uint32_t r = 0; r < n; r++) { /* all receive, after the last one has sent */
			uint32_t from = (r + n - 1) % n;
			uint64_t dur = received + 500 - s->rank[r].ticks - 10;
			struct timeline_message m;

			syn_call(s, r, "MPI_Recv", 2, SYN(.src = from, .tag = i % 3, .count = i % 9, .gap_ns = 10, .dur_ns = dur));
			memset(&m, 0, sizeof(m)); /* padding is compared too */
			m.src = from;
			m.dst = r;
			m.t0_ns = sent[from];
			m.t1_ns = s->rank[r].ticks;
			m.bytes = 8 * (i % 9);
			m.tag = (int32_t)(i % 3);
			list_add(&all, &m);
		}
	}
	t = syn_open(s);
	tl = timeline_create(t, &err);
	assert_non_null(tl);
	check_messages(tl, &all);
	timeline_destroy(tl);
	trace_close(t);
	syn_destroy(s);
	free(all.m);
}

static int count_message(const struct timeline_message *m, void *arg)
{
	(void)m;
	++*(uint32_t *)arg;
	return 0;
}

/* A blocking receive waits until its message is sent; one whose message was there, and a wait, are not told. */
static void test_late(void **state)
{
	static const int64_t one[] = {0};
	struct syn *s = syn_create(2);
	struct errbuf err;
	const struct timeline_late *l;
	struct timeline *tl;
	struct trace *t;
	uint32_t n, messages = 0;

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .tag = 1, .gap_ns = 5000, .dur_ns = 100)); /* is at 5000 behind MPI_Init */
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .tag = 2, .gap_ns = 100, .dur_ns = 100));
	syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .tag = 3, .gap_ns = 5000, .dur_ns = 100));
	syn_call(s, 1, "MPI_Recv", 2, SYN(.src = 0, .tag = 1, .gap_ns = 1000, .dur_ns = 4300)); /* from 1000 on */
	syn_call(s, 1, "MPI_Recv", 2, SYN(.src = 0, .tag = 2, .gap_ns = 1000, .dur_ns = 300));
	syn_call(s, 1, "MPI_Irecv", 2, SYN(.src = 0, .tag = 3, .req = 0, .gap_ns = 10, .dur_ns = 10));
	syn_call(s, 1, "MPI_Wait", 2, SYN(.reqs = one, .n_reqs = 1, .gap_ns = 10, .dur_ns = 9000));
	syn_end(s);
	t = syn_open(s);
	tl = timeline_create(t, &err);
	assert_non_null(timeline_late(tl, 1, &n) ? NULL : tl); /* nothing is known yet */
	assert_int_equal(timeline_messages(tl, 0, UINT64_MAX, count_message, &messages, &err), 0);
	assert_int_equal(messages, 3);
	assert_null(timeline_late(tl, 0, &n));
	l = timeline_late(tl, 1, &n);
	assert_int_equal(n, 1);
	assert_int_equal(l->t1_ns - l->t0_ns, 4000);
	assert_int_equal(l->state, TSTATE_RECEIVING);
	timeline_destroy(tl);
	trace_close(t);
	syn_destroy(s);
}

static void test_bad_windows(void **state)
{
	struct syn *s = syn_ring(4, 10);
	struct trace *t = syn_open(s);
	struct errbuf err = {{0}};
	struct timeline *tl = timeline_create(t, &err);
	float share[4][TSTATE_N];

	(void)state;
	assert_non_null(tl);
	assert_int_equal(timeline_levels(tl, 0, 4, 10, 10, 1, share, &err), -1);
	assert_int_equal(timeline_levels(tl, 0, 4, 0, 10, 0, share, &err), -1);
	assert_int_equal(timeline_levels(tl, 5, 4, 0, 10, 1, share, &err), -1);
	assert_int_equal(timeline_levels(tl, 0, 400, 0, 10, 1, share, &err), 0); /* existing ranks only */
	timeline_destroy(tl);
	timeline_destroy(NULL);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_page),    cmocka_unit_test(test_many_pages),
		cmocka_unit_test(test_dropped_pages), cmocka_unit_test(test_programs),
		cmocka_unit_test(test_level_pages), cmocka_unit_test(test_messages),
		cmocka_unit_test(test_late), cmocka_unit_test(test_bad_windows),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
