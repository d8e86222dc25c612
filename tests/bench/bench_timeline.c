/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * bench_timeline TRACE...: opening, totals, levels, windows and messages of a trace (make_trace writes large ones).
 * Windows lie at random places; the slowest one in a hundred is given beside the median.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

#include "trace/timeline/timeline.h"

#define WINDOWS 500
#define STEPS   2000

static uint64_t seed = 88172645463325252ull;

static uint64_t random_below(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (seed >> 11) % n;
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

static void die(const struct errbuf *err)
{
	fprintf(stderr, "bench_timeline: %s\n", err->text);
	exit(1);
}

static void say(const char *what, double seconds)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	printf("%-52s %10.3f ms  %6.1f MB\n", what, seconds * 1e3, (double)u.ru_maxrss / 1024);
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say_windows(const char *what, double *t, int n, uint64_t things)
{
	char line[128];

	qsort(t, (size_t)n, sizeof(*t), by_value);
	snprintf(line, sizeof(line), "%s (%.0f each): median", what, (double)things / n);
	say(line, t[n / 2]);
	say("  1 in 100 takes longer than", t[n - 1 - n / 100]);
}

static int count_span(const struct timeline_span *s, void *arg)
{
	(void)s;
	++*(uint64_t *)arg;
	return 0;
}

static int count_message(const struct timeline_message *m, void *arg)
{
	(void)m;
	++*(uint64_t *)arg;
	return 0;
}

/* A share of the run, wide enough for about that many calls of one rank. */
static uint64_t width(const struct trace *t, const struct timeline *tl, double calls)
{
	double w = calls / (double)(trace_get_rank(t, 0)->events.length + 1) * (double)timeline_end_ns(tl);

	return w > 1 ? (uint64_t)w : 1;
}

static void windows(const struct trace *t, struct timeline *tl, uint32_t ranks, double calls, int n, const char *what)
{
	uint64_t spans = 0, w = width(t, tl, calls), end = timeline_end_ns(tl);
	static double took[WINDOWS];
	struct errbuf err;

	for (int i = 0; i < n; i++) {
		uint32_t r = (uint32_t)random_below(timeline_n_ranks(tl) - ranks + 1);
		uint64_t at = random_below(end);
		double begin = now();

		if (timeline_spans(tl, r, r + ranks, at, at + w, count_span, &spans, &err) < 0)
			die(&err);
		took[i] = now() - begin;
	}
	say_windows(what, took, n, spans);
}

static void levels(struct timeline *tl, double share, int n, const char *what)
{
	uint32_t ranks = timeline_n_ranks(tl);
	float (*out)[TSTATE_N] = malloc((size_t)ranks * STEPS * sizeof(*out));
	uint64_t end = timeline_end_ns(tl), w = (uint64_t)(share * (double)end) + 1;
	static double took[WINDOWS];
	struct errbuf err;

	for (int i = 0; out && i < n; i++) {
		uint64_t at = w < end ? random_below(end - w) : 0;
		double begin = now();

		if (timeline_levels(tl, 0, ranks, at, at + w, STEPS, out, &err) < 0)
			die(&err);
		took[i] = now() - begin;
	}
	qsort(took, (size_t)n, sizeof(*took), by_value);
	say(what, took[n / 2]);
	free(out);
}

static void messages(const struct trace *t, struct timeline *tl)
{
	uint64_t end = timeline_end_ns(tl), n = 0, w = width(t, tl, 20);
	static double took[WINDOWS];
	struct errbuf err;
	double begin = now();
	char line[96];

	if (timeline_messages(tl, 0, 1, count_message, &n, &err) < 0)
		die(&err);
	say("messages: clocks, matching, sorting, once", now() - begin);
	for (int i = 0; i < WINDOWS; i++) {
		uint64_t at = random_below(end);

		begin = now();
		if (timeline_messages(tl, at, at + w, count_message, &n, &err) < 0)
			die(&err);
		took[i] = now() - begin;
	}
	snprintf(line, sizeof(line), "messages of a window of %.1f us, all ranks", (double)w * 1e-3);
	say_windows(line, took, WINDOWS, n);
}

static void measure(const char *path)
{
	double begin = now(), totals[TSTATE_N], sum = 0;
	struct errbuf err;
	struct trace *t = trace_open(path, &err);
	struct timeline *tl;
	uint64_t events = 0;

	if (!t)
		die(&err);
	for (uint32_t r = 0; r < trace_n_ranks(t); r++)
		events += trace_get_rank(t, r)->events.length;
	say("open", now() - begin);
	begin = now();
	tl = timeline_create(t, &err);
	if (!tl)
		die(&err);
	say("time line", now() - begin);
	begin = now();
	for (uint32_t r = 0; r < timeline_n_ranks(tl); r++) {
		timeline_totals(tl, r, totals);
		sum += totals[TSTATE_WORKING];
	}
	say("totals of all ranks", now() - begin);
	levels(tl, 1, 5, "levels, all ranks, whole run in 2,000 steps");
	levels(tl, 0.1, 5, "levels, all ranks, a tenth of the run");
	levels(tl, 0.001, 20, "levels, all ranks, a thousandth");
	windows(t, tl, 1, 300, WINDOWS, "calls of a window, one rank");
	windows(t, tl, timeline_n_ranks(tl), 20, 50, "calls of a window, all ranks");
	messages(t, tl);
	printf("%u ranks, %llu calls, %.1f MB, %.3f s long, %.3f rank-seconds of work\n", trace_n_ranks(t),
	       (unsigned long long)events, (double)trace_file_size(t) * 1e-6, (double)timeline_end_ns(tl) * 1e-9, sum);
	timeline_destroy(tl);
	trace_close(t);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		fputs("Usage: bench_timeline TRACE...\n", stderr);
		return 2;
	}
	for (int i = 1; i < argc; i++)
		measure(argv[i]);
	return 0;
}
