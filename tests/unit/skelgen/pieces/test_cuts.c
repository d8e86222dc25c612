/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Calls in which ranks wait for each other are on one side of each cut, also where the calls have no message. Ranks are late at
 * a cut as the run has it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#include "skelgen/pieces/pieces.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

#define SECONDS 0.002 /* wanted of pieces: a tenth of the simulated runs or less */

struct cut_run {
	struct syn *s;
	struct trace *t;
	struct survey v;
};

static void set_up(struct cut_run *f, struct syn *s)
{
	struct errbuf err = {{0}};

	f->s = s;
	f->t = syn_open(s);
	if (survey_make(f->t, SECONDS, &f->v, &err) != 0)
		fail_msg("the run is not cut: %s", err.text);
}

static void tear_down(struct cut_run *f)
{
	survey_free(&f->v);
	trace_close(f->t);
	syn_destroy(f->s);
}

/* Both ranks make a communicator together and free it; the call returns later on rank 1. */
static struct syn *makers(const char *make, bool inter, uint32_t steps, uint64_t seed)
{
	struct syn *s = syn_create(2);
	const int64_t from = inter ? 1 : 0;
	int64_t made[2];

	for (uint32_t r = 0; r < 2; r++) {
		struct trace_comm *c;

		made[r] = syn_comm(s, r, inter ? &r : (const uint32_t[]){0, 1}, inter ? 1 : 2);
		c = &s->rank[r].defs.comm[made[r]];
		c->ordinal = inter ? 0 : 1;
		if (!inter)
			continue;
		c->kind = TCOMM_INTER;
		assert_non_null(c->remote.rank = malloc(sizeof *c->remote.rank));
		c->remote.rank[0] = 1 - r;
		c->remote.n = 1;
	}
	syn_begin(s);
	for (uint32_t t = 0; t < steps; t++) {
		uint32_t inner = (uint32_t)(syn_random(&seed) % 5);

		for (uint32_t r = 0; r < 2; r++) {
			for (uint32_t i = 0; i < inner; i++)
				syn_call(s, r, "MPI_Allreduce", 20, SYN(.count = 1));
			syn_call(s, r, make, 21, SYN(.comm = from, .newcomm = made[r], .gap_ns = 1000, .dur_ns = r == 0 ? 500 : 9500));
			syn_call(s, r, "MPI_Comm_free", 22, SYN(.comm = made[r], .gap_ns = r == 0 ? 10000 : 1000));
		}
	}
	syn_end(s);
	return s;
}

static uint64_t calls_before(const struct trace *t, uint32_t rank, uint64_t end, int fn)
{
	const struct trace_rank *k = trace_get_rank(t, rank);
	struct folded_iter it;
	uint64_t n = 0;
	uint32_t sym;

	folded_begin(&it, &k->events);
	for (uint64_t e = 0; e < end && folded_next(&it, &sym); e++)
		n += k->defs.sigs.sig[sym].fn == fn;
	return n;
}

/* A rank that is in the call before a cut waits for a rank that would wait for all others at the cut. */
static void test_making_is_not_parted(void **arg)
{
	static const struct {
		const char *name;
		int fn;
		bool inter;
	} make[] = {{"MPI_Comm_create_group", FN_MPI_Comm_create_group, false}, {"MPI_Intercomm_create", FN_MPI_Intercomm_create, true}};

	(void)arg;
	for (size_t m = 0; m < sizeof make / sizeof *make; m++) {
		struct cut_run f;

		set_up(&f, makers(make[m].name, make[m].inter, 2000, 7));
		assert_in_range(f.v.cuts.n, 100, UINT32_MAX);
		for (uint32_t k = 0; k < f.v.cuts.n; k++)
			assert_int_equal(calls_before(f.t, 0, f.v.cuts.at[2 * k], make[m].fn),
					 calls_before(f.t, 1, f.v.cuts.at[2 * k + 1], make[m].fn));
		tear_down(&f);
	}
}

/* Rank 0 puts data on rank 1, which is held up in MPI_Win_post until rank 0 has completed its epoch. */
static struct syn *exposed(uint32_t steps, uint64_t seed)
{
	struct syn *s = syn_create(2);
	static const int64_t peer[2][1] = {{1}, {0}};

	for (uint32_t r = 0; r < 2; r++)
		syn_win(s, r, 0, 800);
	syn_begin(s);
	for (uint32_t t = 0; t < steps; t++) {
		uint32_t inner = (uint32_t)(syn_random(&seed) % 5);

		for (uint32_t r = 0; r < 2; r++)
			for (uint32_t i = 0; i < inner; i++)
				syn_call(s, r, "MPI_Allreduce", 30, SYN(.count = 1));
		syn_call(s, 0, "MPI_Win_start", 31, SYN(.ints = peer[0], .n_ints = 1));
		syn_call(s, 0, "MPI_Win_complete", 32, SYN(.count = 0));
		syn_call(s, 1, "MPI_Win_post", 33, SYN(.ints = peer[1], .n_ints = 1, .dur_ns = 9500));
		syn_call(s, 1, "MPI_Win_wait", 34, SYN(.count = 0));
		syn_call(s, 0, "MPI_Barrier", 35, SYN(.gap_ns = 10000));
		syn_call(s, 1, "MPI_Barrier", 35, SYN(.gap_ns = 1000));
	}
	syn_end(s);
	return s;
}

