/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine on small streams made by hand, and against a matcher that knows MPI's order and nothing else. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>

#include "tests/unit/rules_rig.h"
#include "trace/format/event.h"

#define LINE(g, text)                                        \
	do {                                                 \
		assert_string_equal(rig_log(g), text);       \
		*(g)->log = '\0';                            \
	} while (0)

static void test_late_send(void **state)
{
	static const char *const files[] = {"@tests/unit/rules/exchange.rules", "@tests/unit/rules/late.rules"};
	static const char *const want[] = {"performance_observation name=late send impact_time=70\n",
					   "problem name=late send duration=70\n"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct engine_report r;
		struct rig g;

		rig_open(&g, files[i], NULL);
		rig_recv(&g, 1, 30, 80, 0, 7, 0);
		LINE(&g, "");
		rig_send(&g, 0, 100, 5, 2, 7, 0); /* to another rank */
		rig_send(&g, 0, 100, 5, 1, 8, 0); /* another tag */
		rig_send(&g, 0, 100, 5, 1, 7, 1); /* another communicator */
		LINE(&g, "");
		rig_send(&g, 0, 100, 5, 1, 7, 0);
		LINE(&g, want[i]);
		engine_report(g.engine, &r);
		assert_int_equal(r.waiting, 3);
		rig_close(&g);
	}
}

static void test_late_receive(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, "@tests/unit/rules/late.rules", NULL);
	rig_send(&g, 0, 10, 50, 1, 0, 0);
	rig_recv(&g, 1, 40, 20, 0, 0, 0);
	LINE(&g, "problem name=late receive duration=30\n");
	rig_send(&g, 0, 100, 5, 1, 0, 0); /* was sent at once */
	rig_recv(&g, 1, 140, 20, 0, 0, 0);
	LINE(&g, "");
	rig_close(&g);
}

/* Messages between the same two arrive in the order of sending, whichever way they wait. */
static void test_order(void **state)
{
	static const char text[] = "declare composite event pair member(function_call_send_operation as s,"
				   " function_call_receive_operation as r) when s.source == r.source and s.dest == r.dest and"
				   " s.comm == r.comm and (s.tag == r.tag or r.tag == MPI_ANY_TAG) parameters(a = s.@start_time,"
				   " b = r.@start_time);\n"
				   "defstruct observation met \"\" param a, b type time;\n"
				   "defrule \"\" struct p type pair assert met(a = p.a, b = p.b);";
	struct rig g;

	(void)state;
	rig_open(&g, text, NULL);
	rig_send(&g, 0, 1, 1, 1, 5, 0);
	rig_send(&g, 0, 2, 1, 1, 6, 0);
	rig_send(&g, 0, 3, 1, 1, 5, 0);
	rig_recv(&g, 1, 10, 1, 0, 6, 0);
	rig_recv(&g, 1, 11, 1, 0, TRACE_ANY_TAG, 0);
	rig_recv(&g, 1, 12, 1, 0, 5, 0);
	LINE(&g, "met a=2 b=10\nmet a=1 b=11\nmet a=3 b=12\n");
	rig_recv(&g, 1, 20, 1, 0, 9, 0);
	rig_recv(&g, 1, 21, 1, 0, TRACE_ANY_TAG, 0);
	rig_recv(&g, 1, 22, 1, 0, 9, 0);
	rig_send(&g, 0, 30, 1, 1, 9, 0);
	rig_send(&g, 0, 31, 1, 1, 9, 0);
	rig_send(&g, 0, 32, 1, 1, 8, 0);
	rig_send(&g, 0, 33, 1, 1, 9, 0);
	LINE(&g, "met a=30 b=20\nmet a=31 b=21\nmet a=33 b=22\n");
	rig_close(&g);
}

/* ---- against a matcher ---- */

struct part {
	bool send, used;
	int from, to, tag, comm;
	uint64_t t;
};

static bool fits(const struct part *s, const struct part *r)
{
	return s->comm == r->comm && s->to == r->to && (s->from == r->from || r->from == TRACE_ANY_SOURCE) &&
	       (s->tag == r->tag || r->tag == TRACE_ANY_TAG);
}

