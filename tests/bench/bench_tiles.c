/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The table of Orlov (2017, cited in trace/tiles/tiles.h), section IV, both of its methods: parse a 14-column trace,
 * form statistics.
 *  first: a two-dimensional array, a byte per processor and mark, and a list of exchanges; statistics from all cells;
 *  second: tiles of bounded size on disk (columns14_import), statistics from their summaries.
 * Both use the same parser, on a thread of its own. Runs take turns, each in a process of its own; medians of RUNS,
 * and the greatest peak of memory. Then what the tiles are for: statistics of the finished trace, and random windows.
 * Inputs are generated in $TMPDIR and removed.
 *   bench_tiles [ROW ...]            rows 1 to 5 of the table, all of them without
 *   bench_tiles generate PROCESSORS MARKS [DENSITY [SEED]] > FILE
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/bench/columns14_generate.h"
#include "trace/tiles/columns14.h"
#include "trace/tiles/columns14_ahead.h"
#include "trace/tiles/columns14_match.h"
#include "trace/tiles/tiles.h"

#define RUNS    3
#define WINDOWS 400

static const struct {
	uint32_t processors;
	uint64_t marks;
	double first_s, second_s; /* as published */
} table[] = {
	{20, 2463, 0.08, 0.07},		 {20, 893716, 18.5, 13.88},	    {200, 299920, 69.54, 47.04},
	{500, 67793, 41.63, 27.08}, {2000, 89209, 1909.39, 150.77},
};
#define ROWS (sizeof(table) / sizeof(*table))

static char text_path[512], trace_path[520];

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void die(const char *what)
{
	fprintf(stderr, "bench_tiles: %s\n", what);
	_exit(1);
}

static void clean(void)
{
	unlink(text_path);
	unlink(trace_path);
}

static void interrupted(int sig)
{
	clean();
	_exit(128 + sig);
}

/* ---- one measurement: a process of its own ---- */

struct result {
	double s, worst_s, peak_mib;
	uint64_t sum[TSTATE_N]; /* over processors: both methods must agree */
};

static struct result measure(void (*f)(struct result *r))
{
	struct result r = {0};
	struct rusage u;
	int fd[2], status;
	pid_t pid;

	if (pipe(fd) < 0 || (pid = fork()) < 0)
		die(strerror(errno));
	if (!pid) {
		double start = now();

		f(&r);
		if (!r.s)
			r.s = now() - start;
		_exit(write(fd[1], &r, sizeof(r)) != sizeof(r));
	}
	close(fd[1]);
	if (read(fd[0], &r, sizeof(r)) != sizeof(r))
		memset(&r, 0, sizeof(r));
	close(fd[0]);
	if (wait4(pid, &status, 0, &u) < 0 || status)
		die("a measurement failed");
	r.peak_mib = (double)u.ru_maxrss / 1024;
	return r;
}

/* ---- the first method ---- */

struct node {
	struct exchange m;
	struct node *next;
};

static void first_method(struct result *r)
{
	struct columns14_codes codes;
	const struct columns14_slot *s, *last_slot;
	struct columns14_ahead *ahead;
	struct columns14_batch b;
	struct errbuf err;
	struct columns14 *c;
	struct match *match = match_create();
	struct node *list = NULL, **end = &list;
	uint8_t *cell, *state;
	uint32_t n;
	uint64_t *sum, marks, done = 0, last = 0;

	columns14_codes_default(&codes);
	c = columns14_open(text_path, &codes, &err);
	if (!c || columns14_batch_init(&b) < 0 || columns14_last_time(c, &last) < 0)
		die("cannot read the input");
	/* The size of the array is known once the beginning has been seen: every processor has a record there. */
	columns14_next(c, &b, &err);
	n = columns14_tally(c)->n_ranks;
	marks = last + 1;
	columns14_rewind(c);
	cell = malloc(n * marks);
	state = calloc(n, 1);
	sum = calloc(n, TSTATE_N * sizeof(*sum));
	ahead = columns14_ahead_start(c);
	if (!cell || !state || !sum || !match || !ahead)
		die("no memory for the array");
	while ((s = columns14_ahead_next(ahead, &last_slot))) {
		for (uint32_t i = 0; i < s->batch.n_change; i++) {
			const struct tile_change *to = &s->batch.change[i];

			for (; done < to->t; done++)
				memcpy(cell + done * n, state, n);
			state[to->rank] = to->state;
		}
		for (uint32_t i = 0; i < s->batch.n_message; i++) {
			struct exchange m;

			if (match_add(match, &s->batch.message[i], &m) > 0) {
				*end = calloc(1, sizeof(**end));
				(*end)->m = m;
				end = &(*end)->next;
			}
		}
	}
	if (last_slot->more < 0)
		die(last_slot->err.text);
	for (; done < marks; done++)
		memcpy(cell + done * n, state, n);
	for (uint64_t t = 0; t < marks; t++)
		for (uint32_t p = 0; p < n; p++)
			sum[TSTATE_N * p + cell[t * n + p]]++;
	for (uint32_t p = 0; p < n; p++)
		for (int k = 0; k < TSTATE_N; k++)
			r->sum[k] += sum[TSTATE_N * p + (uint32_t)k];
}

/* ---- the second method ---- */

static struct tiles *open_tiles(void)
{
	struct errbuf err;
	struct trace *t = trace_open(trace_path, &err);
	struct tiles *tiles = t ? tiles_open(t, &err) : NULL;

	if (!tiles)
		die(err.text);
	return tiles;
}

