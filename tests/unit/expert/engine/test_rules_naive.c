/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The engine finds what the meaning of the rules says, on random events: see rules_naive.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expert/engine/engine.h"
#include "tests/unit/rules_events.h"
#include "tests/unit/rules_naive.h"


/* What rules can be made of, and the base has little of. */
static const char zoo[] =
    "defstruct state box \"\" param k, v, tag type int;"
    "defstruct state late \"\" param k, n type int;"
    "defstruct event echo \"\" param k, n type int;"
    "defstruct observation seen \"\" param a, b, c type int;"
    "defstruct observation told \"\" param t type time param x type double;"
    /* either side may be any */
    "declare composite event pair member(" SEND " as s, " RECV " as r) when s.comm == r.comm and"
    "  (s.tag == r.tag or r.tag == -1) and (s.dest == r.dest or s.dest == 2) parameters(tag = s.tag, dest = r.dest, n = r.comm);"
    "declare composite event again member(shared(s.dest) " SEND " as s, shared " RECV " as r) when s.tag + 1 == r.tag and"
    "  s.bytes < r.bytes parameters(tag = s.tag);"
    "declare composite event round_trip member(pair as p, shared pair as q) when p.tag == q.dest and p.n != q.n"
    "  parameters(a = p.tag, b = q.tag);"
    "declare composite event three member(function_call_barrier_operation as a, shared(2) " SEND " as b, " RECV " as c)"
    "  when a.instance == b.tag and (b.source == c.source or b.source == 1) and a.comm <= c.comm parameters(x = c.tag);"
    "declare composite event crowd member(shared echo as e all e.n by (e.k)) when e.n > 1"
    "  parameters(n = count(e), most = max(e.@start_time), who = at_min(e.@finish_time, e.@rank), m = mean(e.n * 1.5),"
    "  some = sum(max(e.k) - e.k where e.@rank > min(e.@rank)));"
    "defrule \"\" struct p type pair where p.tag > 0 and not p.n == 2 assert seen(a = p.tag, b = p.dest, c = 0);"
    /* one of two conditions */
    "defrule \"\" struct p type pair where p.tag > 1 or p.dest == 0 assert seen(a = p.tag, b = p.dest, c = 10);"
    "defrule \"\" struct p type pair where p.n != 1 and (p.dest < p.tag or p.n >= p.tag) assert seen(a = p.tag, b = p.dest, c = 11);"
    "defrule \"\" struct p type pair where p.dest == p.tag or p.dest <= 1 assert seen(a = p.dest, b = p.n, c = 12);"
    "defrule \"\" struct p type pair where p.n < 1 or p.tag != p.n assert seen(a = p.n, b = p.dest, c = 13);"
    "defrule \"\" struct p type pair where (p.tag == 2 or p.n == 0) and p.dest > 0 assert seen(a = p.tag, b = p.n, c = 14);"
    "defrule \"\" struct p type pair where (p.tag > p.dest or p.n > 0) and p.dest + p.n > 1 assert seen(a = 0, b = 0, c = 15);"
    "defrule \"\" struct p type pair assert echo(k = p.tag, n = 1 + p.dest);"
    "defrule \"\" struct p type round_trip assert seen(a = p.a, b = p.b, c = 1);"
    "defrule \"\" struct p type again assert seen(a = p.tag, b = 0, c = 2);"
    "defrule \"\" struct p type three assert seen(a = p.x, b = 0, c = 3) assert told(t = p.@finish_time - p.@start_time, x = 1);"
    "defrule \"\" struct p type crowd assert seen(a = p.n, b = p.who, c = 4) assert told(t = p.most, x = p.m + p.some);"
    /* states: made, counted, compared, retracted and held by what replaces them */
    "defrule \"\" struct b type function_call_barrier_operation assert box(k = b.@rank, v = b.instance, tag = b.comm);"
    "defrule \"\" struct s type " SEND " struct b type box where s.@rank == b.k and s.tag != b.tag modify b(v = b.v + 1, tag = s.tag);"
    "defrule \"\" struct r type " RECV " struct b type box where r.@rank == b.k and b.v > 3 assert seen(a = b.v, b = b.k, c = 5)"
    "  retract b assert late(k = b.k, n = b.v);"
    "defrule \"\" struct b type box struct l type late where b.k == l.k and b.v % 2 == l.n % 2 assert seen(a = l.n, b = b.v, c = 6)"
    "  retract l;"
    "defrule \"\" struct e type echo struct b type box struct c type box where e.k == b.k and c.v > b.v and (c.tag == e.n or e.n == 1)"
    "  modify c(v = c.v - 1) modify b(k = (b.k + 1) % 3);"
    "defrule \"\" struct a type box struct b type box where a.k == b.k and a.v == b.v and a.tag < b.tag"
    "  assert seen(a = a.tag, b = b.tag, c = 7) retract a;"
    "defrule \"\" struct e type echo struct f type echo where e.k == f.n and e.n >= f.k assert told(t = e.@start_time, x = 0.5);";

