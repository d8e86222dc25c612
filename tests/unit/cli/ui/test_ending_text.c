/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How runs ended, in words. Ends were seen on one node of several. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/ui/ending_text.h"
#include "tests/unit/synthetic.h"

/* Three ranks outside of MPI; rank 1 ended first, and the ranks of its node within 12 ms. other: host of rank 2. */
static void expect_of(const char *ended, const char *mpi, const char *other, uint8_t kind, const char *want)
{
	struct syn *s = syn_create(3);
	struct errbuf err = {""};
	struct ending_words w = {0};
	struct ending *e;
	struct trace *t;
	char job[128];

	snprintf(job, sizeof(job), "mpi=%s\nfirst_ended=1\nends_within=0.012\n", mpi);
	s->job = job;
	syn_begin(s);
	for (uint32_t r = 0; r < 3; r++) {
		s->rank[r].defs.proc.finalized = 0;
		free(s->rank[r].defs.proc.ended);
		s->rank[r].defs.proc.ended = strdup(ended);
	}
	free(s->rank[2].defs.proc.host);
	s->rank[2].defs.proc.host = strdup(other);
	t = syn_open_partial(s);
	e = ending_create(t, &err);
	assert_non_null(e);
	assert_int_equal(e->n_finding, 1);
	assert_int_equal(e->finding[0].kind, kind);
	w.e = e;
	assert_string_equal(ending_text(&w, &e->finding[0]), want);
	ending_destroy(e);
	trace_close(t);
	syn_destroy(s);
}

static void expect(const char *mpi, const char *other, uint8_t kind, const char *want)
{
	expect_of("exit code 137 (Killed)", mpi, other, kind, want);
}

#define WAS "rank 1 was in no MPI call, after MPI_Init in simulated+0x1010, and ended before all others"

static void test_one_node(void **state)
{
	(void)state;
	expect("MPICH 4.0.2", "node1", ENDING_DIED, WAS ", or the whole run was killed: all ranks ended within 12.000 ms");
	expect("Open MPI v4.1.4", "node1", ENDING_KILLED, "the whole run was killed: all ranks ended within 12.000 ms");
}

/* Nothing is known of the ends on node2. */
static void test_two_nodes(void **state)
{
	static const char want[] = WAS " on node1, or all ranks on node1 were killed: they ended within 12.000 ms";

	(void)state;
	expect("MPICH 4.0.2", "node2", ENDING_DIED, want);
	expect("Open MPI v4.1.4", "node2", ENDING_DIED, want);
}

/* Open MPI's launcher has exit status 1 if a signal ends it. */
static void test_status_of_launcher(void **state)
{
	(void)state;
	expect_of("exit code 1", "Open MPI v4.1.4", "node1", ENDING_DIED, WAS ", or the whole run was killed: all ranks ended within 12.000 ms");
	expect_of("exit code 1", "MPICH 4.0.2", "node1", ENDING_DIED, WAS);
	expect_of("exit code 3", "Open MPI v4.1.4", "node1", ENDING_DIED, WAS);
}

/* A rank that calls MPI_Abort ends the run: no signal for the launcher did. */
static void test_abort_is_no_signal(void **state)
{
	(void)state;
	for (uint32_t aborts = 0; aborts < 4; aborts++) {
		struct syn *s = syn_create(3);
		struct trace *t;

		s->job = "mpi=Open MPI v4.1.4\nfirst_ended=1\nends_within=0.012\n";
		syn_begin(s);
		for (uint32_t r = 0; r < 3; r++) {
			s->rank[r].defs.proc.finalized = 0;
			free(s->rank[r].defs.proc.ended);
			s->rank[r].defs.proc.ended = strdup("exit code 1");
			syn_call(s, r, r == aborts ? "MPI_Abort" : "MPI_Barrier", 1, SYN(.integer = 1));
		}
		t = syn_open_partial(s);
		assert_int_equal(ending_ends(t).perhaps, aborts == 3);
		trace_close(t);
		syn_destroy(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_node),
		cmocka_unit_test(test_two_nodes),
		cmocka_unit_test(test_status_of_launcher),
		cmocka_unit_test(test_abort_is_no_signal),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
