/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Runs with sends open all the time: they are cut, and the sends that a piece leaves open are completed in the next one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"
#include "trace/messages/messages.h"

enum { RANKS = 4, OPEN = 6, SLOTS = OPEN + 2, STEPS = 1000, SEEDS = 2, CALL_NS = 1500 };

static void barriers(struct syn *s, uint64_t *seed)
{
	for (uint64_t k = syn_random(seed) % 5; k > 0; k--)
		for (uint32_t r = 0; r < RANKS; r++)
			syn_call(s, r, "MPI_Barrier", 10, SYN(.gap_ns = 5000));
}

static void wait_for(struct syn *s, uint32_t rank, int64_t slot)
{
	syn_call(s, rank, "MPI_Wait", 13, SYN(.reqs = &slot, .n_reqs = 1));
}

static void receive(struct syn *s, uint32_t rank, uint32_t shift, int64_t count)
{
	syn_call(s, rank, "MPI_Recv", 12, SYN(.src = (rank + RANKS - shift) % RANKS, .count = count));
}

/* A send is completed one step later. */
static struct syn *two_buffers(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t t = 0; t <= STEPS; t++) {
		uint32_t shift = 1 + (uint32_t)(syn_random(&seed) % (RANKS - 1));
		int64_t count = 1 + (int64_t)(syn_random(&seed) % 50);

		barriers(s, &seed);
		for (uint32_t r = 0; r < RANKS; r++) {
			if (t < STEPS) {
				syn_call(s, r, "MPI_Isend", 11, SYN(.dst = (r + shift) % RANKS, .count = count, .req = t % 2));
				receive(s, r, shift, count);
			}
			if (t > 0)
				wait_for(s, r, (t + 1) % 2);
		}
	}
	syn_end(s);
	return s;
}

/* Rank 0 has a send to each rank open. It completes the one of a rank that then receives its message. All clocks agree: a call
 * takes CALL_NS. */
static struct syn *under_way(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t w = 1; w < RANKS; w++)
		syn_call(s, 0, "MPI_Isend", 11, SYN(.dst = w, .count = 1, .req = w - 1));
	for (uint32_t t = 0; t < STEPS; t++) {
		uint32_t w = 1 + (uint32_t)(syn_random(&seed) % (RANKS - 1));

		barriers(s, &seed);
		wait_for(s, 0, w - 1);
		syn_call(s, 0, "MPI_Isend", 11, SYN(.dst = w, .count = 1, .req = w - 1));
		receive(s, w, w, 1);
		for (uint32_t r = 0; r < RANKS; r++)
			syn_call(s, r, "MPI_Barrier", 10, SYN(.gap_ns = 5000 + (r == 0 ? 0 : r == w ? 1 : 2) * CALL_NS));
	}
	for (uint32_t w = 1; w < RANKS; w++) {
		wait_for(s, 0, w - 1);
		receive(s, w, w, 1);
	}
	syn_end(s);
	return s;
}

static void closed_step(struct syn *s, uint64_t *seed)
{
	uint32_t shift = 1 + (uint32_t)(syn_random(seed) % (RANKS - 1));

	barriers(s, seed);
	for (uint32_t r = 0; r < RANKS; r++)
		syn_call(s, r, "MPI_Isend", 11, SYN(.dst = (r + shift) % RANKS, .count = 1, .req = 0));
	for (uint32_t r = 0; r < RANKS; r++)
		receive(s, r, shift, 1);
	for (uint32_t r = 0; r < RANKS; r++)
		wait_for(s, r, 0);
}

/* Of the open sends, any one is completed, and its slot is the next send's. */
static void any_order_step(struct syn *s, uint32_t t, uint64_t *seed)
{
	uint32_t shift = 1 + (uint32_t)(syn_random(seed) % (RANKS - 1));

	barriers(s, seed);
	for (uint32_t r = 0; r < RANKS; r++) {
		int64_t slot = t < OPEN ? t : (int64_t)(syn_random(seed) % OPEN);

		if (t >= OPEN)
			wait_for(s, r, slot);
		syn_call(s, r, "MPI_Isend", 11, SYN(.dst = (r + shift) % RANKS, .count = 1, .req = slot));
	}
	for (uint32_t r = 0; r < RANKS; r++)
		receive(s, r, shift, 1);
}

static void any_order_end(struct syn *s)
{
	for (uint32_t r = 0; r < RANKS; r++)
		for (int64_t slot = 0; slot < OPEN; slot++)
			wait_for(s, r, slot);
	syn_end(s);
}

