/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The send of each receive. The oracle is a small MPI with two lists per rank, messages and posted receives, that
 * are searched from the front as in a library. Random programs run on it, and its deliveries are compared.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/messages/messages_names.h"

#define MAX_LIST 4096
#define MAX_REQ  8

struct sent {
	uint32_t src;
	int64_t comm, tag, count;
	uint64_t event;
};

struct posted {
	bool used, done, cancelled, message;
	int64_t comm, src, tag, asrc, atag;
	uint64_t order, event;
	struct sent got;
	bool has;
};

struct world {
	struct syn *s;
	uint32_t n;
	struct sent *queue[16]; /* unexpected messages, by receiver */
	uint32_t n_queue[16];
	struct posted req[16][MAX_REQ];
	uint64_t order;
	struct trace_message *expect;
	uint32_t n_expect, cap_expect;
	uint64_t seed;
};

static struct world *world_new(uint32_t n, uint64_t seed)
{
	struct world *w = calloc(1, sizeof(*w));

	w->s = syn_create(n);
	w->n = n;
	w->seed = seed;
	for (uint32_t r = 0; r < n; r++) {
		uint32_t member[16];

		w->queue[r] = calloc(MAX_LIST, sizeof(**w->queue));
		for (uint32_t i = 0; i < n; i++)
			member[i] = n - 1 - i;
		syn_comm(w->s, r, member, n); /* communicator 2: ranks in reverse order */
		w->s->rank[r].defs.comm[2].ordinal = 2;
	}
	syn_begin(w->s);
	return w;
}

static void world_free(struct world *w)
{
	for (uint32_t r = 0; r < w->n; r++)
		free(w->queue[r]);
	free(w->expect);
	syn_destroy(w->s);
	free(w);
}

static uint32_t pick(struct world *w, uint32_t n)
{
	return (uint32_t)(syn_random(&w->seed) % n);
}

static int64_t to_comm(const struct world *w, int64_t comm, uint32_t rank)
{
	return comm == 2 ? w->n - 1 - rank : rank;
}

static bool matches(const struct world *w, int64_t comm, int64_t src, int64_t tag, const struct sent *m)
{
	return comm == m->comm && (src == TRACE_ANY_SOURCE || src == to_comm(w, comm, m->src)) &&
	       (tag == TRACE_ANY_TAG || tag == m->tag);
}

static void expect(struct world *w, uint32_t dst, const struct sent *m, uint64_t post, uint64_t recv)
{
	if (w->n_expect == w->cap_expect) {
		w->cap_expect = w->cap_expect ? 2 * w->cap_expect : 1024;
		w->expect = realloc(w->expect, w->cap_expect * sizeof(*w->expect));
	}
	w->expect[w->n_expect++] = (struct trace_message){
		.src = m->src, .dst = dst, .send_event = m->event, .recv_event = recv, .post_event = post,
		.bytes = (uint64_t)m->count * 8, .tag = (int32_t)m->tag};
}

/* A message arrives: the oldest matching posted receive takes it. */
static void deliver(struct world *w, uint32_t dst, const struct sent *m)
{
	struct posted *best = NULL;

	for (int i = 0; i < MAX_REQ; i++) {
		struct posted *p = &w->req[dst][i];

		if (p->used && !p->has && !p->message && matches(w, p->comm, p->src, p->tag, m) &&
		    (!best || p->order < best->order))
			best = p;
	}
	if (best) {
		best->got = *m;
		best->has = true;
	} else {
		w->queue[dst][w->n_queue[dst]++] = *m;
	}
}

static int find_unexpected(const struct world *w, uint32_t r, int64_t comm, int64_t src, int64_t tag)
{
	for (uint32_t i = 0; i < w->n_queue[r]; i++)
		if (matches(w, comm, src, tag, &w->queue[r][i]))
			return (int)i;
	return -1;
}

static struct sent take_unexpected(struct world *w, uint32_t r, int i)
{
	struct sent m = w->queue[r][i];

	memmove(&w->queue[r][i], &w->queue[r][i + 1], (--w->n_queue[r] - (uint32_t)i) * sizeof(m));
	return m;
}

static int free_slot(const struct world *w, uint32_t r)
{
	for (int i = 0; i < MAX_REQ; i++)
		if (!w->req[r][i].used)
			return i;
	return -1;
}

