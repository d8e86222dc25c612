/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs with messages under way all the time: these runs are cut. The receives of an excerpt get the messages that
 * pieces leave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/pieces/under_way.h"
#include "skelgen/pipeline.h"
#include "skelgen/tree/rooms.h"
#include "tests/unit/synthetic.h"
#include "trace/messages/messages.h"

enum { RANKS = 4, ROOM = 100, EXACT = -1 };

enum { MASTER_TASK = 10, MASTER_RESULT, WORKER_TASK = 20, WORKER_RESULT, STEP = 30 };

struct farm {
	struct syn *s;
	uint64_t now[RANKS], task_sent[RANKS], result_sent[RANKS][3]; /* ns; results by number modulo 3 */
};

/* A call that lasts at least until `until`. */
static void call(struct farm *f, uint32_t rank, const char *fn, uint64_t site, struct syn_args a, uint64_t until)
{
	uint64_t begin = f->now[rank] + a.gap_ns;

	a.dur_ns = until > begin + 400 ? until - begin : 400;
	f->now[rank] = begin + a.dur_ns;
	syn_call(f->s, rank, fn, site, &a);
}

/* Steps of all ranks, without messages. */
static void steps(struct farm *f, uint32_t n)
{
	for (uint32_t k = 0; k < n; k++) {
		uint64_t last = 0;

		for (uint32_t r = 0; r < RANKS; r++)
			last = f->now[r] > last ? f->now[r] : last;
		for (uint32_t r = 0; r < RANKS; r++)
			call(f, r, "MPI_Barrier", STEP, (struct syn_args){.gap_ns = 60000}, last + 61000);
	}
}

static void result_take(struct farm *f, uint32_t w, uint32_t k)
{
	const struct syn_args result = {.src = TRACE_ANY_SOURCE, .asrc = w, .tag = 1, .count = 1, .gap_ns = 100};

	call(f, 0, "MPI_Recv", MASTER_RESULT, result, f->result_sent[w][k % 3]);
}

/* count: numbers of the task; room: of its receive. */
static void task(struct farm *f, uint32_t w, uint32_t k, int64_t count, int64_t room, uint64_t work_ns)
{
	call(f, 0, "MPI_Send", MASTER_TASK, (struct syn_args){.dst = w, .count = count, .gap_ns = 100}, 0);
	f->task_sent[w] = f->now[0];
	if (k >= 2)
		result_take(f, w, k - 2);
	call(f, w, "MPI_Recv", WORKER_TASK, (struct syn_args){.src = 0, .count = room, .gap_ns = 100}, f->task_sent[w]);
	call(f, w, "MPI_Send", WORKER_RESULT, (struct syn_args){.dst = 0, .tag = 1, .count = 1, .gap_ns = work_ns}, 0);
	f->result_sent[w][k % 3] = f->now[w];
}

/*
 * A master sends each worker two tasks ahead, between a few steps without messages.
 * room: 0: a task has `count` numbers. Otherwise a task has up to `count` numbers at random. The receives have this
 * room; EXACT: for their task alone.
 */
static struct syn *early(uint32_t tasks, int64_t count, int64_t room, uint64_t seed)
{
	struct farm f = {.s = syn_create(RANKS)};

	syn_begin(f.s);
	steps(&f, 10);
	for (uint32_t k = 0; k < tasks; k++)
		for (uint32_t w = 1; w < RANKS; w++) {
			int64_t n = room != 0 ? 1 + (int64_t)(syn_random(&seed) % (uint64_t)count) : count;

			task(&f, w, k, n, room > 0 ? room : n, 40000 + syn_random(&seed) % 50000);
		}
	for (uint32_t k = tasks - 2; k < tasks; k++)
		for (uint32_t w = 1; w < RANKS; w++)
			result_take(&f, w, k);
	steps(&f, 10);
	syn_end(f.s);
	return f.s;
}

/* The numbers of messages that are under way on a channel, in their order. */
struct channel {
	int64_t count[UNDER_WAY_MOST];
	uint32_t sent, received;
};