static struct syn *any_order(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t t = 0; t < STEPS; t++)
		any_order_step(s, t, &seed);
	any_order_end(s);
	return s;
}

/* The same with a receive that is open, too. A collective is under way for most of the run. */
static struct syn *partly_cut(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);
	const int64_t collective = OPEN, receive = OPEN + 1;

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++)
		syn_call(s, r, "MPI_Ibarrier", 17, SYN(.req = collective));
	for (uint32_t t = 0; t < STEPS; t++) {
		any_order_step(s, t, &seed);
		for (uint32_t r = 0; t == 0 && r < RANKS; r++)
			syn_call(s, r, "MPI_Irecv", 18, SYN(.src = (r + 1) % RANKS, .tag = 9, .count = 1, .req = receive));
		for (uint32_t r = 0; t == STEPS * 4 / 5 && r < RANKS; r++)
			wait_for(s, r, collective);
	}
	for (uint32_t r = 0; r < RANKS; r++)
		syn_call(s, r, "MPI_Send", 19, SYN(.dst = (r + RANKS - 1) % RANKS, .tag = 9, .count = 1));
	for (uint32_t r = 0; r < RANKS; r++)
		wait_for(s, r, receive);
	any_order_end(s);
	return s;
}

/* Steps that leave nothing open, steps with open sends, and again such steps. */
static struct syn *in_parts(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t t = 0; t < STEPS; t++)
		closed_step(s, &seed);
	for (uint32_t t = 0; t < STEPS; t++)
		any_order_step(s, t, &seed);
	for (uint32_t r = 0; r < RANKS; r++)
		for (int64_t slot = 0; slot < OPEN; slot++)
			wait_for(s, r, slot);
	for (uint32_t t = 0; t < STEPS / 4; t++)
		closed_step(s, &seed);
	syn_end(s);
	return s;
}

/* The send of the step before is completed before it starts again. */
static struct syn *persistent(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);
	const int64_t slot = 3;

	syn_begin(s);
	for (uint32_t r = 0; r < RANKS; r++)
		syn_call(s, r, "MPI_Send_init", 14, SYN(.dst = (r + 1) % RANKS, .count = 5, .req = slot));
	for (uint32_t t = 0; t <= STEPS; t++) {
		barriers(s, &seed);
		for (uint32_t r = 0; r < RANKS; r++) {
			if (t > 0)
				wait_for(s, r, slot);
			if (t < STEPS)
				syn_call(s, r, "MPI_Start", 15, SYN(.req = slot));
			if (t < STEPS)
				receive(s, r, 1, 5);
		}
	}
	for (uint32_t r = 0; r < RANKS; r++)
		syn_call(s, r, "MPI_Request_free", 16, SYN(.req = slot));
	syn_end(s);
	return s;
}

/* Sends that are freed and not completed. */
static struct syn *freed(uint64_t seed)
{
	struct syn *s = syn_create(RANKS);

	syn_begin(s);
	for (uint32_t t = 0; t < STEPS; t++) {
		barriers(s, &seed);
		for (uint32_t r = 0; r < RANKS; r++) {
			syn_call(s, r, "MPI_Isend", 11, SYN(.dst = (r + 1) % RANKS, .count = 5, .req = 1));
			syn_call(s, r, "MPI_Request_free", 16, SYN(.req = 1));
			receive(s, r, 1, 5);
		}
	}
	syn_end(s);
	return s;
}

/* A request starts in a free slot, a wait completes an open one, and in the end none is open. A freed one is open or persistent. */
static void assert_requests(const struct trace_rank *k)
{
	bool open[SLOTS] = {false}, persistent[SLOTS] = {false};
	struct folded_iter it;
	uint32_t sym;

	folded_begin(&it, &k->events);
	while (folded_next(&it, &sym)) {
		const char *name = trace_fn[k->defs.sigs.sig[sym].fn].name;
		bool starts = strncmp(name, "MPI_I", 5) == 0 || strcmp(name, "MPI_Start") == 0;
		bool completes = strcmp(name, "MPI_Wait") == 0, frees = strcmp(name, "MPI_Request_free") == 0;
		struct sig_walk w;

		sig_walk_begin(&w, &k->defs, sym);
		while (sig_walk_next(&w))
			if (starts ? w.kind == TK_NEWREQ || w.kind == TK_REQ : completes && w.kind == TK_DONE) {
				assert_int_equal(w.n, 1);
				assert_true(w.val[0] < SLOTS && open[w.val[0]] == completes);
				open[w.val[0]] = starts;
			} else if (frees && w.kind == TK_REQ) {
				assert_true(w.val[0] < SLOTS && (open[w.val[0]] || persistent[w.val[0]]));
				open[w.val[0]] = false;
			} else if (w.kind == TK_NEWREQ) {
				persistent[w.val[0]] = true;
			}
	}
	for (uint32_t i = 0; i < SLOTS; i++)
		assert_false(open[i]);
}