/* waiting_max: as many wait in memory, the others in a file. 0: all in memory; but for what is older than age_max_ns */
static void compare(const struct rules *r, uint32_t first, uint32_t seeds, uint32_t events, uint64_t waiting_max, uint64_t age_max_ns)
{
	struct errbuf err;
	struct plan *p = plan_create(r, &err);
	struct engine_report report;
	uint64_t found_most = 0, spilled_most = 0, over_age = 0;

	assert_non_null(p);
	for (uint32_t i = first; i < first + seeds; i++) {
		struct rules_log log = {NULL};
		struct engine_options o = {.found = rules_log_found, .arg = &log, .waiting_max = waiting_max, .age_max_ns = age_max_ns};
		struct engine *e = engine_create(p, &o, &err);
		struct naive *n = naive_create(p);
		struct rules_events draw = {.rules = r, .seed = i};
		uint64_t count;
		const int64_t *want;

		for (uint32_t k = 0; k < events; k++) {
			union rules_value v[RULES_MAX_PARAMS];
			struct engine_simple s;
			uint32_t type = rules_event(&draw, &s, v);

			if (engine_event(e, type, &s, v, &err) < 0)
				fail_msg("seed %u, event %u: %s", i, k, err.text);
			naive_event(n, type, &s, v);
			want = naive_found(n, &count);
			if (count != log.count || (count && memcmp(want, log.n, count * sizeof(*want)))) {
				uint64_t at = 0;

				while (at < count && at < log.count && want[at] == log.n[at])
					at++;
				fail_msg("seed %u: after event %u the engine's %llu numbers are not the %llu that they must be, from %llu on",
					 i, k, (unsigned long long)log.count, (unsigned long long)count, (unsigned long long)at);
			}
		}
		engine_report(e, &report);
		assert_int_equal(report.dropped, 0);
		assert_true(!waiting_max || report.waiting <= waiting_max);
		spilled_most = report.spilled_most > spilled_most ? report.spilled_most : spilled_most;
		over_age += report.over_age;
		found_most = count > found_most ? count : found_most;
		engine_destroy(e);
		naive_destroy(n);
		free(log.n);
	}
	assert_true(found_most > 20); /* there is something to compare */
	assert_true(!waiting_max || spilled_most > 40);
	assert_true(age_max_ns ? over_age > 100 : over_age == 0);
	plan_destroy(p);
}

static void test_base(void **state)
{
	struct errbuf err;
	struct rules *r = rules_load("conf/problems.rules", &err);

	(void)state;
	if (!r)
		fail_msg("%s", err.text);
	compare(r, 1, 40, 400, 0, 0);
	rules_free(r);
}

static void test_zoo(void **state)
{
	struct errbuf err;
	struct rules *r = rules_load_text("zoo", zoo, strlen(zoo), &err);

	(void)state;
	if (!r)
		fail_msg("%s", err.text);
	compare(r, 1, 150, 120, 0, 0);
	rules_free(r);
}

static void test_papers(void **state)
{
	static const char *const files[] = {"tests/unit/rules/exchange.rules", "tests/unit/rules/late.rules"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct errbuf err;
		struct rules *r = rules_load(files[i], &err);

		if (!r)
			fail_msg("%s", err.text);
		compare(r, 1, 30, 400, 0, 0);
		rules_free(r);
	}
}

