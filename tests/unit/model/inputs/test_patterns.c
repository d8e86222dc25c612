/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Patterns of calls against simulated runs: what every call of a run becomes from its values alone is compared with what it
 * was, here by the simulation's own record; and what follows no rule is refused with the reason.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "model/inputs/pattern.h"
#include "model/inputs/predicted_comms.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

static struct trace *open_it(struct syn *s)
{
	struct trace *t = syn_open(s);

	syn_destroy(s);
	return t;
}

static void learn(struct pattern_set *set, struct trace *const *t, uint32_t n)
{
	struct errbuf err = {""};

	if (patterns_learn(set, t, n, &err) < 0)
		fail_msg("%s", err.text);
}

/* Why the first pattern of that function is refused; NULL when it is not. */
static const char *why(const struct pattern_set *set, const char *fn)
{
	for (uint32_t i = 0; i < set->n; i++)
		if (!strcmp(trace_fn[set->pattern[i].fn].name, fn))
			return set->pattern[i].why;
	fail_msg("there is no %s", fn);
	return NULL;
}

/* Calls of a rank of a run anew, from their values alone and the symbols that there are; how many came out right. */
static uint64_t replay(struct pattern_set *set, const struct trace *t, uint32_t rank)
{
	static int64_t val[PATTERN_VALUES], made[PATTERN_VALUES];
	const struct trace_rank *r = trace_get_rank(t, rank);
	struct pattern_map map;
	struct folded_iter it;
	struct pattern_play p;
	uint64_t right = 0;
	uint32_t sym;

	assert_int_equal(pattern_map_make(set, &r->defs, &map), 0);
	assert_int_equal(pattern_play_begin(&p, set, trace_n_ranks(t)), 0);
	folded_begin(&it, &r->events);
	while (folded_next(&it, &sym)) {
		int64_t value[CALL_VALUES];
		struct call_view v;
		const char *reason;
		uint32_t k, n;

		call_view(&r->defs, sym, &v);
		k = pattern_find(set, v.name, strlen(v.name));
		assert_int_not_equal(k, PATTERN_NONE);
		for (uint32_t i = 0; i < v.n; i++)
			value[i] = v.value[i].v;
		n = pattern_play_make(&p, k, value, made, &reason);
		if (reason)
			fail_msg("%s %s", v.name, reason);
		right += n == pattern_values(&r->defs, sym, &map, val) && !memcmp(val, made, n * sizeof(*val));
		assert_int_equal(pattern_play_made(&p, k, made), 0);
	}
	pattern_play_end(&p);
	pattern_map_free(&map);
	return right;
}

/* Patterns of two runs make the calls of a third one, which has other ranks. */
static void test_runs(void **state)
{
	struct trace *t[3];
	struct pattern_set set;

	(void)state;
	for (int what = 0; what < 6; what++) {
		for (uint32_t k = 0; k < 3; k++)
			t[k] = open_it(what == 0   ? syn_stencil(2 + k, 3, 5 + k, SYN_PROC_NULL)
				       : what == 1 ? syn_wavefront(2 + k, 2, 4 + k, 3)
				       : what == 2 ? syn_ring(2 + k, 7 + k)
				       : what == 3 ? syn_pipeline(3 + k, 5)
				       : what == 4 ? syn_graph(6 + k, 4, 5, 17 + k)
						   : syn_reneighbour(3 + k, 60, 20));
		learn(&set, t, 2);
		for (uint32_t i = 0; i < set.n; i++)
			if (set.pattern[i].why)
				fail_msg("program %d: %s %s", what, set.pattern[i].name, set.pattern[i].why);
		for (uint32_t r = 0; r < trace_n_ranks(t[2]); r++)
			assert_int_equal(replay(&set, t[2], r), trace_get_rank(t[2], r)->events.length);
		patterns_free(&set);
		for (uint32_t k = 0; k < 3; k++)
			trace_close(t[k]);
	}
}

/* Where a message came from is one of a call's values: that it follows a rule is for the model to say. */
static void test_wildcards(void **state)
{
	struct trace *t = open_it(syn_master_worker(4, 40, 7));
	struct pattern_set set;

	(void)state;
	learn(&set, &t, 1);
	for (uint32_t i = 0; i < set.n; i++)
		assert_null(set.pattern[i].why);
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		assert_int_equal(replay(&set, t, r), trace_get_rank(t, r)->events.length);
	patterns_free(&set);
	trace_close(t);
}

/* A barrier among the symbols of a rank that makes none. */
static void name_barrier(struct sigtable *sigs)
{
	const int64_t world = 0;
	uint16_t fn = 0;

	while (strcmp(trace_fn[fn].name, "MPI_Barrier"))
		fn++;
	assert_int_not_equal(sigtable_intern(sigs, fn, 0, &world, 1), UINT32_MAX);
}