/* A rank that has completed its epoch before a cut has waited for a rank that posted its window before the cut. */
static void test_exposed_windows(void **arg)
{
	struct cut_run f;

	(void)arg;
	set_up(&f, exposed(2000, 7));
	assert_in_range(f.v.cuts.n, 50, UINT32_MAX);
	for (uint32_t k = 0; k < f.v.cuts.n; k++)
		assert_int_equal(calls_before(f.t, 0, f.v.cuts.at[2 * k], FN_MPI_Win_complete),
				 calls_before(f.t, 1, f.v.cuts.at[2 * k + 1], FN_MPI_Win_post));
	tear_down(&f);
}

/* In each phase rank 1 works five times as long as rank 0, which has closed its epoch meanwhile and waits. */
static struct syn *closed_early(uint32_t phases, uint32_t flushes, bool all)
{
	const char *lock = all ? "MPI_Win_lock_all" : "MPI_Win_lock";
	const char *unlock = all ? "MPI_Win_unlock_all" : "MPI_Win_unlock";
	struct syn *s = syn_create(2);

	for (uint32_t r = 0; r < 2; r++)
		syn_win(s, r, 0, 800);
	syn_begin(s);
	for (uint32_t p = 0; p < phases; p++)
		for (uint32_t r = 0; r < 2; r++) {
			uint32_t n = r == 0 ? flushes : 5 * flushes;

			syn_call(s, r, lock, 40, SYN(.dst = 0, .integer = TLOCK_SHARED));
			for (uint32_t i = 0; i < n; i++)
				syn_call(s, r, "MPI_Win_flush", 41, SYN(.dst = 0, .gap_ns = 1000, .dur_ns = 1000));
			syn_call(s, r, unlock, 42, SYN(.dst = 0, .gap_ns = 1000, .dur_ns = 1000));
			syn_call(s, r, "MPI_Barrier", 43, SYN(.dur_ns = r == 0 ? 4 * flushes * 2000 + 500 : 500));
		}
	syn_end(s);
	return s;
}

/* Also while one rank waits outside the epoch, the run is cut. */
static void test_epochs_closed_early(void **arg)
{
	static const uint32_t phases[] = {1, 7, 1, 7};

	(void)arg;
	for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
		struct cut_run f;
		uint64_t most = 0, before = 0, end;

		set_up(&f, closed_early(phases[i], 14000 / phases[i], i < 2));
		for (uint32_t k = 0; k <= f.v.cuts.n; k++) {
			end = k < f.v.cuts.n ? f.v.cuts.at[2 * k + 1] : trace_get_rank(f.t, 1)->events.length;
			most = end - before > most ? end - before : most;
			before = end;
		}
		assert_in_range(most, 1, 700); /* of 70,000 */
		tear_down(&f);
	}
}

/* When the rank ended its last call before each segment, by its clock: the clocks of simulated ranks are one. */
static void begins_of(const struct cut_run *f, uint32_t rank, double *begin)
{
	struct errbuf err;
	struct trace_iter *it = trace_iter_create(f->t, rank, &err);
	uint64_t enter, leave = 0;
	struct trace_event ev;
	uint32_t seg = 0;
	bool known;

	assert_non_null(it);
	for (uint64_t e = 0; trace_iter_next(it, &ev, &known); e++) {
		while (seg < f->v.cuts.n && f->v.cuts.at[(size_t)seg * f->v.n_ranks + rank] <= e)
			begin[(size_t)++seg * f->v.n_ranks + rank] = (double)leave;
		trace_iter_when(it, &enter, &leave);
	}
	assert_int_equal(seg, f->v.cuts.n);
	trace_iter_destroy(it);
}

/* Segments take as long as by the clock. Nobody is late at the begin and in the last segment, and where the waits are
 * longer than the segment. Returns how many are. */
static uint32_t check_lateness(struct syn *s)
{
	struct cut_run f;
	uint32_t n, late = 0;
	double *begin;

	set_up(&f, s);
	n = f.v.n_ranks;
	begin = calloc((size_t)f.v.segments.n * n, sizeof *begin);
	assert_non_null(begin);
	assert_non_null(f.v.segments.late_ns);
	for (uint32_t r = 0; r < n; r++)
		begins_of(&f, r, begin);
	for (uint32_t i = 0; i < f.v.segments.n; i++) {
		const double *b = begin + (size_t)i * n, *is = f.v.segments.late_ns + (size_t)i * n;
		double first = INFINITY, sum = 0, took = 0;
		bool none;

		for (uint32_t r = 0; r < n; r++)
			first = fmin(first, b[r]);
		for (uint32_t r = 0; r < n; r++)
			sum += b[r] - first;
		for (uint32_t r = 0; i > 0 && i + 1 < f.v.segments.n && r < n; r++)
			took += (b[n + r] - b[r]) / n;
		if (took > 0)
			assert_true(fabs(f.v.segments.at[i].ns - took) < 1);
		none = sum / n > f.v.segments.at[i].ns || i + 1 == f.v.segments.n;
		for (uint32_t r = 0; r < n; r++) {
			assert_true(fabs(is[r] - (none ? 0 : b[r] - first)) < 1);
			late += is[r] > 0;
		}
	}
	free(begin);
	tear_down(&f);
	return late;
}

