/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a control point costs the program: loops of empty calls, of control points without a session, and of control points
 * with a session whose threads fit models all the time, in turns. Medians of the turns, less the median of the empty calls
 * of the same turns. A turn is as long as the ring takes, so that no point is dropped; between turns the ring is emptied.
 *
 *   bench_control_point [TURNS [POINTS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PRECEDENT_MODEL_LINK
#include "model/api/precedent_model.h"
#include "model/api/ticks.h"

#define TURNS_MAX 1001
#define KINDS	  6

static precedent_model *on;
static int32_t plain, with_one, with_four;

__attribute__((noinline)) static void empty(precedent_model *m, int32_t point, const double *values, uint32_t n)
{
	__asm__ volatile("" : : "r"(m), "r"(point), "r"(values), "r"(n) : "memory");
}

static double loop_empty(int n)
{
	const double v[4] = {1, 2, 3, 4};
	uint64_t begin = ticks_mono_ns();

	for (int i = 0; i < n; i++)
		empty(on, plain, v, 0);
	return (double)(ticks_mono_ns() - begin) / n;
}

static double loop_marks(precedent_model *m, int32_t point, uint32_t n_values, int n)
{
	const double v[4] = {1, 2, 3, 4};
	uint64_t begin = ticks_mono_ns();

	for (int i = 0; i < n; i++)
		precedent_model_mark(m, point, v, n_values);
	return (double)(ticks_mono_ns() - begin) / n;
}

static double loop_ints(precedent_model *m, int n)
{
	const int64_t v = 1;
	uint64_t begin = ticks_mono_ns();

	for (int i = 0; i < n; i++)
		precedent_model_mark_ints(m, with_one, &v, 1);
	return (double)(ticks_mono_ns() - begin) / n;
}

/* A run of n marks; before it the ring is empty, after it a fit is asked for and goes on beside the next turns. */
static double turn(int kind, int n)
{
	double input = n, ns = 0;

	if (kind >= 2)
		precedent_model_begin(on, &input, 1);
	switch (kind) {
	case 0:
		ns = loop_empty(n);
		break;
	case 1:
		ns = loop_marks(NULL, plain, 0, n);
		break;
	case 2:
		ns = loop_marks(on, plain, 0, n);
		break;
	case 3:
		ns = loop_marks(on, with_one, 1, n);
		break;
	case 4:
		ns = loop_marks(on, with_four, 4, n);
		break;
	case 5:
		ns = loop_ints(on, n);
		break;
	}
	if (kind >= 2)
		precedent_model_end(on);
	return ns;
}

/* Until every run was taken out of the ring. */
static void ring_empty(uint64_t runs)
{
	struct precedent_model_status s = PRECEDENT_MODEL_STATUS;

	for (int i = 0; i < 60000; i++) {
		precedent_model_status(on, &s);
		if (s.runs + s.unusable >= runs)
			return;
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	}
	fprintf(stderr, "bench_control_point: the ring is not emptied: %s\n", s.text);
	exit(1);
}

static int cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void open_all(void)
{
	static const char *const inputs[] = {"n"}, *const vars[] = {"a", "b", "c", "d"};
	struct precedent_model_options o = PRECEDENT_MODEL_OPTIONS;
	char why[PRECEDENT_MODEL_LINE];

	o.inputs = inputs;
	o.n_inputs = 1;
	o.runs_min = 1;
	o.ring_bytes = 8u << 20;
	on = precedent_model_open(&o, why, sizeof(why));
	if (!on) {
		fprintf(stderr, "bench_control_point: %s\n", why);
		exit(1);
	}
	plain = precedent_model_point(on, "plain", NULL, 0);
	with_one = precedent_model_point(on, "one", vars, 1);
	with_four = precedent_model_point(on, "four", vars, 4);
}

int main(int argc, char **argv)
{
	static const char *const what[KINDS] = {"empty call", "no session", "no values", "1 value", "4 values", "1 integer"};
	static double ns[KINDS][TURNS_MAX], over[TURNS_MAX];
	int turns = argc > 1 ? atoi(argv[1]) : 101, n = argc > 2 ? atoi(argv[2]) : 20000;
	struct precedent_model_status s = PRECEDENT_MODEL_STATUS;
	uint64_t runs = 0;

	if (turns < 1 || turns > TURNS_MAX || n < 1 || n > 100000) {
		fprintf(stderr, "usage: bench_control_point [TURNS, at most %d [POINTS, at most 100000]]\n", TURNS_MAX);
		return 2;
	}
	open_all();
	for (int i = 0; i < turns; i++)
		for (int k = 0; k < KINDS; k++) {
			ns[k][i] = turn(k, n);
			runs += k >= 2;
			ring_empty(runs);
		}
	precedent_model_status(on, &s);
	for (int k = 0; k < KINDS; k++) {
		for (int i = 0; i < turns; i++)
			over[i] = k ? ns[k][i] - ns[0][i] : ns[0][i];
		qsort(over, (size_t)turns, sizeof(*over), cmp);
		printf("%-12s %7.2f ns (%6.2f to %6.2f from the 5th to the 95th of 100)%s\n", what[k], over[turns / 2],
		       over[turns * 5 / 100], over[turns * 95 / 100], k ? ", less an empty call" : "");
	}
	printf("%s\n", s.text);
	precedent_model_close(on);
	return 0;
}
