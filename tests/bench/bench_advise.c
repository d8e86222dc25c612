/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The time that `precedent advise` needs for a call of a trace, step by step: clocks (all messages matched), rules, replay.
 * Time and processor time, in ns a call.
 *
 *   bench_advise TRACE [RULES]      RULES: conf/problems.rules; TRACE: of make_trace, say
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "expert/events/input_impl.h"
#include "expert/replay/replay.h"
#include "expert/report/report.h"

struct moment {
	double s, cpu_s;
};

static uint64_t n_told;

static struct moment now(void)
{
	struct timespec t, cpu;

	clock_gettime(CLOCK_MONOTONIC, &t);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	return (struct moment){(double)t.tv_sec + 1e-9 * (double)t.tv_nsec, (double)cpu.tv_sec + 1e-9 * (double)cpu.tv_nsec};
}

static void row(const char *what, struct moment since, uint64_t calls)
{
	struct moment t = now();

	printf("  %-40s %6.0f ns a call, %6.0f of processor time\n", what, (t.s - since.s) / (double)calls * 1e9,
	       (t.cpu_s - since.cpu_s) / (double)calls * 1e9);
}

static int hear(void *arg, const struct input *in, const struct pending *p, struct errbuf *err)
{
	(void)arg, (void)in, (void)p, (void)err;
	n_told++;
	return 0;
}

static uint64_t count_calls(const struct trace *t)
{
	uint64_t n = 0;

	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		n += trace_get_rank(t, r)->events.length;
	return n;
}

/* As advise does, with other passes of its own kinds in between. */
static int bench(const struct trace *t, struct plan *plan, struct errbuf *err)
{
	struct report report = {.t = t};
	struct engine_options o = {.found = report_found, .arg = &report, .ahead_from = ENGINE_AHEAD};
	struct engine *e = engine_create(plan, &o, err);
	struct input_clock clock = {0};
	struct replay_report replay;
	uint64_t calls = count_calls(t);
	struct input_report in;
	struct moment since = now(), all = since;
	int rv = -1;

	if (!e)
		return -1;
	clock.line = trace_clock_create(t, err);
	if (!clock.line || trace_clock_control(clock.line, t, NULL, err) < 0)
		goto out;
	printf("%u ranks, %llu calls\n", trace_n_ranks(t), (unsigned long long)calls);
	row("clocks", since, calls);
	since = now();
	if (input_run(t, &clock, e, NULL, &in, err) < 0)
		goto out;
	row("rules, with the calls read", since, calls);
	since = now();
	if (replay_run(t, &clock, e, &report, in.rank_seconds, NULL, &replay, err) < 0)
		goto out;
	row("replay, with the calls read once more", since, calls);
	row("all", all, calls);
	since = now();
	if (input_watch(t, &clock, e, hear, NULL, NULL, err) < 0)
		goto out;
	row("calls read, and nothing done", since, calls);
	printf("  %llu problems, %llu events told\n", (unsigned long long)report.n_problem, (unsigned long long)n_told);
	rv = 0;
out:
	input_clock_free(&clock);
	report_free(&report);
	engine_destroy(e);
	return rv;
}

int main(int argc, char **argv)
{
	struct errbuf err = {""};
	struct rules *r = rules_load(argc > 2 ? argv[2] : "conf/problems.rules", &err);
	struct plan *p = r ? plan_create(r, &err) : NULL;
	struct trace *t = p && argc > 1 ? trace_open(argv[1], &err) : NULL;
	int rc = !t || bench(t, p, &err) < 0;

	if (argc < 2)
		fputs("Usage: bench_advise TRACE [RULES]\n", stderr);
	else if (rc)
		fprintf(stderr, "bench_advise: %s\n", err.text);
	trace_close(t);
	plan_destroy(p);
	rules_free(r);
	return rc;
}