/* What has waited too long for memory waits in a file; who asks for it gets it back in its order. */
static void test_spilled(void **state)
{
	static const char text[] =
	    "defstruct observation seen \"\" param a, b, c type int;"
	    "declare composite event pair member(" SEND " as s, " RECV " as r) when s.comm == r.comm and s.bytes / 500 == r.bytes / 500 and"
	    "  (s.tag == r.tag or r.tag == -1) and (s.dest == r.dest or s.dest == 2) parameters(tag = s.tag, dest = r.dest, n = r.comm);"
	    "declare composite event other member(function_call_lock_operation as s, function_call_unlock_operation as r) when"
	    "  s.target == r.target parameters(t = s.window);"
	    "defrule \"\" struct p type pair assert seen(a = p.tag, b = p.dest, c = p.n);"
	    "defrule \"\" struct p type other assert seen(a = p.t, b = 0, c = 9);";
	struct errbuf err;
	struct rules *r = rules_load_text("spill", text, strlen(text), &err);

	(void)state;
	if (!r)
		fail_msg("%s", err.text);
	compare(r, 1, 40, 600, 10, 0);
	compare(r, 100, 40, 600, 1, 0);
	compare(r, 200, 40, 600, 0, 300);
	compare(r, 300, 40, 600, 0, 1);
	rules_free(r);
}

/* A composite event waits for others, is a member of another composite event, or goes at once. */
static void test_composites(void **state)
{
	static const char text[] =
	    "defstruct observation seen \"\" param a, b, c type int;"
	    "defstruct state last \"\" param dest, tag type int;"
	    "declare composite event pair member(" SEND " as s, " RECV " as r) when s.comm == r.comm and s.bytes / 500 == r.bytes / 500 and"
	    "  (s.tag == r.tag or r.tag == -1) and (s.dest == r.dest or s.dest == 2) parameters(tag = s.tag, dest = r.dest, n = r.comm);"
	    "declare composite event crowd member(function_call_barrier_operation as c all 3 by (c.comm)) when c.size != 1"
	    "  parameters(comm = c.comm, most = max(c.@start_time), who = at_min(c.@finish_time, c.@rank), n = c.instance);"
	    "declare composite event held member(pair as p, shared crowd as c) when p.n == c.comm parameters(tag = p.tag, who = c.who);"
	    "declare composite event two member(held as h all 2 by (h.tag)) parameters(tag = h.tag, who = max(h.who));"
	    "declare composite event lock member(function_call_lock_operation as s, function_call_unlock_operation as r) when"
	    "  s.target == r.target parameters(t = s.window);"
	    "defrule \"\" struct l type function_call_lock_operation where l.window == 1 assert seen(a = l.target, b = 0, c = 8);"
	    "defrule \"\" struct p type pair where p.tag > 0 assert seen(a = p.tag, b = p.dest, c = 0) assert last(dest = p.dest, tag = p.tag);"
	    "defrule \"\" struct p type pair struct l type last where p.dest == l.dest and p.tag != l.tag"
	    "  assert seen(a = p.tag, b = l.tag, c = 1) retract l;"
	    "defrule \"\" struct p type crowd assert seen(a = p.comm, b = p.who, c = 2) assert seen(a = p.n, b = int(p.most), c = 3);"
	    "defrule \"\" struct p type two assert seen(a = p.tag, b = p.who, c = 4);"
	    "defrule \"\" struct p type lock assert seen(a = p.t, b = 0, c = 5);";
	struct errbuf err;
	struct rules *r = rules_load_text("composites", text, strlen(text), &err);

	(void)state;
	if (!r)
		fail_msg("%s", err.text);
	compare(r, 1, 40, 600, 0, 0);
	compare(r, 100, 10, 3000, 0, 0);
	compare(r, 200, 40, 600, 0, 300);
	rules_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_base),
	    cmocka_unit_test(test_zoo),
	    cmocka_unit_test(test_papers),
	    cmocka_unit_test(test_spilled),
	    cmocka_unit_test(test_composites),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