/* Sum over pairs of how much later the send came, and their number. */
static void oracle(struct part *part, size_t n, uint64_t *late, uint64_t *pairs)
{
	*late = *pairs = 0;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++) {
			const struct part *s = part[i].send ? &part[i] : &part[k], *r = part[i].send ? &part[k] : &part[i];

			if (part[k].used || part[k].send == part[i].send || !fits(s, r))
				continue;
			part[i].used = part[k].used = true;
			++*pairs;
			*late += s->t > r->t ? s->t - r->t : 0;
			break;
		}
}

static void test_random(void **state)
{
	static const char *const files[] = {"@tests/unit/rules/exchange.rules", "@tests/unit/rules/late.rules"};
	enum { N = 400 };
	struct part part[N];

	(void)state;
	for (unsigned seed = 0; seed < 60; seed++)
		for (int file = 0; file < 2; file++) {
			uint64_t late, pairs;
			struct engine_report report;
			struct rig g;

			srand(seed);
			rig_open(&g, files[file], NULL);
			g.quiet = true;
			for (size_t i = 0; i < N; i++) {
				struct part *p = &part[i];

				*p = (struct part){.send = rand() % 2, .from = rand() % 3, .to = rand() % 3, .tag = rand() % 3,
						   .comm = rand() % 2, .t = i * 10 + (unsigned)(rand() % 10)};
				if (!p->send && rand() % 4 == 0)
					p->from = TRACE_ANY_SOURCE;
				if (!p->send && rand() % 4 == 0)
					p->tag = TRACE_ANY_TAG;
				if (p->send)
					rig_send(&g, (uint32_t)p->from, p->t, 1, p->to, p->tag, p->comm);
				else
					rig_recv(&g, (uint32_t)p->to, p->t, 1, p->from, p->tag, p->comm);
			}
			oracle(part, N, &late, &pairs);
			engine_report(g.engine, &report);
			assert_int_equal(report.waiting, N - 2 * pairs);
			assert_int_equal(g.sum, late);
			rig_close(&g);
		}
}

/* ---- members ---- */

#define A "defstruct observation seen \"\" param k type string param x, y type int;\n"
#define SEND "function_call_send_operation"
#define RECV "function_call_receive_operation"

static void test_shared(void **state)
{
	struct rig g;

	(void)state;
	/* A member that is not shared belongs to the first composite event only. */
	rig_open(&g, A "declare composite event one member(" SEND " as s, " RECV " as r) when s.tag == r.tag parameters(t = s.tag);"
		       "declare composite event two member(" SEND " as s, " RECV " as r) when s.tag == r.tag parameters(t = s.tag);"
		       "defrule \"\" struct o type one assert seen(k = \"one\", x = o.t, y = 0);"
		       "defrule \"\" struct o type two assert seen(k = \"two\", x = o.t, y = 0);", NULL);
	rig_send(&g, 0, 1, 1, 1, 5, 0);
	rig_recv(&g, 1, 2, 1, 0, 5, 0);
	LINE(&g, "seen k=one x=5 y=0\n");
	rig_close(&g);
	/* One that is shared belongs to both, and waits for more. */
	rig_open(&g, A "declare composite event one member(shared " SEND " as s, shared " RECV " as r) when s.tag == r.tag"
		       " parameters(t = s.tag, n = r.comm);"
		       "declare composite event two member(shared " SEND " as s, " RECV " as r) when s.tag == r.tag"
		       " parameters(t = s.tag, n = r.comm);"
		       "defrule \"\" struct o type one assert seen(k = \"one\", x = o.t, y = o.n);"
		       "defrule \"\" struct o type two assert seen(k = \"two\", x = o.t, y = o.n);", NULL);
	rig_send(&g, 0, 1, 1, 1, 5, 0);
	rig_recv(&g, 1, 2, 1, 0, 5, 1);
	rig_recv(&g, 1, 2, 1, 0, 5, 2);
	LINE(&g, "seen k=one x=5 y=1\nseen k=two x=5 y=1\nseen k=one x=5 y=2\nseen k=two x=5 y=2\n");
	rig_close(&g);
}