static void do_send(struct world *w, uint32_t r)
{
	uint32_t dst = pick(w, w->n);
	struct sent m = {.src = r, .comm = pick(w, 2) * 2, .tag = pick(w, 3), .count = 1 + pick(w, 50),
			 .event = w->s->rank[r].n};
	int slot = free_slot(w, r);

	if (w->n_queue[dst] >= MAX_LIST - 1)
		return;
	if (pick(w, 20) == 0) {
		syn_call(w->s, r, "MPI_Send", 3, SYN(.dst = TRACE_PROC_NULL, .tag = 1, .count = 1));
		return;
	}
	if (pick(w, 2) && slot >= 0) {
		int64_t q = slot;

		syn_call(w->s, r, "MPI_Isend", 4,
			 SYN(.comm = m.comm, .dst = to_comm(w, m.comm, dst), .tag = m.tag, .count = m.count, .req = slot));
		if (pick(w, 2))
			syn_call(w->s, r, "MPI_Wait", 5, SYN(.reqs = &q, .n_reqs = 1));
		else
			syn_call(w->s, r, "MPI_Request_free", 6, SYN(.req = slot));
	} else {
		syn_call(w->s, r, "MPI_Send", 7,
			 SYN(.comm = m.comm, .dst = to_comm(w, m.comm, dst), .tag = m.tag, .count = m.count));
	}
	deliver(w, dst, &m);
}

static void random_receive(struct world *w, int64_t *comm, int64_t *src, int64_t *tag)
{
	*comm = pick(w, 2) * 2;
	*src = pick(w, 3) == 0 ? TRACE_ANY_SOURCE : (int64_t)pick(w, w->n);
	*tag = pick(w, 3) == 0 ? TRACE_ANY_TAG : (int64_t)pick(w, 3);
}

static void do_post(struct world *w, uint32_t r)
{
	int slot = free_slot(w, r), u;
	struct posted p = {.used = true, .order = w->order++, .event = w->s->rank[r].n};

	if (slot < 0)
		return;
	random_receive(w, &p.comm, &p.src, &p.tag);
	u = find_unexpected(w, r, p.comm, p.src, p.tag);
	if (u >= 0) {
		p.got = take_unexpected(w, r, u);
		p.has = true;
	}
	syn_call(w->s, r, "MPI_Irecv", 8, SYN(.comm = p.comm, .src = p.src, .tag = p.tag, .count = 50, .req = slot));
	w->req[r][slot] = p;
}

/* A blocking receive for which a message is there that no other receive matches. */
static void do_recv(struct world *w, uint32_t r)
{
	int64_t comm, src, tag, asrc;
	struct sent m;
	uint64_t at = w->s->rank[r].n;
	int u, slot;

	random_receive(w, &comm, &src, &tag);
	u = find_unexpected(w, r, comm, src, tag);
	if (u < 0)
		return;
	m = take_unexpected(w, r, u);
	asrc = to_comm(w, comm, m.src);
	slot = free_slot(w, r);
	if (slot >= 0 && pick(w, 3) == 0) {
		syn_call(w->s, r, "MPI_Mprobe", 9,
			 SYN(.comm = comm, .src = src, .tag = tag, .req = slot, .asrc = asrc, .atag = m.tag));
		w->req[r][slot] = (struct posted){.used = true, .message = true, .has = true, .got = m, .comm = comm};
		return;
	}
	if (pick(w, 4) == 0)
		syn_call(w->s, r, "MPI_Sendrecv", 10,
			 SYN(.comm = comm, .dst = TRACE_PROC_NULL, .src = src, .tag = tag, .asrc = asrc, .atag = m.tag));
	else
		syn_call(w->s, r, "MPI_Recv", 11, SYN(.comm = comm, .src = src, .tag = tag, .asrc = asrc, .atag = m.tag));
	expect(w, r, &m, at, at);
}

static void finish(struct world *w, uint32_t r, int64_t slot)
{
	struct posted *p = &w->req[r][slot];
	int64_t src = TRACE_NULL, tag = TRACE_NULL;
	uint64_t at = w->s->rank[r].n;

	if (p->message && pick(w, 2)) {
		syn_call(w->s, r, "MPI_Mrecv", 12, SYN(.req = slot, .count = 50));
		expect(w, r, &p->got, at, at);
		p->used = false;
		return;
	}
	if (p->message) {
		int to = free_slot(w, r);

		if (to < 0)
			return;
		syn_call(w->s, r, "MPI_Imrecv", 13, SYN(.message = slot + 1, .req = to, .count = 50));
		w->req[r][to] = *p;
		w->req[r][to].message = false;
		w->req[r][to].src = w->req[r][to].tag = 0;
		w->req[r][to].event = at;
		p->used = false;
		return;
	}
	if (p->src == TRACE_ANY_SOURCE)
		src = to_comm(w, p->comm, p->got.src);
	if (p->tag == TRACE_ANY_TAG)
		tag = p->got.tag;
	syn_call(w->s, r, "MPI_Waitall", 14,
		 SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &src, .atags = &tag));
	expect(w, r, &p->got, p->event, at);
	p->used = false;
}

