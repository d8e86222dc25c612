/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Loops for people: nested loops are found as the program has them, with every iteration in its place and with its
 * time; loops whose iterations differ are one loop; what is said of any loop agrees with the events themselves.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "skelgen/merge/loops.h"
#include "tests/unit/synthetic.h"

#define MAX_LOOPS 40

/* ---- a program that is executed twice: as calls, and as notes of what its loops did ---- */

struct span {
	uint64_t first, end;
	double ns, mpi_ns;
};

struct known_loop {
	int parent;
	uint32_t count, n_child, child[4]; /* children: loops */
	struct span *turn;
	uint64_t n_turn, executions;
	uint64_t site;
};

struct known {
	struct known_loop loop[MAX_LOOPS];
	uint32_t n;
	struct syn *s;
	uint64_t event, state;
	double ns, mpi_ns;
};

static void call(struct known *p, uint64_t site)
{
	uint64_t gap = 500 + syn_random(&p->state) % 9000, dur = 100 + syn_random(&p->state) % 3000;

	syn_call(p->s, 0, "MPI_Allreduce", site,
		 SYN(.count = 1 + (int64_t)(syn_random(&p->state) % 5), .gap_ns = gap, .dur_ns = dur));
	p->event++;
	p->ns += (double)(gap + dur);
	p->mpi_ns += (double)dur;
}

/* Numbered as the program comes to them; every body begins and ends with calls of its own. */
static uint32_t grow(struct known *p, int parent, int depth)
{
	uint32_t me = p->n++, n = depth < 3 ? (uint32_t)(syn_random(&p->state) % 4) : 0;

	p->loop[me] = (struct known_loop){.parent = parent, .count = 2 + (uint32_t)(syn_random(&p->state) % 7),
					  .site = 1000 + 10 * me};
	for (uint32_t i = 0; i < n && p->n < MAX_LOOPS; i++) {
		uint32_t c = grow(p, (int)me, depth + 1);

		p->loop[me].child[p->loop[me].n_child++] = c;
	}
	return me;
}

static void execute(struct known *p, uint32_t loop)
{
	struct known_loop *l = &p->loop[loop];

	l->executions++;
	for (uint32_t k = 0; k < l->count; k++) {
		struct span t = {.first = p->event, .ns = p->ns, .mpi_ns = p->mpi_ns};

		call(p, l->site);
		for (uint32_t c = 0; c < l->n_child; c++)
			execute(p, l->child[c]);
		call(p, l->site + 1);
		t.end = p->event;
		t.ns = p->ns - t.ns;
		t.mpi_ns = p->mpi_ns - t.mpi_ns;
		l->turn = realloc(l->turn, (l->n_turn + 1) * sizeof(*l->turn));
		assert_non_null(l->turn);
		l->turn[l->n_turn++] = t;
	}
}

static void compare_loop(const struct known *p, const struct loops *found, uint32_t i)
{
	const struct known_loop *want = &p->loop[i];
	const struct loop *l = &found->loop[i];
	double ns = 0, mpi_ns = 0, most = 0, least = INFINITY;
	uint64_t first, end;

	assert_int_equal(l->parent, want->parent < 0 ? LOOPS_NONE : (uint32_t)want->parent);
	assert_int_equal(l->executions, want->executions);
	assert_int_equal(l->iterations, want->n_turn);
	assert_int_equal(l->turns_min, want->count);
	assert_int_equal(l->turns_max, want->count);
	assert_int_equal(l->first_event, want->turn[0].first);
	assert_int_equal(l->end_event, want->turn[want->n_turn - 1].end);
	for (uint64_t k = 0; k < want->n_turn; k++) {
		loops_iteration(found, i, k, &first, &end);
		assert_int_equal(first, want->turn[k].first);
		assert_int_equal(end, want->turn[k].end);
		ns += want->turn[k].ns;
		mpi_ns += want->turn[k].mpi_ns;
		most = fmax(most, want->turn[k].ns);
		least = fmin(least, want->turn[k].ns);
	}
	assert_true(fabs(l->ns - ns) < 1 && fabs(l->mpi_ns - mpi_ns) < 1);
	assert_true(fabs(l->mean_ns - ns / (double)want->n_turn) < 1);
	assert_true(l->max_ns == most && l->min_ns == least);
	assert_true(want->turn[l->slowest].ns == most);
	assert_int_equal(l->timed, want->n_turn);
}

