/* SPDX-License-Identifier: GPL-2.0-or-later */
/* See rules_trace.h. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tests/unit/rules_trace.h"

static uint64_t now_us[16]; /* of each rank */

void call_at(struct syn *s, uint32_t rank, const char *fn, uint64_t site, uint64_t begin, uint64_t end, struct syn_args *a)
{
	assert_true(begin >= now_us[rank] && end >= begin);
	a->gap_ns = begin > now_us[rank] ? (begin - now_us[rank]) * 1000 : 1; /* 0 would mean the default */
	a->dur_ns = end > begin ? (end - begin) * 1000 : 1;
	now_us[rank] = end;
	syn_call(s, rank, fn, site, a);
}

/* A call site that depends on the rank. */
void call(struct syn *s, uint32_t rank, const char *fn, uint64_t begin, uint64_t end, struct syn_args *a)
{
	call_at(s, rank, fn, rank * 100 + begin % 7, begin, end, a);
}

struct syn *begin(uint32_t ranks)
{
	struct syn *s = syn_create(ranks);

	memset(now_us, 0, sizeof(now_us));
	for (uint32_t r = 0; r < ranks; r++)
		call(s, r, "MPI_Init", 0, 0, SYN(0));
	return s;
}

/* u has the rules and the trace. */
static void read_and_replay(struct run *u)
{
	struct errbuf err = {""};
	struct engine_options o = {.found = report_found, .arg = &u->report};
	struct input_clock clock = {0};

	u->engine = engine_create(u->plan, &o, &err);
	u->report.t = u->t;
	if (input_run(u->t, &clock, u->engine, NULL, &u->input, &err) < 0)
		fail_msg("%s", err.text);
	engine_report(u->engine, &u->engine_report);
	if (replay_run(u->t, &clock, u->engine, &u->report, u->input.rank_seconds, NULL, &u->replay, &err) < 0)
		fail_msg("%s", err.text);
	input_clock_free(&clock);
	assert_int_equal(u->replay.error_ns, 0);
	assert_true(u->replay.complete);
}

void run(struct run *u, struct syn *s)
{
	struct errbuf err = {""};

	*u = (struct run){.rules = rules_load("conf/problems.rules", &err)};
	if (!u->rules)
		fail_msg("%s", err.text);
	u->plan = plan_create(u->rules, &err);
	u->t = syn_open(s);
	read_and_replay(u);
	report_sort(&u->report);
}

const struct report_problem *problem(const struct run *u, const char *id)
{
	for (uint32_t i = 0; i < u->report.n_problem; i++)
		if (!strcmp(engine_text(u->engine, u->report.problem[i].id), id))
			return &u->report.problem[i];
	fail_msg("%s was not found", id);
	return NULL;
}

void end(struct run *u, struct syn *s)
{
	report_free(&u->report);
	engine_destroy(u->engine);
	plan_destroy(u->plan);
	rules_free(u->rules);
	trace_close(u->t);
	syn_destroy(s);
}

static void compare(struct syn *s, const char *want, bool all)
{
	char got[4096] = "";
	struct run u;
	size_t n = 0;

	run(&u, s);
	for (uint32_t i = 0; i < u.report.n_problem; i++) {
		const struct report_problem *p = &u.report.problem[i];

		if (!all && p->kind)
			continue;
		n += (size_t)snprintf(got + n, sizeof(got) - n, "%s %" PRIu64 " %" PRIu64 "\n",
				      engine_text(u.engine, all ? p->id : p->name), (p->duration_ns + 500) / 1000, p->n);
	}
	assert_string_equal(got, want);
	end(&u, s);
}

void expect(struct syn *s, const char *want)
{
	compare(s, want, false);
}

void expect_all(struct syn *s, const char *want)
{
	compare(s, want, true);
}