static void do_wait(struct world *w, uint32_t r)
{
	int slot = (int)pick(w, MAX_REQ);

	if (!w->req[r][slot].used)
		return;
	if (w->req[r][slot].has) {
		finish(w, r, slot);
	} else if (pick(w, 8) == 0) {
		int64_t q = slot, null = TRACE_NULL;

		syn_call(w->s, r, "MPI_Cancel", 15, SYN(.req = slot));
		syn_call(w->s, r, "MPI_Wait", 16, SYN(.reqs = &q, .n_reqs = 1, .asrcs = &null, .atags = &null));
		w->req[r][slot].used = false;
	}
}

static void random_program(struct world *w, uint32_t steps)
{
	for (uint32_t k = 0; k < steps; k++) {
		uint32_t r = pick(w, w->n);

		switch (pick(w, 5)) {
		case 0: case 1: do_send(w, r); break;
		case 2: do_post(w, r); break;
		case 3: do_recv(w, r); break;
		default: do_wait(w, r); break;
		}
	}
	/* If a wildcard receive was never completed, the trace does not tell its message. */
	for (uint32_t r = 0; r < w->n; r++)
		for (int i = 0; i < MAX_REQ; i++)
			while (w->req[r][i].used && w->req[r][i].has && free_slot(w, r) >= 0)
				finish(w, r, i);
	for (uint32_t r = 0; r < w->n; r++)
		for (int i = 0; i < MAX_REQ; i++)
			if (w->req[r][i].used && w->req[r][i].has)
				finish(w, r, i);
	syn_end(w->s);
}

struct seen {
	struct trace_message *m;
	uint32_t n, cap;
	uint32_t stop_at;
};

static int note(const struct trace_message *m, void *arg)
{
	struct seen *s = arg;

	if (s->n == s->cap) {
		s->cap = s->cap ? 2 * s->cap : 1024;
		s->m = realloc(s->m, s->cap * sizeof(*s->m));
	}
	s->m[s->n++] = *m;
	return s->stop_at && s->n >= s->stop_at;
}

static int by_receiver(const void *a, const void *b)
{
	const struct trace_message *x = a, *y = b;

	if (x->dst != y->dst)
		return x->dst < y->dst ? -1 : 1;
	if (x->recv_event != y->recv_event)
		return x->recv_event < y->recv_event ? -1 : 1;
	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return (x->send_event > y->send_event) - (x->send_event < y->send_event);
}

static struct seen match_all(const struct trace *t, struct trace_messages_report *report)
{
	struct seen s = {0};
	struct errbuf err;
	uint64_t last[64] = {0};

	assert_int_equal(trace_messages(t, note, &s, report, &err), 0);
	for (uint32_t i = 0; i < s.n; i++) {
		assert_true(s.m[i].recv_event >= last[s.m[i].dst % 64] || trace_n_ranks(t) > 64);
		last[s.m[i].dst % 64] = s.m[i].recv_event;
	}
	qsort(s.m, s.n, sizeof(*s.m), by_receiver);
	return s;
}

static void test_random(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct world *w = world_new(1 + (uint32_t)(seed % 7), seed * 77777);
		struct trace_messages_report report;
		struct trace *t;
		struct seen s;
		uint64_t left = 0;

		random_program(w, 3000);
		t = syn_open(w->s);
		s = match_all(t, &report);
		qsort(w->expect, w->n_expect, sizeof(*w->expect), by_receiver);
		assert_int_equal(s.n, w->n_expect);
		for (uint32_t i = 0; i < s.n; i++) {
			assert_int_equal(s.m[i].src, w->expect[i].src);
			assert_int_equal(s.m[i].dst, w->expect[i].dst);
			assert_int_equal(s.m[i].send_event, w->expect[i].send_event);
			assert_int_equal(s.m[i].recv_event, w->expect[i].recv_event);
			assert_int_equal(s.m[i].post_event, w->expect[i].post_event);
			assert_int_equal(s.m[i].bytes, w->expect[i].bytes);
			assert_int_equal(s.m[i].tag, w->expect[i].tag);
			assert_true(s.m[i].timed);
		}
		for (uint32_t r = 0; r < w->n; r++)
			left += w->n_queue[r];
		assert_int_equal(report.matched, s.n);
		assert_int_equal(report.unmatched_receives, 0);
		assert_true(report.unmatched_sends + report.incomplete >= left);
		free(s.m);
		trace_close(t);
		world_free(w);
	}
}

