/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One time line for all ranks. Programs are simulated in true time, and clocks with offset and drift record them as
 * traces. The true times are the oracle.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/synthetic.h"
#include "trace/clock/clock.h"
#include "trace/messages/messages.h"

#define N_MAX   16
#define LATENCY 2000
#define N_COMM  3 /* all ranks; ranks with even number; all ranks in reverse order */

/* A rank's clock: local time since its start, at true time t. */
struct skew {
	double start, drift; /* true ns at its start; gain per ns */
};

/* A collective as it was executed: the oracle for its order. */
struct done {
	const struct call_kind *kind;
	uint32_t n, rank[N_MAX], root; /* root: index in rank */
	uint64_t enter[N_MAX], leave[N_MAX];
};

struct sim {
	struct syn *s;
	uint32_t n;
	struct skew skew[N_MAX];
	double now[N_MAX];    /* true time */
	uint64_t local[N_MAX]; /* end of the last event, as recorded */
	uint64_t dur_ns;       /* duration of the last call */
	uint64_t seed;
	double sent[N_MAX][N_MAX][64]; /* messages in flight, in order */
	uint32_t head[N_MAX][N_MAX], n_way[N_MAX][N_MAX];
	uint32_t comm[N_COMM][N_MAX]; /* index in the rank's definitions */
	struct done *done;
	uint32_t n_done;
};

static uint64_t shown(const struct sim *m, uint32_t r, double t)
{
	double l = (t - m->skew[r].start) * (1 + m->skew[r].drift);

	return l > 0 ? (uint64_t)llround(l) : 0;
}

static double true_time(const struct sim *m, uint32_t r, uint64_t local)
{
	return m->skew[r].start + (double)local / (1 + m->skew[r].drift);
}

static void call(struct sim *m, uint32_t r, const char *fn, double t0, double t1, struct syn_args *a)
{
	uint64_t l0 = shown(m, r, t0), l1 = shown(m, r, t1);

	a->gap_ns = l0 > m->local[r] ? l0 - m->local[r] : 1;
	m->local[r] += a->gap_ns;
	a->dur_ns = l1 > m->local[r] ? l1 - m->local[r] : 1;
	m->local[r] += a->dur_ns;
	m->dur_ns = a->dur_ns;
	m->now[r] = t1;
	syn_call(m->s, r, fn, 3, a);
}

/* ---- collectives ---- */

enum order { ALL, FROM_ROOT, TO_ROOT, SCAN, EXSCAN };

static const struct call_kind {
	const char *fn;
	enum order order;
} kinds[] = {
	{"MPI_Barrier", ALL},     {"MPI_Allreduce", ALL},    {"MPI_Allgather", ALL},      {"MPI_Allgatherv", ALL},
	{"MPI_Alltoall", ALL},    {"MPI_Alltoallv", ALL},    {"MPI_Reduce_scatter", ALL}, {"MPI_Reduce_scatter_block", ALL},
	{"MPI_Bcast", FROM_ROOT}, {"MPI_Scatter", FROM_ROOT}, {"MPI_Scatterv", FROM_ROOT},
	{"MPI_Gather", TO_ROOT},  {"MPI_Gatherv", TO_ROOT},  {"MPI_Reduce", TO_ROOT},
	{"MPI_Scan", SCAN},       {"MPI_Exscan", EXSCAN},
};

#define N_KINDS (sizeof(kinds) / sizeof(*kinds))

/* Must the return at place i wait for the entry at place j? */
static bool waits_for(const struct done *d, uint32_t i, uint32_t j)
{
	switch (d->kind->order) {
	case FROM_ROOT: return j == d->root;
	case TO_ROOT: return i == d->root;
	case SCAN:
	case EXSCAN: return j < i;
	default: return true;
	}
}