static void test_shared_count(void **state)
{
	struct engine_report r;
	struct rig g;

	(void)state;
	rig_open(&g, A "declare composite event one member(shared(s.comm) " SEND " as s, " RECV " as r) when s.tag == r.tag"
		       " parameters(n = r.comm);"
		       "defrule \"\" struct o type one assert seen(k = \"\", x = o.n, y = 0);", NULL);
	rig_send(&g, 0, 1, 1, 1, 5, 2); /* shared by two */
	rig_send(&g, 0, 2, 1, 1, 5, 0); /* by none */
	for (int i = 1; i < 4; i++)
		rig_recv(&g, 1, 2, 1, 0, 5, i);
	LINE(&g, "seen k= x=1 y=0\nseen k= x=2 y=0\n");
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 1);
	rig_send(&g, 0, 3, 1, 1, 5, 3);
	LINE(&g, "seen k= x=3 y=0\n");
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 1);
	rig_close(&g);
}

static int count_event(void *arg, uint32_t type, const union rules_value *v)
{
	uint64_t *ranks = arg;

	(void)type;
	*ranks = *ranks * 10 + (uint64_t)v[RA_RANK].i;
	return 0;
}

static uint64_t ranks_found;

static int found_ranks(void *arg, struct engine *e, const struct engine_finding *f, struct errbuf *err)
{
	(void)arg;
	(void)err;
	ranks_found = 0;
	engine_finding_events(e, f, count_event, &ranks_found);
	return 0;
}

/* A composite event of composite events; its simple events are those of its members. */
static void test_composite_of_composites(void **state)
{
	static const char text[] =
	    "declare composite event pair member(" SEND " as s, " RECV " as r) when s.dest == r.dest and s.source == r.source"
	    " parameters(a = s.source, b = s.dest);"
	    "declare composite event there_and_back member(pair as p, pair as q) when p.a == q.b and p.b == q.a"
	    " parameters(first = p.@start_time, last = q.@finish_time);"
	    "declare problem for there_and_back parameters(name = \"ping {first} {@finish_time}\", description = \"\","
	    " advice = \"\", duration = last - first);";
	struct errbuf err;
	struct rules *r;
	struct plan *p;
	struct rig g;

	(void)state;
	rig_open(&g, text, NULL);
	rig_send(&g, 0, 10, 1, 1, 0, 0);
	rig_recv(&g, 1, 11, 4, 0, 0, 0);
	rig_send(&g, 1, 20, 1, 0, 0, 0);
	LINE(&g, "");
	rig_recv(&g, 0, 21, 5, 1, 0, 0);
	LINE(&g, "problem name=ping 10 ns 26 ns duration=16\n"); /* the older one is p */
	rig_close(&g);
	r = rules_load_text("t", text, strlen(text), &err);
	p = plan_create(r, &err);
	g = (struct rig){.rules = r, .plan = p};
	g.engine = engine_create(p, &(struct engine_options){.found = found_ranks}, &err);
	rig_send(&g, 3, 10, 1, 4, 0, 0);
	rig_recv(&g, 4, 11, 4, 3, 0, 0);
	rig_send(&g, 4, 20, 1, 3, 0, 0);
	rig_recv(&g, 3, 21, 5, 4, 0, 0);
	assert_int_equal(ranks_found, 3443);
	rig_close(&g);
}

static void test_group(void **state)
{
	static const char text[] =
	    "declare composite event barrier member(shared function_call_barrier_operation as c all c.size by (c.comm, c.instance))"
	    " parameters(comm = c.comm, instance = c.instance, size = c.size, last_start = max(c.@start_time),"
	    "  culprit = at_max(c.@start_time, c.@rank), n = count(c), roots = count(c where c.is_root),"
	    "  total = sum(c.@duration), average = mean(c.@start_time), first = min(c.@start_time), early = at_min(c.@start_time, c.@rank));"
	    "declare composite event wait_in_barrier member(shared(b.size) barrier as b, function_call_barrier_operation as c)"
	    " when b.comm == c.comm and b.instance == c.instance"
	    " parameters(rank = c.@rank, by = b.culprit, wait = b.last_start - c.@start_time);"
	    "defstruct observation closed \"\" param last, first, total type time param culprit, early, n, roots type int param average type double;"
	    "defrule \"\" struct b type barrier assert closed(last = b.last_start, culprit = b.culprit, n = b.n, roots = b.roots,"
	    "  total = b.total, average = b.average, first = b.first, early = b.early);"
	    "declare problem for wait_in_barrier when wait > 0ns parameters(name = \"{rank} for {by}\", description = \"\","
	    " advice = \"\", duration = wait);";
	struct engine_report r;
	struct rig g;

	(void)state;
	rig_open(&g, text, NULL);
	rig_collective(&g, "function_call_barrier_operation", 0, 10, 51, 0, 3, 1);
	rig_collective(&g, "function_call_barrier_operation", 0, 60, 61, 1, 3, 1); /* the next one, before the first is over */
	rig_collective(&g, "function_call_barrier_operation", 2, 20, 52, 0, 3, 1);
	LINE(&g, "");
	rig_collective(&g, "function_call_barrier_operation", 1, 50, 53, 0, 3, 1);
	LINE(&g, "closed last=50 culprit=1 n=3 roots=1 total=76 average=26.6667 first=10 early=0\n"
		 "problem name=0 for 1 duration=40\nproblem name=2 for 1 duration=30\n");
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 1); /* of the next one */
	rig_close(&g);
}