/* Requests that two calls complete in turns, windows, counts for ranks, calls that are never made. */
static void test_refused(void **state)
{
	static const int64_t uneven[] = {5, 1, 2}, even[] = {3, 3, 2}, one[] = {0}, two[] = {1};
	struct syn *s = syn_create(3);
	struct pattern_set set;
	struct trace *t;

	(void)state;
	syn_begin(s);
	for (uint32_t r = 0; r < 3; r++) {
		syn_win(s, r, 0, 64);
		syn_call(s, r, "MPI_Alltoallv", 1, SYN(.counts = uneven, .n_counts = 3));
		syn_call(s, r, "MPI_Allgatherv", 2, SYN(.counts = even, .n_counts = 3));
		syn_call(s, r, "MPI_Win_fence", 3, SYN(.win = 0));
		syn_call(s, r, "MPI_Iprobe", 4, SYN(.src = 1));
		for (int k = 0; k < 2; k++) {
			syn_call(s, r, "MPI_Isend", 5, SYN(.dst = (r + 1) % 3, .req = 0));
			syn_call(s, r, "MPI_Isend", 6, SYN(.dst = (r + 1) % 3, .req = 1));
			syn_call(s, r, "MPI_Wait", 7, SYN(.reqs = k ? one : two, .n_reqs = 1));
			syn_call(s, r, "MPI_Wait", 8, SYN(.reqs = k ? two : one, .n_reqs = 1));
		}
	}
	syn_end(s);
	name_barrier(&s->rank[1].defs.sigs);
	t = open_it(s);
	learn(&set, &t, 1);
	assert_string_equal(why(&set, "MPI_Barrier"), "is never called in the given traces");
	assert_string_equal(why(&set, "MPI_Alltoallv"), "has counts for ranks that follow no rule in the traces");
	assert_null(why(&set, "MPI_Allgatherv"));
	assert_string_equal(why(&set, "MPI_Win_fence"), "uses a window that is made in different places, or was not made");
	assert_string_equal(why(&set, "MPI_Iprobe"), "looks for messages, and which there are is not predicted");
	assert_string_equal(why(&set, "MPI_Wait"), "uses requests that follow no rule in the traces");
	assert_null(why(&set, "MPI_Isend"));
	patterns_free(&set);
	trace_close(t);
}

/* Communicators by those who use them, numbered as they come and go. */
static void test_comms(void **state)
{
	struct trace *t = open_it(syn_cg(2, 2, 3));
	struct pattern_set set;
	struct predicted_comms c;
	struct predicted_members m = {0};
	struct errbuf err = {""};
	struct pattern_play p = {0};

	(void)state;
	learn(&set, &t, 1);
	for (uint32_t rank = 0; rank < 4; rank++) {
		predicted_comms_begin(&c, &set, rank, 4);
		predicted_comms_listen(&c, &p);
		for (int k = 0; k < 3; k++)
			assert_int_equal(p.make_comm(p.arg, 0), 2 + k);
		assert_int_equal(p.use_comm(p.arg, 2, 2, rank & 2, 1), 0);
		assert_int_equal(p.use_comm(p.arg, 2, 2, rank & 2, 1), 0);
		assert_int_equal(p.use_comm(p.arg, 2, 2, 1, 2), -1);
		assert_int_equal(p.use_comm(p.arg, 3, 4, 1, 1), -1);
		assert_int_equal(p.use_comm(p.arg, 3, 4, 0, 1), 0);
		p.free_comm(p.arg, 2);
		assert_int_equal(p.use_comm(p.arg, 4, 1, rank, CALL_MISSING), 0);
		assert_int_equal(p.make_comm(p.arg, 0), 5);
		assert_int_equal(p.use_comm(p.arg, 5, 2, rank & 2, 1), 0);
		assert_int_equal(predicted_comms_number(&c, &err), 0);
		assert_int_equal(c.made[0].index, 2);
		assert_int_equal(c.made[1].index, 3);
		assert_int_equal(c.made[2].index, 4);
		assert_int_equal(c.made[3].index, 2); /* the same members, and the first was freed */
		assert_int_equal(c.n_comm, 5);
		assert_int_equal(c.comm[3].ordinal, 1); /* beside the world */
		assert_int_equal(c.comm[4].ordinal, 1); /* beside self */
		assert_int_equal(predicted_members_add(&m, &c, &err), 0);
		if (rank == 2)
			assert_int_equal(predicted_members_check(&m, &err), -1);
		predicted_comms_free(&c);
	}
	assert_int_equal(predicted_members_check(&m, &err), 0);
	predicted_members_free(&m);
	patterns_free(&set);
	trace_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_runs),
	    cmocka_unit_test(test_wildcards),
	    cmocka_unit_test(test_refused),
	    cmocka_unit_test(test_comms),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests_name("tests", tests, NULL, NULL);
}