static uint64_t all_matched(struct syn *s)
{
	struct trace *t = syn_open(s);
	struct trace_messages_report report;
	struct seen seen = match_all(t, &report);
	uint64_t n = report.matched;

	assert_int_equal(report.unmatched_sends, 0);
	assert_int_equal(report.unmatched_receives, 0);
	assert_int_equal(report.incomplete, 0);
	free(seen.m);
	trace_close(t);
	syn_destroy(s);
	return n;
}

static void test_programs(void **state)
{
	(void)state;
	assert_int_equal(all_matched(syn_stencil(4, 3, 20, SYN_PERIODIC)), 12 * 4 * 20);
	assert_int_equal(all_matched(syn_stencil(4, 3, 20, SYN_PROC_NULL)), (2 * 3 * 3 + 2 * 4 * 2) * 20);
	assert_true(all_matched(syn_wavefront(4, 3, 5, 7)) > 0);
	assert_int_equal(all_matched(syn_cg(4, 2, 10)), 8 * 2 * 10);
	assert_int_equal(all_matched(syn_ring(5, 30)), 150);
	assert_true(all_matched(syn_pipeline(4, 10)) > 0);
	assert_true(all_matched(syn_master_worker(4, 100, 1)) >= 200);
	assert_true(all_matched(syn_reneighbour(4, 40, 7)) > 0);
}

static void test_persistent(void **state)
{
	struct syn *s = syn_create(2);
	const int64_t both[2] = {0, 1};

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 2; r++) {
		syn_call(s, r, "MPI_Recv_init", 3, SYN(.src = 1 - r, .tag = 5, .count = 4, .req = 0));
		syn_call(s, r, "MPI_Send_init", 4, SYN(.dst = 1 - r, .tag = 5, .count = 3, .req = 1));
		for (int i = 0; i < 10; i++) {
			if (i & 1) {
				syn_call(s, r, "MPI_Start", 5, SYN(.req = 0));
				syn_call(s, r, "MPI_Start", 6, SYN(.req = 1));
			} else {
				syn_call(s, r, "MPI_Startall", 7, SYN(.reqs = both, .n_reqs = 2));
			}
			syn_call(s, r, "MPI_Waitall", 8, SYN(.reqs = both, .n_reqs = 2));
		}
		syn_call(s, r, "MPI_Request_free", 9, SYN(.req = 0));
		syn_call(s, r, "MPI_Request_free", 9, SYN(.req = 1));
	}
	syn_end(s);
	assert_int_equal(all_matched(s), 20);
}

/* MPI_Isendrecv sends and posts a receive. Either half may be of MPI_PROC_NULL. */
static void test_isendrecv(void **state)
{
	struct syn *s = syn_create(2);
	const int64_t slot = 0, from = 0, tag = 5;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 10; i++) {
		syn_call(s, 0, "MPI_Isendrecv", 3, SYN(.dst = 1, .src = 1, .tag = 5, .count = 4, .req = 0));
		syn_call(s, 0, "MPI_Wait", 4, SYN(.reqs = &slot, .n_reqs = 1));
		syn_call(s, 1, "MPI_Isendrecv_replace", 3, SYN(.dst = 0, .src = TRACE_ANY_SOURCE, .tag = 5, .count = 4, .req = 0));
		syn_call(s, 1, "MPI_Wait", 4, SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &from, .atags = &tag));
	}
	syn_call(s, 0, "MPI_Isendrecv", 5, SYN(.dst = 1, .src = TRACE_PROC_NULL, .tag = 6, .count = 4, .req = 0));
	syn_call(s, 0, "MPI_Wait", 4, SYN(.reqs = &slot, .n_reqs = 1));
	syn_call(s, 1, "MPI_Isendrecv", 6, SYN(.dst = TRACE_PROC_NULL, .src = 0, .tag = 6, .count = 4, .req = 0));
	syn_call(s, 1, "MPI_Wait", 4, SYN(.reqs = &slot, .n_reqs = 1));
	syn_end(s);
	assert_int_equal(all_matched(s), 21);
}