/* ---- states ---- */

#define STATE "defstruct state tally \"\" param rank, n, bytes type int;\n"

static void test_states(void **state)
{
	struct rig g;

	(void)state;
	/* Two rules that modify one state do so once for each event, in whatever order. */
	rig_open(&g, A STATE
		 "defrule \"begin\" struct e type function_call_barrier_operation assert tally(rank = e.@rank, n = 0, bytes = 0);"
		 "defrule \"count\" struct e type " SEND " struct t type tally where e.@rank == t.rank modify t(n = t.n + 1);"
		 "defrule \"add\" struct e type " SEND " struct t type tally where e.@rank == t.rank modify t(bytes = t.bytes + e.tag);"
		 "defrule \"end\" struct e type " RECV " struct t type tally where e.@rank == t.rank"
		 " assert seen(k = \"{e.@rank}\", x = t.n, y = t.bytes) retract t;", NULL);
	rig_collective(&g, "function_call_barrier_operation", 0, 1, 2, 0, 3, 0);
	rig_collective(&g, "function_call_barrier_operation", 1, 1, 2, 0, 3, 0);
	for (int i = 1; i <= 5; i++)
		rig_send(&g, (uint32_t)i % 2, (uint64_t)i, 1, 0, i, 0);
	rig_recv(&g, 0, 10, 1, 0, 0, 0);
	rig_recv(&g, 1, 11, 1, 0, 0, 0);
	rig_recv(&g, 1, 12, 1, 0, 0, 0); /* it is gone */
	LINE(&g, "seen k=0 x=2 y=6\nseen k=1 x=3 y=9\n");
	rig_close(&g);
}

/* Events of the second language live for one cycle. */
/* An optional parameter that is not given has its zero, whatever stood in its place before. */
static void test_optional(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g,
		 "defstruct event other \"\" param n type int param b type boolean optional param s type string optional;"
		 "defstruct observation seen \"\" param n type int param b type boolean param s type string;"
		 "defrule \"all\" struct e type function_call_send_operation where e.tag == 1 assert other(n = 1, b = true, s = \"x\");"
		 "defrule \"one\" struct e type function_call_send_operation where e.tag == 2 assert other(n = 2);"
		 "defrule \"say\" struct o type other assert seen(n = o.n, b = o.b, s = o.s);",
		 NULL);
	rig_send(&g, 0, 10, 5, 1, 1, 0);
	LINE(&g, "seen n=1 b=1 s=x\n");
	rig_send(&g, 0, 20, 5, 1, 2, 0);
	LINE(&g, "seen n=2 b=0 s=\n");
	rig_close(&g);
}

static void test_events_are_gone(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, A "defstruct event echo \"\" param n type int;\n"
		       "defrule \"\" struct s type " SEND " struct r type " RECV " where s.tag == r.tag assert seen(k = \"never\", x = 0, y = 0);"
		       "defrule \"\" struct s type " SEND " assert echo(n = s.tag);"
		       "defrule \"\" struct s type " SEND " struct e type echo where s.tag == e.n assert seen(k = \"echo\", x = e.n, y = 0);",
		 NULL);
	rig_send(&g, 0, 1, 1, 1, 5, 0);
	rig_recv(&g, 1, 2, 1, 0, 5, 0);
	rig_send(&g, 0, 3, 1, 1, 5, 0);
	LINE(&g, "seen k=echo x=5 y=0\nseen k=echo x=5 y=0\n");
	rig_close(&g);
}