static void make_comms(struct sim *m)
{
	uint32_t member[N_MAX], k = 0;

	for (uint32_t r = 0; r < m->n; r += 2)
		member[k++] = r;
	for (uint32_t r = 0; r < m->n; r += 2)
		m->comm[1][r] = syn_comm(m->s, r, member, k);
	for (uint32_t r = 0; r < m->n; r++)
		member[r] = m->n - 1 - r;
	for (uint32_t r = 0; r < m->n; r++)
		m->comm[2][r] = syn_comm(m->s, r, member, m->n);
	m->done = calloc(20000, sizeof(*m->done));
}

/* count 0: no data and no waiting; -1: other calls in its place. */
static void collective(struct sim *m, const struct call_kind *kind, int64_t count)
{
	static const int64_t ones[N_MAX] = {[0 ... N_MAX - 1] = 1};
	struct done *d = &m->done[m->n_done++];
	uint32_t comm = (uint32_t)(syn_random(&m->seed) % N_COMM);
	double t[N_MAX];

	*d = (struct done){.kind = kind};
	for (uint32_t r = 0; r < m->n; r += comm == 1 ? 2 : 1)
		d->rank[d->n++] = comm == 2 ? m->n - 1 - r : r;
	d->root = (uint32_t)(syn_random(&m->seed) % d->n);
	for (uint32_t i = 0; i < d->n; i++)
		t[i] = m->now[d->rank[i]] + 100 + (double)(syn_random(&m->seed) % 3000);
	for (uint32_t i = 0; i < d->n; i++) {
		uint32_t r = d->rank[i];
		double end = t[i] + 300;

		for (uint32_t j = 0; count > 0 && j < d->n; j++)
			if (waits_for(d, i, j) && j != i && t[j] + LATENCY > end)
				end = t[j] + LATENCY;
		call(m, r, count < 0 ? "MPI_Buffer_attach" : d->kind->fn, t[i], end,
		     SYN(.comm = m->comm[comm][r], .root = d->root, .count = count, .counts = ones, .n_counts = d->n));
		d->leave[i] = m->local[r];
		d->enter[i] = m->local[r] - m->dur_ns;
	}
}

static uint64_t reversed_returns(const struct sim *m, const struct trace_clock *c)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < m->n_done; k++) {
		const struct done *d = &m->done[k];

		for (uint32_t i = 0; i < d->n; i++)
			for (uint32_t j = 0; j < d->n; j++)
				n += waits_for(d, i, j) && trace_clock_ns(c, d->rank[i], d->leave[i]) <
								    trace_clock_ns(c, d->rank[j], d->enter[j]);
	}
	return n;
}

/* The number of returns that wait for another rank. */
static uint64_t waiting_returns(const struct sim *m)
{
	uint64_t n = 0;

	for (uint32_t k = 0; k < m->n_done; k++)
		for (uint32_t i = 0; i < m->done[k].n; i++) {
			bool any = false;

			for (uint32_t j = 0; j < m->done[k].n; j++)
				any |= j != i && waits_for(&m->done[k], i, j);
			n += any;
		}
	return n;
}

/* ---- programs ---- */