static int ignore(const struct trace_message *m, void *arg)
{
	(void)m;
	(void)arg;
	return 0;
}

/* The skeleton of these pieces cannot deadlock, also where no message is buffered. */
static void check(struct syn *(*program)(uint64_t seed), uint64_t seed)
{
	struct syn *s = program(seed);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.2e-9 * trace_get_rank(t, 0)->wall_ns};
	struct skel_stages stages = {.excerpt = NULL};
	struct trace_messages_report report;
	struct errbuf err = {{0}};

	if (skel_understand_pieces(t, &budget, &stages, &err) != 0)
		fail_msg("seed %u: %s", (unsigned)seed, err.text);
	assert_in_range(stages.pieces.n, 20, 60); /* the budget is 40 pieces */
	assert_true(stages.pieces.left_share < 0.1);
	assert_true(stages.plan.predicted_s <= SKEL_WITHIN * budget.seconds);
	assert_int_equal(trace_messages(stages.excerpt, ignore, NULL, &report, &err), 0);
	assert_int_equal(report.unmatched_sends + report.unmatched_receives + report.incomplete, 0);
	assert_int_equal(stages.match.unreceived + stages.match.oddities, 0);
	assert_int_equal(stages.buffered.n, 0);
	for (uint32_t r = 0; r < RANKS; r++)
		assert_requests(trace_get_rank(stages.excerpt, r));
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

static void test_two_buffers(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(two_buffers, seed);
}

static void test_any_order(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(any_order, seed);
}

/* What is open at the cuts differs from part to part. */
static void test_in_parts(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(in_parts, seed);
}

/* Here more cuts are found where no messages are under way. The excerpt is written for these cuts. */
static void test_partly_cut(void **arg)
{
	struct syn *s = partly_cut(1);
	struct trace *t = syn_open(s), *excerpt;
	double seconds = 0.2e-9 * trace_get_rank(t, 0)->wall_ns;
	struct errbuf err = {{0}};
	struct pieces p;
	struct survey v;

	(void)arg;
	if (survey_make(t, seconds, &v, &err) != 0 || pieces_choose(&v, seconds, UINT64_MAX, &p, &err) != 0 ||
	    pieces_excerpt(&v, &p, &excerpt, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(v.roles[0].any_slots && !v.roles[0].under_way);
	assert_in_range(v.cuts.n, 20, v.segments.n);
	for (uint32_t r = 0; r < RANKS; r++)
		assert_requests(trace_get_rank(excerpt, r));
	trace_close(excerpt);
	pieces_free(&p);
	survey_free(&v);
	trace_close(t);
	syn_destroy(s);
}

/* Where loops of the excerpt are cut, each send is completed, too. */
static void test_loops_are_closed(void **arg)
{
	uint32_t cut = 0;

	(void)arg;
	for (uint64_t seed = 1; seed <= 12; seed++) {
		struct syn *s = two_buffers(seed);
		struct trace *t = syn_open(s);
		const struct skel_budget budget = {.seconds = (double)seed * 0.0005e-9 * trace_get_rank(t, 0)->wall_ns};
		struct skel_stages stages = {.excerpt = NULL};
		struct errbuf err = {{0}};

		if (skel_understand_pieces(t, &budget, &stages, &err) != 0)
			fail_msg("seed %u: %s", (unsigned)seed, err.text);
		assert_int_equal(stages.match.left, 0);
		cut += stages.plan.n_cut > 0;
		skel_stages_free(&stages);
		trace_close(t);
		syn_destroy(s);
	}
	assert_true(cut > 0);
}

/* The message of the open send is under way, too: the send waits for its receiver. */
static void test_under_way(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(under_way, seed);
}

static void test_persistent(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(persistent, seed);
}

static void test_freed(void **arg)
{
	(void)arg;
	for (uint64_t seed = 1; seed <= SEEDS; seed++)
		check(freed, seed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_two_buffers),
		cmocka_unit_test(test_any_order),
		cmocka_unit_test(test_in_parts),
		cmocka_unit_test(test_partly_cut),
		cmocka_unit_test(test_loops_are_closed),
		cmocka_unit_test(test_under_way),
		cmocka_unit_test(test_persistent),
		cmocka_unit_test(test_freed),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