static void test_three(void **state)
{
	struct rig g;

	(void)state;
	/* Three states, of which one is compared by what is not an equality. */
	rig_open(&g, A "defstruct state s \"\" param k, v type int;"
		       "defrule \"\" struct e type " SEND " assert s(k = e.tag, v = e.comm);"
		       "defrule \"\" struct a type s struct b type s struct c type s where a.k == b.k and b.k == c.k and a.v < b.v and b.v < c.v"
		       " assert seen(k = \"{a.v}{b.v}{c.v}\", x = a.k, y = 0) retract a, c;", NULL);
	rig_send(&g, 0, 1, 1, 1, 1, 2);
	rig_send(&g, 0, 1, 1, 1, 2, 9);
	rig_send(&g, 0, 1, 1, 1, 1, 3);
	rig_send(&g, 0, 1, 1, 1, 1, 3);
	LINE(&g, "");
	rig_send(&g, 0, 1, 1, 1, 1, 1);
	LINE(&g, "seen k=123 x=1 y=0\n");
	rig_send(&g, 0, 1, 1, 1, 1, 4);
	LINE(&g, "seen k=234 x=1 y=0\n");
	rig_close(&g);
}

/* ---- values ---- */

static void test_values(void **state)
{
	static const char *const table[][2] = {
	    {"v.tag / 0", "0"},		    {"v.tag % 0", "0"},		       {"(0 - 7) / 2", "-3"},
	    {"-7 % 4", "-3"},		    {"min(4, v.tag, 9)", "4"},	       {"max(4, v.tag)", "7"},
	    {"abs(3 - v.tag)", "4"},	    {"int(2.5 + 0.1)", "3"},	       {"int(1.5us * 2)", "3000"},
	    {"int(3us / 2us * 10)", "15"},  {"int(7 / 2.0 * 2)", "7"},	       {"int(1s * 0.5)", "500000000"},
	    {"int(v.tag > 6)", "1"},	    {"int(v.tag > 6 and not v.tag == 7)", "0"},
	    {"9223372036854775807 + 1", "-9223372036854775808"},	       {"int(1e300)", "9223372036854775807"},
	    {"int(\"a\" == \"a\")", "1"},   {"int(\"a{v.tag}\" == \"a7\")", "1"}, {"int(v.@function != \"MPI_Send\")", "1"},
	    {"int(v.tag == 7 or 1 / 0 == 1)", "1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		char text[512], want[64];
		struct rig g;

		snprintf(text, sizeof(text), "defstruct observation o \"\" param x type int; defrule \"\" struct v type " SEND
					     " assert o(x = %s);", table[i][0]);
		snprintf(want, sizeof(want), "o x=%s\n", table[i][1]);
		rig_open(&g, text, NULL);
		rig_send(&g, 0, 1, 1, 1, 7, 0);
		LINE(&g, want);
		rig_close(&g);
	}
}

/* Comparisons of a parameter with a constant, which a pattern makes without code, at the ends of their ranges. */
static void test_comparisons(void **state)
{
	static const char *const op[] = {"==", "!=", "<", "<=", ">", ">="};
	static const int64_t k[] = {0, 5, INT64_MAX};
	static const int tag[] = {INT32_MIN, -1, 0, 1, 4, 5, 6, INT32_MAX};
	char rules[8192] = "defstruct observation met \"\" param rule type int;\n", want[1024];
	size_t n = strlen(rules);
	struct rig g;

	(void)state;
	for (int i = 0; i < 18; i++)
		n += (size_t)snprintf(rules + n, sizeof(rules) - n,
				      "defrule \"\" struct s type function_call_send_operation where s.tag %s %lld assert met(rule = %d);\n",
				      op[i % 6], (long long)k[i / 6], i);
	rig_open(&g, rules, NULL);
	for (size_t t = 0; t < sizeof(tag) / sizeof(*tag); t++) {
		*want = '\0';
		for (int i = 0; i < 18; i++) {
			const int64_t b = k[i / 6];
			const bool holds[] = {tag[t] == b, tag[t] != b, tag[t] < b, tag[t] <= b, tag[t] > b, tag[t] >= b};

			if (holds[i % 6])
				snprintf(want + strlen(want), sizeof(want) - strlen(want), "met rule=%d\n", i);
		}
		rig_send(&g, 0, (uint64_t)t, 1, 1, tag[t], 0);
		LINE(&g, want);
	}
	rig_close(&g);
}

static void test_text(void **state)
{
	struct rig g;

	(void)state;
	rig_open(&g, "defstruct observation o \"\" param x type string; defrule \"\" struct v type " SEND
		     " assert o(x = \"{v.tag} {v.@start_time} {1500us} {2s} {v.is_blocking} {v.tag / 2.0} {v.@function} \\{x}\");", NULL);
	rig_send(&g, 0, 1234, 1, 1, 7, 0);
	LINE(&g, "o x=7 1.234 us 1.500 ms 2.000 s true 3.5 " SEND " {x}\n");
	rig_close(&g);
}

static void test_untimed(void **state)
{
	struct engine_report r;
	struct rig g;

	(void)state;
	rig_open(&g, "@tests/unit/rules/late.rules", NULL);
	rig_recv(&g, 1, 10, 1, 0, 0, 0);
	rig_event(&g, SEND, 0, 20, 1, "dest", 1, "untimed", 1, NULL);
	LINE(&g, "problem untimed name=late send duration=10\n");
	engine_report(g.engine, &r);
	assert_int_equal(r.untimed_observations, 1);
	rig_close(&g);
}

/* ---- limits ---- */

static void test_loops(void **state)
{
	static const char *const bad[] = {
	    "defstruct state a \"\" param n type int; defrule \"x\" struct e type " SEND " assert a(n = 0);"
	    "defrule \"on and on\" struct v type a assert a(n = v.n + 1);",
	    "defstruct event a \"\" param n type int; defstruct event b \"\" param n type int;"
	    "defrule \"x\" struct e type " SEND " assert a(n = 0);"
	    "defrule \"to\" struct v type a assert b(n = v.n + 1); defrule \"fro\" struct v type b assert a(n = v.n + 1);"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct rig g;

		rig_open(&g, bad[i], &(struct engine_options){.firings_max = 1000});
		assert_int_equal(rig_event(&g, SEND, 0, 1, 1, NULL), -1);
		assert_non_null(strstr(g.err.text, "more than 1000 rules fire for one event"));
		assert_int_equal(strncmp(g.err.text, "t:1:", 4), 0);
		rig_close(&g);
	}
}

static void test_combinations(void **state)
{
	struct rig g;
	int rv = 0;

	(void)state;
	rig_open(&g, "defstruct state a \"\" param n type int; defrule \"x\" struct e type " SEND " assert a(n = e.tag);\n"
		     "defrule \"y\" struct a type a struct b type a struct c type a struct d type a"
		     " where a.n + b.n + c.n + d.n == 1 retract a;", NULL);
	for (int i = 0; i < 100000 && rv == 0; i++)
		rv = rig_event(&g, SEND, 0, 1, 1, NULL);
	assert_int_equal(rv, -1);
	assert_non_null(strstr(g.err.text, "t:2:1: this rule tries too many combinations"));
	rig_close(&g);
}

static void test_dropped(void **state)
{
	struct engine_report r;
	uint64_t waiting, dropped;
	char text[256];
	struct rig g;

	(void)state;
	rig_open(&g, "@tests/unit/rules/late.rules", &(struct engine_options){.waiting_max = 10, .spilled_max = 5});
	for (int i = 0; i < 25; i++)
		rig_send(&g, 0, (uint64_t)i, 1, 1, i, 0);
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 10);
	assert_int_equal(r.waiting_most, 11);
	assert_int_equal(r.spilled, 5);
	assert_int_equal(r.dropped, 10);
	engine_left(g.engine, rules_find(g.rules, SEND)->id, &waiting, &dropped);
	assert_int_equal(waiting, 15);
	assert_int_equal(dropped, 10);
	assert_true(engine_dropped(g.engine, text, sizeof(text)));
	assert_string_equal(text, "10 of 'function_call_send_operation' had waited longest and were dropped, in 'point_to_point' "
				  "(tests/unit/rules/late.rules:2:1) above all");
	rig_recv(&g, 1, 30, 1, 0, 14, 0); /* its message was dropped */
	rig_recv(&g, 1, 31, 1, 0, 24, 0);
	rig_recv(&g, 1, 32, 1, 0, 4, 0);  /* in the file */
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 9);
	assert_int_equal(r.spilled, 4);
	rig_close(&g);
}