static void scattered_receive(struct syn *s, struct channel *c, uint32_t src, uint32_t dst, int64_t room)
{
	int64_t count = c->count[c->received++ % UNDER_WAY_MOST];

	syn_call(s, dst, "MPI_Probe", 32, SYN(.src = src));
	syn_call(s, dst, "MPI_Recv", 31, SYN(.src = src, .count = room > 0 ? room : count));
}

/*
 * Messages at random, up to `most` under way on each channel, in the end none. room: of the receives; EXACT: for their
 * message.
 */
static struct syn *scattered(uint32_t calls, uint32_t most, int64_t room, uint64_t seed)
{
	struct channel channel[RANKS][RANKS] = {{{.sent = 0}}};
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t k = 0; k < calls; k++) {
		uint32_t src = (uint32_t)(syn_random(&seed) % RANKS);
		uint32_t dst = (src + 1 + (uint32_t)(syn_random(&seed) % (RANKS - 1))) % RANKS;
		struct channel *c = &channel[src][dst];
		int64_t count = 1 + (int64_t)(syn_random(&seed) % ROOM);

		if (c->sent - c->received < most && (c->sent == c->received || syn_random(&seed) % 2 == 0)) {
			syn_call(s, src, "MPI_Send", 30, SYN(.dst = dst, .count = count));
			c->count[c->sent++ % UNDER_WAY_MOST] = count;
		} else {
			scattered_receive(s, c, src, dst, room);
		}
	}
	for (uint32_t src = 0; src < RANKS; src++)
		for (uint32_t dst = 0; dst < RANKS; dst++)
			while (channel[src][dst].sent > channel[src][dst].received)
				scattered_receive(s, &channel[src][dst], src, dst, room);
	syn_end(s);
	return s;
}

static int has_room(const struct trace_message *m, void *arg)
{
	uint64_t more = skel_room(arg, m->dst, m->room_sym);

	assert_true(m->bytes <= (m->room > more ? m->room : more));
	return 0;
}

/* Every message of the excerpt has both ends, and its receive has room for it. Returns the number of cuts. */
static uint32_t check(struct syn *s, double share)
{
	struct trace *t = syn_open(s), *excerpt = NULL;
	struct trace_messages_report report;
	double seconds = share * trace_get_rank(t, 0)->wall_ns * 1e-9;
	struct skel_rooms rooms = {.n_ranks = 0};
	struct errbuf err = {{0}};
	struct pieces p = {0};
	struct survey v;
	uint32_t n = 0;
	int rv = survey_make(t, seconds, &v, &err);

	if (rv == 0) {
		n = v.cuts.n;
		if (pieces_choose(&v, seconds, UINT64_MAX, &p, &err) != 0 || pieces_excerpt(&v, &p, &excerpt, &err) != 0)
			fail_msg("%s", err.text);
		if (v.cuts.longer)
			assert_int_equal(skel_rooms_find(excerpt, &rooms, &err), 0);
		assert_int_equal(trace_messages(excerpt, has_room, &rooms, &report, &err), 0);
		assert_true(report.matched > 0);
		assert_int_equal(report.unmatched_sends + report.unmatched_receives + report.incomplete, 0);
		skel_rooms_free(&rooms);
		trace_close(excerpt);
		pieces_free(&p);
		survey_free(&v);
	}
	assert_true(rv >= 0);
	trace_close(t);
	syn_destroy(s);
	return n;
}

/* The second tasks are under way at each cut. */
static void test_second_tasks(void **arg)
{
	(void)arg;
	assert_in_range(check(early(400, 3, 0, 1), 0.2), 40, UINT32_MAX);
	assert_in_range(check(early(400, ROOM, ROOM, 1), 0.2), 40, UINT32_MAX); /* of different length, with room for each */
	assert_in_range(check(early(400, ROOM, EXACT, 1), 0.2), 40, UINT32_MAX);
}