static void test_lateness_is_the_runs(void **arg)
{
	(void)arg;
	assert_in_range(check_lateness(syn_wavefront(3, 2, 5, 2000)), 1, UINT32_MAX);
	assert_in_range(check_lateness(syn_pipeline(4, 6000)), 1, UINT32_MAX);
	check_lateness(syn_graph(6, 3, 2000, 7));
	check_lateness(syn_polled_tasks(200));
}

/* The master tests for messages before its first call. Both ranks take as long. */
static void test_tests_before_the_first_call_are_time(void **arg)
{
	struct cut_run f;

	(void)arg;
	set_up(&f, syn_polled_tasks(20));
	assert_true(f.v.segments.span_most_ns < 1.005 * f.v.segments.span_ns);
	tear_down(&f);
}

/* Ranks that mostly wait for their processors have little time of their own, also between the windows of a long run. */
static void test_rests_lie_between_windows(void **arg)
{
	struct syn *s = syn_create(2);
	uint32_t rests = 0;
	struct cut_run f;

	(void)arg;
	syn_begin(s);
	for (uint32_t i = 1; i <= 200000; i++)
		for (uint32_t r = 0; r < 2; r++) {
			syn_call(s, r, "MPI_Barrier", 50, SYN(.gap_ns = 1000, .dur_ns = 1000));
			if (i % 1000 == 0)
				syn_window(s, r, 1960000);
		}
	syn_end(s);
	set_up(&f, s);
	for (uint32_t i = 0; i < f.v.segments.n; i++)
		rests += f.v.segments.at[i].rest;
	assert_in_range(rests, 450, 500); /* there are 500 windows */
	tear_down(&f);
}

/* In each step each rank sends to the next one, and waits for all. */
static struct syn *ring_of(uint32_t ranks, uint32_t steps)
{
	struct syn *s = syn_create(ranks);

	syn_begin(s);
	for (uint32_t t = 0; t < steps; t++)
		for (uint32_t r = 0; r < ranks; r++) {
			int64_t from = (r + ranks - 1) % ranks;

			syn_call(s, r, "MPI_Barrier", 60, SYN(.gap_ns = 100000));
			syn_call(s, r, "MPI_Send", 61, SYN(.dst = (r + 1) % ranks, .count = 1 + (r * 31 + t) % 1000));
			syn_call(s, r, "MPI_Recv", 62, SYN(.src = from, .asrc = from, .count = 1000));
		}
	syn_end(s);
	return s;
}

/* Of many ranks there are fewer cuts, but no fewer than an interval needs. */
static void test_many_ranks_are_cut(void **arg)
{
	struct cut_run f;

	(void)arg;
	set_up(&f, ring_of(4096, 60));
	assert_in_range(f.v.cuts.n, 40, cuts_most(4096));
	tear_down(&f);
}

/* The fewer calls an excerpt may have, the shorter are the pieces: 40 of them fit. */
static void test_calls_make_pieces_short(void **arg)
{
	const uint32_t steps = 60000;
	struct syn *s = syn_create(2);
	uint64_t seed = 3;
	struct errbuf err;
	struct trace *t;
	struct survey v;
	double pieces;

	(void)arg;
	syn_begin(s);
	for (uint32_t k = 0; k < steps; k++) {
		uint64_t site = 100 + syn_random(&seed) % 1000; /* no loop is folded */

		for (uint32_t r = 0; r < 2; r++)
			syn_call(s, r, "MPI_Barrier", site, SYN(.gap_ns = 1000));
	}
	syn_end(s);
	t = syn_open(s);
	assert_in_range(pieces_calls_most(t), 1, steps);
	assert_int_equal(survey_make(t, 60, &v, &err), 0);
	pieces = 40 * 2.0 * steps / (double)pieces_calls_most(t);
	assert_in_range(v.segments.n, 0.9 * pieces, 1.1 * pieces);
	survey_free(&v);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_making_is_not_parted),
		cmocka_unit_test(test_exposed_windows),
		cmocka_unit_test(test_epochs_closed_early),
		cmocka_unit_test(test_lateness_is_the_runs),
		cmocka_unit_test(test_tests_before_the_first_call_are_time),
		cmocka_unit_test(test_rests_lie_between_windows),
		cmocka_unit_test(test_many_ranks_are_cut),
		cmocka_unit_test(test_calls_make_pieces_short),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
