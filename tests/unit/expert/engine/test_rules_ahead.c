/* SPDX-License-Identifier: GPL-2.0-or-later */
/* An engine that looks at events later than they come finds the same in the same order, and fails the same way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "expert/engine/engine.h"
#include "tests/unit/rules_events.h"

struct outcome {
	struct rules_log log;
	struct engine_report report;
	struct errbuf err;
	int rv;
};

/* Random events, looked at a little later when so many wait (0: never). */
static struct outcome feed(const struct plan *p, uint32_t events, uint32_t firings_max, uint64_t ahead_from)
{
	struct outcome o = {.rv = 0};
	struct engine_options options = {.found = rules_log_found, .arg = &o.log, .firings_max = firings_max, .ahead_from = ahead_from};
	struct engine *e = engine_create(p, &options, &o.err);
	struct rules_events draw = {.rules = p->rules, .seed = 7};

	assert_non_null(e);
	for (uint32_t i = 0; i < events && o.rv == 0; i++) {
		union rules_value v[RULES_MAX_PARAMS];
		struct engine_simple s;
		uint32_t type = rules_event(&draw, &s, v);

		o.rv = engine_event(e, type, &s, v, &o.err);
	}
	if (o.rv == 0)
		o.rv = engine_finish(e, &o.err);
	engine_report(e, &o.report);
	engine_destroy(e);
	return o;
}

static void compare(uint32_t events, uint32_t firings_max, int rv)
{
	static const uint64_t ahead_from[] = {1, 30};
	struct errbuf err;
	struct rules *r = rules_load("conf/problems.rules", &err);
	struct plan *p = r ? plan_create(r, &err) : NULL;
	struct outcome once, later;

	if (!p)
		fail_msg("%s", err.text);
	once = feed(p, events, firings_max, 0);
	assert_int_equal(once.rv, rv);
	for (size_t i = 0; i < sizeof(ahead_from) / sizeof(*ahead_from); i++) {
		later = feed(p, events, firings_max, ahead_from[i]);
		assert_int_equal(later.rv, rv);
		assert_int_equal(later.log.count, once.log.count);
		assert_memory_equal(later.log.n, once.log.n, once.log.count * sizeof(*once.log.n));
		if (rv < 0) /* events that came meanwhile are counted perhaps */
			assert_string_equal(later.err.text, once.err.text);
		else
			assert_memory_equal(&later.report, &once.report, sizeof(once.report));
		free(later.log.n);
	}
	free(once.log.n);
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

/* The error of an event that came before; none after it is looked at. */
static void test_error(void **state)
{
	(void)state;
	compare(20000, 20, -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(test_same),
	    cmocka_unit_test(test_error),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
