/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recording costs a call of the program: see cost.h. */
#include <stdlib.h>

#include "spank/tracer/cost.h"
#include "spank/tracer/record.h"

#define CALLS  256
#define ROUNDS 9

static double ticks_of(void (*call)(void))
{
	uint64_t begin = clock_ticks();

	for (int i = 0; i < CALLS; i++)
		call();
	return (double)(clock_ticks() - begin) / CALLS;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double cost_of_call(void (*plain)(void), void (*recorded)(void))
{
	double whole[ROUNDS], looks = rec_overhead(), sum, n, part;

	if (rec.locking)
		return looks; /* this thread may have the lock */
	ticks_of(plain), ticks_of(recorded); /* the first are not like the others */
	sum = rec.overhead_sum, n = (double)rec.overhead_n;
	for (int i = 0; i < ROUNDS; i++) {
		whole[i] = -ticks_of(plain);
		whole[i] += ticks_of(recorded);
	}
	qsort(whole, ROUNDS, sizeof(*whole), by_value);
	n = (double)rec.overhead_n - n;
	part = n > 0 ? (rec.overhead_sum - sum) / n : 0;
	return part > 0 && whole[ROUNDS / 2] > part ? looks * whole[ROUNDS / 2] / part : looks;
}
