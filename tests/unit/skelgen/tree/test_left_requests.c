/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Requests that a run leaves under way are counted; completed and freed ones, and persistent ones at rest, are not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "skelgen/tree/left_requests.h"
#include "tests/unit/synthetic.h"

static uint64_t count(struct syn *s)
{
	struct trace *t;
	uint64_t left;

	syn_end(s);
	t = syn_open(s);
	assert_int_equal(skel_count_left_requests(t, &left), 0);
	trace_close(t);
	syn_destroy(s);
	return left;
}

static struct syn *program(void)
{
	struct syn *s = syn_create(2);

	syn_begin(s);
	syn_call(s, 0, "MPI_Isend", 1, SYN(.dst = 1, .count = 1, .req = 0));
	syn_call(s, 0, "MPI_Send_init", 2, SYN(.dst = 1, .count = 1, .req = 1));
	syn_call(s, 0, "MPI_Irecv", 3, SYN(.src = 1, .count = 1, .req = 2));
	syn_call(s, 1, "MPI_Isend", 4, SYN(.dst = 0, .count = 1, .req = 0));
	return s;
}

static void test_left(void **arg)
{
	const int64_t slot[] = {0, 2};
	struct syn *s = program();

	(void)arg;
	assert_int_equal(count(s), 3);
	s = program();
	syn_call(s, 0, "MPI_Waitall", 5, SYN(.reqs = slot, .n_reqs = 2));
	assert_int_equal(count(s), 1);
	s = program();
	syn_call(s, 0, "MPI_Waitall", 5, SYN(.reqs = slot, .n_reqs = 2));
	syn_call(s, 0, "MPI_Start", 6, SYN(.req = 1));
	assert_int_equal(count(s), 2);
	s = program();
	syn_call(s, 1, "MPI_Request_free", 7, SYN(.req = 0));
	syn_call(s, 0, "MPI_Wait", 8, SYN(.reqs = slot, .n_reqs = 1));
	assert_int_equal(count(s), 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_left)};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
