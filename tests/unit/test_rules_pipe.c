/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * An engine in threads of its own, one or two, and one that looks at events later than they come, finds the same in the same
 * order, and fails the same way. Which rules the two threads have.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "expert/engine/pipe.h"
#include "expert/events/input.h"
#include "tests/unit/rules_events.h"
#include "tests/unit/synthetic.h"

struct outcome {
	struct rules_log log;
	struct engine_report report;
	struct errbuf err;
	int rv;
	bool later; /* events were looked at later than they came */
};

static void same(const struct outcome *a, const struct outcome *b)
{
	assert_int_equal(a->rv, b->rv);
	assert_string_equal(a->err.text, b->err.text);
	assert_int_equal(a->log.count, b->log.count);
	assert_memory_equal(a->log.n, b->log.n, a->log.count * sizeof(*a->log.n));
	if (a->rv == 0 || (!a->later && !b->later)) /* of one that fails, those that came meanwhile are counted perhaps */
		assert_memory_equal(&a->report, &b->report, sizeof(a->report));
}

static void forget(struct outcome *o)
{
	free(o->log.n);
}

/* Random events; with 2 or 3 threads, through a pipe; looked at a little later when so many wait (0: never). */
static struct outcome feed(const struct plan *p, uint32_t events, uint32_t firings_max, uint32_t threads, uint64_t ahead_from)
{
	struct outcome o = {.later = ahead_from > 0 || threads > 1};
	struct engine_options options = {.found = rules_log_found, .arg = &o.log, .firings_max = firings_max, .ahead_from = ahead_from,
					 .threads = threads};
	struct engine *e = engine_create(p, &options, &o.err);
	struct pipe *through = threads > 1 ? pipe_create(e) : NULL;
	struct rules_events draw = {.rules = p->rules, .seed = 7};

	assert_int_equal(through != NULL, threads > 1);
	for (uint32_t i = 0; i < events && o.rv == 0; i++) {
		union rules_value v[RULES_MAX_PARAMS];
		struct engine_simple s;
		uint32_t type = rules_event(&draw, &s, v);

		o.rv = through ? pipe_event(through, type, &s, v, &o.err) : engine_event(e, type, &s, v, &o.err);
	}
	if (pipe_close(through, &o.err) < 0 || (o.rv == 0 && engine_finish(e, &o.err) < 0))
		o.rv = -1;
	engine_report(e, &o.report);
	engine_destroy(e);
	return o;
}

static void compare(uint32_t events, uint32_t firings_max, int rv)
{
	struct errbuf err;
	struct rules *r = rules_load("conf/problems.rules", &err);
	struct plan *p = r ? plan_create(r, &err) : NULL;
	struct outcome alone, other;

	if (!p)
		fail_msg("%s", err.text);
	alone = feed(p, events, firings_max, 1, 0);
	assert_int_equal(alone.rv, rv);
	for (uint32_t i = 1; i < 9; i++) { /* 1 to 3 threads; at once, later, later when much waits */
		static const uint64_t ahead_from[] = {0, 1, 30};

		other = feed(p, events, firings_max, 1 + i % 3, ahead_from[i / 3]);
		same(&alone, &other);
		forget(&other);
	}
	forget(&alone);
	plan_destroy(p);
	rules_free(r);
}

static void test_same(void **state)
{
	(void)state;
	compare(4000, 0, 0);
	compare(1, 0, 0);
	compare(0, 0, 0);
}

/* The error of an event that was handed over long ago; none after it is looked at. */
static void test_error(void **state)
{
	(void)state;
	compare(20000, 20, -1);
}

/* ---- halves ---- */

/* Which rules of the text may run before the others: '1' for each that does, '2' for the others. */
static void halves(const char *text, const char *want)
{
	struct errbuf err;
	struct rules *r = rules_load_text("text", text, strlen(text), &err);
	bool first[RULES_MAX_RULES], any;
	char got[64] = "";

	if (!r)
		fail_msg("%s", err.text);
	any = plan_split(r, first);
	for (uint32_t i = 0; i < r->n_rule; i++)
		got[i] = first[i] ? '1' : '2';
	assert_string_equal(got, want);
	assert_int_equal(any, strchr(want, '1') != NULL);
	rules_free(r);
}