static void test_nested(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		struct known p = {.state = seed * 0x9e3779b97f4a7c15ull, .s = syn_create(1)};
		uint32_t top[5], n_top = 0;
		struct errbuf err = {{0}};
		struct loops l;
		struct trace *t;

		while (n_top < 5 && p.n < MAX_LOOPS) {
			top[n_top] = grow(&p, -1, 0);
			n_top++;
		}
		for (uint32_t i = 0; i < n_top; i++) {
			call(&p, 50 + i);
			execute(&p, top[i]);
		}
		call(&p, 99);
		t = syn_open(p.s);
		assert_int_equal(loops_build(t, 0, &l, &err), 0);
		assert_int_equal(l.n, p.n);
		assert_int_equal(l.n_left_out, 0);
		assert_int_equal(l.events, p.event);
		assert_true(fabs(l.ns - p.ns) < 1);
		for (uint32_t i = 0; i < p.n; i++) {
			compare_loop(&p, &l, i);
			free(p.loop[i].turn);
		}
		loops_free(&l);
		trace_close(t);
		syn_destroy(p.s);
	}
}

/* ---- what must hold for any program ---- */

struct clock {
	const struct loops *l;
	uint32_t loop;
	const double *at; /* time before each event */
	uint64_t n;
};

static int check_time(uint64_t k, double t0, double t1, bool known, void *arg)
{
	struct clock *c = arg;
	uint64_t first, end;

	loops_iteration(c->l, c->loop, k, &first, &end);
	assert_true(known);
	assert_int_equal(k, c->n);
	assert_true(t0 == c->at[first] && t1 == c->at[end]);
	c->n++;
	return 0;
}

static uint32_t slow_at(const struct loops *l, uint64_t event)
{
	uint32_t in = LOOPS_NONE;
	uint64_t first, end;

	for (uint32_t i = 0; i < l->n; i++)
		for (uint64_t k = 0; k < l->loop[i].iterations; k++) {
			loops_iteration(l, i, k, &first, &end);
			if (event >= first && event < end)
				in = i; /* what is inside comes later */
		}
	return in;
}

static void check_loop(const struct loops *l, uint32_t i, const struct trace *t, const double *at)
{
	const struct loop *x = &l->loop[i];
	struct clock c = {.l = l, .loop = i, .at = at};
	uint64_t before = x->first_event, turns = 0, k = 0, n = 0, first, end, a, b;
	struct errbuf err;
	double ns = 0, curve = 0;

	assert_true(x->parent == LOOPS_NONE || (x->parent < i && l->loop[x->parent].depth + 1 == x->depth));
	assert_true(x->t0_ns == at[x->first_event] && x->t1_ns == at[x->end_event]);
	for (uint64_t e = 0; e < x->executions; e++) {
		loops_execution(l, i, e, &a, &b);
		assert_int_equal(a, turns);
		assert_true(b - a >= x->turns_min && b - a <= x->turns_max);
		for (turns = b; k < b; k++, n++) {
			loops_iteration(l, i, k, &first, &end);
			assert_true(first >= before && end > first && end <= x->end_event);
			assert_true(k == a || first == before); /* turns of an execution follow one another */
			assert_true(end - first >= x->events_min && end - first <= x->events_max);
			ns += at[end] - at[first];
			before = end;
		}
	}
	assert_int_equal(turns, x->iterations);
	assert_true(fabs(ns - x->ns) <= 1e-6 * ns);
	assert_int_equal(loops_times(l, t, i, check_time, &c, &err), 0);
	assert_int_equal(c.n, x->iterations);
	assert_true(x->n_curve >= 1 && x->n_curve <= LOOPS_CURVE);
	for (uint32_t k = 0; k < x->n_curve; k++) {
		uint64_t rest = x->iterations - k * x->curve_step;

		curve += x->curve[k] * (double)(rest < x->curve_step ? rest : x->curve_step);
	}
	assert_true(fabs(curve - x->ns) <= 1e-6 * ns);
}