/* Simulate messages, and a collective about every coll_every steps (0: none). */
static struct sim *simulate_mixed(uint32_t n, uint64_t seed, const struct skew *skew, uint32_t steps,
				  uint32_t coll_every, int64_t count)
{
	struct sim *m = calloc(1, sizeof(*m));

	m->s = syn_create(n);
	m->n = n;
	m->seed = seed;
	make_comms(m);
	for (uint32_t r = 0; r < n; r++) {
		m->skew[r] = skew[r];
		m->now[r] = skew[r].start;
		call(m, r, "MPI_Init", m->now[r] + 1000, m->now[r] + 1500, SYN(.tag = 0));
	}
	for (uint32_t k = 0; k < steps; k++) {
		uint32_t r = 0, q = (uint32_t)(syn_random(&m->seed) % n);
		double t0, t1;

		if (coll_every && syn_random(&m->seed) % coll_every == 0)
			collective(m, &kinds[count > 0 ? syn_random(&m->seed) % N_KINDS : 1], count);
		for (uint32_t i = 1; i < n; i++)
			r = m->now[i] < m->now[r] ? i : r;
		t0 = m->now[r] + 500 + (double)(syn_random(&m->seed) % 20000);
		t1 = t0 + 300;
		if (m->n_way[q][r] && (syn_random(&m->seed) & 1)) {
			double at = m->sent[q][r][m->head[q][r]++ % 64] + LATENCY;

			m->n_way[q][r]--;
			call(m, r, "MPI_Recv", t0, at > t1 ? at : t1, SYN(.src = q, .tag = 1, .count = 1));
		} else if (m->n_way[r][q] < 2) {
			m->sent[r][q][(m->head[r][q] + m->n_way[r][q]++) % 64] = t0;
			call(m, r, "MPI_Send", t0, t1, SYN(.dst = q, .tag = 1, .count = 1));
		} else {
			m->now[r] = t1;
		}
	}
	for (uint32_t r = 0; r < n; r++)
		call(m, r, "MPI_Finalize", m->now[r] + 1000, m->now[r] + 1000, SYN(.tag = 0));
	return m;
}

static struct sim *simulate(uint32_t n, uint64_t seed, const struct skew *skew, uint32_t steps)
{
	return simulate_mixed(n, seed, skew, steps, 0, 0);
}

static void sim_free(struct sim *m)
{
	free(m->done);
	syn_destroy(m->s);
	free(m);
}

/* Compare rank r's clock with rank 0's at about time t, with an error of at most `error`. */
static void measure(struct sim *m, uint32_t r, int i, double t, double error)
{
	struct trace_proc *p = &m->s->rank[r].defs.proc;
	uint64_t mine = shown(m, r, t);
	double wrong = ((double)(syn_random(&m->seed) % 2001) / 1000 - 1) * error;

	p->clock.n = (uint8_t)(i + 1);
	p->clock.tick[i] = mine;
	p->clock.offset_ns[i] = (double)shown(m, 0, t) - (double)mine + wrong;
	p->clock.error_ns[i] = error;
}

static void start_clocks(struct sim *m, double wrong_ns)
{
	for (uint32_t r = 0; r < m->n; r++)
		m->s->rank[r].defs.proc.start_real_ns =
			1700000000000000000ull + (uint64_t)(int64_t)(m->skew[r].start + (r ? wrong_ns * r : 0));
}

/* Largest difference between corrected time and true time by rank 0's clock, over ranks and times. */
static double worst_error(const struct sim *m, const struct trace_clock *c)
{
	double worst = 0, zero = (double)trace_clock_ns(c, 0, 0);

	for (uint32_t r = 0; r < m->n; r++)
		for (uint64_t l = 0; l < m->local[r]; l += m->local[r] / 50 + 1) {
			double t = true_time(m, r, l);
			double want = zero + (t - m->skew[0].start) * (1 + m->skew[0].drift);
			double e = fabs((double)trace_clock_ns(c, r, l) - want);

			worst = e > worst ? e : worst;
		}
	return worst;
}

static const struct skew skewed[4] = {{5000, 2e-5}, {0, -3e-5}, {900000, 1e-5}, {42000, 0}};

