/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A master has receives from any rank open and completes any of them. Excerpts of such a run post and complete in a right order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pieces/pieces.h"
#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"
#include "trace/messages/messages.h"

enum { OPEN = 6, RANKS = 4, TASKS = 3000, CALL_NS = 1500 };

/* The receives of rank 0 in the order in which they were posted. */
struct queue {
	int64_t slot[OPEN];
	uint32_t n;
};

static void queue_take(struct queue *q, uint32_t at)
{
	memmove(&q->slot[at], &q->slot[at + 1], (--q->n - at) * sizeof *q->slot);
}

/* Rank 0 completes the receive `at` of the queue, which has the worker's answer, posts the receive again, and answers. */
static void complete(struct syn *s, struct queue *q, uint32_t at, int64_t worker, bool again)
{
	int64_t slot = q->slot[at], tag = 0;

	syn_call(s, 0, "MPI_Waitall", 11, SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &worker, .atags = &tag));
	queue_take(q, at);
	if (again) {
		syn_call(s, 0, "MPI_Irecv", 12, SYN(.src = TRACE_ANY_SOURCE, .count = 2, .req = slot));
		q->slot[q->n++] = slot;
	}
	syn_call(s, 0, "MPI_Send", 13, SYN(.dst = worker, .count = 1));
}

/* The answers of one or two workers come; of two, rank 0 takes the second one first. All clocks agree: a call takes CALL_NS. */
static struct syn *program(uint64_t seed, int64_t slots_apart)
{
	struct syn *s = syn_create(RANKS);
	struct queue q = {.n = 0};
	uint64_t now[RANKS] = {0};
	uint32_t posted = OPEN;

	syn_begin(s);
	for (; q.n < OPEN; q.n++) {
		q.slot[q.n] = q.n * slots_apart;
		syn_call(s, 0, "MPI_Irecv", 10, SYN(.src = TRACE_ANY_SOURCE, .count = 2, .req = q.slot[q.n]));
		now[0] += CALL_NS;
	}
	for (uint32_t k = 0; k < TASKS;) {
		uint32_t n = k + 2 <= TASKS ? 1 + (uint32_t)(syn_random(&seed) % 2) : 1;
		uint32_t first = 1 + (uint32_t)(syn_random(&seed) % (RANKS - 1)), second = 1 + first % (RANKS - 1);
		uint32_t worker[2] = {first, second};

		for (uint32_t i = 0; i < n; i++) {
			uint64_t *w = &now[worker[i]], waits = now[0] > *w ? now[0] - *w : 0;

			syn_call(s, worker[i], "MPI_Send", 20, SYN(.dst = 0, .count = 2, .gap_ns = 1000 + waits));
			*w += waits + CALL_NS;
		}
		for (uint32_t i = n; i-- > 0; k++) {
			bool again = posted < TASKS;

			complete(s, &q, i, worker[i], again);
			posted += again;
			now[0] += (again ? 3 : 2) * CALL_NS;
			syn_call(s, worker[i], "MPI_Recv", 21, SYN(.src = 0, .count = 1));
			now[worker[i]] += CALL_NS;
		}
	}
	syn_end(s);
	return s;
}

static int64_t completed(const struct trace_defs *d, uint32_t sym)
{
	struct sig_walk w;

	sig_walk_begin(&w, d, sym);
	while (sig_walk_next(&w))
		if (w.kind == TK_DONE && w.n == 1)
			return w.val[0];
	return TRACE_NULL;
}

/* A message goes to the receive that was posted first. So each call completes the first or the second receive of the queue, and
 * if it was the second, the next call completes the first. */
static void assert_order(const struct trace *t)
{
	const struct trace_rank *k = trace_get_rank(t, 0);
	struct queue q = {.n = 0};
	struct folded_iter it;
	bool first_next = false;
	uint32_t sym, taken = 0;

	folded_begin(&it, &k->events);
	while (folded_next(&it, &sym)) {
		int64_t post = sig_scalar(&k->defs, sym, TK_NEWREQ, TRACE_NULL), done = completed(&k->defs, sym);
		uint32_t at = 0;

		if (post >= 0) {
			assert_in_range(q.n, 0, OPEN - 1);
			for (uint32_t i = 0; i < q.n; i++)
				assert_int_not_equal(q.slot[i], post);
			q.slot[q.n++] = post;
		}
		if (done < 0)
			continue;
		at = q.n > 0 && q.slot[0] == done ? 0 : 1;
		assert_true(at < q.n && q.slot[at] == done && !(first_next && at == 1));
		first_next = at == 1;
		queue_take(&q, at);
		taken++;
	}
	assert_true(taken > 0);
	assert_int_equal(q.n, 0);
}

static int ignore(const struct trace_message *m, void *arg)
{
	(void)m;
	(void)arg;
	return 0;
}

static void check(uint64_t seed, int64_t slots_apart, uint32_t least, uint32_t most)
{
	struct syn *s = program(seed, slots_apart);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.2e-9 * trace_get_rank(t, 0)->wall_ns};
	struct skel_stages stages = {.excerpt = NULL};
	struct trace_messages_report report;
	struct errbuf err = {{0}};

	assert_order(t);
	if (skel_understand_pieces(t, &budget, &stages, &err) != 0)
		fail_msg("seed %u: %s", (unsigned)seed, err.text);
	assert_in_range(stages.pieces.n, least, most);
	assert_order(stages.excerpt);
	assert_int_equal(trace_messages(stages.excerpt, ignore, NULL, &report, &err), 0);
	assert_int_equal(report.unmatched_sends + report.unmatched_receives, 0);
	assert_int_equal(stages.match.unreceived + stages.match.oddities, 0);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

/* The budget is 40 pieces. */
static void test_any_order(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= 10; seed++)
		check(seed, 1, 20, 60);
}

/* Slots that no tracer numbers so keep their names: there are fewer cuts, and no table of all slots. */
static void test_slots_far_apart(void **arg)
{
	(void)arg;
	check(1, 100000, 1, 19);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_any_order), cmocka_unit_test(test_slots_far_apart)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