/* The usual number under way if rank 1 receives messages of two lengths by this call, each into room for it alone. */
static uint32_t lag_of(const char *fn)
{
	static const int64_t slot[] = {0};
	struct syn *s = syn_create(2);
	bool waits = fn[4] == 'I';
	/* Rank 0 has sent one message more than rank 1 has received. */
	uint64_t at[] = {2, 1, 3, waits ? 3 : 2};
	const struct cuts places = {.n = 2, .n_ranks = 2, .at = at};
	struct under_way u;
	struct errbuf err;
	struct trace *t;
	uint32_t lag = 0;

	syn_begin(s);
	for (int64_t n = 1; n <= 2; n++) {
		syn_call(s, 0, "MPI_Send", 30, SYN(.dst = 1, .tag = 1, .count = n));
		syn_call(s, 1, fn, 31, SYN(.dst = TRACE_PROC_NULL, .src = 0, .tag = 1, .count = n, .req = 0));
		if (waits)
			syn_call(s, 1, "MPI_Wait", 32, SYN(.reqs = slot, .n_reqs = 1));
	}
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(under_way_find(t, &places, &u, &err), 0);
	for (uint32_t i = 0; i < u.n; i++)
		lag += u.channel[i].lag;
	under_way_free(&u);
	trace_close(t);
	syn_destroy(s);
	return lag;
}

/* A buffer that is sent, too, cannot have more room. */
static void test_replaced(void **arg)
{
	(void)arg;
	assert_int_equal(lag_of("MPI_Sendrecv"), 1);
	assert_int_equal(lag_of("MPI_Isendrecv"), 1);
	assert_int_equal(lag_of("MPI_Sendrecv_replace"), 0);
	assert_int_equal(lag_of("MPI_Isendrecv_replace"), 0);
}

static void test_scattered_messages(void **arg)
{
	uint32_t cuts = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 20; seed++)
		cuts += check(scattered(3000, 1 + seed % 4, seed % 2 == 0 ? ROOM : EXACT, seed), 0.2);
	assert_in_range(cuts, 20, UINT32_MAX);
}

/* The skeleton of such a farm is as short as was asked for, and cannot deadlock. */
static void farm_check(int64_t count, int64_t room)
{
	struct syn *s = early(3000, count, room, 5);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.1 * trace_get_rank(t, 0)->wall_ns * 1e-9};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};

	if (skel_understand_pieces(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_non_null(stages.excerpt);
	if (stages.plan.predicted_s > SKEL_WITHIN * budget.seconds)
		fail_msg("%g s are planned, %g s were asked for", stages.plan.predicted_s, budget.seconds);
	assert_int_equal(stages.match.unreceived + stages.match.oddities, 0);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

static void test_farm_is_short(void **arg)
{
	(void)arg;
	farm_check(3, 0);
	farm_check(ROOM, EXACT);
}

/* Two messages wait now for one worker, now for the other. None wait only before the first one: that is not usual. */
static void test_what_is_usual_occurs_again(void **arg)
{
	enum { ROUNDS = 10, PLACES = 2 * ROUNDS + 1, N = 3 };
	struct syn *s = syn_create(N);
	struct under_way found;
	uint64_t at[PLACES * N] = {1, 1, 1};
	const struct cuts places = {.n = PLACES, .n_ranks = N, .at = at};
	struct errbuf err = {{0}};
	struct trace *t;

	(void)arg;
	syn_begin(s);
	for (uint32_t i = 0; i < ROUNDS; i++) {
		uint64_t *a = &at[(2 * i + 1) * N], *b = a + N;

		for (uint32_t k = 0; k < 4; k++) {
			syn_call(s, 0, "MPI_Send", 1, SYN(.dst = 1 + k / 2, .count = 1));
			syn_call(s, 1 + k / 2, "MPI_Recv", 2, SYN(.src = 0, .asrc = 0, .count = 1));
		}
		a[0] = 1 + 4 * i + 2;
		a[1] = a[2] = b[2] = 1 + 2 * i;
		b[0] = 1 + 4 * i + 4;
		b[1] = 1 + 2 * i + 2;
	}
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(under_way_find(t, &places, &found, &err), 0);
	assert_true(found.any);
	assert_int_equal(found.n, 2);
	assert_int_equal(found.channel[0].lag + found.channel[1].lag, 2);
	under_way_free(&found);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_second_tasks), cmocka_unit_test(test_replaced),
		cmocka_unit_test(test_scattered_messages),
		cmocka_unit_test(test_farm_is_short),
		cmocka_unit_test(test_what_is_usual_occurs_again),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