/* What is older than 50 ns of the trace's time goes to the file, every 64 events; a state stays, however old. */
static void test_over_age(void **state)
{
	struct engine_report r;
	struct rig g;

	(void)state;
	rig_open(&g, "include \"tests/unit/rules/late.rules\"; defstruct state old \"\" param n type int;"
		     "defrule \"first\" struct e type " SEND " where e.tag == 0 assert old(n = e.dest);"
		     "defrule \"last\" struct e type " SEND " struct o type old where e.dest == o.n + 1 retract o;",
		 &(struct engine_options){.age_max_ns = 50});
	for (int i = 0; i < 63; i++)
		rig_send(&g, 0, (uint64_t)i, 1, 1, i, 0);
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 64);
	assert_int_equal(r.over_age, 0);
	rig_send(&g, 0, 63, 1, 1, 63, 0); /* sends of 0 to 12 are older; of the first the state is made */
	engine_report(g.engine, &r);
	assert_int_equal(r.over_age, 12);
	assert_int_equal(r.spilled, 12);
	assert_int_equal(r.waiting, 64 - 12 + 1);
	rig_recv(&g, 1, 64, 1, 0, 12, 0);
	rig_recv(&g, 1, 65, 1, 0, 13, 0);
	engine_report(g.engine, &r);
	assert_int_equal(r.spilled, 11);
	assert_int_equal(r.waiting, 64 - 12);
	rig_send(&g, 0, 100, 1, 2, 5, 0); /* the state is still there */
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 64 - 12);
	assert_int_equal(r.dropped, 0);
	rig_close(&g);
}

