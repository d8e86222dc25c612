/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A probe and the receive of its message are in one piece: the excerpt of a program that probes does not wait for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "skelgen/pipeline.h"
#include "tests/unit/synthetic.h"

enum { STEPS = 400, TAG = 5, EARLIER = 6 };

/* How rank 0 finds and takes a message. */
struct manner {
	const char *probe;
	int64_t source; /* of the probe */
	int64_t take_source;
	enum { RECEIVES, POSTS, MATCHES, STARTS } take; /* how the message is received */
	bool another;   /* a message with another tag is received in between */
};

/* MPI_Irecv, MPI_Improbe or MPI_Start of a persistent receive takes the message, and the next call completes it. */
static void take(struct syn *s, const struct manner *m, uint64_t site)
{
	const int64_t slot = 0, from = 1;
	bool any = m->take_source < 0;

	if (m->take == RECEIVES) {
		syn_call(s, 0, "MPI_Recv", site + 5,
			 SYN(.src = m->take_source, .asrc = 1, .tag = TAG, .count = 9, .gap_ns = 19000, .dur_ns = 800));
		return;
	}
	syn_call(s, 0, m->take == POSTS ? "MPI_Irecv" : m->take == MATCHES ? "MPI_Improbe" : "MPI_Start", site + 6,
		 SYN(.src = m->take_source, .asrc = 1, .tag = TAG, .count = 9, .req = slot, .gap_ns = 19000, .dur_ns = 800));
	if (m->take == MATCHES)
		syn_call(s, 0, "MPI_Mrecv", site + 7, SYN(.req = slot, .count = 9, .gap_ns = 500, .dur_ns = 500));
	else
		syn_call(s, 0, "MPI_Wait", site + 7,
			 SYN(.reqs = &slot, .n_reqs = 1, .asrcs = any ? &from : NULL, .atags = any ? &slot : NULL, .gap_ns = 500, .dur_ns = 500));
}

/* The send ends with its receive, long after the probe. */
static struct syn *probing(const struct manner *m)
{
	struct syn *s = syn_create(2);
	uint64_t seed = 7;

	syn_begin(s);
	if (m->take == STARTS)
		syn_call(s, 0, "MPI_Recv_init", 1, SYN(.src = 1, .tag = TAG, .count = 9, .req = 0));
	for (uint32_t k = 0; k < STEPS; k++) {
		uint64_t work = syn_random(&seed) % 5000, site = 10 * (syn_random(&seed) % 20);
		uint64_t left = 20000 + (m->take != RECEIVES ? 1000 : 0);

		if (m->another) {
			syn_call(s, 1, "MPI_Send", site + 1, SYN(.dst = 0, .tag = EARLIER, .count = 1, .gap_ns = 100 + work, .dur_ns = 100));
			left += 1000;
		}
		syn_call(s, 1, "MPI_Send", site + 2,
			 SYN(.dst = 0, .tag = TAG, .count = 9, .gap_ns = m->another ? 100 : 100 + work, .dur_ns = left));
		syn_call(s, 0, m->probe, site + 3, SYN(.src = m->source, .asrc = 1, .tag = TAG, .gap_ns = 200 + work, .dur_ns = 100));
		if (m->another)
			syn_call(s, 0, "MPI_Recv", site + 4, SYN(.src = 1, .tag = EARLIER, .count = 1, .gap_ns = 900, .dur_ns = 100));
		take(s, m, site);
	}
	syn_end(s);
	return s;
}

static const struct manner manners[] = {
	{"MPI_Iprobe", 1, 1, RECEIVES, false},
	{"MPI_Probe", 1, 1, RECEIVES, false},
	{"MPI_Iprobe", TRACE_ANY_SOURCE, 1, RECEIVES, false},
	{"MPI_Iprobe", TRACE_ANY_SOURCE, TRACE_ANY_SOURCE, RECEIVES, false},
	{"MPI_Iprobe", 1, 1, POSTS, false},
	{"MPI_Probe", 1, TRACE_ANY_SOURCE, POSTS, false},
	{"MPI_Iprobe", 1, 1, RECEIVES, true},
	{"MPI_Iprobe", 1, 1, POSTS, true},
	{"MPI_Iprobe", 1, 1, MATCHES, false},
	{"MPI_Probe", TRACE_ANY_SOURCE, TRACE_ANY_SOURCE, MATCHES, true},
	{"MPI_Iprobe", 1, 1, STARTS, false},
	{"MPI_Probe", TRACE_ANY_SOURCE, 1, STARTS, true},
};

/* All calls of a step are on one side of a cut. */
static void test_cuts_part_no_probe(void **arg)
{
	(void)arg;
	for (size_t i = 0; i < sizeof manners / sizeof *manners; i++) {
		const uint64_t calls = 2 + (manners[i].take != RECEIVES) + manners[i].another;
		const uint64_t before = manners[i].take == STARTS ? 2 : 1; /* MPI_Init, MPI_Recv_init */
		struct syn *s = probing(&manners[i]);
		struct trace *t = syn_open(s);
		struct errbuf err = {{0}};
		struct survey v;

		assert_int_equal(survey_make(t, 0.3 * trace_get_rank(t, 0)->wall_ns * 1e-9, &v, &err), 0);
		assert_in_range(v.cuts.n, 20, 400);
		for (uint32_t k = 0; k < v.cuts.n; k++)
			if ((v.cuts.at[2 * k] - before) % calls != 0)
				fail_msg("manner %zu: cut %u parts a step", i, k);
		survey_free(&v);
		trace_close(t);
		syn_destroy(s);
	}
}

/* Messages that are never received take bounded memory, and a message that was found just now is known. */
static void test_never_received(void **arg)
{
	struct probed p = {0};
	uint64_t since;

	(void)arg;
	for (uint32_t i = 0; i < 100000; i++)
		assert_int_equal(probed_find(&p, &(struct probed_call){PROBED_FINDS, 0, 1, i}, i), 0);
	assert_true(p.n <= PROBED_MOST);
	assert_true(probed_take(&p, &(struct probed_call){PROBED_TAKES, 0, 1, 99999}, &since));
	assert_int_equal(since, 99999);
	probed_free(&p);
}

/* The first excerpt has a skeleton, and the search makes none shorter. */
static void test_skeleton_uses_its_budget(void **arg)
{
	struct syn *s = probing(&manners[0]);
	struct trace *t = syn_open(s);
	const struct skel_budget budget = {.seconds = 0.3 * trace_get_rank(t, 0)->wall_ns * 1e-9};
	struct skel_stages stages = {.excerpt = NULL};
	struct errbuf err = {{0}};

	(void)arg;
	if (skel_understand_pieces(t, &budget, &stages, &err) != 0)
		fail_msg("%s", err.text);
	assert_true(stages.plan.predicted_s > 0.8 * budget.seconds);
	assert_true(stages.plan.predicted_s < SKEL_WITHIN * budget.seconds);
	skel_stages_free(&stages);
	trace_close(t);
	syn_destroy(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts_part_no_probe),
		cmocka_unit_test(test_never_received),
		cmocka_unit_test(test_skeleton_uses_its_budget),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