/* Each side of an intercommunicator names ranks of the other side. */
static void test_intercommunicator(void **state)
{
	struct syn *s = syn_create(5);
	const uint32_t low[2] = {0, 1}, high[3] = {2, 3, 4};

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 5; r++) {
		const uint32_t *own = r < 2 ? low : high, *other = r < 2 ? high : low;
		uint32_t n_own = r < 2 ? 2 : 3, n_other = r < 2 ? 3 : 2;
		uint32_t c = syn_comm(s, r, own, n_own);
		struct trace_comm *d = &s->rank[r].defs.comm[c];

		d->kind = TCOMM_INTER;
		d->remote.n = n_other;
		d->remote.rank = malloc(n_other * sizeof(*other));
		memcpy(d->remote.rank, other, n_other * sizeof(*other));
		if (r == 1)
			for (int i = 0; i < 3; i++)
				syn_call(s, r, "MPI_Send", 3, SYN(.comm = c, .dst = i, .tag = 2, .count = 1));
		if (r >= 2)
			syn_call(s, r, "MPI_Recv", 4, SYN(.comm = c, .src = 1, .tag = 2, .count = 1));
	}
	syn_end(s);
	assert_int_equal(all_matched(s), 3);
}

/* The trace lacks sends and receives: all others are still matched, and nothing hangs. */
static void test_contradictions(void **state)
{
	struct syn *s = syn_create(3);
	struct trace_messages_report report;
	struct trace *t;
	struct seen seen;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 50; i++) { /* a ping-pong in which both sides lack calls, with other tags besides */
		if (i != 20)
			syn_call(s, 0, "MPI_Send", 3, SYN(.dst = 1, .tag = i, .count = 1));
		syn_call(s, 0, "MPI_Recv", 4, SYN(.src = 1, .tag = i, .count = 1));
		syn_call(s, 1, "MPI_Recv", 5, SYN(.src = 0, .tag = i, .count = 1));
		if (i != 30)
			syn_call(s, 1, "MPI_Send", 6, SYN(.dst = 0, .tag = i, .count = 1));
	}
	for (int i = 0; i < 10; i++)
		syn_call(s, 2, "MPI_Send", 7, SYN(.dst = 1, .tag = 1, .count = 1));
	syn_call(s, 2, "MPI_Recv", 8, SYN(.src = TRACE_ANY_SOURCE, .tag = 1, .asrc = TRACE_NULL));
	syn_end(s);
	t = syn_open_partial(s);
	seen = match_all(t, &report);
	assert_int_equal(report.matched, 98);
	assert_int_equal(report.unmatched_receives, 3);
	assert_int_equal(report.unmatched_sends, 10);
	free(seen.m);
	trace_close(t);
	syn_destroy(s);
}

static void test_stop(void **state)
{
	struct syn *s = syn_ring(3, 20);
	struct trace *t = syn_open(s);
	struct seen seen = {.stop_at = 7};
	struct errbuf err;

	(void)state;
	assert_int_equal(trace_messages(t, note, &seen, NULL, &err), 1);
	assert_int_equal(seen.n, 7);
	assert_int_equal(trace_messages(t, NULL, NULL, NULL, &err), 0);
	free(seen.m);
	trace_close(t);
	syn_destroy(s);
}

/* Calls whose messages all have sizes of their own have few effects, and each keeps its size. */
static void test_sizes_share_effects(void **state)
{
	enum { MESSAGES = 500 };
	struct syn *s = syn_create(2);
	struct msg_names names;
	struct trace *t;

	(void)state;
	syn_begin(s);
	for (int64_t n = 1; n <= MESSAGES; n++) {
		syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1, .count = n));
		syn_call(s, 1, "MPI_Recv", 2, SYN(.src = 0, .count = 2 * n, .type = 1));
	}
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(msg_names_build(&names, t), 0);
	for (uint32_t r = 0; r < 2; r++) {
		const struct trace_rank *k = trace_get_rank(t, r);
		struct msg_ops ops = {0};

		assert_int_equal(msg_ops_build(&ops, &names, r), 0);
		assert_in_range(k->defs.sigs.n, MESSAGES, MESSAGES + 2);
		assert_in_range(ops.n, 1, 3); /* with the calls of the program's begin and end */
		for (int64_t n = 1; n <= MESSAGES; n++) {
			uint32_t sym = s->rank[r].sym[n];

			assert_int_equal(msg_op_of(&ops, sym)->action, r == 0 ? MSG_SEND : MSG_RECV);
			assert_int_equal(msg_bytes(&ops, sym), r == 0 ? 8 * n : 0);
			assert_int_equal(msg_room(&ops, sym), 8 * n);
		}
		msg_ops_free(&ops);
	}
	msg_names_free(&names);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),           cmocka_unit_test(test_programs),
		cmocka_unit_test(test_persistent),       cmocka_unit_test(test_isendrecv),
		cmocka_unit_test(test_intercommunicator),
		cmocka_unit_test(test_contradictions),   cmocka_unit_test(test_stop),
		cmocka_unit_test(test_sizes_share_effects),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