#define BARRIER "function_call_barrier_operation"

static void test_halves(void **state)
{
	(void)state;
	halves("", "");
	/* what follows from a composite event is behind it */
	halves("declare composite event a member (" SEND " as s, " RECV " as r) when s.tag == r.tag parameters (t = s.tag);"
	       "declare composite event b member (a as x all 2 by (x.t)) parameters (t = x.t);"
	       "declare composite event c member (" BARRIER " as c all c.size by (c.comm)) parameters (t = c.comm);", "121");
	/* a kind of event is looked at on one side only, and so on for what stands beside it */
	halves("defstruct observation o \"\" param t type int;"
	       "declare composite event a member (" SEND " as s, " RECV " as r) when s.tag == r.tag parameters (t = s.tag);"
	       "declare composite event b member (" RECV " as r, " BARRIER " as c) when r.tag == c.comm parameters (t = r.tag);"
	       "defrule \"\" struct c type " BARRIER " assert o(t = c.comm);", "222");
	/* states that rules look at and change, and strings that they make, are behind */
	halves("defstruct state w \"\" param t type int;"
	       "defstruct event e \"\" param n type string;"
	       "declare composite event a member (" SEND " as s all 2 by (s.tag)) parameters (t = s.tag);"
	       "defrule \"\" struct r type " RECV " struct x type w where x.t == r.tag retract x;"
	       "defrule \"\" struct c type " BARRIER " assert e(n = \"{c.comm}\");", "122");
	/* an event before them belongs to one composite event */
	halves("defstruct state w \"\" param t type int;"
	       "declare composite event a member (shared " SEND " as s, " RECV " as r) when s.tag == r.tag parameters (t = s.tag);"
	       "defrule \"\" struct c type " BARRIER " assert w(t = c.comm);", "22");
}

/* ---- a whole trace ---- */

static struct outcome read_trace(const struct plan *p, const struct trace *t, uint32_t threads)
{
	struct outcome o = {.rv = 0};
	struct engine_options options = {.found = rules_log_found, .arg = &o.log, .threads = threads};
	struct engine *e = engine_create(p, &options, &o.err);
	struct input_report in;

	o.rv = input_run(t, NULL, e, NULL, &in, &o.err);
	assert_int_equal(in.calls, 3 * 1 + 2 * 3000);
	engine_report(e, &o.report);
	engine_destroy(e);
	return o;
}

static void test_trace(void **state)
{
	struct errbuf err;
	struct rules *r = rules_load("conf/problems.rules", &err);
	struct plan *p = r ? plan_create(r, &err) : NULL;
	struct syn *s = syn_create(3);
	struct outcome alone, beside;
	struct trace *t;

	(void)state;
	if (!p)
		fail_msg("%s", err.text);
	for (uint32_t k = 0; k < 3; k++)
		syn_call(s, k, "MPI_Init", 1, SYN(.gap_ns = 1, .dur_ns = 1));
	for (uint64_t i = 0; i < 3000; i++) {
		syn_call(s, (uint32_t)(i % 2), "MPI_Send", 2 + i % 5, SYN(.gap_ns = 1000 + i % 7 * 500, .dur_ns = 300, .dst = 2, .tag = 1));
		syn_call(s, 2, "MPI_Recv", 3 + i % 3, SYN(.gap_ns = 100, .dur_ns = 900, .src = (int64_t)(i % 2), .tag = 1));
	}
	t = syn_open(s);
	alone = read_trace(p, t, 1);
	assert_int_equal(alone.rv, 0);
	assert_true(alone.log.count > 100);
	for (uint32_t threads = 2; threads <= 3; threads++) {
		beside = read_trace(p, t, threads);
		same(&alone, &beside);
		forget(&beside);
	}
	forget(&alone);
	trace_close(t);
	syn_destroy(s);
	plan_destroy(p);
	rules_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same),
	    cmocka_unit_test(test_error),
	    cmocka_unit_test(test_halves),
	    cmocka_unit_test(test_trace),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