static void test_measured(void **state)
{
	struct sim *m = simulate(4, 7, skewed, 20000);
	struct trace_clock_report report;
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;
	double end = 0;

	(void)state;
	for (uint32_t r = 0; r < 4; r++)
		end = m->now[r] > end ? m->now[r] : end;
	start_clocks(m, 5e6); /* the clocks of day differ much */
	for (uint32_t r = 0; r < 4; r++) {
		measure(m, r, 0, 1e6, r ? 700 : 0);
		measure(m, r, 1, end, r ? 300 : 0);
	}
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_non_null(c);
	assert_true(worst_error(m, c) < 700 * 1.1 + 5);
	assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
	assert_int_equal(report.reversed, 0); /* the latency is larger than the errors */
	assert_true(report.messages > 5000);
	assert_true(report.error_ns == 700 && report.moved_ns == 0);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

static void test_one_moment(void **state)
{
	const struct skew steady[3] = {{1000, 0}, {0, 0}, {77777, 0}};
	struct sim *m = simulate(3, 9, steady, 3000);
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;

	(void)state;
	start_clocks(m, -3e6);
	for (uint32_t r = 0; r < 3; r++)
		measure(m, r, 0, 2e5, r ? 200 : 0);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_true(worst_error(m, c) <= 202);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

/* Without measured offsets, the clock of day counts. A rank on the host of a measured rank takes its clock.
 * Without rank 0, there is still one time line. */
static void test_inherited(void **state)
{
	const struct skew steady[4] = {{1000, 0}, {0, 0}, {55555, 0}, {777, 0}};
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;
	struct sim *m = simulate(4, 11, steady, 1000);

	(void)state;
	start_clocks(m, 0);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_true(worst_error(m, c) <= 2);
	trace_clock_destroy(c);
	trace_close(t);
	/* Ranks 2 and 3 share a host whose clock of day is wrong; rank 2 was measured. */
	for (uint32_t r = 2; r < 4; r++) {
		struct trace_proc *p = &m->s->rank[r].defs.proc;

		free(p->host);
		p->host = strdup("node2");
		p->start_real_ns += 123456789;
	}
	measure(m, 2, 0, 1e5, 0);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_true(worst_error(m, c) <= 2);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

static void test_hostile(void **state)
{
	static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, 1e18, -1e18};
	struct errbuf err;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct sim *m = simulate(2, 3, skewed, 200);
		struct trace_proc *p = &m->s->rank[1].defs.proc;
		struct trace_clock *c;
		struct trace *t;
		uint64_t last = 0;

		p->clock = (struct trace_clock_fix){.n = 2, .tick = {0, 1000}, .offset_ns = {bad[i], 5}};
		p->start_real_ns = UINT64_MAX - 7;
		t = syn_open(m->s);
		c = trace_clock_create(t, &err);
		assert_non_null(c);
		assert_true(trace_clock_control(c, t, NULL, &err) == 0);
		for (uint64_t l = 1; l < 1ull << 61; l *= 3) {
			assert_true(trace_clock_ns(c, 1, l) >= last);
			last = trace_clock_ns(c, 1, l);
			trace_clock_local(c, 1, last);
		}
		trace_clock_destroy(c);
		trace_close(t);
		sim_free(m);
	}
}

struct checked {
	const struct trace_clock *c;
	uint64_t n, reversed;
};

static int check_order(const struct trace_message *m, void *arg)
{
	struct checked *x = arg;

	x->n++;
	x->reversed += trace_clock_ns(x->c, m->dst, m->recv_ns) < trace_clock_ns(x->c, m->src, m->send_ns);
	return 0;
}

static void check_map(const struct sim *m, const struct trace_clock *c)
{
	for (uint32_t r = 0; r < m->n; r++) {
		uint64_t last = 0, step = m->local[r] / 20000 + 1;

		for (uint64_t l = 0; l < m->local[r]; l += step) {
			uint64_t t = trace_clock_ns(c, r, l), back;

			assert_true(t >= last);
			last = t;
			back = trace_clock_local(c, r, t);
			assert_true(back >= l && trace_clock_ns(c, r, back) <= t && trace_clock_ns(c, r, back + 1) > t);
			if (t) {
				back = trace_clock_local(c, r, t - 1);
				assert_true(back <= l);
			}
		}
	}
}

static void control_and_check(uint32_t n, uint64_t seed, const struct skew *skew, double wrong_ns)
{
	struct sim *m = simulate(n, seed, skew, 20000);
	struct trace_clock_report report;
	struct checked x;
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;
	double before;

	start_clocks(m, wrong_ns);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	before = worst_error(m, c);
	assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
	x = (struct checked){.c = c};
	assert_int_equal(trace_messages(t, check_order, &x, NULL, &err), 0);
	assert_int_equal(report.messages, x.n);
	assert_true(report.reversed > 0);
	assert_true(report.worst_ns > 0);
	assert_int_equal(report.reversed_after, 0);
	assert_int_equal(x.reversed, 0);
	assert_true(report.error_ns < 0);
	assert_true(report.moved_ns >= report.worst_ns && report.moved_ns < 4 * before + 5000);
	check_map(m, c);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

static void test_controlled(void **state)
{
	static const struct skew steady[6] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}, {0, 0}, {5555, 0}};
	static const struct skew drifting[6] = {{0, 0}, {0, 1e-3}, {900, -1e-3}, {0, 2e-3}, {0, 0}, {1, -2e-3}};

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		control_and_check(2, seed, steady, 20000);
		control_and_check(6, seed, steady, -7000);
		control_and_check(6, seed, steady, 1e6);
		control_and_check(5, seed, drifting, 0);
		control_and_check(6, seed, drifting, 3000);
	}
}