/* No room for what waits too long: dropped, counted and told; what is in memory still finds its message. */
static void test_full_disk(void **state)
{
	struct rlimit was, none;
	struct engine_report r;
	char text[256];
	struct rig g;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &was), 0);
	none = (struct rlimit){0, was.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	rig_open(&g, "@tests/unit/rules/late.rules", &(struct engine_options){.waiting_max = 10, .spilled_max = 5});
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (int i = 0; i < 25; i++)
		rig_send(&g, 0, (uint64_t)i, 1, 1, i, 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &was), 0);
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 10);
	assert_int_equal(r.spilled, 0);
	assert_int_equal(r.dropped, 15);
	assert_true(engine_dropped(g.engine, text, sizeof(text)));
	rig_recv(&g, 1, 31, 1, 0, 24, 0);
	engine_report(g.engine, &r);
	assert_int_equal(r.waiting, 9);
	rig_close(&g);
}

/* What a state was made of does not grow without an end. */
static void test_long_chain(void **state)
{
	struct engine_report r;
	struct rig g;

	(void)state;
	rig_open(&g, "defstruct state a \"\" param n type int; defstruct state b \"\" param n type int;"
		     "defrule \"first\" struct e type function_call_barrier_operation assert a(n = 0);"
		     "defrule \"next\" struct e type " SEND " struct v type a assert b(n = v.n + 1) retract v;"
		     "defrule \"other\" struct e type " RECV " struct v type b assert a(n = v.n + 1) retract v;", NULL);
	rig_collective(&g, "function_call_barrier_operation", 0, 1, 2, 0, 1, 0);
	for (int i = 0; i < 100000; i++) {
		rig_send(&g, 0, 1, 1, 1, 0, 0);
		rig_recv(&g, 0, 1, 1, 1, 0, 0);
	}
	engine_report(g.engine, &r);
	assert_int_equal(r.firings, 200001);
	assert_int_equal(r.waiting, 1);
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_late_send),	  cmocka_unit_test(test_late_receive),
	    cmocka_unit_test(test_order),	  cmocka_unit_test(test_random),
	    cmocka_unit_test(test_shared),	  cmocka_unit_test(test_shared_count),
	    cmocka_unit_test(test_composite_of_composites),
	    cmocka_unit_test(test_group),	  cmocka_unit_test(test_states),
	    cmocka_unit_test(test_optional), cmocka_unit_test(test_events_are_gone), cmocka_unit_test(test_three),
	    cmocka_unit_test(test_values),	  cmocka_unit_test(test_text),
	    cmocka_unit_test(test_comparisons),
	    cmocka_unit_test(test_untimed),	  cmocka_unit_test(test_loops),
	    cmocka_unit_test(test_combinations),  cmocka_unit_test(test_dropped),
	    cmocka_unit_test(test_over_age),
	    cmocka_unit_test(test_full_disk),
	    cmocka_unit_test(test_long_chain),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
