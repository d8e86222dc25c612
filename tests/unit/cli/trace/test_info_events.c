/* SPDX-License-Identifier: GPL-2.0-or-later */
/* precedent info --events: wildcard receives, a call that did not return, and how much memory is asked for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/trace/info_print.h"
#include "tests/unit/synthetic.h"
#include "trace/functions.h"

/* Prints the events of rank 0 and frees the trace. The text is valid until the next call. */
static const char *printed(struct syn *s, struct trace *t)
{
	static char text[1 << 16];
	int old = dup(STDOUT_FILENO);
	FILE *f = tmpfile();
	int rc;

	assert_non_null(f);
	fflush(stdout);
	dup2(fileno(f), STDOUT_FILENO);
	rc = info_print_events(t, "synthetic", 0);
	fflush(stdout);
	dup2(old, STDOUT_FILENO);
	close(old);
	rewind(f);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	trace_close(t);
	syn_destroy(s);
	assert_int_equal(rc, 0);
	return text;
}

static void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

/* The call completes one request that met a message of rank 1 with tag 9. */
static void complete(struct syn *s, int64_t slot)
{
	static const int64_t src = 1, tag = 9;

	syn_call(s, 0, "MPI_Wait", 90, SYN(.reqs = &slot, .n_reqs = 1, .asrcs = &src, .atags = &tag));
}

#define ANY .src = TRACE_ANY_SOURCE, .tag = TRACE_ANY_TAG

static void test_completed(void **state)
{
	struct syn *s = syn_create(2);
	const char *text;

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Irecv", 1, SYN(ANY, .req = 0));
	complete(s, 0);
	/* tag 9 is given for the send and the receive */
	syn_call(s, 0, "MPI_Isendrecv", 2, SYN(.dst = 1, .src = TRACE_ANY_SOURCE, .tag = 9, .req = 0));
	complete(s, 0);
	syn_end(s);
	text = printed(s, syn_open(s));
	expect(text, "MPI_Irecv(comm=0, src=MPI_ANY_SOURCE (1), tag=MPI_ANY_TAG (9),");
	expect(text, "MPI_Isendrecv(comm=0, dst=1, tag=9, count=0, type=MPI_DOUBLE, src=MPI_ANY_SOURCE (1), rtag=9,");
}

/* A freed receive is not completed. A match of a later request in its slot belongs to that request. */
static void test_freed(void **state)
{
	const int64_t slot = 0;
	struct syn *s = syn_create(2);
	const char *text;

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Irecv", 1, SYN(ANY, .count = 1, .req = 0));
	syn_call(s, 0, "MPI_Request_free", 2, SYN(.req = 0));
	syn_call(s, 0, "MPI_Recv_init", 3, SYN(ANY, .req = 0));
	syn_call(s, 0, "MPI_Start", 4, SYN(.req = 0));
	complete(s, slot);
	/* the event in which this request ended is not in the trace */
	syn_call(s, 0, "MPI_Irecv", 5, SYN(ANY, .count = 2, .req = 1));
	syn_call(s, 0, "MPI_Isend", 6, SYN(.dst = 1, .req = 1));
	complete(s, 1);
	syn_end(s);
	text = printed(s, syn_open(s));
	expect(text, "MPI_Irecv(comm=0, src=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, count=1,");
	expect(text, "MPI_Recv_init(comm=0, src=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, count=0,");
	expect(text, "MPI_Irecv(comm=0, src=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, count=2,");
}

/* A trace from elsewhere may have any number as a slot. */
static void test_huge_slot(void **state)
{
	const int64_t huge = INT32_MAX - 1;
	struct syn *s = syn_create(2);
	struct trace *t;

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Irecv", 1, SYN(ANY, .req = huge));
	complete(s, huge);
	syn_end(s);
	t = syn_open(s);
#ifndef __SANITIZE_ADDRESS__
	setrlimit(RLIMIT_DATA, &(struct rlimit){256 << 20, RLIM_INFINITY});
#endif
	expect(printed(s, t), "src=MPI_ANY_SOURCE (1), tag=MPI_ANY_TAG (9), count=0, type=MPI_DOUBLE, req=2147483646)");
}

/* The last call did not return. The trace has the values of an earlier call from the same place, or none. */
static void test_inside(void **state)
{
	struct syn *s = syn_create(2);
	struct trace_in_call *in = &s->rank[0].defs.proc.in_call;
	const char *text;

	(void)state;
	syn_begin(s);
	for (int i = 0; i < 2; i++)
		syn_call(s, 0, "MPI_Recv", 1, SYN(ANY, .asrc = 1, .atag = 9, .count = 5));
	s->rank[0].defs.proc.finalized = 0;
	*in = (struct trace_in_call){.inside = true, .fn = FN_MPI_Recv, .dst = TRACE_IN_CALL_NONE, ANY, .win = TRACE_NULL,
				     .file = TRACE_NULL};
	in->site = s->rank[0].defs.sigs.sig[s->rank[0].defs.sigs.n - 1].site;
	text = printed(s, syn_open_partial(s));
	expect(text, "MPI_Recv(comm=0, src=MPI_ANY_SOURCE (1), tag=MPI_ANY_TAG (9), count=5, type=MPI_DOUBLE)");
	expect(text, "MPI_Recv(comm=0, src=MPI_ANY_SOURCE, tag=MPI_ANY_TAG, ...)");
}

/* Only the tag of the receive is known. */
static void test_inside_exchange(void **state)
{
	struct syn *s = syn_create(2);

	(void)state;
	syn_begin(s);
	syn_call(s, 0, "MPI_Sendrecv", 1, SYN(.dst = 1, .src = 1, .tag = 7, .count = 5));
	s->rank[0].defs.proc.finalized = 0;
	s->rank[0].defs.proc.in_call = (struct trace_in_call){
		.inside = true, .fn = FN_MPI_Sendrecv, .site = s->rank[0].defs.sigs.sig[s->rank[0].defs.sigs.n - 1].site, .dst = 1, .src = 1,
		.tag = 7, .win = TRACE_NULL, .file = TRACE_NULL};
	expect(printed(s, syn_open_partial(s)), "MPI_Sendrecv(comm=0, dst=1, src=1, rtag=7, ...)");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_freed),
		cmocka_unit_test(test_inside),
		cmocka_unit_test(test_inside_exchange),
		cmocka_unit_test(test_huge_slot), /* the last one, since it limits the memory */
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