/* ---- collectives in the logical clock ---- */

static void check_collectives(uint32_t n, uint64_t seed, const struct skew *skew, double wrong_ns, uint32_t every,
			      uint32_t steps)
{
	struct sim *m = simulate_mixed(n, seed, skew, steps, every, 1);
	struct trace_clock_report report;
	struct checked x;
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;

	start_clocks(m, wrong_ns);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_true(reversed_returns(m, c) > 0);
	assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
	assert_int_equal(reversed_returns(m, c), 0);
	assert_int_equal(report.returns, waiting_returns(m));
	assert_true(report.returns_reversed > 0 && report.returns_reversed <= report.returns);
	assert_int_equal(report.reversed_after, 0);
	x = (struct checked){.c = c};
	assert_int_equal(trace_messages(t, check_order, &x, NULL, &err), 0);
	assert_int_equal(x.reversed, 0);
	assert_int_equal(report.messages, x.n);
	check_map(m, c);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

static void test_collectives(void **state)
{
	static const struct skew steady[6] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}, {0, 0}, {5555, 0}};
	static const struct skew drifting[6] = {{0, 0}, {0, 1e-3}, {900, -1e-3}, {0, 2e-3}, {0, 0}, {1, -2e-3}};

	(void)state;
	for (uint64_t seed = 1; seed < 6; seed++) {
		check_collectives(3, seed, steady, 20000, 30, 10000);
		check_collectives(6, seed, steady, -7000, 20, 10000);
		check_collectives(6, seed, steady, 1e6, 100, 10000);
		check_collectives(5, seed, drifting, 0, 40, 10000);
		check_collectives(6, seed, drifting, 3000, 1, 2000); /* mostly collectives */
	}
}

/* Every kind of collective alone restores the order. */
static void test_each_collective(void **state)
{
	static const struct skew steady[4] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}};

	(void)state;
	for (size_t k = 0; k < N_KINDS; k++) {
		struct sim *m = simulate(4, 1 + k, steady, 0);
		struct trace_clock_report report;
		struct trace_clock *c;
		struct errbuf err;
		struct trace *t;

		for (int i = 0; i < 40; i++)
			collective(m, &kinds[k], 1);
		start_clocks(m, 30000);
		t = syn_open(m->s);
		c = trace_clock_create(t, &err);
		assert_true(reversed_returns(m, c) > 0);
		assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
		assert_int_equal(reversed_returns(m, c), 0);
		assert_int_equal(report.returns, waiting_returns(m));
		trace_clock_destroy(c);
		trace_close(t);
		sim_free(m);
	}
}