/* Builds the loops of every rank and checks them against the events; those of rank 0 are the caller's. */
static void check_program(struct syn *s, struct loops *zero)
{
	struct trace *t = syn_open(s);
	struct errbuf err = {{0}};

	for (uint32_t r = 0; r < s->n_ranks; r++) {
		uint64_t n = s->rank[r].n, iteration;
		struct trace_iter *it = trace_iter_create(t, r, &err);
		double *at = calloc(n + 1, sizeof(*at));
		struct trace_event ev;
		struct loops l;

		for (uint64_t i = 0; i < n && trace_iter_next(it, &ev, NULL); i++)
			at[i + 1] = at[i] + (double)ev.gap_ns + (double)ev.dur_ns;
		trace_iter_destroy(it);
		if (loops_build(t, r, &l, &err) < 0)
			fail_msg("%s", err.text);
		assert_int_equal(l.events, n);
		assert_true(l.ns == at[n]);
		for (uint32_t i = 0; i < l.n; i++)
			check_loop(&l, i, t, at);
		for (uint64_t i = 0; i < n; i += 1 + n / 97)
			assert_int_equal(loops_at(&l, i, &iteration), slow_at(&l, i));
		free(at);
		if (r == 0)
			*zero = l;
		else
			loops_free(&l);
	}
	trace_close(t);
	syn_destroy(s);
}

static void test_programs(void **state)
{
	struct loops l;

	(void)state;
	check_program(syn_stencil(3, 2, 100, SYN_SKIP), &l);
	assert_int_equal(l.loop[0].iterations, 10); /* an allreduce every ten sweeps */
	assert_int_equal(l.loop[1].parent, 0);
	assert_int_equal(l.loop[1].iterations % 10, 0);
	loops_free(&l);
	check_program(syn_master_worker(4, 300, 5), &l);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.loop[0].iterations, 300);
	loops_free(&l);
	check_program(syn_cg(4, 2, 30), &l);
	assert_int_equal(l.loop[0].iterations, 30);
	loops_free(&l);
	for (uint64_t seed = 1; seed < 12; seed++) {
		check_program(syn_irregular(3, seed), &l);
		loops_free(&l);
	}
}

/* Time steps that do more every so often are one loop of time steps. */
static void test_iterations_that_differ(void **state)
{
	struct syn *s = syn_create(1);
	uint64_t rnd = 99, first, end, event = 1;
	uint64_t begin[401];
	struct loops l;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 400; i++) {
		begin[i] = event;
		syn_call(s, 0, "MPI_Allreduce", 10, SYN(.tag = 0, .gap_ns = i == 77 ? 900000 : 1000));
		if (syn_random(&rnd) % 7 == 0) {
			syn_call(s, 0, "MPI_Bcast", 11, SYN(.count = 4));
			event++;
		}
		for (uint64_t k = 3 + syn_random(&rnd) % 4; k > 0; k--, event++)
			syn_call(s, 0, "MPI_Barrier", 12, SYN(.tag = 0));
		syn_call(s, 0, "MPI_Reduce", 13, SYN(.count = 4));
		event += 2;
	}
	begin[400] = event;
	syn_end(s);
	check_program(s, &l);
	assert_int_equal(l.loop[0].iterations, 400);
	assert_int_equal(l.loop[0].slowest, 77);
	for (uint64_t k = 0; k < 400; k++) {
		loops_iteration(&l, 0, k, &first, &end);
		assert_int_equal(first, begin[k]);
		assert_int_equal(end, begin[k + 1]);
	}
	loops_free(&l);
}

/* Far more loops than are kept: the longest stay, under the loops that they are in. */
static void test_many_loops(void **state)
{
	struct syn *s = syn_create(1);
	struct loops l;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 3000; i++)
		for (int k = 0; k < 2; k++) {
			syn_call(s, 0, "MPI_Barrier", 100 + (uint64_t)i, SYN(.gap_ns = i == 1234 ? 77000 : 5000));
			for (int j = 0; j < (i % 500 ? 0 : 3); j++)
				syn_call(s, 0, "MPI_Bcast", 9000 + (uint64_t)i, SYN(.gap_ns = 100));
		}
	syn_end(s);
	check_program(s, &l);
	assert_int_equal(l.n, LOOPS_MAX);
	assert_int_equal(l.n_left_out, 3000 + 6 - LOOPS_MAX);
	assert_true(l.share > 0.5);
	for (uint32_t i = 0; i < l.n; i++)
		if (l.loop[i].ns == 2 * 77500)
			return loops_free(&l);
	fail_msg("the longest loop was left out");
}