static void statistics(struct result *r)
{
	double start = now();
	struct tiles *t = open_tiles();
	uint32_t n = tiles_n_ranks(t);
	struct tile_totals *sum = calloc(n, sizeof(*sum));
	struct errbuf err;

	if (!sum || tiles_totals(t, 0, n, sum, &err) < 0)
		die("no statistics");
	r->s = now() - start;
	for (uint32_t p = 0; p < n; p++)
		for (int k = 0; k < TSTATE_N; k++)
			r->sum[k] += sum[p].marks[k];
}

static void second_method(struct result *r)
{
	struct columns14_options o = {.mark_ns = 1e6};
	struct errbuf err;
	double start = now();

	columns14_codes_default(&o.codes);
	if (columns14_import(text_path, trace_path, &o, NULL, &err) < 0)
		die(err.text);
	statistics(r);
	r->s = now() - start;
}

static int count_span(const struct tile_span *s, void *arg)
{
	*(uint64_t *)arg += s->t1 - s->t0;
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* 20 processors x 200 marks, anywhere. */
static void windows(struct result *r)
{
	struct tiles *t = open_tiles();
	static double took[WINDOWS];
	uint64_t random = 1, cells, n = tiles_end(t) - 200;
	uint32_t ranks = tiles_n_ranks(t) - 19;
	struct errbuf err;

	for (int i = 0; i < WINDOWS; i++) {
		uint64_t t0;
		uint32_t r0;
		double start;

		random = random * 6364136223846793005ull + 1442695040888963407ull;
		t0 = (random >> 20) % n;
		r0 = (uint32_t)((random >> 40) % ranks);
		cells = 0;
		start = now();
		if (tiles_spans(t, r0, r0 + 20, t0, t0 + 200, count_span, &cells, &err) < 0 || cells != 20 * 200)
			die("a window is not whole");
		took[i] = now() - start;
	}
	qsort(took, WINDOWS, sizeof(*took), by_value);
	r->s = took[WINDOWS / 2];
	r->worst_s = took[WINDOWS - 1];
}

/* ---- the table ---- */

static struct result median(struct result r[RUNS])
{
	double s[RUNS], peak = 0;
	struct result m = r[0];

	for (int i = 0; i < RUNS; i++) {
		s[i] = r[i].s;
		peak = r[i].peak_mib > peak ? r[i].peak_mib : peak;
		if (memcmp(r[i].sum, r[0].sum, sizeof(r[0].sum)))
			die("runs disagree");
	}
	qsort(s, RUNS, sizeof(*s), by_value);
	m.s = s[RUNS / 2];
	m.peak_mib = peak;
	return m;
}

static double mib(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? (double)st.st_size / (1 << 20) : 0;
}

static void generate_input(uint32_t processors, uint64_t marks)
{
	FILE *f = fopen(text_path, "w");

	if (!f || !columns14_generate(f, processors, marks, GENERATE_DENSITY, 1) || fclose(f))
		die("cannot write the input below $TMPDIR");
}

static void row(size_t i)
{
	struct result first[RUNS], second[RUNS], stats[RUNS], window, a, b;

	generate_input(table[i].processors, table[i].marks);
	for (int k = 0; k < RUNS; k++) {
		first[k] = measure(first_method);
		second[k] = measure(second_method);
		stats[k] = measure(statistics);
	}
	window = measure(windows);
	a = median(first);
	b = median(second);
	if (memcmp(a.sum, b.sum, sizeof(a.sum)))
		die("the two methods disagree");
	printf("%5u x %-8llu %8.1f %9.3f %9.1f %9.3f %9.1f %7.2f %9.2f %9.1f %8.0f %8.0f %9.2f %9.2f\n", table[i].processors,
	       (unsigned long long)table[i].marks, mib(text_path), a.s, a.peak_mib, b.s, b.peak_mib, a.s / b.s,
	       median(stats).s * 1e3, mib(trace_path), window.s * 1e6, window.worst_s * 1e6, table[i].first_s,
	       table[i].second_s);
	fflush(stdout);
	clean();
}

int main(int argc, char **argv)
{
	const char *tmp = getenv("TMPDIR");

	if (argc >= 4 && !strcmp(argv[1], "generate"))
		return columns14_generate(stdout, (uint32_t)atoi(argv[2]), strtoull(argv[3], NULL, 10),
					  argc > 4 ? atof(argv[4]) : GENERATE_DENSITY,
					  argc > 5 ? strtoull(argv[5], NULL, 10) : 1) == 0;
	snprintf(text_path, sizeof(text_path), "%.400s/bench-tiles-%ld.txt", tmp && *tmp ? tmp : "/tmp", (long)getpid());
	snprintf(trace_path, sizeof(trace_path), "%s.ptrace", text_path);
	signal(SIGINT, interrupted);
	signal(SIGTERM, interrupted);
	atexit(clean);
	printf("%16s %8s %9s %9s %9s %9s %7s %9s %9s %8s %8s %9s %9s\n", "processors x", "text", "array", "peak", "tiles", "peak",
	       "array /", "statist.", "trace", "window", "worst", "paper's", "paper's");
	printf("%16s %8s %9s %9s %9s %9s %7s %9s %9s %8s %8s %9s %9s\n", "marks", "MiB", "s", "MiB", "s", "MiB", "tiles", "ms",
	       "MiB", "us", "us", "array, s", "tiles, s");
	for (size_t i = 0; i < ROWS; i++) {
		bool wanted = argc == 1;

		for (int k = 1; k < argc; k++)
			wanted |= (size_t)atoi(argv[k]) == i + 1;
		if (wanted)
			row(i);
	}
	return 0;
}