/* Collectives without data impose no order: the map is the same as from the messages alone. */
static void test_no_data(void **state)
{
	static const struct skew steady[4] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}};
	struct trace_clock *c[2];
	struct trace_clock_report report[2];
	struct sim *m = NULL;
	struct errbuf err;

	(void)state;
	for (int with = 0; with < 2; with++) {
		struct trace *t;

		if (m)
			sim_free(m);
		m = simulate_mixed(4, 3, steady, 10000, 20, with ? 0 : -1);
		start_clocks(m, 9000);
		t = syn_open(m->s);
		c[with] = trace_clock_create(t, &err);
		assert_int_equal(trace_clock_control(c[with], t, &report[with], &err), 0);
		assert_true(report[with].reversed > 0);
		assert_int_equal(report[with].returns, 0);
		trace_close(t);
	}
	assert_memory_equal(&report[0], &report[1], sizeof(report[0]));
	for (uint32_t r = 0; r < 4; r++)
		for (uint64_t l = 0; l < m->local[r]; l += m->local[r] / 20000 + 1)
			assert_int_equal(trace_clock_ns(c[0], r, l), trace_clock_ns(c[1], r, l));
	trace_clock_destroy(c[0]);
	trace_clock_destroy(c[1]);
	sim_free(m);
}

/* Ranks that end early, and members that make different calls: the rest is still in order, and no rank waits for
 * ever. */
static void test_broken_collectives(void **state)
{
	static const struct skew steady[5] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}, {50, 0}};

	(void)state;
	for (int other = 0; other < 2; other++) {
		struct sim *m = simulate_mixed(5, 21, steady, 3000, 30, 1);
		struct trace_clock_report report;
		uint32_t whole = m->n_done;
		struct checked x;
		struct trace_clock *c;
		struct errbuf err;
		struct trace *t;

		for (int i = 0; i < 500; i++)
			for (uint32_t r = 0; r < 5; r++) {
				const char *fn = other && r == 3 && i > 10 ? "MPI_Barrier" : "MPI_Allreduce";

				if (other || r != 2 || i < 100) /* rank 2 dies */
					call(m, r, fn, m->now[r] + 100, m->now[r] + 400, SYN(.count = 1));
			}
		start_clocks(m, -8000);
		t = syn_open_partial(m->s);
		c = trace_clock_create(t, &err);
		assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
		assert_int_equal(report.reversed_after, 0);
		assert_true(report.returns > waiting_returns(m));
		assert_int_equal(whole, m->n_done);
		assert_int_equal(reversed_returns(m, c), 0);
		x = (struct checked){.c = c};
		assert_int_equal(trace_messages(t, check_order, &x, NULL, &err), 0);
		assert_int_equal(x.reversed, 0);
		trace_clock_destroy(c);
		trace_close(t);
		sim_free(m);
	}
}

/* Correct clocks are not changed. */
static void test_untouched(void **state)
{
	const struct skew steady[4] = {{0, 0}, {500, 0}, {900, 0}, {100, 0}};
	struct sim *m = simulate(4, 5, steady, 20000);
	struct trace_clock_report report;
	struct trace_clock *c;
	struct errbuf err;
	struct trace *t;

	(void)state;
	start_clocks(m, 0);
	t = syn_open(m->s);
	c = trace_clock_create(t, &err);
	assert_int_equal(trace_clock_control(c, t, &report, &err), 0);
	assert_int_equal(report.reversed, 0);
	assert_true(report.moved_ns == 0);
	for (uint64_t l = 0; l < 1000; l++)
		assert_int_equal(trace_clock_ns(c, 2, l), 900 + l);
	trace_clock_destroy(c);
	trace_close(t);
	sim_free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_measured),   cmocka_unit_test(test_one_moment), cmocka_unit_test(test_inherited),
		cmocka_unit_test(test_hostile),    cmocka_unit_test(test_controlled), cmocka_unit_test(test_untouched),
		cmocka_unit_test(test_collectives), cmocka_unit_test(test_each_collective),
		cmocka_unit_test(test_no_data),    cmocka_unit_test(test_broken_collectives),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
