/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The parameters of calls in rules: each that a trace records has a name there, and the value that the program gave. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "expert/events/input.h"
#include "tests/unit/rules_rig.h"
#include "tests/unit/rules_trace.h"
#include "trace/functions.h"

/* assert is a word of the language. */
static const char *rules_name(uint32_t fn, uint32_t k)
{
	const char *name = trace_fn[fn].param[k].name;

	return strcmp(name, "assert") ? name : "assertion";
}

static void test_all_names(void **state)
{
	struct errbuf err;
	struct rules *r = rules_load_text("t", "", 0, &err);
	const struct rules_struct *call = r ? rules_find(r, "function_call") : NULL;
	uint32_t used = 3; /* before, bytes, rbytes: of no single parameter */

	(void)state;
	assert_non_null(call);
	for (uint32_t i = 0; i < call->n_param; i++) {
		bool found = false;

		for (uint32_t fn = 0; fn < TRACE_FN_N; fn++)
			for (uint32_t k = 0; k < trace_fn[fn].n_param; k++)
				found |= !strcmp(rules_name(fn, k), call->param[i].name);
		used += found;
	}
	assert_int_equal(used, call->n_param);
	for (uint32_t fn = 0; fn < TRACE_FN_N; fn++)
		for (uint32_t k = 0; k < trace_fn[fn].n_param; k++)
			if (rules_slot(call, rules_name(fn, k)) < 0)
				fail_msg("%s: %s", trace_fn[fn].name, trace_fn[fn].param[k].name);
	rules_free(r);
}

/* What the rules say of the only call of rank 0. */
static void expect_text(struct syn *s, const char *expression, const char *want)
{
	struct rig g;
	struct input_report report;
	struct errbuf err;
	struct trace *t;
	char text[512], line[512];

	snprintf(text, sizeof(text), "defstruct observation o \"\" param s type string;"
		 "defrule \"\" struct c type function_call where c.@rank == 0 and c.@function != \"MPI_Init\" and "
		 "c.@function != \"MPI_Finalize\" assert o(s = \"%s\");", expression);
	rig_open(&g, text, NULL);
	syn_end(s);
	t = syn_open(s);
	assert_non_null(t);
	assert_int_equal(input_run(t, NULL, g.engine, NULL, &report, &err), 0);
	snprintf(line, sizeof(line), "o s=%s\n", want);
	assert_string_equal(rig_log(&g), line);
	trace_close(t);
	rig_close(&g);
	syn_destroy(s);
}

static void test_values(void **state)
{
	static const uint32_t turned[] = {2, 1, 0};
	static const int64_t reqs[] = {4, TRACE_NULL, 5}, counts[] = {3, 4, 5};
	struct syn *s = begin(3);

	(void)state;
	call(s, 0, "MPI_Send", 10, 20, SYN(.dst = 2, .tag = 7, .count = 5, .type = 1));
	expect_text(s, "{c.dst} {c.tag} {c.count} {c.type} {c.bytes} {c.root} {c.op}.", "2 7 5 MPI_INT 20 -4 .");

	s = begin(3); /* ranks are those of MPI_COMM_WORLD */
	for (uint32_t r = 0; r < 3; r++)
		syn_comm(s, r, turned, 3);
	call(s, 0, "MPI_Reduce", 10, 20, SYN(.comm = 2, .root = 0, .count = 2));
	expect_text(s, "{c.root} {c.count} {c.bytes} {c.op}", "2 2 16 MPI_SUM");

	s = begin(3);
	call(s, 0, "MPI_Recv", 10, 20, SYN(.src = TRACE_ANY_SOURCE, .asrc = 1, .tag = TRACE_ANY_TAG, .atag = 9, .count = 1));
	expect_text(s, "{c.src} {c.asrc} {c.tag} {c.atag} {c.bytes}", "-1 1 -1 9 8");

	s = begin(3);
	call(s, 0, "MPI_Gatherv", 10, 20, SYN(.counts = counts, .n_counts = 3, .count = 3));
	expect_text(s, "{c.rcounts} {c.bytes} {c.rbytes}", "12 24 96");

	s = begin(3);
	call(s, 0, "MPI_Waitall", 10, 20, SYN(.reqs = reqs, .n_reqs = 3));
	expect_text(s, "{c.reqs}", "2");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_names),
		cmocka_unit_test(test_values),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