/* Calls that hardly fold: no loop is found on that rank, and one is on the other. */
static void test_irregular(void **state)
{
	struct syn *s = syn_create(2);
	uint64_t seed = 17;
	struct errbuf err = {{0}};
	struct loops l;
	struct trace *t;

	(void)state;
	syn_begin(s);
	while (fold_items(s->rank[0].fold) <= LOOPS_ITEMS_MAX)
		syn_call(s, 0, "MPI_Barrier", syn_random(&seed) % 64, SYN(.gap_ns = 100));
	for (int i = 0; i < 1000; i++)
		syn_call(s, 1, "MPI_Barrier", 1, SYN(.gap_ns = 100));
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(loops_build(t, 0, &l, &err), 0);
	assert_true(l.irregular);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.events, s->rank[0].n);
	loops_free(&l);
	assert_int_equal(loops_build(t, 1, &l, &err), 0);
	assert_false(l.irregular);
	assert_int_equal(l.n, 1);
	loops_free(&l);
	trace_close(t);
	syn_destroy(s);
}

/* More than LOOPS_ITEMS_MAX items: steps with inner loops of 1 to 4 and of 1 to 4 iterations at random, and a call before and some
 * after. The outermost loop is found, each of its iterations, and its times. */
static void test_outermost(void **state)
{
	struct syn *s = syn_create(1);
	uint64_t seed = 17, steps = 0, *begin = calloc(LOOPS_ITEMS_MAX, sizeof(*begin)), first, end, k;
	double ns = 0;
	struct errbuf err = {{0}};
	struct loops l;
	struct trace *t;

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Bcast", 9, SYN(.gap_ns = 5000));
	while (fold_items(s->rank[0].fold) <= LOOPS_ITEMS_MAX) {
		begin[steps++] = s->rank[0].n;
		syn_call(s, 0, "MPI_Barrier", 1, SYN(.gap_ns = 700, .dur_ns = 50));
		for (uint64_t site = 2; site < 4; site++)
			for (uint64_t i = syn_random(&seed) % 4 + 1; i > 0; i--)
				syn_call(s, 0, "MPI_Barrier", site, SYN(.gap_ns = 100, .dur_ns = 50));
		ns += 750 + 150 * (double)(s->rank[0].n - begin[steps - 1] - 1);
	}
	begin[steps] = s->rank[0].n;
	for (int i = 0; i < 5; i++)
		syn_call(s, 0, "MPI_Bcast", 8, SYN(.gap_ns = 9000));
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(loops_build(t, 0, &l, &err), 0);
	assert_true(l.irregular);
	assert_int_equal(l.n, 1);
	assert_int_equal(l.events, s->rank[0].n);
	assert_int_equal(l.loop[0].iterations, steps);
	for (k = 0; k < steps; k++) {
		loops_iteration(&l, 0, k, &first, &end);
		assert_int_equal(first, begin[k]);
		assert_int_equal(end, begin[k + 1]);
	}
	assert_true(fabs(l.loop[0].ns - ns) < 0.5);
	assert_true(fabs(l.loop[0].t1_ns - l.loop[0].t0_ns - ns) < 0.5);
	loops_execution(&l, 0, 0, &first, &end);
	assert_int_equal(end - first, steps);
	assert_int_equal(loops_at(&l, begin[steps / 2], &k), 0);
	assert_int_equal(k, steps / 2);
	assert_int_equal(loops_at(&l, begin[steps], &k), LOOPS_NONE);
	loops_free(&l);
	trace_close(t);
	syn_destroy(s);
	free(begin);
}

static void test_no_rank(void **state)
{
	struct syn *s = syn_create(2);
	struct errbuf err = {{0}};
	struct loops l;
	struct trace *t;

	(void)state;
	syn_begin(s);
	syn_end(s);
	t = syn_open(s);
	assert_int_equal(loops_build(t, 2, &l, &err), -1);
	assert_non_null(strstr(err.text, "rank 2"));
	loops_free(&l);
	assert_int_equal(loops_build(t, 1, &l, &err), 0);
	assert_int_equal(l.n, 0);
	assert_int_equal(l.events, 2);
	loops_free(&l);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),	   cmocka_unit_test(test_programs),
		cmocka_unit_test(test_iterations_that_differ), cmocka_unit_test(test_many_loops),
		cmocka_unit_test(test_irregular), cmocka_unit_test(test_outermost), cmocka_unit_test(test_no_rank),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
