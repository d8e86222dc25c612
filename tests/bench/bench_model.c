/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Models: how long learning takes for a journal of 10^6 rows, and how much faster compiled models are than interpreted
 * ones. Both ways of running are measured in turns, and the medians of the turns are compared.
 *
 *   bench_model [ROWS [TURNS]]
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "model/induce/compile.h"
#include "model/induce/journal.h"
#include "model/induce/learn.h"

#define TURNS_MAX 101

static void die(const char *what, const struct errbuf *err)
{
	fprintf(stderr, "bench_model: %s: %s\n", what, err->text);
	exit(1);
}

static double now_s(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

/* A solver: sweeps of N cells with halo exchange, a check at every tenth step, and a residue. */
static void solver(struct journal *j, const double *in, struct errbuf *err)
{
	enum { START, STEP, PACK, SEND, UNPACK, CELL, CHECK, END };
	double var[2] = {1, in[0]}, t = 0;

#define ROW(p, dt)                                            \
	do {                                                  \
		t += dt;                                      \
		if (journal_add(j, p, t, var, err) < 0)       \
			die("journal", err);                  \
	} while (0)
	ROW(START, 0);
	for (int i = 1; i <= in[1]; i++) {
		ROW(STEP, 1e-6);
		ROW(PACK, 2e-6);
		for (int k = 0; k < 4; k++)
			ROW(SEND, 1e-6 + 1e-9 * in[0]);
		ROW(UNPACK, 2e-6);
		for (int k = 0; k < in[0]; k++)
			ROW(CELL, 1e-8 * in[0]);
		var[0] = var[0] * 0.999;
		if (i % 10 == 0)
			ROW(CHECK, 5e-6);
	}
	ROW(END, 0);
#undef ROW
}

static struct journal *journal_make(double rows, struct errbuf *err)
{
	static const char *const inputs[] = {"N", "steps"}, *const vars[] = {"residue", "cells"};
	static const char *const points[] = {"start", "step", "pack", "send", "unpack", "cell", "check", "end"};
	static const double runs[][2] = {{20, 0.2}, {31, 0.25}, {47, 0.15}, {12, 0.25}, {64, 0.15}};
	struct journal *j = journal_create(inputs, 2, vars, 2, err);

	if (!j)
		die("journal", err);
	for (int i = 0; i < 8; i++)
		if (journal_point(j, points[i], err) < 0)
			die("journal", err);
	for (int i = 0; i < 5; i++) {
		double in[2] = {runs[i][0], floor(rows * runs[i][1] / (runs[i][0] + 7.1))};

		if (journal_begin(j, in, err) < 0)
			die("journal", err);
		solver(j, in, err);
	}
	return j;
}

static int event_count(void *arg, uint32_t point, double time_s, const double *var)
{
	(void)time_s;
	*(double *)arg += point + var[0];
	return 0;
}

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *x, int n)
{
	qsort(x, n, sizeof(*x), cmp);
	return x[n / 2];
}

static void run_turns(const struct model *m, const struct model_program *p, int turns, const struct model_sink *sink,
		      const char *what)
{
	const double in[2] = {100, 20000};
	double interpreted[TURNS_MAX], compiled[TURNS_MAX], a, b;
	struct model_result ri = {0}, rc = {0};
	struct errbuf err;

	for (int i = 0; i < turns; i++) {
		double t0 = now_s(), t1, t2;

		if (model_interpret(m, in, 1, NULL, sink, &ri, &err) < 0)
			die("interpret", &err);
		t1 = now_s();
		if (model_program_run(p, in, 1, NULL, sink, &rc, &err) < 0)
			die("run", &err);
		t2 = now_s();
		interpreted[i] = t1 - t0;
		compiled[i] = t2 - t1;
	}
	if (memcmp(&ri.time_s, &rc.time_s, sizeof(double)) || ri.events != rc.events) {
		fprintf(stderr, "bench_model: interpreted and compiled differ\n");
		exit(1);
	}
	a = median(interpreted, turns) / (double)ri.events * 1e9;
	b = median(compiled, turns) / (double)ri.events * 1e9;
	printf("%-16s %8.2f ns/event interpreted %8.2f compiled: %.1f times (%llu events, least %.1f, most %.1f times)\n", what, a, b,
	       a / b, (unsigned long long)ri.events, interpreted[0] / compiled[turns - 1], interpreted[turns - 1] / compiled[0]);
}

int main(int argc, char **argv)
{
	double rows = argc > 1 ? atof(argv[1]) : 1e6, sum = 0, t0;
	int turns = argc > 2 ? atoi(argv[2]) : 11;
	const struct model_sink sink = {event_count, &sum};
	const struct model_learn_options o = {.cross_validate = true};
	struct errbuf err = {""};
	struct journal *j = journal_make(rows, &err);
	char dir[] = "/tmp/precedent-bench-model.XXXXXX", path[128];
	struct model_program *p;
	struct model *m;

	if (turns < 1 || turns > TURNS_MAX || !mkdtemp(dir)) {
		fprintf(stderr, "usage: bench_model [ROWS [TURNS, at most %d]]\n", TURNS_MAX);
		return 2;
	}
	t0 = now_s();
	m = model_learn(j, NULL, &err);
	if (!m)
		die("learn", &err);
	printf("learnt from %llu rows of %u runs in %.2f s, %u nodes not known\n", (unsigned long long)j->n_rows, j->n_runs, now_s() - t0,
	       m->n_unknown);
	model_destroy(m);
	t0 = now_s();
	m = model_learn(j, &o, &err);
	if (!m)
		die("learn", &err);
	printf("with every run left out once in %.2f s: %u of %u sequences exact, time missed by %.2g %%\n", now_s() - t0,
	       m->confidence.n_exact, m->confidence.n_runs, 100 * m->confidence.time_error);
	t0 = now_s();
	if (model_compile(m, dir, NULL, &err) < 0)
		die("compile", &err);
	p = model_program_load(m, dir, &err);
	if (!p)
		die("load", &err);
	printf("compiled and loaded in %.2f s\n", now_s() - t0);
	run_turns(m, p, turns, NULL, "result only");
	run_turns(m, p, turns, &sink, "every event seen");
	model_program_unload(p);
	model_destroy(m);
	journal_destroy(j);
	for (int i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, i ? "model.so" : "model.c");
		if (!getenv("KEEP"))
			unlink(path);
	}
	return getenv("KEEP") ? 0 : rmdir(dir) != 0;
}
